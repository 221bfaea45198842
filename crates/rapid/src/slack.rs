//! Slack of the radio leg, by a loop that closes over the radio's reports.
//!
//! The radio leg's window is rate times the least round trip. A longer round trip exhausts it: a
//! block that HARQ repeats delays the blocks behind it, and an acknowledgement waits for a
//! scheduling request. The cell then has free blocks while the flow's data waits in the proxy.
//!
//! - *Raise.* The window was too short by the time that the radio was idle within one round trip.
//!   Each report adds this time, for the part of a round trip that it covers. The idle share is the
//!   share of free blocks, but at most the share of its allocation that the flow did not get: other
//!   blocks are free because of the allocation. Nothing is added while the RLC holds more of the
//!   UE's data than the slack explains.
//! - *Lower.* The radio did not need a backlog that never emptied while it was never idle. Half of
//!   the least backlog is subtracted.
//! - Between these two thresholds the slack does not change.

use crate::config::Config;
use justfull_base::{Duration, Instant};

/// Idle share that changes nothing. Below half of it, a backlog lowers the slack.
const TOLERANCE: f64 = 0.005;
/// Part of a standing backlog that is subtracted.
const LOWER: f64 = 0.5;
/// Least time that a backlog must stand: in reports, in round trips and in seconds.
const STANDS_REPORTS: f64 = 4.0;
const STANDS_RTTS: f64 = 4.0;
const STANDS_SECONDS: f64 = 0.1;
/// Data counts as waiting for this time after a sample: in round trips, and at least in seconds.
const WAITS_RTTS: f64 = 2.0;
const WAITS_SECONDS: f64 = 0.05;
/// Round trips in which a sender fills its window.
const BEGIN_RTTS: f64 = 4.0;
/// Time constant of the two byte counts: in round trips, and at least in seconds.
const MEMORY_RTTS: f64 = 4.0;
const MEMORY_SECONDS: f64 = 0.1;

/// A sample of a flow that is not slow. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greedy {
    /// Data waits in the proxy for the window of its radio leg.
    pub(crate) waits: bool,
    /// Round trip of the wired leg.
    pub(crate) wired: f64,
    /// Least and present round trip of the radio leg.
    pub(crate) least: f64,
    pub(crate) present: f64,
    /// Since the last sample: seconds, delivered bytes, allocated bytes.
    pub(crate) passed: f64,
    pub(crate) delivered: f64,
    pub(crate) allocated: f64,
}

/// The values of a report that the loop uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Length of its period in seconds.
    pub(crate) period: f64,
    /// Share of the cell's blocks that no UE used.
    pub(crate) free: f64,
    /// Seconds that it takes to send the UE's backlog.
    pub(crate) backlog: f64,
}

/// The slack of a UE's flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slack {
    /// In seconds.
    pub(crate) value: f64,
    /// First and last instant at which data waits in the proxy.
    waits_from: Instant,
    waits_until: Instant,
    /// Least and present round trip of the last sampled flow's radio leg.
    least: f64,
    present: f64,
    /// Delivered and allocated bytes of the flows that are not slow; both decay.
    delivered: f64,
    allocated: f64,
    /// Start of the present interval; its idle seconds, all seconds and least backlog.
    since: Instant,
    idle: f64,
    seen: f64,
    backlog: f64,
}

impl Slack {
    pub(crate) const NONE: Self = Self {
        value: 0.0,
        waits_from: Instant::ZERO,
        waits_until: Instant::ZERO,
        least: 0.0,
        present: 0.0,
        delivered: 0.0,
        allocated: 0.0,
        since: Instant::ZERO,
        idle: 0.0,
        seen: 0.0,
        backlog: f64::INFINITY,
    };

    /// Takes a sample.
    pub(crate) fn sample(&mut self, now: Instant, flow: &Greedy) {
        (self.least, self.present) = (flow.least, flow.present);
        // Acknowledgements come in bursts, as far apart as the uplink's grants.
        let memory = (MEMORY_RTTS * flow.present).max(MEMORY_SECONDS);
        let kept = (1.0 - flow.passed / memory).max(0.0);
        self.delivered = kept * self.delivered + flow.delivered;
        self.allocated = kept * self.allocated + flow.allocated;
        if !flow.waits {
            return;
        }
        if now > self.waits_until {
            self.waits_from = now;
        }
        let longest = (WAITS_RTTS * flow.wired.max(flow.present)).max(WAITS_SECONDS);
        self.waits_until = now + Duration::from_secs_f64(longest);
    }

    /// True while data of a flow waits.
    pub(crate) fn waits(&self, now: Instant) -> bool {
        now <= self.waits_until
    }

    /// The round trip that the window allows for, in seconds.
    pub(crate) fn allowed_rtt(&self) -> f64 {
        self.least + self.value
    }

    /// The present round trip of the radio leg, in seconds.
    pub(crate) const fn present_rtt(&self) -> f64 {
        self.present
    }

    /// Takes a report; true when the slack changed.
    pub(crate) fn report(&mut self, now: Instant, seen: Seen, rules: &Config) -> bool {
        let before = self.value;
        let rtt = self.allowed_rtt();
        let short = 1.0 - self.delivered / self.allocated.max(1.0);
        let idle = if self.waits(now) { seen.free.min(short).max(0.0) } else { 0.0 };
        // Data waited during the whole period of the report, and the sender had begun before.
        let waited = now.since(self.waits_from).as_secs_f64() >= seen.period + BEGIN_RTTS * rtt;
        if waited && seen.backlog <= self.value / 2.0 + self.least {
            self.value += (idle - TOLERANCE).max(0.0) * seen.period.min(rtt);
        }
        self.idle += idle * seen.period;
        self.seen += seen.period;
        self.backlog = self.backlog.min(seen.backlog);
        let stands = (STANDS_REPORTS * seen.period).max(STANDS_RTTS * rtt).max(STANDS_SECONDS);
        if now.since(self.since).as_secs_f64() >= stands {
            if self.idle < TOLERANCE / 2.0 * self.seen {
                self.value -= LOWER * self.backlog.min(self.value);
            }
            (self.since, self.idle, self.seen, self.backlog) = (now, 0.0, 0.0, f64::INFINITY);
        }
        self.value = self.value.min(rules.radio_slack_max.as_secs_f64());
        self.value.to_bits() != before.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Greedy = Greedy {
        waits: true,
        wired: 0.01,
        least: 0.02,
        present: 0.02,
        passed: 0.001,
        delivered: 8e3,
        allocated: 1e4,
    };
    const IDLE: Seen = Seen { period: 0.001, free: 0.1, backlog: 0.0 };

    /// Milliseconds of samples of `flow` and reports of `seen`.
    fn pass(slack: &mut Slack, from: u64, to: u64, flow: &Greedy, seen: Seen) {
        let rules = Config::default();
        for ms in from..to {
            let now = Instant::ZERO + Duration::from_millis(ms);
            slack.sample(now, flow);
            slack.report(now, seen, &rules);
        }
    }

    #[test]
    fn the_idle_time_of_a_round_trip_is_added_within_a_round_trip() {
        let mut slack = Slack::NONE;
        pass(&mut slack, 1, 82, &FLOW, IDLE);
        assert_eq!(slack.value.to_bits(), 0, "while a sender begins nothing counts");
        pass(&mut slack, 82, 102, &FLOW, IDLE);
        let ms = 1e3 * slack.value;
        assert!((ms - 20.0 * (0.1 - TOLERANCE)).abs() < 0.01, "a tenth of 20 ms, less 0.5 %: {ms}");
    }

    #[test]
    fn a_report_that_covers_many_round_trips_adds_the_idle_time_of_one() {
        let mut slack = Slack::NONE;
        pass(&mut slack, 1, 300, &FLOW, Seen { free: 0.0, ..IDLE });
        slack.report(
            Instant::ZERO + Duration::from_millis(300),
            Seen { period: 0.1, ..IDLE },
            &Config::default(),
        );
        assert!((1e3 * slack.value - 20.0 * (0.1 - TOLERANCE)).abs() < 0.01, "{slack:?}");
    }

    #[test]
    fn free_blocks_without_waiting_data_or_below_an_allocation_that_is_used_add_nothing() {
        for flow in [Greedy { waits: false, ..FLOW }, Greedy { delivered: 1e4, ..FLOW }] {
            let mut slack = Slack::NONE;
            pass(&mut slack, 1, 1000, &flow, IDLE);
            assert_eq!(slack.value.to_bits(), 0);
        }
    }

    #[test]
    fn a_backlog_that_slack_does_not_explain_adds_nothing_and_takes_half_of_itself() {
        let mut slack = Slack::NONE;
        let stands = Seen { backlog: 0.05, ..IDLE };
        pass(&mut slack, 1, 1000, &FLOW, stands);
        assert_eq!(slack.value.to_bits(), 0);
        slack.value = 0.08;
        let stands = Seen { free: 0.0, backlog: 0.05, ..IDLE };
        pass(&mut slack, 1000, 1710, &FLOW, stands);
        assert!((slack.value - 0.055).abs() < 1e-9, "{slack:?}");
    }

    #[test]
    fn slack_is_never_above_its_bound_nor_below_none() {
        let mut slack = Slack::NONE;
        pass(&mut slack, 1, 10_000, &FLOW, Seen { free: 1.0, ..IDLE });
        assert_eq!(slack.value.to_bits(), 0.2_f64.to_bits());
        pass(&mut slack, 10_000, 30_000, &FLOW, Seen { free: 0.0, backlog: 9.0, ..IDLE });
        assert!((0.0..1e-3).contains(&slack.value), "{slack:?}");
    }
}
