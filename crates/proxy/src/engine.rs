//! The loop of the proxy: one thread that waits only in epoll. The connections are in this process
//! or in its workers.

mod build;
mod divert;
mod hold;
mod takeover;
mod workers;

pub(crate) use takeover::Offer;

use crate::ask::{Ask, Outside, What};
use crate::config::ProxyConfig;
use crate::connections::{Connections, EVENTS, Ended as EndedConnection, Load, TICK};
use crate::directory::Directory;
use crate::flood::Flood;
use crate::flow::Outcome;
use crate::guard::Guard;
use crate::held::Held;
use crate::host::Host;
use crate::log::Log;
use crate::notify::Manager;
use crate::pools::Client;
use crate::radio;
use crate::steering::Steering;
use crate::table::{self, Diversion};
use crate::turns::Turns;
use crate::workers::{Command, Workers};
use justfull_base::{Duration, Instant};
use justfull_net::SystemError;
use justfull_net::clock::{Clock, SlotClock};
use justfull_rnis::Report;
use nix::libc;
use nix::sys::epoll::{EpollEvent, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Tokens that do not name a connection.
const WAKE: u64 = u64::MAX;
const SIGNALS: u64 = u64::MAX - 1;
const LISTENER: u64 = u64::MAX - 16;
/// First segments that wait for their servers.
const FIRST: u64 = u64::MAX - 2;
const HELD: u64 = 3 << 62;
const WORKER: u64 = 1 << 63;
/// Connections accepted before the others are served again.
const ACCEPTED_AT_ONCE: usize = 64;
/// Time between two checks of policy routes, which another program may remove.
const LOOK_AT_ROUTES: Duration = Duration::from_secs(2);
/// Time between two searches for UEs to forget.
const FORGET_EVERY: Duration = Duration::from_secs(10);

/// Counts since the start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) accepted: u64,
    /// By listener, one of each family.
    pub(crate) accepted_of: [u64; 2],
    /// Reset for lack of room.
    pub(crate) over_limit: u64,
    /// Times that policy routes were restored.
    pub(crate) routes_restored: u64,
    /// Ends, by [`Outcome`].
    pub(crate) ended: [u64; Outcome::ALL.len()],
    /// Ended connections whose server had answered.
    pub(crate) answered: u64,
    /// Bytes to servers and to clients of connections that ended in earlier processes.
    pub(crate) bytes: [u64; 2],
}

/// Requests, and the counter that wakes the loop for them.
pub(crate) type Asks = (Receiver<Ask>, Arc<EventFd>);

/// The end of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// After a request to end, all connections have ended.
    Over,
    /// Another process has taken over everything.
    HandedOver,
}

/// A running proxy.
pub(crate) struct Engine {
    // Fields are dropped in this order: connections are reset before the rules are removed.
    pub(crate) connections: Connections,
    /// None if the connections are its own.
    pub(crate) workers: Option<Workers>,
    /// First segments that wait for their servers; none if this host cannot do that.
    pub(crate) held: Option<Held>,
    /// Why not.
    pub(crate) wait_refused: Option<String>,
    /// First segments of each family that earlier processes counted without a delivery to the
    /// listener.
    kept_before: [u64; 2],
    /// Segments of unknown connections that this host has answered with resets.
    pub(crate) resets: u64,
    pub(crate) host: Host,
    /// Why the better bounds of the radio legs are not available.
    pub(crate) leg_refused: Vec<String>,
    pub(crate) config: ProxyConfig,
    pub(crate) file: PathBuf,
    pub(crate) steering: Steering,
    pub(crate) totals: Totals,
    pub(crate) log: Log,
    pub(crate) radio: Arc<radio::Account>,
    pub(crate) directory: Directory,
    pub(crate) reloads: u64,
    pub(crate) last_reload: Option<String>,
    wake: Arc<EventFd>,
    signals: SignalFd,
    asks: Receiver<Ask>,
    reports: Receiver<Report>,
    /// When the last one came.
    pub(crate) reported: Option<Instant>,
    clock: SlotClock,
    next_tick: Instant,
    next_forget: Instant,
    next_routes: Instant,
    pub(crate) guard: Guard,
    /// The diversion that the rules have; none while unknown.
    diversion: Option<Diversion>,
    /// When connections that are still open are reset; none while new ones are accepted.
    pub(crate) drain_until: Option<Instant>,
    pub(crate) flood: Flood,
    pub(crate) turns: Turns,
    pub(crate) outside: Option<Outside>,
    pub(crate) manager: Manager,
    handed_over: bool,
}

impl Engine {
    /// Runs until a request to end, and then until all connections have ended.
    pub(crate) fn run(&mut self) -> Result<Ended, SystemError> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let mut now = self.clock.now();
        loop {
            let began = std::mem::replace(&mut now, self.clock.now());
            self.connections.shared.turn = now.since(began);
            self.turns.took(now, now.since(began));
            let due = self.steering.next_timer().unwrap_or(Instant::NEVER);
            let wait = due.min(self.next_tick).since(now).as_nanos().div_ceil(1_000_000);
            let waits = self.connections.listed() == 0 && !self.workers_wait();
            let wait = if waits { wait.min(1_000) as u16 } else { 0 };
            let count = match self.connections.epoll.wait(&mut events, EpollTimeout::from(wait)) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(error) => return Err(SystemError::new("wait for events", error)),
            };
            now = self.clock.now();
            for event in &events[..count] {
                self.event(now, event);
                if self.handed_over {
                    return Ok(Ended::HandedOver);
                }
            }
            for _ in 0..self.connections.listed() {
                self.connections.next_turn(now, &mut self.steering);
                self.apply(now);
            }
            if self.steering.next_timer().is_some_and(|at| at <= now) {
                self.steering.on_timer(now);
                self.apply(now);
            }
            if now >= self.next_tick {
                self.tick(now);
            }
            self.serve_workers(now);
            if self.drain_until.is_some_and(|until| self.open() == 0 || now >= until) {
                self.end_all(now);
                return Ok(Ended::Over);
            }
        }
    }

    fn event(&mut self, now: Instant, event: &EpollEvent) {
        match event.data() {
            WAKE => self.woken(now),
            SIGNALS => self.signalled(now),
            FIRST => self.first_segments_arrived(now),
            token @ LISTENER.. => self.accept(now, (token - LISTENER) as usize),
            token @ HELD.. => self.held_event(now, token),
            token @ WORKER.. => self.worker_event((token - WORKER) as usize),
            token => {
                self.connections.event(now, token, event.events(), &mut self.steering);
                self.apply(now);
            }
        }
    }

    /// Applies changed windows to their connections, and accounts for those that have ended.
    fn apply(&mut self, now: Instant) {
        while let Some(ended) = self.connections.next_ended() {
            if ended.flow.is_some() {
                self.guard.closed(ended.client.host());
            }
            self.account(now, &ended);
        }
        while let Some((key, windows)) = self.steering.change() {
            match &mut self.workers {
                None => self.connections.apply(key, windows),
                Some(workers) => workers.change(key, windows),
            }
        }
    }

    /// A connection has ended, or could not begin.
    fn account(&mut self, now: Instant, ended: &EndedConnection) {
        let outcome = ended.outcome;
        self.totals.ended[outcome as usize] += 1;
        self.log.ended(ended);
        match &ended.flow {
            Some(flow) => {
                match outcome {
                    _ if flow.connected => self.guard.answered(),
                    Outcome::Refused => self.guard.answered(),
                    Outcome::NoAnswer => self.guard.not_answered(now),
                    _ => {}
                }
                self.totals.answered += u64::from(flow.connected);
            }
            None if ended.server.is_some() => self.refused(now, ended.client.at.port(), outcome),
            None => {}
        }
    }

    fn accept(&mut self, now: Instant, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            match self.host.listeners[listener].accept4(flags) {
                // Dropping a socket resets its connection.
                Ok((client, at)) => {
                    self.totals.accepted += 1;
                    self.totals.accepted_of[self.host.family(listener)] += 1;
                    // A client of TCP always has an IP address.
                    let Some(at) = at.as_socket() else { continue };
                    let from = Client { pool: self.host.pool(listener), at };
                    let server = self.waited(&client, from);
                    if self.open() >= self.host.limits.most {
                        self.totals.over_limit += 1;
                        continue;
                    }
                    self.begin(now, client, from, server);
                }
                Err(error) => {
                    if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
                        self.guard.exhausted(now);
                        self.divert(now);
                        self.totals.over_limit += u64::from(self.host.refuse_one(listener));
                    }
                    return;
                }
            }
        }
    }

    fn begin(&mut self, now: Instant, client: Socket, from: Client, server: Option<Socket>) {
        if self.workers.is_some() {
            if self.give(client, from, server) && self.guard.opened(from.host(), self.places()) {
                self.divert(now);
            }
            return;
        }
        if let Some(opened) = self.connections.begin(now, client, from, server) {
            if self.guard.opened(opened.ue, self.places()) {
                self.divert(now);
            }
            if !opened.watched {
                let outcome = Outcome::NoResources;
                self.connections.end(now, opened.index, outcome, &mut self.steering);
            }
        }
        self.apply(now);
    }

    /// Ends connections that have waited too long, and does what is due.
    fn tick(&mut self, now: Instant) {
        self.next_tick = now + TICK;
        self.connections.tick(now, self.config.timeouts, &mut self.steering);
        // Ends may change what is diverted.
        self.apply(now);
        self.replace_workers(now);
        self.look_at_waits(now);
        if now >= self.next_forget {
            self.next_forget = now + FORGET_EVERY;
            self.steering.forget(now);
        }
        if now >= self.next_routes {
            self.next_routes = now + LOOK_AT_ROUTES;
            self.look_at_routes();
            self.look_at_pools();
        }
        if let Err(error) = self.look_at_diversion(now) {
            self.log.note("rules", &table::explain(&error));
        }
        self.log.flush();
        self.apply(now);
    }

    /// Handles reports and requests that have arrived.
    fn woken(&mut self, now: Instant) {
        // Only the reset of the counter matters.
        let _count = self.wake.read();
        while let Some(change) = self.directory.change() {
            self.steering.directory(now, &change);
        }
        // Reports that were sent after a change of the cell name the new cell already.
        for change in self.radio.moves() {
            self.steering.moved(now, &change);
        }
        for report in self.reports.try_iter().take(radio::WAITING) {
            self.steering.report(now, &report);
            self.reported = Some(now);
        }
        self.apply(now);
        for notice in self.steering.notices.take() {
            self.log.radio(&notice);
        }
        while let Ok(ask) = self.asks.try_recv() {
            let text = match ask.what {
                What::Status => self.status(now),
                What::Flows => match &mut self.workers {
                    None => self.flow_list(now),
                    Some(workers) => {
                        workers.list(ask.reply);
                        continue;
                    }
                },
                What::Metrics => self.metrics(now),
                What::Takeover(stream) => {
                    self.handed_over = self.hand_over(now, stream);
                    if self.handed_over {
                        return;
                    }
                    continue;
                }
            };
            // The client may have left.
            let _gone = ask.reply.send(text);
        }
    }

    fn signalled(&mut self, now: Instant) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo == Signal::SIGHUP as u32 {
                self.manager.reloading();
                self.log.reopen();
                self.reload(now);
                self.manager.ready("running");
            } else if self.drain_until.is_none() {
                self.drain_until = Some(now + self.config.timeouts.drain);
                self.guard.draining = true;
                self.manager.stopping();
                // If this fails, new connections are accepted until the end.
                self.divert(now);
            } else {
                self.drain_until = Some(now);
            }
        }
    }

    /// Reads the file again and applies all of it, or nothing.
    fn reload(&mut self, now: Instant) {
        let new = match ProxyConfig::read(&self.file) {
            Ok(new) => new,
            Err(error) => return self.reloaded(format!("refused: {error}")),
        };
        let fixed = self.config.needs_restart(&new);
        if !fixed.is_empty() {
            let what = fixed.join(", ");
            return self.reloaded(format!("refused: {what} can change only by a restart"));
        }
        let logged = self.logged(&new);
        let diversion = Diversion { logged, ..self.guard.diversion(now) };
        if let Err(error) = self.host.table.select(&new.select, &diversion) {
            return self.reloaded(format!("refused: {}", table::explain(&error)));
        }
        self.diversion = Some(diversion);
        self.look_at_routes();
        self.config = new;
        self.command_workers(&Command::Timeouts(self.config.timeouts));
        self.reloads += 1;
        self.reloaded("done".into());
    }

    fn reloaded(&mut self, what: String) {
        self.log.note("reload", &what);
        self.last_reload = Some(what);
    }

    fn end_all(&mut self, now: Instant) {
        self.connections.end_all(now, &mut self.steering);
        self.end_workers(now);
        self.apply(now);
        self.log.flush();
    }

    /// Open connections of this process and its workers.
    pub(crate) fn open(&self) -> usize {
        self.connections.open + self.workers.as_ref().map_or(0, Workers::open)
    }

    /// Sums over all connections of this process and its workers.
    pub(crate) fn load(&self) -> Load {
        let own = self.connections.load();
        self.workers.as_ref().map_or(own, |workers| own.plus(&workers.load()))
    }
}

/// The signals that the proxy handles.
pub(crate) fn signals() -> SigSet {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set
}
