//! The smallest RTT and `ProbeRTT` (draft section 4.3.5): when no smaller RTT was seen for 10 s, four segments in flight
//! for 200 ms and a round let the queues of all flows run empty.

use super::{Bbr, MIN_WINDOW, Mode};
use crate::cc::AckSample;
use justfull_base::{Duration, Instant};

/// Least time with little in flight.
const DURATION: Duration = Duration::from_millis(200);

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    /// When the probe may end; none until little is in flight.
    done_at: Option<Instant>,
    round_done: bool,
}

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, sample: &AckSample) {
        let expired = self.min_rtt.is_some() && sample.now > self.min_rtt_at + self.min_rtt_window;
        if let Some(rtt) = sample.rtt {
            let smaller = self.min_rtt.is_none_or(|min| rtt < min);
            if smaller || (expired && !sample.maybe_delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = sample.now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.progress_probe_rtt(sample);
        }
        if sample.interval.is_some() && sample.delivered > sample.prior_delivered {
            self.idle_restart = false;
        }
    }

    fn progress_probe_rtt(&mut self, sample: &AckSample) {
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= MIN_WINDOW * self.mss {
            self.probe_rtt.done_at = Some(sample.now + DURATION);
            self.probe_rtt.round_done = false;
            self.next_round = sample.delivered;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_at.is_some_and(|at| now > at) {
            self.min_rtt_at = now;
            self.cwnd = self.cwnd.max(self.conservation.prior_cwnd);
            self.leave_for_steady_state(now);
        }
    }
}
