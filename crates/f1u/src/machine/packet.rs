//! Where a GTP-U message lies in an IP packet.

use justfull_nru::gtpu;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

const UDP: u8 = 17;
const UDP_BYTES: usize = 8;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;

/// A UDP datagram to the port of GTP-U.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    /// Offset of UDP's checksum.
    pub(super) checksum: usize,
    /// The GTP-U message.
    pub(super) message: Range<usize>,
}

/// Finds the datagram in a packet. None for other protocols and ports, for fragments, and for
/// headers that the box does not read.
pub(super) fn datagram(packet: &[u8]) -> Option<Datagram> {
    let (from, to, udp) = match packet.first()? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return None,
    };
    let header = packet.get(udp.clone())?.first_chunk::<UDP_BYTES>()?;
    let [_, _, high, low, length_high, length_low, ..] = *header;
    let length = usize::from(u16::from_be_bytes([length_high, length_low]));
    let whole = length == udp.len() && u16::from_be_bytes([high, low]) == gtpu::PORT;
    let message = udp.start + UDP_BYTES..udp.end;
    whole.then_some(Datagram { from, to, checksum: udp.start + 6, message })
}

/// Source, destination and the place of UDP in an IPv4 packet (RFC 791).
fn ipv4(packet: &[u8]) -> Option<(IpAddr, IpAddr, Range<usize>)> {
    let header = packet.first_chunk::<IPV4_BYTES>()?;
    let begin = usize::from(header[0] & 0xf) * 4;
    let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // More fragments, or not the first.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let sound = begin >= IPV4_BYTES && (begin..=packet.len()).contains(&end);
    let address = |at: usize| {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        IpAddr::from(Ipv4Addr::from(bytes))
    };
    (sound && !fragment && header[9] == UDP).then(|| (address(12), address(16), begin..end))
}

/// Source, destination and the place of UDP in an IPv6 packet without extension headers (RFC 8200).
fn ipv6(packet: &[u8]) -> Option<(IpAddr, IpAddr, Range<usize>)> {
    let header = packet.first_chunk::<IPV6_BYTES>()?;
    let end = IPV6_BYTES + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let address = |at: usize| {
        let bytes: [u8; 16] = header[at..at + 16].try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(bytes)))
    };
    let sound = end <= packet.len() && header[6] == UDP;
    sound.then(|| Some((address(8)?, address(24)?, IPV6_BYTES..end)))?
}
