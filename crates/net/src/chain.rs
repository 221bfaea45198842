//! Three hosts in a row, to test a program that stands between two: a UE, a middle and a server.
//!
//! ```text
//!   ue: 10.45.0.1, fd45::1 -- ran -- middle -- core -- 10.46.0.1, fd46::1 :server
//! ```
//!
//! Each is a namespace; two pairs of veth join them, and the middle forwards. UE addresses are the
//! first of 10.45.0.0/24 and fd45::/120, as many as requested. Dropping it removes everything.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::SystemError;
use crate::namespace::Namespace;
use crate::netlink::{LinkName, Netlink, Prefix, index_of};
use crate::privilege::capabilities;

/// Interface of the middle towards the UE, and the UE's own.
pub const RAN: &str = "ran";
/// Interface of the middle towards the server, and the server's own.
pub const CORE: &str = "core";
/// The kernel's default for veth, packets.
const QUEUE_PACKETS: u32 = 1_000;
/// Most UEs with an address.
const MOST_UES: u8 = 200;

/// True if this machine can make networks. If it cannot, the missing capabilities are printed for a
/// test that is skipped.
///
/// # Panics
/// With the environment variable `CI`, if it cannot: CI must skip no test.
#[must_use]
pub fn can_build() -> bool {
    let required = capabilities().into_iter().filter(|capability| capability.required);
    let missing: Vec<String> = required
        .filter_map(|one| one.found.err().map(|reason| format!("{}: {reason}", one.name)))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join("; ");
        assert!(std::env::var_os("CI").is_none(), "skipped in CI: {missing}");
        println!("skipped: {missing}");
    }
    missing.is_empty()
}

/// A host of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The host with the UEs' addresses.
    Ue,
    /// The host that forwards between them.
    Middle,
    /// The host of the servers.
    Server,
}

/// MTUs of the two links, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Mtus {
    /// To the UE.
    pub ran: u32,
    /// To the server.
    pub core: u32,
}

impl Mtus {
    /// Ethernet's on both links.
    pub const ETHERNET: Self = Self { ran: 1_500, core: 1_500 };
    /// A smaller one on the link to the UE.
    pub const SMALL_RAN: Self = Self { ran: 1_400, core: 1_500 };
}

/// The row.
#[derive(Debug)]
pub struct Chain {
    ue: Namespace,
    middle: Namespace,
    server: Namespace,
}

impl Chain {
    /// Builds it with `ues` addresses of UEs, 1 to 200, and the MTUs of its links.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel.
    pub fn build(ues: u8, mtus: Mtus) -> Result<Self, SystemError> {
        let Mtus { ran, core } = mtus;
        let build = || {
            let chain = Self {
                ue: Namespace::create()?,
                middle: Namespace::create()?,
                server: Namespace::create()?,
            };
            chain.middle.enter(|| {
                let mut netlink = Netlink::open()?;
                netlink.add_veth(name(RAN)?, chain.ue.raw())?;
                netlink.add_veth(name(CORE)?, chain.server.raw())?;
                forward()?;
                link(&mut netlink, RAN, ran, &gateways(0))?;
                link(&mut netlink, CORE, core, &gateways(1))?;
                reach(&mut netlink, RAN, &prefixes(45), &gateways(0))?;
                reach(&mut netlink, CORE, &prefixes(46), &gateways(1))
            })?;
            let ues = ues.clamp(1, MOST_UES);
            let all: Vec<IpAddr> = (1..=ues).flat_map(ue).collect();
            chain.ue.enter(|| end(RAN, ran, &all))?;
            chain.server.enter(|| end(CORE, core, &Self::server()))?;
            Ok(chain)
        };
        build().map_err(|error: io::Error| SystemError::new("build three hosts in a row", error))
    }

    /// Runs `work` on a host, on a thread that ends with it. A process that it starts stays there.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn inside<T: Send>(
        &self,
        place: Place,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let namespace = match place {
            Place::Ue => &self.ue,
            Place::Middle => &self.middle,
            Place::Server => &self.server,
        };
        namespace.enter(work)
    }

    /// The addresses of UE `number`; numbers begin at 1.
    #[must_use]
    pub fn ue(number: u8) -> [IpAddr; 2] {
        ue(number)
    }

    /// The server's addresses.
    #[must_use]
    pub fn server() -> [IpAddr; 2] {
        [Ipv4Addr::new(10, 46, 0, 1).into(), Ipv6Addr::new(0xfd46, 0, 0, 0, 0, 0, 0, 1).into()]
    }
}

fn ue(number: u8) -> [IpAddr; 2] {
    [
        Ipv4Addr::new(10, 45, 0, number).into(),
        Ipv6Addr::new(0xfd45, 0, 0, 0, 0, 0, 0, number.into()).into(),
    ]
}

/// The middle's addresses on a link.
fn gateways(number: u8) -> [IpAddr; 2] {
    [
        Ipv4Addr::new(10, 47, 0, number + 1).into(),
        Ipv6Addr::new(0xfd47, 0, 0, 0, 0, 0, 0, u16::from(number) + 1).into(),
    ]
}

/// All addresses of one side.
fn prefixes(net: u8) -> [Prefix; 2] {
    let high = 0xfd00 | u16::from(net / 10 * 16 + net % 10);
    [
        Prefix::new(Ipv4Addr::new(10, net, 0, 0).into(), 16),
        Prefix::new(Ipv6Addr::new(high, 0, 0, 0, 0, 0, 0, 0).into(), 16),
    ]
}

fn name(text: &str) -> io::Result<LinkName> {
    LinkName::new(text).map_err(io::Error::other)
}

/// Sets a link up with these addresses and a link-local one, which a forwarder uses to look for
/// neighbours.
fn link(netlink: &mut Netlink, link: &str, mtu: u32, addresses: &[IpAddr]) -> io::Result<()> {
    netlink.up(index_of(&name("lo")?)?)?;
    let index = index_of(&name(link)?)?;
    netlink.shape(index, mtu, QUEUE_PACKETS)?;
    netlink.up(index)?;
    addresses.iter().try_for_each(|address| netlink.add_address(index, *address))?;
    let number = u16::from(addresses == gateways(0) || addresses == gateways(1)) + 1;
    let local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, number).into();
    netlink.add_address(index, local)
}

/// Routes `prefixes`, one of each family, out of a link without a gateway.
fn reach(
    netlink: &mut Netlink,
    link: &str,
    prefixes: &[Prefix; 2],
    sources: &[IpAddr],
) -> io::Result<()> {
    let index = index_of(&name(link)?)?;
    let mut pairs = prefixes.iter().zip(sources);
    pairs.try_for_each(|(prefix, source)| netlink.add_route(index, *prefix, *source, None))
}

/// Sets up a host at an end with `addresses`; it sends from the first two, one of each family.
fn end(at: &str, mtu: u32, addresses: &[IpAddr]) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    link(&mut netlink, at, mtu, addresses)?;
    fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
    let index = index_of(&name(at)?)?;
    let gateways = gateways(u8::from(at == CORE));
    let mut pairs = gateways.into_iter().zip(addresses);
    pairs.try_for_each(|(gateway, source)| netlink.add_gateway(index, gateway, *source))
}

/// Makes the middle forward.
fn forward() -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
}
