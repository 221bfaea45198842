//! Rows of any lengths, exactly.

use justfull_base::Duration;

/// Parts of a byte that amounts count: 10^15 for each bit, so that a rate in 10^-6 bit/s over whole
/// nanoseconds is a whole number of them.
pub(crate) const PER_BIT: u128 = 1_000_000_000_000_000;
pub(crate) const PER_BYTE: u128 = 8 * PER_BIT;
/// Shortest interval that is chosen by itself, in ns.
const LEAST: u64 = 1_000_000;
/// Most intervals that the shortest row is divided into to keep all edges of rows.
const MOST_PARTS: u64 = 20;

/// Rows one after another: the length of each in ns, above 0, and what passes evenly in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    lengths: Vec<u64>,
    amounts: Vec<u128>,
}

impl Pieces {
    /// Appends a row of `length` ns in which `amount` passes, in the parts of [`PER_BIT`].
    pub(crate) fn push(&mut self, length: u64, amount: u128) {
        if length > 0 {
            self.lengths.push(length);
            self.amounts.push(amount);
        }
    }

    /// Appends a row of a rate in 10^-6 bit/s.
    pub(crate) fn push_rate(&mut self, length: u64, rate: u128) {
        self.push(length, rate * u128::from(length));
    }

    pub(crate) const fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Length of all rows in ns.
    pub(crate) fn duration(&self) -> u64 {
        self.lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length))
    }

    /// The shortest and the longest row, in ns.
    pub(crate) fn lengths(&self) -> (u64, u64) {
        let all = || self.lengths.iter().copied();
        (all().min().unwrap_or(0), all().max().unwrap_or(0))
    }

    /// The interval for these rows: their own length; for rows of several lengths the greatest that
    /// all are multiples of, if it is a millisecond or more and not much shorter than the shortest
    /// row; else the shortest row in whole milliseconds.
    pub(crate) fn interval(&self) -> Duration {
        let common = self.lengths.iter().copied().fold(0, gcd).max(1);
        let (shortest, longest) = self.lengths();
        Duration::from_nanos(match shortest {
            _ if shortest == longest => shortest.max(1),
            _ if common >= LEAST && common * MOST_PARTS >= shortest => common,
            _ => shortest.div_ceil(LEAST) * LEAST,
        })
    }

    /// True if the bytes of intervals describe the trace completely: every row is of whole
    /// intervals with whole bytes; only the last may be shorter.
    pub(crate) fn are_whole(&self, interval: Duration) -> bool {
        let step = interval.as_nanos();
        let whole = |(length, amount): (u64, u128)| match length {
            length if length < step => amount.is_multiple_of(PER_BYTE),
            length => amount.is_multiple_of(PER_BYTE * u128::from(length / step)),
        };
        self.fit(interval)
            && self.lengths.last().is_none_or(|last| *last < step || last.is_multiple_of(step))
            && self.rows().all(whole)
    }

    /// True where every edge of a row is one of an interval; the end may be within one.
    pub(crate) fn fit(&self, interval: Duration) -> bool {
        let step = interval.as_nanos();
        let before = self.lengths.len().saturating_sub(1);
        self.lengths[..before].iter().all(|length| length.is_multiple_of(step))
    }

    /// The rows from `from` to `to` ns, which begin again at their end.
    pub(crate) fn between(&self, from: u64, to: u64) -> Self {
        let mut part = Self::default();
        let (all, mut at) = (self.duration(), from);
        let (mut row, mut start) = (0, from / all * all);
        while at < to {
            let end = start + self.lengths[row];
            if end > at {
                let until = end.min(to);
                part.push(
                    until - at,
                    self.passed(row, until - start) - self.passed(row, at - start),
                );
                at = until;
            }
            (row, start) = ((row + 1) % self.lengths.len(), end);
        }
        part
    }

    /// All amounts times `numerator / denominator`.
    pub(crate) fn scale(&self, numerator: u128, denominator: u128) -> Self {
        let scaled = |&amount: &u128| {
            amount / denominator * numerator + amount % denominator * numerator / denominator
        };
        Self { lengths: self.lengths.clone(), amounts: self.amounts.iter().map(scaled).collect() }
    }

    /// Length and amount of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u128)> {
        self.lengths.iter().copied().zip(self.amounts.iter().copied())
    }

    /// The amount of a row up to `offset` ns after its begin, without overflow of a product.
    fn passed(&self, row: usize, offset: u64) -> u128 {
        let (length, offset) = (u128::from(self.lengths[row]), u128::from(offset));
        self.amounts[row] / length * offset + self.amounts[row] % length * offset / length
    }
}

/// Counts what has passed up to non-decreasing instants of rows that begin again at their end.
#[derive(Debug)]
pub(crate) struct RowMeter<'a> {
    pieces: &'a Pieces,
    row: usize,
    /// The amount before that row, and its begin in ns.
    before: u128,
    start: u64,
}

impl<'a> RowMeter<'a> {
    pub(crate) const fn new(pieces: &'a Pieces) -> Self {
        Self { pieces, row: 0, before: 0, start: 0 }
    }

    /// Whole bytes that have passed up to `ns` after the start.
    pub(crate) fn until(&mut self, ns: u64) -> u64 {
        while self.start + self.pieces.lengths[self.row] <= ns {
            self.before += self.pieces.amounts[self.row];
            self.start += self.pieces.lengths[self.row];
            self.row = (self.row + 1) % self.pieces.lengths.len();
        }
        ((self.before + self.pieces.passed(self.row, ns - self.start)) / PER_BYTE) as u64
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timeline;
    use proptest::prelude::*;

    fn pieces(rows: &[(u64, u128)]) -> Pieces {
        let mut pieces = Pieces::default();
        for &(length, amount) in rows {
            pieces.push_rate(length, amount);
        }
        pieces
    }

    #[test]
    fn rows_of_several_lengths_are_cut_where_their_edges_are_if_that_makes_few_intervals() {
        const MS: u64 = 1_000_000;
        let interval = |rows: &[(u64, u128)]| pieces(rows).interval().as_nanos();
        assert_eq!(interval(&[(10 * MS, 1), (15 * MS, 2), (15 * MS, 1)]), 5 * MS);
        assert_eq!(interval(&[(10 * MS, 1), (10 * MS, 2)]), 10 * MS);
        assert_eq!(interval(&[(10 * MS + 1, 1), (10 * MS, 2)]), 10 * MS);
        assert_eq!(interval(&[(1000 * MS, 1), (1013 * MS, 2)]), 1000 * MS);
        assert_eq!(interval(&[(500, 1), (500, 1)]), 500);
    }

    /// Bytes of rates in bit/s from 0 to `to` ns of rows, by floating-point sums.
    fn integral(rows: &[(u64, u64)], to: u64) -> f64 {
        let (mut start, mut sum) = (0, 0.0);
        for &(length, rate) in rows {
            let end = (start + length).min(to);
            sum += end.saturating_sub(start) as f64 * 1e-9 * rate as f64 / 8.0;
            start += length;
        }
        sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn any_rows_in_any_interval_and_any_cut_keep_length_and_bytes(
            rows in proptest::collection::vec((1_000u64..3_000_000_000, 0u64..200_000_000), 1..40),
            interval in 3_000_000u64..5_000_000_000,
            other in 3_000_000u64..5_000_000_000,
            cuts in (0.0f64..1.0, 0.0f64..1.0),
            times in 1u32..4,
        ) {
            let exact: Vec<(u64, u128)> =
                rows.iter().map(|&(length, rate)| (length, u128::from(rate) * 1_000_000)).collect();
            let end: u64 = rows.iter().map(|row| row.0).sum();
            let all = Timeline::of_rows(pieces(&exact), Duration::from_nanos(interval));
            let all = all.expect("it fits");
            prop_assert_eq!(all.duration().as_nanos(), end);
            prop_assert!((all.total() as f64 - integral(&rows, end)).abs() < 1.0);
            let again = all.resample(Duration::from_nanos(other)).expect("it fits");
            prop_assert_eq!((again.duration(), again.total()), (all.duration(), all.total()));
            let more = all.repeat(times).expect("it fits");
            prop_assert_eq!(more.duration().as_nanos(), end * u64::from(times));
            let want = integral(&rows, end) * f64::from(times);
            prop_assert!((more.total() as f64 - want).abs() < 1.0);
            let at = |share: f64| (share * end as f64) as u64;
            let (from, to) = (at(cuts.0.min(cuts.1)), at(cuts.0.max(cuts.1)));
            if from < to {
                let part = again.slice(Duration::from_nanos(from), Duration::from_nanos(to));
                let part = part.expect("a part");
                prop_assert_eq!(part.duration().as_nanos(), to - from);
                let want = integral(&rows, to) - integral(&rows, from);
                prop_assert!((part.total() as f64 - want).abs() < 1.0, "{} {}", part.total(), want);
                let looped = part.lasting(Duration::from_nanos(3 * to)).expect("a loop");
                prop_assert_eq!(looped.duration().as_nanos(), 3 * to);
                let (loops, rest) = (3 * to / (to - from), 3 * to % (to - from));
                let rest = integral(&rows, from + rest) - integral(&rows, from);
                let want = want * loops as f64 + rest;
                prop_assert!((looped.total() as f64 - want).abs() < 1.0);
            }
        }
    }
}
