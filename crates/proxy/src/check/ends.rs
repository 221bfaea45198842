//! The ends of the connections that `check` makes: addresses behind this host's own interfaces, as
//! its routes say. No packet leaves the host.

use super::injector::own_addresses;
use crate::config::ProxyConfig;
use justfull_net::Prefix;
use justfull_net::routing::{Route, routes};
use nix::net::if_::{if_indextoname, if_nametoindex};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Most addresses of each end at an interface.
const MOST: usize = 2;
/// Ports of servers if all are selected: two of the web, and one of no service.
const PORTS: [u16; 3] = [443, 80, 33_333];
/// Addresses for documentation (RFC 5737, RFC 3849), behind a default route.
const SERVERS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x6a66, 0, 0, 0, 0, 1)),
];
/// Addresses for measurements (RFC 2544, RFC 5180), for UEs behind a default route.
const UES: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1)),
];

/// The ends of a connection, and the interfaces at which their packets come in.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) ue: SocketAddr,
    pub(super) ue_side: String,
    pub(super) server: SocketAddr,
    pub(super) server_side: String,
    /// The server is a neighbour: no router is between.
    pub(super) near: bool,
    /// True for a connection of a pool: its sockets are bound to the pool's interfaces.
    pub(super) pooled: bool,
}

impl Ends {
    /// The interface to which a socket is bound, if it is bound to `side`.
    pub(super) fn bound<'a>(&self, side: &'a str) -> Option<&'a str> {
        self.pooled.then_some(side)
    }
}

/// The connections of a family to try: each port of servers with one pair of addresses, and other
/// addresses with one port.
pub(super) fn choices(config: &ProxyConfig, v6: bool) -> io::Result<Vec<Ends>> {
    let own: BTreeSet<IpAddr> = own_addresses().into_iter().collect();
    let all = routes()?.into_iter().filter(|route| {
        route.to.address().is_ipv6() == v6 && !is_local(route.to.address()) && route.interface != 1
    });
    let all: Vec<Route> = all.collect();
    let names = &config.select.interfaces;
    let inside: Vec<u32> =
        names.iter().filter_map(|name| if_nametoindex(name.as_str()).ok()).collect();
    let ports: Vec<u16> = match &config.select.ports[..] {
        [] => PORTS.to_vec(),
        some => some.iter().map(|ports| ports.first).take(PORTS.len()).collect(),
    };
    let mut found = Vec::new();
    // Ephemeral, and another one for each process.
    let mut from = 40_000 + (std::process::id() % 20_000) as u16;
    for (place, name) in names.iter().enumerate() {
        let Ok(index) = if_nametoindex(name.as_str()) else { continue };
        let pool = config.pools.get(place);
        let by = pool.map(|pool| if_nametoindex(pool.servers.as_str()).unwrap_or(0));
        let servers = servers(&all, &inside, by, &own, v6);
        let selected = match pool {
            Some(pool) if config.select.ues.is_empty() => &pool.ues,
            _ => &config.select.ues,
        };
        let ues = ues(selected, &all, index, &own, v6);
        let mut pairs = Vec::new();
        for (number, ue) in ues.iter().enumerate() {
            for (other, server) in servers.iter().enumerate() {
                let all = number + other == 0;
                let ports = &ports[..if all { ports.len() } else { 1 }];
                pairs.extend(ports.iter().map(|port| (*ue, server, *port)));
            }
        }
        found.extend(pairs.into_iter().map(|(ue, (server, side, near), port)| {
            from += 1;
            let (ue, server) = ((ue, from).into(), (*server, port).into());
            let (ue_side, server_side) = (name.clone(), side.clone());
            Ends { ue, ue_side, server, server_side, near: *near, pooled: pool.is_some() }
        }));
    }
    Ok(found)
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_multicast(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local() || v6.is_multicast(),
    }
}

/// An address of `prefix` that is not of this host: near its first one, or near its last.
fn free(prefix: Prefix, last: bool, own: &BTreeSet<IpAddr>) -> Option<IpAddr> {
    let bits = if prefix.address().is_ipv4() { 32 } else { 128 };
    let room = u128::MAX.checked_shr(128 - u32::from(bits - prefix.bits())).unwrap_or(0);
    let at = |step: u128| {
        let step = if last { room - step } else { step };
        match prefix.address() {
            IpAddr::V4(v4) => IpAddr::V4((u32::from(v4) | step as u32).into()),
            IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) | step).into()),
        }
    };
    // The first address is the network's, the last one its broadcast.
    let steps = if room > 1 { 1..=room.min(16) - 1 } else { 0..=room };
    steps.map(at).find(|address| !own.contains(address))
}

fn ues(
    selected: &[Prefix],
    all: &[Route],
    interface: u32,
    own: &BTreeSet<IpAddr>,
    v6: bool,
) -> Vec<IpAddr> {
    let behind = || all.iter().filter(move |route| route.interface == interface);
    let routed = || behind().map(|route| route.to).filter(|to| to.bits() > 0);
    let mut found: Vec<IpAddr> = if selected.is_empty() {
        routed().filter_map(|prefix| free(prefix, false, own)).collect()
    } else {
        let of = selected.iter().filter(|prefix| prefix.address().is_ipv6() == v6);
        let narrow = |ues: &Prefix| {
            let common = |to: Prefix| {
                let (wide, narrow) = if to.bits() < ues.bits() { (to, *ues) } else { (*ues, to) };
                (Prefix::of(narrow.address(), wide.bits()) == wide).then_some(narrow)
            };
            free(routed().find_map(common).unwrap_or(*ues), false, own)
        };
        of.filter_map(narrow).collect()
    };
    if found.is_empty() && selected.is_empty() && behind().next().is_some() {
        found.push(UES[usize::from(v6)]);
    }
    found.truncate(MOST);
    found
}

/// Address, interface, and whether it is a neighbour. `by` is the index of the only interface
/// towards servers, if there is one.
fn servers(
    all: &[Route],
    inside: &[u32],
    by: Option<u32>,
    own: &BTreeSet<IpAddr>,
    v6: bool,
) -> Vec<(IpAddr, String, bool)> {
    let outside = |route: &&Route| match by {
        Some(index) => route.interface == index,
        None => !inside.contains(&route.interface),
    };
    let mut found: Vec<&Route> = all.iter().filter(outside).collect();
    if found.is_empty() && by.is_none() {
        found = all.iter().collect();
    }
    found.sort_by_key(|route| route.to.bits());
    let named = found.into_iter().filter_map(|route| {
        let name = if_indextoname(route.interface).ok()?.into_string().ok()?;
        let server = match route.to.bits() {
            0 => SERVERS[usize::from(v6)],
            _ => free(route.to, true, own)?,
        };
        Some((server, name, !route.routed))
    });
    named.take(MOST).collect()
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} to {}", self.ue.ip(), self.ue_side, self.server)
    }
}
