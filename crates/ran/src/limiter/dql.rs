//! DQL, Linux's dynamic queue limits (the byte queue limits, BQL, of network cards), for the RLC
//! queue.
//!
//! Source: T. Herbert, "bql: Byte Queue Limits", Linux 3.3 (2011), and the description of the
//! algorithm in the kernel's library of dynamic queue limits. T20's DRQL (section 4.1) is modelled
//! on it. Here the radio is the network card, and a slot is its completion. At each completion of
//! `n` bytes that leaves `left` bytes:
//! - *Starved*: the queue held more than the limit and nothing is left; or it held more than the
//!   limit at the previous completion, and the data left then is gone, so it may have run dry
//!   meanwhile. The limit grows by the bytes that both entered and left since the last completion,
//!   plus the bytes that were over the limit then.
//! - *Busy all the time* (data was left both times, and some of the previous time's data is still
//!   there): the slack is `limit + over - 2 n`, or the part of the last SDU within the limit if
//!   that is more. The smallest slack of a `hold` is subtracted from the limit.
//! - Otherwise there was too little traffic to judge.
//!
//! A packet may enter while the queue holds no more than the limit, so one SDU may exceed it. The
//! returned room is therefore one byte more than the space up to the limit.
//!
//! Defaults are Linux's: hold 1 s, limit from 0 to 1792 MiB, start at the minimum. The RLC backlog
//! settles between one and two slots' capacity.
//!
//! Known weaknesses: after a fall of the channel it follows by one step per `hold`, a second by
//! default; up to two slots' capacity waits below SDAP, where no packet can overtake.
//!
//! Deviations from the source: a dropped packet counts as completed, since the queue itself is
//! inspected; a slot in which nothing left is no completion; with grants in packets, one MTU of the
//! limits is one packet; the stall detector of later kernels is left out, since it controls
//! nothing.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, SlotReport, params};

params! {
    /// Settings of [`Dql`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DqlConfig: "Linux byte queue limits: limit_min, limit_max" {
        /// Time over which the least slack is looked for.
        hold: Duration = Duration::from_secs(1);
        /// Least limit, also the one at the start.
        min: Bytes = Bytes(0);
        /// Greatest limit.
        max: Bytes = Bytes(1792 << 20),
            at_most(GREATEST).and("at least min", |c: &Self| c.max >= c.min);
    }
}

impl LimiterSettings for DqlConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "dql",
    kind: "limiter",
    title: "DQL: Linux's dynamic queue limits (BQL) on the RLC queue",
    text: "The limit grows by what was sent when the radio ran dry although the limit had been \
           reached, and shrinks by the least slack of a hold time in which it never ran dry. A \
           slot stands for the card's completion.",
    sources: "Linux byte queue limits, T. Herbert 2011; T20 section 4.1 (the model of DRQL)",
    deviations: "drops count as completed; a slot in which nothing left is no completion; an MTU \
                 is a packet where the MAC grants packets",
    params: DqlConfig::params,
};

/// Greatest `max`, 1 TiB: sums of limits stay far from overflow.
const GREATEST: Bytes = Bytes(1 << 40);

/// Dynamic queue limits of a bearer.
#[derive(Clone, Debug)]
pub struct Dql {
    unit: CapacityUnit,
    hold: Duration,
    min: u64,
    max: u64,
    limit: u64,
    /// Amount that entered since the last completion, and the last SDU in it.
    entered: u64,
    last_sdu: u64,
    before: Completion,
    /// Smallest slack since then; none yet.
    least_slack: Option<u64>,
    slack_since: Instant,
}

/// The state that a completion keeps for the next.
#[derive(Clone, Copy, Debug, Default)]
struct Completion {
    /// Amount left in the queue after it.
    left: u64,
    /// Amount by which the queue had exceeded the limit; 0 if the limit was changed.
    over: u64,
    /// The last SDU that had entered.
    last_sdu: u64,
}

impl Dql {
    /// Dynamic queue limits for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &DqlConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let DqlConfig { hold, min, max } = config.clone();
        let (min, max) = match context.unit {
            CapacityUnit::Bytes => (min.0, max.0),
            CapacityUnit::Packets => {
                let mtu = u64::from(context.mtu);
                (min.0.div_ceil(mtu), max.0.div_ceil(mtu))
            }
        };
        Ok(Self {
            unit: context.unit,
            hold,
            min,
            max,
            limit: min,
            entered: 0,
            last_sdu: 0,
            before: Completion::default(),
            least_slack: None,
            slack_since: Instant::ZERO,
        })
    }

    /// The current limit, in the unit of grants.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn restart_hold(&mut self, now: Instant) {
        self.slack_since = now;
        self.least_slack = None;
    }

    /// The limit after `completed` of `outstanding` have left.
    fn adjusted(&mut self, now: Instant, completed: u64, outstanding: u64) -> u64 {
        let Completion { left: left_before, over: over_before, last_sdu } = self.before;
        let (over, left) = (outstanding.saturating_sub(self.limit), outstanding - completed);
        let all_gone = completed >= left_before;
        if (over > 0 && left == 0) || (over_before > 0 && all_gone) {
            self.restart_hold(now);
            return self.limit + completed.saturating_sub(left_before) + over_before;
        }
        // The data left before is also gone if nothing is left now.
        if all_gone {
            return self.limit;
        }
        let beyond_two_slots = (self.limit + over_before).saturating_sub(2 * completed);
        let of_last_sdu = if over_before > 0 { last_sdu.saturating_sub(over_before) } else { 0 };
        let slack = beyond_two_slots.max(of_last_sdu);
        let least = self.least_slack.map_or(slack, |least| least.min(slack));
        self.least_slack = Some(least);
        if now.since(self.slack_since) <= self.hold {
            return self.limit;
        }
        self.restart_hold(now);
        self.limit.saturating_sub(least)
    }
}

impl Limiter for Dql {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, _now: Instant, queue: &RlcView) -> u64 {
        (self.limit + 1).saturating_sub(queue.backlog(self.unit))
    }

    fn overdraws(&self) -> bool {
        true
    }

    fn on_admitted(&mut self, _now: Instant, amount: u64, _queue: &RlcView) {
        self.entered += amount;
        self.last_sdu = amount;
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        let (left, outstanding) = (report.remaining, self.before.left + self.entered);
        let completed = outstanding.saturating_sub(left);
        if completed == 0 {
            return;
        }
        let limit =
            self.adjusted(report.pulled_at, completed, outstanding).clamp(self.min, self.max);
        let over = if limit == self.limit { outstanding.saturating_sub(limit) } else { 0 };
        self.limit = limit;
        self.before = Completion { left, over, last_sdu: self.last_sdu };
        self.entered = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDU: u64 = 1500;

    fn dql(config: &DqlConfig) -> Dql {
        let context = GrantContext {
            unit: CapacityUnit::Bytes,
            slot: Duration::from_millis(10),
            mtu: SDU as u32,
        };
        Dql::new(config, &context).expect("in bounds")
    }

    /// A bearer with an endless supply of full SDUs above it.
    struct Bearer {
        limiter: Dql,
        backlog: u64,
        slots: u64,
        starved: u64,
    }

    impl Bearer {
        fn new(config: &DqlConfig) -> Self {
            Self { limiter: dql(config), backlog: 0, slots: 0, starved: 0 }
        }

        fn fill(&mut self) {
            while self.limiter.room(Instant::ZERO, &RlcView { packets: 0, bytes: self.backlog }) > 0
            {
                self.backlog += SDU;
                self.limiter.on_admitted(Instant::ZERO, SDU, &RlcView::default());
            }
        }

        /// A slot of 10 ms that carries `capacity`; returns the limit after it.
        fn slot(&mut self, capacity: u64) -> u64 {
            self.slots += 1;
            self.starved += u64::from(self.backlog < capacity);
            self.backlog = self.backlog.saturating_sub(capacity);
            let pulled_at = Instant::ZERO + Duration::from_millis(10 * self.slots);
            self.limiter.on_slot(&SlotReport {
                pulled_at,
                remaining: self.backlog,
                ..SlotReport::default()
            });
            self.limiter.limit()
        }

        fn run(&mut self, slots: u64, capacity: u64) -> u64 {
            (0..slots).map(|_| (self.fill(), self.slot(capacity)).1).last().unwrap_or_default()
        }
    }

    #[test]
    fn a_starved_queue_grows_by_what_was_sent() {
        let mut bearer = Bearer::new(&DqlConfig::default());
        // One SDU over a limit of 0, then two, one of them over it: 1500, 3000; then three of 4500
        // in a slot of six.
        assert_eq!([9_000; 3].map(|capacity| bearer.run(1, capacity)), [1_500, 4_500, 10_500]);
    }

    #[test]
    fn a_queue_over_the_limit_before_and_empty_now_counts_as_starved() {
        let mut l = dql(&DqlConfig { min: Bytes(3_000), ..DqlConfig::default() });
        let mut slot = |entered: &[u64], remaining| {
            entered.iter().for_each(|n| l.on_admitted(Instant::ZERO, *n, &RlcView::default()));
            l.on_slot(&SlotReport { remaining, ..SlotReport::default() });
            l.limit()
        };
        // 4000 are outstanding, 1000 over the limit; 2500 of them leave.
        assert_eq!(slot(&[1_500, 1_500, 1_000], 1_500), 3_000);
        // The 1500 left before and 500 more leave: 500 both entered and left, and 1000 were over
        // the limit before.
        assert_eq!(slot(&[1_000], 500), 4_500);
    }

    #[test]
    fn the_least_slack_of_a_hold_is_taken_off() {
        let mut l = dql(&DqlConfig {
            min: Bytes(1_000),
            hold: Duration::from_millis(30),
            ..DqlConfig::default()
        });
        l.limit = 20_000;
        l.on_admitted(Instant::ZERO, 20_000, &RlcView::default());
        let mut slot = |ms, sent: u64, left_before: u64| {
            l.on_admitted(Instant::ZERO, sent, &RlcView::default());
            let pulled_at = Instant::ZERO + Duration::from_millis(ms);
            l.on_slot(&SlotReport { pulled_at, remaining: left_before, ..SlotReport::default() });
            l.limit()
        };
        // Never over the limit, always 12 000 or more left: the slack is 20 000 minus twice the
        // sent amount.
        assert_eq!(slot(10, 0, 16_000), 20_000);
        assert_eq!(slot(20, 3_000, 16_000), 20_000);
        assert_eq!(slot(30, 4_000, 16_000), 20_000);
        assert_eq!(slot(40, 2_000, 16_000), 20_000 - (20_000 - 2 * 4_000));
    }

    /// The limit of a limiter that holds for 5 ms, starting at 10 000, after slots of 10 ms, each
    /// with its new SDUs and the bytes left.
    fn after(slots: &[(&[u64], u64)]) -> u64 {
        let mut l = dql(&DqlConfig { hold: Duration::from_millis(5), ..DqlConfig::default() });
        l.limit = 10_000;
        let mut pulled_at = Instant::ZERO;
        for (entered, remaining) in slots {
            entered.iter().for_each(|n| l.on_admitted(pulled_at, *n, &RlcView::default()));
            pulled_at += Duration::from_millis(10);
            let remaining = *remaining;
            l.on_slot(&SlotReport { pulled_at, remaining, ..SlotReport::default() });
        }
        l.limit()
    }

    #[test]
    fn the_part_of_the_last_sdu_below_the_limit_is_slack_where_the_limit_was_passed() {
        // 10 500, then 6000 of the 9500 left before leave: twice that is more than the limit.
        assert_eq!(after(&[(&[9_000, 1_500], 9_500), (&[], 3_500)]), 10_000 - 1_000);
        assert_eq!(after(&[(&[8_500, 1_500], 9_000), (&[], 3_000)]), 10_000, "it was not passed");
    }

    #[test]
    fn a_queue_that_ran_empty_or_may_have_done_so_tells_nothing_unless_it_had_passed_the_limit() {
        assert_eq!(after(&[(&[10_000], 0)]), 10_000, "emptied from the limit itself");
        assert_eq!(after(&[(&[1_500], 500), (&[1_500], 1_000)]), 10_000, "and the 500 are gone");
        // 4000 of 10 001, including all data left before.
        assert_eq!(after(&[(&[4_000], 3_000), (&[7_001], 6_001)]), 10_000);
    }

    #[test]
    fn a_steady_channel_never_starves_it_again_and_a_fall_is_followed_hold_by_hold() {
        let mut bearer = Bearer::new(&DqlConfig::default());
        bearer.run(200, 15_000);
        let starved = bearer.starved;
        let high = bearer.run(1_000, 15_000);
        assert!((15_000..=2 * 15_000 + SDU).contains(&high), "{high}");
        let low = bearer.run(1_500, 3_000);
        assert!((3_000..=2 * 3_000 + SDU).contains(&low), "{low}");
        assert_eq!(bearer.starved, starved, "it starved only at the start");
        bearer.run(3, 15_000);
        assert!(bearer.starved > starved, "a rise is found out by starving");
    }

    #[test]
    fn a_slot_in_which_nothing_left_changes_nothing() {
        let mut bearer = Bearer::new(&DqlConfig::default());
        let limit = bearer.run(50, 6_000);
        bearer.fill();
        assert_eq!((0..500).map(|_| bearer.slot(0)).collect::<alloc::vec::Vec<_>>(), [limit; 500]);
    }

    #[test]
    fn the_limit_keeps_its_bounds_in_either_unit() {
        let config = DqlConfig { min: Bytes(2_000), max: Bytes(5_000), ..DqlConfig::default() };
        let mut bearer = Bearer::new(&config);
        assert_eq!(bearer.limiter.limit(), 2_000);
        assert_eq!(bearer.run(20, 60_000), 5_000);
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        let l = Dql::new(&config, &context).expect("in bounds");
        assert_eq!((l.min, l.max), (2, 4));
    }
}
