//! The results of a cell with resource blocks besides delays: loans between slices, and the way to
//! the UE.

use justfull_base::{Duration, Ratio};
use justfull_queue::Limit;
use justfull_ran::channel::{AtEnd, CapacityUnit, ChannelConfig, McsConfig, RowLength};
use justfull_ran::rb_scheduler::{EqpConfig, RbSchedulerConfig};
use justfull_ran::{HarqConfig, PacketDetectionRule, StackConfig};
use justfull_run::{Interval, WorldConfig};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, qfi, rb, run, tcp, udp, world};

/// 25 blocks of LTE at MCS 28.
fn blocks() -> StackConfig {
    let mut stack = cell(1, CapacityUnit::Bytes, Limit::Packets(300));
    stack.channel = ChannelConfig::Mcs(McsConfig {
        mcs: vec![28],
        row: RowLength::Slots(1),
        at_end: AtEnd::Loop,
    });
    rb(&mut stack);
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
    rb(stack).scheduler = scheduler;
    stack.slices = vec![Ratio(0.25), Ratio(0.75)];
    stack.ues.push(stack.ues[0].clone());
    let other = stack.ue_mut(1);
    (other.slice, other.rules) = (1, vec![PacketDetectionRule::any(qfi(9))]);
    let mut bulk = config.flows[0].clone();
    (bulk.name, bulk.ue, bulk.tuple.destination_port) = ("bulk-b".into(), 1, 7);
    config.flows.push(bulk);
    config
}

#[test]
fn without_block_errors_the_way_to_the_ue_is_the_air_alone_and_a_cell_in_bytes_tells_none() {
    let mut config = bulk_and_voice();
    config.air_delay = ms(3);
    let result = run(&config);
    for flow in &result.flows {
        assert_eq!(flow.to_ue.count, flow.delivered_packets, "{}", flow.name);
        assert!(
            flow.to_ue.min_ms >= 3.0 && flow.to_ue.max_ms <= 3.0,
            "{}: {:?}",
            flow.name,
            flow.to_ue
        );
    }
    config.stack = cell(2_000, CapacityUnit::Bytes, Limit::Packets(300));
    assert!(run(&config).flows.iter().all(|flow| flow.to_ue.count == 0 && flow.delay.count > 0));
}

#[test]
fn a_block_sent_again_delays_the_way_to_the_ue_by_whole_round_trips_and_not_the_queueing() {
    let mut config = bulk_and_voice();
    config.flows.remove(0);
    let clean = run(&config);
    rb(&mut config.stack).harq =
        HarqConfig { bler: Ratio(0.3), round_trip: 8, ..HarqConfig::default() };
    let result = run(&config);
    let (alone, voice) = (&clean.flows[0], &result.flows[0]);
    assert_eq!(voice.dropped_packets, 0, "four transmissions are enough here");
    // A lone call waits for the next slot in both; 3 of 10 of its blocks are retransmitted 8 slots
    // later.
    assert!(
        (voice.delay.mean_ms - alone.delay.mean_ms).abs() < 0.05,
        "{:?} {:?}",
        voice.delay,
        alone.delay
    );
    assert!(voice.to_ue.min_ms < 1e-9 && voice.to_ue.max_ms >= 7.99, "{:?}", voice.to_ue);
    let again = voice.to_ue.mean_ms / 8.0;
    assert!((0.15..=0.45).contains(&again), "{again} rounds in the mean, wanted 0.3 and a little");
}

#[test]
fn one_of_two_slices_borrows_what_the_other_lends_and_neither_passes_the_limit() {
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

#[test]
fn a_world_runs_the_same_with_and_without_reports() {
    let config = bulk_and_voice();
    let silent = World::new(&config).expect("it is valid").run(&mut ()).expect("a result");
    let (mut reports, mut bytes, mut last) = (0_u64, 0, justfull_base::Instant::ZERO);
    let mut listen = |_of: justfull_run::proxy::At, ran: &justfull_base::feedback::RanReport| {
        assert!(ran.at >= last && ran.blocks <= ran.used && ran.used <= ran.offered, "{ran:?}");
        (last, reports, bytes) = (ran.at, reports + 1, bytes + ran.bytes);
    };
    let period = Duration::from_millis(10);
    let world = World::new(&config).expect("it is valid");
    let told = world.run_reported(period, &mut listen, &mut ()).expect("a result");
    assert_eq!((told.cell.used, told.cell.slots), (silent.cell.used, silent.cell.slots));
    let periods = config.duration.as_nanos() / period.as_nanos();
    assert_eq!(reports, periods * config.stack.ues.len() as u64);
    assert!(bytes > 0, "something was sent");
}
