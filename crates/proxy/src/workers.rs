//! Workers: processes that relay connections for one proxy. The proxy accepts connections and gives
//! each to the worker with the fewest; it has the control, so all windows of a cell come from one
//! place, and the host's rules, reports, log, status and metrics.
//!
//! Each worker has its own limit of descriptors. The end of a worker resets its connections alone,
//! and another takes its place.

mod order;
mod spawner;
mod words;
mod worker;

pub(crate) use spawner::Spawner;
pub(crate) use words::{Command, Listed, Said, SetUp, State};
pub(crate) use worker::work;

use crate::connections::{Load, Part, place_of};
use crate::line::Line;
use crate::pools::ClientHost;
use justfull_base::{Duration, Instant};
use justfull_rapid::{FlowId, Windows};
use order::{Order, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::Sender;

/// A worker that ended sooner than this after its start is not started again at once.
pub(crate) const LASTS: Duration = Duration::from_millis(500);
/// Requests for lists of connections that wait for workers; the oldest gets no answer.
const REQUESTS: usize = 8;

/// A worker as the proxy sees it.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) part: Part,
    /// None while it does not run.
    pub(crate) line: Option<Line>,
    /// Key and flow of each connection that takes part in the control, by the place in the worker.
    flows: Vec<Option<(u64, FlowId)>>,
    /// Windows that are not yet sent to it, by key, and the mark that follows them.
    windows: BTreeMap<u64, Windows>,
    mark: Option<u64>,
    /// Open connections of each client.
    clients: BTreeMap<ClientHost, usize>,
    /// Open connections.
    pub(crate) open: usize,
    pub(crate) state: State,
    /// Number of starts.
    pub(crate) starts: u64,
    pub(crate) started: Instant,
    /// Its line may hold more.
    pub(crate) more: bool,
}

impl Worker {
    fn new(part: Part) -> Self {
        Self {
            part,
            line: None,
            flows: Vec::new(),
            windows: BTreeMap::new(),
            mark: None,
            clients: BTreeMap::new(),
            open: 0,
            state: State::default(),
            starts: 0,
            started: Instant::ZERO,
            more: false,
        }
    }

    /// It has another connection.
    pub(crate) fn opened(&mut self, client: ClientHost) {
        *self.clients.entry(client).or_insert(0) += 1;
    }

    /// One of its connections has ended.
    pub(crate) fn closed(&mut self, client: ClientHost) {
        self.open = self.open.saturating_sub(1);
        if let Some(count) = self.clients.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.clients.remove(&client);
            }
        }
    }

    /// The flow of a connection.
    pub(crate) fn flow(&self, key: u64) -> Option<FlowId> {
        let (own, flow) = (*self.flows.get(self.part.place(key))?)?;
        (own == key).then_some(flow)
    }

    /// A connection takes part in the control.
    pub(crate) fn joined(&mut self, key: u64, flow: FlowId) {
        let index = self.part.place(key);
        if self.flows.len() <= index {
            self.flows.resize(index + 1, None);
        }
        self.flows[index] = Some((key, flow));
    }

    /// A connection no longer takes part; returns its flow.
    pub(crate) fn left(&mut self, key: u64) -> Option<FlowId> {
        let flow = self.flow(key)?;
        self.flows[self.part.place(key)] = None;
        self.windows.remove(&key);
        Some(flow)
    }

    /// Sends what it has not got, as far as it reads.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(line) = &mut self.line else { return Ok(()) };
        while !line.is_full() {
            let Some((key, windows)) = self.windows.pop_first() else { break };
            line.windows(key, windows);
        }
        if self.windows.is_empty()
            && let Some(mark) = self.mark.take()
        {
            line.mark(mark);
        }
        line.flush()
    }

    /// Sends a command; nothing happens while it does not run.
    pub(crate) fn command(&mut self, what: &Command) {
        if let Some(line) = &mut self.line {
            line.say(what, []);
        }
    }

    /// It has ended. Returns the flows and clients of its connections.
    pub(crate) fn ended(&mut self) -> (Vec<FlowId>, BTreeMap<ClientHost, usize>) {
        let Self { part, starts, started, .. } = *self;
        let new = Self { starts, started, ..Self::new(part) };
        let Self { flows, clients, .. } = std::mem::replace(self, new);
        (flows.into_iter().flatten().map(|(_, flow)| flow).collect(), clients)
    }
}

/// A request for a list of all connections.
#[derive(Debug)]
struct Request {
    number: u64,
    /// Workers that have not answered.
    waits_for: Vec<usize>,
    flows: Vec<Value>,
    reply: Sender<String>,
}

/// All workers of a proxy.
#[derive(Debug)]
pub(crate) struct Workers {
    spawner: Spawner,
    pub(crate) all: Vec<Worker>,
    pub(crate) order: Order,
    /// Most connections of each.
    most: usize,
    requests: VecDeque<Request>,
    requested: u64,
}

impl Workers {
    /// None runs yet.
    pub(crate) fn new(spawner: Spawner, count: u32, most: usize) -> Self {
        let all = (0..count).map(|number| Worker::new(Part { number, of: count })).collect();
        let (order, requests) = (Order::default(), VecDeque::new());
        Self { spawner, all, order, most, requests, requested: 0 }
    }

    /// Starts a process for the worker of this number, and sends it its part with `fds`.
    ///
    /// # Errors
    /// No process can be started.
    pub(crate) fn start(
        &mut self,
        now: Instant,
        number: usize,
        set_up: SetUp,
        fds: Vec<std::os::fd::OwnedFd>,
    ) -> io::Result<&Line> {
        let worker = &mut self.all[number];
        // The pause until the next attempt begins now, also if this attempt fails.
        worker.started = now;
        let (mut line, other) = Line::pair()?;
        self.spawner.spawn(other)?;
        line.say(&Command::SetUp(set_up), fds);
        line.flush()?;
        worker.starts += 1;
        worker.more = true;
        Ok(worker.line.insert(line))
    }

    /// The worker for the next connection: of those with a place and a line that is not full, the
    /// one with the fewest connections.
    pub(crate) fn next(&self) -> Option<usize> {
        let takes = |worker: &Worker| {
            worker.open < self.most && worker.line.as_ref().is_some_and(|line| !line.is_full())
        };
        let free = (0..self.all.len()).filter(|number| takes(&self.all[*number]));
        free.min_by_key(|number| self.all[*number].open)
    }

    /// Open connections of all.
    pub(crate) fn open(&self) -> usize {
        self.all.iter().map(|worker| worker.open).sum()
    }

    /// The part of `places`, the places of all workers, that belongs to running workers.
    pub(crate) fn running_part(&self, places: usize) -> usize {
        let running = self.all.iter().filter(|worker| worker.line.is_some()).count();
        places * running / self.all.len()
    }

    /// True if none runs.
    pub(crate) fn none_runs(&self) -> bool {
        self.all.iter().all(|worker| worker.line.is_none())
    }

    /// The sums of all.
    pub(crate) fn load(&self) -> Load {
        self.all.iter().fold(Load::default(), |sum, worker| sum.plus(&worker.state.load))
    }

    /// New windows for the connection with this key.
    pub(crate) fn change(&mut self, key: u64, windows: Windows) {
        let number = self.number_of(key);
        if let Some(falls) = self.order.change(number, key, windows) {
            self.all[number].windows.insert(key, falls);
        }
    }

    /// The number of the worker with the connection `key`.
    fn number_of(&self, key: u64) -> usize {
        place_of(key).0 as usize % self.all.len()
    }

    /// Queues the marks, and the rises that wait for no worker any more.
    pub(crate) fn rise(&mut self, now: Instant) {
        while let Some(step) = self.order.step(now) {
            match step {
                Step::Mark(mark, workers) => {
                    workers.into_iter().for_each(|at| self.all[at].mark = Some(mark));
                }
                Step::Rise(rises) => {
                    for (key, windows) in rises {
                        let number = self.number_of(key);
                        self.all[number].windows.insert(key, windows);
                    }
                }
            }
        }
    }

    /// Requests the connections of all; `reply` gets the list.
    pub(crate) fn list(&mut self, reply: Sender<String>) {
        self.requested += 1;
        let number = self.requested;
        let runs = |at: &usize| self.all[*at].line.is_some();
        let waits_for: Vec<usize> = (0..self.all.len()).filter(runs).collect();
        waits_for.iter().for_each(|at| self.all[*at].command(&Command::List(number)));
        if self.requests.len() >= REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(Request { number, waits_for, flows: Vec::new(), reply });
        self.answer();
    }

    /// A worker has sent a part of an answer.
    pub(crate) fn listed(&mut self, worker: usize, part: Listed) {
        let Listed { request, flows, last } = part;
        let Some(one) = self.requests.iter_mut().find(|one| one.number == request) else { return };
        one.flows.extend(flows.into_iter().map(|(_, flow)| flow));
        if last {
            one.waits_for.retain(|at| *at != worker);
        }
        self.answer();
    }

    /// Ends the waits for a worker that has ended, and removes its windows.
    pub(crate) fn is_gone(&mut self, worker: usize) {
        let of = self.all.len();
        self.order.gone(worker, |key| place_of(key).0 as usize % of == worker);
        for one in &mut self.requests {
            one.waits_for.retain(|at| *at != worker);
        }
        self.answer();
    }

    /// Answers requests that wait for no worker any more.
    fn answer(&mut self) {
        self.requests.retain_mut(|request| {
            if request.waits_for.is_empty() {
                let flows = Value::Array(std::mem::take(&mut request.flows));
                // The client may have left.
                let _gone = request.reply.send(format!("{flows}\n"));
            }
            !request.waits_for.is_empty()
        });
    }

    /// The workers in `status`.
    pub(crate) fn status(&self) -> Vec<Value> {
        let one = |(number, worker): (usize, &Worker)| {
            json!({
                "worker": number,
                "runs": worker.line.is_some(),
                "process": worker.state.process,
                "flows": worker.open,
                "pipes": worker.state.load.pipes,
                "descriptors": worker.state.descriptors,
                "memory_bytes": worker.state.memory,
                "slowest_turn_s": worker.state.slowest_turn_s,
                "restarts": worker.starts.saturating_sub(1),
            })
        };
        self.all.iter().enumerate().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TimeoutsConfig;
    use crate::radio_leg::RadioLeg;

    #[test]
    fn a_start_that_fails_is_no_restart_and_its_worker_has_no_places() {
        let mut workers = Workers::new(Spawner::gone(), 4, 10);
        let now = Instant::ZERO + LASTS;
        let set_up = SetUp {
            part: workers.all[1].part,
            pipes: 0,
            timeouts: TimeoutsConfig::default(),
            clock: 0,
            leg: RadioLeg::Pacing.state().0,
            predecessor: false,
        };
        assert!(workers.start(now, 1, set_up, Vec::new()).is_err());
        assert_eq!((workers.all[1].starts, workers.all[1].started), (0, now));
        assert_eq!(
            (workers.status()[1]["restarts"].as_u64(), workers.none_runs()),
            (Some(0), true)
        );
        let lines = [0, 2, 3].map(|number| (number, Line::pair().expect("a pair")));
        for (number, (own, _)) in lines {
            workers.all[number].line = Some(own);
        }
        assert_eq!(workers.running_part(8_000), 6_000);
    }
}
