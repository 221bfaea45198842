//! The turns of bearers for grants in packets or bytes, and the rest of a slot that they share.

use super::{Cell, SlotUse};
use crate::bearer::{BearerId, Offer, Slot};
use alloc::collections::VecDeque;

/// The bearers with data to send, in the order of their turns.
#[derive(Default)]
pub(crate) struct Turns {
    ring: VecDeque<BearerId>,
}

impl Turns {
    /// `bearer` has data to send for the first time since it was empty.
    #[inline]
    pub(super) fn join(&mut self, bearer: BearerId) {
        debug_assert!(
            !self.ring.contains(&bearer) || self.ring.len() > 64,
            "a bearer takes turns once"
        );
        self.ring.push_back(bearer);
    }

    /// `bearer` has no more data to send, although it had no turn.
    pub(super) fn leave(&mut self, bearer: BearerId) {
        self.ring.retain(|other| *other != bearer);
    }

    /// The bearers of `ue` have no turns until they join again.
    pub(super) fn suspend(&mut self, ue: u32) {
        self.ring.retain(|bearer| bearer.ue != ue);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<BearerId> {
        self.ring.pop_front()
    }

    /// `bearer` has more to send and goes to the end.
    #[inline]
    pub(super) fn again(&mut self, bearer: BearerId) {
        self.ring.push_back(bearer);
    }

    /// `bearer` was next but could not send: it stays first.
    #[inline]
    pub(super) fn keep_turn(&mut self, bearer: BearerId) {
        self.ring.push_front(bearer);
    }

    /// The next slot begins with the next bearer.
    #[inline]
    pub(super) fn rotate(&mut self) {
        if self.ring.len() > 1 {
            self.ring.rotate_left(1);
        }
    }

    /// The only bearer with data to send; none if there are several or none.
    #[inline]
    pub(super) fn sole(&self) -> Option<BearerId> {
        if self.ring.len() == 1 { self.ring.front().copied() } else { None }
    }

    /// The bearers in the order of their turns.
    pub(super) fn iter(&self) -> impl Iterator<Item = BearerId> {
        self.ring.iter().copied()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Serves `slot` by `serve`, which returns the used amount, and offers the rest to the bearers
    /// that still wait.
    #[inline]
    pub(super) fn serve(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        serve: impl FnOnce(&mut Self, &mut Cell, u64, &mut SlotBudget) -> u64,
    ) -> SlotUse {
        let shared = cell.channel.capacity(slot.k, slot.now);
        let mut budget =
            if cell.per_ue_channels { SlotBudget::PerUe(1.0) } else { SlotBudget::Shared(shared) };
        let used = if self.is_empty() { 0 } else { serve(self, cell, shared, &mut budget) };
        if cell.wants_reports {
            let sharers = self.len() as u64;
            for &bearer in &self.ring {
                let capacity = cell.capacity(bearer.ue, slot, shared);
                cell.offer(
                    bearer,
                    Offer { capacity, full: capacity, left: budget.left(capacity) / sharers },
                );
            }
        }
        let capacity = match budget {
            SlotBudget::Shared(_) => shared,
            // If UEs differ, the rest counts at the cell's own capacity.
            SlotBudget::PerUe(left) => used + (left * shared as f64) as u64,
        };
        SlotUse { capacity, used }
    }

    /// The bearer after the first `i`.
    #[inline]
    pub(super) fn at(&self, i: usize) -> BearerId {
        self.ring[i]
    }

    /// The first `count` have had their turn; bearers with more data go to the end.
    pub(super) fn pass(&mut self, count: usize, cell: &mut Cell) {
        for _ in 0..count {
            let Some(bearer) = self.ring.pop_front() else { return };
            if !cell.bearer(bearer).queue().is_empty() {
                self.ring.push_back(bearer);
            }
        }
    }
}

/// The rest of a slot that several UEs share, each with its own capacity.
///
/// With one capacity for the cell the amounts are exact integers. With different capacities, a UE
/// that takes `n` of its `c` takes the share n/c of the slot from all.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotBudget {
    /// One capacity for all: the amount left.
    Shared(u64),
    /// A capacity per UE: the share of the slot left, 0 to 1.
    PerUe(f64),
}

impl SlotBudget {
    /// The rest for a UE with `capacity` in a whole slot.
    #[inline]
    pub(super) fn left(self, capacity: u64) -> u64 {
        match self {
            Self::Shared(left) => left,
            // The slack prevents that 1 - n (1/n) rounds a whole unit away.
            Self::PerUe(share) => (share * capacity as f64 + 1e-6) as u64,
        }
    }

    /// True if no UE can get any more.
    #[inline]
    pub(super) fn is_spent(self) -> bool {
        matches!(self, Self::Shared(0))
    }

    /// A UE with `capacity` took `used`.
    #[inline]
    pub(super) fn take(&mut self, used: u64, capacity: u64) {
        match self {
            Self::Shared(left) => *left -= used,
            Self::PerUe(share) => {
                if capacity > 0 {
                    *share = (*share - used as f64 / capacity as f64).max(0.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_takes_of_one_empty_a_slot_of_nine() {
        for mut budget in [SlotBudget::Shared(9), SlotBudget::PerUe(1.0)] {
            for taken in 0..9 {
                assert_eq!(budget.left(9), 9 - taken);
                budget.take(1, 9);
            }
            assert_eq!(budget.left(9), 0);
        }
    }

    #[test]
    fn half_of_a_slow_ue_is_half_of_a_fast_one() {
        let mut budget = SlotBudget::PerUe(1.0);
        budget.take(500, 1000);
        assert_eq!(budget.left(6000), 3000);
    }
}
