//! The headers in front of a T-PDU: the stage copies them from one packet and writes them in front
//! of another.

use crate::packet::{IPV4_BYTES, IPV6_BYTES, Ip, UDP, UDP_BYTES};
use justfull_nru::{Message, checksum, gtpu};
use std::net::IpAddr;

/// Octets kept of the extension headers.
const EXTENSIONS: usize = 16;
/// Octets of GTP-U's header, and of the optional fields before extension headers.
const GTPU_BYTES: usize = 8;
const OPTIONAL: usize = 4;
/// The longest written header.
pub(crate) const LONGEST: usize = IPV6_BYTES + UDP_BYTES + GTPU_BYTES + OPTIONAL + EXTENSIONS;
/// The service class indicator, which stays the same for a flow (TS 29.281 section 5.2.2.3).
const SERVICE_CLASS: u8 = 0x20;
/// Version 1, protocol type GTP, and the flag of extension headers.
const VERSION_1: u8 = 0b0011_0000;
const EXTENDED: u8 = 0b100;
/// Flags of a DL PDU SESSION INFORMATION: a paging policy follows.
const PAGING_POLICY: u8 = 1 << 7;

/// A tunnel: the endpoint that receives, and its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tunnel {
    pub(crate) to: IpAddr,
    pub(crate) teid: u32,
}

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) from: IpAddr,
    pub(crate) tunnel: Tunnel,
    source_port: u16,
    /// The DSCP, as the upper six bits of an octet. Packets that are written are not ECN-capable.
    dscp: u8,
    hops: u8,
    dont_fragment: bool,
    checksummed: bool,
    extensions: [u8; EXTENSIONS],
    /// Octets of them, and the type of the first.
    octets: u8,
    first: u8,
    /// Where the second octet of the PDU session container is, with the QFI; 0 without one.
    qfi_at: u8,
}

impl Header {
    /// Reads the header of a G-PDU. None if it has extension headers that are valid for this packet
    /// only.
    pub(crate) fn read(packet: &[u8], ip: &Ip, message: &Message<'_>) -> Option<Self> {
        let udp = packet.get(ip.at..)?.first_chunk::<UDP_BYTES>()?;
        let v6 = ip.destination.is_ipv6();
        let class = if v6 { packet[0] << 4 | packet[1] >> 4 } else { packet[1] };
        let mut header = Self {
            from: ip.source,
            tunnel: Tunnel { to: ip.destination, teid: message.teid },
            source_port: u16::from_be_bytes([udp[0], udp[1]]),
            dscp: class & 0xfc,
            hops: if v6 { packet[7] } else { packet[8] },
            dont_fragment: !v6 && packet[6] & 0x40 != 0,
            checksummed: udp[6..8] != [0, 0],
            extensions: [0; EXTENSIONS],
            octets: 0,
            first: 0,
            qfi_at: 0,
        };
        // The type of the next extension header belongs to the end of the last.
        let mut next_at = None;
        for extension in message.extensions() {
            let mut kept = [0; 6];
            let kept: &[u8] = match extension.kind {
                gtpu::PDU_SESSION_CONTAINER => {
                    header.qfi_at = header.octets + 2;
                    session(extension.content, &mut kept)?
                }
                SERVICE_CLASS => extension.content,
                _ => return None,
            };
            let begin = usize::from(header.octets);
            let end = begin + kept.len() + 2;
            let place = header.extensions.get_mut(begin..end)?;
            place[0] = u8::try_from(place.len() / 4).ok()?;
            place[1..=kept.len()].copy_from_slice(kept);
            match next_at.replace(end - 1) {
                None => header.first = extension.kind,
                Some(at) => header.extensions[at] = extension.kind,
            }
            header.octets = u8::try_from(end).ok()?;
        }
        Some(header)
    }

    /// The QFI, if it has a PDU session container.
    pub(crate) fn qfi(&self) -> Option<u8> {
        (self.qfi_at > 0).then(|| self.extensions[usize::from(self.qfi_at)] & 0x3f)
    }

    /// The same header with another QFI, if it has a PDU session container.
    pub(crate) fn with_qfi(mut self, qfi: u8) -> Self {
        if self.qfi_at > 0 {
            let octet = &mut self.extensions[usize::from(self.qfi_at)];
            *octet = *octet & 0xc0 | qfi & 0x3f;
        }
        self
    }

    /// This header's extension headers with the addresses and the TEID of `other`, for the same end
    /// of the tunnel.
    pub(crate) fn over(&self, other: &Self) -> Self {
        let Self { extensions, octets, first, qfi_at, .. } = *self;
        Self { extensions, octets, first, qfi_at, dscp: self.dscp, ..*other }
    }

    /// Its length in octets.
    pub(crate) fn len(&self) -> usize {
        self.outer_len() + self.message_len()
    }

    /// Octets of IP's and UDP's headers.
    pub(crate) fn outer_len(&self) -> usize {
        let ip = if self.from.is_ipv6() { IPV6_BYTES } else { IPV4_BYTES };
        ip + UDP_BYTES
    }

    /// Octets of GTP-U's header, with its extension headers.
    pub(crate) fn message_len(&self) -> usize {
        let optional = if self.octets > 0 { OPTIONAL + usize::from(self.octets) } else { 0 };
        GTPU_BYTES + optional
    }

    /// Writes the header in front of the T-PDU `room[at..]`, and returns where the packet begins.
    /// None if `room` is too small or the packet too long. `number` is the IPv4 identification.
    pub(crate) fn write(&self, room: &mut [u8], at: usize, number: u16) -> Option<usize> {
        let begin = at.checked_sub(self.len())?;
        let packet = &mut room[begin..];
        let (total, outer) = (packet.len(), self.outer_len());
        u16::try_from(total).ok()?;
        self.write_message(&mut packet[outer..], total - self.len());
        self.write_outer(packet, total, number);
        if self.checksummed || self.from.is_ipv6() {
            let ip = outer - UDP_BYTES;
            let sum = udp_checksum(packet, ip);
            packet[ip + 6..outer].copy_from_slice(&sum.to_be_bytes());
        }
        Some(begin)
    }

    /// Writes GTP-U's header of a T-PDU of `length` octets to the start of `out`.
    pub(crate) fn write_message(&self, out: &mut [u8], length: usize) {
        let extended = if self.octets > 0 { EXTENDED } else { 0 };
        out[..2].copy_from_slice(&[VERSION_1 | extended, gtpu::G_PDU]);
        let stated = self.message_len() - GTPU_BYTES + length;
        out[2..4].copy_from_slice(&(stated as u16).to_be_bytes());
        out[4..8].copy_from_slice(&self.tunnel.teid.to_be_bytes());
        if self.octets > 0 {
            out[8..12].copy_from_slice(&[0, 0, 0, self.first]);
            let octets = usize::from(self.octets);
            out[12..12 + octets].copy_from_slice(&self.extensions[..octets]);
        }
    }

    /// Writes IP's and UDP's headers of a packet of `total` octets, at most 65 535, to the start of
    /// `out`. The UDP checksum is 0.
    pub(crate) fn write_outer(&self, out: &mut [u8], total: usize, number: u16) {
        let udp = self.outer_len() - UDP_BYTES;
        self.write_ip(out, total as u16, number);
        let header = &mut out[udp..];
        header[..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&gtpu::PORT.to_be_bytes());
        header[4..6].copy_from_slice(&((total - udp) as u16).to_be_bytes());
        header[6..8].fill(0);
    }

    fn write_ip(&self, packet: &mut [u8], total: u16, number: u16) {
        match (self.from, self.tunnel.to) {
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let payload = total - IPV6_BYTES as u16;
                packet[..4].copy_from_slice(&[0x60 | self.dscp >> 4, self.dscp << 4, 0, 0]);
                packet[4..6].copy_from_slice(&payload.to_be_bytes());
                packet[6..8].copy_from_slice(&[UDP, self.hops]);
                packet[8..24].copy_from_slice(&from.octets());
                packet[24..40].copy_from_slice(&to.octets());
            }
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                packet[..2].copy_from_slice(&[0x45, self.dscp]);
                packet[2..4].copy_from_slice(&total.to_be_bytes());
                packet[4..6].copy_from_slice(&number.to_be_bytes());
                packet[6..8].copy_from_slice(&[u8::from(self.dont_fragment) << 6, 0]);
                packet[8..12].copy_from_slice(&[self.hops, UDP, 0, 0]);
                packet[12..16].copy_from_slice(&from.octets());
                packet[16..20].copy_from_slice(&to.octets());
                let sum = !checksum::sum(&packet[..IPV4_BYTES]);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            // Both come from one packet.
            _ => {}
        }
    }
}

/// The part of a PDU session container that is valid for other packets: direction, QFI, reflective
/// QoS and paging policy, without time stamps and sequence numbers (TS 38.415 section 5.5.2).
fn session<'a>(content: &'a [u8], kept: &'a mut [u8; 6]) -> Option<&'a [u8]> {
    let [first, second, rest @ ..] = content else { return None };
    match first >> 4 {
        0 if second & PAGING_POLICY != 0 => {
            *kept = [0, *second, *rest.first()?, 0, 0, 0];
            Some(&kept[..])
        }
        0 => {
            kept[1] = *second;
            Some(&kept[..2])
        }
        1 => {
            kept[..2].copy_from_slice(&[1 << 4, second & 0x3f]);
            Some(&kept[..2])
        }
        _ => None,
    }
}

/// The UDP checksum of a datagram whose checksum field is 0 (RFC 768, RFC 8200 section 8.1).
fn udp_checksum(packet: &[u8], ip_bytes: usize) -> u16 {
    let udp = &packet[ip_bytes..];
    let addresses = if ip_bytes == IPV6_BYTES { &packet[8..40] } else { &packet[12..20] };
    let pseudo = checksum::add(checksum::sum(addresses), u16::from(UDP));
    let length = u16::try_from(udp.len()).unwrap_or(u16::MAX);
    let sum = checksum::add(checksum::add(pseudo, length), checksum::sum(udp));
    if sum == u16::MAX { u16::MAX } else { !sum }
}
