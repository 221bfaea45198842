//! Medium access control: the slots, and whose turn it is in them.
//!
//! Bearers with data take turns (round robin, T20 section 5): one packet each where grants are in packets; an equal part of
//! what is left of the slot each where they are in bytes, what one does not need going to the next.

use alloc::collections::VecDeque;
use justfull_base::Instant;
use justfull_base::doc::MethodDoc;

/// Descriptions of the parts of a MAC that deals in resource blocks.
pub const DOCS: [&MethodDoc; 3] = [&crate::carrier::DOC, &crate::harq::DOC, &crate::pdcp::DOC];

/// A bearer in the cell: UE and index among its bearers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) ue: u32,
    pub(crate) drb: u8,
}

/// The bearers that have something to send, in the order of their turns.
#[derive(Default)]
pub(crate) struct Turns {
    ring: VecDeque<Bearer>,
}

impl Turns {
    /// `bearer` has something to send, and had nothing before.
    #[inline]
    pub(crate) fn join(&mut self, bearer: Bearer) {
        debug_assert!(!self.ring.contains(&bearer) || self.ring.len() > 64, "a bearer takes turns once");
        self.ring.push_back(bearer);
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<Bearer> {
        self.ring.pop_front()
    }

    /// `bearer` has more to send and goes to the end.
    #[inline]
    pub(crate) fn again(&mut self, bearer: Bearer) {
        self.ring.push_back(bearer);
    }

    /// `bearer` was next but could not send: it stays first.
    #[inline]
    pub(crate) fn keep_turn(&mut self, bearer: Bearer) {
        self.ring.push_front(bearer);
    }

    /// The next slot begins with the next bearer.
    #[inline]
    pub(crate) fn rotate(&mut self) {
        if self.ring.len() > 1 {
            self.ring.rotate_left(1);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    #[inline]
    pub(crate) fn at(&self, i: usize) -> Bearer {
        self.ring[i]
    }
}

/// The slot served last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastSlot {
    pub(crate) number: Option<u64>,
    pub(crate) at: Instant,
}

/// What is left of a slot while several UEs, each with its own capacity, share it.
///
/// With one capacity for the cell the amounts are exact integers. Where UEs differ, a UE that takes `n` of its `c` takes the
/// share n/c of the slot from everybody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SlotBudget {
    /// One capacity for all: what is left of it.
    Shared(u64),
    /// A capacity per UE: the share of the slot that is left, 0 to 1.
    PerUe(f64),
}

impl SlotBudget {
    /// What is left for a UE that could carry `capacity` in a whole slot.
    #[inline]
    pub(crate) fn left(self, capacity: u64) -> u64 {
        match self {
            Self::Shared(left) => left,
            // The slack keeps 1 - n (1/n) from rounding a whole unit away.
            Self::PerUe(share) => (share * capacity as f64 + 1e-6) as u64,
        }
    }

    /// True when no UE can be given anything more.
    #[inline]
    pub(crate) fn is_spent(self) -> bool {
        matches!(self, Self::Shared(0))
    }

    /// A UE that could carry `capacity` took `used`.
    #[inline]
    pub(crate) fn take(&mut self, used: u64, capacity: u64) {
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
