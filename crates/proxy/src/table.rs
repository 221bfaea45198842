//! The tables of rules that divert connections, one for each family (nf_tables over netlink;
//! tproxy.rst of the kernel).
//!
//! They belong to the socket that made them (`NFT_TABLE_F_OWNER`, Linux 5.12): no other program can
//! change or flush them, and the end of the process removes them. Each change is one batch, which
//! takes effect completely or not at all.
//!
//! A first segment passes all of the host's own rules; the last rule of the forward hook takes it.
//! A copy goes over the loopback interface to `tproxy`, which finds the proxy's listener. The
//! kernel forwards no packet that belongs to a socket. So if a client reuses a port while its last
//! connection is in TIME_WAIT, the first segment goes to the listener at once. All other packets of
//! a transparent socket of this host are delivered, and so are ICMP errors about packets that it
//! sent: the other end does not know the sequence numbers in them.
//!
//! In families whose clients wait for their servers, a first segment goes to the proxy instead of
//! the listener. The proxy puts it back where it arrived: with the mark if the server has answered,
//! and with the mark's complement if it passes unsplit.
//!
//! With pools, an interface of the selection is a pool's, and remembers its connections in sets of
//! its own. A copy at the loopback interface would be of no pool, so all first segments go to the
//! proxy, which puts them back where they arrived.
//!
//! A host that stands by for another host (`select.unknown`) resets the connections of the other
//! host. It answers each segment of a connection that it neither has nor saw begin with a reset,
//! and sends a copy of the segment on. The sequence number of the copy is outside the destination's
//! window, so the destination answers (RFC 9293 section 3.10.7.4). The reset for this answer has
//! the sequence number that the destination accepts.
//!
//! During a flood of first segments (RFC 4987) the kernel answers with cookies and keeps no state.
//! The rules therefore remember diverted connections for a while. A third segment without a socket
//! goes to the listener if the rules remember its connection. Other connections pass, such as those
//! from before the proxy.

mod lost;
mod rules;

use crate::config::SelectConfig;
use crate::nft::{self, Batch, Family, GOTO, Netfilter};
use crate::pools::{PoolId, UeAddress};
use justfull_net::Prefix;
use justfull_net::clock::now;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

/// Hooks of netfilter (linux/netfilter.h).
pub(crate) const PREROUTING: u32 = 0;
const FORWARD: u32 = 2;
pub(crate) const OUTPUT: u32 = 3;
/// After the translation of addresses back, so that an answer has the client's address again.
const AFTER_NAT: i32 = -90;
/// Before connection tracking.
const RAW: i32 = -300;
/// After all others.
pub(crate) const LAST: i32 = i32::MAX;

/// The chains, and the hooks and priorities of those that others do not call. A chain stands before
/// the chains that call it.
const CHAINS: [(&str, Option<(u32, i32)>); 7] = [
    ("divert", None),
    ("ports", None),
    ("select", None),
    ("forward", Some((FORWARD, LAST))),
    ("arrive", Some((PREROUTING, AFTER_NAT))),
    ("raw", Some((PREROUTING, RAW))),
    ("rawout", Some((OUTPUT, RAW))),
];
/// Connections whose first segments were diverted.
const DIVERTED: &str = "diverted";
/// Lifetime of such an entry in milliseconds. By then a third segment, or the data after it, has
/// arrived, or the client has given up.
const REMEMBERED: u64 = 15_000;
/// Most entries; more connections pass unsplit until some expire.
const MOST_DIVERTED: u32 = 65_536;
/// The counter of first segments.
const FIRST: &str = "first";
/// Connections whose first segments have waited for their servers in vain, and pass.
const PASSED: &str = "passed";
/// Name of the tables of a trial.
pub(crate) const TRIAL: &str = "justfull-check";
/// Longest time to wait for the end of an earlier trial's tables, and time between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(2);
/// The interface of connections to this host itself, which are not proxied.
const LOOPBACK: &str = "lo";

/// The state of a table that its socket does not have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableState {
    sequence: u32,
    port: u16,
    mark: u32,
    /// The tables have the set [`PASSED`]; tables of earlier versions lack it.
    #[serde(default)]
    waits: bool,
    /// The tables have [`lost::CHAINS`]; tables of earlier versions lack them.
    #[serde(default)]
    resets: bool,
}

/// The first segments to divert, within the selection of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diversion {
    /// For each family, in the order of [`nft::families`].
    pub(crate) families: [bool; 2],
    /// UEs whose new connections pass.
    pub(crate) pass: Vec<UeAddress>,
    /// Clients' ports whose new connections pass.
    pub(crate) pass_ports: Vec<u16>,
    /// True if the host tracks connections, and so may translate destinations.
    pub(crate) tracked: bool,
    /// For each family, the group of the program that gets first segments before the listener does;
    /// none if the listener gets them at once.
    pub(crate) logged: [Option<u16>; 2],
}

impl Diversion {
    /// Diverts none.
    pub(crate) const NONE: Self = Self {
        families: [false; 2],
        pass: Vec::new(),
        pass_ports: Vec::new(),
        tracked: false,
        logged: [None; 2],
    };
}

/// A connection of a UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub(crate) ue: SocketAddr,
    pub(crate) server: SocketAddr,
}

/// The tables of this process, in the namespace of the thread that made them.
#[derive(Debug)]
pub(crate) struct Table {
    netfilter: Netfilter,
    name: String,
    port: u16,
    mark: u32,
    waits: bool,
    resets: bool,
    /// Number of pools.
    pools: usize,
    families: Vec<Family>,
    /// The only connection that it concerns; none if it concerns all.
    only: Option<Connection>,
    /// Index of the loopback interface, kept because a lookup needs a descriptor, and there may be
    /// none free.
    loopback: u32,
}

impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netfilter.as_fd()
    }
}

/// The name of a table for this mark.
pub(crate) fn name(mark: u32) -> String {
    format!("justfull-{mark}")
}

/// True if a table for this mark exists.
pub(crate) fn exists(mark: u32) -> bool {
    is_there(&name(mark))
}

/// True if a table of this name has chains.
fn is_there(name: &str) -> bool {
    let listed =
        Netfilter::open().and_then(|mut netfilter| netfilter.list(nft::GET_CHAIN, 0, true, |_| {}));
    listed.is_ok_and(|chains| chains.iter().any(|(_, chain)| nft::text(chain, 1) == name))
}

/// The result of `make`, which makes tables of this name for a trial. The tables of an earlier
/// trial go with the last copy of their socket, and a process that is being started has a copy
/// until its program begins. The kernel refuses new tables meanwhile, so `make` is tried again for
/// up to [`PATIENCE`].
pub(crate) fn after_earlier(name: &str, make: impl Fn() -> io::Result<Table>) -> io::Result<Table> {
    let (begin, mut is_owned) = (now(), true);
    loop {
        match make() {
            Err(error)
                if is_owned
                    && error.raw_os_error() == Some(Errno::EPERM as i32)
                    && now() < begin + PATIENCE =>
            {
                // They may have gone since; `make` has another try then.
                is_owned = is_there(name);
                thread::sleep(LOOK);
            }
            made => return made,
        }
    }
}

impl Table {
    /// Makes the tables `justfull-MARK`, and diverts the connections of `select` to the listeners
    /// at `port`.
    ///
    /// # Errors
    /// A refusal of the kernel; nothing is then installed.
    pub(crate) fn install(
        select: &SelectConfig,
        diversion: &Diversion,
        port: u16,
        mark: u32,
        pools: usize,
    ) -> io::Result<Self> {
        let netfilter = Netfilter::open()?;
        let families = nft::families();
        let loopback = if_nametoindex(LOOPBACK)?;
        let name = name(mark);
        let (waits, resets, only) = (true, true, None);
        Self { netfilter, name, port, mark, waits, resets, pools, families, only, loopback }.made(
            select,
            diversion,
            |_| {},
        )
    }

    /// Makes the tables [`TRIAL`], which divert `only` one connection in the same way. `more` adds
    /// to the table of its family.
    ///
    /// # Errors
    /// A refusal of the kernel; nothing is then installed.
    pub(crate) fn trial(
        only: Connection,
        select: &SelectConfig,
        diversion: &Diversion,
        port: u16,
        mark: u32,
        more: impl Fn(&mut Batch),
    ) -> io::Result<Self> {
        let loopback = if_nametoindex(LOOPBACK)?;
        // `select` has the interface of one pool.
        let pools = usize::from(diversion.logged != [None; 2]);
        after_earlier(TRIAL, || {
            let netfilter = Netfilter::open()?;
            let mut families = nft::families();
            families.retain(|family| (family.address_bytes == 16) == only.ue.is_ipv6());
            let (name, waits, resets, only) = (TRIAL.into(), true, true, Some(only));
            Self { netfilter, name, port, mark, waits, resets, pools, families, only, loopback }
                .made(select, diversion, &more)
        })
    }

    fn made(
        mut self,
        select: &SelectConfig,
        diversion: &Diversion,
        more: impl FnOnce(&mut Batch),
    ) -> io::Result<Self> {
        let mut batch = Batch::new(&self.name);
        for family in &self.families {
            batch.family(family);
            batch.table();
            for pool in self.parts() {
                batch.set(&of_pool(DIVERTED, pool), family, MOST_DIVERTED, REMEMBERED);
                batch.set(&of_pool(PASSED, pool), family, MOST_DIVERTED, REMEMBERED);
            }
            batch.counter(FIRST);
            lost::prepare(&mut batch, family);
            for (chain, hook) in CHAINS {
                batch.chain(chain, hook.filter(|_| self.only.is_none()));
                if let (Some(only), Some((hook, at))) = (self.only, hook) {
                    let all = format!("all-{chain}");
                    // A running proxy takes its turn before it.
                    batch.chain(&all, Some((hook, if at == AFTER_NAT { at + 1 } else { at })));
                    for from in [true, false] {
                        batch.rule(&all, |r| r.end(family, from, only.ue).verdict(GOTO, chain));
                    }
                }
            }
        }
        self.rules(&mut batch, select, diversion);
        more(&mut batch);
        self.netfilter.send(batch)?;
        Ok(self)
    }

    /// Replaces the selection at one instant. Connections that are diverted continue.
    ///
    /// # Errors
    /// A refusal of the kernel; the old selection then stays.
    pub(crate) fn select(
        &mut self,
        select: &SelectConfig,
        diversion: &Diversion,
    ) -> io::Result<()> {
        let mut batch = Batch::new(&self.name);
        for family in &self.families {
            batch.family(family);
            if !self.waits {
                batch.set(PASSED, family, MOST_DIVERTED, REMEMBERED);
            }
            if !self.resets {
                lost::prepare(&mut batch, family);
            }
            CHAINS.iter().for_each(|(chain, _)| batch.flush(chain));
            lost::CHAINS.into_iter().for_each(|chain| batch.flush(chain));
        }
        self.rules(&mut batch, select, diversion);
        self.netfilter.send(batch)?;
        (self.waits, self.resets) = (true, true);
        Ok(())
    }

    /// The pools, or all UEs as one.
    fn parts(&self) -> impl Iterator<Item = PoolId> {
        let pools = self.pools;
        (0..pools.max(1))
            .map(move |place| if pools == 0 { PoolId::NONE } else { PoolId::at(place) })
    }

    /// First segments of each family that were diverted since the tables were made.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub(crate) fn first_segments(&mut self) -> io::Result<[u64; 2]> {
        self.counts(FIRST)
    }

    /// Segments of unknown connections that this host has answered with resets.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub(crate) fn resets(&mut self) -> io::Result<u64> {
        // Tables of an earlier version get the counter with the next change of their rules.
        if self.resets { Ok(self.counts(lost::RESETS)?.iter().sum()) } else { Ok(0) }
    }

    fn counts(&mut self, counter: &str) -> io::Result<[u64; 2]> {
        let mut counts = [0; 2];
        for (family, count) in self.families.iter().zip(&mut counts) {
            *count = nft::packets(&mut self.netfilter, &self.name, family, counter)?;
        }
        Ok(counts)
    }

    /// The state that another process needs beside the socket.
    pub(crate) const fn state(&self) -> TableState {
        TableState {
            sequence: self.netfilter.sequence(),
            port: self.port,
            mark: self.mark,
            waits: self.waits,
            resets: self.resets,
        }
    }

    /// The tables of another process. They are removed with the last process that has their socket.
    pub(crate) fn adopt(socket: OwnedFd, state: &TableState, pools: usize) -> Self {
        let &TableState { sequence, port, mark, waits, resets } = state;
        let netfilter = Netfilter::adopt(socket, sequence);
        let families = nft::families();
        let loopback = if_nametoindex(LOOPBACK).unwrap_or(1);
        let name = name(mark);
        let only = None;
        Self { netfilter, name, port, mark, waits, resets, pools, families, only, loopback }
    }

    /// Their name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// The name of the set of a pool.
fn of_pool(set: &str, pool: PoolId) -> String {
    match pool {
        PoolId::NONE => set.to_owned(),
        other => format!("{set}-{}", other.number()),
    }
}

/// The prefixes of one family: the octets of the address, and the length in bits.
fn of_family(family: &Family, prefixes: &[Prefix]) -> Vec<(Vec<u8>, u8)> {
    let octets = prefixes.iter().map(|prefix| (nft::octets(prefix.address()), prefix.bits()));
    octets.filter(|(octets, _)| octets.len() == family.address_bytes as usize).collect()
}

/// Why a table cannot be made, in words.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => format!("{error}; needs CAP_NET_ADMIN"),
        Some(Errno::EPROTONOSUPPORT) => format!("{error}; this kernel has no nf_tables"),
        Some(Errno::ENOENT) => {
            format!(
                "{error}; this kernel lacks nft_tproxy, nft_socket, nft_dup, nft_ct or nft_reject"
            )
        }
        Some(Errno::EEXIST | Errno::EBUSY) => {
            format!("{error}; another program has a table of this name: is it another proxy?")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn tables_of_an_earlier_version_have_reset_nothing() {
        let no_socket = File::open("/dev/null").expect("it is there");
        let state = r#"{"sequence": 1, "port": 2, "mark": 3}"#;
        let state = serde_json::from_str(state).expect("a state");
        let mut table = Table::adopt(no_socket.into(), &state, 0);
        assert_eq!(table.resets().expect("no request to the kernel"), 0);
    }
}
