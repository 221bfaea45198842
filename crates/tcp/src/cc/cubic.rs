//! CUBIC (RFC 9438) with `HyStart` (Ha and Rhee 2011, as in Linux) or `HyStart++` (RFC 9406).
//!
//! Controls the congestion window. After a reduction at window `W_max`, the window t seconds later
//! is W(t) = C (t - K)^3 + W_max with K = cbrt((W_max - cwnd_epoch) / C): steep at first, flat
//! around `W_max`, steep again beyond (section 4.2). Each acknowledged segment adds (target - cwnd)
//! / cwnd to cwnd, with target = W(t + RTT) within [cwnd, 1.5 cwnd]. If a Reno flow would have
//! more, cwnd is the estimate `W_est` of that flow (4.3). A congestion event multiplies by beta; if
//! the window had not regained the last `W_max`, `W_max` is lowered further (fast convergence,
//! 4.7). With `abe` an ECN echo multiplies by 0.85 instead (RFC 8511), since a queue that marks is
//! shorter than a queue that drops.
//!
//! Defaults: C = 0.4, beta = 0.7, fast convergence (RFC 9438); `HyStart` on, ABE off, as Linux.
//!
//! Known weaknesses: fills any buffer. `HyStart` leaves slow start too early on bursty links, such
//! as a cell that serves a user once in 10 ms: the acknowledgement train then looks like a full
//! pipe.
//!
//! Deviations from RFC 9438: slow start adds all acknowledged bytes without RFC 3465's limit, as
//! Linux (at most 8 segments under `HyStart++`). The reduction starts from cwnd, not from
//! `flight_size` (4.6 allows it), since cwnd grows only while it is in use (5.8). Idle time shifts
//! the epoch, as in Linux, so that the window does not grow during silence. A timeout also resets
//! the epoch, and sets `W_max` as a loss does. If the sender follows a version of Linux, or `steps`
//! is `whole`, the window grows and shrinks in whole segments. A count decides when it grows; the
//! count is computed anew each 32nd of a second. Before the first loss the window then grows by at
//! least a twentieth per round trip, a timeout forgets `W_max`, and the rest of an acknowledgement
//! after slow start goes to the count.

mod count;

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::hystart::{Detector, Growth};
use crate::numbers::whole;
use count::Count;

pub use crate::hystart::HyStart;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, choice, params};

/// Factor of the window at an ECN echo under ABE (RFC 8511 section 4.1).
const ABE_BETA: f64 = 0.85;

choice! {
    /// The steps in which the window grows and shrinks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Steps {
        /// As the sender's `kernel`: `rfc` in fractions, each version of Linux in whole segments.
        #[default]
        Kernel = "kernel",
        /// By the curve, in fractions of a segment (RFC 9438).
        Fractions = "fractions",
        /// By a count, in whole segments, as in Linux and ns-3.
        Whole = "whole",
    }
}

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CubicConfig {
        /// Aggressiveness of the cubic.
        c: f64 as "segments/s^3" = 0.4, above(0.0).to(10.0), "RFC 9438 sections 4.1 and 5.1";
        /// Factor of the window at a congestion event.
        beta: Ratio = Ratio(0.7), within(Ratio(0.1), Ratio(0.95)), "RFC 9438 section 4.6";
        /// Give way to new flows by lowering the remembered window.
        fast_convergence: bool = true;
        /// How slow start ends before a loss: HyStart as in Linux, or HyStart++ (RFC 9406).
        hystart: HyStart = HyStart::Linux;
        /// Multiply by 0.85 instead of beta at an ECN echo (RFC 8511).
        abe: bool = false;
        /// Grow and shrink as the sender's `kernel` does; by the curve, in fractions of a segment;
        /// or by a count, in whole segments. The count adds one for each 20 acknowledged at least,
        /// before the first loss (Linux's `bictcp_update`; ns-3's `CntClamp`).
        steps: Steps = Steps::Kernel;
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "cubic",
    kind: "congestion control",
    title: "CUBIC: growth by the time since the last loss",
    text: "The window follows a cubic of the time since the last congestion event. It is flat \
           around the window of that event; HyStart ends slow start when the delay rises.",
    sources: "RFC 9438; Ha and Rhee 2011 (HyStart); RFC 9406 (HyStart++); RFC 8511 (ABE)",
    deviations: "Slow start adds all acknowledged bytes; the reduction starts from cwnd (RFC 9438 \
                 section 4.6 allows it); idle time does not count as growth. A sender that follows \
                 a version of Linux (`justfull explain kernel`), or any sender with `steps`, \
                 counts in whole segments.",
    params: CubicConfig::params,
};

/// The state that a spurious reduction restores (RFC 9438 section 4.9). Windows in segments.
#[derive(Clone, Copy, Debug)]
struct Curve {
    cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    /// Start of congestion avoidance; none if it starts at the next acknowledgement.
    epoch: Option<Instant>,
    k: f64,
    w_est: f64,
    /// Window before the last reduction; from there on `W_est` grows like Reno (section 4.3).
    cwnd_prior: f64,
}

/// State.
#[derive(Clone, Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    /// Additive increase that gives Reno's fair share with beta: 3 (1 - beta) / (1 + beta).
    alpha: f64,
    fast_convergence: bool,
    mss: f64,
    per_mss: f64,
    initial_window: f64,
    curve: Curve,
    before: Curve,
    hystart: Detector,
    /// The count of whole segments, if the kernel or `steps` demands it.
    count: Option<Count>,
    abe: bool,
    /// `curve.cwnd` in bytes, for the engine.
    cwnd_bytes: u64,
}

/// No threshold yet.
const INFINITE: f64 = f64::INFINITY;

impl Cubic {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &CubicConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = f64::from(birth.mss);
        let cwnd = (birth.initial_window as f64 / mss).max(1.0);
        let curve = Curve {
            cwnd,
            ssthresh: INFINITE,
            w_max: 0.0,
            epoch: None,
            k: 0.0,
            w_est: 0.0,
            cwnd_prior: cwnd,
        };
        let beta = config.beta.0;
        let whole = match config.steps {
            Steps::Kernel => birth.kernel.features().whole_segments,
            steps => steps == Steps::Whole,
        };
        let mut control = Self {
            c: config.c,
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: config.fast_convergence,
            mss,
            per_mss: 1.0 / mss,
            initial_window: cwnd,
            curve,
            before: curve,
            hystart: Detector::new(config.hystart),
            count: whole.then(|| Count::new(config.c, beta)),
            abe: config.abe,
            cwnd_bytes: 0,
        };
        control.publish();
        Ok(control)
    }

    fn publish(&mut self) {
        self.cwnd_bytes = whole(self.curve.cwnd * self.mss);
    }

    /// Section 4.2, Figure 2: the curve starts at the current window and aims at `W_max`.
    fn start_epoch(&mut self, now: Instant) {
        let curve = &mut self.curve;
        curve.epoch = Some(now);
        curve.w_est = curve.cwnd;
        if curve.cwnd < curve.w_max {
            curve.k = libm::cbrt((curve.w_max - curve.cwnd) / self.c);
        } else {
            curve.k = 0.0;
            curve.w_max = curve.cwnd;
        }
    }

    /// The curve at `t` seconds into the epoch.
    fn window_at(&self, t: f64) -> f64 {
        let d = t - self.curve.k;
        self.c * d * d * d + self.curve.w_max
    }

    /// Sections 4.2 to 4.5 for `acked` segments.
    fn avoid(&mut self, now: Instant, srtt: Duration, acked: f64) {
        if self.curve.epoch.is_none() {
            self.start_epoch(now);
        }
        let t = now.since(self.curve.epoch.unwrap_or(now)).as_secs_f64();
        let share = acked / self.curve.cwnd;
        let alpha = if self.curve.w_est >= self.curve.cwnd_prior { 1.0 } else { self.alpha };
        self.curve.w_est += alpha * share;
        let cwnd = self.curve.cwnd;
        if self.window_at(t) < self.curve.w_est {
            self.curve.cwnd = cwnd.max(self.curve.w_est);
        } else {
            let target = self.window_at(t + srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            self.curve.cwnd = cwnd + (target - cwnd) * share.min(1.0);
        }
    }

    /// [`Cubic::avoid`] in whole segments.
    #[inline(never)]
    fn avoid_by_count(&mut self, now: Instant, min_rtt: Duration, acked: f64) {
        let Some(count) = &mut self.count else { return };
        let (window, w_max) = (whole(self.curve.cwnd), whole(self.curve.w_max));
        let below = whole(acked);
        let acked = below + u64::from(acked > below.cast_signed() as f64);
        self.curve.cwnd = count.grow(now, min_rtt, window, w_max, acked).cast_signed() as f64;
    }

    /// The remembered maximum and the threshold of a reduction, in whole segments. A timeout
    /// forgets the maximum, as `bictcp_reset` does.
    fn reduce_by_count(&mut self, count: &mut Count, timeout: bool) {
        let (window, last) = (self.before.cwnd as u64, self.before.w_max as u64);
        let given_up = self.fast_convergence && window < last;
        let w_max = if given_up { count.given_up(window) } else { window };
        self.curve.w_max = if timeout { 0.0 } else { w_max as f64 };
        self.curve.ssthresh = count.threshold(window) as f64;
        count.end_epoch();
    }

    /// Adds `acked` segments, or as many as HyStart allows, up to the threshold. Returns the number
    /// left for congestion avoidance.
    fn slow_start(&mut self, mut acked: f64, growth: Growth) -> f64 {
        if let Some(limit) = self.hystart.limit() {
            acked = acked.min(f64::from(limit));
        }
        if let Growth::Divided(by) = growth {
            acked /= f64::from(by);
        }
        let add = acked.min(self.curve.ssthresh - self.curve.cwnd);
        self.curve.cwnd += add;
        acked - add
    }
}

impl CongestionController for Cubic {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline(always)]
    fn on_ack(&mut self, sample: &AckSample) {
        let mut growth = Growth::Full;
        if self.in_slow_start() {
            // A copy, so that the compiler computes the unused fields only in slow start.
            let copy = *sample;
            growth = self.hystart.growth(&copy, self.curve.cwnd);
            if growth == Growth::Over {
                self.curve.ssthresh = self.curve.cwnd;
            }
        }
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        let slow_start = self.in_slow_start();
        if !growing || sample.acked == 0 || !sample.may_grow(self.cwnd_bytes, slow_start) {
            return;
        }
        let mut acked = sample.acked.cast_signed() as f64 * self.per_mss;
        if slow_start {
            acked = self.slow_start(acked, growth);
        }
        if acked > 0.0 {
            if self.count.is_some() {
                self.avoid_by_count(sample.now, sample.min_rtt, acked);
            } else {
                self.avoid(sample.now, sample.srtt, acked);
            }
        }
        self.publish();
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let timeout = matches!(event.cause, CongestionCause::Timeout { .. });
        if event.cause == (CongestionCause::Timeout { repeated: true }) {
            self.curve.cwnd = 1.0;
            self.publish();
            return;
        }
        self.before = self.curve;
        let curve = &mut self.curve;
        // Section 4.7: a flow that did not regain its last maximum gives up a share.
        curve.w_max = if self.fast_convergence && curve.cwnd < curve.w_max {
            curve.cwnd * (1.0 + self.beta) / 2.0
        } else {
            curve.cwnd
        };
        curve.cwnd_prior = curve.cwnd;
        let beta =
            if self.abe && event.cause == CongestionCause::Ecn { ABE_BETA } else { self.beta };
        curve.ssthresh = (curve.cwnd * beta).max(2.0);
        if let Some(mut count) = self.count {
            self.reduce_by_count(&mut count, timeout);
            self.count = Some(count);
        }
        let curve = &mut self.curve;
        curve.cwnd = if timeout { 1.0 } else { curve.ssthresh };
        curve.epoch = None;
        self.hystart.restart();
        self.publish();
    }

    fn on_spurious(&mut self, _: Instant) {
        if self.curve.cwnd < self.before.cwnd {
            self.curve = self.before;
            self.publish();
        }
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += restart.idle;
        }
        if let Some(count) = &mut self.count {
            count.shift(restart.now, restart.idle);
        }
        if restart.shrink && restart.idle > restart.rto {
            let curve = &mut self.curve;
            curve.ssthresh = curve.ssthresh.max(curve.cwnd * 0.75);
            curve.cwnd = curve.cwnd.min(self.initial_window);
            self.publish();
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn may_pace(&self) -> bool {
        false
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn cwnd(&self) -> u64 {
        self.cwnd_bytes
    }

    fn ssthresh(&self) -> u64 {
        // An infinite threshold saturates to the largest integer.
        (self.curve.ssthresh * self.mss) as u64
    }

    fn in_slow_start(&self) -> bool {
        self.curve.cwnd < self.curve.ssthresh
    }
}

#[cfg(test)]
mod tests;
