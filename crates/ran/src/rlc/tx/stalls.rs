//! Number and length of the waits for the closed window of acknowledged mode.

use core::ops::Add;
use justfull_base::{Duration, Instant};

/// Stalls of one entity, or of several: times in which the window was closed and SDUs waited. A
/// stall begins at a pull and ends with the report that opens the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Stalls that have begun.
    pub count: u64,
    /// Total length of the stalls.
    pub time: Duration,
}

impl Add for Stalls {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { count: self.count + other.count, time: self.time + other.time }
    }
}

/// Measures the stalls of one entity.
#[derive(Clone, Debug)]
pub(super) struct Stopwatch {
    over: Stalls,
    /// Start of the current stall.
    since: Instant,
}

impl Stopwatch {
    pub(super) const fn new() -> Self {
        let over = Stalls { count: 0, time: Duration::ZERO };
        Self { over, since: Instant::NEVER }
    }

    /// The window is closed, and data waits.
    #[inline]
    pub(super) fn closed(&mut self, now: Instant) {
        if self.since == Instant::NEVER {
            self.since = now;
            self.over.count += 1;
        }
    }

    /// The window is open.
    #[inline]
    pub(super) fn opened(&mut self, now: Instant) {
        if self.since != Instant::NEVER {
            self.over.time += now.since(self.since);
            self.since = Instant::NEVER;
        }
    }

    /// The stalls up to `now`, including the current one.
    pub(super) fn until(&self, now: Instant) -> Stalls {
        let mut all = self.clone();
        all.opened(now);
        all.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_lasts_from_the_first_closed_pull_until_the_window_opens() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let stalls = |count, ms| Stalls { count, time: Duration::from_millis(ms) };
        let mut watch = Stopwatch::new();
        watch.opened(at(5));
        assert_eq!(watch.until(at(9)), stalls(0, 0));
        watch.closed(at(10));
        watch.closed(at(20));
        assert_eq!(watch.until(at(25)), stalls(1, 15), "it lasts");
        watch.opened(at(30));
        watch.opened(at(40));
        watch.closed(at(50));
        watch.opened(at(51));
        assert_eq!(watch.until(at(90)), stalls(2, 21));
        assert_eq!(stalls(2, 21) + stalls(1, 4), stalls(3, 25));
    }
}
