//! Startup and the full-pipe estimator (draft section 4.3.2): when the bandwidth has not grown by a
//! quarter in three rounds, more data in flight only builds a queue.

use super::{Bbr, Mode};
use crate::control::AckSample;

/// Growth below this factor counts as none.
const GROWTH: f64 = 1.25;
/// Rounds without growth.
const ROUNDS: u32 = 3;

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe has been full once.
    pub(super) reached: bool,
    bandwidth: u64,
    rounds: u32,
}

impl FullPipe {
    /// Restarts the growth measurement, after a timeout or a needless reduction.
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

    /// Enters the mode of a flow without a reason for another mode.
    pub(super) fn leave_for_steady_state(&mut self, now: justfull_base::Instant) {
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing;

    /// The estimator after a round of `bandwidth`.
    fn round(bbr: &mut Bbr, bandwidth: u64) -> (u64, u32, bool) {
        bbr.round += 20;
        bbr.bandwidth.update(10, bbr.round, bandwidth);
        bbr.round_start = true;
        bbr.check_full_pipe(&testing::sample(1));
        (bbr.full_pipe.bandwidth, bbr.full_pipe.rounds, bbr.full_pipe.reached)
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let mut bbr = control(&BbrConfig::default());
        assert_eq!(round(&mut bbr, 1000), (1000, 0, false));
        assert_eq!(round(&mut bbr, 1249), (1000, 1, false));
        assert_eq!(round(&mut bbr, 1250), (1250, 0, false), "just a quarter more");
        assert_eq!(round(&mut bbr, 1250), (1250, 1, false));
        assert_eq!(round(&mut bbr, 1250), (1250, 2, false));
        assert_eq!(round(&mut bbr, 1250), (1250, 3, true));
        assert_eq!(round(&mut bbr, 9000), (1250, 3, true), "once full it stays so");
    }

    #[test]
    fn only_the_start_of_a_round_with_enough_data_counts_and_growth_can_be_forgotten() {
        let mut bbr = control(&BbrConfig::default());
        round(&mut bbr, 1000);
        round(&mut bbr, 1000);
        bbr.round_start = false;
        bbr.check_full_pipe(&testing::sample(1));
        assert_eq!(bbr.full_pipe.rounds, 1);
        bbr.round_start = true;
        let mut sample = testing::sample(1);
        sample.app_limited = true;
        bbr.check_full_pipe(&sample);
        assert_eq!(bbr.full_pipe.rounds, 1);
        bbr.full_pipe.forget_growth();
        assert_eq!((bbr.full_pipe.rounds, bbr.full_pipe.bandwidth), (0, 0));
    }

    #[test]
    fn a_flow_whose_pipe_was_full_probes_and_another_starts_up() {
        let mut bbr = control(&BbrConfig::default());
        for (reached, mode) in [(false, Mode::Startup), (true, Mode::ProbeBw)] {
            (bbr.mode, bbr.full_pipe.reached) = (Mode::ProbeRtt, reached);
            bbr.leave_for_steady_state(justfull_base::Instant::ZERO);
            assert_eq!(bbr.mode, mode);
        }
    }
}
