//! Compensation of aggregated acknowledgements (Linux from 5.1; Cardwell et al., IETF 101 ICCRG): on links that hold
//! acknowledgements back and release them together, two BDPs are used up before the next batch comes. The largest
//! excess of acknowledged over expected bytes in the last five to ten rounds is added to cwnd.
//!
//! A radio cell that serves a user once per scheduling period aggregates in just this way.

use super::Bbr;
use crate::cc::AckSample;
use justfull_base::{Duration, Instant};

/// Rounds in each of the two halves of the window.
const HALF_ROUNDS: u32 = 5;
/// The excess counts up to what the bandwidth delivers in this time.
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
        let mut expected = (bandwidth as f64 * elapsed) as u64;
        // The epoch ends when the rate has caught up with what was acknowledged.
        if state.acked <= expected || state.acked + sample.acked >= EPOCH_SEGMENTS * self.mss {
            state.restart(sample.now);
            expected = 0;
        }
        state.acked += sample.acked;
        let excess = (state.acked - expected).min(self.cwnd);
        let largest = &mut state.excess[state.half];
        *largest = excess.max(*largest);
    }

    /// What is added to cwnd, in whole segments, once the pipe has been full.
    pub(super) fn aggregation_segments(&self, bandwidth: u64) -> u64 {
        if !self.ack_aggregation || !self.full_pipe.reached {
            return 0;
        }
        let limit = (bandwidth as f64 * MAX_EXCESS.as_secs_f64()) as u64;
        self.aggregation.excess[0].max(self.aggregation.excess[1]).min(limit) / self.mss
    }
}
