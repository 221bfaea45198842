//! What a queue does with a packet, for a discipline and an AQM that the compiler knows.
//!
//! [`ManagedQueue`](super::ManagedQueue) decides once per operation which they are, and each pair gets its own code: without an
//! AQM nothing is asked and no view is made, in a single lane nobody looks for a lane.

use super::{Account, drop_one, mark_one};
use crate::aqm::{Aqm, QueueView, Verdict, becomes_mark};
use crate::discipline::{Discipline, End, Lane, Queued};
use justfull_base::{DropReason, Event, Instant, Packet, Probe};

/// A queue, taken apart.
pub(super) struct Known<'a, D: ?Sized, A> {
    pub(super) discipline: &'a mut D,
    pub(super) aqm: &'a mut A,
    pub(super) account: &'a mut Account,
}

/// Arrivals.
impl<D: Discipline + ?Sized, A: Aqm> Known<'_, D, A> {
    /// See [`ManagedQueue::enqueue`](super::ManagedQueue::enqueue); `packet` is stamped with `now`. It stays where it is until it
    /// is copied to its place.
    #[inline(always)]
    pub(super) fn enqueue<P: Probe>(&mut self, now: Instant, packet: &mut Packet, probe: &mut P) -> bool {
        self.account.counters.arrived.add(packet.size);
        if self.discipline.reshuffle(now) {
            self.forget_lanes(now);
        }
        let lane = self.discipline.lane_of(packet);
        let view = QueueView { new_flow: self.discipline.head(lane).is_none(), ..self.view(lane) };
        let (verdict, tag) = self.aqm.on_enqueue(now, &view, lane, packet);
        let mark = verdict == Verdict::Signal && becomes_mark(self.aqm.marks(), packet);
        if verdict == Verdict::Signal && !mark {
            self.refuse(now, lane, *packet, DropReason::AqmEnqueue, probe);
            return false;
        }
        if !self.fits(lane, packet.size) && !self.make_room(now, lane, packet.size, probe) {
            self.refuse(now, lane, *packet, DropReason::Overflow, probe);
            return false;
        }
        let account = &mut *self.account;
        let event = Event::Enqueued {
            layer: account.layer,
            packet: *packet,
            backlog_packets: account.backlog_packets(),
            backlog_bytes: account.backlog_bytes(),
        };
        probe.on_event(now, &event);
        if mark {
            mark_one(account.layer, &mut account.counters, now, packet, probe);
        }
        account.keep_waiting(packet);
        self.discipline.push_back(lane, Queued { packet: *packet, tag, passed: false });
        true
    }

    /// See [`ManagedQueue::pass`](super::ManagedQueue::pass); for an empty queue with a single lane whose AQM need not be asked.
    #[inline(always)]
    pub(super) fn pass<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) -> bool {
        self.account.counters.arrived.add(packet.size);
        if !self.fits(0, packet.size) {
            self.refuse(now, 0, *packet, DropReason::Overflow, probe);
            return false;
        }
        let (layer, packet) = (self.account.layer, *packet);
        probe.on_event(now, &Event::Enqueued { layer, packet, backlog_packets: 0, backlog_bytes: 0 });
        self.account.depart(now, &packet, probe);
        true
    }

    /// True when the limits of the queue and of `lane` leave room for `size` bytes.
    #[inline(always)]
    fn fits(&self, lane: Lane, size: u32) -> bool {
        let account = &*self.account;
        account.limit.admits(account.backlog_packets(), account.backlog_bytes(), size)
            && self.discipline.lane_admits(lane, size)
    }

    /// Drops victims by the discipline's choice until a packet of `size` bytes may enter `lane`; false when that packet is
    /// the victim.
    #[cold]
    fn make_room<P: Probe>(&mut self, now: Instant, lane: Lane, size: u32, probe: &mut P) -> bool {
        // No number of victims helps a packet that an empty queue would not admit.
        let (packets, bytes) = (self.account.reserved_packets, self.account.reserved_bytes);
        if !self.account.limit.admits(packets, bytes, size) {
            return false;
        }
        while !self.fits(lane, size) {
            if !self.discipline.lane_admits(lane, size) {
                return false;
            }
            let Some(victim) = self.discipline.victim(lane, size) else { return false };
            for _ in 0..victim.packets {
                let queued = match victim.end {
                    End::Head => self.discipline.pop(victim.lane),
                    End::Tail => self.discipline.pop_tail(victim.lane),
                };
                let Some(queued) = queued else { return false };
                self.account.forget_waiting(&queued.packet);
                self.drop_one(now, &queued.packet, DropReason::OverflowVictim, probe);
                self.tell_overflow(now, victim.lane);
            }
            self.tell_if_empty(now, victim.lane);
        }
        true
    }

    /// The arriving `packet` does not enter. By value: a reference would keep every packet in memory for the sake of these few.
    #[cold]
    fn refuse<P: Probe>(
        &mut self,
        now: Instant,
        lane: Lane,
        packet: Packet,
        reason: DropReason,
        probe: &mut P,
    ) {
        self.drop_one(now, &packet, reason, probe);
        if reason == DropReason::Overflow {
            self.tell_overflow(now, lane);
        }
    }
}

/// Departures.
impl<D: Discipline + ?Sized, A: Aqm> Known<'_, D, A> {
    /// See [`ManagedQueue::reserve`](super::ManagedQueue::reserve).
    #[inline(always)]
    pub(super) fn reserve<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        while let Some(lane) = self.discipline.advance() {
            if let Some(packet) = self.next_of_lane(now, lane, probe) {
                self.discipline.served(lane, packet.size);
                self.account.keep_reserved(&packet);
                return Some(packet);
            }
        }
        None
    }

    /// See [`ManagedQueue::dequeue`](super::ManagedQueue::dequeue).
    #[inline(always)]
    pub(super) fn dequeue<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        while let Some(lane) = self.discipline.advance() {
            if let Some(packet) = self.next_of_lane(now, lane, probe) {
                self.discipline.served(lane, packet.size);
                self.account.depart(now, &packet, probe);
                return Some(packet);
            }
        }
        None
    }

    /// See [`ManagedQueue::forward`](super::ManagedQueue::forward).
    #[inline(always)]
    pub(super) fn forward<P: Probe, E: Discipline + ?Sized, B: Aqm>(
        &mut self,
        now: Instant,
        most: u32,
        below: &mut Known<'_, E, B>,
        probe: &mut P,
    ) {
        for _ in 0..most {
            let Some(mut packet) = self.dequeue(now, probe) else { break };
            packet.enqueued = now;
            below.enqueue(now, &mut packet, probe);
        }
    }

    /// The first packet of `lane` that the AQM passes or marks; those before it are dropped. None when the lane ran empty
    /// over it.
    #[inline(always)]
    fn next_of_lane<P: Probe>(&mut self, now: Instant, lane: Lane, probe: &mut P) -> Option<Packet> {
        while let Some(Queued { mut packet, tag, passed }) = self.discipline.pop(lane) {
            self.account.forget_waiting(&packet);
            let verdict = if passed {
                Verdict::Pass
            } else {
                let view = self.view(lane);
                let sojourn = now.since(packet.enqueued);
                self.aqm.on_dequeue(now, &view, lane, &packet, tag, sojourn)
            };
            let mark = verdict == Verdict::Signal && becomes_mark(self.aqm.marks(), &packet);
            let delivered = verdict == Verdict::Pass || mark;
            if mark {
                mark_one(self.account.layer, &mut self.account.counters, now, &mut packet, probe);
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
}

/// What the AQM is told.
impl<D: Discipline + ?Sized, A: Aqm> Known<'_, D, A> {
    #[inline(always)]
    fn view(&self, lane: Lane) -> QueueView {
        self.account.view(self.discipline.first(), self.discipline.lane_bytes(lane))
    }

    fn tell_overflow(&mut self, now: Instant, lane: Lane) {
        let view = self.view(lane);
        self.aqm.on_overflow(now, &view, lane);
    }

    #[inline(always)]
    pub(super) fn tell_if_empty(&mut self, now: Instant, lane: Lane) {
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
    pub(super) fn forget_empty_lanes(&mut self, now: Instant) {
        for lane in 0..self.discipline.lanes() {
            self.tell_if_empty(now, lane as Lane);
        }
    }

    #[cold]
    fn drop_one<P: Probe>(&mut self, now: Instant, packet: &Packet, reason: DropReason, probe: &mut P) {
        drop_one(self.account.layer, &mut self.account.counters, now, packet, reason, probe);
    }
}
