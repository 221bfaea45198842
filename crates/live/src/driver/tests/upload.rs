//! The row of an upload counts its data, and its goodput covers the time of its flow.

use super::*;
use justfull_ran::{CarrierConfig, CarrierKind, HarqConfig, MacConfig, UplinkMacConfig};
use justfull_run::{Transport, UplinkStack};
use justfull_tcp::{ReceiverConfig, SenderConfig};

/// An upload over packets of UDP on ports 2112 and 6000.
pub(super) fn upload() -> Traffic {
    let (sender, receiver) = (SenderConfig::default(), ReceiverConfig::default());
    Traffic::Upload {
        sender: Box::new(sender),
        receiver: Box::new(receiver),
        size: None,
        rate: None,
        transport: Transport::Udp,
    }
}

/// A packet of `payload` bytes to port 2112 of the server.
pub(super) fn to_server(payload: usize) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(UE, SERVER, 64)
        .udp(6000, 2112)
        .write(&mut out, &vec![0; payload])
        .expect("memory takes it");
    out
}

#[test]
fn the_data_of_an_upload_is_what_its_row_counts() {
    let mut config = config(ms(1), 1_500, droptail(), vec![upload()]);
    // 12 ms for each packet of 1500 B: the third waits for two others, the fourth finds no room.
    config.uplink.rate = BitRate(1_000_000);
    config.uplink.limit = Bytes(4_600);
    let down = (0..40).map(|i| (at(i * 10_000), udp(SERVER, UE, 6000, 20)));
    let up = [100_000, 100_100, 100_200, 100_300, 400_000].map(|us| (at(us), to_server(1_472)));
    let (result, _, (_, reached)) = Bench::new(down.collect(), up.to_vec()).run(&config);
    assert_eq!(reached.len(), 4);
    let flow = &result.flows[0];
    let packets = (flow.entered_packets, flow.dropped_packets, flow.delivered_packets);
    assert_eq!((flow.direction.as_str(), packets), ("up", (5, 1, 4)));
    assert_eq!(flow.delay, result.uplink.wait);
    assert!((35.0..36.1).contains(&flow.delay.max_ms), "{:?}", flow.delay);
    assert!((flow.goodput_bytes() - 4.0 * 1_472.0).abs() < 1e-6, "{} B", flow.goodput_bytes());
    assert_eq!(result.conservation.delivered, 40, "what came down is counted in the chain");
    config.uplink.rate = BitRate(0);
    let up = [100_000, 100_100].map(|us| (at(us), to_server(1_472)));
    let down = vec![(at(0), udp(SERVER, UE, 6000, 20))];
    let flow = Bench::new(down, up.to_vec()).run(&config).0.flows.remove(0);
    assert_eq!((flow.delivered_packets, flow.delay.max_ms), (2, 0.0));
}

#[test]
fn buffers_come_back_from_an_uplink_that_drops_on_entry_and_on_the_air() {
    let mut config = config(ms(1), 1_500, droptail(), vec![upload()]);
    let mac = UplinkMacConfig {
        slot: *config.stack.mac.slot(),
        carrier: CarrierConfig { kind: CarrierKind::Nr, ..CarrierConfig::default() },
        harq: HarqConfig { bler: Ratio(0.5), transmissions: 1, ..HarqConfig::default() },
        ..UplinkMacConfig::default()
    };
    let mut chain = config.stack.clone();
    chain.mac = MacConfig::Uplink(mac);
    chain.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![20], ..McsConfig::default() });
    chain.rlc.queue = QueueConfig::tail_drop(Limit::Packets(4));
    chain.assert_bound = false;
    config.uplink.stack = Some(Box::new(UplinkStack { chain, ack_filter: false }));
    let down = vec![(at(0), udp(SERVER, UE, 6000, 20))];
    let up = (0..60).map(|i| (at(100_000 + i / 6 * 180_000), to_server(1_472)));
    // The run's end asserts that each buffer in use holds a queued packet.
    let (result, _, (_, reached)) = Bench::new(down, up.collect()).run(&config);
    let stack = result.uplink.stack.as_ref().expect("a stack");
    let dropped = |name: &str| {
        stack.drops.iter().find(|(reason, _)| reason == name).map_or(0, |(_, count)| *count)
    };
    let (overflow, harq) = (dropped("overflow"), dropped("harq"));
    assert!(overflow >= 20 && harq > 0, "at least two of six each time: {stack:?}");
    let (came, waits) = (reached.len() as u64, result.uplink.queued);
    assert!(came > 0);
    assert_eq!(came + overflow + harq + waits, 60);
    let flow = &result.flows[0];
    assert_eq!(flow.delivered_packets, reached.len() as u64);
    assert_eq!(flow.entered_packets, 60);
}

#[test]
fn the_scenarios_flows_count_over_its_times_and_others_from_first_packet_to_last_payload() {
    let mut config = config(ms(1), 1_500, droptail(), vec![source(1_250, 10_000)]);
    (config.flows[0].start, config.flows[0].stop) = (ms(500), Some(ms(1_000)));
    let own = (50..100).map(|i| (at(i * 10_000), udp(SERVER, UE, 6000, 1_250)));
    let other = (20..40).map(|i| (at(i * 10_000 + 5_000), udp(SERVER, UE, 7000, 1_250)));
    let mut down: Vec<Timed> = own.chain(other).collect();
    down.sort_by_key(|(at, _)| *at);
    let (result, ..) = Bench::new(down, Vec::new()).run(&config);
    let [own, other] = &result.flows[..] else { panic!("two names: {:?}", result.flows) };
    assert_eq!((own.active_from_s, own.active_to_s), (Some(0.5), Some(1.0)));
    assert!((own.goodput_mbit_s - 1.0).abs() < 1e-9, "{} Mbit/s", own.goodput_mbit_s);
    let from = other.active_from_s.expect("it is active");
    let to = other.active_to_s.expect("it is active");
    assert!((from - 0.205).abs() < 1e-3 && (to - 0.395).abs() < 2e-3, "{from} to {to}");
    assert!((other.goodput_bytes() - 20.0 * 1_250.0).abs() < 1e-6);
}
