//! Whole live runs on this machine: the stack between real namespaces, the kernel's own IPv6 and
//! TCP at its ends.
//!
//! Without the right to build networks a test prints that it was skipped; under `CI` that is a
//! failure.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use justfull_base::{BitRate, Bytes, Dscp, Duration, Qfi};
use justfull_live::capture::{Place, Recorder, ring};
use justfull_live::{Ends, Live, LiveOptions, LiveReport, UePort};
use justfull_net::chain::can_build;
use justfull_net::clock::{PRIORITY, SlotClock, raise_priority};
use justfull_net::{Network, NetworkConfig, Side};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, ConstantConfig};
use justfull_ran::{
    BytesConfig, FiveTuple, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig, QosFlowConfig,
    RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_run::results::{FlowResult, RunResult};
use justfull_run::{FlowConfig, Interval, Traffic, UplinkConfig, WorldConfig};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::sync::Arc;

const UE: Side = Side::Ue(0);

/// One-way delay of the uplink.
const UP: std::time::Duration = std::time::Duration::from_millis(5);

/// Time limit of every wait for something that does come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

fn qfi(number: u8) -> Qfi {
    Qfi::new(number).expect("below 64")
}

/// A UE of one bearer with the QoS flows of `rules` and QFI 9 for all other packets.
fn ue(rules: Vec<PacketDetectionRule>) -> UeConfig {
    let rules = rules.into_iter().chain([PacketDetectionRule::any(qfi(9))]).collect::<Vec<_>>();
    let qos_flow = |rule: &PacketDetectionRule| QosFlowConfig {
        qfi: rule.qfi,
        drb: 0,
        priority: 0,
        weight: 1,
        queue: None,
    };
    UeConfig {
        drx: None,
        drbs: 1,
        qos_flows: rules.iter().map(qos_flow).collect(),
        rules,
        channel: None,
        slice: 0,
    }
}

/// A cell of one UE and 24 Mbit/s, in slots of 1 ms, with a QoS flow for each of `rules` and one
/// for the rest.
fn config(rules: Vec<PacketDetectionRule>) -> WorldConfig {
    let slot = Duration::from_millis(1);
    WorldConfig {
        scenario: "test".into(),
        method: "test".into(),
        stack: StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig::default(),
            rlc: RlcConfig {
                queue: QueueConfig::tail_drop(Limit::Bytes(200_000)),
                ..RlcConfig::default()
            },
            mac: MacConfig::Bytes(BytesConfig {
                slot: PollConfig::every(slot),
                ..BytesConfig::default()
            }),
            channel: ChannelConfig::Constant(ConstantConfig { per_slot: 3_000 }),
            ues: vec![Arc::new(ue(rules))],
            pdcp: PdcpConfig::default(),
            slices: Vec::new(),
            scells: Vec::new(),
            tie_order: TieOrder::TopDown,
            mtu: 1500,
            seed: 1,
            assert_bound: false,
        },
        flows: vec![FlowConfig {
            name: "never sent".into(),
            ue: 0,
            tuple: FiveTuple { source_port: 1, destination_port: 2, ..FiveTuple::default() },
            dscp: Dscp::default(),
            traffic: Traffic::Udp { payload: Bytes(100), interval: Interval::Constant(slot) }
                .into(),
            low_latency: false,
            start: Duration::ZERO,
            stop: None,
            extra_delay: Duration::ZERO,
            proxied: None,
            delay_budget: None,
        }],
        core_rate: BitRate(0),
        core_delay: Duration::ZERO,
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: Duration::from_nanos(UP.as_nanos() as u64),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
            cell_aqm: None,
            zhuge: None,
        },
        duration: Duration::from_secs(60),
        warmup: Duration::ZERO,
        series_bins: 10,
        cells: None,
        entity_backlog: false,
        proxy: Default::default(),
    }
}

/// Ends the run on every way out, also after a failed assertion.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` while the cell of `config` connects the sides.
fn through(config: &WorldConfig, work: impl FnOnce(&Network)) -> (RunResult, LiveReport) {
    through_with(config, &LiveOptions::default(), work)
}

fn through_with(
    config: &WorldConfig,
    options: &LiveOptions,
    work: impl FnOnce(&Network),
) -> (RunResult, LiveReport) {
    across(config, options, &NetworkConfig::new(1), ring(1).0, work)
}

fn across(
    config: &WorldConfig,
    options: &LiveOptions,
    network: &NetworkConfig,
    recorder: Recorder,
    work: impl FnOnce(&Network),
) -> (RunResult, LiveReport) {
    let mut network = Network::build(network).expect("a network");
    let mut take = |side| network.take_tun(side).expect("each is taken once");
    let (server, ue) = (take(Side::Server), take(UE));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            let ends =
                Ends { ues: vec![UePort { port: ue, addresses: UE.addresses().to_vec() }], server };
            let live = Live::new(config, options, ends).expect("sound settings");
            live.recorded(recorder).run(
                &mut SlotClock::start().expect("a clock"),
                raise_priority(PRIORITY),
                &stop,
                &mut (),
            )
        });
        let stops = Stops(&stop);
        work(&network);
        drop(stops);
        run.join().expect("the run ends")
    })
}

fn v6(side: Side) -> Ipv6Addr {
    let of = |address| if let IpAddr::V6(v6) = address { Some(v6) } else { None };
    side.addresses().into_iter().find_map(of).expect("each side has one")
}

/// Packets delivered of QFI `number`.
fn delivered(result: &RunResult, number: u8) -> u64 {
    result.flows.iter().filter(|flow| flow.qfi == number).map(|flow| flow.delivered_packets).sum()
}

/// The same as `ping -6` from the server: `count` echo requests (RFC 4443 section 4.1) with the
/// traffic class of `dscp`, each answered by the UE's kernel.
fn ping(network: &Network, dscp: u8, count: u16) {
    let socket = network
        .inside(Side::Server, || {
            let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.set_tclass_v6(u32::from(dscp) << 2)?;
            Ok(socket)
        })
        .expect("a raw socket");
    let target = SockAddr::from(SocketAddr::from(SocketAddrV6::new(v6(UE), 0, 0, 0)));
    for number in 0..count {
        let [high, low] = number.to_be_bytes();
        // Type, code, checksum by the kernel, identifier, number, data.
        let request = [128, 0, 0, 0, 0x4a, 0x46, high, low, 1, 2, 3, 4];
        let clock = SlotClock::start().expect("a clock");
        socket.send_to(&request, &target).expect("sent");
        let mut buffer = [0; 200];
        let length = (&socket).read(&mut buffer).expect("an answer");
        let answer = &buffer[..length];
        assert_eq!(
            (answer[0], &answer[4..]),
            (129, &request[4..]),
            "an echo reply to request {number}"
        );
        let rtt = since(clock);
        assert!(rtt >= UP, "the way back takes {UP:?}: {rtt:?}");
    }
}

fn since(mut start: SlotClock) -> std::time::Duration {
    use justfull_net::clock::Clock;
    std::time::Duration::from_nanos(start.now().as_nanos())
}

#[test]
fn pings_over_ipv6_go_through_the_stack_and_their_codepoint_names_the_qfi() {
    if !can_build() {
        return;
    }
    let expedited = PacketDetectionRule { dscp: Dscp::new(46), ..PacketDetectionRule::any(qfi(1)) };
    let (result, report) = through(&config(vec![expedited]), |network| {
        ping(network, 46, 10);
        ping(network, 0, 5);
    });
    assert_eq!((delivered(&result, 1), delivered(&result, 9)), (10, 5), "{:?}", result.flows);
    assert_eq!((report.down.delivered, report.up.delivered), (15, 15));
    assert_eq!((report.down.malformed_total(), report.up.malformed_total()), (0, 0));
}

#[test]
fn a_tcp_connection_over_ipv6_goes_through_the_rule_of_its_prefix() {
    if !can_build() {
        return;
    }
    let bytes = 500_000;
    let from = |prefix: &str, number| PacketDetectionRule {
        source: prefix.parse().ok(),
        ..PacketDetectionRule::any(qfi(number))
    };
    let (result, _) =
        through(&config(vec![from("10.46.0.0/16", 1), from("fd46::/16", 2)]), |network| {
            let address = (v6(Side::Server), 0);
            let listener =
                network.inside(Side::Server, || TcpListener::bind(address)).expect("a listener");
            let target = listener.local_addr().expect("its address");
            let mut at_ue = network
                .inside(UE, || TcpStream::connect_timeout(&target, PATIENCE))
                .expect("it opens");
            let (mut at_server, _) = listener.accept().expect("its other end");
            let sender = thread::spawn(move || at_server.write_all(&vec![7; bytes]));
            let mut received = vec![0; bytes];
            at_ue.set_read_timeout(Some(PATIENCE)).expect("a time");
            at_ue.read_exact(&mut received).expect("it arrives");
            sender.join().expect("it ends").expect("sent");
            assert!(received.iter().all(|byte| *byte == 7));
        });
    assert!(delivered(&result, 2) >= bytes as u64 / 1_440, "{:?}", result.flows);
    assert_eq!((delivered(&result, 1), delivered(&result, 9)), (0, 0));
}

#[test]
fn a_flood_without_buffers_has_entered_and_is_dropped_and_the_way_up_loses_nothing() {
    if !can_build() {
        return;
    }
    let options = LiveOptions { buffers: 64, ..LiveOptions::default() };
    let (result, report) = through_with(&config(Vec::new()), &options, |network| {
        let bind = |side| {
            let socket = network.inside(side, || UdpSocket::bind((v6(side), 0)));
            let socket = socket.expect("a socket");
            socket.set_read_timeout(Some(PATIENCE)).expect("a time");
            let address = socket.local_addr().expect("its address");
            (socket, address)
        };
        let ((server, to_server), (ue, to_ue)) = (bind(Side::Server), bind(UE));
        for _ in 0..20 {
            for _ in 0..250 {
                server.send_to(&[0; 1_000], to_ue).expect("the interface takes or loses it");
            }
            ue.send_to(&[1], to_server).expect("it is sent");
            assert_eq!(server.recv(&mut [0; 2]).expect("it comes"), 1);
        }
    });
    let (down, up) = (report.down, report.up);
    assert!(down.no_buffer > 1_000, "{down:?}");
    assert!(up.no_buffer == 0 && up.dropped == 0 && up.delivered >= 20, "{up:?}");
    let sum = |of: fn(&FlowResult) -> u64| result.flows.iter().map(of).sum::<u64>();
    let seen = down.received - down.malformed_total() - down.no_ue;
    assert_eq!(sum(|flow| flow.entered_packets), seen, "all that came: {down:?}");
    assert_eq!(sum(|flow| flow.dropped_packets), down.no_buffer + down.dropped);
}

/// A cell of 800 Mbit/s.
fn wide() -> WorldConfig {
    let mut config = config(Vec::new());
    config.stack.channel = ChannelConfig::Constant(ConstantConfig { per_slot: 100_000 });
    config.stack.rlc.queue = QueueConfig::tail_drop(Limit::Bytes(8_000_000));
    config
}

/// Sends `bytes` bytes from one side to the other over one TCP connection, and checks that the same
/// bytes arrive.
fn transfer(network: &Network, from: Side, to: Side, address: IpAddr, bytes: usize) {
    let listener = network.inside(from, || TcpListener::bind((address, 0))).expect("a listener");
    let target = listener.local_addr().expect("its address");
    let mut reader =
        network.inside(to, || TcpStream::connect_timeout(&target, PATIENCE)).expect("it opens");
    let (mut writer, _) = listener.accept().expect("its other end");
    let content = |i: usize| (i * 7 + i / 251) as u8;
    let sent: Vec<u8> = (0..bytes).map(content).collect();
    let sender = thread::spawn(move || writer.write_all(&sent));
    let mut received = vec![0; bytes];
    reader.set_read_timeout(Some(PATIENCE)).expect("a time");
    reader.read_exact(&mut received).expect("it arrives");
    sender.join().expect("it ends").expect("sent");
    assert!(received.iter().enumerate().all(|(i, byte)| *byte == content(i)), "the same bytes");
}

#[test]
fn segments_that_the_kernel_joins_are_packets_in_the_stack_and_whole_at_their_ends() {
    if !can_build() {
        return;
    }
    let (recorder, frames) = ring(200_000);
    let (options, network) = (LiveOptions::default(), NetworkConfig::new(1));
    let (result, report) = across(&wide(), &options, &network, recorder, |network| {
        for address in Side::Server.addresses() {
            transfer(network, Side::Server, UE, address, 4_000_000);
        }
        for address in UE.addresses() {
            transfer(network, UE, Side::Server, address, 1_000_000);
        }
    });
    let mut reached = 0;
    let seen = frames.drain(|frame| {
        reached += u64::from(frame.place == Place::Air);
        if frame.original > 1_500 { Err(frame.original) } else { Ok(()) }
    });
    assert_eq!((seen, reached), (Ok(false), report.down.delivered), "each packet alone");
    assert!(report.joined.cut > 50 && report.joined.joined > 10, "{:?}", report.joined);
    for (account, least) in [(report.down, 8_000_000 / 1_448), (report.up, 2_000_000 / 1_448)] {
        assert_eq!((account.malformed_total(), account.refused), (0, 0), "{account:?}");
        assert!(account.delivered >= least, "none is longer than the MTU: {account:?}");
    }
    assert!(delivered(&result, 9) >= 8_000_000 / 1_448, "{:?}", result.flows);
}

#[test]
fn without_offloads_the_kernel_gives_and_takes_single_packets() {
    if !can_build() {
        return;
    }
    let network = NetworkConfig { joined: false, ..NetworkConfig::new(1) };
    let (options, (recorder, _)) = (LiveOptions::default(), ring(1));
    let (_, report) = across(&wide(), &options, &network, recorder, |network| {
        transfer(network, Side::Server, UE, v6(Side::Server).into(), 1_000_000);
    });
    assert_eq!((report.joined.cut, report.joined.joined), (0, 0));
    assert!(report.down.delivered >= 1_000_000 / 1_440, "{:?}", report.down);
}

#[test]
fn datagrams_that_a_socket_sends_in_one_call_arrive_one_by_one() {
    if !can_build() {
        return;
    }
    let (_, report) = through(&wide(), |network| {
        for (from, to) in Side::Server.addresses().into_iter().zip(UE.addresses()) {
            let bind = |side, address| {
                let socket = network.inside(side, || UdpSocket::bind((address, 0)));
                let socket = socket.expect("a socket");
                socket.set_read_timeout(Some(PATIENCE)).expect("a time");
                socket
            };
            let (server, ue) = (bind(Side::Server, from), bind(UE, to));
            setsockopt(&server, sockopt::UdpGsoSegment, &1_000).expect("Linux has it since 4.18");
            let sent: Vec<u8> = (0..30_500_usize).map(|i| (i / 1_000) as u8).collect();
            server.send_to(&sent, ue.local_addr().expect("its address")).expect("sent");
            for (number, datagram) in sent.chunks(1_000).enumerate() {
                let mut received = [0; 1_500];
                let length = ue.recv(&mut received).expect("it arrives");
                assert_eq!(&received[..length], datagram, "datagram {number}");
            }
        }
    });
    assert_eq!((report.down.malformed_total(), report.down.refused), (0, 0));
    assert!(report.down.delivered >= 62, "{:?}", report.down);
}
