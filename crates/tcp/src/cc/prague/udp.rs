//! The preset `udp-prague`: a window or a rate. The names in brackets are functions of `PragueCC`
//! in `prague_cc.cpp` (e8e3435), and their fields.

use super::seen::Seen;
use super::{LEAST_PACKET, LEAST_RATE, PATIENCE, Prague, SHORT, Taken};
use crate::numbers::{floor, real, seconds};
use justfull_base::{Duration, Instant};

impl Prague {
    /// Window or rate: keeps the rate at a change (`ACKReceived`, `m_cca_mode`).
    fn choose_udp(&mut self, srtt: f64) {
        let by_rate = srtt <= SHORT || srtt <= self.size / self.rate;
        if self.by_rate && !by_rate {
            self.window = self.window_of_rate(srtt);
        }
        self.by_rate = by_rate;
    }

    /// The packets that the rate has in T, rounded (`ACKReceived`, `invscaler`), in full packets.
    pub(super) fn whole_packets(&self, virtual_rtt: f64) -> f64 {
        floor(self.rate * virtual_rtt / self.size + 0.5) * self.size / self.mss
    }

    /// T after a loss at `rate` until a flow with the reference RTT would be back, without which it
    /// grows by a packet in T (`ACKReceived`, `rtts_to_growth`). Returns the T that a spurious loss
    /// takes back.
    pub(super) fn lose_patience(&mut self, rate: f64) -> f64 {
        let packets = floor(rate / 2.0 / self.mss);
        let wait = floor(floor(packets * self.target / self.virtual_rtt) * self.target);
        let added = (self.taken.patience + wait - self.patience).min(wait);
        self.patience = wait;
        added
    }

    /// A timeout (`ResetCCInfo`).
    pub(super) fn reset_udp(&mut self, now: Instant) {
        (self.alpha, self.rate, self.window) = (0.0, LEAST_RATE, 1.0);
        (self.patience, self.alpha_at) = (PATIENCE.0, now);
        (self.losing, self.reducing) = (None, None);
        self.taken = Taken::default();
    }

    /// The first acknowledgement, or the first after a timeout: the window of the initial rate
    /// (`ACKReceived`, `cs_init`). The first T began when the first packet left (`PragueCC`,
    /// `m_alpha_ts`).
    fn begin_udp(&mut self, sample: &Seen, srtt: f64) {
        self.window = self.rate * srtt / self.mss;
        if !self.timed_out {
            self.alpha_at = sample.now - sample.rtt.unwrap_or(Duration::ZERO);
        }
        self.timed_out = false;
    }

    pub(super) fn ack_udp(&mut self, sample: &Seen) {
        let srtt = seconds(sample.srtt);
        let virtual_rtt = srtt.max(self.target);
        self.virtual_rtt = virtual_rtt;
        if self.packets == sample.segments || self.timed_out {
            self.begin_udp(sample, srtt);
        }
        self.choose_udp(srtt);
        self.update_alpha(sample, self.packets, virtual_rtt);
        if let Some(since) = self.losing {
            let over =
                sample.has_left_since(since) && seconds(sample.now.since(since)) >= virtual_rtt;
            self.losing = self.losing.filter(|_| !over);
        }
        let unmarked = sample.segments.saturating_sub(sample.ce_count);
        if self.losing.is_none() && unmarked > 0 {
            self.grow(real(unmarked) * self.size / self.mss, srtt, virtual_rtt);
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
