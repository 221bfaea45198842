//! The pacing rate (draft section 4.2.1) and the size of a burst (4.2.2).

use super::{Bbr, HIGH_GAIN, PACING_MARGIN};
use justfull_base::{BitRate, Duration};

/// Below this rate a burst is one segment (Linux `bbr_min_tso_rate`).
const SMALL_RATE: u64 = 1_200_000;
/// Largest burst in bytes: 64 KiB less the largest headers.
const MAX_BURST: u64 = 65_535 - 320;
/// Largest burst in segments (Linux counts them in seven bits).
const MAX_BURST_SEGMENTS: u64 = 127;

/// The rate that sends `window` bytes in `rtt`, times Startup's gain.
pub(super) fn initial_rate(window: u64, rtt: Duration) -> BitRate {
    rate(window as f64 / rtt.as_secs_f64(), HIGH_GAIN)
}

fn rate(bytes_per_second: f64, gain: f64) -> BitRate {
    BitRate((bytes_per_second * gain * PACING_MARGIN * 8.0) as u64)
}

impl Bbr {
    /// Follows the bandwidth. Until the pipe has been full the rate never falls, so that a slow
    /// first sample does not delay Startup.
    pub(super) fn update_pacing(&mut self, bandwidth: u64, gain: f64, srtt: Duration) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            self.pacing = initial_rate(self.cwnd, srtt);
        }
        let wanted = rate(bandwidth as f64, gain);
        if self.full_pipe.reached || wanted > self.pacing {
            self.pacing = wanted;
        }
    }

    /// Segments that leave together: about a millisecond's worth.
    pub(super) fn burst_segments(&self) -> u64 {
        let least = if self.pacing.0 < SMALL_RATE { 1 } else { 2 };
        let bytes = (self.pacing.0 / 8 / 1024).min(MAX_BURST);
        (bytes / self.mss).max(least).min(MAX_BURST_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};

    #[test]
    fn the_first_rate_is_startups_over_the_first_rtt() {
        let mut bbr = control(&BbrConfig::default());
        // Ten segments of 1448 B in 1 ms, times 2.885, less one per cent.
        assert_eq!(bbr.pacing.0.abs_diff(330_856_416), 0);
        bbr.update_pacing(0, 1.0, Duration::ZERO);
        assert_eq!(bbr.pacing.0, 330_856_416, "without an RTT nothing changes");
        bbr.update_pacing(0, 1.0, Duration::from_millis(10));
        assert_eq!(bbr.pacing.0, 33_085_641);
        bbr.update_pacing(0, 1.0, Duration::from_millis(1));
        assert_eq!(bbr.pacing.0, 33_085_641, "the first RTT counts");
    }

    #[test]
    fn the_rate_falls_only_once_the_pipe_has_been_full() {
        let mut bbr = control(&BbrConfig::default());
        bbr.update_pacing(1_000_000, 1.25, Duration::from_secs(1));
        assert_eq!(bbr.pacing.0, 9_900_000);
        bbr.update_pacing(1_000_000, 1.0, Duration::from_secs(1));
        assert_eq!(bbr.pacing.0, 9_900_000);
        bbr.full_pipe.reached = true;
        bbr.update_pacing(1_000_000, 1.0, Duration::from_secs(1));
        assert_eq!(bbr.pacing.0, 7_920_000);
    }

    #[test]
    fn a_burst_is_a_1024th_of_a_second_between_one_or_two_segments_and_64_kib() {
        let mut bbr = control(&BbrConfig::default());
        let mut burst = |pacing: u64, mss: u64| {
            (bbr.pacing, bbr.mss) = (BitRate(pacing), mss);
            bbr.burst_segments()
        };
        assert_eq!([burst(1_199_999, 1448), burst(1_200_000, 1448)], [1, 2]);
        let five = 5 * 1448 * 8 * 1024;
        assert_eq!([burst(five - 1, 1448), burst(five, 1448)], [4, 5]);
        // 65 215 B: 49.5 segments of 1317 B; at most 127 segments.
        assert_eq!([burst(u64::MAX, 1317), burst(u64::MAX, 100)], [49, 127]);
    }
}
