//! The one queue that other crates hold: storage by a discipline, signals by an AQM, one limit, one set of counters.
//!
//! A packet has exactly one fate. At any time
//! arrived = departed + dropped + waiting + reserved, in packets and in bytes.
//!
//! *Waiting* packets are in a lane. *Reserved* ones are with the layer below, which has not finished with them (RLC cuts an
//! SDU over several slots); they count as backlog. A reserved packet is committed (it departs) or aborted (it goes
//! back to the head of its lane).

use crate::aqm::{AnyAqm, Aqm, AqmConfig, QueueView, Scan, Tag, Verdict, becomes_mark};
use crate::counters::{Count, Counters};
use crate::discipline::{AnyDiscipline, Discipline, DisciplineConfig, Lane, Queued};
use crate::limit::Limit;
use justfull_base::{BitRate, ConfigError, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe};

/// Settings of a [`ManagedQueue`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct QueueConfig {
    /// Most that the queue holds.
    pub limit: Limit,
    /// When to signal congestion.
    pub aqm: AqmConfig,
    /// In which order to serve.
    pub discipline: DisciplineConfig,
}

impl QueueConfig {
    /// A first-in-first-out queue without AQM.
    #[must_use]
    pub fn tail_drop(limit: Limit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Checks the bounds of all settings.
    ///
    /// # Errors
    /// Names the first setting out of its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        self.aqm.validate().map_err(|e| e.within("aqm"))?;
        self.discipline.validate().map_err(|e| e.within("discipline"))
    }
}

/// A queue.
#[derive(Debug)]
pub struct ManagedQueue {
    discipline: AnyDiscipline,
    aqm: AnyAqm,
    counters: Counters,
    limit: Limit,
    service_rate: Option<BitRate>,
    waiting_bytes: u64,
    reserved_bytes: u64,
    waiting_packets: u32,
    reserved_packets: u32,
    layer: Layer,
}

impl ManagedQueue {
    /// A queue of `layer` by `config`; `key` is the key of its stream of chance
    /// ([`stream_key`](justfull_base::rng::stream_key)).
    ///
    /// # Errors
    /// Names the setting out of its bounds.
    pub fn new(layer: Layer, config: &QueueConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let discipline = AnyDiscipline::new(&config.discipline, key).map_err(|e| e.within("discipline"))?;
        let aqm = AnyAqm::new(&config.aqm, discipline.lanes()).map_err(|e| e.within("aqm"))?;
        Self::from_parts(layer, config.limit, discipline, aqm)
    }

    /// A queue of `layer` from parts that were built elsewhere, such as a user's own. The AQM must serve as many lanes as
    /// the discipline has, and the discipline must be empty.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn from_parts(
        layer: Layer,
        limit: Limit,
        discipline: AnyDiscipline,
        aqm: AnyAqm,
    ) -> Result<Self, ConfigError> {
        limit.validate()?;
        debug_assert!(discipline.is_empty(), "a new queue holds nothing");
        Ok(Self {
            discipline,
            aqm,
            counters: Counters::default(),
            limit,
            service_rate: None,
            waiting_bytes: 0,
            reserved_bytes: 0,
            waiting_packets: 0,
            reserved_packets: 0,
            layer,
        })
    }

    /// Offers `packet`; true when it was admitted.
    ///
    /// The AQM sees every arrival, then the limit is checked. A mark is set only on a packet that is admitted.
    #[inline]
    pub fn enqueue<P: Probe>(&mut self, now: Instant, packet: Packet, probe: &mut P) -> bool {
        self.counters.arrived.add(packet.size);
        if self.discipline.reshuffle(now) {
            self.forget_lanes(now);
        }
        let lane = self.discipline.lane_of(&packet);
        let (verdict, tag) = if self.aqm.is_none() {
            (Verdict::Pass, Tag::default())
        } else {
            let mut view = self.view();
            view.new_flow = self.discipline.head(lane).is_none();
            self.aqm.on_enqueue(now, &view, lane, &Packet { enqueued: now, ..packet })
        };
        let mark = verdict == Verdict::Signal && becomes_mark(self.aqm.marks(), &packet);
        if verdict == Verdict::Signal && !mark {
            self.refuse(now, lane, &packet, DropReason::AqmEnqueue, probe);
            return false;
        }
        if !self.fits(lane, packet.size) && !self.make_room(now, lane, packet.size, probe) {
            self.refuse(now, lane, &packet, DropReason::Overflow, probe);
            return false;
        }
        self.admit(now, lane, &packet, tag, mark, probe);
        true
    }

    /// Takes the next packet for good: [`Self::reserve`] and [`Self::commit`].
    #[inline]
    pub fn dequeue<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        let packet = self.reserve(now, probe)?;
        self.commit(now, &packet, probe);
        Some(packet)
    }

    /// Takes the next packet that the AQM passes. It counts as backlog until it is committed or aborted.
    #[inline]
    pub fn reserve<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        if !self.aqm.is_none() {
            return self.reserve_judged(now, probe);
        }
        let lane = self.discipline.turn()?;
        let packet = self.discipline.head(lane)?.packet;
        self.discipline.pop(lane);
        self.forget_waiting(&packet);
        self.keep_reserved(lane, &packet);
        Some(packet)
    }

    /// The reserved `packet` has left downwards.
    #[inline]
    pub fn commit<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.release(packet);
        self.counters.departed.add(packet.size);
        let sojourn = now.since(packet.enqueued);
        probe.on_event(now, &Event::Departed { layer: self.layer, packet: *packet, sojourn });
        self.check();
    }

    /// Gives the reserved `packet` back: it is the next of its lane again, the turn is its lane's, and the AQM is not
    /// asked about it again at the next reserve. Several packets are given back last first.
    pub fn abort(&mut self, packet: Packet) {
        self.release(&packet);
        self.waiting_packets += 1;
        self.waiting_bytes += u64::from(packet.size);
        let lane = self.discipline.lane_of(&packet);
        self.discipline.push_front(lane, Queued { packet, tag: Tag::default(), passed: true });
        self.check();
    }

    /// The packet that the discipline would give next. The AQM may still drop it.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<&Packet> {
        let lane = self.discipline.turn()?;
        self.discipline.head(lane).map(|queued| &queued.packet)
    }

    /// Time that [`Self::peek`]'s packet has waited in this queue; none when nothing waits.
    #[must_use]
    pub fn head_age(&self, now: Instant) -> Option<Duration> {
        self.peek().map(|packet| now.since(packet.enqueued))
    }

    /// Packets in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_packets(&self) -> u32 {
        self.waiting_packets + self.reserved_packets
    }

    /// Bytes in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_bytes(&self) -> u64 {
        self.waiting_bytes + self.reserved_bytes
    }

    /// Packets that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_packets(&self) -> u32 {
        self.waiting_packets
    }

    /// Bytes that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Packets that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_packets(&self) -> u32 {
        self.reserved_packets
    }

    /// Bytes that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// True when nothing waits and nothing is reserved.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.backlog_packets() == 0
    }

    /// Most that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Where the queue is.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        self.layer
    }

    /// What became of its packets.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The AQM, for its statistics.
    #[must_use]
    pub const fn aqm(&self) -> &AnyAqm {
        &self.aqm
    }

    /// Tells the AQM the rate at which the layer below serves this queue; none when it does not know.
    pub const fn set_service_rate(&mut self, rate: Option<BitRate>) {
        self.service_rate = rate;
    }

    /// When [`Self::on_timeout`] wants to be called next; none for never. Early and late calls are legal.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.aqm.next_timeout()
    }

    /// Lets the AQM look over the waiting packets. Reserved ones are out of its reach.
    pub fn on_timeout<P: Probe>(&mut self, now: Instant, probe: &mut P) {
        let view = self.view();
        let before = self.waiting_packets;
        let mut scan = Scanner {
            now,
            layer: self.layer,
            marks: self.aqm.marks(),
            discipline: &mut self.discipline,
            counters: &mut self.counters,
            waiting_packets: &mut self.waiting_packets,
            waiting_bytes: &mut self.waiting_bytes,
            probe,
        };
        self.aqm.on_timeout(now, &view, &mut scan);
        if self.waiting_packets < before {
            self.forget_empty_lanes(now);
        }
        self.check();
    }

    /// True when arrived = departed + dropped + waiting + reserved, in packets and in bytes, and the lanes hold as many
    /// packets as are counted as waiting.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        let mut sum = Count { packets: u64::from(self.backlog_packets()), bytes: self.backlog_bytes() };
        sum += self.counters.departed;
        sum += self.counters.dropped_total();
        sum == self.counters.arrived && self.discipline.len() == self.waiting_packets as usize
    }

    /// Fails the run unless [`Self::is_conserved`]; for the end of a run.
    ///
    /// # Panics
    /// When a packet was lost or doubled.
    pub fn assert_conserved(&self) {
        assert!(
            self.is_conserved(),
            "{} queue: {:?}, waiting {} ({} B) in {} places, reserved {} ({} B)",
            self.layer.name(),
            self.counters,
            self.waiting_packets,
            self.waiting_bytes,
            self.discipline.len(),
            self.reserved_packets,
            self.reserved_bytes,
        );
    }
}

/// Arrivals.
impl ManagedQueue {
    /// True when the limits of the queue and of `lane` leave room for `size` bytes.
    #[inline]
    fn fits(&self, lane: Lane, size: u32) -> bool {
        self.limit.admits(self.backlog_packets(), self.backlog_bytes(), size)
            && self.discipline.lane_admits(lane, size)
    }

    /// Drops victims by the discipline's choice until a packet of `size` bytes may enter `lane`; false when that packet is
    /// the victim.
    #[cold]
    fn make_room<P: Probe>(&mut self, now: Instant, lane: Lane, size: u32, probe: &mut P) -> bool {
        // No number of victims helps a packet that an empty queue would not admit.
        if !self.limit.admits(self.reserved_packets, self.reserved_bytes, size) {
            return false;
        }
        while !self.fits(lane, size) {
            if !self.discipline.lane_admits(lane, size) {
                return false;
            }
            let Some(victim) = self.discipline.victim(lane, size) else { return false };
            let Some(queued) = self.discipline.pop_tail(victim) else { return false };
            self.forget_waiting(&queued.packet);
            self.drop_one(now, &queued.packet, DropReason::OverflowVictim, probe);
            self.tell_overflow(now, victim);
            self.tell_if_empty(now, victim);
        }
        true
    }

    /// The arriving `packet` does not enter.
    #[cold]
    fn refuse<P: Probe>(
        &mut self,
        now: Instant,
        lane: Lane,
        packet: &Packet,
        reason: DropReason,
        probe: &mut P,
    ) {
        self.drop_one(now, &Packet { enqueued: now, ..*packet }, reason, probe);
        if reason == DropReason::Overflow {
            self.tell_overflow(now, lane);
        }
    }

    #[inline]
    fn admit<P: Probe>(
        &mut self,
        now: Instant,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
        mark: bool,
        probe: &mut P,
    ) {
        let (layer, backlog_packets, backlog_bytes) =
            (self.layer, self.backlog_packets(), self.backlog_bytes());
        self.waiting_packets += 1;
        self.waiting_bytes += u64::from(packet.size);
        let queued = self.discipline.push_back(lane, packet);
        queued.tag = tag;
        queued.packet.enqueued = now;
        let event = Event::Enqueued { layer, packet: queued.packet, backlog_packets, backlog_bytes };
        probe.on_event(now, &event);
        if mark {
            mark_one(layer, &mut self.counters, now, &mut queued.packet, probe);
        }
        self.check();
    }
}

/// Departures.
impl ManagedQueue {
    /// [`Self::reserve`] with an AQM to ask.
    fn reserve_judged<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        while let Some(lane) = self.discipline.turn() {
            if let Some(packet) = self.next_of_lane(now, lane, probe) {
                self.keep_reserved(lane, &packet);
                return Some(packet);
            }
        }
        None
    }

    /// The first packet of `lane` that the AQM passes or marks; those before it are dropped. None when the lane ran empty
    /// over it.
    #[inline]
    fn next_of_lane<P: Probe>(&mut self, now: Instant, lane: Lane, probe: &mut P) -> Option<Packet> {
        while let Some(Queued { mut packet, tag, passed }) = self.discipline.pop(lane) {
            self.forget_waiting(&packet);
            let verdict = if passed {
                Verdict::Pass
            } else {
                let view = self.view();
                let sojourn = now.since(packet.enqueued);
                self.aqm.on_dequeue(now, &view, lane, &packet, tag, sojourn)
            };
            let mark = verdict == Verdict::Signal && becomes_mark(self.aqm.marks(), &packet);
            let delivered = verdict == Verdict::Pass || mark;
            if mark {
                mark_one(self.layer, &mut self.counters, now, &mut packet, probe);
            }
            if !delivered {
                self.drop_one(now, &packet, DropReason::AqmDequeue, probe);
            }
            self.tell_if_empty(now, lane);
            if delivered {
                return Some(packet);
            }
        }
        None
    }

    /// `packet`, popped from `lane`, is delivered to the layer below.
    #[inline]
    fn keep_reserved(&mut self, lane: Lane, packet: &Packet) {
        self.discipline.served(lane, packet.size);
        self.reserved_packets += 1;
        self.reserved_bytes += u64::from(packet.size);
        self.check();
    }

    #[inline]
    fn release(&mut self, packet: &Packet) {
        debug_assert!(self.reserved_packets > 0, "packet {} is not reserved", packet.id);
        self.reserved_packets -= 1;
        self.reserved_bytes -= u64::from(packet.size);
    }

    #[inline]
    fn forget_waiting(&mut self, packet: &Packet) {
        self.waiting_packets -= 1;
        self.waiting_bytes -= u64::from(packet.size);
    }
}

/// What the AQM is told, and the checks.
impl ManagedQueue {
    #[inline]
    fn view(&self) -> QueueView {
        QueueView {
            backlog_packets: self.backlog_packets(),
            backlog_bytes: self.backlog_bytes(),
            limit: self.limit,
            oldest: self.peek().map(|packet| packet.enqueued),
            service_rate: self.service_rate,
            new_flow: false,
        }
    }

    fn tell_overflow(&mut self, now: Instant, lane: Lane) {
        let view = self.view();
        self.aqm.on_overflow(now, &view, lane);
    }

    #[inline]
    fn tell_if_empty(&mut self, now: Instant, lane: Lane) {
        if self.discipline.head(lane).is_none() {
            self.aqm.on_empty(now, lane);
        }
    }

    /// Packets have changed lanes: what the AQM knows of a lane is about other flows.
    #[cold]
    fn forget_lanes(&mut self, now: Instant) {
        for lane in 0..self.discipline.lanes() {
            self.aqm.on_empty(now, lane as Lane);
        }
    }

    /// Packets were taken out of any lane.
    #[cold]
    fn forget_empty_lanes(&mut self, now: Instant) {
        for lane in 0..self.discipline.lanes() {
            self.tell_if_empty(now, lane as Lane);
        }
    }

    #[cold]
    fn drop_one<P: Probe>(&mut self, now: Instant, packet: &Packet, reason: DropReason, probe: &mut P) {
        drop_one(self.layer, &mut self.counters, now, packet, reason, probe);
    }

    #[inline(always)]
    fn check(&self) {
        debug_assert!(self.is_conserved(), "packets lost or doubled: {self:?}");
    }
}

fn drop_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &Packet,
    reason: DropReason,
    probe: &mut P,
) {
    counters.drop_one(reason, packet.size);
    probe.on_event(now, &Event::Dropped { layer, packet: *packet, reason });
}

fn mark_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &mut Packet,
    probe: &mut P,
) {
    packet.ecn = Ecn::Ce;
    counters.marked.add(packet.size);
    probe.on_event(now, &Event::Marked { layer, packet: *packet });
}

/// The walk of an AQM's timeout: borrows all of the queue but the AQM.
struct Scanner<'a, P> {
    now: Instant,
    layer: Layer,
    marks: bool,
    discipline: &'a mut AnyDiscipline,
    counters: &'a mut Counters,
    waiting_packets: &'a mut u32,
    waiting_bytes: &'a mut u64,
    probe: &'a mut P,
}

impl<P: Probe> Scan for Scanner<'_, P> {
    fn each(&mut self, decide: &mut dyn FnMut(Lane, &Packet, Tag) -> Verdict) {
        let Self { now, layer, marks, discipline, counters, waiting_packets, waiting_bytes, probe } = self;
        discipline.retain(&mut |lane, queued| {
            let packet = &mut queued.packet;
            if decide(lane, packet, queued.tag) == Verdict::Pass {
                return true;
            }
            if becomes_mark(*marks, packet) {
                mark_one(*layer, counters, *now, packet, *probe);
                return true;
            }
            **waiting_packets -= 1;
            **waiting_bytes -= u64::from(packet.size);
            drop_one(*layer, counters, *now, packet, DropReason::AqmTimeout, *probe);
            false
        });
    }
}
