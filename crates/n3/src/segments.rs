//! Joins TCP segments, or UDP datagrams, to one packet for a TUN device with offloads (`struct
//! virtio_net_hdr`, VIRTIO 1.2 section 5.1.6). Nothing here allocates after construction.

use crate::packet::{IPV4_BYTES, IPV6_BYTES, UDP, UDP_BYTES};
use justfull_net::OFFLOAD_PREFIX;
use justfull_net::segments::{LONGEST, LONGEST_HEADERS, Run, is_sound, pseudo, set_length};

/// The checksum is incomplete.
const NEEDS_CHECKSUM: u8 = 1;
/// Datagrams of UDP.
const UDP_DATAGRAMS: u8 = 5;
/// Most datagrams that a kernel takes at once (`UDP_MAX_SEGMENTS` before Linux 6.9).
const MOST_DATAGRAMS: usize = 64;
/// The place of UDP's checksum in its header.
const UDP_CHECKSUM: usize = 6;

/// Makes one packet of segments that follow each other.
#[derive(Debug)]
pub(crate) struct Join {
    /// The prefix, and the packet so far.
    bytes: Vec<u8>,
    run: Run,
}

impl Join {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::with_capacity(OFFLOAD_PREFIX + LONGEST), run: Run::default() }
    }

    /// Begins with a segment; false if it must go alone. Nothing is in here before.
    pub(crate) fn begin(&mut self, packet: &[u8]) -> bool {
        if !is_sound(packet) || !self.run.begin(packet) {
            return false;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; OFFLOAD_PREFIX]);
        self.bytes.extend_from_slice(packet);
        true
    }

    /// Adds a segment; false if it does not follow.
    pub(crate) fn add(&mut self, packet: &[u8]) -> bool {
        let follows = self.run.segments() > 0
            && is_sound(packet)
            && self.run.add(&self.bytes[OFFLOAD_PREFIX..], packet);
        if follows {
            self.bytes.extend_from_slice(&packet[self.run.payload()..]);
        }
        follows
    }

    /// The packet with its prefix, which is then no longer here. None without a segment.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        let run = std::mem::take(&mut self.run);
        if run.segments() > 1 {
            let mut head = [0; OFFLOAD_PREFIX + LONGEST_HEADERS];
            let length = run.head(&self.bytes[OFFLOAD_PREFIX..], &mut head);
            self.bytes[..length].copy_from_slice(&head[..length]);
        }
        (run.segments() > 0).then_some(&self.bytes)
    }
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

#[cfg(test)]
mod tests;
