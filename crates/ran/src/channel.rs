//! The channel: what the radio could carry in the slot that the MAC pulls now.
//!
//! A channel answers in the MAC's unit, whole packets (T20, E19) or bytes (A21, R22). It depends on
//! its configuration, its key and the arguments alone, never on what was sent, so that every method
//! of an experiment meets the same channel, and [`Channel::peek`] can tell a clairvoyant method
//! what a later slot will offer.
//!
//! Six kinds: [`constant`], [`pattern`], [`rows`] (a capacity trace), [`cqi_rows`] (a CQI trace),
//! [`markov`] (chance) and [`mcs`], which answers a MAC that deals in resource blocks alone. To
//! such a MAC the kinds with a CQI answer the MCS of their map.

pub mod constant;
pub mod cqi_rows;
pub mod markov;
pub mod mcs;
pub mod pattern;
mod quality;
pub mod rows;
mod share;
mod timeline;

#[cfg(test)]
mod tests;

use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Instant, Packet, choice, kinds_config};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::to_mcs;

pub use constant::ConstantConfig;
pub use cqi_rows::CqiRowsConfig;
pub use markov::{Fit, MarkovConfig};
pub use mcs::McsConfig;
pub use pattern::PatternConfig;
pub use rows::RowsConfig;
pub use timeline::{AtEnd, RowLength};

choice! {
    /// What the amounts of a channel count: the MAC's unit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum CapacityUnit {
        /// Whole packets, whatever their size (T20, E19).
        #[default]
        Packets = "packets",
        /// Bytes on the MAC layer (A21, R22).
        Bytes = "bytes",
    }
}

impl CapacityUnit {
    /// What `packet` counts as.
    #[inline]
    pub(crate) fn amount(self, packet: &Packet) -> u64 {
        self.of_size(packet.size)
    }

    /// What a packet of `size` bytes counts as.
    #[inline]
    pub(crate) fn of_size(self, size: u32) -> u64 {
        match self {
            Self::Packets => 1,
            Self::Bytes => u64::from(size),
        }
    }
}

kinds_config! {
    /// Which channel a cell or UE has; `kind` names it in a scenario file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum ChannelConfig(DOCS) = Constant;
    "constant" Constant = ConstantConfig;
    "pattern" Pattern = PatternConfig;
    "rows" Rows = RowsConfig;
    "cqi_rows" CqiRows = CqiRowsConfig;
    "markov" Markov = MarkovConfig;
    "mcs" Mcs = McsConfig;
}

impl ChannelConfig {
    /// What the amounts of this channel count.
    #[must_use]
    pub const fn unit(&self) -> CapacityUnit {
        match self {
            Self::Constant(config) => config.unit,
            Self::Pattern(_) | Self::Mcs(_) => CapacityUnit::Bytes,
            Self::Rows(config) => config.unit,
            Self::CqiRows(config) => config.unit,
            Self::Markov(config) => config.unit,
        }
    }

    /// From CQI to MCS; none for kinds without a CQI.
    #[must_use]
    pub const fn map(&self) -> Option<CqiToMcs> {
        match self {
            Self::CqiRows(config) => Some(config.map),
            Self::Markov(config) => Some(config.map),
            Self::Constant(_) | Self::Pattern(_) | Self::Rows(_) | Self::Mcs(_) => None,
        }
    }
}

/// Descriptions of all kinds, for the reference pages.
pub const DOCS: &[&MethodDoc] =
    &[&constant::DOC, &pattern::DOC, &rows::DOC, &cqi_rows::DOC, &markov::DOC, &mcs::DOC];

/// Longest slot; far beyond any numerology, it leaves room for the coarse ticks of emulators (T20:
/// 10 ms).
pub(crate) const MAX_SLOT: Duration = Duration::from_secs(1);
/// Largest amount of one slot or row.
const MAX_AMOUNT: u64 = u32::MAX as u64;

/// A channel in being. A clone goes on as its original would; long tables are shared between
/// clones.
#[derive(Clone, Debug)]
pub struct Channel {
    unit: CapacityUnit,
    /// From CQI to MCS, for kinds with a CQI.
    map: Option<CqiToMcs>,
    kind: Kind,
    last_pull: Instant,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant(u64),
    Pattern(pattern::Pattern),
    Rows(rows::Rows),
    CqiRows(cqi_rows::CqiRows),
    Markov(markov::Markov),
    Mcs(mcs::McsRows),
}

impl Channel {
    /// The channel of `config` for slots that nominally last `slot`; `seed_key` feeds the kinds
    /// that draw (see [`justfull_base::rng::stream_key`]).
    ///
    /// # Errors
    /// When a field is outside its bounds, or `slot` is zero or above 1 s.
    pub fn new(config: &ChannelConfig, seed_key: u64, slot: Duration) -> Result<Self, ConfigError> {
        config.validate()?;
        ensure(
            !slot.is_zero() && slot <= MAX_SLOT,
            "slot",
            &slot,
            "above 0s, at most 1s",
            "TS 38.211 section 4.3.2 has 62.5us to 1ms; T20 ticks at 10ms",
        )?;
        let kind = match config {
            ChannelConfig::Constant(c) => Kind::Constant(c.per_slot),
            ChannelConfig::Pattern(c) => {
                Kind::Pattern(pattern::Pattern::new(c.bytes.iter().map(|&b| narrow(b)).collect()))
            }
            ChannelConfig::Rows(c) => Kind::Rows(rows::Rows::new(c, slot)),
            ChannelConfig::CqiRows(c) => Kind::CqiRows(cqi_rows::CqiRows::new(c, slot)?),
            ChannelConfig::Markov(c) => Kind::Markov(markov::Markov::new(c, seed_key, slot)?),
            ChannelConfig::Mcs(c) => Kind::Mcs(mcs::McsRows::new(c)),
        };
        Ok(Self { unit: config.unit(), map: config.map(), kind, last_pull: Instant::ZERO })
    }

    /// What slot number `slot_index`, pulled at `now`, could carry. Call once per slot; neither
    /// argument may fall.
    #[inline]
    pub fn capacity(&mut self, slot_index: u64, now: Instant) -> u64 {
        debug_assert!(
            now >= self.last_pull,
            "the MAC pulled at {now:?} after {:?}",
            self.last_pull
        );
        self.last_pull = now;
        match &mut self.kind {
            Kind::Pattern(pattern) => return pattern.pull(slot_index),
            Kind::Markov(markov) => markov.advance(now),
            _ => {}
        }
        self.peek(slot_index, now)
    }

    /// What slot `slot_index` will carry if it is pulled at `at`, not before the last pull. Changes
    /// nothing; for kinds that draw, the time this takes grows with the states between now and
    /// then.
    #[must_use]
    pub fn peek(&self, slot_index: u64, at: Instant) -> u64 {
        debug_assert!(at >= self.last_pull, "looked back to {at:?} from {:?}", self.last_pull);
        match &self.kind {
            Kind::Constant(amount) => *amount,
            Kind::Pattern(pattern) => pattern.amount(slot_index),
            Kind::Rows(rows) => rows.amount(slot_index, at),
            Kind::CqiRows(rows) => rows.amount(slot_index, at),
            Kind::Markov(markov) => markov.amount(slot_index, at),
            // Without a carrier there is nothing to carry: `StackConfig::validate` refuses it.
            Kind::Mcs(_) => 0,
        }
    }

    /// The CQI behind slot `slot_index` when it is pulled at `at`, as [`Channel::peek`]; none for
    /// kinds without one and after the end of a trace that stops.
    #[must_use]
    pub fn cqi(&self, slot_index: u64, at: Instant) -> Option<u8> {
        match &self.kind {
            Kind::Constant(_) | Kind::Pattern(_) | Kind::Rows(_) | Kind::Mcs(_) => None,
            Kind::CqiRows(rows) => rows.cqi(slot_index, at),
            Kind::Markov(markov) => Some(markov.cqi(at)),
        }
    }

    /// Moves to slot `slot_index`, pulled at `now`, and answers its MCS; none where nothing can be
    /// carried. Call once per slot; neither argument may fall. For a MAC with a carrier.
    #[inline]
    pub fn next_mcs(&mut self, slot_index: u64, now: Instant) -> Option<u8> {
        debug_assert!(
            now >= self.last_pull,
            "the MAC pulled at {now:?} after {:?}",
            self.last_pull
        );
        self.last_pull = now;
        if let Kind::Markov(markov) = &mut self.kind {
            markov.advance(now);
        }
        self.mcs(slot_index, now)
    }

    /// The MCS of slot `slot_index` when it is pulled at `at`, not before the last pull.
    #[inline]
    #[must_use]
    pub fn mcs(&self, slot_index: u64, at: Instant) -> Option<u8> {
        match &self.kind {
            Kind::Mcs(rows) => rows.mcs(slot_index, at),
            _ => self
                .cqi(slot_index, at)
                .filter(|&cqi| cqi > 0)
                .and_then(|cqi| to_mcs(self.map?, cqi)),
        }
    }

    /// What the amounts count.
    #[must_use]
    pub const fn unit(&self) -> CapacityUnit {
        self.unit
    }
}

/// An amount that validation found to be at most [`MAX_AMOUNT`].
fn narrow(amount: u64) -> u32 {
    debug_assert!(amount <= MAX_AMOUNT);
    amount as u32
}

/// What [`are_amounts`] asks for.
const AMOUNTS: &str = "at least one entry, one above 0, each at most 4294967295";
/// Why.
const AMOUNTS_SOURCE: &str =
    "a channel carries something at some time, and no slot or row carries 4 GB";

/// False for an empty list, a list of zeros alone and an amount above [`MAX_AMOUNT`].
fn are_amounts(amounts: &[u64]) -> bool {
    amounts.iter().any(|&a| a > 0) && amounts.iter().all(|&a| a <= MAX_AMOUNT)
}
