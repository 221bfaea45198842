//! The queues whose AQM has requested a call, and arrivals at a DU, in order of time.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use justfull_base::Instant;

/// A queue of the stack; ordered, so that timeouts at one instant have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QueueId {
    /// The UPF's queue of a UE's QoS flow.
    Upf { ue: u32, qos: u32 },
    /// SDAP's queue of a UE's QoS flow.
    Sdap { ue: u32, qos: u32 },
    /// The RLC queue of a UE's bearer.
    Rlc { ue: u32, drb: u8 },
}

/// The requested timeouts. An entry may be stale: its queue decides whether the timeout still
/// counts ([`ManagedQueue::take_timeout`](justfull_queue::ManagedQueue::take_timeout)).
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    /// True if a queue of the stack has an AQM with timeouts.
    pub(crate) on: bool,
    /// The first timeout; never if there is none.
    due: Instant,
    /// Without a queue: data arrives at the DU.
    heap: BinaryHeap<Reverse<(Instant, Option<QueueId>)>>,
}

impl Timeouts {
    /// An empty list, for a stack without timeouts.
    pub(crate) fn new() -> Self {
        Self { on: false, due: Instant::NEVER, heap: BinaryHeap::new() }
    }

    /// True if a queue may have a timeout, and must be checked after each arrival.
    #[inline]
    pub(crate) const fn are_on(&self) -> bool {
        self.on
    }

    /// Time of the first timeout; never if there is none.
    #[inline]
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn push(&mut self, at: Instant, queue: Option<QueueId>) {
        self.heap.push(Reverse((at, queue)));
        self.due = self.due.min(at);
    }

    /// Removes the timeouts of the queues of UE `ue`.
    pub(crate) fn forget(&mut self, ue: u32) {
        self.heap.retain(|Reverse((_, queue))| {
            queue.is_none_or(|queue| {
                let (QueueId::Upf { ue: of, .. }
                | QueueId::Sdap { ue: of, .. }
                | QueueId::Rlc { ue: of, .. }) = queue;
                of != ue
            })
        });
        self.due = self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
    }

    /// Takes the first timeout that is due by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Option<QueueId>)> {
        let Reverse((at, queue)) = *self.heap.peek().filter(|first| first.0.0 <= now)?;
        self.heap.pop();
        self.due = self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
        Some((at, queue))
    }
}
