//! A path for the tests: a bottleneck with a finite buffer, a fixed delay each way, and chance
//! losses, marks, detours and duplicates.

use justfull_base::{BitRate, Duration, Instant, Rng};
use justfull_tcp::segment::HEADER_BYTES;
use justfull_tcp::{Ack, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
use std::collections::BTreeMap;

/// The properties of the path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) rate: BitRate,
    pub(crate) one_way: Duration,
    pub(crate) buffer: u64,
    pub(crate) loss: f64,
    pub(crate) ack_loss: f64,
    pub(crate) detour: f64,
    /// Chance that a segment arrives twice.
    pub(crate) twice: f64,
    /// Chance that a later acknowledgement overtakes an acknowledgement.
    pub(crate) ack_detour: f64,
    /// Chance that an acknowledgement arrives twice.
    pub(crate) ack_twice: f64,
    pub(crate) mark_above: u64,
    pub(crate) seed: u64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            rate: BitRate(12_000_000),
            one_way: Duration::from_millis(20),
            buffer: 100_000,
            loss: 0.0,
            ack_loss: 0.0,
            detour: 0.0,
            twice: 0.0,
            ack_detour: 0.0,
            ack_twice: 0.0,
            mark_above: u64::MAX,
            seed: 1,
        }
    }
}

#[derive(Clone)]
enum Arrival {
    Data(Segment, bool),
    Ack(Ack),
    ReceiverTimer,
    SenderTimer,
}

/// A sender, a path and a receiver.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) now: Instant,
    path: Path,
    rng: Rng,
    /// Future events, by time and order of creation.
    agenda: BTreeMap<(Instant, u64), Arrival>,
    made: u64,
    busy_until: Instant,
    window_end: u64,
    armed: (Option<Instant>, Option<Instant>),
    pub(crate) drops: u64,
    pub(crate) digest: u64,
    /// Longest wait in the bottleneck.
    pub(crate) longest_queue: Duration,
    /// True while no packet passes.
    pub(crate) held_back: bool,
}

impl World {
    pub(crate) fn new(mut sender: Sender, receiver: &ReceiverConfig, path: &Path) -> Self {
        let mut receiver = Receiver::new(receiver).expect("the settings are valid");
        sender.settle(&mut receiver);
        Self {
            sender,
            receiver,
            now: Instant::from_nanos(1),
            path: path.clone(),
            rng: Rng::stream(path.seed, "path"),
            agenda: BTreeMap::new(),
            made: 0,
            busy_until: Instant::ZERO,
            window_end: 65_536,
            armed: (None, None),
            drops: 0,
            digest: 0,
            longest_queue: Duration::ZERO,
            held_back: false,
        }
    }

    pub(crate) fn with(config: &SenderConfig, path: &Path) -> Self {
        Self::new(
            Sender::new(config).expect("the settings are valid"),
            &ReceiverConfig::default(),
            path,
        )
    }

    fn plan(&mut self, at: Instant, arrival: Arrival) {
        self.made += 1;
        self.agenda.insert((at, self.made), arrival);
    }

    /// Sends all segments that may leave, under the checks for every control.
    pub(crate) fn pump(&mut self) {
        loop {
            let cwnd = self.sender.cwnd();
            let in_flight = self.sender.in_flight();
            let probes = self.sender.stats().tail_probes;
            assert!(cwnd >= u64::from(self.sender.mss()), "cwnd {cwnd} is below one segment");
            let Some(segment) = self.sender.poll_transmit(self.now) else { break };
            if segment.len > 0 && !segment.retransmission {
                let end = in_flight + u64::from(segment.len);
                let probe = self.sender.stats().tail_probes > probes;
                assert!(end <= cwnd || in_flight == 0 || probe, "{end} in flight with cwnd {cwnd}");
                assert!(segment.end() <= self.window_end, "beyond the advertised window");
            }
            self.digest = justfull_base::rng::mix(self.digest ^ segment.seq ^ self.now.as_nanos());
            self.send(segment);
        }
        self.arm();
    }

    fn send(&mut self, segment: Segment) {
        let free = self.busy_until.max(self.now);
        let waiting = free.since(self.now);
        let queued = self.path.rate.bytes_in_floor(waiting);
        let wire = u64::from(segment.len + HEADER_BYTES);
        if self.held_back || queued + wire > self.path.buffer || self.rng.chance(self.path.loss) {
            self.drops += 1;
            return;
        }
        self.longest_queue = self.longest_queue.max(waiting);
        self.busy_until = free + self.path.rate.time_for_ceil(wire);
        let mut at = self.busy_until + self.path.one_way;
        if self.rng.chance(self.path.detour) {
            at += Duration::from_micros(self.rng.below(10_000));
        }
        let marked = segment.ecn.is_capable() && queued > self.path.mark_above;
        self.plan(at, Arrival::Data(segment, marked));
        if self.path.twice > 0.0 && self.rng.chance(self.path.twice) {
            let later = Duration::from_micros(self.rng.below(30_000));
            self.plan(at + later, Arrival::Data(segment, marked));
        }
    }

    fn reply(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack.filter(|_| !self.rng.chance(self.path.ack_loss)) else { return };
        let mut at = self.now + self.path.one_way;
        if self.path.ack_detour > 0.0 && self.rng.chance(self.path.ack_detour) {
            at += Duration::from_micros(self.rng.below(10_000));
        }
        self.plan(at, Arrival::Ack(ack));
        if self.path.ack_twice > 0.0 && self.rng.chance(self.path.ack_twice) {
            let later = Duration::from_micros(self.rng.below(30_000));
            self.plan(at + later, Arrival::Ack(ack));
        }
    }

    fn arm(&mut self) {
        let (sender, receiver) = (self.sender.next_timer(), self.receiver.next_timer());
        if sender != self.armed.0 {
            self.armed.0 = sender;
            if let Some(at) = sender {
                self.plan(at.max(self.now), Arrival::SenderTimer);
            }
        }
        if receiver != self.armed.1 {
            self.armed.1 = receiver;
            if let Some(at) = receiver {
                self.plan(at.max(self.now), Arrival::ReceiverTimer);
            }
        }
    }

    /// One event; false when nothing is planned.
    pub(crate) fn step(&mut self) -> bool {
        let Some(((at, _), arrival)) = self.agenda.pop_first() else { return false };
        self.now = at;
        match arrival {
            Arrival::Data(segment, ce) => {
                let ack = self.receiver.on_segment(at, &segment, ce);
                self.reply(ack);
                self.arm();
                return true;
            }
            Arrival::Ack(ack) => {
                if ack.cumulative >= self.sender.acked_bytes() {
                    self.window_end = ack.cumulative + ack.window;
                }
                self.sender.on_ack(at, &ack);
            }
            Arrival::ReceiverTimer => {
                self.armed.1 = None;
                let ack = self.receiver.on_timer(at);
                self.reply(ack);
            }
            Arrival::SenderTimer => {
                self.armed.0 = None;
                self.sender.on_timer(at);
            }
        }
        self.pump();
        true
    }

    /// The bottleneck pauses for `time`; its packets wait longer.
    pub(crate) fn stall(&mut self, time: Duration) {
        self.busy_until = self.busy_until.max(self.now) + time;
        let coming = std::mem::take(&mut self.agenda);
        for ((at, order), arrival) in coming {
            let later = if matches!(arrival, Arrival::Data(..)) { at + time } else { at };
            self.agenda.insert((later, order), arrival);
        }
    }

    /// Runs for `time`.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.pump();
        while self.agenda.first_key_value().is_some_and(|(key, _)| key.0 <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Sends `bytes` and runs until all are acknowledged; returns the time taken.
    pub(crate) fn transfer(&mut self, bytes: u64, limit: Duration) -> Duration {
        let start = self.now;
        self.sender.write(bytes);
        self.sender.close();
        self.pump();
        while !self.sender.all_acked() {
            assert!(self.step(), "nothing more will happen: {:?}", self.sender.snapshot());
            assert!(self.now.since(start) < limit, "too long: {:?}", self.sender.snapshot());
        }
        assert!(self.receiver.delivered_bytes() >= bytes);
        assert_eq!(self.receiver.delivered_bytes(), self.sender.acked_bytes());
        assert_eq!(self.receiver.gaps(), 0);
        assert_eq!(self.sender.in_flight(), 0);
        self.now.since(start)
    }
}
