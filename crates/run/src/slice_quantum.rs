//! The distribution over slots of the blocks that a slice had lent: A21 Fig. 21 shows its
//! quartiles.

use crate::results::SliceResult;
use std::collections::BTreeMap;

/// Cells per block: percentiles are accurate to a hundredth of a block.
const CELLS: f64 = 100.0;

/// The quantum of one slice over slots. Memory: one cell for each hundredth of a block that
/// occurred, so at most 200 times the limit of the quantum; none under a scheduler without loans.
pub(crate) struct SliceQuantum {
    cells: BTreeMap<i64, u64>,
    slots: u64,
    sum: f64,
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Default for SliceQuantum {
    fn default() -> Self {
        let (least, greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { cells: BTreeMap::new(), slots: 0, sum: 0.0, squares: 0.0, least, greatest }
    }
}

impl SliceQuantum {
    /// The slice has lent `rbs` blocks after one more slot.
    pub(crate) fn record(&mut self, rbs: f64) {
        *self.cells.entry((rbs * CELLS).round() as i64).or_default() += 1;
        self.slots += 1;
        self.sum += rbs;
        self.squares += rbs * rbs;
        self.least = self.least.min(rbs);
        self.greatest = self.greatest.max(rbs);
    }

    /// The value that `share` of the slots do not exceed, within the exact minimum and maximum.
    fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.slots as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reaches = |(_, count): &(&i64, &u64)| {
            below += **count;
            below >= rank
        };
        let found = self.cells.iter().find(reaches);
        found.map_or(0.0, |(cell, _)| (*cell as f64 / CELLS).clamp(self.least, self.greatest))
    }

    /// The result of slice number `slice`, which owns `share` of the cell.
    pub(crate) fn finish(&self, slice: u32, share: f64) -> SliceResult {
        let n = self.slots.max(1) as f64;
        let mean = self.sum / n;
        SliceResult {
            slice,
            share,
            slots: self.slots,
            quantum_mean: mean,
            quantum_sd: (self.squares / n - mean * mean).max(0.0).sqrt(),
            quantum_min: if self.slots == 0 { 0.0 } else { self.least },
            quantum_p25: self.quantile(0.25),
            quantum_p50: self.quantile(0.5),
            quantum_p75: self.quantile(0.75),
            quantum_max: if self.slots == 0 { 0.0 } else { self.greatest },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_equal_the_sorted_values_also_below_zero() {
        let mut quantum = SliceQuantum::default();
        (-40..=60).rev().for_each(|rbs| quantum.record(f64::from(rbs) / 4.0));
        let found = quantum.finish(1, 0.25);
        let five = [
            found.quantum_min,
            found.quantum_p25,
            found.quantum_p50,
            found.quantum_p75,
            found.quantum_max,
        ];
        assert_eq!(five.map(|rbs| (rbs * 100.0) as i64), [-1_000, -375, 250, 875, 1_500]);
        assert!((found.quantum_mean - 2.5).abs() < 1e-12 && found.slots == 101);
        assert!(
            (found.quantum_sd - (850.0_f64 / 16.0).sqrt()).abs() < 1e-9,
            "{}",
            found.quantum_sd
        );
    }

    #[test]
    fn quartiles_lie_between_the_exact_extremes() {
        let mut quantum = SliceQuantum::default();
        [0.004, 0.003].iter().for_each(|rbs| quantum.record(*rbs));
        let found = quantum.finish(0, 1.0);
        let five = [
            found.quantum_min,
            found.quantum_p25,
            found.quantum_p50,
            found.quantum_p75,
            found.quantum_max,
        ];
        assert!(five.windows(2).all(|w| w[0] <= w[1]), "{five:?}");
        assert_eq!((found.quantum_min, found.quantum_max), (0.003, 0.004));
    }

    #[test]
    fn a_slice_without_slots_is_at_zero() {
        assert_eq!(
            SliceQuantum::default().finish(0, 1.0),
            SliceResult { share: 1.0, ..Default::default() }
        );
    }
}
