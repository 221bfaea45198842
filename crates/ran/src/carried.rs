//! The capacity of recent slots, which gives the departure time of a packet alone in the cell.

use alloc::vec;
use alloc::vec::Vec;

/// Slots in memory: 65 s of slots of 1 ms.
const SLOTS: usize = 1 << 16;

/// The capacity of each recent slot, by the number of the slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// Empty if the capacity does not determine the service of one packet: with resource blocks,
    /// PDUs of one size, and UEs with their own channels.
    slots: Vec<u32>,
    /// True if a unit of capacity carries a whole packet; otherwise it is a byte.
    packets: bool,
    /// Bytes of each slot that carry headers.
    overhead: u64,
    /// Number of the slot after the last one in memory.
    next: u64,
}

impl Carried {
    /// Slots that carry whole packets.
    pub(crate) fn packets() -> Self {
        Self { slots: vec![0; SLOTS], packets: true, ..Self::default() }
    }

    /// Slots that carry bytes, `overhead` of them headers.
    pub(crate) fn bytes(overhead: u64) -> Self {
        Self { slots: vec![0; SLOTS], overhead, ..Self::default() }
    }

    /// Slot `k` had this capacity. Slots between the last call and this one had none.
    #[inline]
    pub(crate) fn record(&mut self, k: u64, capacity: u64) {
        if self.slots.is_empty() {
            return;
        }
        let capacity = capacity.saturating_sub(self.overhead);
        for missed in self.next.max(k.saturating_sub(SLOTS as u64))..k {
            self.slots[missed as usize % SLOTS] = 0;
        }
        self.slots[k as usize % SLOTS] = u32::try_from(capacity).unwrap_or(u32::MAX);
        self.next = k + 1;
    }

    /// The slot that takes the last of `size` bytes if they alone use all slots from `first` on;
    /// none if no slot in memory does. Returns `first` if the capacity does not determine the
    /// service.
    pub(crate) fn through(&self, first: u64, size: u32) -> Option<u64> {
        if self.slots.is_empty() || first + (SLOTS as u64) < self.next {
            return Some(first);
        }
        let mut left = if self.packets { 1 } else { u64::from(size) };
        (first..self.next).find(|k| {
            left = left.saturating_sub(u64::from(self.slots[*k as usize % SLOTS]));
            left == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_through_with_the_slot_that_takes_its_last_byte() {
        let mut carried = Carried::bytes(0);
        for (k, capacity) in (0..).zip([1_000, 0, 500, 1_000]) {
            carried.record(k, capacity);
        }
        assert_eq!(carried.through(0, 1_000), Some(0));
        assert_eq!(carried.through(0, 1_001), Some(2), "nothing goes in an outage");
        assert_eq!((carried.through(1, 1_500), carried.through(1, 1_501)), (Some(3), None));
        let mut carried = Carried::bytes(10);
        (0..3).for_each(|k| carried.record(k, 510));
        assert_eq!((carried.through(0, 1_000), carried.through(0, 1_001)), (Some(1), Some(2)));
    }

    #[test]
    fn a_whole_packet_needs_one_slot_that_carries_any_and_a_missed_one_carries_none() {
        let mut carried = Carried::packets();
        carried.record(0, 0);
        carried.record(3, 4);
        assert_eq!((carried.through(0, 1_500), carried.through(4, 1_500)), (Some(3), None));
    }

    #[test]
    fn slots_that_are_forgotten_and_modes_that_do_not_say_leave_the_first_slot() {
        let mut carried = Carried::bytes(0);
        (0..=SLOTS as u64).for_each(|k| carried.record(k, 1));
        assert_eq!((carried.through(0, 2), carried.through(1, 2)), (Some(0), Some(2)));
        // The old entry at the place of a skipped slot must not count.
        carried.record(SLOTS as u64 + 3, 1);
        assert_eq!(carried.through(SLOTS as u64, 2), Some(SLOTS as u64 + 3));
        assert_eq!(Carried::default().through(7, 1_500), Some(7));
    }
}
