//! SDAP schedulers: select the QFI queue that sends the next packet to the RLC.
//!
//! TS 37.324 has none (packets pass in order of arrival: `fifo`); T20 adds one so that urgent
//! packets overtake.

mod drr;
mod fifo;
mod round_robin;
mod strict_priority;

use alloc::boxed::Box;
use justfull_base::{Instant, forwarded, kinds};

/// One QFI queue from a scheduler's view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// True if it holds a packet and its bearer admits it.
    pub eligible: bool,
    /// Time at which its first packet entered.
    pub head_enqueued: Instant,
    /// Size of its first packet in bytes.
    pub head_bytes: u32,
    /// Lower goes first.
    pub priority: u8,
    /// Share relative to the others.
    pub weight: u32,
}

kinds! {
    $ each;

    /// Which scheduler, with its settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum SdapSchedulerConfig = Fifo;

    /// One of the schedulers, an enum so that calls are static, or a user's own.
    // `repr(u8)` forces an explicit tag: it is read several times per packet, and a tag in a
    // variant's fields is slower to decode.
    #[repr(u8)]
    pub enum AnySdapScheduler(queues: usize) or Box<dyn SdapScheduler + Send>;

    "fifo" Fifo = fifo::{Fifo, FifoConfig};
    "round_robin" RoundRobin = round_robin::{RoundRobin, RoundRobinConfig};
    "strict_priority" StrictPriority = strict_priority::{StrictPriority, StrictPriorityConfig};
    "drr" Drr = drr::{Drr in Box, DrrConfig};
}

forwarded! {
    by each for AnySdapScheduler;

    /// Chooses among the QFI queues of a UE.
    pub trait SdapScheduler {
        /// The queue that sends next; none if no candidate is eligible. A queue always has the same
        /// index.
        fn pick(&mut self, candidates: &[Candidate]) -> Option<usize>;

        /// Called after the last picked queue sent a packet of `bytes`.
        fn on_sent(&mut self, index: usize, bytes: u32);

        /// False if its choice depends only on the candidates. It need not be called then while
        /// there is only one.
        fn has_memory(&self) -> bool {
            true
        }
    }
}

#[cfg(test)]
mod tests;
