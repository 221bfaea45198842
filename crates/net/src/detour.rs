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
//! Fragments without the port, and datagrams for this host itself, do not take the detour.
//! Datagrams pass the forward hook of the firewall twice, and their TTL falls by two.

use std::fs;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use netlink_packet_route::{IpProtocol, RouteNetlinkMessage};
use nix::errno::Errno;

use crate::netlink::{LinkName, Netlink, family, index_of};
use crate::policy::{OURS, families};
use crate::privilege::with_capability;
use crate::tun::Tun;
use crate::{MAX_MTU, Port, SystemError};

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
        detour.netlink.shape(index, mtu(&detour.config.incoming), QUEUE_PACKETS)?;
        // A datagram comes back from the device with another's source address.
        let filter = format!("/proc/sys/net/ipv4/conf/{}/rp_filter", name.as_str());
        fs::write(filter, "0")?;
        detour.netlink.up(index)?;
        for address in families() {
            let flags = if replace { NLM_F_REPLACE } else { 0 };
            let route = RouteNetlinkMessage::NewRoute(detour.route(address, index));
            detour.netlink.request(route, NLM_F_CREATE | flags)?;
        }
        detour.config.remove_rules(&mut detour.netlink)?;
        detour.owned = true;
        for address in families() {
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
        message
    }
}

impl DetourConfig {
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
        let DetourConfig { incoming, port, table, priority, .. } = self;
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

/// The MTU of an interface; of one that does not exist, Ethernet's.
fn mtu(interface: &str) -> u32 {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/mtu")).unwrap_or_default();
    text.trim().parse().unwrap_or(1_500).min(MAX_MTU)
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
