//! Links that keep their own packets in order.

use justfull_base::{BitRate, Duration, Instant};
use std::collections::VecDeque;

/// Items that a link makes room for at its start.
const FIRST_IN_FLIGHT: usize = 8192;

/// A link that serialises at a rate and then delays; unbounded, in order.
#[derive(Clone, Debug)]
pub struct Pipe<T> {
    rate: BitRate,
    delay: Duration,
    free_at: Instant,
    /// Size of the last item and the time that it took: most are of one size, and the division is the dearest step.
    last: (u32, Duration),
    /// When the first item arrives: what the event loop asks before each step.
    next: Instant,
    flight: VecDeque<(Instant, T)>,
}

impl<T> Pipe<T> {
    /// A link of `rate` (0 for infinitely fast) and one-way `delay`.
    #[must_use]
    pub fn new(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            free_at: Instant::ZERO,
            last: (0, Duration::ZERO),
            next: Instant::NEVER,
            flight: VecDeque::with_capacity(FIRST_IN_FLIGHT),
        }
    }

    /// `item` of `bytes` enters at `now`.
    #[inline]
    pub fn push(&mut self, now: Instant, bytes: u32, item: T) {
        let mut leaves = now;
        if self.rate.0 > 0 {
            if self.last.0 != bytes {
                self.last = (bytes, self.rate.time_for_ceil(u64::from(bytes)));
            }
            self.free_at = self.free_at.max(now) + self.last.1;
            leaves = self.free_at;
        }
        let arrives = leaves + self.delay;
        self.next = self.next.min(arrives);
        self.flight.push_back((arrives, item));
    }

    /// When the first item arrives; never when there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Items on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flight.len()
    }

    /// True when nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flight.is_empty()
    }

    /// The item that has arrived by `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next > now {
            return None;
        }
        let first = self.flight.pop_front();
        self.next = self.flight.front().map_or(Instant::NEVER, |(at, _)| *at);
        first.map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_serialises_then_delays_in_order() {
        let mut pipe = Pipe::new(BitRate(12_000_000), Duration::from_millis(10));
        pipe.push(Instant::ZERO, 1500, 'a');
        pipe.push(Instant::ZERO, 1500, 'b');
        assert_eq!(pipe.next().as_nanos(), 11_000_000);
        assert_eq!(pipe.pop(Instant::from_nanos(10_999_999)), None);
        assert_eq!(pipe.pop(Instant::from_nanos(11_000_000)), Some('a'));
        assert_eq!(pipe.next().as_nanos(), 12_000_000);
    }
}
