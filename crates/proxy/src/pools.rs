//! Pools of UEs' addresses: the same address in two pools is two UEs.
//!
//! A pool has an interface towards the radio and one towards its servers, and the sockets of its
//! connections are bound to them (`SO_BINDTODEVICE`, socket(7)). The kernel then distinguishes the
//! sockets of two pools, also of connections with the same addresses and ports, and sends from each
//! socket by its own interface.

use crate::config::{PoolConfig, ProxyConfig};
use justfull_net::Prefix;
use nix::net::if_::if_nametoindex;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A pool: its number in the configuration from 1 on, or 0 without pools.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub(crate) struct PoolId(u16);

impl PoolId {
    /// Without pools, all UEs are here.
    pub(crate) const NONE: Self = Self(0);

    /// The pool at this place of the configuration.
    pub(crate) const fn at(place: usize) -> Self {
        Self(place as u16 + 1)
    }

    /// Its place in the configuration; none without pools.
    pub(crate) const fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }

    /// Its number, 0 without pools.
    pub(crate) const fn number(self) -> u16 {
        self.0
    }

    /// The pool of a number.
    pub(crate) const fn of_number(number: u16) -> Self {
        Self(number)
    }
}

/// A client: its address and port, in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) pool: PoolId,
    pub(crate) at: SocketAddr,
}

impl Client {
    /// Its address without the port.
    pub(crate) const fn host(&self) -> ClientHost {
        ClientHost { pool: self.pool, ip: self.at.ip() }
    }
}

/// A client's address in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ClientHost {
    pub(crate) pool: PoolId,
    pub(crate) ip: IpAddr,
}

#[cfg(test)]
impl<T: Into<IpAddr>> From<T> for ClientHost {
    fn from(ip: T) -> Self {
        Self { pool: PoolId::NONE, ip: ip.into() }
    }
}

/// An address or prefix of a UE in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UeAddress {
    pub(crate) pool: PoolId,
    pub(crate) prefix: Prefix,
}

/// Why a report or session is of no pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPool {
    /// It names another pool: the name, and the names of pools.
    Unknown(String, Vec<String>),
    /// It names no pool, and all of these may have its addresses.
    Several(Vec<String>),
    /// It names no pool, and none of these has its addresses.
    Nowhere(Vec<String>),
}

impl fmt::Display for NoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name, all) if all.is_empty() => {
                write!(f, "`pool` is `{name}`, and the configuration has no `pools`")
            }
            Self::Unknown(name, all) => {
                write!(f, "`pool` is `{name}`, allowed is one of {}", all.join(", "))
            }
            Self::Several(all) => write!(
                f,
                "`pool` is missing, and several pools have the addresses: allowed is one of {}",
                all.join(", ")
            ),
            Self::Nowhere(all) => write!(
                f,
                "`pool` is missing, and no pool has the addresses: allowed is one of {}",
                all.join(", ")
            ),
        }
    }
}

/// The pools of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pools(Arc<[PoolConfig]>);

impl Pools {
    pub(crate) fn of(config: &ProxyConfig) -> Self {
        Self(config.pools.clone().into())
    }

    #[cfg(test)]
    pub(crate) fn named(pools: Vec<PoolConfig>) -> Self {
        Self(pools.into())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All pools in order; none without pools.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PoolId, &PoolConfig)> {
        self.0.iter().enumerate().map(|(place, pool)| (PoolId::at(place), pool))
    }

    fn get(&self, id: PoolId) -> Option<&PoolConfig> {
        self.0.get(id.place()?)
    }

    /// A pool's name; none without pools.
    pub(crate) fn name(&self, id: PoolId) -> Option<&str> {
        self.get(id).map(|pool| pool.name.as_str())
    }

    /// The interface towards a pool's servers; none without pools.
    pub(crate) fn servers(&self, id: PoolId) -> Option<&str> {
        self.get(id).map(|pool| pool.servers.as_str())
    }

    /// The pool whose UEs are behind the interface with this index. None if no pool has it.
    pub(crate) fn behind(&self, interface: u32) -> Option<PoolId> {
        if self.is_empty() {
            return Some(PoolId::NONE);
        }
        let is = |pool: &PoolConfig| {
            if_nametoindex(pool.interface.as_str()).is_ok_and(|index| index == interface)
        };
        self.iter().find(|(_, pool)| is(pool)).map(|(id, _)| id)
    }

    /// An address as users read it: with the name of its pool if there are pools.
    pub(crate) fn shown(&self, address: UeAddress) -> String {
        match self.name(address.pool) {
            Some(name) => format!("{name}/{}", address.prefix),
            None => address.prefix.to_string(),
        }
    }

    /// The pool of a report or session with these addresses, which may name it.
    ///
    /// # Errors
    /// It names another one, or it names none and not exactly one pool has all addresses.
    pub(crate) fn find(&self, name: Option<&str>, ue: &[Prefix]) -> Result<PoolId, NoPool> {
        let names = |is: &dyn Fn(&PoolConfig) -> bool| -> Vec<String> {
            self.0.iter().filter(|pool| is(pool)).map(|pool| pool.name.clone()).collect()
        };
        if let Some(name) = name {
            let named = self.iter().find(|(_, pool)| pool.name == name);
            let unknown = || NoPool::Unknown(name.to_owned(), names(&|_| true));
            return named.map(|(id, _)| id).ok_or_else(unknown);
        }
        if self.is_empty() {
            return Ok(PoolId::NONE);
        }
        let has = |pool: &PoolConfig| ue.iter().all(|address| pool.has(address));
        let mut with = self.iter().filter(|(_, pool)| has(pool)).map(|(id, _)| id);
        match (with.next(), with.next()) {
            (Some(id), None) => Ok(id),
            (None, _) => Err(NoPool::Nowhere(names(&|_| true))),
            _ => Err(NoPool::Several(names(&has))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str, ues: &[&str]) -> PoolConfig {
        let ues = ues.iter().map(|of| of.parse().expect("a prefix")).collect();
        PoolConfig { name: name.into(), ues, ..PoolConfig::default() }
    }

    #[test]
    fn addresses_alone_name_a_pool_only_if_no_other_pool_may_have_them_all() {
        let pools = Pools::named(vec![
            pool("blue", &["10.0.0.0/24", "fd01::/32"]),
            pool("red", &["10.0.0.0/16", "fd02::/32"]),
        ]);
        let find = |name: Option<&str>, ue: &[&str]| {
            let ue: Vec<Prefix> = ue.iter().map(|of| of.parse().expect("a prefix")).collect();
            pools.find(name, &ue).map(PoolId::number)
        };
        assert_eq!(find(None, &["10.0.1.5"]), Ok(2));
        assert_eq!(find(None, &["10.0.0.5", "fd01:0:0:7::/64"]), Ok(1), "the other address tells");
        assert_eq!(find(Some("red"), &["10.0.0.5"]), Ok(2));
        let both = Err(NoPool::Several(vec!["blue".into(), "red".into()]));
        assert_eq!(find(None, &["10.0.0.5"]), both);
        for ue in [&["10.9.0.1"][..], &["10.0.1.5", "fd01:0:0:7::/64"], &["10.0.0.0/15"]] {
            assert!(matches!(find(None, ue), Err(NoPool::Nowhere(_))), "{ue:?}");
        }
        let unknown = find(Some("green"), &["10.0.0.5"]).expect_err("there is no such pool");
        assert_eq!(unknown.to_string(), "`pool` is `green`, allowed is one of blue, red");
        let none = Pools::default();
        assert_eq!(none.find(None, &[]), Ok(PoolId::NONE));
        assert!(none.find(Some("blue"), &[]).is_err());
    }
}
