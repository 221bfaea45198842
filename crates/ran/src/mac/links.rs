//! Data in transit between the two ends of a cell's links: SDUs, STATUS PDUs, and the timers of RLC
//! and PDCP, for the services that have them (resource blocks, DCH, HSDPA).
//!
//! Every event at the UE happens at the slot of its transmission. A timer expires at the first slot
//! at or after its time. A STATUS PDU takes `mac.status_delay`; if the driver carries it
//! ([`Egress::send_status`]), it takes the time of the UE's uplink, and is handled on arrival.

use super::Cell;
use crate::bearer::{BearerId, Egress, Exit, InFlight, Link, Slot, StatusWay, Upward};
use crate::pdu::{StatusPdu, TbContent};
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use justfull_base::{DropReason, Duration, Instant, Probe};

/// SDUs, STATUS PDUs and timers of a cell's links.
pub(super) struct Links {
    sdus: InFlight,
    status_delay: Duration,
    /// STATUS PDUs on their way to the sender, in order of arrival.
    statuses: VecDeque<(Instant, BearerId, StatusPdu)>,
    /// STATUS PDUs that the driver carries.
    carried: Carried,
    /// Expiries of timers, by instant, number of the UE and bearer.
    timers: BinaryHeap<Reverse<(Instant, u32, u8)>>,
}

/// STATUS PDUs with the driver, by handle. Their memory is reused.
#[derive(Default)]
struct Carried {
    places: Vec<(BearerId, StatusPdu)>,
    free: Vec<u32>,
}

impl Carried {
    /// Stores a copy of `status` of `id`; returns its handle.
    fn put(&mut self, id: BearerId, status: &StatusPdu) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.places.push((id, StatusPdu::default()));
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[handle as usize];
        place.0 = id;
        place.1.copy_from(status);
        handle
    }
}

/// PDCP and RLC of `id`.
fn link(cell: &mut Cell, id: BearerId) -> &mut Link {
    cell.bearer(id).link.as_mut().expect("a bearer of a cell with RLC has a link")
}

impl Links {
    pub(super) fn new(status_delay: Duration) -> Self {
        Self {
            sdus: InFlight::default(),
            status_delay,
            statuses: VecDeque::new(),
            carried: Carried::default(),
            timers: BinaryHeap::new(),
        }
    }

    /// See [`SlotService::in_the_air`](super::SlotService::in_the_air).
    pub(super) const fn in_the_air(&self) -> (u64, u64) {
        (self.sdus.flying(), self.sdus.lost())
    }

    /// The SDUs in transit.
    pub(super) const fn sdus(&mut self) -> &mut InFlight {
        &mut self.sdus
    }

    /// `ue` leaves `cell`: its timers and STATUS PDUs end.
    pub(super) fn forget(&mut self, ue: u32, cell: &Cell) {
        let number = cell.number(ue);
        self.timers.retain(|Reverse((_, of, _))| *of != number);
        self.statuses.retain(|(_, id, _)| id.ue != ue);
    }

    /// `id` has entered the cell with its UE; its timers are running.
    pub(super) fn watch(&mut self, id: BearerId, cell: &mut Cell) {
        let number = cell.number(id.ue);
        self.arm_timer(number, id.drb, link(cell, id));
    }

    /// Fills `content` with up to `grant` bytes of `id`; returns the number of bytes, including
    /// headers.
    #[inline]
    pub(super) fn pull<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        id: BearerId,
        grant: u32,
        content: &mut TbContent,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        if grant == 0 {
            return 0;
        }
        let number = cell.number(id.ue);
        let (bearer, above) = cell.bearer_below(id);
        let before = bearer.view();
        let took = bearer.pull_block(slot.now, grant, above, &mut self.sdus, content, exit);
        let after = bearer.view();
        bearer.add_used(slot.now, before.bytes - after.bytes);
        // Only acknowledged mode has a timer at the sender.
        if let Some(link) = bearer.link.as_mut().filter(|link| link.is_acknowledged()) {
            self.arm_timer(number, id.drb, link);
        }
        cell.backlog.change(&before, &after);
        if let Some(meter) = &mut cell.meter {
            meter.send(id.ue, took.into());
        }
        took
    }

    /// The UE has decoded `content`.
    pub(super) fn receive<D: Probe + Egress>(
        &mut self,
        now: Instant,
        id: BearerId,
        content: &TbContent,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        cell.bearer(id).receive(now, content, &mut self.sdus, exit);
        self.answer(now, id, cell, exit);
    }

    /// `content` is lost for good. RLC AM retransmits it after a status report; in other modes its
    /// SDUs are lost.
    pub(super) fn lose<D: Probe + Egress>(
        &mut self,
        now: Instant,
        id: BearerId,
        content: &TbContent,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        if link(cell, id).is_acknowledged() {
            return;
        }
        let mut up = Upward { now, sdus: &mut self.sdus, exit, holds: None };
        for part in &content.parts {
            up.lose(part.sdu, DropReason::Harq);
        }
    }

    /// Handles status reports that have reached the sender by `now`; `woken` gets the bearer of
    /// each.
    pub(super) fn receive_statuses<D: Probe + Egress>(
        &mut self,
        now: Instant,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
        mut woken: impl FnMut(BearerId, &mut Cell),
    ) {
        while self.statuses.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, id, status)) = self.statuses.pop_front() else { break };
            cell.bearer(id).on_status(now, &status, &mut self.sdus, exit);
            self.watch(id, cell);
            woken(id, cell);
        }
    }

    /// The STATUS PDU of `handle`, which the driver carried, has reached the sender at `now`.
    /// Returns its bearer.
    pub(super) fn receive_carried<D: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> BearerId {
        let Self { sdus, carried, .. } = self;
        let (id, status) = &carried.places[handle as usize];
        let id = *id;
        cell.bearer(id).on_status(now, status, sdus, exit);
        carried.free.push(handle);
        self.watch(id, cell);
        id
    }

    /// The driver has lost the STATUS PDU of `handle`.
    pub(super) fn lose_carried(&mut self, handle: u32) {
        self.carried.free.push(handle);
    }

    /// Handles timers of RLC and PDCP that have expired by `now`; `woken` gets the bearer of each.
    pub(super) fn end_timers<D: Probe + Egress>(
        &mut self,
        now: Instant,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
        mut woken: impl FnMut(BearerId, &mut Cell),
    ) {
        while let Some(&Reverse((at, number, drb))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let id = BearerId { ue: cell.place(number), drb };
            let link = link(cell, id);
            // An earlier timer was set after it, and has armed the link anew.
            if link.armed != at {
                continue;
            }
            link.armed = Instant::NEVER;
            cell.bearer(id).on_timeout(now, &mut self.sdus, exit);
            self.answer(now, id, cell, exit);
            woken(id, cell);
        }
    }

    /// Sends the UE's due status reports of `id`, and arms its timer.
    #[inline]
    fn answer<D: Probe + Egress>(
        &mut self,
        now: Instant,
        id: BearerId,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        let number = cell.number(id.ue);
        let link = link(cell, id);
        let uplink_bytes = link.uplink_bytes();
        while let Some(status) = link.status(now) {
            let Some(bytes) = uplink_bytes else {
                self.statuses.push_back((now + self.status_delay, id, status.clone()));
                break;
            };
            let handle = self.carried.put(id, status);
            match exit.send_status(now, number, handle, bytes) {
                StatusWay::Carried => {}
                StatusWay::Lost => self.carried.free.push(handle),
                StatusWay::Delayed => {
                    self.carried.free.push(handle);
                    self.statuses.push_back((now + self.status_delay, id, status.clone()));
                }
            }
        }
        self.arm_timer(number, id.drb, link);
    }

    /// Queues the next expiry of a timer of `link`, of bearer `drb` of UE `number`, if it is
    /// earlier than the queued one.
    #[inline(always)]
    fn arm_timer(&mut self, number: u32, drb: u8, link: &mut Link) {
        let next = link.next_timeout();
        if next < link.armed {
            link.armed = next;
            self.timers.push(Reverse((next, number, drb)));
        }
    }
}
