//! The preset `udp-prague`: a window or a rate.

use super::seen::Seen;
use super::{LEAST_PACKET, LEAST_RATE, Prague, SHORT};
use crate::numbers::{real, seconds};
use justfull_base::Instant;

impl Prague {
    /// Window or rate: keeps the rate at a change.
    fn choose_udp(&mut self, srtt: f64) {
        let by_rate = srtt <= SHORT || srtt <= self.size / self.rate;
        if self.by_rate && !by_rate {
            self.window = self.window_of_rate(srtt);
        }
        self.by_rate = by_rate;
    }

    pub(super) fn ack_udp(&mut self, sample: &Seen) {
        let srtt = seconds(sample.srtt);
        let virtual_rtt = srtt.max(self.target);
        if self.alpha_at == Instant::ZERO || self.timed_out {
            // The first acknowledgement: the window of the initial rate.
            self.window = self.rate * srtt / self.mss;
            self.alpha_at = sample.now;
            (self.delivered, self.marked) = (sample.delivered, self.marks);
            self.timed_out = false;
        }
        self.choose_udp(srtt);
        self.update_alpha(sample, virtual_rtt);
        if let Some(since) = self.losing {
            let over =
                sample.has_left_since(since) && seconds(sample.now.since(since)) >= virtual_rtt;
            self.losing = self.losing.filter(|_| !over);
        }
        let unmarked = sample.acked.saturating_sub(sample.ce_bytes);
        if self.losing.is_none() && unmarked > 0 {
            self.grow(real(unmarked), srtt, virtual_rtt);
        }
        self.reduce(sample, virtual_rtt);
        if !self.by_rate {
            self.rate = self.rate_of_window(srtt);
        }
        self.rate = self.rate.max(LEAST_RATE);
        self.window = self.window_of_rate(srtt);
        self.size = (self.rate * virtual_rtt / 2.0).max(LEAST_PACKET).min(self.mss);
        self.publish_window();
        self.pace_in_halves(sample.now, virtual_rtt);
    }
}
