use super::*;
use etherparse::{IpFragOffset, PacketBuilder};
use proptest::prelude::*;

const FROM: [u8; 4] = [10, 0, 0, 1];
const TO: [u8; 4] = [10, 0, 1, 2];

fn udp4(tos: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(FROM, TO, 64)
        .udp(5004, 6000)
        .write(&mut out, payload)
        .expect("memory takes it");
    out[1] = tos;
    refresh(&mut out);
    out
}

fn tcp6(class: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .tcp(443, 50_000, 7, 1_000)
        .write(&mut out, payload)
        .expect("memory takes it");
    out[0] = 0x60 | class >> 4;
    out[1] = class << 4;
    out
}

/// Computes the header checksum of an IPv4 datagram anew.
fn refresh(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let sum = !ones_complement(&packet[..header]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn an_ipv4_datagram_shows_its_tuple_its_codepoints_and_its_length() {
    let mut bytes = udp4(0xba, &[0; 100]);
    bytes.extend([0; 7]);
    let found = parse(&bytes).expect("sound");
    let tuple = FiveTuple {
        source: mapped(FROM),
        destination: mapped(TO),
        source_port: 5004,
        destination_port: 6000,
        protocol: Protocol::Udp,
    };
    let ef = dscp_of(46);
    let expected =
        Datagram { tuple, size: 128, payload: 100, ecn: Ecn::Ect0, dscp: ef, fragment: None };
    assert_eq!(found, expected);
}

#[test]
fn an_echo_has_its_identifier_as_the_port_of_the_end_that_answers() {
    let ports = |kind: u8| {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4(FROM, TO, 64)
            .icmpv4_echo_request(20_003, 1)
            .write(&mut bytes, &[0; 56])
            .expect("memory takes it");
        bytes[20] = kind;
        let tuple = parse(&bytes).expect("sound").tuple;
        (tuple.source_port, tuple.destination_port)
    };
    assert_eq!(ports(8), (0, 20_003), "request");
    assert_eq!(ports(0), (20_003, 0), "reply");
    assert_eq!(ports(3), (0, 0), "destination unreachable");
}

#[test]
fn an_ipv6_datagram_is_read_beyond_its_extension_headers() {
    let plain = tcp6(0x01, &[9; 10]);
    let found = parse(&plain).expect("sound");
    assert_eq!((found.tuple.source_port, found.tuple.destination_port), (443, 50_000));
    assert_eq!(
        (found.ecn, found.dscp, found.size, found.payload),
        (Ecn::Ect1, Dscp::default(), 70, 10)
    );
    // Hop-by-hop and destination options, 8 bytes each, in front of TCP.
    let mut extended = plain[..40].to_vec();
    extended[6] = 0;
    extended[4..6].copy_from_slice(&46u16.to_be_bytes());
    extended.extend([60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0]);
    extended.extend(&plain[40..]);
    assert_eq!(parse(&extended), Ok(Datagram { size: 86, ..found }));
}

#[test]
fn later_fragments_take_the_ports_of_the_first() {
    let whole = udp4(0, &[0; 64]);
    let fragment = |offset: u16, more: bool, content: &[u8]| {
        let mut out = whole[..20].to_vec();
        out.extend(content);
        let flags = (offset / 8) | (u16::from(more) << 13);
        let length = out.len() as u16;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        out[6..8].copy_from_slice(&flags.to_be_bytes());
        refresh(&mut out);
        out
    };
    assert_eq!(
        IpFragOffset::try_new(5).map(IpFragOffset::byte_offset),
        Ok(40),
        "in units of 8 bytes"
    );
    let mut ports = FragmentPorts::new();
    let mut later = parse(&fragment(40, false, &whole[60..])).expect("sound");
    ports.complete(&mut later);
    assert_eq!(
        (later.tuple.source_port, later.tuple.destination_port),
        (0, 0),
        "the first is unknown"
    );
    let mut first = parse(&fragment(0, true, &whole[20..60])).expect("sound");
    ports.complete(&mut first);
    ports.complete(&mut later);
    assert_eq!(first.fragment, Some(Fragment { id: 0, first: true }));
    assert_eq!(later.tuple, first.tuple);
    assert_eq!(first.tuple, parse(&whole).expect("sound").tuple);
}

#[test]
fn a_malformed_packet_has_a_reason() {
    let good = udp4(0, &[0; 10]);
    let change = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    assert_eq!(parse(&[]), Err(Malformed::Truncated));
    assert_eq!(parse(&change(0, 0x55)), Err(Malformed::Version));
    assert_eq!(parse(&change(0, 0x44)), Err(Malformed::Header));
    assert_eq!(parse(&good[..19]), Err(Malformed::Truncated));
    assert_eq!(parse(&good[..37]), Err(Malformed::Truncated));
    assert_eq!(parse(&change(8, 3)), Err(Malformed::Checksum));
    let mut short = good[..27].to_vec();
    short[3] = 27;
    refresh(&mut short);
    assert_eq!(parse(&short), Err(Malformed::Transport));
    let mut tcp = tcp6(0, &[]);
    tcp[52] = 0xf0;
    assert_eq!(parse(&tcp), Err(Malformed::Transport), "a TCP header longer than the datagram");
}

#[test]
fn another_protocol_is_known_by_its_addresses() {
    let mut sctp = udp4(0, &[0; 12]);
    sctp[9] = 132;
    refresh(&mut sctp);
    let found = parse(&sctp).expect("sound");
    assert_eq!((found.tuple.protocol, found.tuple.source_port), (Protocol::Other, 0));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(found) = parse(&bytes) {
            prop_assert!(found.size as usize <= bytes.len());
        }
    }

    #[test]
    fn a_damaged_datagram_is_refused_or_within_its_bounds(
        six in any::<bool>(), at in 0usize..60, to in any::<u8>(), cut in 0usize..80,
    ) {
        let mut bytes = if six { tcp6(2, &[1; 20]) } else { udp4(2, &[1; 52]) };
        let at = at.min(bytes.len() - 1);
        bytes[at] = to;
        if !six {
            refresh_within(&mut bytes);
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        if let Ok(found) = parse(&bytes) {
            prop_assert!(found.size as usize <= bytes.len());
            prop_assert!(found.payload < found.size);
            let before = bytes.clone();
            mark_ce(&mut bytes);
            let marked =
                parse(&bytes).map_err(|e| TestCaseError::fail(format!("{e:?} of {before:02x?}")))?;
            prop_assert_eq!(marked, Datagram { ecn: Ecn::Ce, ..found });
        }
    }

    #[test]
    fn a_mark_changes_the_checksum_as_if_it_were_computed_anew(tos in any::<u8>(),
        id in any::<u16>()) {
        let mut bytes = udp4(tos, &[0; 4]);
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        refresh(&mut bytes);
        let mut anew = bytes.clone();
        anew[1] |= 3;
        refresh(&mut anew);
        mark_ce(&mut bytes);
        prop_assert_eq!(bytes, anew);
    }
}

/// Like [`refresh`], for a header that may claim to be longer than the datagram.
fn refresh_within(packet: &mut [u8]) {
    if usize::from(packet[0] & 15) * 4 <= packet.len() && packet[0] & 15 >= 5 {
        refresh(packet);
    }
}
