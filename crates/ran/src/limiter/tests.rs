//! What every limiter must do, whatever its method.

use super::*;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use justfull_base::{Bytes, Ratio, Rng};
use justfull_queue::Limit;

const SLOT: Duration = Duration::from_millis(10);
const MTU: u32 = 1500;
const POLLS_PER_SLOT: u64 = 10;

fn context(unit: CapacityUnit) -> LimiterContext {
    LimiterContext { unit, slot: SLOT, mtu: MTU }
}

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
    let units = [CapacityUnit::Packets, CapacityUnit::Bytes];
    let each = configs().into_iter().flat_map(|config| units.map(|unit| (config.clone(), unit)));
    each.map(|(config, unit)| {
        let limiter = AnyLimiter::new(&config, &context(unit)).expect("in bounds");
        (format!("{config:?}, MAC grants {}", unit.name()), limiter)
    })
    .collect()
}

/// The RLC queue of a bearer, served by a MAC that grants in the unit of the limiter's context.
struct Bearer {
    limiter: AnyLimiter,
    queue: VecDeque<(Instant, u32)>,
    bytes: u64,
    sent_of_head: u32,
    unit: CapacityUnit,
}

impl Bearer {
    fn new(limiter: AnyLimiter, unit: CapacityUnit) -> Self {
        Self { limiter, queue: VecDeque::new(), bytes: 0, sent_of_head: 0, unit }
    }

    fn view(&self) -> RlcView {
        RlcView {
            packets: self.queue.len() as u64,
            bytes: self.bytes - u64::from(self.sent_of_head),
        }
    }

    /// Drops everything without telling the limiter.
    fn clear(&mut self) {
        self.queue.clear();
        (self.bytes, self.sent_of_head) = (0, 0);
    }

    /// One SDAP poll with an endless supply of packets of `size`. Returns how many entered, at most
    /// `most`.
    fn fill(&mut self, now: Instant, size: u32, capacity: u64, most: u64) -> u64 {
        if self.limiter.wants_forecast() {
            let next_pull = now + SLOT;
            self.limiter.on_forecast(&SlotForecast {
                next_pull,
                capacity,
                polls_left: 0,
                packets_per_poll: 1,
            });
        }
        let sdu = Packet { size, ..Packet::default() };
        let mut entered = 0;
        while entered < most && self.limiter.admits(now, &sdu, &self.view()) {
            self.queue.push_back((now, size));
            self.bytes += u64::from(size);
            let amount = self.limiter.amount(&sdu);
            self.limiter.on_admitted(now, amount, &self.view());
            entered += 1;
        }
        entered
    }

    /// One slot. Returns the number of SDUs that left.
    fn pull(&mut self, now: Instant, capacity: u64) -> u64 {
        let (mut used, mut left_queue) = (0, 0);
        while used < capacity
            && let Some(&(entered, size)) = self.queue.front()
        {
            let need = match self.unit {
                CapacityUnit::Packets => 1,
                CapacityUnit::Bytes => u64::from(size - self.sent_of_head),
            };
            if need > capacity - used {
                self.sent_of_head += (capacity - used) as u32;
                used = capacity;
                break;
            }
            used += need;
            left_queue += 1;
            self.queue.pop_front();
            self.bytes -= u64::from(size);
            self.sent_of_head = 0;
            self.limiter.on_departed(now, now.since(entered));
        }
        self.report(now, capacity, used);
        left_queue
    }

    fn report(&mut self, pulled_at: Instant, capacity: u64, used: u64) {
        let remaining = self.view().backlog(self.unit);
        let starved = remaining == 0 && used < capacity;
        let report = SlotReport {
            pulled_at,
            slot: SLOT,
            granted: capacity,
            used,
            remaining,
            capacity,
            starved,
        };
        self.limiter.on_slot(&report);
    }
}

fn bearers() -> Vec<(String, Bearer)> {
    let units = [CapacityUnit::Packets, CapacityUnit::Bytes];
    all()
        .into_iter()
        .zip(units.into_iter().cycle())
        .map(|((n, l), u)| (n, Bearer::new(l, u)))
        .collect()
}

/// Capacity of a slot that carries `packets` full packets.
fn carries(unit: CapacityUnit, packets: u64) -> u64 {
    context(unit).amount(packets)
}

fn pull_instant(slot: u64) -> Instant {
    Instant::ZERO + SLOT.times(slot)
}

fn poll_instant(slot: u64, poll: u64) -> Instant {
    pull_instant(slot) + Duration::from_nanos(SLOT.as_nanos() * poll / POLLS_PER_SLOT)
}

#[test]
fn a_full_limiter_refuses_until_the_radio_has_taken_something_or_time_has_passed() {
    for (name, mut bearer) in bearers() {
        if matches!(bearer.limiter, AnyLimiter::Unlimited(_)) {
            continue;
        }
        let capacity = carries(bearer.unit, 4);
        for slot in 0..200 {
            for poll in 1..POLLS_PER_SLOT {
                let now = poll_instant(slot, poll);
                let entered = bearer.fill(now, MTU, capacity, 100_000);
                assert!(entered < 100_000, "{name} never refuses");
                let view = bearer.view();
                let sdu = Packet { size: 1, ..Packet::default() };
                if bearer.limiter.overdraws() {
                    assert_eq!(
                        bearer.limiter.room(now, &view),
                        0,
                        "{name}: refused although there was room"
                    );
                    assert!(
                        !bearer.limiter.admits(now, &sdu, &view),
                        "{name} admits beyond its room"
                    );
                }
            }
            bearer.pull(pull_instant(slot + 1), capacity);
        }
    }
}

#[test]
fn a_greedy_flow_never_starves_for_good() {
    // In each hundred slots something leaves, whatever the capacity, slots without any among them.
    for (name, mut bearer) in bearers() {
        let mut rng = Rng::stream(11, &name);
        for epoch in 0..30 {
            let mut departed = 0;
            let most = 1 + rng.below(15);
            for slot in epoch * 100..epoch * 100 + 100 {
                let packets = if rng.chance(0.1) { 0 } else { 1 + rng.below(most) };
                let capacity = carries(bearer.unit, packets);
                for poll in 1..POLLS_PER_SLOT {
                    bearer.fill(poll_instant(slot, poll), MTU, capacity, 64);
                }
                departed += bearer.pull(pull_instant(slot + 1), capacity);
            }
            assert!(
                departed > 10,
                "{name}: {departed} packets in the hundred slots from {}",
                epoch * 100
            );
        }
    }
}

#[test]
fn an_empty_queue_gets_room_within_a_few_slots() {
    for (name, mut bearer) in bearers() {
        let mut rng = Rng::stream(12, &name);
        let capacity = carries(bearer.unit, 3);
        for round in 0..100u64 {
            let first = round * 20;
            for slot in first..first + 10 {
                let size = 40 + rng.below(1461) as u32;
                bearer.fill(poll_instant(slot, 1 + rng.below(9)), size, capacity, rng.below(30));
                bearer.pull(pull_instant(slot + 1), capacity);
            }
            bearer.clear();
            bearer.report(pull_instant(first + 11), capacity, 0);
            let room = (1..POLLS_PER_SLOT).any(|poll| {
                let now = poll_instant(first + 11, poll);
                let forecast = SlotForecast {
                    next_pull: now + SLOT,
                    capacity,
                    polls_left: 0,
                    packets_per_poll: 1,
                };
                if bearer.limiter.wants_forecast() {
                    bearer.limiter.on_forecast(&forecast);
                }
                bearer.limiter.room(now, &RlcView::default()) > 0
            });
            assert!(room, "{name}: no room for an empty queue in round {round}");
        }
    }
}

#[test]
fn room_is_not_lost_when_queued_packets_are_dropped() {
    // Fill, drop everything behind the limiter's back (as an AQM would), and go on: nothing is
    // owed.
    for (name, mut bearer) in bearers() {
        if matches!(bearer.limiter, AnyLimiter::Unlimited(_)) {
            continue;
        }
        let capacity = carries(bearer.unit, 6);
        let fill = |bearer: &mut Bearer, slot| -> u64 {
            let entered = (1..POLLS_PER_SLOT)
                .map(|p| bearer.fill(poll_instant(slot, p), MTU, capacity, 5_000))
                .sum();
            bearer.clear();
            bearer.report(pull_instant(slot + 1), capacity, 0);
            entered
        };
        let early: Vec<u64> = (10..20).map(|slot| fill(&mut bearer, slot)).collect();
        let late: Vec<u64> = (500..510).map(|slot| fill(&mut bearer, slot)).collect();
        assert!(
            late.iter().sum::<u64>() >= early.iter().sum::<u64>(),
            "{name}: {early:?}, then {late:?}"
        );
        assert!(late.iter().all(|n| *n > 0), "{name}: {late:?}");
    }
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

/// Lets a bearer of random past be idle for some slots, told of each or of the last alone, and then
/// shows what it answers in the slots that follow; first how many SDUs left before it was idle.
fn answers_after_idling(
    config: &LimiterConfig,
    unit: CapacityUnit,
    seed: u64,
    told_of_each: bool,
) -> (u64, Vec<u64>) {
    let mut rng = Rng::stream(seed, "idle");
    let limiter = AnyLimiter::new(config, &context(unit)).expect("in bounds");
    let mut bearer = Bearer::new(limiter, unit);
    let busy = 1 + rng.below(25);
    let mut left = 0;
    for slot in 0..busy {
        let capacity = carries(unit, rng.below(8));
        // In either half of the slot: some open late.
        for poll in [3, 8] {
            bearer.fill(poll_instant(slot, poll), MTU, capacity, rng.below(12));
        }
        left += bearer.pull(pull_instant(slot + 1), capacity);
    }
    left += bearer.pull(pull_instant(busy + 1), carries(unit, 100_000));
    let idle = 2 + rng.below(40);
    let capacity = carries(unit, 5);
    for slot in busy + 2..=busy + idle {
        if told_of_each || slot == busy + idle {
            bearer.report(pull_instant(slot), capacity, 0);
        }
    }
    let mut answers = Vec::new();
    for slot in busy + idle..busy + idle + 60 {
        for poll in 1..POLLS_PER_SLOT {
            let now = poll_instant(slot, poll);
            bearer.fill(now, MTU, capacity, 2);
            answers.push(bearer.limiter.room(now, &bearer.view()));
        }
        bearer.pull(pull_instant(slot + 1), carries(unit, rng.below(12)));
    }
    (left, answers)
}

#[test]
fn one_report_of_the_latest_idle_slot_stands_for_all_of_them() {
    for config in configs() {
        for unit in [CapacityUnit::Packets, CapacityUnit::Bytes] {
            let mut all_left = 0;
            for seed in 0..40 {
                let [each, last] =
                    [true, false].map(|each| answers_after_idling(&config, unit, seed, each));
                assert_eq!(each, last, "{config:?}, {unit:?}, seed {seed}");
                all_left += each.0;
            }
            assert!(all_left > 40, "{config:?}, {unit:?}: {all_left} in all pasts");
        }
    }
}

#[test]
fn time_alone_changes_the_answer_of_those_that_say_so_and_of_no_other() {
    for (name, mut bearer) in bearers() {
        if bearer.limiter.wants_forecast() {
            assert!(bearer.limiter.paces(), "{name}: a forecast ages");
            continue;
        }
        bearer.pull(pull_instant(1), carries(bearer.unit, 8));
        let rooms =
            [1, 5, 9].map(|poll| bearer.limiter.room(poll_instant(1, poll), &RlcView::default()));
        let changes = rooms[0] != rooms[1] || rooms[1] != rooms[2];
        assert_eq!(changes, bearer.limiter.paces(), "{name}: {rooms:?}");
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

/// Records its calls, and returns what no other limiter does.
#[derive(Default)]
struct Own {
    heard: Vec<&'static str>,
    overdraws: bool,
}

impl Limiter for Own {
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Bytes
    }
    fn room(&mut self, _: Instant, queue: &RlcView) -> u64 {
        100 + queue.bytes - self.heard.len() as u64
    }
    fn overdraws(&self) -> bool {
        self.overdraws
    }
    fn on_admitted(&mut self, _: Instant, _: u64, _: &RlcView) {
        self.heard.push("admitted");
    }
    fn on_departed(&mut self, _: Instant, _: Duration) {
        self.heard.push("departed");
    }
    fn on_slot(&mut self, _: &SlotReport) {
        self.heard.push("slot");
    }
    fn paces(&self) -> bool {
        true
    }
    fn wants_forecast(&self) -> bool {
        true
    }
    fn on_forecast(&mut self, _: &SlotForecast) {
        self.heard.push("forecast");
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
    // Each call leaves a byte less.
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
    let units = [CapacityUnit::Packets, CapacityUnit::Bytes];
    for (config, unit) in configs().into_iter().flat_map(|c| units.map(|unit| (c.clone(), unit))) {
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
        AnyLimiter::new(&LimiterConfig::default(), &context(units[0])).expect("in bounds");
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
