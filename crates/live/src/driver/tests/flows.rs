//! Flows: their rules, names and places.

use super::*;

#[test]
fn the_codepoint_and_the_addresses_of_a_datagram_reach_the_rules_of_both_families() {
    let mut config = config(ms(1), 15_000, droptail(), vec![source(100, 1_000)]);
    let qfi = |n| Qfi::new(n).expect("below 64");
    let v6 = |last| [0xfd, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let ue = config.stack.ue_mut(0);
    ue.qos_flows =
        (1..=3).map(|n| QosFlowConfig { qfi: qfi(n), ..ue.qos_flows[0].clone() }).collect();
    ue.rules = vec![
        PacketDetectionRule { dscp: Dscp::new(46), ..PacketDetectionRule::any(qfi(1)) },
        PacketDetectionRule {
            source: "fd45::/64".parse().ok(),
            ..PacketDetectionRule::any(qfi(2))
        },
        PacketDetectionRule {
            destination: "10.0.1.1".parse().ok(),
            ..PacketDetectionRule::any(qfi(3))
        },
    ];
    let v4_marked = |dscp: u8| {
        let mut out = Vec::new();
        let mut header = etherparse::Ipv4Header::new(0, 64, 17.into(), SERVER, UE).expect("short");
        header.dscp = dscp.try_into().expect("below 64");
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
            .udp(1, 2)
            .write(&mut out, &[0; 10])
            .expect("memory takes it");
        out
    };
    let v6_marked = |dscp: u8, from: u8| {
        let mut out = Vec::new();
        let header = etherparse::Ipv6Header {
            traffic_class: dscp << 2,
            hop_limit: 64,
            source: v6(from),
            destination: mapped(UE),
            ..Default::default()
        };
        PacketBuilder::ip(etherparse::IpHeaders::Ipv6(header, Default::default()))
            .udp(1, 2)
            .write(&mut out, &[0; 10])
            .expect("memory takes it");
        out
    };
    // One flow changes its codepoint on the way: EF, default, EF.
    let sent = [
        v4_marked(46),
        v4_marked(0),
        v4_marked(46),
        v6_marked(46, 1),
        v6_marked(0, 1),
        v6_marked(10, 1),
    ];
    let packets = (0..).zip(&sent).map(|(i, bytes)| (at(1_000 + i), bytes.clone()));
    let (result, report, (at_ue, _)) = Bench::new(packets.collect(), Vec::new()).run(&config);
    assert_eq!((report.down.delivered, report.flows), (6, 5));
    let counted = |n: u8| {
        let flows = result.flows.iter().filter(|flow| flow.qfi == n);
        flows.map(|flow| flow.delivered_packets).sum::<u64>()
    };
    assert_eq!([counted(1), counted(2), counted(3)], [3, 2, 1], "{:?}", result.flows);
    let arrived: Vec<_> = at_ue.into_iter().map(|(_, bytes)| bytes).collect();
    assert!(sent.iter().all(|bytes| arrived.contains(bytes)), "nothing is changed on the way");
}

/// Packets delivered and dropped: of all flows of `result`, and of the first.
fn fates(result: &RunResult) -> [u64; 2] {
    let fate =
        |flow: &justfull_run::results::FlowResult| flow.delivered_packets + flow.dropped_packets;
    [result.flows.iter().map(fate).sum(), fate(&result.flows[0])]
}

#[test]
fn after_a_flood_of_flows_the_next_has_its_own_place_and_a_returning_flow_its_own_name() {
    let config = config(ms(1), 15_000, droptail(), vec![source(100, 1_000)]);
    let of = |from: u64, port: u16| (at(from), udp(SERVER, UE, port, 100));
    let own = |from: u64| (0..5).map(move |i| of(from + i * 1_000, 6000));
    let flood = (0..1_000).map(|i| of(100_000 + i * 1_000, 7_000 + i as u16));
    let mut bench =
        Bench::new(own(10_000).chain(flood).chain(own(1_500_000)).collect(), Vec::new());
    bench.options.flows = 10;
    let (result, report, _) = bench.run(&config);
    assert_eq!((report.flows, report.aged_flows, report.shared_packets), (1_002, 992, 0));
    assert_eq!(fates(&result), [1_010, 10], "no packet is counted under another's name");
    let named = &result.flows[0];
    assert_eq!(
        (named.flows, named.delay.count, named.jain_index),
        (2, 10, Some(1.0)),
        "both times as much"
    );
    assert_eq!(result.flows.iter().map(|flow| flow.flows).sum::<u32>(), 1_002);
}

#[test]
fn observers_see_the_counts_of_64_names_and_of_the_others_together() {
    let config = config(ms(1), 15_000, droptail(), vec![source(100, 1_000); 70]);
    let packets = (0..700).map(|i| (at(i * 1_000), udp(SERVER, UE, 6_000 + i as u16 % 70, 100)));
    let mut seen = Seen::default();
    let (result, ..) = Bench::new(packets.collect(), Vec::new()).watched(&config, &mut seen);
    let names = seen.0.expect("it was watched").names;
    assert_eq!(names.len(), 65);
    for (flow, of) in result.flows.iter().zip(&names[..64]) {
        let place = Some((flow.ue, flow.qfi));
        assert_eq!((&*of.name, of.place, of.low_latency), (&*flow.name, place, flow.low_latency));
        assert_eq!((of.packets, of.bytes, of.dropped), (10, 1_280, 0), "20 B and 8 B of headers");
        assert_eq!(of.delay.count, flow.delay.count);
    }
    let others = &names[64];
    assert_eq!((&*others.name, others.place, others.packets), ("other flows", None, 60));

    // A queue of three packets gets ten at once.
    let limit = Limit::Packets(3);
    let config =
        self::config(ms(1), 128, QueueConfig { limit, ..droptail() }, vec![source(100, 1_000)]);
    let packets = (0..10).map(|_| (at(1_000), udp(SERVER, UE, 6_000, 100)));
    let mut seen = Seen::default();
    let (result, ..) = Bench::new(packets.collect(), Vec::new()).watched(&config, &mut seen);
    let of = &seen.0.expect("it was watched").names[0];
    let flow = &result.flows[0];
    assert!(of.dropped > 0, "{flow:?}");
    assert_eq!([of.packets, of.dropped], [flow.delivered_packets, flow.dropped_packets]);
}

#[test]
fn a_flow_whose_packets_are_on_their_way_keeps_its_place() {
    // 30 ms of the cell's work, and a flood while it waits: each packet keeps its flow, delivered
    // or dropped.
    let config = config(ms(1), 1_500, droptail(), vec![source(1_400, 1_000)]);
    let own = (0..60).map(|i| (at(1_000 + i), udp(SERVER, UE, 6000, 1_400)));
    let flood =
        (0..500_u16).map(|i| (at(2_000 + u64::from(i) * 50), udp(SERVER, UE, 7_000 + i, 20)));
    let mut bench = Bench::new(own.chain(flood).collect(), Vec::new());
    bench.options.flows = 10;
    let (result, report, _) = bench.run(&config);
    assert_eq!(fates(&result), [560, 60], "{:?}", result.flows);
    assert_eq!(result.flows[0].flows, 1, "it was never opened again");
    assert!(report.shared_packets > 100, "all ten have packets in the queue: {report:?}");
}

#[test]
fn a_flow_that_no_scenario_names_has_delays_of_its_own_where_the_scenarios_own_are_silent() {
    let config = config(ms(1), 15_000, droptail(), vec![source(100, 1_000)]);
    let packets =
        (0..200).map(|i| (at(10_000 + i * 1_003), udp(SERVER, UE, 5201 + (i % 2) as u16, 100)));
    let (result, _, _) = Bench::new(packets.collect(), Vec::new()).run(&config);
    let rows: Vec<_> =
        result.flows.iter().map(|flow| (flow.name.as_str(), flow.delay.count)).collect();
    assert_eq!(
        rows,
        [("udp0", 0), ("udp 2112", 200)],
        "by the lower port, which is the server's here"
    );
    assert!(
        result.flows[1].delay.mean_ms > 0.3 && result.flows[1].delay.max_ms < 1.5,
        "{:?}",
        result.flows[1]
    );
}
