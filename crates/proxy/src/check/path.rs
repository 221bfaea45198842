//! One real connection of each family, from a UE to a server, both of its own beside this host,
//! through the host's own rules. A rule that stops it stops the UEs' connections too.

use crate::config::ProxyConfig;
use crate::nft::{self, ACCEPT, Batch, Expressions, META_IIFNAME, META_OIFNAME, Netfilter, TCP};
use crate::{flow, host, table};
use justfull_net::clock::now;
use justfull_net::router::setting;
use justfull_net::{LocalDelivery, Spur};
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Longest time of each step.
const PATIENCE: Duration = Duration::from_secs(2);
/// Name of the trial's tables.
const TABLE: &str = "justfull-check";
/// Priority before all other chains, and after the translation of addresses back.
const FIRST: i32 = -400;
const AFTER_NAT: i32 = -90;
/// `NFNLGRP_NFTRACE`.
const TRACES: i32 = 9;
/// Values of a trace: the end of a base chain, and a rule.
const BY_POLICY: u64 = 1;
const BY_RULE: u64 = 3;
const HOOKS: [(&str, u32, i32); 3] =
    [("all", 0, FIRST), ("arrive", 0, AFTER_NAT), ("out", 3, FIRST)];

/// IPv6 or not, and the result.
type Tried = Vec<(bool, Result<String, String>)>;

/// The result for each family: success, or the obstacle and its remedy. An error if a trial is
/// impossible.
pub(super) fn connections(config: &ProxyConfig) -> Result<Tried, String> {
    let families = nft::families();
    let v6 = families.len() > 1 && setting("ipv6/conf/all/disable_ipv6").as_deref() != Some("1");
    let spur = Spur::build(v6).map_err(|e| e.reason)?;
    // A running proxy has installed the policy routes already.
    let _delivery = match table::exists(config.route.mark) {
        true => None,
        false => Some(LocalDelivery::install(config.route.policy()).map_err(|e| e.reason)?),
    };
    let tried = [false, true].into_iter().take(1 + usize::from(v6));
    Ok(tried.map(|v6| (v6, Attempt { spur: &spur, mark: config.route.mark, v6 }.run())).collect())
}

struct Attempt<'a> {
    spur: &'a Spur,
    mark: u32,
    v6: bool,
}

/// Calls `what` until it returns something, or for at most [`PATIENCE`].
fn until<T>(mut what: impl FnMut() -> Option<T>) -> Option<T> {
    let end = now() + PATIENCE;
    loop {
        let found = what();
        if found.is_some() || now() >= end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Attempt<'_> {
    fn run(&self) -> Result<String, String> {
        let own =
            if self.v6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
        let listener = host::listener((own, 0).into()).map_err(|e| host::transparent(&e))?;
        let port =
            listener.local_addr().ok().and_then(|at| at.as_socket()).map_or(0, |at| at.port());
        let mut rules = Netfilter::open().map_err(|e| e.to_string())?;
        self.install(&mut rules, port).map_err(|e| table::explain(&e))?;
        let traces = Netfilter::open().map_err(|e| e.to_string())?;
        traces.listen(TRACES).map_err(|e| e.to_string())?;
        self.connect(&listener).map_err(|e| match e {
            Fault::Io(error) => error.to_string(),
            Fault::Stops(what) => format!("{what}: {}", self.cause(&traces)),
        })
    }

    /// Takes packets of the UE as a proxy's rules do, but at the beginning rather than after the
    /// forward rules, which may stop connections on purpose. All packets are traced.
    fn install(&self, rules: &mut Netfilter, port: u16) -> io::Result<()> {
        let families = nft::families();
        let family = families[usize::from(self.v6)];
        let mut batch = Batch::new(TABLE);
        batch.family(&family);
        batch.table();
        HOOKS.iter().for_each(|(chain, hook, at)| batch.chain(chain, Some((*hook, *at))));
        for link in self.spur.links() {
            let tcp = |r: Expressions, key| r.interface(key, link).protocol(TCP);
            batch.rule("all", |r| tcp(r, META_IIFNAME).traced());
            batch.rule("out", |r| tcp(r, META_OIFNAME).traced());
            batch.rule("arrive", |r| {
                let r = r.interface(META_IIFNAME, link).not_first().of_transparent_socket();
                r.mark(self.mark).verdict(ACCEPT, "")
            });
        }
        batch.rule("arrive", |r| {
            let r = r.interface(META_IIFNAME, self.spur.links()[0]).first();
            r.tproxy(&family, port).mark(self.mark).verdict(ACCEPT, "")
        });
        rules.send(batch)
    }

    fn connect(&self, listener: &Socket) -> Result<String, Fault> {
        let at = |server| self.spur.address(server, self.v6);
        let server = self.spur.inside(true, || {
            let listener = TcpListener::bind((at(true), 0))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        })?;
        let to = server.local_addr()?;
        let client = self.spur.inside(false, || {
            let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), None)?;
            socket.bind(&SocketAddr::from((at(false), 0)).into())?;
            // The connection is in progress.
            let _begun = socket.connect(&to.into());
            Ok(TcpStream::from(socket))
        })?;
        let accepted = until(|| listener.accept4(nix::libc::SOCK_CLOEXEC).ok());
        let Some((near, from)) = accepted else {
            return Err(Fault::Stops("no connection of a UE arrives"));
        };
        let from = from.as_socket().ok_or_else(|| io::Error::other("no address"))?;
        let far = flow::connect(from, to, None)?;
        let Some((mut there, seen)) = until(|| server.accept().ok()) else {
            return Err(Fault::Stops("no connection to a server comes about"));
        };
        if seen != from {
            return Err(Fault::Stops("the server sees another address than the UE's"));
        }
        let (mut near, mut far, mut client) = (TcpStream::from(near), TcpStream::from(far), client);
        for stream in [&near, &far, &client, &there] {
            stream.set_nonblocking(false)?;
            stream.set_read_timeout(Some(PATIENCE))?;
        }
        let pass = |from: &mut TcpStream, to: &mut TcpStream| -> Result<(), Fault> {
            from.write_all(b"x")?;
            to.read_exact(&mut [0]).map_err(|_| Fault::Stops("no data passes"))
        };
        pass(&mut client, &mut near)?;
        pass(&mut far, &mut there)?;
        pass(&mut there, &mut far)?;
        pass(&mut near, &mut client)?;
        Ok("one was made through this host's own rules".into())
    }

    /// The rule that dropped the packets, and a remedy.
    fn cause(&self, traces: &Netfilter) -> String {
        let of = |(family, event): &(u8, Vec<u8>)| self.dropped(*family, event);
        if let Some(found) = traces.events().iter().find_map(of) {
            return found;
        }
        let names = ["ip_tables_names", "ip6_tables_names"][usize::from(self.v6)];
        let legacy = fs::read_to_string(format!("/proc/thread-self/net/{names}"));
        let legacy = legacy.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(", ");
        let command = ["iptables-legacy", "ip6tables-legacy"][usize::from(self.v6)];
        let mark = self.mark;
        match legacy.is_empty() {
            false => format!(
                "no rule of nftables drops it, but there are tables of {command} ({legacy}): try \
                 `{command} -I INPUT -m mark --mark {mark} -j ACCEPT`"
            ),
            true => "no rule of a firewall drops it: look at `ip rule` for rules before \
                     `route.priority`, and at net.ipv4.conf.*.rp_filter"
                .into(),
        }
    }

    fn dropped(&self, _family: u8, event: &[u8]) -> Option<String> {
        let (table, chain) = (nft::text(event, 1), nft::text(event, 2));
        let by_policy = nft::number(event, 4)? == BY_POLICY && nft::number(event, 16) == Some(0);
        let verdict = nft::number(nft::attribute(event, 5), 1);
        let by_rule = nft::number(event, 4)? == BY_RULE && verdict == Some(0);
        if table.starts_with("justfull-") || !(by_policy || by_rule) {
            return None;
        }
        let family = super::rules::family_of(&table, &chain);
        let what = match nft::number(event, 3).filter(|_| by_rule) {
            Some(handle) => format!("rule {handle} of chain {chain}"),
            None => format!("the policy of chain {chain}"),
        };
        let mark = self.mark;
        Some(format!(
            "{what} in table {family} {table} drops it; `nft insert rule {family} {table} {chain} \
             meta mark {mark} accept` lets the proxy's packets pass"
        ))
    }
}

enum Fault {
    Io(io::Error),
    /// The packet ends here.
    Stops(&'static str),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
