//! What a cell that deals in resource blocks tells beyond delays: what slices lend, and the way to the UE.

mod common;

use common::{cell, ms, qfi, run, tcp, udp, world};
use justfull_base::Ratio;
use justfull_queue::Limit;
use justfull_ran::channel::{AtEnd, CapacityUnit, ChannelConfig, McsConfig, RowLength};
use justfull_ran::rb_scheduler::{EqpConfig, RbSchedulerConfig};
use justfull_ran::{CarrierConfig, PacketDetectionRule, StackConfig};
use justfull_sim::{Interval, WorldConfig};
use justfull_tcp::CcConfig;

/// 25 blocks of LTE at MCS 28.
fn blocks() -> StackConfig {
    let mut stack = cell(1, CapacityUnit::Bytes, Limit::Packets(300));
    stack.channel =
        ChannelConfig::Mcs(McsConfig { mcs: vec![28], row: RowLength::Slots(1), at_end: AtEnd::Loop });
    stack.mac.carrier = Some(CarrierConfig::default());
    stack
}

fn bulk_and_voice() -> WorldConfig {
    let voice = udp("voice", 172, Interval::Constant(ms(20)));
    world(blocks(), vec![tcp("bulk", CcConfig::Cubic(Default::default()), None), voice], ms(4_000))
}

/// Two slices of a quarter and three quarters, bulk in both and a call in the first.
fn two_slices(scheduler: RbSchedulerConfig) -> WorldConfig {
    let mut config = bulk_and_voice();
    let stack = &mut config.stack;
    stack.mac.scheduler = scheduler;
    stack.slices = vec![Ratio(0.25), Ratio(0.75)];
    let mut other = stack.ues[0].clone();
    (other.slice, other.rules) = (1, vec![PacketDetectionRule::any(qfi(9))]);
    stack.ues.push(other);
    let mut bulk = config.flows[0].clone();
    (bulk.name, bulk.ue, bulk.tuple.destination_port) = ("bulk-b".into(), 1, 7);
    config.flows.push(bulk);
    config
}

#[test]
fn what_one_of_two_slices_lends_the_other_borrows_and_neither_passes_the_limit() {
    let eqp = EqpConfig { quantum_limit: 30, ..EqpConfig::default() };
    let result = run(&two_slices(RbSchedulerConfig::Eqp(eqp)));
    let [a, b] = result.slices.as_slice() else { panic!("two slices: {:?}", result.slices) };
    assert_eq!([(a.slice, a.share), (b.slice, b.share)], [(0, 0.25), (1, 0.75)]);
    assert_eq!((a.slots, b.slots), (result.cell.slots, result.cell.slots), "each slot is counted");
    assert!((a.quantum_mean + b.quantum_mean).abs() < 1e-9, "A21 section IV-B: quanta sum to 0");
    assert_eq!((a.quantum_min, a.quantum_max), (-b.quantum_max, -b.quantum_min));
    assert!(a.quantum_min < a.quantum_max, "they lend");
    assert!(a.quantum_min >= -30.0 && a.quantum_max <= 30.0, "{a:?}");
}

#[test]
fn a_scheduler_that_lends_nothing_has_no_slices_to_tell_of() {
    let fixed = RbSchedulerConfig::FixedPartition(Default::default());
    assert!(run(&two_slices(fixed)).slices.is_empty());
    assert!(run(&bulk_and_voice()).slices.is_empty());
}
