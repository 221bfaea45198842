//! The parts of the host that the proxy uses: listeners, the table of rules, policy routes,
//! descriptors. The end of the process removes all of them, or the next proxy does.

use crate::config::{LimitsConfig, ProxyConfig};
use crate::table::{self, Diversion, Table, TableState};
use crate::{flow, system};
use justfull_net::router::has_ipv6;
use justfull_net::{LocalDelivery, SystemError};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4_096;
/// One part in so many of the connections that descriptors allow is for connections that arrive
/// before the rules let new ones pass.
const RESERVE_PART: u64 = 9;
/// Descriptors for other purposes than connections and pipes.
const RESERVED: u64 = 64;
/// Most legs to servers with waiting clients: this number, or the descriptors divided by
/// [`WAITS_PART`] if that is less.
const MOST_WAITS: u64 = 1_024;
const WAITS_PART: u64 = 16;
/// Ports tried until one is free for both families.
const PORTS_TRIED: usize = 64;

/// The amounts that the proxy may use, given the limit of descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at a time; beyond this, new ones pass.
    pub(crate) flows: usize,
    /// Connections including those that arrive before the rules let new ones pass; more are reset.
    pub(crate) most: usize,
    /// Pipes.
    pub(crate) pipes: u32,
    /// Most legs to servers with waiting clients.
    pub(crate) waits: usize,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Host {
    // Fields are dropped in this order: no more connections, no more rules, no more routes.
    pub(crate) listeners: Vec<Socket>,
    pub(crate) table: Table,
    pub(crate) delivery: LocalDelivery,
    pub(crate) limits: Limits,
    /// Closed for a moment to refuse a connection when no other descriptor is left.
    spare: Option<File>,
}

impl Host {
    /// Installs everything, without diverting connections. After an error nothing is left.
    pub(crate) fn install(config: &ProxyConfig) -> Result<Self, SystemError> {
        let limits = limits(config);
        let listeners = listeners()
            .map_err(|e| SystemError::new("listen as a transparent proxy", transparent(&e)))?;
        let address = listeners[0].local_addr().map(|at| at.as_socket());
        let port = match address {
            Ok(Some(address)) => address.port(),
            _ => return Err(SystemError::new("listen", "the listener has no address")),
        };
        // The tables exclude another proxy with the same mark, and so with the same policy routes.
        let mark = config.route.mark;
        let table = Table::install(&config.select, &Diversion::NONE, port, mark).map_err(|e| {
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

    /// The parts that another process has installed, from its descriptors: the tables' socket and
    /// `listeners` listeners. The policy routes stay with that process until they are owned.
    pub(crate) fn adopt(
        config: &ProxyConfig,
        table: &TableState,
        listeners: usize,
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

    /// Refuses one connection when no descriptor is left; false if none waits.
    pub(crate) fn refuse_one(&mut self, listener: usize) -> bool {
        drop(self.spare.take());
        // Dropping the socket resets it.
        let refused = self.listeners[listener].accept4(libc::SOCK_CLOEXEC).is_ok();
        self.spare = File::open("/dev/null").ok();
        refused
    }
}

/// Raises the limit of descriptors as far as possible, and returns the resulting limits.
pub(crate) fn limits(config: &ProxyConfig) -> Limits {
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(soft, hard)| {
        // A process may always raise its own soft limit to the hard one.
        match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            Ok(()) => hard,
            Err(_) => soft,
        }
    });
    let usable = descriptors.saturating_sub(RESERVED);
    let LimitsConfig { workers, flows: wanted, pipes, .. } = config.limits;
    // Those of one process.
    let pipes = u64::from(pipes.div_ceil(workers)).min(usable / 8);
    let waits = MOST_WAITS.min(usable / WAITS_PART);
    // With several workers, these legs and the connections are in different processes.
    let others = 2 * pipes + if workers == 1 { waits } else { 0 };
    let places = usable.saturating_sub(others) / 2;
    let flows = (places - places / RESERVE_PART).min(wanted.div_ceil(workers).into());
    let most = places.min(flows + u64::from(BACKLOG.unsigned_abs()));
    let all = |count: u64| usize::try_from(count * u64::from(workers)).unwrap_or(usize::MAX);
    let flows = all(flows).min(wanted as usize);
    Limits { flows, most: all(most), pipes: pipes as u32 * workers, waits: waits as usize }
}

/// A listener for each family of this host, at one port. They have loopback addresses, so only
/// diverted connections reach them.
pub(crate) fn listeners() -> io::Result<Vec<Socket>> {
    let v6 = has_ipv6();
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
        // Best effort: without this, no codepoint is copied.
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

/// Why no transparent socket can be made, in words.
pub(crate) fn transparent(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{error}; needs CAP_NET_ADMIN"),
        io::ErrorKind::AddrNotAvailable => format!("{error}; is the interface lo up?"),
        _ => error.to_string(),
    }
}
