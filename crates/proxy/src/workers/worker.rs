//! A worker: the loop of a process that relays its part of the connections. Samples go to the
//! proxy, and windows come from it.

use super::words::{Command, Listed, Said, SetUp, State};
use crate::config::{ProxyConfig, TimeoutsConfig};
use crate::connections::{Connections, EVENTS, SCRATCH, TICK};
use crate::flow::{Flow, FlowState, Outcome, Shared};
use crate::handover;
use crate::line::{Line, Message, Packet, read};
use crate::pools::{Client, ClientHost, Pools};
use crate::radio_leg::RadioLeg;
use crate::relay::Pool;
use crate::system::memory;
use crate::turns::Turns;
use justfull_base::{Duration, Instant};
use justfull_net::clock::{Clock, SlotClock};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use socket2::Socket;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// The token of the line.
const LINE: u64 = u64::MAX;
/// Packets read before the connections are served again.
const READS: usize = 32;
/// Connections in one message.
const CHUNK: usize = 50;
/// Longest wait until the proxy reads.
const PATIENCE: Duration = Duration::from_secs(5);

struct Worker {
    connections: Connections,
    line: Line,
    clock: SlotClock,
    timeouts: TimeoutsConfig,
    turns: Turns,
    next_tick: Instant,
    /// Connections belong to another process until the proxy decides.
    frozen: bool,
    ends: bool,
}

/// Relays connections until the proxy ends or commands the end, which resets them.
pub(crate) fn work(config: &ProxyConfig, mut line: Line) -> io::Result<()> {
    let packet = line.next(None)?;
    let first = packet.messages().next();
    let Some(Message::Text(text)) = first else { return Err(io::ErrorKind::InvalidData.into()) };
    let Command::SetUp(set_up) = read(text)? else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut fds = packet.fds.into_iter();
    let mut worker = Worker::new(config, line, set_up, &mut fds)?;
    if let Some(stream) = fds.next() {
        worker.adopt(stream)?;
    }
    worker.run()
}

impl Worker {
    fn new(
        config: &ProxyConfig,
        line: Line,
        set_up: SetUp,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> io::Result<Self> {
        let leg = RadioLeg::adopt(&set_up.leg, config.control.loss(), fds)?;
        let pipe = i32::try_from(config.limits.pipe.0).unwrap_or(i32::MAX);
        let shared = Shared {
            pool: Pool::new(set_up.pipes, pipe),
            scratch: vec![0; SCRATCH],
            time_waits: 0,
            leg,
            turn: Duration::ZERO,
            pools: Pools::of(config),
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let both = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        epoll.add(&line, EpollEvent::new(both, LINE))?;
        Ok(Self {
            connections: Connections::new(shared, epoll, set_up.part),
            line,
            clock: SlotClock::at(set_up.clock),
            timeouts: set_up.timeouts,
            turns: Turns::default(),
            next_tick: Instant::ZERO,
            frozen: false,
            ends: false,
        })
    }

    /// Receives the connections of a predecessor, and begins with them at the proxy's command.
    fn adopt(&mut self, stream: OwnedFd) -> io::Result<()> {
        let mut from = handover::Line::new(UnixStream::from(stream))?;
        let (count, _none): (usize, _) = from.receive()?;
        let mut clients: Vec<ClientHost> = Vec::with_capacity(count);
        for _ in 0..count {
            let (state, fds): (FlowState, _) = from.receive()?;
            let flow = Flow::restore(&state, fds, &mut self.connections.shared.pool);
            let missing = || io::Error::other("a descriptor is missing");
            clients.push(self.connections.put(flow.ok_or_else(missing)?)?);
        }
        self.line.say(&Said::Adopted(count), []);
        self.line.flush_all(PATIENCE)?;
        self.frozen = true;
        while self.frozen {
            let (packet, now) = (self.line.next(None)?, self.clock.now());
            self.obey(now, packet)?;
        }
        let now = self.clock.now();
        for some in clients.chunks(CHUNK) {
            self.line.say(&Said::Clients(some.to_vec()), []);
        }
        self.connections.begin_again(now, &mut self.line);
        Ok(())
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let mut now = self.clock.now();
        let mut more = true;
        while !self.ends {
            let began = std::mem::replace(&mut now, self.clock.now());
            self.connections.shared.turn = now.since(began);
            self.turns.took(now, now.since(began));
            let wait = self.next_tick.since(now).as_nanos().div_ceil(1_000_000).min(1_000) as u16;
            let wait = if more || self.connections.listed() > 0 { 0 } else { wait };
            let count = match self.connections.epoll.wait(&mut events, EpollTimeout::from(wait)) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            now = self.clock.now();
            for event in &events[..count] {
                match event.data() {
                    LINE => more = true,
                    token => self.connections.event(now, token, event.events(), &mut self.line),
                }
            }
            for _ in 0..self.connections.listed() {
                self.connections.next_turn(now, &mut self.line);
            }
            if more {
                more = self.listen(now)?;
            }
            if now >= self.next_tick {
                self.next_tick = now + TICK;
                self.connections.tick(now, self.timeouts, &mut self.line);
                self.report(now);
            }
            self.report_ends();
            self.line.flush()?;
        }
        self.line.flush_all(PATIENCE)
    }

    /// Reads from the line; true if there may be more.
    fn listen(&mut self, now: Instant) -> io::Result<bool> {
        for _ in 0..READS {
            let Some(packet) = self.line.receive()? else { return Ok(false) };
            self.obey(now, packet)?;
            while self.frozen {
                let packet = self.line.next(None)?;
                self.obey(now, packet)?;
            }
        }
        Ok(true)
    }

    fn obey(&mut self, now: Instant, mut packet: Packet) -> io::Result<()> {
        let mut fds = std::mem::take(&mut packet.fds);
        for message in packet.messages() {
            match message {
                Message::Windows { key, windows } => self.connections.apply(key, windows),
                Message::Mark(mark) => self.line.mark(mark),
                Message::Text(text) => match read(text)? {
                    Command::Take(from, connected) => {
                        let client = fds.pop_front();
                        let server = if connected { fds.pop_front() } else { None };
                        self.take(now, client, server, from);
                    }
                    Command::Timeouts(timeouts) => self.timeouts = timeouts,
                    Command::List(request) => self.list(now, request),
                    Command::HandOver => self.hand_over(now, fds.pop_front())?,
                    Command::Begin | Command::Resume => self.frozen = false,
                    Command::End => {
                        self.connections.end_all(now, &mut self.line);
                        self.ends = true;
                    }
                    Command::SetUp(_) => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        now: Instant,
        client: Option<OwnedFd>,
        server: Option<OwnedFd>,
        from: Client,
    ) {
        let (Some(client), server) = (client, server.map(Socket::from)) else { return };
        if let Some(opened) = self.connections.begin(now, Socket::from(client), from, server)
            && !opened.watched
        {
            self.connections.end(now, opened.index, Outcome::NoResources, &mut self.line);
        }
    }

    fn list(&mut self, now: Instant, request: u64) {
        let all: Vec<_> =
            self.connections.keyed().map(|(key, flow)| (key, flow.shown(now))).collect();
        for some in all.chunks(CHUNK) {
            let listed = Listed { request, flows: some.to_vec(), last: false };
            self.line.say(&Said::List(listed), []);
        }
        self.line.say(&Said::List(Listed { request, flows: Vec::new(), last: true }), []);
    }

    fn report(&mut self, now: Instant) {
        let state = State {
            process: std::process::id(),
            load: self.connections.load(),
            slowest_turn_s: self.turns.longest(now).as_secs_f64(),
            memory: memory(),
            descriptors: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
        };
        self.line.say(&Said::State(state), []);
    }

    fn report_ends(&mut self) {
        while let Some(ended) = self.connections.next_ended() {
            self.line.say(&Said::Ended(ended), []);
        }
    }

    /// Sends all connections to a successor. Nothing of them is touched until the proxy resumes
    /// this worker; if the proxy ends instead, they are the successor's.
    fn hand_over(&mut self, now: Instant, to: Option<OwnedFd>) -> io::Result<()> {
        self.frozen = true;
        self.report_ends();
        self.report(now);
        self.line.say(&Said::Frozen, []);
        self.line.flush_all(PATIENCE)?;
        // Without the connections the successor gives up, and the proxy resumes this worker.
        let _gone = to.map(|to| self.send_all(to));
        Ok(())
    }

    fn send_all(&self, to: OwnedFd) -> io::Result<()> {
        let mut to = handover::Line::new(UnixStream::from(to))?;
        to.send(&self.connections.open, &[])?;
        self.connections.flows().try_for_each(|flow| to.send(&flow.state(), &flow.descriptors()))
    }
}
