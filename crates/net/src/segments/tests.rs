//! Cuts and joins packets. A transcription of the rules builds each expected segment from headers
//! of etherparse. Some packets are arbitrary bytes.

use super::*;
use etherparse::{
    IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv6Extensions, Ipv6Header, Ipv6RawExtHeader,
    TcpHeader, TransportHeader, UdpHeader,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// The parts of a packet.
#[derive(Clone, Debug)]
struct Whole {
    ip: IpHeaders,
    transport: TransportHeader,
    payload: Vec<u8>,
    size: usize,
}

impl Whole {
    /// The bytes of the packet, with a complete checksum in its transport header.
    fn bytes(&self) -> Vec<u8> {
        let Self { mut ip, mut transport, payload, .. } = self.clone();
        ip.set_payload_len(transport.header_len() + payload.len()).expect("it fits");
        if let TransportHeader::Udp(udp) = &mut transport {
            udp.length = 8 + payload.len() as u16;
        }
        match &ip {
            IpHeaders::Ipv4(header, _) => {
                transport.update_checksum_ipv4(header, &payload).expect("it fits");
            }
            IpHeaders::Ipv6(header, _) => {
                transport.update_checksum_ipv6(header, &payload).expect("it fits");
            }
        }
        let mut out = Vec::new();
        ip.write(&mut out).expect("memory takes it");
        transport.write(&mut out).expect("memory takes it");
        out.extend_from_slice(&payload);
        out
    }

    /// The segments, each built from its own headers.
    fn segments(&self) -> Vec<Vec<u8>> {
        let chunks = self.payload.chunks(self.size);
        let last = chunks.len() - 1;
        let segment = |(n, chunk): (usize, &[u8])| {
            let mut own = Self { payload: chunk.to_vec(), ..self.clone() };
            if let IpHeaders::Ipv4(header, _) = &mut own.ip {
                header.identification = header.identification.wrapping_add(n as u16);
            }
            if let TransportHeader::Tcp(tcp) = &mut own.transport {
                tcp.sequence_number = tcp.sequence_number.wrapping_add((n * self.size) as u32);
                (tcp.fin, tcp.psh) = (tcp.fin && n == last, tcp.psh && n == last);
                tcp.cwr &= n == 0;
            }
            own.bytes()
        };
        chunks.enumerate().map(segment).collect()
    }

    /// The packet as a read from the kernel: with the prefix, and with the sum of the pseudo header
    /// in the field of the checksum.
    fn offloaded(&self) -> Vec<u8> {
        let mut packet = self.bytes();
        let (tcp, udp) = (6, 17);
        let (protocol, place) = match &self.transport {
            TransportHeader::Tcp(_) => (tcp, 16),
            _ => (udp, 6),
        };
        let transport = packet.len() - self.payload.len() - self.transport.header_len();
        let v4 = packet[0] >> 4 == 4;
        let addresses = if v4 { &packet[12..20] } else { &packet[8..40] };
        let words = addresses.chunks(2).map(|w| u64::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum = words.sum::<u64>() + protocol + (packet.len() - transport) as u64;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let field = transport + place;
        packet[field..field + 2].copy_from_slice(&(sum as u16).to_be_bytes());
        let kind = match (protocol == tcp, v4) {
            (true, true) => 1,
            (true, false) => 4,
            (false, _) => 5,
        };
        let mut out = vec![1, kind];
        let header = transport + self.transport.header_len();
        for word in [header, self.size, transport, place] {
            out.extend_from_slice(&(word as u16).to_ne_bytes());
        }
        out.extend_from_slice(&packet);
        out
    }
}

fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut cut = Cut::new(bytes).expect("they fit");
    let mut room = vec![0; LONGEST];
    let packet = &bytes[OFFLOAD_PREFIX..];
    std::iter::from_fn(|| cut.next(packet, &mut room).map(|length| room[..length].to_vec()))
        .collect()
}

fn ip() -> impl Strategy<Value = IpHeaders> {
    let v4 = (any::<[u8; 8]>(), any::<u16>(), 0_u8..64, 0_u8..4, 0_usize..11).prop_map(
        |(addresses, id, dscp, ecn, words)| {
            let [a, b, c, d, e, f, g, h] = addresses;
            let protocol = IpNumber::TCP;
            let mut header = Ipv4Header::new(0, 64, protocol, [a, b, c, d], [e, f, g, h])
                .expect("a payload of nothing");
            header.identification = id;
            header.dscp = dscp.try_into().expect("six bits");
            header.ecn = ecn.try_into().expect("two bits");
            let options = vec![1_u8; words * 4];
            header.options = options.as_slice().try_into().expect("at most 40 bytes");
            IpHeaders::Ipv4(header, Ipv4Extensions::default())
        },
    );
    let v6 = (any::<[u8; 16]>(), any::<[u8; 16]>(), any::<u8>(), any::<bool>()).prop_map(
        |(source, destination, traffic_class, extended)| {
            let next_header = IpNumber::TCP;
            let header =
                Ipv6Header { source, destination, traffic_class, next_header, ..<_>::default() };
            let options = Ipv6RawExtHeader::new_raw(IpNumber::TCP, &[1, 4, 0, 0, 0, 0]);
            let destination_options = extended.then(|| options.expect("8 bytes"));
            let extensions = Ipv6Extensions { destination_options, ..<_>::default() };
            IpHeaders::Ipv6(header, extensions)
        },
    );
    prop_oneof![v4, v6]
}

fn transport() -> impl Strategy<Value = TransportHeader> {
    let tcp = (any::<[u32; 2]>(), any::<[u16; 4]>(), any::<[bool; 4]>(), 0_usize..11).prop_map(
        |([sequence, acknowledgment], [from, to, window, urgent], flags, words)| {
            let mut header = TcpHeader::new(from, to, sequence, window);
            header.acknowledgment_number = acknowledgment;
            header.urgent_pointer = urgent;
            header.ack = true;
            [header.fin, header.psh, header.cwr, header.ece] = flags;
            header.set_options_raw(&vec![1; words * 4]).expect("at most 40 bytes");
            TransportHeader::Tcp(header)
        },
    );
    let udp = any::<[u16; 2]>().prop_map(|[source_port, destination_port]| {
        TransportHeader::Udp(UdpHeader { source_port, destination_port, length: 8, checksum: 0 })
    });
    prop_oneof![3 => tcp, 1 => udp]
}

fn whole() -> impl Strategy<Value = Whole> {
    (ip(), transport(), vec(any::<u8>(), 1..4_000), 1_usize..1_500).prop_map(
        |(mut ip, transport, payload, size)| {
            let number = match &transport {
                TransportHeader::Tcp(_) => IpNumber::TCP,
                _ => IpNumber::UDP,
            };
            ip.set_next_headers(number);
            Whole { ip, transport, payload, size }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn the_segments_and_their_checksums_are_equal_to_a_plain_transcription(whole in whole()) {
        let found = cut(&whole.offloaded());
        prop_assert_eq!(&found, &whole.segments());
        let payload = found.iter().flat_map(|segment| {
            let length = segment.len() - (whole.bytes().len() - whole.payload.len());
            segment[segment.len() - length..].to_vec()
        });
        prop_assert!(payload.eq(whole.payload.iter().copied()));
    }

    #[test]
    fn a_damaged_packet_has_an_end_and_no_more_segments_than_bytes(
        whole in whole(),
        damage in vec((any::<Index>(), any::<u8>()), 0..6),
        length in any::<Index>(),
        room in 0_usize..2_000,
    ) {
        let mut bytes = whole.offloaded();
        for (at, byte) in &damage {
            // Half of the damage is in the prefix and the headers.
            let most = if byte % 2 == 0 { bytes.len() } else { bytes.len().min(80) };
            bytes[at.index(most)] = *byte;
        }
        bytes.truncate(bytes.len() - length.index(bytes.len() * 4).saturating_sub(bytes.len() * 3));
        if let Some(mut cut) = Cut::new(&bytes) {
            let packet = &bytes[OFFLOAD_PREFIX..];
            let mut room = vec![0; room];
            let mut segments = 0;
            while let Some(length) = cut.next(packet, &mut room) {
                segments += 1;
                prop_assert!(length <= room.len() && segments <= packet.len());
            }
            prop_assert!(segments > 0 && !cut.is_midway());
        }
    }

    #[test]
    fn arbitrary_bytes_are_cut_or_refused(
        bytes in vec(any::<u8>(), 0..300),
        prefix in proptest::option::of((0_u8..2, 0_u8..6, 0_u16..90, 0_u16..20)),
    ) {
        let mut bytes = bytes;
        if let (Some((flags, kind, start, place)), true) = (prefix, bytes.len() > OFFLOAD_PREFIX) {
            bytes[..2].copy_from_slice(&[flags, kind]);
            bytes[6..8].copy_from_slice(&start.to_ne_bytes());
            bytes[8..10].copy_from_slice(&place.to_ne_bytes());
        }
        if let Some(mut cut) = Cut::new(&bytes) {
            let mut room = [0; 1_501];
            let packet = &bytes[OFFLOAD_PREFIX..];
            let segments = std::iter::from_fn(|| cut.next(packet, &mut room)).count();
            prop_assert!((1..=packet.len()).contains(&segments));
        }
    }

    #[test]
    fn a_run_makes_a_packet_that_is_cut_into_the_same_segments(whole in whole()) {
        let segments = whole.segments();
        let mut run = Run::default();
        let mut at = 0;
        while at < segments.len() {
            if !run.begin(&segments[at]) {
                at += 1;
                continue;
            }
            let rest = segments[at + 1..].iter();
            let more = rest.take_while(|next| run.add(&segments[at], next)).count();
            let own = &segments[at..=at + more];
            prop_assert!(own.iter().all(|segment| is_sound(segment)));
            prop_assert_eq!((run.segments(), own.len() <= MOST_SEGMENTS), (own.len(), true));
            let mut joined = vec![0; OFFLOAD_PREFIX + LONGEST_HEADERS];
            let length = run.head(&own[0], &mut joined);
            joined.truncate(length);
            own.iter().for_each(|segment| joined.extend_from_slice(&segment[run.payload()..]));
            prop_assert_eq!(cut(&joined), own);
            at += own.len();
        }
    }
}

/// A segment with a payload of 100 bytes and headers without options.
fn plain(sequence: u32) -> Whole {
    let mut ip = Ipv4Header::new(0, 64, IpNumber::TCP, [10, 45, 0, 1], [10, 46, 0, 1])
        .expect("a payload of nothing");
    ip.dont_fragment = true;
    let mut tcp = TcpHeader::new(40_000, 80, sequence, 256);
    (tcp.ack, tcp.acknowledgment_number) = (true, 9);
    Whole {
        ip: IpHeaders::Ipv4(ip, Ipv4Extensions::default()),
        transport: TransportHeader::Tcp(tcp),
        payload: vec![5; 100],
        size: 100,
    }
}

#[test]
fn segments_up_to_a_shorter_one_or_psh_are_joined_across_the_end_of_sequence_numbers() {
    let first = u32::MAX - 150;
    let mut run = Run::default();
    assert!(!run.add(&plain(first).bytes(), &plain(first).bytes()), "there is none before it");
    for closes in [false, true] {
        assert!(run.begin(&plain(first).bytes()));
        assert!(run.add(&plain(first).bytes(), &plain(first.wrapping_add(100)).bytes()));
        let mut last = plain(first.wrapping_add(200));
        match &mut last.transport {
            TransportHeader::Tcp(tcp) if closes => tcp.psh = true,
            _ => last.payload.truncate(30),
        }
        assert!(run.add(&plain(first).bytes(), &last.bytes()));
        let length = if closes { 300 } else { 230 };
        let after = plain(first.wrapping_add(length)).bytes();
        assert!(!run.add(&plain(first).bytes(), &after));
        assert_eq!(run.segments(), 3);
    }
}

#[test]
fn a_run_has_at_most_64_segments_and_65_535_bytes() {
    for (payload, most) in [(10, 64), (1_448, 45)] {
        let segment = |n: u32| Whole { payload: vec![3; payload], ..plain(n * payload as u32) };
        let mut run = Run::default();
        assert!(run.begin(&segment(0).bytes()));
        let more = (1..100).take_while(|n| run.add(&segment(0).bytes(), &segment(*n).bytes()));
        assert_eq!(1 + more.count(), most);
    }
}

#[test]
fn a_segment_that_differs_in_more_than_its_position_is_not_joined() {
    let next = plain(200);
    let change = |change: fn(&mut Ipv4Header, &mut TcpHeader, &mut Vec<u8>)| {
        let mut other = next.clone();
        let (IpHeaders::Ipv4(ip, _), TransportHeader::Tcp(tcp)) =
            (&mut other.ip, &mut other.transport)
        else {
            unreachable!("it is TCP over IPv4");
        };
        change(ip, tcp, &mut other.payload);
        other.bytes()
    };
    let others = [
        change(|ip, _, _| ip.dscp = 1.try_into().expect("six bits")),
        change(|ip, _, _| ip.ecn = 3.try_into().expect("two bits")),
        change(|ip, _, _| ip.time_to_live = 63),
        change(|ip, _, _| ip.dont_fragment = false),
        change(|ip, _, _| ip.more_fragments = true),
        change(|_, tcp, _| tcp.sequence_number += 1),
        change(|_, tcp, _| tcp.source_port += 1),
        change(|_, tcp, _| tcp.acknowledgment_number += 1),
        change(|_, tcp, _| tcp.window_size += 1),
        change(|_, tcp, _| tcp.fin = true),
        change(|_, tcp, _| tcp.cwr = true),
        change(|_, tcp, _| tcp.ece = true),
        change(|_, tcp, _| tcp.ns = true),
        change(|_, tcp, _| tcp.set_options_raw(&[1; 4]).expect("it fits")),
        change(|_, _, payload| payload.push(1)),
        change(|_, _, payload| payload.clear()),
        next.bytes()[..60].to_vec(),
        Vec::new(),
    ];
    let first = plain(100).bytes();
    for (which, other) in others.iter().enumerate() {
        let mut run = Run::default();
        assert!(run.begin(&first));
        assert!(!run.add(&first, other), "{which}");
        assert_eq!(run.segments(), 1);
    }
    let mut run = Run::default();
    assert!(run.begin(&first) && run.add(&first, &next.bytes()));
    let mut damaged = next.bytes();
    damaged[60] ^= 1;
    assert!(is_sound(&next.bytes()) && !is_sound(&damaged));
}

#[test]
fn a_packet_without_segments_changes_only_in_its_checksum() {
    let whole = plain(7);
    let alone = [&[0; OFFLOAD_PREFIX][..], &whole.bytes()].concat();
    assert_eq!(cut(&alone), [whole.bytes()]);
    let mut incomplete = whole.offloaded();
    (incomplete[1], incomplete[4], incomplete[5]) = (0, 0, 0);
    assert_eq!(cut(&incomplete), [whole.bytes()]);
}

#[test]
fn a_prefix_that_does_not_fit_its_packet_is_refused() {
    let whole = plain(1).offloaded();
    let packet = &whole[OFFLOAD_PREFIX..];
    for prefix in [
        [1, 0, 0, 0, 0, 0, 0xff, 0xff, 16, 0],
        [1, 0, 0, 0, 0, 0, 20, 0, 0xff, 0],
        [1, 1, 0, 0, 0, 0, 20, 0, 16, 0],
        [1, 4, 0, 0, 9, 0, 20, 0, 16, 0],
        [1, 1, 0, 0, 9, 0, 19, 0, 16, 0],
        [1, 1, 0, 0, 9, 0, 20, 0, 6, 0],
        [1, 2, 0, 0, 9, 0, 20, 0, 16, 0],
        [0, 1, 0, 0, 9, 0, 20, 0, 16, 0],
    ] {
        assert!(Cut::new(&[&prefix[..], packet].concat()).is_none(), "{prefix:?}");
    }
    assert!(Cut::new(&whole[..9]).is_none() && Cut::new(&whole[..10]).is_none());
}
