//! Namespaces, TUN devices, addresses, routes and commands.
//!
//! ```text
//!   ue0: 10.45.0.1, fd45::1 -- tun -+
//!   ue1: 10.45.0.2, fd45::2 -- tun -+-- this process -- tun -- 10.46.0.1, fd46::1 :server
//!   ...                             |
//! ```
//!
//! With [`NetworkConfig::proxy`] one more namespace, [`Side::Proxy`], is between the servers and
//! this process.
//!
//! Each side is its own namespace with one TUN device and a loopback interface; there is no other
//! path between two sides, and no path to the rest of the machine. Dropping [`Network`] removes
//! everything it created; [`sweep`](crate::sweep) removes the leftovers of a killed process.

mod side;

pub use side::Side;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::between::{Between, Plan};
use crate::command::{self, Running};
use crate::memory::{acknowledge_each, set_receive_buffer};
use crate::namespace::{Namespace, NamespaceId};
use crate::netlink::{self, LinkName, Netlink, Prefix};
use crate::state::RunFolder;
use crate::tun::{self, Tun};
use crate::{SystemError, privilege};

/// The name of the TUN device on each side.
pub const LINK: &str = "jf0";
/// The MTU of an Ethernet, bytes.
pub const DEFAULT_MTU: u32 = 1500;
/// The least MTU that IPv6 allows (RFC 8200, section 5), bytes.
pub const MIN_MTU: u32 = 1280;
/// The largest MTU of a TUN device, bytes: an IPv4 datagram's maximum length.
pub const MAX_MTU: u32 = 65_535;
/// Packets queued between the kernel and this process. The kernel's default of 500 overflows at the
/// first stall of the slot loop; 5000 packets of 1500 bytes last 60 ms at 1 Gbit/s.
pub const DEFAULT_QUEUE_PACKETS: u32 = 5000;
/// The number of UEs with an address in 10.45.0.0/16, without its first and last.
pub const MAX_UES: usize = 65_534;
/// `TCP_CA_NAME_MAX` less the closing zero, bytes.
const LONGEST_CONGESTION: usize = 15;

/// The settings of a network.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// One per UE.
    pub ues: Vec<UeNetwork>,
    /// MTU of every TUN device, bytes: [`MIN_MTU`] to [`MAX_MTU`].
    pub mtu: u32,
    /// Packets that a TUN device holds for this process; at least 1.
    pub queue_packets: u32,
    /// Adds a host for a proxy between the servers and the stack.
    pub proxy: bool,
    /// TUN devices exchange packets of many segments with the kernel, if the kernel has the
    /// offloads. [`Port::receive`](crate::Port::receive) returns single datagrams in both cases.
    pub joined: bool,
    /// Most bytes to which a receive buffer of the kernel's TCP grows by itself; None: the kernel's
    /// default.
    pub receive_buffer: Option<u32>,
    /// Receivers acknowledge each segment behind a hole at once, as RFC 5681 requires; otherwise
    /// the kernel delays and joins some of these acknowledgements.
    pub acknowledge_each: bool,
}

/// One UE's network.
#[derive(Debug, Clone, Default)]
pub struct UeNetwork {
    /// Congestion control of TCP senders at the server towards this UE; None: the kernel's
    /// default.
    pub down: Option<String>,
    /// Congestion control of TCP senders at this UE; None: the kernel's default.
    pub up: Option<String>,
}

impl NetworkConfig {
    /// `ues` UEs without a congestion control of their own, and this module's defaults.
    #[must_use]
    pub fn new(ues: usize) -> Self {
        Self {
            ues: vec![UeNetwork::default(); ues],
            mtu: DEFAULT_MTU,
            queue_packets: DEFAULT_QUEUE_PACKETS,
            proxy: false,
            joined: true,
            receive_buffer: None,
            acknowledge_each: false,
        }
    }

    fn validate(&self) -> Result<(), SystemError> {
        let refuse = |what: String| Err(SystemError::new("build the network", what));
        if !(1..=MAX_UES).contains(&self.ues.len()) {
            return refuse(format!("{} UEs; 1 to {MAX_UES} are allowed", self.ues.len()));
        }
        if !(MIN_MTU..=MAX_MTU).contains(&self.mtu) {
            return refuse(format!(
                "an MTU of {} bytes; {MIN_MTU} to {MAX_MTU} are allowed",
                self.mtu
            ));
        }
        if self.queue_packets == 0 {
            return refuse("a TUN device that holds no packet; 1 or more are allowed".into());
        }
        // The kernel may load a module when the route is made, so only this shows whether it has
        // the control.
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        for name in self.ues.iter().flat_map(|ue| [&ue.down, &ue.up]).flatten() {
            if !(1..=LONGEST_CONGESTION).contains(&name.len()) || !name.bytes().all(allowed) {
                let known = privilege::congestion_controls().join(", ");
                return refuse(format!("congestion control {name:?}; this kernel has {known}"));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct End {
    namespace: Namespace,
    tun: Option<Tun>,
}

/// The namespaces of a run. Dropping it ends every command in them and removes everything that was
/// created.
#[derive(Debug)]
pub struct Network {
    // Fields are removed in this order after `drop`: interfaces and namespaces, then the note about
    // them.
    server: End,
    ues: Vec<End>,
    between: Option<Between>,
    hosts: Option<PathBuf>,
    folder: RunFolder,
}

impl Network {
    /// Builds it. After an error everything created so far is removed.
    ///
    /// # Errors
    /// An invalid value in `config`; a missing capability, by name; an operation that the kernel
    /// refuses.
    pub fn build(config: &NetworkConfig) -> Result<Self, SystemError> {
        config.validate()?;
        let folder = RunFolder::create()?;
        let mut ues = build_ends(config)?;
        let server = ues.remove(0);
        let between = config.proxy.then(|| build_between(config)).transpose()?;
        let hosts = write_hosts(&folder, config)?;
        let network = Self { server, ues, between, hosts, folder };
        network.folder.note(&network.namespaces())?;
        Ok(network)
    }

    /// Number of UEs.
    #[must_use]
    pub fn ues(&self) -> usize {
        self.ues.len()
    }

    /// The TUN device of a side, once. None for a side that does not exist.
    pub fn take_tun(&mut self, side: Side) -> Option<Tun> {
        match side {
            Side::Server => self.server.tun.take(),
            Side::Ue(ue) => self.ues.get_mut(ue)?.tun.take(),
            Side::Proxy => None,
        }
    }

    /// The TUN devices of the proxy's host, once: towards the servers, and towards the stack. None
    /// without such a host.
    pub fn take_proxy_tuns(&mut self) -> Option<[Tun; 2]> {
        self.between.as_mut()?.tuns.take()
    }

    /// Writes a file that is removed with the network, and returns its path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, SystemError> {
        self.folder.write(name, text)
    }

    /// Makes a named pipe that is removed with the network, and returns its path.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn pipe(&self, name: &str) -> Result<PathBuf, SystemError> {
        let path = self.folder.path().join(name);
        let made = mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR);
        made.map_err(|error| SystemError::new(format!("make {}", path.display()), error))?;
        Ok(path)
    }

    /// Starts a command on a side, with `environment` added to that of this process. There the
    /// names `server`, `ue` (the first UE) and `ue0`, `ue1` ... resolve to the sides' addresses,
    /// and `JUSTFULL_SIDE` names the side. It has the normal scheduling policy, whatever the
    /// caller's is.
    ///
    /// # Errors
    /// There is no such side, or the command cannot be started.
    pub fn run(
        &self,
        side: Side,
        argv: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<Running, SystemError> {
        let name = side.to_string();
        command::start(
            Some(self.namespace(side)?),
            &name,
            &self.folder,
            self.hosts.as_deref(),
            argv,
            environment,
        )
    }

    /// Starts an interactive shell on a side, whose prompt begins with the side's name.
    ///
    /// # Errors
    /// As for [`Network::run`]; there is no `bash`.
    pub fn shell(&self, side: Side) -> Result<Running, SystemError> {
        let settings =
            format!("[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='[justfull {side}] '\"$PS1\"\n");
        let file = self.folder.write(&format!("shell-{side}"), &settings)?;
        let argv = ["bash".into(), "--rcfile".into(), file.into_os_string(), "-i".into()];
        self.run(side, &argv, &[])
    }

    /// Runs `work` in the namespace of a side, on a thread that ends with it.
    ///
    /// # Errors
    /// There is no such side, or the error of `work`.
    pub fn inside<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<T, SystemError> {
        self.namespace(side)?
            .enter(work)
            .map_err(|error| SystemError::new(format!("work on {side}"), error))
    }

    /// Ends all commands on all sides and all their descendants, in any namespace: first by
    /// SIGTERM, then by SIGKILL. Returns the number of processes. Dropping the network does the
    /// same silently.
    ///
    /// # Errors
    /// Processes that do not end within some seconds.
    pub fn end_commands(&self) -> Result<usize, SystemError> {
        self.folder.end_processes(&self.namespaces())
    }

    fn namespace(&self, side: Side) -> Result<&Namespace, SystemError> {
        let namespace = match side {
            Side::Server => Some(&self.server.namespace),
            Side::Ue(ue) => self.ues.get(ue).map(|end| &end.namespace),
            Side::Proxy => self.between.as_ref().map(|between| &between.namespace),
        };
        let last = self.ues.len() - 1;
        let proxy = if self.between.is_some() { ", and `proxy`" } else { "" };
        namespace.ok_or_else(|| {
            SystemError::new(
                format!("find {side}"),
                format!("the sides are `server` and `ue0` to `ue{last}`{proxy}"),
            )
        })
    }

    fn namespaces(&self) -> Vec<NamespaceId> {
        let ends = std::iter::once(&self.server).chain(&self.ues).map(|end| &end.namespace);
        let between = self.between.as_ref().map(|between| &between.namespace);
        ends.chain(between).map(Namespace::id).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A process that survives SIGKILL waits for a device; its namespace still loses its only
        // path out.
        let _ended = self.end_commands();
    }
}

/// Threads that build: making a namespace is mostly waiting for the kernel.
const BUILDERS: usize = 8;

/// The ends of all sides, the server's first.
fn build_ends(config: &NetworkConfig) -> Result<Vec<End>, SystemError> {
    let sides = 1 + config.ues.len();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut built = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= sides {
                break;
            }
            let side = number.checked_sub(1).map_or(Side::Server, Side::Ue);
            let end = build_end(side, config);
            failed.fetch_or(end.is_err(), Ordering::Relaxed);
            built.push((number, end));
        }
        built
    };
    let mut built = thread::scope(|scope| {
        let start = |_| thread::Builder::new().name("namespaces".into()).spawn_scoped(scope, work);
        let builders = (0..BUILDERS.min(sides)).map(start).collect::<io::Result<Vec<_>>>();
        let builders = builders.map_err(|error| SystemError::new("build the network", error))?;
        let done = builders
            .into_iter()
            .map(|builder| builder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok::<_, SystemError>(done.flatten().collect::<Vec<_>>())
    })?;
    built.sort_by_key(|(number, _)| *number);
    built.into_iter().map(|(_, end)| end).collect()
}

/// Builds the host of a proxy, on a thread that ends with it.
fn build_between(config: &NetworkConfig) -> Result<Between, SystemError> {
    let built = thread::scope(|scope| {
        let builder = thread::Builder::new().name("namespaces".into());
        let plan = Plan {
            mtu: config.mtu,
            queue_packets: config.queue_packets,
            joined: config.joined,
            own: Side::Proxy.addresses(),
            ue: Side::Ue(0).addresses(),
            server: Side::Server.addresses(),
            receive_buffer: config.receive_buffer,
            acknowledge_each: config.acknowledge_each,
        };
        let work = builder.spawn_scoped(scope, move || Between::build(plan))?;
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    built.map_err(|error| {
        SystemError::new(
            "build the host of a proxy",
            privilege::with_capability(&error, "CAP_NET_ADMIN"),
        )
    })
}

/// Builds a side in a new namespace, and leaves the calling thread in it.
fn build_end(side: Side, config: &NetworkConfig) -> Result<End, SystemError> {
    let failed = |what: String, error: &io::Error, capability| {
        SystemError::new(what, privilege::with_capability(error, capability))
    };
    let namespace = Namespace::enter_new().map_err(|error| {
        failed(format!("make a network namespace for {side}"), &error, "CAP_SYS_ADMIN")
    })?;
    let link =
        LinkName::new(LINK).map_err(|reason| SystemError::new("name the TUN device", reason))?;
    let tun = Tun::joining(link, config.joined).map_err(|error| {
        failed(format!("open {} for {side}", tun::DEVICE), &error, "CAP_NET_ADMIN")
    })?;
    configure(side, config, &link)
        .map_err(|error| failed(format!("set up {LINK} of {side}"), &error, "CAP_NET_ADMIN"))?;
    Ok(End { namespace, tun: Some(tun) })
}

/// Configures links, addresses and routes of the side whose namespace the calling thread is in.
fn configure(side: Side, config: &NetworkConfig, name: &LinkName) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let link = netlink::index_of(name)?;
    netlink.up(netlink::index_of(&LinkName::new("lo").map_err(io::Error::other)?)?)?;
    netlink.shape(link, config.mtu, config.queue_packets)?;
    netlink.up(link)?;
    // The kernel must not keep metrics of earlier connections, so that each finds the path as the
    // first one did.
    fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
    config.receive_buffer.map_or(Ok(()), set_receive_buffer)?;
    if config.acknowledge_each {
        acknowledge_each()?;
    }
    for own in side.addresses() {
        netlink.add_address(link, own)?;
        match side {
            Side::Ue(ue) => {
                route(&mut netlink, link, Prefix::all(own), own, config.ues[ue].up.as_deref())?
            }
            Side::Server => {
                for (ue, settings) in config.ues.iter().enumerate() {
                    let [v4, v6] = Side::Ue(ue).addresses();
                    let peer = if own.is_ipv4() { v4 } else { v6 };
                    route(&mut netlink, link, Prefix::host(peer), own, settings.down.as_deref())?;
                }
                // The proxy's host may answer for addresses that cannot be reached.
                if config.proxy {
                    let [v4, v6] = Side::Proxy.addresses();
                    let peer = if own.is_ipv4() { v4 } else { v6 };
                    route(&mut netlink, link, Prefix::host(peer), own, None)?;
                }
            }
            // `build_between` configures it.
            Side::Proxy => {}
        }
    }
    side.addresses().into_iter().try_for_each(netlink::settle)
}

fn route(
    netlink: &mut Netlink,
    link: u32,
    prefix: Prefix,
    own: IpAddr,
    congestion: Option<&str>,
) -> io::Result<()> {
    netlink.add_route(link, prefix, own, congestion).map_err(|error| match congestion {
        Some(name) if error.kind() == io::ErrorKind::InvalidInput => {
            let known = privilege::congestion_controls().join(", ");
            io::Error::new(
                error.kind(),
                format!("congestion control {name:?} is not known; this kernel has {known}"),
            )
        }
        _ => error,
    })
}

/// The file that commands see as `/etc/hosts`: the sides' names first, since the first line wins.
/// None on a machine without one.
fn write_hosts(folder: &RunFolder, config: &NetworkConfig) -> Result<Option<PathBuf>, SystemError> {
    let Ok(existing) = fs::read_to_string(Path::new(command::HOSTS)) else { return Ok(None) };
    let mut text = String::new();
    let ues = (0..config.ues.len()).map(Side::Ue);
    let proxy = config.proxy.then_some(Side::Proxy);
    for side in std::iter::once(Side::Server).chain(ues).chain(proxy) {
        let alias = if side == Side::Ue(0) { " ue" } else { "" };
        for address in side.addresses() {
            writeln!(text, "{address} {side}{alias}").expect("a string takes all");
        }
    }
    text.push_str(&existing);
    folder.write("hosts", &text).map(Some)
}
