//! Echo requests (RFC 792): the server sends, the kernel of the UE's namespace replies.
//!
//! A raw socket, since a ping socket needs a range of groups that a new namespace does not allow.
//! It gets every ICMP message of its namespace, so replies are matched by their identifier.

use std::io::{self, Read};

use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Slice, Icmpv4Type, Ipv4Slice};
use socket2::Socket;

use super::waits;

/// Bytes of the header of an echo request.
const HEADER_BYTES: usize = 8;

/// Echo requests of one flow, by their identifier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    id: u16,
    seq: u16,
}

impl Echo {
    /// Requests with identifier `id`.
    pub(super) const fn new(id: u16) -> Self {
        Self { id, seq: 0 }
    }

    /// Sends a request with `payload`.
    pub(super) fn send(&mut self, socket: &Socket, payload: &[u8]) -> io::Result<usize> {
        let echo = IcmpEchoHeader { id: self.id, seq: self.seq };
        self.seq = self.seq.wrapping_add(1);
        let header = Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(echo), payload);
        let mut message = header.to_bytes().to_vec();
        message.extend_from_slice(payload);
        socket.send(&message).map(|sent| sent.saturating_sub(HEADER_BYTES))
    }

    /// Waits for a message, up to the socket's timeout. Returns the payload bytes of a reply to a
    /// request of this flow, and 0 for any other message.
    pub(super) fn receive(&self, socket: &Socket, buffer: &mut [u8]) -> io::Result<u64> {
        match (&*socket).read(buffer) {
            Ok(length) => Ok(answer(&buffer[..length], self.id)),
            Err(error) if waits(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Payload bytes of `datagram` if it is a reply to requests of `id`.
fn answer(datagram: &[u8], id: u16) -> u64 {
    let Ok(ip) = Ipv4Slice::from_slice(datagram) else { return 0 };
    match Icmpv4Slice::from_slice(ip.payload().payload) {
        Ok(icmp) if matches!(icmp.icmp_type(), Icmpv4Type::EchoReply(echo) if echo.id == id) => {
            icmp.payload().len() as u64
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn message(icmp: Icmpv4Type) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4(icmp);
        builder.write(&mut bytes, &[7; 172]).expect("a vector takes it");
        bytes
    }

    #[test]
    fn only_answers_to_own_requests_count() {
        let own = IcmpEchoHeader { id: 5, seq: 1 };
        let other = IcmpEchoHeader { id: 6, seq: 1 };
        assert_eq!(answer(&message(Icmpv4Type::EchoReply(own)), 5), 172);
        assert_eq!(answer(&message(Icmpv4Type::EchoReply(other)), 5), 0);
        assert_eq!(answer(&message(Icmpv4Type::EchoRequest(own)), 5), 0, "a request");
        assert_eq!(answer(&message(Icmpv4Type::EchoReply(own))[..27], 5), 0, "cut off");
        assert_eq!(answer(b"", 5), 0);
    }
}
