//! One timer per UE: a heap with possibly stale entries.
//!
//! A timer that moves later fires early and is then set again; a timer that moves earlier gets a
//! second entry. So an event that only postpones a deadline costs nothing, and nearly all events
//! are of this kind.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use justfull_base::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// When the timer of each UE fires; heap entries that differ are stale.
    armed: Vec<Instant>,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), armed: Vec::new() }
    }

    /// Makes the timer of `ue` fire at `at` or earlier.
    pub(crate) fn arm(&mut self, ue: u32, at: Instant) {
        let index = ue as usize;
        if index >= self.armed.len() {
            self.armed.resize(index + 1, Instant::NEVER);
        }
        if at < self.armed[index] {
            self.armed[index] = at;
            self.heap.push(Reverse((at, ue)));
        }
    }

    /// Forgets the timer of `ue`.
    pub(crate) fn disarm(&mut self, ue: u32) {
        if let Some(at) = self.armed.get_mut(ue as usize) {
            *at = Instant::NEVER;
            self.prune();
        }
    }

    /// The earliest timer.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|&Reverse((at, _))| at)
    }

    /// A UE whose timer has fired by `now`; its timer is then off.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<u32> {
        let &Reverse((at, ue)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.armed[ue as usize] = Instant::NEVER;
        self.prune();
        Some(ue)
    }

    /// Drops stale entries from the top.
    fn prune(&mut self) {
        while let Some(&Reverse((at, ue))) = self.heap.peek() {
            if self.armed[ue as usize] == at {
                break;
            }
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_once_at_its_earliest_time() {
        let at = Instant::from_nanos;
        let mut timers = Timers::new();
        timers.arm(0, at(30));
        timers.arm(1, at(20));
        timers.arm(0, at(10));
        timers.arm(0, at(40));
        assert_eq!((timers.next(), timers.pop(at(5))), (Some(at(10)), None));
        assert_eq!(timers.pop(at(50)), Some(0));
        assert_eq!(timers.next(), Some(at(20)));
        timers.disarm(1);
        assert_eq!((timers.next(), timers.pop(at(50))), (None, None));
    }
}
