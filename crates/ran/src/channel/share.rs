//! Divides an amount per interval among its slots, without loss.

use justfull_base::Duration;

/// Shares of slots in an amount per interval.
///
/// Slot k gets `floor((k + 1) x) - floor(k x)` with `x = amount * slot / interval * factor`: the
/// remainder that one slot cannot use is carried to the next, and n slots at one amount together
/// get n x to within one unit. It is a function of the slot's number, so it needs no state and can
/// be evaluated for later slots. If a row's length is a multiple of the interval and of the slot,
/// remainders are zero at its ends and nothing is lost from row to row either; otherwise a change
/// of row shifts less than one unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// `slot * factor / interval`, in lowest terms.
    numerator: u64,
    denominator: u64,
}

impl Share {
    /// Shares of slots of length `slot` in amounts per `interval`, times `factor` / `divisor`.
    ///
    /// `slot` is at most 1 s, `interval` at most 1 h, `factor` at most 65 535 and `divisor` at most
    /// 8, so that every product below fits 128 bits.
    pub(super) fn new(slot: Duration, interval: Duration, factor: u64, divisor: u64) -> Self {
        let (mut numerator, mut denominator) =
            (slot.as_nanos() * factor, interval.as_nanos() * divisor);
        debug_assert!(numerator > 0 && denominator > 0);
        let common = greatest_common_divisor(numerator, denominator);
        numerator /= common;
        denominator /= common;
        Self { numerator, denominator }
    }

    /// Every slot gets the whole amount.
    pub(super) const WHOLE: Self = Self { numerator: 1, denominator: 1 };

    /// The share of slot `slot_index` in `amount` per interval.
    #[inline]
    pub(super) fn of(self, amount: u64, slot_index: u64) -> u64 {
        if self.denominator == 1 {
            return amount * self.numerator;
        }
        let phase = slot_index % self.denominator;
        // Nearly always all values fit 64 bits, which divide three times as fast.
        if let Some(per_slot) = amount.checked_mul(self.numerator)
            && per_slot.checked_mul(phase + 1).is_some()
        {
            let carried = phase * per_slot % self.denominator;
            return (carried + per_slot) / self.denominator;
        }
        let denominator = u128::from(self.denominator);
        let per_slot = u128::from(amount) * u128::from(self.numerator);
        let carried = u128::from(phase) * per_slot % denominator;
        ((carried + per_slot) / denominator) as u64
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_shorter_slots_adds_up_to_the_row() {
        for (slot_us, amount) in
            [(1_000, 6), (1_000, 15), (500, 7), (125, 1), (2_500, 9), (20_000, 4)]
        {
            let share = Share::new(Duration::from_micros(slot_us), Duration::from_millis(10), 1, 1);
            let slots = 1_000_000 / slot_us;
            let sum: u64 = (0..slots).map(|k| share.of(amount, k)).sum();
            assert_eq!(sum, amount * 100, "{slot_us} us, {amount} per 10 ms");
        }
    }

    #[test]
    fn slots_that_do_not_divide_the_interval_lose_less_than_one_unit() {
        let share = Share::new(Duration::from_micros(700), Duration::from_millis(10), 1460, 1);
        let mut sum = 0;
        for k in 0..10_000 {
            sum += share.of(7, k);
            let ideal = (k + 1) * 7 * 1460 * 700 / 10_000;
            assert_eq!(sum, ideal, "after slot {k}");
        }
    }

    #[test]
    fn remainders_are_spread_and_not_saved_up() {
        let share = Share::new(Duration::from_millis(1), Duration::from_millis(10), 1, 1);
        let got: alloc::vec::Vec<u64> = (0..10).map(|k| share.of(4, k)).collect();
        assert_eq!(got, [0, 0, 1, 0, 1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn the_largest_allowed_numbers_do_not_overflow() {
        let share = Share::new(
            Duration::from_nanos(999_999_937),
            Duration::from_nanos(3_599_999_999_999),
            65_521,
            8,
        );
        let amount = u64::from(u32::MAX);
        let exact = u128::from(amount) * 999_999_937 * 65_521 / (3_599_999_999_999 * 8);
        let got = u128::from(share.of(amount, u64::MAX));
        assert!(got == exact || got == exact + 1, "{got} for {exact}");
    }
}
