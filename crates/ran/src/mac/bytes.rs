//! Slots of bytes: each bearer gets an equal part of the rest of the slot; its unused bytes go to
//! the next bearer.
//!
//! If more than [`FEW`] bearers share a slot and their parts would be below [`LEAST_PART`], the
//! slot serves only as many bearers as can get this part, and the next slot continues with the
//! others. Over a round all get the same, and an unserved bearer costs no time.

use super::turns::Turns;
use super::{Cell, MacSettings, SlotService, SlotUse, Turn};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::carried::Carried;
use crate::channel::Channel;
use crate::config::{CellContext, PollConfig};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Probe, params};

params! {
    /// Settings of slots of bytes.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BytesConfig {
        /// The slots: when the MAC pulls; the period must not be 0.
        slot: PollConfig = PollConfig::every(Duration::from_millis(1));
        /// Header bytes that each bearer with data costs per slot.
        overhead: justfull_base::Bytes = justfull_base::Bytes(0);
    }
}

/// Description.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "bytes",
    kind: "MAC",
    title: "slots of bytes",
    text: "The channel gives the bytes that a slot carries. Bearers get equal parts and cut the \
           packet at the end of their part; the others get the bytes that a bearer does not need.",
    sources: "none",
    deviations: "there are no headers but `overhead`: PDCP and RLC have no settings",
    params: BytesConfig::params,
};

impl MacSettings for BytesConfig {
    fn carried(&self) -> Carried {
        Carried::bytes(self.overhead.0)
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        cell.refuse_rlc()
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        super::NO_PDCP
    }
}

/// Smallest part in bytes: about a resource block group of a small carrier (at MCS 28 a pair of
/// LTE's resource blocks carries 88 B).
const LEAST_PART: u64 = 128;

/// This many bearers share a slot with parts of any size.
const FEW: u64 = 16;

/// The service of slots of bytes.
pub struct Bytes {
    turns: Turns,
    /// Header bytes of each bearer with data, per slot.
    overhead: u64,
}

impl Bytes {
    pub(super) fn new(config: &BytesConfig, _: &CellContext<'_>) -> Result<Self, ConfigError> {
        Ok(Self { turns: Turns::default(), overhead: config.overhead.0 })
    }

    /// The turn of bearer `id`, which may take up to `grant` bytes. Returns the number of bytes
    /// taken, and the bearer's backlogs.
    #[inline(always)]
    fn turn<D: Probe + Egress>(
        &self,
        slot: Slot,
        id: BearerId,
        grant: u64,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> (u64, Turn) {
        let (bearer, above) = cell.bearer_below(id);
        // The used amount shows whether the bearer has paid for its header in this slot.
        let overhead = if bearer.used_at(slot.now) == 0 { self.overhead.min(grant) } else { 0 };
        let before = bearer.view();
        let sent = bearer.pull_bytes(slot.now, grant - overhead, above, exit);
        let took = if sent > 0 { sent + overhead } else { 0 };
        bearer.add_used(slot.now, took);
        let after = bearer.view();
        if took > 0 {
            cell.granted(id.ue, slot.now);
        }
        if let Some(meter) = &mut cell.meter {
            meter.give(id.ue, took, false);
            meter.send(id.ue, sent);
        }
        (took, Turn { before, after })
    }

    /// A slot for the only bearer, `id`, if no limiter needs a report: one turn, after which the
    /// slot is used up or no data waits.
    ///
    /// `s1_bench s1_1mb` takes 7 million instructions (3 %) more without it.
    #[inline(always)]
    fn serve_sole<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        id: BearerId,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let capacity = cell.channel.capacity(slot.k, slot.now);
        if capacity == 0 {
            return SlotUse::default();
        }
        let (used, turn) = self.turn(slot, id, capacity, cell, exit);
        cell.backlog.change(&turn.before, &turn.after);
        if turn.after.packets == 0 {
            self.turns.pass(1, cell);
        }
        debug_assert!(
            used == 0 || used == capacity || self.turns.is_empty(),
            "one turn is enough: {used} of {capacity} in {slot:?}"
        );
        SlotUse { capacity, used }
    }

    /// A slot for several bearers.
    #[inline(never)]
    fn serve_several<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let mut turns = core::mem::take(&mut self.turns);
        let slot_use = turns.serve(slot, cell, |turns, cell, shared, budget| {
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
                    // The last bearer, often the only one, gets the rest without a division.
                    let left = budget.left(capacity);
                    let grant = if to_serve == 1 { left } else { left / to_serve };
                    to_serve -= 1;
                    let (took, held) = self.turn(slot, id, grant, cell, exit);
                    budget.take(took, capacity);
                    moved += took;
                    let offer = || Offer { capacity, full: capacity, left: budget.left(capacity) };
                    sharers -= usize::from(!cell.settle(id, &held, offer, sharers as u64));
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
        });
        self.turns = turns;
        slot_use
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

    fn suspend(&mut self, ue: u32) {
        self.turns.suspend(ue);
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
        match self.turns.sole() {
            Some(id) if !cell.per_ue_channels && !cell.wants_reports => {
                self.serve_sole(slot, id, cell, exit)
            }
            _ => self.serve_several(slot, cell, exit),
        }
    }
}

/// Number of bearers in the round whose UE can receive data in `slot`; the others get no part.
#[inline]
fn able_bearers(turns: &Turns, cell: &mut Cell, slot: Slot, shared: u64) -> u64 {
    if !cell.per_ue_channels {
        return turns.len() as u64;
    }
    turns.iter().filter(|id| cell.capacity(id.ue, slot, shared) > 0).count() as u64
}
