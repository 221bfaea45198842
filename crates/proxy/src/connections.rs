//! The connections of a process: their places, their events, and their ends.
//!
//! Sockets are registered once, edge-triggered: an event is remembered until a call shows that it
//! no longer holds. A connection with more work than its turn allows goes into a list and continues
//! after the others.

use crate::allocator::Allocator;
use crate::config::TimeoutsConfig;
use crate::flow::{Flow, Leg, Outcome, Shared, Step};
use crate::pools::{Client, ClientHost};
use justfull_base::{Duration, Instant};
use justfull_rapid::Windows;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Time between two checks of connections' deadlines.
pub(crate) const TICK: Duration = Duration::from_millis(250);
/// Events that one call returns.
pub(crate) const EVENTS: usize = 512;
/// Bytes copied at once without a pipe.
pub(crate) const SCRATCH: usize = 64 << 10;

/// A place for a connection; the generation distinguishes its successive connections.
struct Place {
    generation: u32,
    flow: Option<Box<Flow>>,
}

/// The places of a process among the places of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The process.
    pub(crate) number: u32,
    /// Number of processes.
    pub(crate) of: u32,
}

impl Part {
    /// All places.
    pub(crate) const ALL: Self = Self { number: 0, of: 1 };

    /// The number of a place among all.
    const fn slot(self, index: u32) -> u32 {
        index * self.of + self.number
    }

    /// The place of the connection with this key.
    pub(crate) const fn place(self, key: u64) -> usize {
        self.index(place_of(key).0) as usize
    }

    /// The place with a number among all.
    const fn index(self, slot: u32) -> u32 {
        slot / self.of
    }
}

/// A connection that has ended, or could not begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) client: Client,
    /// None if the client left before it was known.
    pub(crate) server: Option<SocketAddr>,
    pub(crate) outcome: Outcome,
    /// None if it could not begin.
    pub(crate) flow: Option<EndedFlow>,
}

/// The life of a connection that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EndedFlow {
    /// Its server had answered.
    pub(crate) connected: bool,
    pub(crate) seconds: f64,
    /// To the server and to the client.
    pub(crate) bytes: [u64; 2],
    pub(crate) mss: [u32; 2],
}

/// Sums over the connections of a process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Load {
    /// Open connections whose server has answered.
    pub(crate) connected: usize,
    /// Bytes to servers and to clients: of open connections, and of ended ones.
    pub(crate) open_bytes: [u64; 2],
    pub(crate) ended_bytes: [u64; 2],
    /// Sums of the last round trips of the wired and of the radio legs in seconds, and the numbers
    /// of connections in them.
    pub(crate) rtts: [f64; 2],
    pub(crate) with_rtt: [u64; 2],
    /// Pipes that hold data.
    pub(crate) pipes: u32,
    /// Number of times that a TIME_WAIT was ended because a client reused its port.
    pub(crate) time_waits: u64,
}

impl Load {
    /// The sums of both.
    pub(crate) fn plus(self, other: &Self) -> Self {
        let both = |own: [u64; 2], other: [u64; 2]| [own[0] + other[0], own[1] + other[1]];
        Self {
            connected: self.connected + other.connected,
            open_bytes: both(self.open_bytes, other.open_bytes),
            ended_bytes: both(self.ended_bytes, other.ended_bytes),
            rtts: [self.rtts[0] + other.rtts[0], self.rtts[1] + other.rtts[1]],
            with_rtt: both(self.with_rtt, other.with_rtt),
            pipes: self.pipes + other.pipes,
            time_waits: self.time_waits + other.time_waits,
        }
    }
}

/// See the module's page.
pub(crate) struct Connections {
    places: Vec<Place>,
    pub(crate) shared: Shared,
    pub(crate) epoll: Epoll,
    /// Number of open connections.
    pub(crate) open: usize,
    /// Ends that the owner has not taken.
    ended: VecDeque<Ended>,
    ended_bytes: [u64; 2],
    part: Part,
    free: Vec<u32>,
    list: VecDeque<u32>,
}

impl Connections {
    pub(crate) const fn new(shared: Shared, epoll: Epoll, part: Part) -> Self {
        Self {
            places: Vec::new(),
            shared,
            epoll,
            open: 0,
            ended: VecDeque::new(),
            ended_bytes: [0; 2],
            part,
            free: Vec::new(),
            list: VecDeque::new(),
        }
    }

    /// An event of a connection.
    pub(crate) fn event(
        &mut self,
        now: Instant,
        token: u64,
        flags: EpollFlags,
        control: &mut impl Allocator,
    ) {
        let (slot, generation) = place_of(token);
        let index = self.part.index(slot);
        let Some(place) = self.places.get_mut(index as usize) else { return };
        if place.generation != generation {
            return;
        }
        let Some(flow) = place.flow.as_mut() else { return };
        flow.event(if token & 1 == 0 { Leg::Client } else { Leg::Server }, flags);
        self.advance(now, index, control);
    }

    /// Number of connections that have more work.
    pub(crate) fn listed(&self) -> usize {
        self.list.len()
    }

    /// Advances the first connection that has more work.
    pub(crate) fn next_turn(&mut self, now: Instant, control: &mut impl Allocator) {
        let Some(index) = self.list.pop_front() else { return };
        if let Some(flow) = self.places[index as usize].flow.as_mut() {
            flow.listed = false;
            self.advance(now, index, control);
        }
    }

    /// Advances a connection, and handles the result.
    fn advance(&mut self, now: Instant, index: u32, control: &mut impl Allocator) {
        let place = &mut self.places[index as usize];
        let key = token(place.generation, self.part.slot(index));
        let Some(flow) = place.flow.as_mut() else { return };
        match flow.advance(now, key, &mut self.shared, control) {
            Step::Waits => {}
            Step::Again => self.list_again(index),
            Step::Over(outcome) => self.end(now, index, outcome, control),
        }
    }

    fn list_again(&mut self, index: u32) {
        if let Some(flow) = self.places[index as usize].flow.as_mut()
            && !std::mem::replace(&mut flow.listed, true)
        {
            self.list.push_back(index);
        }
    }

    /// Applies changed windows to their connection.
    pub(crate) fn apply(&mut self, key: u64, windows: Windows) {
        let (slot, generation) = place_of(key);
        let index = self.part.index(slot);
        let Some(place) = self.places.get_mut(index as usize) else { return };
        if place.generation == generation
            && let Some(flow) = place.flow.as_mut()
            && flow.apply(windows, &self.shared.leg)
        {
            self.list_again(index);
        }
    }

    /// Takes the connection of a client, and begins one to its server unless there is one in
    /// `server`. None if it has no place; its end is then to be taken.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        client: Socket,
        from: Client,
        server: Option<Socket>,
    ) -> Option<Opened> {
        let mut flow = match Flow::begin(client, from, server, now, &mut self.shared) {
            Ok(flow) => flow,
            Err((outcome, server)) => {
                self.ended.push_back(Ended { client: from, server, outcome, flow: None });
                return None;
            }
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, flow: None });
            (self.places.len() - 1) as u32
        });
        flow.slot = self.part.slot(index);
        let place = &mut self.places[index as usize];
        let key = token(place.generation, flow.slot);
        let watched = watch(&self.epoll, &flow, key);
        let ue = flow.from().host();
        place.flow = Some(Box::new(flow));
        self.open += 1;
        Some(Opened { index, ue, watched: watched.is_ok() })
    }

    /// A connection of another process keeps its place, since its window has the same place.
    pub(crate) fn put(&mut self, flow: Flow) -> nix::Result<ClientHost> {
        let index = self.part.index(flow.slot) as usize;
        while self.places.len() <= index {
            self.places.push(Place { generation: 0, flow: None });
        }
        let place = &mut self.places[index];
        watch(&self.epoll, &flow, token(place.generation, flow.slot))?;
        let ue = flow.from().host();
        place.flow = Some(Box::new(flow));
        self.open += 1;
        Ok(ue)
    }

    /// The connections of another process belong to this one from here on.
    pub(crate) fn begin_again(&mut self, now: Instant, control: &mut impl Allocator) {
        for index in (0..self.places.len() as u32).rev() {
            let place = &mut self.places[index as usize];
            match &mut place.flow {
                Some(flow) => flow.join(now, token(place.generation, flow.slot), control),
                None => self.free.push(index),
            }
        }
    }

    /// Ends a connection; it is reset unless both ends had closed it.
    pub(crate) fn end(
        &mut self,
        now: Instant,
        index: u32,
        outcome: Outcome,
        control: &mut impl Allocator,
    ) {
        let place = &mut self.places[index as usize];
        let Some(mut flow) = place.flow.take() else { return };
        place.generation = place.generation.wrapping_add(1) & u32::MAX >> 1;
        self.free.push(index);
        self.open -= 1;
        flow.up.release(&mut self.shared.pool);
        flow.down.release(&mut self.shared.pool);
        if let Some(member) = flow.member.take() {
            control.close(now, member);
        }
        let bytes = [flow.up.bytes, flow.down.bytes];
        self.ended_bytes = [self.ended_bytes[0] + bytes[0], self.ended_bytes[1] + bytes[1]];
        self.ended.push_back(Ended {
            client: flow.from(),
            server: Some(flow.server_at),
            outcome,
            flow: Some(EndedFlow {
                connected: flow.connected,
                seconds: now.since(flow.opened).as_secs_f64(),
                bytes,
                mss: flow.mss,
            }),
        });
    }

    /// Ends connections that have waited too long.
    pub(crate) fn tick(
        &mut self,
        now: Instant,
        limits: TimeoutsConfig,
        control: &mut impl Allocator,
    ) {
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
                self.end(now, index, outcome, control);
            }
        }
    }

    /// Resets all connections.
    pub(crate) fn end_all(&mut self, now: Instant, control: &mut impl Allocator) {
        for index in 0..self.places.len() as u32 {
            self.end(now, index, Outcome::Ended, control);
        }
    }

    /// The next connection that has ended or could not begin.
    pub(crate) fn next_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// The open connections.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().filter_map(|place| place.flow.as_deref())
    }

    /// The open connections with their keys.
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (u64, &Flow)> {
        self.places.iter().filter_map(|place| {
            let flow = place.flow.as_deref()?;
            Some((token(place.generation, flow.slot), flow))
        })
    }

    /// Sums over all connections. Walks the open ones.
    pub(crate) fn load(&self) -> Load {
        let mut load = Load {
            ended_bytes: self.ended_bytes,
            pipes: self.shared.pool.used(),
            time_waits: self.shared.time_waits,
            ..Load::default()
        };
        for flow in self.flows() {
            load.connected += usize::from(flow.connected);
            load.open_bytes[0] += flow.up.bytes;
            load.open_bytes[1] += flow.down.bytes;
            for (leg, rtt) in [flow.wired, flow.radio].into_iter().enumerate() {
                load.rtts[leg] += rtt.as_secs_f64();
                load.with_rtt[leg] += u64::from(!rtt.is_zero());
            }
        }
        load
    }
}

/// A connection that has a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) index: u32,
    pub(crate) ue: ClientHost,
    /// False if no event of it will come, so it must end.
    pub(crate) watched: bool,
}

fn watch(epoll: &Epoll, flow: &Flow, key: u64) -> nix::Result<()> {
    let flags = EpollFlags::EPOLLIN
        | EpollFlags::EPOLLOUT
        | EpollFlags::EPOLLPRI
        | EpollFlags::EPOLLRDHUP
        | EpollFlags::EPOLLET;
    epoll.add(&flow.client.socket, EpollEvent::new(flags, key))?;
    epoll.add(&flow.server.socket, EpollEvent::new(flags, key | 1))
}

/// The key of a connection, which is also the token of its client leg in events; the token of its
/// server leg has the last bit set.
const fn token(generation: u32, slot: u32) -> u64 {
    (generation as u64) << 32 | (slot as u64) << 1
}

/// Slot and generation in the token of either leg.
pub(crate) const fn place_of(token: u64) -> (u32, u32) {
    ((token >> 1) as u32 & u32::MAX >> 1, (token >> 32) as u32)
}
