//! The host between the servers and the stack, for a proxy.
//!
//! ```text
//!   stack -- ran: 10.47.0.1, fd47::1 -- proxy -- core: 10.47.0.2, fd47::2 -- delay -- servers
//! ```
//!
//! It forwards packets that no program there takes. Its TCP towards UEs begins with NewReno, which
//! leaves slow start only at a loss. So no guess from the delay hinders a proxy that sets windows.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::chain::{CORE, RAN};
use crate::memory::{acknowledge_each, set_receive_buffer};
use crate::namespace::Namespace;
use crate::netlink::{LinkName, Netlink, Prefix, index_of, settle};
use crate::tun::Tun;

/// Default congestion control of connections to UEs.
const CONTROL: &str = "reno";

/// The namespace, and the TUN devices by which it reaches the others.
#[derive(Debug)]
pub(super) struct Between {
    pub(super) namespace: Namespace,
    /// Towards the servers, and towards the stack.
    pub(super) tuns: Option<[Tun; 2]>,
}

/// The settings of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bytes.
    pub(super) mtu: u32,
    /// Packets that a device holds.
    pub(super) queue_packets: u32,
    /// Packets of many segments; see [`NetworkConfig`](crate::NetworkConfig).
    pub(super) joined: bool,
    /// Its own addresses towards the stack.
    pub(super) own: [IpAddr; 2],
    /// Addresses of a UE and of the servers. The host reaches all addresses that share their first
    /// 16 bits.
    pub(super) ue: [IpAddr; 2],
    pub(super) server: [IpAddr; 2],
    /// See [`NetworkConfig`](crate::NetworkConfig).
    pub(super) receive_buffer: Option<u32>,
    pub(super) acknowledge_each: bool,
}

impl Between {
    /// Builds the host, and leaves the calling thread in its namespace.
    pub(super) fn build(plan: Plan) -> io::Result<Self> {
        let namespace = Namespace::enter_new()?;
        let name = |text| LinkName::new(text).map_err(io::Error::other);
        let (core, ran) = (name(CORE)?, name(RAN)?);
        let tuns = [Tun::joining(core, plan.joined)?, Tun::joining(ran, plan.joined)?];
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
        plan.receive_buffer.map_or(Ok(()), set_receive_buffer)?;
        if plan.acknowledge_each {
            acknowledge_each()?;
        }
        let mut netlink = Netlink::open()?;
        netlink.up(index_of(&name("lo")?)?)?;
        let towards_ues = Towards { own: plan.own, other: plan.ue, control: Some(CONTROL) };
        link(&mut netlink, ran, &plan, towards_ues)?;
        let own =
            [Ipv4Addr::new(10, 47, 0, 2).into(), Ipv6Addr::new(0xfd47, 0, 0, 0, 0, 0, 0, 2).into()];
        let towards_servers = Towards { own, other: plan.server, control: None };
        link(&mut netlink, core, &plan, towards_servers)?;
        Ok(Self { namespace, tuns: Some(tuns) })
    }
}

/// One side of the host.
struct Towards<'a> {
    own: [IpAddr; 2],
    other: [IpAddr; 2],
    control: Option<&'a str>,
}

/// Sets a link up with its own addresses, and routes all addresses that share the first 16 bits of
/// the other ones out of it.
fn link(
    netlink: &mut Netlink,
    name: LinkName,
    plan: &Plan,
    towards: Towards<'_>,
) -> io::Result<()> {
    let Towards { own, other, control } = towards;
    let link = index_of(&name)?;
    netlink.shape(link, plan.mtu, plan.queue_packets)?;
    netlink.up(link)?;
    for (own, other) in own.into_iter().zip(other) {
        netlink.add_address(link, own)?;
        let all = match other {
            IpAddr::V4(v4) => {
                let [first, second, ..] = v4.octets();
                Prefix::new(Ipv4Addr::new(first, second, 0, 0).into(), 16)
            }
            IpAddr::V6(v6) => {
                let first = v6.segments()[0];
                Prefix::new(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0).into(), 16)
            }
        };
        netlink.add_route(link, all, own, control)?;
    }
    own.into_iter().try_for_each(settle)
}
