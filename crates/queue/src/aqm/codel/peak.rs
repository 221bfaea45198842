//! The greatest recent rate of a lane.
//!
//! It falls to 1/e within the memory while the lane does not reach it again.

use super::meter::Meter;
use justfull_base::{Bytes, Duration, Instant};

/// Packets of the MTU that may leave while one waits, at whatever rate: a loss among fewer is found
/// by a timeout only (RFC 5681 section 3.2: three duplicate ACKs).
const FLOOR: u64 = 4;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PeakRate {
    /// Greatest rate, in bytes a second, when it was last reached or fell.
    rate: f64,
    at: Instant,
    meter: Meter,
}

impl PeakRate {
    /// A packet of `size` bytes left.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: u32, memory: Duration) {
        self.meter.on_dequeue(now, size);
        if let Some((rate, _)) = self.meter.period() {
            let fall = libm::exp(-now.since(self.at).as_secs_f64() / memory.as_secs_f64());
            (self.rate, self.at) = (rate.max(self.rate * fall), now);
        }
    }

    /// The lane ran empty.
    pub(super) fn on_empty(&mut self) {
        self.meter.on_empty();
    }

    /// The note on a packet that comes now, for [`Self::is_within`].
    pub(super) const fn note(&self) -> u32 {
        self.meter.note()
    }

    /// The greatest rate, in bytes a second.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// True when the bytes that left since `note`, and a packet of `size` bytes, take the lane at
    /// most `reserve` at its greatest rate, or are at most a few packets of `mtu`.
    pub(super) fn is_within(&self, note: u32, size: u32, reserve: Duration, mtu: Bytes) -> bool {
        let bytes = self.meter.since(note) + u64::from(size);
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

    /// Most bytes that are within a reserve of 100 ms, to 100 B.
    fn most(peak: &PeakRate) -> u32 {
        let reserve = Duration::from_millis(100);
        let within = |&bytes: &u32| peak.is_within(peak.note(), bytes, reserve, Bytes(0));
        (0..10_000).map(|n| n * 100).take_while(within).last().unwrap_or(0)
    }

    /// Two packets of 500 B leave each `ms` of `from..to`.
    fn leave(peak: &mut PeakRate, ms: core::ops::Range<u64>) {
        for now in ms {
            peak.on_dequeue(at(now), 500, SECOND);
            peak.on_dequeue(at(now), 500, SECOND);
        }
    }

    #[test]
    fn a_rate_is_what_leaves_while_packets_wait() {
        let mut peak = PeakRate::default();
        leave(&mut peak, 0..22);
        assert_eq!(most(&peak), 100_000, "1000 B a ms");
    }

    #[test]
    fn a_lane_that_runs_empty_has_the_rate_of_the_times_in_which_it_held_some() {
        let mut peak = PeakRate::default();
        for n in 0..60 {
            // Four slots, of which the last leaves nothing; the first has no slot before it.
            leave(&mut peak, n * 20..n * 20 + 3);
            peak.on_dequeue(at(n * 20 + 3), 100, SECOND);
            peak.on_empty();
        }
        assert_eq!(most(&peak), 100_000);
    }

    #[test]
    fn departures_while_a_packet_waited_are_in_the_reserve_whatever_is_behind_it() {
        let mut peak = PeakRate::default();
        leave(&mut peak, 0..22);
        let note = peak.note();
        leave(&mut peak, 22..71);
        let within = |size| peak.is_within(note, size, Duration::from_millis(50), Bytes(0));
        assert_eq!([within(936), within(1064)], [true, false], "49 000 B and itself, to 64 B");
    }

    #[test]
    fn the_greatest_rate_falls_to_a_third_in_the_time_of_the_memory() {
        let mut peak = PeakRate::default();
        leave(&mut peak, 0..22);
        assert_eq!(most(&peak), 100_000);
        // A tenth of the rate from then on.
        for n in 0..110 {
            peak.on_dequeue(at(30 + 10 * n), 1000, SECOND);
        }
        let fallen = most(&peak);
        assert!((33_900..=37_800).contains(&fallen), "{fallen}");
    }

    #[test]
    fn a_few_packets_may_wait_at_any_rate() {
        let within = |size| PeakRate::default().is_within(0, size, SECOND, Bytes(1500));
        assert_eq!([within(6000), within(6001)], [true, false]);
    }
}
