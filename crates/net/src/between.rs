//! The host between the servers and the stack, for a proxy.
//!
//! ```text
//!   stack -- ran: 10.47.0.1, fd47::1 -- proxy -- core: 10.47.0.2, fd47::2 -- delay -- servers
//! ```
//!
//! It forwards what nobody there takes. Its TCP towards UEs begins with NewReno, which leaves slow
//! start by loss alone: what sets windows from above is not held up by a guess of the delay.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::chain::{CORE, RAN};
use crate::namespace::Namespace;
use crate::netlink::{LinkName, Netlink, Prefix, index_of};
use crate::network::{NetworkConfig, Side};
use crate::tun::Tun;

/// Congestion control of connections to UEs that name no other.
const CONTROL: &str = "reno";

/// The namespace, and the TUN devices by which it reaches the others.
#[derive(Debug)]
pub(super) struct Between {
    pub(super) namespace: Namespace,
    /// Towards the servers, and towards the stack.
    pub(super) tuns: Option<[Tun; 2]>,
}

impl Between {
    /// Builds it, and leaves the calling thread in it.
    pub(super) fn build(config: &NetworkConfig) -> io::Result<Self> {
        let namespace = Namespace::enter_new()?;
        let name = |text| LinkName::new(text).map_err(io::Error::other);
        let (core, ran) = (name(CORE)?, name(RAN)?);
        let tuns = [Tun::create(core)?, Tun::create(ran)?];
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
        let mut netlink = Netlink::open()?;
        netlink.up(index_of(&name("lo")?)?)?;
        let own = Side::Proxy.addresses();
        link(&mut netlink, ran, (config, own), (Side::Ue(0), Some(CONTROL)))?;
        let towards_servers =
            [Ipv4Addr::new(10, 47, 0, 2).into(), Ipv6Addr::new(0xfd47, 0, 0, 0, 0, 0, 0, 2).into()];
        link(&mut netlink, core, (config, towards_servers), (Side::Server, None))?;
        Ok(Self { namespace, tuns: Some(tuns) })
    }
}

/// Sets a link up with its `own` addresses, and routes all addresses of `other`'s kind out of it.
fn link(
    netlink: &mut Netlink,
    name: LinkName,
    (config, own): (&NetworkConfig, [IpAddr; 2]),
    (other, control): (Side, Option<&str>),
) -> io::Result<()> {
    let link = index_of(&name)?;
    netlink.shape(link, config.mtu, config.queue_packets)?;
    netlink.up(link)?;
    for (own, other) in own.into_iter().zip(other.addresses()) {
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
    Ok(())
}
