//! `ProbeBW` (draft section 4.3.4): a cycle of eight phases of about one smallest RTT each. The first asks for a quarter
//! more, the second lets out the queue that this made, the others cruise.

use super::{Bbr, Mode};
use crate::cc::AckSample;
use justfull_base::Instant;

const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    phase: usize,
    started: Instant,
}

impl Cycle {
    pub(super) fn gain(&self) -> f64 {
        GAINS[self.phase]
    }

    /// In the phase that asks for more.
    pub(super) fn is_probing_up(&self) -> bool {
        self.phase == 0
    }

    fn advance(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.started = now;
    }
}

impl Bbr {
    /// Starts in any phase but the one that lets out a queue, at random, so that flows do not probe together.
    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        let back = self.rng.below(GAINS.len() as u64 - 1) as usize;
        self.cycle.phase = GAINS.len() - 1 - back;
        self.cycle.advance(now);
    }

    pub(super) fn update_cycle(&mut self, sample: &AckSample) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(sample) {
            self.cycle.advance(sample.now);
        }
    }

    /// A cruising phase lasts one smallest RTT. Probing goes on until the extra quarter is in flight or something is
    /// lost; draining ends early once no more than a BDP is in flight.
    fn is_next_phase(&self, sample: &AckSample) -> bool {
        let full_length = self.min_rtt.is_some_and(|rtt| sample.now.since(self.cycle.started) > rtt);
        let gain = self.cycle.gain();
        let bandwidth = self.bandwidth.get();
        if self.policer.rate().is_some() {
            return full_length;
        }
        if gain > 1.0 {
            let filled = || sample.prior_in_flight >= self.target_in_flight(bandwidth, gain);
            return full_length && (sample.lost > 0 || filled());
        }
        full_length || (gain < 1.0 && sample.prior_in_flight <= self.target_in_flight(bandwidth, 1.0))
    }
}
