//! The smallest RTT, and `ProbeRTT` (draft section 4.3.5): after 10 s without a smaller RTT, keeps
//! four segments in flight for 200 ms and one round, so that the queues of all flows drain.

use super::{Bbr, MIN_WINDOW, Mode};
use crate::control::AckSample;
use justfull_base::{Duration, Instant};

/// Minimum time with little in flight.
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
            // The mode changes first, as in Linux: a larger window that was saved before stays.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt = ProbeRtt::default();
        }
        self.limits_samples = self.mode == Mode::ProbeRtt;
        if self.limits_samples {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionController;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing::{self, MSS};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// An RTT of 50 ms measured at 1 s, by a flow that has filled the pipe.
    fn measured() -> Bbr {
        let mut bbr = control(&BbrConfig::default());
        (bbr.min_rtt, bbr.min_rtt_at) = (Some(Duration::from_millis(50)), at(1000));
        (bbr.mode, bbr.full_pipe.reached, bbr.cwnd) = (Mode::ProbeBw, true, 30 * MSS);
        bbr
    }

    fn sample(ms: u64, rtt: u64) -> AckSample {
        let mut sample = testing::sample(MSS);
        (sample.now, sample.rtt) = (at(ms), Some(Duration::from_millis(rtt)));
        sample
    }

    #[test]
    fn the_smallest_rtt_is_replaced_by_a_smaller_one_or_after_ten_seconds() {
        let kept = |ms, rtt, maybe_delayed| {
            let mut bbr = measured();
            bbr.update_min_rtt(&AckSample { maybe_delayed, ..sample(ms, rtt) });
            let replaced = bbr.min_rtt_at == at(ms);
            assert_eq!(bbr.min_rtt, Some(Duration::from_millis(if replaced { rtt } else { 50 })));
            !replaced
        };
        assert_eq!(
            [kept(2000, 49, true), kept(2000, 50, false), kept(2000, 51, false)],
            [false, true, true]
        );
        // Exactly ten seconds are not too long. An acknowledgement that may have been delayed does
        // not count.
        assert_eq!(
            [kept(11_000, 51, false), kept(11_001, 51, false), kept(11_001, 51, true)],
            [true, false, true]
        );
    }

    #[test]
    fn the_first_rtt_is_the_smallest_and_no_reason_to_probe() {
        let mut bbr = control(&BbrConfig::default());
        bbr.update_min_rtt(&sample(20_000, 70));
        assert_eq!((bbr.min_rtt, bbr.min_rtt_at), (Some(Duration::from_millis(70)), at(20_000)));
        assert_eq!(bbr.mode, Mode::Startup);
    }

    #[test]
    fn an_old_rtt_is_probed_unless_the_flow_was_idle_and_the_window_is_remembered() {
        let mut bbr = measured();
        bbr.update_min_rtt(&sample(11_000, 51));
        assert_eq!(bbr.mode, Mode::ProbeBw);
        bbr.idle_restart = true;
        bbr.min_rtt_window = Duration::from_secs(9);
        bbr.update_min_rtt(&sample(11_000, 51));
        assert_eq!(bbr.mode, Mode::ProbeBw);
        bbr.min_rtt_at = at(1000);
        bbr.update_min_rtt(&sample(11_000, 51));
        assert_eq!((bbr.mode, bbr.conservation.prior_cwnd), (Mode::ProbeRtt, 30 * MSS));
    }

    #[test]
    fn a_delivery_ends_the_restart_after_silence() {
        for (interval, delivered, idle) in [
            (Some(Duration::from_millis(50)), 1, false),
            (Some(Duration::from_millis(50)), 0, true),
            (None, 1, true),
        ] {
            let mut bbr = measured();
            bbr.idle_restart = true;
            bbr.update_min_rtt(&AckSample { interval, delivered, ..sample(2000, 60) });
            assert_eq!(bbr.idle_restart, idle, "{interval:?} {delivered}");
        }
    }

    #[test]
    fn a_probe_lasts_200_ms_and_a_round_from_when_four_segments_are_in_flight() {
        let mut bbr = measured();
        bbr.mode = Mode::ProbeRtt;
        bbr.conservation.prior_cwnd = 44 * MSS;
        let mut progress = |ms, in_flight, round_start| {
            bbr.round_start = round_start;
            bbr.update_min_rtt(&AckSample { in_flight, delivered: 777, ..sample(ms, 60) });
            (bbr.probe_rtt.done_at, bbr.probe_rtt.round_done, bbr.next_round, bbr.mode)
        };
        assert_eq!(progress(2000, 4 * MSS + 1, true), (None, false, 0, Mode::ProbeRtt));
        let done = Some(at(2210));
        assert_eq!(progress(2010, 4 * MSS, true), (done, false, 777, Mode::ProbeRtt));
        assert_eq!(progress(2300, 4 * MSS, false), (done, false, 777, Mode::ProbeRtt));
        assert_eq!(progress(2209, 4 * MSS, true), (done, true, 777, Mode::ProbeRtt));
        assert_eq!(progress(2210, 4 * MSS, false), (done, true, 777, Mode::ProbeRtt));
        assert_eq!(progress(2211, 4 * MSS, false), (done, true, 777, Mode::ProbeBw));
        assert_eq!((bbr.min_rtt_at, bbr.cwnd), (at(2211), 44 * MSS));
        // Segments that leave on the acknowledgement that ends ProbeRTT are limited too; later ones
        // are not.
        assert!(bbr.limits_samples());
        bbr.update_min_rtt(&sample(2212, 60));
        assert!(!bbr.limits_samples());
    }

    #[test]
    fn a_larger_window_saved_before_stays_when_a_probe_begins() {
        let mut bbr = measured();
        bbr.conservation.prior_cwnd = 44 * MSS;
        bbr.update_min_rtt(&sample(11_001, 51));
        assert_eq!((bbr.mode, bbr.conservation.prior_cwnd), (Mode::ProbeRtt, 44 * MSS));
    }
}
