//! Many TCP segments as one packet: the form in which a TUN device with offloads exchanges them
//! with the kernel. A prefix has the length of the segments (`struct virtio_net_hdr`, VIRTIO 1.2
//! section 5.1.6). [`Join`] joins consecutive segments into one packet; [`Cut`] cuts a packet into
//! its segments. Nothing here allocates after construction.

use crate::packet::{ACK, IPV4_BYTES, IPV6_BYTES, Ip, TCP, UDP, UDP_BYTES};
use justfull_net::OFFLOAD_PREFIX;
use justfull_nru::checksum;

/// The checksum is incomplete.
const NEEDS_CHECKSUM: u8 = 1;
/// Segments of TCP over IPv4, and over IPv6.
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
/// Datagrams of UDP.
const UDP_DATAGRAMS: u8 = 5;
/// Most datagrams that a kernel takes at once (`UDP_MAX_SEGMENTS` before Linux 6.9).
const MOST_DATAGRAMS: usize = 64;
/// The place of UDP's checksum in its header.
const UDP_CHECKSUM: usize = 6;
/// Octets of TCP's header without options, and places in it.
const TCP_BYTES: usize = 20;
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;
const PSH: u8 = 1 << 3;
const FIN: u8 = 1;
/// The longest packet.
const LONGEST: usize = 65_535;

/// The place of TCP's header and payload in a segment.
#[derive(Clone, Copy, Debug)]
struct Places {
    tcp: usize,
    payload: usize,
}

impl Places {
    fn of(packet: &[u8], ip: &Ip) -> Option<Self> {
        let offset = usize::from(packet.get(ip.at + 12)? >> 4) * 4;
        let payload = ip.at + offset;
        let sound = offset >= TCP_BYTES && payload <= ip.end && ip.end == packet.len();
        sound.then_some(Self { tcp: ip.at, payload })
    }
}

/// The sum of the pseudo header for `length` octets of header and payload.
fn pseudo(packet: &[u8], protocol: u8, length: usize) -> u16 {
    let addresses = if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] };
    let sum = checksum::add(checksum::sum(addresses), u16::from(protocol));
    checksum::add(sum, length as u16)
}

/// Writes the length of an IP packet into its header, and the header's checksum. Its length is at
/// most 65 535 bytes.
fn set_length(packet: &mut [u8]) {
    if packet[0] >> 4 == 4 {
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[10..12].fill(0);
        let header = usize::from(packet[0] & 0xf) * 4;
        let sum = !checksum::sum(&packet[..header]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let payload = (packet.len() - IPV6_BYTES) as u16;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
    }
}

/// Makes one packet of segments that follow each other.
#[derive(Debug)]
pub(crate) struct Join {
    /// The prefix, and the packet so far.
    bytes: Vec<u8>,
    places: Places,
    /// Payload of each segment, and the number of segments; 0 without one.
    size: usize,
    segments: usize,
    /// The next sequence number.
    next: u32,
    /// No segment can follow.
    closed: bool,
}

impl Join {
    pub(crate) fn new() -> Self {
        let places = Places { tcp: 0, payload: 0 };
        let bytes = Vec::with_capacity(OFFLOAD_PREFIX + LONGEST);
        Self { bytes, places, size: 0, segments: 0, next: 0, closed: false }
    }

    /// Begins with a segment; false if it must go alone. Nothing is in here before.
    pub(crate) fn begin(&mut self, packet: &[u8]) -> bool {
        let Some(places) = joinable(packet) else { return false };
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; OFFLOAD_PREFIX]);
        self.bytes.extend_from_slice(packet);
        self.places = places;
        self.size = packet.len() - places.payload;
        self.segments = 1;
        self.next = sequence(packet, places).wrapping_add(self.size as u32);
        self.closed = packet[places.tcp + FLAGS] & PSH != 0;
        true
    }

    /// Adds a segment; false if it does not follow.
    pub(crate) fn add(&mut self, packet: &[u8]) -> bool {
        if self.segments == 0 || self.closed {
            return false;
        }
        let Some(places) = joinable(packet) else { return false };
        let size = packet.len() - places.payload;
        let own = &mut self.bytes[OFFLOAD_PREFIX..];
        let follows = places.payload == self.places.payload
            && size <= self.size
            && own.len() + size <= LONGEST
            && sequence(packet, places) == self.next
            && alike(own, packet, places);
        if !follows {
            return false;
        }
        let flags = packet[places.tcp + FLAGS];
        own[places.tcp + FLAGS] |= flags & PSH;
        self.closed = size < self.size || flags & PSH != 0;
        self.bytes.extend_from_slice(&packet[places.payload..]);
        self.segments += 1;
        self.next = self.next.wrapping_add(size as u32);
        true
    }

    /// The packet with its prefix, which is then no longer here. None without a segment.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        let segments = std::mem::take(&mut self.segments);
        if segments > 1 {
            let (prefix, packet) = self.bytes.split_at_mut(OFFLOAD_PREFIX);
            set_length(packet);
            let Places { tcp, payload } = self.places;
            let sum = pseudo(packet, TCP, packet.len() - tcp);
            packet[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            let kind = if packet[0] >> 4 == 4 { TCP_IPV4 } else { TCP_IPV6 };
            prefix[..2].copy_from_slice(&[NEEDS_CHECKSUM, kind]);
            let words = [payload, self.size, tcp, CHECKSUM];
            for (place, word) in prefix[2..].chunks_exact_mut(2).zip(words) {
                place.copy_from_slice(&(word as u16).to_ne_bytes());
            }
        }
        (segments > 0).then_some(&self.bytes)
    }
}

fn sequence(packet: &[u8], places: Places) -> u32 {
    let at = places.tcp + SEQUENCE;
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

/// The places of a segment that may be joined with others: data without other flags than ACK and
/// PSH, IP without options, and a right checksum.
fn joinable(packet: &[u8]) -> Option<Places> {
    let ip = Ip::read(packet)?;
    let v4 = packet[0] >> 4 == 4;
    // Without DF, the kernel could not restore IPv4's identifications.
    let plain = match v4 {
        true => ip.at == IPV4_BYTES && packet[6] & 0x40 != 0,
        false => ip.at == IPV6_BYTES,
    };
    let tcp = ip.tcp(packet)?;
    let places = Places::of(packet, &ip)?;
    let data = tcp.flags & !PSH == ACK && places.payload < packet.len();
    if !plain || !data {
        return None;
    }
    let sum = pseudo(packet, TCP, packet.len() - places.tcp);
    let right = checksum::add(sum, checksum::sum(&packet[places.tcp..])) == u16::MAX;
    right.then_some(places)
}

/// True if two packets have the same headers but for length, identification, sequence number,
/// checksums and PSH.
fn alike(one: &[u8], other: &[u8], places: Places) -> bool {
    let same = |from: usize, to: usize| one[from..to] == other[from..to];
    let ip = match one[0] >> 4 {
        4 => same(0, 2) && same(6, 10) && same(12, 20),
        _ => same(0, 4) && same(6, 40),
    };
    let Places { tcp, payload } = places;
    // Ports; acknowledgement and offset; window; urgent pointer and options.
    ip && same(tcp, tcp + SEQUENCE)
        && same(tcp + 8, tcp + FLAGS)
        && same(tcp + 14, tcp + CHECKSUM)
        && same(tcp + 18, payload)
}

/// Makes one packet of UDP datagrams with the same headers and lengths, of which the last may be
/// shorter.
#[derive(Debug)]
pub(crate) struct Pack {
    /// The prefix, and the packet so far.
    bytes: Vec<u8>,
    /// Octets of IP's header, payload of each datagram, and their number.
    ip: usize,
    size: usize,
    datagrams: usize,
    closed: bool,
}

impl Pack {
    pub(crate) fn new() -> Self {
        let bytes = Vec::with_capacity(OFFLOAD_PREFIX + LONGEST);
        Self { bytes, ip: 0, size: 0, datagrams: 0, closed: false }
    }

    /// Begins with a datagram without IP options. Nothing is in here before.
    pub(crate) fn begin(&mut self, packet: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; OFFLOAD_PREFIX]);
        self.bytes.extend_from_slice(packet);
        self.ip = if packet[0] >> 4 == 4 { IPV4_BYTES } else { IPV6_BYTES };
        self.size = packet.len() - self.ip - UDP_BYTES;
        self.datagrams = 1;
        self.closed = false;
    }

    /// Adds a datagram with the same headers; false if it does not fit.
    pub(crate) fn add(&mut self, packet: &[u8]) -> bool {
        let payload = packet.get(self.ip + UDP_BYTES..).unwrap_or_default();
        let length = self.bytes.len() + payload.len();
        let fits = (1..MOST_DATAGRAMS).contains(&self.datagrams)
            && !self.closed
            && payload.len() <= self.size
            && length <= OFFLOAD_PREFIX + LONGEST;
        if fits {
            self.bytes.extend_from_slice(payload);
            self.datagrams += 1;
            self.closed = payload.len() < self.size;
        }
        fits
    }

    /// The packet with its prefix, which is then no longer here. None without a datagram.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        if std::mem::take(&mut self.datagrams) == 0 {
            return None;
        }
        let (prefix, packet) = self.bytes.split_at_mut(OFFLOAD_PREFIX);
        set_length(packet);
        let udp = packet.len() - self.ip;
        let at = self.ip + UDP_CHECKSUM;
        packet[self.ip + 4..at].copy_from_slice(&(udp as u16).to_be_bytes());
        let sum = pseudo(packet, UDP, udp);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        prefix[..2].copy_from_slice(&[NEEDS_CHECKSUM, UDP_DATAGRAMS]);
        let words = [self.ip + UDP_BYTES, self.size, self.ip, UDP_CHECKSUM];
        for (place, word) in prefix[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&(word as u16).to_ne_bytes());
        }
        Some(&self.bytes)
    }
}

/// Cuts one packet into its segments.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    packet: &'a [u8],
    places: Places,
    /// Payload of each segment; 0 if the packet is whole as it is.
    size: usize,
    /// Where the checksum begins and where its field is; none if it is complete.
    checksum: Option<(usize, usize)>,
    /// The next segment's payload, and its number.
    at: usize,
    number: u16,
}

impl<'a> Cut<'a> {
    /// Begins with a packet and its prefix. None if they do not fit each other.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let (prefix, packet) = bytes.split_at_checked(OFFLOAD_PREFIX)?;
        let word = |at: usize| usize::from(u16::from_ne_bytes([prefix[at], prefix[at + 1]]));
        let completes = (prefix[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(6) + word(8)));
        if completes.is_some_and(|(_, field)| field + 2 > packet.len()) {
            return None;
        }
        let whole = Places { tcp: 0, payload: 0 };
        let mut cut =
            Self { packet, places: whole, size: 0, checksum: completes, at: 0, number: 0 };
        if prefix[1] != 0 {
            cut.places = Places::of(packet, &Ip::read(packet)?)?;
            cut.size = word(4).max(1);
            cut.at = cut.places.payload;
        }
        Some(cut)
    }

    /// True if it is more than one segment.
    pub(crate) const fn is_many(&self) -> bool {
        self.size > 0 && self.places.payload + self.size < self.packet.len()
    }

    /// The packet before it is cut.
    pub(crate) const fn packet(&self) -> &'a [u8] {
        self.packet
    }

    /// Writes the next segment to the start of `room`, which holds the longest packet, and returns
    /// the segment's length. None after the last.
    pub(crate) fn next(&mut self, room: &mut [u8]) -> Option<usize> {
        let packet = self.packet;
        if self.at >= packet.len() {
            return None;
        }
        if self.size == 0 {
            self.at = packet.len();
            let out = room.get_mut(..packet.len())?;
            out.copy_from_slice(packet);
            if let Some((begin, field)) = self.checksum {
                let sum = !checksum::sum(&out[begin..]);
                out[field..field + 2].copy_from_slice(&sum.to_be_bytes());
            }
            return Some(packet.len());
        }
        let Places { tcp, payload } = self.places;
        let end = packet.len().min(self.at + self.size);
        let length = payload + end - self.at;
        let out = room.get_mut(..length)?;
        out[..payload].copy_from_slice(&packet[..payload]);
        out[payload..].copy_from_slice(&packet[self.at..end]);
        if packet[0] >> 4 == 4 {
            let first = u16::from_be_bytes([packet[4], packet[5]]);
            out[4..6].copy_from_slice(&first.wrapping_add(self.number).to_be_bytes());
        }
        set_length(out);
        let number = sequence(packet, self.places).wrapping_add((self.at - payload) as u32);
        out[tcp + SEQUENCE..tcp + SEQUENCE + 4].copy_from_slice(&number.to_be_bytes());
        if end < packet.len() {
            out[tcp + FLAGS] &= !(FIN | PSH);
        }
        out[tcp + CHECKSUM..tcp + CHECKSUM + 2].fill(0);
        let sum = !checksum::add(pseudo(out, TCP, length - tcp), checksum::sum(&out[tcp..]));
        out[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        self.at = end;
        self.number += 1;
        Some(length)
    }
}

#[cfg(test)]
mod tests;
