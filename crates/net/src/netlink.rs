//! Links, addresses and routes of the calling thread's namespace, through rtnetlink (RFC 3549).

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric,
    RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// A response to a request is an error code and the head of the request.
const ANSWER_BYTES: usize = 4096;
/// Bytes of a part of a list.
const LIST_BYTES: usize = 64 << 10;

/// The address of a device that needs none of its own (RFC 7600 section 4.8).
pub(super) const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The name of an interface: 1 to 15 bytes (`IFNAMSIZ` less the closing zero).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkName {
    bytes: [u8; libc::IFNAMSIZ],
    length: usize,
}

impl LinkName {
    /// Accepts `name` if the kernel accepts it.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let fits = (1..libc::IFNAMSIZ).contains(&name.len());
        if !fits || name.bytes().any(|byte| byte == 0 || byte == b'/' || byte.is_ascii_whitespace())
        {
            return Err(format!(
                "{name:?} is no name of an interface; 1 to {} bytes, no blanks, no `/`",
                libc::IFNAMSIZ - 1
            ));
        }
        let mut bytes = [0; libc::IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { bytes, length: name.len() })
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("made from a str")
    }

    pub(super) fn as_c_chars(&self) -> [libc::c_char; libc::IFNAMSIZ] {
        self.bytes.map(u8::cast_signed)
    }
}

impl fmt::Debug for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// A socket for one request and response at a time.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// Waits at most a second until the kernel answers at its own address `address` of a link that is
/// up. The kernel adds the local route of an IPv6 address later, on a thread of its own, and drops
/// packets to it until then.
pub(super) fn settle(address: IpAddr) -> io::Result<()> {
    const LOCAL: u32 = 0x8000_0000; // RTF_LOCAL of linux/ipv6_route.h
    let IpAddr::V6(v6) = address else { return Ok(()) };
    let destination = format!("{:032x} 80 ", u128::from(v6));
    let is_local = |line: &str| {
        let flags = line.split_whitespace().nth(8);
        line.starts_with(&destination)
            && flags.and_then(|flags| u32::from_str_radix(flags, 16).ok()).unwrap_or(0) & LOCAL > 0
    };
    for _ in 0..1000 {
        if fs::read_to_string("/proc/thread-self/net/ipv6_route")?.lines().any(is_local) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("{address} has no local route")))
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            nix::sys::socket::AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sets a link up.
    pub(super) fn up(&mut self, link: u32) -> io::Result<()> {
        self.set_link(link, LinkFlags::Up, vec![])
    }

    /// Sets MTU in bytes and the device queue's length in packets, and keeps the kernel from giving
    /// the link an IPv6 address. Without a link-local address there is no router solicitation and
    /// no duplicate address detection on a link whose packets are counted.
    pub(super) fn shape(&mut self, link: u32, mtu: u32, queue_packets: u32) -> io::Result<()> {
        let quiet = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
        let attributes = vec![
            LinkAttribute::Mtu(mtu),
            LinkAttribute::TxQueueLen(queue_packets),
            LinkAttribute::AfSpecUnspec(vec![quiet]),
        ];
        self.set_link(link, LinkFlags::empty(), attributes)
    }

    /// Bounds the packets of many segments that the kernel sends to a link.
    pub(super) fn bound_segments(&mut self, link: u32, bytes: u32, most: u32) -> io::Result<()> {
        let bounds = vec![LinkAttribute::GsoMaxSize(bytes), LinkAttribute::GsoMaxSegs(most)];
        self.set_link(link, LinkFlags::empty(), bounds)
    }

    fn set_link(
        &mut self,
        link: u32,
        flags: LinkFlags,
        attributes: Vec<LinkAttribute>,
    ) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        message.header.flags = flags;
        message.header.change_mask = flags;
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives a link one address, alone in its prefix. An IPv6 address is usable at once (`nodad`).
    pub(super) fn add_address(&mut self, link: u32, address: IpAddr) -> io::Result<()> {
        self.add_scoped(link, address, AddressScope::Universe)
    }

    /// Gives a link the address [`DUMMY`], which no packet of this host gets as its source.
    pub(super) fn add_dummy(&mut self, link: u32) -> io::Result<()> {
        self.add_scoped(link, DUMMY.into(), AddressScope::Host)
    }

    fn add_scoped(&mut self, link: u32, address: IpAddr, scope: AddressScope) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.scope = scope;
        message.header.family = family(address);
        message.header.prefix_len = host_prefix(address);
        message.header.index = link;
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        if address.is_ipv6() {
            message
                .attributes
                .push(AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute));
        }
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes `prefix` out of a link, from `source`. TCP senders on this route use the congestion
    /// control `congestion` unless the socket names its own (`RTAX_CC_ALGO`; the socket option wins
    /// over the route).
    pub(super) fn add_route(
        &mut self,
        link: u32,
        prefix: Prefix,
        source: IpAddr,
        congestion: Option<&str>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(prefix.address),
            destination_prefix_length: prefix.length,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: if source.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes =
            vec![RouteAttribute::Oif(link), RouteAttribute::PrefSource(RouteAddress::from(source))];
        if prefix.length > 0 {
            message
                .attributes
                .push(RouteAttribute::Destination(RouteAddress::from(prefix.address)));
        }
        if let Some(name) = congestion {
            message
                .attributes
                .push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]));
        }
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes all addresses of the family of `gateway` through it, out of a link, from `source`.
    /// The link's own addresses need not show that the gateway is there.
    pub(super) fn add_gateway(
        &mut self,
        link: u32,
        gateway: IpAddr,
        source: IpAddr,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(gateway),
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            flags: RouteFlags::Onlink,
            ..RouteHeader::default()
        };
        message.attributes = vec![
            RouteAttribute::Oif(link),
            RouteAttribute::Gateway(RouteAddress::from(gateway)),
            RouteAttribute::PrefSource(RouteAddress::from(source)),
        ];
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes a pair of Ethernet interfaces, `name` here and in the namespace of the descriptor
    /// `peer`.
    pub(super) fn add_veth(&mut self, name: LinkName, peer: i32) -> io::Result<()> {
        let named = || LinkAttribute::IfName(name.as_str().to_owned());
        let mut other = LinkMessage::default();
        other.attributes = vec![named(), LinkAttribute::NetNsFd(peer)];
        let mut message = LinkMessage::default();
        message.attributes = vec![
            named(),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// The objects that the kernel lists in answer to `message`.
    pub(super) fn dump(
        &mut self,
        message: RouteNetlinkMessage,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.send(message, NLM_F_DUMP)?;
        let mut answer = vec![0; LIST_BYTES];
        let mut found = Vec::new();
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let mut rest = &answer[..length];
            while !rest.is_empty() {
                let one = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(io::Error::other)?;
                let size = (one.header.length as usize).next_multiple_of(4).max(16);
                rest = rest.get(size..).unwrap_or_default();
                match one.payload {
                    NetlinkPayload::InnerMessage(inner) => found.push(inner),
                    NetlinkPayload::Error(error) => {
                        return Err(io::Error::from_raw_os_error(-error.raw_code()));
                    }
                    _ => return Ok(found),
                }
            }
        }
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut message = NetlinkMessage::from(message);
        self.sequence += 1;
        message.header.sequence_number = self.sequence;
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    pub(super) fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_ACK | flags)?;
        let mut answer = [0; ANSWER_BYTES];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length])
            .map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(io::Error::from_raw_os_error(-error.raw_code())),
            other => Err(io::Error::other(format!(
                "an answer of type {}, not an acknowledgement",
                other.message_type()
            ))),
        }
    }
}

/// The addresses that share the first `length` bits of `address`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The addresses that share the first `length` bits of `address`.
    pub(super) const fn new(address: IpAddr, length: u8) -> Self {
        Self { address, length }
    }

    /// One address alone.
    pub(super) const fn host(address: IpAddr) -> Self {
        Self { address, length: host_prefix(address) }
    }

    /// All addresses of the family of `like`.
    pub(super) const fn all(like: IpAddr) -> Self {
        Self { address: like, length: 0 }
    }
}

/// The kernel's index of the interface `name` in the calling thread's namespace.
pub(super) fn index_of(name: &LinkName) -> io::Result<u32> {
    Ok(if_nametoindex(name.as_str())?)
}

pub(super) const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

const fn host_prefix(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}
