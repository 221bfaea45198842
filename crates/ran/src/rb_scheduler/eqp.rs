//! Elastic quantum partition (EQP): as many whole SDUs as a slot can carry, with slices that lend
//! each other blocks.
//!
//! Source: A21 section IV-B, equations (1) to (4), Algorithms 4 and 5. A segmented SDU waits at the
//! receiver for its rest, so each slot maximises the number of SDUs that leave whole; bearers are
//! queues. For long-term fairness a slice has a *quantum*: each slot adds its share of the blocks,
//! and each block that it gets subtracts one. In debt (below 0) its SDUs are treated as larger, by
//! the factor `1 + 5 x^5` with `x = debt / L`; L is `quantum_limit`.
//!
//! A slot (Algorithm 4): credit the shares. Choose the SDUs: as many as possible; among equal
//! numbers, the SDUs of the slices that have lent most (Algorithm 5). Give the remaining units to
//! the slices with the highest quanta that still have data to send, while their debt is below 75 %
//! of L. Charge the rest to the slices that have lent most, even without data to send: it stays
//! unused (`RbAllocation::withheld` if others would have sent). Defaults are A21's: L = 100 blocks,
//! 75 %. So over any time a slice misses its share by at most 2 L blocks.
//!
//! Deviations from the source; the printed form is an option wherever it can run:
//! - The inflation is printed as the factor `5 x^5`. Under it the SDUs of a slice without debt take
//!   no room, and below 72 % of L SDUs count as smaller than they are. Default `added` (1 + 5 x^5);
//!   `clamped` is max(1, 5 x^5); with `as_printed` the chosen SDUs are granted in order of slices
//!   while they fit.
//! - Credits are printed as floors, which leave 1 of 25 blocks over in each slot and drive all
//!   quanta down. Default `exact`: credits sum to the blocks of the slot, and quanta to 0 after it.
//!   `floor` is as printed.
//! - The paper's 5 MHz cell has "24 available RBs" for its slices, the sum of the floors of 25
//!   times the shares. Default `all` deals every block of the slot; `sum_of_floors` leaves out the
//!   blocks beyond that sum, in whole units, so that both kinds of credit are equal there and
//!   quanta sum to 0.
//! - Algorithm 5 memoises results by queue, SDU and capacity alone, but the cost of an SDU depends
//!   on the groups that its UE already has, so as printed it does not find the most SDUs (a test
//!   holds an example). Here SDUs are chosen first inside a UE (by bytes, `chains.rs`), rounded up
//!   to units, then across UEs and slices (`knapsack.rs`): exact.
//! - The inflated size of an SDU counts against the limit too (the paper leaves this open); its
//!   real size is charged.
//! - Shares that sum to less than 1 leave blocks that belong to nobody; they are credited in
//!   proportion to the shares.
//! - A slice that has lent L blocks lends no more: the slices with the greatest debt then get its
//!   unused blocks. (With two slices this never happens: one owes the blocks that the other has
//!   lent.)
//! - L counts as at least one unit, or nobody could borrow a group of blocks; at a low MCS, as the
//!   units that carry more than headers.
//! - A UE whose units finish no SDU first gets as many units as carry more than headers. If its
//!   slice may not take so many, the slice waits for a later slot. Otherwise, one unit at a time, a
//!   slice alone in its cell would spend its share of each slot on blocks that carry nothing.
//!
//! Weaknesses: inside a slice the greatest number of SDUs wins, so large ones wait while small ones
//! fill the slots; a slice alone in the cell is limited to its share once it owes 75 % of L (with
//! two slices); it ignores the priorities of bearers.
//!
//! Cost: blocks x SDUs of all bearers, in vector operations; memory the same, kept from slot to
//! slot.

mod chains;
mod knapsack;
mod quanta;
mod room;

pub use self::room::EqpRoom;

use self::chains::Chains;
use self::knapsack::{Knapsack, Picked};
use self::quanta::{Quanta, inflate};
use super::{RbScheduler, SHARE_PARTS, share_parts};
use crate::rb_demand::{RbAllocation, RbDemand, RbUnits, UeDemand};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Ratio, choice, params};

choice! {
    /// By how much the SDUs of an indebted slice seem larger; x is its debt over the limit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EqpInflation {
        /// 1 + 5 x^5.
        #[default]
        Added = "added",
        /// max(1, 5 x^5).
        Clamped = "clamped",
        /// 5 x^5, A21 section V-E.
        AsPrinted = "as_printed",
    }
}

choice! {
    /// The addition of a slot to the quantum of a slice.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EqpCredit {
        /// Its share of the blocks, in fractions.
        #[default]
        Exact = "exact",
        /// Its share rounded down to blocks, A21 section IV-B.
        Floor = "floor",
    }
}

choice! {
    /// Which blocks of a slot are dealt.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EqpBlocks {
        /// All.
        #[default]
        All = "all",
        /// As many as the shares rounded down to blocks, in whole units, A21 section V-E.
        SumOfFloors = "sum_of_floors",
    }
}

params! {
    /// Settings of [`Eqp`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EqpConfig: "a share of the limit" {
        /// Blocks that a slice may lend or borrow.
        quantum_limit: u32 as "resource blocks" = 100, within(1, 100_000),
            "without a block to lend nothing is lent; A21 Fig. 20 tries 25 to 500";
        /// Factor by which SDUs of a slice in debt seem larger, x being the debt over the limit:
        /// 1 + 5 x^5, max(1, 5 x^5) or 5 x^5.
        inflation: EqpInflation = EqpInflation::Added;
        /// Debt over the limit from which on a slice gets no blocks that finish no SDU.
        leftover_threshold: Ratio = Ratio(0.75), within(Ratio(0.0), Ratio(1.0));
        /// Whether a slot credits a slice its share in fractions of a block or rounded down.
        credit: EqpCredit = EqpCredit::Exact;
        /// Whether all blocks of a slot are dealt or only the sum of the shares, each rounded down
        /// to blocks.
        blocks: EqpBlocks = EqpBlocks::All;
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "eqp",
    kind: "resource block scheduler",
    title: "Elastic quantum partition: the most whole SDUs, with slices that lend each other \
            blocks (EQP)",
    text: "In each slot the number of SDUs that leave whole is maximised, over UEs, bearers and \
           slices, in whole RBs or RBGs. Slices lend and borrow blocks up to a limit; the SDUs of \
           a slice in debt seem larger. What is left goes to the slices that have lent most.",
    sources: "A21 section IV-B, Algorithms 4 and 5",
    deviations: "inflation 1 + 5 x^5 and exact credits instead of the printed ones (both can be \
                 chosen); SDUs are chosen by an exact method; surplus above the limit is given \
                 up; units that finish no SDU are at first as many as carry more than headers, \
                 and the limit is as many at least",
    params: EqpConfig::params,
};

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EqpStats {
    /// SDUs chosen to leave whole.
    pub whole_sdus: u64,
    /// Units given in addition.
    pub leftover_units: u64,
    /// Blocks left unused while data waited.
    pub withheld_rbs: u64,
}

/// The EQP scheduler.
#[derive(Clone, Debug)]
pub struct Eqp {
    quanta: Quanta,
    chains: Chains,
    knapsack: Knapsack,
    /// Indexes of the demand's UEs, by slice, in the order of their turns.
    members: Vec<u32>,
    /// By slice: start of its members; one more at the end.
    starts: Vec<u32>,
    /// By slice: number of the UE whose turn is next.
    turns: Vec<u32>,
    /// By slice: the member that gets the next leftover unit.
    cursors: Vec<u32>,
    /// Quantum and index of the slices that may get units; kept for its memory.
    lenders: Vec<(i64, Reverse<u32>)>,
    stats: EqpStats,
}

impl Eqp {
    /// A scheduler over slices with these shares; none has lent anything yet.
    ///
    /// # Errors
    /// The field of `config` or the share outside its bounds.
    pub fn new(config: &EqpConfig, shares: &[Ratio]) -> Result<Self, ConfigError> {
        config.validate()?;
        let quanta = Quanta::new(&share_parts(shares)?, *config);
        let slices = quanta.slices();
        Ok(Self {
            quanta,
            chains: Chains::default(),
            knapsack: Knapsack::default(),
            members: Vec::new(),
            starts: vec![0; slices + 1],
            turns: vec![0; slices],
            cursors: vec![0; slices],
            lenders: Vec::with_capacity(slices),
            stats: EqpStats::default(),
        })
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> EqpStats {
        self.stats
    }

    /// Bytes of the tables, at the size of the largest slot so far.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.chains.memory() + self.knapsack.memory() + size_of::<u32>() * self.members.capacity()
    }

    fn members_of(&self, slice: usize) -> core::ops::Range<usize> {
        self.starts[slice] as usize..self.starts[slice + 1] as usize
    }

    /// Sorts the UEs by slice; in each slice the UE whose turn it is comes first.
    fn gather(&mut self, demand: &RbDemand) {
        self.starts.fill(0);
        for ue in demand.ues {
            self.starts[usize::from(ue.slice) + 1] += 1;
        }
        for slice in 1..self.starts.len() {
            self.starts[slice] += self.starts[slice - 1];
        }
        self.members.clear();
        self.members.resize(demand.ues.len(), 0);
        let slices = self.turns.len();
        self.cursors.copy_from_slice(&self.starts[..slices]);
        for (index, ue) in demand.ues.iter().enumerate() {
            let next = &mut self.cursors[usize::from(ue.slice)];
            self.members[*next as usize] = index as u32;
            *next += 1;
        }
        for slice in 0..slices {
            let (range, turn) = (self.members_of(slice), self.turns[slice]);
            let own = &mut self.members[range];
            own.rotate_left(own.partition_point(|&i| demand.ues[i as usize].ue < turn));
        }
    }

    /// Algorithm 4, lines 2 and 3: gives the knapsack the needs of every UE's SDUs.
    fn weigh(&mut self, demand: &RbDemand) {
        self.chains.begin(demand);
        self.knapsack.begin(demand.units);
        for slice in 0..self.quanta.slices() {
            let members = self.members_of(slice);
            if members.is_empty() {
                continue;
            }
            let factor = self.quanta.inflation(slice);
            self.knapsack.add_slice(self.quanta.budget(slice), self.quanta.whole(slice));
            // The knapsack prefers UEs added last.
            for &index in self.members[members].iter().rev() {
                let ue = &demand.ues[index as usize];
                self.chains.build(demand, ue);
                let sizes = Sizes::new(ue, demand.units.rbs());
                self.knapsack
                    .add_ue(self.chains.least(ue), |bytes| sizes.rbs(inflate(bytes, factor)));
            }
        }
    }

    /// Lines 3 to 8: gives the chosen SDUs their units.
    fn grant_whole(&mut self, demand: &RbDemand, free: &mut RbUnits, out: &mut RbAllocation) {
        self.knapsack.solve();
        let mut before = 0;
        for slice in 0..self.quanta.slices() {
            let members = self.members_of(slice);
            let count = members.len();
            for (turn, member) in members.enumerate() {
                let picked = self.knapsack.picked(before + count - 1 - turn);
                if picked.sdus > 0 {
                    self.grant_picked(demand, self.members[member] as usize, picked, free, out);
                }
            }
            before += count;
        }
    }

    /// Gives the UE at `index` the units of its picked SDUs, or of fewer if their real size exceeds
    /// the free units or the limit. This can happen if they were treated as smaller than they are.
    fn grant_picked(
        &mut self,
        demand: &RbDemand,
        index: usize,
        picked: Picked,
        free: &mut RbUnits,
        out: &mut RbAllocation,
    ) {
        let ue = &demand.ues[index];
        let slice = usize::from(ue.slice);
        let (sizes, least) = (Sizes::new(ue, demand.units.rbs()), self.chains.least(ue));
        let budget = self.quanta.budget(slice);
        let size = free.size();
        for sdus in (1..=usize::from(picked.sdus)).rev() {
            let Some(needed) = sizes.rbs(u64::from(least[sdus])) else { continue };
            let (plain, beside) =
                (needed.div_ceil(size), needed.saturating_sub(free.short()).div_ceil(size));
            let short = picked.short && beside < plain;
            let full = if short { beside } else { plain };
            let rbs = full * size + if short { free.short() } else { 0 };
            if full <= free.full() && rbs <= budget {
                (0..full).for_each(|_| out.give(index, free.take()));
                if short {
                    out.give(index, free.take_short());
                }
                self.quanta.charge(slice, rbs);
                self.stats.whole_sdus += sdus as u64;
                return;
            }
        }
    }

    /// Lines 9 to 17: gives units that finish no SDU to the slices with data to send that have lent
    /// most. Returns true if data still waits.
    fn grant_left(
        &mut self,
        demand: &RbDemand,
        free: &mut RbUnits,
        out: &mut RbAllocation,
    ) -> bool {
        self.lenders.clear();
        for slice in 0..self.quanta.slices() {
            self.cursors[slice] = self.starts[slice];
            if self.find_unmet(demand, slice, out) {
                self.lenders.push((self.quanta.exact(slice), Reverse(slice as u32)));
            }
        }
        let mut waits = false;
        let mut lenders = BinaryHeap::from(core::mem::take(&mut self.lenders));
        while let Some((_, Reverse(slice))) = lenders.pop() {
            let slice = slice as usize;
            let index = self.members[self.cursors[slice] as usize] as usize;
            let least = match out.grant(index).units {
                0 => demand.ues[index].least_rbs(demand.units.rbs()).max(1),
                _ => 1,
            };
            let mut rest = *free;
            let (mut rbs, mut units) = (0, 0_u16);
            while rbs < least && rest.count() > 0 {
                rbs += rest.take();
                units += 1;
            }
            if rbs < least || !self.quanta.may_fill(slice, rbs) {
                waits = true;
                continue;
            }
            (0..units).for_each(|_| out.give(index, free.take()));
            self.quanta.charge(slice, rbs);
            self.stats.leftover_units += u64::from(units);
            if self.find_unmet(demand, slice, out) {
                lenders.push((self.quanta.exact(slice), Reverse(slice as u32)));
            }
        }
        self.lenders = lenders.into_vec();
        waits
    }

    /// Moves the cursor of `slice` to the next UE that could use more blocks; false if there is
    /// none.
    fn find_unmet(&mut self, demand: &RbDemand, slice: usize, out: &RbAllocation) -> bool {
        while self.cursors[slice] < self.starts[slice + 1] {
            let index = self.members[self.cursors[slice] as usize] as usize;
            if out.grant(index).rbs < demand.rbs_needed(index) {
                return true;
            }
            self.cursors[slice] += 1;
        }
        false
    }

    /// Divides the transport block of the UE at `index`: first the greatest number of whole SDUs,
    /// then the rest to one bearer after another.
    fn divide(&self, demand: &RbDemand, index: usize, out: &mut RbAllocation) {
        let ue = &demand.ues[index];
        let least = self.chains.least(ue);
        let carried = ue.tbs[usize::from(out.grant(index).rbs)];
        let sdus = least.partition_point(|&bytes| bytes <= carried) - 1;
        let bytes = out.bytes_mut();
        self.chains.divide(demand, ue, sdus, bytes);
        let mut left = carried - least[sdus];
        let count = ue.drbs.len() as u64;
        for i in 0..count {
            let drb = ue.drbs.start as usize + ((demand.slot + i) % count) as usize;
            let more = demand.drbs[drb].backlog - u64::from(bytes[drb]);
            let more = u32::try_from(more).unwrap_or(u32::MAX).min(left);
            bytes[drb] += more;
            left -= more;
        }
    }
}

impl RbScheduler for Eqp {
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        out.clear(demand);
        let offered = demand.units.rbs();
        let demand = &RbDemand { units: self.quanta.dealt(demand.units), ..*demand };
        let kept = offered - demand.units.rbs();
        out.withhold(kept);
        if demand.units.count() == 0 || demand.ues.is_empty() {
            return;
        }
        let mut free = demand.units;
        self.quanta.credit(free.rbs(), least_rbs(demand));
        self.gather(demand);
        self.weigh(demand);
        self.grant_whole(demand, &mut free, out);
        let waits = self.grant_left(demand, &mut free, out);
        if waits {
            out.withhold(kept + free.rbs());
            self.stats.withheld_rbs += u64::from(kept + free.rbs());
        }
        self.quanta.settle(free.rbs());
        for index in 0..demand.ues.len() {
            if out.grant(index).units > 0 {
                self.divide(demand, index, out);
            }
        }
        // A UE without a grant keeps its turn.
        for slice in 0..self.turns.len() {
            let first = self.members_of(slice).next().map(|at| self.members[at] as usize);
            if let Some(first) = first.filter(|&first| out.grant(first).units > 0) {
                self.turns[slice] = demand.ues[first].ue.wrapping_add(1);
            }
        }
    }

    fn quantum(&self, slice: usize) -> Option<f64> {
        (slice < self.quanta.slices()).then(|| self.quanta.rbs(slice))
    }
}

/// Blocks of the units that let every UE of `demand` send more than headers.
fn least_rbs(demand: &RbDemand) -> u16 {
    let least = demand.ues.iter().map(|ue| ue.least_rbs(demand.units.rbs())).max();
    least.unwrap_or(0).max(1).next_multiple_of(demand.units.size())
}

/// Entries around the guess that are compared at once. Sizes grow in steps of up to 3 %, a few
/// blocks of a long table.
const AROUND: usize = 8;

/// Finds the number of blocks that carry a number of bytes, for one UE: a guess from the mean, then
/// a branch-free search around it.
struct Sizes<'a> {
    table: &'a [u32],
    /// Bytes of all blocks.
    all: u64,
    /// Blocks per byte on average, in units of 2^-32.
    per_byte: u64,
}

impl<'a> Sizes<'a> {
    fn new(ue: &UeDemand<'a>, most: u16) -> Self {
        let table = &ue.tbs[..=usize::from(most)];
        let all = u64::from(table[usize::from(most)]);
        Self { table, all, per_byte: (u64::from(most) << 32) / all.max(1) }
    }

    /// Least number of blocks that carry `bytes`; none if all blocks are not enough.
    #[inline]
    fn rbs(&self, bytes: u64) -> Option<u16> {
        if bytes > self.all {
            return None;
        }
        // The product is at most the number of blocks, in units of 2^-32.
        let guess = ((bytes * self.per_byte) >> 32) as usize;
        let from =
            (guess + 1).saturating_sub(AROUND / 2).min(self.table.len().saturating_sub(AROUND));
        let bytes = bytes as u32;
        let near = self.table[from..].first_chunk::<AROUND>();
        let at = near.map_or(0, |near| near.iter().map(|&carried| u32::from(carried < bytes)).sum())
            as usize;
        let rbs = if (1..AROUND).contains(&at) {
            from + at
        } else {
            self.table.partition_point(|&carried| carried < bytes)
        };
        Some(rbs as u16)
    }
}

#[cfg(test)]
mod tests;
