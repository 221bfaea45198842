//! Copies of packets that arrive at an interface or leave it (packet(7)): UDP datagrams to one
//! port, or IPsec packets. The kernel forwards the originals, whatever happens here.

use std::io;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use socket2::{SockFilter, Socket};

use crate::SystemError;
use crate::attach::{bind, set};
use crate::privilege::with_capability;

/// The socket's buffer, in bytes as the kernel counts them: some 8 000 datagrams.
const RECEIVE_BUFFER: usize = 32 << 20;

/// See the module's page.
#[derive(Debug)]
pub struct Copies {
    socket: Socket,
    name: String,
}

/// Instructions of a filter (linux/filter.h).
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_BEHIND: u16 = 0x48;
const LOAD_IPV4_LENGTH: u16 = 0xb1;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Where the kernel has a packet's type: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = 0xffff_f004;

/// Accepts UDP to `port`, whole or the first fragment, in IPv4, and in IPv6 without extension
/// headers but a fragment's. Offsets are from the IP header on.
fn filter(port: u16) -> [SockFilter; 24] {
    let step = SockFilter::new;
    let (udp, fragment) = (17, 44);
    [
        step(LOAD_BYTE, 0, 0, 0),
        step(AND, 0, 0, 0xf0),
        step(EQUAL, 0, 7, 0x40),
        // IPv4: its protocol, no later fragment, and the port behind its header.
        step(LOAD_BYTE, 0, 0, 9),
        step(EQUAL, 0, 18, udp),
        step(LOAD_HALF, 0, 0, 6),
        step(ANY_BIT, 16, 0, 0x1fff),
        step(LOAD_IPV4_LENGTH, 0, 0, 0),
        step(LOAD_HALF_BEHIND, 0, 0, 2),
        step(EQUAL, 12, 13, u32::from(port)),
        // IPv6: its next header and the port.
        step(EQUAL, 0, 12, 0x60),
        step(LOAD_BYTE, 0, 0, 6),
        step(EQUAL, 0, 2, udp),
        step(LOAD_HALF, 0, 0, 42),
        step(EQUAL, 7, 8, u32::from(port)),
        // A fragment: its next header, and its offset.
        step(EQUAL, 0, 7, fragment),
        step(LOAD_BYTE, 0, 0, 40),
        step(EQUAL, 0, 5, udp),
        step(LOAD_HALF, 0, 0, 42),
        step(ANY_BIT, 3, 0, 0xfff8),
        step(LOAD_HALF, 0, 0, 50),
        step(EQUAL, 0, 1, u32::from(port)),
        step(RETURN, 0, 0, u32::MAX),
        step(RETURN, 0, 0, 0),
    ]
}

/// Accepts ESP and ESP inside UDP (RFC 4303, RFC 3948), in IPv4 and in IPv6 without extension
/// headers, and copies the first bytes of each packet.
fn esp() -> [SockFilter; 23] {
    let step = SockFilter::new;
    let (esp, udp, nat_traversal) = (50, 17, 4_500);
    [
        step(LOAD_BYTE, 0, 0, 0),
        step(AND, 0, 0, 0xf0),
        step(EQUAL, 0, 10, 0x40),
        // IPv4: its protocol, the first part of a packet, and the ports behind its header.
        step(LOAD_BYTE, 0, 0, 9),
        step(EQUAL, 16, 0, esp),
        step(EQUAL, 0, 16, udp),
        step(LOAD_HALF, 0, 0, 6),
        step(ANY_BIT, 14, 0, 0x1fff),
        step(LOAD_IPV4_LENGTH, 0, 0, 0),
        step(LOAD_HALF_BEHIND, 0, 0, 0),
        step(EQUAL, 10, 0, nat_traversal),
        step(LOAD_HALF_BEHIND, 0, 0, 2),
        step(EQUAL, 8, 9, nat_traversal),
        // IPv6: its next header and the ports.
        step(EQUAL, 0, 8, 0x60),
        step(LOAD_BYTE, 0, 0, 6),
        step(EQUAL, 5, 0, esp),
        step(EQUAL, 0, 5, udp),
        step(LOAD_HALF, 0, 0, 40),
        step(EQUAL, 2, 0, nat_traversal),
        step(LOAD_HALF, 0, 0, 42),
        step(EQUAL, 0, 1, nat_traversal),
        step(RETURN, 0, 0, 64),
        step(RETURN, 0, 0, 0),
    ]
}

impl Copies {
    /// Begins to copy the UDP datagrams to `port`, or their first fragments, that arrive at the
    /// interface `name` of the calling thread's namespace.
    ///
    /// # Errors
    /// There is no such interface, or `CAP_NET_RAW` is missing.
    pub fn open(name: &str, port: u16) -> Result<Self, SystemError> {
        Self::filtered(name, &filter(port), true)
    }

    /// Begins to copy the UDP datagrams to `port`, or their first fragments, that leave the
    /// interface `name`.
    ///
    /// # Errors
    /// As for [`Copies::open`].
    pub fn open_leaving(name: &str, port: u16) -> Result<Self, SystemError> {
        let step = SockFilter::new;
        let leaving = [
            step(LOAD_BYTE, 0, 0, PACKET_TYPE),
            step(EQUAL, 1, 0, u32::from(libc::PACKET_OUTGOING)),
            step(RETURN, 0, 0, 0),
        ];
        let filter: Vec<SockFilter> = leaving.into_iter().chain(filter(port)).collect();
        Self::filtered(name, &filter, false)
    }

    /// Begins to copy the first 64 bytes of each IPsec packet that arrives at the interface `name`.
    ///
    /// # Errors
    /// As for [`Copies::open`].
    pub fn open_esp(name: &str) -> Result<Self, SystemError> {
        Self::filtered(name, &esp(), true)
    }

    /// Copies what the filter accepts, of arriving packets or of all.
    fn filtered(name: &str, filter: &[SockFilter], arriving: bool) -> Result<Self, SystemError> {
        let refuse = |reason: String| SystemError::new(format!("copy packets at {name}"), reason);
        let index =
            if_nametoindex(name).map_err(|_none| refuse("there is no such interface".into()))?;
        let index = i32::try_from(index).map_err(|error| refuse(error.to_string()))?;
        let opened = || -> io::Result<Socket> {
            // Without a protocol nothing is received until the socket is bound to its interface.
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
            set(&socket, libc::PACKET_IGNORE_OUTGOING, &i32::from(arriving))?;
            if setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER).is_err() {
                setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
            }
            let filtered = Socket::from(socket.try_clone()?);
            filtered.attach_filter(filter)?;
            bind(&socket, index)?;
            Ok(filtered)
        };
        let socket = opened().map_err(|error| refuse(with_capability(&error, "CAP_NET_RAW")))?;
        Ok(Self { socket, name: name.to_owned() })
    }

    /// Reads one IP datagram into `buffer` and returns its length in bytes; `None` when none waits.
    ///
    /// # Errors
    /// The interface has gone.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.socket).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => Ok(None),
                _ => Err(io::Error::new(error.kind(), format!("{}: {error}", self.name))),
            },
        }
    }

    /// Copies that were lost since the last call, because they were read too late.
    #[must_use]
    pub fn lost(&self) -> u64 {
        statistics(&self.socket).unwrap_or(0)
    }
}

impl AsFd for Copies {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// `tp_drops` of `PACKET_STATISTICS`, which a read sets to 0.
fn statistics(socket: &Socket) -> io::Result<u64> {
    use std::os::fd::AsRawFd;
    let mut found = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&found)).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes to `found`, which is its size, and then
    // writes the number of bytes to `length`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut found).cast::<libc::c_void>(),
            &raw mut length,
        )
    };
    Errno::result(answer)?;
    Ok(u64::from(found.tp_drops))
}
