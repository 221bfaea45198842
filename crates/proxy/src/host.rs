//! What the proxy takes of its host: listeners, the table of rules, policy routes, descriptors.
//! All of it goes with the process or is reclaimed by the next.

use crate::config::ProxyConfig;
use crate::table::{self, Diversion, Table, TableState};
use crate::{flow, system};
use justfull_net::{LocalDelivery, SystemError};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Connections that wait to be taken.
const BACKLOG: i32 = 4_096;
/// Of the connections that descriptors allow, this part is for those that come before the rules
/// let new ones pass.
const RESERVE_PART: u64 = 9;
/// Descriptors that are not of connections and pipes.
const RESERVED: u64 = 64;
/// Ports that are tried until one is free for both families.
const PORTS_TRIED: usize = 64;

/// What may be used, after the limit of descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at a time, from which on new ones pass.
    pub(crate) flows: usize,
    /// With those that come before the rules let new ones pass; more are reset.
    pub(crate) most: usize,
    /// Pipes.
    pub(crate) pipes: u32,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Host {
    // The order is that of removal: no more connections, no more rules, no more routes.
    pub(crate) listeners: Vec<Socket>,
    pub(crate) table: Table,
    pub(crate) delivery: LocalDelivery,
    pub(crate) limits: Limits,
    /// Given up for a moment to refuse a connection when no other descriptor is left.
    spare: Option<File>,
}

impl Host {
    /// Installs everything. Nothing is diverted yet. After an error nothing is left.
    pub(crate) fn install(config: &ProxyConfig) -> Result<Self, SystemError> {
        let limits = limits(config);
        let listeners = listeners()
            .map_err(|e| SystemError::new("listen as a transparent proxy", transparent(&e)))?;
        let address = listeners[0].local_addr().map(|at| at.as_socket());
        let port = match address {
            Ok(Some(address)) => address.port(),
            _ => return Err(SystemError::new("listen", "the listener has no address")),
        };
        // The tables keep another proxy with the same mark out, whose policy routes these are.
        let mark = config.route.mark;
        let table = Table::install((&config.select, &Diversion::NONE), port, mark).map_err(|e| {
            let why = match table::exists(mark) {
                true => format!(
                    "another proxy on this host uses mark {mark}; give each its own `route.mark`"
                ),
                false => table::explain(&e),
            };
            SystemError::new("install the nftables tables", why)
        })?;
        let delivery = LocalDelivery::install(config.route.policy())?;
        let spare = File::open("/dev/null").ok();
        Ok(Self { listeners, table, delivery, limits, spare })
    }

    /// What another process has installed, from its descriptors: the tables' socket, and so many
    /// listeners. Policy routes stay the other's until they are owned.
    pub(crate) fn adopt(
        config: &ProxyConfig,
        (table, listeners): (&TableState, usize),
        reclaimed: usize,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> Result<Self, SystemError> {
        let missing = || SystemError::new("take over", "a descriptor is missing");
        let table = Table::adopt(fds.next().ok_or_else(missing)?, table);
        let listeners: Vec<Socket> = fds.take(listeners).map(Socket::from).collect();
        let delivery = LocalDelivery::adopt(config.route.policy(), reclaimed)?;
        let spare = File::open("/dev/null").ok();
        Ok(Self { listeners, table, delivery, limits: limits(config), spare })
    }

    /// Refuses one connection when no descriptor is left; false when there was none to refuse.
    pub(crate) fn refuse_one(&mut self, listener: usize) -> bool {
        drop(self.spare.take());
        // Closing it resets it.
        let refused = self.listeners[listener].accept4(libc::SOCK_CLOEXEC).is_ok();
        self.spare = File::open("/dev/null").ok();
        refused
    }
}

/// As many descriptors as the process may have, and what they allow.
pub(crate) fn limits(config: &ProxyConfig) -> Limits {
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(soft, hard)| {
        // A process may always raise its own limit so far.
        match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            Ok(()) => hard,
            Err(_) => soft,
        }
    });
    let usable = descriptors.saturating_sub(RESERVED);
    let pipes = u64::from(config.limits.pipes).min(usable / 8);
    let places = usable.saturating_sub(2 * pipes) / 2;
    let flows = (places - places / RESERVE_PART).min(config.limits.flows.into());
    let most = places.min(flows + u64::from(BACKLOG.unsigned_abs()));
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Limits { flows: size(flows), most: size(most), pipes: pipes as u32 }
}

/// A listener for each family that the kernel has, at one port. They are on loopback addresses, so
/// that only diverted connections come to them.
pub(crate) fn listeners() -> io::Result<Vec<Socket>> {
    let v6 = Path::new("/proc/sys/net/ipv6").exists();
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..PORTS_TRIED {
        let first = listener((Ipv4Addr::LOCALHOST, 0).into())?;
        if !v6 {
            return Ok(vec![first]);
        }
        let port = first.local_addr()?.as_socket().map_or(0, |at| at.port());
        match listener((Ipv6Addr::LOCALHOST, port).into()) {
            Ok(second) => return Ok(vec![first, second]),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

pub(crate) fn listener(at: SocketAddr) -> io::Result<Socket> {
    let domain = if at.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    if at.is_ipv4() {
        socket.set_ip_transparent_v4(true)?;
        // Best effort: without it no codepoint is copied.
        let _unknown = system::keep_tos(&socket);
    } else {
        socket.set_only_v6(true)?;
        socket.set_ip_transparent_v6(true)?;
    }
    flow::prepare(&socket)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Why a transparent socket cannot be made, in words.
pub(crate) fn transparent(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{error}; needs CAP_NET_ADMIN"),
        io::ErrorKind::AddrNotAvailable => format!("{error}; is the interface lo up?"),
        _ => error.to_string(),
    }
}
