//! The fields of IP packets that the stage reads: of the outer packet up to GTP-U, of the inner
//! packet up to TCP. Nothing here allocates, and no read passes the packet's end.

use justfull_nru::gtpu;
use std::net::IpAddr;

/// Protocol numbers (IANA).
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Octets of headers without options.
pub(crate) const IPV4_BYTES: usize = 20;
pub(crate) const IPV6_BYTES: usize = 40;
pub(crate) const UDP_BYTES: usize = 8;

/// Bits of TCP's flags (RFC 9293 section 3.1).
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 1 << 1;
pub(crate) const RST: u8 = 1 << 2;
pub(crate) const ACK: u8 = 1 << 4;

/// Most extension headers that are read: more than packets have in practice.
const MOST_EXTENSIONS: usize = 8;

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Uplink => Self::Downlink,
            Self::Downlink => Self::Uplink,
        }
    }
}

/// An IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// Offset of the protocol's header, and of the packet's end, in bytes.
    pub(crate) at: usize,
    pub(crate) end: usize,
    /// True for a fragment; only the first fragment has the protocol's header.
    pub(crate) fragment: bool,
}

/// Ports and flags of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tcp {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) flags: u8,
}

impl Ip {
    /// Reads an IPv4 packet, or an IPv6 packet with its extension headers. None if it is too short
    /// or has unknown headers.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::read_ipv4(packet),
            6 => Self::read_ipv6(packet),
            _ => None,
        }
    }

    /// RFC 791.
    fn read_ipv4(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<IPV4_BYTES>()?;
        let at = usize::from(header[0] & 0xf) * 4;
        let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let sound = at >= IPV4_BYTES && (at..=packet.len()).contains(&end);
        sound.then_some(Self {
            source: ipv4(header, 12)?,
            destination: ipv4(header, 16)?,
            protocol: header[9],
            at,
            end,
            // More fragments, or not the first.
            fragment: u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0,
        })
    }

    /// RFC 8200.
    fn read_ipv6(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<IPV6_BYTES>()?;
        let end = IPV6_BYTES + usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut found = Self {
            source: ipv6(header, 8)?,
            destination: ipv6(header, 24)?,
            protocol: header[6],
            at: IPV6_BYTES,
            end,
            fragment: false,
        };
        if end > packet.len() {
            return None;
        }
        for _ in 0..MOST_EXTENSIONS {
            let octets = match found.protocol {
                HOP_BY_HOP | ROUTING | DESTINATION => {
                    (usize::from(*packet.get(found.at + 1)?) + 1) * 8
                }
                FRAGMENT => {
                    let place = packet.get(found.at + 2..found.at + 4)?;
                    // An atomic fragment is a whole packet (RFC 6946).
                    let part = u16::from_be_bytes([place[0], place[1]]) & 0xfff9 != 0;
                    found.fragment |= part;
                    8
                }
                _ => return Some(found),
            };
            found.protocol = *packet.get(found.at)?;
            found.at += octets;
            if found.at > end {
                return None;
            }
        }
        None
    }

    /// The TCP header of a packet that is no fragment.
    pub(crate) fn tcp(&self, packet: &[u8]) -> Option<Tcp> {
        let header = packet.get(self.at..self.end)?.first_chunk::<20>()?;
        let [a, b, c, d, .., flags, _, _, _, _, _, _] = *header;
        let word = |high, low| u16::from_be_bytes([high, low]);
        let whole = self.protocol == TCP && !self.fragment;
        whole.then_some(Tcp { source: word(a, b), destination: word(c, d), flags })
    }

    /// The offset of the GTP-U message in a UDP datagram to the GTP-U port. None for other packets
    /// and for fragments.
    pub(crate) fn tunnelled(&self, packet: &[u8]) -> Option<usize> {
        let header = packet.get(self.at..self.end)?.first_chunk::<UDP_BYTES>()?;
        let [_, _, high, low, length_high, length_low, ..] = *header;
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        let to_port = u16::from_be_bytes([high, low]) == gtpu::PORT;
        let whole = self.protocol == UDP && !self.fragment && length == self.end - self.at;
        (whole && to_port).then_some(self.at + UDP_BYTES)
    }

    /// The offset of the packet that an ICMP error quotes (RFC 792, RFC 4443).
    pub(crate) fn reported(&self, packet: &[u8]) -> Option<usize> {
        let kind = *packet.get(self.at)?;
        let error = match self.protocol {
            ICMP => matches!(kind, 3..=5 | 11 | 12),
            ICMPV6 => kind < 128,
            _ => false,
        };
        (error && !self.fragment).then_some(self.at + 8)
    }
}

/// Addresses and ports of the TCP segment that an ICMP error quotes.
pub(crate) fn quoted(bytes: &[u8]) -> Option<(Ip, Tcp)> {
    let address = |v6: bool, at| if v6 { ipv6(bytes, at) } else { ipv4(bytes, at) };
    let (v6, protocol, at) = match bytes.first()? >> 4 {
        4 => (false, *bytes.get(9)?, usize::from(bytes[0] & 0xf) * 4),
        6 => (true, *bytes.get(6)?, IPV6_BYTES),
        _ => return None,
    };
    let ports = bytes.get(at..)?.first_chunk::<4>()?;
    let (source, destination) = if v6 { (8, 24) } else { (12, 16) };
    let ip = Ip {
        source: address(v6, source)?,
        destination: address(v6, destination)?,
        protocol,
        at,
        end: bytes.len(),
        fragment: false,
    };
    let [a, b, c, d] = *ports;
    let word = |high, low| u16::from_be_bytes([high, low]);
    let tcp = Tcp { source: word(a, b), destination: word(c, d), flags: 0 };
    (protocol == TCP).then_some((ip, tcp))
}

fn ipv4(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
    Some(octets.into())
}

fn ipv6(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 16] = *bytes.get(at..)?.first_chunk()?;
    Some(octets.into())
}

/// Lowers the MSS option of a SYN to `most` bytes and corrects the checksum. True if it changed the
/// option.
pub(crate) fn clamp(segment: &mut [u8], most: u16) -> bool {
    use justfull_nru::checksum;
    const CHECKSUM: usize = 16;
    let Some(offset) = segment.get(12).map(|octet| usize::from(octet >> 4) * 4) else {
        return false;
    };
    let mut at = 20;
    while at < offset {
        let length = match (segment.get(at), segment.get(at + 1)) {
            (Some(0) | None, _) => return false,
            (Some(1), _) => 1,
            (Some(_), Some(length)) if *length >= 2 => usize::from(*length),
            _ => return false,
        };
        if segment[at] == 2 && length == 4 {
            let Some(value) = segment.get(at + 2..at + 4) else { return false };
            let before = [value[0], value[1]];
            if u16::from_be_bytes(before) <= most {
                return false;
            }
            let sum = u16::from_be_bytes([segment[CHECKSUM], segment[CHECKSUM + 1]]);
            let after = most.to_be_bytes();
            let sum = checksum::updated(sum, at + 2, &before, &after);
            segment[at + 2..at + 4].copy_from_slice(&after);
            segment[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            return true;
        }
        at += length;
    }
    false
}
