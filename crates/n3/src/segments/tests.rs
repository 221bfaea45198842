//! Segments that are joined, packed and cut, against their own bytes.

use super::*;
use crate::datagrams::Datagrams;
use crate::packet::{ACK, IPV4_BYTES, IPV6_BYTES, Ip, TCP, UDP};
use justfull_net::segments::{pseudo, set_length};
use justfull_nru::checksum;

/// The flag of an incomplete checksum.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKSUM: usize = 16;
const PSH: u8 = 1 << 3;

/// A segment with `flags` and a right checksum; IPv6 if `v6`.
fn segment(v6: bool, number: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = match v6 {
        false => {
            let mut head = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0];
            head.extend_from_slice(&[10, 45, 0, 1, 10, 46, 0, 1]);
            head
        }
        true => {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, 6, 64];
            head.extend_from_slice(&[0xfd; 32]);
            head
        }
    };
    let tcp = packet.len();
    packet.extend_from_slice(&[0x9c, 0x40, 0, 80]);
    packet.extend_from_slice(&number.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 9, 0x80, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend_from_slice(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    packet.extend_from_slice(payload);
    set_length(&mut packet);
    let length = packet.len() - tcp;
    let sum = !checksum::add(pseudo(&packet, TCP, length), checksum::sum(&packet[tcp..]));
    packet[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut cut = Cut::new(bytes).expect("they fit");
    let mut room = vec![0; LONGEST];
    let packet = &bytes[OFFLOAD_PREFIX..];
    std::iter::from_fn(|| cut.next(packet, &mut room).map(|length| room[..length].to_vec()))
        .collect()
}

/// Writes consecutive identifications of IPv4.
fn number(all: &mut [Vec<u8>]) {
    for (n, packet) in (7_u16..).zip(all) {
        if packet[0] >> 4 == 4 {
            packet[4..6].copy_from_slice(&n.to_be_bytes());
            set_length(packet);
        }
    }
}

/// The packets that are made of `all`, in their order.
fn joined(all: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (bytes, mut joins, mut made) = (all.concat(), Joins::new(), Vec::new());
    let mut send = |parts: &[IoSlice<'_>]| made.push(gathered(parts));
    let mut at = 0;
    for packet in all {
        joins.take(&bytes, at..at + packet.len(), &mut send);
        at += packet.len();
    }
    joins.flush(&bytes, &mut send);
    assert!(joins.is_empty());
    made
}

fn gathered(parts: &[IoSlice<'_>]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.iter().copied()).collect()
}

/// A segment of the connection of the server's port `port`.
fn to_port(port: u8, v6: bool, number: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = segment(v6, number, ACK, payload);
    if !v6 {
        packet[4..6].copy_from_slice(&(number as u16 / 100).to_be_bytes());
        set_length(&mut packet);
    }
    let tcp = if v6 { IPV6_BYTES } else { IPV4_BYTES };
    packet[tcp + 3] = port;
    let field = tcp + CHECKSUM;
    packet[field..field + 2].fill(0);
    let length = packet.len() - tcp;
    let sum = !checksum::add(pseudo(&packet, TCP, length), checksum::sum(&packet[tcp..]));
    packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn joined_segments_are_cut_into_the_same_segments() {
    for v6 in [false, true] {
        let payload: Vec<u8> = (0..=255).cycle().take(1_001).collect();
        // Across the end of sequence numbers.
        let first = u32::MAX - 1_500;
        let mut all: Vec<Vec<u8>> =
            (0_u32..5).map(|n| segment(v6, first.wrapping_add(n * 1_001), ACK, &payload)).collect();
        all.push(segment(v6, first.wrapping_add(5_005), ACK | PSH, &payload[..77]));
        number(&mut all);
        let made = joined(&all);
        assert_eq!(made.len(), 1);
        assert_eq!(made[0][..2], [NEEDS_CHECKSUM, if v6 { 4 } else { 1 }]);
        assert_eq!(cut(&made[0]), all);
        all.push(segment(v6, first.wrapping_add(5_082), ACK, &payload));
        assert_eq!(joined(&all).len(), 2, "nothing follows a shorter one");
    }
}

#[test]
fn segments_of_several_connections_are_joined_each_and_keep_their_order() {
    let ports = MOST_JOINS as u8;
    let mut all = Vec::new();
    for n in 0..5 {
        for port in 0..ports {
            all.push(to_port(port, port % 2 == 1, n * 100, &[port; 100]));
        }
    }
    let made = joined(&all);
    assert_eq!(made.len(), MOST_JOINS);
    // A repeated segment and a hole begin a new packet; more connections than places send all.
    all.push(to_port(0, false, 0, &[0; 100]));
    all.push(to_port(1, true, 900, &[1; 100]));
    all.extend((ports..2 * ports).map(|port| to_port(port, false, 0, &[port; 100])));
    let of = |packets: &[Vec<u8>], port: u8| -> Vec<Vec<u8>> {
        let has = |packet: &&Vec<u8>| {
            let tcp = if packet[0] >> 4 == 4 { IPV4_BYTES } else { IPV6_BYTES };
            packet[tcp + 3] == port
        };
        packets.iter().filter(has).cloned().collect()
    };
    let segments: Vec<Vec<u8>> = joined(&all).iter().flat_map(|packet| cut(packet)).collect();
    assert_eq!(segments.len(), all.len());
    for port in 0..2 * ports {
        assert_eq!(of(&segments, port), of(&all, port));
    }
}

#[test]
fn a_segment_alone_is_itself() {
    let packet = segment(false, 1, ACK, &[5; 100]);
    let made = joined(std::slice::from_ref(&packet));
    assert_eq!(made.len(), 1);
    assert_eq!(made[0][..OFFLOAD_PREFIX], [0; OFFLOAD_PREFIX]);
    assert_eq!(cut(&made[0]), [packet]);
}

#[test]
fn a_damaged_segment_and_a_segment_without_data_are_not_joined() {
    let first = segment(false, 100, ACK, &[5; 100]);
    let mut damaged = segment(false, 200, ACK, &[5; 100]);
    damaged[60] ^= 1;
    for other in [damaged, segment(false, 200, ACK, &[])] {
        let after = segment(false, 200, ACK, &[6; 100]);
        let all = [first.clone(), other, after];
        let made = joined(&all);
        let packets: Vec<&[u8]> = made.iter().map(|packet| &packet[OFFLOAD_PREFIX..]).collect();
        assert_eq!(packets, all.each_ref().map(|packet| &packet[..]));
    }
}

/// A header of a tunnel; IPv6 if `v6`.
fn header(v6: bool) -> Header {
    let message = [0x34, 255, 0, 8, 0, 0, 1, 9, 0, 0, 0, 0x85, 1, 0, 9, 0];
    let mut packet = segment(v6, 0, ACK, &[]);
    packet[if v6 { 6 } else { 9 }] = UDP;
    packet.truncate(if v6 { IPV6_BYTES } else { IPV4_BYTES });
    packet.extend_from_slice(&[8, 104, 8, 104, 0, 24, 7, 7]);
    packet.extend_from_slice(&message);
    set_length(&mut packet);
    let ip = Ip::read(&packet).expect("IP");
    let message = justfull_nru::Message::read(&message).expect("GTP-U");
    Header::read(&packet, &ip, &message).expect("its extension stays")
}

#[test]
fn a_packed_packet_is_cut_into_the_datagrams_that_are_written_one_by_one() {
    for (outer, v6) in [(false, false), (false, true), (true, false), (true, true)] {
        let header = header(outer);
        for (count, payload) in [(2, 1_300), (40, 1_300), (100, 500), (46, 1_350)] {
            let mut all: Vec<Vec<u8>> = (0..count)
                .map(|n| segment(v6, n * payload, ACK, &vec![n as u8; payload as usize]))
                .chain([segment(v6, count * payload, ACK, &[1; 7])])
                .collect();
            number(&mut all);
            let whole = joined_without_bound(&all);
            let (mut cut_one, mut pack, mut found) = (Cut::new(&whole), Pack::new(), Vec::new());
            let (rest, mut sent) = (cut_one.as_mut().expect("it fits"), 0);
            let packet = &whole[OFFLOAD_PREFIX..];
            while rest.is_midway() {
                while pack.add(&header, rest, packet) {}
                let number = sent as u16;
                sent += pack.segments();
                let mut send = |parts: &[IoSlice<'_>]| found.extend(cut(&gathered(parts)));
                pack.send(&header, packet, number, &mut send);
            }
            let written = all.iter().zip(0_u16..).map(|(packet, number)| {
                let mut room = [&[0; header::LONGEST][..], packet].concat();
                let begin = header.write(&mut room, header::LONGEST, number).expect("it fits");
                room.split_off(begin)
            });
            assert!(found.iter().eq(&written.collect::<Vec<_>>()), "{outer} {v6} {count}");
        }
    }
}

/// One packet of all segments, also if there are more than a [`Run`] takes.
fn joined_without_bound(all: &[Vec<u8>]) -> Vec<u8> {
    let tcp = if all[0][0] >> 4 == 4 { IPV4_BYTES } else { IPV6_BYTES };
    let head = tcp + 32;
    let mut packet = all[0][..head].to_vec();
    all.iter().for_each(|segment| packet.extend_from_slice(&segment[head..]));
    set_length(&mut packet);
    let sum = pseudo(&packet, TCP, packet.len() - tcp);
    packet[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = vec![NEEDS_CHECKSUM, if tcp == IPV4_BYTES { 1 } else { 4 }];
    for word in [head, all[0].len() - head, tcp, CHECKSUM] {
        bytes.extend_from_slice(&(word as u16).to_ne_bytes());
    }
    bytes.extend_from_slice(&packet);
    bytes
}

#[test]
fn some_datagrams_of_a_packet_are_those_that_the_kernel_would_cut() {
    for v6 in [false, true] {
        let header = header(v6);
        let all: Vec<Vec<u8>> =
            (0..9).map(|n| segment(v6, n * 100, ACK, &[n as u8; 100])).collect();
        let whole = joined_without_bound(&all);
        let (mut pack, mut bytes) = (Pack::new(), Vec::new());
        let mut rest = Cut::new(&whole).expect("it fits");
        while pack.add(&header, &mut rest, &whole[OFFLOAD_PREFIX..]) {}
        pack.send(&header, &whole[OFFLOAD_PREFIX..], 77, &mut |parts| bytes = gathered(parts));
        let packet = &bytes[OFFLOAD_PREFIX..];
        let outer = Ip::read(packet).expect("IP");
        let datagrams = Datagrams::read(&bytes, &outer).expect("datagrams");
        assert_eq!(datagrams.count(), all.len());
        let datagrams_of_all = cut(&bytes);
        for numbers in [0..1, 0..3, 4..5, 3..9, 8..9] {
            let mut out = Vec::new();
            let payload = datagrams.part(packet, &numbers, &mut out);
            out.extend_from_slice(&packet[payload]);
            assert_eq!(cut(&out), datagrams_of_all[numbers]);
        }
    }
}
