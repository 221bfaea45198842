//! System calls that no library offers: options of TCP sockets, and the end of a TIME_WAIT.

use justfull_base::Duration;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

/// Bytes of `struct tcp_info` up to `tcpi_rcv_wnd` (linux/tcp.h); the rest is not read.
const INFO_BYTES: usize = 236;
/// `TCP_CLOSE` of the kernel's states.
const CLOSED: u8 = 7;
/// `TCPI_OPT_ECN` and `TCPI_OPT_ECN_SEEN` among the options of a connection.
const OPTION_ECN: u8 = 8;
const OPTION_ECN_SEEN: u8 = 16;
/// Bytes for a control message with one number.
const CONTROL_BYTES: usize = 64;
/// sock_diag(7).
const SOCK_DESTROY: u16 = 21;

/// Sets an option of a socket.
pub(crate) fn set<T>(fd: impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes, the size of the value that lives until the call
    // returns.
    let answer = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    Ok(Errno::result(answer).map(drop)?)
}

pub(crate) fn get<const N: usize>(
    fd: impl AsFd,
    level: i32,
    name: i32,
) -> io::Result<([u8; N], usize)> {
    let mut value = [0_u8; N];
    let mut length = libc::socklen_t::try_from(N).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes, the size of the array, and to `length`.
    let answer = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(answer)?;
    Ok((value, length as usize))
}

/// Bounds the receive window that a socket advertises, in bytes. The kernel replaces it at the
/// first data, so it is set again after every read.
pub(crate) fn clamp_window(fd: impl AsFd, bytes: u64) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Bounds the rate at which a socket sends, in bytes per second; none for no bound.
pub(crate) fn pace(fd: impl AsFd, rate: Option<u64>) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate.unwrap_or(u64::MAX))
}

/// Bounds the unsent bytes that a socket accepts. It is writable again below half of this.
pub(crate) fn limit_unsent(fd: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes)
}

/// `VmRSS` of this process, in bytes; none if the kernel has no value.
pub(crate) fn memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib = line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()?;
    Some(kib * 1024.0)
}

/// The kernel's state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    /// Both ends have closed, and all data is acknowledged.
    pub(crate) closed: bool,
    /// Smoothed round trip.
    pub(crate) rtt: Duration,
    /// Least round trip.
    pub(crate) min_rtt: Duration,
    /// Round trip as the receiver of data measures it; zero without data.
    pub(crate) receive_rtt: Duration,
    /// Bytes that the peer has acknowledged.
    pub(crate) acknowledged: u64,
    /// Size of sent segments.
    pub(crate) mss: u32,
    /// The window that this socket last advertised; zero on a kernel before 6.2.
    pub(crate) advertised: u32,
    /// Congestion window in segments.
    pub(crate) cwnd: u32,
    /// Bytes in flight.
    pub(crate) in_flight: u64,
    /// Bytes that have not been sent.
    pub(crate) unsent: u64,
    /// Received segments without data, modulo 2^32.
    pub(crate) acks: u32,
    /// The ends of the connection agreed on ECN.
    pub(crate) ecn: bool,
    /// A packet with an ECN-capable codepoint has arrived.
    pub(crate) ecn_seen: bool,
    /// Sent segments that the peer has reported as marked.
    pub(crate) marked: u32,
}

/// True if the kernel tells the window that a socket advertises.
pub(crate) fn tells_windows(fd: impl AsFd) -> io::Result<bool> {
    let (_, length) = get::<INFO_BYTES>(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(length == INFO_BYTES)
}

/// Reads the state of a socket.
pub(crate) fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    let (bytes, _) = get::<INFO_BYTES>(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let word =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let long = |at: usize| {
        let mut value = [0; 8];
        value.copy_from_slice(&bytes[at..at + 8]);
        u64::from_ne_bytes(value)
    };
    let micros = |at| Duration::from_micros(u64::from(word(at)));
    let min_rtt = if word(148) == u32::MAX { Duration::ZERO } else { micros(148) };
    let acknowledged = long(120);
    Ok(TcpInfo {
        closed: bytes[0] == CLOSED,
        rtt: micros(68),
        min_rtt,
        receive_rtt: micros(92),
        acknowledged,
        mss: word(16),
        advertised: word(232),
        cwnd: word(80),
        in_flight: long(200).saturating_sub(long(208)).saturating_sub(acknowledged),
        unsent: word(144).into(),
        acks: word(140).wrapping_sub(word(152)),
        ecn: bytes[5] & OPTION_ECN > 0,
        ecn_seen: bytes[5] & OPTION_ECN_SEEN > 0,
        marked: word(196),
    })
}

/// Makes sockets that an IPv4 listener accepts keep the codepoint for [`received_dscp`].
pub(crate) fn keep_tos(fd: impl AsFd) -> io::Result<()> {
    set(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, &1_i32)
}

/// The differentiated services codepoint of the connection's first packet from the peer; none if
/// the kernel does not keep it. Over IPv4 the listener must have been set by [`keep_tos`].
pub(crate) fn received_dscp(fd: impl AsFd, v6: bool) -> Option<u8> {
    let (level, kind) = match v6 {
        false => (libc::IPPROTO_IP, libc::IP_TOS),
        true => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    let (bytes, length) = if v6 {
        // Set only for this call: it makes the kernel keep a copy of each packet.
        set(&fd, level, libc::IPV6_RECVTCLASS, &1_i32).ok()?;
        let found = get::<CONTROL_BYTES>(&fd, level, libc::IPV6_2292PKTOPTIONS);
        let _off = set(&fd, level, libc::IPV6_RECVTCLASS, &0_i32);
        found.ok()?
    } else {
        get::<CONTROL_BYTES>(&fd, level, libc::IP_PKTOPTIONS).ok()?
    };
    // One control message: its length, level and kind, and a number (cmsg(3)).
    let header = size_of::<libc::cmsghdr>();
    let word =
        |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let kinds = (word(size_of::<usize>()), word(size_of::<usize>() + 4));
    (length > header && kinds == (level, kind)).then(|| bytes[header] >> 2)
}

/// Sets the differentiated services codepoint of a socket's packets.
pub(crate) fn set_dscp(fd: impl AsFd, v6: bool, dscp: u8) -> io::Result<()> {
    let value = i32::from(dscp) << 2;
    match v6 {
        false => set(fd, libc::IPPROTO_IP, libc::IP_TOS, &value),
        true => set(fd, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value),
    }
}

/// Ends the TIME_WAIT of a connection of this host so that the next connection can have its
/// addresses (sock_diag(7), `SOCK_DESTROY`; RFC 6191 gives the conditions, which the peer checks).
/// `interface` is the index of the interface to which its socket was bound; 0 for none.
pub(crate) fn end_time_wait(own: SocketAddr, peer: SocketAddr, interface: u32) -> io::Result<()> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    let mut bytes = Vec::with_capacity(72);
    bytes.extend_from_slice(&72_u32.to_ne_bytes());
    bytes.extend_from_slice(&SOCK_DESTROY.to_ne_bytes());
    bytes.extend_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    let family = if own.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    bytes.extend_from_slice(&[family as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    bytes.extend_from_slice(&u32::MAX.to_ne_bytes());
    bytes.extend_from_slice(&own.port().to_be_bytes());
    bytes.extend_from_slice(&peer.port().to_be_bytes());
    for address in [own.ip(), peer.ip()] {
        let mut octets = [0; 16];
        match address {
            IpAddr::V4(v4) => octets[..4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => octets = v6.octets(),
        }
        bytes.extend_from_slice(&octets);
    }
    bytes.extend_from_slice(&interface.to_ne_bytes());
    bytes.extend_from_slice(&[0xff; 8]);
    sendto(netlink.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 512];
    // The answer is there when the call returns.
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT)?;
    match (length >= 20)
        .then(|| i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]))
    {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("no acknowledgement")),
    }
}
