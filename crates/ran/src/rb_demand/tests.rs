use super::fixture::{Cell, Ue};
use super::*;
use alloc::vec;

#[test]
fn units_are_groups_of_one_size_and_a_short_last_one() {
    let mut units = RbUnits::new(25, 2).expect("two blocks");
    assert_eq!((units.full(), units.short(), units.count(), units.rbs()), (12, 1, 13, 25));
    assert_eq!(
        (0..14).map(|_| units.take()).collect::<Vec<_>>(),
        [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0]
    );
    let single = RbUnits::new(25, 1).expect("one block");
    assert_eq!((single.full(), single.short(), single.count()), (25, 0, 25));
    assert_eq!(RbUnits::new(25, 0), None);
}

#[test]
fn retransmissions_take_full_units_and_leave_the_short_one() {
    let units = RbUnits::new(25, 2).expect("two blocks").without(11);
    assert_eq!((units.full(), units.short(), units.rbs()), (1, 1, 3));
    assert_eq!(units.without(3).rbs(), 1);
    assert_eq!(units.without_short().rbs(), 2);
}

#[test]
fn a_ue_needs_the_fewest_blocks_that_carry_its_backlog() {
    let cell = Cell::new(25, 2, vec![Ue::new(7, 0, 88, vec![vec![1500], vec![], vec![500]])]);
    cell.demand(|demand| {
        assert_eq!(demand.rbs_needed(0), 23, "ceil(2000 / 88)");
        assert_eq!(demand.ues[0].rbs_for(1500, 25), Some(18));
        assert_eq!(demand.ues[0].rbs_for(1500, 17), None);
        assert_eq!(demand.ues[0].rbs_for(0, 25), Some(0));
        let less = RbDemand { units: RbUnits::new(7, 1).expect("a block"), ..*demand };
        assert_eq!(less.rbs_needed(0), 7, "all that there are");
        assert_eq!(demand.drbs_of(0).len(), 2, "an empty bearer is left out");
    });
}

#[test]
fn a_transport_block_is_shared_equally_and_unneeded_parts_go_to_the_others() {
    let ue = Ue::new(0, 0, 100, vec![vec![150], vec![5000], vec![5000]]);
    let mut cell = Cell::new(10, 1, vec![ue]);
    for slot in 0..3 {
        cell.slot = slot;
        cell.demand(|demand| {
            let mut out = RbAllocation::default();
            out.clear(demand);
            (0..10).for_each(|_| out.give(0, 1));
            out.split_in_turn(demand, 0);
            assert_eq!(out.bytes()[0], 150);
            assert_eq!(out.bytes().iter().sum::<u32>(), 1000);
            assert!(out.bytes()[1].abs_diff(out.bytes()[2]) <= 200, "{:?}", out.bytes());
        });
    }
}

#[test]
fn a_small_block_goes_to_one_bearer_after_the_other_not_in_parts_that_hold_only_headers() {
    let ue = Ue::new(0, 0, 18, vec![vec![1500]; 3]);
    let mut cell = Cell::new(1, 1, vec![ue]);
    for slot in 0..3 {
        cell.slot = slot;
        cell.demand(|demand| {
            let mut out = RbAllocation::default();
            out.clear(demand);
            out.give(0, 1);
            out.split_in_turn(demand, 0);
            let expected = [0, 1, 2].map(|bearer| if bearer == slot { 18 } else { 0 });
            assert_eq!(out.bytes(), expected, "slot {slot}");
        });
    }
}
