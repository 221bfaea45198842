//! The sides of a network, their names and their addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A side of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The host of the servers.
    Server,
    /// A UE, numbered from 0 as in the results.
    Ue(usize),
    /// The host between the servers and the stack, if there is a proxy.
    Proxy,
}

impl Side {
    /// Its addresses, IPv4 and IPv6. Distinct for all UEs below [`MAX_UES`](super::MAX_UES).
    #[must_use]
    pub fn addresses(self) -> [IpAddr; 2] {
        match self {
            Self::Server => [
                Ipv4Addr::new(10, 46, 0, 1).into(),
                Ipv6Addr::new(0xfd46, 0, 0, 0, 0, 0, 0, 1).into(),
            ],
            Self::Proxy => [
                Ipv4Addr::new(10, 47, 0, 1).into(),
                Ipv6Addr::new(0xfd47, 0, 0, 0, 0, 0, 0, 1).into(),
            ],
            Self::Ue(ue) => {
                let number = u16::try_from(ue + 1).unwrap_or(u16::MAX);
                let [high, low] = number.to_be_bytes();
                [
                    Ipv4Addr::new(10, 45, high, low).into(),
                    Ipv6Addr::new(0xfd45, 0, 0, 0, 0, 0, 0, number).into(),
                ]
            }
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("server"),
            Self::Ue(ue) => write!(f, "ue{ue}"),
            Self::Proxy => f.write_str("proxy"),
        }
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ue = match text {
            "server" => return Ok(Self::Server),
            "proxy" => return Ok(Self::Proxy),
            "ue" => Some(0),
            _ => text.strip_prefix("ue").and_then(|number| number.parse().ok()),
        };
        ue.map(Self::Ue).ok_or_else(|| {
            format!(
                "{text:?} is no side: `server`, `ue` (the first UE), `ue0`, `ue1` ..., or `proxy`"
            )
        })
    }
}
