//! Pacers: how much the SDAP queue should hold, and so when the UPF may send it the next packet.

mod clairvoyant;
mod unpaced;
mod usp;

pub use clairvoyant::{ClairvoyantPacer, ClairvoyantPacerConfig};
pub use unpaced::{Unpaced, UnpacedConfig};
pub use usp::{Usp, UspConfig, UspVariant};

use crate::limiter::CapacityUnit;
use alloc::boxed::Box;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant};

/// Every pacer's description.
pub const DOCS: &[&MethodDoc] = &[&unpaced::DOC, &usp::DOC, &clairvoyant::DOC];

/// What a pacer must know of the SDAP queue it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacerContext {
    /// Unit of the pacer's amounts.
    pub unit: CapacityUnit,
    /// Length of a slot.
    pub slot: Duration,
    /// Largest SDU in bytes.
    pub mtu: u32,
}

impl PacerContext {
    /// `packets` full-size packets in the unit of amounts.
    #[must_use]
    pub fn amount(&self, packets: u64) -> u64 {
        match self.unit {
            CapacityUnit::Packets => packets,
            CapacityUnit::Bytes => packets.saturating_mul(u64::from(self.mtu)),
        }
    }
}

/// What one poll of SDAP did with one QFI queue. Amounts are in the pacer's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdapPoll {
    /// Moved to the RLC by this poll.
    pub moved: u64,
    /// Left in the queue.
    pub backlog: u64,
    /// What the RLC would still have taken after it; `u64::MAX` for no limit.
    pub room: u64,
}

/// Decides how much one SDAP queue should hold.
pub trait Pacer {
    /// Asked once per opportunity of the UPF: the backlog wanted in SDAP now; `u64::MAX` for no limit.
    fn occupancy(&mut self, now: Instant) -> u64;

    /// Told when packets of `amount` entered the SDAP queue.
    fn on_enqueued(&mut self, amount: u64);

    /// Told after each poll of a queue that holds or held something.
    fn on_poll(&mut self, now: Instant, poll: &SdapPoll);

    /// True when [`Pacer::on_need`] must be told before each question.
    fn wants_forecast(&self) -> bool {
        false
    }

    /// Told what SDAP must hold so that its polls before the UPF's next opportunity can bring what the radio takes.
    fn on_need(&mut self, _need: u64) {}
}

/// Which pacer, with its settings.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum PacerConfig {
    /// The UPF sends what it has.
    Unpaced(UnpacedConfig),
    /// UPF-SDAP pacer (T20 Algorithm 3).
    Usp(UspConfig),
    /// Knows the grants, not the arrivals.
    Clairvoyant(ClairvoyantPacerConfig),
}

impl Default for PacerConfig {
    fn default() -> Self {
        Self::Unpaced(UnpacedConfig {})
    }
}

/// One of the pacers, chosen at start; closed for speed, with one door for users' own. The large one is boxed.
// A tag of its own is asked several times per packet; one folded into a variant's fields takes more work to read.
#[repr(u8)]
pub enum AnyPacer {
    /// See [`Unpaced`].
    Unpaced(Unpaced),
    /// See [`Usp`].
    Usp(Box<Usp>),
    /// See [`ClairvoyantPacer`].
    Clairvoyant(ClairvoyantPacer),
    /// A user's own.
    Custom(Box<dyn Pacer + Send>),
}

impl AnyPacer {
    /// The pacer that `config` asks for.
    ///
    /// # Errors
    /// The field of `config` that is out of bounds.
    pub fn new(config: &PacerConfig, context: &PacerContext) -> Result<Self, ConfigError> {
        Ok(match config {
            PacerConfig::Unpaced(_) => Self::Unpaced(Unpaced),
            PacerConfig::Usp(c) => Self::Usp(Box::new(Usp::new(c, context)?)),
            PacerConfig::Clairvoyant(_) => Self::Clairvoyant(ClairvoyantPacer::default()),
        })
    }

    /// True when the UPF sends what it has.
    #[must_use]
    pub fn is_unpaced(&self) -> bool {
        matches!(self, Self::Unpaced(_))
    }
}

macro_rules! each {
    ($self:ident, $p:ident => $body:expr) => {
        match $self {
            AnyPacer::Unpaced($p) => $body,
            AnyPacer::Usp($p) => $body,
            AnyPacer::Clairvoyant($p) => $body,
            AnyPacer::Custom($p) => $body,
        }
    };
}

impl Pacer for AnyPacer {
    #[inline]
    fn occupancy(&mut self, now: Instant) -> u64 {
        each!(self, p => p.occupancy(now))
    }
    #[inline]
    fn on_enqueued(&mut self, amount: u64) {
        each!(self, p => p.on_enqueued(amount));
    }
    #[inline]
    fn on_poll(&mut self, now: Instant, poll: &SdapPoll) {
        each!(self, p => p.on_poll(now, poll));
    }
    #[inline]
    fn wants_forecast(&self) -> bool {
        each!(self, p => p.wants_forecast())
    }
    #[inline]
    fn on_need(&mut self, need: u64) {
        each!(self, p => p.on_need(need));
    }
}
