//! Packets of many TCP segments or UDP datagrams. A TUN device with offloads exchanges such packets
//! with the kernel (`struct virtio_net_hdr`, VIRTIO 1.2 section 5.1.6; TCP segmentation, RFC 9293
//! section 3.7). [`Cut`] cuts a packet into its segments. [`Run`] finds consecutive segments that
//! can be one packet. Nothing here allocates.
//!
//! Each segment has all headers and options of the packet. The identification of IPv4 rises by 1
//! with each segment, FIN and PSH are on the last segment, CWR is on the first (RFC 3168 section
//! 6.1.2), and every checksum is complete.

use std::ops::Range;

use crate::checksum;

/// Length in bytes of the prefix of each packet on a device with offloads (`struct
/// virtio_net_hdr`).
pub const OFFLOAD_PREFIX: usize = 10;
/// Length in bytes of the longest packet.
pub const LONGEST: usize = 65_535;
/// Most segments of a [`Run`].
pub const MOST_SEGMENTS: usize = 64;
/// Length in bytes of the longest headers of a [`Run`]: IPv6, and TCP with all options.
pub const LONGEST_HEADERS: usize = IPV6_BYTES + 60;

/// The flag of an incomplete checksum.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of packets: TCP segments over IPv4 and over IPv6, UDP datagrams; the flag of TCP with CWR.
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP_DATAGRAMS: u8 = 5;
const WITH_CWR: u8 = 0x80;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;
/// Lengths of headers without options, and offsets of fields, in bytes.
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const FIN: u8 = 1;
const PSH: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const CWR: u8 = 1 << 7;

/// Cuts one packet into its segments. It holds offsets, and no bytes of the packet.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Length of the packet in bytes.
    length: usize,
    /// Offsets of the transport header, of its checksum and of the payload. In a packet without
    /// segments, the payload's offset is the end, and only the checksum may be incomplete.
    transport: usize,
    checksum: usize,
    payload: usize,
    /// The packet has the form of many segments.
    many: bool,
    needs_checksum: bool,
    tcp: bool,
    /// Payload of each segment in bytes; the last one may be shorter.
    size: usize,
    /// The sum of the pseudo header without its length.
    pseudo: u16,
    /// Offset of the next segment's payload, and the number of this segment.
    at: usize,
    number: u16,
}

impl Cut {
    /// Begins to cut `bytes`: a prefix of [`OFFLOAD_PREFIX`] bytes, and a packet. None if the
    /// prefix does not fit the packet.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let (prefix, packet) = bytes.split_at_checked(OFFLOAD_PREFIX)?;
        let word = |at: usize| usize::from(u16::from_ne_bytes([prefix[at], prefix[at + 1]]));
        let needs_checksum = prefix[0] & NEEDS_CHECKSUM != 0;
        let (transport, field) = (word(6), word(6) + word(8));
        if packet.is_empty() || needs_checksum && field + 2 > packet.len() {
            return None;
        }
        let whole = Self {
            length: packet.len(),
            transport,
            checksum: field,
            payload: packet.len(),
            many: false,
            needs_checksum,
            tcp: false,
            size: 0,
            pseudo: 0,
            at: 0,
            number: 0,
        };
        if prefix[1] == 0 { Some(whole) } else { whole.of_many(packet, prefix[1], word(4)) }
    }

    /// As [`Self::new`], for a packet of segments of `kind`, with `size` bytes of payload each.
    fn of_many(self, packet: &[u8], kind: u8, size: usize) -> Option<Self> {
        let (version, place) = (packet[0] >> 4, self.checksum - self.transport);
        let (tcp, fits) = match kind & !WITH_CWR {
            TCP_IPV4 => (true, version == 4),
            TCP_IPV6 => (true, version == 6),
            UDP_DATAGRAMS => (false, version == 4 || version == 6),
            _ => return None,
        };
        let least = match version {
            4 => IPV4_BYTES.max(usize::from(packet[0] & 0xf) * 4),
            _ => IPV6_BYTES,
        };
        let header = match tcp {
            true => usize::from(packet.get(self.transport + 12)? >> 4) * 4,
            false => UDP_BYTES,
        };
        let sound = fits
            && self.needs_checksum
            && size > 0
            && packet.len() <= LONGEST
            && self.transport >= least
            && header >= if tcp { TCP_BYTES } else { UDP_BYTES }
            && place == if tcp { TCP_CHECKSUM } else { UDP_CHECKSUM }
            && self.transport + header < packet.len();
        if !sound {
            return None;
        }
        let sum = u16::from_be_bytes([packet[self.checksum], packet[self.checksum + 1]]);
        let pseudo = checksum::add(sum, !((packet.len() - self.transport) as u16));
        let payload = self.transport + header;
        Some(Self { payload, many: true, tcp, size, pseudo, at: payload, ..self })
    }

    /// True if segments are left.
    #[must_use]
    pub const fn is_midway(&self) -> bool {
        self.at < self.length
    }

    /// True if the packet has more than one segment.
    #[must_use]
    pub const fn is_many(&self) -> bool {
        self.many && self.payload + self.size < self.length
    }

    /// Length in bytes of the longest segment with its headers.
    #[must_use]
    pub const fn longest(&self) -> usize {
        if self.many { self.payload + self.size } else { self.length }
    }

    /// Writes the next segment of `packet` to the start of `room`, and returns its length in bytes.
    /// If the segment is longer than `room`, it is not complete in `room`, and the result is the
    /// length of `room`. None after the last segment.
    pub fn next(&mut self, packet: &[u8], room: &mut [u8]) -> Option<usize> {
        if !self.is_midway() {
            return None;
        }
        if !self.many {
            self.at = self.length;
            let length = self.length.min(room.len());
            let out = &mut room[..length];
            out.copy_from_slice(&packet[..length]);
            if self.needs_checksum && length == self.length {
                checksum::complete(out, self.transport, self.checksum);
            }
            return Some(length);
        }
        let length = self.payload + self.size.min(self.length - self.at);
        let Some(out) = room.get_mut(..length) else {
            self.at += length - self.payload;
            self.number = self.number.wrapping_add(1);
            return Some(room.len());
        };
        let (head, payload) = self.next_head(packet, out)?;
        out[head..].copy_from_slice(&packet[payload]);
        Some(length)
    }

    /// Writes only the headers of the next segment of `packet` to the start of `room`. Returns
    /// their length in bytes and the place of the payload in `packet`. None after the last segment,
    /// if the packet has no form of many segments, or if `room` is too small.
    pub fn next_head(&mut self, packet: &[u8], room: &mut [u8]) -> Option<(usize, Range<usize>)> {
        let out = room.get_mut(..self.payload).filter(|_| self.many && self.is_midway())?;
        let begin = self.at;
        let end = self.length.min(begin + self.size);
        self.at = end;
        let number = self.number;
        self.number = number.wrapping_add(1);
        out.copy_from_slice(&packet[..self.payload]);
        self.head(out, begin, end, number);
        let payload = checksum::sum(&packet[begin..end]);
        checksum::complete_with(out, self.transport, self.checksum, payload);
        Some((self.payload, begin..end))
    }

    /// Completes the headers `out` of segment `number`. Its payload is `begin..end` of the packet.
    /// The checksum is then the sum of the pseudo header.
    fn head(&self, out: &mut [u8], begin: usize, end: usize, number: u16) {
        if out[0] >> 4 == 4 {
            let first = u16::from_be_bytes([out[4], out[5]]);
            out[4..6].copy_from_slice(&first.wrapping_add(number).to_be_bytes());
        }
        set_length_to(out, self.payload + end - begin);
        let own = self.payload + end - begin - self.transport;
        let transport = &mut out[self.transport..];
        if self.tcp {
            let sequence = sequence_of(transport).wrapping_add((begin - self.payload) as u32);
            transport[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.to_be_bytes());
            if self.is_midway() {
                transport[FLAGS] &= !(FIN | PSH);
            }
            if number > 0 {
                transport[FLAGS] &= !CWR;
            }
        } else {
            transport[4..6].copy_from_slice(&(own as u16).to_be_bytes());
        }
        let pseudo = checksum::add(self.pseudo, own as u16);
        let place = self.checksum - self.transport;
        transport[place..place + 2].copy_from_slice(&pseudo.to_be_bytes());
    }
}

/// Consecutive segments of a TCP connection that can be one packet. Their headers are equal but for
/// the fields of their position, and so are their lengths; only the last segment may be shorter or
/// have PSH. A run holds offsets, and no bytes of the segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    transport: usize,
    payload: usize,
    /// Payload of each segment in bytes, and the number of segments.
    size: usize,
    segments: usize,
    /// Length of the whole packet in bytes.
    length: usize,
    /// The next sequence number.
    next: u32,
    /// PSH is on the last segment.
    pushes: bool,
    /// No segment can follow.
    closed: bool,
}

impl Run {
    /// Begins a new run with the segment `packet`. False if this segment cannot be joined with
    /// others; the run is then empty.
    pub fn begin(&mut self, packet: &[u8]) -> bool {
        self.segments = 0;
        let Some((transport, payload)) = joinable(packet) else { return false };
        let size = packet.len() - payload;
        let pushes = packet[transport + FLAGS] & PSH != 0;
        let next = sequence_of(&packet[transport..]).wrapping_add(size as u32);
        let length = packet.len();
        let closed = pushes;
        *self = Self { transport, payload, size, segments: 1, length, next, pushes, closed };
        true
    }

    /// Adds the segment `packet` to the run that begins with `first`. False if the segment does not
    /// continue the run.
    pub fn add(&mut self, first: &[u8], packet: &[u8]) -> bool {
        if self.closed || !(1..MOST_SEGMENTS).contains(&self.segments) {
            return false;
        }
        let Some((transport, payload)) = joinable(packet) else { return false };
        let size = packet.len() - payload;
        let follows = (transport, payload) == (self.transport, self.payload)
            && size <= self.size
            && self.length + size <= LONGEST
            && sequence_of(&packet[transport..]) == self.next
            && self.alike(first, packet);
        if !follows {
            return false;
        }
        self.pushes = packet[transport + FLAGS] & PSH != 0;
        self.closed = size < self.size || self.pushes;
        self.segments += 1;
        self.length += size;
        self.next = self.next.wrapping_add(size as u32);
        true
    }

    /// Number of segments.
    #[must_use]
    pub const fn segments(&self) -> usize {
        self.segments
    }

    /// Offset in bytes of the payload in each segment.
    #[must_use]
    pub const fn payload(&self) -> usize {
        self.payload
    }

    /// Writes the prefix and the headers of the joined packet to the start of `out`, from the
    /// headers of its `first` segment. Returns their length in bytes, at most the sum of
    /// [`OFFLOAD_PREFIX`] and [`LONGEST_HEADERS`]. In the packet, the payloads of all segments
    /// follow.
    pub fn head(&self, first: &[u8], out: &mut [u8]) -> usize {
        let (prefix, rest) = out.split_at_mut(OFFLOAD_PREFIX);
        let headers = &mut rest[..self.payload];
        headers.copy_from_slice(&first[..self.payload]);
        prefix.fill(0);
        if self.segments > 1 {
            set_length_to(headers, self.length);
            let transport = self.transport;
            headers[transport + FLAGS] |= if self.pushes { PSH } else { 0 };
            let sum = pseudo(headers, TCP, self.length - transport);
            let field = transport + TCP_CHECKSUM;
            headers[field..field + 2].copy_from_slice(&sum.to_be_bytes());
            let kind = if headers[0] >> 4 == 4 { TCP_IPV4 } else { TCP_IPV6 };
            prefix[..2].copy_from_slice(&[NEEDS_CHECKSUM, kind]);
            let words = [self.payload, self.size, transport, TCP_CHECKSUM];
            for (place, word) in prefix[2..].chunks_exact_mut(2).zip(words) {
                place.copy_from_slice(&(word as u16).to_ne_bytes());
            }
        }
        OFFLOAD_PREFIX + self.payload
    }

    /// True if the headers of two packets are equal, except length, identification, sequence
    /// number, checksums and PSH.
    fn alike(&self, one: &[u8], other: &[u8]) -> bool {
        let same = |from: usize, to: usize| one[from..to] == other[from..to];
        let ip = match one[0] >> 4 {
            4 => same(0, 2) && same(6, 10) && same(12, 20),
            _ => same(0, 4) && same(6, 40),
        };
        let tcp = self.transport;
        // Ports; acknowledgement and offset; window; urgent pointer and options.
        ip && same(tcp, tcp + SEQUENCE)
            && same(tcp + 8, tcp + FLAGS)
            && same(tcp + 14, tcp + TCP_CHECKSUM)
            && same(tcp + 18, self.payload)
    }
}

/// True if a [`Run`] can have the segment `packet`, and its TCP checksum is right.
#[must_use]
pub fn is_sound(packet: &[u8]) -> bool {
    joinable(packet).is_some_and(|(transport, _)| {
        let sum = pseudo(packet, TCP, packet.len() - transport);
        checksum::add(sum, checksum::sum(&packet[transport..])) == u16::MAX
    })
}

/// Offsets of the TCP header and of its payload in a segment that may be joined with others. Such a
/// segment has data and no flags but ACK and PSH, in IPv4 without options and with DF, or in IPv6
/// without extension headers. Without DF, the kernel could not restore IPv4's identifications.
fn joinable(packet: &[u8]) -> Option<(usize, usize)> {
    let half = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let transport = match packet.first()? {
        0x45 if packet.len() > IPV4_BYTES + TCP_BYTES => {
            let plain = half(6) == 0x4000 && packet[9] == TCP && half(2) == packet.len();
            plain.then_some(IPV4_BYTES)?
        }
        0x60..=0x6f if packet.len() > IPV6_BYTES + TCP_BYTES => {
            let plain = packet[6] == TCP && IPV6_BYTES + half(4) == packet.len();
            plain.then_some(IPV6_BYTES)?
        }
        _ => return None,
    };
    let payload = transport + usize::from(packet[transport + 12] >> 4) * 4;
    let data = packet[transport + FLAGS] & !PSH == ACK && packet[transport + 12] & 0xf == 0;
    let sound = payload >= transport + TCP_BYTES && payload < packet.len();
    (data && sound).then_some((transport, payload))
}

fn sequence_of(tcp: &[u8]) -> u32 {
    u32::from_be_bytes([tcp[SEQUENCE], tcp[SEQUENCE + 1], tcp[SEQUENCE + 2], tcp[SEQUENCE + 3]])
}

/// The one's complement sum of the pseudo header of an IP packet, for `length` bytes of `protocol`,
/// at most 65 535.
#[must_use]
pub fn pseudo(packet: &[u8], protocol: u8, length: usize) -> u16 {
    let addresses = if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] };
    let sum = checksum::add(checksum::sum(addresses), u16::from(protocol));
    checksum::add(sum, length as u16)
}

/// Writes the length of an IP packet, at most 65 535 bytes, into its header, and the checksum of an
/// IPv4 header.
pub fn set_length(packet: &mut [u8]) {
    let length = packet.len();
    set_length_to(packet, length);
}

/// As [`set_length`], for a packet of `length` bytes. `packet` has at least its headers.
pub fn set_length_to(packet: &mut [u8], length: usize) {
    if packet[0] >> 4 == 4 {
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[10..12].fill(0);
        let header = IPV4_BYTES.max(usize::from(packet[0] & 0xf) * 4);
        let sum = !checksum::sum(&packet[..header]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let payload = length.saturating_sub(IPV6_BYTES) as u16;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
