//! The parts of the host that the proxy uses: listeners, the table of rules, policy routes,
//! descriptors. The end of the process removes all of them, or the next proxy does.

use crate::config::{LimitsConfig, PoolConfig, ProxyConfig};
use crate::pools::{PoolId, Pools};
use crate::table::{self, Diversion, Table, TableState};
use crate::{flow, system};
use justfull_net::router::{self, has_ipv6};
use justfull_net::{LocalDelivery, SystemError};
use nix::libc;
use nix::net::if_::if_nametoindex;
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
    /// Each pool has one for IPv4 and one for IPv6; without pools, all UEs share one of each.
    pub(crate) listeners: Vec<Socket>,
    pub(crate) table: Table,
    pub(crate) delivery: LocalDelivery,
    pub(crate) limits: Limits,
    /// Number of pools.
    pools: usize,
    /// Closed for a moment to refuse a connection when no other descriptor is left.
    spare: Option<File>,
}

impl Host {
    /// Installs everything, without diverting connections. After an error nothing is left.
    pub(crate) fn install(config: &ProxyConfig) -> Result<Self, SystemError> {
        let limits = limits(config);
        pools_exist(config).map_err(|why| SystemError::new("serve the pools", why))?;
        let listeners = listeners(&Pools::of(config))
            .map_err(|e| SystemError::new("listen as a transparent proxy", transparent(&e)))?;
        let pools = config.pools.len();
        let address = listeners[0].local_addr().map(|at| at.as_socket());
        let port = match address {
            Ok(Some(address)) => address.port(),
            _ => return Err(SystemError::new("listen", "the listener has no address")),
        };
        // The tables exclude another proxy with the same mark, and so with the same policy routes.
        let mark = config.route.mark;
        let table = Table::install(&config.select, &Diversion::NONE, port, mark, pools);
        let table = table.map_err(|e| {
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
        Ok(Self { listeners, table, delivery, limits, pools, spare })
    }

    /// Listens again at interfaces of pools that have been made again. Returns the places of new
    /// listeners.
    ///
    /// # Errors
    /// A listener cannot be made; the old one stays.
    pub(crate) fn renew(&mut self, pools: &Pools) -> io::Result<Vec<usize>> {
        let mut renewed = Vec::new();
        for (place, (_, pool)) in pools.iter().enumerate() {
            let name = Some(pool.interface.as_bytes());
            for at in place * self.families()..(place + 1) * self.families() {
                let old = &self.listeners[at];
                // The kernel has no name for the index of an interface that is gone.
                let bound = old.device().is_ok_and(|bound| bound.as_deref() == name);
                if bound || if_nametoindex(pool.interface.as_str()).is_err() {
                    continue;
                }
                let address = old.local_addr()?.as_socket();
                let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
                self.listeners[at] = listener(address, Some(&pool.interface))?;
                renewed.push(at);
            }
        }
        Ok(renewed)
    }

    /// Listeners of each pool.
    fn families(&self) -> usize {
        self.listeners.len() / self.pools.max(1)
    }

    /// The family of a listener: 0 for IPv4, 1 for IPv6.
    pub(crate) fn family(&self, listener: usize) -> usize {
        listener % self.families()
    }

    /// The pool of a listener's clients.
    pub(crate) fn pool(&self, listener: usize) -> PoolId {
        if self.pools == 0 { PoolId::NONE } else { PoolId::at(listener / self.families()) }
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
        let pools = config.pools.len();
        let table = Table::adopt(fds.next().ok_or_else(missing)?, table, pools);
        let listeners: Vec<Socket> = fds.take(listeners).map(Socket::from).collect();
        let delivery = LocalDelivery::adopt(config.route.policy(), reclaimed)?;
        let spare = File::open("/dev/null").ok();
        Ok(Self { listeners, table, delivery, limits: limits(config), pools, spare })
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

/// Checks that the interfaces of all pools exist.
///
/// # Errors
/// The first one that does not exist, and the key that names it.
pub(crate) fn pools_exist(config: &ProxyConfig) -> Result<(), String> {
    let of = |pool: &'_ PoolConfig| [pool.interface.clone(), pool.servers.clone()];
    for names in config.pools.iter().map(of) {
        let keys = ["pools.interface", "pools.servers"];
        router::interfaces_exist(keys.into_iter().zip(names.iter().map(String::as_str)))?;
    }
    Ok(())
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

/// A listener for each family of this host, at one port, and with pools one of each for each pool,
/// bound to its interface. They have loopback addresses, so only diverted connections reach them.
pub(crate) fn listeners(pools: &Pools) -> io::Result<Vec<Socket>> {
    let mut interfaces: Vec<Option<&str>> =
        pools.iter().map(|(_, pool)| Some(pool.interface.as_str())).collect();
    if interfaces.is_empty() {
        interfaces.push(None);
    }
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..PORTS_TRIED {
        match at_one_port(&interfaces) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            other => return other,
        }
    }
    Err(last)
}

fn at_one_port(interfaces: &[Option<&str>]) -> io::Result<Vec<Socket>> {
    let (mut all, mut port) = (Vec::new(), 0);
    for &interface in interfaces {
        let first = listener((Ipv4Addr::LOCALHOST, port).into(), interface)?;
        port = first.local_addr()?.as_socket().map_or(0, |at| at.port());
        all.push(first);
        if has_ipv6() {
            all.push(listener((Ipv6Addr::LOCALHOST, port).into(), interface)?);
        }
    }
    Ok(all)
}

/// A listener, which is bound to `interface` if there is one.
pub(crate) fn listener(at: SocketAddr, interface: Option<&str>) -> io::Result<Socket> {
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
    socket.bind_device(interface.map(str::as_bytes))?;
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
