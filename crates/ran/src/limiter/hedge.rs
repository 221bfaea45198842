//! Hedge: the RLC holds the greatest amount that recent pulls took before the next chance to fill
//! it.
//!
//! Source: this project, for an RLC that cannot be reordered and whose backlog is reported late, as
//! in a split of CU and DU (TS 38.401 section 6.1; TS 38.425 section 5.4.2 has the reports). On a
//! bursty radio a limit at the average starves the radio: the burst takes the whole content of the
//! RLC, and the next poll comes after it. A packet in the RLC waits for such a burst no longer than
//! a packet above it.
//!
//! - **Until when.** A poll must provide for all pulls up to the next poll. The distance of polls
//!   is the longest distance between polls that refused an SDU; it falls by a 256th with each
//!   shorter one.
//! - **Since when.** The limiter's view is as old as the last report. The pulls since then have
//!   taken data that still counts as backlog, so they are provided for again.
//! - **How much.** For each possible number of pulls, the greatest sum of offers of as many
//!   consecutive slots; it falls by the share `fall` with each slot towards the present offers.
//!
//! So without a report delay and with several polls per slot, bulk enters at the last poll before
//! the pull, at most as much as recent pulls took. Each slot of delay adds the greatest offer of a
//! slot.
//!
//! Defaults: `fall` of 1/64 keeps a burst for 64 slots, longer than LTE's frame and NR's TDD
//! patterns; `start` applies until the first report.
//!
//! Known weaknesses: after one missed poll, polls count as far apart for hundreds of polls; the RLC
//! holds too much if other bearers' traffic determines the offers. Deviations from the source:
//! none.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, SlotReport, params};

/// Maximum number of pulls that are provided for.
const MOST_PULLS: usize = 256;
/// Part by which the longest distance between polls falls with each shorter one.
const GAP_FALL: u64 = 256;

params! {
    /// Settings of [`Hedge`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct HedgeConfig: "the most that slots offered of late" {
        /// Share by which the greatest offer falls with each slot that offers less.
        fall: Ratio = Ratio(0.015625), within(Ratio(0.0), Ratio(1.0));
        /// Packets until the first report.
        start: u32 as "packets" = 10, at_least(1), "a limit of 0 forwards nothing for ever";
    }
}

impl LimiterSettings for HedgeConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "hedge",
    kind: "limiter",
    title: "Hedge: the RLC holds the greatest amount that recent pulls took between polls",
    text: "Measures the time between SDAP's polls, the age of arriving reports, and the greatest sum \
           of offers in the slots of both. Made for radios with bursts, and for an RLC whose \
           backlog is reported late (rlc.report_delay, rlc.f1).",
    sources: "this project; TS 38.425 section 5.4.2",
    deviations: "none",
    params: HedgeConfig::params,
};

/// The hedging limiter of a bearer.
#[derive(Clone, Debug)]
pub struct Hedge {
    unit: CapacityUnit,
    slot: Duration,
    mtu: u64,
    fall: f64,
    start: u64,
    /// Cumulative offers of the last slots, the latest at `next` - 1.
    offered: [u64; MOST_PULLS + 1],
    next: usize,
    /// The greatest sum of recent offers of 1, 2, ... consecutive slots.
    most: Vec<f64>,
    /// True once a slot in use had an offer.
    has_offer: bool,
    /// The offer of the last idle slot: the limit until then, and where the others offered nothing.
    idle: u64,
    /// The pull of the last report, and whether a query came since.
    pulled: Instant,
    polled: bool,
    /// Longest time from a pull to the first poll after its report.
    lag: Duration,
    /// Longest time between polls.
    gap: Duration,
    polled_at: Instant,
    refused: bool,
}

/// The maximum of `longest`, after its fall, and `now`.
fn falling(longest: Duration, now: Duration) -> Duration {
    let fallen = longest.as_nanos() - longest.as_nanos().div_ceil(GAP_FALL);
    now.max(Duration::from_nanos(fallen))
}

impl Hedge {
    /// A hedging limiter for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &HedgeConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut most = Vec::with_capacity(MOST_PULLS + 1);
        most.push(0.0);
        Ok(Self {
            unit: context.unit,
            slot: context.slot,
            mtu: context.amount(1),
            fall: config.fall.0,
            start: context.amount(u64::from(config.start)),
            offered: [0; MOST_PULLS + 1],
            next: 0,
            most,
            has_offer: false,
            idle: 0,
            pulled: Instant::ZERO,
            polled: true,
            lag: Duration::ZERO,
            gap: Duration::ZERO,
            polled_at: Instant::ZERO,
            refused: false,
        })
    }

    /// The total offer of the last `pulls` slots.
    fn last(&self, pulls: usize) -> u64 {
        let places = self.offered.len();
        let upto = self.offered[(self.next + places - 1) % places];
        upto - self.offered[(self.next + places - 1 - pulls) % places].min(upto)
    }

    /// Measures the distance and the lag of polls with a poll at `now`.
    fn measure_polls(&mut self, now: Instant) {
        if !self.polled {
            self.polled = true;
            self.lag = falling(self.lag, now.since(self.pulled));
        }
        if now > self.polled_at {
            if self.refused {
                self.gap = falling(self.gap, now.since(self.polled_at));
            }
            self.polled_at = now;
        }
    }

    /// The greatest recent offer of `pulls` consecutive slots.
    fn most(&mut self, pulls: usize) -> u64 {
        while self.has_offer && self.most.len() <= pulls {
            let n = self.most.len();
            let one_less = self.most[n - 1];
            let in_proportion = if n > 1 { one_less * n as f64 / (n - 1) as f64 } else { 0.0 };
            self.most.push(in_proportion.max(self.last(n) as f64));
        }
        // Otherwise nothing may enter an empty RLC, and its idle slots give no new offers.
        match self.most.get(pulls) {
            Some(most) if *most > 0.0 => libm::ceil(*most) as u64,
            _ => self.idle.saturating_mul(pulls as u64),
        }
    }
}

impl Limiter for Hedge {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let backlog = queue.backlog(self.unit);
        if !self.has_offer && self.idle == 0 {
            return self.start.saturating_sub(backlog);
        }
        self.measure_polls(now);
        // An idle bearer's last report may be old; no data was taken since.
        let age = now.since(self.pulled).min(self.lag + self.slot);
        // A pull may come slightly early.
        let until = age + self.gap + Duration::from_nanos(self.slot.as_nanos() / 8);
        let pulls = (until.as_nanos() / self.slot.as_nanos()) as usize;
        let room = self.most(pulls.min(MOST_PULLS)).saturating_sub(backlog);
        self.refused = room < self.mtu;
        room
    }

    fn overdraws(&self) -> bool {
        true
    }

    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {
        // SDAP may be idle after it.
        self.refused = false;
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        (self.pulled, self.polled) = (report.pulled_at, false);
        if report.used == 0 && report.remaining == 0 {
            // One such report stands for many idle slots.
            self.idle = report.granted;
            return;
        }
        self.has_offer |= report.granted > 0;
        let places = self.offered.len();
        let before = self.offered[(self.next + places - 1) % places];
        self.offered[self.next] = before + report.granted;
        self.next = (self.next + 1) % places;
        for pulls in 1..self.most.len() {
            let now = self.last(pulls) as f64;
            let most = &mut self.most[pulls];
            *most = if now >= *most { now } else { *most - self.fall * (*most - now) };
        }
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn hedge() -> Hedge {
        let context =
            GrantContext { unit: CapacityUnit::Bytes, slot: Duration::from_millis(1), mtu: 1500 };
        Hedge::new(&HedgeConfig::default(), &context).expect("in bounds")
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn slot(l: &mut Hedge, ms: u64, granted: u64) {
        let pulled_at = Instant::from_nanos(ms * MS);
        l.on_slot(&SlotReport { pulled_at, granted, remaining: 1, ..SlotReport::default() });
    }

    /// The rooms at polls every 200 us after the pull at `ms`, with `bytes` in the RLC.
    fn rooms(l: &mut Hedge, ms: u64, bytes: u64) -> [u64; 5] {
        [1, 3, 5, 7, 9].map(|n| l.room(at(ms * 1000 + n * 100), &RlcView { packets: 0, bytes }))
    }

    #[test]
    fn until_the_first_report_it_holds_ten_packets() {
        let mut l = hedge();
        assert_eq!(l.room(at(100), &RlcView { packets: 1, bytes: 1500 }), 13_500);
    }

    #[test]
    fn an_idle_slot_says_enough_to_begin_with() {
        let mut l = hedge();
        let pulled_at = Instant::from_nanos(MS);
        l.on_slot(&SlotReport { pulled_at, granted: 2000, ..SlotReport::default() });
        assert_eq!(rooms(&mut l, 1, 0), [0, 0, 0, 2000, 2000]);
    }

    /// The packet of the slot without an offer is discarded.
    #[test]
    fn an_rlc_whose_last_slot_in_use_offered_nothing_holds_what_idle_slots_offer() {
        let context =
            GrantContext { unit: CapacityUnit::Bytes, slot: Duration::from_millis(1), mtu: 1500 };
        let config = HedgeConfig { fall: Ratio(1.0), ..HedgeConfig::default() };
        let mut l = Hedge::new(&config, &context).expect("in bounds");
        for (ms, granted) in [(1, 2000), (2, 0)] {
            slot(&mut l, ms, granted);
            rooms(&mut l, ms, 0);
        }
        assert_eq!(rooms(&mut l, 2, 0)[4], 0);
        let pulled_at = Instant::from_nanos(3 * MS);
        l.on_slot(&SlotReport { pulled_at, granted: 1800, ..SlotReport::default() });
        assert_eq!(rooms(&mut l, 3, 0)[4], 1800);
    }

    #[test]
    fn bulk_enters_at_the_last_poll_before_the_pull() {
        let mut l = hedge();
        for ms in 1..200 {
            slot(&mut l, ms, 2000);
            rooms(&mut l, ms, 0);
        }
        slot(&mut l, 200, 2000);
        assert_eq!(rooms(&mut l, 200, 0), [0, 0, 0, 2000, 2000], "a pull may come an eighth early");
        assert_eq!(rooms(&mut l, 200, 1400)[4], 600);
    }

    #[test]
    fn the_greatest_burst_of_late_is_provided_for_and_forgotten_slowly() {
        let mut l = hedge();
        for ms in 1..200 {
            slot(&mut l, ms, if ms % 10 == 0 { 20_000 } else { 0 });
            rooms(&mut l, ms, 0);
        }
        let last = rooms(&mut l, 199, 0)[4];
        assert!((17_000..=20_000).contains(&last), "nine 64ths fell: {last}");
        for ms in 200..800 {
            slot(&mut l, ms, 1000);
            rooms(&mut l, ms, 0);
        }
        assert!(rooms(&mut l, 799, 0)[4] < 1010);
    }

    #[test]
    fn departures_since_an_old_report_are_provided_for_again() {
        let mut l = hedge();
        // Each pull is reported 3 ms later: at the polls after pull n the last reported pull is n -
        // 3.
        for ms in 4..400 {
            slot(&mut l, ms - 3, 1000);
            rooms(&mut l, ms, 0);
        }
        // Pulls n - 2, n - 1 and n are unknown, n + 1 is to come.
        slot(&mut l, 397, 1000);
        assert_eq!(rooms(&mut l, 400, 3000), [0, 0, 0, 1000, 1000]);
    }

    #[test]
    fn after_an_idle_time_an_old_report_is_no_reason_to_hold_more() {
        let mut l = hedge();
        for ms in 1..200 {
            slot(&mut l, ms, 1000);
            rooms(&mut l, ms, 0);
        }
        l.on_admitted(at(199_950), 100, &RlcView::default());
        assert!(rooms(&mut l, 1000, 0)[4] <= 2000);
    }
}
