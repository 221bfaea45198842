//! Outer packets that hold several UDP datagrams with the same headers and, except the last, the
//! same length (`struct virtio_net_hdr`, VIRTIO 1.2 section 5.1.6). Nothing here allocates after
//! construction.

use crate::packet::{Ip, UDP, UDP_BYTES};
use justfull_net::OFFLOAD_PREFIX;
use justfull_net::segments::{pseudo, set_length_to};
use justfull_nru::checksum;
use std::ops::Range;

/// The checksum is incomplete.
const NEEDS_CHECKSUM: u8 = 1;
/// Datagrams of UDP.
const UDP_DATAGRAMS: u8 = 5;
/// Most datagrams that a kernel takes at once (`UDP_MAX_SEGMENTS` before Linux 6.9).
pub(crate) const MOST_DATAGRAMS: usize = 64;
/// The place of UDP's checksum in its header.
const UDP_CHECKSUM: usize = 6;

/// The places of datagrams in an outer packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagrams {
    /// Offsets of the UDP header, of the first payload, and of the packet's end.
    udp: usize,
    begin: usize,
    end: usize,
    /// Payload of each datagram in bytes.
    size: usize,
}

impl Datagrams {
    /// Reads the form of a packet with the prefix `prefix` and the headers `outer`. None for a form
    /// of other packets than UDP datagrams.
    pub(crate) fn read(prefix: &[u8], outer: &Ip) -> Option<Self> {
        let (udp, begin, end) = (outer.at, outer.at + UDP_BYTES, outer.end);
        let kind = *prefix.get(1)?;
        let size = match kind {
            0 => end.checked_sub(begin)?,
            UDP_DATAGRAMS => usize::from(u16::from_ne_bytes([*prefix.get(4)?, *prefix.get(5)?])),
            _ => return None,
        };
        let sound = kind == 0 || size > 0 && prefix[0] & NEEDS_CHECKSUM != 0;
        sound.then_some(Self { udp, begin, end, size })
    }

    /// Their number, 1 or more.
    pub(crate) fn count(&self) -> usize {
        (self.end - self.begin).div_ceil(self.size.max(1)).max(1)
    }

    /// The place of the payload of one of them.
    pub(crate) fn place(&self, number: usize) -> Range<usize> {
        let begin = self.begin + number * self.size;
        begin..self.end.min(begin + self.size)
    }

    /// Writes a packet's prefix and headers, for some datagrams of `packet` without the others, to
    /// `out`. Returns the place of the payloads in `packet`.
    pub(crate) fn part(
        &self,
        packet: &[u8],
        numbers: &Range<usize>,
        out: &mut Vec<u8>,
    ) -> Range<usize> {
        let payload = self.place(numbers.start).start..self.place(numbers.end - 1).end;
        out.clear();
        out.extend_from_slice(&[0; OFFLOAD_PREFIX]);
        out.extend_from_slice(&packet[..self.begin]);
        let head = &mut out[OFFLOAD_PREFIX..];
        if head[0] >> 4 == 4 {
            let first = u16::from_be_bytes([head[4], head[5]]);
            head[4..6].copy_from_slice(&first.wrapping_add(numbers.start as u16).to_be_bytes());
        }
        let field = self.udp + UDP_CHECKSUM;
        let sum = u16::from_be_bytes([head[field], head[field + 1]]);
        let addresses = checksum::add(sum, !((self.end - self.udp) as u16));
        let total = self.begin + payload.len();
        let sum = checksum::add(addresses, (total - self.udp) as u16);
        finish(out, self.udp, total, sum);
        offload(out, self.udp, (numbers.len() > 1).then_some(self.size));
        payload
    }
}

/// Completes the prefix and the headers `out` of a packet of `total` bytes after the prefix. Its
/// datagrams have `size` bytes of payload each; `many` if there is more than one. The UDP header,
/// the last one of `out`, is at `udp`.
pub(crate) fn complete(out: &mut [u8], udp: usize, total: usize, many: Option<usize>) {
    let sum = pseudo(&out[OFFLOAD_PREFIX..], UDP, total - udp);
    finish(out, udp, total, sum);
    offload(out, udp, many);
}

/// Writes lengths, and the sum of the pseudo header.
fn finish(out: &mut [u8], udp: usize, total: usize, sum: u16) {
    let head = &mut out[OFFLOAD_PREFIX..];
    set_length_to(head, total);
    head[udp + 4..udp + UDP_CHECKSUM].copy_from_slice(&((total - udp) as u16).to_be_bytes());
    head[udp + UDP_CHECKSUM..udp + UDP_BYTES].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the prefix. The kernel completes the checksums; `size` is the payload of each datagram if
/// there are several.
fn offload(out: &mut [u8], udp: usize, size: Option<usize>) {
    let kind = if size.is_some() { UDP_DATAGRAMS } else { 0 };
    out[..2].copy_from_slice(&[NEEDS_CHECKSUM, kind]);
    let words = [udp + UDP_BYTES, size.unwrap_or(0), udp, UDP_CHECKSUM];
    for (place, word) in out[2..OFFLOAD_PREFIX].chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&(word as u16).to_ne_bytes());
    }
}
