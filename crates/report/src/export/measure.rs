//! The measurements of flent and irtt, collected during a run: goodput and round-trip times of each
//! flow by time step, and every datagram of the datagram flows.
//!
//! Memory grows with the number of steps and of datagrams, not with TCP segments.

use super::facts::{RunFacts, SlotUnit};
use justfull_base::{Duration, Event, Instant, Layer, Packet};
use std::collections::BTreeMap;

/// One datagram from the server to the UE or, if the UE sends the requests, to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Time of sending.
    pub sent: Instant,
    /// Time of arrival at the other end; none if it was dropped or is still in transit.
    pub arrived: Option<Instant>,
    /// Time of arrival of the reply.
    pub replied: Option<Instant>,
    /// The datagram or its reply was dropped on the way down.
    pub dropped: bool,
}

impl Trip {
    /// Delay to the other end.
    #[must_use]
    pub fn one_way(&self) -> Option<Duration> {
        Some(self.arrived?.since(self.sent))
    }

    /// Delay to the other end and back.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        Some(self.replied?.since(self.sent))
    }
}

/// Round-trip times of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepRtt {
    /// Number of samples.
    pub count: u64,
    /// Sum of the samples in ns.
    pub sum: u64,
}

/// Measurements of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowMeasure {
    /// New payload that reached the receiver, in bytes, by step.
    pub received: Vec<u64>,
    /// Samples of a TCP sender by step.
    pub rtt: Vec<StepRtt>,
    /// Every datagram, in order of entry; empty for TCP.
    pub trips: Vec<Trip>,
}

/// Measurements of one run.
pub struct Measurements {
    step: Duration,
    steps: usize,
    air_delay: Duration,
    flows: Vec<FlowMeasure>,
    /// True for flows of datagrams, by number.
    datagrams: Vec<bool>,
    /// True if the UE sends the requests, by flow.
    asked_by_ue: Vec<bool>,
    /// Packets that have left the RLC may still be lost on the air.
    by_air: bool,
    /// Datagrams in the chain: index of the trip by packet number.
    waiting: BTreeMap<u64, usize>,
}

impl Measurements {
    /// Empty measurements of the run of `facts`, in steps of `step`, which must be above 0.
    #[must_use]
    pub fn new(facts: &RunFacts, step: Duration) -> Self {
        let steps = facts.duration.as_nanos().div_ceil(step.as_nanos()) as usize;
        Self {
            step,
            steps,
            air_delay: facts.air_delay,
            flows: vec![FlowMeasure::default(); facts.flows.len()],
            datagrams: facts.flows.iter().map(|flow| flow.datagrams.is_some()).collect(),
            asked_by_ue: facts.flows.iter().map(|flow| flow.asked_by_ue).collect(),
            by_air: facts.slots_in == SlotUnit::ResourceBlocks,
            waiting: BTreeMap::new(),
        }
    }

    /// Length of a step.
    #[must_use]
    pub const fn step(&self) -> Duration {
        self.step
    }

    /// Number of steps.
    #[must_use]
    pub const fn steps(&self) -> usize {
        self.steps
    }

    /// Measurements of each flow.
    #[must_use]
    pub fn flows(&self) -> &[FlowMeasure] {
        &self.flows
    }

    /// The step that contains `at`, if it is within the run.
    fn step_at(&self, at: Instant) -> Option<usize> {
        let step = (at.as_nanos() / self.step.as_nanos()) as usize;
        (step < self.steps).then_some(step)
    }

    /// The trip of `packet`, which is new or already in the chain.
    fn trip(&mut self, packet: &Packet) -> &mut Trip {
        let trips = &mut self.flows[packet.flow as usize].trips;
        let i = *self.waiting.entry(packet.id).or_insert_with(|| {
            let sent = Instant::from_nanos(packet.payload);
            trips.push(Trip { sent, arrived: None, replied: None, dropped: false });
            trips.len() - 1
        });
        &mut trips[i]
    }

    /// Takes `event` into account.
    pub fn record(&mut self, now: Instant, event: &Event) {
        let Some(packet) = justfull_run::tap::packet_of(event) else { return };
        if !self.datagrams[packet.flow as usize] {
            return;
        }
        if self.asked_by_ue[packet.flow as usize] {
            if let Event::Dropped { .. } = event {
                let sent = Instant::from_nanos(packet.payload);
                self.amend(packet.flow, sent, |trip| trip.dropped = true);
            }
            return;
        }
        let (at, by_air) = (now + self.air_delay, self.by_air);
        let trip = self.trip(packet);
        match event {
            Event::Departed { layer: Layer::Rlc, .. } if !by_air => {
                trip.arrived = Some(at);
                self.waiting.remove(&packet.id);
            }
            Event::Dropped { .. } => {
                trip.dropped = true;
                self.waiting.remove(&packet.id);
            }
            _ => {}
        }
    }

    /// The UE receives `packet` in the slot at `now`; for runs in which packets may be lost after
    /// the RLC.
    pub fn delivered(&mut self, now: Instant, packet: &Packet) {
        let flow = packet.flow as usize;
        if self.datagrams[flow] && !self.asked_by_ue[flow] {
            self.trip(packet).arrived = Some(now + self.air_delay);
            self.waiting.remove(&packet.id);
        }
    }

    /// `bytes` of new payload reached the receiver of `flow`.
    pub fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        if let Some(step) = self.step_at(now) {
            let received = &mut self.flows[flow as usize].received;
            received.resize(self.steps, 0);
            received[step] += bytes;
        }
    }

    /// The sender of `flow` measured a round trip.
    pub fn rtt(&mut self, now: Instant, flow: u32, rtt: Duration) {
        if let Some(step) = self.step_at(now) {
            let samples = &mut self.flows[flow as usize].rtt;
            samples.resize(self.steps, StepRtt::default());
            samples[step].count += 1;
            samples[step].sum += rtt.as_nanos();
        }
    }

    /// The request that the UE of `flow` sent at `sent` reaches the server.
    pub fn requested(&mut self, now: Instant, flow: u32, sent: Instant) {
        let trip = Trip { sent, arrived: Some(now), replied: None, dropped: false };
        self.flows[flow as usize].trips.push(trip);
    }

    /// The reply to the datagram sent at `sent` arrives.
    pub fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        self.amend(flow, sent, |trip| trip.replied = Some(now));
    }

    /// Changes the trip of the datagram sent at `sent`.
    fn amend(&mut self, flow: u32, sent: Instant, by: impl FnOnce(&mut Trip)) {
        // Replies return in the order of requests, so the trip is among the last.
        let trips = &mut self.flows[flow as usize].trips;
        if let Some(trip) = trips.iter_mut().rev().find(|trip| trip.sent == sent) {
            by(trip);
        }
    }
}
