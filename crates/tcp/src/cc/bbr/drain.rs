//! Drain (draft section 4.3.3): after Startup, empties the queue it built until at most one BDP is
//! in flight.

use super::{Bbr, Mode};
use crate::control::AckSample;

impl Bbr {
    pub(super) fn check_drain(&mut self, sample: &AckSample) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.at_departure(sample, sample.in_flight)
                <= self.target_in_flight(self.bandwidth.get(), 1.0)
        {
            self.enter_probe_bw(sample.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing;

    #[test]
    fn a_full_pipe_is_drained_until_no_more_than_a_bdp_is_in_flight() {
        let mut bbr = control(&BbrConfig::default());
        let target = bbr.target_in_flight(0, 1.0);
        let mut check = |mode, reached, in_flight| {
            (bbr.mode, bbr.full_pipe.reached) = (mode, reached);
            bbr.update_gains();
            let mut sample = testing::sample(1);
            sample.in_flight = in_flight;
            bbr.check_drain(&sample);
            bbr.mode
        };
        assert_eq!(check(Mode::Startup, false, target), Mode::Startup);
        assert_eq!(check(Mode::Startup, true, target + 1), Mode::Drain);
        assert_eq!(check(Mode::Drain, true, target + 1), Mode::Drain);
        assert_eq!(check(Mode::Drain, true, target), Mode::ProbeBw);
        assert_eq!(check(Mode::ProbeRtt, true, target), Mode::ProbeRtt);
    }
}
