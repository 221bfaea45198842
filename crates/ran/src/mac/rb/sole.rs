//! A slot in which one UE with one bearer has more data than the slot carries: its demand is known
//! without a list.
//!
//! `s1_bench s1_blocks` took 453 million instructions without it and 351 with it. Debug builds also
//! list the slot and compare. A property test of the schedulers holds both paths equal.

use super::*;
use crate::few::Few;

impl Rb {
    /// Sends new data in a slot of this kind if the scheduler needs no list; returns the number of
    /// resource blocks used.
    pub(super) fn serve_sole<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        free: Free,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> Option<u16> {
        let Free { shape, units, .. } = free;
        let Self { carrier, scheduler, knowledge, air, .. } = self;
        let &[ue] = air.active.ues() else { return None };
        let mcs = knowledge.mcs(cell, ue, slot)?;
        let tbs = carrier.sizes(shape, mcs);
        let all = usize::from(units.rbs());
        let (fewer, most) = (tbs[all - 1], tbs[all]);
        let UeRadio { bearers, .. } = &cell.ues[ue as usize];
        let Few::One(bearer) = bearers else { return None };
        // If one block less carries as much, the scheduler leaves it unused.
        if fewer >= most || !bearer.fills(most) {
            return None;
        }
        #[cfg(debug_assertions)]
        let twin = scheduler.twin();
        let number = cell.number(ue);
        let given = scheduler.schedule_sole(number, cell.slices[ue as usize], units)?;
        let rbs = given.rbs();
        #[cfg(debug_assertions)]
        {
            let bytes = u64::from(tbs[usize::from(rbs)]);
            self.assert_as_listed(twin, slot, free, cell, |_, _| (given.count(), bytes));
        }
        let Self { carrier, scheduler, knowledge, air, .. } = self;
        let tbs = carrier.sizes(shape, mcs);
        let id = BearerId { ue, drb: 0 };
        let mut used = 0;
        if rbs > 0 {
            let mut block = air.harq.open(ue);
            (block.n_prb, block.mcs) = (rbs, mcs);
            let bytes = air.pull_block(slot, id, tbs[usize::from(rbs)], &mut block, cell, exit);
            if bytes > 0 {
                used = rbs;
                let stale = knowledge.is_stale(cell, ue, mcs, slot);
                air.transmit(slot, block, stale, cell, exit);
            } else {
                air.harq.close(block);
            }
            scheduler.on_served(slot.now, &[UeServed { ue: number, rbs, bytes }]);
        }
        let capacity = u64::from(tbs[usize::from(shape.n_prb)]);
        cell.offer(id, Offer { capacity, full: carrier.full_slot(mcs), left: 0 });
        if !cell.ues[ue as usize].wants_to_send() {
            air.active.clear();
        }
        Some(used)
    }
}
