//! Sojourn times of a layer, with cells coarse enough to read during a run.

use justfull_base::Duration;

/// Cells per octave: percentiles are accurate to an eighth.
const OCTAVE: u64 = 8;
/// Cells up to 2^26 us, a minute; longer times count in the last one.
const CELLS: usize = 200;

/// The distribution of sojourn times since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sojourns {
    cells: [u64; CELLS],
    /// Packets.
    pub count: u64,
    /// Sum of their times, in ns.
    pub sum_ns: u64,
}

impl Default for Sojourns {
    fn default() -> Self {
        Self { cells: [0; CELLS], count: 0, sum_ns: 0 }
    }
}

fn cell_of(us: u64) -> usize {
    let octave = us.max(OCTAVE).ilog2() - OCTAVE.ilog2();
    ((u64::from(octave) * OCTAVE + (us >> octave)) as usize).min(CELLS - 1)
}

/// The shortest time of `cell`, in us.
fn shortest_of(cell: usize) -> u64 {
    let octave = (cell as u64 / OCTAVE).saturating_sub(1);
    (cell as u64 - octave * OCTAVE) << octave
}

impl Sojourns {
    /// Counts a packet.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        self.cells[cell_of(time.as_nanos() / 1_000)] += 1;
        self.count += 1;
        self.sum_ns += time.as_nanos();
    }

    /// The counts since `earlier`, a previous state of the same counter.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rest = *self;
        rest.cells.iter_mut().zip(&earlier.cells).for_each(|(now, then)| *now -= then);
        rest.count -= earlier.count;
        rest.sum_ns -= earlier.sum_ns;
        rest
    }

    /// The packets whose time is shorter than `us` microseconds. `us` must be the edge of a cell: a
    /// power of two from 8 on, or one of the seven times between it and the next.
    #[must_use]
    pub fn shorter_than(&self, us: u64) -> u64 {
        self.cells[..cell_of(us)].iter().sum()
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(own, more)| *own += more);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    /// The time that a share `p` of the packets, 0 to 1, does not exceed by more than an eighth;
    /// none without packets.
    #[must_use]
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        let wanted = (p * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let cell = self.cells.iter().position(|n| {
            below += n;
            below >= wanted
        });
        cell.filter(|_| self.count > 0).map(|cell| Duration::from_micros(shortest_of(cell)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_good_to_an_eighth() {
        let mut times = Sojourns::default();
        assert_eq!(times.percentile(0.5), None);
        (1..=1_000).for_each(|ms| times.record(Duration::from_millis(ms)));
        for p in [0.01, 0.5, 0.95, 1.0] {
            let found = times.percentile(p).expect("packets were counted").as_secs_f64();
            assert!(found <= p && found > p * 7.0 / 8.0, "{p}: {found}");
        }
        assert_eq!((times.count, times.sum_ns), (1_000, 500_500_000_000));
        assert_eq!([8, 98_304, 131_072].map(|us| times.shorter_than(us)), [0, 98, 131]);
        let mut twice = times;
        twice.add(&times);
        assert_eq!((twice.count, twice.percentile(0.5)), (2_000, times.percentile(0.5)));
    }

    #[test]
    fn each_cell_begins_where_the_one_before_ends() {
        let longest = shortest_of(CELLS - 1);
        for us in (0..100_000).chain([1 << 20, longest - 1, longest]) {
            let cell = cell_of(us);
            assert!(shortest_of(cell) <= us, "{us}");
            assert!(cell == CELLS - 1 || us < shortest_of(cell + 1), "{us}");
        }
        assert_eq!(cell_of(u64::MAX / 2), CELLS - 1);
    }

    #[test]
    fn counts_since_an_earlier_state_are_separate() {
        let mut times = Sojourns::default();
        (0..100).for_each(|_| times.record(Duration::from_millis(1)));
        let earlier = times;
        times.record(Duration::from_millis(64));
        let since = times.since(&earlier);
        assert_eq!((since.count, since.percentile(0.5)), (1, Some(Duration::from_micros(61_440))));
    }
}
