//! The machine over real bytes: both families, extension headers, cut and changed packets.

use justfull_base::{Duration, Instant};
use justfull_n3::machine::HEADROOM;
use justfull_n3::{Direction, Machine, TunnelsConfig};
use justfull_nru::{Message, SessionKind, checksum, gtpu};
use proptest::prelude::*;
use std::net::IpAddr;

const MTU: u16 = 1_400;
const GNB: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
const UPF: [&str; 2] = ["192.0.2.129", "2001:db8::129"];
const UE: [&str; 2] = ["10.45.0.1", "fd45::1"];
const SERVER: [&str; 2] = ["203.0.113.1", "2001:db8:1::1"];
const UPLINK: u32 = 0x11;
const DOWNLINK: u32 = 0x22;
const SYN: u8 = 2;
const ACK: u8 = 16;
const RST: u8 = 4;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// An IP packet with a right IPv4 checksum.
fn ip(from: &str, to: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut packet = Vec::new();
    match (address(from), address(to)) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            packet.extend_from_slice(&[0x45, 0]);
            packet.extend_from_slice(&(length + 20).to_be_bytes());
            packet.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
            packet.extend_from_slice(&from.octets());
            packet.extend_from_slice(&to.octets());
            let sum = !checksum::sum(&packet);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            packet.extend_from_slice(&[0x60, 0, 0, 0]);
            packet.extend_from_slice(&length.to_be_bytes());
            packet.extend_from_slice(&[protocol, 64]);
            packet.extend_from_slice(&from.octets());
            packet.extend_from_slice(&to.octets());
        }
        _ => panic!("of one family"),
    }
    packet.extend_from_slice(payload);
    packet
}

/// A transport segment with a right checksum at `at`.
fn summed(from: &str, to: &str, protocol: u8, mut segment: Vec<u8>, at: usize) -> Vec<u8> {
    let octets = |text| match address(text) {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    segment[at..at + 2].fill(0);
    let pseudo = [octets(from), octets(to)].concat();
    let sum = [u16::from(protocol), segment.len() as u16, checksum::sum(&segment)];
    let sum = sum.into_iter().fold(checksum::sum(&pseudo), checksum::add);
    let sum = if sum == u16::MAX { sum } else { !sum };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    ip(from, to, protocol, &segment)
}

/// A TCP segment of UE port 40000 and server port 80, with an MSS option in a first segment.
fn tcp(family: usize, direction: Direction, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (from, to) = match direction {
        Direction::Uplink => (UE[family], SERVER[family]),
        Direction::Downlink => (SERVER[family], UE[family]),
    };
    let (source, destination) = match direction {
        Direction::Uplink => (40_000_u16, 80_u16),
        Direction::Downlink => (80, 40_000),
    };
    let mut segment = Vec::new();
    segment.extend_from_slice(&source.to_be_bytes());
    segment.extend_from_slice(&destination.to_be_bytes());
    segment.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 2]);
    let options: &[u8] = if flags & SYN != 0 { &[1, 1, 2, 4, 0x05, 0xb4, 1, 0] } else { &[] };
    segment.extend_from_slice(&[((20 + options.len()) as u8 / 4) << 4, flags]);
    segment.extend_from_slice(&[0xff, 0xff, 0, 0, 0, 0]);
    segment.extend_from_slice(options);
    segment.extend_from_slice(payload);
    summed(from, to, 6, segment, 16)
}

/// The bytes between UDP and the T-PDU.
#[derive(Clone, Copy)]
struct Tunnel<'a> {
    outer: usize,
    teid: u32,
    sequence: Option<u16>,
    extensions: &'a [(u8, &'a [u8])],
}

const UL: &[(u8, &[u8])] = &[(0x85, &[0x10, 9])];
const DL: &[(u8, &[u8])] = &[(0x85, &[0x00, 9])];

impl Tunnel<'_> {
    fn wrap(&self, direction: Direction, packet: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; packet.len() + 200];
        let mut builder = gtpu::Builder::new(&mut bytes, gtpu::G_PDU, self.teid).expect("room");
        if let Some(sequence) = self.sequence {
            builder.sequence(sequence).expect("room");
        }
        for (kind, content) in self.extensions {
            let write = |room: &mut [u8]| {
                room[..content.len()].copy_from_slice(content);
                Ok(content.len())
            };
            builder.extension(*kind, write).expect("room");
        }
        builder.payload(packet).expect("room");
        let length = builder.finish().expect("short");
        self.datagram(direction, &bytes[..length])
    }

    fn datagram(&self, direction: Direction, message: &[u8]) -> Vec<u8> {
        let (gnb, upf) = (GNB[self.outer], UPF[self.outer]);
        let (from, to) = match direction {
            Direction::Uplink => (gnb, upf),
            Direction::Downlink => (upf, gnb),
        };
        let mut segment = vec![0x12, 0x34, 0x08, 0x68];
        segment.extend_from_slice(&(8 + message.len() as u16).to_be_bytes());
        segment.extend_from_slice(&[0, 0]);
        segment.extend_from_slice(message);
        summed(from, to, 17, segment, 6)
    }
}

fn up(outer: usize) -> Tunnel<'static> {
    Tunnel { outer, teid: UPLINK, sequence: None, extensions: UL }
}

fn down(outer: usize) -> Tunnel<'static> {
    Tunnel { outer, teid: DOWNLINK, sequence: None, extensions: DL }
}

fn config() -> TunnelsConfig {
    TunnelsConfig {
        ues: vec!["10.45.0.0/16".parse().expect("a prefix"), "fd45::/16".parse().expect("one")],
        ..TunnelsConfig::default()
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A machine with the downlink tunnel of the UE of each family.
fn ready(outer: usize) -> Machine {
    let mut machine = Machine::new(&config(), MTU);
    for family in [0, 1] {
        let ping = ip(SERVER[family], UE[family], 17, &[0; 20]);
        assert!(outer_in(&mut machine, Direction::Downlink, &down(outer), &ping).is_none());
    }
    machine
}

/// The part of a tunnelled packet that goes to the proxy.
fn outer_in(
    machine: &mut Machine,
    direction: Direction,
    tunnel: &Tunnel<'_>,
    packet: &[u8],
) -> Option<Vec<u8>> {
    let before = tunnel.wrap(direction, packet);
    let mut bytes = before.clone();
    let place = machine.on_outer(at(1), direction, &mut bytes);
    if place.is_none() {
        assert_eq!(bytes, before, "what passes is equal");
    }
    place.map(|place| bytes[place].to_vec())
}

/// The outer packet of a packet of the proxy.
fn inner_in(machine: &mut Machine, direction: Direction, packet: &[u8]) -> Option<Vec<u8>> {
    let mut room = [&vec![0; HEADROOM][..], packet].concat();
    let begin = machine.on_inner(at(2), direction, &mut room, HEADROOM)?;
    Some(room[begin..].to_vec())
}

/// The message in an outer packet, whose lengths and checksums are right.
fn message(outer: usize, packet: &[u8]) -> Message<'_> {
    let head = if outer == 0 { 20 } else { 40 };
    if outer == 0 {
        assert_eq!(checksum::sum(&packet[..20]), u16::MAX, "IPv4's checksum");
        assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
    } else {
        assert_eq!(usize::from(u16::from_be_bytes([packet[4], packet[5]])), packet.len() - 40);
    }
    let udp = &packet[head..];
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    let addresses = if outer == 0 { &packet[12..20] } else { &packet[8..40] };
    let sum = [17, udp.len() as u16, checksum::sum(udp)];
    let sum = sum.into_iter().fold(checksum::sum(addresses), checksum::add);
    assert_eq!(sum, u16::MAX, "UDP's checksum");
    Message::read(&udp[8..]).expect("GTP-U")
}

#[test]
fn a_connection_goes_to_the_proxy_and_comes_back_into_its_tunnels() {
    for outer in [0, 1] {
        for family in [0, 1] {
            let mut machine = ready(outer);
            let syn = tcp(family, Direction::Uplink, SYN, &[]);
            let inner = outer_in(&mut machine, Direction::Uplink, &up(outer), &syn);
            assert!(inner.is_some(), "it is taken");
            // The proxy's answer comes before any packet of the server.
            let syn_ack = tcp(family, Direction::Downlink, SYN | ACK, &[]);
            let out = inner_in(&mut machine, Direction::Downlink, &syn_ack).expect("a tunnel");
            let found = message(outer, &out);
            assert_eq!((found.kind, found.teid), (gtpu::G_PDU, DOWNLINK));
            let session = found.session().expect("a container").expect("one");
            let kind = SessionKind::Downlink { paging_policy: false, reflective: false };
            assert_eq!((session.kind, session.qfi), (kind, 9));
            let data = tcp(family, Direction::Uplink, ACK, &[5; 100]);
            let out = inner_in(&mut machine, Direction::Uplink, &data).expect("a tunnel");
            let found = message(outer, &out);
            assert_eq!((found.teid, found.payload), (UPLINK, &data[..]));
            let session = found.session().expect("a container").expect("one");
            assert_eq!((session.kind, session.qfi), (SessionKind::Uplink, 9));
            let reply = tcp(family, Direction::Downlink, ACK, &[6; 100]);
            let inner = outer_in(&mut machine, Direction::Downlink, &down(outer), &reply);
            assert_eq!(inner, Some(reply));
            let counts = *machine.counts();
            assert_eq!((counts.taken, counts.returned, counts.homeless), (2, 2, 0));
        }
    }
}

#[test]
fn the_mss_of_first_segments_is_lowered_to_what_fits_and_the_checksum_stays_right() {
    for family in [0, 1] {
        let mut machine = ready(0);
        let syn = tcp(family, Direction::Uplink, SYN, &[]);
        let inner = outer_in(&mut machine, Direction::Uplink, &up(0), &syn).expect("taken");
        let (head, most) = if family == 0 { (20, 1_360) } else { (40, 1_340) };
        let segment = &inner[head..];
        assert_eq!(u16::from_be_bytes([segment[24], segment[25]]), most);
        let addresses = if family == 0 { &inner[12..20] } else { &inner[8..40] };
        let sum = [6, segment.len() as u16, checksum::sum(segment)];
        assert_eq!(sum.into_iter().fold(checksum::sum(addresses), checksum::add), u16::MAX);
        assert_eq!(machine.counts().clamped, 1);
    }
}

#[test]
fn the_qfi_of_each_connection_stays_its_own() {
    let mut machine = ready(0);
    let special = Tunnel { extensions: &[(0x85, &[0x10, 0x3f])], ..up(0) };
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    outer_in(&mut machine, Direction::Uplink, &special, &syn).expect("taken");
    let qfi = |machine: &mut Machine, direction| {
        let out = inner_in(machine, direction, &tcp(0, direction, ACK, &[1])).expect("a tunnel");
        message(0, &out).session().expect("a container").expect("one").qfi
    };
    // Until the server's first packet the QFI is the uplink's.
    assert_eq!(qfi(&mut machine, Direction::Downlink), 0x3f);
    let reply = tcp(0, Direction::Downlink, ACK, &[]);
    let marked = Tunnel { extensions: &[(0x85, &[0x00, 7])], ..down(0) };
    outer_in(&mut machine, Direction::Downlink, &marked, &reply).expect("taken");
    // Another connection's packets have another.
    outer_in(&mut machine, Direction::Downlink, &down(0), &ip(SERVER[0], UE[0], 17, &[0; 20]));
    assert_eq!(qfi(&mut machine, Direction::Downlink), 7);
    assert_eq!(qfi(&mut machine, Direction::Uplink), 0x3f);
}

#[test]
fn extension_headers_of_a_flow_stay_and_headers_of_a_packet_go() {
    let mut machine = ready(0);
    // A service class, and a container with paging policy, time stamp and QFI sequence number.
    let long = [0x0c, 0xc9, 0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9];
    let rich = Tunnel { extensions: &[(0x20, &[7, 0]), (0x85, &long)], ..down(0) };
    let ping = ip(SERVER[0], UE[0], 17, &[0; 20]);
    outer_in(&mut machine, Direction::Downlink, &rich, &ping);
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    outer_in(&mut machine, Direction::Uplink, &up(0), &syn).expect("taken");
    let out = inner_in(&mut machine, Direction::Downlink, &tcp(0, Direction::Downlink, ACK, &[]));
    let out = out.expect("a tunnel");
    let found = message(0, &out);
    let extensions: Vec<_> = found.extensions().map(|e| (e.kind, e.content.to_vec())).collect();
    assert_eq!(extensions, [(0x20, vec![7, 0]), (0x85, vec![0, 0xc9, 0xa0, 0, 0, 0])]);
    assert_eq!(found.sequence, None);
    // A PDCP number belongs to one packet: such tunnels are not used.
    let forwarded = Tunnel { extensions: &[(0xc0, &[0, 1])], ..up(0) };
    let mut machine = ready(0);
    assert!(outer_in(&mut machine, Direction::Uplink, &forwarded, &syn).is_none());
    assert_eq!(machine.counts().other_extensions, 1);
}

#[test]
fn each_connection_of_s1_u_stays_on_the_teid_of_its_bearer() {
    let plain = |teid| Tunnel { outer: 0, teid, sequence: None, extensions: &[] };
    let mut machine = Machine::new(&config(), MTU);
    let ping = ip(SERVER[0], UE[0], 17, &[0; 20]);
    outer_in(&mut machine, Direction::Downlink, &plain(0x50), &ping);
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    outer_in(&mut machine, Direction::Uplink, &plain(0x41), &syn).expect("taken");
    let reply = tcp(0, Direction::Downlink, ACK, &[]);
    outer_in(&mut machine, Direction::Downlink, &plain(0x51), &reply).expect("taken");
    // The default bearer goes on beside it.
    for _ in 0..3 {
        let ping = ip(UE[0], SERVER[0], 17, &[0; 20]);
        outer_in(&mut machine, Direction::Uplink, &plain(0x40), &ping);
        outer_in(&mut machine, Direction::Downlink, &plain(0x50), &ip(SERVER[0], UE[0], 17, &[0]));
    }
    for (direction, teid) in [(Direction::Uplink, 0x41), (Direction::Downlink, 0x51)] {
        let out = inner_in(&mut machine, direction, &tcp(0, direction, ACK, &[1]));
        let out = out.expect("a tunnel");
        assert_eq!(message(0, &out).teid, teid);
    }
    let again = outer_in(&mut machine, Direction::Uplink, &plain(0x41), &syn);
    assert!(again.is_some(), "two bearers are no ambiguity");
}

#[test]
fn after_a_handover_the_newest_tunnel_is_used_and_the_old_one_after_an_end_marker_never() {
    let mut machine = ready(0);
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    outer_in(&mut machine, Direction::Uplink, &up(0), &syn).expect("taken");
    let reply = tcp(0, Direction::Downlink, ACK, &[]);
    outer_in(&mut machine, Direction::Downlink, &down(0), &reply).expect("taken");
    let teid = |machine: &mut Machine| {
        let out = inner_in(machine, Direction::Downlink, &reply).expect("a tunnel");
        message(0, &out).teid
    };
    // A datagram comes through a new tunnel, then the old one ends.
    let new = Tunnel { teid: 0x99, ..down(0) };
    outer_in(&mut machine, Direction::Downlink, &new, &ip(SERVER[0], UE[0], 17, &[0; 20]));
    assert_eq!(teid(&mut machine), DOWNLINK, "it may be another bearer");
    let mut marker = down(0).datagram(Direction::Downlink, &[0x30, 254, 0, 0, 0, 0, 0, 0x22]);
    assert_eq!(machine.on_outer(at(1), Direction::Downlink, &mut marker), None);
    assert_eq!(teid(&mut machine), 0x99);
    // The connection's own packets come through the new one.
    outer_in(&mut machine, Direction::Downlink, &new, &reply).expect("taken");
    assert_eq!(teid(&mut machine), 0x99);
}

#[test]
fn a_teid_that_nobody_opened_is_counted_and_takes_no_connection_until_another_is_seen() {
    let mut machine = ready(0);
    let mut error = vec![0x32, 26, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0x22, 133, 0, 4];
    error.extend_from_slice(&[192, 0, 2, 1]);
    let mut packet = up(0).datagram(Direction::Uplink, &error);
    let before = packet.clone();
    assert_eq!(machine.on_outer(at(1), Direction::Uplink, &mut packet), None);
    assert_eq!(packet, before);
    assert_eq!(machine.counts().unopened, 1);
    assert_eq!(machine.unopened(), Some((address(GNB[0]), 0x22)));
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    assert!(outer_in(&mut machine, Direction::Uplink, &up(0), &syn).is_none());
    assert_eq!(machine.counts().early, 1);
    let new = Tunnel { teid: 0x23, ..down(0) };
    outer_in(&mut machine, Direction::Downlink, &new, &ip(SERVER[0], UE[0], 17, &[0; 20]));
    assert!(outer_in(&mut machine, Direction::Uplink, &up(0), &syn).is_some());
}

#[test]
fn an_address_that_two_sessions_use_at_a_time_is_not_split() {
    let mut machine = ready(0);
    let other = Tunnel { teid: 0x77, ..up(0) };
    let ping = ip(UE[0], SERVER[0], 17, &[0; 20]);
    for tunnel in [up(0), other, up(0)] {
        outer_in(&mut machine, Direction::Uplink, &tunnel, &ping);
    }
    let syn = tcp(0, Direction::Uplink, SYN, &[]);
    assert!(outer_in(&mut machine, Direction::Uplink, &up(0), &syn).is_none());
    assert_eq!(machine.counts().ambiguous, 1);
}

#[test]
fn packets_of_no_new_connection_of_a_ue_pass() {
    let mut machine = ready(0);
    let from_outside = tcp(0, Direction::Downlink, SYN, &[]);
    let older = tcp(0, Direction::Uplink, ACK, &[1; 10]);
    let between = ip(UE[0], "10.45.0.2", 6, &[0; 40]);
    let stranger = ip("10.99.0.1", SERVER[0], 6, &[0; 40]);
    let mut part = tcp(0, Direction::Uplink, SYN, &[]);
    part[6..8].copy_from_slice(&[0x20, 0]);
    for (direction, packet) in [
        (Direction::Downlink, &from_outside),
        (Direction::Uplink, &older),
        (Direction::Uplink, &between),
        (Direction::Uplink, &stranger),
        (Direction::Uplink, &part),
    ] {
        let tunnel = if direction == Direction::Uplink { up(0) } else { down(0) };
        assert!(outer_in(&mut machine, direction, &tunnel, packet).is_none());
    }
    let counts = machine.counts();
    assert_eq!((counts.unsplit, counts.foreign, counts.taken), (3, 2, 0));
    // Beyond the limit.
    let mut machine = Machine::new(&TunnelsConfig { most_flows: 1, ..config() }, MTU);
    for family in [0, 1] {
        let ping = ip(SERVER[family], UE[family], 17, &[0; 20]);
        outer_in(&mut machine, Direction::Downlink, &down(0), &ping);
        let syn = tcp(family, Direction::Uplink, SYN, &[]);
        let taken = outer_in(&mut machine, Direction::Uplink, &up(0), &syn);
        assert_eq!(taken.is_some(), family == 0);
    }
    assert_eq!(machine.counts().over_limit, 1);
}

#[test]
fn a_reset_connection_is_forgotten_and_an_open_one_is_kept() {
    let mut machine = ready(0);
    for family in [0, 1] {
        let syn = tcp(family, Direction::Uplink, SYN, &[]);
        outer_in(&mut machine, Direction::Uplink, &up(0), &syn).expect("taken");
    }
    assert_eq!(machine.sizes(), [2, 2]);
    inner_in(&mut machine, Direction::Downlink, &tcp(0, Direction::Downlink, RST, &[]));
    machine.sweep(at(80_000));
    assert_eq!(machine.sizes(), [2, 2], "late packets of both ends may come");
    machine.sweep(at(100_000));
    assert_eq!(machine.sizes(), [2, 1]);
    machine.sweep(at(8_000_000));
    assert_eq!(machine.sizes(), [0, 0]);
}

#[test]
fn an_icmp_error_about_a_connection_goes_to_the_proxy_and_others_pass() {
    for family in [0, 1] {
        let mut machine = ready(0);
        let syn = tcp(family, Direction::Uplink, SYN, &[]);
        outer_in(&mut machine, Direction::Uplink, &up(0), &syn).expect("taken");
        let (protocol, head) = if family == 0 { (1, [3, 4]) } else { (58, [2, 0]) };
        let about = |packet: &[u8]| {
            let body = [&head[..], &[0; 6], &packet[..packet.len().min(60)]].concat();
            ip(SERVER[family], UE[family], protocol, &body)
        };
        let known = about(&tcp(family, Direction::Uplink, ACK, &[1; 500]));
        let inner = outer_in(&mut machine, Direction::Downlink, &down(0), &known);
        assert_eq!(inner, Some(known));
        let mut other = tcp(family, Direction::Uplink, ACK, &[1; 500]);
        let port = if family == 0 { 20 } else { 40 };
        other[port] ^= 1;
        let other = about(&other);
        assert!(outer_in(&mut machine, Direction::Downlink, &down(0), &other).is_none());
    }
}

/// Packets of all kinds, of both outer families.
fn corpus() -> Vec<(Direction, Vec<u8>)> {
    let mut all = Vec::new();
    let rich: &[(u8, &[u8])] = &[(0x20, &[7, 0]), (0x85, &[0x0c, 0xc9, 0xa0, 1, 2, 3, 4, 5])];
    for outer in [0, 1] {
        for family in [0, 1] {
            let wide = Tunnel { extensions: rich, sequence: Some(7), ..down(outer) };
            let ping = ip(SERVER[family], UE[family], 17, &[0; 20]);
            let syn = tcp(family, Direction::Uplink, SYN, &[]);
            let data = tcp(family, Direction::Downlink, ACK, &[3; 64]);
            all.push((Direction::Downlink, down(outer).wrap(Direction::Downlink, &ping)));
            all.push((Direction::Uplink, up(outer).wrap(Direction::Uplink, &syn)));
            all.push((Direction::Downlink, wide.wrap(Direction::Downlink, &data)));
        }
    }
    all
}

/// Changes of packets: which, at which place, to which value, and the length that is left.
fn changes() -> impl Strategy<Value = Vec<(usize, usize, u8, usize)>> {
    prop::collection::vec((0_usize..12, 0_usize..200, any::<u8>(), 0_usize..220), 1..40)
}

proptest! {
    #[test]
    fn changed_and_cut_packets_never_stop_the_machine_and_pass_unchanged_or_as_their_inside(
        changes in changes(),
    ) {
        let corpus = corpus();
        let mut machine = ready(0);
        for (which, place, value, length) in changes {
            let (direction, whole) = &corpus[which];
            let mut packet = whole.clone();
            let place = place % packet.len();
            packet[place] = value;
            packet.truncate(length.max(1));
            let before = packet.clone();
            match machine.on_outer(at(1), *direction, &mut packet) {
                None => prop_assert_eq!(&packet, &before),
                Some(inner) => {
                    prop_assert!(inner.end <= packet.len() && inner.start > 28);
                    let mut room = [&vec![0; HEADROOM][..], &packet[inner]].concat();
                    let begin = machine.on_inner(at(1), *direction, &mut room, HEADROOM);
                    if let Some(begin) = begin {
                        prop_assert!(begin < HEADROOM);
                        let head = if room[begin] >> 4 == 4 { 28 } else { 48 };
                        prop_assert!(Message::read(&room[begin + head..]).is_ok());
                    }
                }
            }
        }
    }
}
