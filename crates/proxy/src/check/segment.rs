//! Segments of a connection's far ends, which `check` plays itself: written as frames, and read
//! from the kernel's traces.

use crate::inject::checksum;
use crate::nft::{self, TCP};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;
/// Receive window of a far end.
const WINDOW: u16 = 8_192;
const HOPS: u8 = 64;
/// Bytes of a TCP header without options.
const HEADER: usize = 20;

/// A segment, and who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
    /// Bytes of data.
    pub(super) data: u32,
}

impl Segment {
    /// As a frame for the interface with this hardware address.
    pub(super) fn frame(&self, at: [u8; 6]) -> Vec<u8> {
        let mut tcp = [self.from.port().to_be_bytes(), self.to.port().to_be_bytes()].concat();
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.acknowledged.to_be_bytes());
        tcp.extend([(HEADER as u8 / 4) << 4, self.flags]);
        tcp.extend(WINDOW.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(vec![b'x'; self.data as usize]);
        let ends = [nft::octets(self.from.ip()), nft::octets(self.to.ip())].concat();
        let length = tcp.len() as u16;
        let pseudo = [0, TCP, length.to_be_bytes()[0], length.to_be_bytes()[1]];
        let sum = checksum(&[&ends[..], &pseudo, &tcp].concat());
        tcp[16..18].copy_from_slice(&sum);
        let v6 = self.from.is_ipv6();
        let kind: u16 = if v6 { 0x86dd } else { 0x0800 };
        let mut frame = [at, [0; 6]].concat();
        frame.extend(kind.to_be_bytes());
        if v6 {
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([TCP, HOPS]);
            frame.extend(ends);
        } else {
            let mut head = vec![0x45, 0];
            head.extend((length + HEADER as u16).to_be_bytes());
            head.extend([0, 0, 0x40, 0, HOPS, TCP, 0, 0]);
            head.extend(ends);
            let sum = checksum(&head);
            head[10..12].copy_from_slice(&sum);
            frame.extend(head);
        }
        frame.extend(tcp);
        frame
    }

    /// From the headers of a packet; none if it is another packet.
    pub(super) fn read(network: &[u8], transport: &[u8]) -> Option<Self> {
        let two = |bytes: &[u8], at: usize| {
            bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
        };
        let four = |at: usize| {
            transport.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
        };
        let (protocol, ends, length): (u8, [IpAddr; 2], usize) = match network.first()? >> 4 {
            4 => {
                let end = |at: usize| <[u8; 4]>::try_from(network.get(at..at + 4)?).ok();
                let ends = [Ipv4Addr::from(end(12)?), Ipv4Addr::from(end(16)?)];
                let head = usize::from(network[0] & 15) * 4;
                let length = usize::from(two(network, 2)?).saturating_sub(head);
                (*network.get(9)?, ends.map(IpAddr::V4), length)
            }
            _ => {
                let end = |at: usize| <[u8; 16]>::try_from(network.get(at..at + 16)?).ok();
                let ends = [Ipv6Addr::from(end(8)?), Ipv6Addr::from(end(24)?)];
                (*network.get(6)?, ends.map(IpAddr::V6), two(network, 4)?.into())
            }
        };
        let head = usize::from(transport.get(12)? >> 4) * 4;
        (protocol == TCP).then_some(Self {
            from: (ends[0], two(transport, 0)?).into(),
            to: (ends[1], two(transport, 2)?).into(),
            sequence: four(4)?,
            acknowledged: four(8)?,
            flags: *transport.get(13)?,
            data: length.saturating_sub(head) as u32,
        })
    }

    /// The number of the first byte after it.
    pub(super) fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.data + u32::from(self.flags & SYN > 0))
    }

    /// True if it opens a connection, or answers that one does.
    pub(super) const fn opens(&self, answer: bool) -> bool {
        let flags = if answer { SYN | ACK } else { SYN };
        self.flags & (SYN | RST | ACK) == flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_what_was_written_and_its_checksums_hold() {
        for (from, to) in [("10.45.0.1:4000", "198.51.100.1:80"), ("[fd45::1]:4000", "[::7]:80")] {
            let segment = Segment {
                from: from.parse().expect("an address"),
                to: to.parse().expect("an address"),
                sequence: u32::MAX,
                acknowledged: 7,
                flags: ACK,
                data: 3,
            };
            let frame = segment.frame([2; 6]);
            let (network, transport) =
                frame[14..].split_at(if from.starts_with('[') { 40 } else { 20 });
            assert_eq!(Segment::read(network, transport), Some(segment));
            assert_eq!(segment.end(), 2, "{segment:?}");
            let ends = [nft::octets(segment.from.ip()), nft::octets(segment.to.ip())].concat();
            let all = [&ends[..], &[0, TCP, 0, transport.len() as u8], transport].concat();
            assert_eq!(checksum(&all), [0, 0], "of TCP");
            assert!(network.len() == 40 || checksum(network) == [0, 0], "of IPv4");
        }
    }
}
