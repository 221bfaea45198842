use super::*;
use crate::rb_demand::fixture::{Cell, Ue};
use alloc::vec;
use justfull_base::Rng;
use proptest::prelude::*;

mod oracle;
mod printed;

fn shares(of: &[f64]) -> Vec<Ratio> {
    of.iter().map(|&share| Ratio(share)).collect()
}

fn eqp(config: EqpConfig, of: &[f64]) -> Eqp {
    Eqp::new(&config, &shares(of)).expect("sound")
}

/// Serves one slot of `cell`. Returns the number of SDUs that left whole.
fn serve(scheduler: &mut dyn RbScheduler, cell: &mut Cell, out: &mut RbAllocation) -> usize {
    cell.demand(|demand| scheduler.schedule(demand, out));
    cell.send(out).iter().map(|sent| sent.whole).sum()
}

/// A cell with UEs of several slices, each with a few bearers of a few SDUs, small enough for an
/// exhaustive search.
fn small_cell(rng: &mut Rng, slices: u64) -> Cell {
    let size = [1, 2, 3, 4, 8][rng.below(5) as usize];
    let rbs = 4 + rng.below(30) as u16;
    let ues = (0..1 + rng.below(4))
        .map(|i| {
            let sdus = |rng: &mut Rng| {
                (0..1 + rng.below(4))
                    .map(|_| [40, 88, 200, 350, 700, 1500][rng.below(6) as usize])
                    .collect()
            };
            let bearers = (0..1 + rng.below(3)).map(|_| sdus(rng)).collect();
            let mut ue = Ue::new(i as u32, rng.below(slices) as u16, 0, bearers);
            // Blocks carry different numbers of bytes.
            let mut sum = 0;
            for bytes in ue.tbs.iter_mut().skip(1) {
                sum += 40 + rng.below(100) as u32;
                *bytes = sum;
            }
            ue
        })
        .collect();
    Cell::new(rbs, size, ues)
}

/// Sum of the quanta of the slices of the last picked SDUs.
fn value(scheduler: &Eqp, quanta: &Quanta) -> i64 {
    let slices =
        (0..quanta.slices()).flat_map(|slice| scheduler.members_of(slice).map(move |_| slice));
    slices
        .enumerate()
        .map(|(i, s)| i64::from(scheduler.knapsack.picked(i).sdus) * quanta.whole(s))
        .sum()
}

/// Slots until the single SDU of each of four queues is complete, summed over the four.
fn four_queues(scheduler: &mut dyn RbScheduler) -> usize {
    let ues = (0..4).map(|i| Ue::new(i, i as u16, 100, vec![vec![400]])).collect();
    let mut cell = Cell::new(4, 1, ues);
    let (mut out, mut slots) = (RbAllocation::default(), 0);
    for slot in 1..=8 {
        slots += slot * serve(scheduler, &mut cell, &mut out);
    }
    assert!(cell.ues.iter().all(|ue| ue.bearers[0].is_empty()));
    slots
}

#[test]
fn four_queues_of_one_sdu_take_4_slots_each_when_cut_and_2_5_when_whole() {
    let quarters = [0.25; 4];
    let mut partition = super::super::FixedPartition::new(
        &super::super::FixedPartitionConfig {},
        &shares(&quarters),
    )
    .expect("four quarters");
    assert_eq!(four_queues(&mut partition), 4 * 4, "A21 Fig. 4, FP: a mean of 4");
    let mut eqp = eqp(EqpConfig::default(), &quarters);
    assert_eq!(four_queues(&mut eqp), 1 + 2 + 3 + 4, "A21 Fig. 4, EQP: a mean of 2.5");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_most_sdus_leave_whole_and_slices_that_lent_most_come_first(seed in any::<u64>()) {
        let mut rng = Rng::stream(seed, "eqp oracle");
        let slices = 1 + rng.below(3);
        let of = [vec![1.0], vec![0.3, 0.7], vec![0.2, 0.3, 0.5]][slices as usize - 1].clone();
        let inflation = [EqpInflation::Added, EqpInflation::Clamped][rng.below(2) as usize];
        let limit = 1 + rng.below(60) as u32;
        let mut scheduler =
            eqp(EqpConfig { quantum_limit: limit, inflation, ..EqpConfig::default() }, &of);
        let mut out = RbAllocation::default();
        // Several slots, so that slices are in debt.
        for _ in 0..4 {
            let cell = small_cell(&mut rng, slices);
            let mut quanta = scheduler.quanta.clone();
            cell.demand(|demand| {
                quanta.credit(demand.units.rbs(), least_rbs(demand));
                let before = scheduler.stats().whole_sdus;
                scheduler.schedule(demand, &mut out);
                let whole = (scheduler.stats().whole_sdus - before).cast_signed();
                prop_assert_eq!((whole, value(&scheduler, &quanta)), oracle::best(demand, &quanta),
                    "{:?}", cell);
                Ok(())
            })?;
        }
    }

    #[test]
    fn quanta_stay_within_the_limit_and_sum_to_zero(seed in any::<u64>()) {
        let mut rng = Rng::stream(seed, "eqp quanta");
        let of = [0.1, 0.2, 0.3, 0.25];
        let limit = 1 + rng.below(120) as u32;
        let inflation = [EqpInflation::Added, EqpInflation::Clamped,
            EqpInflation::AsPrinted][rng.below(3) as usize];
        let mut scheduler =
            eqp(EqpConfig { quantum_limit: limit, inflation, ..EqpConfig::default() }, &of);
        let mut out = RbAllocation::default();
        for _ in 0..200 {
            let cell = small_cell(&mut rng, 4);
            let limit = f64::from(limit.max(u32::from(cell.units.size())));
            // A smaller unit than in the previous slot gives a smaller limit, to which quanta
            // return with use.
            let held =
                (0..4).map(|s| scheduler.quantum(s).unwrap_or(0.0).abs()).fold(limit, f64::max);
            cell.demand(|demand| scheduler.schedule(demand, &mut out));
            let quanta: Vec<f64> =
                (0..4).map(|s| scheduler.quantum(s).unwrap_or(f64::NAN)).collect();
            prop_assert!(quanta.iter().all(|q| q.abs() <= held), "{quanta:?} beyond {held}");
            prop_assert!(quanta.iter().sum::<f64>().abs() < 1e-6, "{quanta:?}");
        }
    }
}

#[test]
fn credits_that_are_rounded_down_leave_one_block_of_25_over_in_each_slot() {
    let config = EqpConfig { credit: EqpCredit::Floor, quantum_limit: 100, ..EqpConfig::default() };
    let mut scheduler = eqp(config, &[0.25, 0.75]);
    let mut out = RbAllocation::default();
    for slot in 1..=20 {
        let ues = (0..2).map(|i| Ue::new(i, i as u16, 88, vec![vec![1500; 8]])).collect();
        serve(&mut scheduler, &mut Cell::new(25, 1, ues), &mut out);
        assert_eq!(out.rbs(), 25);
        let sum: i64 = (0..2).map(|s| scheduler.quanta.exact(s)).sum();
        assert_eq!(sum, -slot * 1_000_000, "6 + 18 blocks are credited for 25");
    }
}

#[test]
fn a_slice_that_has_nothing_lends_until_the_other_owes_three_quarters_of_the_limit() {
    let mut scheduler = eqp(EqpConfig::default(), &[0.5, 0.5]);
    let (mut out, mut used) = (RbAllocation::default(), vec![]);
    for _ in 0..40 {
        let ue = Ue::new(0, 0, 88, vec![vec![60_000; 4]]);
        serve(&mut scheduler, &mut Cell::new(25, 1, vec![ue]), &mut out);
        used.push(out.rbs());
    }
    assert_eq!(used[0], 25, "at first all is lent");
    let late: u32 = used[20..].iter().sum();
    assert_eq!(late, 250, "then a slice has its share: 12.5 of 25 blocks");
    assert!(out.withheld() >= 12);
    let quantum = scheduler.quantum(0).unwrap_or(0.0);
    assert!((-76.0..=-74.0).contains(&quantum), "{quantum}");
}

#[test]
fn the_last_blocks_are_charged_to_who_has_lent_most_even_if_it_has_nothing() {
    let mut scheduler =
        eqp(EqpConfig { quantum_limit: 10, ..EqpConfig::default() }, &[0.5, 0.25, 0.25]);
    let mut out = RbAllocation::default();
    for _ in 0..50 {
        let ue = Ue::new(0, 1, 88, vec![vec![60_000; 4]]);
        serve(&mut scheduler, &mut Cell::new(24, 1, vec![ue]), &mut out);
    }
    let quanta: Vec<f64> = (0..3).filter_map(|s| scheduler.quantum(s)).collect();
    assert!(quanta[1] < -7.0 && quanta[0] >= 0.0 && quanta[2] >= 0.0, "{quanta:?}");
    assert_eq!(out.rbs() + u32::from(out.withheld()), 24);
    assert!((quanta[0] - quanta[2]).abs() <= 1.0, "who has lent most pays first: {quanta:?}");
}

#[test]
fn inflation_follows_the_three_formulas() {
    let factor = |inflation, debt: u16| {
        let mut quanta =
            Quanta::new(&[500_000, 500_000], EqpConfig { inflation, ..EqpConfig::default() });
        quanta.charge(0, debt);
        quanta.inflation(0) as f64 / quanta::INFLATION_ONE as f64
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    for inflation in [EqpInflation::Added, EqpInflation::Clamped] {
        let none = factor(inflation, 0);
        assert_eq!(none.to_bits(), 1f64.to_bits(), "without debt SDUs are as large as they are");
    }
    for debt in [0, 50, 80, 100, 150] {
        let x = f64::from(debt.min(100)) / 100.0;
        let printed = 5.0 * x * x * x * x * x;
        assert!(close(factor(EqpInflation::Added, debt), 1.0 + printed));
        assert!(close(factor(EqpInflation::Clamped, debt), printed.max(1.0)));
        assert!(close(factor(EqpInflation::AsPrinted, debt), printed));
    }
}

/// Four slices with a quarter each, which have lent 10 blocks each minus the blocks in `taken`.
fn lent(config: EqpConfig, taken: [u16; 4]) -> Quanta {
    let mut quanta = Quanta::new(&[250_000; 4], config);
    quanta.credit(40, 1);
    (0..4).for_each(|slice| quanta.charge(slice, taken[slice]));
    quanta
}

fn blocks(quanta: &Quanta) -> [f64; 4] {
    [0, 1, 2, 3].map(|slice| quanta.rbs(slice))
}

fn close(found: &[f64], expected: &[f64]) {
    let equal = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(equal && found.len() == expected.len(), "{found:?} for {expected:?}");
}

#[test]
fn a_slot_is_credited_in_fractions_of_a_block_or_rounded_down() {
    for (credit, expected) in [(EqpCredit::Exact, [15.625, 9.375]), (EqpCredit::Floor, [12.0, 7.0])]
    {
        let mut quanta =
            Quanta::new(&[500_000, 300_000], EqpConfig { credit, ..EqpConfig::default() });
        quanta.credit(25, 1);
        close(&[quanta.rbs(0), quanta.rbs(1)], &expected);
        quanta.charge(0, 16);
        let rest = expected[0] - 16.0;
        close(&[quanta.rbs(0), quanta.whole(0) as f64], &[rest, rest.floor()]);
        assert_eq!(quanta.exact(0), (rest * 800_000.0) as i64);
    }
}

#[test]
fn all_blocks_are_dealt_or_the_sum_of_the_floors_in_whole_units() {
    let dealt = |blocks, of: &[u32], (rbs, size)| {
        let quanta = Quanta::new(of, EqpConfig { blocks, ..EqpConfig::default() });
        quanta.dealt(RbUnits::new(rbs, size).expect("a size")).rbs()
    };
    let (quarter, half) = ([250_000, 750_000], [500_000, 500_000]);
    for (of, slot, all, floors) in [
        (&quarter, (25, 2), 25, 24),
        (&half, (25, 2), 25, 24),
        (&quarter, (17, 2), 17, 16),
        (&quarter, (24, 2), 24, 24),
        // 6 + 20 blocks are not a whole number of groups of 4.
        (&quarter, (27, 4), 27, 24),
        (&half, (1, 2), 1, 0),
    ] {
        assert_eq!(dealt(EqpBlocks::All, of, slot), all, "{of:?} {slot:?}");
        assert_eq!(dealt(EqpBlocks::SumOfFloors, of, slot), floors, "{of:?} {slot:?}");
    }
}

#[test]
fn a_block_beyond_the_floors_stays_empty_and_quanta_still_sum_to_zero() {
    for credit in [EqpCredit::Exact, EqpCredit::Floor] {
        let blocks = EqpBlocks::SumOfFloors;
        let mut scheduler =
            eqp(EqpConfig { blocks, credit, ..EqpConfig::default() }, &[0.25, 0.75]);
        let ues = vec![
            Ue::new(0, 0, 100, vec![vec![1_000_000]]),
            Ue::new(1, 1, 100, vec![vec![1_000_000]]),
        ];
        let mut cell = Cell::new(25, 2, ues);
        let mut out = RbAllocation::default();
        for _ in 0..50 {
            serve(&mut scheduler, &mut cell, &mut out);
            assert_eq!((out.rbs(), out.withheld()), (24, 1), "18 + 6 blocks are dealt of 25");
            assert_eq!(scheduler.quanta.exact(0) + scheduler.quanta.exact(1), 0);
        }
    }
}

#[test]
fn a_slice_may_take_blocks_until_its_debt_is_at_the_limit_which_is_a_unit_at_least() {
    let mut quanta = Quanta::new(&[500_000, 300_000], EqpConfig::default());
    assert_eq!(quanta.budget(0), 100);
    quanta.credit(1, 1);
    assert_eq!([quanta.budget(0), quanta.budget(1)], [100, 100], "parts of a block are none");
    quanta.charge(0, 101);
    assert_eq!([quanta.budget(0), quanta.budget(1)], [0, 100]);
    quanta.charge(0, 40_000);
    assert_eq!(quanta.budget(0), 0);
    quanta.credit(0, 300);
    assert_eq!(quanta.budget(1), 300);
}

#[test]
fn units_that_finish_no_sdu_are_for_slices_whose_debt_is_below_the_threshold_and_fits() {
    let threshold = |of| EqpConfig { leftover_threshold: Ratio(of), ..EqpConfig::default() };
    let may = |config, debt: u16, rbs| {
        let mut quanta = Quanta::new(&[500_000, 500_000], config);
        quanta.charge(0, debt);
        quanta.may_fill(0, rbs)
    };
    assert_eq!([may(threshold(0.75), 74, 1), may(threshold(0.75), 75, 1)], [true, false]);
    assert_eq!([may(threshold(1.0), 98, 2), may(threshold(1.0), 98, 3)], [true, false]);
}

#[test]
fn unused_blocks_are_taken_off_the_highest_quanta_until_these_are_equal_and_none_below_zero() {
    let taken = [0, 6, 10, 15];
    for (unused, expected) in [
        (0, [10.0, 4.0, 0.0, -5.0]),
        (3, [7.0, 4.0, 0.0, -5.0]),
        (6, [4.0, 4.0, 0.0, -5.0]),
        (8, [3.0, 3.0, 0.0, -5.0]),
        (14, [0.0, 0.0, 0.0, -5.0]),
        (20, [0.0, 0.0, 0.0, -5.0]),
    ] {
        let mut quanta = lent(EqpConfig::default(), taken);
        quanta.settle(unused);
        close(&blocks(&quanta), &expected);
    }
    // The remainder of a division goes to the first of equal slices.
    let mut quanta = lent(EqpConfig::default(), [0, 0, 0, 10]);
    quanta.settle(10);
    let exact = [0, 1, 2, 3].map(|slice| quanta.exact(slice));
    assert_eq!(exact, [6_666_667, 6_666_667, 6_666_666, 0]);
}

#[test]
fn loans_beyond_the_limit_are_given_up_in_favour_of_the_largest_debtors() {
    for (credit, expected) in
        [(EqpCredit::Exact, [10.0, -4.0, -6.0, 0.0]), (EqpCredit::Floor, [10.0, -4.0, -8.0, 0.0])]
    {
        let mut quanta =
            lent(EqpConfig { quantum_limit: 10, credit, ..EqpConfig::default() }, [0; 4]);
        quanta.credit(8, 1);
        (1..4).for_each(|slice| quanta.charge(slice, [0, 16, 20, 12][slice]));
        quanta.settle(0);
        close(&blocks(&quanta), &expected);
    }
}

#[test]
fn the_fewest_blocks_for_so_many_bytes_are_found_in_every_table() {
    let mut rng = Rng::stream(11, "tables");
    for _ in 0..300 {
        let most = rng.below(276) as u16;
        let step = 1 + rng.below(120);
        let mut ue = Ue::new(0, 0, 0, vec![vec![1]]);
        let mut sum = 0;
        for bytes in ue.tbs.iter_mut().skip(1) {
            sum += rng.below(2 * step) as u32;
            *bytes = sum;
        }
        let ue = UeDemand { ue: 0, slice: 0, tbs: &ue.tbs, drbs: 0..1 };
        let sizes = Sizes::new(&ue, most);
        for bytes in (0..40).map(|_| rng.below(u64::from(sum) + 2)).chain([0, 1, u64::from(sum)]) {
            assert_eq!(
                sizes.rbs(bytes),
                ue.rbs_for(bytes, most),
                "{bytes} B in up to {most} blocks"
            );
        }
    }
}

#[test]
fn turns_inside_a_slice_go_on_after_the_ue_that_came_first_and_got_something() {
    let mut scheduler = eqp(EqpConfig::default(), &[0.5, 0.5]);
    let ues = (0..4).map(|i| Ue::new(i, (i % 2) as u16, 100, vec![vec![600; 50]])).collect();
    let mut cell = Cell::new(12, 1, ues);
    let mut out = RbAllocation::default();
    let mut given = vec![];
    for _ in 0..4 {
        serve(&mut scheduler, &mut cell, &mut out);
        given.push(out.grants().iter().map(|grant| grant.rbs).collect::<Vec<_>>());
    }
    // Both SDUs of a slot go to one slice, then to the other, which has lent; in each slice to its
    // UEs in turn.
    assert_eq!(given, [[12, 0, 0, 0], [0, 12, 0, 0], [0, 0, 12, 0], [0, 0, 0, 12]]);
    let stats = scheduler.stats();
    assert_eq!((stats.whole_sdus, stats.leftover_units, stats.withheld_rbs), (8, 0, 0));
}

#[test]
fn leftover_and_withheld_blocks_are_counted_and_tables_are_kept() {
    let mut scheduler = eqp(EqpConfig { quantum_limit: 4, ..EqpConfig::default() }, &[0.5, 0.5]);
    assert_eq!(scheduler.memory(), 0);
    let mut out = RbAllocation::default();
    // Debt up to 3 blocks: 8 of the 10 blocks, and then the share of 5.
    for (leftover, withheld, now) in [(8, 2, 2), (13, 7, 5), (18, 12, 5)] {
        let mut cell = Cell::new(10, 1, vec![Ue::new(0, 0, 100, vec![vec![100_000]])]);
        serve(&mut scheduler, &mut cell, &mut out);
        let stats = scheduler.stats();
        assert_eq!(
            (stats.whole_sdus, stats.leftover_units, stats.withheld_rbs),
            (0, leftover, withheld)
        );
        assert_eq!(out.withheld(), now);
    }
    let memory = scheduler.memory();
    let members = size_of::<u32>() * scheduler.members.capacity();
    let parts = [scheduler.chains.memory(), scheduler.knapsack.memory(), members];
    assert!(
        parts.iter().all(|&bytes| bytes > 0) && memory == parts.iter().sum::<usize>(),
        "{parts:?}"
    );
    let mut cell = Cell::new(10, 1, vec![Ue::new(0, 0, 100, vec![vec![100_000]])]);
    serve(&mut scheduler, &mut cell, &mut out);
    assert_eq!(scheduler.memory(), memory);
}

#[test]
fn the_rest_of_a_transport_block_goes_to_one_bearer_after_another_from_the_slots_on() {
    // 5 blocks of 100 B, no whole SDU: in slot 0 all for bearer 0, in slot 1 for bearer 1.
    for (slot, expected) in [(0, [500, 0, 0]), (1, [0, 500, 0]), (2, [0, 0, 500]), (3, [500, 0, 0])]
    {
        let mut scheduler = eqp(EqpConfig::default(), &[1.0]);
        let mut cell = Cell::new(5, 1, vec![Ue::new(0, 0, 100, vec![vec![900]; 3])]);
        cell.slot = slot;
        let mut out = RbAllocation::default();
        cell.demand(|demand| scheduler.schedule(demand, &mut out));
        assert_eq!(out.bytes(), expected);
    }
    // A whole SDU of 120 B first, then 380 B of the following data.
    let mut scheduler = eqp(EqpConfig::default(), &[1.0]);
    let mut cell =
        Cell::new(5, 1, vec![Ue::new(0, 0, 100, vec![vec![900], vec![700, 80], vec![120, 900]])]);
    cell.slot = 2;
    let mut out = RbAllocation::default();
    cell.demand(|demand| scheduler.schedule(demand, &mut out));
    assert_eq!(out.bytes(), [0, 0, 500]);
}

#[test]
fn as_printed_sdus_without_size_are_granted_while_they_fit() {
    let config = EqpConfig { inflation: EqpInflation::AsPrinted, ..EqpConfig::default() };
    let mut scheduler = eqp(config, &[0.5, 0.5]);
    let ues = (0..2).map(|i| Ue::new(i, i as u16, 88, vec![vec![800; 5]])).collect();
    let mut cell = Cell::new(25, 2, ues);
    let whole = serve(&mut scheduler, &mut cell, &mut RbAllocation::default());
    assert_eq!(whole, 2, "10 blocks each");
}

#[test]
fn the_short_last_group_finishes_an_sdu_that_two_groups_do_not() {
    // 5 blocks in groups of 2: an SDU of 3 blocks takes one group and the last block, an SDU of 2
    // blocks takes a group.
    let ues = vec![Ue::new(0, 0, 100, vec![vec![300]]), Ue::new(1, 0, 100, vec![vec![200]])];
    let mut cell = Cell::new(5, 2, ues);
    let mut out = RbAllocation::default();
    let whole = serve(&mut eqp(EqpConfig::default(), &[1.0]), &mut cell, &mut out);
    assert_eq!((whole, out.grant(0).rbs, out.grant(1).rbs), (2, 3, 2));
}

/// The blocks given to UEs of these slices, each with an SDU of this many blocks, in a slot with
/// `rbs` blocks in groups of `size`; then the number of SDUs that leave whole.
fn given(of: &[f64], ues: &[(u16, u32)], rbs: u16, size: u16) -> (Vec<u16>, usize) {
    let ues =
        (0..).zip(ues).map(|(i, &(slice, sdu))| Ue::new(i, slice, 100, vec![vec![100 * sdu]]));
    let (mut cell, mut out) = (Cell::new(rbs, size, ues.collect()), RbAllocation::default());
    let whole = serve(&mut eqp(EqpConfig::default(), of), &mut cell, &mut out);
    (out.grants().iter().map(|grant| grant.rbs).collect(), whole)
}

#[test]
fn of_as_many_sdus_the_ones_in_the_fewest_units_leave_whole() {
    // The rest goes to the UE whose turn it is, or to the first slice.
    assert_eq!(given(&[1.0], &[(0, 3), (0, 1)], 3, 1), (vec![2, 1], 1));
    assert_eq!(given(&[0.5, 0.5], &[(0, 3), (1, 1)], 3, 1), (vec![2, 1], 1));
}

#[test]
fn the_short_group_serves_only_needs_that_nothing_else_meets() {
    assert_eq!(given(&[1.0], &[(0, 1)], 5, 2), (vec![2], 1));
    // Two groups in both cases: for the SDU of 3 blocks, or one of them and the SDU of 1 block.
    assert_eq!(given(&[0.5, 0.5], &[(0, 3), (1, 1)], 5, 2), (vec![3, 2], 2));
}

#[test]
fn wide_slots_are_worked_on_in_several_parts() {
    // The knapsack gets the last UE first: the best pair is found before the others are added.
    let ues = [(0, 145), (0, 140), (0, 130), (0, 120)];
    let (rbs, whole) = given(&[1.0], &ues, 250, 1);
    assert_eq!((rbs, whole), (vec![0, 0, 130, 120], 2));
    let ues = [(0, 120), (0, 130), (0, 140), (0, 145)];
    let (rbs, whole) = given(&[1.0], &ues, 250, 1);
    assert_eq!((rbs, whole), (vec![120, 130, 0, 0], 2));
}

#[test]
fn the_short_group_that_only_the_debt_of_a_slice_seemed_to_need_stays_free() {
    // Both UEs have an SDU of one group. With 57.5 of 100 blocks of debt, slice 0's is inflated to
    // 262 B: a group, and the last block.
    let mut scheduler = eqp(EqpConfig::default(), &[0.5, 0.5]);
    scheduler.quanta.charge(0, 60);
    let ues = (0..2).map(|i| Ue::new(i, i as u16, 100, vec![vec![200]])).collect();
    let mut out = RbAllocation::default();
    let whole = serve(&mut scheduler, &mut Cell::new(5, 2, ues), &mut out);
    assert_eq!((whole, out.grant(0).rbs, out.grant(1).rbs), (2, 2, 2));
}

#[test]
fn a_group_larger_than_the_limit_is_still_lent() {
    let config = EqpConfig { quantum_limit: 1, ..EqpConfig::default() };
    let mut scheduler = eqp(config, &[0.5, 0.5]);
    let ues = (0..2).map(|i| Ue::new(i, i as u16, 88, vec![vec![1500; 20]])).collect();
    let mut cell = Cell::new(32, 16, ues);
    let (mut out, mut whole) = (RbAllocation::default(), 0);
    for _ in 0..60 {
        whole += serve(&mut scheduler, &mut cell, &mut out);
    }
    assert_eq!(whole, 40);
}

#[test]
fn a_slice_alone_in_its_cell_saves_its_share_until_it_carries_more_than_headers() {
    // Two blocks of its share carry 4 B: less than a header and a byte.
    for quantum_limit in [1, 49, 100] {
        let config = EqpConfig { quantum_limit, ..EqpConfig::default() };
        let mut scheduler = eqp(config, &[0.1, 0.9]);
        let ues = (0..2).map(|i| Ue::new(i, 0, 2, vec![vec![1500]])).collect();
        let cell = Cell::new(20, 2, ues);
        let mut out = RbAllocation::default();
        let mut carried = [0; 2];
        for slot in 0..2_000 {
            cell.demand(|demand| {
                scheduler.schedule(&RbDemand { slot, ..*demand }, &mut out);
            });
            for (ue, sum) in carried.iter_mut().enumerate() {
                let rbs = out.grant(ue).rbs;
                assert!(rbs == 0 || rbs >= 12, "{rbs} blocks");
                *sum += u64::from(rbs);
            }
        }
        let share: u64 = carried.iter().sum();
        assert!((3_700..=4_400).contains(&share), "a tenth of the blocks: {carried:?}");
        assert!(carried[0].abs_diff(carried[1]) < 400, "in turn: {carried:?}");
    }
}

#[test]
fn settings_outside_their_bounds_are_refused_by_name() {
    let refused =
        |config: EqpConfig| Eqp::new(&config, &shares(&[1.0])).expect_err("out of bounds").field;
    let default = EqpConfig::default();
    for quantum_limit in [0, 100_001] {
        assert_eq!(refused(EqpConfig { quantum_limit, ..default }), "quantum_limit");
    }
    for threshold in [-0.1, 1.1, f64::NAN] {
        let config = EqpConfig { leftover_threshold: Ratio(threshold), ..default };
        assert_eq!(refused(config), "leftover_threshold");
    }
    let refused = Eqp::new(&default, &shares(&[0.6, 0.6])).expect_err("more than the cell");
    assert_eq!(refused.field, "slice[1].share");
}
