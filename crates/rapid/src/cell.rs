//! How UEs share a cell (equations 1 and 2), so that together they never get more than all of it.
//!
//! A UE may expect its own blocks and its part of the free ones, which are divided by M, the number
//! of UEs with traffic. The paper leaves one thing out: a UE that sends little because its share is
//! small would never get a larger one. So a hungry UE, one with a flow that is not slow, may expect
//! at least one M-th of the cell; a UE above an M-th leaves room for the hungry ones at its next
//! allocation; and no UE gets a share that another UE still holds. A new UE has its part after two
//! reports.

/// A whole cell. Shares are whole numbers, so that their sum is exact.
const WHOLE: u64 = 1 << 32;

/// The share of the cell that a UE holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// True when it has traffic.
    pub(crate) active: bool,
    /// True when one of its flows is not slow.
    pub(crate) hungry: bool,
    share: u64,
}

impl Claim {
    pub(crate) const NONE: Self = Self { active: false, hungry: false, share: 0 };

    /// The share of the cell, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        self.share as f64 / WHOLE as f64
    }
}

/// The claim of a UE on its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wish {
    /// True when it has traffic.
    pub(crate) active: bool,
    /// True when it has a flow that is not slow.
    pub(crate) hungry: bool,
    /// The share of the cell that its own limit allows; at least 1 without a limit.
    pub(crate) most: f64,
}

impl Wish {
    pub(crate) const NONE: Self = Self { active: false, hungry: false, most: 1.0 };
}

/// Shares of the cell's blocks that a UE's reports show, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// The UE's own blocks.
    pub(crate) own: f64,
    /// Blocks that no UE used.
    pub(crate) free: f64,
    /// UEs that got blocks.
    pub(crate) active_ues: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    granted: u64,
    /// The part of `granted` that belongs to UEs that are not hungry.
    granted_still: u64,
    active: u32,
    hungry: u32,
}

impl Cell {
    /// Replaces the claim `old` of a UE. A UE without an expected rate gets no share.
    pub(crate) fn claim(&mut self, old: Claim, wish: Wish, expected: Option<Expected>) -> Claim {
        self.count(old, false);
        let expected = expected.filter(|_| wish.active);
        let share = expected.map_or(0, |expected| self.share(wish, expected));
        // Its own limit binds: it needs no more of the cell.
        let sated = expected
            .is_some_and(|expected| wish.most * f64::from(self.with_traffic(expected)) < 1.0);
        let hungry = wish.active && wish.hungry && !sated;
        let claim = Claim { active: wish.active, hungry, share };
        self.count(claim, true);
        claim
    }

    /// The shares that UEs hold.
    pub(crate) fn held(&self) -> f64 {
        self.granted as f64 / WHOLE as f64
    }

    fn count(&mut self, claim: Claim, add: bool) {
        let change = |count: &mut u32, by: bool| {
            if by {
                *count = if add { *count + 1 } else { *count - 1 };
            }
        };
        change(&mut self.active, claim.active);
        change(&mut self.hungry, claim.hungry);
        let share =
            |sum: &mut u64| *sum = if add { *sum + claim.share } else { *sum - claim.share };
        share(&mut self.granted);
        if !claim.hungry {
            share(&mut self.granted_still);
        }
    }

    /// UEs with traffic, including the UE whose claim is not counted at the moment.
    fn with_traffic(&self, expected: Expected) -> u32 {
        (self.active + 1).max(expected.active_ues)
    }

    /// The share of an active UE whose own claim is not counted at the moment.
    fn share(&self, wish: Wish, expected: Expected) -> u64 {
        let with_traffic = self.with_traffic(expected);
        let part = WHOLE / u64::from(with_traffic);
        let blocks = expected.own + expected.free / f64::from(with_traffic);
        let mut share = ((blocks * WHOLE as f64) as u64).max(if wish.hungry { part } else { 0 });
        // A product above 64 bits stays at the largest number.
        share = share.min((wish.most * WHOLE as f64) as u64);
        if share > part {
            let reserved = u64::from(self.hungry) * part + self.granted_still;
            share = share.min(WHOLE.saturating_sub(reserved)).max(part);
        }
        share.min(WHOLE - self.granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_CELL: Option<Expected> = Some(Expected { own: 0.0, free: 1.0, active_ues: 0 });

    fn reported(own: f64, free: f64) -> Option<Expected> {
        Some(Expected { own, free, active_ues: 0 })
    }

    fn wish(active: bool, hungry: bool) -> Wish {
        Wish { active, hungry, most: f64::INFINITY }
    }

    fn is(claim: Claim, share: f64) -> bool {
        (claim.share() - share).abs() < 1e-6
    }

    #[test]
    fn one_ue_has_the_cell_but_for_what_strangers_use() {
        let mut cell = Cell::default();
        let claim = cell.claim(Claim::default(), wish(true, true), IDLE_CELL);
        assert!(is(claim, 1.0));
        let strangers = Some(Expected { own: 0.5, free: 0.25, active_ues: 2 });
        assert!(is(cell.claim(claim, wish(true, true), strangers), 0.625));
    }

    #[test]
    fn a_second_hungry_ue_has_half_after_a_report_of_each() {
        let mut cell = Cell::default();
        let first = cell.claim(Claim::default(), wish(true, true), IDLE_CELL);
        let second = cell.claim(Claim::default(), wish(true, true), reported(0.0, 0.0));
        assert!(is(second, 0.0), "nothing is left yet");
        let first = cell.claim(first, wish(true, true), reported(1.0, 0.0));
        let second = cell.claim(second, wish(true, true), reported(0.0, 0.0));
        assert!(is(first, 0.5) && is(second, 0.5));
        let first = cell.claim(first, wish(false, false), reported(0.5, 0.0));
        assert!(
            is(first, 0.0) && is(cell.claim(second, wish(true, true), reported(0.5, 0.5)), 1.0)
        );
    }

    #[test]
    fn a_ue_that_is_not_hungry_leaves_the_rest_to_the_hungry() {
        let mut cell = Cell::default();
        let slow = cell.claim(Claim::default(), wish(true, false), reported(0.1, 0.0));
        assert!(is(slow, 0.1));
        let hungry = cell.claim(Claim::default(), wish(true, true), reported(0.9, 0.0));
        assert!(is(hungry, 0.9));
    }

    #[test]
    fn shares_that_contradict_each_other_never_exceed_the_cell() {
        let mut cell = Cell::default();
        let mut claims = [Claim::default(); 3];
        for round in 0..20 {
            for claim in &mut claims {
                *claim = cell.claim(*claim, wish(true, round % 3 > 0), reported(1.0, 1.0));
            }
            assert!(claims.iter().map(|c| c.share).sum::<u64>() <= WHOLE);
        }
    }

    #[test]
    fn a_ue_with_a_limit_keeps_it_and_leaves_the_rest() {
        let mut cell = Cell::default();
        let limited = Wish { most: 0.1, ..wish(true, true) };
        let small = cell.claim(Claim::default(), limited, IDLE_CELL);
        assert!(is(small, 0.1));
        let other = cell.claim(Claim::default(), wish(true, true), reported(0.0, 1.0));
        assert!(is(other, 0.5), "its part of what was free");
        let other = cell.claim(other, wish(true, true), reported(0.9, 0.0));
        assert!(is(other, 0.9), "nothing is kept for a UE that may not have more");
        assert!(is(cell.claim(small, wish(true, true), reported(0.1, 0.0)), 0.1));
    }
}
