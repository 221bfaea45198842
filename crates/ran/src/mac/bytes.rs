//! Slots of bytes: each bearer gets an equal part of what is left of the slot; what it does not
//! need goes to the next.
//!
//! If more than [`FEW`] bearers share a slot and their parts would be below [`LEAST_PART`], only as
//! many as get that much are served, and the next slot goes on with the others. Over a round all
//! get the same, and a bearer that gets nothing costs nothing.

use super::turns::Turns;
use super::{Cell, SlotService, SlotUse};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::channel::Channel;
use justfull_base::Probe;

/// Smallest part in bytes: about a resource block group of a small carrier (at MCS 28 a pair of
/// LTE's resource blocks carries 88 B).
const LEAST_PART: u64 = 128;

/// This many bearers share a slot, however small their parts are.
const FEW: u64 = 16;

/// See the module's page.
pub(crate) struct Bytes {
    turns: Turns,
    /// Header bytes that each bearer with data costs per slot.
    overhead: u64,
}

impl Bytes {
    pub(super) fn new(overhead: u64) -> Self {
        Self { turns: Turns::default(), overhead }
    }
}

impl SlotService for Bytes {
    fn unit(&self) -> &'static str {
        "bytes"
    }

    fn most_bytes_per_unit(&self) -> u64 {
        1
    }

    #[inline]
    fn join(&mut self, bearer: BearerId) {
        self.turns.join(bearer);
    }

    fn leave(&mut self, bearer: BearerId, _cell: &mut Cell) {
        self.turns.leave(bearer);
    }

    fn sharers(&self) -> usize {
        self.turns.len()
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        channel.peek(slot.k, slot.now)
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let overhead = self.overhead;
        self.turns.serve(slot, cell, |turns, cell, shared, budget| {
            let mut used = 0;
            let mut all_served = true;
            loop {
                let mut moved = 0;
                let able = able_bearers(turns, cell, slot, shared);
                let parts = if able > FEW {
                    able.min((budget.left(shared) / LEAST_PART).max(FEW))
                } else {
                    able
                };
                let mut to_serve = parts;
                let (mut turn, mut sharers) = (0, turns.len());
                while to_serve > 0 && turn < turns.len() {
                    let id = turns.at(turn);
                    turn += 1;
                    let capacity = cell.capacity(id.ue, slot, shared);
                    if capacity == 0 {
                        continue;
                    }
                    // The last bearer, often the only one, gets the rest without the division.
                    let left = budget.left(capacity);
                    let grant = if to_serve == 1 { left } else { left / to_serve };
                    to_serve -= 1;
                    let bearer = cell.bearer(id);
                    // What a bearer has used tells whether it has paid for its header in this slot.
                    let overhead =
                        if bearer.used_in(slot.k) == 0 { overhead.min(grant) } else { 0 };
                    let before = bearer.view();
                    let sent = bearer.pull_bytes(slot.now, grant - overhead, exit);
                    let took = if sent > 0 { sent + overhead } else { 0 };
                    bearer.add_used(slot.k, took);
                    let after = bearer.view();
                    if let Some(meter) = &mut cell.meter {
                        meter.give(id.ue, took, false);
                        meter.send(id.ue, sent);
                    }
                    budget.take(took, capacity);
                    moved += took;
                    let offer = || Offer { capacity, left: budget.left(capacity) };
                    sharers -=
                        usize::from(!cell.settle(id, (before, after), offer, sharers as u64));
                }
                used += moved;
                if parts < able {
                    all_served = false;
                    turns.pass(turn, cell);
                } else if sharers < turns.len() {
                    turns.pass(turns.len(), cell);
                }
                if moved == 0 || budget.is_spent() || turns.is_empty() {
                    break;
                }
            }
            if all_served {
                turns.rotate();
            }
            used
        })
    }
}

/// Bearers in the round whose UE can receive anything in `slot`; the others get no part.
#[inline]
fn able_bearers(turns: &Turns, cell: &mut Cell, slot: Slot, shared: u64) -> u64 {
    if !cell.per_ue_channels {
        return turns.len() as u64;
    }
    turns.iter().filter(|id| cell.capacity(id.ue, slot, shared) > 0).count() as u64
}
