//! UEs with DRX: the times at which the cell serves them, and the waits that their AQMs count.

use super::*;
use crate::carrier::CarrierConfig;
use crate::channel::McsConfig;
use crate::drx::{AqmClock, Drx, DrxConfig};
use crate::harq::HarqConfig;
use crate::mac::UplinkAccess;
use alloc::boxed::Box;
use justfull_base::Ecn;
use justfull_queue::aqm::CoDelConfig;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A cycle of 100 ms from 50 ms on: a slot of 10 ms, and 20 ms of inactivity.
fn cycle() -> DrxConfig {
    DrxConfig {
        long_cycle: ms(100),
        start_offset: Some(ms(50)),
        on_duration: ms(10),
        inactivity: ms(20),
        ..DrxConfig::default()
    }
}

fn sleepy(drx: DrxConfig) -> UeConfig {
    UeConfig { drx: Some(Box::new(drx)), ..ue(&[0]) }
}

#[test]
fn a_packet_waits_for_its_ues_next_active_slot() {
    // Slots each 10 ms. 1 -> 50, the on-duration; its grant keeps the UE active to the slot at 70:
    // 55 -> 60 and that to 80: 75 -> 80, to 100: 101 -> 150.
    for config in [packets(4, vec![sleepy(cycle())]), bytes(6_000, vec![sleepy(cycle())])] {
        let mut bench = Bench::new(&config);
        for at_ms in [1, 55, 75, 101] {
            bench.send(at_ms * 1_000, 0, 1_500, 1);
        }
        bench.run_to(200_000);
        assert_eq!(bench.log.times_us(), [50_000, 60_000, 80_000, 150_000]);
    }
}

#[test]
fn a_ue_without_drx_is_served_while_another_sleeps() {
    let mut bench = Bench::new(&bytes(3_000, vec![sleepy(cycle()), ue(&[0])]));
    bench.send(1_000, 0, 1_500, 2);
    bench.send(1_000, 1, 1_500, 2);
    bench.run_to(60_000);
    assert_eq!(bench.log.flows(), [1, 1, 0, 0]);
    assert_eq!(bench.log.times_us(), [10_000, 10_000, 50_000, 50_000]);
}

#[test]
fn a_ue_with_data_left_sleeps_between_active_times() {
    // One packet a slot and no inactivity timer: one slot of each cycle.
    let drx = DrxConfig { inactivity: Duration::ZERO, ..cycle() };
    let mut bench = Bench::new(&packets(1, vec![sleepy(drx)]));
    bench.send(1_000, 0, 1_500, 3);
    bench.run_to(300_000);
    assert_eq!(bench.log.times_us(), [50_000, 150_000, 250_000]);
    let awake: Vec<_> = bench.stack.awake(Instant::from_nanos(300 * MS)).collect();
    assert_eq!(awake, [(0, ms(30))]);
}

#[test]
fn a_scheduling_request_wakes_a_ue_until_its_grant_and_the_inactivity_timer_after() {
    let mut bench = Bench::new(&packets(1, vec![sleepy(cycle())]));
    bench.send(1_000, 0, 1_500, 9);
    let at = |n| Instant::from_nanos(n * MS);
    bench.run_to(4_000);
    bench.stack.note_access(UplinkAccess { at: at(5), ue: 0, granted: false });
    bench.run_to(20_000);
    assert_eq!(bench.log.times_us(), [10_000, 20_000], "data of the downlink too");
    let mut bench = Bench::new(&packets(1, vec![sleepy(cycle())]));
    for granted in [false, true] {
        bench.stack.note_access(UplinkAccess { at: at(5), ue: 0, granted });
    }
    bench.send(24_000, 0, 1_500, 1);
    bench.send(61_000, 0, 1_500, 1);
    bench.run_to(200_000);
    assert_eq!(bench.log.times_us(), [50_000, 70_000], "active to 25 ms, before the slot at 30");
}

#[test]
fn an_aqm_counts_from_the_wake_or_as_before_from_the_arrival() {
    let aqm = CoDelConfig { ce_threshold: ms(5), ..CoDelConfig::default() };
    for (aqm_clock, marked) in [(AqmClock::Wake, 0), (AqmClock::Arrival, 2)] {
        let mut config = bytes(3_000, vec![sleepy(DrxConfig { aqm_clock, ..cycle() })]);
        config.rlc.queue.aqm = AqmConfig::CoDel(aqm);
        let mut bench = Bench::new(&config);
        for _ in 0..2 {
            let packet = Packet { size: 1_500, ecn: Ecn::Ect1, ..Packet::default() };
            bench.stack.input(Instant::from_nanos(MS), packet, &mut bench.log);
        }
        bench.run_to(50_000);
        assert_eq!(bench.log.times_us(), [50_000, 50_000]);
        let queue = bench.stack.queue_mut(QueueId::Rlc { ue: 0, drb: 0 });
        assert_eq!(queue.counters().marked().packets, marked, "{aqm_clock:?}");
    }
}

#[test]
fn dualpi2_marks_no_l4s_packet_for_the_sleep_of_its_ue() {
    use justfull_queue::aqm::dualpi2::{DualPi2Config, Preset};
    use justfull_queue::discipline::DisciplineConfig;
    use justfull_queue::discipline::dual_queue::DualQueueConfig;
    // Six packets wait for 49 ms and leave at the wake. The RFC's sum passes 1 at the second, and
    // it marks none that is alone in its lane.
    for (preset, by_arrival) in [(Preset::Rfc9332, 4), (Preset::Linux, 6)] {
        for (aqm_clock, marked) in [(AqmClock::Wake, 0), (AqmClock::Arrival, by_arrival)] {
            let mut config = bytes(9_000, vec![sleepy(DrxConfig { aqm_clock, ..cycle() })]);
            let aqm = DualPi2Config { preset, ..DualPi2Config::default() };
            config.rlc.queue.aqm = AqmConfig::DualPi2(aqm);
            config.rlc.queue.discipline = DisciplineConfig::DualQueue(DualQueueConfig::default());
            let mut bench = Bench::new(&config);
            for _ in 0..6 {
                let packet = Packet { size: 1_500, ecn: Ecn::Ect1, ..Packet::default() };
                bench.stack.input(Instant::from_nanos(MS), packet, &mut bench.log);
            }
            bench.run_to(50_000);
            assert_eq!(bench.log.times_us(), [50_000; 6]);
            let queue = bench.stack.queue_mut(QueueId::Rlc { ue: 0, drb: 0 });
            assert_eq!(queue.counters().marked().packets, marked, "{preset:?} {aqm_clock:?}");
        }
    }
}

#[test]
fn an_aqm_counts_the_wait_of_an_awake_ue_as_without_drx() {
    let aqm = CoDelConfig { ce_threshold: ms(15), ..CoDelConfig::default() };
    let mut config = bytes(1_500, vec![sleepy(cycle())]);
    config.rlc.queue.aqm = AqmConfig::CoDel(aqm);
    let mut bench = Bench::new(&config);
    for _ in 0..4 {
        let packet = Packet { size: 1_500, ecn: Ecn::Ect1, ..Packet::default() };
        bench.stack.input(Instant::from_nanos(MS), packet, &mut bench.log);
    }
    bench.run_to(100_000);
    // They leave 0, 10, 20 and 30 ms after the wake.
    assert_eq!(bench.log.times_us(), [50_000, 60_000, 70_000, 80_000]);
    let queue = bench.stack.queue_mut(QueueId::Rlc { ue: 0, drb: 0 });
    assert_eq!(queue.counters().marked().packets, 2);
}

/// Resource blocks in slots of 1 ms; a share of the blocks is not decoded.
fn blocks(bler: f64, ues: Vec<UeConfig>) -> StackConfig {
    let mut config = bytes(1, ues);
    let carrier = CarrierConfig { n_prb: 25, ..CarrierConfig::default() };
    let harq = HarqConfig { bler: Ratio(bler), ..HarqConfig::default() };
    let rb = RbConfig { slot: poll(1_000, 0), carrier, harq, ..RbConfig::default() };
    config.mac = MacConfig::Rb(rb);
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    config.rlc.mode = crate::rlc::RlcModeConfig::Um(Default::default());
    config
}

#[test]
fn every_service_sends_only_while_a_ue_is_active_and_lets_no_packet_wait_beyond_a_cycle() {
    let drx = DrxConfig {
        long_cycle: ms(40),
        start_offset: Some(ms(7)),
        on_duration: ms(4),
        inactivity: ms(6),
        short_cycle: Some(ms(20)),
        ..DrxConfig::default()
    };
    let mut in_packets = packets(4, vec![sleepy(drx.clone()), ue(&[0])]);
    let mut in_bytes = bytes(6_000, vec![sleepy(drx.clone()), ue(&[0])]);
    for config in [&mut in_packets, &mut in_bytes] {
        *config.mac.slot_mut() = poll(1_000, 0);
    }
    let in_blocks = blocks(0.0, vec![sleepy(drx.clone()), ue(&[0])]);
    for config in [in_packets, in_bytes, in_blocks] {
        let mut bench = Bench::new(&config);
        let mut rng = Rng::stream(3, "arrivals");
        let (mut twin, mut sent, mut seen, mut us) = (Drx::new(&drx, ms(0)), Vec::new(), 0, 0);
        for _ in 0..2_000 {
            us += 1 + rng.below(30_000);
            bench.run_to(us);
            for (at, flow, _) in &bench.log.deliveries[seen..] {
                if *flow == 0 {
                    assert!(twin.is_active(*at), "{} sends at {at:?}", config.mac.name());
                    twin.grant(*at);
                }
            }
            seen = bench.log.deliveries.len();
            let flow = rng.below(2) as u32;
            bench.send(us, flow, 100, 1);
            sent.push((us, flow));
        }
        bench.run_to(us + 100_000);
        for flow in [0, 1] {
            let arrived = sent.iter().filter(|(_, f)| *f == flow).map(|(us, _)| us * 1_000);
            let left = bench.log.deliveries.iter().filter(|(_, f, _)| *f == flow);
            let waits: Vec<_> =
                left.zip(arrived).map(|((at, ..), us)| at.as_nanos() - us).collect();
            let most = waits.iter().max().copied().unwrap_or_default();
            let (least, bound) = if flow == 0 { (25, 37) } else { (0, 2) };
            assert!(most <= bound * MS && most >= least * MS, "{}: {most}", config.mac.name());
            assert_eq!(waits.len(), sent.iter().filter(|(_, f)| *f == flow).count());
        }
    }
}

#[test]
fn a_repeated_block_finds_its_ue_active_or_waits_for_it() {
    let short = DrxConfig {
        long_cycle: ms(40),
        start_offset: Some(ms(0)),
        on_duration: ms(1),
        inactivity: Duration::ZERO,
        ..DrxConfig::default()
    };
    let none = DrxConfig { retransmission: Duration::ZERO, ..short.clone() };
    // HARQ's round trip has 8 slots: with a retransmission timer the second transmission comes at
    // 8 ms, without one in the next on-duration.
    for (ue, second) in [(ue(&[0]), 8_000), (sleepy(short), 8_000), (sleepy(none), 40_000)] {
        let mut config = blocks(1.0, vec![ue]);
        rb(&mut config).harq.combining = Ratio(0.0);
        let mut bench = Bench::new(&config);
        bench.send(0, 0, 100, 1);
        bench.run_to(100_000);
        assert_eq!(bench.log.times_us(), [second]);
    }
}

fn guest_cell(config: &StackConfig, here: &[u32], guests: &[u32]) -> Stack {
    Stack::of_several(config, here, guests).expect("a valid cell")
}

#[test]
fn a_ue_in_the_last_place_of_another_keeps_its_own_drx() {
    let config = packets(1, vec![sleepy(cycle()), ue(&[0])]);
    let mut cell = Bench { stack: guest_cell(&config, &[0], &[1]), log: Log::default() };
    let mut other = Bench::new(&config);
    let now = Instant::from_nanos(5 * MS);
    cell.stack.detach(now, 0, &mut cell.log).expect("it is there");
    cell.stack.leave_place(0);
    other.send(1_000, 1, 1_500, 2);
    let departure = other.stack.detach(now, 1, &mut other.log).expect("it is there");
    let entry = Entry { config: &config, ue: &config.ues[1], kept: Kept::Nothing };
    let Departure { context, data, .. } = departure;
    cell.stack.attach(now, context, &entry, &mut cell.log).expect("it has no place there");
    for data in data {
        cell.stack.accept(now, data, &mut cell.log);
    }
    // Of the UE with DRX the cell counts only the time before it left.
    cell.run_to(60_000);
    assert_eq!(cell.log.times_us(), [10_000, 20_000], "it listens in each slot");
    let awake: Vec<_> = cell.stack.awake(Instant::from_nanos(60 * MS)).collect();
    assert_eq!(awake, [(0, Duration::ZERO)]);
}

#[test]
fn a_ue_that_changes_the_cell_is_active_in_the_new_one() {
    let config = packets(1, vec![sleepy(cycle())]);
    let mut old = Bench::new(&config);
    let mut new = Bench { stack: guest_cell(&config, &[], &[0]), log: Log::default() };
    old.send(1_000, 0, 1_500, 2);
    let now = Instant::from_nanos(5 * MS);
    let departure = old.stack.detach(now, 0, &mut old.log).expect("it is there");
    let entry = Entry { config: &config, ue: &config.ues[0], kept: Kept::Nothing };
    new.stack.attach(now, departure.context, &entry, &mut new.log).expect("it has no place there");
    for data in departure.data {
        new.stack.accept(now, data, &mut new.log);
    }
    new.run_to(60_000);
    assert_eq!(new.log.times_us(), [10_000, 20_000]);
    old.run_to(60_000);
    assert!(old.log.deliveries.is_empty());
}

#[test]
fn drx_is_refused_where_it_has_no_meaning() {
    let refused = |config: &StackConfig| Stack::new(config).err().map(|e| e.field);
    let mut config = packets(1, vec![sleepy(cycle())]);
    config.rlc.limiter = LimiterConfig::Clairvoyant(ClairvoyantConfig {});
    assert_eq!(refused(&config).as_deref(), Some("rlc.limiter"));
    let narrow = DrxConfig { on_duration: ms(9), ..cycle() };
    let field = refused(&packets(1, vec![ue(&[0]), sleepy(narrow.clone())]));
    assert_eq!(field.as_deref(), Some("ue[1].drx.on_duration"), "a slot has 10 ms");
    let refusal = refused(&packets(1, vec![sleepy(cycle()), sleepy(narrow)]));
    assert_eq!(refusal.as_deref(), Some("ue[1].drx.on_duration"), "each UE is checked");
    let long = DrxConfig { on_duration: ms(101), ..cycle() };
    let field = refused(&packets(1, vec![sleepy(long)]));
    assert_eq!(field.as_deref(), Some("ue[0].drx.on_duration"));
}

/// With `DDU` and a cycle of 6 slots, an on-duration of one slot has an uplink slot in each cycle
/// if it has one in the first.
#[test]
fn an_on_duration_in_which_no_downlink_slot_need_begin_is_refused() {
    let config = |tdd: &str, on_duration| {
        let drx = DrxConfig { on_duration, long_cycle: ms(12), ..DrxConfig::default() };
        let mut config = blocks(0.0, vec![sleepy(drx)]);
        rb(&mut config).carrier.tdd = tdd.into();
        config
    };
    for (tdd, least) in [("", 1), ("DDU", 2), ("DUUUUD", 5), ("UUUD", 4)] {
        assert!(Stack::new(&config(tdd, ms(least))).is_ok(), "{tdd}");
        let narrow = Duration::from_micros(least * 1_000 - 1);
        let error = Stack::new(&config(tdd, narrow)).err().expect("less than the distance");
        let bound = alloc::format!("at least {}, the longest time", ms(least));
        assert_eq!(error.field, "ue[0].drx.on_duration", "{tdd}");
        assert!(error.bound.starts_with(&bound), "{tdd}: {}", error.bound);
    }
}
