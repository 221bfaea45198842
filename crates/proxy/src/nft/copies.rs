//! Copies of packets that rules send to a program (nfnetlink_log; linux/netfilter/nfnetlink_log.h).

use super::attributes::{Attributes, attribute, number};
use super::messages_of;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    setsockopt, socket, sockopt,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const SUBSYSTEM: u16 = 4;
const PACKET: u16 = SUBSYSTEM << 8;
const CONFIG: u16 = SUBSYSTEM << 8 | 1;
const ERROR: u16 = 2;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Attributes of a packet.
const ARRIVED_AT: u16 = 4;
const PAYLOAD: u16 = 9;
/// Groups that are tried: another program may have some.
const GROUPS_TRIED: u16 = 16;
const RECEIVE_BYTES: usize = 4 << 20;

/// A copy of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Index of the interface at which it arrived.
    pub(crate) interface: u32,
    /// From the IP header on.
    pub(crate) packet: Vec<u8>,
}

/// The receiver of a group's copies.
#[derive(Debug)]
pub(crate) struct Copies {
    socket: OwnedFd,
    pub(crate) group: u16,
    buffer: Vec<u8>,
}

impl AsFd for Copies {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Copies {
    /// Receives the copies of the first free group from `group` on.
    ///
    /// # Errors
    /// The kernel has no nfnetlink_log, or no group is free.
    pub(crate) fn open(group: u16) -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        // Best effort: the default holds some hundred copies.
        let _smaller = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BYTES);
        let mut copies = Self { socket, group, buffer: vec![0; 128 << 10] };
        let mut tried = Err(io::ErrorKind::AddrInUse.into());
        for number in 0..GROUPS_TRIED {
            copies.group = group.wrapping_add(number);
            tried = copies.configure(|a| a.raw(1, &[BIND]));
            if tried.is_ok() {
                break;
            }
        }
        tried?;
        // Whole packets, each at once.
        copies.configure(|a| {
            a.raw(2, &[0, 0, 0xff, 0xff, COPY_PACKET, 0]);
            a.number(5, 1);
        })?;
        Ok(copies)
    }

    fn configure(&mut self, fill: impl FnOnce(&mut Attributes)) -> io::Result<()> {
        let mut attributes = Attributes::default();
        fill(&mut attributes);
        let mut bytes = ((20 + attributes.0.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(CONFIG.to_ne_bytes());
        bytes.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([0, 0]);
        bytes.extend(self.group.to_be_bytes());
        bytes.extend(attributes.0);
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        // The answer is there when the request has returned; copies may be before it.
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            let answer = messages_of(&self.buffer[..length]).find(|(kind, _)| *kind == ERROR);
            if let Some((_, body)) = answer {
                return match super::code(body) {
                    0 => Ok(()),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
        }
    }

    /// The copies that have come, at most a datagram of them; none if there are none.
    pub(crate) fn receive(&mut self) -> Option<Vec<Copied>> {
        loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    let packets = messages_of(&self.buffer[..length]);
                    return Some(packets.filter_map(|(kind, body)| copied(kind, body)).collect());
                }
                // Some were lost for lack of room; their clients send again.
                Err(Errno::ENOBUFS | Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

fn copied(kind: u16, body: &[u8]) -> Option<Copied> {
    let attributes = body.get(4..)?;
    let packet = attribute(attributes, PAYLOAD).to_vec();
    let interface = number(attributes, ARRIVED_AT).and_then(|index| u32::try_from(index).ok());
    (kind == PACKET && !packet.is_empty())
        .then(|| Copied { interface: interface.unwrap_or(0), packet })
}
