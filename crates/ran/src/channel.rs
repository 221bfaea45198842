//! The channel: the capacity of the radio in the slot that the MAC pulls now.
//!
//! A channel returns amounts in the MAC's unit, whole packets (T20, E19) or bytes (A21, R22). It
//! depends only on its configuration, its key and the arguments, never on the sent data. So every
//! method of an experiment meets the same channel, and [`Channel::peek`] can show a clairvoyant
//! method the capacity of a later slot.
//!
//! Seven kinds: [`constant`], [`pattern`], [`rows`] (a capacity trace), [`cqi_rows`] (a CQI trace),
//! [`markov`] (chance), and two only for a MAC that allocates resource blocks, [`mcs`] and [`umi`]
//! (a walk through a street). For such a MAC the kinds with a CQI return the MCS of their map.
//!
//! To add one: its file, with a configuration that implements `ChannelSettings`, a channel that
//! implements `ChannelModel`, and `DOC`; then its `pub mod` and its line in the list of kinds.

pub mod constant;
pub mod cqi_rows;
pub mod markov;
pub mod mcs;
pub mod pattern;
mod quality;
pub mod rows;
mod share;
mod timeline;
pub mod umi;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Instant, Packet, choice, kinds};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::to_mcs;

pub use markov::Fit;
pub use timeline::{AtEnd, RowLength};
pub use umi::{Building, OutdoorToIndoor};

choice! {
    /// The unit of a channel's amounts: the MAC's unit.
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
    /// The amount that `packet` counts for.
    #[inline]
    pub(crate) fn amount(self, packet: &Packet) -> u64 {
        self.of_size(packet.size)
    }

    /// The amount that a packet of `size` bytes counts for.
    #[inline]
    pub(crate) fn of_size(self, size: u32) -> u64 {
        match self {
            Self::Packets => 1,
            Self::Bytes => u64::from(size),
        }
    }
}

/// Properties of a kind of channel, known from its configuration.
pub(crate) trait ChannelSettings {
    /// The map from CQI to MCS; none for kinds without a CQI.
    fn map(&self) -> Option<CqiToMcs> {
        None
    }

    /// True for a kind that needs a MAC with resource blocks.
    fn needs_carrier(&self) -> bool {
        false
    }

    /// True if it returns the share of blocks that fail ([`ChannelModel::block_error`]).
    fn errors_follow_sinr(&self) -> bool {
        false
    }
}

/// A running channel. All methods except [`Self::advance`] are functions of the configuration, the
/// key and the arguments; the arguments are never before the last advance's.
pub(crate) trait ChannelModel {
    /// The capacity of slot `slot_index` if it is pulled at `at`; 0 for kinds that only return an
    /// MCS.
    fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        let _ = (slot_index, at);
        0
    }

    /// The CQI of slot `slot_index` if it is pulled at `at`, for kinds with a map; none if nothing
    /// is carried.
    fn cqi(&self, slot_index: u64, at: Instant) -> Option<u8> {
        let _ = (slot_index, at);
        None
    }

    /// The MCS of slot `slot_index` if it is pulled at `at`, for kinds without a map.
    fn mcs(&self, slot_index: u64, at: Instant) -> Option<u8> {
        let _ = (slot_index, at);
        None
    }

    /// Adds to `combined` the SINR of a transmission at `at` of a block at `mcs`, and returns the
    /// share of such blocks not decoded from that sum; none if HARQ's settings determine it.
    fn block_error(&self, at: Instant, mcs: u8, combined: &mut f64) -> Option<f64> {
        let _ = (at, mcs, combined);
        None
    }

    /// The SINR in dB at the instant `at`; none for a kind of channel without a SINR.
    fn sinr_db(&self, at: Instant) -> Option<f64> {
        let _ = at;
        None
    }

    /// Slot `slot_index` is pulled at `now`; neither ever decreases.
    fn advance(&mut self, slot_index: u64, now: Instant) {
        let _ = (slot_index, now);
    }
}

/// The facts about the cell for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelContext {
    /// The key for kinds with random numbers (see [`justfull_base::rng::stream_key`]).
    pub key: u64,
    /// Nominal length of a slot, above 0, at most 1 s.
    pub slot: Duration,
    /// Unit of amounts.
    pub unit: CapacityUnit,
    /// Width in Hz of all the carrier's resource blocks; none if the MAC grants packets or bytes.
    pub bandwidth: Option<u64>,
}

kinds! {
    $ each;

    /// Which channel a cell or UE has; `kind` names it in a scenario file.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ChannelConfig = Constant;

    /// One of the channels, an enum so that calls are static.
    #[derive(Clone, Debug)]
    pub enum AnyChannel(context: &ChannelContext);

    "constant" Constant = constant::{Constant, ConstantConfig};
    "pattern" Pattern = pattern::{Pattern, PatternConfig};
    "rows" Rows = rows::{Rows, RowsConfig};
    "cqi_rows" CqiRows = cqi_rows::{CqiRows, CqiRowsConfig};
    "markov" Markov = markov::{Markov, MarkovConfig};
    "mcs" Mcs = mcs::{McsRows, McsConfig};
    "umi" Umi = umi::{Umi in Box, UmiConfig};
}

impl ChannelConfig {
    /// The map from CQI to MCS; none for kinds without a CQI.
    #[must_use]
    pub fn map(&self) -> Option<CqiToMcs> {
        each!(config self, c => ChannelSettings::map(c))
    }

    /// True for a kind that needs a MAC with a carrier.
    #[must_use]
    pub fn needs_carrier(&self) -> bool {
        each!(config self, c => c.needs_carrier())
    }

    /// True if its SINR, not a setting of HARQ, determines the share of failed blocks.
    #[must_use]
    pub fn errors_follow_sinr(&self) -> bool {
        each!(config self, c => c.errors_follow_sinr())
    }
}

/// Longest slot; far beyond any numerology, to permit the coarse ticks of emulators (T20: 10 ms).
pub const MAX_SLOT: Duration = Duration::from_secs(1);
/// Largest amount of one slot or row.
const MAX_AMOUNT: u64 = u32::MAX as u64;

/// A running channel. A clone continues like its original; clones share long tables.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The map from CQI to MCS, for kinds with a CQI.
    map: Option<CqiToMcs>,
    kind: AnyChannel,
    last_pull: Instant,
}

impl Channel {
    /// The channel of `config` in the cell of `context`.
    ///
    /// # Errors
    /// If a field is outside its bounds, or `slot` is zero or above 1 s.
    pub fn new(config: &ChannelConfig, context: &ChannelContext) -> Result<Self, ConfigError> {
        config.validate()?;
        ensure(
            !context.slot.is_zero() && context.slot <= MAX_SLOT,
            "slot",
            &context.slot,
            "above 0s, at most 1s",
            "TS 38.211 section 4.3.2 has 62.5us to 1ms; T20 ticks at 10ms",
        )?;
        let kind = AnyChannel::new(config, context)?;
        Ok(Self { map: config.map(), kind, last_pull: Instant::ZERO })
    }

    /// A slot is pulled at `now`.
    #[inline(always)]
    fn note_pull(&mut self, now: Instant) {
        debug_assert!(
            now >= self.last_pull,
            "the MAC pulled at {now:?} after {:?}",
            self.last_pull
        );
        self.last_pull = now;
    }

    /// Slot `slot_index` is pulled at `now`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, slot_index: u64, now: Instant) {
        self.note_pull(now);
        each!(&mut self.kind, kind => kind.advance(slot_index, now));
    }

    /// The capacity of slot number `slot_index`, pulled at `now`. Call once per slot; neither
    /// argument may decrease.
    #[inline(always)]
    pub fn capacity(&mut self, slot_index: u64, now: Instant) -> u64 {
        self.note_pull(now);
        // Both in one dispatch, since each would look up the kind.
        each!(&mut self.kind, kind => {
            kind.advance(slot_index, now);
            kind.amount(slot_index, now)
        })
    }

    /// The capacity of slot `slot_index` if it is pulled at `at`, not before the last pull. Changes
    /// no state; for random kinds, its time grows with the number of states between now and then.
    #[inline(always)]
    #[must_use]
    pub fn peek(&self, slot_index: u64, at: Instant) -> u64 {
        debug_assert!(at >= self.last_pull, "looked back to {at:?} from {:?}", self.last_pull);
        each!(&self.kind, kind => kind.amount(slot_index, at))
    }

    /// The CQI of slot `slot_index` if it is pulled at `at`, like [`Channel::peek`]; none for kinds
    /// without one and after the end of a trace that stops.
    #[must_use]
    pub fn cqi(&self, slot_index: u64, at: Instant) -> Option<u8> {
        each!(&self.kind, kind => kind.cqi(slot_index, at))
    }

    /// Moves to slot `slot_index`, pulled at `now`, and returns its MCS; none if nothing can be
    /// carried. Call once per slot; neither argument may decrease. For a MAC with a carrier.
    #[inline]
    pub fn next_mcs(&mut self, slot_index: u64, now: Instant) -> Option<u8> {
        self.advance(slot_index, now);
        self.mcs(slot_index, now)
    }

    /// The MCS of slot `slot_index` if it is pulled at `at`, not before the last pull.
    #[inline]
    #[must_use]
    pub fn mcs(&self, slot_index: u64, at: Instant) -> Option<u8> {
        let Some(map) = self.map else {
            return each!(&self.kind, kind => kind.mcs(slot_index, at));
        };
        self.cqi(slot_index, at).filter(|&cqi| cqi > 0).and_then(|cqi| to_mcs(map, cqi))
    }

    /// The SINR in dB at the instant `at`, which is not before the last pull; none for a kind of
    /// channel without a SINR.
    #[must_use]
    pub fn sinr_db(&self, at: Instant) -> Option<f64> {
        each!(&self.kind, kind => kind.sinr_db(at))
    }

    /// Adds to `combined`, a ratio that is 0 before the first transmission, the SINR of a
    /// transmission in slot `slot_index`, at `now`, of a block at `mcs`. Returns the share of such
    /// blocks not decoded from the sum, 0 to 1. None for kinds without a SINR. Neither `slot_index`
    /// nor `now` may decrease.
    pub fn block_error(
        &mut self,
        slot_index: u64,
        now: Instant,
        mcs: u8,
        combined: &mut f64,
    ) -> Option<f64> {
        self.advance(slot_index, now);
        each!(&self.kind, kind => kind.block_error(now, mcs, combined))
    }
}

/// An amount that validation has bounded by [`MAX_AMOUNT`].
fn narrow(amount: u64) -> u32 {
    debug_assert!(amount <= MAX_AMOUNT);
    amount as u32
}

/// The requirement of [`are_amounts`], in words.
const AMOUNTS: &str = "at least one entry, one above 0, each at most 4294967295";
/// The reason.
const AMOUNTS_SOURCE: &str =
    "a channel carries something at some time, and no slot or row carries 4 GB";

/// False for an empty list, a list of zeros only, or an amount above [`MAX_AMOUNT`].
fn are_amounts(amounts: &[u64]) -> bool {
    amounts.iter().any(|&a| a > 0) && amounts.iter().all(|&a| a <= MAX_AMOUNT)
}
