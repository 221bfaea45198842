//! Where GTP-U messages lie in an IP packet.

use justfull_nru::gtpu;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

const UDP: u8 = 17;
const UDP_BYTES: usize = 8;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// The next header of a fragment (RFC 8200 section 4.5), and its length.
const FRAGMENT: u8 = 44;
const FRAGMENT_BYTES: usize = 8;

/// A UDP datagram to the port of GTP-U.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    /// Offset of UDP's checksum.
    pub(super) checksum: usize,
    /// Its payload, as far as the packet has it.
    pub(super) payload: Range<usize>,
    /// The rest may follow in other packets.
    pub(super) fragment: bool,
}

/// Finds the datagram in a packet: a whole one, or its first fragment. None for other protocols and
/// ports, for later fragments, and for headers that the box does not read.
pub(super) fn datagram(packet: &[u8]) -> Option<Datagram> {
    let Place { from, to, udp, fragment } = match packet.first()? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return None,
    };
    let header = packet.get(udp.clone())?.first_chunk::<UDP_BYTES>()?;
    let [_, _, high, low, length_high, length_low, ..] = *header;
    let length = usize::from(u16::from_be_bytes([length_high, length_low]));
    let whole = length == udp.len() || fragment && length > udp.len();
    let ours = whole && u16::from_be_bytes([high, low]) == gtpu::PORT;
    let payload = udp.start + UDP_BYTES..udp.end;
    ours.then_some(Datagram { from, to, checksum: udp.start + 6, payload, fragment })
}

/// Where UDP lies in an IP packet.
struct Place {
    from: IpAddr,
    to: IpAddr,
    udp: Range<usize>,
    fragment: bool,
}

/// UDP in an IPv4 packet (RFC 791).
fn ipv4(packet: &[u8]) -> Option<Place> {
    let header = packet.first_chunk::<IPV4_BYTES>()?;
    let begin = usize::from(header[0] & 0xf) * 4;
    let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let place = u16::from_be_bytes([header[6], header[7]]);
    let (later, more) = (place & 0x1fff != 0, place & 0x2000 != 0);
    let sound = begin >= IPV4_BYTES && (begin..=packet.len()).contains(&end);
    let address = |at: usize| {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        IpAddr::from(Ipv4Addr::from(bytes))
    };
    let found = sound && !later && header[9] == UDP;
    found.then(|| Place { from: address(12), to: address(16), udp: begin..end, fragment: more })
}

/// UDP in an IPv6 packet without extension headers but a fragment's (RFC 8200).
fn ipv6(packet: &[u8]) -> Option<Place> {
    let header = packet.first_chunk::<IPV6_BYTES>()?;
    let end = IPV6_BYTES + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let address = |at: usize| {
        let bytes: [u8; 16] = header[at..at + 16].try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(bytes)))
    };
    let inside = packet.get(IPV6_BYTES..end)?;
    let (protocol, begin, fragment) = match header[6] {
        FRAGMENT => {
            let [protocol, _, high, low, ..] = *inside.first_chunk::<FRAGMENT_BYTES>()?;
            let later = u16::from_be_bytes([high, low]) & 0xfff8 != 0;
            (if later { FRAGMENT } else { protocol }, IPV6_BYTES + FRAGMENT_BYTES, true)
        }
        protocol => (protocol, IPV6_BYTES, false),
    };
    let (from, to) = (address(8)?, address(24)?);
    (protocol == UDP).then_some(Place { from, to, udp: begin..end, fragment })
}
