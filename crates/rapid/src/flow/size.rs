//! The values beside its amount that determine a flow's windows.

use super::Flow;
use crate::config::{Config, RadioRtt};
use crate::sample::Windows;
use crate::steps::Steps;

impl Flow {
    /// The rest that rounding of the server's window has left over.
    pub(crate) const fn carry(&self) -> f64 {
        self.carry
    }

    /// Bytes that a slow flow has beyond its amount.
    pub(super) fn room(&self, rules: &Config) -> f64 {
        if self.is_slow() { f64::from(rules.room_segments) * f64::from(self.mss) } else { 0.0 }
    }

    /// The round trip of the window of the radio leg; 0 while unknown.
    pub(super) fn radio_rtt(&self, rules: &Config) -> f64 {
        match rules.radio_rtt {
            RadioRtt::Smoothed => self.radio_smoothed.min(rules.radio_rtt_max * self.radio_least),
            RadioRtt::LeastEver => self.radio_least,
        }
    }

    /// Seconds added to it.
    pub(super) fn slack(&self, rules: &Config) -> f64 {
        rules.radio_slack.as_secs_f64() + self.added
    }

    /// Minimum window of the radio leg in bytes.
    pub(super) fn radio_floor(&self, rules: &Config) -> f64 {
        (f64::from(rules.radio_floor_segments) * f64::from(self.mss)).max(self.floor(rules))
    }

    /// The steps around the server's window and the window of the radio leg, by rules with
    /// intervals ([`crate::steady`]); none while they depend on more than the amount.
    pub(crate) fn steps(&self, rules: &Config) -> Option<[Steps; 2]> {
        let (rtt, radio_rtt) = (self.window_rtt(rules), self.radio_rtt(rules));
        let known = self.amount.is_some() && rtt > 0.0 && radio_rtt > 0.0;
        if !known || !self.is_active() || !self.windows.reading {
            return None;
        }
        let (room, ratio) = (self.room(rules), (radio_rtt + self.slack(rules)) / rtt);
        let (floor, radio_floor) = (self.floor(rules) as u64, self.radio_floor(rules) as u64);
        let Windows { server, radio, .. } = self.windows;
        let server = Steps::around(server, floor, self.mss, false, rtt, room + self.carry)?;
        let radio = Steps::around(radio, radio_floor, self.mss, true, rtt * ratio, room)?;
        Some([server, radio])
    }
}
