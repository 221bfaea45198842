//! Real connections of each family through this host's own rules, at the interfaces and with the
//! addresses of its clients. `check` plays the UE and the server: it puts their segments at this
//! host's interfaces, and stops at the last hook what would leave. In between are the host's own
//! rules and routes, the proxy's rules, and the kernel's TCP.

use super::cause::Cause;
use super::ends::{Ends, choices};
use super::injector::Injector;
use super::limits;
use super::rules::{self, Rules};
use super::segment::{ACK, SYN, Segment};
use super::trace::{Traces, watch};
use crate::config::{ProxyConfig, SelectConfig};
use crate::flow::Way;
use crate::nft;
use crate::table::{self, Connection, Diversion, Table};
use crate::{flow, host};
use justfull_net::clock::now;
use justfull_net::routing::Neighbour;
use justfull_net::{Capability, LocalDelivery};
use nix::net::if_::{if_indextoname, if_nameindex, if_nametoindex};
use socket2::Socket;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::time::Duration;

/// Longest time of each step.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time until a segment is sent again.
const AGAIN: Duration = Duration::from_millis(500);
/// First numbers of both far ends.
const FIRST: [u32; 2] = [1_000, 5_000];
const NAMES: [&str; 2] = ["IPv4 connection", "IPv6 connection"];

/// What each family's connections show: success, the obstacle and its remedy, or why none was
/// tried.
pub(super) fn connections(config: &ProxyConfig) -> Vec<Capability> {
    let untried = |name, why: String| Capability {
        name,
        required: false,
        found: Err(format!("not tried: {why}")),
    };
    let parts = || -> Result<_, String> {
        // A running proxy has installed the policy routes already.
        let delivery = match table::exists(config.route.mark) {
            true => None,
            false => Some(LocalDelivery::install(config.route.policy()).map_err(|e| e.reason)?),
        };
        let rules = rules::read().map_err(|e| table::explain(&e))?;
        let injector = Injector::new().map_err(|e| format!("{e}; needs CAP_BPF"))?;
        Ok((delivery, rules, injector))
    };
    let (_delivery, rules, mut injector) = match parts() {
        Ok(parts) => parts,
        Err(why) => return vec![untried("a connection", why)],
    };
    let families = [false, true].into_iter().take(nft::families().len());
    families
        .map(|v6| {
            let name = NAMES[usize::from(v6)];
            let tried = family(config, v6, &rules, &mut injector);
            tried.unwrap_or_else(|why| untried(name, why))
        })
        .collect()
}

fn family(
    config: &ProxyConfig,
    v6: bool,
    rules: &Rules,
    injector: &mut Injector,
) -> Result<Capability, String> {
    let name = NAMES[usize::from(v6)];
    let (mut made, mut none) = (0, None);
    let mut untried: Vec<&str> = config.pools.iter().map(|pool| pool.name.as_str()).collect();
    for ends in choices(config, v6).map_err(|e| e.to_string())? {
        let attempt = Attempt { config, rules, ends: &ends };
        let found = match attempt.run(injector) {
            Ok(()) => {
                made += 1;
                let of = config.pools.iter().find(|pool| pool.interface == ends.ue_side);
                untried.retain(|name| of.is_none_or(|pool| pool.name != *name));
                continue;
            }
            // The host's own rules stop it before the proxy, and without the proxy.
            Err(Fault::Before(why)) => {
                none.get_or_insert(format!("{ends} is not for the proxy: {why}"));
                continue;
            }
            Err(Fault::Io(error)) => return Err(table::explain(&error)),
            Err(Fault::Stops(why)) => Err(format!("{ends}: {why}")),
        };
        return Ok(Capability { name, required: true, found });
    }
    match made {
        0 => Err(none.unwrap_or_else(|| "no route leads to UEs or to servers".into())),
        _ if !untried.is_empty() => Err(format!(
            "in {}: {}",
            untried.join(", "),
            none.unwrap_or_else(|| "no route leads to UEs by `interface` or to servers by \
                                    `servers`"
                .into())
        )),
        _ => Ok(Capability {
            name,
            required: true,
            found: Ok(format!("{made} were made through this host's own rules")),
        }),
    }
}

enum Fault {
    Io(io::Error),
    /// The first segment does not come to the proxy's rules.
    Before(String),
    /// The connection ends here.
    Stops(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct Attempt<'a> {
    config: &'a ProxyConfig,
    rules: &'a Rules,
    ends: &'a Ends,
}

/// A connection that is being made.
struct Trial<'a> {
    injector: &'a mut Injector,
    traces: Traces,
    /// Events before the present step.
    seen: usize,
    /// Mark of the segments that it puts at interfaces.
    mark: Option<u32>,
}

impl Trial<'_> {
    /// Puts `segment` at an interface, again and again, until `what` returns something.
    fn until<T>(
        &mut self,
        segment: Option<(&str, Segment)>,
        mut what: impl FnMut(&mut Traces, usize) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let (begin, mut sent) = (now(), None);
        self.seen = self.traces.events.len();
        loop {
            if let Some((name, segment)) = segment
                && sent.is_none_or(|at| now() >= at + AGAIN)
            {
                sent = Some(now());
                self.injector.put(if_nametoindex(name)?, &segment, self.mark)?;
            }
            self.traces.read();
            let found = what(&mut self.traces, self.seen);
            if found.is_some() || now() >= begin + PATIENCE {
                return Ok(found);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Like [`Trial::until`], with a segment of this host that would have left it.
    fn left(
        &mut self,
        segment: Option<(&str, Segment)>,
        what: impl Fn(&Segment) -> bool,
    ) -> io::Result<Option<(Segment, u32)>> {
        self.until(segment, |traces, seen| {
            let left = traces.events[seen..].iter().filter(|event| event.left());
            let mut segments = left.filter_map(|event| Some((event.packet?, event.interfaces[1])));
            segments.find(|(segment, _)| what(segment))
        })
    }
}

impl Attempt<'_> {
    fn run(&self, injector: &mut Injector) -> Result<(), Fault> {
        let Ends { ue, server, .. } = *self.ends;
        let loopback: IpAddr = match ue.is_ipv6() {
            true => Ipv6Addr::LOCALHOST.into(),
            false => Ipv4Addr::LOCALHOST.into(),
        };
        let listener = host::listener((loopback, 0).into(), self.ends.bound(&self.ends.ue_side))?;
        let port = listener.local_addr()?.as_socket().map_or(0, |at| at.port());
        let tracked = self.rules.track();
        let select =
            SelectConfig { interfaces: vec![self.ends.ue_side.clone()], ..SelectConfig::default() };
        // No program listens to this group.
        let group = self.ends.pooled.then_some(!(self.config.route.mark as u16));
        let diversion =
            Diversion { families: [true; 2], tracked, logged: [group; 2], ..Diversion::NONE };
        let only = Connection { ue, server };
        let devices = if tracked { devices()? } else { Vec::new() };
        let family = nft::families()[usize::from(ue.is_ipv6())];
        let mark = self.config.route.mark;
        let _table = Table::trial(only, &select, &diversion, port, mark, |batch| {
            watch(batch, &family, only, &devices);
        })?;
        // A server in the same network need not exist.
        let near = self.ends.near && tracked;
        let _near = near.then(|| Neighbour::add(&self.ends.server_side, server.ip()));
        let mut trial = Trial { injector, traces: Traces::open()?, seen: 0, mark: None };
        self.connect(&mut trial, &listener)?;
        let all = &trial.traces.events;
        limits::met(self.rules, all, self.ends, mark).map_or(Ok(()), |what| Err(Fault::Stops(what)))
    }

    fn stopped(&self, trial: &Trial<'_>, what: &str) -> Fault {
        let events = &trial.traces.events[trial.seen..];
        let cause = Cause { config: self.config, rules: self.rules, ends: self.ends, events };
        Fault::Stops(format!("{what}: {}", cause.told()))
    }

    fn connect(&self, trial: &mut Trial<'_>, listener: &Socket) -> Result<(), Fault> {
        let Ends { ue, server, ref ue_side, .. } = *self.ends;
        let of_ue = |flags, sequence, acknowledged, data| {
            let segment = Segment { from: ue, to: server, sequence, acknowledged, flags, data };
            Some((ue_side.as_str(), segment))
        };
        let to_ue = move |segment: &Segment| segment.from == server && segment.to == ue;
        let first = of_ue(SYN, FIRST[0], 0, 0);
        if self.ends.pooled {
            // The proxy gets the first segment of a pool, and puts it back with its mark.
            let taken = |traces: &mut Traces, seen: usize| {
                let mut own = traces.events[seen..].iter().filter(|event| event.own());
                own.any(|event| event.chain == "divert").then_some(())
            };
            if trial.until(first, taken)?.is_some() {
                trial.mark = Some(self.config.route.mark);
            }
        }
        let answered = trial.left(first, |s| to_ue(s) && s.opens(true))?;
        trial.mark = None;
        let Some((answer, _)) = answered else {
            let mut own = trial.traces.events.iter().filter(|event| event.own());
            let diverted = own.any(|event| event.chain == "divert");
            return Err(match self.stopped(trial, "no connection of a UE arrives") {
                Fault::Stops(why) if !diverted => Fault::Before(why),
                other => other,
            });
        };
        let third = of_ue(ACK, FIRST[0] + 1, answer.end(), 0);
        let accepted = trial.until(third, |_, _| listener.accept4(nix::libc::SOCK_CLOEXEC).ok())?;
        let Some((near, from)) = accepted else {
            return Err(self.stopped(trial, "no connection of a UE arrives"));
        };
        let mut near = closing(near)?;
        let from = from.as_socket().ok_or_else(|| io::Error::other("no address"))?;
        trial.seen = trial.traces.events.len();
        let what = "no connection to a server comes about";
        let way = Way { dscp: None, by: self.ends.bound(&self.ends.server_side) };
        let far = match flow::connect(from, server, way) {
            Ok(far) => closing(far)?,
            Err(error) => {
                let no_route = format!("{what}: {error}, from {} to {}", from.ip(), server.ip());
                return Err(Fault::Stops(format!(
                    "{no_route}: packets of this host's own have no interface of arrival (`iif`), \
                     so give servers a route in the table `main`"
                )));
            }
        };
        let Some((asked, device)) = trial.left(None, |s| s.to == server && s.opens(false))? else {
            return Err(self.stopped(trial, what));
        };
        let device = if_indextoname(device).ok().and_then(|name| name.into_string().ok());
        let side = device.unwrap_or_else(|| self.ends.server_side.clone());
        self.exchange(trial, &mut near, far, Far { ue: answer, server: asked, side: &side })
    }

    /// Completes the server's leg, and passes a byte each way.
    fn exchange(
        &self,
        trial: &mut Trial<'_>,
        near: &mut TcpStream,
        mut far: TcpStream,
        seen: Far<'_>,
    ) -> Result<(), Fault> {
        let Ends { ue, server, ref ue_side, .. } = *self.ends;
        let Far { ue: answer, server: asked, side } = seen;
        let of_server = |flags, sequence, data| {
            let acknowledged = asked.end();
            let to = asked.from;
            let segment = Segment { from: server, to, sequence, acknowledged, flags, data };
            Some((side, segment))
        };
        let to_server = |segment: &Segment| segment.to == server;
        let opened = of_server(SYN | ACK, FIRST[1], 0);
        if trial.left(opened, |s| to_server(s) && s.flags & SYN == 0)?.is_none() {
            return Err(self.stopped(trial, "no connection to a server comes about"));
        }
        let none = "no data passes";
        let data = Segment {
            from: ue,
            to: server,
            sequence: FIRST[0] + 1,
            acknowledged: answer.end(),
            flags: ACK,
            data: 1,
        };
        let read = |of: &mut TcpStream| of.read(&mut [0]).ok().filter(|got| *got > 0);
        if trial.until(Some((ue_side, data)), |_, _| read(near))?.is_none() {
            return Err(self.stopped(trial, none));
        }
        let data = of_server(ACK, FIRST[1] + 1, 1);
        if trial.until(data, |_, _| read(&mut far))?.is_none() {
            return Err(self.stopped(trial, none));
        }
        far.write_all(b"x")?;
        if trial.left(None, |s| to_server(s) && s.data > 0)?.is_none() {
            return Err(self.stopped(trial, none));
        }
        near.write_all(b"x")?;
        if trial.left(None, |s| s.to == ue && s.data > 0)?.is_none() {
            return Err(self.stopped(trial, none));
        }
        Ok(())
    }
}

/// What this host has sent to each far end to open a connection, and the interface towards the
/// server.
struct Far<'a> {
    ue: Segment,
    server: Segment,
    side: &'a str,
}

/// A stream that leaves nothing behind: it is reset when it is dropped.
fn closing(socket: Socket) -> io::Result<TcpStream> {
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// All interfaces but `lo`.
fn devices() -> io::Result<Vec<String>> {
    let all = if_nameindex()?;
    let names = all.iter().map(|one| one.name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name != "lo").collect())
}
