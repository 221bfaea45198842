//! ABC (Accel-Brake Control): a window that each acknowledgement moves by a segment.
//!
//! Source: Goyal, Agarwal, Netravali, Alizadeh and Balakrishnan, NSDI 2020, equation 3 and section
//! 4.1; the authors' release (prateshg/ABC-NSDI2020, b1693cb, `tcp_abc.c`, `tcp_abccubic.c`).
//!
//! Controls the window by the marks of an ABC router (`abc` among the AQMs). A segment that is
//! acknowledged without CE accelerates: the window grows by a segment, so two leave. A segment with
//! CE brakes: the window shrinks by a segment, so none leaves. Each also adds 1 / window, one
//! segment in a round trip, so that flows of one router become equal. With the share f of
//! accelerates the rate becomes 2 f times as high in a round trip.
//!
//! A second window answers to losses, for a bottleneck without ABC. The smaller one holds, and both
//! are at most twice the data in flight and five segments, so that the idle one stays near.
//!
//! Pacing: twice the window over the last round trip, as in the release.
//!
//! Known weaknesses: CE of any other AQM is a brake for one segment, a thousandth of what Reno
//! would give up, so ABC starves others there; without an ABC router it fills the queue.
//!
//! Deviations: the window for losses is Reno's, the paper's CUBIC's. Marks are counted by accurate
//! ECN (RFC 9768) in place of the release's echo of each change. Windows are bytes. The additive
//! increase is equation 3's, ln 2 segments where each of a window accelerates; the release counts
//! segments up to the window, which grows as fast, and adds none there.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Ecn, Instant, params};

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AbcConfig: "ABC-NSDI2020, b1693cb" {
        /// Window down to which brakes shrink it, and the room beyond twice the data in flight.
        least: u32 as "segments" = 5, within(1, 100);
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "abc",
    kind: "congestion control",
    title: "Accel-Brake Control: a segment more or less for each acknowledgement",
    text: "Grows by a segment for each segment acknowledged without CE, shrinks by one for each \
           with CE, and adds a segment in a round trip. A second window answers to losses. For \
           routers with the AQM `abc`.",
    sources: "Goyal and others, NSDI 2020, equation 3, section 4.1; \
              github.com/prateshg/ABC-NSDI2020, b1693cb",
    deviations: "The window for losses is Reno's in place of CUBIC's; marks are counted by \
                 accurate ECN (RFC 9768); the additive increase is the paper's, which the release \
                 leaves out while each segment accelerates.",
    params: AbcConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Abc {
    mss: u64,
    /// The window that the marks move, in bytes.
    window: u64,
    /// What the additive increase has left of a byte, in parts of the window.
    rest: u64,
    /// The least window, in bytes.
    least: u64,
    initial: u64,
    /// The window that answers to losses.
    reno: RenoWindow,
    srtt: Duration,
}

impl Abc {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &AbcConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = u64::from(birth.mss);
        let least = u64::from(config.least) * mss;
        let reno = RenoWindow::new(birth);
        let initial = reno.cwnd;
        let window = initial.max(least);
        Ok(Self { mss, window, rest: 0, least, initial, reno, srtt: Duration::ZERO })
    }
}

impl CongestionController for Abc {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, sample: &AckSample) {
        self.srtt = sample.srtt;
        // Equation 3: a segment more or less for each, and one in a round trip.
        let parts = self.rest + sample.acked * self.mss;
        let additive = parts / self.window;
        self.rest = parts % self.window;
        let grown = self.window + additive + sample.acked.saturating_sub(sample.ce_bytes);
        self.window = grown.saturating_sub(sample.ce_bytes).max(self.least);
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        if growing && sample.may_grow(self.reno.cwnd, self.reno.in_slow_start()) {
            self.reno.grow(sample.acked);
        }
        // Section 4.1: neither window runs away from the data in flight.
        let most = 2 * sample.max_in_flight + self.least;
        self.window = self.window.min(most);
        self.reno.cwnd = self.reno.cwnd.min(most);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.cause != CongestionCause::Ecn {
            self.reno.reduce(event, event.flight_size / 2);
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.reno.restore();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.reno.restart(restart);
        if restart.shrink && restart.idle > restart.rto {
            self.window = self.window.min(self.initial.max(self.least));
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn cwnd(&self) -> u64 {
        self.window.min(self.reno.cwnd)
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let seconds = self.srtt.as_secs_f64();
        (seconds > 0.0).then(|| BitRate((16.0 * self.cwnd() as f64 / seconds) as u64))
    }

    fn in_slow_start(&self) -> bool {
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
    use crate::testing::{self, MSS, sample};

    fn abc() -> Abc {
        Abc::new(&AbcConfig::default(), &testing::birth()).expect("the defaults are sound")
    }

    /// Segments of the window after `acked` segments, of which `braked` carry CE, one by one.
    fn after(control: &mut Abc, acked: u64, braked: u64) -> u64 {
        for i in 0..acked {
            let ce_bytes = if i < braked { MSS } else { 0 };
            control.on_ack(&AckSample { ce_bytes, ..sample(MSS) });
        }
        control.cwnd() / MSS
    }

    #[test]
    fn a_window_of_accelerates_doubles_it_and_adds_the_logarithm_of_2_segments() {
        let mut control = abc();
        control.window = 1000 * MSS;
        control.reno.cwnd = 5000 * MSS;
        after(&mut control, 1000, 0);
        let segments = control.window as f64 / MSS as f64;
        // The sum of 1 / w for w from 1000 to 2000 is ln 2.
        assert!((segments - 2000.0 - 2.0_f64.ln()).abs() < 0.002, "{segments}");
    }

    #[test]
    fn as_many_brakes_as_accelerates_leave_the_additive_increase() {
        let mut control = abc();
        control.window = 100 * MSS;
        control.reno.cwnd = 1000 * MSS;
        for _ in 0..500 {
            after(&mut control, 1, 1);
            after(&mut control, 1, 0);
        }
        // 1000 segments in windows of 100 to 109: w grows by 1 in w segments, so w^2 by 2000.
        assert_eq!(control.cwnd() / MSS, 109);
    }

    #[test]
    fn brakes_alone_leave_the_least_window() {
        let mut control = abc();
        assert_eq!(after(&mut control, 40, 40), 5);
    }

    #[test]
    fn one_acknowledgement_of_several_segments_moves_the_window_by_each_of_them() {
        let mut control = abc();
        control.reno.cwnd = 100 * MSS;
        control.on_ack(&AckSample { ce_bytes: MSS, ..sample(4 * MSS) });
        // 10 segments, three accelerates, a brake, and 4 / 10 of the additive increase.
        assert_eq!(control.window, 12 * MSS + 4 * MSS / 10);
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_and_a_mark_is_no_congestion_event() {
        let mut control = abc();
        control.window = 100 * MSS;
        control.reno.cwnd = 150 * MSS;
        control.on_congestion(&testing::echo(100 * MSS));
        assert_eq!(control.cwnd(), 100 * MSS);
        control.on_congestion(&testing::loss(100 * MSS));
        assert_eq!((control.cwnd(), control.ssthresh()), (50 * MSS, 50 * MSS));
        control.on_spurious(Instant::ZERO);
        assert_eq!(control.cwnd(), 100 * MSS);
    }

    #[test]
    fn both_windows_stay_within_twice_the_data_in_flight_and_five_segments() {
        let mut control = abc();
        control.window = 100 * MSS;
        control.reno.cwnd = 300 * MSS;
        control.on_ack(&AckSample { max_in_flight: 20 * MSS, ..sample(MSS) });
        assert_eq!((control.window, control.reno.cwnd), (45 * MSS, 45 * MSS));
    }

    #[test]
    fn segments_carry_ect0_and_are_paced_at_twice_the_window() {
        let mut control = abc();
        assert_eq!((control.codepoint(), control.pacing_rate()), (Some(Ecn::Ect0), None));
        control.on_ack(&sample(0));
        // 10 segments in 50 ms.
        assert_eq!(control.pacing_rate(), Some(BitRate(2 * 8 * 14_480 * 20)));
    }
}
