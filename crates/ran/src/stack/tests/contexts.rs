//! UEs that change the cell while packets wait for them.

use super::*;
use justfull_base::Rng;
use std::collections::{BTreeMap, BTreeSet};

fn both(config: &StackConfig) -> [Stack; 2] {
    [config; 2].map(|config| Bench::new(config).stack)
}

/// Cells with queues in all three layers.
fn cells(unit: CapacityUnit, limiter: &str, polled: bool) -> StackConfig {
    let per_slot = if unit == CapacityUnit::Packets { 4 } else { 5_100 };
    let mut config = cell(per_slot, unit, vec![ue(&[0, 1]), ue(&[0]), ue(&[0, 0])]);
    config.assert_bound = false;
    *config.mac.slot_mut() = poll(1_000, 300);
    config.rlc.limiter = LimiterConfig::by_name(limiter).expect("it is on the list");
    config.rlc.queue.aqm = AqmConfig::by_name("ttlred2").expect("it is on the list");
    config.sdap.queue.limit = Limit::Packets(30);
    if polled {
        (config.upf.poll, config.sdap.poll) = (poll(900, 100), poll(200, 50));
        config.sdap.pacer = PacerConfig::Usp(UspConfig::default());
    }
    config
}

/// Each of `sent` packets, numbered by their payloads, was delivered or dropped, and none twice.
/// Those of a flow and person keep their order if `in_order`.
fn assert_one_end_each(log: &Log, sent: u64, in_order: bool) {
    let mut last = BTreeMap::new();
    for packet in &log.delivered {
        let before = last.insert((packet.flow, packet.payload % 2), packet.payload);
        assert!(!in_order || before < Some(packet.payload), "{packet:?} is in order");
    }
    let mut ended = BTreeSet::new();
    for packet in log.delivered.iter().chain(&log.dropped) {
        assert!(ended.insert(packet.payload), "{packet:?} has two ends");
    }
    assert_eq!(ended.len() as u64, sent);
}

/// At `us`, UE `ue` of each cell moves to the other.
fn swap(stacks: &mut [Stack; 2], us: u64, ue: u32, log: &mut Log) {
    let now = Instant::from_nanos(us * 1_000);
    let [a, b] = [0, 1].map(|i| stacks[i].release(now, ue, log).expect("it is here"));
    for (stack, context) in stacks.iter_mut().zip([b, a]) {
        stack.assert_conserved();
        let queued = stack.conserved().queued;
        let waiting = context.packets();
        stack.admit(now, context, log).map_err(|(error, _)| error).expect("there is a place");
        stack.assert_conserved();
        assert!(stack.conserved().queued <= queued + waiting);
    }
}

#[test]
fn ues_that_change_cells_lose_and_double_no_packet_and_keep_its_order() {
    for (unit, limiter, polled, seed) in [
        (CapacityUnit::Packets, "unlimited", false, 1),
        (CapacityUnit::Bytes, "unlimited", false, 2),
        (CapacityUnit::Bytes, "drql", false, 3),
        (CapacityUnit::Bytes, "bdp_5g", true, 4),
        (CapacityUnit::Packets, "drql", true, 5),
    ] {
        let mut stacks = both(&cells(unit, limiter, polled));
        let (mut log, mut rng) = (Log::default(), Rng::stream(seed, "contexts"));
        let mut sent = 0;
        // Two UEs share each number, one in each cell: `first` has the cell of one of them.
        let mut first = [0; 3];
        for ms in 0..2_000 {
            for _ in 0..rng.below(12) {
                let (flow, person) = (rng.below(5) as u32, rng.below(2));
                let ue = [0, 0, 1, 2, 2][flow as usize];
                let size = 40 + rng.below(1_461) as u32;
                let payload = 2 * sent + person;
                sent += 1;
                let packet = Packet { flow, size, payload, ..Packet::default() };
                let now = Instant::from_nanos(ms * 1_000_000);
                stacks[first[ue] ^ person as usize].input(now, packet, &mut log);
            }
            if rng.chance(0.05) {
                let ue = rng.below(3) as usize;
                first[ue] ^= 1;
                swap(&mut stacks, ms * 1_000 + 1, ue as u32, &mut log);
            }
        }
        let end = Instant::from_nanos(40_000_000_000);
        stacks.iter_mut().for_each(|stack| stack.wake(end, &mut log));
        let sums = stacks.iter().map(Stack::conserved);
        let left: u64 = sums.clone().map(|c| c.queued).sum();
        let [came, gone] = [sums.clone().map(|c| c.came).sum(), sums.map(|c| c.gone).sum::<u64>()];
        assert_eq!(left, 0, "{unit:?}, {limiter}");
        // Packets that wait in a UPF do not move.
        assert_one_end_each(&log, sent, !polled);
        assert!(came == gone && gone > 100, "{gone} packets moved: {limiter}");
    }
}

#[test]
fn a_ue_away_gets_nothing_and_its_context_finds_only_its_own_vacant_place() {
    let config = cells(CapacityUnit::Bytes, "unlimited", false);
    let mut bench = Bench::new(&config);
    let now = |us: u64| Instant::from_nanos(us * 1_000);
    // The first byte of the second packet has left: the packet will be sent as a whole again.
    bench.send(0, 2, 1_500, 5);
    bench.run_to(300);
    assert_eq!(bench.log.deliveries.len(), 3);
    let Bench { stack, log } = &mut bench;
    assert_eq!(stack.release(now(400), 9, log).err(), Some(RoamError::Absent));
    let context = stack.release(now(400), 1, log).expect("it is here");
    assert_eq!((context.ue(), context.packets()), (1, 2));
    assert_eq!(stack.release(now(400), 1, log).err(), Some(RoamError::Absent));
    bench.send(500, 2, 100, 1);
    assert_eq!(bench.log.drops, [(Layer::Upf, DropReason::NoRule)]);
    bench.run_to(9_000);
    assert_eq!(bench.log.deliveries.len(), 3);
    let Bench { stack, log } = &mut bench;
    let mut other = Stack::new(&config).expect("a valid cell");
    let (error, context) = other.admit(now(9_000), context, log).expect_err("it has one");
    assert_eq!(error, RoamError::Present);
    let mut other = Stack::new(&packets(4, vec![ue(&[0]), ue(&[0])])).expect("a valid cell");
    let _ = other.release(now(0), 1, log).expect("it is here");
    let (error, context) = other.admit(now(9_000), context, log).expect_err("other grants");
    assert_eq!(error, RoamError::Different);
    stack.admit(now(9_000), context, log).map_err(|(error, _)| error).expect("its place is free");
    bench.send(9_000, 2, 100, 1);
    bench.run_to(20_000);
    assert_eq!(bench.log.deliveries.len(), 6, "the two that waited, and the new one");
    let counts = bench.stack.conserved();
    assert_eq!((counts.came, counts.gone, counts.queued), (2, 2, 0));
}

#[test]
fn a_ue_leaves_no_cell_in_which_sdus_may_be_in_the_air() {
    let mut config = bytes(5_000, vec![ue(&[0])]);
    config.mac = MacConfig::Rb(RbConfig { slot: poll(1_000, 0), ..Default::default() });
    config.channel = ChannelConfig::Mcs(crate::channel::McsConfig {
        mcs: vec![20],
        ..crate::channel::McsConfig::default()
    });
    config.assert_bound = false;
    let mut stack = Stack::new(&config).expect("a valid cell");
    let found = stack.release(Instant::ZERO, 0, &mut Log::default()).err();
    assert_eq!(found, Some(RoamError::InTheAir));
}
