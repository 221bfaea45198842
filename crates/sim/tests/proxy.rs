//! A proxy that splits TCP connections in front of the UPF, with each control.

use justfull_base::Ratio;
use justfull_base::{Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::PacketDetectionRule;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig, RowLength};
use justfull_ran::{HarqConfig, RlcModeConfig};
use justfull_rapid::{Config, ControlConfig, EqualShareConfig, NoneConfig};
use justfull_run::results::{FlowResult, RunResult};
use justfull_run::{Interval, ProxyConfig, ReportConfig, Stop, WorldConfig};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_testkit::{cell, ms, qfi, rb, run, tcp, udp, upload, world};

const SPLIT: ControlConfig = ControlConfig::None(NoneConfig {});

fn equal_share() -> ControlConfig {
    ControlConfig::EqualShare(EqualShareConfig::default())
}

fn rapid() -> ControlConfig {
    ControlConfig::Rapid(Config::default())
}

fn cubic() -> CcConfig {
    CcConfig::Cubic(Default::default())
}

/// 16 Mbit/s in slots of 1 ms with an RLC queue of 4 MB, and `flows` through a proxy with
/// `control`.
fn proxied(control: ControlConfig, flows: usize, seconds: u64) -> WorldConfig {
    let names = ["one", "two", "three", "four"];
    let flows = names[..flows].iter().map(|name| tcp(name, cubic(), None)).collect();
    let stack = cell(2_000, CapacityUnit::Bytes, Limit::Bytes(4_000_000));
    let mut config = world(stack, flows, Duration::from_secs(seconds));
    config.proxy.control = Some(control);
    config
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result.flows.iter().find(|flow| flow.name == name).expect("the flow is there")
}

fn close(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() <= share
}

#[test]
fn the_round_trip_of_an_empty_network_is_what_it_is_without_a_proxy() {
    let lone = |control: Option<ControlConfig>, wan_ms: Option<u64>| {
        let mut config = proxied(SPLIT, 1, 10);
        config.core_rate = justfull_base::BitRate(0);
        config.flows = vec![tcp(
            "one",
            CcConfig::Fixed(FixedConfig { segments: 1, ..FixedConfig::default() }),
            None,
        )];
        config.flows[0].extra_delay = ms(3);
        config.proxy = ProxyConfig { control, wan_delay: wan_ms.map(ms), ..ProxyConfig::default() };
        // Every segment and every acknowledgement leaves at once; only the slots are random.
        let justfull_run::Traffic::Tcp { sender, receiver, .. } =
            (*config.flows[0].traffic).clone()
        else {
            panic!("a TCP flow")
        };
        let receiver = Box::new(justfull_tcp::ReceiverConfig { delayed_ack: false, ..*receiver });
        let (rate, transport) = (None, justfull_run::Transport::default());
        let traffic = justfull_run::Traffic::Tcp { sender, receiver, size: None, rate, transport };
        config.flows[0].traffic = traffic.into();
        run(&config).flows[0].rtt.clone()
    };
    let plain = lone(None, None);
    assert!(plain.min_ms >= 26.0 && plain.max_ms <= 27.0 + 1e-6, "{plain:?}");
    for control in [SPLIT, equal_share(), rapid()] {
        for wan in [None, Some(0), Some(4), Some(10)] {
            let split = lone(Some(control.clone()), wan);
            assert!(split.min_ms >= 26.0 && split.max_ms <= 27.0 + 1e-6, "{wan:?}: {split:?}");
        }
    }
}

#[test]
fn split_alone_keeps_the_link_full_and_tells_both_legs() {
    let result = run(&proxied(SPLIT, 1, 20));
    let one = flow(&result, "one");
    assert!(close(one.goodput_mbit_s, 16.0 * 1448.0 / 1500.0, 0.01), "{}", one.goodput_mbit_s);
    let proxy = one.proxy.as_ref().expect("it goes by the proxy");
    assert!(proxy.server_rtt.min_ms >= 20.0 && proxy.server_rtt.min_ms < 20.1);
    let sum = proxy.radio_rtt.mean_ms + proxy.server_rtt.mean_ms;
    assert!(close(one.rtt.mean_ms, sum, 0.02), "{} {sum}", one.rtt.mean_ms);
    assert_eq!(one.rtt.count, proxy.radio_rtt.count);
    // The wait in the proxy is part of no round trip.
    assert!(proxy.residence.mean_ms > 10.0, "{:?}", proxy.residence.mean_ms);
    let whole = proxy.server_to_ue.mean_ms;
    let parts = 10.0 + proxy.residence.mean_ms + one.delay.mean_ms;
    assert!(close(whole, parts, 0.05), "{whole} {parts}");
}

#[test]
fn a_full_buffer_closes_the_servers_window_and_holds_no_more() {
    let mut config = proxied(SPLIT, 1, 20);
    config.proxy.buffer = Bytes(100_000);
    let result = run(&config);
    let one = flow(&result, "one");
    assert!(one.goodput_mbit_s > 15.0, "{}", one.goodput_mbit_s);
    // 100 kB at 16 Mbit/s are 50 ms.
    let proxy = one.proxy.as_ref().expect("it goes by the proxy");
    let here = proxy.server_to_ue.max_ms - 10.0;
    assert!(here < 60.0, "{here}");
    assert_eq!(one.retransmitted_segments, 0, "the radio's queue holds what the proxy holds");
}

#[test]
fn a_transfer_ends_when_the_ue_has_it_whole() {
    for control in [SPLIT, equal_share(), rapid()] {
        let mut config = proxied(control.clone(), 1, 20);
        config.flows = vec![tcp("one", cubic(), Some(3_000_000)), tcp("two", cubic(), None)];
        let result = run(&config);
        let done = flow(&result, "one").completed_s.expect("it ends");
        assert!((1.5..6.0).contains(&done), "{control:?}: {done}");
        assert!(flow(&result, "two").goodput_mbit_s > 10.0);
    }
}

#[test]
fn a_flow_that_says_so_and_all_that_is_no_transfer_to_the_ue_pass_by() {
    let mut config = proxied(rapid(), 2, 10);
    config.flows[1].proxied = Some(false);
    config.flows.push(udp("voice", 172, Interval::Constant(ms(20))));
    config.flows.push(upload("up", cubic(), None));
    let result = run(&config);
    let told: Vec<bool> = result.flows.iter().map(|flow| flow.proxy.is_some()).collect();
    assert_eq!(told, [true, false, false, false]);
    assert!(result.flows.iter().all(|flow| flow.goodput_mbit_s > 0.05), "all get through");
    config.flows[2].proxied = Some(true);
    let refused = World::new(&config).err().map(|e| e.field);
    assert_eq!(refused.as_deref(), Some("flow[2].proxied"));
}

#[test]
fn rapid_keeps_the_queue_short_and_the_link_full() {
    let vanilla = {
        let mut config = proxied(SPLIT, 2, 20);
        config.proxy.control = None;
        run(&config)
    };
    let result = run(&proxied(rapid(), 2, 20));
    let sum: f64 = result.flows.iter().map(|flow| flow.goodput_mbit_s).sum();
    assert!(sum > 0.95 * 16.0 * 1448.0 / 1500.0, "{sum}");
    for flow in &result.flows {
        assert!(close(flow.goodput_mbit_s, sum / 2.0, 0.1), "{}", flow.goodput_mbit_s);
        let growth = |flow: &FlowResult| flow.rtt.mean_ms - 20.5;
        let without = vanilla.flows.iter().map(growth).fold(0.0, f64::max);
        assert!(growth(flow) < 0.1 * without, "{} of {without}", growth(flow));
        assert_eq!(flow.dropped_packets, 0);
        let proxy = flow.proxy.as_ref().expect("it goes by the proxy");
        assert!(proxy.residence.p99_ms < 40.0, "{:?}", proxy.residence.p99_ms);
    }
}

/// R22 section 3.5: beside a sender of two segments per round trip, on 15 Mbit/s of IP. The round
/// trip of 20 ms is half wired, half radio, so the sender has 2.4 Mbit/s.
#[test]
fn the_rest_of_a_slow_flow_goes_to_the_other_under_rapid_and_to_nobody_under_equal_share() {
    let demand = |control| {
        let mut config = proxied(control, 1, 30);
        config.stack = cell(1_875, CapacityUnit::Bytes, Limit::Bytes(4_000_000));
        (config.core_delay, config.uplink.delay) = (ms(5), ms(15));
        let slow = CcConfig::Fixed(FixedConfig { segments: 2, ..FixedConfig::default() });
        config.flows.push(tcp("slow", slow, None));
        let result = run(&config);
        let mbit = |name| flow(&result, name).goodput_mbit_s * 1500.0 / 1448.0;
        (mbit("one"), mbit("slow"))
    };
    let (fast, slow) = demand(equal_share());
    assert!((2.2..2.5).contains(&slow), "{slow}");
    assert!((7.2..=7.6).contains(&fast), "{fast}");
    let (fast, slow) = demand(rapid());
    assert!(fast >= 0.95 * (15.0 - slow), "{fast} beside {slow}");
}

#[test]
fn lossy_late_and_silent_reports_overflow_nothing_and_the_link_is_full_again() {
    let lost = |loss| ReportConfig { loss, ..ReportConfig::default() };
    let late = |delay| ReportConfig { delay: ms(delay), ..ReportConfig::default() };
    let bad: [(&str, ReportConfig); 10] = [
        ("1 % lost", lost(0.01)),
        ("10 % lost", lost(0.1)),
        ("50 % lost", lost(0.5)),
        ("1 ms late", late(1)),
        ("10 ms late", late(10)),
        ("100 ms late", late(100)),
        ("out of order", ReportConfig { jitter: ms(20), ..late(100) }),
        ("twice", ReportConfig { factor: 2.0, ..ReportConfig::default() }),
        ("half", ReportConfig { factor: 0.5, ..ReportConfig::default() }),
        (
            "silent",
            ReportConfig {
                stops: vec![Stop { from: ms(4_000), lasts: ms(2_000) }],
                ..ReportConfig::default()
            },
        ),
    ];
    for (name, report) in bad {
        let mut config = proxied(rapid(), 2, 10);
        // A second after the first good report.
        config.warmup = ms(7_000);
        config.proxy.report = report;
        let result = run(&config);
        assert!(result.flows.iter().all(|flow| flow.dropped_packets == 0), "{name}");
        let least = if name == "half" { 0.47 } else { 0.95 };
        assert!(result.cell.utilisation > least, "{name}: {}", result.cell.utilisation);
    }
}

/// With doubled reports the buffer fills, and at a fall of the channel it is too full for the
/// servers to send. If they were taken for slow, they would have to grow from nothing.
#[test]
fn a_server_that_waits_for_room_in_the_proxy_is_not_taken_for_a_slow_one() {
    let mut config = proxied(rapid(), 2, 12);
    config.warmup = ms(2_000);
    let stack = &mut config.stack;
    let row = RowLength::Time(ms(250));
    let rows = McsConfig { mcs: vec![28, 24, 16, 8, 12, 20], row, ..McsConfig::default() };
    stack.channel = ChannelConfig::Mcs(rows);
    rb(stack).carrier.n_prb = 100;
    stack.rlc.mode = RlcModeConfig::Am(Default::default());
    (config.core_delay, config.uplink.delay) = (ms(10), ms(30));
    config.proxy.report.factor = 2.0;
    let result = run(&config);
    assert!(result.cell.utilisation > 0.85, "{}", result.cell.utilisation);
}

#[test]
fn two_ues_on_a_lossy_carrier_share_it_and_the_allocation_never_exceeds_it() {
    for control in [equal_share(), rapid()] {
        let mut config = proxied(control, 2, 10);
        let stack = &mut config.stack;
        stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![20], ..McsConfig::default() });
        rb(stack).harq = HarqConfig { bler: Ratio(0.1), ..HarqConfig::default() };
        stack.rlc.mode = RlcModeConfig::Am(Default::default());
        stack.ues.push(stack.ues[0].clone());
        stack.ue_mut(1).rules = vec![PacketDetectionRule::any(qfi(9))];
        config.flows[1].ue = 1;
        let result = run(&config);
        // The radio leg's window follows from its least round trip, which retransmitted blocks
        // triple.
        assert!(result.cell.utilisation > 0.8, "{}", result.cell.utilisation);
        let [a, b] = &result.flows[..] else { panic!("two flows") };
        assert!(close(a.goodput_mbit_s, b.goodput_mbit_s, 0.1), "{a:?} {b:?}");
        assert!(
            a.rtt.mean_ms < 60.0 && b.rtt.mean_ms < 60.0,
            "{} {}",
            a.rtt.mean_ms,
            b.rtt.mean_ms
        );
    }
}

#[test]
fn a_run_by_a_proxy_is_the_same_to_the_last_bit() {
    let mut config = proxied(rapid(), 3, 5);
    config.proxy.report = ReportConfig { loss: 0.3, jitter: ms(5), ..ReportConfig::default() };
    assert_eq!(run(&config), run(&config));
}

#[test]
fn a_proxy_beyond_its_servers_or_without_room_for_a_segment_is_refused() {
    let refused = |change: fn(&mut WorldConfig)| {
        let mut config = proxied(SPLIT, 1, 1);
        change(&mut config);
        World::new(&config).err().map(|e| e.field)
    };
    assert_eq!(refused(|_| {}), None);
    assert_eq!(refused(|c| c.proxy.wan_delay = Some(ms(11))).as_deref(), Some("proxy.wan_delay"));
    assert_eq!(refused(|c| c.core_delay = ms(11)).as_deref(), Some("proxy.wan_delay"));
    assert_eq!(refused(|c| c.proxy.buffer = Bytes(1_447)).as_deref(), Some("proxy.buffer"));
    assert_eq!(refused(|c| c.proxy.report.loss = 2.0).as_deref(), Some("proxy.report.loss"));
    assert_eq!(refused(|c| c.proxy.radio.mss = 2_000).as_deref(), Some("proxy.radio.mss"));
    let wrong = Config { slow_threshold: 2.0, ..Config::default() };
    let mut config = proxied(ControlConfig::Rapid(wrong), 1, 1);
    let field = World::new(&config).err().map(|e| e.field);
    assert_eq!(field.as_deref(), Some("proxy.control.slow_threshold"));
    // No flow is proxied: there is no proxy, and no setting to check.
    config.flows[0].proxied = Some(false);
    config.proxy =
        ProxyConfig { control: Some(SPLIT), wan_delay: Some(ms(11)), ..ProxyConfig::default() };
    assert!(World::new(&config).is_ok());
}
