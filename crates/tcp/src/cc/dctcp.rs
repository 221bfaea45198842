//! DCTCP (RFC 8257): a scalable control for data centres.
//!
//! Controls the window by the share of marked packets. Once a window, alpha moves by `gain` of the
//! distance to the share of bytes that were marked (section 3.3 step 6); the first mark of a window
//! takes off alpha / 2 of it (step 9). Growth is Reno's, and pauses until the data in flight at the
//! reduction is acknowledged. A loss halves the window (section 3.4). Its segments carry ECT(0),
//! and their marks are counted by accurate ECN (RFC 9768) in place of section 3.2's echo.
//!
//! Defaults: gain 1/16, alpha 1 at first (section 4.2 and Linux).
//!
//! Known weaknesses: it must not share a queue with Reno or CUBIC (section 5); its rate falls with
//! the RTT. Deviations: section 3.2's state machine of the receiver is not needed, since every mark
//! is counted.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Ecn, Instant, Ratio, params};

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DctcpConfig: "RFC 8257 section 4.2" {
        /// Weight of the last window in alpha.
        gain: Ratio = Ratio(0.0625), within(Ratio(0.001), Ratio(1.0));
        /// Alpha at the start.
        alpha: Ratio = Ratio(1.0), within(Ratio(0.0), Ratio(1.0));
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "dctcp",
    kind: "congestion control",
    title: "DCTCP: half of the share of marks, once a window",
    text: "Sends ECT(0), counts marks, and takes off half of the averaged share of marked \
           bytes once a window; grows as Reno. For queues that mark above a small threshold.",
    sources: "RFC 8257",
    deviations: "Accurate ECN (RFC 9768) replaces the echo of section 3.2.",
    params: DctcpConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    alpha: f64,
    reno: RenoWindow,
    /// Bytes delivered and marked in this window.
    acked: u64,
    marked: u64,
    /// The window has been reduced for a mark.
    reducing: bool,
}

impl Dctcp {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &DctcpConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            gain: config.gain.0,
            alpha: config.alpha.0,
            reno: RenoWindow::new(birth),
            acked: 0,
            marked: 0,
            reducing: false,
        })
    }

    /// Average share of marked bytes.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Section 3.3 steps 5 to 8: a window has been acknowledged.
    fn end_window(&mut self) {
        if self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked, self.reducing) = (0, 0, false);
    }
}

impl CongestionController for Dctcp {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, sample: &AckSample) {
        if sample.sequence_round_start {
            self.end_window();
        }
        self.acked += sample.acked;
        self.marked += sample.ce_bytes;
        let open = sample.recovery == RecoveryState::Open;
        if sample.ce_bytes > 0 && open && !self.reducing {
            self.reducing = true;
            let kept = self.reno.cwnd as f64 * (1.0 - self.alpha / 2.0);
            self.reno.ssthresh = (kept as u64).max(2 * self.reno.mss);
            self.reno.cwnd = self.reno.ssthresh;
            self.reno.counted = 0;
        }
        let growing = open && !self.reducing || sample.recovery == RecoveryState::Loss;
        if growing && sample.may_grow(self.reno.cwnd, self.reno.in_slow_start()) {
            self.reno.grow(sample.acked);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.cause != CongestionCause::Ecn {
            self.reno.reduce(event, self.reno.cwnd / 2);
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.reno.restore();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.reno.restart(restart);
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn cwnd(&self) -> u64 {
        self.reno.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh
    }

    fn may_pace(&self) -> bool {
        false
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn codepoint(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};

    fn built() -> Dctcp {
        Dctcp::new(&DctcpConfig::default(), &testing::birth()).expect("within bounds")
    }

    /// A window of `packets` acknowledgements, of which the first `marked` report a mark.
    fn window(control: &mut Dctcp, packets: u64, marked: u64) {
        for i in 0..packets {
            let ce_bytes = if i < marked { MSS } else { 0 };
            let sequence_round_start = i == 0;
            control.on_ack(&AckSample { ce_bytes, sequence_round_start, ..testing::sample(MSS) });
        }
    }

    #[test]
    fn alpha_is_the_average_of_the_shares_of_whole_windows() {
        let mut control = built();
        let mut alpha = 1.0;
        for marked in [5, 0, 2, 10] {
            window(&mut control, 10, marked);
            control.end_window();
            alpha += (marked as f64 / 10.0 - alpha) / 16.0;
            assert!((control.alpha - alpha).abs() < 1e-12);
        }
        for _ in 0..500 {
            window(&mut control, 10, 0);
        }
        assert!(control.alpha < 1e-6, "it does not stick: {}", control.alpha);
    }

    #[test]
    fn the_first_mark_of_a_window_takes_off_half_of_alpha_and_growth_pauses() {
        let mut control = built();
        control.reno.cwnd = 100 * MSS;
        control.reno.ssthresh = 50 * MSS;
        control.alpha = 0.5;
        window(&mut control, 100, 30);
        // The window before had no bytes, so alpha is still 0.5.
        assert_eq!(control.cwnd(), 75 * MSS);
        window(&mut control, 75, 0);
        assert!(control.cwnd() > 75 * MSS, "the next window grows");
    }

    #[test]
    fn a_loss_halves_and_a_setting_out_of_bounds_is_named() {
        let mut control = built();
        control.reno.cwnd = 100 * MSS;
        control.on_congestion(&testing::loss(100 * MSS));
        assert_eq!((control.cwnd(), control.codepoint()), (50 * MSS, Some(Ecn::Ect0)));
        let wrong = DctcpConfig { gain: Ratio(0.0), ..DctcpConfig::default() };
        let refused = Dctcp::new(&wrong, &testing::birth()).expect_err("it is out of bounds");
        assert_eq!(refused.field, "gain");
    }
}
