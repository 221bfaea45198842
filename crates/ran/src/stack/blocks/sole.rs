//! The slot in which one UE with one bearer waits for more than the slot carries: its demand is known without being listed.

use super::*;

impl Stack {
    /// New data in `units` where that is so and the scheduler needs no list; answers how many resource blocks were used.
    pub(super) fn serve_sole<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        shape: SlotShape,
        units: RbUnits,
        mac: &mut Blocks,
        driver: &mut D,
    ) -> Option<u16> {
        let Blocks { carrier, scheduler, lag, air, .. } = mac;
        let &[ue] = air.active.as_slice() else { return None };
        let mcs = self.known_mcs(ue, k, now, *lag)?;
        let tbs = carrier.sizes(shape, mcs);
        let all = usize::from(units.rbs());
        let (fewer, most) = (tbs[all - 1], tbs[all]);
        let Ue { rlc, slice, .. } = &self.ues[ue as usize];
        let Few::One(rlc) = rlc else { return None };
        // Where a block less carries as much, the scheduler leaves it.
        if fewer >= most || !rlc.fills(most) {
            return None;
        }
        let rbs = scheduler.schedule_sole(ue, *slice, units)?.rbs();
        let bearer = Bearer { ue, drb: 0 };
        let mut used = 0;
        if rbs > 0 {
            let mut block = air.harq.open(ue);
            block.n_prb = rbs;
            let bytes = self.pull_block(now, k, bearer, tbs[usize::from(rbs)], &mut block, air, driver);
            if bytes > 0 {
                used = rbs;
                let stale = *lag > 0 && self.channel_mcs(ue, k, now).is_none_or(|bears| bears < mcs);
                self.transmit(now, k, block, stale, air, driver);
            } else {
                air.harq.close(block);
            }
            scheduler.on_served(now, &[UeServed { ue, rbs, bytes }]);
        }
        if self.limiters_listen {
            let capacity = u64::from(tbs[usize::from(shape.n_prb)]);
            self.report(now, k, bearer, Offer { capacity, left: 0 });
        }
        let entry = &mut self.ues[ue as usize];
        entry.block_listed = entry.rlc[0].wants_to_send();
        if !entry.block_listed {
            air.active.clear();
        }
        Some(used)
    }
}
