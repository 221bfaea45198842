//! The pacing rate (draft section 4.2.1) and the size of a burst (4.2.2).

use super::{Bbr, HIGH_GAIN, PACING_MARGIN};
use justfull_base::{BitRate, Duration};

/// Below this rate a burst is one segment (Linux `bbr_min_tso_rate`).
const SMALL_RATE: u64 = 1_200_000;
/// Largest burst in bytes: 64 KiB less the largest headers.
const MAX_BURST: u64 = 65_535 - 320;
/// Largest burst in segments (Linux counts them in seven bits).
const MAX_BURST_SEGMENTS: u64 = 127;

/// The rate that sends `window` bytes in `rtt`, with Startup's gain.
pub(super) fn initial_rate(window: u64, rtt: Duration) -> BitRate {
    rate(window as f64 / rtt.as_secs_f64(), HIGH_GAIN)
}

fn rate(bytes_per_second: f64, gain: f64) -> BitRate {
    BitRate((bytes_per_second * gain * PACING_MARGIN * 8.0) as u64)
}

impl Bbr {
    /// Follows the bandwidth; until the pipe has been full the rate never falls, so that a slow first sample does not
    /// hold Startup up.
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
