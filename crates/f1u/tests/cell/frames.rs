//! Packets of F1-U between the models, byte by byte.

use justfull_nru::{Frame, Message, checksum, gtpu};
use std::net::Ipv4Addr;

/// The CU-UP's address on F1-U.
pub(crate) const CU_UP: Ipv4Addr = Ipv4Addr::new(10, 46, 0, 1);
/// The DU's.
pub(crate) const DU: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
/// Octets of IPv4 and UDP.
pub(crate) const HEADERS: usize = 28;

/// A GTP-U message with a frame of NR-U and a payload.
pub(crate) fn message(teid: u32, frame: &Frame<'_>, payload: &[u8]) -> Vec<u8> {
    let mut room = vec![0; 1_200 + payload.len()];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, teid).expect("room");
    builder.extension(gtpu::NR_RAN_CONTAINER, |room| frame.write(room)).expect("room");
    builder.payload(payload).expect("room");
    let length = builder.finish().expect("short enough");
    room.truncate(length);
    room
}

/// An IPv4 packet with a UDP datagram and its checksums.
pub(crate) fn packet(from: Ipv4Addr, to: Ipv4Addr, message: &[u8]) -> Vec<u8> {
    let length = |more: usize| u16::try_from(message.len() + more).expect("short").to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(HEADERS));
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend([from.octets(), to.octets()].concat());
    let header = !checksum::sum(&packet);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    for port in [gtpu::PORT, gtpu::PORT] {
        packet.extend(port.to_be_bytes());
    }
    packet.extend(length(8));
    packet.extend([0, 0]);
    packet.extend(message);
    let udp = match !udp_sum(&packet) {
        0 => 0xffff,
        sum => sum,
    };
    packet[26..28].copy_from_slice(&udp.to_be_bytes());
    packet
}

/// The sum of UDP with its pseudo header.
fn udp_sum(packet: &[u8]) -> u16 {
    let length = u16::try_from(packet.len() - 20).expect("short");
    let pseudo = checksum::add(checksum::sum(&packet[12..20]), checksum::add(17, length));
    checksum::add(pseudo, checksum::sum(&packet[20..]))
}

/// The message in a packet, whose checksum must be right.
pub(crate) fn opened(packet: &[u8]) -> Message<'_> {
    assert_eq!(udp_sum(packet), 0xffff, "a wrong UDP checksum: {packet:02x?}");
    Message::read(&packet[HEADERS..]).expect("a message")
}
