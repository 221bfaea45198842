//! The recorder of runs whose flows are known only as they appear.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Dscp, Duration, Instant, Packet};
use justfull_live::recorder::{LiveRecorder, Opened};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::{FiveTuple, PacketDetectionRule, Stack};
use justfull_run::uplink::{Uplink, UplinkConfig};
use justfull_run::{Interval, WorldConfig};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, tcp, udp, world};

/// A cell whose scenario has a call on ports 2112 and 40000 and a download on ports 5201 and 40001,
/// 3 ms further away.
fn config() -> WorldConfig {
    let mut call = udp("call", 100, Interval::Constant(ms(20)));
    (call.tuple.source_port, call.tuple.destination_port) = (2112, 40_000);
    let mut bulk = tcp("bulk", CcConfig::default(), None);
    (bulk.tuple.source_port, bulk.tuple.destination_port) = (5201, 40_001);
    bulk.extra_delay = ms(3);
    world(cell(4, CapacityUnit::Packets, Limit::Packets(100)), vec![call, bulk], ms(1_000))
}

/// An uplink that carried nothing.
fn idle() -> Uplink<()> {
    let (rate, delay, limit) = (BitRate(0), Duration::ZERO, UplinkConfig::LIMIT);
    let config =
        UplinkConfig { rate, delay, limit, grants: None, stack: None, cell_aqm: None, zhuge: None };
    Uplink::new(&config, 1, &[Duration::ZERO], Instant::ZERO, 1)
}

fn tuple(protocol: Protocol, source_port: u16, destination_port: u16) -> FiveTuple {
    FiveTuple { protocol, source_port, destination_port, ..FiveTuple::default() }
}

/// Names and numbers of flows of a run in which `tuples` appear, and what the last was to be
/// treated as.
fn names(config: &WorldConfig, tuples: &[FiveTuple]) -> (Vec<(String, u32)>, Option<Opened>) {
    let mut record = LiveRecorder::new(config).expect("sound settings");
    let opened =
        tuples.iter().map(|tuple| record.open(Instant::ZERO, 0, tuple, Dscp::default())).last();
    let stack = Stack::new(&config.stack).expect("a valid cell");
    let result = record.finish(Instant::ZERO + config.duration, &stack, &idle());
    (result.flows.into_iter().map(|flow| (flow.name, flow.flows)).collect(), opened)
}

fn owned(names: &[(&str, u32)]) -> Vec<(String, u32)> {
    names.iter().map(|(name, flows)| ((*name).to_owned(), *flows)).collect()
}

#[test]
fn only_both_ports_and_the_protocol_make_a_flow_the_scenarios_own() {
    let near = [
        tuple(Protocol::Udp, 2112, 40_000),
        tuple(Protocol::Udp, 2112, 50_000),
        tuple(Protocol::Tcp, 5201, 40_001),
        tuple(Protocol::Tcp, 5201, 50_000),
        tuple(Protocol::Tcp, 5201, 50_001),
        tuple(Protocol::Tcp, 50_002, 5201),
        tuple(Protocol::Udp, 5201, 40_001),
        tuple(Protocol::Icmp, 0, 0),
    ];
    let (found, _) = names(&config(), &near);
    let expected =
        [("call", 1), ("bulk", 1), ("udp 2112", 1), ("tcp 5201", 3), ("udp 5201", 1), ("icmp", 1)];
    assert_eq!(found, owned(&expected));
}

#[test]
fn a_foreign_flow_is_treated_as_the_scenarios_of_its_qfi() {
    let (_, call) = names(&config(), &[tuple(Protocol::Udp, 9, 9)]);
    let (_, bulk) = names(&config(), &[tuple(Protocol::Tcp, 9, 9)]);
    assert_eq!(call, Some(Opened { low_latency: true, extra_delay: ms(0) }));
    assert_eq!(bulk, Some(Opened { low_latency: false, extra_delay: ms(3) }));
}

#[test]
fn one_port_in_two_qfis_has_two_names_and_unmatched_packets_say_so() {
    let mut config = config();
    let rules = &mut config.stack.ue_mut(0).rules;
    rules[0].source_port = Some(53);
    rules[1] = PacketDetectionRule { protocol: Some(Protocol::Udp), ..rules[1].clone() };
    let tuples =
        [tuple(Protocol::Udp, 53, 99), tuple(Protocol::Udp, 99, 53), tuple(Protocol::Tcp, 53, 99)];
    let (found, _) = names(&config, &tuples);
    let expected =
        [("call", 0), ("bulk", 0), ("udp 53", 1), ("udp 53 qfi9", 1), ("tcp 53 no_rule", 1)];
    assert_eq!(found, owned(&expected));
}

#[test]
fn the_names_of_foreign_flows_are_bounded() {
    let many: Vec<FiveTuple> = (1..=1_000).map(|port| tuple(Protocol::Tcp, port, 60_000)).collect();
    let (found, _) = names(&config(), &many);
    assert_eq!(found.len(), 2 + 16 + 1);
    assert_eq!(found.last(), Some(&("tcp".to_owned(), 984)));
}

#[test]
fn the_names_of_foreign_flows_are_bounded_over_all_ues() {
    let mut config = config();
    config.stack.ues = vec![config.stack.ues[0].clone(); 100];
    let mut record = LiveRecorder::new(&config).expect("sound settings");
    for ue in 0..100 {
        (1..=30).for_each(|port| {
            _ = record.open(Instant::ZERO, ue, &tuple(Protocol::Tcp, port, 60_000), Dscp::default())
        });
    }
    let stack = Stack::new(&config.stack).expect("a valid cell");
    let result = record.finish(Instant::ZERO + config.duration, &stack, &idle());
    assert_eq!(result.flows.len(), 2 + 1_000 + 1);
    let last = result.flows.last().expect("some");
    assert_eq!(result.flows.iter().map(|flow| flow.flows).sum::<u32>(), 3_000);
    assert!(last.name == "others" && last.flows > 1_000, "{last:?}");
    assert_eq!((result.broken, result.never_acted), (None, Vec::new()));
}

/// A live run goes on after a packet that beats its bound, and its result reports the packet, in
/// the warm-up or later.
#[test]
fn a_tracked_packet_that_beats_its_bound_breaks_the_run_by_name() {
    let config = config();
    let stack = Stack::new(&config.stack).expect("a valid cell");
    let at = |ms| Instant::ZERO + justfull_testkit::ms(ms);
    let broken = |entered, left, bound| {
        let mut record = LiveRecorder::new(&config).expect("sound settings");
        record.open(Instant::ZERO, 0, &tuple(Protocol::Udp, 2112, 40_000), Dscp::default());
        let packet = Packet { entered, tracked: true, ..Packet::default() };
        record.delivered(left, &packet, Some(bound));
        record.finish(Instant::ZERO + config.duration, &stack, &idle()).broken
    };
    assert_eq!(broken(at(500), at(502), at(502)), None);
    for entered in [500, 1] {
        let found = broken(at(entered), at(entered + 1), at(entered + 2)).expect("it is early");
        assert!(found.starts_with("delay >= bound: packet of flow call: entered"), "{found}");
    }
}

/// RFC 3550 section 6.4.1 by hand: delays of 10, 26, 10 and 10 ms differ by 16, 16 and 0 ms, and a
/// sixteenth of the distance gives 1, then 1.9375, then 1.81640625 ms. Lost packets are skipped.
#[test]
fn the_jitter_of_a_flow_goes_a_sixteenth_of_the_way_to_each_difference() {
    let config = config();
    let stack = Stack::new(&config.stack).expect("a valid cell");
    let mut record = LiveRecorder::new(&config).expect("sound settings");
    record.open(Instant::ZERO, 0, &tuple(Protocol::Udp, 2112, 40_000), Dscp::default());
    record.open(Instant::ZERO, 0, &tuple(Protocol::Tcp, 5201, 40_001), Dscp::default());
    for (entered, delay) in [(500, 10), (520, 26), (580, 10), (600, 10)] {
        let entered = Instant::ZERO + ms(entered);
        let packet = Packet { entered, ..Packet::default() };
        record.delivered(entered + ms(delay), &packet, None);
        // Of another flow, whose delays are not mixed in.
        record.delivered(entered + ms(3), &Packet { flow: 1, ..packet }, None);
    }
    let end = Instant::ZERO + config.duration;
    let result = record.finish(end, &stack, &idle());
    let near = |found: Option<f64>, ms: f64| found.is_some_and(|found| (found - ms).abs() < 1e-6);
    let [call, bulk] = &result.flows[..] else { panic!("two names: {:?}", result.flows) };
    assert!(near(call.jitter_mean_ms, (1.0 + 1.9375 + 1.81640625) / 3.0), "{call:?}");
    assert!(near(call.ipdv_mean_ms, 32.0 / 3.0), "{call:?}");
    assert!(near(bulk.jitter_mean_ms, 0.0), "{bulk:?}");
}

#[test]
fn in_a_cell_of_several_ues_a_foreign_name_says_whose_it_is() {
    let mut config = config();
    config.stack.ues.push(config.stack.ues[0].clone());
    let (found, _) = names(&config, &[tuple(Protocol::Tcp, 80, 60_000)]);
    assert_eq!(found[2], ("ue0 tcp 80".to_owned(), 1));
}

#[test]
fn the_series_of_a_run_that_ends_early_end_with_it() {
    let config = config();
    let series = |end| {
        let record = LiveRecorder::new(&config).expect("sound settings");
        let stack = Stack::new(&config.stack).expect("a valid cell");
        record.finish(Instant::ZERO + end, &stack, &idle()).series
    };
    let (whole, early) = (series(config.duration), series(ms(255)));
    assert_eq!(whole.rlc_packets.len(), config.series_bins as usize);
    let reached = (0.255 / early.bin_s).ceil() as usize;
    assert_eq!((early.rlc_packets.len(), early.delivered_mbit_s.len()), (reached, reached));
}

#[test]
fn a_foreign_flow_is_active_from_its_first_packet_to_its_last_payload_and_counts_once_closed() {
    let config = config();
    let stack = Stack::new(&config.stack).expect("a valid cell");
    let at = |n| Instant::ZERO + ms(n);
    let mut record = LiveRecorder::new(&config).expect("sound settings");
    let foreign = tuple(Protocol::Tcp, 80, 60_000);
    record.open(at(250), 0, &foreign, Dscp::default());
    record.goodput(at(300), 0, 50_000);
    record.goodput(at(450), 0, 50_000);
    record.goodput(at(500), 0, 0);
    record.reopen(at(600), 0, 0, &foreign, Dscp::default());
    record.goodput(at(650), 0, 25_000);
    let own = tuple(Protocol::Udp, 2112, 40_000);
    record.open(at(700), 0, &own, Dscp::default());
    record.goodput(at(800), 1, 10_000);
    let end = Instant::ZERO + config.duration;
    let result = record.finish(end, &stack, &idle());
    let [call, _, http] = &result.flows[..] else { panic!("three names: {:?}", result.flows) };
    assert_eq!((http.active_from_s, http.active_to_s), (Some(0.25), Some(0.65)));
    assert!((http.goodput_bytes() - 125_000.0).abs() < 1e-6, "{http:?}");
    // 100 kB in 200 ms and 25 kB in 50 ms.
    assert!(http.jain_index.is_some_and(|jain| (jain - 1.0).abs() < 1e-9), "{http:?}");
    let window = (Some(config.warmup.as_secs_f64()), Some(1.0));
    assert_eq!((call.active_from_s, call.active_to_s), window, "as the scenario says");
}
