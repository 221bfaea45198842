//! Two hosts beside this one, a UE and a server that reach each other only through it: for one real
//! connection through this host's own rules.
//!
//! ```text
//!   ue: 192.0.2.1 -- jfue -- this host -- jfsrv -- 192.0.2.129 :server
//! ```
//!
//! The addresses are reserved for documentation (RFC 5737, RFC 3849), so no network uses them. Each
//! host is a namespace without a name; a drop or the end of the process removes everything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::SystemError;
use crate::namespace::Namespace;
use crate::netlink::{LinkName, Netlink, Prefix, index_of, settle};
use crate::privilege::with_capability;

/// The MTU that every IPv6 network can carry (RFC 8200, section 5).
const MTU: u32 = 1_280;
const QUEUE_PACKETS: u32 = 1_000;
/// Our own part of the addresses reserved for documentation.
const TAG: u16 = 0x6a66;

/// See the module's page.
#[derive(Debug)]
pub struct Spur {
    ue: Namespace,
    server: Namespace,
    links: [LinkName; 2],
}

/// Addresses of an end and of this host towards it, one of each family.
fn addresses(server: bool) -> [[IpAddr; 2]; 2] {
    let (low, net) = if server { (129, 1) } else { (1, 0) };
    let v6 = |last| Ipv6Addr::new(0x2001, 0xdb8, TAG, net, 0, 0, 0, last).into();
    [
        [Ipv4Addr::new(192, 0, 2, low).into(), v6(1)],
        [Ipv4Addr::new(192, 0, 2, low + 1).into(), v6(2)],
    ]
}

impl Spur {
    /// Builds it beside the namespace of the calling thread, with IPv4 addresses, and IPv6
    /// addresses if `v6`.
    ///
    /// # Errors
    /// A missing capability, or a refusal of the kernel. Nothing is then left.
    pub fn build(v6: bool) -> Result<Self, SystemError> {
        let failed = |error: io::Error| {
            let why = with_capability(&error, "CAP_SYS_ADMIN and CAP_NET_ADMIN");
            SystemError::new("make a connection for a test", why)
        };
        let number = std::process::id();
        let name = |text: &str| LinkName::new(&format!("{text}{number}")).map_err(io::Error::other);
        let build = || {
            let links = [name("jfue")?, name("jfsrv")?];
            let spur = Self { ue: Namespace::create()?, server: Namespace::create()?, links };
            let mut netlink = Netlink::open()?;
            for (server, end) in [(false, &spur.ue), (true, &spur.server)] {
                let link = spur.links[usize::from(server)];
                netlink.add_veth(link, end.raw())?;
                let [theirs, ours] = addresses(server);
                attach(&mut netlink, link, &ours, &theirs, v6, false)?;
                end.enter(|| attach(&mut Netlink::open()?, link, &theirs, &ours, v6, true))?;
            }
            Ok(spur)
        };
        build().map_err(failed)
    }

    /// Interfaces of this host towards the UE and the server.
    #[must_use]
    pub fn links(&self) -> [&str; 2] {
        [self.links[0].as_str(), self.links[1].as_str()]
    }

    /// The address of the UE or of the server.
    #[must_use]
    pub fn address(&self, server: bool, v6: bool) -> IpAddr {
        addresses(server)[0][usize::from(v6)]
    }

    /// Runs `work` at the UE or at the server, on a thread that ends with it.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn inside<T: Send>(
        &self,
        server: bool,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        if server { self.server.enter(work) } else { self.ue.enter(work) }
    }
}

impl Drop for Spur {
    fn drop(&mut self) {
        // The end of the namespaces removes the links as well, a little later.
        let Ok(mut netlink) = Netlink::open() else { return };
        for link in &self.links {
            let _gone = index_of(link).and_then(|index| netlink.remove(index));
        }
    }
}

/// Sets a link up with `own` addresses. Routes the `other` end's addresses out of it, and all
/// others if `gateway`.
fn attach(
    netlink: &mut Netlink,
    link: LinkName,
    own: &[IpAddr; 2],
    other: &[IpAddr; 2],
    v6: bool,
    gateway: bool,
) -> io::Result<()> {
    if gateway {
        netlink.up(index_of(&LinkName::new("lo").map_err(io::Error::other)?)?)?;
    }
    let index = index_of(&link)?;
    netlink.shape(index, MTU, QUEUE_PACKETS)?;
    netlink.up(index)?;
    for (own, other) in own.iter().zip(other).take(1 + usize::from(v6)) {
        netlink.add_address(index, *own)?;
        netlink.add_route(index, Prefix::host(*other), *own, None)?;
        if gateway {
            netlink.add_gateway(index, *other, *own)?;
        }
    }
    if v6 {
        // A host uses this address to look for neighbours.
        let last = if gateway { 1 } else { 2 };
        netlink.add_address(index, Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last).into())?;
        settle(own[1])?;
    }
    Ok(())
}
