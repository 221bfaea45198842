//! YeAH (Baiocchi, Castellani and Vacirca 2007), in the form Linux has.
//!
//! Controls the congestion window by the flow's bytes in queues, Q = cwnd (1 - baseRTT / RTT), and
//! by the queue's share of the path's RTT, L = (RTT - baseRTT) / baseRTT, once per round trip.
//!
//! ```text
//! fast   Q <= limit and L <= 1 / phi    a segment per 100 acknowledged (Scalable TCP)
//! slow   else                           a segment per window (Reno), and if Q > limit:
//!                                       cwnd - min(Q, cwnd / 2), but not below Reno's share
//! ```
//!
//! At a loss the window shrinks by min(max(Q, cwnd / 8), cwnd / 2), or by half if many rounds in
//! the slow mode show that other flows fill the buffer. Reno's share is an estimate of the window
//! that a Reno flow would have here: half the window when the slow mode begins, a segment more per
//! round in it, half at a loss; enough rounds with a short queue end it, and the slow mode with it.
//!
//! Defaults: limit 80 segments, phi 8, 16 rounds, 50 rounds (Linux).
//!
//! Known weaknesses: 80 segments are a long queue on a slow link (96 ms at 10 Mbit/s); with RTTs of
//! a millisecond any waiting is L > 1 / phi, and the control is Reno; a flow that starts in a queue
//! counts that queue as a part of the path.
//!
//! Deviations: sizes are bytes, so Q is not rounded down to a whole segment. The rounds of the slow
//! mode and Reno's share are Linux's counters; the paper has the idea without them.

use super::CongestionController;
use crate::control::{AckSample, Birth, Congestion, IdleRestart, RecoveryState, Sent};
use crate::delay_round::{DelayRound, Round, queued};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, params};

/// Acknowledged segments for each segment that the fast mode adds (Kelly 2003: a = 0.01).
const SCALABLE: u64 = 100;
/// The smallest reduction: this part of the window.
const LEAST_CUT: u64 = 8;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct YeahConfig {
        /// Most that the flow may have in queues.
        queue_limit: u32 as "segments" = 80, within(1, 100_000), "Baiocchi et al. 2007: 80";
        /// The queue may be one part in this many of the smallest RTT (phi).
        phi: u32 as "fraction" = 8, within(1, 1000), "Baiocchi et al. 2007: 1/8";
        /// Rounds with a long queue after which a loss halves (rho).
        slow_rounds: u32 as "rounds" = 16, within(1, 100_000), "Linux: 16";
        /// Rounds with a short queue after which the fast mode returns (zeta).
        fast_rounds: u32 as "rounds" = 50, within(1, 100_000), "Linux: 50";
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "yeah",
    kind: "congestion control",
    title: "YeAH: fast while the queue is short, Reno while it is not",
    text: "Grows as Scalable TCP while the flow has few segments in queues and the queue is a \
           small part of the RTT, and as Reno otherwise. If its segments in queues exceed a limit, \
           it subtracts them from the window, unless others fill the buffer.",
    sources: "Baiocchi, Castellani and Vacirca 2007; Kelly 2003 (Scalable TCP); Linux (constants)",
    deviations: "Bytes instead of whole segments; the estimate of Reno's share is Linux's.",
    params: YeahConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Yeah {
    window: RenoWindow,
    round: DelayRound,
    /// Bytes.
    queue_limit: f64,
    phi: u64,
    slow_limit: u32,
    fast_limit: u32,
    /// Bytes in queues at the end of the last round.
    queue: u64,
    /// Rounds with a long queue since the fast mode ended; 0: the fast mode.
    slow: u32,
    /// Rounds with a short queue since the last loss or the last return to the fast mode.
    fast: u32,
    /// The window that a Reno flow would have here, in bytes.
    reno_share: u64,
}

impl Yeah {
    /// The control at the start of a connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &YeahConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            window: RenoWindow::new(birth),
            round: DelayRound::default(),
            queue_limit: f64::from(config.queue_limit) * f64::from(birth.mss),
            phi: u64::from(config.phi),
            slow_limit: config.slow_rounds,
            fast_limit: config.fast_rounds,
            queue: 0,
            slow: 0,
            fast: 0,
            reno_share: 2 * u64::from(birth.mss),
        })
    }

    /// The end of a round whose least RTT was `rtt` over a path of `base`.
    fn judge(&mut self, rtt: Duration, base: Duration) {
        let queue = queued(self.window.cwnd, rtt, base);
        self.queue = queue as u64;
        let long = rtt.saturating_sub(base).times(self.phi) > base;
        if queue <= self.queue_limit && !long {
            self.fast += 1;
            if self.fast > self.fast_limit {
                (self.slow, self.fast) = (0, 0);
                self.reno_share = 2 * self.window.mss;
            }
            return;
        }
        if queue > self.queue_limit {
            self.decongest();
        }
        let least = 2 * self.window.mss;
        self.reno_share = if self.reno_share <= least {
            (self.window.cwnd / 2).max(least)
        } else {
            self.reno_share + self.window.mss
        };
        self.slow = self.slow.saturating_add(1);
    }

    /// Subtracts the queue from the window: at most half of it, and down to Reno's share.
    fn decongest(&mut self) {
        let window = &mut self.window;
        if window.cwnd > self.reno_share {
            let cut = self.queue.min(window.cwnd / 2);
            window.cwnd = (window.cwnd - cut).max(self.reno_share);
            window.ssthresh = window.cwnd;
        }
    }

    /// The window after a loss.
    fn reduced(&self) -> u64 {
        let half = self.window.cwnd / 2;
        let cut = if self.slow < self.slow_limit {
            self.queue.max(self.window.cwnd / LEAST_CUT).min(half)
        } else {
            half
        };
        self.window.cwnd - cut
    }
}

impl CongestionController for Yeah {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        let round = self.round.take(sample);
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        if !growing || !sample.may_grow(self.window.cwnd, self.window.in_slow_start()) {
            return;
        }
        let mut acked = sample.acked;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if !self.window.in_slow_start() {
            let cwnd = self.window.cwnd;
            let per = if self.slow == 0 { cwnd.min(SCALABLE * self.window.mss) } else { cwnd };
            self.window.avoid(acked, per);
        }
        if let Round::Least(rtt) = round {
            self.judge(rtt, sample.min_rtt);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event, self.reduced());
        self.fast = 0;
        self.reno_share = (self.reno_share / 2).max(2 * self.window.mss);
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

    fn phase(&self) -> &'static str {
        match (self.in_slow_start(), self.slow) {
            (true, _) => "slow_start",
            (false, 0) => "fast",
            (false, _) => "slow",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};
    use std::vec::Vec;

    /// Beyond slow start with a window of `cwnd` segments.
    fn control(cwnd: u64) -> Yeah {
        let mut c =
            Yeah::new(&YeahConfig::default(), &testing::birth()).expect("the defaults are valid");
        (c.window.cwnd, c.window.ssthresh) = (cwnd * MSS, MSS);
        c
    }

    /// A round: an acknowledgement of each segment of the window, with an RTT of `us` microseconds
    /// over a path of 40 ms; returns the window in segments.
    fn round(c: &mut Yeah, us: u64) -> u64 {
        let acks = c.cwnd() / MSS;
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
    fn the_fast_mode_adds_a_hundredth_and_the_slow_mode_a_segment_per_round() {
        let mut c = control(1000);
        assert_eq!((round(&mut c, 40_000), c.phase()), (1010, "fast"));
        // 6 ms are more than an eighth of 40 ms.
        let mut c = control(500);
        assert_eq!(round(&mut c, 46_000), 505, "65 segments wait, fewer than the limit");
        assert_eq!((round(&mut c, 46_000), c.phase()), (506, "slow"));
        // Fifty rounds with a short queue and one more bring the fast mode back.
        let phases: Vec<&str> = (0..51)
            .map(|_| {
                round(&mut c, 40_000);
                c.phase()
            })
            .collect();
        assert!(phases[..50].iter().all(|&p| p == "slow") && phases[50] == "fast");
        assert_eq!(c.reno_share, 2 * MSS);
    }

    #[test]
    fn a_queue_beyond_the_limit_comes_off_the_window_down_to_renos_share() {
        let mut c = control(1000);
        // A fifth of the window of 1010 waits.
        assert_eq!(round(&mut c, 50_000), 808);
        assert_eq!((c.ssthresh() / MSS, c.reno_share / MSS), (808, 404), "half of it is Reno's");
        // Two thirds are queued, but at most half is subtracted, down to Reno's share.
        assert_eq!(round(&mut c, 120_000), 404);
        // A fraction of a segment short of the window's growth, then Reno's share is above it.
        assert_eq!([round(&mut c, 120_000), round(&mut c, 120_000)], [404, 405]);
        assert_eq!(c.reno_share / MSS, 407);
    }

    #[test]
    fn slow_start_ends_where_the_queue_is_beyond_the_limit() {
        let mut c = control(500);
        c.window.ssthresh = u64::MAX;
        // 1000 segments after the round, of which a fifth waits.
        assert_eq!(round(&mut c, 50_000), 800);
        assert_eq!((c.ssthresh() / MSS, c.phase()), (800, "slow"));
    }

    #[test]
    fn a_loss_takes_off_an_eighth_or_the_queue_and_half_after_sixteen_slow_rounds() {
        let cut = |rounds: &[u64]| {
            let mut c = control(400);
            for &us in rounds {
                round(&mut c, us);
            }
            let before = c.cwnd();
            c.on_congestion(&testing::loss(before));
            (100 * (before - c.cwnd()) / before, c.reno_share / MSS)
        };
        assert_eq!(cut(&[40_000]), (12, 2));
        // A sixth waits, below the limit of 80.
        assert_eq!(cut(&[48_000]), (16, 101));
        assert_eq!(cut(&[48_000; 15]).0, 16);
        assert_eq!(cut(&[48_000; 16]), (50, (202 + 15) / 2));
    }

    #[test]
    fn the_round_after_a_recovery_is_not_judged_and_a_timeout_leaves_one_segment() {
        let mut c = control(1000);
        c.on_congestion(&testing::timeout(1000 * MSS, false));
        assert_eq!((c.cwnd(), c.ssthresh() / MSS), (MSS, 875));
        c.on_spurious(Instant::ZERO);
        c.on_recovery_exit(Instant::ZERO);
        round(&mut c, 50_000);
        assert_eq!((c.cwnd() / MSS, c.phase()), (1010, "fast"));
        assert_eq!(round(&mut c, 50_000), 816, "1020 less a fifth");
    }
}
