//! Pings and backlogs against closed formulas.

use justfull_base::{BitRate, Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_rapid::{ControlConfig, NoneConfig};
use justfull_run::results::Distribution;
use justfull_run::{FlowConfig, Interval, Traffic, TurnConfig, UplinkConfig, WorldConfig};
use justfull_sim::World;
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{CcConfig, Recovery, SenderConfig, SpuriousDetection};
use justfull_testkit::{cell, ms, ping, ping_from_ue, run, tcp, udp, upload, world};

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
fn replies_to_a_ue_come_back_in_step_with_the_slots() {
    let stack = cell(10, CapacityUnit::Packets, Limit::Packets(100));
    let flow = ping_from_ue("ping", 72, normal(5), turn(20, 100));
    let mut config = world(stack, vec![flow], ms(50_000));
    config.uplink.delay = Duration::from_micros(7_300);
    let result = run(&config);
    let (delay, rtt) = (&result.flows[0].delay, &result.flows[0].rtt);
    // In the cell: the rest of a slot of 1 ms after 20 us and up to 100 us more.
    assert!(delay.min_ms >= 0.88 && delay.max_ms <= 0.98, "{} to {}", delay.min_ms, delay.max_ms);
    assert!((delay.mean_ms - 0.93).abs() < 0.003, "{}", delay.mean_ms);
    assert!((delay.sd_ms - 0.1 / 12f64.sqrt()).abs() < 0.002, "{}", delay.sd_ms);
    // The fixed delays (17.3 ms and 100 B at 1 Gbit/s), the wait for a slot, uniform over 1 ms, and
    // the next slot.
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

/// 10 Mbit/s, 20 ms of fixed delay and a queue of 100 kB, which is 80 ms; `flow` is alone there.
fn short_queue(flow: FlowConfig) -> WorldConfig {
    let stack = cell(1_250, CapacityUnit::Bytes, Limit::Bytes(100_000));
    world(stack, vec![flow], ms(40_000))
}

/// The same flow with another sender.
fn with_sender(mut flow: FlowConfig, change: impl Fn(&mut SenderConfig)) -> FlowConfig {
    let mut traffic = (*flow.traffic).clone();
    if let Traffic::Tcp { sender, .. } | Traffic::Upload { sender, .. } = &mut traffic {
        change(sender);
    }
    flow.traffic = traffic.into();
    flow
}

fn without_timestamps(flow: FlowConfig) -> FlowConfig {
    with_sender(flow, |sender| {
        sender.timestamps = false;
        sender.spurious_detection = SpuriousDetection::FRto;
    })
}

/// Senders with all methods of loss detection and recovery, with and without timestamps for their
/// round trips.
fn senders(flow: impl Fn(CcConfig) -> FlowConfig) -> Vec<FlowConfig> {
    let cubic = || flow(CcConfig::Cubic(Default::default()));
    let by_reno = |timestamps: bool| {
        with_sender(cubic(), |sender| {
            sender.recovery = Recovery::NewReno;
            sender.spurious_detection = SpuriousDetection::Off;
            sender.timestamps = timestamps;
        })
    };
    let untimed = without_timestamps(cubic());
    let by_count = with_sender(cubic(), |sender| sender.recovery = Recovery::Dupack);
    let fixed = flow(CcConfig::Fixed(FixedConfig { segments: 100, ..FixedConfig::default() }));
    vec![cubic(), by_count, untimed, by_reno(true), by_reno(false), fixed]
}

/// Asserts that no round trip exceeds the fixed delay of 20 ms plus the longest `delay` in the
/// queue plus the time that a delayed acknowledgement adds: the time of one more segment and of a
/// slot, and sometimes its timer of 40 ms at the end of a burst.
fn assert_no_longer(rtt: &Distribution, delay: &Distribution, what: &str) {
    let most = 20.0 + delay.max_ms;
    assert!(rtt.count > 100, "{what}: {rtt:?}");
    assert!(rtt.p99_ms <= most + 2.3, "{what}: {rtt:?}, at most {most}");
    assert!(rtt.max_ms <= most + 40.0, "{what}: {rtt:?}, at most {most}");
}

#[test]
fn no_round_trip_of_a_download_is_longer_than_the_full_queue_though_segments_are_lost() {
    for (i, flow) in senders(|cc| tcp("down", cc, None)).into_iter().enumerate() {
        let result = run(&short_queue(flow));
        let down = &result.flows[0];
        assert!(down.retransmitted_segments > 0, "sender {i}");
        assert_no_longer(&down.rtt, &down.delay, &format!("sender {i}"));
        if i == 0 {
            let sum = down.delay.mean_ms + 20.0;
            assert!(down.rtt.max_ms <= 102.0, "{:?}", down.rtt);
            assert!((sum..sum + 2.2).contains(&down.rtt.mean_ms), "{sum} {:?}", down.rtt);
        }
    }
}

#[test]
fn without_timestamps_a_sender_times_one_segment_in_a_round_trip() {
    // 50 segments of 1500 B at 10 Mbit/s take 60 ms, which is a round trip.
    let flow =
        tcp("down", CcConfig::Fixed(FixedConfig { segments: 50, ..FixedConfig::default() }), None);
    let timed = run(&short_queue(flow.clone())).flows[0].rtt.clone();
    let untimed = run(&short_queue(without_timestamps(flow))).flows[0].rtt.clone();
    assert!((timed.mean_ms - 60.0).abs() < 1.5, "{timed:?}");
    assert!((untimed.mean_ms - 60.0).abs() < 1.5, "{untimed:?}");
    let rounds = 32_000.0 / 60.0;
    assert!((untimed.count as f64 - rounds).abs() < 0.05 * rounds, "{untimed:?}");
    // With timestamps, each acknowledgement, of two segments or one, gives a sample.
    assert!((24.0..50.0).contains(&(timed.count as f64 / rounds)), "{timed:?}");
}

#[test]
fn no_round_trip_of_an_upload_is_longer_than_the_full_queue_though_segments_are_lost() {
    // 100 kB of the UE's queue at 10 Mbit/s.
    let queue = Distribution { max_ms: 80.0, ..Distribution::default() };
    for (i, flow) in senders(|cc| upload("up", cc, None)).into_iter().enumerate() {
        let mut config = short_queue(flow);
        config.uplink =
            UplinkConfig { rate: BitRate(10_000_000), limit: Bytes(100_000), ..config.uplink };
        let result = run(&config);
        let up = &result.flows[0];
        assert!(up.retransmitted_segments > 0, "sender {i}");
        assert_no_longer(&up.rtt, &queue, &format!("sender {i}"));
    }
}

#[test]
fn both_legs_of_a_proxied_flow_have_the_round_trips_of_their_senders() {
    let controls = [CcConfig::Cubic(Default::default()), CcConfig::NewReno(Default::default())];
    for (i, cc) in controls.into_iter().enumerate() {
        let mut config = short_queue(tcp("down", cc.clone(), None));
        config.proxy.control = Some(ControlConfig::None(NoneConfig {}));
        config.proxy.radio.cc = cc;
        // Half of the delay to the server is the proxy's.
        config.proxy.wan_delay = Some(ms(5));
        let result = run(&config);
        let down = &result.flows[0];
        let legs = down.proxy.as_ref().expect("it is split");
        assert!(down.retransmitted_segments > 0, "control {i}");
        // The delay from the UE to the proxy is 5 ms, from the server to the proxy and back 15 ms.
        let most = down.delay.max_ms + 5.0;
        assert!(legs.radio_rtt.p99_ms <= most + 2.3, "control {i}: {:?}", legs.radio_rtt);
        assert_eq!(legs.radio_rtt.count, down.rtt.count);
        assert!(legs.server_rtt.count > 0, "control {i}");
        assert!(legs.server_rtt.min_ms >= 15.0, "control {i}: {:?}", legs.server_rtt);
        assert!(legs.server_rtt.p99_ms <= 15.0 + 2.3, "control {i}: {:?}", legs.server_rtt);
    }
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
    // Little: the integral of the backlog is the sum of the sojourn times, except for packets
    // queued at the end.
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
