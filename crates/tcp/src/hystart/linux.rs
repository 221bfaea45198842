//! `HyStart` (Ha and Rhee, "Taming the elephants", Computer Networks 2011) with Linux's constants.
//! Slow start ends on one of two signs within a round: closely spaced acknowledgements keep coming
//! for half the smallest RTT (the packet train has filled the pipe), or the round's smallest RTT
//! has risen by an eighth.

use crate::control::AckSample;
use justfull_base::{Duration, Instant};

/// No detection below this window, in segments.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements closer than this belong to one train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// RTT samples of a round before its delay counts.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the rise of the delay.
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

/// State of the detectors.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    round_start: Instant,
    last_ack: Instant,
    round_min: Duration,
    samples: u32,
}

impl Default for Linux {
    fn default() -> Self {
        Self {
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_min: Duration::MAX,
            samples: 0,
        }
    }
}

impl Linux {
    /// Forgets the current round.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// True when slow start should end. Call on each acknowledgement in slow start, with `cwnd` in
    /// segments.
    pub(super) fn is_full(&mut self, sample: &AckSample, cwnd: f64) -> bool {
        let now = sample.now;
        if sample.sequence_round_start {
            self.round_start = now;
            self.last_ack = now;
            self.round_min = Duration::MAX;
            self.samples = 0;
        }
        let Some(rtt) = sample.rtt else { return false };
        if cwnd < LOW_WINDOW || sample.min_rtt == Duration::MAX {
            return false;
        }
        if now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = now;
            if now.since(self.round_start) > Duration::from_nanos(sample.min_rtt.as_nanos() / 2) {
                return true;
            }
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = Duration::from_nanos(sample.min_rtt.as_nanos() / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.round_min > sample.min_rtt + rise
    }
}
