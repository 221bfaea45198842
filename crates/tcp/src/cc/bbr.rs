//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00, with the constants and the later
//! additions of Linux).
//!
//! Controls the pacing rate and the congestion window from a model of the path with two parameters:
//! the largest delivery rate of the last 10 rounds and the smallest RTT of the last 10 s. Their
//! product (BDP) is the amount that the path holds without a queue.
//!
//! ```text
//! pacing rate = pacing_gain x bandwidth x 0.99
//! cwnd        = cwnd_gain x BDP + 3 bursts + aggregation
//!
//! Startup (2.885, 2.885) --- three rounds without a quarter more ---> Drain (1/2.885, 2.885)
//!                                                                       |  in flight <= BDP
//! ProbeRTT (1, cwnd = 4) <--- smallest RTT is 10 s old ---  ProbeBW (1.25, 0.75, 1 x 6; 2)
//! ```
//!
//! One file per mechanism: `startup` (with the full-pipe estimator), `drain`, `probe_bw`,
//! `probe_rtt`, `recovery` (packet conservation), `aggregation`, `policer` (long-term bandwidth),
//! and `pacing`.
//!
//! Defaults: all of Linux's; the sender's `kernel` selects among its versions.
//!
//! Known weaknesses: a queue of up to one BDP by the gain of 2 when flows compete; links that
//! deliver in bursts look faster than they are, and the compensation of aggregation adds a further
//! standing queue; loss is not a signal.
//!
//! Deviations: sizes are bytes where Linux counts packets (but targets are whole segments), and
//! rates are exact where Linux rounds to 2^-24 packets per microsecond.

mod aggregation;
mod drain;
mod pacing;
mod policer;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;
#[cfg(test)]
mod tests;

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::rate::{bytes_per_second, least_burst};
use crate::windowed_max::WindowedMax;
use aggregation::Aggregation;

use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Rng, params};
use policer::Policer;
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use recovery::Conservation;
use startup::FullPipe;

/// 2 / ln 2: the smallest gain that doubles the delivery rate each round (draft section 4.2.2).
const HIGH_GAIN: f64 = 2.885;
/// Pace at 99 % of the estimated bandwidth so that queues drain (Linux
/// `bbr_pacing_margin_percent`).
const PACING_MARGIN: f64 = 0.99;
/// Gain on the BDP for cwnd in `ProbeBW`: leaves room for delayed and aggregated acknowledgements.
const CWND_GAIN: f64 = 2.0;
/// Rounds in the bandwidth's maximum filter: one cycle of eight phases, plus two (draft section
/// 4.1.1.4).
const BANDWIDTH_ROUNDS: u64 = 10;
/// Minimum window in segments: enough for delayed acknowledgements to keep flowing.
const MIN_WINDOW: u64 = 4;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BbrConfig {
        /// Room in cwnd for aggregated acknowledgements (Linux from 5.1; always off with the
        /// sender's `kernel = "4.15"`).
        ack_aggregation: bool = true;
        /// Detect a token-bucket policer and pace at its rate.
        policer_detection: bool = true;
        /// Age at which the smallest RTT is measured anew.
        min_rtt_window: Duration = Duration::from_secs(10),
            at_least(Duration::from_secs(1)),
            "a probe takes 200 ms of little data (draft section 4.3.5)";
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "bbr",
    kind: "congestion control",
    title: "BBR v1: a model of bandwidth and RTT",
    text: "Estimates the path's bandwidth and smallest RTT, paces at the former, and keeps about \
           two bandwidth-delay products in flight; probes for more bandwidth every eight rounds \
           and for a smaller RTT every 10 s.",
    sources: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux (constants, aggregation, \
              policer detection)",
    deviations: "Bytes instead of packets, exact rates; the release clock has no lead over the \
                 wire.",
    params: BbrConfig::params,
};

/// The modes of the draft's section 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State.
#[derive(Clone, Debug)]
pub struct Bbr {
    ack_aggregation: bool,
    at_departure: bool,
    policer_detection: bool,
    min_rtt_window: Duration,
    mss: u64,
    initial_window: u64,
    mode: Mode,
    cwnd: u64,
    pacing: BitRate,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Delivery rate in bytes per second.
    bandwidth: WindowedMax,
    round: u64,
    round_start: bool,
    next_round: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    seen_rtt: bool,
    idle_restart: bool,
    /// The control was in ProbeRTT at the last acknowledgement, or that acknowledgement ended it.
    limits_samples: bool,
    full_pipe: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    conservation: Conservation,
    aggregation: Aggregation,
    policer: Policer,
    rng: Rng,
}

impl Bbr {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &BbrConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = u64::from(birth.mss);
        let features = birth.kernel.features();
        let initial_window = birth.initial_window.max(mss);
        Ok(Self {
            ack_aggregation: config.ack_aggregation && features.aggregation,
            at_departure: features.at_departure,
            policer_detection: config.policer_detection,
            min_rtt_window: config.min_rtt_window,
            mss,
            initial_window,
            mode: Mode::Startup,
            cwnd: initial_window,
            pacing: pacing::initial_rate(initial_window, Duration::from_millis(1)),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bandwidth: WindowedMax::default(),
            round: 0,
            round_start: false,
            next_round: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            seen_rtt: false,
            idle_restart: false,
            limits_samples: false,
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            conservation: Conservation::default(),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            rng: Rng::stream(birth.key, "bbr"),
        })
    }

    /// The current bandwidth in bytes per second: the policer's rate if there is one, else the
    /// maximum.
    fn estimated_bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// `gain` x `bandwidth` x smallest RTT in whole segments, rounded up. The initial window before
    /// the first RTT.
    fn bdp_segments(&self, bandwidth: u64, gain: f64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window / self.mss };
        let bytes = bandwidth as f64 * min_rtt.as_secs_f64() * gain;
        libm::ceil(bytes / self.mss as f64) as u64
    }

    /// `segments` plus three bursts (one being built, one at the receiver, one in the driver), made
    /// even so that delayed acknowledgements come in pairs, plus two while the bandwidth is probed.
    fn with_quanta(&self, segments: u64) -> u64 {
        let budget = (segments + 3 * self.burst_segments()).next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBw && self.cycle.is_probing_up();
        budget + if probing { 2 } else { 0 }
    }

    /// Target for the bytes in flight at `gain`.
    fn target_in_flight(&self, bandwidth: u64, gain: f64) -> u64 {
        self.with_quanta(self.bdp_segments(bandwidth, gain)) * self.mss
    }

    /// The part of `in_flight` that is still in flight when the next burst leaves. Includes that
    /// burst if it adds to the target (Linux `bbr_packets_in_net_at_edt`).
    fn at_departure(&self, sample: &AckSample, in_flight: u64) -> u64 {
        if !self.at_departure {
            return in_flight;
        }
        let wait = sample.departure.max(sample.now).since(sample.now).as_secs_f64();
        let delivered = (self.estimated_bandwidth() as f64 * wait) as u64 / self.mss * self.mss;
        let burst = if self.pacing_gain > 1.0 { self.burst_segments() * self.mss } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }

    /// Counts rounds and filters the bandwidth (draft section 4.1.1).
    fn update_bandwidth(&mut self, sample: &AckSample) {
        self.round_start = false;
        let Some(interval) = sample.interval else { return };
        if sample.prior_delivered >= self.next_round {
            self.next_round = sample.delivered;
            self.round += 1;
            self.round_start = true;
            self.conservation.end();
        }
        self.sample_policer(sample);
        let delivered = sample.delivered - sample.prior_delivered;
        let rate = bytes_per_second(delivered, interval);
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.round, rate);
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (1.0, CWND_GAIN),
            Mode::ProbeBw => (self.cycle.gain(), CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Draft section 4.2.3: moves cwnd towards its target by the bytes acknowledged.
    fn update_cwnd(&mut self, sample: &AckSample, bandwidth: u64) {
        if sample.acked > 0 && !self.recover_or_restore(sample) {
            let mut target = self.bdp_segments(bandwidth, self.cwnd_gain);
            target += self.aggregation_segments(bandwidth);
            let target = self.with_quanta(target) * self.mss;
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + sample.acked).min(target);
            } else if self.cwnd < target || sample.delivered < self.initial_window {
                self.cwnd += sample.acked;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW * self.mss);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW * self.mss);
        }
    }
}

impl CongestionController for Bbr {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, sample: &AckSample) {
        self.update_bandwidth(sample);
        self.update_aggregation(sample);
        self.update_cycle(sample);
        self.check_full_pipe(sample);
        self.check_drain(sample);
        self.update_min_rtt(sample);
        self.update_gains();
        let bandwidth = self.estimated_bandwidth();
        self.update_pacing(bandwidth, self.pacing_gain, sample.srtt);
        self.update_cwnd(sample, bandwidth);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.save_cwnd();
        if matches!(event.cause, CongestionCause::Timeout { .. }) {
            self.conservation.previous = RecoveryState::Loss;
            self.full_pipe.forget_growth();
            self.round_start = true;
            self.sample_policer_at_timeout(event);
            self.cwnd = event.in_flight + self.mss;
        }
    }

    fn on_spurious(&mut self, now: Instant) {
        self.full_pipe.forget_growth();
        self.policer.reset(now);
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if !restart.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(restart.now);
        match self.mode {
            Mode::ProbeBw => self.update_pacing(self.estimated_bandwidth(), 1.0, Duration::ZERO),
            Mode::ProbeRtt => self.check_probe_rtt_done(restart.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

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
        self.mode == Mode::Startup
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn limits_samples(&self) -> bool {
        self.limits_samples
    }

    fn phase(&self) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }
}
