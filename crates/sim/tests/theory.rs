//! Whole runs against arithmetic.

use justfull_base::{BitRate, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{Bdp5gConfig, FixedConfig, LimiterConfig};
use justfull_run::Interval;
use justfull_run::results::RunResult;
use justfull_sim::{Progress, World};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, on_time, run, tcp, udp, world};

/// Fails unless `found` is within `share` of `wanted`.
fn close(found: f64, wanted: f64, share: f64, what: &str) {
    assert!(
        (found / wanted - 1.0).abs() <= share,
        "{what}: {found}, wanted {wanted} within {share}"
    );
}

fn every(us: u64) -> Interval {
    Interval::Constant(Duration::from_micros(us))
}

fn cubic() -> CcConfig {
    CcConfig::Cubic(Default::default())
}

#[test]
fn a_greedy_cubic_flow_fills_the_link_in_packets_and_in_bytes() {
    // 1 packet of 1500 B or 1500 B a slot of 1 ms: 12 Mbit/s, of which 1448 of 1500 bytes are
    // payload.
    for (per_slot, unit) in [(1, CapacityUnit::Packets), (1_500, CapacityUnit::Bytes)] {
        let stack = cell(per_slot, unit, Limit::Packets(60));
        let result = run(&world(stack, vec![tcp("bulk", cubic(), None)], ms(30_000)));
        close(result.flows[0].goodput_mbit_s, 12.0 * 1448.0 / 1500.0, 0.01, "goodput");
        close(result.cell.utilisation, 1.0, 0.01, "utilisation");
        assert!(
            result.flows[0].delay.max_ms <= 61.0,
            "60 packets are 60 ms: {}",
            result.flows[0].delay.max_ms
        );
    }
}

#[test]
fn containment_moves_the_queue_and_leaves_the_goodput() {
    let goodput = |limiter: LimiterConfig| {
        let mut stack = cell(2, CapacityUnit::Packets, Limit::Packets(1_000));
        stack.rlc.limiter = limiter;
        stack.sdap.poll = on_time(Duration::from_micros(100));
        stack.sdap.queue = justfull_queue::QueueConfig::tail_drop(Limit::Packets(60));
        run(&world(stack, vec![tcp("bulk", cubic(), None)], ms(20_000)))
    };
    let backlog = |result: &RunResult| [1, 2].map(|i: usize| result.layers[i].backlog_packets_mean);
    let fixed = LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(4), overdraw: true });
    for limiter in [fixed, LimiterConfig::Bdp5g(Bdp5gConfig::default())] {
        let result = goodput(limiter);
        close(result.flows[0].goodput_mbit_s, 24.0 * 1448.0 / 1500.0, 0.01, "goodput");
        let [sdap, rlc] = backlog(&result);
        assert!(sdap > 20.0 && rlc <= 4.0, "{sdap} packets in SDAP, {rlc} in the RLC");
    }
    let [sdap, rlc] = backlog(&goodput(LimiterConfig::default()));
    assert!(
        sdap < 1.0 && rlc > 60.0,
        "without containment: {sdap} packets in SDAP, {rlc} in the RLC"
    );
}

#[test]
fn an_overloaded_queue_of_k_packets_delays_each_by_its_length_and_drops_the_excess() {
    // D/D/1/K with arrivals every 0.8 ms, service every 1 ms and K = 100: an admitted packet finds
    // 99 before it, so it leaves with the hundredth slot; one in five is dropped.
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(100));
    let result = run(&world(stack, vec![udp("load", 1_000, every(800))], ms(20_000)));
    let flow = &result.flows[0];
    assert!(
        flow.delay.min_ms > 99.0 - 1e-6 && flow.delay.max_ms <= 100.0 + 1e-6,
        "{:?}",
        flow.delay
    );
    close(flow.dropped_packets as f64 / flow.entered_packets as f64, 0.2, 0.001, "share dropped");
    close(result.cell.utilisation, 1.0, 1e-9, "utilisation");
    close(flow.goodput_mbit_s, 8.0, 0.001, "goodput of a payload of 1000 B a slot");
}

#[test]
fn an_idle_cell_delays_by_the_time_to_the_next_slot_which_is_uniform() {
    // Arrivals every 2.718281 ms are spread evenly over the phases of a slot of 1 ms: mean 1/2
    // slot, sd 1/sqrt(12).
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(100));
    let interval = Interval::Constant(Duration::from_nanos(2_718_281));
    let result = run(&world(stack, vec![udp("voice", 172, interval)], ms(60_000)));
    let delay = &result.flows[0].delay;
    close(delay.mean_ms, 0.5, 0.005, "mean");
    close(delay.sd_ms, 1.0 / 12f64.sqrt(), 0.005, "standard deviation");
    close(delay.p90_ms, 0.9, 0.005, "90th percentile");
    assert!(delay.max_ms <= 1.0 && result.flows[0].dropped_packets == 0);
    assert_eq!(
        *delay, result.flows[0].bound,
        "with no queue anywhere every packet meets the bound"
    );
}

#[test]
fn polls_add_half_of_their_period_each_and_the_slot_its_half() {
    // The wait for the next poll, in a series of another phase, is uniform over its period; UPF,
    // SDAP and MAC in turn.
    let mut stack = cell(4, CapacityUnit::Packets, Limit::Packets(100));
    stack.upf.poll.period = Duration::from_micros(997);
    stack.sdap.poll.period = Duration::from_micros(1_009);
    stack.mac.slot_mut().period = Duration::from_micros(10_007);
    let interval = Interval::Normal { mean: ms(20), sd: ms(5) };
    let result = run(&world(stack, vec![udp("game", 100, interval)], ms(600_000)));
    close(result.flows[0].delay.mean_ms, (0.997 + 1.009 + 10.007) / 2.0, 0.01, "mean delay");
    close(result.layers[2].low_latency_sojourn.mean_ms, 10.007 / 2.0, 0.01, "mean wait in the RLC");
}

#[test]
fn the_round_trip_of_an_idle_path_is_the_sum_of_its_delays() {
    // 10 ms there, 10 ms back, and on average 0.5 ms of slot; the core's 1 Gbit/s adds 12 us.
    let mut stack = cell(20, CapacityUnit::Packets, Limit::Packets(1_000));
    *stack.mac.slot_mut() = on_time(Duration::from_micros(1));
    let mut config = world(stack, vec![tcp("short", cubic(), Some(1_448))], ms(500));
    config.warmup = Duration::ZERO;
    let result = run(&config);
    let rtt = &result.flows[0].rtt;
    assert_eq!(rtt.count, 1);
    assert!(rtt.mean_ms >= 20.012 && rtt.mean_ms <= 20.014, "{} ms", rtt.mean_ms);
    let completed = result.flows[0].completed_s.expect("it was acknowledged whole");
    close(completed, rtt.mean_ms * 1e-3, 1e-9, "completion");
}

#[test]
fn the_slowest_link_sets_the_rate_wherever_it_is() {
    // A core of 5 Mbit/s before a cell of 12 Mbit/s: no queue in the cell.
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(1_000));
    let mut config = world(stack, vec![udp("load", 1_472, every(1_500))], ms(10_000));
    config.core_rate = BitRate(5_000_000);
    let result = run(&config);
    close(result.flows[0].goodput_mbit_s, 5.0 * 1472.0 / 1500.0, 0.002, "goodput");
    assert!(result.flows[0].delay.max_ms <= 1.0, "{} ms in the cell", result.flows[0].delay.max_ms);
}

#[test]
fn work_per_packet_does_not_grow_with_the_length_of_a_run() {
    let calls = |seconds: u64| {
        let stack = cell(1, CapacityUnit::Packets, Limit::Packets(60));
        let flows = vec![tcp("bulk", cubic(), None), udp("voice", 172, every(20_000))];
        let result = run(&world(stack, flows, ms(seconds * 1_000)));
        result.component_calls as f64 / result.conservation.delivered as f64
    };
    close(calls(100), calls(10), 0.05, "calls per packet");
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let result = |seed| {
        let mut stack = cell(3_000, CapacityUnit::Bytes, Limit::Bytes(100_000));
        stack.seed = seed;
        stack.sdap.poll.period = Duration::from_micros(250);
        let flows = vec![
            tcp("cubic", cubic(), None),
            tcp("bbr", CcConfig::Bbr(Default::default()), None),
            udp("voice", 172, Interval::Normal { mean: ms(20), sd: ms(5) }),
        ];
        run(&world(stack, flows, ms(5_000)))
    };
    assert_eq!(result(7), result(7));
    let (mut one, other) = (result(7), result(8));
    one.seed = other.seed;
    assert_ne!(one, other);
}

#[test]
fn a_run_that_is_ended_early_has_no_result() {
    struct Stop;
    impl Progress for Stop {
        fn advanced(&mut self, now: justfull_base::Instant) -> bool {
            now.as_secs_f64() < 0.5
        }
    }
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(60));
    let config = world(stack, vec![udp("voice", 172, every(20_000))], ms(1_000));
    assert!(World::new(&config).expect("valid").run(&mut Stop).is_none());
}

#[test]
fn every_packet_has_one_fate_in_the_results() {
    let stack = cell(1, CapacityUnit::Packets, Limit::Packets(20));
    let flows = vec![tcp("bulk", cubic(), None), udp("voice", 172, every(7_000))];
    let mut config = world(stack, flows, ms(10_000));
    config.warmup = Duration::ZERO;
    let result = run(&config);
    let c = result.conservation;
    assert_eq!(c.entered, c.delivered + c.dropped + c.queued);
    let sum =
        |f: fn(&justfull_run::results::FlowResult) -> u64| result.flows.iter().map(f).sum::<u64>();
    assert_eq!(sum(|f| f.entered_packets), c.entered);
    assert_eq!(sum(|f| f.delivered_packets), c.delivered);
    assert_eq!(sum(|f| f.dropped_packets), c.dropped);
    let drops: u64 = result.layers.iter().flat_map(|layer| &layer.drops).map(|(_, n)| n).sum();
    assert_eq!(drops, c.dropped);
    assert!(c.dropped > 0, "a queue of 20 packets overflows");
}
