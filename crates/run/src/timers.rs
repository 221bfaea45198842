//! A timer queue for the members of a group.

use justfull_base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lazy timers of many members: at most a few entries each; an entry that expires early is put
/// back.
#[derive(Clone, Debug)]
pub struct Timers {
    /// Instant and member in one number, which is quick to compare.
    heap: BinaryHeap<Reverse<u128>>,
    armed: Vec<Instant>,
    /// The earliest entry; the event loop reads it before each step.
    next: Instant,
}

impl Timers {
    /// Timers of `members`, none of them set.
    #[must_use]
    pub fn new(members: usize) -> Self {
        let heap = BinaryHeap::with_capacity(2 * members);
        Self { heap, armed: vec![Instant::NEVER; members], next: Instant::NEVER }
    }

    /// Requests a call for member `i` at `at` or earlier.
    #[inline]
    pub fn arm(&mut self, i: u32, at: Instant) {
        let armed = &mut self.armed[i as usize];
        if at < *armed {
            *armed = at;
            self.next = self.next.min(at);
            self.heap.push(Reverse(entry(at, i)));
        }
    }

    #[inline]
    /// The first instant at which a timer expires.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// The member whose entry is due. The entry is removed: the caller must arm it again.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let (at, i) = parts(self.heap.pop()?.0);
        self.next = self.heap.peek().map_or(Instant::NEVER, |entry| parts(entry.0).0);
        let armed = &mut self.armed[i as usize];
        if *armed == at {
            *armed = Instant::NEVER;
        }
        Some(i)
    }
}

/// Member `i` at `at`: ordered by instant, then by member.
fn entry(at: Instant, i: u32) -> u128 {
    u128::from(at.as_nanos()) << u32::BITS | u128::from(i)
}

/// The instant and the member of `entry`.
fn parts(entry: u128) -> (Instant, u32) {
    (Instant::from_nanos((entry >> u32::BITS) as u64), entry as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_an_earlier_wish_replaces_a_later_one() {
        let mut timers = Timers::new(2);
        timers.arm(0, Instant::from_nanos(50));
        timers.arm(1, Instant::from_nanos(20));
        timers.arm(0, Instant::from_nanos(10));
        assert_eq!(timers.pop(Instant::from_nanos(30)), Some(0));
        assert_eq!(timers.pop(Instant::from_nanos(30)), Some(1));
        assert_eq!(timers.pop(Instant::from_nanos(30)), None);
    }
}
