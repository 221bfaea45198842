//! Tests of the rules of every resource-block scheduler, and of each scheduler.

use super::*;
use crate::rb_demand::fixture::{Cell, Ue};
use alloc::vec;
use justfull_base::{Duration, Rng};
use proptest::prelude::*;

fn shares(of: &[f64]) -> Vec<Ratio> {
    of.iter().map(|&share| Ratio(share)).collect()
}

/// Every scheduler over three slices.
fn all() -> Vec<(&'static str, CheckedRbScheduler)> {
    let of = |config: RbSchedulerConfig| {
        let inner = AnyRbScheduler::new(&config, &shares(&[0.5, 0.25, 0.25]));
        (config.name(), CheckedRbScheduler::new(inner.expect("defaults are sound")))
    };
    RbSchedulerConfig::all().into_iter().map(of).collect()
}

/// True if the scheduler leaves no block free while data waits.
fn is_work_conserving(name: &str) -> bool {
    matches!(name, "round_robin" | "proportional_fair")
}

/// A cell of up to eight UEs with up to four bearers each.
fn random_cell(rng: &mut Rng) -> Cell {
    let size = [1, 2, 4, 16][rng.below(4) as usize];
    let rbs = 1 + rng.below(60) as u16;
    let ues = (0..1 + rng.below(8))
        .map(|i| {
            let sdus =
                |rng: &mut Rng| (0..rng.below(5)).map(|_| 1 + rng.below(1600) as u32).collect();
            let bearers = (0..1 + rng.below(4)).map(|_| sdus(rng)).collect();
            Ue::new(3 * i as u32, rng.below(3) as u16, 1 + rng.below(200) as u32, bearers)
        })
        .collect();
    Cell::new(rbs, size, ues)
}

fn step(scheduler: &mut dyn RbScheduler, cell: &mut Cell, out: &mut RbAllocation) -> u64 {
    cell.demand(|demand| {
        scheduler.schedule(demand, out);
        let served = |(ue, grant): (&crate::rb_demand::UeDemand, &crate::rb_demand::RbGrant)| {
            let own = ue.drbs.start as usize..ue.drbs.end as usize;
            UeServed { ue: ue.ue, rbs: grant.rbs, bytes: out.bytes()[own].iter().sum() }
        };
        let served: Vec<_> =
            demand.ues.iter().zip(out.grants()).filter(|(_, g)| g.rbs > 0).map(served).collect();
        scheduler.on_served(demand.now, &served);
    });
    cell.send(out).iter().map(|sent| u64::from(sent.bytes)).sum()
}

fn backlog(cell: &Cell) -> u64 {
    cell.ues.iter().flat_map(|ue| ue.bearers.iter().flatten()).map(|&b| u64::from(b)).sum()
}

proptest! {
    #[test]
    fn every_scheduler_empties_every_queue_and_loses_nothing(seed in any::<u64>()) {
        let mut rng = Rng::stream(seed, "cells");
        for (name, mut scheduler) in all() {
            let mut cell = random_cell(&mut rng);
            // A partition serves only slices whose share covers a unit.
            let wide = Cell { units: RbUnits::new(64, 16).expect("sound"), ..cell.clone() };
            if !is_work_conserving(name) {
                cell = wide;
            }
            let (total, mut sent, mut out) = (backlog(&cell), 0, RbAllocation::default());
            for _ in 0..20_000 {
                if backlog(&cell) == 0 {
                    break;
                }
                sent += step(&mut scheduler, &mut cell, &mut out);
            }
            prop_assert_eq!(sent, total, "{}", name);
        }
    }

    #[test]
    fn a_work_conserving_scheduler_leaves_no_unit_free_while_something_waits(seed in any::<u64>()) {
        let mut rng = Rng::stream(seed, "cells");
        for (name, mut scheduler) in all().into_iter()
            .filter(|(name, _)| is_work_conserving(name)) {
            let mut cell = random_cell(&mut rng);
            let mut out = RbAllocation::default();
            for _ in 0..20 {
                step(&mut scheduler, &mut cell, &mut out);
                prop_assert!(
                    backlog(&cell) == 0 || out.rbs() == u32::from(cell.units.rbs()),
                    "{}: {} of {}", name, out.rbs(), cell.units.rbs()
                );
            }
        }
    }
}

/// Serves random cells with `scheduler` and with a clone that gets no list for a sole UE with much
/// data.
fn assert_a_sole_ue_gets_what_its_demand_would_get<S: RbScheduler + Clone>(mut scheduler: S) {
    let mut rng = Rng::stream(6, "sole");
    let mut twin = scheduler.clone();
    let (mut listed, mut unlisted) = (RbAllocation::default(), RbAllocation::default());
    for slot in 0..300 {
        let mut cell = random_cell(&mut rng);
        cell.slot = slot;
        let ue = Ue::new(rng.below(30) as u32, rng.below(3) as u16, 88, vec![vec![1 << 20]]);
        let sole = Cell { ues: vec![ue.clone()], ..cell.clone() };
        sole.demand(|demand| scheduler.schedule(demand, &mut listed));
        let given = twin.schedule_sole(ue.number, ue.slice, sole.units).expect("it needs no list");
        let grant = listed.grant(0);
        assert_eq!((grant.units, grant.rbs), (given.count(), given.rbs()), "slot {slot}");
        assert_eq!(listed.bytes()[0], 88 * u32::from(given.rbs()));
        // No usable block is left; a limiter gets this in the report of the slot.
        assert_eq!(u32::from(sole.units.rbs()), listed.rbs() + u32::from(listed.withheld()));
        // Both schedulers keep the same state.
        let mut same = cell.clone();
        step(&mut scheduler, &mut cell, &mut listed);
        step(&mut twin, &mut same, &mut unlisted);
        assert_eq!(listed, unlisted, "after slot {slot}");
    }
}

#[test]
fn a_sole_ue_gets_without_a_list_what_it_would_get_with_one() {
    assert_a_sole_ue_gets_what_its_demand_would_get(RbRoundRobin::default());
    assert_a_sole_ue_gets_what_its_demand_would_get(
        FixedPartition::new(&FixedPartitionConfig {}, &shares(&[0.5, 0.3, 0.15])).expect("sound"),
    );
    assert_a_sole_ue_gets_what_its_demand_would_get(
        ProportionalFair::new(&ProportionalFairConfig::default(), &[Ratio(1.0)]).expect("sound"),
    );
    let eqp = Eqp::new(&EqpConfig::default(), &shares(&[1.0])).expect("sound").schedule_sole(
        0,
        0,
        RbUnits::default(),
    );
    assert_eq!(eqp, None, "it chooses by the SDUs");
}

/// Serves random cells of UEs that need one block each with `scheduler`, and with a clone that sees
/// no demand.
fn assert_each_gets_the_unit_that_its_demand_would_get<S: RbScheduler + Clone>(mut scheduler: S) {
    let mut rng = Rng::stream(7, "one each");
    let mut twin = scheduler.clone();
    let (mut listed, mut unlisted) = (RbAllocation::default(), RbAllocation::default());
    for slot in 0..300 {
        let mut cell = random_cell(&mut rng);
        cell.slot = slot;
        let small = |number| Ue::new(number, 0, 88, vec![vec![1 + number % 88]]);
        let ues = (0..30).filter(|_| rng.below(3) == 0).map(small).collect();
        let calls = Cell { ues, ..cell.clone() };
        let numbers: Vec<u32> = calls.ues.iter().map(|ue| ue.number).collect();
        if numbers.is_empty() || numbers.len() > usize::from(calls.units.full()) {
            continue;
        }
        calls.demand(|demand| scheduler.schedule(demand, &mut listed));
        assert!(twin.schedule_one_each(&numbers, calls.units), "it has nothing to choose");
        assert!(listed.grants().iter().all(|grant| grant.units == 1), "slot {slot}");
        // Both schedulers keep the same state.
        let mut same = cell.clone();
        step(&mut scheduler, &mut cell, &mut listed);
        step(&mut twin, &mut same, &mut unlisted);
        assert_eq!(listed, unlisted, "after slot {slot}");
    }
}

#[test]
fn ues_that_need_one_block_get_without_a_list_what_they_would_get_with_one() {
    assert_each_gets_the_unit_that_its_demand_would_get(RbRoundRobin::default());
    assert_each_gets_the_unit_that_its_demand_would_get(
        ProportionalFair::new(&ProportionalFairConfig::default(), &[Ratio(1.0)]).expect("sound"),
    );
    let mut parted = FixedPartition::new(&FixedPartitionConfig {}, &shares(&[1.0])).expect("sound");
    assert!(!parted.schedule_one_each(&[1], RbUnits::default()), "it withholds");
}

/// Serves random cells with `scheduler` and with a clone made on the way.
fn assert_clone_behaves_as_its_original<S: RbScheduler + Clone>(mut scheduler: S) {
    let mut rng = Rng::stream(5, "clones");
    let (mut ours, mut its) = (RbAllocation::default(), RbAllocation::default());
    let mut twin = None;
    for slot in 0..60 {
        let mut cell = random_cell(&mut rng);
        cell.slot = slot;
        let mut same = cell.clone();
        if slot == 20 {
            twin = Some(scheduler.clone());
        }
        step(&mut scheduler, &mut cell, &mut ours);
        if let Some(twin) = &mut twin {
            step(twin, &mut same, &mut its);
            assert_eq!(ours, its, "slot {slot}");
            assert!((0..3).all(|slice| scheduler.quantum(slice) == twin.quantum(slice)));
        }
    }
}

#[test]
fn a_ue_whose_channel_carries_nothing_is_given_nothing() {
    for (name, mut scheduler) in all() {
        let mut far = Ue::new(0, 0, 0, vec![vec![1500]]);
        far.tbs.fill(0);
        let mut cell = Cell::new(25, 2, vec![far, Ue::new(1, 0, 88, vec![vec![1500; 4]])]);
        let mut out = RbAllocation::default();
        step(&mut scheduler, &mut cell, &mut out);
        assert_eq!(out.grant(0).rbs, 0, "{name}");
        assert!(out.grant(1).rbs >= 12, "{name}");
    }
}

#[test]
fn a_clone_behaves_as_its_original() {
    let shares = shares(&[0.5, 0.25, 0.25]);
    assert_clone_behaves_as_its_original(RbRoundRobin::default());
    assert_clone_behaves_as_its_original(
        FixedPartition::new(&FixedPartitionConfig {}, &shares).expect("sound"),
    );
    assert_clone_behaves_as_its_original(
        ProportionalFair::new(&ProportionalFairConfig::default(), &[Ratio(1.0)]).expect("sound"),
    );
    assert_clone_behaves_as_its_original(Eqp::new(&EqpConfig::default(), &shares).expect("sound"));
}

#[test]
fn round_robin_gives_units_in_turn_and_goes_on_where_it_ended() {
    let ues = (0..3).map(|i| Ue::new(i, 0, 10, vec![vec![100_000]])).collect();
    let mut cell = Cell::new(4, 1, ues);
    let mut scheduler = RbRoundRobin::default();
    let mut out = RbAllocation::default();
    let mut given = vec![];
    for _ in 0..3 {
        step(&mut scheduler, &mut cell, &mut out);
        given.push(out.grants().iter().map(|grant| grant.rbs).collect::<Vec<_>>());
    }
    assert_eq!(given, [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
}

/// Blocks that each slice of `parts` gets if all have much data.
fn partition(parts: &[f64], rbs: u16, size: u16) -> Vec<u16> {
    let ues =
        (0..parts.len()).map(|i| Ue::new(i as u32, i as u16, 88, vec![vec![100_000]])).collect();
    let mut scheduler =
        FixedPartition::new(&FixedPartitionConfig {}, &shares(parts)).expect("sound");
    let mut out = RbAllocation::default();
    step(&mut scheduler, &mut Cell::new(rbs, size, ues), &mut out);
    out.grants().iter().map(|grant| grant.rbs).collect()
}

#[test]
fn a_fixed_partition_of_25_blocks_equals_a21s_and_loses_the_remainder() {
    assert_eq!(partition(&[0.25, 0.75], 25, 2), [6, 18]);
    assert_eq!(partition(&[0.5, 0.5], 25, 2), [12, 12]);
    assert_eq!(partition(&[0.25, 0.75], 17, 2), [4, 12]);
    assert_eq!(partition(&[0.29, 0.71], 100, 1), [29, 71]);
}

#[test]
fn a_fixed_partition_gives_whole_groups_and_the_short_one_to_the_first_slice_that_covers_it() {
    assert_eq!(partition(&[1.0], 25, 2), [25]);
    assert_eq!(partition(&[0.52, 0.48], 25, 2), [13, 12]);
    assert_eq!(
        partition(&[0.28, 0.72], 25, 2),
        [7, 18],
        "of 7 and 18 blocks the last is the short group"
    );
    assert_eq!(
        partition(&[0.1, 0.9], 25, 16),
        [0, 16],
        "2 blocks are no group of 16, and of 22 blocks 6 are lost"
    );
}

#[test]
fn a_fixed_partition_withholds_blocks_only_while_somebody_needs_more() {
    let mut scheduler =
        FixedPartition::new(&FixedPartitionConfig {}, &shares(&[0.5, 0.5])).expect("sound");
    let mut out = RbAllocation::default();
    for (bytes, given, withheld) in [(500, 5, 0), (501, 5, 5), (100, 1, 0)] {
        let mut cell = Cell::new(10, 1, vec![Ue::new(0, 0, 100, vec![vec![bytes]])]);
        step(&mut scheduler, &mut cell, &mut out);
        assert_eq!((out.grant(0).rbs, out.withheld()), (given, withheld), "{bytes} B");
    }
}

#[test]
fn proportional_fair_serves_the_ue_that_has_had_least_of_what_it_could_have() {
    // One UE carries ten times the other's bytes per block: both get half of the slots.
    let ue = |i, per_rb| Ue::new(i, 0, per_rb, vec![vec![10_000_000]]);
    let mut cell = Cell::new(25, 1, vec![ue(0, 500), ue(1, 50)]);
    let mut scheduler =
        ProportionalFair::new(&ProportionalFairConfig::default(), &[Ratio(1.0)]).expect("sound");
    let (mut out, mut slots) = (RbAllocation::default(), [0, 0]);
    for slot in 0..600 {
        step(&mut scheduler, &mut cell, &mut out);
        if slot >= 200 {
            (0..2).filter(|&i| out.grant(i).rbs == 25).for_each(|i| slots[i] += 1);
        }
    }
    assert_eq!(slots[0] + slots[1], 400, "a slot goes to one of them");
    assert!((190..=210).contains(&slots[0]), "{slots:?}");
}

#[test]
fn a_proportional_fair_window_outside_its_bounds_is_refused_by_name() {
    for window in [Duration::ZERO, Duration::from_secs(3601)] {
        let refused = ProportionalFair::new(&ProportionalFairConfig { window }, &[Ratio(1.0)])
            .expect_err("out of bounds");
        assert_eq!(refused.field, "window");
    }
}

#[test]
fn shares_that_are_no_shares_are_refused_by_name() {
    let refused = |of: &[f64]| share_parts(&shares(of)).expect_err("out of bounds").field;
    assert_eq!(refused(&[]), "slice");
    assert_eq!(refused(&[0.5, 0.0]), "slice[1].share");
    assert_eq!(refused(&[-0.1]), "slice[0].share");
    assert_eq!(refused(&[f64::NAN]), "slice[0].share");
    assert_eq!(refused(&[0.5, 1.5]), "slice[1].share");
    assert_eq!(refused(&[0.5, 0.3, 0.3]), "slice[2].share");
    assert_eq!(share_parts(&shares(&[0.29, 0.71])).expect("they sum to 1"), [290_000, 710_000]);
}

#[test]
#[should_panic(expected = "full units")]
fn a_scheduler_that_gives_a_unit_twice_is_stopped() {
    struct Generous;
    impl RbScheduler for Generous {
        fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
            out.clear(demand);
            (0..=demand.units.full()).for_each(|_| out.give(0, demand.units.size()));
        }
    }
    let mut scheduler = CheckedRbScheduler::new(AnyRbScheduler::Custom(Box::new(Generous)));
    let mut cell = Cell::new(20, 2, vec![Ue::new(0, 0, 10, vec![vec![100]])]);
    step(&mut scheduler, &mut cell, &mut RbAllocation::default());
}

#[test]
#[should_panic(expected = "in a transport block of")]
fn a_scheduler_that_gives_bytes_without_blocks_is_stopped() {
    struct Careless;
    impl RbScheduler for Careless {
        fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
            out.clear(demand);
            out.bytes_mut()[0] = 1;
        }
    }
    let mut scheduler = CheckedRbScheduler::new(AnyRbScheduler::Custom(Box::new(Careless)));
    let mut cell = Cell::new(20, 2, vec![Ue::new(0, 0, 10, vec![vec![100]])]);
    step(&mut scheduler, &mut cell, &mut RbAllocation::default());
}

/// The check's message about a scheduler that gives the two UEs of a cell these groups and bytes,
/// and withholds this many blocks. The cell has 7 blocks in groups of 2, with 100 B per block and
/// two bearers of 200 B each.
fn verdict(grants: [&[u16]; 2], bytes: [u32; 4], withheld: u16) -> std::string::String {
    struct Fixed([Vec<u16>; 2], [u32; 4], u16);
    impl RbScheduler for Fixed {
        fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
            out.clear(demand);
            for (index, units) in self.0.iter().enumerate() {
                units.iter().for_each(|&rbs| out.give(index, rbs));
            }
            out.bytes_mut().copy_from_slice(&self.1);
            out.withhold(self.2);
        }
    }
    let fixed = Fixed(grants.map(<[u16]>::to_vec), bytes, withheld);
    let stopped = std::panic::catch_unwind(move || {
        let mut scheduler = CheckedRbScheduler::new(AnyRbScheduler::Custom(Box::new(fixed)));
        let ues =
            vec![Ue::new(3, 0, 100, vec![vec![200]; 2]), Ue::new(5, 0, 100, vec![vec![200]; 2])];
        step(&mut scheduler, &mut Cell::new(7, 2, ues), &mut RbAllocation::default());
    });
    let Err(why) = stopped else { return std::string::String::new() };
    match why.downcast::<std::string::String>() {
        Ok(text) => *text,
        Err(why) => why.downcast_ref::<&str>().copied().unwrap_or_default().into(),
    }
}

#[test]
fn an_answer_within_the_slot_passes_and_each_that_is_not_is_named() {
    assert_eq!(verdict([&[2, 1], &[2, 2]], [200, 100, 200, 200], 0), "");
    assert_eq!(verdict([&[2], &[1]], [200, 0, 0, 100], 4), "");
    assert_eq!(verdict([&[], &[]], [0; 4], 7), "");
    for (grants, bytes, withheld, expected) in [
        ([&[2, 2][..], &[2, 2][..]], [0; 4], 0, "4 full units of 3"),
        ([&[1], &[1]], [0; 4], 0, "the short unit is given once"),
        ([&[1, 1], &[]], [0; 4], 0, "UE 3 was given whole units"),
        ([&[], &[3]], [0; 4], 0, "UE 5 was given whole units"),
        ([&[2], &[]], [200, 1, 0, 0], 0, "UE 3: 201 B in a transport block of 200 B"),
        ([&[], &[2, 2]], [0, 0, 201, 0], 0, "UE 5: no bearer is given more than it has"),
        ([&[2, 1], &[2]], [0; 4], 3, "8 blocks of 7 used or withheld"),
    ] {
        let said = verdict(grants, bytes, withheld);
        assert!(said.contains(expected), "{said:?} for {expected:?}");
    }
}

#[test]
#[should_panic(expected = "ascending order")]
fn ues_in_disorder_are_the_callers_fault() {
    let mut scheduler =
        CheckedRbScheduler::new(AnyRbScheduler::RoundRobin(RbRoundRobin::default()));
    let ue = |number| Ue::new(number, 0, 88, vec![vec![100]]);
    step(&mut scheduler, &mut Cell::new(4, 1, vec![ue(1), ue(1)]), &mut RbAllocation::default());
}

/// A user-defined scheduler that gives a sole UE a fixed grant, and records its calls.
#[derive(Default)]
struct Own {
    sole: Option<RbUnits>,
    served_so_far: usize,
}

impl RbScheduler for Own {
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        out.clear(demand);
    }
    fn schedule_sole(&mut self, ue: u32, slice: u16, _: RbUnits) -> Option<RbUnits> {
        self.sole.filter(|_| (ue, slice) == (7, 2))
    }
    fn on_served(&mut self, _: Instant, served: &[UeServed]) {
        self.served_so_far += served.len();
    }
    fn quantum(&self, slice: usize) -> Option<f64> {
        Some((10 * slice + self.served_so_far) as f64)
    }
}

fn units(rbs: u16, size: u16) -> RbUnits {
    RbUnits::new(rbs, size).expect("units have a size")
}

#[test]
fn a_users_own_scheduler_hears_everything_through_the_check_and_has_defaults() {
    let own = Own { sole: Some(units(6, 2)), served_so_far: 0 };
    let mut scheduler = CheckedRbScheduler::new(AnyRbScheduler::Custom(Box::new(own)));
    assert_eq!(
        scheduler.schedule_sole(7, 2, units(7, 2)),
        Some(units(6, 2)),
        "without the short one"
    );
    assert_eq!(scheduler.schedule_sole(7, 2, units(6, 2)), Some(units(6, 2)));
    assert_eq!(scheduler.schedule_sole(7, 1, units(6, 2)), None);
    assert!(scheduler.wants_sdus() && !scheduler.schedule_one_each(&[1], units(2, 2)));
    scheduler.on_served(Instant::ZERO, &[UeServed { ue: 1, rbs: 1, bytes: 1 }; 3]);
    assert!(scheduler.quantum(2).is_some_and(|quantum| (quantum - 23.0).abs() < 1e-9));
    for (name, sdus) in [
        ("fixed_partition", false),
        ("round_robin", false),
        ("proportional_fair", false),
        ("eqp", true),
    ] {
        let found = all().into_iter().find(|(own, _)| *own == name);
        let (_, mut scheduler) = found.expect("a scheduler of that name");
        assert_eq!(scheduler.wants_sdus(), sdus, "{name}");
        assert_eq!(
            [scheduler.quantum(2).is_some(), scheduler.quantum(3).is_some()],
            [sdus, false],
            "{name}"
        );
        let one_each = matches!(name, "round_robin" | "proportional_fair");
        assert_eq!(scheduler.schedule_one_each(&[1, 2], units(4, 2)), one_each, "{name}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn comparable_schedulers_have_a_twin_of_their_kind() {
    for config in RbSchedulerConfig::all() {
        let inner = AnyRbScheduler::new(&config, &[Ratio(1.0)]).expect("defaults are sound");
        let twin = CheckedRbScheduler::new(inner).twin();
        let same = matches!(
            (&config, &twin),
            (RbSchedulerConfig::RoundRobin(_), Some(AnyRbScheduler::RoundRobin(_)))
                | (
                    RbSchedulerConfig::ProportionalFair(_),
                    Some(AnyRbScheduler::ProportionalFair(_))
                )
                | (RbSchedulerConfig::FixedPartition(_), Some(AnyRbScheduler::FixedPartition(_)))
                | (RbSchedulerConfig::Eqp(_), None)
        );
        assert!(same, "{config:?}");
    }
}

#[test]
fn a_sole_ue_that_is_given_what_is_not_there_is_stopped() {
    for given in [units(8, 2), units(5, 1), units(7, 2).without(1), units(3, 2)] {
        let stopped = std::panic::catch_unwind(|| {
            let own = Own { sole: Some(given), served_so_far: 0 };
            CheckedRbScheduler::new(AnyRbScheduler::Custom(Box::new(own))).schedule_sole(
                7,
                2,
                units(6, 2),
            )
        });
        assert!(stopped.is_err(), "{given:?}");
    }
}

#[test]
fn a_mean_rate_decays_with_time_and_gains_what_was_sent_over_the_window() {
    let config = ProportionalFairConfig { window: Duration::from_millis(100) };
    let mut scheduler = ProportionalFair::new(&config, &[Ratio(1.0)]).expect("sound");
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let first = |scheduler: &mut ProportionalFair, now, ratio: u32| {
        // The UE that comes first: UE 0 carries 100 B per block, UE 1 `ratio` times as many.
        let cell = Cell::new(
            1,
            1,
            vec![Ue::new(0, 0, 100, vec![vec![100]]), Ue::new(1, 0, ratio, vec![vec![9999]])],
        );
        let mut out = RbAllocation::default();
        cell.demand(|demand| scheduler.schedule(&RbDemand { now, ..*demand }, &mut out));
        if out.grant(0).rbs > 0 { 0 } else { 1 }
    };
    assert_eq!(
        [first(&mut scheduler, at(0), 100), first(&mut scheduler, at(0), 101)],
        [0, 1],
        "equal: the first"
    );
    let serve = |scheduler: &mut ProportionalFair, ms, ue, bytes| {
        scheduler.on_served(at(ms), &[UeServed { ue, rbs: 1, bytes }]);
    };
    // 1000 B in 100 ms are 10 kB/s; UE 1 had 27.18 kB/s 100 ms earlier, which has decayed to the
    // same.
    serve(&mut scheduler, 0, 1, 2718);
    serve(&mut scheduler, 100, 0, 1000);
    assert_eq!([first(&mut scheduler, at(100), 99), first(&mut scheduler, at(100), 101)], [0, 1]);
    assert_eq!([first(&mut scheduler, at(150), 99), first(&mut scheduler, at(150), 101)], [0, 1]);
    // A byte in 100 ms is a mean of 10 B/s.
    let mut sparse = ProportionalFair::new(&config, &[Ratio(1.0)]).expect("sound");
    serve(&mut sparse, 0, 0, 1);
    assert_eq!([first(&mut sparse, at(0), 9), first(&mut sparse, at(0), 11)], [0, 1]);
    // Another 1000 B at once double the mean.
    serve(&mut scheduler, 100, 0, 1000);
    assert_eq!([first(&mut scheduler, at(100), 49), first(&mut scheduler, at(100), 51)], [0, 1]);
}
