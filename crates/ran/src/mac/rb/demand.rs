//! The waiting data of a slot, as lists for the RB scheduler.

use super::{Demand, Free, Knowledge};
use crate::bearer::{BearerId, Offer, Slot};
use crate::carrier::Carrier;
use crate::mac::Cell;
use crate::rb_demand::{DrbDemand, RbAllocation, UeDemand};
use alloc::vec::Vec;

/// The options of [`gather`].
pub(super) struct Gathering<'a> {
    pub(super) carrier: &'a Carrier,
    pub(super) knowledge: Knowledge,
    /// Lists the first SDUs of each bearer too.
    pub(super) lists_sdus: bool,
}

/// Lists the waiting data: the UEs to which the slot can carry data, their bearers, and the
/// bearers' first SDUs if `how` requires it.
pub(super) fn gather<'a>(
    slot: Slot,
    free: Free,
    how: &Gathering<'a>,
    cell: &mut Cell,
    active: &[u32],
    ues: &mut Vec<UeDemand<'a>>,
    demand: &mut Demand,
) {
    let Gathering { carrier, knowledge, lists_sdus } = *how;
    demand.drbs.clear();
    demand.sdus.clear();
    demand.mcs.clear();
    let shared = active.first().filter(|_| !cell.per_ue_channels).copied();
    let shared = shared.map(|any| knowledge.mcs(cell, any, slot));
    for &index in active {
        let mcs = shared.unwrap_or_else(|| knowledge.mcs(cell, index, slot));
        let Some(mcs) = mcs else { continue };
        let tbs = &carrier.sizes(free.shape, mcs)[..=usize::from(free.shape.n_prb)];
        let most = tbs[usize::from(free.units.rbs())];
        let first = demand.drbs.len() as u32;
        let ue = &cell.ues[index as usize];
        for (drb, bearer) in ue.bearers.iter().enumerate() {
            let from = demand.sdus.len() as u32;
            let backlog = if lists_sdus || !bearer.queue().is_fifo() {
                bearer.list_sdus(most, &mut demand.sdus)
            } else {
                bearer.backlog_on_air()
            };
            if backlog > 0 {
                let sdus = from..demand.sdus.len() as u32;
                let head_of_line = bearer.head_age(slot.now);
                demand.drbs.push(DrbDemand { drb: drb as u8, sdus, backlog, head_of_line });
            }
        }
        let drbs = first..demand.drbs.len() as u32;
        if most > 0 && !drbs.is_empty() {
            let slice = cell.slices[index as usize];
            ues.push(UeDemand { ue: cell.number(index), slice, tbs, drbs });
            demand.mcs.push(mcs);
        } else {
            demand.drbs.truncate(first as usize);
        }
    }
}

/// Offers the bearers of `ues` their allocation and their part of the unused blocks, `left`; a full
/// slot carries `full` for the UE at an index.
pub(super) fn offer_blocks(
    cell: &mut Cell,
    ues: &[UeDemand],
    drbs: &[DrbDemand],
    allocation: &RbAllocation,
    left: u16,
    full: impl Fn(usize) -> u64,
) {
    let sharers = drbs.len() as u64;
    for (i, ue) in ues.iter().enumerate() {
        let place = cell.place(ue.ue);
        let bytes = |rbs: u16| u64::from(ue.tbs[usize::from(rbs)]);
        let rbs = allocation.grant(i).rbs;
        // At I_TBS 6 two blocks of LTE carry less than one (TS 36.213 Table 7.1.7.2.1-1).
        let left = bytes(rbs + left).saturating_sub(bytes(rbs)) / sharers;
        let (capacity, full) = (u64::from(ue.tbs[ue.tbs.len() - 1]), full(i));
        for drb in &drbs[ue.drbs.start as usize..ue.drbs.end as usize] {
            cell.offer(BearerId { ue: place, drb: drb.drb }, Offer { capacity, full, left });
        }
    }
}
