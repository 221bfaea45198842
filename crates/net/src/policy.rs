//! Policy routes that deliver marked packets to this host, whatever their address: what a
//! transparent proxy needs beside its rules (Linux, Documentation/networking/tproxy.rst).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use nix::errno::Errno;

use crate::SystemError;
use crate::netlink::{LinkName, Netlink, family, index_of};
use crate::privilege::with_capability;

/// Who installed a route or a rule (rtnetlink(7), `rtm_protocol`): a number that no known program
/// uses, so that only what is ours is ever removed.
const OURS: u8 = 106;
/// More rules than one mark ever has: a bound for a loop that ends by itself.
const MOST_RULES: usize = 1_000;

/// The name of the delivery: a mark on packets, a routing table, and where its rule stands among
/// the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRoute {
    /// Packets with this mark are delivered here.
    pub mark: u32,
    /// The routing table that says so.
    pub table: u32,
    /// Priority of the rule that leads to it; a smaller one is asked first.
    pub priority: u32,
}

/// Delivery of marked packets, IPv4 and IPv6, in the namespace of the thread that installed it.
/// Dropping it removes both rules and both routes.
#[derive(Debug)]
pub struct LocalDelivery {
    netlink: Netlink,
    policy: PolicyRoute,
    reclaimed: usize,
    /// It goes when this is dropped.
    owned: bool,
}

impl LocalDelivery {
    /// Installs the rules and routes of `policy`, after removing those that a killed process left.
    /// The caller makes sure that no living one uses the same.
    ///
    /// # Errors
    /// A missing capability, or what the kernel refuses. Nothing is then left installed.
    pub fn install(policy: PolicyRoute) -> Result<Self, SystemError> {
        let doing = format!("install the policy routes of mark {}", policy.mark);
        let failed = |error: io::Error| {
            SystemError::new(doing.clone(), with_capability(&error, "CAP_NET_ADMIN"))
        };
        let netlink = Netlink::open().map_err(failed)?;
        let mut delivery = Self { netlink, policy, reclaimed: 0, owned: true };
        delivery.reclaimed = delivery.remove().map_err(failed)?;
        // From here on a drop removes what is there.
        delivery.add().map_err(failed)?;
        Ok(delivery)
    }

    /// The rules and routes of `policy` that another process has installed, which had removed
    /// `reclaimed` before. They stay its own until [`LocalDelivery::own`].
    ///
    /// # Errors
    /// The kernel gives no netlink socket.
    pub fn adopt(policy: PolicyRoute, reclaimed: usize) -> Result<Self, SystemError> {
        let netlink = Netlink::open()
            .map_err(|e| SystemError::new("adopt the policy routes of another process", e))?;
        Ok(Self { netlink, policy, reclaimed, owned: false })
    }

    /// From now on they go when this is dropped.
    pub const fn own(&mut self) {
        self.owned = true;
    }

    /// From now on they stay, as another process's.
    pub const fn leave(&mut self) {
        self.owned = false;
    }

    /// Rules and routes of a killed process that were removed first.
    #[must_use]
    pub const fn reclaimed(&self) -> usize {
        self.reclaimed
    }

    fn add(&mut self) -> io::Result<()> {
        let lo = index_of(&LinkName::new("lo").map_err(io::Error::other)?)?;
        for address in families() {
            let route = RouteNetlinkMessage::NewRoute(self.route(address, lo));
            self.netlink.request(route, NLM_F_CREATE | NLM_F_EXCL)?;
            let rule = RouteNetlinkMessage::NewRule(self.rule(address));
            self.netlink.request(rule, NLM_F_CREATE | NLM_F_EXCL)?;
        }
        Ok(())
    }

    /// Removes all rules and routes of this policy that are ours; how many there were.
    fn remove(&mut self) -> io::Result<usize> {
        let lo = index_of(&LinkName::new("lo").map_err(io::Error::other)?)?;
        let mut removed = 0;
        for address in families() {
            // The rule first: a mark that leads nowhere is routed as if there were none.
            let rule = self.rule(address);
            removed += self.remove_all(&RouteNetlinkMessage::DelRule(rule))?;
            let route = self.route(address, lo);
            removed += self.remove_all(&RouteNetlinkMessage::DelRoute(route))?;
        }
        Ok(removed)
    }

    fn remove_all(&mut self, message: &RouteNetlinkMessage) -> io::Result<usize> {
        for removed in 0..MOST_RULES {
            match self.netlink.request(message.clone(), 0) {
                Ok(()) => {}
                Err(error) => {
                    return match error.raw_os_error().map(Errno::from_raw) {
                        Some(Errno::ENOENT | Errno::ESRCH) => Ok(removed),
                        _ => Err(error),
                    };
                }
            }
        }
        Ok(MOST_RULES)
    }

    fn route(&self, address: IpAddr, lo: u32) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(address),
            protocol: RouteProtocol::Other(OURS),
            scope: if address.is_ipv4() { RouteScope::Host } else { RouteScope::Universe },
            kind: RouteType::Local,
            ..RouteHeader::default()
        };
        message.attributes =
            vec![RouteAttribute::Oif(lo), RouteAttribute::Table(self.policy.table)];
        message
    }

    fn rule(&self, address: IpAddr) -> RuleMessage {
        let mut message = RuleMessage::default();
        message.header.family = family(address);
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::FwMark(self.policy.mark),
            RuleAttribute::FwMask(u32::MAX),
            RuleAttribute::Table(self.policy.table),
            RuleAttribute::Priority(self.policy.priority),
            RuleAttribute::Protocol(RouteProtocol::Other(OURS)),
        ];
        message
    }
}

impl Drop for LocalDelivery {
    fn drop(&mut self) {
        // What cannot be removed leads marked packets here, and nobody marks any more; the next
        // start reclaims it.
        if self.owned {
            let _left = self.remove();
        }
    }
}

/// An address of each family that this kernel has.
fn families() -> impl Iterator<Item = IpAddr> {
    let v6 = Path::new("/proc/sys/net/ipv6").exists();
    let v6 = v6.then_some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    std::iter::once(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).chain(v6)
}
