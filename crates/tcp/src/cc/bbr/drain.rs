//! Drain (draft section 4.3.3): after Startup the queue it made is let out, until no more than a BDP is in flight.

use super::{Bbr, Mode};
use crate::cc::AckSample;

impl Bbr {
    pub(super) fn check_drain(&mut self, sample: &AckSample) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.target_in_flight(self.bandwidth.get(), 1.0) {
            self.enter_probe_bw(sample.now);
        }
    }
}
