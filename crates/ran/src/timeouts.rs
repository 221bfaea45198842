//! The queues whose AQM wants to be called at an instant, in order of time.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use justfull_base::Instant;

/// A queue of the stack: in order, so that timeouts at one instant have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QueueId {
    /// The UPF's queue of a UE's QoS flow.
    Upf { ue: u32, qos: u32 },
    /// SDAP's queue of a UE's QoS flow.
    Sdap { ue: u32, qos: u32 },
    /// The RLC queue of a UE's bearer.
    Rlc { ue: u32, drb: u8 },
}

/// See the module's page. An entry may be stale: its queue says whether it still waits for it
/// ([`ManagedQueue::take_timeout`](justfull_queue::ManagedQueue::take_timeout)).
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    /// A queue of the stack has an AQM with timeouts.
    pub(crate) on: bool,
    /// The first of them; never when there is none.
    due: Instant,
    heap: BinaryHeap<Reverse<(Instant, QueueId)>>,
}

impl Timeouts {
    /// None, and none to come.
    pub(crate) fn new() -> Self {
        Self { on: false, due: Instant::NEVER, heap: BinaryHeap::new() }
    }

    /// A queue may have a timeout: it is to be asked after each arrival.
    #[inline]
    pub(crate) const fn are_on(&self) -> bool {
        self.on
    }

    /// When the first is due; never when there is none.
    #[inline]
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn push(&mut self, at: Instant, queue: QueueId) {
        self.heap.push(Reverse((at, queue)));
        self.due = self.due.min(at);
    }

    /// Takes the first that is due by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, QueueId)> {
        let Reverse((at, queue)) = *self.heap.peek().filter(|first| first.0.0 <= now)?;
        self.heap.pop();
        self.due = self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
        Some((at, queue))
    }
}
