//! The fate of the packets of one queue.

use alloc::boxed::Box;
use core::ops::AddAssign;
use justfull_base::DropReason;

/// A number of packets and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the IP layer.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet of `size` bytes.
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// L4S packets that have left a queue whose marks are set elsewhere, since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Packets with ECT(1) or CE that left.
    pub l4s: u64,
    /// Those of them that the AQM would have marked had they had ECT(1).
    pub marked: u64,
}

/// The drop reasons of a queue: the reasons before [`DropReason::NoRule`]. A packet without a rule
/// never reaches a queue, and the layer that loses a packet later counts it.
const REASONS: usize = DropReason::NoRule as usize;

/// Counters of one queue since it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Packets offered, admitted or not.
    pub arrived: Count,
    /// Packets that left downwards.
    pub departed: Count,
    /// Allocated at the first signal: most queues of a large cell never give a signal.
    signals: Option<Box<Signals>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Signals {
    marked: Count,
    dropped: [Count; REASONS],
}

impl Counters {
    /// Packets marked congestion experienced. They also count as departed or dropped.
    #[must_use]
    pub fn marked(&self) -> Count {
        self.signals.as_ref().map_or_else(Count::default, |signals| signals.marked)
    }

    /// Packets dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> Count {
        let dropped =
            self.signals.as_ref().and_then(|signals| signals.dropped.get(reason as usize));
        dropped.copied().unwrap_or_default()
    }

    /// Packets dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> Count {
        let mut total = Count::default();
        for count in self.signals.iter().flat_map(|signals| signals.dropped) {
            total += count;
        }
        total
    }

    /// Allocates now the memory that the first signal needs.
    pub(crate) fn reserve(&mut self) {
        self.signals.get_or_insert_default();
    }

    /// Counts a drop.
    ///
    /// # Panics
    /// On a reason that does not belong to a queue.
    pub(crate) fn drop_one(&mut self, reason: DropReason, size: u32) {
        self.signals.get_or_insert_default().dropped[reason as usize].add(size);
    }

    /// Counts a mark.
    pub(crate) fn mark_one(&mut self, size: u32) {
        self.signals.get_or_insert_default().marked.add(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_a_queue_has_its_own_counter() {
        let mut counters = Counters::default();
        for (n, reason) in DropReason::ALL.into_iter().take(REASONS).enumerate() {
            for _ in 0..=n {
                counters.drop_one(reason, 100);
            }
        }
        let found: std::vec::Vec<u64> =
            DropReason::ALL.into_iter().map(|r| counters.dropped(r).packets).collect();
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(counters.dropped_total(), Count { packets: 21, bytes: 2100 });
    }
}
