//! The desired buffer size of a node that reports to a distant PDCP (downlink data delivery status,
//! TS 38.425 section 5.4.2).

use justfull_base::Duration;

/// The desired buffer size of one bearer, from report to report. Amounts are bytes or packets.
///
/// It is the sum of two amounts: the room that a limiter admits to an empty queue, and the data
/// that leaves until the data for the next report arrives. Both amounts include waiting data, or a
/// full queue would grow with each report.
///
/// The rate is the greater one of the last two periods between reports in which data left, since an
/// outage may begin or end within a period. A node that has data and sends none is in an outage: it
/// keeps its rate. A node that runs dry before the data of this report arrives might send more.
#[derive(Clone, Copy, Debug, Default)]
pub struct DesiredBufferSize {
    /// Amount that had left by the last report, and amount up to which that report requested data.
    left: u64,
    most: u64,
    /// Amount a second in the last period between reports in which data left.
    last: u64,
    /// Amount a second that the node can send.
    rate: u64,
}

/// The times of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportTimes {
    /// Time since the last report.
    pub since: Duration,
    /// Time to the next report.
    pub period: Duration,
    /// One-way delay of reports, and of data.
    pub delay: Duration,
}

/// [`DesiredBufferSize::rate`] grows by this part of the last rate where a node runs dry: one in 4.
const GROWTH: u64 = 4;

impl DesiredBufferSize {
    /// The desired buffer size, beyond the amount that has `left`, of a node whose limiter admits
    /// `room` to an empty queue; `u64::MAX` for no limit.
    pub fn report(&mut self, left: u64, room: u64, times: ReportTimes) -> u64 {
        let ReportTimes { since, period, delay } = times;
        let sent = u128::from(left.saturating_sub(self.left));
        self.left = left;
        let second = u128::from(Duration::from_secs(1).as_nanos());
        let now = clamped(sent * second / u128::from(since.as_nanos().max(1)));
        let within = |rate: u64, time: Duration| {
            clamped(u128::from(rate) * u128::from(time.as_nanos()) / second)
        };
        let runs_dry = self.most.saturating_sub(left) <= within(now, delay + delay);
        if now > 0 {
            let last = core::mem::replace(&mut self.last, now);
            self.rate = match runs_dry {
                true => self.rate.max(now.saturating_add(now / GROWTH)),
                false => now.max(last),
            };
        }
        let coming = within(self.rate, period + delay + delay);
        let desired = coming.saturating_add(room);
        self.most = left.saturating_add(desired);
        desired
    }

    /// All data that the node has taken, `left` in all, is sent over another node.
    pub fn recover(&mut self, left: u64) {
        self.left = left;
    }
}

fn clamped(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> ReportTimes {
        let period = Duration::from_millis(5);
        ReportTimes { since: period, period, delay: Duration::from_millis(2) }
    }

    #[test]
    fn a_busy_node_wants_its_room_and_what_leaves_in_a_period_and_two_delays() {
        let mut node = DesiredBufferSize::default();
        node.report(5_000, 1_000, times());
        // 1000 B a ms, for 9 ms.
        assert_eq!(node.report(10_000, 1_000, times()), 10_000);
        assert_eq!(node.report(15_000, 1_000, times()), 10_000, "whatever waits");
        assert_eq!(node.report(15_000, u64::MAX, times()), u64::MAX);
        let at_once = ReportTimes { since: Duration::ZERO, ..times() };
        assert_eq!(node.report(15_000, 1_000, at_once), 10_000);
    }

    #[test]
    fn a_node_keeps_its_rate_through_an_outage_and_two_parts_of_periods() {
        let mut node = DesiredBufferSize::default();
        (1..=4).for_each(|n| {
            node.report(5_000 * n, 1_000, times());
        });
        assert_eq!(node.report(21_000, 1_000, times()), 10_000, "a part of a period");
        assert_eq!(node.report(21_000, 1_000, times()), 10_000, "nothing leaves");
        assert_eq!(node.report(21_000, 1_000, times()), 10_000);
    }

    #[test]
    fn a_node_that_gets_slower_wants_less_after_two_reports() {
        let mut node = DesiredBufferSize::default();
        (1..=4).for_each(|n| {
            node.report(5_000 * n, 1_000, times());
        });
        node.report(21_000, 1_000, times());
        assert_eq!(node.report(22_000, 1_000, times()), 1_000 + 1_800);
    }

    #[test]
    fn a_node_that_runs_dry_wants_more_each_time() {
        let mut node = DesiredBufferSize::default();
        let mut left = 0;
        let mut before = node.report(1, 10, times());
        for _ in 0..20 {
            // All that the last report admits leaves before the next.
            left += before;
            let desired = node.report(left, 10, times());
            assert!(desired > before, "{desired} {before}");
            before = desired;
        }
    }
}
