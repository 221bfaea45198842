//! The one in-memory form of a trace: bytes per interval, and the CQI of each interval if known.

use super::pieces::{Pieces, RowMeter};
use justfull_base::error::ensure;
use justfull_base::{BitRate, ConfigError, Duration};

/// Most intervals of a timeline: eleven hours of milliseconds, and a bound on memory (160 MB).
pub const MAX_INTERVALS: usize = 40_000_000;

/// Longest interval.
const LONGEST: Duration = Duration::from_secs(3600);
/// Longest timeline; keeps every instant far below 63 bits of nanoseconds.
const LONGEST_ALL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The capacity of a link over time: whole bytes in intervals of one length from zero on; the last
/// interval may be shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    interval: Duration,
    /// Length of the last interval, above 0 and at most `interval`.
    last: Duration,
    bytes: Vec<u32>,
    cqi: Option<Vec<u8>>,
    /// The rows that the intervals were made of, where some row is not of whole intervals and whole
    /// bytes: parts and other intervals are cut from these.
    rows: Option<Pieces>,
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
        Ok(Self { interval, last: interval, bytes, cqi, rows: None })
    }

    /// The timeline of rows of any lengths, at least one, in intervals of length `interval`; a
    /// fraction of a byte is carried to the next interval.
    ///
    /// # Errors
    /// As [`Timeline::new`], or when an interval would carry 4 GB.
    pub(crate) fn of_rows(rows: Pieces, interval: Duration) -> Result<Self, ConfigError> {
        ensure_interval(interval)?;
        let end = rows.duration();
        let bytes = metered(Meter::Rows(RowMeter::new(&rows)), 0, end, interval)?;
        let made = Self::new(interval, bytes, None)?.ending(rest(end, interval.as_nanos()))?;
        let rows = (!rows.are_whole(interval)).then_some(rows);
        Ok(Self { rows, ..made })
    }

    /// The same with a last interval of length `last`, in which all its bytes pass.
    ///
    /// # Errors
    /// When `last` is zero or above an interval.
    pub fn ending(self, last: Duration) -> Result<Self, ConfigError> {
        let allowed = format!("above 0s, at most {}", self.interval);
        let source = "the last interval is at most as long as the others";
        ensure(!last.is_zero() && last <= self.interval, "last interval", &last, &allowed, source)?;
        Ok(Self { last, ..self })
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
        let source = "a link lasts a while";
        ensure(!duration.is_zero(), "duration", &duration, "above 0s", source)?;
        let count = u128::from(duration.as_nanos().div_ceil(interval.as_nanos()));
        ensure_length(count)?;
        let until = |k: u128| {
            let ns = (k * u128::from(interval.as_nanos())).min(u128::from(duration.as_nanos()));
            u128::from(rate.0) * ns / 8_000_000_000
        };
        let bytes: Result<_, _> = (0..count).map(|k| narrow(until(k + 1) - until(k))).collect();
        Self::new(interval, bytes?, None)?.ending(rest(duration.as_nanos(), interval.as_nanos()))
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

    /// Length of the last interval, above 0 and at most the length of the others.
    #[must_use]
    pub const fn last(&self) -> Duration {
        self.last
    }

    /// Total length.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        let before = self.bytes.len() as u64 - 1;
        Duration::from_nanos(self.interval.as_nanos() * before + self.last.as_nanos())
    }

    /// Lengths of the times in which nothing passes, one after another.
    pub(crate) fn silences(&self) -> Vec<Duration> {
        let end = self.bytes.len() - 1;
        let length = |k: usize| if k == end { self.last } else { self.interval }.as_nanos();
        let even = || self.bytes.iter().enumerate().map(|(k, &b)| (length(k), b == 0)).collect();
        let rows =
            |rows: &Pieces| rows.rows().map(|(length, amount)| (length, amount == 0)).collect();
        let all: Vec<(u64, bool)> = self.rows.as_ref().map_or_else(even, rows);
        let runs = all.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1);
        runs.map(|run| Duration::from_nanos(run.iter().map(|row| row.0).sum())).collect()
    }

    /// Total bytes that it can carry.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.bytes.iter().map(|&bytes| u64::from(bytes)).sum()
    }

    /// The same bytes in intervals of another length. Within an interval bytes pass evenly;
    /// fractions of a byte are carried over, so the total is kept. The length is kept too: the last
    /// interval is as long as what is left.
    ///
    /// # Errors
    /// As [`Timeline::new`], or when an interval would carry 4 GB.
    pub fn resample(&self, interval: Duration) -> Result<Self, ConfigError> {
        if interval == self.interval {
            return Ok(self.clone());
        }
        self.cut(Duration::ZERO, self.duration(), interval)
    }

    /// The change of its steps by [`Timeline::resample`] to `interval`, in words: the steps, and
    /// what is lost. None if they stay.
    #[must_use]
    pub fn steps_to(&self, interval: Duration) -> Option<String> {
        if interval == self.interval {
            return None;
        }
        let (own, step) = (self.interval.as_nanos(), interval.as_nanos());
        let (even, fit) = match &self.rows {
            Some(rows) => (rows.fit(self.interval), step > 0 && rows.fit(interval)),
            None => (true, own.is_multiple_of(step)),
        };
        let lost = match (fit, own > step) {
            (true, _) => "nothing is lost",
            (false, true) => "no byte is lost, changes of the rate move to the new steps",
            (false, false) => "no byte is lost, changes of the rate within a new step are",
        };
        let from = if even {
            format!("steps of {}", self.interval)
        } else {
            "rows of several lengths".into()
        };
        Some(format!("{from} became steps of {interval}: {lost}"))
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

    /// The whole from `start` on, followed by what is before it.
    ///
    /// # Errors
    /// When `start` is not before the end.
    pub fn beginning_at(&self, start: Duration) -> Result<Self, ConfigError> {
        let source = "a trace begins within it";
        let allowed = format!("below {}", self.duration());
        ensure(start < self.duration(), "start", &start, &allowed, source)?;
        self.cut(start, start + self.duration(), self.interval)
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
        let rows = self.rows.as_ref().map(|rows| rows.scale(factor.numerator, factor.denominator));
        Ok(Self { bytes: bytes?, rows, ..self.clone() })
    }

    /// The whole `times` times in a row.
    ///
    /// # Errors
    /// When `times` is 0 or the result would have too many intervals.
    pub fn repeat(&self, times: u32) -> Result<Self, ConfigError> {
        ensure(times > 0, "loop", &times, "at least 1", "a trace is there at least once")?;
        ensure_length(self.bytes.len() as u128 * u128::from(times))?;
        self.cut(Duration::ZERO, self.duration().times(times.into()), self.interval)
    }

    /// Looped or cut to `duration`.
    ///
    /// # Errors
    /// When `duration` is zero or the result would have too many intervals.
    pub fn lasting(&self, duration: Duration) -> Result<Self, ConfigError> {
        let source = "a trace lasts a while";
        ensure(!duration.is_zero(), "duration", &duration, "above 0s", source)?;
        self.cut(Duration::ZERO, duration, self.interval)
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
        let mut meter = self.meter();
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

    /// The amounts from `from` to `to` in intervals of length `interval`; beyond its end the trace
    /// begins again.
    fn cut(&self, from: Duration, to: Duration, interval: Duration) -> Result<Self, ConfigError> {
        ensure_interval(interval)?;
        let (from, to, step) = (from.as_nanos(), to.as_nanos(), interval.as_nanos());
        let bytes = metered(self.meter(), from, to, interval)?;
        let (all, own) = (self.duration().as_nanos(), self.interval.as_nanos());
        let cqi = self.cqi.as_ref().map(|cqi| {
            let at = |k: u64| cqi[((from + k * step) % all / own) as usize];
            (0..bytes.len() as u64).map(at).collect()
        });
        let rows = match &self.rows {
            Some(rows) => {
                let loops = to.div_ceil(all) - from / all;
                ensure_length(rows.len() as u128 * u128::from(loops))?;
                Some(rows.between(from, to)).filter(|rows| !rows.are_whole(interval))
            }
            None => None,
        };
        let made = Self::new(interval, bytes, cqi)?.ending(rest(to - from, step))?;
        Ok(Self { rows, ..made })
    }

    fn meter(&self) -> Meter<'_> {
        match &self.rows {
            Some(rows) => Meter::Rows(RowMeter::new(rows)),
            None => Meter::Even(EvenMeter::new(self)),
        }
    }
}

/// Bytes of the intervals from `from` to `to` ns, the last as long as what is left.
fn metered(
    mut meter: Meter<'_>,
    from: u64,
    to: u64,
    interval: Duration,
) -> Result<Vec<u32>, ConfigError> {
    let step = interval.as_nanos();
    let count = (to - from).div_ceil(step);
    ensure_length(u128::from(count))?;
    let mut before = meter.until(from);
    let amounts = (1..=count).map(|k| {
        let until = meter.until((from + k * step).min(to));
        let amount = until - before;
        before = until;
        narrow(u128::from(amount))
    });
    amounts.collect()
}

/// Length of the last of the steps of `step` that cover `length`, in ns.
const fn rest(length: u64, step: u64) -> Duration {
    match length % step {
        0 => Duration::from_nanos(step),
        rest => Duration::from_nanos(rest),
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

/// Counts what has passed up to non-decreasing instants of a trace that begins again at its end.
#[derive(Debug)]
enum Meter<'a> {
    Even(EvenMeter<'a>),
    Rows(RowMeter<'a>),
}

impl Meter<'_> {
    /// Whole bytes that have passed up to `ns` after the start.
    fn until(&mut self, ns: u64) -> u64 {
        match self {
            Self::Even(meter) => meter.until(ns),
            Self::Rows(meter) => meter.until(ns),
        }
    }
}

/// A meter of intervals.
#[derive(Debug)]
struct EvenMeter<'a> {
    timeline: &'a Timeline,
    /// Interval that the last instant was in.
    index: usize,
    /// Bytes before that interval, and when it began, in ns.
    before: u64,
    start: u64,
}

impl<'a> EvenMeter<'a> {
    const fn new(timeline: &'a Timeline) -> Self {
        Self { timeline, index: 0, before: 0, start: 0 }
    }

    fn until(&mut self, ns: u64) -> u64 {
        let bytes = &self.timeline.bytes;
        let end = bytes.len() - 1;
        loop {
            let last = self.index == end;
            let length = if last { self.timeline.last } else { self.timeline.interval }.as_nanos();
            let (amount, offset) = (u64::from(bytes[self.index]), ns - self.start);
            if offset < length {
                // An interval has at most 2^42 ns and 2^32 bytes.
                let part = u128::from(amount) * u128::from(offset) / u128::from(length);
                return self.before + part as u64;
            }
            self.before += amount;
            self.start += length;
            self.index = if last { 0 } else { self.index + 1 };
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
    fn rates_are_means_of_whole_bins() {
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
            prop_assert_eq!(after.duration(), before.duration());
            let mut one = before.meter();
            let mut other = after.meter();
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
