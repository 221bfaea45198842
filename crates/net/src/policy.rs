//! Policy routes that deliver marked packets to this host, whatever their address. A transparent
//! proxy needs them beside its rules (Linux, Documentation/networking/tproxy.rst).
//!
//! The routes are for received packets only. The kernel looks up two more routes, with the mark of
//! the received packet: the way back to its source (`rp_filter`, if `src_valid_mark` is set), and
//! the way of its own answers (if `tcp_fwmark_accept` or `fwmark_reflect` is set). Both lookups
//! have the interface `lo`. The first rule matches this interface, so that these lookups skip the
//! second rule.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use nix::errno::Errno;

use crate::SystemError;
use crate::executor::Executor;
use crate::netlink::{LinkName, Netlink, family, index_of};
use crate::privilege::with_capability;
use crate::router::has_ipv6;

/// The owner of a route or a rule (rtnetlink(7), `rtm_protocol`): a number that no known program
/// uses. So this module removes only its own.
pub(super) const OURS: u8 = 106;
/// More rules than one mark ever has; it bounds a loop.
const MOST_RULES: usize = 1_000;

/// The numbers of the delivery: a mark on packets, a routing table, and the priority of its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRoute {
    /// Packets with this mark are delivered here.
    pub mark: u32,
    /// The routing table with the route to this host.
    pub table: u32,
    /// Priority of the rules that lead to the table. Lookups from `lo` continue at the next number.
    /// The kernel reads rules of smaller numbers first.
    pub priority: u32,
}

/// Delivery of marked packets, IPv4 and IPv6, in the namespace of the thread that installed it.
/// Dropping it removes all rules and routes; so does any end of the process.
#[derive(Debug)]
pub struct LocalDelivery {
    netlink: Netlink,
    policy: PolicyRoute,
    reclaimed: usize,
    /// Index of `lo`, kept because a lookup needs a descriptor, and there may be none free.
    lo: u32,
    /// Dropping this value removes the rules and routes.
    owned: bool,
    /// Removes them when the process is killed; none if no child can be started.
    executor: Option<Executor>,
}

impl LocalDelivery {
    /// Installs the rules and routes of `policy`, after removing those that a killed process left.
    /// The caller makes sure that no living process uses the same.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel. Nothing is then left installed.
    pub fn install(policy: PolicyRoute) -> Result<Self, SystemError> {
        let doing = format!("install the policy routes of mark {}", policy.mark);
        let failed = |error: io::Error| {
            SystemError::new(doing.clone(), with_capability(&error, "CAP_NET_ADMIN"))
        };
        let mut delivery = Self::new(policy, 0, true).map_err(failed)?;
        delivery.reclaimed = delivery.remove().map_err(failed)?;
        // From now on a drop removes the rules and routes.
        delivery.arm();
        delivery.add().map_err(failed)?;
        Ok(delivery)
    }

    /// The rules and routes of `policy` that another process has installed, after it had removed
    /// `reclaimed` old ones. They belong to that process until [`LocalDelivery::own`].
    ///
    /// # Errors
    /// The kernel gives no netlink socket.
    pub fn adopt(policy: PolicyRoute, reclaimed: usize) -> Result<Self, SystemError> {
        Self::new(policy, reclaimed, false)
            .map_err(|e| SystemError::new("adopt the policy routes of another process", e))
    }

    fn new(policy: PolicyRoute, reclaimed: usize, owned: bool) -> io::Result<Self> {
        let netlink = Netlink::open()?;
        let lo = index_of(&LinkName::new("lo").map_err(io::Error::other)?)?;
        // The child opens its own socket when it removes something.
        let executor = Executor::start(|| {
            if let Ok(netlink) = Netlink::open() {
                let mut left = Self { netlink, policy, reclaimed, lo, owned, executor: None };
                let _left = left.remove();
                left.owned = false;
            }
        });
        Ok(Self { netlink, policy, reclaimed, lo, owned, executor: executor.ok() })
    }

    fn arm(&mut self) {
        self.executor.iter_mut().for_each(Executor::arm);
    }

    /// From now on dropping this value removes them.
    pub fn own(&mut self) {
        self.owned = true;
        self.arm();
    }

    /// From now on they stay: they belong to another process.
    pub fn leave(&mut self) {
        self.owned = false;
        self.executor.iter_mut().for_each(Executor::disarm);
    }

    /// Number of a killed process's rules and routes that were removed first.
    #[must_use]
    pub const fn reclaimed(&self) -> usize {
        self.reclaimed
    }

    /// Checks that all rules and routes are there, and adds missing ones. True if any was missing.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub fn restore(&mut self) -> io::Result<bool> {
        let missing = self.add()?;
        if missing {
            // The kernel reads rules of one priority in the order in which they were made.
            self.remove()?;
            self.add()?;
        }
        Ok(missing)
    }

    /// Adds missing rules and routes. True if any was missing.
    fn add(&mut self) -> io::Result<bool> {
        let lo = self.lo;
        let mut missing = false;
        for address in families() {
            let route = RouteNetlinkMessage::NewRoute(self.route(address, lo));
            let rules = self.rules(address).map(RouteNetlinkMessage::NewRule);
            for message in [route].into_iter().chain(rules) {
                match self.netlink.request(message, NLM_F_CREATE | NLM_F_EXCL) {
                    Ok(()) => missing = true,
                    Err(error) if error.raw_os_error() == Some(Errno::EEXIST as i32) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(missing)
    }

    /// Removes all our rules and routes of this policy, and returns their number.
    fn remove(&mut self) -> io::Result<usize> {
        let lo = self.lo;
        let mut removed = 0;
        for address in families() {
            // The rules go first: without them a mark has no effect.
            for rule in self.rules(address).into_iter().rev() {
                removed += self.remove_all(&RouteNetlinkMessage::DelRule(rule))?;
            }
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

    /// The rules in the order in which they are made: the target of the jump for lookups from `lo`,
    /// the jump, and the rule that leads packets to the table.
    fn rules(&self, address: IpAddr) -> [RuleMessage; 3] {
        let PolicyRoute { mark, table, priority } = self.policy;
        let rule = |action, priority, of: Vec<RuleAttribute>| {
            let mut message = RuleMessage::default();
            message.header.family = family(address);
            message.header.action = action;
            message.attributes = of;
            message.attributes.push(RuleAttribute::Priority(priority));
            message.attributes.push(RuleAttribute::Protocol(RouteProtocol::Other(OURS)));
            message
        };
        let marked = || vec![RuleAttribute::FwMark(mark), RuleAttribute::FwMask(u32::MAX)];
        let from_here = [RuleAttribute::Iifname("lo".into()), RuleAttribute::Goto(priority + 1)];
        [
            rule(RuleAction::Nop, priority + 1, vec![]),
            rule(RuleAction::Goto, priority, [marked(), from_here.into()].concat()),
            rule(
                RuleAction::ToTable,
                priority,
                [marked(), vec![RuleAttribute::Table(table)]].concat(),
            ),
        ]
    }
}

impl Drop for LocalDelivery {
    fn drop(&mut self) {
        // A rule that cannot be removed leads marked packets here, but no program marks any more;
        // the next start reclaims it.
        if self.owned {
            let _left = self.remove();
        }
    }
}

/// An address of each family that this host has.
pub(super) fn families() -> impl Iterator<Item = IpAddr> {
    let v6 = has_ipv6().then_some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    std::iter::once(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).chain(v6)
}
