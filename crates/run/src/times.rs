//! Distributions of times, with percentiles.

use crate::results::Distribution;
use justfull_base::Duration;

/// Largest time that a histogram resolves, in microseconds: an hour.
const HIGHEST_US: u64 = 3_600_000_000;
/// Number of evenly spaced points of a CDF.
const CDF_POINTS: usize = 200;
/// Number of further points in its upper tail: 9 in each decade from 99 % to 99.999 %.
const TAIL_POINTS: usize = 27;
/// Denominator of the shares of the tail's points.
const PARTS: u64 = 100_000;

/// Cells of one microsecond at the start; each octave after that has half as many.
const FIRST_CELLS: u64 = 2048;

/// Shares of the percentiles in a [`Distribution`].
const SHARES: [f64; 7] = [0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.999];

impl Distribution {
    /// The distribution of `times`.
    #[must_use]
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut all = Times::new();
        times.into_iter().for_each(|time| all.record(time));
        all.finish()
    }
}

/// The cell for times of `us` microseconds, the same as in an HdrHistogram of three digits.
#[inline]
fn cell_of(us: u64) -> usize {
    cell_or_beyond(us.min(HIGHEST_US))
}

/// [`cell_of`]; a time beyond the highest gets the last cell or one beyond it.
#[inline]
fn cell_or_beyond(us: u64) -> usize {
    let octave = (us | (FIRST_CELLS - 1)).ilog2() - (FIRST_CELLS - 1).ilog2();
    (u64::from(octave) * (FIRST_CELLS / 2) + (us >> octave)) as usize
}

/// The shortest time in `cell`, in microseconds.
fn shortest_of(cell: usize) -> u64 {
    let half = FIRST_CELLS / 2;
    let octave = (cell as u64 / half).saturating_sub(1);
    (cell as u64 - octave * half) << octave
}

/// The longest time in `cell`, in microseconds.
fn longest_of(cell: usize) -> u64 {
    shortest_of(cell + 1) - 1
}

/// Cells allocated at a time, so that memory follows the octave of the greatest time.
const CELLS_AT_A_TIME: usize = FIRST_CELLS as usize / 2;

/// Maximum number of times listed one by one before they are counted in cells.
const MOST_LISTED: usize = 1_024;

/// Times with exact moments and extremes, and percentiles accurate to 0.1 %. Memory: 2 B each for
/// the first 1024 times; then 4 to 8 kB for times up to 1 ms and for each doubling of the greatest
/// beyond, at most 90 kB.
///
/// The cells are HdrHistogram's, but the code is not that library: five times are counted per
/// packet, and the library updates totals and extremes each time. At the end one pass over the
/// cells finds all percentiles, while the library searches for each. The tests compare both.
pub(crate) struct Times {
    /// The cells of the first times; empty once `cells` is not.
    listed: Vec<u16>,
    /// Number of times in each cell.
    cells: Vec<u32>,
    sum_ns: u128,
    squares_ms: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Times {
    pub(crate) fn new() -> Self {
        Self {
            listed: Vec::new(),
            cells: Vec::new(),
            sum_ns: 0,
            squares_ms: 0.0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        let ns = time.as_nanos();
        let us = ns / 1_000;
        match self.cells.get_mut(cell_or_beyond(us)) {
            Some(count) => *count += 1,
            None => self.count_beyond(cell_of(us)),
        }
        self.sum_ns += u128::from(ns);
        // Signed, since that conversion is one instruction and times stay below 2^63 ns.
        let ms = ns.cast_signed() as f64 * 1e-6;
        self.squares_ms += ms * ms;
        // Branches, because a new extreme is rare.
        if ns < self.min_ns {
            self.min_ns = ns;
        }
        if ns > self.max_ns {
            self.max_ns = ns;
        }
    }

    /// Lists one of the first times in `cell`, or counts the first time there. The latter
    /// allocates, at least to the end of its octave.
    #[cold]
    fn count_beyond(&mut self, cell: usize) {
        self.listed.push(cell as u16);
        if self.cells.is_empty() && self.listed.len() <= MOST_LISTED {
            return;
        }
        let listed = std::mem::take(&mut self.listed);
        let all = cell_of(HIGHEST_US) + 1;
        // At least doubles, so that little is copied.
        let wanted = cells_to(&listed).next_multiple_of(CELLS_AT_A_TIME);
        let cells = wanted.max(2 * self.cells.len()).min(all);
        self.cells.reserve_exact(cells - self.cells.len());
        self.cells.resize(cells, 0);
        for cell in listed {
            self.cells[usize::from(cell)] += 1;
        }
    }

    /// Number of values above `ms` by more than a cell of the histogram.
    pub(crate) fn above(&self, ms: f64) -> u64 {
        self.count() - self.count_to(cell_of((ms * 1e3) as u64))
    }

    /// Number of values up to `ms`, to within a cell: 1 us up to 2 ms, 0.1 % beyond.
    pub(crate) fn within(&self, ms: u64) -> u64 {
        self.count_to(cell_of(ms * 1_000))
    }

    /// Number of values.
    fn count(&self) -> u64 {
        self.count_to(usize::MAX)
    }

    /// Number of values in the cells up to `last`.
    fn count_to(&self, last: usize) -> u64 {
        let cells = &self.cells[..self.cells.len().min(last.saturating_add(1))];
        let listed = self.listed.iter().filter(|cell| usize::from(**cell) <= last).count();
        cells.iter().map(|&count| u64::from(count)).sum::<u64>() + listed as u64
    }

    pub(crate) fn finish(&self) -> Distribution {
        if self.cells.is_empty() && self.listed.is_empty() {
            return Distribution::default();
        }
        let count = self.count();
        let n = count as f64;
        let mean_ms = self.sum_ns as f64 / n * 1e-6;
        let variance = (self.squares_ms / n - mean_ms * mean_ms).max(0.0);
        let (min_ms, max_ms) = (self.min_ns as f64 * 1e-6, self.max_ns as f64 * 1e-6);
        // The end of the first cell that reaches the share; a cell is 1 us or 0.1 % wide. Minimum
        // and maximum are exact, and percentiles are clamped to them.
        let within = |us: u64| (us as f64 * 1e-3).clamp(min_ms, max_ms);
        let (percentiles, cdf) = self.percentiles_and_cdf(count);
        let [p25_ms, p50_ms, p75_ms, p90_ms, p95_ms, p99_ms, p999_ms] = percentiles.map(within);
        Distribution {
            count,
            mean_ms,
            sd_ms: variance.sqrt(),
            min_ms,
            max_ms,
            p25_ms,
            p50_ms,
            p75_ms,
            p90_ms,
            p95_ms,
            p99_ms,
            p999_ms,
            cdf: cdf.into_iter().map(|(us, share)| (within(us), share)).collect(),
        }
    }

    /// For each of [`SHARES`] of `count` times the end of the first cell that reaches it, and the
    /// points of the CDF, each the end of a cell and the share up to it: at most [`CDF_POINTS`]
    /// evenly spaced over the shares, and at most [`TAIL_POINTS`] more at the cells that first
    /// reach the shares 99.1 % to 99.9 %, 99.91 % to 99.99 % and 99.991 % to 99.999 %. In
    /// microseconds.
    fn percentiles_and_cdf(&self, count: u64) -> ([u64; SHARES.len()], Vec<(u64, f64)>) {
        let wanted = SHARES.map(|share| ((share * count as f64).ceil() as u64).max(1));
        let (mut percentiles, mut found) = ([0; SHARES.len()], 0);
        let mut points = Vec::with_capacity(CDF_POINTS + TAIL_POINTS);
        let (mut below, mut last) = (0, 0.0);
        // The part, in units of 1 / PARTS, that may lie above the next point of the tail; 0 after
        // the last point.
        let mut above = 900;
        let mut listed = self.listed.clone();
        listed.sort_unstable();
        let counted = self.cells.iter().enumerate().filter(|(_, count)| **count > 0);
        let counted = counted.map(|(cell, &count)| (cell, u64::from(count)));
        // One of the two lists is empty.
        let listed = listed.chunk_by(|one, other| one == other);
        for (cell, in_cell) in
            counted.chain(listed.map(|same| (usize::from(same[0]), same.len() as u64)))
        {
            below += in_cell;
            while wanted.get(found).is_some_and(|wanted| *wanted <= below) {
                percentiles[found] = longest_of(cell);
                found += 1;
            }
            let share = below as f64 / count as f64;
            let spaced = share - last >= 1.0 / (CDF_POINTS - 2) as f64
                || below == count
                || points.is_empty();
            if spaced {
                last = share;
            }
            let mut in_tail = false;
            while above > 0 && below * PARTS >= count * (PARTS - above) {
                in_tail = true;
                above -= match above {
                    101.. => 100,
                    11.. => 10,
                    _ => 1,
                };
            }
            if spaced || in_tail {
                points.push((longest_of(cell), share));
            }
        }
        (percentiles, points)
    }
}

/// Cells up to the greatest of `listed`.
fn cells_to(listed: &[u16]) -> usize {
    listed.iter().max().map_or(0, |cell| usize::from(*cell) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use justfull_base::Rng;

    #[test]
    fn moments_are_exact_and_percentiles_good_to_a_thousandth() {
        let mut times = Times::new();
        (1..=10_000u64).for_each(|us| times.record(Duration::from_micros(us * 10)));
        let found = times.finish();
        assert!((found.mean_ms - 50.005).abs() < 1e-9, "{}", found.mean_ms);
        assert!((found.p50_ms / 50.0 - 1.0).abs() < 1e-3, "{}", found.p50_ms);
        assert!((found.p99_ms / 99.0 - 1.0).abs() < 1e-3, "{}", found.p99_ms);
        assert_eq!(found.cdf.last().map(|(_, share)| *share), Some(1.0));
    }

    #[test]
    fn times_within_a_bound_are_counted_to_a_cell() {
        let mut times = Times::new();
        (1..=10_000u64).for_each(|us| times.record(Duration::from_micros(us)));
        assert_eq!([1, 2, 10, 50].map(|ms| times.within(ms)), [1_000, 2_000, 10_000, 10_000]);
        assert!(times.within(4).abs_diff(4_000) < 4, "{}", times.within(4));
    }

    #[test]
    fn a_cell_counts_the_times_that_the_library_holds_equivalent() {
        let library =
            Histogram::<u32>::new_with_bounds(1, HIGHEST_US, 3).expect("constant bounds are sound");
        let mut us = 0;
        while us < HIGHEST_US {
            let shortest = shortest_of(cell_of(us));
            assert_eq!(shortest, library.lowest_equivalent(us), "{us}");
            assert_eq!(cell_of(library.highest_equivalent(us)), cell_of(us), "{us}");
            assert_eq!(cell_of(library.next_non_equivalent(us)), cell_of(us) + 1, "{us}");
            us += 1 + us / 777;
        }
    }

    #[test]
    fn percentiles_and_cdf_equal_the_librarys() {
        for n in [1, 2, 3, 100, 1_000, 1_025, 5_000] {
            let (mut times, mut rng) = (Times::new(), Rng::stream(n, "library"));
            let mut library = Histogram::<u32>::new_with_bounds(1, HIGHEST_US, 3).expect("sound");
            for _ in 0..n {
                let us = rng.below(1 << (5 + n % 33));
                times.record(Duration::from_micros(us));
                library.saturating_record(us);
            }
            let (percentiles, cdf) = times.percentiles_and_cdf(n);
            assert_eq!(percentiles, SHARES.map(|share| library.value_at_quantile(share)), "{n}");
            let at = |us: u64| library.count_between(0, us) as f64 / n as f64;
            assert!(cdf.iter().all(|(us, share)| (at(*us) - share).abs() < 1e-12), "{n}");
            assert!(cdf.len() <= CDF_POINTS + TAIL_POINTS, "{n}");
            assert!(cdf.windows(2).all(|w| w[0].0 < w[1].0), "{n}");
            assert_eq!(cdf.last().map(|(_, share)| *share), Some(1.0));
        }
    }

    #[test]
    fn the_tail_of_a_cdf_has_the_percentiles_to_p99_999_beside_the_evenly_spaced_points() {
        let (mut times, mut rng) = (Times::new(), Rng::stream(1, "tail"));
        let mut library = Histogram::<u32>::new_with_bounds(1, HIGHEST_US, 3).expect("sound");
        let n = 300_000;
        for _ in 0..n {
            // Pareto distribution: a tenth of the times is ten times as long.
            let us = (1_000.0 / (1.0 - rng.unit())) as u64;
            times.record(Duration::from_micros(us));
            library.record(us.min(HIGHEST_US)).expect("within the bounds");
        }
        let (_, cdf) = times.percentiles_and_cdf(n);
        let tail = (991..=999).map(|m| m * 100);
        let tail = tail.chain((9_991..=9_999).map(|m| m * 10)).chain(99_991..=99_999);
        for parts in tail {
            let share = f64::from(parts) / 1e5;
            let at = cdf.iter().find(|(_, at)| *at >= share).map(|(us, _)| *us);
            assert_eq!(at, Some(library.value_at_quantile(share)), "{share}");
        }
        let (mut below, mut last, mut spaced) = (0, 0.0, 0);
        for step in library.iter_recorded() {
            below += step.count_since_last_iteration();
            let share = below as f64 / n as f64;
            if last == 0.0 || share - last >= 1.0 / (CDF_POINTS - 2) as f64 || below == n {
                let point = (library.highest_equivalent(step.value_iterated_to()), share);
                assert!(cdf.contains(&point), "{point:?}");
                (last, spaced) = (share, spaced + 1);
            }
        }
        assert!(cdf.len() > spaced && cdf.len() <= spaced + TAIL_POINTS, "{} {spaced}", cdf.len());
    }

    #[test]
    fn a_time_beyond_the_highest_counts_as_the_highest() {
        let mut times = Times::new();
        times.record(Duration::from_secs(7_200));
        times.record(Duration::from_secs(1));
        let found = times.finish();
        assert!((found.p75_ms / 3.6e6 - 1.0).abs() < 1e-3, "{}", found.p75_ms);
        assert!((found.max_ms / 7.2e6 - 1.0).abs() < 1e-12, "{}", found.max_ms);
    }

    /// The edge of a histogram's cell may lie beyond the extremes.
    #[test]
    fn no_percentile_and_no_point_of_the_cdf_lies_beyond_the_extremes() {
        for ns in [999, 1_999, 2_000_999, 39_501_234, 7_200_000_000_000] {
            for n in [1, 2, 7] {
                let mut times = Times::new();
                (0..n).for_each(|i| times.record(Duration::from_nanos(ns + 13 * i)));
                let found = times.finish();
                let d = &found;
                let rising = [
                    d.min_ms, d.p25_ms, d.p50_ms, d.p75_ms, d.p90_ms, d.p95_ms, d.p99_ms, d.p999_ms,
                ];
                assert!(
                    rising.windows(2).all(|w| w[0] <= w[1]) && d.p999_ms <= d.max_ms,
                    "{found:?}"
                );
                assert!(
                    d.cdf.iter().all(|(ms, _)| (d.min_ms..=d.max_ms).contains(ms)),
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn memory_follows_the_number_of_times_then_the_greatest() {
        let mut times = Times::new();
        let memory = |times: &Times| (times.listed.capacity(), times.cells.capacity());
        assert_eq!((memory(&times), times.finish()), ((0, 0), Distribution::default()));
        times.record(Duration::from_secs(100_000));
        (1..MOST_LISTED).for_each(|_| times.record(Duration::from_micros(900)));
        assert_eq!((memory(&times), times.within(1)), ((MOST_LISTED, 0), 1_023));
        let mut times = Times::new();
        (0..=MOST_LISTED).for_each(|_| times.record(Duration::from_micros(900)));
        assert_eq!(memory(&times), (0, 1_024));
        times.record(Duration::from_millis(100));
        assert_eq!((memory(&times), times.within(1)), ((0, 8 * 1_024), 1_025));
        times.record(Duration::from_secs(100_000));
        assert_eq!(memory(&times), (0, cell_of(HIGHEST_US) + 1));
        assert_eq!(times.finish().count, 1_027);
    }

    #[test]
    fn listed_times_have_the_distribution_of_counted_ones() {
        for n in [1, 2, 100, 1_000] {
            let (mut listed, mut rng) = (Times::new(), Rng::stream(n, "times"));
            (0..n).for_each(|_| listed.record(Duration::from_nanos(rng.below(1 << (12 + n % 40)))));
            let mut counted = Times { cells: vec![0; cell_of(HIGHEST_US) + 1], ..Times::new() };
            let mut rng = Rng::stream(n, "times");
            (0..n)
                .for_each(|_| counted.record(Duration::from_nanos(rng.below(1 << (12 + n % 40)))));
            assert!(listed.cells.is_empty() && counted.listed.is_empty());
            assert_eq!(listed.finish(), counted.finish());
            for ms in [0, 1, 7, 30_000] {
                assert_eq!(listed.within(ms), counted.within(ms));
                assert_eq!(listed.above(ms as f64), counted.above(ms as f64));
            }
        }
    }
}
