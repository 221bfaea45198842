//! Westwood+ (Mascolo et al. 2001; Grieco and Mascolo 2004), in the form Linux has.
//!
//! Controls the congestion window. It grows as Reno's. At a congestion event the threshold becomes
//! the amount that the path holds without a queue: the rate of acknowledgements times the smallest
//! RTT, in place of half the window. The window follows it down, and after a timeout it starts from
//! one segment.
//!
//! The rate is sampled once per RTT, or each `interval` where the RTT is shorter, as the bytes
//! acknowledged over the time that took; two filters in a row keep 7/8 of their value.
//!
//! Defaults: 50 ms (Linux).
//!
//! Known weaknesses: on a path whose rate changes, such as a cell, the estimate is some rounds old;
//! when the path grows longer, the smallest RTT stays until a timeout; a queue that never empties
//! counts as a part of the path.
//!
//! Deviations: the window shrinks from the loss on, as in the paper; Linux halves it first and sets
//! it to the estimate at the end of recovery. Before the first sample, and so within the first
//! round, the threshold is half of the bytes in flight; Linux sets two segments then.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, params};

/// Share of the old value that a filter keeps (Linux; the paper's alpha is 0.9).
const KEPT: f64 = 7.0 / 8.0;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WestwoodConfig {
        /// Shortest time over which a sample of the rate is taken; the RTT where that is longer.
        interval: Duration = Duration::from_millis(50),
            within(Duration::from_millis(1), Duration::from_secs(10)), "Linux: 50 ms";
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "westwood",
    kind: "congestion control",
    title: "Westwood+: at a loss back to the capacity of the path",
    text: "Grows as NewReno. At a congestion event the window becomes the rate of acknowledgements \
           times the smallest RTT: a loss without congestion costs little, and a queue is just \
           emptied.",
    sources: "Mascolo et al. 2001; Grieco and Mascolo 2004; Linux (filter, constants)",
    deviations: "The window shrinks from the loss on, as in the paper, not at the end of recovery, \
                 as in Linux; before the first sample of the rate a loss halves.",
    params: WestwoodConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: RenoWindow,
    interval: Duration,
    /// Start of the current sample; none before the first acknowledgement.
    since: Option<Instant>,
    /// Bytes acknowledged since then.
    acked: u64,
    /// First filter and second, bytes per second; none before the first sample.
    rate: Option<(f64, f64)>,
    last_rtt: Duration,
    /// Smallest RTT since the last timeout.
    min_rtt: Duration,
}

impl Westwood {
    /// The control at the start of a connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &WestwoodConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            window: RenoWindow::new(birth),
            interval: config.interval,
            since: None,
            acked: 0,
            rate: None,
            last_rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
        })
    }

    /// Takes an acknowledgement into the samples of rate and RTT.
    fn measure(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.last_rtt = rtt;
            self.min_rtt = self.min_rtt.min(rtt);
        }
        let Some(since) = self.since else {
            // The first acknowledgement covers an unknown time.
            self.since = Some(sample.now);
            return;
        };
        self.acked += sample.acked;
        let time = sample.now.since(since);
        if self.last_rtt.is_zero() || time <= self.last_rtt.max(self.interval) {
            return;
        }
        let now = self.acked as f64 / time.as_secs_f64();
        let (first, second) = self.rate.unwrap_or((now, now));
        let first = KEPT * first + (1.0 - KEPT) * now;
        self.rate = Some((first, KEPT * second + (1.0 - KEPT) * first));
        self.since = Some(sample.now);
        self.acked = 0;
    }

    /// Bytes that the path holds without a queue; none before the first sample.
    fn carried(&self) -> Option<u64> {
        let (_, rate) = self.rate?;
        (self.min_rtt != Duration::MAX).then(|| (rate * self.min_rtt.as_secs_f64()) as u64)
    }
}

impl CongestionController for Westwood {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        let growing = matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss);
        if growing && sample.may_grow(self.window.cwnd, self.window.in_slow_start()) {
            self.window.grow(sample.acked);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let cwnd = self.window.cwnd;
        let half = event.flight_size.min(cwnd) / 2;
        self.window.reduce(event, self.carried().unwrap_or(half));
        // A threshold above the window does not raise it.
        self.window.cwnd = self.window.cwnd.min(cwnd);
        if matches!(event.cause, CongestionCause::Timeout { .. }) {
            self.min_rtt = Duration::MAX;
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.window.restore();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.window.restart(restart);
        // A silence does not measure the path's rate.
        self.since = None;
        self.acked = 0;
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

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
    use crate::testing::{self, MSS};

    /// A control that has seen a segment per millisecond for 20 s at an RTT of 50 ms, the first at
    /// 20 ms, and has a window of 60.
    fn steady() -> Westwood {
        let config = WestwoodConfig::default();
        let mut c = Westwood::new(&config, &testing::birth()).expect("the defaults are valid");
        feed(&mut c, 0, MSS);
        c.window.cwnd = 60 * MSS;
        c
    }

    /// 20 s of an acknowledgement of `acked` bytes per millisecond.
    fn feed(c: &mut Westwood, from_s: u64, acked: u64) {
        for ms in 0..20_000 {
            let now = Instant::ZERO + Duration::from_millis(1000 * from_s + ms);
            let rtt = Some(Duration::from_millis(if ms == 0 { 20 } else { 50 }));
            c.on_ack(&AckSample { now, rtt, window_limited: false, ..testing::sample(acked) });
        }
    }

    #[test]
    fn a_loss_leaves_rate_times_smallest_rtt() {
        let mut c = steady();
        c.on_congestion(&testing::loss(60 * MSS));
        assert_eq!((c.cwnd() / MSS, c.ssthresh() / MSS), (20, 20));
        c.on_spurious(Instant::ZERO);
        assert_eq!(c.cwnd(), 60 * MSS);
        c.on_congestion(&testing::echo(60 * MSS));
        assert_eq!(c.cwnd() / MSS, 20);
    }

    #[test]
    fn a_loss_below_what_the_path_carries_leaves_the_window() {
        let mut c = steady();
        c.window.cwnd = 12 * MSS;
        c.on_congestion(&testing::loss(12 * MSS));
        assert_eq!((c.cwnd() / MSS, c.ssthresh() / MSS), (12, 20), "slow start up to 20");
    }

    #[test]
    fn a_timeout_keeps_the_threshold_and_forgets_the_smallest_rtt() {
        let mut c = steady();
        c.on_congestion(&testing::timeout(60 * MSS, false));
        assert_eq!((c.cwnd(), c.ssthresh() / MSS), (MSS, 20));
        c.on_congestion(&testing::timeout(60 * MSS, true));
        assert_eq!((c.cwnd(), c.ssthresh() / MSS), (MSS, 20));
        let rtt = Some(Duration::from_millis(45));
        let now = Instant::ZERO + Duration::from_secs(21);
        c.on_ack(&AckSample { now, rtt, ..testing::sample(MSS) });
        assert_eq!(c.min_rtt, Duration::from_millis(45));
    }

    #[test]
    fn both_filters_keep_seven_eighths() {
        let mut c = steady();
        let before = c.carried().expect("it was measured");
        // Nothing for 100 ms, then one acknowledgement: a sample of about 0.
        let now = Instant::ZERO + Duration::from_millis(20_100);
        c.on_ack(&AckSample { now, ..testing::sample(0) });
        let after = c.carried().expect("it was measured");
        // The first falls by 1/8 of almost all, the second by 1/8 of that.
        let fall = 1.0 - after as f64 / before as f64;
        assert!((1.0 / 128.0..1.0 / 64.0).contains(&fall), "{fall}");
    }

    #[test]
    fn before_the_first_sample_a_loss_halves_and_silence_is_no_sample() {
        let config = WestwoodConfig::default();
        let mut c = Westwood::new(&config, &testing::birth()).expect("the defaults are valid");
        c.on_congestion(&testing::loss(8 * MSS));
        assert_eq!(c.cwnd(), 4 * MSS);
        let mut c = steady();
        let before = c.carried();
        let [idle, rto] = [5, 1].map(Duration::from_secs);
        let now = Instant::ZERO + Duration::from_secs(25);
        c.on_idle_restart(&IdleRestart { now, idle, rto, shrink: false, app_limited: true });
        c.on_ack(&AckSample { now, ..testing::sample(MSS) });
        assert_eq!(c.carried(), before);
    }

    #[test]
    fn it_grows_as_reno_does() {
        let config = WestwoodConfig::default();
        let mut c = Westwood::new(&config, &testing::birth()).expect("the defaults are valid");
        c.on_ack(&testing::sample(10 * MSS));
        assert_eq!(c.cwnd(), 20 * MSS);
        c.window.ssthresh = 20 * MSS;
        for _ in 0..20 {
            c.on_ack(&testing::sample(MSS));
        }
        assert_eq!(c.cwnd(), 21 * MSS);
        let in_recovery = AckSample { recovery: RecoveryState::Recovery, ..testing::sample(MSS) };
        (0..50).for_each(|_| c.on_ack(&in_recovery));
        assert_eq!(c.cwnd(), 21 * MSS);
    }
}
