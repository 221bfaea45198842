//! NewReno (RFC 5681, RFC 6582) with appropriate byte counting (RFC 3465).
//!
//! Controls the congestion window. Slow start adds the bytes acknowledged, at most L = 2 segments for one
//! acknowledgement (RFC 3465 section 2.2); congestion avoidance adds one segment for each window acknowledged;
//! a loss or an ECN echo halves: ssthresh = max(FlightSize / 2, 2 SMSS) (RFC 5681 (4)); a timeout also falls back
//! to one segment. With `abe` an echo multiplies by 0.8 instead (RFC 8511).
//!
//! Defaults: L = 2 since a delayed acknowledgement covers two segments; neither `HyStart` nor ABE, as the RFCs.
//!
//! Known weaknesses: one segment per round is slow on long fat paths, and any buffer is filled before the window
//! is cut.
//!
//! Deviations: `FlightSize` is capped by the window, since limited transmit (RFC 3042) may have exceeded it. The window does
//! not grow while the application or the receiver is what limits (the idea of RFC 7661). Recovery is the engine's
//! (RFC 6675), in place of RFC 6582's partial acknowledgements.

use crate::cc::{AckSample, Birth, Congestion, CongestionCause, CongestionController, IdleRestart, Sent};
use crate::hystart::{Detector, Growth};
use crate::sender::RecoveryState;

pub use crate::hystart::HyStart;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Instant};

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Config {
    /// Segments that one acknowledgement may add in slow start (RFC 3465's L), 1 or more.
    pub abc_limit: u32,
    /// How slow start ends before a loss.
    pub hystart: HyStart,
    /// A milder factor, 0.8, at an ECN echo (RFC 8511).
    pub abe: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { abc_limit: 2, hystart: HyStart::Off, abe: false }
    }
}

impl Config {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field outside its bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(self.abc_limit >= 1, "abc_limit", &self.abc_limit, "at least 1", "RFC 3465 section 2.2")
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "new_reno",
    kind: "congestion control",
    title: "NewReno: additive increase, halving",
    text: "Doubles the window each round until the first loss, then adds a segment per round and halves at each \
           congestion event.",
    sources: "RFC 5681, RFC 6582, RFC 3465, RFC 9406 (HyStart++), RFC 8511 (ABE)",
    deviations: "FlightSize is capped by cwnd; no growth while the window is not in use (RFC 7661's idea); recovery by \
                 RFC 6675 instead of partial acknowledgements.",
    params: &[
        ParamDoc {
            name: "abc_limit",
            unit: "segments",
            bounds: "at least 1",
            default: "2",
            text: "Segments that one acknowledgement may add in slow start (L of RFC 3465).",
        },
        ParamDoc {
            name: "hystart",
            unit: "linux, plus_plus, off",
            bounds: "linux, plus_plus or off",
            default: "off",
            text: "How slow start ends before a loss: HyStart as in Linux, or HyStart++ (RFC 9406).",
        },
        ParamDoc {
            name: "abe",
            unit: "bool",
            bounds: "true, false",
            default: "false",
            text: "Multiply by 0.8 instead of halving at an ECN echo (RFC 8511).",
        },
    ],
};

/// State.
#[derive(Clone, Debug)]
pub struct NewReno {
    mss: u64,
    initial_window: u64,
    abc_limit: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged towards the next segment of growth.
    counted: u64,
    /// Window and threshold before the last reduction.
    before: (u64, u64),
    hystart: Detector,
    abe: bool,
}

impl NewReno {
    /// The control at the start of a connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &Config, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = u64::from(birth.mss);
        let cwnd = birth.initial_window.max(mss);
        Ok(Self {
            mss,
            initial_window: cwnd,
            abc_limit: u64::from(config.abc_limit) * mss,
            cwnd,
            ssthresh: u64::MAX,
            counted: 0,
            before: (cwnd, u64::MAX),
            hystart: Detector::new(config.hystart),
            abe: config.abe,
        })
    }
}

impl CongestionController for NewReno {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, sample: &AckSample) {
        let mut growth = Growth::Full;
        if self.in_slow_start() {
            growth = self.hystart.growth(sample, self.cwnd as f64 / self.mss as f64);
            if growth == Growth::Over {
                self.ssthresh = self.cwnd;
            }
        }
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        if !growing || !sample.may_grow(self.cwnd, self.in_slow_start()) {
            return;
        }
        let mut acked = sample.acked;
        if self.in_slow_start() {
            let limit =
                self.hystart.limit().map_or(self.abc_limit, |segments| u64::from(segments) * self.mss);
            let divisor = if let Growth::Divided(by) = growth { u64::from(by) } else { 1 };
            acked = acked.min(limit) / divisor;
            let add = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += add;
            if self.in_slow_start() {
                return;
            }
            acked -= add;
        }
        self.counted += acked;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let repeated = matches!(event.cause, CongestionCause::Timeout { repeated: true });
        if !repeated {
            self.before = (self.cwnd, self.ssthresh);
            let flight = event.flight_size.min(self.cwnd);
            let mild = self.abe && event.cause == CongestionCause::Ecn;
            self.ssthresh = (if mild { flight / 5 * 4 } else { flight / 2 }).max(2 * self.mss);
            self.hystart.restart();
        }
        self.counted = 0;
        self.cwnd =
            if matches!(event.cause, CongestionCause::Timeout { .. }) { self.mss } else { self.ssthresh };
    }

    fn on_spurious(&mut self, _: Instant) {
        let (cwnd, ssthresh) = self.before;
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if restart.shrink && restart.idle > restart.rto {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            self.cwnd = self.cwnd.min(self.initial_window);
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};

    fn control() -> NewReno {
        NewReno::new(&Config::default(), &testing::birth()).expect("the defaults are valid")
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
        c.cwnd = 40 * MSS;
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
        c.cwnd = 40 * MSS;
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
                let config = Config { abe, ..Config::default() };
                let mut c = NewReno::new(&config, &testing::birth()).expect("the settings are valid");
                c.cwnd = 40 * MSS;
                c.on_congestion(&event);
                c.cwnd().div_ceil(MSS)
            };
            assert_eq!((reduced(testing::echo(40 * MSS)), reduced(testing::loss(40 * MSS))), (expected, 20));
        }
    }

    #[test]
    fn hystart_plus_plus_divides_the_growth_by_four_after_a_rise_of_the_delay() {
        let config = Config { hystart: HyStart::PlusPlus, ..Config::default() };
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

    #[cfg(feature = "serde")]
    #[test]
    fn the_reference_page_lists_the_settings() {
        testing::check_doc(&DOC, &Config::default());
    }
}
