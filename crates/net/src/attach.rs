//! Puts this process between two existing Ethernet interfaces, like a bridge (packet(7)).
//!
//! [`Attached::receive`] returns IP datagrams and remembers their Ethernet headers by source and
//! destination; the other interface's [`Attached::send`] sends a datagram under its own header. All
//! other frames (mainly ARP) are forwarded at once.
//!
//! A frame from a sender on this machine has no checksum yet; `PACKET_VNET_HDR` marks it, and this
//! module fills the checksum in. A frame that the kernel merged from several is cut into them. If
//! hardware merged frames without the place of the checksum, the error has the command that turns
//! merging off.
//!
//! When an interface goes down, this module waits for it up to half a minute and refuses datagrams
//! for it meanwhile.
//!
//! Several UEs may be behind the UEs' interface ([`Attachment`]); a datagram belongs to the UE with
//! its address.
//!
//! Known weaknesses: a VLAN tag is lost; an interface with its own address also replies itself.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrStorage, getsockname, recv,
    send, setsockopt, socket, sockopt,
};

use crate::netlink::LinkName;
use link::{State, Watch};

mod link;

use crate::checksum;
use crate::clock::now;
use crate::privilege::with_capability;
use crate::segments::{Cut, LONGEST};
use crate::tun::is_full;
use crate::{Outages, Port, SystemError};

/// `struct virtio_net_hdr` before each frame: flags, segmentation type, four 16-bit numbers in
/// native byte order.
const OFFLOAD_BYTES: usize = 10;
/// Two addresses and a type.
const ETHERNET_BYTES: usize = 14;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// The socket's buffer, in bytes as the kernel counts them: some 2000 frames.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Pairs of addresses in the younger half of [`Headers`].
const PAIRS: usize = 16_384;

type Header = [u8; ETHERNET_BYTES];
/// Source and destination as in the datagram.
type Pair = [u8; 32];

/// Ethernet headers by pair of addresses: at least the last 16 384 pairs, at most twice as many.
#[derive(Debug, Default)]
struct Headers {
    young: BTreeMap<Pair, Header>,
    old: BTreeMap<Pair, Header>,
}

impl Headers {
    fn learn(&mut self, pair: Pair, header: Header) {
        if self.young.get(&pair) == Some(&header) {
            return;
        }
        if self.young.len() == PAIRS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(pair, header);
    }

    fn find(&self, pair: &Pair) -> Option<Header> {
        self.young.get(pair).or_else(|| self.old.get(pair)).copied()
    }
}

/// One of the two interfaces.
#[derive(Debug)]
pub struct Attached {
    name: LinkName,
    own: Arc<OwnedFd>,
    other: Arc<OwnedFd>,
    /// Headers of datagrams received here.
    came: Arc<Mutex<Headers>>,
    /// Headers of datagrams received at the other interface.
    to_go: Arc<Mutex<Headers>>,
    /// The last frame that was read, and the frame to send.
    frame: Vec<u8>,
    out: Vec<u8>,
    unknown: u64,
    /// The cutter of the datagram in `frame`, while segments of it are left.
    cut: Option<Cut>,
    /// Its index when it was attached.
    index: i32,
    watch: Watch,
}

/// Takes everything that arrives at two Ethernet interfaces of the calling thread's namespace. They
/// should have no address and belong to no bridge.
///
/// # Errors
/// There is no such interface, it is not Ethernet, both are the same, or `CAP_NET_RAW` is missing.
pub fn attach(first: &str, second: &str) -> Result<(Attached, Attached), SystemError> {
    if first == second {
        return Err(SystemError::new(
            format!("attach to {first}"),
            "two different interfaces are needed",
        ));
    }
    let ((one, at_one, one_index), (two, at_two, two_index)) = (open(first)?, open(second)?);
    let (down, up) =
        (Arc::new(Mutex::new(Headers::default())), Arc::new(Mutex::new(Headers::default())));
    let side =
        |(name, index), own: &Arc<OwnedFd>, other: &Arc<OwnedFd>, came: &Arc<_>, to_go: &Arc<_>| {
            Attached {
                name,
                index,
                watch: Watch::default(),
                own: Arc::clone(own),
                other: Arc::clone(other),
                came: Arc::clone(came),
                to_go: Arc::clone(to_go),
                frame: vec![0; OFFLOAD_BYTES + ETHERNET_BYTES + LONGEST],
                out: vec![0; OFFLOAD_BYTES + ETHERNET_BYTES + LONGEST],
                unknown: 0,
                cut: None,
            }
        };
    let one = side((one, one_index), &at_one, &at_two, &down, &up);
    Ok((one, side((two, two_index), &at_two, &at_one, &up, &down)))
}

fn open(name: &str) -> Result<(LinkName, Arc<OwnedFd>, i32), SystemError> {
    let refuse = |reason: String| SystemError::new(format!("attach to {name}"), reason);
    let link = LinkName::new(name).map_err(refuse)?;
    let index =
        if_nametoindex(name).map_err(|_none| refuse("there is no such interface".into()))?;
    let index = i32::try_from(index).map_err(|error| refuse(error.to_string()))?;
    let opened = || -> io::Result<OwnedFd> {
        // Without a protocol nothing is received until the socket is bound to its interface.
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        set(&socket, libc::PACKET_VNET_HDR, &1_i32)?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        let all = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC.try_into().map_err(io::Error::other)?,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::PACKET_ADD_MEMBERSHIP, &all)?;
        if setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        }
        bind(&socket, index)?;
        Ok(socket)
    };
    let socket = opened().map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
        // A user namespace does not help: the interface is outside it.
        Some(Errno::EPERM) => refuse(format!("{error}; needs CAP_NET_RAW (run as root)")),
        _ => refuse(with_capability(&error, "CAP_NET_RAW")),
    })?;
    let address: SockaddrStorage =
        getsockname(socket.as_raw_fd()).map_err(|error| refuse(error.to_string()))?;
    if address.as_link_addr().map(LinkAddr::hatype) != Some(libc::ARPHRD_ETHER) {
        return Err(refuse("it is no Ethernet interface".into()));
    }
    Ok((link, Arc::new(socket), index))
}

pub(super) fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    let value = std::ptr::from_ref(value).cast::<libc::c_void>();
    // SAFETY: the kernel reads `length` bytes, the size of the value that lives until the call
    // returns.
    Errno::result(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, length)
    })?;
    Ok(())
}

pub(super) fn bind(socket: &OwnedFd, index: i32) -> io::Result<()> {
    let every = u16::try_from(libc::ETH_P_ALL).map_err(io::Error::other)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET.try_into().map_err(io::Error::other)?,
        sll_protocol: every.to_be(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of_val(&address)).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes, the size of the address that lives until the call
    // returns.
    Errno::result(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}

impl Attached {
    /// The interface's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Datagrams dropped because the other interface had not seen their pair of addresses lately.
    #[must_use]
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    fn explain(&self, error: io::Error) -> io::Error {
        let name = self.name();
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENXIO | Errno::ENODEV) => {
                io::Error::new(io::ErrorKind::NotFound, format!("the interface {name} has gone"))
            }
            _ => io::Error::new(error.kind(), format!("the interface {name}: {error}")),
        }
    }

    /// True unless it is down and [`Watch`] waits for it. The kernel reverts its changes to the
    /// socket when the interface is up again.
    fn is_up(&mut self) -> io::Result<bool> {
        let (socket, name, index) = (&self.own, &self.name, self.index);
        let up = self.watch.is_up(now(), || link::state(socket, name, index));
        up.map_err(|(kind, what)| {
            io::Error::new(kind, format!("the interface {} {what}", name.as_str()))
        })
    }

    /// Reads one frame after its offload header; its length, or none.
    fn read(&mut self) -> io::Result<Option<usize>> {
        match recv(
            self.own.as_raw_fd(),
            &mut self.frame,
            MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC,
        ) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(Errno::ENETDOWN) => {
                self.watch.doubt(now());
                self.is_up().map(|_| None)
            }
            Err(error) => Err(self.explain(error.into())),
        }
    }

    /// Writes the next segment of the datagram in `frame` to `buffer`, and returns its length in
    /// bytes; none if no segment is left.
    fn next_segment(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let mut cut = self.cut.take()?;
        let length = cut.next(&self.frame[OFFLOAD_BYTES + ETHERNET_BYTES..], buffer);
        self.cut = Some(cut).filter(Cut::is_midway);
        length
    }

    /// Begins to cut the merged frame of `length` bytes.
    fn begin_cut(&mut self, length: usize) -> io::Result<()> {
        let frame = self.frame.get_mut(..length);
        if let Some((pair, header, cut)) = frame.and_then(cut_of) {
            self.came.lock().unwrap_or_else(PoisonError::into_inner).learn(pair, header);
            self.cut = Some(cut);
            return Ok(());
        }
        let name = self.name();
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the interface {name} gives {length} bytes joined from several frames; \
                 `ethtool -K {name} gro off tso off gso off`, and so at a veth's other end"
            ),
        ))
    }
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}

impl Port for Attached {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(length) = self.next_segment(buffer) {
            return Ok(Some(length));
        }
        if self.watch.is_down() && !self.is_up()? {
            return Ok(None);
        }
        while let Some(length) = self.read()? {
            if length < OFFLOAD_BYTES + ETHERNET_BYTES {
                continue;
            }
            if self.frame[1] != 0 || length > self.frame.len() {
                self.begin_cut(length)?;
                return Ok(self.next_segment(buffer));
            }
            complete_checksum(&mut self.frame[..length]);
            self.frame[..OFFLOAD_BYTES].fill(0);
            let (header, datagram) = self.frame[OFFLOAD_BYTES..length].split_at(ETHERNET_BYTES);
            let header: Header = header.try_into().expect("split at its length");
            let Some((pair, datagram_bytes)) = addresses(&header, datagram) else {
                // A full interface loses the frame, as on any bridge.
                let _lost =
                    send(self.other.as_raw_fd(), &self.frame[..length], MsgFlags::MSG_DONTWAIT);
                continue;
            };
            self.came.lock().unwrap_or_else(PoisonError::into_inner).learn(pair, header);
            // A longer datagram is cut, as by read(2) of a TUN device; its header shows the reader
            // that it is incomplete.
            let kept = datagram_bytes.min(buffer.len());
            buffer[..kept].copy_from_slice(&datagram[..kept]);
            return Ok(Some(kept));
        }
        Ok(None)
    }

    fn is_midway(&self) -> bool {
        self.cut.is_some()
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        if self.watch.is_down() && !self.is_up()? {
            return Ok(false);
        }
        let header = pair_of(packet)
            .and_then(|pair| self.to_go.lock().unwrap_or_else(PoisonError::into_inner).find(&pair));
        let room = self.out.len() - OFFLOAD_BYTES - ETHERNET_BYTES;
        let Some(header) = header.filter(|_| packet.len() <= room) else {
            self.unknown += 1;
            return Ok(false);
        };
        let length = OFFLOAD_BYTES + ETHERNET_BYTES + packet.len();
        self.out[..OFFLOAD_BYTES].fill(0);
        self.out[OFFLOAD_BYTES..][..ETHERNET_BYTES].copy_from_slice(&header);
        self.out[OFFLOAD_BYTES + ETHERNET_BYTES..length].copy_from_slice(packet);
        match send(self.own.as_raw_fd(), &self.out[..length], MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            // Down, or without a carrier.
            Err(Errno::ENETDOWN) => {
                if link::state(&self.own, &self.name, self.index) != State::Up {
                    self.watch.doubt(now());
                    self.is_up()?;
                }
                Ok(false)
            }
            Err(error) if error == Errno::EINTR || is_full(&error.into()) => Ok(false),
            Err(error) => Err(self.explain(error.into())),
        }
    }

    fn outages(&self) -> Outages {
        self.watch.outages(now())
    }
}

/// An end of the stack at an interface.
#[derive(Debug)]
pub enum Attachment {
    /// The servers' side.
    Whole(Box<Attached>),
    /// The UEs' side, by the port of one UE. All write to the interface; the first reads for all.
    Shared {
        /// The interface.
        with: Arc<Mutex<Attached>>,
        /// It is the first.
        reads: bool,
    },
}

impl Attachment {
    /// One port for each of `ues` UEs behind `interface`.
    #[must_use]
    pub fn share(interface: Attached, ues: usize) -> Vec<Self> {
        let whole = Arc::new(Mutex::new(interface));
        (0..ues).map(|ue| Self::Shared { with: Arc::clone(&whole), reads: ue == 0 }).collect()
    }
}

impl Port for Attachment {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Whole(interface) => interface.receive(buffer),
            Self::Shared { reads: false, .. } => Ok(None),
            Self::Shared { with, .. } => {
                with.lock().unwrap_or_else(PoisonError::into_inner).receive(buffer)
            }
        }
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self {
            Self::Whole(interface) => interface.send(packet),
            Self::Shared { with, .. } => {
                with.lock().unwrap_or_else(PoisonError::into_inner).send(packet)
            }
        }
    }

    fn is_midway(&self) -> bool {
        match self {
            Self::Whole(interface) => interface.is_midway(),
            Self::Shared { reads: false, .. } => false,
            Self::Shared { with, .. } => {
                with.lock().unwrap_or_else(PoisonError::into_inner).is_midway()
            }
        }
    }

    fn outages(&self) -> Outages {
        match self {
            Self::Whole(interface) => interface.outages(),
            Self::Shared { reads: false, .. } => Outages::default(),
            Self::Shared { with, .. } => {
                with.lock().unwrap_or_else(PoisonError::into_inner).outages()
            }
        }
    }
}

/// The addresses and the Ethernet header of a merged `frame`, and the cutter of its datagram. The
/// frame begins with its offload header. None if this header lacks the place of the checksum.
fn cut_of(frame: &mut [u8]) -> Option<(Pair, Header, Cut)> {
    let header: Header = *frame[OFFLOAD_BYTES..].first_chunk()?;
    let pair = pair_of(frame.get(OFFLOAD_BYTES + ETHERNET_BYTES..)?)?;
    // The kernel counts places from the start of the frame, the cutter from the datagram.
    let (before, ethernet) = frame.split_at_mut(OFFLOAD_BYTES);
    let begin = u16::from_ne_bytes([before[6], before[7]]);
    let begin = begin.checked_sub(ETHERNET_BYTES as u16)?;
    before[6..8].copy_from_slice(&begin.to_ne_bytes());
    ethernet[ETHERNET_BYTES - OFFLOAD_BYTES..ETHERNET_BYTES].copy_from_slice(before);
    Some((pair, header, Cut::new(&ethernet[ETHERNET_BYTES - OFFLOAD_BYTES..])?))
}

/// The addresses of an IP datagram, and its length without the frame's padding; none for other
/// frames.
fn addresses(header: &Header, datagram: &[u8]) -> Option<(Pair, usize)> {
    let kind = [header[12], header[13]];
    let version = datagram.first()? >> 4;
    if !(kind == ETHERTYPE_IPV4 && version == 4 || kind == ETHERTYPE_IPV6 && version == 6) {
        return None;
    }
    let pair = pair_of(datagram)?;
    let told = match version {
        4 => usize::from(u16::from_be_bytes([datagram[2], datagram[3]])),
        _ => 40 + usize::from(u16::from_be_bytes([datagram[4], datagram[5]])),
    };
    // The reader of the datagram handles an impossible length.
    let whole = datagram.len();
    Some((pair, if (20..=whole).contains(&told) { told } else { whole }))
}

fn pair_of(datagram: &[u8]) -> Option<Pair> {
    let both = match datagram.first()? >> 4 {
        4 => datagram.get(12..20)?,
        6 => datagram.get(8..40)?,
        _ => return None,
    };
    let mut pair = [0; 32];
    pair[..both.len()].copy_from_slice(both);
    Some(pair)
}

/// Fills in the checksum that the sender's kernel left to its interface; the field holds the
/// sum of the pseudo header (VIRTIO 1.2, section 5.1.6.2).
fn complete_checksum(frame: &mut [u8]) {
    let (offload, ethernet) = frame.split_at_mut(OFFLOAD_BYTES);
    if offload[0] & NEEDS_CHECKSUM == 0 {
        return;
    }
    let start = usize::from(u16::from_ne_bytes([offload[6], offload[7]]));
    let offset = usize::from(u16::from_ne_bytes([offload[8], offload[9]]));
    checksum::complete(ethernet, start, start + offset);
}

#[cfg(test)]
mod tests;
