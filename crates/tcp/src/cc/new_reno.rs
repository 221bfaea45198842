//! NewReno (RFC 5681, RFC 6582) with appropriate byte counting (RFC 3465).
//!
//! Controls the congestion window. Slow start adds the bytes acknowledged, at most L = 2 segments
//! per acknowledgement (RFC 3465 section 2.2). Congestion avoidance adds one segment per window
//! acknowledged. A loss or an ECN echo halves it: ssthresh = max(FlightSize / 2, 2 SMSS) (RFC 5681
//! (4)). A timeout also falls back to one segment. With `abe` an echo multiplies by 0.8 instead
//! (RFC 8511).
//!
//! Defaults: L = 2, since a delayed acknowledgement covers two segments; neither `HyStart` nor ABE,
//! as in the RFCs.
//!
//! Known weaknesses: one segment per round is slow on long fat paths, and any buffer fills before
//! the window is cut.
//!
//! Deviations: the window caps `FlightSize`, since limited transmit (RFC 3042) may have exceeded
//! it. The window does not grow while the application or the receiver is the limit (the idea of RFC
//! 7661). Recovery is the engine's (RFC 6675), in place of RFC 6582's partial acknowledgements.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::hystart::{Detector, Growth};
use crate::reno::RenoWindow;

pub use crate::hystart::HyStart;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, params};

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewRenoConfig {
        /// Segments that one acknowledgement may add in slow start (L of RFC 3465).
        abc_limit: u32 as "segments" = 2, at_least(1), "RFC 3465 section 2.2";
        /// How slow start ends before a loss: HyStart as in Linux, or HyStart++ (RFC 9406).
        hystart: HyStart = HyStart::Off;
        /// Multiply by 0.8 instead of halving at an ECN echo (RFC 8511).
        abe: bool = false;
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "new_reno",
    kind: "congestion control",
    title: "NewReno: additive increase, halving",
    text: "Doubles the window each round until the first loss, then adds a segment per round and \
           halves at each congestion event.",
    sources: "RFC 5681, RFC 6582, RFC 3465, RFC 9406 (HyStart++), RFC 8511 (ABE)",
    deviations: "FlightSize is capped by cwnd; no growth while the window is not in use (RFC \
                 7661's idea); recovery by RFC 6675 instead of partial acknowledgements.",
    params: NewRenoConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: RenoWindow,
    abc_limit: u64,
    hystart: Detector,
    abe: bool,
}

impl NewReno {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &NewRenoConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            window: RenoWindow::new(birth),
            abc_limit: u64::from(config.abc_limit) * u64::from(birth.mss),
            hystart: Detector::new(config.hystart),
            abe: config.abe,
        })
    }
}

impl CongestionController for NewReno {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline(always)]
    fn on_ack(&mut self, sample: &AckSample) {
        let window = &mut self.window;
        let mut growth = Growth::Full;
        if window.in_slow_start() {
            growth = self.hystart.growth(sample, window.cwnd as f64 / window.mss as f64);
            if growth == Growth::Over {
                window.ssthresh = window.cwnd;
            }
        }
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        if !growing || !sample.may_grow(window.cwnd, window.in_slow_start()) {
            return;
        }
        let mut acked = sample.acked;
        if window.in_slow_start() {
            let limit = self
                .hystart
                .limit()
                .map_or(self.abc_limit, |segments| u64::from(segments) * window.mss);
            let divisor = if let Growth::Divided(by) = growth { u64::from(by) } else { 1 };
            acked = acked.min(limit) / divisor;
        }
        window.grow(acked);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let flight = event.flight_size.min(self.window.cwnd);
        let mild = self.abe && event.cause == CongestionCause::Ecn;
        self.window.reduce(event, if mild { flight / 5 * 4 } else { flight / 2 });
        if event.cause != (CongestionCause::Timeout { repeated: true }) {
            self.hystart.restart();
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.window.restore();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.window.restart(restart);
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn may_pace(&self) -> bool {
        false
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};

    fn control() -> NewReno {
        NewReno::new(&NewRenoConfig::default(), &testing::birth()).expect("the defaults are valid")
    }

    #[test]
    fn slow_start_doubles_the_window_each_round() {
        let mut c = control();
        for round in 0..6 {
            let window = c.cwnd();
            assert_eq!(window, (10 << round) * MSS);
            for _ in 0..window / (2 * MSS) {
                c.on_ack(&testing::sample(2 * MSS));
            }
        }
    }

    #[test]
    fn an_acknowledgement_of_many_segments_adds_two_in_slow_start() {
        let mut c = control();
        c.on_ack(&testing::sample(100 * MSS));
        assert_eq!(c.cwnd(), 12 * MSS);
    }

    #[test]
    fn the_sawtooth_halves_at_a_loss_and_regains_a_segment_per_round() {
        let mut c = control();
        c.window.cwnd = 40 * MSS;
        c.on_congestion(&testing::loss(40 * MSS));
        assert_eq!((c.cwnd(), c.ssthresh()), (20 * MSS, 20 * MSS));
        for round in 1..=20 {
            let window = c.cwnd();
            for _ in 0..window / MSS {
                c.on_ack(&testing::sample(MSS));
            }
            assert_eq!(c.cwnd(), (20 + round) * MSS);
        }
    }

    #[test]
    fn a_timeout_falls_to_one_segment_and_a_repeated_one_keeps_the_threshold() {
        let mut c = control();
        c.window.cwnd = 40 * MSS;
        c.on_congestion(&testing::timeout(40 * MSS, false));
        assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 20 * MSS));
        c.on_congestion(&testing::timeout(40 * MSS, true));
        assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 20 * MSS));
        c.on_spurious(Instant::ZERO);
        assert_eq!((c.cwnd(), c.ssthresh()), (40 * MSS, u64::MAX));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut c = control();
        let mut sample = testing::sample(MSS);
        sample.window_limited = false;
        sample.max_in_flight = 3 * MSS;
        c.on_ack(&sample);
        assert_eq!(c.cwnd(), 10 * MSS);
    }

    #[test]
    fn an_echo_halves_or_under_abe_leaves_four_fifths_and_a_loss_always_halves() {
        for (abe, expected) in [(false, 20), (true, 32)] {
            let reduced = |event| {
                let config = NewRenoConfig { abe, ..NewRenoConfig::default() };
                let mut c =
                    NewReno::new(&config, &testing::birth()).expect("the settings are valid");
                c.window.cwnd = 40 * MSS;
                c.on_congestion(&event);
                c.cwnd().div_ceil(MSS)
            };
            assert_eq!(
                (reduced(testing::echo(40 * MSS)), reduced(testing::loss(40 * MSS))),
                (expected, 20)
            );
        }
    }

    #[test]
    fn hystart_plus_plus_divides_the_growth_by_four_after_a_rise_of_the_delay() {
        let config = NewRenoConfig { hystart: HyStart::PlusPlus, ..NewRenoConfig::default() };
        let mut c = NewReno::new(&config, &testing::birth()).expect("the settings are valid");
        for round in 0..2 {
            for i in 0..8 {
                let mut sample = testing::sample(MSS);
                sample.rtt = Some(justfull_base::Duration::from_millis(50 + round * 20));
                sample.sequence_round_start = i == 0;
                c.on_ack(&sample);
            }
        }
        assert_eq!(c.cwnd(), (10 + 15) * MSS + MSS / 4);
    }

    #[test]
    fn the_rest_of_slow_start_counts_towards_a_segment_for_each_window() {
        let mut c = control();
        (c.window.cwnd, c.window.ssthresh) = (10 * MSS, 11 * MSS);
        c.on_ack(&testing::sample(2 * MSS));
        assert_eq!((c.cwnd(), c.window.counted, c.in_slow_start()), (11 * MSS, MSS, false));
        // RFC 3465 section 2.1: one byte short of the window it does not grow, and bytes beyond it
        // are kept.
        c.on_ack(&testing::sample(10 * MSS - 1));
        assert_eq!((c.cwnd(), c.window.counted), (11 * MSS, 11 * MSS - 1));
        c.on_ack(&testing::sample(3));
        assert_eq!((c.cwnd(), c.window.counted), (12 * MSS, 2));
        c.on_congestion(&testing::loss(12 * MSS));
        assert_eq!((c.cwnd(), c.window.counted), (6 * MSS, 0));
    }

    #[test]
    fn slow_start_that_uses_all_of_an_acknowledgement_counts_nothing() {
        let mut c = control();
        (c.window.cwnd, c.window.counted) = (10 * MSS, 10 * MSS);
        c.on_ack(&testing::sample(MSS));
        assert_eq!((c.cwnd(), c.window.counted), (11 * MSS, 10 * MSS));
    }

    #[test]
    fn the_window_grows_in_the_open_state_and_after_a_timeout_and_not_in_recovery() {
        for (recovery, grows) in [
            (RecoveryState::Open, true),
            (RecoveryState::Reducing, false),
            (RecoveryState::Recovery, false),
            (RecoveryState::Loss, true),
        ] {
            let mut c = control();
            c.on_ack(&AckSample { recovery, ..testing::sample(MSS) });
            assert_eq!(c.cwnd() > 10 * MSS, grows, "{recovery:?}");
        }
    }

    #[test]
    fn the_threshold_is_half_of_what_is_in_flight_within_the_window_and_two_segments_at_least() {
        // RFC 5681 (4).
        for (flight, threshold) in [(3, 2), (12, 6), (20, 10), (50, 10)] {
            let mut c = control();
            c.window.cwnd = 20 * MSS;
            c.on_congestion(&testing::loss(flight * MSS));
            assert_eq!((c.cwnd(), c.ssthresh()), (threshold * MSS, threshold * MSS));
        }
        let mut c = control();
        c.on_congestion(&testing::loss(3 * MSS));
        assert_eq!(c.ssthresh(), 2 * MSS);
    }

    #[test]
    fn silence_beyond_a_timeout_takes_the_window_back_to_the_initial_one() {
        let restart = |cwnd, idle, shrink| {
            let mut c = control();
            (c.window.cwnd, c.window.ssthresh) = (cwnd * MSS, 20 * MSS);
            let (idle, rto) = [idle, 300].map(justfull_base::Duration::from_millis).into();
            c.on_idle_restart(&IdleRestart {
                now: Instant::ZERO,
                idle,
                rto,
                shrink,
                app_limited: true,
            });
            (c.cwnd() / MSS, c.ssthresh() / MSS)
        };
        assert_eq!([restart(40, 300, true), restart(40, 301, false)], [(40, 20); 2]);
        // RFC 5681 section 4.1; the threshold keeps three quarters (RFC 2861).
        assert_eq!([restart(40, 301, true), restart(8, 301, true)], [(10, 30), (8, 20)]);
    }

    #[test]
    fn hystart_ends_slow_start_where_the_window_is_and_begins_anew_after_a_reduction() {
        let config = NewRenoConfig { hystart: HyStart::Linux, ..NewRenoConfig::default() };
        let mut c = NewReno::new(&config, &testing::birth()).expect("the settings are valid");
        c.window.cwnd = 20 * MSS;
        // A train of acknowledgements longer than half the smallest RTT of 50 ms.
        for ms in 0..=26 {
            assert_eq!(c.ssthresh(), u64::MAX);
            let now = Instant::ZERO + justfull_base::Duration::from_millis(1000 + ms);
            c.on_ack(&AckSample { now, sequence_round_start: ms == 0, ..testing::sample(MSS) });
        }
        assert_eq!(c.ssthresh(), 46 * MSS);
        assert_eq!(c.phase(), "avoidance");
    }

    #[test]
    fn hystart_looks_at_windows_of_sixteen_segments_and_plus_plus_adds_eight_at_most() {
        for (window, over) in [(15, false), (16, true)] {
            let config = NewRenoConfig { hystart: HyStart::Linux, ..NewRenoConfig::default() };
            let mut c = NewReno::new(&config, &testing::birth()).expect("the settings are valid");
            // The application does not use the window, so the window stays.
            c.window.cwnd = window * MSS;
            for ms in 0..=26 {
                let now = Instant::ZERO + justfull_base::Duration::from_millis(1000 + ms);
                let (window_limited, max_in_flight) = (false, 0);
                let sample = testing::sample(MSS);
                c.on_ack(&AckSample {
                    now,
                    window_limited,
                    max_in_flight,
                    sequence_round_start: ms == 0,
                    ..sample
                });
            }
            assert_eq!(c.ssthresh() == window * MSS, over, "{window} segments");
        }
        let config = NewRenoConfig {
            hystart: HyStart::PlusPlus,
            abc_limit: 100,
            ..NewRenoConfig::default()
        };
        let mut c = NewReno::new(&config, &testing::birth()).expect("the settings are valid");
        c.on_ack(&testing::sample(50 * MSS));
        assert_eq!(c.cwnd(), 18 * MSS, "RFC 9406 section 4.2: L = 8");
    }

    #[test]
    fn a_spurious_reduction_that_was_made_up_for_takes_nothing_back() {
        let mut c = control();
        c.on_congestion(&testing::loss(10 * MSS));
        c.window.cwnd = 12 * MSS;
        c.on_spurious(Instant::ZERO);
        assert_eq!((c.cwnd(), c.ssthresh()), (12 * MSS, u64::MAX));
    }

    #[test]
    fn the_initial_window_is_a_segment_at_least() {
        let tiny = NewReno::new(
            &NewRenoConfig::default(),
            &Birth { initial_window: 7, ..testing::birth() },
        );
        assert_eq!(tiny.map(|c| c.cwnd()), Ok(MSS));
        assert!(NewRenoConfig { abc_limit: 1, ..NewRenoConfig::default() }.validate().is_ok());
    }
}
