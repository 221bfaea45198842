//! A control of bounded size.

use crate::fixture::{OPENING, at, one_ue, report, server};
use justfull_rapid::{FlowId, Refused, Room, UeId};

const ROOM: Room = Room { ues: 2, flows: 3, flows_of_ue: 2 };

#[test]
fn a_ue_or_flow_beyond_the_room_is_refused_and_changes_nothing() {
    let (mut control, cell, ue) = one_ue();
    control.set_room(ROOM);
    control.on_report(at(1), ue, &report(1, 14_400, 0)).expect("sane");
    let other = control.add_ue(at(1), cell).expect("room for two");
    assert_eq!(control.add_ue(at(2), cell), Err(Refused::Full));
    let flows = [ue, ue, other].map(|ue| control.open(at(2), ue, &OPENING).expect("room"));
    let before = flows.map(|flow| server(&control, flow));
    assert_eq!(control.open(at(3), other, &OPENING), Err(Refused::Full), "three flows in all");
    assert_eq!(control.merge_ues(at(3), other, ue), Err(Refused::Full), "two of a UE");
    assert_eq!(flows.map(|flow| server(&control, flow)), before);
    control.close(at(4), flows[2]).expect("open");
    assert_eq!(control.open(at(4), ue, &OPENING), Err(Refused::Full), "two of a UE");
    control.open(at(4), other, &OPENING).expect("a flow has closed");
    control.remove_ue(at(5), ue).expect("it is there");
    let next = control.add_ue(at(5), cell).expect("a UE has gone");
    for _ in 0..2 {
        control.open(at(6), next, &OPENING).expect("its flows have gone with it");
    }
}

#[test]
fn a_handle_goes_through_a_number_that_is_never_0() {
    let (mut control, cell, first) = one_ue();
    let flow = control.open(at(1), first, &OPENING).expect("the UE exists");
    control.remove_ue(at(2), first).expect("it is there");
    let second = control.add_ue(at(3), cell).expect("the cell exists");
    assert_eq!(second.index(), first.index(), "in the place of the first");
    for ue in [first, second] {
        assert_eq!(UeId::from_u64(ue.to_u64()), ue);
        assert!(ue.to_u64() > 0);
    }
    assert_ne!(first.to_u64(), second.to_u64());
    assert_eq!(FlowId::from_u64(flow.to_u64()), flow);
    for strange in [0, u64::MAX, first.to_u64()] {
        assert_eq!(control.cell(UeId::from_u64(strange)), None);
    }
}
