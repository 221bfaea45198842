//! One UE: its capacity according to reports and deliveries, and the flows that share it.

use crate::bypass::{self, Beside, Bypass};
use crate::capacity;
use crate::cell::{Cell, Claim, Expected, Wish};
use crate::config::{Blocks, Config};
use crate::members::Members;
use crate::refused::Refused;
use crate::slack::{Seen, Slack};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};

/// Length of a delivery measurement.
const DELIVERY: Duration = Duration::from_millis(100);
/// Steps of a decay.
const STEP: Duration = Duration::from_millis(10);
/// Weight of a new interval between reports.
const NEW_INTERVAL: f64 = 0.125;

/// Totals over the active flows of a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Together {
    pub(crate) active: u32,
    pub(crate) slow: u32,
    pub(crate) fast: u32,
    /// Rates of the floors.
    pub(crate) floors: f64,
    pub(crate) longest_rtt: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub(crate) cell: u32,
    pub(crate) flows: Members,
    pub(crate) radio: Radio,
    pub(crate) delivery: Delivery,
    claim: Claim,
    /// The rate that its subscription allows, in bytes per second; infinite without one.
    pub(crate) most: f64,
    /// Totals over its flows; none after a change.
    pub(crate) together: Option<Together>,
    /// The capacity last allocated among them.
    pub(crate) shared: Option<f64>,
    /// While flows read in turn: position of the first flow of this turn, and of the first flow of
    /// the next.
    pub(crate) turn: u32,
    pub(crate) next_turn: u32,
    /// When the turn ends; never while all read.
    pub(crate) turn_at: Instant,
    pub(crate) slack: Slack,
    pub(crate) bypass: Bypass,
}

impl Ue {
    pub(crate) const fn new(cell: u32) -> Self {
        Self {
            cell,
            flows: Members::new(),
            radio: Radio::UNKNOWN,
            delivery: Delivery::NONE,
            claim: Claim::NONE,
            most: f64::INFINITY,
            together: None,
            shared: None,
            turn: 0,
            next_turn: 0,
            turn_at: Instant::NEVER,
            slack: Slack::NONE,
            bypass: Bypass::NONE,
        }
    }

    /// Seconds that the loops add to the round trip of radio legs.
    pub(crate) fn added(&self) -> f64 {
        self.slack.value + self.bypass.added
    }

    /// Runs the loops over the report that was taken last; true when [`Ue::added`] changed.
    pub(crate) fn close_loops(&mut self, now: Instant, report: &RanReport, rules: &Config) -> bool {
        let Some(rate) = self.shared.filter(|&rate| rate > 0.0) else { return false };
        if report.offered == 0 {
            return false;
        }
        let mut changed = false;
        if rules.radio_slack_max > Duration::ZERO {
            let seen = Seen {
                period: f64::from(report.slots) * report.slot.as_secs_f64(),
                free: (report.offered - report.used) as f64 / report.offered as f64,
                backlog: report.backlog as f64 / rate,
            };
            changed |= self.slack.report(now, seen, rules);
        }
        if rules.bypass_max > Duration::ZERO {
            let active = self.together.map_or(0, |together| together.active);
            let beside = Beside {
                bytes: report.bytes,
                waits: self.slack.waits(now),
                allowed_rtt: self.slack.allowed_rtt(),
                present_rtt: self.slack.present_rtt(),
                part: bypass::part(active, rules.bypass_share),
                longest: rules.bypass_max.as_secs_f64(),
            };
            changed |= self.bypass.report(now, &beside);
        }
        changed
    }

    /// Gives back its share of `cell`, and resets the loops, which hold for that cell alone.
    pub(crate) fn leave(&mut self, cell: &mut Cell) {
        self.claim = cell.claim(self.claim, Wish::NONE, None);
        (self.slack, self.bypass) = (Slack::NONE, Bypass::NONE);
        self.radio.other_cell = true;
    }

    /// Settles the UE's claim on its cell. Returns its capacity in bytes per second; none while
    /// nothing is known.
    pub(crate) fn capacity(
        &mut self,
        cell: &mut Cell,
        active: bool,
        hungry: bool,
        rules: &Config,
    ) -> Option<f64> {
        let known = self.radio.known;
        let divided = rules.blocks == Blocks::Divided;
        let expected = (known && divided).then_some(self.radio.expected);
        let useful = self.radio.useful(rules);
        let most = if useful > 0.0 { self.most / useful } else { 1.0 };
        self.claim = cell.claim(self.claim, Wish { active, hungry, most }, expected);
        if !known {
            return self.delivery.rate().map(|rate| (rate * rules.probe).min(self.most));
        }
        let share = match rules.blocks {
            Blocks::Divided => self.claim.share(),
            Blocks::AllFree => self.radio.expected.own + self.radio.expected.free,
            Blocks::Carrier => 1.0,
        };
        let granted = (share * useful).min(self.most);
        Some(self.radio.stale.map_or(granted, |stale| stale.value.min(granted)))
    }

    /// Lets an old report decay or be forgotten. Returns whether the capacity changed, and when to
    /// call again.
    pub(crate) fn age(&mut self, now: Instant, rules: &Config) -> (bool, Instant) {
        let radio = &mut self.radio;
        if !radio.known {
            return (false, Instant::NEVER);
        }
        let hold = radio.hold(rules);
        if now < radio.arrived + hold {
            return (false, radio.arrived + hold);
        }
        if now >= radio.arrived + rules.forget.max(hold) {
            (radio.known, radio.stale) = (false, None);
            return (true, Instant::NEVER);
        }
        let whole = radio.useful(rules);
        let last = radio.stale.unwrap_or(Stale { at: radio.arrived + hold, value: whole });
        let target = self.delivery.rate().map_or(whole, |rate| whole.min(rate * rules.probe));
        let passed = now.since(last.at).as_secs_f64() / rules.decay.as_secs_f64();
        let value = target + (last.value.min(whole) - target) * libm::exp(-passed);
        radio.stale = Some(Stale { at: now, value });
        (true, now + STEP)
    }
}

/// A decaying capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    at: Instant,
    value: f64,
}

/// State from reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    /// A report has arrived and is not forgotten.
    pub(crate) known: bool,
    /// The UE has left the cell that made the last report. The next report replaces it, whatever
    /// the clock of its cell.
    other_cell: bool,
    /// Bytes per second of the whole cell.
    pub(crate) whole: f64,
    mcs: Option<u8>,
    expected: Expected,
    /// Share of the UE's blocks that carried retransmissions.
    waste: f64,
    /// When the last report was made, and when it arrived.
    made: Instant,
    arrived: Instant,
    /// Mean seconds between reports.
    interval: f64,
    stale: Option<Stale>,
}

impl Radio {
    const UNKNOWN: Self = Self {
        known: false,
        other_cell: false,
        whole: 0.0,
        mcs: None,
        expected: Expected { own: 0.0, free: 0.0, active_ues: 0 },
        waste: 0.0,
        made: Instant::ZERO,
        arrived: Instant::ZERO,
        interval: 0.0,
        stale: None,
    };

    /// Takes a report.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        report: &RanReport,
        rules: &Config,
    ) -> Result<(), Refused> {
        if let Some(field) = capacity::absurd(report) {
            return Err(Refused::Absurd(field));
        }
        let goes_on = self.known && !self.other_cell;
        if goes_on && report.at <= self.made {
            return Err(Refused::Late);
        }
        // Retransmissions have reserved schemes; the scheme of the last new block then applies.
        let at = |mcs| capacity::whole_cell(report, mcs).map(|whole| (mcs, whole));
        let last = self.mcs.filter(|_| !self.other_cell);
        let (mcs, whole) = at(report.mcs).or_else(|| at(last)).ok_or(Refused::Absurd("mcs"))?;
        let period = f64::from(report.slots) * report.slot.as_secs_f64();
        let smoothing = rules.smoothing.as_secs_f64();
        let new = if goes_on { period / (period + smoothing) } else { 1.0 };
        let average = |old: &mut f64, value: f64| *old += new * (value - *old);
        // A cell that offered nothing shows nothing about its users.
        if report.offered > 0 {
            let of_offered = |blocks| blocks as f64 / report.offered as f64;
            average(&mut self.expected.own, of_offered(report.blocks));
            average(&mut self.expected.free, of_offered(report.offered - report.used));
        }
        if report.blocks > 0 {
            average(&mut self.waste, report.repeats as f64 / report.blocks as f64);
        }
        self.expected.active_ues = report.active_ues;
        let gap = now.since(self.arrived);
        if self.known && gap <= rules.forget {
            let weight = if self.interval > 0.0 { NEW_INTERVAL } else { 1.0 };
            self.interval += weight * (gap.as_secs_f64() - self.interval);
        }
        (self.known, self.other_cell, self.whole, self.mcs) = (true, false, whole, mcs);
        (self.made, self.arrived, self.stale) = (report.at, now, None);
        Ok(())
    }

    /// Bytes per second that the whole cell carries, without retransmissions.
    fn useful(&self, rules: &Config) -> f64 {
        if rules.deduct_repeats { self.whole * (1.0 - self.waste) } else { self.whole }
    }

    fn hold(&self, rules: &Config) -> Duration {
        rules.hold.max(Duration::from_secs_f64(f64::from(rules.hold_reports) * self.interval))
    }

    /// How long ago the last good report arrived.
    pub(crate) const fn age(&self, now: Instant) -> Duration {
        now.since(self.arrived)
    }
}

/// Measures the delivery to the UE. A lower rate is no bound if the applications had no more to
/// send (as with the samples that BBR marks application-limited, draft-ietf-ccwg-bbr): such a
/// measurement raises the estimate or is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    since: Option<Instant>,
    bytes: u64,
    /// During this measurement a flow could send more than its window, and no such flow has
    /// stopped.
    full: bool,
    cut: bool,
    /// Bytes per second of the last two measurements.
    rates: [Option<f64>; 2],
}

impl Delivery {
    const NONE: Self = Self { since: None, bytes: 0, full: false, cut: false, rates: [None; 2] };

    /// Counts `bytes` delivered by a flow; `hungry` means that it could send more than its window.
    /// True if the estimate may have changed.
    pub(crate) fn add(&mut self, now: Instant, bytes: u64, hungry: bool) -> bool {
        let since = *self.since.get_or_insert(now);
        self.bytes = self.bytes.saturating_add(bytes);
        self.full |= hungry;
        let passed = now.since(since);
        if passed < DELIVERY {
            return false;
        }
        let rate = self.bytes as f64 / passed.as_secs_f64();
        let counts = (self.full && !self.cut) || self.rate().is_some_and(|old| rate > old);
        if counts {
            self.rates = [Some(rate), self.rates[0]];
        }
        (self.bytes, self.since, self.full, self.cut) = (0, Some(now), false, false);
        counts
    }

    /// From now on no flow could send more than its window.
    pub(crate) const fn cut(&mut self) {
        self.cut = true;
    }

    /// The higher of the last two measurements; none before the first, and none when both are zero.
    fn rate(&self) -> Option<f64> {
        let rate = self.rates[0]?.max(self.rates[1].unwrap_or(0.0));
        Some(rate).filter(|&rate| rate > 0.0)
    }
}
