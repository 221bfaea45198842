//! Pings and backlogs against closed formulas.

mod common;

use common::{cell, ms, ping, ping_from_ue, run, tcp, udp, world};
use justfull_base::{BitRate, Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_sim::{Interval, TurnConfig, UplinkConfig, World};
use justfull_tcp::CcConfig;

fn normal(mean_ms: u64) -> Interval {
    Interval::Normal { mean: ms(mean_ms), sd: Duration::from_micros(700) }
}

#[test]
fn an_idle_cell_answers_after_the_ways_and_half_a_slot() {
    let stack = cell(10, CapacityUnit::Packets, Limit::Packets(100));
    let result = run(&world(stack, vec![ping("ping", 72, normal(5))], ms(50_000)));
    let rtt = &result.flows[0].rtt;
    // 100 B at 1 Gbit/s, 10 ms each way, and a wait for the slot that is uniform over 1 ms.
    let ways = 20.0 + 100.0 * 8.0 / 1e6;
    assert!(rtt.min_ms >= ways && rtt.max_ms <= ways + 1.0, "{} to {} ms", rtt.min_ms, rtt.max_ms);
    assert!((rtt.mean_ms - (ways + 0.5)).abs() < 0.02, "{}", rtt.mean_ms);
    assert!((rtt.sd_ms - 1.0 / 12f64.sqrt()).abs() < 0.02, "{}", rtt.sd_ms);
    assert!((rtt.p95_ms - (ways + 0.95)).abs() < 0.05, "{}", rtt.p95_ms);
    let count = result.flows[0].ping.expect("a ping counts");
    assert_eq!(count.lost, 0);
    assert!(
        count.requests - count.replies <= 10,
        "only what was on its way at the end is missing: {count:?}"
    );
    assert_eq!(count.replies, rtt.count);
    assert!((count.requests as f64 / 8_000.0 - 1.0).abs() < 0.01, "one each 5 ms: {count:?}");
}

fn turn(phase_us: u64, jitter_us: u64) -> TurnConfig {
    let [phase, jitter] = [phase_us, jitter_us].map(Duration::from_micros);
    TurnConfig { phase, jitter }
}

#[test]
fn what_a_ue_asks_comes_back_in_step_with_the_slots() {
    let stack = cell(10, CapacityUnit::Packets, Limit::Packets(100));
    let flow = ping_from_ue("ping", 72, normal(5), turn(20, 100));
    let mut config = world(stack, vec![flow], ms(50_000));
    config.uplink.delay = Duration::from_micros(7_300);
    let result = run(&config);
    let (delay, rtt) = (&result.flows[0].delay, &result.flows[0].rtt);
    // In the cell: what is left of a slot of 1 ms after 20 us and up to 100 us more.
    assert!(delay.min_ms >= 0.88 && delay.max_ms <= 0.98, "{} to {}", delay.min_ms, delay.max_ms);
    assert!((delay.mean_ms - 0.93).abs() < 0.003, "{}", delay.mean_ms);
    assert!((delay.sd_ms - 0.1 / 12f64.sqrt()).abs() < 0.002, "{}", delay.sd_ms);
    // The ways (17.3 ms and 100 B at 1 Gbit/s), the wait for a slot, uniform over 1 ms, and the
    // next slot.
    let ways = 17.3 + 100.0 * 8.0 / 1e6;
    assert!(rtt.min_ms >= ways + 1.0 && rtt.max_ms <= ways + 2.0, "{}, {}", rtt.min_ms, rtt.max_ms);
    assert!((rtt.mean_ms - (ways + 1.5)).abs() < 0.02, "{}", rtt.mean_ms);
    let count = result.flows[0].ping.expect("a ping counts");
    assert_eq!((count.lost, count.replies), (0, rtt.count));
    assert!(count.requests - count.replies <= 10, "{count:?}");
    assert_eq!(result.uplink.entered, result.uplink.delivered + result.uplink.queued);
}

#[test]
fn requests_that_a_ue_cannot_send_are_lost() {
    // 100 B each 200 us are 4 Mbit/s, over an uplink of 1 Mbit/s: three of four are lost.
    let stack = cell(10, CapacityUnit::Packets, Limit::Packets(100));
    let every = Interval::Constant(Duration::from_micros(200));
    let mut config = world(stack, vec![ping_from_ue("ping", 72, every, turn(0, 0))], ms(5_000));
    config.warmup = Duration::ZERO;
    config.uplink = UplinkConfig { rate: BitRate(1_000_000), limit: Bytes(3_000), ..config.uplink };
    let result = run(&config);
    let count = result.flows[0].ping.expect("a ping counts");
    assert!((count.lost as f64 / count.requests as f64 - 0.75).abs() < 0.01, "{count:?}");
    assert_eq!(count.lost, result.uplink.overflow_drops);
}

#[test]
fn a_reply_that_would_leave_its_slot_is_refused() {
    let refused = |turn| {
        let stack = cell(1, CapacityUnit::Packets, Limit::Packets(20));
        let flows = vec![ping_from_ue("ping", 72, normal(5), turn)];
        World::new(&world(stack, flows, ms(100))).err().map(|error| error.to_string())
    };
    assert_eq!(refused(turn(20, 979)), None);
    for (turn, what) in [
        (turn(20, 980), ["`flow[0].ping.from_ue.jitter`: found 980us", "below 980us"]),
        (turn(1_000, 0), ["`flow[0].ping.from_ue.phase`: found 1ms", "below the slot, 1ms"]),
    ] {
        let said = refused(turn).expect("refused");
        assert!(what.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn requests_that_overflow_a_queue_are_lost_and_the_rest_comes_back() {
    // Five packets each millisecond into a cell that carries one: four of five are lost.
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(20));
    let mut config = world(
        stack,
        vec![ping("ping", 72, Interval::Constant(Duration::from_micros(200)))],
        ms(5_000),
    );
    config.warmup = Duration::ZERO;
    let count = run(&config).flows[0].ping.expect("a ping counts");
    assert!((count.lost as f64 / count.requests as f64 - 0.8).abs() < 0.01, "{count:?}");
    let on_their_way = count.requests - count.replies - count.lost;
    assert!((20..=170).contains(&on_their_way), "a full queue and the wires: {count:?}");
}

#[test]
fn a_ping_behind_a_greedy_flow_sees_its_queue() {
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(100));
    let flows =
        vec![tcp("bulk", CcConfig::Cubic(Default::default()), None), ping("ping", 72, normal(20))];
    let result = run(&world(stack, flows, ms(20_000)));
    let found = result.flows[1].rtt.max_ms;
    assert!(
        (118.0..=120.1).contains(&found),
        "a place in the queue is 1 ms, and there are 100: {found}"
    );
}

#[test]
fn the_mean_backlog_is_arrivals_times_sojourn() {
    let stack = cell(2, CapacityUnit::Packets, Limit::Packets(500));
    let flows = vec![
        udp("voice", 172, normal(10)),
        tcp("bulk", CcConfig::NewReno(Default::default()), None),
    ];
    let mut config = world(stack, flows, ms(30_000));
    config.entity_backlog = true;
    config.warmup = Duration::ZERO;
    let result = run(&config);
    let rlc = &result.layers[2];
    let (low, other) = (&rlc.low_latency_sojourn, &rlc.other_sojourn);
    // Little: the integral of the backlog is the sum of the sojourn times, but for what is queued
    // at the end.
    let sum_s = (low.mean_ms * low.count as f64 + other.mean_ms * other.count as f64) * 1e-3;
    let drb = result.entities.iter().find(|e| e.name == "rlc.ue0.drb0").expect("the bearer");
    let little = sum_s / 30.0;
    assert!(
        (drb.packets_mean / little - 1.0).abs() < 0.01,
        "{} packets, by Little {little}",
        drb.packets_mean
    );
    assert!(drb.packets_sd > 0.0 && drb.packets_sd < 250.0, "within 0 and 500: {}", drb.packets_sd);
    let size = drb.bytes_mean / drb.packets_mean;
    assert!((1_300.0..1_500.0).contains(&size), "mostly full segments: {size} B");
    let names: Vec<&str> = result.entities.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(
        names,
        ["upf.ue0.qfi1", "upf.ue0.qfi9", "sdap.ue0.qfi1", "sdap.ue0.qfi9", "rlc.ue0.drb0"]
    );
}

#[test]
fn measuring_backlogs_changes_nothing_else() {
    let stack = || cell(2, CapacityUnit::Packets, Limit::Packets(50));
    let flows = || {
        vec![tcp("bulk", CcConfig::Cubic(Default::default()), None), ping("ping", 72, normal(20))]
    };
    let mut measured = world(stack(), flows(), ms(3_000));
    measured.entity_backlog = true;
    let mut with = run(&measured);
    assert!(!with.entities.is_empty());
    with.entities.clear();
    assert_eq!(with, run(&world(stack(), flows(), ms(3_000))));
}
