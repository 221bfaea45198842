//! Delay and goodput over time of the flows of one name.

use crate::results::FlowSeries;
use justfull_base::{Duration, Instant};

/// Bins of equal width, of which the last has no end.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    pub(super) width: Duration,
    last: usize,
    /// The bin of the latest event, from its start to before its end.
    current: usize,
    from: Instant,
    to: Instant,
}

impl Bins {
    /// `count` bins up to `end`, and one more for what comes after it.
    pub(super) fn new(end: Instant, count: usize) -> Self {
        let width = Duration::from_nanos((end.as_nanos() / count as u64).max(1));
        Self { width, last: count, current: 0, from: Instant::ZERO, to: Instant::ZERO + width }
    }

    /// The bin of `now`.
    #[inline(always)]
    pub(super) fn at(&mut self, now: Instant) -> usize {
        if now < self.from || now >= self.to {
            self.turn(now);
        }
        self.current
    }

    #[cold]
    fn turn(&mut self, now: Instant) {
        let number = now.as_nanos() / self.width.as_nanos();
        self.current = (number as usize).min(self.last);
        self.from = Instant::ZERO + self.width.times(number);
        self.to = self.from + self.width;
    }

    /// How many bins begin before `end`.
    pub(super) fn until(&self, end: Instant) -> usize {
        self.last.min(end.as_nanos().div_ceil(self.width.as_nanos()) as usize)
    }
}

/// Bins of a run.
pub(super) const BINS: usize = 200;
/// Names of flows that are followed over time: the first of a run, 21 kB each.
pub(super) const MOST_NAMES: usize = 16;
/// Delays of a bin that are kept, 4 B each; of more, every second, fourth, ... counts.
const MOST_DELAYS: usize = 1 << 12;

/// See the module's page. Both of its lists are allocated once, at their greatest size.
pub(super) struct OverTime {
    bins: Vec<Bin>,
    /// Delays in the last bin, in microseconds.
    delays: Vec<u32>,
    /// One of so many packets is kept.
    one_of: u32,
    /// Packets until the next that is kept.
    skip: u32,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    bytes: u64,
    /// 10th, 50th and 90th percentile in microseconds.
    delay_us: Option<[u32; 3]>,
}

impl Default for OverTime {
    fn default() -> Self {
        Self {
            bins: Vec::with_capacity(BINS + 1),
            delays: Vec::with_capacity(MOST_DELAYS),
            one_of: 1,
            skip: 0,
        }
    }
}

impl OverTime {
    /// The bin `number`, or the latest where that is later.
    #[inline(always)]
    fn bin(&mut self, number: usize) -> &mut Bin {
        if number >= self.bins.len() {
            self.turn(number);
        }
        let last = self.bins.len() - 1;
        &mut self.bins[last]
    }

    #[cold]
    fn turn(&mut self, number: usize) {
        if let Some(last) = self.bins.last_mut() {
            last.delay_us = percentiles(&mut self.delays);
        }
        self.delays.clear();
        (self.one_of, self.skip) = (1, 0);
        self.bins.resize(number + 1, Bin::default());
    }

    /// A packet was delivered in bin `number` after `delay`.
    #[inline(always)]
    pub(super) fn delivered(&mut self, number: usize, delay: Duration) {
        self.bin(number);
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

    /// `bytes` of new payload were received in bin `number`.
    #[inline(always)]
    pub(super) fn received(&mut self, number: usize, bytes: u64) {
        self.bin(number).bytes += bytes;
    }

    /// The first `count` bins, each of `width`.
    pub(super) fn finish(&self, name: &str, width: Duration, count: usize) -> FlowSeries {
        let mut bins = self.bins.clone();
        if let Some(last) = bins.last_mut() {
            last.delay_us = percentiles(&mut self.delays.clone());
        }
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
    let last = values.len().checked_sub(1)?;
    Some([10, 50, 90].map(|percent| {
        let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
        *values.select_nth_unstable(rank.min(last)).1
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_delays() {
        let mut over_time = OverTime::default();
        for n in (1..=100).rev() {
            over_time.delivered(1, ms(n));
        }
        over_time.delivered(3, ms(7));
        let series = over_time.finish("call", ms(10), 5);
        let expected = [None, Some([10.0, 50.0, 90.0]), None, Some([7.0; 3]), None];
        assert_eq!(series.delay_ms, expected);
        assert_eq!(series.name, "call");
    }

    #[test]
    fn goodput_is_what_came_in_the_bin_over_its_width() {
        let mut over_time = OverTime::default();
        over_time.received(0, 1000);
        over_time.received(2, 500);
        // An earlier time than the latest counts in the latest bin.
        over_time.received(1, 500);
        let series = over_time.finish("bulk", ms(1), 3);
        assert_eq!(series.goodput_mbit_s, [8.0, 0.0, 8.0]);
    }

    #[test]
    fn a_bin_of_a_million_packets_keeps_its_percentiles_in_bounded_memory() {
        let mut over_time = OverTime::default();
        for n in 0..1_000_000 {
            over_time.delivered(0, Duration::from_micros(n % 1000));
        }
        assert!(over_time.delays.len() <= MOST_DELAYS);
        let [low, mid, high] = over_time.finish("bulk", ms(1), 1).delay_ms[0].expect("packets");
        assert!((low - 0.1).abs() < 0.01 && (mid - 0.5).abs() < 0.01 && (high - 0.9).abs() < 0.01);
    }

    #[test]
    fn a_bin_has_its_start_and_not_its_end() {
        let mut bins = Bins::new(Instant::ZERO + ms(100), 10);
        let mut at = |n: u64| bins.at(Instant::ZERO + ms(n));
        assert_eq!(
            [at(0), at(9), at(10), at(99), at(100), at(500), at(25)],
            [0, 0, 1, 9, 10, 10, 2]
        );
        assert_eq!(bins.until(Instant::ZERO + ms(21)), 3);
        assert_eq!(bins.until(Instant::ZERO + ms(500)), 10);
    }
}
