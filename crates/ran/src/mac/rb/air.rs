//! Transport blocks on the way to their UEs.

use super::super::blocks::reception_by_sinr;
use super::Air;
use crate::bearer::{BearerId, Egress, Exit, Slot};
use crate::harq::{Block, Outcome, Reception};
use crate::mac::Cell;
use justfull_base::{Instant, Probe};

impl Air {
    /// Fills `block` with up to `grant` bytes of `id`; returns the number of bytes, including
    /// headers.
    #[inline(always)]
    pub(super) fn pull_block<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        id: BearerId,
        grant: u32,
        block: &mut Block,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        if grant == 0 {
            return 0;
        }
        let took = self.links.pull(slot, id, grant, block.add(id.drb), cell, exit);
        self.bytes += u64::from(took);
        took
    }

    /// Sends `block` in `slot`; `stale` if its MCS is above the channel's.
    pub(super) fn transmit<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        mut block: Block,
        stale: bool,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        if let Some(meter) = &mut cell.meter {
            meter.give(block.ue, block.n_prb.into(), block.sent > 0);
        }
        let sent_before = block.sent > 0;
        let met = reception_by_sinr(cell, slot, &mut block);
        let settled = if stale { Reception::Stale } else { Reception::Borne };
        let (ue, met) = (block.ue, met.unwrap_or(settled));
        let outcome = self.harq.transmit(slot.k, &mut block, met, || cell.number(ue));
        if cell.sleep.is_some() {
            self.follow_sleep(slot, ue, sent_before, outcome, cell);
        }
        if outcome == Outcome::Again {
            return self.harq.keep(slot.k, block);
        }
        for (drb, content) in block.contents() {
            let id = BearerId { ue: block.ue, drb: *drb };
            if outcome == Outcome::Decoded {
                self.links.receive(slot.now, id, content, cell, exit);
            } else {
                self.links.lose(slot.now, id, content, cell, exit);
            }
        }
        self.harq.close(block);
    }

    /// The slot has sent a block to `ue`, which has DRX: it listens for the next transmissions.
    #[cold]
    fn follow_sleep(
        &self,
        slot: Slot,
        ue: u32,
        sent_before: bool,
        outcome: Outcome,
        cell: &mut Cell,
    ) {
        let Some(sleep) = &mut cell.sleep else { return };
        sleep.transmits(ue, sent_before, slot.now);
        if outcome == Outcome::Again {
            let wait = slot.length.times(u64::from(self.harq.round_trip()).saturating_sub(1));
            sleep.expects_repeat(ue, slot.now + wait);
        }
    }

    /// Handles expired timers and arrived reports at the sender before the slot at `now`.
    pub(super) fn catch_up<D: Probe + Egress>(
        &mut self,
        now: Instant,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        let Self { links, active, .. } = self;
        let mut woken = |id: BearerId, cell: &mut Cell| {
            if cell.ues[id.ue as usize].wants_to_send() && cell.admits(id.ue, now) {
                active.add(id.ue);
            }
        };
        links.end_timers(now, cell, exit, &mut woken);
        links.receive_statuses(now, cell, exit, woken);
    }
}
