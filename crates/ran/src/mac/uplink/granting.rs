//! The grants of a slot: configured ones first, then the scheduler's.

use super::{Grant, Scratch, UplinkMac};
use crate::bearer::{Egress, Exit, Slot};
use crate::carrier::SlotShape;
use crate::mac::Cell;
use crate::rb_demand::{DrbDemand, RbDemand, RbUnits, UeDemand, UeServed};
use crate::rb_scheduler::RbScheduler;
use alloc::vec::Vec;
use justfull_base::Probe;

/// An empty vector in the memory of `vec`, for elements that borrow other data.
fn recycle<'b>(mut vec: Vec<UeDemand<'_>>) -> Vec<UeDemand<'b>> {
    vec.clear();
    vec.into_iter().map(|_| UeDemand { ue: 0, slice: 0, tbs: &[], drbs: 0..0 }).collect()
}

impl UplinkMac {
    /// Sends the PUSCHs of configured grants in `slot`; returns the resource blocks kept for them.
    pub(super) fn serve_configured<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        shape: SlotShape,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u16 {
        let Some(grant) = self.config.configured.clone() else { return 0 };
        let period = self.config.slots(grant.period);
        // The UEs whose turn was after the last slot of the uplink.
        let from =
            self.before.map_or(0, |before| before + 1).max((slot.k + 1).saturating_sub(period));
        let mut kept = 0;
        for turn in from..=slot.k {
            for ue in ((turn % period) as usize..self.ues.len()).step_by(period as usize) {
                if !self.ues[ue].present {
                    continue;
                }
                if kept + grant.blocks > shape.n_prb {
                    return kept;
                }
                kept += grant.blocks;
                if self.ues[ue].holding == 0 {
                    continue;
                }
                let Some(mcs) = cell.channel_of(ue as u32).next_mcs(slot.k, slot.now) else {
                    continue;
                };
                let sizes = Self::sizes(&self.carrier, &self.limited, shape, mcs);
                let bytes = sizes[usize::from(grant.blocks)];
                let grant = Grant { ue: ue as u32, mcs, rbs: grant.blocks, bytes };
                self.send(slot, grant, cell, exit);
            }
        }
        kept
    }

    /// Sends new data in the free blocks `units`; returns the number of blocks used.
    pub(super) fn serve_granted<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        shape: SlotShape,
        units: RbUnits,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u16 {
        let Scratch { drbs, sdus, mcs: all_mcs, .. } = &mut self.scratch;
        drbs.clear();
        sdus.clear();
        all_mcs.clear();
        let mut ues = recycle(core::mem::take(&mut self.scratch.ues));
        self.active.sort(cell.roster.as_deref());
        for &ue in self.active.ues() {
            let known = &self.ues[ue as usize].known;
            let requested = if known.requested { self.config.sr_grant.0 } else { 0 };
            let backlog = known.bytes.max(requested);
            if backlog == 0 {
                continue;
            }
            let Some(mcs) = cell.channel_of(ue).next_mcs(slot.k, slot.now) else { continue };
            let tbs = Self::sizes(&self.carrier, &self.limited, shape, mcs);
            let tbs = &tbs[..=usize::from(shape.n_prb)];
            if tbs[usize::from(units.rbs())] == 0 {
                continue;
            }
            let Scratch { drbs, sdus, mcs: all_mcs, .. } = &mut self.scratch;
            let at = drbs.len() as u32;
            sdus.push(u32::try_from(backlog).unwrap_or(u32::MAX));
            drbs.push(DrbDemand {
                drb: 0,
                sdus: at..at + 1,
                backlog,
                head_of_line: Default::default(),
            });
            all_mcs.push(mcs);
            let (ue, slice) = (cell.number(ue), cell.slices[ue as usize]);
            ues.push(UeDemand { ue, slice, tbs, drbs: at..at + 1 });
        }
        let mut used = 0;
        if !ues.is_empty() {
            let Scratch { drbs, sdus, .. } = &self.scratch;
            let demand = RbDemand { slot: slot.k, now: slot.now, units, ues: &ues, drbs, sdus };
            self.scheduler.schedule(&demand, &mut self.allocation);
        }
        let grants = ues.iter().zip(self.scratch.mcs.iter()).enumerate();
        let grants = grants.map(|(i, (ue, &mcs))| {
            let rbs = self.allocation.grant(i).rbs;
            Grant { ue: cell.place(ue.ue), mcs, rbs, bytes: ue.tbs[usize::from(rbs)] }
        });
        let mut granted = core::mem::take(&mut self.scratch.grants);
        granted.extend(grants.filter(|grant| grant.bytes > 0));
        self.scratch.ues = recycle(ues);
        self.served.clear();
        for grant in granted.drain(..) {
            used += grant.rbs;
            let bytes = self.send(slot, grant, cell, exit);
            self.served.push(UeServed { ue: cell.number(grant.ue), rbs: grant.rbs, bytes });
        }
        self.scratch.grants = granted;
        if !self.served.is_empty() {
            self.scheduler.on_served(slot.now, &self.served);
        }
        used
    }
}
