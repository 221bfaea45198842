//! The world and its event loop.
//!
//! ```text
//! applications -+
//! TCP senders --+-> core wires -> cell (UPF -> SDAP -> RLC -> MAC) -> air -> applications,
//!      ^                                                                     TCP receivers
//!      +------------------------------ uplink --------------------------------------+
//! ```
//! With a proxy, the TCP senders of split flows are inside it, and their servers behind it
//! (`proxy`).
//!
//! Each node and link has one instant at which it acts next (`Node`); this file defines how they
//! are connected and in which order they act.

use self::several::Several;
use crate::cell::Cell;
use crate::hosts::Hosts;
use crate::links::Links;
use crate::node::Node;
use crate::proxy::{Proxy, Reporters};
use crate::radio::Radio;
use justfull_base::{ConfigError, Duration, Instant, Packet};
use justfull_run::results::RunResult;
use justfull_run::tap::{Listener, Tap};
use justfull_run::uplink::Up;
use justfull_run::{Plan, WorldConfig};

mod ahead;
mod build;
mod finish;
mod reported;
mod several;

/// Follows the progress of a run, and may end it.
pub trait Progress {
    /// The run has reached `now`. Return false to end it without a result.
    fn advanced(&mut self, now: Instant) -> bool;
}

impl Progress for () {
    fn advanced(&mut self, _now: Instant) -> bool {
        true
    }
}

/// The reports of a run to its [`Progress`], one for each hundredth of its duration.
struct Reports {
    end: Instant,
    every: Duration,
    /// The report follows the first step after this instant.
    at: Instant,
}

impl Reports {
    fn new(duration: Duration) -> Self {
        let end = Instant::ZERO + duration;
        let every = Duration::from_nanos((duration.as_nanos() / 100).max(1));
        Self { end, every, at: (Instant::ZERO + every).min(end) }
    }

    /// Reports that the run has reached `now`. False if `progress` ends the run.
    fn report(&mut self, now: Instant, progress: &mut dyn Progress) -> bool {
        self.at = (now + self.every).min(self.end);
        progress.advanced(now.min(self.end))
    }
}

/// A world that has been built and can be run once. `T` listens to the run.
pub struct World<T = ()> {
    plan: Plan,
    /// Number of UEs.
    ues: usize,
    /// Upper bound of the bytes that the uplink can carry from a UE in the measured window; none
    /// without a rate.
    uplink_most: Option<u64>,
    /// The cell; of several, the first.
    cell: Cell,
    hosts: Hosts,
    links: Links<T>,
    proxy: Option<Box<Proxy>>,
    /// All cells of a world with several, which does not use `cell`.
    several: Option<Box<Several>>,
}

impl World {
    /// Builds the world of `config`.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn new(config: &WorldConfig) -> Result<Self, ConfigError> {
        Self::build(config, ())
    }

    /// Runs to the end, or until `progress` ends it (then there is no result).
    ///
    /// The result says which invariant it breaks, if any ([`RunResult::broken`]).
    ///
    /// # Panics
    /// On a bug of the simulator that leaves no result; with `assert_bound`, if a packet beats the
    /// bound.
    pub fn run(self, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_step_by_step(progress)
    }
}

impl<'a> World<&'a mut (dyn Tap + 'a)> {
    /// Builds the world of `config`, with `tap` as its listener.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn tapped(config: &WorldConfig, tap: &'a mut (dyn Tap + 'a)) -> Result<Self, ConfigError> {
        Self::build(config, tap)
    }

    /// Runs to the end, or until `progress` ends it (then there is no result).
    ///
    /// The result says which invariant it breaks, if any ([`RunResult::broken`]).
    ///
    /// # Panics
    /// On a bug of the simulator that leaves no result; with `assert_bound`, if a packet beats the
    /// bound.
    pub fn run(self, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_step_by_step(progress)
    }
}

impl<T: Listener> World<T> {
    /// Runs like [`World::run`], with the same result. A world of many cells runs in stretches of
    /// time, on at most `threads` threads.
    ///
    /// # Panics
    /// The panics of `run`.
    pub fn run_on(self, threads: usize, progress: &mut dyn Progress) -> Option<RunResult> {
        match self.stretch() {
            Some(most) => {
                let threads = self.threads(threads);
                self.run_ahead(threads, most, progress)
            }
            None => self.run_step_by_step(progress),
        }
    }

    fn run_step_by_step(self, progress: &mut dyn Progress) -> Option<RunResult> {
        // Two loops, so that a step with one cell costs nothing for several.
        if self.several.is_some() {
            self.run_by(Self::step_several, progress)
        } else {
            self.run_by(Self::step, progress)
        }
    }

    #[inline(always)]
    fn run_by(
        mut self,
        step: impl Fn(&mut Self, Instant) -> Instant,
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        let mut reports = Reports::new(self.plan.duration);
        let end = reports.end;
        loop {
            let now = step(&mut self, end);
            if now > reports.at {
                if !reports.report(now, progress) {
                    return None;
                }
                if now > end {
                    return Some(self.finish());
                }
            }
        }
    }

    /// Lets the node or link that is due first act. Returns the last instant at which it acted, or
    /// an instant beyond `end` after the end of the run. At one instant the order is
    /// [`World::act_before_cell`], the core's wires, the cell behind them, and
    /// [`World::act_after_cell`].
    #[inline(always)]
    fn step(&mut self, end: Instant) -> Instant {
        let Self { cell, hosts, links, proxy, .. } = self;
        let proxied = proxy.as_ref().map_or(Instant::NEVER, |proxy| proxy.next());
        let hosted = links.uplink.next().min(hosts.senders.next()).min(hosts.applications.next());
        let before = hosted.min(proxied);
        let reached = links.core.next().min(cell.next());
        let after = links.air.next().min(hosts.receivers.next());
        let others = before.min(after);
        if reached > end && others > end {
            return reached.min(others);
        }
        if reached < before && reached <= after {
            return self.reach_cell(others.min(end + Duration::from_nanos(1)));
        }
        if before <= after {
            self.act_before_cell(before);
        } else {
            self.act_after_cell(after);
        }
        self.links.monitor.calls += 1;
        others
    }

    /// Lets the first of uplink, senders, applications and proxy that is due at `now` act.
    #[inline]
    fn act_before_cell(&mut self, now: Instant) {
        let Self { cell, hosts, links, proxy, several, .. } = self;
        if links.uplink.next() == now {
            self.reach_servers(now);
        } else if hosts.senders.next() == now {
            hosts.senders.act(now, links);
        } else if hosts.applications.next() == now {
            hosts.applications.act(now, links);
        } else if let Some(proxy) = proxy {
            let mut cells = match several {
                Some(several) => Reporters::Several(&mut several.region),
                None => Reporters::One(&mut cell.stack),
            };
            proxy.act(now, &mut cells, hosts, links);
        }
    }

    /// Lets the first of air and receivers that is due at `now` act.
    #[inline]
    fn act_after_cell(&mut self, now: Instant) {
        let Self { hosts, links, .. } = self;
        if links.air.next() == now {
            self.reach_ues(now);
        } else {
            hosts.receivers.act(now, links);
        }
    }

    /// Data from UEs reaches the servers.
    #[inline]
    fn reach_servers(&mut self, now: Instant) {
        if self.proxy.is_some() {
            return self.reach_servers_or_proxy(now);
        }
        let mut item = Up::nothing();
        while self.links.pop_up(now, &mut item) {
            self.links.monitor.calls += 1;
            match item {
                Up::Status(handle) => self.receive_status(now, handle),
                Up::Asked(i, sent) => self.answer(now, i, sent),
                _ => {
                    self.renew_flow(&item);
                    self.hosts.reach_server(now, &item, &mut self.links);
                }
            }
        }
    }

    /// The STATUS PDU of `handle` reaches the sender's RLC.
    #[cold]
    fn receive_status(&mut self, now: Instant, handle: u32) {
        let Self { cell, hosts, links, .. } = self;
        cell.receive_status(now, handle, &mut Radio { hosts, links, delivered: false });
    }

    /// The request that the UE of source `i` sent at `sent` reaches its server.
    #[cold]
    fn answer(&mut self, now: Instant, i: u32, sent: Instant) {
        let Self { cell, hosts, links, several, .. } = self;
        let stack = match several {
            Some(several) => several.region.stack_of(hosts.applications.ue_of(i)),
            None => &cell.stack,
        };
        let slot_from = |at| stack.slot_from(at);
        hosts.applications.answer(now, i, sent, slot_from, links);
    }

    /// A request that opens its own connection gives its flow that connection's 5-tuple.
    #[inline]
    fn renew_flow(&mut self, item: &Up) {
        if let Up::Request(i, _) = item
            && let Some((flow, tuple)) = self.hosts.senders.reconnects(*i)
        {
            match &mut self.several {
                Some(several) => several.region.renew_flow(flow, &tuple),
                None => self.cell.stack.renew_flow(flow, &tuple),
            }
        }
    }

    /// Data from UEs reaches the servers or the proxy.
    #[inline(never)]
    fn reach_servers_or_proxy(&mut self, now: Instant) {
        let mut item = Up::nothing();
        while self.links.pop_up(now, &mut item) {
            match item {
                Up::Status(handle) => {
                    self.receive_status(now, handle);
                    continue;
                }
                Up::Asked(i, sent) => {
                    self.answer(now, i, sent);
                    continue;
                }
                _ => {}
            }
            self.renew_flow(&item);
            let Self { hosts, links, proxy, .. } = self;
            links.monitor.calls += 1;
            hosts.reach_server(now, &item, links);
            if let (Some(proxy), Up::Ack(i, ack)) = (proxy, &item) {
                proxy.acknowledged(now, *i, ack, hosts, links);
            }
        }
    }

    /// Packets reach the UPF and the cell acts, instant by instant, until a packet is delivered or,
    /// at `until`, another node or link is due. Returns the last instant.
    #[inline]
    fn reach_cell(&mut self, until: Instant) -> Instant {
        let Self { cell, hosts, links, .. } = self;
        if let Some(accesses) = links.uplink.take_accesses() {
            accesses.for_each(|access| cell.stack.note_access(access));
        }
        let mut radio = Radio { hosts, links, delivered: false };
        let mut packet = Packet::default();
        loop {
            let (arrival, wake) = (radio.links.core.next(), cell.next());
            let now = if arrival <= wake {
                radio.links.monitor.calls += 1;
                while radio.links.core.pop_into(arrival, &mut packet) {
                    radio.links.monitor.calls += 1;
                    radio.links.monitor.recorder.entered(arrival, packet.flow);
                    cell.input_from(arrival, &mut packet, &mut radio);
                }
                arrival
            } else {
                let (last, instants) = cell.wake_before(wake, until.min(arrival), &mut radio);
                radio.links.monitor.calls += instants;
                last
            };
            if radio.delivered || radio.links.core.next().min(cell.next()) >= until {
                return now;
            }
        }
    }

    /// Packets from the radio reach the UEs.
    fn reach_ues(&mut self, now: Instant) {
        while let Some(arrival) = self.links.air.pop(now) {
            self.hosts.reach_ue(now, &arrival, &mut self.links);
        }
    }
}
