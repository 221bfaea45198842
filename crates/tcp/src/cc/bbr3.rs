//! BBR version 3 (draft-ietf-ccwg-bbr; the variant `google` has the constants of Google's Linux).
//!
//! Controls the pacing rate and the congestion window by a model of the path: the largest delivery
//! rate of two cycles, the smallest RTT of 10 s, and three bounds from loss.
//!
//! ```text
//! bw          = min(max_bw, bw_shortterm)
//! pacing rate = pacing_gain x bw x 0.99
//! cwnd        = cwnd_gain x bw x min_rtt + extra_acked, at most inflight_shortterm and
//!               inflight_longterm (less 15 % in Cruise and ProbeRTT)
//!
//! Startup (2.77; 2) --- three rounds without a quarter more, or loss ---> Drain (0.5; 2)
//!                                                                           | at most a BDP
//!            +--------------------------------------------------------------+
//!            v                                                              |
//!        Down (0.9; 2) --> Cruise (1; 2) --> Refill (1; 2) --> Up (1.25; 2.25)
//!
//! ProbeRTT (1; 0.5) each 5 s, for 200 ms and a round
//!
//! a round with loss, not probing:  bw_shortterm       = max(bw_latest, 0.7 bw_shortterm)
//!                                  inflight_shortterm likewise, with inflight_latest
//! loss above 2 % of the bytes in flight, probing:  inflight_longterm = bytes in flight at the loss
//! ```
//!
//! One file per part: `model` (rounds, rates, bounds), `phases` (Startup to Up), `probe_rtt`.
//!
//! Defaults: the draft's.
//!
//! Known weaknesses: short-term bounds ignore the threshold of 2 %, so random loss far below it
//! costs rate; links that deliver in bursts look faster than they are; an ECN mark is no signal.
//!
//! Deviations: where text and pseudo-code of the draft differ, the code follows the table of gains,
//! compares the Reno bound in segments, lets `ProbeRTT` have at least four segments, and leaves one
//! segment beyond the data in flight at a timeout. The window counts as limiting if it limited the
//! sender in this round or the last. `google` has no ECN, which Linux uses only on marked routes,
//! and keeps the extra acknowledgements of ten rounds, where Linux keeps five to ten. The draft's
//! precautionary probing (`prev_probe_too_high`) is left out: each probe holds the bound for whole
//! rounds.

mod model;
mod phases;
mod probe_rtt;
mod seen;
#[cfg(test)]
mod tests;

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, Lost, RecoveryState, Sent,
};
use crate::numbers::{real, whole};
use crate::rate::least_burst;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Rng, choice, params};
use model::Model;
use phases::{Cycle, FullBandwidth, Phase};
use probe_rtt::ProbeRtt;
use seen::Seen;

/// Pace at 99 % of the estimated bandwidth so that queues drain (`BBRPacingMarginPercent`).
const PACING_MARGIN: f64 = 0.99;
/// Minimum window in segments (`BBRMinPipeCwnd`).
const MIN_WINDOW: u64 = 4;
/// Largest burst in bytes.
const MAX_BURST: u64 = 64_000;
/// Bursts that the window must hold: one being built, one in the driver, one at the receiver.
const BURSTS: u64 = 3;

choice! {
    /// Whose BBRv3.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Variant {
        /// The draft of the IETF.
        #[default]
        Draft = "draft",
        /// Google's Linux.
        Google = "google",
    }
}

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Bbr3Config {
        /// Whose constants.
        variant: Variant = Variant::Draft;
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "bbr3",
    kind: "congestion control",
    title: "BBR v3: a model of bandwidth and RTT with bounds from loss",
    text: "Paces at the largest delivery rate of the last cycles and keeps a bandwidth-delay \
           product in flight; probes for more every 2 to 3 s or 63 rounds. Loss above 2 % while \
           it probes bounds the data in flight, and a round with loss lowers rate and window by up \
           to 30 % until the next probe.",
    sources: "draft-ietf-ccwg-bbr; Google's Linux v3 (constants of the variant google)",
    deviations: "Without ECN, as in the draft; without the draft's precautionary probing; the \
                 window counts as limiting if it did in this round or the last.",
    params: Bbr3Config::params,
};

/// Constants by which the variants differ.
#[derive(Debug)]
struct Constants {
    startup_gain: f64,
    drain_gain: f64,
    /// Most rounds in Drain.
    drain_rounds: Option<u64>,
    down_gain: f64,
    /// Share of the bytes in flight beyond which their loss is too high.
    loss_threshold: f64,
    /// Kept by a bound when it is lowered.
    beta: f64,
    /// Share of the long-term bound that stays free outside probes.
    headroom: f64,
    /// The extra acknowledgements are at most the bytes that the bandwidth delivers in this time.
    excess_time: Option<Duration>,
    /// The threshold applies to the loss of each sample; if false, to lost segments alone.
    judges_samples: bool,
}

static DRAFT: Constants = Constants {
    startup_gain: 2.77,
    drain_gain: 0.5,
    drain_rounds: Some(3),
    down_gain: 0.9,
    loss_threshold: 0.02,
    beta: 0.7,
    headroom: 0.15,
    excess_time: None,
    judges_samples: false,
};

static GOOGLE: Constants = Constants {
    startup_gain: 2.77 + 1.0 / 256.0,
    drain_gain: 1000.0 / 2885.0,
    drain_rounds: None,
    down_gain: 0.91,
    loss_threshold: 5.0 / 256.0,
    beta: 1.0 - 76.0 / 256.0,
    headroom: 38.0 / 256.0,
    excess_time: Some(Duration::from_millis(100)),
    judges_samples: true,
};

/// The state before a loss, which may prove spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    bw_short: u64,
    inflight_short: u64,
    inflight_long: u64,
}

/// State. Sizes are bytes, rates bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    constants: &'static Constants,
    mss: u64,
    initial_window: u64,
    phase: Phase,
    cwnd: u64,
    pacing: BitRate,
    /// The bandwidth and the phase that the rate and `window` follow, once the pipe has been full.
    paced: Option<(u64, Phase)>,
    /// The window of the phase without extra acknowledgements, in BDPs of `paced`.
    window: u64,
    /// Least data in flight with room for bursts at the rate.
    room: u64,
    /// The long-term bound for which `with_headroom` was computed; it changes seldom.
    headroom_of: u64,
    with_headroom: u64,
    seen_rtt: bool,
    model: Model,
    full: FullBandwidth,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    /// The window to return to after a probe of the RTT.
    prior_cwnd: u64,
    idle_restart: bool,
    /// The engine's state at the last acknowledgement.
    recovery: RecoveryState,
    /// Round in which recovery began.
    recovery_round: u64,
    undo: Option<Undo>,
    /// The phase that a loss of this recovery has ended: Startup or Up.
    left_by_loss: Option<Phase>,
    rng: Rng,
}

impl Bbr3 {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &Bbr3Config, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let constants = match config.variant {
            Variant::Draft => &DRAFT,
            Variant::Google => &GOOGLE,
        };
        let mss = u64::from(birth.mss);
        let initial_window = birth.initial_window.max(mss);
        let nominal = initial_window as f64 / 0.001;
        let mut control = Self {
            constants,
            mss,
            initial_window,
            phase: Phase::Startup,
            cwnd: initial_window,
            pacing: BitRate(0),
            paced: None,
            window: initial_window,
            room: 0,
            headroom_of: u64::MAX,
            with_headroom: u64::MAX,
            seen_rtt: false,
            model: Model::default(),
            full: FullBandwidth::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            prior_cwnd: 0,
            idle_restart: false,
            recovery: RecoveryState::Open,
            recovery_round: 0,
            undo: None,
            left_by_loss: None,
            rng: Rng::stream(birth.key, "bbr3"),
        };
        control.pace(rate(nominal, constants.startup_gain));
        Ok(control)
    }

    fn pace(&mut self, pacing: BitRate) {
        self.pacing = pacing;
        self.paced = None;
        self.room = (BURSTS * self.burst()).max(MIN_WINDOW * self.mss);
    }

    fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => self.constants.startup_gain,
            Phase::Drain => self.constants.drain_gain,
            Phase::Down => self.constants.down_gain,
            Phase::Up => 1.25,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.phase {
            Phase::Up => 2.25,
            Phase::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    /// `gain` x `bandwidth` x smallest RTT; the initial window before the first RTT.
    fn bdp(&self, bandwidth: u64, gain: f64) -> u64 {
        if self.probe_rtt.min_rtt.is_none() {
            return self.initial_window;
        }
        whole(real(bandwidth) * self.probe_rtt.seconds * gain)
    }

    /// Bytes that leave together: about a millisecond's worth (`BBR.send_quantum`).
    fn burst(&self) -> u64 {
        (self.pacing.0 / 8 / 1000).min(MAX_BURST).max(self.least_burst() * self.mss)
    }

    /// `bytes` with room for bursts (`BBRQuantizationBudget`).
    fn with_bursts(&self, bytes: u64) -> u64 {
        bytes.max(self.room) + if self.phase == Phase::Up { 2 * self.mss } else { 0 }
    }

    /// The data in flight that a window of `gain` BDPs holds (`BBRInflight`).
    fn inflight(&self, bandwidth: u64, gain: f64) -> u64 {
        self.with_bursts(self.bdp(bandwidth, gain))
    }

    /// The smaller of BDP and window (`BBRTargetInflight`).
    fn target_inflight(&self) -> u64 {
        self.bdp(self.model.bandwidth(), 1.0).min(self.cwnd)
    }

    /// As `self.target_inflight() < bytes`, with one conversion less.
    fn is_target_below(&self, bytes: u64) -> bool {
        let bdp_below = if self.probe_rtt.min_rtt.is_none() {
            self.initial_window < bytes
        } else {
            real(self.model.bandwidth()) * self.probe_rtt.seconds < real(bytes)
        };
        bdp_below || self.cwnd < bytes
    }

    /// The long-term bound with room for others (`BBRInflightWithHeadroom`).
    fn inflight_with_headroom(&mut self) -> u64 {
        let bound = self.model.inflight_long;
        if bound != self.headroom_of {
            let free = (bound as f64 * self.constants.headroom) as u64;
            let rest = bound.saturating_sub(free.max(self.mss));
            let least = MIN_WINDOW * self.mss;
            self.headroom_of = bound;
            self.with_headroom = if bound == u64::MAX { bound } else { rest.max(least) };
        }
        self.with_headroom
    }

    /// Follows the bandwidth at `gain`. Until the pipe has been full the rate never falls.
    fn set_pacing(&mut self, gain: f64) {
        let wanted = rate(real(self.model.bandwidth()), gain);
        if self.full.reached || wanted > self.pacing {
            self.pace(wanted);
        }
    }

    /// Follows the bandwidth at the gains of the phase.
    fn follow_bandwidth(&mut self) {
        let bandwidth = self.model.bandwidth();
        let followed = Some((bandwidth, self.phase));
        if self.paced != followed {
            self.set_pacing(self.pacing_gain());
            self.window = self.bdp(bandwidth, self.cwnd_gain());
            self.paced = followed.filter(|_| self.full.reached);
        }
    }

    /// The first RTT replaces the millisecond that the first rate assumed.
    fn see_rtt(&mut self, srtt: Duration) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            let nominal = self.cwnd as f64 / srtt.as_secs_f64();
            self.pace(rate(nominal, self.constants.startup_gain));
        }
    }

    /// Moves the window towards its target by the bytes acknowledged, and bounds it
    /// (`BBRSetCwnd`).
    fn set_cwnd(&mut self, sample: &Seen) {
        let extra = self.extra_acked(self.model.bandwidth());
        let most = self.with_bursts(self.window + extra);
        if self.full.reached {
            self.cwnd = (self.cwnd + sample.acked).min(most);
        } else if self.cwnd < most || sample.delivered < self.initial_window {
            self.cwnd += sample.acked;
        }
        self.cwnd = self.cwnd.max(MIN_WINDOW * self.mss);
        if self.phase == Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        let bound = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.model.inflight_long,
            Phase::Cruise | Phase::ProbeRtt => self.inflight_with_headroom(),
            Phase::Startup | Phase::Drain => u64::MAX,
        };
        let bound = bound.min(self.model.inflight_short).max(MIN_WINDOW * self.mss);
        self.cwnd = self.cwnd.min(bound);
    }

    #[inline(never)]
    fn acknowledge(&mut self, sample: &Seen) {
        self.follow_recovery(sample.recovery);
        self.update_latest(sample);
        self.update_bounds(sample);
        self.update_aggregation(sample);
        self.check_full_bandwidth(sample);
        self.check_startup(sample);
        self.check_drain(sample);
        self.update_cycle(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.advance_latest(sample);
        self.see_rtt(sample.srtt);
        self.follow_bandwidth();
        self.set_cwnd(sample);
    }

    fn save_cwnd(&mut self) {
        let undisturbed = self.recovery < RecoveryState::Recovery && self.phase != Phase::ProbeRtt;
        self.prior_cwnd = if undisturbed { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// The bounds before the first loss of a recovery (`BBRSaveStateUponLoss`).
    fn save_for_undo(&mut self) {
        if self.undo.is_none() {
            self.left_by_loss = None;
            self.undo = Some(Undo {
                bw_short: self.model.bw_short,
                inflight_short: self.model.inflight_short,
                inflight_long: self.model.inflight_long,
            });
        }
    }

    fn follow_recovery(&mut self, state: RecoveryState) {
        if state >= RecoveryState::Recovery && self.recovery < RecoveryState::Recovery {
            self.recovery_round = self.model.round;
        }
        self.recovery = state;
    }
}

/// `gain` times `bytes_per_second`, less the margin.
fn rate(bytes_per_second: f64, gain: f64) -> BitRate {
    BitRate(whole(bytes_per_second * gain * PACING_MARGIN * 8.0))
}

impl CongestionController for Bbr3 {
    fn on_sent(&mut self, _: &Sent) {}

    // Inlined, so that the engine computes only the fields that are read.
    #[inline(always)]
    fn on_ack(&mut self, sample: &AckSample) {
        self.acknowledge(&Seen::of(sample));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.save_cwnd();
        self.save_for_undo();
        if matches!(event.cause, CongestionCause::Timeout { .. }) {
            self.cwnd = event.in_flight + self.mss;
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.note_lost(lost);
    }

    fn on_spurious(&mut self, _: Instant) {
        let Some(undo) = self.undo.take() else { return };
        self.model.undo(undo.bw_short, undo.inflight_short, undo.inflight_long);
        self.full.measure_again(0);
        let probing_rtt = self.phase == Phase::ProbeRtt;
        match self.left_by_loss.take().filter(|left| *left != self.phase) {
            Some(Phase::Startup) => {
                self.full.reached = false;
                if !probing_rtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::Up) if !probing_rtt => self.start_refill(),
            _ => {}
        }
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if !restart.app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.restart_aggregation(restart.now);
        match self.phase {
            Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up => self.set_pacing(1.0),
            Phase::ProbeRtt => self.check_probe_rtt_done(restart.now),
            Phase::Startup | Phase::Drain => {}
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {
        self.undo = None;
        if self.phase != Phase::ProbeRtt {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn least_burst(&self) -> u64 {
        least_burst(self.pacing)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(self.pacing)
    }

    fn in_slow_start(&self) -> bool {
        self.phase == Phase::Startup
    }

    fn uses_losses(&self) -> bool {
        true
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn limits_samples(&self) -> bool {
        self.phase == Phase::ProbeRtt
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}
