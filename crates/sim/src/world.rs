//! The world and its event loop.
//!
//! ```text
//! Datagrams ---+
//! TCP senders -+-> core link -> Stack (UPF -> SDAP -> RLC -> MAC) -> air -> TCP receivers
//!      ^                                                                      |
//!      +--------------------------- uplink ----------------------------------+
//! ```
//! At one instant components act in the order acknowledgements, senders, sources, core, stack, air, receivers.

use crate::app::Told;
use crate::backlog::{Backlogs, Measured};
use crate::calendar::Calendar;
use crate::hosts::{Route, TcpFlow, Timers};
use crate::link::Pipe;
use crate::recorder::Recorder;
use crate::results::RunResult;
use crate::sources::{Kind, Source};
use crate::tap::{Listener, Tap};
use crate::traffic::FlowConfig;
use crate::uplink::{Up, Uplink, UplinkConfig};
use justfull_base::packet::Protocol;
use justfull_base::{BitRate, ConfigError, Duration, Ecn, Instant, Packet};
use justfull_ran::{Stack, StackConfig};
use justfull_tcp::segment::HEADER_BYTES;
use justfull_tcp::{Ack, Segment};

mod apps;
mod build;
mod driver;
mod finish;
mod upload;

pub(crate) use build::{MOST_NAMES, classes, protocol_name, validate};
use build::{Members, Plan};
use driver::{ACK_HANDLE, Arrival, Driver, Sent};

/// Bytes of an acknowledgement on the uplink: headers with timestamps.
const ACK_BYTES: u32 = HEADER_BYTES;

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldConfig {
    /// Name of the scenario, for the results.
    pub scenario: String,
    /// Name of the method, for the results.
    pub method: String,
    /// The cell.
    pub stack: StackConfig,
    /// The flows; at least one.
    pub flows: Vec<FlowConfig>,
    /// Rate of each server's link into the core; 0 for no serialisation.
    pub core_rate: BitRate,
    /// One-way delay from server to UPF.
    pub core_delay: Duration,
    /// From the slot's pull to the UE: air interface and processing.
    pub air_delay: Duration,
    /// The UEs' ways back.
    pub uplink: UplinkConfig,
    /// Simulated time; above 0, at most a day.
    pub duration: Duration,
    /// Start of the measured window; below `duration`.
    pub warmup: Duration,
    /// Bins of the series over time, 1 to 100 000.
    pub series_bins: u32,
    /// Measure the backlog of every queue over time.
    pub entity_backlog: bool,
}

/// Told how far a run is, and able to end it.
pub trait Progress {
    /// The run has reached `now`. False ends it: the run gives no result.
    fn advanced(&mut self, now: Instant) -> bool;
}

impl Progress for () {
    fn advanced(&mut self, _now: Instant) -> bool {
        true
    }
}

/// Which end a flow has.
#[derive(Clone, Copy)]
enum End {
    Tcp(u32),
    Upload(u32),
    /// Number of the TCP flow, number of the page.
    Page(u32, u32),
    Source(u32),
}

/// Whose timer it is.
#[derive(Clone, Copy)]
enum Timed {
    Source(u32),
    Page(u32),
}

/// A world that has been built and can be run once. `T` listens to the run.
pub struct World<T = ()> {
    plan: Plan,
    stack: Stack,
    driver: Driver<T>,
    /// Backlog of each queue, where the scenario asks for it.
    backlogs: Option<Box<Backlogs>>,
    ends: Vec<End>,
    tcp: Vec<TcpFlow>,
    sources: Vec<Source>,
    pages: Vec<apps::Page>,
    /// Members of `source_timers`.
    timed: Vec<Timed>,
    sender_timers: Timers,
    receiver_timers: Timers,
    source_timers: Calendar,
    /// One pipe per distinct delay between server and UPF.
    core: Vec<Pipe<Packet>>,
    air: Pipe<Arrival>,
    /// The ways back, with a wire per pipe of the core.
    uplink: Uplink<Up>,
    calls: u64,
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
    /// On a bug of the simulator that leaves no result; with `assert_bound`, when a packet beats the bound.
    pub fn run(self, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_to_end(progress)
    }
}

impl<'a> World<&'a mut (dyn Tap + 'a)> {
    /// Builds the world of `config`, to which `tap` listens.
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
    /// On a bug of the simulator that leaves no result; with `assert_bound`, when a packet beats the bound.
    pub fn run(self, progress: &mut dyn Progress) -> Option<RunResult> {
        self.run_to_end(progress)
    }
}

impl<T: Listener> World<T> {
    fn build(config: &WorldConfig, tap: T) -> Result<Self, ConfigError> {
        validate(config)?;
        let seed = config.stack.seed;
        let mut stack = Stack::new(&config.stack)?;
        let Members { flows, tcp, sources } = build::members(config);
        let mut delays: Vec<Duration> = config.flows.iter().map(|f| f.extra_delay).collect();
        delays.sort_unstable();
        delays.dedup();
        let (classes, class_of_flow) = classes(config)?;
        let end = Instant::ZERO + config.duration;
        let warmup = Instant::ZERO + config.warmup;
        let bins = config.series_bins as usize;
        let recorder = Recorder::new([warmup, end], bins, config.air_delay, classes, class_of_flow);
        let mut world = Self {
            ends: Vec::with_capacity(flows),
            tcp: Vec::new(),
            sources: Vec::with_capacity(sources),
            pages: Vec::new(),
            timed: Vec::with_capacity(sources),
            sender_timers: Timers::new(tcp),
            receiver_timers: Timers::new(tcp),
            source_timers: Calendar::new(sources),
            core: delays.iter().map(|d| Pipe::new(config.core_rate, config.core_delay + *d)).collect(),
            air: Pipe::new(BitRate(0), config.air_delay),
            uplink: Uplink::new(&config.uplink, config.stack.ues.len(), &delays, warmup, seed),
            driver: Driver::new(recorder, tap, flows),
            plan: Plan::of(config),
            backlogs: config.entity_backlog.then(|| Box::new(Backlogs::new(&config.stack.ues, warmup))),
            calls: 0,
            stack: {
                for flow in &config.flows {
                    for connection in 0..flow.traffic.connections() {
                        stack.open_flow(flow.ue, &flow.tuple_of(connection), flow.dscp);
                    }
                }
                stack
            },
        };
        for (i, flow) in config.flows.iter().enumerate() {
            let route = Route {
                flow: world.ends.len() as u32,
                ue: flow.ue,
                pipe: delays.iter().position(|d| *d == flow.extra_delay).unwrap_or(0) as u32,
                tracked: flow.low_latency,
                stop: flow.stop_instant(),
            };
            world.add_flow(route, flow, seed).map_err(|e| e.within(&format!("flow[{i}]")))?;
        }
        Ok(world)
    }

    fn run_to_end(mut self, progress: &mut dyn Progress) -> Option<RunResult> {
        let end = Instant::ZERO + self.plan.duration;
        let report_every = Duration::from_nanos((self.plan.duration.as_nanos() / 100).max(1));
        let mut report_at = (Instant::ZERO + report_every).min(end);
        loop {
            let now = self.step(end);
            if now > report_at {
                if !progress.advanced(now.min(end)) {
                    return None;
                }
                if now > end {
                    return Some(self.finish());
                }
                report_at = (now + report_every).min(end);
            }
        }
    }

    /// Lets the component that is due first act; the instant at which it did, beyond `end` when the run is over.
    #[inline]
    fn step(&mut self, end: Instant) -> Instant {
        let uplink = self.uplink.next();
        let senders = self.sender_timers.next();
        let sources = self.source_timers.next();
        let core = earliest(&self.core);
        let stack = self.stack.next_wake();
        let air = self.air.next();
        let receivers = self.receiver_timers.next();
        let others = uplink.min(senders).min(sources).min(core).min(air).min(receivers);
        let now = others.min(stack);
        if now > end {
            return now;
        }
        if stack < others {
            // Nothing reaches the stack before the others act: it may go on alone.
            let limit = others.min(end + Duration::from_nanos(1));
            let (now, instants) = match &mut self.backlogs {
                None => self.stack.wake_before(now, limit, &mut self.driver),
                Some(b) => self.stack.wake_before(now, limit, &mut measured(&mut self.driver, b)),
            };
            self.calls += instants;
            self.drain_stack(now);
            return now;
        }
        self.calls += 1;
        if uplink == now {
            self.reach_servers(now);
        } else if senders == now {
            self.wake_sender(now);
        } else if sources == now {
            self.wake_source(now);
        } else if core == now {
            let limit =
                uplink.min(senders).min(sources).min(air).min(receivers).min(end + Duration::from_nanos(1));
            return self.arrive(now, limit);
        } else if stack == now {
            match &mut self.backlogs {
                None => self.stack.wake(now, &mut self.driver),
                Some(b) => self.stack.wake(now, &mut measured(&mut self.driver, b)),
            }
            self.drain_stack(now);
        } else if air == now {
            while let Some(arrival) = self.air.pop(now) {
                self.receive(now, arrival);
            }
        } else {
            self.wake_receiver(now);
        }
        now
    }

    /// What UEs have sent reaches the servers.
    fn reach_servers(&mut self, now: Instant) {
        while let Some(item) = self.uplink.pop(now) {
            self.calls += 1;
            match item {
                Up::Ack(i, ack) => self.acknowledge(now, i, &ack),
                Up::Reply(i, sent) => {
                    let flow = self.sources[i as usize].route.flow;
                    self.driver.recorder.replied(now, flow, sent);
                    if T::ACTIVE {
                        self.driver.tap.replied(now, flow, sent);
                    }
                }
                Up::Segment(flow, payload) => {
                    self.receive(now, Arrival { payload, flow, size: 0, ce: false });
                }
                Up::Request(i, bytes) => self.serve_request(now, i, bytes),
            }
        }
    }

    /// An acknowledgement reaches its sender.
    #[inline]
    fn acknowledge(&mut self, now: Instant, i: u32, ack: &Ack) {
        let flow = &mut self.tcp[i as usize];
        flow.sender.on_ack(now, ack);
        self.driver.recorder.rtt(now, flow.route.flow, now.since(ack.ts_echo));
        if T::ACTIVE {
            self.driver.tap.acknowledged(now, flow.route.flow, ack);
        }
        if flow.completed.is_none() && flow.size == Some(flow.sender.acked_bytes()) {
            flow.completed = Some(now);
        }
        self.transmit(now, i);
    }

    fn wake_sender(&mut self, now: Instant) {
        let Some(i) = self.sender_timers.pop(now) else { return };
        let flow = &mut self.tcp[i as usize];
        if !flow.started {
            flow.started = true;
            flow.sender.write(flow.size.unwrap_or(u64::MAX));
        }
        flow.sender.on_timer(now);
        self.transmit(now, i);
    }

    /// Sends what sender `i` may send now.
    #[inline]
    fn transmit(&mut self, now: Instant, i: u32) {
        let TcpFlow { route, sender, upload, .. } = &mut self.tcp[i as usize];
        let pipe = &mut self.core[route.pipe as usize];
        if now >= route.stop && !sender.is_closed() {
            sender.stop();
        }
        while let Some(segment) = sender.poll_transmit(now) {
            let size = segment.len + HEADER_BYTES;
            let payload = self.driver.segments.put(Sent { segment, flow: route.flow });
            if *upload {
                // One that finds the UE's queue full is lost.
                let item = Up::Segment(route.flow, payload);
                if !self.uplink.push(now, (route.ue, route.pipe), size, item) {
                    self.driver.lose(payload);
                }
                continue;
            }
            let packet = Packet {
                payload,
                flow: route.flow,
                size,
                ecn: if segment.ect { Ecn::Ect0 } else { Ecn::NotEct },
                protocol: Protocol::Tcp,
                tracked: route.tracked,
                ..Packet::default()
            };
            pipe.push(now, size, packet);
        }
        if let Some(at) = sender.next_timer() {
            self.sender_timers.arm(i, at);
        }
    }

    fn wake_source(&mut self, now: Instant) {
        let Some(member) = self.source_timers.pop(now) else { return };
        let i = match self.timed[member as usize] {
            Timed::Source(i) => i,
            Timed::Page(page) => return self.wake_page(now, page),
        };
        let source = &mut self.sources[i as usize];
        let Route { flow, pipe, tracked, .. } = source.route;
        let (protocol, pipe) = (source.protocol, &mut self.core[pipe as usize]);
        source.send(now, |size, payload| {
            pipe.push(now, size, Packet { payload, flow, size, protocol, tracked, ..Packet::default() });
        });
        if matches!(source.kind, Kind::Echo | Kind::Frames(_)) {
            self.driver.recorder.app(flow, now, Told::Began);
        }
        if let Some(at) = source.after(now) {
            self.source_timers.arm(member, at);
        }
    }

    /// Packets reach the UPF: those of `now`, and, while nothing else is due before `limit` and nothing is delivered, the next
    /// ones. The instant of the last.
    fn arrive(&mut self, mut now: Instant, limit: Instant) -> Instant {
        loop {
            for pipe in &mut self.core {
                while let Some(packet) = pipe.pop(now) {
                    self.calls += 1;
                    self.driver.recorder.entered(now, packet.flow);
                    match &mut self.backlogs {
                        None => self.stack.input(now, packet, &mut self.driver),
                        Some(b) => self.stack.input(now, packet, &mut measured(&mut self.driver, b)),
                    }
                }
            }
            let next = earliest(&self.core);
            if !self.driver.delivered.is_empty() || next >= limit || next > self.stack.next_wake() {
                self.drain_stack(now);
                return now;
            }
            self.calls += 1;
            now = next;
        }
    }

    /// Packets that the radio has taken go on their way through the air.
    #[inline]
    fn drain_stack(&mut self, now: Instant) {
        while let Some(arrival) = self.driver.delivered.pop_front() {
            if self.plan.air_delay.is_zero() {
                self.receive(now, arrival);
            } else {
                self.air.push(now, arrival.size, arrival);
            }
        }
    }

    /// A packet reaches its UE, or a segment of an upload its server.
    fn receive(&mut self, now: Instant, arrival: Arrival) {
        self.calls += 1;
        let end = self.ends[arrival.flow as usize];
        match end {
            End::Source(i) => self.receive_datagram(now, i, &arrival),
            End::Upload(i) if arrival.payload & ACK_HANDLE != 0 => self.acknowledge_up(now, i, &arrival),
            End::Tcp(i) | End::Upload(i) | End::Page(i, _) => {
                let Sent { segment, .. } = self.driver.segments.take(arrival.payload);
                self.receive_segment(now, i, &segment, arrival.ce);
                if let End::Page(i, page) = end {
                    self.tell_page(now, i, page);
                }
            }
        }
    }

    /// A segment of TCP flow `i` reaches its receiver.
    #[inline]
    fn receive_segment(&mut self, now: Instant, i: u32, segment: &Segment, ce: bool) {
        let TcpFlow { route, receiver, .. } = &mut self.tcp[i as usize];
        let before = receiver.received_bytes();
        let ack = receiver.on_segment(now, segment, ce);
        let new = receiver.received_bytes() - before;
        let flow = route.flow;
        self.driver.received(now, flow, new);
        self.answer(now, i, ack);
    }

    fn wake_receiver(&mut self, now: Instant) {
        let Some(i) = self.receiver_timers.pop(now) else { return };
        let ack = self.tcp[i as usize].receiver.on_timer(now);
        self.answer(now, i, ack);
    }

    #[inline]
    fn answer(&mut self, now: Instant, i: u32, ack: Option<Ack>) {
        let TcpFlow { route, receiver, upload, .. } = &self.tcp[i as usize];
        if let Some(at) = receiver.next_timer() {
            self.receiver_timers.arm(i, at);
        }
        match ack {
            None => {}
            Some(ack) if *upload => self.answer_down(now, i, ack),
            Some(ack) => {
                self.uplink.push(now, (route.ue, route.pipe), ACK_BYTES, Up::Ack(i, ack));
            }
        }
    }
}

fn measured<'a, T>(driver: &'a mut Driver<T>, backlogs: &'a mut Backlogs) -> Measured<'a, Driver<T>> {
    Measured { driver, backlogs }
}

#[inline]
fn earliest<T>(pipes: &[Pipe<T>]) -> Instant {
    pipes.iter().map(Pipe::next).min().unwrap_or(Instant::NEVER)
}
