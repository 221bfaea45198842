//! Startup and the estimator of a full pipe (draft section 4.3.2): three rounds in which the bandwidth did not grow
//! by a quarter mean that more in flight only makes a queue.

use super::{Bbr, Mode};
use crate::cc::AckSample;

/// Growth below this factor counts as none.
const GROWTH: f64 = 1.25;
/// Rounds without growth.
const ROUNDS: u32 = 3;

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe has been filled once.
    pub(super) reached: bool,
    bandwidth: u64,
    rounds: u32,
}

impl FullPipe {
    /// Measures the growth anew, after a timeout or a reduction for nothing.
    pub(super) fn forget_growth(&mut self) {
        self.bandwidth = 0;
        self.rounds = 0;
    }
}

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, sample: &AckSample) {
        if self.full_pipe.reached || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        let full = &mut self.full_pipe;
        if bandwidth as f64 >= full.bandwidth as f64 * GROWTH {
            full.bandwidth = bandwidth;
            full.rounds = 0;
            return;
        }
        full.rounds += 1;
        full.reached = full.rounds >= ROUNDS;
    }

    /// The state in which a flow without a reason for another one is.
    pub(super) fn leave_for_steady_state(&mut self, now: justfull_base::Instant) {
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
