//! The loop of the proxy: one thread with epoll that never waits for anything else.
//!
//! Sockets are registered once, edge-triggered: the loop remembers an event until a call shows that
//! it no longer holds. A connection with more work than its turn allows goes into a list and
//! continues after the others.

mod build;
mod divert;
mod takeover;
mod turns;

pub(crate) use takeover::Offer;
use turns::Turns;

use crate::ask::{Ask, Outside, What};
use crate::config::ProxyConfig;
use crate::directory::Directory;
use crate::flood::Flood;
use crate::flow::{Flow, Leg, Outcome, Shared, Step};
use crate::guard::Guard;
use crate::host::Host;
use crate::log::Log;
use crate::notify::Manager;
use crate::radio;
use crate::table::{self, Diversion};
use justfull_base::{Duration, Instant};
use justfull_net::SystemError;
use justfull_net::clock::{Clock, SlotClock};
use justfull_rnis::Report;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use serde::{Deserialize, Serialize};
use socket2::{SockAddr, Socket};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Tokens that do not name a connection.
const WAKE: u64 = u64::MAX;
const SIGNALS: u64 = u64::MAX - 1;
const LISTENER: u64 = u64::MAX - 16;
/// Time between two checks of connections' deadlines.
const TICK: Duration = Duration::from_millis(250);
/// Events that one call returns.
const EVENTS: usize = 512;
/// Connections accepted before the others are served again.
const ACCEPTED_AT_ONCE: usize = 64;
/// Time between two checks of policy routes, which another program may remove.
const LOOK_AT_ROUTES: Duration = Duration::from_secs(2);
/// Bytes copied at once without a pipe.
const SCRATCH: usize = 64 << 10;
/// Time between two searches for UEs to forget.
const FORGET_EVERY: Duration = Duration::from_secs(10);

/// A place for a connection; the generation distinguishes its successive connections.
struct Place {
    generation: u32,
    flow: Option<Box<Flow>>,
}

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
    /// Bytes of ended connections, to servers and to clients.
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
    places: Vec<Place>,
    pub(crate) host: Host,
    /// Why the better bounds of the radio legs are not available.
    pub(crate) leg_refused: Vec<String>,
    pub(crate) config: ProxyConfig,
    pub(crate) file: PathBuf,
    pub(crate) shared: Shared,
    pub(crate) totals: Totals,
    pub(crate) log: Log,
    pub(crate) radio: Arc<radio::Account>,
    pub(crate) directory: Directory,
    pub(crate) open: usize,
    pub(crate) reloads: u64,
    pub(crate) last_reload: Option<String>,
    free: Vec<u32>,
    list: VecDeque<u32>,
    epoll: Epoll,
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
            self.shared.turn = now.since(began);
            self.turns.took(now, self.shared.turn);
            let due = self.shared.steering.next_timer().unwrap_or(Instant::NEVER);
            let wait = due.min(self.next_tick).since(now).as_nanos().div_ceil(1_000_000);
            let wait = if self.list.is_empty() { wait.min(1_000) as u16 } else { 0 };
            let count = match self.epoll.wait(&mut events, EpollTimeout::from(wait)) {
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
            for _ in 0..self.list.len() {
                let Some(index) = self.list.pop_front() else { break };
                if let Some(flow) = self.places[index as usize].flow.as_mut() {
                    flow.listed = false;
                    self.advance(now, index);
                }
            }
            if self.shared.steering.next_timer().is_some_and(|at| at <= now) {
                self.shared.steering.on_timer(now);
                self.apply();
            }
            if now >= self.next_tick {
                self.tick(now);
            }
            if self.drain_until.is_some_and(|until| self.open == 0 || now >= until) {
                self.end_all(now);
                return Ok(Ended::Over);
            }
        }
    }

    fn event(&mut self, now: Instant, event: &EpollEvent) {
        let (token, flags) = (event.data(), event.events());
        match token {
            WAKE => self.woken(now),
            SIGNALS => self.signalled(now),
            LISTENER.. => self.accept(now, (token - LISTENER) as usize),
            _ => {
                let (index, generation) = place_of(token);
                let Some(place) = self.places.get_mut(index as usize) else { return };
                if place.generation != generation {
                    return;
                }
                let Some(flow) = place.flow.as_mut() else { return };
                flow.event(if token & 1 == 0 { Leg::Client } else { Leg::Server }, flags);
                self.advance(now, index);
            }
        }
    }

    /// Advances a connection, and handles the result.
    fn advance(&mut self, now: Instant, index: u32) {
        let place = &mut self.places[index as usize];
        let key = token(place.generation, index);
        let Some(flow) = place.flow.as_mut() else { return };
        match flow.advance(now, key, &mut self.shared) {
            Step::Waits => {}
            Step::Again => self.list_again(index),
            Step::Over(outcome) => self.end(now, index, outcome),
        }
        self.apply();
    }

    fn list_again(&mut self, index: u32) {
        if let Some(flow) = self.places[index as usize].flow.as_mut()
            && !std::mem::replace(&mut flow.listed, true)
        {
            self.list.push_back(index);
        }
    }

    /// Applies changed windows to their connections.
    fn apply(&mut self) {
        while let Some((key, windows)) = self.shared.steering.change() {
            let (index, generation) = place_of(key);
            let place = &mut self.places[index as usize];
            if place.generation == generation
                && let Some(flow) = place.flow.as_mut()
                && flow.apply(windows, &self.shared.leg)
            {
                self.list_again(index);
            }
        }
    }

    fn accept(&mut self, now: Instant, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            match self.host.listeners[listener].accept4(flags) {
                // Dropping the socket resets the connection.
                Ok((client, at)) => {
                    self.totals.accepted += 1;
                    self.totals.accepted_of[listener] += 1;
                    if self.open >= self.host.limits.most {
                        self.totals.over_limit += 1;
                        continue;
                    }
                    self.begin(now, client, &at);
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

    fn begin(&mut self, now: Instant, client: Socket, at: &SockAddr) {
        let mut flow = match Flow::begin(client, at, now, &mut self.shared) {
            Ok(flow) => flow,
            Err((outcome, addresses)) => {
                self.totals.ended[outcome as usize] += 1;
                if let Some([client, server]) = addresses {
                    self.log.refused(client, server, outcome);
                    self.refused(now, client.port(), outcome);
                }
                return;
            }
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, flow: None });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        let key = token(place.generation, index);
        flow.slot = index;
        let watched = self.watch_flow(&flow, key);
        let ue = flow.client_at.ip();
        let place = &mut self.places[index as usize];
        place.flow = Some(Box::new(flow));
        self.open += 1;
        if self.guard.opened(ue, self.places()) {
            self.divert(now);
        }
        if watched.is_err() {
            self.end(now, index, Outcome::NoResources);
        }
    }

    fn watch_flow(&self, flow: &Flow, key: u64) -> nix::Result<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLPRI
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        self.epoll.add(&flow.client.socket, EpollEvent::new(flags, key))?;
        self.epoll.add(&flow.server.socket, EpollEvent::new(flags, key | 1))
    }

    /// Ends a connection; it is reset unless both ends had closed it.
    fn end(&mut self, now: Instant, index: u32, outcome: Outcome) {
        let place = &mut self.places[index as usize];
        let Some(mut flow) = place.flow.take() else { return };
        place.generation = place.generation.wrapping_add(1) & u32::MAX >> 1;
        self.free.push(index);
        self.open -= 1;
        flow.up.release(&mut self.shared.pool);
        flow.down.release(&mut self.shared.pool);
        if let Some(id) = flow.id.take() {
            self.shared.steering.close(now, id);
        }
        self.guard.closed(flow.client_at.ip());
        match outcome {
            _ if flow.connected => self.guard.answered(),
            Outcome::Refused => self.guard.answered(),
            Outcome::NoAnswer => self.guard.not_answered(now),
            _ => {}
        }
        self.totals.ended[outcome as usize] += 1;
        self.totals.answered += u64::from(flow.connected);
        self.totals.bytes[0] += flow.up.bytes;
        self.totals.bytes[1] += flow.down.bytes;
        self.log.ended(&flow, now, outcome);
    }

    /// Ends connections that have waited too long.
    fn tick(&mut self, now: Instant) {
        self.next_tick = now + TICK;
        let limits = self.config.timeouts;
        for index in 0..self.places.len() as u32 {
            let Some(flow) = &self.places[index as usize].flow else { continue };
            let silent = now.since(flow.active);
            let (limit, outcome) = if !flow.connected {
                (limits.connect, Outcome::NoAnswer)
            } else if flow.up.closed || flow.down.closed {
                (limits.half_closed, Outcome::HalfClosed)
            } else {
                (limits.idle, Outcome::Idle)
            };
            if silent >= limit {
                self.end(now, index, outcome);
            }
        }
        if now >= self.next_forget {
            self.next_forget = now + FORGET_EVERY;
            self.shared.steering.forget(now);
        }
        if now >= self.next_routes {
            self.next_routes = now + LOOK_AT_ROUTES;
            self.look_at_routes();
        }
        if let Err(error) = self.look_at_diversion(now) {
            self.log.note("rules", &table::explain(&error));
        }
        self.log.flush();
        self.apply();
    }

    /// Handles reports and requests that have arrived.
    fn woken(&mut self, now: Instant) {
        // Only the reset of the counter matters.
        let _count = self.wake.read();
        while let Some(change) = self.directory.change() {
            self.shared.steering.directory(now, &change);
        }
        for report in self.reports.try_iter().take(radio::WAITING) {
            self.shared.steering.report(now, &report);
            self.reported = Some(now);
        }
        self.apply();
        for notice in self.shared.steering.notices.take() {
            self.log.radio(&notice);
        }
        while let Ok(ask) = self.asks.try_recv() {
            let text = match ask.what {
                What::Status => self.status(now),
                What::Flows => self.flow_list(now),
                What::Metrics => self.metrics(now),
                What::Takeover(stream) => {
                    self.handed_over = self.hand_over(stream);
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
        let diversion = self.guard.diversion(now);
        if let Err(error) = self.host.table.select(&new.select, &diversion) {
            return self.reloaded(format!("refused: {}", table::explain(&error)));
        }
        self.diversion = Some(diversion);
        self.look_at_routes();
        self.config = new;
        self.reloads += 1;
        self.reloaded("done".into());
    }

    fn reloaded(&mut self, what: String) {
        self.log.note("reload", &what);
        self.last_reload = Some(what);
    }

    fn end_all(&mut self, now: Instant) {
        for index in 0..self.places.len() as u32 {
            self.end(now, index, Outcome::Ended);
        }
        self.log.flush();
    }

    /// The open connections.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().filter_map(|place| place.flow.as_deref())
    }
}

/// The key of a connection, which is also the token of its client leg in events; the token of its
/// server leg has the last bit set.
const fn token(generation: u32, index: u32) -> u64 {
    (generation as u64) << 32 | (index as u64) << 1
}

/// Index and generation in the token of either leg.
const fn place_of(token: u64) -> (u32, u32) {
    ((token >> 1) as u32 & u32::MAX >> 1, (token >> 32) as u32)
}

/// The signals that the proxy handles.
pub(crate) fn signals() -> SigSet {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set
}
