//! Lateness of the clock.
//!
//! The lateness of a wake-up is the time from its due instant to its actual one. A slot is *missed*
//! if it is handled after the next wake-up was due: its packets then leave with those of the next
//! slot. A run is late if 1 % of its slots were missed, or if the 99th percentile of lateness
//! exceeds a quarter of the wake-up period: beyond that the clock, not the scenario, shapes the
//! delays of a slot. To compare distributions a run must keep a narrower [`Limit`].

use hdrhistogram::Histogram;
use justfull_base::{Duration, Instant};
use justfull_net::clock::Clock;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limits on a run's lateness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Share of missed slots that is too high.
    pub missed: f64,
    /// Maximum of the 99th percentile of lateness, in wake-up periods.
    pub p99: f64,
}

impl Limit {
    /// A run that exceeds it is late.
    pub const LATE: Self = Self { missed: 0.01, p99: 0.25 };
    /// For a run whose delay distributions are compared with others: each missed slot moves a
    /// packet by a step.
    pub const COMPARABLE: Self = Self { missed: 0.001, p99: 0.1 };
}

/// Greatest lateness that the histogram distinguishes: an hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Summary of a clock's lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatenessReport {
    /// Time between wake-ups.
    pub period: Duration,
    /// Wake-ups.
    pub wakes: u64,
    /// Median lateness in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Greatest.
    pub max_us: f64,
    /// Slots that were due.
    pub slots: u64,
    /// Slots handled after the next wake-up was due, or never.
    pub missed: u64,
    /// The rule above.
    pub late: bool,
}

impl LatenessReport {
    /// Missed slots over all slots; 0 without any.
    #[must_use]
    pub fn missed_share(&self) -> f64 {
        if self.slots == 0 { 0.0 } else { self.missed as f64 / self.slots as f64 }
    }

    /// True when the run has kept `limit`.
    #[must_use]
    pub fn is_within(&self, limit: Limit) -> bool {
        self.missed_share() < limit.missed
            && self.p99_us * 1e3 <= self.period.as_nanos() as f64 * limit.p99
    }
}

/// Counts lateness. Memory is constant: a histogram of about 40 kB.
pub struct Lateness {
    period: Duration,
    times: Histogram<u64>,
    slots: u64,
    missed: u64,
    /// The limit for [`Self::is_settled`], and the number of wake-ups later than its percentile
    /// allows.
    limit: Limit,
    slow: u64,
}

impl Lateness {
    /// Lateness of wake-ups that are `period` apart.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self::held_to(Limit::LATE, period)
    }

    /// The same for a run with `limit`.
    #[must_use]
    pub fn held_to(limit: Limit, period: Duration) -> Self {
        let times =
            Histogram::new_with_bounds(1, HIGHEST_NS, 2).expect("constant bounds are sound");
        Self { period, times, slots: 0, missed: 0, limit, slow: 0 }
    }

    /// Time between wake-ups.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// A wake-up that was due at `due` happened at `woke`.
    #[inline]
    pub fn woke(&mut self, due: Instant, woke: Instant) {
        let late = woke.since(due).as_nanos();
        self.times.saturating_record(late);
        self.slow += u64::from(late as f64 > self.period.as_nanos() as f64 * self.limit.p99);
    }

    /// `count` slots were handled, `missed` of them after the next wake-up was due.
    #[inline]
    pub fn slots(&mut self, count: u64, missed: u64) {
        self.slots += count;
        self.missed += missed;
    }

    /// True if a run of `slots` slots in all, woken `wakes` times for them, will exceed its limit
    /// in any case.
    #[must_use]
    pub fn is_settled(&self, slots: u64, wakes: u64) -> bool {
        self.missed as f64 >= slots as f64 * self.limit.missed
            || self.slow as f64 > wakes as f64 * 0.01
    }

    /// The summary so far.
    #[must_use]
    pub fn report(&self) -> LatenessReport {
        let us = |share| self.times.value_at_quantile(share) as f64 * 1e-3;
        let report = LatenessReport {
            period: self.period,
            wakes: self.times.len(),
            p50_us: us(0.5),
            p99_us: us(0.99),
            p999_us: us(0.999),
            max_us: self.times.max() as f64 * 1e-3,
            slots: self.slots,
            missed: self.missed,
            late: false,
        };
        LatenessReport { late: !report.is_within(Limit::LATE), ..report }
    }
}

/// Slots that were handled together.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// When the first one was due.
    pub(crate) first: Instant,
    pub(crate) count: u64,
    /// Length of a slot.
    pub(crate) slot: Duration,
}

/// Number of slots of `batch` that missed their wake-up; all are done at `done`. A wake-up is due
/// every `period`; one was due at `due`, which is not before the first slot.
#[must_use]
pub(crate) fn missed(batch: Batch, due: Instant, period: Duration, done: Instant) -> u64 {
    let Batch { first, count, slot } = batch;
    let behind = done.since(due);
    if count == 0 || behind < period {
        return 0;
    }
    // A slot belongs to the first wake-up not before it: the last whose successor was due by
    // `done`.
    let whole = behind.as_nanos() / period.as_nanos() - 1;
    let last = due + period.times(whole);
    if last < first {
        return 0;
    }
    (last.since(first).as_nanos() / slot.as_nanos() + 1).min(count)
}

/// A loop that only wakes every `period` for `length`, or until `stop`: shows how good the
/// machine's timers are.
pub fn bare_loop<C: Clock>(
    clock: &mut C,
    period: Duration,
    length: Duration,
    stop: &AtomicBool,
) -> LatenessReport {
    let mut lateness = Lateness::new(period);
    let mut due = clock.now() + period;
    let end = due + length;
    while due < end && !stop.load(Ordering::Relaxed) {
        let woke = clock.sleep_until(due);
        if woke < due {
            continue;
        }
        lateness.woke(due, woke);
        let count = 1 + woke.since(due).as_nanos() / period.as_nanos();
        lateness.slots(count, missed(Batch { first: due, count, slot: period }, due, period, woke));
        due += period.times(count);
    }
    lateness.report()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000)
    }

    const SLOT: Duration = Duration::from_micros(125);
    const PERIOD: Duration = Duration::from_micros(500);

    #[test]
    fn a_slot_is_missed_when_it_is_handled_after_the_next_wake_up_was_due() {
        // Four slots up to the wake-up at 500 us.
        let batch = |count| Batch { first: us(125), count, slot: SLOT };
        assert_eq!(missed(batch(4), us(500), PERIOD, us(999)), 0);
        assert_eq!(missed(batch(4), us(500), PERIOD, us(1_000)), 4);
        // At 1100 us eight slots are handled: the slots of the wake-up of 500 us are missed, the
        // slots of 1000 us are not.
        assert_eq!(missed(batch(8), us(500), PERIOD, us(1_100)), 4);
        assert_eq!(missed(batch(12), us(500), PERIOD, us(1_500)), 8);
        assert_eq!(missed(batch(0), us(500), PERIOD, us(9_000)), 0);
    }

    #[test]
    fn a_run_is_late_by_missed_slots_or_by_the_percentile() {
        let ms = Duration::from_millis(1);
        let mut on_time = Lateness::new(ms);
        let mut slow = Lateness::new(ms);
        for i in 0..1_000 {
            on_time.woke(us(i * 1_000), us(i * 1_000 + 240));
            slow.woke(us(i * 1_000), us(i * 1_000 + if i % 50 == 0 { 300 } else { 20 }));
        }
        on_time.slots(1_000, 9);
        slow.slots(1_000, 0);
        assert!(!on_time.report().late, "{:?}", on_time.report());
        assert!(slow.report().late, "2 % are 300 us late: {:?}", slow.report());
        assert!(!on_time.is_settled(1_000, 1_000), "no slot more is to be missed");
        assert!(
            slow.is_settled(1_000, 1_000) && !slow.is_settled(2_000, 2_000),
            "20 wake-ups are slow"
        );
        let comparable = |run: &Lateness| run.report().is_within(Limit::COMPARABLE);
        assert!(
            !comparable(&on_time) && !comparable(&slow),
            "on time, but not by enough to compare delays"
        );
        on_time.slots(0, 1);
        assert!(on_time.report().late, "1 % missed");
        assert!(on_time.is_settled(1_000, 1_000) && !on_time.is_settled(1_001, 1_001));

        let mut quiet = Lateness::held_to(Limit::COMPARABLE, ms);
        (0..990).for_each(|i| quiet.woke(us(i * 1_000), us(i * 1_000 + 90)));
        (990..1_000).for_each(|i| quiet.woke(us(i * 1_000), us(i * 1_000 + 110)));
        quiet.slots(2_000, 1);
        assert!(comparable(&quiet) && !quiet.is_settled(2_000, 1_000), "{:?}", quiet.report());
        quiet.slots(0, 1);
        assert!(!comparable(&quiet) && quiet.is_settled(2_000, 1_000));
    }
}
