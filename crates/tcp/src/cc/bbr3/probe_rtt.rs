//! The smallest RTT, and `ProbeRTT`: each 5 s without a smaller RTT, keeps half a BDP in flight for
//! 200 ms and one round, so that the queues of all flows drain.

use super::seen::Seen;
use super::{Bbr3, MIN_WINDOW, Phase};
use crate::numbers::seconds;
use justfull_base::{Duration, Instant};

/// Minimum time with little in flight.
const DURATION: Duration = Duration::from_millis(200);
/// Age of the smallest RTT at which it is measured anew.
const INTERVAL: Duration = Duration::from_secs(5);
/// Age at which it expires.
const MEMORY: Duration = Duration::from_secs(10);

/// State.
#[derive(Clone, Debug)]
pub(super) struct ProbeRtt {
    /// Smallest RTT of 10 s.
    pub(super) min_rtt: Option<Duration>,
    /// The same in seconds.
    pub(super) seconds: f64,
    /// After this `min_rtt` is out of date.
    forget_at: Instant,
    /// Smallest RTT since the last probe.
    least: Option<Duration>,
    least_at: Instant,
    /// After this it is measured anew; never before the first RTT.
    due_at: Instant,
    expired: bool,
    /// When the probe may end; none until little is in flight.
    done_at: Option<Instant>,
    round_done: bool,
}

impl Default for ProbeRtt {
    fn default() -> Self {
        Self {
            min_rtt: None,
            seconds: 0.0,
            forget_at: Instant::ZERO + MEMORY,
            least: None,
            least_at: Instant::ZERO,
            due_at: Instant::NEVER,
            expired: false,
            done_at: None,
            round_done: false,
        }
    }
}

impl ProbeRtt {
    /// The smallest RTT since the last probe was seen, or a probe ended.
    fn measured(&mut self, now: Instant) {
        self.least_at = now;
        self.due_at = now + INTERVAL;
    }
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, sample: &Seen) {
        let probe = &mut self.probe_rtt;
        probe.expired = sample.now > probe.due_at;
        let Some(rtt) = sample.rtt else { return };
        if probe.expired || probe.least.is_none_or(|least| rtt < least) {
            probe.least = Some(rtt);
            probe.measured(sample.now);
        }
        let forgotten = sample.now > probe.forget_at;
        if forgotten || probe.min_rtt.is_none_or(|min| probe.least.is_some_and(|rtt| rtt < min)) {
            (probe.min_rtt, probe.forget_at) = (probe.least, probe.least_at + MEMORY);
            probe.seconds = probe.min_rtt.map_or(0.0, seconds);
            self.paced = None;
        }
    }

    /// The window of a probe: half a BDP, at least four segments.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.model.bandwidth(), 0.5).max(MIN_WINDOW * self.mss)
    }

    pub(super) fn check_probe_rtt(&mut self, sample: &Seen) {
        if self.phase != Phase::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.phase = Phase::ProbeRtt;
            self.probe_rtt.done_at = None;
            self.stop_probe();
            self.model.start_round();
        }
        if self.phase == Phase::ProbeRtt {
            self.progress_probe_rtt(sample);
        }
        if sample.rate.is_some() && sample.delivered > sample.prior_delivered {
            self.idle_restart = false;
        }
    }

    fn progress_probe_rtt(&mut self, sample: &Seen) {
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.model.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= self.probe_rtt_window() {
            self.probe_rtt.done_at = Some(sample.now + DURATION);
            self.probe_rtt.round_done = false;
            self.model.start_round();
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_at.is_some_and(|at| now > at) {
            self.probe_rtt.measured(now);
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.model.reset_short_term();
            if self.full.reached {
                self.start_down(now);
                self.start_cruise();
            } else {
                self.phase = Phase::Startup;
            }
        }
    }
}
