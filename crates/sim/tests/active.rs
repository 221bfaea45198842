//! Goodputs count over the time in which flows are active, and uploads by the path of their data.

use justfull_base::{BitRate, Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_run::results::FlowResult;
use justfull_run::{FlowConfig, GrantConfig, Interval, Traffic, UplinkConfig, WorldConfig};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, run, tcp, udp, upload, world};
use std::sync::Arc;

/// 1 Mbit/s of payload, a datagram each 10 ms, from `start` to `stop`, in ms.
fn megabit(name: &str, start: u64, stop: Option<u64>) -> FlowConfig {
    let flow = udp(name, 1_250, Interval::Constant(ms(10)));
    FlowConfig { start: ms(start), stop: stop.map(ms), ..flow }
}

/// 10 s of `flows` over 24 Mbit/s; the first 2 s are not measured.
fn over(flows: Vec<FlowConfig>) -> WorldConfig {
    world(cell(2, CapacityUnit::Packets, Limit::Packets(200)), flows, ms(10_000))
}

fn results(flows: Vec<FlowConfig>) -> Vec<FlowResult> {
    run(&over(flows)).flows
}

/// Asserts that `flow` gets `mbit_s` to within `share`.
fn gets(flow: &FlowResult, mbit_s: f64, share: f64) {
    let found = flow.goodput_mbit_s;
    assert!((found / mbit_s - 1.0).abs() < share, "{}: {found}, wanted {mbit_s}", flow.name);
}

#[test]
fn the_goodput_of_a_flow_covers_the_time_in_which_it_is_active() {
    let flows = vec![
        megabit("whole", 0, None),
        megabit("late", 7_000, None),
        megabit("ended", 0, Some(4_000)),
        megabit("between", 5_000, Some(6_000)),
    ];
    let spans = [(2.0, 10.0), (7.0, 10.0), (2.0, 4.02), (5.0, 6.02)];
    for (flow, (from, to)) in results(flows).iter().zip(spans) {
        // One datagram more or less at both ends, and the transit time of the last.
        gets(flow, 1.0, 0.02);
        assert_eq!(flow.active_from_s, Some(from), "{}", flow.name);
        let found = flow.active_to_s.expect("it is active");
        assert!((to - 0.02..=to).contains(&found), "{} until {found}", flow.name);
    }
}

#[test]
fn a_flow_that_is_never_active_in_the_window_has_neither_time_nor_goodput() {
    let flows = vec![
        megabit("before", 0, Some(1_000)),
        megabit("after", 20_000, None),
        tcp("done", CcConfig::default(), Some(20_000)),
    ];
    for flow in results(flows) {
        let found = (flow.goodput_mbit_s, flow.active_from_s, flow.active_to_s);
        assert_eq!(found, (0.0, None, None), "{}", flow.name);
    }
}

#[test]
fn a_flow_of_less_than_an_interval_counts_what_came_over_its_short_time() {
    let flow = results(vec![megabit("short", 9_970, None)]).remove(0);
    assert_eq!((flow.active_from_s, flow.active_to_s), (Some(9.97), Some(10.0)));
    let datagrams = flow.goodput_bytes() / 1_250.0;
    assert!((datagrams - datagrams.round()).abs() < 1e-9 && datagrams < 3.0, "{datagrams}");
}

#[test]
fn a_transfer_is_active_until_its_receiver_has_it_whole() {
    let mut flow = tcp("sized", CcConfig::default(), Some(3_000_000));
    flow.start = ms(3_000);
    for stop in [None, Some(ms(9_000))] {
        let flow = results(vec![FlowConfig { stop, ..flow.clone() }]).remove(0);
        let end = flow.received_s.expect("it is whole");
        assert_eq!((flow.active_from_s, flow.active_to_s), (Some(3.0), Some(end)));
        gets(&flow, 24.0 / (end - 3.0), 1e-9);
        assert!(flow.goodput_mbit_s > 15.0, "{} Mbit/s", flow.goodput_mbit_s);
    }
}

#[test]
fn the_queue_of_a_stopped_flow_counts_with_the_time_that_it_takes() {
    // Ten thousand datagrams in 2 s; the cell carries two per millisecond.
    let flow = udp("flood", 1_250, Interval::Constant(Duration::from_micros(200)));
    let mut config = over(vec![FlowConfig { start: ms(3_000), stop: Some(ms(5_000)), ..flow }]);
    config.stack.rlc.queue.limit = Limit::Packets(20_000);
    let flow = run(&config).flows.remove(0);
    let to = flow.active_to_s.expect("it is active");
    assert!((to - 8.01).abs() < 0.005, "{to}");
    gets(&flow, 20.0, 0.005);
}

#[test]
fn flows_of_one_name_are_as_equal_as_they_are_while_each_is_active() {
    let pair = |second| {
        let flow = results(vec![megabit("pair", 0, None), megabit("pair", second, None)]).remove(0);
        (flow.jain_index, flow.active_from_s, flow.goodput_bytes())
    };
    let (jain, from, bytes) = pair(6_000);
    assert!(jain.is_some_and(|jain| jain > 0.9999), "{jain:?}");
    assert_eq!(from, Some(2.0), "from the first on");
    assert!((bytes / 1.5e6 - 1.0).abs() < 0.01, "8 s and 4 s of 1 Mbit/s: {bytes} B");
    assert_eq!(pair(20_000).0, None, "the other one is never there");
}

#[test]
fn transfers_that_begin_late_share_as_they_do_while_all_run() {
    let paced = |name: &str, start| {
        let mut flow = tcp(name, CcConfig::default(), None);
        if let Traffic::Tcp { rate, .. } = Arc::make_mut(&mut flow.traffic) {
            *rate = Some(BitRate(2_000_000));
        }
        FlowConfig { start: ms(start), ..flow }
    };
    let mut sized = paced("sized", 4_000);
    if let Traffic::Tcp { size, .. } = Arc::make_mut(&mut sized.traffic) {
        *size = Some(Bytes(1_000_000));
    }
    let result = run(&over(vec![paced("first", 0), sized, paced("after", 9_000)]));
    assert!((result.together.until_s - 8.01).abs() < 0.02, "{}", result.together.until_s);
    for flow in &result.flows[..2] {
        assert!((flow.together_mbit_s / 2.0 - 1.0).abs() < 0.02, "{}", flow.together_mbit_s);
    }
    assert!(result.flows[2].together_mbit_s.abs() < 1e-9);
    assert!(result.together.jain_index.is_some_and(|jain| jain > 0.999), "of two");
}

/// A greedy upload over an uplink of 10 Mbit/s with 100 kB, or over grants at the same rate.
fn uploads(uplink: UplinkConfig) -> WorldConfig {
    let mut config = over(vec![upload("up", CcConfig::default(), None)]);
    config.uplink = UplinkConfig { delay: ms(10), limit: Bytes(100_000), ..uplink };
    config.warmup = Duration::ZERO;
    config
}

#[test]
fn the_row_of_an_upload_counts_its_data_on_the_uplink() {
    let config = uploads(over(Vec::new()).uplink);
    let free = |rate, grants| UplinkConfig { rate: BitRate(rate), grants, ..config.uplink.clone() };
    let grants = GrantConfig { grant: Bytes(1_250), period: ms(1), ..GrantConfig::default() };
    for uplink in [free(10_000_000, None), free(0, Some(grants))] {
        let result = run(&uploads(uplink));
        let flow = &result.flows[0];
        assert_eq!((flow.direction.as_str(), flow.bound.count), ("up", 0));
        assert!(flow.dropped_packets > 0);
        assert_eq!(flow.dropped_packets, result.uplink.overflow_drops);
        assert_eq!(flow.entered_packets, result.uplink.entered);
        assert_eq!(flow.delay, result.uplink.wait, "no other packet goes up");
        assert_eq!(flow.delivered_packets, flow.delay.count);
        assert!(flow.delay.max_ms > 70.0, "{} ms", flow.delay.max_ms);
        assert!(flow.jitter_mean_ms.is_some_and(|jitter| jitter > 0.0));
        let series = result.series.flows[0].delay_ms.iter().flatten();
        assert!(series.flatten().any(|delay| *delay > 70.0), "over time too");
    }
}

#[test]
fn an_upload_over_an_uplink_without_a_bottleneck_waits_for_nothing() {
    let mut config = uploads(over(Vec::new()).uplink);
    config.flows[0].low_latency = true;
    config.duration = ms(500);
    let result = run(&config);
    let flow = &result.flows[0];
    assert_eq!((flow.delay.max_ms, flow.dropped_packets), (0.0, 0));
    assert!(flow.delivered_packets > 100 && flow.delivered_packets == flow.entered_packets);
    assert!(result.conservation.entered > 50, "its acknowledgements are packets of the cell");
}
