//! The chain's view of a real IP datagram, and the one change that the chain makes to it.
//!
//! Sources: IPv4 (RFC 791, RFC 1122 section 3.2.1.2 for the checksum), IPv6 and its extension
//! headers (RFC 8200), ECN (RFC 3168 section 5), the incremental change of a checksum (RFC 1624
//! equation 3). `etherparse` reads the headers.
//!
//! The 5-tuple has the fields of TS 23.501's packet filters. Later fragments carry no ports: they
//! get the ports of their datagram's first fragment, remembered for the last [`FRAGMENTED`]
//! datagrams; without it the ports are 0. Datagrams with a bad header are not forwarded (RFC 1812
//! section 5.2.2); each has a [`Malformed`] reason.

use etherparse::err::ip::{HeaderError, HeadersError, SliceError};
use etherparse::{IpNumber, IpSlice, Ipv4Slice, Ipv6ExtensionSlice, Ipv6Slice};
use justfull_base::packet::Protocol;
use justfull_base::{Dscp, Ecn};
use justfull_ran::FiveTuple;

/// Fragmented datagrams whose ports are remembered at a time.
pub const FRAGMENTED: usize = 64;

/// Why a datagram is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Malformed {
    /// Neither IPv4 nor IPv6, or no byte at all.
    Version,
    /// Shorter than its headers or its length field require.
    Truncated,
    /// A header contradicts itself: its own length, or an extension header out of place.
    Header,
    /// The IPv4 header checksum is wrong.
    Checksum,
    /// Too short for the header of its transport protocol, or that header's length is impossible.
    Transport,
    /// Longer than the MTU of the cell.
    TooBig,
}

impl Malformed {
    /// All reasons, in the order of columns.
    pub const ALL: [Self; 6] = [
        Self::Version,
        Self::Truncated,
        Self::Header,
        Self::Checksum,
        Self::Transport,
        Self::TooBig,
    ];

    /// Lower-case name for columns and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Truncated => "truncated",
            Self::Header => "header",
            Self::Checksum => "checksum",
            Self::Transport => "transport",
            Self::TooBig => "too_big",
        }
    }
}

/// The fields of a datagram for the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Addresses, ports and protocol.
    pub tuple: FiveTuple,
    /// Length by the IP header in bytes; the rest of the buffer is padding.
    pub size: u32,
    /// Bytes of transport payload; for a later fragment, everything after the IP headers.
    pub payload: u32,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// Its place if it is a fragment.
    pub fragment: Option<Fragment>,
}

/// A piece of a larger datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of the whole (16 bits in IPv4).
    pub id: u32,
    /// It is the first piece, with the transport header.
    pub first: bool,
}

/// Parses the headers of `bytes`, which may be followed by padding.
///
/// # Errors
/// The reason why it must not be forwarded.
pub fn parse(bytes: &[u8]) -> Result<Datagram, Malformed> {
    match IpSlice::from_slice(bytes).map_err(|e| reason(&e))? {
        IpSlice::Ipv4(slice) => parse_v4(&slice),
        IpSlice::Ipv6(slice) => parse_v6(&slice, bytes.len()),
    }
}

fn reason(error: &SliceError) -> Malformed {
    match error {
        SliceError::Len(_) => Malformed::Truncated,
        SliceError::IpHeaders(HeadersError::Ip(HeaderError::UnsupportedIpVersion { .. })) => {
            Malformed::Version
        }
        SliceError::IpHeaders(_) => Malformed::Header,
    }
}

fn parse_v4(slice: &Ipv4Slice<'_>) -> Result<Datagram, Malformed> {
    let header = slice.header();
    if ones_complement(header.slice()) != 0xffff {
        return Err(Malformed::Checksum);
    }
    let fragment = slice.is_payload_fragmented().then(|| Fragment {
        id: u32::from(header.identification()),
        first: header.fragments_offset().value() == 0,
    });
    let content = slice.payload();
    Datagram {
        tuple: FiveTuple {
            source: mapped(header.source()),
            destination: mapped(header.destination()),
            ..FiveTuple::default()
        },
        size: u32::from(header.total_len()),
        payload: 0,
        ecn: ecn_of(header.ecn().value()),
        dscp: dscp_of(header.dcp().value()),
        fragment,
    }
    .with_transport(content.ip_number, content.payload)
}

fn parse_v6(slice: &Ipv6Slice<'_>, read: usize) -> Result<Datagram, Malformed> {
    let header = slice.header();
    let fragment = slice.extensions().clone().into_iter().find_map(|extension| match extension {
        Ipv6ExtensionSlice::Fragment(f) if f.is_fragmenting_payload() => {
            Some(Fragment { id: f.identification(), first: f.fragment_offset().value() == 0 })
        }
        _ => None,
    });
    let content = slice.payload();
    // A payload length of 0 means a jumbogram (RFC 2675) or an empty datagram: the length of the
    // reading counts.
    let size = match header.payload_length() {
        0 => read as u32,
        length => 40 + u32::from(length),
    };
    Datagram {
        tuple: FiveTuple {
            source: header.source(),
            destination: header.destination(),
            ..FiveTuple::default()
        },
        size,
        payload: 0,
        ecn: ecn_of(header.ecn().value()),
        dscp: dscp_of(header.dscp().value()),
        fragment,
    }
    .with_transport(content.ip_number, content.payload)
}

impl Datagram {
    /// Adds the fields of the transport header; `content` begins after the IP headers.
    fn with_transport(mut self, number: IpNumber, content: &[u8]) -> Result<Self, Malformed> {
        self.tuple.protocol = match number {
            IpNumber::TCP => Protocol::Tcp,
            IpNumber::UDP => Protocol::Udp,
            IpNumber::ICMP | IpNumber::IPV6_ICMP => Protocol::Icmp,
            _ => Protocol::Other,
        };
        let mut header = 0;
        // A first fragment may end inside a TCP header, but not before the ports (RFC 791: at least
        // 8 bytes).
        let whole = self.fragment.is_none();
        if self.fragment.is_none_or(|f| f.first) {
            header = match self.tuple.protocol {
                Protocol::Tcp => {
                    let header = content.get(12).map_or(20, |b| usize::from(b >> 4) * 4);
                    if whole && (header < 20 || header > content.len()) {
                        return Err(Malformed::Transport);
                    }
                    header
                }
                Protocol::Udp | Protocol::Icmp => 8,
                Protocol::Other => 0,
            };
            // ICMPv6 and ICMP messages have at least 8 and 4 bytes; the rest is not checked.
            let least = if self.tuple.protocol == Protocol::Udp { 8 } else { 4.min(header) };
            if content.len() < least {
                return Err(Malformed::Transport);
            }
            if let (Protocol::Tcp | Protocol::Udp, [a, b, c, d, ..]) =
                (self.tuple.protocol, content)
            {
                self.tuple.source_port = u16::from_be_bytes([*a, *b]);
                self.tuple.destination_port = u16::from_be_bytes([*c, *d]);
            }
            // Echo requests and replies of RFC 792 and RFC 4443; their identifier is used as the
            // replying end's port.
            if let (Protocol::Icmp, [kind, _, _, _, a, b, ..]) = (self.tuple.protocol, content) {
                let id = u16::from_be_bytes([*a, *b]);
                match kind {
                    8 | 128 => self.tuple.destination_port = id,
                    0 | 129 => self.tuple.source_port = id,
                    _ => {}
                }
            }
        }
        self.payload = content.len().saturating_sub(header) as u32;
        Ok(self)
    }
}

/// Sets congestion experienced in the headers of the IP datagram `bytes`, which [`parse`] has
/// accepted.
///
/// The IPv4 header checksum HC becomes ~(~HC + ~m + m') for the changed 16-bit word m (RFC 1624
/// equation 3). IPv6 has none, and the ECN bits are in no pseudo-header.
pub fn mark_ce(bytes: &mut [u8]) {
    match bytes {
        [first, tos, _, _, _, _, _, _, _, _, high, low, ..] if *first >> 4 == 4 => {
            let before = u16::from_be_bytes([*first, *tos]);
            *tos |= 0b11;
            let after = u16::from_be_bytes([*first, *tos]);
            let checksum = u16::from_be_bytes([*high, *low]);
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            [*high, *low] = (!fold(sum)).to_be_bytes();
        }
        // The traffic class spans bytes 0 and 1; its last two bits are bits 5 and 4 of byte 1.
        [first, second, ..] if *first >> 4 == 6 => *second |= 0b0011_0000,
        _ => {}
    }
}

/// Adds the carries of a ones' complement sum.
const fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Ones' complement sum of `header` in 16-bit words: 0xffff when its checksum is right.
fn ones_complement(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    fold(words.sum())
}

/// An IPv4 address as an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2).
#[must_use]
pub fn mapped(address: [u8; 4]) -> [u8; 16] {
    std::net::Ipv4Addr::from(address).to_ipv6_mapped().octets()
}

/// The codepoint in six bits.
fn dscp_of(bits: u8) -> Dscp {
    Dscp::new(bits).unwrap_or_default()
}

const fn ecn_of(bits: u8) -> Ecn {
    match bits & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Identifies the datagram that a fragment belongs to (RFC 791 section 3.2, RFC 8200 section 4.5).
type Whole = ([u8; 16], [u8; 16], u32, Protocol);

/// A fragmented datagram and its ports.
type Known = (Whole, [u16; 2]);

/// The ports of the last [`FRAGMENTED`] fragmented datagrams, by the headers of their first
/// fragments.
pub struct FragmentPorts {
    ring: Vec<Option<Known>>,
    next: usize,
}

impl FragmentPorts {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self { ring: vec![None; FRAGMENTED], next: 0 }
    }

    /// Stores the ports of a first fragment; gives a later fragment the ports of its first.
    #[inline]
    pub fn complete(&mut self, datagram: &mut Datagram) {
        if let Some(fragment) = datagram.fragment {
            self.complete_fragment(datagram, fragment);
        }
    }

    #[cold]
    fn complete_fragment(&mut self, datagram: &mut Datagram, fragment: Fragment) {
        let tuple = &mut datagram.tuple;
        let whole = (tuple.source, tuple.destination, fragment.id, tuple.protocol);
        if fragment.first {
            self.ring[self.next] = Some((whole, [tuple.source_port, tuple.destination_port]));
            self.next = (self.next + 1) % self.ring.len();
        } else if let Some((_, ports)) =
            self.ring.iter().flatten().find(|(known, _)| *known == whole)
        {
            [tuple.source_port, tuple.destination_port] = *ports;
        }
    }
}

impl Default for FragmentPorts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
