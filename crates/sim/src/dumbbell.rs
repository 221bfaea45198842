//! A dumbbell: TCP flows over one bottleneck, without a cell. `justfull validate` uses it to
//! compare congestion controls with published formulas.
//!
//! ```text
//! sender 0 -- access link --+                                            +-- receiver 0
//! sender 1 -- access link --+-- FIFO, limited -- bottleneck -- losses ---+-- receiver 1
//!      ^                                                                        |
//!      +------------------ acknowledgements, delayed by the flow's RTT ---------+
//! ```
//! All propagation delay is on the return path. Only acknowledgements inform a sender about its
//! packets, so the place of the delay in the loop does not matter to it; only the receiver's clock
//! is earlier by the forward delay.
//!
//! At one instant components act in the order acknowledgements, senders, access links, bottleneck,
//! receivers, samples.

mod config;
mod loss;
mod series;

pub use config::{DumbbellConfig, DumbbellFlow};
pub use loss::Loss;
pub use series::{Sample, Series};

use justfull_base::event::Silent;
use justfull_base::rng::stream_key;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Layer, Packet};
use justfull_queue::{ManagedQueue, QueueConfig};
use justfull_run::timers::Timers;
use justfull_run::wire::Wire;
use justfull_tcp::{Ack, Receiver, Segment, Sender, SenderStats};
use loss::LossState;
use std::collections::VecDeque;

/// Observes a dumbbell. All methods do nothing by default. It is called through a reference, so
/// that the dumbbell is compiled only once, here.
pub trait Observer {
    /// `flow` sends `segment`.
    #[inline]
    fn sent(&mut self, _now: Instant, _flow: u32, _segment: &Segment) {}

    /// `ack` has reached the sender of `flow`, which has processed it but not yet responded.
    #[inline]
    fn acknowledged(&mut self, _now: Instant, _flow: u32, _ack: &Ack, _sender: &Sender) {}

    /// `segment` of `flow` was lost, on the wire or to the full queue.
    #[inline]
    fn lost(&mut self, _now: Instant, _flow: u32, _segment: &Segment) {}

    /// Called every [`DumbbellConfig::sample_every`] for each flow, with its sender and the bytes
    /// delivered in order to its receiver.
    #[inline]
    fn sampled(&mut self, _now: Instant, _flow: u32, _sender: &Sender, _delivered: u64) {}
}

/// Ignores everything.
impl Observer for () {}

/// The outcome of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Payload bytes delivered in order to the receiver.
    pub delivered: u64,
    /// When the last byte of a flow of limited size was acknowledged.
    pub completed: Option<Instant>,
    /// Packets dropped by the full queue.
    pub queue_drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// The sender's counters.
    pub stats: SenderStats,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// End of the run: the configured duration, or the completion of all flows if each has a size.
    pub ended: Instant,
    /// The flows, in the order of the configuration.
    pub flows: Vec<FlowOutcome>,
    /// Packets that the bottleneck carried, including those lost behind it.
    pub carried: u64,
    /// Number of component calls.
    pub component_calls: u64,
}

/// Both ends of a flow, and its server's link.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    access: Option<Wire<Segment>>,
    /// Index of its return path in [`Dumbbell::back`].
    way: u32,
    size: Option<u64>,
    started: bool,
    completed: Option<Instant>,
    loss: LossState,
    marks: LossState,
    queue_drops: u64,
    wire_losses: u64,
}

/// The bottleneck: the queue, the packet in transmission, and the segments of both, in the same
/// order.
struct Bottleneck {
    rate: BitRate,
    queue: ManagedQueue,
    segments: VecDeque<Segment>,
    /// The flow whose packet is in transmission.
    sending: u32,
    /// The end of the current transmission; never while idle.
    done: Instant,
    /// Size and transmission time of the last packet, as in [`Wire`].
    last: (u32, Duration),
}

/// A dumbbell that has been built and can be run once.
pub struct Dumbbell {
    config: DumbbellConfig,
    flows: Vec<Flow>,
    link: Bottleneck,
    /// One return path for each distinct RTT.
    back: Vec<Wire<(u32, Ack)>>,
    sender_timers: Timers,
    receiver_timers: Timers,
    sample_at: Instant,
    /// Number of flows that are not complete; a flow without a size is never complete.
    open: usize,
    carried: u64,
    calls: u64,
}

impl Dumbbell {
    /// Builds the dumbbell of `config`.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn new(config: &DumbbellConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let members = config.flows.len();
        let mut rtts: Vec<Duration> = config.flows.iter().map(|flow| flow.rtt).collect();
        rtts.sort_unstable();
        rtts.dedup();
        let mut sender_timers = Timers::new(members);
        let mut flows = Vec::with_capacity(members);
        for (i, flow) in config.flows.iter().enumerate() {
            let key = stream_key(config.seed, &format!("tcp.{i}"));
            sender_timers.arm(i as u32, Instant::ZERO + flow.start);
            let within = |e: ConfigError| e.within(&format!("flow[{i}]"));
            let mut sender =
                Sender::with_key(&flow.sender, key).map_err(|e| within(e.within("sender")))?;
            let mut receiver =
                Receiver::new(&flow.receiver).map_err(|e| within(e.within("receiver")))?;
            sender.settle(&mut receiver);
            flows.push(Flow {
                sender,
                receiver,
                access: (flow.access_rate.0 > 0)
                    .then(|| Wire::new(flow.access_rate, Duration::ZERO)),
                way: rtts.iter().position(|rtt| *rtt == flow.rtt).unwrap_or(0) as u32,
                size: flow.size.map(|size| size.0),
                started: false,
                completed: None,
                loss: LossState::new(&config.loss, config.seed, "loss", i),
                marks: LossState::new(&config.marks, config.seed, "marks", i),
                queue_drops: 0,
                wire_losses: 0,
            });
        }
        let queue = ManagedQueue::new(Layer::Upf, &QueueConfig::tail_drop(config.limit), 0)?;
        Ok(Self {
            flows,
            link: Bottleneck {
                rate: config.rate,
                queue,
                segments: VecDeque::new(),
                sending: 0,
                done: Instant::NEVER,
                last: (0, Duration::ZERO),
            },
            back: rtts.into_iter().map(|rtt| Wire::new(BitRate(0), rtt)).collect(),
            sender_timers,
            receiver_timers: Timers::new(members),
            sample_at: config.first_sample(),
            open: members,
            carried: 0,
            calls: 0,
            config: config.clone(),
        })
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// If packets are not conserved, which is a bug.
    pub fn run(mut self, observer: &mut dyn Observer) -> Outcome {
        let end = Instant::ZERO + self.config.duration;
        let mut now = Instant::ZERO;
        while self.open > 0 {
            let next = self.step(end, observer);
            if next > end {
                now = end;
                break;
            }
            now = next;
        }
        self.finish(now)
    }

    /// Lets the component that is due first act. Returns the instant, which is beyond `end` after
    /// the end of the run.
    #[inline]
    fn step(&mut self, end: Instant, observer: &mut dyn Observer) -> Instant {
        let acks = self.back.iter().map(Wire::next).min().unwrap_or(Instant::NEVER);
        let senders = self.sender_timers.next();
        let access =
            self.flows.iter().filter_map(|flow| flow.access.as_ref()).map(Wire::next).min();
        let access = access.unwrap_or(Instant::NEVER);
        let receivers = self.receiver_timers.next();
        let now =
            acks.min(senders).min(access).min(self.link.done).min(receivers).min(self.sample_at);
        if now > end {
            return now;
        }
        self.calls += 1;
        if acks == now {
            self.acknowledge(now, observer);
        } else if senders == now {
            self.wake_sender(now, observer);
        } else if access == now {
            self.arrive(now, observer);
        } else if self.link.done == now {
            self.depart(now, observer);
        } else if receivers == now {
            self.wake_receiver(now);
        } else {
            self.sample(now, observer);
        }
        now
    }

    /// Acknowledgements reach their senders.
    fn acknowledge(&mut self, now: Instant, observer: &mut dyn Observer) {
        for way in 0..self.back.len() {
            while let Some((i, ack)) = self.back[way].pop(now) {
                let flow = &mut self.flows[i as usize];
                flow.sender.on_ack(now, &ack);
                observer.acknowledged(now, i, &ack, &flow.sender);
                if flow.completed.is_none() && flow.size == Some(flow.sender.acked_bytes()) {
                    flow.completed = Some(now);
                    self.open -= 1;
                }
                self.transmit(now, i, observer);
            }
        }
    }

    fn wake_sender(&mut self, now: Instant, observer: &mut dyn Observer) {
        let Some(i) = self.sender_timers.pop(now) else { return };
        let flow = &mut self.flows[i as usize];
        if !flow.started {
            flow.started = true;
            flow.sender.write(flow.size.unwrap_or(u64::MAX));
        }
        flow.sender.on_timer(now);
        self.transmit(now, i, observer);
    }

    /// Sends the segments that sender `i` may send now.
    #[inline]
    fn transmit(&mut self, now: Instant, i: u32, observer: &mut dyn Observer) {
        let flow = &mut self.flows[i as usize];
        while let Some(segment) = flow.sender.poll_transmit(now) {
            observer.sent(now, i, &segment);
            if let Some(access) = &mut flow.access {
                access.push(now, segment.len + flow.sender.header(), segment);
            } else if !self.link.offer(now, i, flow.sender.header(), &segment) {
                flow.queue_drops += 1;
                observer.lost(now, i, &segment);
            }
        }
        if let Some(at) = flow.sender.next_timer() {
            self.sender_timers.arm(i, at);
        }
    }

    /// Segments arrive at the queue from their access links.
    fn arrive(&mut self, now: Instant, observer: &mut dyn Observer) {
        for (i, flow) in self.flows.iter_mut().enumerate() {
            let Some(access) = &mut flow.access else { continue };
            while let Some(segment) = access.pop(now) {
                if !self.link.offer(now, i as u32, flow.sender.header(), &segment) {
                    flow.queue_drops += 1;
                    observer.lost(now, i as u32, &segment);
                }
            }
        }
    }

    /// A packet has left the bottleneck: it is lost, or reaches its receiver.
    #[inline]
    fn depart(&mut self, now: Instant, observer: &mut dyn Observer) {
        let Some((i, segment)) = self.link.depart(now) else { return };
        self.carried += 1;
        let flow = &mut self.flows[i as usize];
        if flow.loss.takes_next() {
            flow.wire_losses += 1;
            observer.lost(now, i, &segment);
            return;
        }
        let ce = segment.ecn.is_capable() && flow.marks.takes_next();
        let ack = flow.receiver.on_segment(now, &segment, ce);
        self.answer(now, i, ack);
    }

    fn wake_receiver(&mut self, now: Instant) {
        let Some(i) = self.receiver_timers.pop(now) else { return };
        let ack = self.flows[i as usize].receiver.on_timer(now);
        self.answer(now, i, ack);
    }

    #[inline]
    fn answer(&mut self, now: Instant, i: u32, ack: Option<Ack>) {
        let flow = &self.flows[i as usize];
        if let Some(ack) = ack {
            self.back[flow.way as usize].push(now, flow.sender.ack_size(), (i, ack));
        }
        if let Some(at) = flow.receiver.next_timer() {
            self.receiver_timers.arm(i, at);
        }
    }

    fn sample(&mut self, now: Instant, observer: &mut dyn Observer) {
        for (i, flow) in self.flows.iter().enumerate() {
            observer.sampled(now, i as u32, &flow.sender, flow.receiver.delivered_bytes());
        }
        self.sample_at = now + self.config.sample_every;
    }

    fn finish(self, ended: Instant) -> Outcome {
        self.link.queue.assert_conserved();
        let flows = self.flows.into_iter().map(|flow| FlowOutcome {
            delivered: flow.receiver.delivered_bytes(),
            completed: flow.completed,
            queue_drops: flow.queue_drops,
            wire_losses: flow.wire_losses,
            stats: flow.sender.stats().clone(),
        });
        Outcome {
            ended,
            flows: flows.collect(),
            carried: self.carried,
            component_calls: self.calls,
        }
    }
}

impl Bottleneck {
    /// Offers `segment` of `flow` to the queue; true if the queue admits it.
    #[inline]
    fn offer(&mut self, now: Instant, flow: u32, header: u32, segment: &Segment) -> bool {
        let size = segment.len + header;
        let packet = Packet { flow, size, ecn: segment.ecn, ..Packet::default() };
        let admitted = self.queue.enqueue(now, packet, &mut Silent);
        if admitted {
            self.segments.push_back(*segment);
            if self.done == Instant::NEVER {
                self.send_next(now);
            }
        }
        admitted
    }

    /// The packet whose transmission ended by `now`; starts the next one.
    #[inline]
    fn depart(&mut self, now: Instant) -> Option<(u32, Segment)> {
        let flow = self.sending;
        let segment = self.segments.pop_front()?;
        self.send_next(now);
        Some((flow, segment))
    }

    #[inline]
    fn send_next(&mut self, now: Instant) {
        let Some(next) = self.queue.dequeue(now, &mut Silent) else {
            self.done = Instant::NEVER;
            return;
        };
        if self.last.0 != next.size {
            self.last = (next.size, self.rate.time_for_ceil(u64::from(next.size)));
        }
        self.done = now + self.last.1;
        self.sending = next.flow;
    }
}

#[cfg(test)]
mod tests;
