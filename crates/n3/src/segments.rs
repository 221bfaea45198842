//! Joins TCP segments to packets of a TUN device with offloads, and puts the segments of such a
//! packet into a tunnel (`struct virtio_net_hdr`, VIRTIO 1.2 section 5.1.6). Payloads stay where
//! they were read; the kernel gathers the parts of a packet. Nothing here allocates after
//! construction.

use crate::datagrams::{self, MOST_DATAGRAMS};
use crate::header::{self, Header};
use crate::packet::UDP_BYTES;
use justfull_net::OFFLOAD_PREFIX;
use justfull_net::segments::{Cut, LONGEST, LONGEST_HEADERS, MOST_SEGMENTS, Run, is_sound};
use std::io::IoSlice;
use std::ops::Range;

/// Connections whose segments are joined at a time.
const MOST_JOINS: usize = 8;
/// Octets of headers in front of the payload of one segment in a tunnel.
const HEADS: usize = header::LONGEST + LONGEST_HEADERS;

/// Segments of one connection that follow each other, by their places in a buffer.
#[derive(Debug, Default)]
struct Join {
    run: Run,
    /// The first segment, and the payloads of the others.
    first: Range<usize>,
    payloads: Vec<Range<usize>>,
}

impl Join {
    fn is_empty(&self) -> bool {
        self.run.segments() == 0
    }

    /// Begins with a segment that [`is_sound`]. Nothing is in here before.
    fn begin(&mut self, bytes: &[u8], place: Range<usize>) {
        self.run.begin(&bytes[place.clone()]);
        self.first = place;
    }

    /// Adds a segment; false if it does not follow.
    fn add(&mut self, bytes: &[u8], place: &Range<usize>) -> bool {
        let follows =
            !self.is_empty() && self.run.add(&bytes[self.first.clone()], &bytes[place.clone()]);
        if follows {
            self.payloads.push(place.start + self.run.payload()..place.end);
        }
        follows
    }

    /// True if its segments are of the same connection as `packet`.
    fn is_of(&self, bytes: &[u8], packet: &[u8]) -> bool {
        !self.is_empty() && ends(&bytes[self.first.clone()]) == ends(packet)
    }

    /// Sends its segments as one packet, if there are any.
    fn send(&mut self, bytes: &[u8], send: &mut impl FnMut(&[IoSlice<'_>])) {
        let run = std::mem::take(&mut self.run);
        if run.segments() == 0 {
            return;
        }
        let first = &bytes[self.first.clone()];
        let mut head = [0; OFFLOAD_PREFIX + LONGEST_HEADERS];
        let length = run.head(first, &mut head);
        let mut parts = [IoSlice::new(&[]); 1 + MOST_SEGMENTS];
        parts[0] = IoSlice::new(&head[..length]);
        parts[1] = IoSlice::new(&first[run.payload()..]);
        for (part, payload) in parts[2..].iter_mut().zip(self.payloads.drain(..)) {
            *part = IoSlice::new(&bytes[payload]);
        }
        send(&parts[..=run.segments()]);
    }
}

/// Addresses and ports of a segment that [`is_sound`].
fn ends(packet: &[u8]) -> &[u8] {
    if packet[0] >> 4 == 4 { &packet[12..24] } else { &packet[8..44] }
}

/// Makes packets of segments of several connections. Packets of one connection keep their order.
#[derive(Debug)]
pub(crate) struct Joins([Join; MOST_JOINS]);

impl Joins {
    pub(crate) fn new() -> Self {
        let join = || Join { payloads: Vec::with_capacity(MOST_SEGMENTS), ..Join::default() };
        Self(std::array::from_fn(|_| join()))
    }

    /// True if no segment waits in here.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Join::is_empty)
    }

    /// Takes the packet at `place` of `bytes`. Calls `send` with each packet that is complete: its
    /// prefix, and its parts.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        place: Range<usize>,
        send: &mut impl FnMut(&[IoSlice<'_>]),
    ) {
        let packet = &bytes[place.clone()];
        if !is_sound(packet) {
            self.flush(bytes, send);
            send(&[IoSlice::new(&[0; OFFLOAD_PREFIX]), IoSlice::new(packet)]);
            return;
        }
        if self.0.iter_mut().any(|join| join.add(bytes, &place)) {
            return;
        }
        let own = self.0.iter().position(|join| join.is_of(bytes, packet));
        let at = own.or_else(|| self.0.iter().position(Join::is_empty)).unwrap_or_else(|| {
            self.flush(bytes, send);
            0
        });
        self.0[at].send(bytes, send);
        self.0[at].begin(bytes, place);
    }

    /// Sends all segments that wait.
    pub(crate) fn flush(&mut self, bytes: &[u8], send: &mut impl FnMut(&[IoSlice<'_>])) {
        self.0.iter_mut().for_each(|join| join.send(bytes, send));
    }
}

/// Makes one packet of the datagrams that carry the segments of one packet through a tunnel.
#[derive(Debug)]
pub(crate) struct Pack {
    /// The headers of all segments.
    heads: Vec<u8>,
    /// The headers of each segment, and the place of its payload in the packet.
    parts: Vec<[Range<usize>; 2]>,
    /// Payload of the first datagram, and of all, in bytes.
    size: usize,
    length: usize,
}

impl Pack {
    pub(crate) fn new() -> Self {
        let heads = vec![0; HEADS * MOST_DATAGRAMS];
        Self { heads, parts: Vec::with_capacity(MOST_DATAGRAMS), size: 0, length: 0 }
    }

    /// Adds the next segment of `packet`, with a header for its tunnel. False without another
    /// segment, or without room for it.
    pub(crate) fn add(&mut self, header: &Header, cut: &mut Cut, packet: &[u8]) -> bool {
        // No segment is longer than the first one.
        let length = header.outer_len() + self.length + self.size;
        if self.parts.len() == MOST_DATAGRAMS || length > LONGEST {
            return false;
        }
        let begin = self.parts.last().map_or(0, |[head, _]| head.end);
        let (message, rest) = self.heads[begin..].split_at_mut(header.message_len());
        let Some((octets, payload)) = cut.next_head(packet, rest) else { return false };
        header.write_message(message, octets + payload.len());
        let end = begin + message.len() + octets;
        let length = end - begin + payload.len();
        self.size = self.size.max(length);
        self.length += length;
        self.parts.push([begin..end, payload]);
        true
    }

    /// The number of segments in here.
    pub(crate) fn segments(&self) -> usize {
        self.parts.len()
    }

    /// Sends the segments of `packet` in here as one packet: its prefix, and its parts. `number` is
    /// the IPv4 identification of the first datagram.
    pub(crate) fn send(
        &mut self,
        header: &Header,
        packet: &[u8],
        number: u16,
        send: &mut impl FnMut(&[IoSlice<'_>]),
    ) {
        let outer = header.outer_len();
        let mut room = [0; OFFLOAD_PREFIX + header::LONGEST];
        let head = &mut room[..OFFLOAD_PREFIX + outer];
        let total = outer + self.length;
        header.write_outer(&mut head[OFFLOAD_PREFIX..], total, number);
        let many = (self.parts.len() > 1).then_some(self.size);
        datagrams::complete(head, outer - UDP_BYTES, total, many);
        let mut parts = [IoSlice::new(&[]); 1 + 2 * MOST_DATAGRAMS];
        let mut filled = 1;
        parts[0] = IoSlice::new(head);
        for [head, payload] in self.parts.drain(..) {
            parts[filled] = IoSlice::new(&self.heads[head]);
            parts[filled + 1] = IoSlice::new(&packet[payload]);
            filled += 2;
        }
        (self.size, self.length) = (0, 0);
        send(&parts[..filled]);
    }
}

#[cfg(test)]
mod tests;
