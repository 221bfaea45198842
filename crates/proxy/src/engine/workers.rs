//! The proxy's side of its workers: connections go to them, and their samples to the control.

use super::{Engine, WORKER};
use crate::connections::Ended;
use crate::flow::Outcome;
use crate::line::{Message, Packet, read};
use crate::pools::Client;
use crate::steering::Steering;
use crate::workers::{Command, LASTS, Said, SetUp, Spawner, Worker, Workers};
use justfull_base::{Duration, Instant};
use justfull_net::clock::Clock;
use nix::sys::epoll::{EpollEvent, EpollFlags};
use socket2::Socket;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Packets of one worker read before other events are handled.
const READS: usize = 32;
/// Longest wait for a worker at the end, and in a takeover.
const PATIENCE: Duration = Duration::from_secs(5);

impl Engine {
    /// Makes the workers of the configuration and starts them, each with the stream from its
    /// predecessor if there is one.
    pub(super) fn employ(
        &mut self,
        spawner: Option<Spawner>,
        predecessors: Vec<OwnedFd>,
    ) -> io::Result<()> {
        let Some(spawner) = spawner else { return Ok(()) };
        let count = self.config.limits.workers;
        let most = self.host.limits.most / count as usize;
        self.workers = Some(Workers::new(spawner, count, most));
        let mut predecessors = predecessors.into_iter();
        let now = self.clock.now();
        (0..count as usize).try_for_each(|at| self.start_worker(now, at, predecessors.next()))
    }

    fn start_worker(
        &mut self,
        now: Instant,
        at: usize,
        predecessor: Option<OwnedFd>,
    ) -> io::Result<()> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let (leg, fds) = self.connections.shared.leg.state();
        let fds = fds.into_iter().map(|fd| fd.try_clone_to_owned());
        let mut fds = fds.collect::<io::Result<Vec<OwnedFd>>>()?;
        let set_up = SetUp {
            part: workers.all[at].part,
            pipes: self.host.limits.pipes / self.config.limits.workers,
            timeouts: self.config.timeouts,
            clock: self.clock.origin(),
            leg,
            predecessor: predecessor.is_some(),
        };
        fds.extend(predecessor);
        let line = workers.start(now, at, set_up, fds)?;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        self.connections.epoll.add(line, EpollEvent::new(flags, WORKER + at as u64))?;
        self.guard.no_worker = false;
        Ok(())
    }

    /// New processes have all connections of their predecessors; waits for that.
    pub(super) fn wait_for_adoptions(&mut self) -> io::Result<()> {
        for at in 0..self.worker_count() {
            let packet = self.next_packet(at, PATIENCE)?;
            for message in packet.messages() {
                if let Message::Text(text) = message
                    && let Said::Adopted(count) = read(text)?
                    && let Some(worker) = self.worker(at)
                {
                    worker.open = count;
                }
            }
        }
        Ok(())
    }

    fn next_packet(&mut self, at: usize, patience: Duration) -> io::Result<Packet> {
        let line = self.worker(at).and_then(|worker| worker.line.as_mut());
        line.ok_or_else(|| io::Error::other(format!("worker {at} does not run")))?
            .next(Some(patience))
    }

    /// Number of workers.
    pub(super) fn worker_count(&self) -> usize {
        self.workers.as_ref().map_or(0, |workers| workers.all.len())
    }

    pub(super) fn worker(&mut self, at: usize) -> Option<&mut Worker> {
        self.workers.as_mut()?.all.get_mut(at)
    }

    /// Sends a command to all workers.
    pub(super) fn command_workers(&mut self, what: &Command) {
        for worker in self.workers.iter_mut().flat_map(|workers| &mut workers.all) {
            worker.command(what);
        }
    }

    /// Gives a connection to a worker. Without one it is reset, and false is returned.
    pub(super) fn give(&mut self, client: Socket, from: Client, server: Option<Socket>) -> bool {
        let Some(workers) = &mut self.workers else { return false };
        let Some(at) = workers.next() else {
            self.totals.over_limit += 1;
            return false;
        };
        let (worker, connected) = (&mut workers.all[at], server.is_some());
        if let Some(line) = &mut worker.line {
            let fds = [Some(client), server].into_iter().flatten().map(OwnedFd::from);
            line.say(&Command::Take(from, connected), fds);
        }
        worker.open += 1;
        worker.opened(from.host());
        true
    }

    /// A worker has sent something, or reads again.
    pub(super) fn worker_event(&mut self, at: usize) {
        if let Some(worker) = self.worker(at) {
            worker.more = true;
        }
    }

    /// True if a worker may have sent more.
    pub(super) fn workers_wait(&self) -> bool {
        let all = self.workers.iter().flat_map(|workers| &workers.all);
        all.into_iter().any(|worker| worker.more)
    }

    /// Reads what workers have sent, and sends what they have not got.
    pub(super) fn serve_workers(&mut self, now: Instant) {
        for at in 0..self.worker_count() {
            let read = self.read_worker(now, at);
            self.apply(now);
            if read.is_err() {
                self.worker_ended(now, at);
            }
        }
        self.workers.iter_mut().for_each(|workers| workers.rise(now));
        for at in 0..self.worker_count() {
            if self.worker(at).is_some_and(|worker| worker.flush().is_err()) {
                self.worker_ended(now, at);
            }
        }
    }

    fn read_worker(&mut self, now: Instant, at: usize) -> io::Result<()> {
        for _ in 0..READS {
            let Some(worker) = self.worker(at).filter(|worker| worker.more) else { break };
            let packet = match &mut worker.line {
                Some(line) => line.receive()?,
                None => None,
            };
            match packet {
                Some(packet) => drop(self.take_packet(now, at, &packet)?),
                None => worker.more = false,
            }
        }
        Ok(())
    }

    /// Handles a packet of a worker; true if the worker is frozen now.
    fn take_packet(&mut self, now: Instant, at: usize, packet: &Packet) -> io::Result<bool> {
        let mut frozen = false;
        for message in packet.messages() {
            let Message::Text(text) = message else {
                let Some(workers) = &mut self.workers else { break };
                match message {
                    Message::Mark(mark) => workers.order.answered(at, mark),
                    Message::Close(key) => workers.order.forget(key),
                    _ => {}
                }
                allocate(now, &mut self.steering, &mut workers.all[at], &message);
                continue;
            };
            match read(text)? {
                Said::Ended(ended) => self.worker_closed(now, at, &ended),
                Said::State(state) => {
                    if let Some(worker) = self.worker(at) {
                        worker.state = state;
                    }
                }
                Said::List(mut listed) => {
                    for (key, flow) in &mut listed.flows {
                        let id = self.worker(at).and_then(|worker| worker.flow(*key));
                        self.describe(id, flow);
                    }
                    if let Some(workers) = &mut self.workers {
                        workers.listed(at, listed);
                    }
                }
                Said::Clients(clients) => {
                    for client in clients {
                        self.worker(at).into_iter().for_each(|worker| worker.opened(client));
                        // The rules change at the next tick.
                        let _due = self.guard.opened(client, self.places());
                    }
                }
                Said::Frozen => frozen = true,
                Said::Adopted(_) => {}
            }
        }
        Ok(frozen)
    }

    /// A connection of a worker has ended.
    fn worker_closed(&mut self, now: Instant, at: usize, ended: &Ended) {
        let client = ended.client.host();
        self.worker(at).into_iter().for_each(|worker| worker.closed(client));
        self.guard.closed(client);
        self.account(now, ended);
    }

    /// A worker has ended: the kernel has reset its connections. Another is started.
    fn worker_ended(&mut self, now: Instant, at: usize) {
        let Some(worker) = self.worker(at) else { return };
        let (open, load) = (worker.open, worker.state.load);
        let line = worker.line.take();
        let lasted = now.since(worker.started) >= LASTS;
        let (flows, clients) = worker.ended();
        if let Some(line) = line {
            // The kernel forgets a line that is closed.
            let _forgotten = self.connections.epoll.delete(line.as_fd());
        }
        flows.into_iter().for_each(|flow| self.steering.close(now, flow));
        for (client, count) in clients {
            (0..count).for_each(|_| self.guard.closed(client));
        }
        self.totals.ended[Outcome::Ended as usize] += open as u64;
        for way in 0..2 {
            self.totals.bytes[way] += load.open_bytes[way] + load.ended_bytes[way];
        }
        self.log.note("worker", &format!("{at} has ended, and {open} connections with it"));
        self.workers.iter_mut().for_each(|workers| workers.is_gone(at));
        self.guard.no_worker = self.workers.as_ref().is_some_and(Workers::none_runs);
        if lasted {
            self.replace_worker(now, at);
        }
        self.divert(now);
    }

    fn replace_worker(&mut self, now: Instant, at: usize) {
        if self.drain_until.is_some() {
            return;
        }
        match self.start_worker(now, at, None) {
            Ok(()) => self.log.note("worker", &format!("{at} is started again")),
            Err(error) => self.log.note("worker", &format!("{at} cannot be started: {error}")),
        }
    }

    /// Starts workers that ended soon after their start.
    pub(super) fn replace_workers(&mut self, now: Instant) {
        for at in 0..self.worker_count() {
            let due =
                |worker: &mut Worker| worker.line.is_none() && now.since(worker.started) >= LASTS;
            if self.worker(at).is_some_and(due) {
                self.replace_worker(now, at);
            }
        }
    }

    /// Ends all workers in parallel, and reads their last messages.
    pub(super) fn end_workers(&mut self, now: Instant) {
        self.command_workers(&Command::End);
        for worker in self.workers.iter_mut().flat_map(|workers| &mut workers.all) {
            // Each worker gets the command before this process waits for one of them.
            let _gone = worker.flush();
        }
        let until = self.clock.now() + PATIENCE;
        for at in 0..self.worker_count() {
            let left = until.since(self.clock.now());
            let line = self.worker(at).and_then(|worker| worker.line.as_mut());
            let flushed = line.map_or(Ok(()), |line| line.flush_all(left));
            // The end of the worker is the end of its line.
            let mut more = flushed.is_ok();
            while more {
                let left = until.since(self.clock.now());
                let packet = self.next_packet(at, left);
                more = packet.is_ok_and(|packet| self.take_packet(now, at, &packet).is_ok());
            }
        }
    }

    /// Stops all workers, each with the stream to its successor: they touch no connection until
    /// they resume. Their last ends are counted.
    pub(super) fn freeze_workers(
        &mut self,
        now: Instant,
        streams: impl Iterator<Item = OwnedFd>,
    ) -> io::Result<()> {
        for (at, stream) in streams.enumerate() {
            let gone = || io::Error::other(format!("worker {at} does not run"));
            let line = self.worker(at).and_then(|worker| worker.line.as_mut()).ok_or_else(gone)?;
            line.say(&Command::HandOver, [stream]);
            line.flush_all(PATIENCE)?;
        }
        for at in 0..self.worker_count() {
            loop {
                let packet = self.next_packet(at, PATIENCE)?;
                if self.take_packet(now, at, &packet)? {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Gives a message about a connection of `worker` to the control.
fn allocate(now: Instant, steering: &mut Steering, worker: &mut Worker, message: &Message<'_>) {
    match *message {
        Message::Open { key, client, ref opening } => {
            if let Some(flow) = steering.open(now, client, key, opening) {
                worker.joined(key, flow);
            }
        }
        Message::Sample { key, ref sample } => {
            worker.flow(key).into_iter().for_each(|flow| steering.sample(now, flow, sample));
        }
        Message::Hold(key) => {
            worker.flow(key).into_iter().for_each(|flow| steering.hold(flow));
        }
        Message::Close(key) => {
            worker.left(key).into_iter().for_each(|flow| steering.close(now, flow));
        }
        Message::Windows { .. } | Message::Mark(_) | Message::Text(_) => {}
    }
}
