//! Compensation of aggregated acknowledgements (Linux from 5.1; Cardwell et al., IETF 101 ICCRG).
//! Some links hold acknowledgements back and release them together; two BDPs are then used up
//! before the next batch. The largest excess of acknowledged over expected bytes in the last five
//! to ten rounds is added to cwnd. As in Linux, the expected bytes are rounded down to whole
//! segments, so the excess is rounded up.
//!
//! A radio cell that serves a user once per scheduling period aggregates in this way.

use super::Bbr;
use crate::control::AckSample;
use justfull_base::{Duration, Instant};

/// Rounds in each of the two halves of the window.
const HALF_ROUNDS: u32 = 5;
/// The excess is at most the bytes that the bandwidth delivers in this time.
const MAX_EXCESS: Duration = Duration::from_millis(100);
/// An epoch ends after this many segments even when the rate keeps up.
const EPOCH_SEGMENTS: u64 = 0x000F_FFFF;

/// State; sizes in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Instant,
    acked: u64,
    excess: [u64; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    /// Starts an epoch.
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.acked = 0;
    }
}

impl Bbr {
    pub(super) fn update_aggregation(&mut self, sample: &AckSample) {
        if !self.ack_aggregation || sample.acked == 0 || sample.interval.is_none() {
            return;
        }
        let bandwidth = self.estimated_bandwidth();
        let state = &mut self.aggregation;
        if self.round_start {
            state.rounds += 1;
            if state.rounds >= HALF_ROUNDS {
                state.rounds = 0;
                state.half = 1 - state.half;
                state.excess[state.half] = 0;
            }
        }
        let elapsed = sample.now.since(state.epoch).as_secs_f64();
        let mut expected = (bandwidth as f64 * elapsed) as u64 / self.mss * self.mss;
        // The epoch ends when the rate has caught up with the acknowledged bytes.
        if state.acked <= expected || state.acked + sample.acked >= EPOCH_SEGMENTS * self.mss {
            state.restart(sample.now);
            expected = 0;
        }
        state.acked += sample.acked;
        let excess = (state.acked - expected).min(self.cwnd);
        let largest = &mut state.excess[state.half];
        *largest = excess.max(*largest);
    }

    /// Segments to add to cwnd, once the pipe has been full.
    pub(super) fn aggregation_segments(&self, bandwidth: u64) -> u64 {
        if !self.ack_aggregation || !self.full_pipe.reached {
            return 0;
        }
        let limit = (bandwidth as f64 * MAX_EXCESS.as_secs_f64()) as u64;
        self.aggregation.excess[0].max(self.aggregation.excess[1]).min(limit) / self.mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing::{self, MSS};

    const RATE: u64 = 1_000_000;

    /// A control that has measured 1 MB/s, with a large window.
    fn measured() -> Bbr {
        let mut bbr = control(&BbrConfig::default());
        bbr.bandwidth.update(10, 0, RATE);
        bbr.cwnd = 1000 * MSS;
        bbr
    }

    fn acked(bbr: &mut Bbr, us: u64, bytes: u64) -> (u64, [u64; 2]) {
        let mut sample = testing::sample(bytes);
        sample.now = Instant::ZERO + Duration::from_micros(us);
        bbr.update_aggregation(&sample);
        (bbr.aggregation.acked, bbr.aggregation.excess)
    }

    #[test]
    fn the_excess_is_what_is_acknowledged_beyond_the_bandwidth_since_it_last_caught_up() {
        let mut bbr = measured();
        assert_eq!(acked(&mut bbr, 1_000_000, 7 * MSS), (7 * MSS, [7 * MSS, 0]));
        // 4 ms at 1 MB/s are two segments and a part; the part does not count.
        assert_eq!(acked(&mut bbr, 1_004_000, 3 * MSS), (10 * MSS, [8 * MSS, 0]));
        // 14.48 ms are ten: the rate has just caught up, so a new epoch begins.
        assert_eq!(acked(&mut bbr, 1_014_480, 2 * MSS), (2 * MSS, [8 * MSS, 0]));
        assert_eq!(acked(&mut bbr, 1_016_000, 8 * MSS), (10 * MSS, [9 * MSS, 0]));
        // No more than the window.
        bbr.cwnd = 12 * MSS;
        assert_eq!(acked(&mut bbr, 1_016_000, 9 * MSS), (19 * MSS, [12 * MSS, 0]));
    }

    #[test]
    fn an_epoch_ends_after_2_to_the_20_segments() {
        let last = EPOCH_SEGMENTS * MSS;
        for (before, after) in [(last - 1001, last - 1), (last - 1000, 1000)] {
            let mut bbr = measured();
            (bbr.aggregation.epoch, bbr.aggregation.acked) = (Instant::ZERO, before);
            assert_eq!(acked(&mut bbr, 0, 1000).0, after);
        }
    }

    #[test]
    fn the_largest_excess_is_forgotten_after_five_to_ten_rounds() {
        let mut bbr = measured();
        acked(&mut bbr, 1_000_000, 9000);
        bbr.round_start = true;
        for round in 1..=9_u64 {
            let (_, excess) = acked(&mut bbr, 1_000_000 * (1 + round), 1000 + round);
            let expected = if round < 5 { [9000, 0] } else { [9000, 1000 + round] };
            assert_eq!(excess, expected, "round {round}");
        }
        assert_eq!(acked(&mut bbr, 11_000_000, 7).1, [7, 1009]);
    }

    #[test]
    fn an_acknowledgement_without_bytes_or_interval_or_with_the_switch_off_counts_nothing() {
        let mut bbr = measured();
        acked(&mut bbr, 1_000_000, 0);
        let mut sample = testing::sample(MSS);
        sample.interval = None;
        bbr.update_aggregation(&sample);
        bbr.ack_aggregation = false;
        assert_eq!(acked(&mut bbr, 1_000_000, MSS), (0, [0, 0]));
    }

    #[test]
    fn the_window_gets_the_larger_half_up_to_100_ms_of_the_bandwidth_once_the_pipe_was_full() {
        let mut bbr = measured();
        for excess in [[7 * MSS, 10 * MSS - 1], [10 * MSS - 1, 7 * MSS]] {
            bbr.aggregation.excess = excess;
            bbr.full_pipe.reached = false;
            assert_eq!(bbr.aggregation_segments(RATE), 0);
            bbr.full_pipe.reached = true;
            assert_eq!(bbr.aggregation_segments(RATE), 9);
            assert_eq!(bbr.aggregation_segments(10 * 2 * MSS), 2);
        }
        bbr.ack_aggregation = false;
        assert_eq!(bbr.aggregation_segments(RATE), 0);
    }
}
