//! A UE's access to the uplink: its buffer status reports and scheduling requests, and the
//! scheduler's record of them.

use super::levels::{Field, Reported};
use super::prioritisation::Buckets;
use super::settings::UplinkMacConfig;
use alloc::collections::VecDeque;
use justfull_base::{Duration, Instant, Rng};

/// Logical channel groups.
pub(super) const GROUPS: usize = 8;

/// The trigger of a buffer status report that is not sent yet (TS 38.321 clause 5.4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trigger {
    #[default]
    None,
    /// The periodic timer. The report goes in the next grant.
    Periodic,
    /// New data, or no grant for a long time. The report goes in the next grant; without a grant
    /// the UE sends a scheduling request.
    Regular,
}

/// The content of a report, in bytes as the scheduler reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Bytes of each group.
    pub(super) groups: [u64; GROUPS],
    /// The reported groups, a bit each. The other groups are empty unless the report is truncated.
    pub(super) reported_groups: u8,
    pub(super) truncated: bool,
    /// True if a group reports the last level, which has no upper end.
    pub(super) more: bool,
    /// Bytes granted to the UE up to the report's PUSCH.
    pub(super) granted: u64,
}

/// The format of a report (TS 38.321 clause 6.1.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// One group.
    Short,
    /// The group with the best priority, though others have data too.
    ShortTruncated,
    /// All groups with data.
    Long,
}

impl Format {
    /// Bytes in a MAC PDU, with the subheader, for `groups` with data.
    pub(super) const fn size(self, groups: u32) -> u32 {
        match self {
            Self::Short | Self::ShortTruncated => 2,
            // Subheader 2, bitmap 1, a field for each group.
            Self::Long => 3 + groups,
        }
    }

    /// The format of a regular or periodic report while `groups` have data.
    pub(super) const fn triggered(groups: u32) -> Self {
        if groups > 1 { Self::Long } else { Self::Short }
    }

    /// The format of a report in `padding` bytes while `groups` have data; none if `padding` is too
    /// small. A truncated report has one group.
    pub(super) const fn padding(padding: u32, groups: u32) -> Option<Self> {
        if padding >= Self::Long.size(groups) {
            Some(Self::Long)
        } else if padding >= Self::Short.size(1) {
            Some(if groups > 1 { Self::ShortTruncated } else { Self::Short })
        } else {
            None
        }
    }
}

impl Report {
    /// The report in `format` of buffers with `held` bytes in each group; `first` is the group with
    /// the best priority that has data.
    pub(super) fn of(format: Format, held: &[u64; GROUPS], first: usize, granted: u64) -> Self {
        let mut report = Self { granted, ..Self::default() };
        let field = if format == Format::Long { Field::Long } else { Field::Short };
        report.truncated = format == Format::ShortTruncated;
        for (group, &bytes) in held.iter().enumerate() {
            let is_reported = if format == Format::Long { bytes > 0 } else { group == first };
            if is_reported {
                report.reported_groups |= 1 << group;
                let level = field.level(bytes);
                report.groups[group] = field.bytes(level);
                report.more |= field.is_last(level);
            }
        }
        report
    }
}

/// A request or report on the way to the scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) enum News {
    Request,
    Report(Report),
}

/// Times of a UE's access, in slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) sr_period: u64,
    pub(super) prohibit: Duration,
    /// None without periodic reports.
    pub(super) periodic: Option<Duration>,
    pub(super) retransmission: Duration,
}

impl Times {
    pub(super) fn of(config: &UplinkMacConfig) -> Self {
        let periodic = config.bsr.periodic;
        Self {
            sr_period: config.slots(config.sr.period),
            prohibit: config.sr.prohibit,
            periodic: (!periodic.is_zero()).then_some(periodic),
            retransmission: config.bsr.retransmission,
        }
    }
}

/// A UE's access to the uplink.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// False once the UE has left the cell.
    pub(super) present: bool,
    pub(super) buckets: Buckets,
    /// Bearers whose data has triggered a report, a bit each.
    pub(super) holding: u32,
    pub(super) trigger: Trigger,
    /// A scheduling request is pending.
    pub(super) pending: bool,
    /// The first slot with an occasion for a request.
    sr_offset: u64,
    prohibited_until: Instant,
    periodic_at: Instant,
    retransmit_at: Instant,
    /// Bytes granted so far.
    pub(super) granted: u64,
    /// The scheduler's record.
    pub(super) known: Known,
}

/// The scheduler's record of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Reported bytes that are not granted since.
    pub(super) bytes: u64,
    /// A request without a grant since.
    pub(super) requested: bool,
    /// The last report.
    pub(super) reported: Reported,
    /// Bytes granted up to the last received report.
    granted_by_report: u64,
    /// Requests and reports, each with the first slot that can be granted for it.
    news: VecDeque<(u64, News)>,
}

impl Access {
    /// The access of UE number `ue` with `drbs` bearers, in the cell with `seed`.
    pub(super) fn new(ue: u32, drbs: u8, config: &UplinkMacConfig, seed: u64) -> Self {
        let period = config.slots(config.sr.period);
        let random = || Rng::stream(seed, &alloc::format!("uplink.sr.{ue}")).below(period);
        let slot = config.slot.period.as_nanos().max(1);
        let fixed = config.sr.offset.map(|offset| offset.as_nanos() / slot);
        Self {
            present: true,
            buckets: Buckets::new(usize::from(drbs)),
            holding: 0,
            trigger: Trigger::None,
            pending: false,
            sr_offset: fixed.unwrap_or_else(random),
            prohibited_until: Instant::ZERO,
            periodic_at: Instant::NEVER,
            retransmit_at: Instant::NEVER,
            granted: 0,
            known: Known::default(),
        }
    }

    /// The UE has left: it has no request or report, and the base station expects none.
    pub(super) fn leave(&mut self) {
        (self.present, self.holding, self.known) = (false, 0, Known::default());
        self.cancel();
    }

    /// True while the UE needs work in a slot.
    pub(super) fn is_active(&self) -> bool {
        self.holding != 0
            || self.known.bytes > 0
            || self.known.requested
            || !self.known.news.is_empty()
    }

    /// Triggers the reports of timers that have expired by `now`.
    pub(super) fn end_timers(&mut self, now: Instant) {
        if self.periodic_at <= now {
            self.periodic_at = Instant::NEVER;
            self.trigger = self.trigger.max(Trigger::Periodic);
        }
        if self.retransmit_at <= now && self.holding != 0 {
            self.retransmit_at = Instant::NEVER;
            self.trigger = Trigger::Regular;
        }
    }

    /// The scheduler granted a PUSCH of `bytes` for new data at `now`.
    pub(super) fn grant(&mut self, now: Instant, bytes: u32, times: &Times) {
        self.granted += u64::from(bytes);
        self.known.requested = false;
        self.known.bytes = self.known.bytes.saturating_sub(u64::from(bytes));
        if self.retransmit_at < Instant::NEVER {
            self.retransmit_at = now + times.retransmission;
        }
    }

    /// A report leaves at `now`; its PDU cancels all triggers.
    pub(super) fn reported(&mut self, now: Instant, truncated: bool, times: &Times) {
        self.cancel();
        if !truncated {
            self.periodic_at = times.periodic.map_or(Instant::NEVER, |after| now + after);
        }
        self.retransmit_at = now + times.retransmission;
    }

    /// All pending data has left or is reported: cancels the triggers.
    pub(super) fn cancel(&mut self) {
        self.trigger = Trigger::None;
        self.pending = false;
    }

    /// True if a request leaves at `now` in slot `k`: a request is pending, and there was an
    /// occasion after `before`, the previous slot of the uplink.
    pub(super) fn requests(
        &mut self,
        k: u64,
        before: Option<u64>,
        now: Instant,
        t: &Times,
    ) -> bool {
        let occasions = |k: u64| (k + t.sr_period - self.sr_offset) / t.sr_period;
        let comes = before.map_or(occasions(k) > 0, |before| occasions(k) > occasions(before));
        let sends = self.pending && comes && now >= self.prohibited_until;
        if sends {
            self.prohibited_until = now + t.prohibit;
        }
        sends
    }
}

impl Known {
    /// `news` may cause a grant from slot `at` on.
    pub(super) fn push(&mut self, at: u64, news: News) {
        self.news.push_back((at, news));
    }

    /// Takes in the requests and reports that count in slot `k`; `granted` is the total of granted
    /// bytes.
    pub(super) fn receive(&mut self, k: u64, granted: u64) {
        while let Some(&(at, news)) = self.news.front()
            && at <= k
        {
            self.news.pop_front();
            match news {
                News::Request => self.requested = true,
                News::Report(report) => self.apply(&report, granted),
            }
        }
    }

    /// A report that HARQ has delayed behind a later report has no effect.
    fn apply(&mut self, report: &Report, granted: u64) {
        if report.granted < self.granted_by_report {
            return;
        }
        self.granted_by_report = report.granted;
        let reported_groups: u64 = report.groups.iter().sum();
        let rest = reported_groups.saturating_sub(granted - report.granted);
        if !report.truncated || self.reported.bytes < reported_groups {
            self.reported = self.reported.next(reported_groups, report.more);
        }
        self.bytes = if report.truncated { self.bytes.max(rest) } else { rest };
    }
}

#[cfg(test)]
mod tests {
    use super::Format::{Long, Short, ShortTruncated};
    use super::*;

    #[test]
    fn formats_follow_the_number_of_groups_and_the_padding() {
        assert_eq!(Format::triggered(1), Short);
        assert_eq!(Format::triggered(2), Long);
        assert_eq!((Short.size(1), Long.size(2)), (2, 5));
        let padding = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (5, 2), (3, 0)];
        let found = padding.map(|(bytes, groups)| Format::padding(bytes, groups));
        let wanted = [
            None,
            Some(Short),
            Some(Short),
            Some(Long),
            Some(ShortTruncated),
            Some(ShortTruncated),
            Some(Long),
            Some(Long),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_backlog_of_a_ue_is_its_report_less_the_grants_since() {
        let mut known = Known::default();
        let held = [1_500, 0, 40, 0, 0, 0, 0, 0];
        let report = Report::of(Long, &held, 0, 1_000);
        known.push(7, News::Report(report));
        known.receive(6, 1_000);
        assert_eq!(known.bytes, 0, "not yet decoded");
        // 8 bits: 1500 B are level 80, at most 1532 B; 40 B are level 22, at most 40 B.
        known.receive(7, 1_800);
        assert_eq!(known.bytes, 1_532 + 40 - 800);
        let stale = Report::of(Short, &held, 0, 900);
        known.push(8, News::Report(stale));
        known.receive(8, 1_800);
        assert_eq!(known.bytes, 772, "an older report, late by HARQ");
    }

    #[test]
    fn a_truncated_report_takes_nothing_away() {
        let mut known = Known { bytes: 5_000, ..Known::default() };
        let report = Report::of(ShortTruncated, &[10, 5_000, 0, 0, 0, 0, 0, 0], 0, 0);
        known.push(0, News::Report(report));
        known.receive(0, 0);
        assert_eq!(known.bytes, 5_000);
    }
}
