//! Shares of a server for its clients: each has one, whatever the others do.

use crate::Prefix;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

/// Bytes of a connection that wait in the kernel for a client, or for a server, that does not read.
/// The kernel doubles the number for its own needs.
const BUFFER: usize = 64 << 10;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Bits of an IPv6 address that identify a client: a host can use all addresses of its network.
const CLIENT_BITS: u8 = 64;

/// Listens at `address`, with connections that take little of the kernel's memory.
///
/// # Errors
/// The address cannot be bound.
pub fn bounded_listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // Accepted connections inherit the sizes.
    socket.set_send_buffer_size(BUFFER)?;
    socket.set_recv_buffer_size(BUFFER)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The client behind an address: one IPv4 address, or one IPv6 network.
#[must_use]
pub fn client(address: IpAddr) -> Prefix {
    match address.to_canonical() {
        v4 @ IpAddr::V4(_) => Prefix::of(v4, 32),
        v6 => Prefix::of(v6, CLIENT_BITS),
    }
}

/// The connection in `open`, each with its client and its rank, that is closed to make room: the
/// one of the lowest rank, of the client that has the most. If two clients have as many, the
/// connection with the lower rank.
pub fn victim<R: Ord + Copy>(open: impl Iterator<Item = (Prefix, R)> + Clone) -> Option<usize> {
    let mut counts = BTreeMap::<Prefix, usize>::new();
    open.clone().for_each(|(client, _)| *counts.entry(client).or_default() += 1);
    let most = counts.values().copied().max()?;
    let of_most = open.enumerate().filter(|(_, (client, _))| counts[client] == most);
    of_most.min_by_key(|(_, (_, rank))| *rank).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Prefix {
        client(text.parse().expect("an address"))
    }

    #[test]
    fn a_client_is_an_address_or_a_network_and_who_has_the_most_gives() {
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        let (one, two) = (of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(victim([(one, 1), (two, 3), (two, 2)].into_iter()), Some(2));
        assert_eq!(victim([(one, 2), (two, 1)].into_iter()), Some(1));
        assert_eq!(victim(std::iter::empty::<(Prefix, u8)>()), None);
    }
}
