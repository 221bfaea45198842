//! The receiver: notes arrivals, and reports on them.

use crate::rc::Reporting;
use alloc::collections::VecDeque;
use justfull_base::Instant;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaArrival {
    /// Its number.
    pub seq: u64,
    /// When, in whole units of the reports.
    pub at: Instant,
    /// It had congestion experienced.
    pub ce: bool,
}

/// The range of a report. Its content stays with the receiver until the report has arrived
/// ([`MediaReceiver::content`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaReport {
    /// Least packet number in the report.
    pub first: u64,
    /// Number of its first arrival among all arrivals.
    pub begin: u64,
    /// Number after its last arrival.
    pub end: u64,
    /// Bytes on the IP layer.
    pub bytes: u32,
}

/// State.
#[derive(Clone, Debug)]
pub struct MediaReceiver {
    reporting: Reporting,
    /// Arrivals from number `gone` on.
    arrivals: VecDeque<MediaArrival>,
    gone: u64,
    /// Number of the first arrival that is in no report, and of the first packet beyond the last
    /// report.
    unreported: u64,
    covered: u64,
    /// The highest number received, and one more.
    next: u64,
    reported_at: Instant,
    due: Instant,
}

impl MediaReceiver {
    /// A receiver of a new call.
    #[must_use]
    pub const fn new(reporting: Reporting) -> Self {
        Self {
            reporting,
            arrivals: VecDeque::new(),
            gone: 0,
            unreported: 0,
            covered: 0,
            next: 0,
            reported_at: Instant::ZERO,
            due: Instant::NEVER,
        }
    }

    /// When the next report is due; never while nothing has arrived since the last one.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Packet `seq` arrives; `last` if it ends a frame.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, seq: u64, ce: bool, last: bool) {
        self.note(now, now, seq, ce, last);
    }

    /// A station on the way predicts at `now` that packet `seq` arrives at `at`; `last` if it ends
    /// a frame. A queue keeps its order, so no packet arrives before the one noted before it.
    pub fn on_prediction(&mut self, now: Instant, at: Instant, seq: u64, ce: bool, last: bool) {
        let before = self.arrivals.back().map_or(Instant::ZERO, |arrival| arrival.at);
        self.note(now, at.max(before), seq, ce, last);
    }

    /// At `now` it is known that packet `seq` arrives at `at`.
    fn note(&mut self, now: Instant, at: Instant, seq: u64, ce: bool, last: bool) {
        let tick = self.reporting.tick();
        let at = Instant::from_nanos(at.as_nanos() / tick * tick);
        self.arrivals.push_back(MediaArrival { seq, at, ce });
        self.next = self.next.max(seq + 1);
        let waiting = self.gone + self.arrivals.len() as u64 - self.unreported;
        let at_once =
            waiting >= self.reporting.packets() || last && self.reporting == Reporting::Rfc8888;
        let by_time = (self.reported_at + self.reporting.longest()).max(now);
        self.due = if at_once { now } else { self.due.min(by_time) };
    }

    /// Makes the report that is due at `now`; none if it is not due yet.
    pub fn report(&mut self, now: Instant) -> Option<MediaReport> {
        if now < self.due {
            return None;
        }
        let end = self.gone + self.arrivals.len() as u64;
        let (first, begin) = match self.reporting.repeated() {
            Some(most) => (self.next.saturating_sub(most), end.saturating_sub(most)),
            None => (self.covered, self.unreported),
        };
        let bytes = self.reporting.bytes(self.next.saturating_sub(first), end - begin);
        (self.unreported, self.covered) = (end, self.next.max(self.covered));
        (self.reported_at, self.due) = (now, Instant::NEVER);
        Some(MediaReport { first, begin, end, bytes })
    }

    /// The arrivals of `report`, which has reached the sender, that no earlier report brought.
    /// Arrivals of lost reports are gone, unless this report repeats them.
    pub fn content(&mut self, report: MediaReport) -> impl Iterator<Item = MediaArrival> + '_ {
        let gone = self.gone;
        self.gone = self.gone.max(report.end);
        let old = report.begin.saturating_sub(gone) as usize;
        let all = report.end.saturating_sub(gone) as usize;
        self.arrivals.drain(..all).skip(old)
    }
}
