//! Compares the bounds with all choices of packets and with figures worked out by hand.

use super::*;
use justfull_base::Rng;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(time: u64) -> Instant {
    Instant::ZERO + ms(time)
}

/// A floor with slots of these bytes, one per ms from 0 ms on.
fn floor(bytes: &[u64], urgent: Vec<Urgent>) -> Floor<'static> {
    let slot = |(time, bytes): (u64, &u64)| Slot { at: at(time), bytes: *bytes };
    Floor {
        other: None,
        warmup: Instant::ZERO,
        reaches: Instant::ZERO,
        window: ms(bytes.len() as u64),
        mtu: 1000,
        per_unit: 1,
        partly: 0,
        payload: 0.9,
        shared: true,
        fills: true,
        classes: vec![
            Class { low_latency: true, up: false, base: None },
            Class { low_latency: false, up: false, base: Some(ms(20)) },
        ],
        class_of: vec![0, 1],
        slots: (0..).zip(bytes).map(slot).collect(),
        urgent,
        received: 0,
        held_before: 0,
    }
}

fn packet(entered: u64, size: u64, left: Option<u64>) -> Urgent {
    Urgent { class: 0, entered: at(entered), size, left: left.map(at) }
}

fn result() -> RunResult {
    let flow = |name: &str, count| {
        let mut flow = FlowResult { name: name.into(), ..FlowResult::default() };
        (flow.rtt.count, flow.rtt.min_ms) = (count, 20.0);
        flow
    };
    RunResult { flows: vec![flow("call", 0), flow("download", 1)], ..RunResult::default() }
}

/// Greatest number of `packets` that can each leave whole within `time`, from a search over all
/// sets of packets.
fn tried(floor: &Floor<'_>, packets: &[Urgent], time: Duration) -> u32 {
    let fits = |set: u32| {
        let mut left: Vec<u64> = floor.slots.iter().map(|slot| slot.bytes).collect();
        let chosen = (0..).zip(packets).filter(|(i, _)| set >> i & 1 == 1);
        chosen.into_iter().all(|(_, packet)| {
            let mut size = packet.size;
            for (slot, left) in floor.slots.iter().zip(&mut left) {
                if slot.at >= packet.entered && slot.at <= packet.entered + time {
                    let sent = size.min(*left);
                    (size, *left) = (size - sent, *left - sent);
                }
            }
            size == 0
        })
    };
    (0..1 << packets.len()).filter(|set| fits(*set)).map(u32::count_ones).max().unwrap_or(0)
}

#[test]
fn no_set_of_packets_beats_the_bound_and_packets_of_equal_size_reach_it() {
    let mut rng = Rng::stream(1, "floor");
    let mut reached = 0;
    for n in 0..400 {
        let slots: Vec<u64> = (0..12).map(|_| 100 * rng.below(4)).collect();
        let equal = n % 2 == 0;
        let mut packets: Vec<Urgent> = (0..1 + rng.below(8))
            .map(|_| {
                let size = if equal { 100 } else { 50 + rng.below(400) };
                packet(rng.below(8), size, None)
            })
            .collect();
        packets.sort_by_key(|packet| packet.entered);
        let floor = floor(&slots, Vec::new());
        let ends = floor.ends();
        let alone: Vec<Duration> = packets.iter().map(|p| floor.alone(p, &ends)).collect();
        let time = ms(rng.below(6));
        let (bound, best) =
            (floor.most_within(&packets, &alone, time), tried(&floor, &packets, time).into());
        assert!(bound >= best, "{n}: {bound} {best} {slots:?} {packets:?} {time:?}");
        assert!(!equal || bound == best || slots.is_empty(), "{n}: {bound} {best}");
        reached += u32::from(bound == best);
    }
    assert!(reached > 300, "{reached}");
}

#[test]
fn bounds_and_schedule_equal_figures_worked_out_by_hand() {
    // Slots of 1000 B with an outage from 3 to 7 ms; packets of 200 B at 0, 2 and 4 ms.
    let slots = [1000, 1000, 1000, 0, 0, 0, 0, 0, 1000, 1000];
    let urgent = [0, 2, 4].map(|time| packet(time, 200, Some(9))).to_vec();
    let mut floor = floor(&slots, urgent);
    let mut found = result();
    floor.hold(&mut found);
    assert_eq!(found.broken, None);
    let of = |i: usize| **found.flows[i].floor.as_ref().expect("a floor");
    // The last packet waits from 4 to 8 ms; the result is 1 us lower.
    assert_eq!(of(0).delay_ms_p99, Some(3.999));
    // The 99th percentile of the delays 0, 0 and 4 ms, interpolated.
    assert!(of(0).schedule_delay_ms_p99.is_some_and(|delay| (delay - 3.92).abs() < 1e-9));
    // 5000 B less 600 B, with a payload share of 0.9, in 10 ms.
    let mbit_s = 4400.0 * 0.9 * 8e-6 / 0.01;
    assert!(of(1).goodput_mbit_s.is_some_and(|most| (most - mbit_s).abs() < 1e-9));
    assert_eq!(of(1).schedule_goodput_mbit_s, of(1).goodput_mbit_s);
    // Packets of 1000 B begin at 0, 1, 2 and 8 ms and leave after 1, 1, 6 and 1 ms.
    assert_eq!(of(1).rtt_ms, Some(20.0));
    let worst = quantile(&[1.0, 1.0, 1.0, 6.0], ROUND_TRIPS).expect("four values");
    assert_eq!(of(1).schedule_rtt_ms_p95, Some(20.0 + worst));
}

#[test]
fn a_run_that_beats_a_bound_reports_a_broken_invariant() {
    let slots = [1000; 10];
    let broken = |change: &dyn Fn(&mut Floor<'_>, &mut RunResult)| {
        let urgent = vec![packet(0, 1500, Some(1)), packet(0, 1500, Some(2))];
        let (mut floor, mut found) = (floor(&slots, urgent), result());
        change(&mut floor, &mut found);
        floor.hold(&mut found);
        found.broken.unwrap_or_default()
    };
    assert_eq!(broken(&|_, _| ()), "");
    let early = broken(&|floor, _| floor.urgent[1].left = Some(at(1)));
    assert!(early.starts_with("delay >= the floor's, flow call: 2 left within"), "{early}");
    // 10 000 B less 3000 B, with a payload share of 0.9.
    let much = broken(&|floor, _| floor.received = 6301);
    assert_eq!(much, "goodput <= the floor's: 6301 B of payload, at most 6300 B");
    let short = broken(&|_, found| found.flows[1].rtt.min_ms = 19.9);
    assert!(short.starts_with("round trip >= the floor's, flow download: 19.9"), "{short}");
}
