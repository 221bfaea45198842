//! The channel of reports from the cell to the proxy: a period, losses, a delay with jitter, stops,
//! and an error in the reported amounts.

use super::config::ReportConfig;
use crate::arena::Arena;
use justfull_base::feedback::RanReport;
use justfull_base::{Instant, Rng};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The UE of a report, and the cell that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Number of the UE.
    pub ue: u32,
    /// Number of the cell.
    pub cell: u32,
}

/// Reports of all UEs in transit. Memory: the reports made within the longest delay.
pub struct ReportChannel {
    config: ReportConfig,
    rng: Rng,
    /// The next request to the cell.
    ask_at: Instant,
    /// Reports by arrival, then in the order of their making.
    arrivals: BinaryHeap<Reverse<(Instant, u64, u64)>>,
    reports: Arena<(At, RanReport)>,
    made: u64,
    /// Number of reports sent, whether or not they arrive.
    sent: u64,
}

impl ReportChannel {
    /// A channel whose first report is made at a random time within the first period.
    pub fn new(config: &ReportConfig, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "proxy.report");
        let phase = config.period.scaled(rng.unit());
        Self {
            config: config.clone(),
            rng,
            ask_at: Instant::ZERO + phase,
            arrivals: BinaryHeap::new(),
            reports: Arena::new(0),
            made: 0,
            sent: 0,
        }
    }

    /// The next instant of a request to the cell or of an arrival.
    #[inline]
    pub fn next(&self) -> Instant {
        let arrival = self.arrivals.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        self.ask_at.min(arrival)
    }

    /// True if a request to the cell is due at `now`; the next one follows a period later.
    #[inline]
    pub fn are_due(&mut self, now: Instant) -> bool {
        let due = self.ask_at <= now;
        if due {
            self.ask_at += self.config.period;
        }
        due
    }

    /// A cell sends `report` about a UE.
    #[inline]
    pub fn send(&mut self, now: Instant, of: At, report: &RanReport) {
        // Each report uses the same number of random values, so that a loss does not change later
        // delays.
        let (lost, late) = (self.rng.chance(self.config.loss), self.rng.unit());
        if self.config.stops.iter().any(|stop| stop.covers(now)) {
            return;
        }
        self.sent += 1;
        if lost {
            return;
        }
        let at = now + self.config.delay + self.config.jitter.scaled(late);
        let handle = self.reports.put((of, claimed(report, self.config.factor)));
        self.arrivals.push(Reverse((at, self.made, handle)));
        self.made += 1;
    }

    /// Number of reports sent, including lost ones.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// A report that has arrived by `now`, with its UE and its cell.
    #[inline]
    pub fn receive(&mut self, now: Instant) -> Option<(At, RanReport)> {
        let Reverse((_, _, handle)) =
            *self.arrivals.peek().filter(|Reverse((at, ..))| *at <= now)?;
        self.arrivals.pop();
        Some(self.reports.take(handle))
    }
}

/// `report` with all amounts multiplied by `factor`.
fn claimed(report: &RanReport, factor: f64) -> RanReport {
    let times = |amount: u64| (amount as f64 * factor) as u64;
    RanReport {
        offered: times(report.offered),
        used: times(report.used),
        blocks: times(report.blocks),
        repeats: times(report.repeats),
        bytes: times(report.bytes),
        backlog: times(report.backlog),
        ..*report
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Stop;
    use super::*;
    use justfull_base::Duration;
    use justfull_base::feedback::CellKind;

    const MS: Duration = Duration::from_millis(1);

    fn report(at: Instant) -> RanReport {
        RanReport {
            at,
            kind: CellKind::Bytes,
            slot: MS,
            slots: 1,
            offered: 3_000,
            used: 2_001,
            active_ues: 2,
            blocks: 1_001,
            repeats: 7,
            bytes: 900,
            mcs: None,
            backlog: 11,
        }
    }

    /// Sends two reports per period for `seconds`; returns the times of making and of arrival of
    /// each arrived report.
    fn run(config: &ReportConfig, seconds: u64) -> Vec<(Instant, Instant)> {
        let mut channel = ReportChannel::new(config, 1);
        let end = Instant::ZERO + Duration::from_secs(seconds);
        let (mut arrived, mut sent) = (Vec::new(), 0);
        while channel.next() <= end {
            let now = channel.next();
            if channel.are_due(now) {
                (0..2).for_each(|ue| channel.send(now, At { ue, cell: 0 }, &report(now)));
                sent += 2 * u64::from(!config.stops.iter().any(|stop| stop.covers(now)));
            }
            while let Some((of, report)) = channel.receive(now) {
                assert!(of.ue < 2);
                arrived.push((report.at, now));
            }
        }
        assert_eq!(channel.sent(), sent, "those that get lost count");
        arrived
    }

    #[test]
    fn without_delay_each_report_arrives_when_it_is_made_once_a_period() {
        let arrived = run(&ReportConfig::default(), 1);
        assert!(arrived.len() == 2_000, "{}", arrived.len());
        assert!(arrived.iter().all(|(made, at)| made == at));
        assert!(arrived.windows(3).all(|w| w[2].0.since(w[0].0) == MS), "two UEs, a period apart");
    }

    #[test]
    fn reports_are_late_overtake_each_other_and_get_lost_as_configured() {
        let config = ReportConfig {
            delay: MS.times(10),
            jitter: MS.times(5),
            loss: 0.25,
            ..ReportConfig::default()
        };
        let arrived = run(&config, 10);
        let share = arrived.len() as f64 / 20_000.0;
        assert!((0.73..0.77).contains(&share), "{share}");
        let late = |(made, at): &(Instant, Instant)| at.since(*made);
        assert!(arrived.iter().all(|r| late(r) >= MS.times(10) && late(r) <= MS.times(15)));
        assert!(arrived.windows(2).all(|w| w[0].1 <= w[1].1), "in order of arrival");
        assert!(arrived.windows(2).any(|w| w[0].0 > w[1].0), "some overtook");
        assert!(run(&ReportConfig { loss: 1.0, ..config }, 1).is_empty());
    }

    #[test]
    fn nothing_is_sent_while_the_reports_have_stopped() {
        let stop = Stop { from: MS.times(300), lasts: MS.times(200) };
        let arrived = run(&ReportConfig { stops: vec![stop], ..ReportConfig::default() }, 1);
        assert_eq!(arrived.len(), 2 * 800);
        let silent = |at: &Instant| (300..500).contains(&(at.as_nanos() / 1_000_000));
        assert!(!arrived.iter().any(|(made, _)| silent(made)));
    }

    #[test]
    fn a_factor_is_on_every_amount_and_on_nothing_else() {
        let truth = report(Instant::ZERO);
        assert_eq!(claimed(&truth, 1.0), truth);
        let twice = claimed(&truth, 2.0);
        assert_eq!(
            (twice.offered, twice.used, twice.blocks, twice.repeats),
            (6_000, 4_002, 2_002, 14)
        );
        assert_eq!((twice.slots, twice.slot, twice.active_ues), (1, MS, 2));
        let half = claimed(&truth, 0.5);
        assert_eq!((half.offered, half.used, half.blocks), (1_500, 1_000, 500));
    }
}
