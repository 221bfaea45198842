//! Tests of the rules on every limiter.

use super::super::*;
use super::*;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::make::Make;
use justfull_base::{Bytes, Ratio};
use justfull_queue::Limit;

/// Every kind with its defaults, and with the settings of T20's program and A21.
fn configs() -> Vec<LimiterConfig> {
    let mut configs = LimiterConfig::all();
    configs.extend([
        LimiterConfig::Fixed(FixedConfig { limit: Limit::Bytes(9_000), ..FixedConfig::default() }),
        LimiterConfig::DynRlc(DynRlcConfig { clamp_max: false, ..DynRlcConfig::default() }),
        LimiterConfig::Drql(DrqlConfig { start: 4, max: 64, ..DrqlConfig::default() }),
        LimiterConfig::Dql(DqlConfig {
            hold: Duration::from_millis(40),
            min: Bytes(1000),
            max: Bytes(60_000),
        }),
        LimiterConfig::Bdp5g(Bdp5gConfig { floor: 1, clamp: false, ..Bdp5gConfig::default() }),
        LimiterConfig::EBdp5g(EBdp5gConfig {
            ewma_new: 0.7,
            ewma_old: [0.3, 0.09, 0.027],
            ..EBdp5gConfig::default()
        }),
        LimiterConfig::LastPoll(LastPollConfig { risk: Ratio(0.05), ..LastPollConfig::default() }),
        LimiterConfig::DynRlc(DynRlcConfig { first_poll_only: true, ..DynRlcConfig::default() }),
        LimiterConfig::Drql(DrqlConfig { keep: 1, first_poll_only: true, ..DrqlConfig::default() }),
    ]);
    configs
}

/// Every limiter in both units, named.
fn all() -> Vec<(String, AnyLimiter)> {
    let each = configs().into_iter().flat_map(|config| UNITS.map(|unit| (config.clone(), unit)));
    each.map(|(config, unit)| {
        let limiter = AnyLimiter::new(&config, &context(unit)).expect("in bounds");
        (format!("{config:?}, MAC grants {}", unit.name()), limiter)
    })
    .collect()
}

fn bearers() -> Vec<(String, Bearer)> {
    all()
        .into_iter()
        .zip(UNITS.into_iter().cycle())
        .map(|((n, l), u)| (n, Bearer::new(l, u)))
        .collect()
}

#[test]
fn an_sdu_larger_than_the_room_enters_only_where_overdraw_is_allowed() {
    for overdraw in [true, false] {
        let bytes = context(CapacityUnit::Bytes);
        let drql = DrqlConfig { start: 1, overdraw, ..DrqlConfig::default() };
        let fixed = FixedConfig { limit: Limit::Bytes(1_500), overdraw };
        let bdp = Bdp5gConfig { offset: Ratio(0.5), start: 2, overdraw, ..Bdp5gConfig::default() };
        for config in
            [LimiterConfig::Drql(drql), LimiterConfig::Fixed(fixed), LimiterConfig::Bdp5g(bdp)]
        {
            let mut limiter = AnyLimiter::new(&config, &bytes).expect("in bounds");
            let small = Packet { size: 1_000, ..Packet::default() };
            let (now, empty) = (Instant::ZERO, RlcView::default());
            assert_eq!(limiter.room(now, &empty), 1_500, "{config:?}");
            assert!(limiter.admits(now, &small, &empty));
            let one = RlcView { packets: 1, bytes: 1_000 };
            limiter.on_admitted(now, 1_000, &one);
            assert_eq!(limiter.room(now, &one), 500, "{config:?}");
            assert_eq!(limiter.admits(now, &small, &one), overdraw, "{config:?}");
            let exact = Packet { size: 500, ..Packet::default() };
            assert!(limiter.admits(now, &exact, &one), "{config:?}: what fits enters");
        }
    }
}

#[test]
fn without_overdraw_a_limit_below_a_full_sdu_is_refused_and_5g_bdp_waits_for_a_better_channel() {
    let bytes = context(CapacityUnit::Bytes);
    for (limit, overdraw, allowed) in
        [(1_499, false, false), (1_500, false, true), (1_499, true, true)]
    {
        let config = LimiterConfig::Fixed(FixedConfig { limit: Limit::Bytes(limit), overdraw });
        let built = AnyLimiter::new(&config, &bytes).map(|_| ()).map_err(|e| e.field);
        assert_eq!(built, if allowed { Ok(()) } else { Err(String::from("limit")) });
    }
    let config = LimiterConfig::Bdp5g(Bdp5gConfig { overdraw: false, ..Bdp5gConfig::default() });
    let limiter = AnyLimiter::new(&config, &bytes).expect("in bounds");
    let mut bearer = Bearer::new(limiter, CapacityUnit::Bytes);
    bearer.pull(pull_instant(1), 1_100);
    for slot in 1..50 {
        // (0.9 + 0.33) x 1100 B at the last poll: less than an SDU.
        let entered: u64 =
            (1..POLLS_PER_SLOT).map(|p| bearer.fill(poll_instant(slot, p), MTU, 1_100, 9)).sum();
        assert_eq!(entered, 0, "slot {slot}");
        bearer.pull(pull_instant(slot + 1), 1_100);
    }
    bearer.pull(pull_instant(50), 1_300);
    let entered: u64 =
        (1..POLLS_PER_SLOT).map(|p| bearer.fill(poll_instant(50, p), MTU, 1_300, 9)).sum();
    assert_eq!(entered, 1);
}

#[test]
fn every_limiter_keeps_every_rule() {
    for config in configs() {
        let rules = check(&config).unwrap_or_else(|broken| panic!("{config:?}: {broken}"));
        assert_eq!(rules.len(), 6);
    }
}

#[test]
fn time_alone_changes_the_answer_of_pacing_limiters_only() {
    for (name, mut bearer) in bearers() {
        if bearer.limiter.wants_forecast() {
            continue;
        }
        let rooms = rooms_between_slots(&mut bearer);
        let changes = rooms[0] != rooms[1] || rooms[1] != rooms[2];
        assert_eq!(changes, bearer.limiter.paces(), "{name}: {rooms:?}");
    }
}

/// Breaks one rule.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    NeverRefuses,
    Starves,
    Owes,
    CountsIdleSlots,
    AgesUnsaid,
    NoRoomAfterIdling,
}

struct Faulty {
    wrong: Wrong,
    unit: CapacityUnit,
    owed: u64,
    slots: u64,
    closed: bool,
}

impl Limiter for Faulty {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }
    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let limit = context(self.unit).amount(20);
        let backlog = queue.backlog(self.unit);
        let room = limit.saturating_sub(backlog);
        match self.wrong {
            Wrong::NeverRefuses => u64::MAX,
            Wrong::Starves if self.slots > 900 => 0,
            Wrong::Owes => (10 * limit).saturating_sub(self.owed),
            Wrong::CountsIdleSlots => (limit + self.slots).saturating_sub(backlog),
            Wrong::AgesUnsaid => (limit + now.as_nanos() / 1_000_000 % 10).saturating_sub(backlog),
            Wrong::NoRoomAfterIdling if self.closed => 0,
            Wrong::Starves | Wrong::NoRoomAfterIdling => room,
        }
    }
    fn overdraws(&self) -> bool {
        true
    }
    fn on_admitted(&mut self, _: Instant, amount: u64, _: &RlcView) {
        self.owed += amount;
    }
    fn on_departed(&mut self, _: Instant, _: Duration) {
        self.owed = self.owed.saturating_sub(context(self.unit).amount(1));
    }
    fn on_slot(&mut self, report: &SlotReport) {
        self.slots += 1;
        self.closed = report.used == 0 && !self.closed;
    }
}

#[test]
fn a_limiter_that_breaks_a_rule_is_told_which_and_by_which_values() {
    for (wrong, rule, found) in [
        (Wrong::NeverRefuses, "a full limiter refuses", "it never refuses"),
        (Wrong::Starves, "a greedy flow never starves", "packets in the hundred slots from"),
        (Wrong::NoRoomAfterIdling, "an empty queue gets room", "no room for an empty queue in"),
        (Wrong::Owes, "room is not lost when queued", "after 480 drained slots [0,"),
        (Wrong::CountsIdleSlots, "one report of the latest idle", "told of each idle slot it"),
        (Wrong::AgesUnsaid, "time alone changes the answer", "room for ["),
    ] {
        let config = LimiterConfig::Custom(Make(Arc::new(move |context| {
            let unit = context.unit;
            Ok(Box::new(Faulty { wrong, unit, owed: 0, slots: 0, closed: false }))
        })));
        let broken = check(&config).expect_err("it breaks one").to_string();
        assert!(broken.starts_with(rule) && broken.contains(found), "{wrong:?}: {broken}");
    }
}

#[test]
fn settings_out_of_bounds_are_refused_by_name() {
    let fixed = |limit| LimiterConfig::Fixed(FixedConfig { limit, ..FixedConfig::default() });
    let dyn_rlc = |change: fn(&mut DynRlcConfig)| {
        let mut config = DynRlcConfig::default();
        change(&mut config);
        LimiterConfig::DynRlc(config)
    };
    let drql = |change: fn(&mut DrqlConfig)| {
        let mut config = DrqlConfig::default();
        change(&mut config);
        LimiterConfig::Drql(config)
    };
    let bdp = |change: fn(&mut Bdp5gConfig)| {
        let mut config = Bdp5gConfig::default();
        change(&mut config);
        LimiterConfig::Bdp5g(config)
    };
    let dql =
        LimiterConfig::Dql(DqlConfig { min: Bytes(2), max: Bytes(1), ..DqlConfig::default() });
    for (config, field) in [
        (dql, "max"),
        (fixed(Limit::Packets(0)), "limit"),
        (fixed(Limit::Bytes(0)), "limit"),
        (fixed(Limit::Unlimited), "limit"),
        (dyn_rlc(|c| c.interval = Duration::ZERO), "interval"),
        (dyn_rlc(|c| c.target = Duration::ZERO), "target"),
        (dyn_rlc(|c| c.alpha = Ratio(1.1)), "alpha"),
        (dyn_rlc(|c| c.alpha = Ratio(f64::NAN)), "alpha"),
        (dyn_rlc(|c| c.min = 0), "min"),
        (dyn_rlc(|c| c.max = 1), "max"),
        (dyn_rlc(|c| c.start = 21), "start"),
        (drql(|c| c.growth = 1.0), "growth"),
        (drql(|c| c.growth = f64::NAN), "growth"),
        (drql(|c| c.min = 0), "min"),
        (drql(|c| (c.min, c.max) = (5, 4)), "max"),
        (drql(|c| c.max = 1023), "start"),
        (bdp(|c| c.offset = Ratio(1.0)), "offset"),
        (bdp(|c| c.offset = Ratio(-0.1)), "offset"),
        (bdp(|c| c.floor = 17), "floor"),
        (bdp(|c| c.start = 65_536), "start"),
    ] {
        let refused = AnyLimiter::new(&config, &context(CapacityUnit::Packets))
            .map(|_| ())
            .map_err(|e| e.field);
        assert_eq!(refused, Err(String::from(field)), "{config:?}");
    }
}

/// Records its calls, and returns values that no other limiter returns.
#[derive(Default)]
struct Own {
    calls: Vec<&'static str>,
    overdraws: bool,
}

impl Limiter for Own {
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Bytes
    }
    fn room(&mut self, _: Instant, queue: &RlcView) -> u64 {
        100 + queue.bytes - self.calls.len() as u64
    }
    fn overdraws(&self) -> bool {
        self.overdraws
    }
    fn on_admitted(&mut self, _: Instant, _: u64, _: &RlcView) {
        self.calls.push("admitted");
    }
    fn on_departed(&mut self, _: Instant, _: Duration) {
        self.calls.push("departed");
    }
    fn on_slot(&mut self, _: &SlotReport) {
        self.calls.push("slot");
    }
    fn paces(&self) -> bool {
        true
    }
    fn wants_forecast(&self) -> bool {
        true
    }
    fn on_forecast(&mut self, _: &SlotForecast) {
        self.calls.push("forecast");
    }
}

#[test]
fn a_users_own_limiter_hears_everything_and_is_taken_at_its_word() {
    let mut any = AnyLimiter::Custom(Box::new(Own::default()));
    assert!(any.paces() && any.wants_forecast() && !any.is_unlimited() && !any.overdraws());
    assert_eq!(any.unit(), CapacityUnit::Bytes);
    let (now, queue) = (Instant::ZERO, RlcView { packets: 3, bytes: 20 });
    assert_eq!(any.room(now, &queue), 120);
    let sdu = |size| Packet { size, ..Packet::default() };
    assert_eq!(any.amount(&sdu(7)), 7);
    assert_eq!(
        [any.admits(now, &sdu(120), &queue), any.admits(now, &sdu(121), &queue)],
        [true, false]
    );
    // Each call leaves one byte less.
    any.on_admitted(now, 7, &queue);
    assert_eq!(any.room(now, &queue), 119);
    any.on_departed(now, Duration::ZERO);
    assert_eq!(any.room(now, &queue), 118);
    any.on_slot(&SlotReport::default());
    assert_eq!(any.room(now, &queue), 117);
    let next_pull = Instant::ZERO;
    any.on_forecast(&SlotForecast { next_pull, capacity: 0, polls_left: 0, packets_per_poll: 0 });
    assert_eq!(any.room(now, &queue), 116);
    let mut any = AnyLimiter::Custom(Box::new(Own { overdraws: true, ..Own::default() }));
    let none = RlcView::default();
    assert!(any.overdraws() && any.admits(now, &sdu(9_000), &none), "any room is enough");
    (0..100).for_each(|_| any.on_slot(&SlotReport::default()));
    assert!(!any.admits(now, &sdu(1), &none), "no room is not");
}

#[test]
fn only_the_absence_of_a_limiter_is_unlimited_and_only_the_clairvoyant_wants_a_forecast() {
    for (name, limiter) in all() {
        assert_eq!(limiter.is_unlimited(), name.starts_with("Unlimited"), "{name}");
        assert_eq!(limiter.wants_forecast(), name.starts_with("Clairvoyant"), "{name}");
        let unit = if limiter.unit() == CapacityUnit::Bytes { 40 } else { 1 };
        assert_eq!(limiter.amount(&Packet { size: 40, ..Packet::default() }), unit, "{name}");
    }
}

#[test]
fn each_limiter_says_in_what_it_counts_whether_it_overdraws_and_whether_it_wants_reports() {
    for (config, unit) in configs().into_iter().flat_map(|c| UNITS.map(|unit| (c.clone(), unit))) {
        let limiter = AnyLimiter::new(&config, &context(unit)).expect("in bounds");
        let counts_in = match &config {
            LimiterConfig::Fixed(FixedConfig { limit: Limit::Bytes(_), .. }) => CapacityUnit::Bytes,
            LimiterConfig::Fixed(_) | LimiterConfig::DynRlc(_) => CapacityUnit::Packets,
            _ => unit,
        };
        assert_eq!(limiter.unit(), counts_in, "{config:?}, {unit:?}");
        let whole = matches!(config, LimiterConfig::EBdp5g(_) | LimiterConfig::LastPoll(_));
        assert_eq!(limiter.overdraws(), !whole, "{config:?}");
        let deaf = matches!(
            config,
            LimiterConfig::Unlimited(_) | LimiterConfig::Fixed(_) | LimiterConfig::Clairvoyant(_)
        );
        assert_eq!(limiter.wants_reports(), !deaf, "{config:?}");
    }
    assert!(AnyLimiter::Custom(Box::new(Own::default())).wants_reports(), "unless it says not");
    let mut unlimited =
        AnyLimiter::new(&LimiterConfig::default(), &context(UNITS[0])).expect("in bounds");
    let full = RlcView { packets: 1 << 40, bytes: 1 << 50 };
    assert_eq!(unlimited.room(Instant::ZERO, &full), u64::MAX);
}

#[test]
fn a_backlog_changes_by_what_one_queue_gained_or_lost() {
    let mut cell = RlcView { packets: 10, bytes: 5_000 };
    cell.change(&RlcView { packets: 4, bytes: 900 }, &RlcView { packets: 6, bytes: 2_400 });
    assert_eq!(cell, RlcView { packets: 12, bytes: 6_500 });
    cell.change(&RlcView { packets: 6, bytes: 2_400 }, &RlcView { packets: 1, bytes: 0 });
    assert_eq!(cell, RlcView { packets: 7, bytes: 4_100 });
    assert_eq!(
        [cell.backlog(CapacityUnit::Packets), cell.backlog(CapacityUnit::Bytes)],
        [7, 4_100]
    );
    assert_eq!(
        [CapacityUnit::Packets, CapacityUnit::Bytes].map(|unit| context(unit).amount(3)),
        [3, 4_500]
    );
}

#[test]
fn where_only_the_first_poll_after_a_slot_may_send_the_others_find_it_closed() {
    let at = |us: u64| Instant::from_nanos(us * 1_000);
    let mut first = FirstPoll::new(true);
    assert_eq!([1, 1, 2, 3].map(|us| first.is_open(at(us))), [true, true, false, false]);
    first.on_slot();
    assert_eq!([4, 5, 4].map(|us| first.is_open(at(us))), [true, false, true]);
    let mut every = FirstPoll::new(false);
    assert_eq!([1, 2, 3].map(|us| every.is_open(at(us))), [true; 3]);
}
