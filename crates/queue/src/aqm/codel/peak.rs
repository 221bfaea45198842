//! The greatest rate at which a lane was served of late.
//!
//! A rate is what the lane delivered in 100 ms during which packets waited in it: the time from one
//! instant at which packets left to the next, if some waited all along, and what left at the
//! latter, if it left some. Such times add up, so that a lane that runs empty every few slots has a
//! rate too. The greatest of these rates falls to 1/e in the time of the memory while it is not
//! reached again.

use justfull_base::{Bytes, Duration, Instant};

/// Time with packets waiting over which a rate is taken: a hundred subframes of LTE.
const PERIOD: Duration = Duration::from_millis(100);
/// Packets of the MTU that a lane may hold at whatever rate: a loss among fewer is found by a
/// timeout only (RFC 5681 section 3.2: three duplicate ACKs).
const FLOOR: u64 = 4;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PeakRate {
    /// Greatest rate, in bytes a second, when it was last reached or fell.
    rate: f64,
    at: Instant,
    /// When packets last left; none if the lane has been empty since.
    left_at: Option<Instant>,
    /// From the instant before that to it, with packets waiting.
    gap: Duration,
    /// What left then.
    left: u64,
    /// The sums of the period.
    waiting: Duration,
    bytes: u64,
}

impl PeakRate {
    /// A packet of `size` bytes left.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: u32) {
        let size = u64::from(size);
        match self.left_at.replace(now) {
            Some(before) if before == now => self.left += size,
            Some(before) => {
                self.count();
                (self.gap, self.left) = (now.since(before), size);
            }
            None => (self.gap, self.left) = (Duration::ZERO, size),
        }
    }

    /// The greatest rate, in bytes a second.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// The lane ran empty: what left last was not all that could have left.
    pub(super) fn on_empty(&mut self) {
        self.left_at = None;
    }

    /// Some still wait after the last instant at which packets left: it counts.
    fn count(&mut self) {
        if self.gap.is_zero() {
            return;
        }
        self.waiting += self.gap;
        self.bytes += self.left;
    }

    /// True when `bytes` are at most what the lane could send in `reserve` at its greatest rate,
    /// or a few packets of `mtu`.
    pub(super) fn is_within(
        &mut self,
        now: Instant,
        bytes: u64,
        reserve: Duration,
        memory: Duration,
        mtu: Bytes,
    ) -> bool {
        if self.waiting >= PERIOD {
            let rate = self.bytes as f64 / self.waiting.as_secs_f64();
            let fall = libm::exp(-now.since(self.at).as_secs_f64() / memory.as_secs_f64());
            (self.rate, self.at) = (rate.max(self.rate * fall), now);
            (self.waiting, self.bytes) = (Duration::ZERO, 0);
        }
        bytes <= mtu.0 * FLOOR || bytes as f64 <= self.rate * reserve.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Most bytes that are within a reserve of 100 ms at `ms`, to 100 B.
    fn most(peak: &mut PeakRate, ms: u64) -> u64 {
        let reserve = Duration::from_millis(100);
        let within = |&bytes: &u64| peak.is_within(at(ms), bytes, reserve, SECOND, Bytes(0));
        (0..10_000).map(|n| n * 100).take_while(within).last().unwrap_or(0)
    }

    /// Two packets of 500 B leave each `ms` of `from..to`.
    fn leave(peak: &mut PeakRate, ms: core::ops::Range<u64>) {
        for now in ms {
            peak.on_dequeue(at(now), 500);
            peak.on_dequeue(at(now), 500);
        }
    }

    #[test]
    fn a_rate_is_what_leaves_while_packets_wait() {
        let mut peak = PeakRate::default();
        leave(&mut peak, 0..102);
        assert_eq!(most(&mut peak, 102), 100_000, "1000 B a ms for 100 ms");
    }

    #[test]
    fn a_lane_that_runs_empty_has_the_rate_of_the_times_in_which_it_held_some() {
        let mut peak = PeakRate::default();
        for n in 0..60 {
            // Four slots, of which the last leaves nothing; the first has no slot before it.
            leave(&mut peak, n * 20..n * 20 + 3);
            peak.on_dequeue(at(n * 20 + 3), 100);
            peak.on_empty();
        }
        assert_eq!(most(&mut peak, 1200), 100_000);
    }

    #[test]
    fn the_greatest_rate_falls_to_a_third_in_the_time_of_the_memory() {
        let mut peak = PeakRate::default();
        leave(&mut peak, 0..102);
        assert_eq!(most(&mut peak, 102), 100_000);
        // A tenth of the rate from then on.
        for n in 0..100 {
            peak.on_dequeue(at(110 + 10 * n), 1000);
        }
        let fallen = most(&mut peak, 1102);
        assert!((36_000..=37_800).contains(&fallen), "{fallen}");
    }

    #[test]
    fn a_few_packets_may_wait_at_any_rate() {
        let mut peak = PeakRate::default();
        let mut within = |bytes| peak.is_within(at(5), bytes, SECOND, SECOND, Bytes(1500));
        assert_eq!([within(6000), within(6001)], [true, false]);
    }
}
