//! Routes and policy rules of this host, as the kernel lists them (rtnetlink(7)).

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteType,
};
use netlink_packet_route::rule::{RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;

use crate::Prefix;
use crate::netlink::{Netlink, family};
use crate::policy::{OURS, families};

/// Addresses behind an interface, by a route of any table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The addresses.
    pub to: Prefix,
    /// Index of the interface.
    pub interface: u32,
    /// A router is between.
    pub routed: bool,
}

/// A packet whose way the kernel looks up.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// The interface at which it arrived; `lo` if it was made here.
    pub interface: &'a str,
    /// Its mark.
    pub mark: u32,
}

/// A policy rule of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// Its priority.
    pub priority: u32,
    /// The packets that it is about, and its table.
    pub text: String,
}

/// The unicast routes of all tables.
///
/// # Errors
/// A refusal of the kernel.
pub fn routes() -> io::Result<Vec<Route>> {
    let mut netlink = Netlink::open()?;
    let mut found = Vec::new();
    for of in families() {
        let mut message = RouteMessage::default();
        message.header.address_family = family(of);
        for one in netlink.dump(RouteNetlinkMessage::GetRoute(message))? {
            if let RouteNetlinkMessage::NewRoute(route) = one {
                found.extend(known(&route, of));
            }
        }
    }
    Ok(found)
}

fn known(route: &RouteMessage, of: IpAddr) -> Option<Route> {
    if route.header.kind != RouteType::Unicast {
        return None;
    }
    let interface = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(interface) => Some(*interface),
        RouteAttribute::MultiPath(hops) => hops.first().map(|hop| hop.interface_index),
        _ => None,
    })?;
    let to = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(v4)) => Some(IpAddr::V4(*v4)),
        RouteAttribute::Destination(RouteAddress::Inet6(v6)) => Some(IpAddr::V6(*v6)),
        _ => None,
    });
    let to = Prefix::of(to.unwrap_or(of), route.header.destination_prefix_length);
    let gateway = |attribute: &RouteAttribute| {
        matches!(
            attribute,
            RouteAttribute::Gateway(_) | RouteAttribute::Via(_) | RouteAttribute::MultiPath(_)
        )
    };
    let routed = route.attributes.iter().any(gateway);
    Some(Route { to, interface, routed })
}

/// A neighbour that need not answer; dropping it removes it.
#[derive(Debug)]
pub struct Neighbour {
    netlink: Netlink,
    message: NeighbourMessage,
}

impl Neighbour {
    /// Makes `address` a neighbour at the interface `name`.
    ///
    /// # Errors
    /// A refusal of the kernel, also if it is one already.
    pub fn add(name: &str, address: IpAddr) -> io::Result<Self> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = if_nametoindex(name)?;
        // It expires by itself.
        message.header.state = NeighbourState::Reachable;
        message.attributes = vec![
            NeighbourAttribute::Destination(address.into()),
            NeighbourAttribute::LinkLayerAddress(vec![2, 0, 0, 0, 0, 1]),
        ];
        let mut netlink = Netlink::open()?;
        let request = RouteNetlinkMessage::NewNeighbour(message.clone());
        netlink.request(request, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(Self { netlink, message })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let message = RouteNetlinkMessage::DelNeighbour(self.message.clone());
        let _expires = self.netlink.request(message, 0);
    }
}

/// The other programs' rules up to `priority` that match `packet`, in their order, without the
/// kernel's own about local addresses.
///
/// # Errors
/// A refusal of the kernel.
pub fn rules_before(priority: u32, packet: &Packet) -> io::Result<Vec<PolicyRule>> {
    let mut message = RuleMessage::default();
    message.header.family = family(packet.from);
    let listed = Netlink::open()?.dump(RouteNetlinkMessage::GetRule(message))?;
    let rules = listed.iter().filter_map(|one| match one {
        RouteNetlinkMessage::NewRule(rule) if matches(rule, packet) => Some(shown(rule)),
        _ => None,
    });
    Ok(rules.filter(|rule| rule.priority <= priority).collect())
}

/// The table of local addresses.
const LOCAL: u32 = 255;

/// Checks that packets to this host's own IPv4 addresses can take a detour whose rule has
/// `priority`: the kernel's rule for the table of local addresses must be behind it.
///
/// # Errors
/// The commands that move the kernel's rule.
pub fn delivers_behind(priority: u32) -> Result<String, String> {
    let found = local_rule().map_err(|e| e.to_string())?;
    let Some(local) = found.filter(|local| *local <= priority) else {
        return Ok("behind the detour".into());
    };
    let add = "ip rule add priority 32765 table local";
    Err(format!(
        "rule {local} delivers packets to this host before a detour with priority {priority}; \
         move it: {add} && ip rule delete priority {local}"
    ))
}

/// The least priority of a rule that looks up IPv4 packets in the table of local addresses; none if
/// there is no such rule.
fn local_rule() -> io::Result<Option<u32>> {
    let mut message = RuleMessage::default();
    message.header.family = AddressFamily::Inet;
    let listed = Netlink::open()?.dump(RouteNetlinkMessage::GetRule(message))?;
    let rules = listed.iter().filter_map(|one| match one {
        RouteNetlinkMessage::NewRule(rule) => {
            let local = rule.attributes.contains(&RuleAttribute::Table(LOCAL));
            local.then(|| shown(rule).priority)
        }
        _ => None,
    });
    Ok(rules.min())
}

fn matches(rule: &RuleMessage, packet: &Packet) -> bool {
    let own = rule.attributes.iter().any(|attribute| {
        let ours = RuleAttribute::Protocol(RouteProtocol::Other(OURS));
        *attribute == ours || *attribute == RuleAttribute::Table(LOCAL)
    });
    let mask = rule.attributes.iter().find_map(|attribute| match attribute {
        RuleAttribute::FwMask(mask) => Some(*mask),
        _ => None,
    });
    let mask = mask.unwrap_or(u32::MAX);
    let inside = |of: IpAddr, bits, address| Prefix::of(address, bits) == Prefix::of(of, bits);
    let fits = rule.attributes.iter().all(|attribute| match attribute {
        RuleAttribute::Source(of) => inside(*of, rule.header.src_len, packet.from),
        RuleAttribute::Destination(of) => inside(*of, rule.header.dst_len, packet.to),
        RuleAttribute::Iifname(name) => name == packet.interface,
        RuleAttribute::FwMark(mark) => (mark ^ packet.mark) & mask == 0,
        RuleAttribute::Oifname(_) => false,
        _ => true,
    });
    !own && fits != rule.header.flags.contains(RuleFlags::Invert)
}

fn shown(rule: &RuleMessage) -> PolicyRule {
    let (mut priority, mut table) = (0, None);
    let mut parts = Vec::new();
    for attribute in &rule.attributes {
        match attribute {
            RuleAttribute::Source(of) => {
                parts.push(format!("from {}", Prefix::of(*of, rule.header.src_len)));
            }
            RuleAttribute::Destination(of) => {
                parts.push(format!("to {}", Prefix::of(*of, rule.header.dst_len)));
            }
            RuleAttribute::Iifname(name) => parts.push(format!("iif {name}")),
            RuleAttribute::FwMark(mark) => parts.push(format!("fwmark {mark:#x}")),
            RuleAttribute::Table(number) if *number > 0 => table = Some(format!("lookup {number}")),
            RuleAttribute::Priority(of) => priority = *of,
            _ => {}
        }
    }
    parts.extend(table);
    PolicyRule { priority, text: parts.join(" ") }
}
