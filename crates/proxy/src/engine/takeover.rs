//! A proxy takes another's place, with all its connections; no data is lost in between.

use super::{Engine, Totals};
use crate::ask::Outside;
use crate::config::{PoolConfig, ProxyConfig};
use crate::directory::Session;
use crate::flow::{Flow, FlowState};
use crate::handover::{Line, VERSION, VERSIONS};
use crate::host::Host;
use crate::log::Log;
use crate::radio_leg::{LegState, RadioLeg};
use crate::steering::Identity;
use crate::table::TableState;
use crate::workers::{Command, Spawner};
use justfull_base::Instant;
use justfull_net::SystemError;
use justfull_net::clock::{Clock, SlotClock};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};

/// UEs or sessions in one message.
const CHUNK: usize = 500;

/// The first message: the number of descriptors of each kind that follow, in this order, and the
/// state that is not in them.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    version: u32,
    /// The network namespace.
    namespace: u64,
    mark: u32,
    /// Name, interface and servers' interface of each pool.
    #[serde(default)]
    pools: Vec<[String; 3]>,
    clock_start: u64,
    listeners: usize,
    /// True if metrics are served.
    metrics: bool,
    table: TableState,
    leg: LegState,
    reclaimed: usize,
    totals: Totals,
    flows: usize,
    /// Messages after the connections: identities of UEs, then sessions of the directory.
    #[serde(default)]
    identities: usize,
    #[serde(default)]
    sessions: usize,
    /// First segments of each family that its rules counted without a delivery to its listeners.
    #[serde(default)]
    kept: [u64; 2],
    /// Then a stream from each worker; 0 if the connections are its own.
    #[serde(default)]
    workers: u32,
}

/// Everything that an old proxy has sent.
pub(crate) struct Offer {
    line: Line,
    hello: Hello,
    /// Descriptors of the first message, without the servers' descriptors.
    fds: Vec<OwnedFd>,
    flows: Vec<(FlowState, Vec<OwnedFd>)>,
    identities: Vec<Identity>,
    sessions: Vec<Session>,
    /// From each worker.
    streams: Vec<OwnedFd>,
}

/// Receives lists of UEs or sessions.
fn chunks<T: DeserializeOwned>(line: &mut Line, count: usize) -> io::Result<Vec<T>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let (some, _none): (Vec<T>, _) = line.receive()?;
        all.extend(some);
    }
    Ok(all)
}

/// The parts of pools that sockets and identities depend on.
fn pools(config: &ProxyConfig) -> Vec<[String; 3]> {
    let of = |one: &PoolConfig| [&one.name, &one.interface, &one.servers].map(String::clone);
    config.pools.iter().map(of).collect()
}

fn namespace() -> io::Result<u64> {
    Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino())
}

impl Offer {
    /// Requests everything from the proxy at the socket of `config`; also returns the listeners for
    /// requests and metrics.
    ///
    /// # Errors
    /// There is no proxy, or it has another kind.
    pub(crate) fn ask(config: &ProxyConfig) -> Result<(Self, Outside), SystemError> {
        let path = &config.operation.socket;
        let failed =
            |e: io::Error| SystemError::new(format!("take over from the proxy at {path}"), e);
        Self::receive(config).map_err(failed)
    }

    fn receive(config: &ProxyConfig) -> io::Result<(Self, Outside)> {
        let mut stream = UnixStream::connect(&config.operation.socket)?;
        stream.write_all(b"takeover\n")?;
        let mut line = Line::new(stream)?;
        let (hello, fds): (Value, _) = line.receive()?;
        let refused = |why: String| Err(io::Error::other(why));
        // Versions differ in their fields, so this reads only the version.
        let version = hello["version"].as_u64().unwrap_or_default();
        if !u32::try_from(version).is_ok_and(|version| VERSIONS.contains(&version)) {
            let [old, new] = [*VERSIONS.start(), VERSION];
            return refused(format!(
                "its handover has version {version}, and this program reads {old} to {new}: the \
                 old process goes on, and a restart replaces it"
            ));
        }
        let hello: Hello = serde_json::from_value(hello)?;
        if hello.namespace != namespace()? {
            return refused("it is in another network namespace".into());
        }
        if hello.mark != config.route.mark {
            return refused(format!("its route.mark is {}: the same is needed", hello.mark));
        }
        if hello.pools != pools(config) {
            return refused("its pools differ: that needs a restart".into());
        }
        if !hello.leg.serves(config.radio_leg) {
            let way = hello.leg.way();
            return refused(format!("its control.radio_leg is {way}: that needs a restart"));
        }
        let (old, new) = (hello.workers.max(1), config.limits.workers);
        if old != new {
            return refused(format!("its limits.workers is {old}: {new} needs a restart"));
        }
        let mut fds = fds.into_iter();
        let mut next = || fds.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
        let questions = UnixListener::from(next()?);
        let metrics = if hello.metrics { Some(next()?.into()) } else { None };
        let fds = fds.collect();
        let flows = (0..hello.flows).map(|_| line.receive()).collect::<io::Result<_>>()?;
        let identities = chunks(&mut line, hello.identities)?;
        let sessions = chunks(&mut line, hello.sessions)?;
        let mut streams = Vec::new();
        for _ in 0..hello.workers {
            let ((), stream) = line.receive()?;
            streams.extend(stream);
        }
        let offer = Self { line, hello, fds, flows, identities, sessions, streams };
        Ok((offer, Outside { questions, metrics }))
    }
}

impl Engine {
    /// Gives everything to the process at the other end. True if that process now owns it: nothing
    /// of it may be touched any more.
    pub(super) fn hand_over(&mut self, now: Instant, stream: UnixStream) -> bool {
        self.log.flush();
        let successor = getsockopt(&stream, PeerCredentials).map(|peer| peer.pid());
        let Ok(mut line) = Line::new(stream) else { return false };
        self.manager.reloading();
        let sent = self.send_all(now, &mut line);
        if sent.is_ok() && line.give() {
            if let Ok(process) = successor {
                self.manager.succeeded_by(process);
            }
            return true;
        }
        line.refuse();
        self.command_workers(&Command::Resume);
        self.manager.ready("running");
        let why = sent.err().map_or_else(|| "the new proxy ended".into(), |e| e.to_string());
        self.log.note("takeover failed", &why);
        false
    }

    fn send_all(&mut self, now: Instant, line: &mut Line) -> io::Result<()> {
        if self.drain_until.is_some() {
            return Err(io::Error::other("it is draining"));
        }
        let (streams, of_workers) = (0..self.worker_count())
            .map(|_| UnixStream::pair())
            .collect::<io::Result<(Vec<_>, Vec<_>)>>()?;
        self.freeze_workers(now, of_workers.into_iter().map(OwnedFd::from))?;
        let load = self.load();
        let mut totals = self.totals.clone();
        for (total, ended) in totals.bytes.iter_mut().zip(load.ended_bytes) {
            *total += ended;
        }
        let outside = self.outside.as_ref().ok_or_else(|| io::Error::other("not yet"))?;
        let mut fds: Vec<BorrowedFd<'_>> = vec![outside.questions.as_fd()];
        fds.extend(outside.metrics.as_ref().map(AsFd::as_fd));
        fds.push(self.host.table.as_fd());
        fds.extend(self.host.listeners.iter().map(AsFd::as_fd));
        let (identities, sessions) = (self.steering.identities(), self.directory.sessions());
        let (leg, of_leg) = self.connections.shared.leg.state();
        fds.extend(of_leg);
        let hello = Hello {
            version: VERSION,
            namespace: namespace()?,
            mark: self.config.route.mark,
            pools: pools(&self.config),
            clock_start: self.clock.origin(),
            listeners: self.host.listeners.len(),
            metrics: outside.metrics.is_some(),
            table: self.host.table.state(),
            leg,
            reclaimed: self.host.delivery.reclaimed(),
            totals,
            flows: self.connections.open,
            identities: identities.len().div_ceil(CHUNK),
            sessions: sessions.len().div_ceil(CHUNK),
            kept: self.kept(),
            workers: streams.len() as u32,
        };
        line.send(&hello, &fds)?;
        let mut flows = self.connections.flows();
        flows.try_for_each(|flow| line.send(&flow.state(), &flow.descriptors()))?;
        identities.chunks(CHUNK).try_for_each(|some| line.send(&some, &[]))?;
        sessions.chunks(CHUNK).try_for_each(|some| line.send(&some, &[]))?;
        streams.iter().try_for_each(|stream| line.send(&(), &[stream.as_fd()]))
    }

    /// Leaves everything to another process.
    pub(crate) fn leave(mut self) {
        self.host.delivery.leave();
        self.log.end();
        // No connection ends, and only the end of the process closes descriptors.
        std::mem::forget(self);
    }

    /// Prepares everything from an old proxy's offer, takes it over, and selects connections by
    /// `config`.
    ///
    /// # Errors
    /// The part that could not be prepared; the old proxy then continues.
    pub(crate) fn adopt(
        config: ProxyConfig,
        file: std::path::PathBuf,
        asks: super::Asks,
        offer: Offer,
        spawner: Option<Spawner>,
    ) -> Result<Self, SystemError> {
        let failed = |e: io::Error| SystemError::new("take over", e);
        let Offer { mut line, hello, fds, flows, identities, sessions, streams } = offer;
        let mut fds = fds.into_iter();
        let host = Host::adopt(&config, &hello.table, hello.listeners, hello.reclaimed, &mut fds)?;
        let missing = || failed(io::Error::other("a descriptor is missing"));
        let leg = RadioLeg::adopt(&hello.leg, config.control.loss(), &mut fds).map_err(failed)?;
        let clock = SlotClock::at(hello.clock_start);
        let mut engine = Self::build(config, file, asks, host, clock, leg, Some(sessions))?;
        let now = engine.clock.now();
        // UEs come before connections, since a connection belongs to a UE.
        identities.iter().for_each(|ue| engine.steering.adopt(now, ue));
        engine.totals = hello.totals;
        engine.kept_before = hello.kept;
        for (state, fds) in flows {
            let pool = &mut engine.connections.shared.pool;
            let flow = Flow::restore(&state, fds, pool).ok_or_else(missing)?;
            let ue = engine.connections.put(flow).map_err(|e| failed(e.into()))?;
            // The diversion changes later, when everything is ours.
            let _due = engine.guard.opened(ue, engine.places());
        }
        engine.employ(spawner, streams).map_err(failed)?;
        engine.wait_for_adoptions().map_err(failed)?;
        line.take().map_err(failed)?;
        engine.host.delivery.own();
        let now = engine.clock.now();
        engine.begin_again(now);
        Ok(engine)
    }

    /// From here on everything is ours, and connections may be touched.
    fn begin_again(&mut self, now: Instant) {
        self.connections.begin_again(now, &mut self.steering);
        self.command_workers(&Command::Begin);
        self.next_tick = now;
        self.next_forget = now + super::FORGET_EVERY;
        self.apply(now);
        self.next_routes = now;
        // If this fails, it selects connections as the old proxy did.
        if let Err(error) = self.look_at_diversion(now) {
            self.log.note("takeover", &crate::table::explain(&error));
        }
        Log::note(&self.log, "takeover", &format!("{} connections", self.open()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Starts an old process with the first message `hello`. Returns the error of the takeover, and
    /// true if the old process goes on.
    fn offered(hello: Value) -> (String, bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = ProxyConfig::default();
        config.operation.socket = folder.path().join("socket").to_string_lossy().into_owned();
        let listener = UnixListener::bind(&config.operation.socket).expect("it listens");
        let old = std::thread::spawn(move || {
            let mut line = Line::new(listener.accept().expect("one").0).expect("a line");
            line.send(&hello, &[]).expect("it is sent");
            !line.give()
        });
        let refused = Offer::ask(&config).err().expect("refused").to_string();
        (refused, old.join().expect("it ends"))
    }

    #[test]
    fn an_old_process_of_another_version_is_refused_by_its_version_and_goes_on() {
        for (version, fields) in [(1, json!({})), (VERSION + 1, json!({ "new": true }))] {
            let mut hello = fields;
            hello["version"] = version.into();
            let (why, goes_on) = offered(hello);
            assert!(why.contains(&format!("has version {version}, ")), "{why}");
            assert!(why.contains(&format!("reads {} to {VERSION}", VERSIONS.start())), "{why}");
            assert!(why.contains("a restart replaces it") && goes_on, "{why}");
        }
        let (why, goes_on) = offered(json!("nothing of the kind"));
        assert!(why.contains("has version 0") && goes_on, "{why}");
        // A known version needs all of its fields.
        let (why, goes_on) = offered(json!({ "version": VERSION }));
        assert!(why.contains("missing field") && goes_on, "{why}");
    }
}
