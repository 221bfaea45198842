//! Datagrams between an interface and the buffers.

use crate::arena::Arena;
use crate::packet::{Datagram, Malformed, parse};
use crate::report::Account;
use justfull_net::Port;

/// Most datagrams read from one interface per wake-up. Segments of a packet that has been cut in
/// part are read beyond it; all other datagrams wait for the next wake-up.
const READ_AT_ONCE: usize = 8_192;

/// Number of datagrams read from one interface in one wake-up.
#[derive(Default)]
pub(super) struct Reads(usize);

impl Reads {
    /// True if `port` may be read once more.
    #[inline]
    pub(super) fn go_on<P: Port>(&mut self, port: &P) -> bool {
        self.0 += 1;
        self.0 <= READ_AT_ONCE || port.is_midway()
    }
}

/// The result of a reading.
pub(super) enum Read {
    Nothing,
    /// A datagram that is not forwarded; it is counted.
    Accounted,
    /// A datagram and its buffer. If no buffer is free, this is the arena's spare one; the datagram
    /// is then not forwarded, and the caller counts it.
    Packet(u64, Datagram),
}

/// Reads one datagram from `port` into a buffer.
pub(super) fn receive<P: Port>(
    port: &mut P,
    arena: &mut Arena,
    mtu: u32,
    account: &mut Account,
) -> std::io::Result<Read> {
    let handle = arena.take().unwrap_or(arena.spare());
    let space = arena.space(handle);
    let length = match port.receive(space) {
        Ok(Some(length)) => length,
        other => {
            arena.give_back(handle);
            return other.map(|_| Read::Nothing);
        }
    };
    account.received += 1;
    let parsed =
        if length > mtu as usize { Err(Malformed::TooBig) } else { parse(&space[..length]) };
    match parsed {
        Ok(datagram) => {
            arena.set_length(handle, datagram.size);
            Ok(Read::Packet(handle, datagram))
        }
        Err(reason) => {
            account.malformed[reason as usize] += 1;
            arena.give_back(handle);
            Ok(Read::Accounted)
        }
    }
}

/// Writes the packet in buffer `handle` to `port` and frees the buffer, whatever the outcome.
pub(super) fn send<P: Port>(
    port: &mut P,
    arena: &mut Arena,
    handle: u64,
    account: &mut Account,
) -> std::io::Result<()> {
    let packet = arena.packet(handle);
    let (bytes, sent) = (packet.len() as u64, port.send(packet));
    arena.give_back(handle);
    if matches!(sent, Ok(true)) {
        account.delivered += 1;
        account.delivered_bytes += bytes;
    } else {
        account.refused += 1;
    }
    sent.map(drop)
}
