//! One slot: the MAC pulls from the bearers that have something to send.

use super::*;

impl Stack {
    pub(super) fn slot_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let Some((k, now)) = self.mac_poll.take() else { return };
        self.mac_poll.arm(now, false);
        self.last_slot = LastSlot { number: Some(k), at: now };
        let before = self.backlog;
        if self.blocks.is_some() {
            let (capacity, used) = self.serve_blocks(now, k, driver);
            return self.end_slot(now, [capacity, used], before, driver);
        }
        let shared = self.channel.capacity(k, now);
        let mut budget =
            if self.per_ue_channels { SlotBudget::PerUe(1.0) } else { SlotBudget::Shared(shared) };
        let used = if self.turns.is_empty() {
            0
        } else {
            match self.unit {
                CapacityUnit::Packets => self.serve_packets(now, k, shared, &mut budget, driver),
                CapacityUnit::Bytes => self.serve_bytes(now, k, shared, &mut budget, driver),
            }
        };
        let capacity = match budget {
            SlotBudget::Shared(_) => shared,
            // Where UEs differ, what was left is counted at the cell's own capacity.
            SlotBudget::PerUe(left) => used + (left * shared as f64) as u64,
        };
        if self.limiters_listen {
            self.report_waiting(now, k, shared, budget);
        }
        self.end_slot(now, [capacity, used], before, driver);
    }

    /// Tells of a slot, which found `before` in the RLC, and lets an SDAP that is not polled follow it.
    #[inline]
    fn end_slot<D: Probe + Egress>(
        &mut self,
        now: Instant,
        [capacity, used]: [u64; 2],
        before: RlcView,
        driver: &mut D,
    ) {
        let (rlc_packets, rlc_bytes) = (before.packets, before.bytes);
        driver.on_event(now, &Event::Slot { capacity, used, rlc_packets, rlc_bytes });
        if self.sdap_poll.is_event_driven() && !self.sdap_busy.is_empty() {
            self.serve_busy_sdap(now, driver);
        }
    }

    /// What `ue` could carry in slot `k` if it had all of it.
    #[inline]
    fn ue_capacity(&mut self, ue: u32, k: u64, now: Instant, shared: u64) -> u64 {
        if !self.per_ue_channels {
            return shared;
        }
        self.ues[ue as usize].channel.as_mut().map_or(shared, |c| c.capacity(k, now))
    }

    /// Round robin over bearers, one packet each.
    fn serve_packets<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        shared: u64,
        budget: &mut SlotBudget,
        driver: &mut D,
    ) -> u64 {
        let mut used = 0;
        let mut unserved_in_a_row = 0;
        while unserved_in_a_row < self.turns.len() {
            let Some(bearer) = self.turns.next() else { break };
            let capacity = self.ue_capacity(bearer.ue, k, now, shared);
            if budget.left(capacity) == 0 {
                if !self.per_ue_channels {
                    // Nobody can send more: the bearer whose turn it is comes first in the next slot.
                    self.turns.keep_turn(bearer);
                    break;
                }
                self.turns.again(bearer);
                unserved_in_a_row += 1;
                continue;
            }
            unserved_in_a_row = 0;
            let listens = self.limiters_listen;
            let (rlc, mut exit) = self.bearer(bearer);
            let before = rlc.view();
            if let Some(packet) = rlc.pull_packet(now, driver) {
                used += 1;
                budget.take(1, capacity);
                if listens {
                    rlc.add_used(k, 1);
                }
                exit.deliver(now, &packet, driver);
            }
            let after = rlc.view();
            let offer = Offer { capacity, left: budget.left(capacity) };
            self.settle(now, k, bearer, offer, before, after);
        }
        used
    }

    /// An equal part of what is left of the slot to each bearer; what one does not need goes to the next.
    fn serve_bytes<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        shared: u64,
        budget: &mut SlotBudget,
        driver: &mut D,
    ) -> u64 {
        let mut used = 0;
        let overhead = self.overhead;
        // What a bearer has used also tells whether it has paid for its header in this slot.
        let counts = self.limiters_listen || overhead > 0;
        loop {
            let mut moved = 0;
            let mut to_serve = self.able_bearers(k, now, shared);
            for _ in 0..self.turns.len() {
                let Some(bearer) = self.turns.next() else { break };
                let capacity = self.ue_capacity(bearer.ue, k, now, shared);
                if capacity == 0 {
                    self.turns.again(bearer);
                    continue;
                }
                // The last bearer, often the only one, gets the rest without the division.
                let left = budget.left(capacity);
                let grant = if to_serve == 1 { left } else { left / to_serve };
                to_serve -= 1;
                let (rlc, mut exit) = self.bearer(bearer);
                let overhead = if rlc.used_in(k) == 0 { overhead.min(grant) } else { 0 };
                let before = rlc.view();
                let deliver = |driver: &mut D, sdu: &Packet| exit.deliver(now, sdu, driver);
                let sent = rlc.pull_bytes(now, grant - overhead, driver, deliver);
                let took = if sent > 0 { sent + overhead } else { 0 };
                budget.take(took, capacity);
                moved += took;
                if counts {
                    rlc.add_used(k, took);
                }
                let after = rlc.view();
                let offer = Offer { capacity, left: budget.left(capacity) };
                self.settle(now, k, bearer, offer, before, after);
            }
            used += moved;
            if moved == 0 || budget.is_spent() || self.turns.is_empty() {
                break;
            }
        }
        self.turns.rotate();
        used
    }

    /// Bearers in the round whose UE can receive anything in slot `k`; the others take no part of it.
    #[inline]
    fn able_bearers(&mut self, k: u64, now: Instant, shared: u64) -> u64 {
        if !self.per_ue_channels {
            return self.turns.len() as u64;
        }
        let mut able = 0;
        for i in 0..self.turns.len() {
            let ue = self.turns.at(i).ue;
            able += u64::from(self.ue_capacity(ue, k, now, shared) > 0);
        }
        able
    }

    /// The RLC entity of `bearer`, and the way out for what it sends.
    #[inline]
    pub(super) fn bearer(&mut self, bearer: Bearer) -> (&mut RlcEntity, Exit<'_>) {
        let exit = Exit {
            polls: [&self.upf_poll, &self.sdap_poll, &self.mac_poll],
            strictly: !self.top_down,
            assert_bound: self.assert_bound,
            delivered: &mut self.delivered,
        };
        (&mut self.ues[bearer.ue as usize].rlc[bearer.drb as usize], exit)
    }

    /// After one bearer's turn: the cell's backlog, and whether it takes turns on.
    #[inline]
    fn settle(
        &mut self,
        now: Instant,
        k: u64,
        bearer: Bearer,
        offer: Offer,
        before: RlcView,
        after: RlcView,
    ) {
        self.backlog.change(&before, &after);
        if after.packets > 0 {
            self.turns.again(bearer);
        } else if self.limiters_listen {
            let sharers = self.turns.len() as u64 + 1;
            self.report(now, k, bearer, Offer { left: offer.left / sharers, ..offer });
        }
    }

    /// Tells the limiters of the bearers that still have something to send.
    fn report_waiting(&mut self, now: Instant, k: u64, shared: u64, budget: SlotBudget) {
        let sharers = self.turns.len() as u64;
        for i in 0..self.turns.len() {
            let bearer = self.turns.at(i);
            let capacity = self.ue_capacity(bearer.ue, k, now, shared);
            let left = budget.left(capacity) / sharers;
            self.report(now, k, bearer, Offer { capacity, left });
        }
    }

    /// Tells the limiter of `bearer` what it was offered: what it used and its share, `offer.left`, of what was not.
    pub(super) fn report(&mut self, now: Instant, k: u64, bearer: Bearer, offer: Offer) {
        let Offer { capacity, left } = offer;
        let rlc = &mut self.ues[bearer.ue as usize].rlc[bearer.drb as usize];
        let used = rlc.used_in(k);
        let remaining = rlc.view().backlog(self.unit);
        let report = SlotReport {
            pulled_at: now,
            slot: self.slot,
            granted: used + left,
            used,
            remaining,
            capacity,
            starved: remaining == 0 && used < capacity,
        };
        rlc.report(k, &report);
    }
}

/// A slot from the point of view of one bearer: what it could carry for it alone, and what is left of that.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub(super) capacity: u64,
    pub(super) left: u64,
}

/// The way out of the stack. It borrows nothing that a bearer is part of.
pub(crate) struct Exit<'a> {
    polls: [&'a Poll; 3],
    strictly: bool,
    assert_bound: bool,
    delivered: &'a mut u64,
}

impl Exit<'_> {
    #[inline]
    pub(super) fn deliver<D: Probe + Egress>(&mut self, now: Instant, packet: &Packet, driver: &mut D) {
        *self.delivered += 1;
        let bound = if packet.tracked || self.assert_bound { self.checked_bound(now, packet) } else { None };
        driver.deliver(now, packet, bound);
    }

    /// The UE has `packet` whole and in order at `now`; its last byte left the RLC at `left`.
    pub(super) fn deliver_from_air<D: Egress>(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        driver: &mut D,
    ) {
        *self.delivered += 1;
        let bound = if packet.tracked || self.assert_bound { self.checked_bound(left, packet) } else { None };
        driver.deliver_from_air(now, left, packet, bound);
    }

    /// The bound of a packet whose last byte leaves at `now`, where the driver asks for it: it holds the packet to it.
    #[inline(never)]
    fn checked_bound(&self, now: Instant, packet: &Packet) -> Option<Instant> {
        let bound = bound(self.polls, self.strictly, packet.entered);
        let held = now >= bound || !self.assert_bound;
        assert!(held, "no policy delivers before the bound: {packet:?} at {now:?}, bound {bound:?}");
        packet.tracked.then_some(bound)
    }
}
