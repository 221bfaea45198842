//! Startup, Drain, and the cycle of probes for bandwidth: Down, Cruise, Refill, Up.

use super::Bbr3;
use super::seen::Seen;
use crate::control::RecoveryState;
use crate::numbers::real;
use justfull_base::{Duration, Instant};

/// Growth below this factor counts as none.
const GROWTH: f64 = 1.25;
/// Rounds without growth.
const ROUNDS: u32 = 3;
/// Ranges lost in a round that end Startup (`BBRStartupFullLossCnt`).
const STARTUP_RANGES: u32 = 6;
/// Least time between probes; up to a second more is drawn.
const LEAST_WAIT: Duration = Duration::from_secs(2);
/// Most rounds between probes, so that a Reno flow on the same path gets an equal rate
/// (`BBRRenoCoexistence`).
const RENO_ROUNDS: u64 = 63;

/// The states of the draft's section 5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::Down => "down",
            Self::Cruise => "cruise",
            Self::Refill => "refill",
            Self::Up => "up",
            Self::ProbeRtt => "probe_rtt",
        }
    }

    /// True in the cycle of probes for bandwidth.
    const fn cycles(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// The estimator of a full pipe.
#[derive(Clone, Debug, Default)]
pub(super) struct FullBandwidth {
    /// The pipe has been full once.
    pub(super) reached: bool,
    /// It is full in this phase.
    now: bool,
    bandwidth: u64,
    rounds: u32,
}

impl FullBandwidth {
    /// Measures growth anew, from `bandwidth` on.
    pub(super) fn measure_again(&mut self, bandwidth: u64) {
        (self.now, self.bandwidth, self.rounds) = (false, bandwidth, 0);
    }
}

/// The data that the present acknowledgements cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    #[default]
    None,
    /// The data of a probe is on its way.
    Starting,
    /// Data of the probe.
    Probe,
    /// Data that left before the probe ended.
    Stopping,
    Refilling,
}

/// State of the cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// Samples show whether a probe put too much in flight.
    pub(super) samples: bool,
    /// Rounds since the last probe.
    pub(super) rounds: u64,
    feedback: Feedback,
    /// The next probe begins after this.
    probe_at: Instant,
    drain_round: u64,
    /// Doublings of the growth of the long-term bound.
    up_rounds: u32,
    up_acked: u64,
    /// Acknowledged bytes for each byte of growth.
    up_count: u64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            samples: false,
            rounds: 0,
            feedback: Feedback::None,
            probe_at: Instant::ZERO,
            drain_round: 0,
            up_rounds: 0,
            up_acked: 0,
            up_count: u64::MAX,
        }
    }
}

impl Bbr3 {
    /// Three rounds without a quarter more fill the pipe (`BBRCheckFullBWReached`).
    pub(super) fn check_full_bandwidth(&mut self, sample: &Seen) {
        let Some(rate) = sample.rate else { return };
        // Linux takes each sample that grows, the draft the first of a round.
        let (first, full) = (self.model.round_start, &mut self.full);
        if full.now || sample.app_limited || !(first || self.constants.judges_samples) {
            return;
        }
        let grows = real(rate) >= real(full.bandwidth) * GROWTH;
        if !first && !grows {
            return;
        }
        if grows {
            full.measure_again(rate);
            return;
        }
        full.rounds += 1;
        full.now = full.rounds >= ROUNDS;
        full.reached |= full.now;
    }

    /// A full pipe, or loss, ends Startup (`BBRCheckStartupDone`).
    pub(super) fn check_startup(&mut self, sample: &Seen) {
        if self.phase != Phase::Startup {
            return;
        }
        if !self.full.reached && self.lost_in_startup(sample) {
            self.full.reached = true;
            self.left_by_loss = Some(Phase::Startup);
            let bdp = self.bdp(self.model.max_bandwidth(), 1.0);
            self.model.inflight_long = bdp.max(self.model.inflight_latest);
        }
        if self.full.reached {
            self.phase = Phase::Drain;
            self.cycle.drain_round = self.model.round;
        }
    }

    fn lost_in_startup(&self, sample: &Seen) -> bool {
        let whole_round =
            self.recovery >= RecoveryState::Recovery && self.model.round > self.recovery_round;
        self.model.loss_round_start
            && self.model.loss_in_round
            && self.model.ranges_lost >= STARTUP_RANGES
            && whole_round
            && self.is_too_high(sample.lost_since_sent, sample.tx_in_flight)
    }

    /// Drain ends at a BDP in flight, or after some rounds (`BBRCheckDrainDone`).
    pub(super) fn check_drain(&mut self, sample: &Seen) {
        if self.phase != Phase::Drain {
            return;
        }
        let rounds = self.model.round - self.cycle.drain_round;
        let late = self.constants.drain_rounds.is_some_and(|most| rounds > most);
        let target = self.inflight(self.model.max_bandwidth(), 1.0);
        if late || sample.in_flight <= target {
            self.start_down(sample.now);
        }
    }

    /// Moves the cycle on (`BBRUpdateProbeBWCyclePhase`).
    pub(super) fn update_cycle(&mut self, sample: &Seen) {
        if !self.full.reached {
            return;
        }
        // The bound grows with each acknowledgement, in bytes: the former window is compared with
        // the former bound.
        let held = sample.window_limited && self.cwnd >= self.model.inflight_long;
        self.adapt_long_term(sample, held);
        let full = self.phase == Phase::Up && self.is_time_to_go_down(sample.rate, held);
        let phase = self.phase;
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(sample.now) => {
                self.start_refill();
            }
            Phase::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
            Phase::Refill if self.model.round_start => {
                self.cycle.samples = true;
                self.model.start_round();
                self.start_up(sample.rate.unwrap_or(0));
            }
            Phase::Up if full => self.start_down(sample.now),
            _ => {}
        }
    }

    /// Follows the long-term bound with the data that passed without too much loss
    /// (`BBRAdaptLongTermModel`).
    fn adapt_long_term(&mut self, sample: &Seen, held: bool) {
        let starts = self.model.round_start;
        match self.cycle.feedback {
            Feedback::Starting if starts => self.cycle.feedback = Feedback::Probe,
            Feedback::Stopping if starts => {
                self.cycle.samples = false;
                self.cycle.feedback = Feedback::None;
                if self.phase.cycles() && !sample.app_limited {
                    self.model.advance_filter();
                }
            }
            _ => {}
        }
        if self.is_too_high(sample.lost_since_sent, sample.tx_in_flight) {
            if self.constants.judges_samples && self.cycle.samples {
                self.bound_by_loss(sample.now, sample.tx_in_flight, sample.app_limited);
            }
            return;
        }
        if self.model.inflight_long == u64::MAX {
            return;
        }
        self.model.inflight_long = self.model.inflight_long.max(sample.tx_in_flight);
        if self.phase == Phase::Up && held {
            self.raise_long_term(sample);
        }
    }

    /// In Up a bound that holds the window back grows by 1, 2, 4, 8 ... segments a round
    /// (`BBRProbeInflightLongtermUpward`).
    fn raise_long_term(&mut self, sample: &Seen) {
        let cycle = &mut self.cycle;
        cycle.up_acked += sample.acked;
        let growth = cycle.up_acked / cycle.up_count;
        cycle.up_acked -= growth * cycle.up_count;
        self.model.inflight_long += growth;
        if self.model.round_start {
            self.double_growth();
        }
    }

    fn double_growth(&mut self) {
        let growth = self.mss << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_count = (self.cwnd / growth).max(1);
    }

    fn is_time_to_cruise(&mut self, sample: &Seen) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.model.max_bandwidth(), 1.0)
    }

    /// True after 2 to 3 s, or after as many rounds as segments in a BDP: a Reno flow grows by one
    /// segment a round.
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let rounds = self.cycle.rounds;
        now > self.cycle.probe_at
            || rounds >= RENO_ROUNDS
            || self.is_target_below((rounds + 1) * self.mss)
    }

    /// A probe ends when the pipe is full, unless the long-term bound holds the window back.
    fn is_time_to_go_down(&mut self, rate: Option<u64>, held: bool) -> bool {
        if held {
            self.full.measure_again(rate.unwrap_or(0));
            return false;
        }
        self.full.now
    }

    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_congestion_signals();
        self.cycle.up_count = u64::MAX;
        self.cycle.rounds = self.rng.below(2);
        let more = Duration::from_nanos(self.rng.below(1_000_000_000));
        self.cycle.probe_at = now + (LEAST_WAIT + more);
        self.cycle.feedback = Feedback::Stopping;
        self.model.start_round();
        self.phase = Phase::Down;
    }

    pub(super) fn start_cruise(&mut self) {
        if self.constants.judges_samples {
            self.model.inflight_short = self.model.inflight_short.min(self.model.inflight_long);
        }
        self.phase = Phase::Cruise;
    }

    pub(super) fn start_refill(&mut self) {
        self.model.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.feedback = Feedback::Refilling;
        self.model.start_round();
        self.phase = Phase::Refill;
    }

    fn start_up(&mut self, rate: u64) {
        self.cycle.feedback = Feedback::Starting;
        self.full.measure_again(rate);
        self.phase = Phase::Up;
        self.double_growth();
    }

    /// Data that left before a probe of the RTT ends the probe of bandwidth.
    pub(super) fn stop_probe(&mut self) {
        self.cycle.feedback = Feedback::Stopping;
    }
}
