//! The one in-memory form of a trace: bytes per interval, and the CQI of each interval if known.

use justfull_base::error::ensure;
use justfull_base::{BitRate, ConfigError, Duration};

/// Most intervals of a timeline: eleven hours of milliseconds, and a bound on memory (160 MB).
pub const MAX_INTERVALS: usize = 40_000_000;

/// Longest interval.
const LONGEST: Duration = Duration::from_secs(3600);
/// Longest timeline; keeps every instant far below 63 bits of nanoseconds.
const LONGEST_ALL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// What a link could carry over time: whole bytes in intervals of one length, the first beginning
/// at zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    interval: Duration,
    bytes: Vec<u32>,
    cqi: Option<Vec<u8>>,
}

impl Timeline {
    /// A timeline of `bytes` per `interval`, with a CQI of 0 to 15 for each interval if there are
    /// any.
    ///
    /// # Errors
    /// When the interval is zero or above 1 h, when there is no interval or more than
    /// [`MAX_INTERVALS`], when the whole is longer than ten years, or when CQIs are not one for
    /// each interval or above 15.
    pub fn new(
        interval: Duration,
        bytes: Vec<u32>,
        cqi: Option<Vec<u8>>,
    ) -> Result<Self, ConfigError> {
        ensure_interval(interval)?;
        ensure_length(bytes.len() as u128)?;
        let all = interval.times(bytes.len() as u64);
        ensure(all <= LONGEST_ALL, "duration", &all, "at most ten years", "a bound on instants")?;
        if let Some(cqi) = &cqi {
            let source = "a CQI belongs to an interval";
            ensure(cqi.len() == bytes.len(), "cqi", &cqi.len(), "as many as intervals", source)?;
            let largest = cqi.iter().copied().max().unwrap_or(0);
            ensure(
                largest <= 15,
                "cqi",
                &largest,
                "0 to 15",
                "TS 36.213 section 7.2.3: four bits",
            )?;
        }
        Ok(Self { interval, bytes, cqi })
    }

    /// A link of constant `rate`, for `duration`; fractions of a byte are carried over to the next
    /// interval.
    ///
    /// # Errors
    /// As [`Timeline::new`], or when an interval would carry 4 GB.
    pub fn constant(
        rate: BitRate,
        duration: Duration,
        interval: Duration,
    ) -> Result<Self, ConfigError> {
        ensure_interval(interval)?;
        let count = u128::from(duration.as_nanos().div_ceil(interval.as_nanos()));
        ensure_length(count)?;
        let until = |k: u128| {
            let ns = (k * u128::from(interval.as_nanos())).min(u128::from(duration.as_nanos()));
            u128::from(rate.0) * ns / 8_000_000_000
        };
        let bytes: Result<_, _> = (0..count).map(|k| narrow(until(k + 1) - until(k))).collect();
        Self::new(interval, bytes?, None)
    }

    /// Length of an interval; above 0, at most 1 h.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Bytes that each interval can carry.
    #[must_use]
    pub fn bytes(&self) -> &[u32] {
        &self.bytes
    }

    /// CQI of each interval, 0 (out of range or not reported) to 15; none if the trace has none.
    #[must_use]
    pub fn cqi(&self) -> Option<&[u8]> {
        self.cqi.as_deref()
    }

    /// Total length.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        Duration::from_nanos(self.interval.as_nanos() * self.bytes.len() as u64)
    }

    /// Total bytes that it can carry.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.bytes.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// The same bytes in intervals of another length. Within an interval bytes pass evenly;
    /// fractions of a byte are carried over, so the total is kept. The last interval is padded with
    /// silence.
    ///
    /// # Errors
    /// As [`Timeline::new`], or when an interval would carry 4 GB.
    pub fn resample(&self, interval: Duration) -> Result<Self, ConfigError> {
        if interval == self.interval {
            return Ok(self.clone());
        }
        self.cut(Duration::ZERO, self.duration(), interval)
    }

    /// The part from `from` to `to`, in intervals of the same length.
    ///
    /// # Errors
    /// When `from` is not before `to`, or `to` is after the end.
    pub fn slice(&self, from: Duration, to: Duration) -> Result<Self, ConfigError> {
        let source = "a part of a trace lies within it";
        ensure(
            to <= self.duration(),
            "to-time",
            &to,
            &format!("at most {}", self.duration()),
            source,
        )?;
        ensure(from < to, "from-time", &from, &format!("below the end of the part, {to}"), source)?;
        self.cut(from, to, self.interval)
    }

    /// All amounts times `factor`; fractions of a byte are carried over.
    ///
    /// # Errors
    /// When an interval would carry 4 GB.
    pub fn scale(&self, factor: Factor) -> Result<Self, ConfigError> {
        let scaled = |total: u64| u128::from(total) * factor.numerator / factor.denominator;
        let mut before = 0;
        let bytes = self.bytes.iter().map(|&bytes| {
            let from = scaled(before);
            before += u64::from(bytes);
            narrow(scaled(before) - from)
        });
        let bytes: Result<Vec<u32>, ConfigError> = bytes.collect();
        Self::new(self.interval, bytes?, self.cqi.clone())
    }

    /// The whole `times` times in a row.
    ///
    /// # Errors
    /// When `times` is 0 or the result would have too many intervals.
    pub fn repeat(&self, times: u32) -> Result<Self, ConfigError> {
        ensure(times > 0, "loop", &times, "at least 1", "a trace is there at least once")?;
        ensure_length(self.bytes.len() as u128 * u128::from(times))?;
        let times = times as usize;
        Self::new(
            self.interval,
            self.bytes.repeat(times),
            self.cqi.as_ref().map(|cqi| cqi.repeat(times)),
        )
    }

    /// Looped or cut to `duration`.
    ///
    /// # Errors
    /// When `duration` is zero or the result would have too many intervals.
    pub fn lasting(&self, duration: Duration) -> Result<Self, ConfigError> {
        let source = "a trace lasts a while";
        ensure(!duration.is_zero(), "duration", &duration, "above 0s", source)?;
        let times = duration.as_nanos().div_ceil(self.duration().as_nanos());
        ensure_length(self.bytes.len() as u128 * u128::from(times))?;
        self.repeat(u32::try_from(times).unwrap_or(u32::MAX))?.slice(Duration::ZERO, duration)
    }

    /// Rate of each whole bin of length `bin` in Mbit/s; a shorter rest at the end is left out
    /// unless it is all there is.
    ///
    /// # Errors
    /// When `bin` is zero, above 1 h, or makes too many bins.
    pub fn rates_mbit_s(&self, bin: Duration) -> Result<Vec<f64>, ConfigError> {
        ensure_interval(bin).map_err(|e| ConfigError { field: "bin".into(), ..e })?;
        let whole = self.duration().as_nanos() / bin.as_nanos();
        ensure_length(u128::from(whole.max(1)))?;
        let mut meter = Meter::new(self);
        let mut before = 0;
        let bins = (1..=whole.max(1)).map(|k| {
            let end = (k * bin.as_nanos()).min(self.duration().as_nanos());
            let until = meter.until(end);
            let bits = 8.0 * (until - before) as f64;
            before = until;
            bits / (end - (k - 1) * bin.as_nanos()) as f64 * 1e3
        });
        Ok(bins.collect())
    }

    /// Packets of `size` bytes complete by the end of each interval; a partial one is carried to
    /// the next.
    pub fn packets(&self, size: u64) -> impl Iterator<Item = u64> {
        let mut rest = 0;
        self.bytes.iter().map(move |&bytes| {
            rest += u64::from(bytes);
            let packets = rest / size;
            rest %= size;
            packets
        })
    }

    /// What passes from `from` to `to` in intervals of length `interval`.
    fn cut(&self, from: Duration, to: Duration, interval: Duration) -> Result<Self, ConfigError> {
        ensure_interval(interval)?;
        let (from, to, step) = (from.as_nanos(), to.as_nanos(), interval.as_nanos());
        let count = (to - from).div_ceil(step);
        ensure_length(u128::from(count))?;
        let mut meter = Meter::new(self);
        let mut before = meter.until(from);
        let bytes: Result<_, _> = (1..=count)
            .map(|k| {
                let until = meter.until((from + k * step).min(to));
                let amount = until - before;
                before = until;
                narrow(u128::from(amount))
            })
            .collect();
        let cqi = self.cqi.as_ref().map(|cqi| {
            let at = |k: u64| cqi[((from + k * step) / self.interval.as_nanos()) as usize];
            (0..count).map(at).collect()
        });
        Self::new(interval, bytes?, cqi)
    }
}

/// A factor of at most 10^6 with up to six digits after the point, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    numerator: u128,
    denominator: u128,
}

impl std::str::FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || {
            format!(
                "found `{text}`, allowed is a decimal number above 0, at most 1000000, such as 1.5"
            )
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.len() > 7 || fraction.len() > 6 {
            return Err(error());
        }
        let denominator = 10u128.pow(fraction.len() as u32);
        let part = |text: &str| text.parse::<u128>().map_err(|_| error());
        let numerator = part(whole)? * denominator + part(fraction)?;
        if numerator == 0 || numerator > 1_000_000 * denominator {
            return Err(error());
        }
        Ok(Self { numerator, denominator })
    }
}

/// Counts what has passed up to non-decreasing instants.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    bytes: &'a [u32],
    interval: u64,
    index: usize,
    before: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        Self { bytes: &timeline.bytes, interval: timeline.interval.as_nanos(), index: 0, before: 0 }
    }

    /// Whole bytes that have passed up to `ns` after the start.
    pub(crate) fn until(&mut self, ns: u64) -> u64 {
        let reached = (ns / self.interval) as usize;
        while self.index < reached.min(self.bytes.len()) {
            self.before += u64::from(self.bytes[self.index]);
            self.index += 1;
        }
        let offset = ns % self.interval;
        match self.bytes.get(self.index) {
            Some(&bytes) if offset > 0 => {
                // An interval has at most 2^42 ns and 2^32 bytes.
                let part = u128::from(bytes) * u128::from(offset) / u128::from(self.interval);
                self.before + part as u64
            }
            _ => self.before,
        }
    }
}

fn ensure_interval(interval: Duration) -> Result<(), ConfigError> {
    let source = "an interval lasts, and something happens within an hour";
    ensure(
        !interval.is_zero() && interval <= LONGEST,
        "interval",
        &interval,
        "above 0s, at most 1h",
        source,
    )
}

fn ensure_length(count: u128) -> Result<(), ConfigError> {
    let allowed = format!("1 to {MAX_INTERVALS}");
    let source = "a bound on memory; longer intervals make fewer";
    ensure(
        (1..=MAX_INTERVALS as u128).contains(&count),
        "number of intervals",
        &count,
        &allowed,
        source,
    )
}

/// The amount of one interval.
fn narrow(bytes: u128) -> Result<u32, ConfigError> {
    u32::try_from(bytes).map_err(|_| {
        let source = "no interval carries 4 GB; shorter intervals carry less";
        ConfigError::new("bytes of an interval", &bytes, "at most 4294967295", source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn timeline(interval: Duration, bytes: &[u32]) -> Timeline {
        Timeline::new(interval, bytes.to_vec(), None).expect("a timeline")
    }

    #[test]
    fn a_constant_rate_carries_fractions_of_a_byte_over() {
        let link =
            Timeline::constant(BitRate(1_000_001), Duration::from_secs(8), MS).expect("a link");
        assert_eq!((link.total(), link.bytes().len()), (1_000_001, 8000));
        assert!(link.bytes().iter().all(|b| (125..=126).contains(b)));
        let short = Timeline::constant(BitRate(8_000_000), Duration::from_micros(2_500), MS)
            .expect("a link");
        assert_eq!(short.bytes(), [1000, 1000, 500]);
    }

    #[test]
    fn parts_loops_and_factors_are_exact() {
        let all = Timeline::new(MS, vec![10, 20, 30], Some(vec![1, 2, 3])).expect("a timeline");
        let part =
            all.slice(Duration::from_micros(500), Duration::from_micros(2_500)).expect("a part");
        assert_eq!((part.bytes(), part.cqi()), (&[15, 25][..], Some(&[1, 2][..])));
        let twice = all.repeat(2).expect("a loop");
        assert_eq!(twice.bytes(), [10, 20, 30, 10, 20, 30]);
        let longer = all.lasting(Duration::from_micros(4_500)).expect("a loop");
        assert_eq!(longer.bytes(), [10, 20, 30, 10, 10]);
        assert_eq!(all.lasting(MS).expect("a cut").bytes(), [10]);
        let third = all.scale("0.33".parse().expect("a factor")).expect("scaled");
        assert_eq!((third.bytes(), third.total()), (&[3, 6, 10][..], 19));
    }

    #[test]
    fn rates_are_those_of_whole_bins() {
        let link = timeline(MS, &[1250, 0, 1250, 1250, 77]);
        assert_eq!(link.rates_mbit_s(MS.times(2)).expect("bins"), [5.0, 10.0]);
        assert_eq!(timeline(MS, &[1250]).rates_mbit_s(MS.times(10)).expect("a bin"), [10.0]);
    }

    #[test]
    fn impossible_timelines_and_parts_are_refused_by_name() {
        let all = timeline(MS, &[1, 2]);
        let field = |result: Result<Timeline, ConfigError>| {
            result.map_err(|e| e.field).expect_err("refused")
        };
        let second = Duration::from_secs(1);
        assert_eq!(field(Timeline::new(Duration::ZERO, vec![1], None)), "interval");
        assert_eq!(field(Timeline::new(second.times(3601), vec![1], None)), "interval");
        assert_eq!(field(Timeline::new(MS, vec![], None)), "number of intervals");
        assert_eq!(field(Timeline::new(MS, vec![1], Some(vec![16]))), "cqi");
        assert_eq!(field(Timeline::new(MS, vec![1], Some(vec![]))), "cqi");
        assert_eq!(field(all.slice(MS, MS)), "from-time");
        assert_eq!(field(all.slice(MS, second)), "to-time");
        assert_eq!(field(all.repeat(0)), "loop");
        assert_eq!(field(all.repeat(u32::MAX)), "number of intervals");
        assert_eq!(field(all.lasting(Duration::ZERO)), "duration");
        assert_eq!(field(all.lasting(Duration::MAX)), "number of intervals");
        let full = timeline(MS, &[u32::MAX]);
        assert_eq!(field(full.scale("2".parse().expect("a factor"))), "bytes of an interval");
        let fast = BitRate(u64::MAX);
        assert_eq!(field(Timeline::constant(fast, second, second)), "bytes of an interval");
        for bad in ["", "0", "-1", "1e3", "1.", ".5", "1000001", "0.0000001", "nan"] {
            assert!(bad.parse::<Factor>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn resampling_keeps_every_byte_and_moves_none_by_more_than_an_interval(
            bytes in proptest::collection::vec(0u32..=u32::MAX >> 8, 1..60),
            from_us in 1u64..5_000,
            to_us in 1u64..5_000,
        ) {
            let before = timeline(Duration::from_micros(from_us), &bytes);
            let after = before.resample(Duration::from_micros(to_us)).expect("resampled");
            prop_assert_eq!(after.total(), before.total());
            prop_assert!(after.duration() >= before.duration());
            let mut one = Meter::new(&before);
            let mut other = Meter::new(&after);
            for k in 0..after.bytes().len() as u64 {
                let at = k * to_us * 1000;
                prop_assert_eq!(one.until(at), other.until(at));
            }
        }

        #[test]
        fn a_factor_loses_less_than_a_byte_in_all(
            bytes in proptest::collection::vec(0u32..=1_000_000, 1..60),
            millionths in 1u64..4_000_000_000,
        ) {
            let factor = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
            let before = timeline(MS, &bytes);
            let after = before.scale(factor.parse().expect("a factor")).expect("scaled");
            prop_assert_eq!(u128::from(after.total()),
                u128::from(before.total()) * u128::from(millionths) / 1_000_000);
        }
    }
}
