//! The allowed addresses of notifications. A subscriber chooses an address, but the service
//! connects to it with its own rights and from its own place in the network.

use axum::http::Uri;
use justfull_net::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use ureq::Error;
use ureq::config::Config;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Networks that get no notifications, each with its use: RFC 6890, and the address where clouds
/// give a machine its secrets.
const CLOSED: [(&str, u8, &str); 14] = [
    ("0.0.0.0", 8, "this host's"),
    ("127.0.0.0", 8, "a loopback address"),
    ("169.254.0.0", 16, "a link-local address"),
    ("192.0.0.192", 32, "a cloud's metadata"),
    ("100.100.100.200", 32, "a cloud's metadata"),
    ("224.0.0.0", 4, "a group's address"),
    ("255.255.255.255", 32, "a broadcast address"),
    ("::", 128, "this host's"),
    ("::1", 128, "a loopback address"),
    ("fe80::", 10, "a link-local address"),
    ("fec0::", 10, "a site-local address"),
    ("fd00:ec2::254", 128, "a cloud's metadata"),
    ("fd20:ce::254", 128, "a cloud's metadata"),
    ("ff00::", 8, "a group's address"),
];

/// The allowed addresses of notifications: other hosts, and `allowed` networks.
#[derive(Clone, Debug, Default)]
pub struct Callbacks {
    allowed: Vec<Prefix>,
}

impl Callbacks {
    /// Allows `allowed` too, whatever it is.
    #[must_use]
    pub const fn allowing(allowed: Vec<Prefix>) -> Self {
        Self { allowed }
    }

    /// Why `address` gets no notifications; none if it may get them.
    fn why_not(&self, address: IpAddr) -> Option<&'static str> {
        faces(address).find_map(|face| {
            let is_in = |network: IpAddr, bits: u8| {
                network.is_ipv4() == face.is_ipv4()
                    && Prefix::of(face, bits) == Prefix::of(network, bits)
            };
            let what = CLOSED.iter().find_map(|&(network, bits, what)| {
                network.parse().is_ok_and(|network| is_in(network, bits)).then_some(what)
            });
            let allowed = self.allowed.iter().any(|of| is_in(of.address(), of.bits()));
            what.filter(|_| !allowed)
        })
    }

    /// Looks up the host of `callback`. Returns why it gets no notifications; none if it may get
    /// them, or if the host is unknown now, since each notification looks again.
    pub(crate) fn refusal(&self, callback: &str) -> Option<String> {
        let uri: Uri = callback.parse().ok()?;
        let authority = uri.authority()?;
        let at = DefaultResolver::host_and_port(uri.scheme()?, authority)?;
        let (address, what) = at.to_socket_addrs().ok()?.find_map(|found| {
            let address = found.ip();
            Some((address, self.why_not(address)?))
        })?;
        let host = authority.host();
        Some(format!(
            "`callbackReference`: found {host}, which is {address}: {what}; allowed is another \
             host, or a network of --allow-callbacks"
        ))
    }
}

/// An address, and the IPv4 addresses that an IPv6 address stands for: mapped and compatible ones
/// (RFC 4291), those behind NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056).
fn faces(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => inner(v6),
    };
    [Some(address), inner.map(IpAddr::V4)].into_iter().flatten()
}

fn inner(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let bytes = v6.octets();
    let at = |from: usize| {
        <[u8; 4]>::try_from(&bytes[from..from + 4])
            .map(Ipv4Addr::from)
            .unwrap_or(Ipv4Addr::LOCALHOST)
    };
    match v6.segments() {
        // `::` and `::1` stand for no IPv4 address.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(at(12)),
        [0x64, 0xff9b, 1, ..] => Some(at(12)),
        [0x2002, ..] => Some(at(2)),
        _ => None,
    }
}

/// Looks up the addresses of receivers for each notification, and leaves out closed ones: a name
/// may have another address than at the subscription.
#[derive(Debug)]
pub(crate) struct Open(pub(crate) Callbacks);

impl Resolver for Open {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let closed = |at: &SocketAddr| self.0.why_not(at.ip()).is_some();
        if found.iter().any(closed) { Err(Error::HostNotFound) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_writing_of_a_closed_address_is_refused_and_allowed_addresses_pass() {
        let none = Callbacks::default();
        for (host, part) in [
            ("127.0.0.1", "loopback"),
            ("127.255.0.3", "loopback"),
            ("127.1", "loopback"),
            ("2130706433", "loopback"),
            ("0x7f000001", "loopback"),
            ("0177.0.0.1", "loopback"),
            ("localhost", "loopback"),
            ("[::1]", "loopback"),
            ("[::ffff:127.0.0.1]", "loopback"),
            ("[::ffff:7f00:1]", "loopback"),
            ("[::127.0.0.1]", "loopback"),
            ("[64:ff9b::127.0.0.1]", "loopback"),
            ("[2002:7f00:1::]", "loopback"),
            ("0.0.0.0", "this host"),
            ("0", "this host"),
            ("[::]", "this host"),
            ("169.254.169.254", "link-local"),
            ("2852039166", "link-local"),
            ("0xa9.0xfe.0251.254", "link-local"),
            ("[::ffff:169.254.169.254]", "link-local"),
            ("[fe80::1]", "link-local"),
            ("[fd00:ec2::254]", "metadata"),
            ("100.100.100.200", "metadata"),
            ("224.0.0.1", "group"),
            ("[ff02::1]", "group"),
            ("user@127.0.0.1", "loopback"),
        ] {
            for callback in [format!("http://{host}/"), format!("https://{host}:9103/x")] {
                let why = none.refusal(&callback).unwrap_or_default();
                assert!(why.contains(part) && why.contains("allowed is"), "{callback}: {why}");
            }
        }
        for host in ["192.0.2.9", "10.45.0.1", "[fd45::1]", "[2001:db8::1]", "192.168.1.1"] {
            assert_eq!(none.refusal(&format!("http://{host}:9103/here")), None, "{host}");
        }
        let allowed = ["127.0.0.0/8", "fd00:ec2::/32"].map(|of| of.parse().expect("a prefix"));
        let some = Callbacks::allowing(allowed.to_vec());
        for (host, refused) in
            [("127.0.0.1", false), ("[fd00:ec2::254]", false), ("[::1]", true), ("0.0.0.0", true)]
        {
            assert_eq!(some.refusal(&format!("http://{host}/")).is_some(), refused, "{host}");
        }
    }
}
