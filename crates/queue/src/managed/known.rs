//! Queue operations for a discipline and an AQM known at compile time.
//!
//! [`ManagedQueue`](super::ManagedQueue) dispatches once per operation, and each pair gets its own
//! code: without an AQM no view is built, and with a single lane none is looked up.

use super::memory::Memory;
use super::{Account, drop_one, mark_one};
use crate::aqm::none::NoAqm;
use crate::aqm::{AnyAqm, Aqm, Fate, LaneView, QueueView, Verdict};
use crate::discipline::{Discipline, End};
use crate::lane::{Lane, Queued, Tag};
use justfull_base::{DropReason, Event, Instant, Packet, Probe};

/// Whether an AQM of this type may have needs, decided at compile time.
pub(super) trait MayNeed {
    /// False if it never has any.
    const ANYTHING: bool;
}

impl MayNeed for NoAqm {
    const ANYTHING: bool = false;
}

impl MayNeed for AnyAqm {
    const ANYTHING: bool = true;
}

/// A queue, borrowed part by part.
pub(super) struct Known<'a, D: ?Sized, A> {
    pub(super) discipline: &'a mut D,
    pub(super) aqm: &'a mut A,
    pub(super) account: &'a mut Account,
}

/// Arrivals.
impl<D: Discipline + ?Sized, A: Aqm + MayNeed> Known<'_, D, A> {
    /// See [`ManagedQueue::enqueue`](super::ManagedQueue::enqueue). Stamps `packet` with `now`. The
    /// packet is not moved until it is copied to its place.
    #[inline(always)]
    pub(super) fn enqueue<P: Probe>(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let Some((lane, tag)) = self.admit(now, packet, probe) else { return false };
        self.account.keep_waiting(packet);
        if let Some(memory) = self.memory() {
            memory.enter(packet);
        }
        self.discipline.push_back(lane, Queued::new(*packet, tag));
        true
    }

    /// See [`ManagedQueue::pass`](super::ManagedQueue::pass). The queue must be empty and must not
    /// drop packets at departure.
    #[inline(always)]
    pub(super) fn pass<P: Probe>(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let admitted = self.admit(now, packet, probe).is_some();
        if admitted {
            self.account.depart(now, packet, probe);
        }
        admitted
    }

    /// The lane for `packet` and the AQM's note on it; none if it is dropped.
    #[inline(always)]
    fn admit<P: Probe>(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        probe: &mut P,
    ) -> Option<(Lane, Tag)> {
        self.account.counters.arrived.add(packet.size);
        if self.discipline.reshuffle(now) {
            self.forget_lanes(now);
        }
        let lane = self.discipline.lane_of(packet);
        let new_flow = self.memory().is_some_and(|memory| memory.is_new(packet));
        let view = QueueView { new_flow, ..self.view(now, lane) };
        let (verdict, tag) = self.aqm.on_enqueue(now, &view, lane, packet);
        let fate = self.fate(verdict, packet);
        if fate == Fate::Drop {
            self.refuse(now, lane, *packet, DropReason::AqmEnqueue, probe);
            return None;
        }
        if !self.fits(lane, packet.size) && !self.make_room(now, lane, packet.size, probe) {
            self.refuse(now, lane, *packet, DropReason::Overflow, probe);
            return None;
        }
        let account = &mut *self.account;
        let event = Event::Enqueued {
            layer: account.layer,
            packet: *packet,
            backlog_packets: account.backlog_packets(),
            backlog_bytes: account.backlog_bytes(),
        };
        probe.on_event(now, &event);
        if fate == Fate::Mark {
            mark_one(account.layer, &mut account.counters, now, packet, probe);
        }
        Some((lane, tag))
    }

    /// True if the limits of the queue and of `lane` leave room for `size` bytes.
    #[inline(always)]
    fn fits(&self, lane: Lane, size: u32) -> bool {
        let account = &*self.account;
        account.limit.admits(account.backlog_packets(), account.backlog_bytes(), size)
            && self.discipline.lane_admits(lane, size)
    }

    /// Drops the discipline's victims until a packet of `size` bytes may enter `lane`; false if
    /// that packet is itself the victim.
    #[cold]
    fn make_room<P: Probe>(&mut self, now: Instant, lane: Lane, size: u32, probe: &mut P) -> bool {
        // Victims do not help a packet that an empty queue would not admit.
        let (packets, bytes) = (self.account.reserved_packets, self.account.reserved_bytes);
        if !self.account.limit.admits(packets, bytes, size) {
            return false;
        }
        // The arriving packet's own lane is about to have a packet again: for the AQM the lane is
        // empty only if there is no room after all.
        let mut own = false;
        let made = 'room: loop {
            if self.fits(lane, size) {
                break true;
            }
            if !self.discipline.lane_admits(lane, size) {
                break false;
            }
            let Some(victim) = self.discipline.victim(lane, size) else { break false };
            own |= victim.lane == lane;
            for _ in 0..victim.packets {
                let queued = match victim.end {
                    End::Head => self.discipline.pop(victim.lane),
                    End::Tail => self.discipline.pop_tail(victim.lane),
                };
                let Some(queued) = queued else { break 'room false };
                self.account.forget_waiting(&queued.packet);
                self.forget(&queued.packet);
                self.drop_one(now, &queued.packet, DropReason::OverflowVictim, probe);
                self.tell_overflow(now, victim.lane);
            }
            if victim.lane != lane {
                self.tell_if_empty(now, victim.lane);
            }
        };
        if own && !made {
            self.tell_if_empty(now, lane);
        }
        made
    }

    /// The arriving `packet` does not enter. Passed by value: a reference would force every packet
    /// into memory for these few.
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
impl<D: Discipline + ?Sized, A: Aqm + MayNeed> Known<'_, D, A> {
    /// See [`ManagedQueue::reserve_into`](super::ManagedQueue::reserve_into).
    #[inline(always)]
    pub(super) fn reserve_into<P: Probe>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let taken = self.take_into(now, place, probe);
        if taken {
            self.account.keep_reserved(place);
        }
        taken
    }

    /// See [`ManagedQueue::dequeue_into`](super::ManagedQueue::dequeue_into).
    #[inline(always)]
    pub(super) fn dequeue_into<P: Probe>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let taken = self.take_into(now, place, probe);
        if taken {
            self.forget(place);
            self.account.depart(now, place, probe);
        }
        taken
    }

    /// Puts the next packet that passes the AQM in `place`; false if there is none.
    #[inline(always)]
    fn take_into<P: Probe>(&mut self, now: Instant, place: &mut Packet, probe: &mut P) -> bool {
        while let Some(lane) = self.discipline.advance() {
            if self.next_of_lane(now, lane, place, probe) {
                self.discipline.served(lane, place.size);
                return true;
            }
        }
        false
    }

    /// Puts the first packet of `lane` that the AQM passes or marks in `place`, and drops the
    /// packets before it. False if the lane becomes empty.
    #[inline(always)]
    fn next_of_lane<P: Probe>(
        &mut self,
        now: Instant,
        lane: Lane,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        while let Some(queued) = self.discipline.pop(lane) {
            *place = queued.packet;
            self.account.forget_waiting(place);
            let fate = match queued.tag() {
                Some(tag) if A::ANYTHING && self.account.withholds => {
                    self.fate_withheld(now, lane, place, tag)
                }
                Some(tag) => self.judge(now, lane, place, tag),
                None => Fate::Pass,
            };
            let delivered = fate != Fate::Drop;
            if fate == Fate::Mark {
                mark_one(self.account.layer, &mut self.account.counters, now, place, probe);
            }
            if !delivered {
                self.forget(place);
                self.drop_one(now, place, DropReason::AqmDequeue, probe);
            }
            self.tell_if_empty(now, lane);
            if delivered {
                return true;
            }
        }
        false
    }

    /// The AQM's decision on `packet`, which leaves the head of `lane` with the AQM's note `tag`.
    #[inline(always)]
    pub(super) fn judge(&mut self, now: Instant, lane: Lane, packet: &Packet, tag: Tag) -> Fate {
        let mut view = self.view(now, lane);
        view.lane.spared = A::ANYTHING && self.discipline.spares(lane);
        let from = match A::ANYTHING {
            true => self.account.waits_from(packet.enqueued),
            false => packet.enqueued,
        };
        let verdict = self.aqm.on_dequeue(now, &view, lane, packet, tag, now.since(from));
        self.fate(verdict, packet)
    }
}

/// The AQM's view of lanes.
impl<D: Discipline + ?Sized, A: Aqm + MayNeed> Known<'_, D, A> {
    #[inline(always)]
    fn fate(&self, verdict: Verdict, packet: &Packet) -> Fate {
        if verdict == Verdict::Pass {
            return Fate::Pass;
        }
        verdict.fate(self.aqm.marks(), self.account.ect1, packet)
    }

    #[inline(always)]
    fn view(&self, now: Instant, lane: Lane) -> QueueView {
        let view = self.account.view(self.discipline.lane_bytes(lane));
        match A::ANYTHING {
            true if self.account.shows_heads && self.aqm.wants_heads(now) => {
                self.with_heads(view, lane)
            }
            true => view,
            false => QueueView { oldest: None, ..view },
        }
    }

    /// `view` with the head of `lane` and, of two lanes, the other one.
    #[inline(never)]
    fn with_heads(&self, view: QueueView, lane: Lane) -> QueueView {
        let enqueued = |lane| self.discipline.head(lane).map(|queued| queued.packet.enqueued);
        let head = |lane| enqueued(lane).map(|at| self.account.waits_from(at));
        let other = |lane| {
            let bytes = self.discipline.lane_bytes(lane).unwrap_or_default();
            LaneView { bytes, head: head(lane), spared: false }
        };
        QueueView {
            lane: LaneView { head: head(lane), ..view.lane },
            other: (self.discipline.lanes() == 2).then(|| other(1 - lane)),
            ..view
        }
    }

    /// The data kept for the AQM, if any.
    #[inline(always)]
    fn memory(&mut self) -> Option<&mut Memory> {
        if A::ANYTHING { self.account.memory.as_deref_mut() } else { None }
    }

    /// `packet` has left the queue.
    #[inline(always)]
    pub(super) fn forget(&mut self, packet: &Packet) {
        if let Some(memory) = self.memory() {
            memory.leave(packet);
        }
    }

    fn tell_overflow(&mut self, now: Instant, lane: Lane) {
        let view = self.view(now, lane);
        self.aqm.on_overflow(now, &view, lane);
    }

    #[inline(always)]
    pub(super) fn tell_if_empty(&mut self, now: Instant, lane: Lane) {
        if self.discipline.head(lane).is_none() {
            self.aqm.on_empty(now, lane);
        }
    }

    /// Packets have changed lanes: the AQM's state of a lane now concerns other flows.
    #[cold]
    fn forget_lanes(&mut self, now: Instant) {
        for lane in 0..self.discipline.lanes() {
            self.aqm.on_empty(now, lane as Lane);
        }
    }

    /// Packets were removed from any lane.
    #[cold]
    pub(super) fn forget_empty_lanes(&mut self, now: Instant) {
        for lane in 0..self.discipline.lanes() {
            self.tell_if_empty(now, lane as Lane);
        }
    }

    #[cold]
    fn drop_one<P: Probe>(
        &mut self,
        now: Instant,
        packet: &Packet,
        reason: DropReason,
        probe: &mut P,
    ) {
        drop_one(self.account.layer, &mut self.account.counters, now, packet, reason, probe);
    }
}
