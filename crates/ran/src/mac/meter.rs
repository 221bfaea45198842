//! What the MAC counts of each UE for those who ask for reports: nobody asks, nothing is counted.
//!
//! Blocks are the cell's own unit: resource blocks, bytes, or whole packets. In a special slot,
//! whose symbols are fewer, each resource block counts as the part of a full one that its symbols
//! are, so that blocks times what a full slot carries is what the slots could carry.

use super::SlotUse;
use alloc::vec::Vec;

/// What was counted of one UE since it was last told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UeMeter {
    /// Blocks given to it.
    pub(crate) blocks: u64,
    /// Of these, the ones of retransmissions.
    pub(crate) repeats: u64,
    /// Bytes sent to it for the first time.
    pub(crate) bytes: u64,
    /// Where UEs have channels of their own and blocks are not resource blocks: what the slots
    /// could have carried to it, and what of this all UEs took.
    pub(crate) offered: u64,
    pub(crate) used: u64,
    /// Blocks of the slot that is served.
    in_slot: u64,
}

/// The part of a full block that a block of a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) part: u64,
    pub(crate) whole: u64,
}

impl Weight {
    pub(crate) const FULL: Self = Self { part: 1, whole: 1 };

    const fn of(self, blocks: u64) -> u64 {
        blocks * self.part / self.whole
    }
}

/// Counts since reports were last made.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// Slots, and those that could carry something by their pattern.
    pub(crate) slots: u64,
    pub(crate) downlink_slots: u32,
    pub(crate) offered: u64,
    pub(crate) used: u64,
    pub(crate) ues: Vec<UeMeter>,
    /// Of the slot that is served.
    weight: Weight,
}

impl Meter {
    pub(crate) fn new(ues: usize) -> Self {
        Self {
            slots: 0,
            downlink_slots: 0,
            offered: 0,
            used: 0,
            ues: alloc::vec![UeMeter::default(); ues],
            weight: Weight::FULL,
        }
    }

    /// A slot whose blocks weigh `weight` begins.
    pub(crate) fn begin_slot(&mut self, weight: Weight) {
        self.weight = weight;
    }

    /// `ue` was given `blocks`; `again` for a retransmission.
    pub(crate) fn give(&mut self, ue: u32, blocks: u64, again: bool) {
        let blocks = self.weight.of(blocks);
        let ue = &mut self.ues[ue as usize];
        ue.blocks += blocks;
        ue.in_slot += blocks;
        ue.repeats += if again { blocks } else { 0 };
    }

    /// `ue` was sent `bytes` for the first time.
    pub(crate) fn send(&mut self, ue: u32, bytes: u64) {
        self.ues[ue as usize].bytes += bytes;
    }

    /// The slot is over, which was used so; `downlink` when its pattern leaves it to data.
    pub(super) fn end_slot(&mut self, slot_use: SlotUse, downlink: bool) {
        self.slots += 1;
        self.downlink_slots += u32::from(downlink);
        self.offered += self.weight.of(slot_use.capacity);
        self.used += self.weight.of(slot_use.used);
    }

    /// Likewise of each UE, where what a slot carries differs: what a UE took of its own capacity
    /// is the share of the slot that it took from everybody.
    pub(super) fn end_slot_of_each(&mut self, capacity: impl Fn(u32) -> u64) {
        let mut share = 0.0;
        for (ue, meter) in (0..).zip(&mut self.ues) {
            let capacity = capacity(ue);
            meter.offered += capacity;
            if meter.in_slot > 0 && capacity > 0 {
                share += meter.in_slot as f64 / capacity as f64;
            }
        }
        for (ue, meter) in (0..).zip(&mut self.ues) {
            let capacity = capacity(ue);
            let others = (share * capacity as f64) as u64;
            meter.used += others.clamp(meter.in_slot.min(capacity), capacity);
            meter.in_slot = 0;
        }
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        (self.slots, self.downlink_slots, self.offered, self.used) = (0, 0, 0, 0);
        self.ues.fill(UeMeter::default());
    }

    /// UEs that were given blocks.
    pub(crate) fn active_ues(&self) -> u32 {
        self.ues.iter().filter(|ue| ue.blocks > 0).count() as u32
    }
}
