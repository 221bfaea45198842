//! Delay and goodput over time of the flows of one name.

use crate::results::FlowSeries;
use justfull_base::{Duration, Instant};

/// Bins of equal width; the last one has no end.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    pub(super) width: Duration,
    last: usize,
    /// The bin of the latest event.
    current: usize,
    from: Instant,
    to: Instant,
}

impl Bins {
    /// `count` bins up to `end`, and one more for later times.
    pub(super) fn new(end: Instant, count: usize) -> Self {
        let width = Duration::from_nanos((end.as_nanos() / count as u64).max(1));
        Self { width, last: count, current: 0, from: Instant::ZERO, to: Instant::ZERO + width }
    }

    /// The bin of the latest event.
    #[inline(always)]
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// True if `now` is in the bin of the latest event.
    #[inline(always)]
    pub(super) fn are_at(&self, now: Instant) -> bool {
        now >= self.from && now < self.to
    }

    /// Advances to the bin of `now`.
    pub(super) fn turn(&mut self, now: Instant) {
        let number = now.as_nanos() / self.width.as_nanos();
        self.current = (number as usize).min(self.last);
        self.from = Instant::ZERO + self.width.times(number);
        self.to = self.from + self.width;
    }

    /// Number of bins that begin before `end`.
    pub(super) fn until(&self, end: Instant) -> usize {
        self.last.min(end.as_nanos().div_ceil(self.width.as_nanos()) as usize)
    }

    /// Number of bins that make one bin of flows over time.
    pub(super) fn in_one_of_flows(&self) -> usize {
        self.last.div_ceil(MOST_BINS)
    }
}

/// Maximum number of bins of a run for flows over time.
const MOST_BINS: usize = 200;
/// Maximum number of flow names followed over time: the first names of a run, 9 kB each.
pub(super) const MOST_NAMES: usize = 16;
/// Maximum number of delays kept per bin, 4 B each; beyond it, only every second, fourth, ... delay
/// counts.
const MOST_DELAYS: usize = 1 << 10;
/// Number of delays per bin above which the next bin starts with every second delay.
const ENOUGH: usize = MOST_DELAYS / 4;

/// Delay and goodput over time of the flows of one name. Both lists are allocated once, at their
/// greatest size.
pub(super) struct OverTime {
    bins: Vec<Bin>,
    /// Delays in the last bin, in microseconds.
    delays: Vec<u32>,
    /// One of this many packets is kept.
    one_of: u32,
    /// Packets until the next one to keep.
    skip: u32,
    /// Bytes that the flows had received before the last bin.
    received: u64,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    bytes: u64,
    /// 10th, 50th and 90th percentile in microseconds.
    delay_us: Option<[u32; 3]>,
}

impl Default for OverTime {
    fn default() -> Self {
        let mut bins = Vec::with_capacity(MOST_BINS + 1);
        bins.push(Bin::default());
        Self { bins, delays: Vec::with_capacity(MOST_DELAYS), one_of: 1, skip: 0, received: 0 }
    }
}

impl OverTime {
    /// A packet was delivered after `delay`.
    #[inline(always)]
    pub(super) fn delivered(&mut self, delay: Duration) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.skip = self.one_of - 1;
        if self.delays.len() == MOST_DELAYS {
            self.thin();
        }
        self.delays.push(u32::try_from(delay.as_nanos() / 1000).unwrap_or(u32::MAX));
    }

    #[cold]
    fn thin(&mut self) {
        let mut place = 0;
        self.delays.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.one_of *= 2;
        self.skip = self.one_of - 1;
    }

    /// Later events are in bin `number`, or still in a later one. The flows have `received` this
    /// many bytes of new payload so far.
    pub(super) fn turn(&mut self, number: usize, received: u64) {
        if number < self.bins.len() {
            return;
        }
        match self.delays.len() {
            kept if kept > ENOUGH => self.one_of *= 2,
            kept if kept < ENOUGH / 4 => self.one_of = (self.one_of / 2).max(1),
            _ => {}
        }
        self.close(received);
        (self.skip, self.received) = (self.one_of - 1, received);
        self.delays.clear();
        self.bins.resize(number + 1, Bin::default());
    }

    fn close(&mut self, received: u64) {
        if let Some(last) = self.bins.last_mut() {
            last.delay_us = percentiles(&mut self.delays);
            last.bytes = received - self.received;
        }
    }

    /// The first `count` bins, each of `width`, of flows that have `received` this many bytes.
    pub(super) fn finish(
        &self,
        name: &str,
        received: u64,
        width: Duration,
        count: usize,
    ) -> FlowSeries {
        let (bins, delays) = (self.bins.clone(), self.delays.clone());
        let mut whole = Self { bins, delays, ..*self };
        whole.close(received);
        let mut bins = whole.bins;
        bins.resize(count, Bin::default());
        let mbit_s = |bin: &Bin| bin.bytes as f64 * 8e-6 / width.as_secs_f64();
        let ms = |bin: &Bin| bin.delay_us.map(|us| us.map(|us| f64::from(us) * 1e-3));
        FlowSeries {
            name: name.into(),
            delay_ms: bins.iter().map(ms).collect(),
            goodput_mbit_s: bins.iter().map(mbit_s).collect(),
        }
    }
}

/// The 10th, 50th and 90th percentile of `values`, by nearest rank.
fn percentiles(values: &mut [u32]) -> Option<[u32; 3]> {
    let count = values.len();
    let rank = |percent: usize| (count * percent).div_ceil(100).checked_sub(1);
    let (low, mid, high) = (rank(10)?, rank(50)?, rank(90)?);
    // The other percentiles are on either side of the median, or equal it.
    let (below, &mut median, above) = values.select_nth_unstable(mid);
    let nth = |part: &mut [u32], n| *part.select_nth_unstable(n).1;
    Some([
        if low < mid { nth(below, low) } else { median },
        median,
        if high > mid { nth(above, high - mid - 1) } else { median },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn percentiles_equal_the_sorted_delays() {
        let mut over_time = OverTime::default();
        over_time.turn(1, 0);
        (1..=100).rev().for_each(|n| over_time.delivered(ms(n)));
        over_time.turn(3, 0);
        over_time.delivered(ms(7));
        let series = over_time.finish("call", 0, ms(10), 5);
        let expected = [None, Some([10.0, 50.0, 90.0]), None, Some([7.0; 3]), None];
        assert_eq!(series.delay_ms, expected);
        assert_eq!(series.name, "call");
    }

    #[test]
    fn goodput_is_what_came_in_the_bin_over_its_width() {
        let mut over_time = OverTime::default();
        over_time.turn(2, 1000);
        // A time before the latest counts in the latest bin.
        over_time.turn(1, 1200);
        let series = over_time.finish("bulk", 1500, ms(1), 3);
        assert_eq!(series.goodput_mbit_s, [8.0, 0.0, 4.0]);
    }

    #[test]
    fn bins_of_a_million_packets_keep_their_percentiles_in_bounded_memory() {
        let mut over_time = OverTime::default();
        for bin in 0..3 {
            over_time.turn(bin, 0);
            (0..1_000_000).for_each(|n| over_time.delivered(Duration::from_micros(n * 7 % 1000)));
            assert!(over_time.delays.len() <= MOST_DELAYS);
        }
        for [low, mid, high] in over_time.finish("bulk", 0, ms(1), 3).delay_ms.iter().flatten() {
            let near = |found: f64, expected: f64| (found - expected).abs() < 0.02;
            assert!(near(*low, 0.1) && near(*mid, 0.5) && near(*high, 0.9), "{low} {mid} {high}");
        }
    }

    #[test]
    fn a_flow_that_slows_down_has_all_of_its_packets_again() {
        let mut over_time = OverTime::default();
        (0..100_000).for_each(|_| over_time.delivered(ms(1)));
        for bin in 1..12 {
            over_time.turn(bin, 0);
            (0..10).for_each(|_| over_time.delivered(ms(2)));
        }
        assert_eq!((over_time.one_of, over_time.delays.len()), (1, 10));
    }

    #[test]
    fn a_bin_has_its_start_and_not_its_end() {
        let mut bins = Bins::new(Instant::ZERO + ms(100), 10);
        let mut at = |n: u64| {
            let now = Instant::ZERO + ms(n);
            if !bins.are_at(now) {
                bins.turn(now);
            }
            bins.current()
        };
        assert_eq!(
            [at(0), at(9), at(10), at(99), at(100), at(500), at(25)],
            [0, 0, 1, 9, 10, 10, 2]
        );
        assert_eq!(bins.until(Instant::ZERO + ms(21)), 3);
        assert_eq!(bins.until(Instant::ZERO + ms(500)), 10);
    }
}
