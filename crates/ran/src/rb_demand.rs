//! The demand of a slot for a resource-block scheduler, and its allocation.
//!
//! Blocks are allocated in *units*: resource block groups under allocation type 0, single blocks
//! under type 1 (TS 36.213 section 7.1.6, TS 38.214 section 5.1.2.2). All units have the same size
//! except the last, which holds the rest of the carrier: 25 blocks in groups of 2 are 12 groups and
//! 1 block. A UE gets whole units. The blocks of all its units carry one transport block, which the
//! UE's bearers share.
//!
//! A demand borrows from the caller's buffers and an allocation keeps its own, so nothing allocates
//! per slot once the buffers have grown.

use alloc::vec::Vec;
use core::ops::Range;
use justfull_base::{Duration, Instant};

/// The units that are free in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RbUnits {
    /// Units of `size` blocks.
    full: u16,
    size: u16,
    /// Blocks of the short last unit; 0 without one.
    short: u16,
}

impl RbUnits {
    /// `rbs` resource blocks in units of `size`; none when `size` is 0.
    #[must_use]
    pub const fn new(rbs: u16, size: u16) -> Option<Self> {
        if size == 0 {
            return None;
        }
        Some(Self { full: rbs / size, size, short: rbs % size })
    }

    /// The units without `taken` full ones (at most all of them), which HARQ retransmissions
    /// occupy.
    #[must_use]
    pub const fn without(self, taken: u16) -> Self {
        Self { full: self.full.saturating_sub(taken), ..self }
    }

    /// The units without the short last one.
    #[must_use]
    pub const fn without_short(self) -> Self {
        Self { short: 0, ..self }
    }

    /// Number of units of full size.
    #[must_use]
    pub const fn full(self) -> u16 {
        self.full
    }

    /// Blocks of a full unit, at least 1 (0 only in the default, which has no units).
    #[must_use]
    pub const fn size(self) -> u16 {
        self.size
    }

    /// Blocks of the short last unit; 0 without one.
    #[must_use]
    pub const fn short(self) -> u16 {
        self.short
    }

    /// Number of units, including the short one.
    #[must_use]
    pub const fn count(self) -> u16 {
        self.full + (self.short > 0) as u16
    }

    /// Resource blocks of all units.
    #[must_use]
    pub const fn rbs(self) -> u16 {
        self.full * self.size + self.short
    }

    /// Removes and returns the units that `rbs` blocks cover: as many full units as fit, and the
    /// short one if it fits too.
    #[must_use]
    pub const fn split_off(&mut self, rbs: u16) -> Self {
        let full = match rbs.checked_div(self.size) {
            Some(full) if full < self.full => full,
            Some(_) => self.full,
            None => 0,
        };
        let short = if rbs - full * self.size >= self.short { self.short } else { 0 };
        self.full -= full;
        self.short -= short;
        Self { full, short, ..*self }
    }

    /// Removes the short last unit and returns its blocks.
    pub const fn take_short(&mut self) -> u16 {
        core::mem::replace(&mut self.short, 0)
    }

    /// Removes one unit and returns its blocks: full ones first, then the short one; 0 if none is
    /// left.
    ///
    /// So units follow the order of service, and the last served UE gets the short one.
    #[inline]
    pub fn take(&mut self) -> u16 {
        if self.full > 0 {
            self.full -= 1;
            return self.size;
        }
        core::mem::take(&mut self.short)
    }
}

/// All data waiting for a slot: UEs, their bearers, and the bearers' SDUs.
#[derive(Clone, Copy, Debug)]
pub struct RbDemand<'a> {
    /// Number of the slot since the start.
    pub slot: u64,
    /// The instant at which the slot is scheduled.
    pub now: Instant,
    /// Units free for new data: without control, and without HARQ retransmissions, which are
    /// scheduled first.
    pub units: RbUnits,
    /// The UEs with data to send, each once, in ascending order of [`UeDemand::ue`].
    pub ues: &'a [UeDemand<'a>],
    /// Their bearers, in the order of [`UeDemand::drbs`].
    pub drbs: &'a [DrbDemand],
    /// Bytes on the air of each waiting SDU, with headers of RLC and MAC, in the order of
    /// [`DrbDemand::sdus`].
    pub sdus: &'a [u32],
}

/// A UE with data to send.
#[derive(Clone, Debug)]
pub struct UeDemand<'a> {
    /// Its number in the cell: the key for averages and turns across slots.
    pub ue: u32,
    /// Its slice: an index into the scheduler's shares.
    pub slice: u16,
    /// Bytes that `n` blocks carry at this UE's MCS and layers, for `n` from 0 to all blocks of
    /// the slot; starts at 0 and never decreases.
    pub tbs: &'a [u32],
    /// Its bearers with data to send: indexes into [`RbDemand::drbs`], at least one.
    pub drbs: Range<u32>,
}

/// A data radio bearer with data to send.
#[derive(Clone, Debug)]
pub struct DrbDemand {
    /// Its number in the UE.
    pub drb: u8,
    /// Its first SDUs: indexes into [`RbDemand::sdus`]. The first may be the rest of a segmented
    /// SDU. The list may stop at the capacity of the whole slot, and is empty for a scheduler that
    /// does not need SDUs.
    pub sdus: Range<u32>,
    /// Bytes on the air of all waiting data, at least the listed SDUs.
    pub backlog: u64,
    /// Time that the first SDU has waited in the queue.
    pub head_of_line: Duration,
}

impl RbDemand<'_> {
    /// The bearers of UE `index` in [`Self::ues`].
    #[must_use]
    pub fn drbs_of(&self, index: usize) -> &[DrbDemand] {
        let Range { start, end } = self.ues[index].drbs;
        &self.drbs[start as usize..end as usize]
    }

    /// The listed SDUs of `drb`.
    #[must_use]
    pub fn sdus_of(&self, drb: &DrbDemand) -> &[u32] {
        &self.sdus[drb.sdus.start as usize..drb.sdus.end as usize]
    }

    /// Least number of resource blocks that carry all data of UE `index`, or as much as the slot
    /// can carry; 0 if its channel carries nothing.
    #[must_use]
    pub fn rbs_needed(&self, index: usize) -> u16 {
        let backlog =
            self.drbs_of(index).iter().fold(0, |sum: u64, drb| sum.saturating_add(drb.backlog));
        let (ue, all) = (&self.ues[index], self.units.rbs());
        // A small backlog, such as a call's, fits one block.
        if all > 0
            && (1..=u64::from(ue.tbs[1])).contains(&backlog)
            && ue.tbs[1] <= ue.tbs[usize::from(all.min(2))]
        {
            return 1;
        }
        ue.rbs_for(backlog.min(u64::from(ue.tbs[usize::from(all)])), all).unwrap_or(all)
    }
}

impl UeDemand<'_> {
    /// Least number of blocks, up to `most`, that carry more than headers, or as much as `most`
    /// carry.
    #[must_use]
    #[inline]
    pub(crate) fn least_rbs(&self, most: u16) -> u16 {
        let table = &self.tbs[..=usize::from(most)];
        let least = table.last().map_or(0, |&all| all.min(LEAST_PART));
        table.partition_point(|&carried| carried < least) as u16
    }

    /// Least number of resource blocks that carry `bytes`; none if `most` are not enough.
    #[must_use]
    #[inline]
    pub fn rbs_for(&self, bytes: u64, most: u16) -> Option<u16> {
        let table = &self.tbs[..=usize::from(most)];
        if table.last().is_none_or(|&all| u64::from(all) < bytes) {
            return None;
        }
        u16::try_from(table.partition_point(|&carried| u64::from(carried) < bytes)).ok()
    }
}

/// The grant of a UE in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RbGrant {
    /// Units, including the short one.
    pub units: u16,
    /// Resource blocks of these units.
    pub rbs: u16,
}

/// The allocation of one slot. Keep one and pass it again, so that its buffers are reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RbAllocation {
    grants: Vec<RbGrant>,
    bytes: Vec<u32>,
    withheld: u16,
}

impl RbAllocation {
    /// Allocates now the memory for slots with so many UEs and bearers.
    pub fn reserve(&mut self, ues: usize, drbs: usize) {
        self.grants.reserve(ues);
        self.bytes.reserve(drbs);
    }

    /// Resets the grants of every UE of `demand` to nothing.
    pub fn clear(&mut self, demand: &RbDemand) {
        self.grants.clear();
        self.grants.resize(demand.ues.len(), RbGrant::default());
        self.bytes.clear();
        self.bytes.resize(demand.drbs.len(), 0);
        self.withheld = 0;
    }

    /// The grant of the UE at `index` of [`RbDemand::ues`].
    #[must_use]
    pub fn grant(&self, index: usize) -> RbGrant {
        self.grants[index]
    }

    /// The grant of every UE, in the order of [`RbDemand::ues`].
    #[must_use]
    pub fn grants(&self) -> &[RbGrant] {
        &self.grants
    }

    /// Bytes of the transport block for each bearer, in the order of [`RbDemand::drbs`].
    #[must_use]
    pub fn bytes(&self) -> &[u32] {
        &self.bytes
    }

    /// Resource blocks allocated to UEs.
    #[must_use]
    pub fn rbs(&self) -> u32 {
        self.grants.iter().map(|grant| u32::from(grant.rbs)).sum()
    }

    /// Resource blocks deliberately left unused although data waits, because they belong to other
    /// slices.
    #[must_use]
    pub fn withheld(&self) -> u16 {
        self.withheld
    }

    /// Gives the UE at `index` a unit of `rbs` blocks.
    #[inline]
    pub fn give(&mut self, index: usize, rbs: u16) {
        let grant = &mut self.grants[index];
        grant.units += 1;
        grant.rbs += rbs;
    }

    /// Records that `rbs` blocks are withheld.
    pub fn withhold(&mut self, rbs: u16) {
        self.withheld = rbs;
    }

    /// The bytes of each bearer, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u32] {
        &mut self.bytes
    }

    /// Divides the transport block of the UE at `index` among its bearers. Each in turn gets an
    /// equal part of the rest, at least 24 bytes; its unused bytes go to the others. The first
    /// bearer in turn advances by one each slot.
    pub fn split_in_turn(&mut self, demand: &RbDemand, index: usize) {
        let (ue, drbs) = (&demand.ues[index], demand.drbs_of(index));
        if let [only] = drbs {
            let carried = ue.tbs[usize::from(self.grants[index].rbs)];
            self.bytes[ue.drbs.start as usize] = clip(only.backlog).min(carried);
            return;
        }
        let bytes = &mut self.bytes[ue.drbs.start as usize..ue.drbs.end as usize];
        let mut left = ue.tbs[usize::from(self.grants[index].rbs)];
        let (n, first) = (drbs.len(), (demand.slot % drbs.len().max(1) as u64) as usize);
        for (passed, i) in (first..n).chain(0..first).enumerate() {
            let part = left.div_ceil((n - passed) as u32).max(LEAST_PART).min(left);
            bytes[i] = clip(drbs[i].backlog).min(part);
            left -= bytes[i];
        }
        for i in (first..n).chain(0..first) {
            let more = (clip(drbs[i].backlog) - bytes[i]).min(left);
            bytes[i] += more;
            left -= more;
        }
    }
}

/// Minimum bytes of a bearer's part of a transport block, and of a transport block, if that many
/// are available. A part with only headers (MAC 3, RLC up to 7 with a segment offset) would never
/// carry data.
const LEAST_PART: u32 = 24;

/// A backlog, capped at the greatest transport block.
#[inline]
fn clip(backlog: u64) -> u32 {
    u32::try_from(backlog).unwrap_or(u32::MAX)
}

/// The data that a UE sent in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeServed {
    /// Its number in the cell.
    pub ue: u32,
    /// Resource blocks that it used.
    pub rbs: u16,
    /// Bytes of data on the air, without padding.
    pub bytes: u32,
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
