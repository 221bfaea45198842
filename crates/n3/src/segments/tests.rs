//! Segments that are joined, packed and cut, against their own bytes.

use super::*;
use crate::packet::{ACK, Ip, TCP};
use justfull_net::segments::Cut;
use justfull_nru::checksum;

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

#[test]
fn what_is_joined_is_cut_into_the_same_segments() {
    for v6 in [false, true] {
        let payload: Vec<u8> = (0..=255).cycle().take(1_001).collect();
        // Across the end of sequence numbers.
        let first = u32::MAX - 1_500;
        let mut all: Vec<Vec<u8>> =
            (0_u32..5).map(|n| segment(v6, first.wrapping_add(n * 1_001), ACK, &payload)).collect();
        all.push(segment(v6, first.wrapping_add(5_005), ACK | PSH, &payload[..77]));
        if !v6 {
            for (n, packet) in (0_u16..).zip(&mut all) {
                packet[4..6].copy_from_slice(&(7 + n).to_be_bytes());
                set_length(packet);
            }
        }
        let mut join = Join::new();
        assert!(!join.add(&all[0]), "there is none before it");
        assert!(join.begin(&all[0]));
        assert!(all[1..].iter().all(|packet| join.add(packet)));
        let after = segment(v6, first.wrapping_add(5_082), ACK, &payload);
        assert!(!join.add(&after), "nothing follows a shorter one");
        let bytes = join.take().expect("a packet").to_vec();
        assert_eq!(bytes[..2], [NEEDS_CHECKSUM, if v6 { 4 } else { 1 }]);
        assert!(join.take().is_none());
        assert_eq!(cut(&bytes), all);
    }
}

#[test]
fn datagrams_are_packed_up_to_a_shorter_one_and_no_longer_than_a_packet() {
    for v6 in [false, true] {
        let ip = if v6 { IPV6_BYTES } else { IPV4_BYTES };
        let datagram = |length: usize| {
            let mut packet = segment(v6, 0, ACK, &vec![3; length]);
            packet[if v6 { 6 } else { 9 }] = UDP;
            packet.truncate(ip + UDP_BYTES + length);
            packet
        };
        let mut pack = Pack::new();
        assert!(pack.take().is_none() && !pack.add(&datagram(100)));
        pack.begin(&datagram(100));
        assert!(pack.add(&datagram(100)) && !pack.add(&datagram(101)));
        assert!(pack.add(&datagram(40)) && !pack.add(&datagram(40)));
        let bytes = pack.take().expect("a packet");
        assert_eq!(bytes[..2], [NEEDS_CHECKSUM, UDP_DATAGRAMS]);
        let packet = &bytes[OFFLOAD_PREFIX..];
        assert_eq!(packet.len(), ip + UDP_BYTES + 240);
        assert_eq!(packet[ip + 4..ip + 6], 248_u16.to_be_bytes());
        let read = Ip::read(packet).expect("IP");
        assert_eq!((read.protocol, read.end), (UDP, packet.len()));
        pack.begin(&datagram(1_400));
        let more = (0..100).filter(|_| pack.add(&datagram(1_400))).count();
        assert_eq!(more, 45, "65 535 bytes at most");
        pack.begin(&datagram(100));
        let more = (0..100).filter(|_| pack.add(&datagram(100))).count();
        assert_eq!(more, MOST_DATAGRAMS - 1);
    }
}

#[test]
fn a_segment_alone_is_itself() {
    let packet = segment(false, 1, ACK, &[5; 100]);
    let mut join = Join::new();
    assert!(join.begin(&packet));
    let bytes = join.take().expect("a packet").to_vec();
    assert_eq!(bytes[..OFFLOAD_PREFIX], [0; OFFLOAD_PREFIX]);
    assert_eq!(cut(&bytes), [packet]);
}

#[test]
fn a_damaged_segment_and_a_segment_without_data_are_not_joined() {
    let first = segment(false, 100, ACK, &[5; 100]);
    let mut damaged = segment(false, 200, ACK, &[5; 100]);
    damaged[60] ^= 1;
    for other in [damaged, segment(false, 200, ACK, &[])] {
        let mut join = Join::new();
        assert!(join.begin(&first) && !join.add(&other));
        assert_eq!(join.take().map(<[u8]>::len), Some(OFFLOAD_PREFIX + first.len()));
        assert!(!join.begin(&other));
    }
}
