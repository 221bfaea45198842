//! A separate routing domain between two TUN devices: an unnamed namespace in which the kernel
//! forwards between the devices. A transparent proxy may run in it.
//!
//! ```text
//!   this process -- ue: addresses of UEs -- domain -- net: all other addresses -- this process
//! ```
//!
//! Rules, routes and addresses of the host have no effect in the domain, and those of the domain
//! none on the host. The domain ends with the last process in it; the devices end with the process
//! that made them.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::path::Path;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use nix::sched::{CloneFlags, setns};

use crate::SystemError;
use crate::namespace::Namespace;
use crate::netlink::{DUMMY, LinkName, Netlink, family, index_of};
use crate::policy::families;
use crate::prefix::Prefix;
use crate::privilege::with_capability;
use crate::tun::Tun;

/// Interface of the domain towards the UEs.
pub const UE: &str = "ue";
/// Interface of the domain towards the servers.
pub const NET: &str = "net";
/// The MTU of the devices: every packet passes, since it has fit its tunnel.
const MTU: u32 = 65_535;
/// Bounds of a packet of many segments from the devices, in bytes and segments: with the headers of
/// a tunnel around each segment of 1 200 bytes or more, it is at most one packet again.
const JOINED_BYTES: u32 = 60_000;
const JOINED_SEGMENTS: u32 = 64;
/// Length of the devices' queues in packets.
const QUEUE_PACKETS: u32 = 10_000;

/// See the module's page.
#[derive(Debug)]
pub struct Domain {
    namespace: Namespace,
    ue: Tun,
    net: Tun,
}

impl Domain {
    /// Makes a domain in which the addresses of `ues` are beyond the first device, and all others
    /// beyond the second.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel. Nothing is then left.
    pub fn build(ues: &[Prefix]) -> Result<Self, SystemError> {
        let build = || {
            let namespace = Namespace::create()?;
            let made = namespace.enter(|| devices(ues))?;
            let [ue, net] = made;
            Ok(Self { namespace, ue, net })
        };
        build().map_err(|error: io::Error| {
            let why = with_capability(&error, "CAP_SYS_ADMIN and CAP_NET_ADMIN");
            SystemError::new("make a routing domain", why)
        })
    }

    /// Its devices: towards the UEs, and towards the servers. They have offloads: each packet has a
    /// [prefix](crate::OFFLOAD_PREFIX).
    pub fn devices(&mut self) -> [&mut Tun; 2] {
        [&mut self.ue, &mut self.net]
    }

    /// The path by which other processes of this user can join the domain while this process lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.raw())
    }

    /// Runs `work` inside the domain, on a new thread.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        self.namespace.enter(work)
    }
}

fn devices(ues: &[Prefix]) -> io::Result<[Tun; 2]> {
    let name = |text| LinkName::new(text).map_err(io::Error::other);
    let set = |key: &str, value| fs::write(format!("/proc/sys/net/{key}"), value);
    for which in ["all", "default"] {
        set(&format!("ipv4/conf/{which}/rp_filter"), "0")?;
        set(&format!("ipv4/conf/{which}/send_redirects"), "0")?;
    }
    set("ipv4/ip_forward", "1")?;
    if families().count() == 2 {
        set("ipv6/conf/all/forwarding", "1")?;
    }
    let mut netlink = Netlink::open()?;
    netlink.up(index_of(&name("lo")?)?)?;
    let made = [Tun::create_offloading(name(UE)?)?, Tun::create_offloading(name(NET)?)?];
    let [ue, net] = [index_of(&name(UE)?)?, index_of(&name(NET)?)?];
    for link in [ue, net] {
        netlink.shape(link, MTU, QUEUE_PACKETS)?;
        netlink.bound_segments(link, JOINED_BYTES, JOINED_SEGMENTS)?;
        netlink.up(link)?;
    }
    netlink.add_address(net, DUMMY.into())?;
    for address in families() {
        netlink.request(route(net, Prefix::of(address, 0)), NLM_F_CREATE | NLM_F_EXCL)?;
    }
    let has_v6 = families().count() == 2;
    for prefix in ues.iter().filter(|prefix| has_v6 || prefix.address().is_ipv4()) {
        netlink.request(route(ue, *prefix), NLM_F_CREATE)?;
    }
    Ok(made)
}

/// Routes `prefix` to a link.
fn route(link: u32, prefix: Prefix) -> RouteNetlinkMessage {
    let address: IpAddr = prefix.address();
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family(address),
        destination_prefix_length: prefix.bits(),
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: if address.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![RouteAttribute::Oif(link)];
    if prefix.bits() > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::from(address)));
    }
    RouteNetlinkMessage::NewRoute(message)
}

/// The namespace that a thread has left for a domain.
#[derive(Debug)]
pub struct Home {
    home: File,
    domain: File,
}

impl Home {
    /// Moves the calling thread into the domain at a [path](Domain::path).
    ///
    /// # Errors
    /// There is no such domain, or `CAP_SYS_ADMIN` is missing.
    pub fn leave(path: &Path) -> Result<Self, SystemError> {
        let enter = || -> io::Result<Self> {
            let home = File::open("/proc/thread-self/ns/net")?;
            let domain = File::open(path)?;
            setns(&domain, CloneFlags::CLONE_NEWNET)?;
            Ok(Self { home, domain })
        };
        enter().map_err(|error| {
            let why = with_capability(&error, "CAP_SYS_ADMIN");
            SystemError::new(format!("join the routing domain {}", path.display()), why)
        })
    }

    /// Runs `work` with the calling thread in its former namespace; threads that `work` starts stay
    /// there.
    ///
    /// # Errors
    /// The kernel refuses to move the thread there or back.
    pub fn inside<T>(&self, work: impl FnOnce() -> T) -> Result<T, SystemError> {
        let failed = |error| SystemError::new("leave the routing domain for a moment", error);
        setns(&self.home, CloneFlags::CLONE_NEWNET).map_err(failed)?;
        let done = work();
        setns(&self.domain, CloneFlags::CLONE_NEWNET).map_err(failed)?;
        Ok(done)
    }
}
