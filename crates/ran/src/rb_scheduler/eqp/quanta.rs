//! The blocks that slices have lent each other: A21's quanta, in exact fractions of a resource
//! block.

use super::{EqpBlocks, EqpConfig, EqpCredit, EqpInflation};
use crate::rb_demand::RbUnits;
use alloc::vec;
use alloc::vec::Vec;

/// An inflation of 1.
pub(super) const INFLATION_ONE: u64 = 1 << 20;

/// The size of `bytes` under an `inflation`, rounded up.
#[inline]
pub(super) fn inflate(bytes: u32, inflation: u64) -> u64 {
    (u64::from(bytes) * inflation).div_ceil(INFLATION_ONE)
}

/// Quanta of all slices.
///
/// One block counts `parts` units, the sum of all shares in millionths. A slot of `n` blocks then
/// credits a slice `share x n` exactly, and credits sum to the blocks of the slot.
#[derive(Clone, Debug)]
pub(super) struct Quanta {
    shares: Vec<i64>,
    quanta: Vec<i64>,
    parts: i64,
    config: EqpConfig,
    /// The limit of this slot in blocks.
    limit_rbs: i64,
    /// Indexes of slices by quantum; kept for its memory.
    order: Vec<u32>,
}

impl Quanta {
    pub(super) fn new(shares: &[u32], config: EqpConfig) -> Self {
        let shares: Vec<i64> = shares.iter().map(|&share| i64::from(share)).collect();
        let parts = shares.iter().sum();
        let limit_rbs = i64::from(config.quantum_limit);
        let (quanta, order) = (vec![0; shares.len()], Vec::with_capacity(shares.len()));
        Self { quanta, order, shares, parts, config, limit_rbs }
    }

    /// The units of a slot that are dealt out.
    pub(super) fn dealt(&self, units: RbUnits) -> RbUnits {
        let all = i64::from(units.rbs());
        let of = |share: &i64| share * all / i64::from(super::SHARE_PARTS);
        let floors: i64 = self.shares.iter().map(of).sum();
        if self.config.blocks == EqpBlocks::All || floors == all {
            return units;
        }
        let whole = units.without_short();
        let most = floors / i64::from(units.size()).max(1);
        whole.without((i64::from(whole.full()) - most).max(0) as u16)
    }

    /// Algorithm 4, line 1: credits every slice its share of the `rbs` blocks of a slot in which a
    /// UE needs `least` blocks to send anything.
    pub(super) fn credit(&mut self, rbs: u16, least: u16) {
        let rbs = i64::from(rbs);
        // A lower limit would allow no slice to borrow enough for any data.
        self.limit_rbs = i64::from(self.config.quantum_limit).max(i64::from(least));
        for (quantum, share) in self.quanta.iter_mut().zip(&self.shares) {
            *quantum += match self.config.credit {
                EqpCredit::Exact => share * rbs,
                EqpCredit::Floor => share * rbs / i64::from(super::SHARE_PARTS) * self.parts,
            };
        }
    }

    /// The limit of this slot in parts of a block.
    fn limit(&self) -> i64 {
        self.limit_rbs * self.parts
    }

    /// Blocks that `slice` has lent; negative if it is in debt.
    pub(super) fn rbs(&self, slice: usize) -> f64 {
        self.quanta[slice] as f64 / self.parts as f64
    }

    /// Blocks that `slice` has lent, in parts of a block, for comparisons.
    pub(super) fn exact(&self, slice: usize) -> i64 {
        self.quanta[slice]
    }

    /// Whole blocks that `slice` has lent, rounded down.
    pub(super) fn whole(&self, slice: usize) -> i64 {
        self.quanta[slice].div_euclid(self.parts)
    }

    pub(super) fn slices(&self) -> usize {
        self.quanta.len()
    }

    /// Blocks that `slice` may take until its debt is at the limit.
    pub(super) fn budget(&self, slice: usize) -> u16 {
        let rbs = (self.quanta[slice] + self.limit()).div_euclid(self.parts);
        rbs.clamp(0, i64::from(u16::MAX)) as u16
    }

    /// True while `slice` may get a unit of `rbs` blocks that finish no SDU: its debt is below the
    /// threshold (A21: 75 % of the limit) and stays within the limit with them.
    pub(super) fn may_fill(&self, slice: usize, rbs: u16) -> bool {
        let threshold = self.limit() as f64 * self.config.leftover_threshold.0;
        self.quanta[slice] as f64 > -threshold && self.budget(slice) >= rbs
    }

    /// `slice` takes `rbs` blocks.
    pub(super) fn charge(&mut self, slice: usize, rbs: u16) {
        self.quanta[slice] -= i64::from(rbs) * self.parts;
    }

    /// The factor by which the SDUs of `slice` are inflated, in units of [`INFLATION_ONE`].
    pub(super) fn inflation(&self, slice: usize) -> u64 {
        let debt = (-self.quanta[slice]).clamp(0, self.limit());
        let x = debt as f64 / self.limit() as f64;
        let printed = 5.0 * (x * x * x * x * x);
        let factor = match self.config.inflation {
            EqpInflation::Added => 1.0 + printed,
            EqpInflation::Clamped => printed.max(1.0),
            EqpInflation::AsPrinted => printed,
        };
        (factor * INFLATION_ONE as f64 + 0.5) as u64
    }

    /// Ends a slot with `unused` blocks, which are charged to the slices that have lent most (line
    /// 19). Loans beyond the limit go to the slices that owe most, so that the sum stays.
    pub(super) fn settle(&mut self, unused: u16) {
        self.lower_highest(i64::from(unused) * self.parts, 0);
        let limit = self.limit();
        let mut surplus = 0;
        for quantum in &mut self.quanta {
            surplus += (*quantum - limit).max(0);
            *quantum = (*quantum).min(limit);
        }
        if surplus > 0 && self.config.credit == EqpCredit::Exact {
            self.quanta.iter_mut().for_each(|quantum| *quantum = -*quantum);
            self.lower_highest(surplus, -limit);
            self.quanta.iter_mut().for_each(|quantum| *quantum = -*quantum);
        }
    }

    /// Subtracts `amount` from the highest quanta, levelling them, but none below `floor`.
    fn lower_highest(&mut self, amount: i64, floor: i64) {
        let Self { quanta, order, .. } = self;
        if amount == 0 {
            return;
        }
        order.clear();
        order.extend(0..quanta.len() as u32);
        order.sort_unstable_by_key(|&i| (core::cmp::Reverse(quanta[i as usize]), i));
        // At the cost `above` the first `n` become equal to the next; stop if the amount is used up
        // before that.
        let (mut above, mut sum, mut n) = (0, 0, 0_u32);
        while let Some(&slice) = order.get(n as usize) {
            sum += quanta[slice as usize];
            n += 1;
            let next = order.get(n as usize).map_or(floor, |&i| quanta[i as usize].max(floor));
            above = sum - next * i64::from(n);
            if above >= amount || next == floor {
                break;
            }
        }
        let amount = amount.min(above.max(0));
        if amount > 0 {
            let level = (sum - amount).div_euclid(i64::from(n));
            let rest = (sum - amount).rem_euclid(i64::from(n));
            for (i, &slice) in (0..).zip(&order[..n as usize]) {
                quanta[slice as usize] = level + i64::from(i < rest);
            }
        }
    }
}
