//! Vegas (Brakmo, O'Malley and Peterson 1994; Brakmo and Peterson 1995), in the form Linux has.
//!
//! Controls the congestion window, once per round trip, by the segments that the flow itself has in
//! queues: diff = cwnd (1 - baseRTT / RTT), with the connection's smallest RTT and the round's.
//!
//! ```text
//! congestion avoidance  diff < alpha: cwnd + 1    diff > beta: cwnd - 1    else: stays
//! slow start            diff > gamma: cwnd = min(cwnd, cwnd baseRTT / RTT + 1), and it is over
//! ```
//!
//! A loss or an echo halves the window, a timeout leaves one segment. Reno's rules apply to a round
//! with fewer than three samples, and after a timeout.
//!
//! Defaults: alpha = 2, beta = 4, gamma = 1 segments (Linux).
//!
//! Known weaknesses: gives way to any control that fills buffers (Mo et al. 1999); a flow that
//! starts in a queue counts that queue as a part of the path; flows between alpha and beta need not
//! be equal; delay on the way back, or of a scheduler, counts as a queue.
//!
//! Deviations: slow start doubles in each round, not in every other, as Linux. A loss halves; the
//! paper takes a quarter off where the loss is found early. diff is the paper's; Linux divides by
//! baseRTT in place of RTT, which gives RTT / baseRTT times as many segments. Sizes are bytes, so
//! diff is not rounded down to a whole segment. The window does not grow while it is not in use.

use super::CongestionController;
use crate::control::{AckSample, Birth, Congestion, IdleRestart, RecoveryState, Sent};
use crate::delay_round::{DelayRound, Round, queued};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, params};

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct VegasConfig {
        /// The window grows while the flow has less than this in queues.
        alpha: u32 as "segments" = 2, within(1, 1000), "Brakmo and Peterson 1995: above 0";
        /// The window shrinks while the flow has more than this in queues.
        beta: u32 as "segments" = 4, rule("at least alpha", |c| c.beta >= c.alpha),
            "Brakmo and Peterson 1995 section 4.1";
        /// Slow start ends when the flow has more than this in queues.
        gamma: u32 as "segments" = 1, within(1, 1000), "Brakmo and Peterson 1995 section 4.2";
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "vegas",
    kind: "congestion control",
    title: "Vegas: a few segments in the queue",
    text: "Compares the least RTT of each round with the smallest of the connection and moves the \
           window by a segment, so that the flow keeps between alpha and beta segments in queues.",
    sources: "Brakmo, O'Malley and Peterson 1994; Brakmo and Peterson 1995; Linux (constants)",
    deviations: "Slow start doubles in each round and a loss halves, as in Linux; the queue is the \
                 paper's cwnd (1 - baseRTT / RTT), not Linux's with the divisor baseRTT; no growth \
                 while the window is not in use.",
    params: VegasConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: RenoWindow,
    round: DelayRound,
    /// In bytes; so are the next two.
    alpha: f64,
    beta: f64,
    gamma: f64,
}

impl Vegas {
    /// The control at the start of a connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &VegasConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let bytes = |segments: u32| f64::from(segments) * f64::from(birth.mss);
        Ok(Self {
            window: RenoWindow::new(birth),
            round: DelayRound::default(),
            alpha: bytes(config.alpha),
            beta: bytes(config.beta),
            gamma: bytes(config.gamma),
        })
    }

    /// The end of a round whose least RTT was `rtt`.
    fn judge(&mut self, sample: &AckSample, rtt: Duration, may_grow: bool) {
        let window = &mut self.window;
        let diff = queued(window.cwnd, rtt, sample.min_rtt);
        if window.in_slow_start() {
            if diff <= self.gamma {
                window.grow(if may_grow { sample.acked } else { 0 });
                return;
            }
            let target = window.cwnd - diff as u64 + window.mss;
            window.cwnd = window.cwnd.min(target);
            window.ssthresh = window.ssthresh.min(window.cwnd - window.mss);
        } else if diff > self.beta {
            window.cwnd -= window.mss;
            window.ssthresh = window.ssthresh.min(window.cwnd - window.mss);
        } else if diff < self.alpha && may_grow {
            window.cwnd += window.mss;
        }
        window.cwnd = window.cwnd.max(2 * window.mss);
        window.ssthresh = window.ssthresh.max(2 * window.mss);
    }
}

impl CongestionController for Vegas {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        let round = self.round.take(sample);
        let may_grow = sample.may_grow(self.window.cwnd, self.window.in_slow_start());
        let acked = if may_grow { sample.acked } else { 0 };
        match (sample.recovery, round) {
            (RecoveryState::Open, Round::Least(rtt)) => self.judge(sample, rtt, may_grow),
            (RecoveryState::Loss, _) | (RecoveryState::Open, Round::Unknown) => {
                self.window.grow(acked);
            }
            (RecoveryState::Open, Round::Open) if self.window.in_slow_start() => {
                self.window.slow_start(acked);
            }
            _ => {}
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event, self.window.cwnd / 2);
        self.round.interrupt();
    }

    fn on_spurious(&mut self, _: Instant) {
        self.window.restore();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.window.restart(restart);
        self.round.interrupt();
    }

    fn on_recovery_exit(&mut self, _: Instant) {
        self.round.interrupt();
    }

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
    use crate::control::CongestionCause;
    use crate::testing::{self, MSS};
    use std::vec::Vec;

    fn control(cwnd: u64, ssthresh: u64) -> Vegas {
        let mut c =
            Vegas::new(&VegasConfig::default(), &testing::birth()).expect("the defaults are valid");
        (c.window.cwnd, c.window.ssthresh) = (cwnd * MSS, ssthresh);
        c
    }

    /// A round of `acks` acknowledgements of a segment with an RTT of `us` microseconds over a path
    /// of 40 ms; returns the window in segments.
    fn round(c: &mut Vegas, acks: u32, us: u64) -> u64 {
        for i in 1..=acks {
            c.on_ack(&AckSample {
                rtt: Some(Duration::from_micros(us)),
                min_rtt: Duration::from_millis(40),
                sequence_round_start: i == acks,
                ..testing::sample(MSS)
            });
        }
        c.cwnd() / MSS
    }

    #[test]
    fn the_window_moves_by_a_segment_per_round_until_between_alpha_and_beta_are_queued() {
        // 100 segments: 2 are queued at 40.816 ms, 4 at 41.667 ms.
        for (us, expected) in [(40_800, 101), (40_830, 100), (41_650, 100), (41_680, 99)] {
            assert_eq!(round(&mut control(100, MSS), 50, us), expected, "{us} us");
        }
    }

    #[test]
    fn slow_start_doubles_and_ends_where_more_than_gamma_is_queued() {
        let mut c = control(10, u64::MAX);
        assert_eq!(round(&mut c, 10, 40_000), 20);
        assert_eq!(round(&mut c, 20, 42_000), 38, "39 queue 1.86 segments, and one is added");
        assert_eq!((c.phase(), c.ssthresh() < c.cwnd()), ("avoidance", true));
    }

    #[test]
    fn a_round_of_two_samples_grows_as_reno_does() {
        assert_eq!(round(&mut control(10, u64::MAX), 2, 80_000), 12);
        let mut c = control(10, MSS);
        let grown: Vec<u64> = (0..6).map(|_| round(&mut c, 2, 80_000)).collect();
        // Each round counts the one segment of its last acknowledgement.
        assert_eq!(grown, [10; 6]);
    }

    #[test]
    fn a_loss_halves_a_timeout_leaves_one_and_the_next_round_is_not_judged() {
        let mut c = control(40, MSS);
        c.on_congestion(&testing::loss(40 * MSS));
        c.on_recovery_exit(Instant::ZERO);
        assert_eq!(round(&mut c, 10, 80_000), 20, "measured in part");
        assert_eq!(round(&mut c, 10, 80_000), 19);
        c.on_congestion(&testing::timeout(19 * MSS, false));
        assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 19 * MSS / 2));
        let after = AckSample { recovery: RecoveryState::Loss, ..testing::sample(MSS) };
        c.on_ack(&after);
        assert_eq!(c.cwnd(), 2 * MSS, "slow start");
        c.on_spurious(Instant::ZERO);
        assert_eq!(c.cwnd(), 19 * MSS);
    }

    #[test]
    fn two_segments_are_the_least_that_a_queue_leaves() {
        let mut c = control(3, MSS);
        // All but a 40th of the window waits; more than beta segments only for one of five.
        assert_eq!(round(&mut c, 3, 1_600_000), 3);
        c.window.cwnd = 5 * MSS;
        assert_eq!((0..5).map(|_| round(&mut c, 3, 1_600_000)).min(), Some(4));
        let event = Congestion { cause: CongestionCause::Ecn, ..testing::loss(MSS) };
        (0..3).for_each(|_| c.on_congestion(&event));
        assert_eq!(c.cwnd(), 2 * MSS);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut c = control(100, MSS);
        for i in 0..50 {
            c.on_ack(&AckSample {
                window_limited: false,
                max_in_flight: 10 * MSS,
                sequence_round_start: i == 49,
                ..testing::sample(MSS)
            });
        }
        assert_eq!(c.cwnd(), 100 * MSS);
    }

    #[test]
    fn beta_below_alpha_is_refused() {
        let config = VegasConfig { alpha: 3, beta: 2, ..VegasConfig::default() };
        assert_eq!(
            Vegas::new(&config, &testing::birth()).map_err(|e| e.field).err(),
            Some("beta".into())
        );
    }
}
