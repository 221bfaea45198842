//! SDAP schedulers: which QFI's queue sends the next packet to the RLC.
//!
//! TS 37.324 foresees none (packets pass in order of arrival: `fifo`); T20 adds one so that urgent packets overtake.

mod drr;
mod fifo;
mod round_robin;
mod strict_priority;

pub use drr::{Drr, DrrConfig};
pub use fifo::{Fifo, FifoConfig};
pub use round_robin::{RoundRobin, RoundRobinConfig};
pub use strict_priority::{StrictPriority, StrictPriorityConfig};

use alloc::boxed::Box;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant};

/// Every scheduler's description.
pub const DOCS: &[&MethodDoc] = &[&fifo::DOC, &round_robin::DOC, &strict_priority::DOC, &drr::DOC];

/// One QFI queue as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// It holds a packet and its bearer takes it.
    pub eligible: bool,
    /// When its first packet entered it.
    pub head_enqueued: Instant,
    /// Size of its first packet in bytes.
    pub head_bytes: u32,
    /// Lower goes first.
    pub priority: u8,
    /// Share relative to the others.
    pub weight: u32,
}

/// Chooses among the QFI queues of a UE.
pub trait SdapScheduler {
    /// The queue that sends next, or none when no candidate is eligible. The same queue keeps its index for ever.
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize>;

    /// Told that the queue picked last sent a packet of `bytes`.
    fn on_sent(&mut self, index: usize, bytes: u32);
}

/// Which scheduler, with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum SdapSchedulerConfig {
    /// Order of arrival.
    Fifo(FifoConfig),
    /// A packet from each in turn.
    RoundRobin(RoundRobinConfig),
    /// The least priority number first.
    StrictPriority(StrictPriorityConfig),
    /// Bytes in proportion to weights.
    Drr(DrrConfig),
}

impl Default for SdapSchedulerConfig {
    fn default() -> Self {
        Self::Fifo(FifoConfig {})
    }
}

/// One of the schedulers, chosen at start; closed for speed, with one door for users' own.
// A tag of its own is asked several times per packet; one folded into a variant's fields takes more work to read.
#[repr(u8)]
pub enum AnySdapScheduler {
    /// See [`Fifo`].
    Fifo(Fifo),
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin),
    /// See [`StrictPriority`].
    StrictPriority(StrictPriority),
    /// See [`Drr`].
    Drr(Box<Drr>),
    /// A user's own.
    Custom(Box<dyn SdapScheduler + Send>),
}

impl AnySdapScheduler {
    /// The scheduler that `config` asks for, over `queues` queues.
    ///
    /// # Errors
    /// The field of `config` that is out of bounds.
    pub fn new(config: &SdapSchedulerConfig, queues: usize) -> Result<Self, ConfigError> {
        Ok(match config {
            SdapSchedulerConfig::Fifo(_) => Self::Fifo(Fifo),
            SdapSchedulerConfig::RoundRobin(_) => Self::RoundRobin(RoundRobin::default()),
            SdapSchedulerConfig::StrictPriority(_) => Self::StrictPriority(StrictPriority),
            SdapSchedulerConfig::Drr(c) => Self::Drr(Box::new(Drr::new(c, queues)?)),
        })
    }
}

impl SdapScheduler for AnySdapScheduler {
    #[inline]
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        match self {
            Self::Fifo(s) => s.pick(candidates),
            Self::RoundRobin(s) => s.pick(candidates),
            Self::StrictPriority(s) => s.pick(candidates),
            Self::Drr(s) => s.pick(candidates),
            Self::Custom(s) => s.pick(candidates),
        }
    }

    #[inline]
    fn on_sent(&mut self, index: usize, bytes: u32) {
        match self {
            Self::Fifo(s) => s.on_sent(index, bytes),
            Self::RoundRobin(s) => s.on_sent(index, bytes),
            Self::StrictPriority(s) => s.on_sent(index, bytes),
            Self::Drr(s) => s.on_sent(index, bytes),
            Self::Custom(s) => s.on_sent(index, bytes),
        }
    }
}

#[cfg(test)]
mod tests;
