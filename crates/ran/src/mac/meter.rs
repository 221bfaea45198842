//! Counts of the MAC for each UE, kept only if reports are requested.
//!
//! Blocks are the cell's own unit: resource blocks, bytes, or whole packets. In a special slot,
//! which has fewer symbols, each resource block counts as a fraction of a full block, in proportion
//! to its symbols. So the number of blocks times the capacity of a full slot is the capacity of the
//! slots.

use super::SlotUse;
use alloc::vec::Vec;

/// Counts of one UE since its last report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UeMeter {
    /// Blocks allocated to it.
    pub(crate) blocks: u64,
    /// Blocks of retransmissions among them.
    pub(crate) repeats: u64,
    /// Bytes sent to it for the first time.
    pub(crate) bytes: u64,
    /// If UEs have their own channels and blocks are not resource blocks: the capacity of the slots
    /// for this UE, and the part of it that all UEs took.
    pub(crate) offered: u64,
    pub(crate) used: u64,
    /// Blocks in the current slot.
    in_slot: u64,
}

/// A block of a slot as a part of a full block.
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

/// Counts since the last reports.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// Number of slots, and of slots that could carry data by their pattern.
    pub(crate) slots: u64,
    pub(crate) downlink_slots: u32,
    pub(crate) offered: u64,
    pub(crate) used: u64,
    pub(crate) ues: Vec<UeMeter>,
    /// Space for the places of the UEs, in the order of their numbers.
    pub(crate) places: Vec<usize>,
    /// Weight of the current slot.
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
            places: Vec::with_capacity(ues),
            weight: Weight::FULL,
        }
    }

    /// A UE enters in `place`, perhaps the place of a UE that has left.
    pub(crate) fn enter(&mut self, place: u32) {
        let most = self.ues.len().max(place as usize + 1);
        self.ues.resize(most, UeMeter::default());
        self.ues[place as usize] = UeMeter::default();
    }

    /// Begins a slot whose blocks weigh `weight`.
    pub(crate) fn begin_slot(&mut self, weight: Weight) {
        self.weight = weight;
    }

    /// Allocates `blocks` to `ue`; `again` for a retransmission.
    pub(crate) fn give(&mut self, ue: u32, blocks: u64, again: bool) {
        let blocks = self.weight.of(blocks);
        let ue = &mut self.ues[ue as usize];
        ue.blocks += blocks;
        ue.in_slot += blocks;
        ue.repeats += if again { blocks } else { 0 };
    }

    /// Sends `bytes` to `ue` for the first time.
    pub(crate) fn send(&mut self, ue: u32, bytes: u64) {
        self.ues[ue as usize].bytes += bytes;
    }

    /// Ends the slot with its use; `downlink` if it may carry data by its pattern.
    pub(super) fn end_slot(&mut self, slot_use: SlotUse, downlink: bool) {
        self.slots += 1;
        self.downlink_slots += u32::from(downlink);
        self.offered += self.weight.of(slot_use.capacity);
        self.used += self.weight.of(slot_use.used);
    }

    /// Ends the slot if UEs have different capacities: the amount that a UE took, divided by its
    /// own capacity, is the share of the slot that it took from all.
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

    /// Resets the counts.
    pub(crate) fn reset(&mut self) {
        (self.slots, self.downlink_slots, self.offered, self.used) = (0, 0, 0, 0);
        self.ues.fill(UeMeter::default());
    }

    /// Number of UEs with allocated blocks.
    pub(crate) fn active_ues(&self) -> u32 {
        self.ues.iter().filter(|ue| ue.blocks > 0).count() as u32
    }
}
