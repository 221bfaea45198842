//! Absolute instants and durations, both in whole nanoseconds.

use crate::decimal::write_decimal;
use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A point in simulated or real time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event; used for "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for tables and plots.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The nearest nanosecond to `s` seconds; negative and NaN give zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Length in milliseconds.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True for a length of zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This length times a whole number; saturates at [`Duration::MAX`].
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// This length times a non-negative factor, to the nearest nanosecond.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }

    /// This length less `other`; zero when `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, d: Self) -> Self {
        self.saturating_sub(d)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, d: Self) {
        *self = *self - d;
    }
}

impl fmt::Display for Duration {
    /// Writes the shortest exact form with a unit, such as `5ms` or `1.5s`. [`core::str::FromStr`]
    /// reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if ns >= unit {
                return write_decimal(f, ns, unit, name);
            }
        }
        if ns == 0 { f.write_str("0s") } else { write!(f, "{ns}ns") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_duration_reads_back_what_it_writes() {
        for ns in [0, 1, 999, 1_000, 1_040_000, 2_500_000_000, 10_110_000, u64::from(u32::MAX)] {
            let d = Duration::from_nanos(ns);
            assert_eq!(d.to_string().parse::<Duration>(), Ok(d));
        }
    }

    #[test]
    fn subtraction_stops_at_zero() {
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Duration::ZERO);
        assert_eq!(Duration::from_nanos(3) - Duration::from_nanos(5), Duration::ZERO);
    }
}
