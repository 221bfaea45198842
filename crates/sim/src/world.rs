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
//! The agenda has the nodes and links in the order in which they act (`agenda`); this file defines
//! how they are connected.

use crate::cells::Cells;
use crate::hosts::Hosts;
use crate::links::Links;
use crate::proxy::Proxy;
use crate::radio::Radio;
use justfull_base::{ConfigError, Duration, Instant, Packet};
use justfull_run::results::RunResult;
use justfull_run::tap::{Listener, Tap};
use justfull_run::uplink::Up;
use justfull_run::{Plan, WorldConfig};

mod agenda;
mod ahead;
mod build;
mod finish;
mod reported;

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

/// Longest simulated time between two reports: a run that is ended goes on until the next one.
const LONGEST_REPORT: Duration = Duration::from_secs(1);

/// The reports of a run to its [`Progress`], one for each hundredth of its duration, and at least
/// one for each second.
struct Reports {
    end: Instant,
    /// The first instant after the end.
    beyond: Instant,
    every: Duration,
    /// The report follows the first step after this instant.
    at: Instant,
}

impl Reports {
    fn new(duration: Duration) -> Self {
        let end = Instant::ZERO + duration;
        let every = Duration::from_nanos((duration.as_nanos() / 100).max(1)).min(LONGEST_REPORT);
        let beyond = end + Duration::from_nanos(1);
        Self { end, beyond, every, at: (Instant::ZERO + every).min(end) }
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
    cells: Cells,
    hosts: Hosts,
    links: Links<T>,
    proxy: Option<Box<Proxy>>,
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

    /// Runs like [`Self::run`], with the same result. A world of many cells runs in stretches of
    /// time, on at most `threads` threads.
    ///
    /// # Panics
    /// The panics of `run`.
    #[cfg_attr(not(debug_assertions), inline)]
    pub fn run_on(self, threads: usize, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_in_stretches(threads, progress)
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

    /// Runs like [`Self::run`], with the same result. A world of many cells runs in stretches of
    /// time, on at most `threads` threads.
    ///
    /// # Panics
    /// The panics of `run`.
    #[cfg_attr(not(debug_assertions), inline)]
    pub fn run_on(self, threads: usize, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_in_stretches(threads, progress)
    }
}

impl<T: Listener> World<T> {
    /// [`World::run_on`] with any listener. A build with debug assertions compiles it in this crate
    /// only: the tests' build does not optimise the crates that call it. In a release build these
    /// crates compile it, since it would change how the compiler inlines the loop of `run`:
    /// `s1_blocks` and `r22_rapid` of `cargo xtask bench` then take 1 % more instructions.
    fn run_in_stretches(self, threads: usize, progress: &mut dyn Progress) -> Option<RunResult> {
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
        match self.cells {
            Cells::One(_) => self.run_by(Self::step, progress),
            Cells::Several(_) => self.run_by(Self::step_several, progress),
        }
    }

    #[inline(always)]
    fn run_by(
        mut self,
        step: impl Fn(&mut Self, Instant) -> Instant,
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        let mut reports = Reports::new(self.plan.duration);
        let beyond = reports.beyond;
        loop {
            let now = step(&mut self, beyond);
            if now > reports.at {
                if !reports.report(now, progress) {
                    return None;
                }
                if now >= beyond {
                    return Some(self.finish());
                }
            }
        }
    }

    /// Lets the node or link that is due first act. The cells are due at `reached`; `reach` lets
    /// them act until the given instant, at which another node is due. Returns the last instant, or
    /// an instant of `beyond` or later if nothing is due before it.
    #[inline(always)]
    fn step_with(
        &mut self,
        beyond: Instant,
        reached: Instant,
        reach: impl FnOnce(&mut Self, Instant) -> Instant,
    ) -> Instant {
        let (before, after) = (self.next_before(), self.next_after());
        let others = before.min(after);
        if reached >= beyond && others >= beyond {
            return reached.min(others);
        }
        if reached < before && reached <= after {
            return reach(self, others.min(beyond));
        }
        self.links.monitor.calls += 1;
        if before <= after {
            self.act_before(before);
        } else {
            self.act_after(after);
        }
        others
    }

    /// A step of a world with one cell.
    #[inline(always)]
    fn step(&mut self, beyond: Instant) -> Instant {
        let Cells::One(cell) = &self.cells else { return Instant::NEVER };
        let reached = self.links.core.next().min(cell.next());
        self.step_with(beyond, reached, Self::reach_cell)
    }

    /// A step of a world with several cells.
    #[inline(never)]
    fn step_several(&mut self, beyond: Instant) -> Instant {
        let Cells::Several(several) = &self.cells else { return Instant::NEVER };
        let reached = self.links.core.next().min(several.region.next());
        self.step_with(beyond, reached, |world, until| {
            let Self { cells: Cells::Several(several), hosts, links, .. } = world else {
                return until;
            };
            several.reach(until, &mut Radio { hosts, links, delivered: false })
        })
    }

    /// The proxy acts at `now`.
    #[inline]
    fn act_proxy(&mut self, now: Instant) {
        let Self { cells, hosts, links, proxy, .. } = self;
        if let Some(proxy) = proxy {
            proxy.act(now, cells, hosts, links);
        }
    }

    /// Data from UEs reaches the servers or the proxy.
    #[inline]
    fn reach_servers(&mut self, now: Instant) {
        let mut item = Up::nothing();
        while self.links.pop_up(now, &mut item) {
            let Self { cells, hosts, links, proxy, .. } = self;
            links.monitor.calls += 1;
            match item {
                Up::Status(handle) => self.receive_status(now, handle),
                Up::Asked(i, sent) => self.answer(now, i, sent),
                Up::Request(i, _) => {
                    // A request that opens its own connection gives its flow another 5-tuple.
                    if let Some((flow, tuple)) = hosts.senders.reconnects(i) {
                        cells.renew_flow(flow, &tuple);
                    }
                    hosts.reach_server(now, &item, links);
                }
                _ => {
                    hosts.reach_server(now, &item, links);
                    if let (Some(proxy), Up::Ack(i, ack)) = (proxy, &item) {
                        proxy.acknowledged(now, *i, ack, hosts, links);
                    }
                }
            }
        }
    }

    /// The STATUS PDU of `handle` reaches the sender's RLC. Cells whose RLC sends them over the
    /// uplink are alone.
    #[cold]
    fn receive_status(&mut self, now: Instant, handle: u32) {
        let Self { cells, hosts, links, .. } = self;
        if let Cells::One(cell) = cells {
            cell.receive_status(now, handle, &mut Radio { hosts, links, delivered: false });
        }
    }

    /// The request that the UE of source `i` sent at `sent` reaches its server.
    #[cold]
    fn answer(&mut self, now: Instant, i: u32, sent: Instant) {
        let Self { cells, hosts, links, .. } = self;
        let stack = cells.stack_of(hosts.applications.ue_of(i));
        hosts.applications.answer(now, i, sent, |at| stack.slot_from(at), links);
    }

    /// Packets reach the UPF and the cell acts, instant by instant, until a packet is delivered or,
    /// at `until`, another node or link is due. Returns the last instant.
    #[inline]
    fn reach_cell(&mut self, until: Instant) -> Instant {
        let Self { cells: Cells::One(cell), hosts, links, .. } = self else { return until };
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
