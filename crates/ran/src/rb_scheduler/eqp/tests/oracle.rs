//! Equations (1) to (4) of A21 by exhaustive search: every number of SDUs of every bearer, and
//! every UE for the short unit.

use super::super::quanta::INFLATION_ONE;
use super::*;

/// The best selection: SDUs that leave whole and, as the tie-break, the sum of their slices' quanta
/// in whole blocks.
pub(super) type Best = (i64, i64);

/// Tries all selections under these quanta, credited for the slot.
pub(super) fn best(demand: &RbDemand, quanta: &Quanta) -> Best {
    let options: Vec<_> = (0..demand.ues.len()).map(|ue| options(demand, ue, quanta)).collect();
    let mut search = Search { demand, quanta, options: &options, best: (0, 0) };
    search.descend(0, (0, 0), demand.units, &mut vec![0; quanta.slices()]);
    search.best
}

/// All selections inside a UE: number of SDUs, and their inflated blocks.
fn options(demand: &RbDemand, index: usize, quanta: &Quanta) -> Vec<(i64, u16)> {
    let ue = &demand.ues[index];
    let factor = quanta.inflation(usize::from(ue.slice));
    let mut sums = vec![(0, 0_u64)];
    for drb in demand.drbs_of(index) {
        let mut longer = vec![];
        for &(sdus, bytes) in &sums {
            let (mut sdus, mut bytes) = (sdus, bytes);
            longer.push((sdus, bytes));
            for &sdu in demand.sdus_of(drb) {
                sdus += 1;
                bytes += u64::from(sdu);
                longer.push((sdus, bytes));
            }
        }
        sums = longer;
    }
    let seems =
        |bytes: u64| ue.rbs_for((bytes * factor).div_ceil(INFLATION_ONE), demand.units.rbs());
    sums.into_iter().filter_map(|(sdus, bytes)| Some((sdus, seems(bytes)?))).collect()
}

struct Search<'a> {
    demand: &'a RbDemand<'a>,
    quanta: &'a Quanta,
    options: &'a [Vec<(i64, u16)>],
    best: Best,
}

impl Search<'_> {
    /// Adds every selection of UE `index` and of the following UEs to the selection so far.
    fn descend(&mut self, index: usize, so_far: Best, free: RbUnits, spent: &mut [u16]) {
        let Some(options) = self.options.get(index) else {
            self.best = self.best.max(so_far);
            return;
        };
        let slice = usize::from(self.demand.ues[index].slice);
        let quantum = self.quanta.whole(slice);
        for &(sdus, blocks) in options {
            for with_short in [false, true] {
                let mut left = free;
                let short = if with_short { left.take_short() } else { 0 };
                let units = blocks.saturating_sub(short).div_ceil(free.size());
                let rbs = units * free.size() + short;
                if units > free.full()
                    || (with_short && short == 0)
                    || spent[slice] + rbs > self.quanta.budget(slice)
                {
                    continue;
                }
                spent[slice] += rbs;
                let sum = (so_far.0 + sdus, so_far.1 + sdus * quantum);
                self.descend(index + 1, sum, left.without(units), spent);
                spent[slice] -= rbs;
            }
        }
    }
}
