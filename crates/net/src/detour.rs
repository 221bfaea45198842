//! A detour through this process for forwarded UDP datagrams of one port: the kernel routes them
//! into a TUN device, and what is written back takes the way that it would have taken.
//!
//! ```text
//!   incoming interface --rule, table--> TUN --> process --> TUN --main table--> outgoing interface
//! ```
//!
//! However the process ends, the device ends with its descriptor and takes its routes with it; the
//! rule then leads to an empty table and the kernel goes on to the next rule. So datagrams pass
//! without the detour. A rule that stays is removed by the next start.
//!
//! Fragments without the port do not take the detour. Datagrams pass the forward hook of the
//! firewall twice, and their TTL falls by two.
//!
//! This host may be an end of the path itself. Datagrams that it sends come from the interface
//! `lo`. The kernel's rule for local addresses must be behind the detour's rule if the detour is
//! for datagrams to this host ([`delivers_behind`](crate::routing::delivers_behind)).

use std::fs;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use netlink_packet_route::{IpProtocol, RouteNetlinkMessage};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;

use crate::netlink::{LinkName, Netlink, family, index_of};
use crate::policy::{OURS, families};
use crate::privilege::with_capability;
use crate::tun::Tun;
use crate::{MAX_MTU, Port, SystemError};

/// The interface of packets that this host sends.
pub const LOOPBACK: &str = "lo";
/// The settings by which the kernel takes datagrams back that have other devices' addresses, or
/// addresses of this host, and forwards them. The last one is for 127.0.0.0/8.
const RETURN: [(&str, &str); 4] =
    [("rp_filter", "0"), ("accept_local", "1"), ("forwarding", "1"), ("route_localnet", "1")];
/// Length of the device's queue in packets: 40 ms of 250 000 packets a second.
const QUEUE_PACKETS: u32 = 10_000;
/// More equal rules than were ever left; it bounds a loop.
const MOST_RULES: usize = 100;

/// Which datagrams take the detour, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetourConfig {
    /// The first letters of the device's name, at most 8; the number of the process follows.
    pub device: String,
    /// The interface at which they arrive.
    pub incoming: String,
    /// Their destination port.
    pub port: u16,
    /// The routing table with the route into the device.
    pub table: u32,
    /// Priority of the rule that leads to the table.
    pub priority: u32,
    /// Each packet has a [prefix](crate::OFFLOAD_PREFIX), and may hold several datagrams.
    pub prefixed: bool,
    /// The interface to the other end, if this host is an end: `lo` if it is both. Only IPv4 then
    /// takes the detour, since forwarding of IPv6 is a setting of the whole host.
    pub end: Option<String>,
}

/// See the module's page. Dropping it removes the rule, then the device.
#[derive(Debug)]
pub struct Detour {
    netlink: Netlink,
    config: DetourConfig,
    tun: Tun,
    owned: bool,
    joins: bool,
}

impl Detour {
    /// Installs the detour. With `replace`, another process may have it already: its datagrams come
    /// here from then on, and none is lost.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel. Nothing is then left installed.
    pub fn install(config: &DetourConfig, replace: bool) -> Result<Self, SystemError> {
        let failed = |error: io::Error| {
            let doing = format!("lead what arrives at {} through a device", config.incoming);
            SystemError::new(doing, with_capability(&error, "CAP_NET_ADMIN"))
        };
        Self::build(config, replace).map_err(failed)
    }

    /// Removes the rules of a detour that another process installed. From then on datagrams take
    /// their usual way.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel.
    pub fn remove(config: &DetourConfig) -> Result<(), SystemError> {
        let failed = |error: io::Error| {
            let doing = format!("remove the rule for packets that arrive at {}", config.incoming);
            SystemError::new(doing, with_capability(&error, "CAP_NET_ADMIN"))
        };
        Netlink::open().and_then(|mut netlink| config.remove_rules(&mut netlink)).map_err(failed)
    }

    fn build(config: &DetourConfig, replace: bool) -> io::Result<Self> {
        let name = format!("{}{}", config.device, std::process::id());
        let name = LinkName::new(&name).map_err(io::Error::other)?;
        let (tun, joins) = match config.prefixed {
            true => Tun::create_prefixed(name)?,
            false => (Tun::create_passing(name)?, false),
        };
        let (netlink, config) = (Netlink::open()?, config.clone());
        let mut detour = Self { netlink, config, tun, owned: !replace, joins };
        let index = index_of(&name)?;
        detour.netlink.shape(index, detour.config.mtu(), QUEUE_PACKETS)?;
        let inside = detour.config.end.as_deref() == Some(LOOPBACK);
        for (setting, value) in RETURN.into_iter().take(3 + usize::from(inside)) {
            fs::write(format!("/proc/sys/net/ipv4/conf/{}/{setting}", name.as_str()), value)?;
        }
        // A loose filter of all devices lets nothing pass from a device without an address.
        detour.netlink.add_dummy(index)?;
        detour.netlink.up(index)?;
        for address in detour.config.families() {
            let flags = if replace { NLM_F_REPLACE } else { 0 };
            let route = RouteNetlinkMessage::NewRoute(detour.route(address, index));
            detour.netlink.request(route, NLM_F_CREATE | flags)?;
        }
        detour.config.remove_rules(&mut detour.netlink)?;
        detour.owned = true;
        for address in detour.config.families() {
            let rule = RouteNetlinkMessage::NewRule(detour.config.rule(address));
            detour.netlink.request(rule, NLM_F_CREATE | NLM_F_EXCL)?;
        }
        Ok(detour)
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tun.name()
    }

    /// Writes `parts` as one packet, which begins with its prefix; false when the device accepts no
    /// more now.
    ///
    /// # Errors
    /// The device has gone, or fails.
    pub fn send_parts(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        self.tun.send_parts(parts)
    }

    /// Leaves the rule to another process, whose device has the routes already.
    pub fn leave(&mut self) {
        self.owned = false;
    }

    /// Removes the rule: no more datagrams come, except those in the device's queue.
    pub fn close(&mut self) {
        if self.owned {
            // A rule that stays leads nowhere once the device has gone.
            let _left = self.config.remove_rules(&mut self.netlink);
            self.owned = false;
        }
    }

    fn route(&self, address: IpAddr, device: u32) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(address),
            protocol: RouteProtocol::Other(OURS),
            scope: if address.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes =
            vec![RouteAttribute::Oif(device), RouteAttribute::Table(self.config.table)];
        let source = self.config.source().map(RouteAttribute::PrefSource);
        message.attributes.extend(source);
        message
    }
}

impl DetourConfig {
    /// The families whose datagrams take the detour.
    fn families(&self) -> impl Iterator<Item = IpAddr> {
        families().filter(|address| address.is_ipv4() || self.end.is_none())
    }

    /// The MTU of the interface to the other end, or where datagrams arrive; of one that does not
    /// exist, Ethernet's.
    fn mtu(&self) -> u32 {
        let name = self.end.as_ref().unwrap_or(&self.incoming);
        let text = fs::read_to_string(format!("/sys/class/net/{name}/mtu")).unwrap_or_default();
        text.trim().parse().unwrap_or(1_500).min(MAX_MTU)
    }

    /// The source of datagrams from sockets of this host without an address of their own, as
    /// without the detour: the first address of the interface to the other end.
    fn source(&self) -> Option<RouteAddress> {
        let end = self.end.as_ref().filter(|end| self.incoming == LOOPBACK && *end != LOOPBACK)?;
        let mut addresses = getifaddrs().ok()?.filter(|one| one.interface_name == *end);
        let first = addresses.find_map(|one| Some(one.address?.as_sockaddr_in()?.ip()))?;
        Some(RouteAddress::Inet(first))
    }

    /// Removes equal rules, of this process or of one that was killed.
    fn remove_rules(&self, netlink: &mut Netlink) -> io::Result<()> {
        for address in families() {
            for _ in 0..MOST_RULES {
                let rule = RouteNetlinkMessage::DelRule(self.rule(address));
                match netlink.request(rule, 0) {
                    Ok(()) => {}
                    Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                        Some(Errno::ENOENT | Errno::ESRCH) => break,
                        _ => return Err(error),
                    },
                }
            }
        }
        Ok(())
    }

    fn rule(&self, address: IpAddr) -> RuleMessage {
        let Self { incoming, port, table, priority, .. } = self;
        let mut message = RuleMessage::default();
        message.header.family = family(address);
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::Iifname(incoming.clone()),
            RuleAttribute::IpProtocol(IpProtocol::Udp),
            RuleAttribute::DestinationPortRange(RulePortRange { start: *port, end: *port }),
            RuleAttribute::Table(*table),
            RuleAttribute::Priority(*priority),
            RuleAttribute::Protocol(RouteProtocol::Other(OURS)),
        ];
        message
    }
}

impl Port for Detour {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.receive(buffer)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.tun.send(packet)
    }

    /// True if a packet may hold several datagrams, in both directions (Linux 6.2).
    fn joins(&self) -> bool {
        self.joins
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tun.as_fd())
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        self.close();
    }
}
