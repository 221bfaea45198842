//! Quantities with units, and their form in scenario files ("12Mbit/s", "1500B", "5ms").

use crate::decimal::write_decimal;
use crate::time::Duration;
use alloc::{format, string::String};
use core::fmt;
use core::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

/// A share of a whole, usually between 0 and 1. Bounds are checked where it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

/// A QoS flow identifier, 0 to 63 (TS 23.501 section 5.7.1.1: six bits on the N3 header).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qfi(u8);

impl Qfi {
    /// Number of identifiers.
    pub const COUNT: usize = 64;

    /// The identifier `value`, or none above 63.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// The identifier as a number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// A differentiated services codepoint, 0 to 63 (RFC 2474 section 3): the first six bits of an IPv4
/// packet's TOS byte or an IPv6 packet's traffic class. 0 is the default forwarding behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// The codepoint `value`, or none above 63.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// The codepoint as a number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// True for the default forwarding behaviour.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.0 == 0
    }
}

impl BitRate {
    /// Time to send `bytes` at this rate, rounded up to a nanosecond; [`Duration::MAX`] at rate 0.
    #[must_use]
    #[inline]
    pub fn time_for_ceil(self, bytes: u64) -> Duration {
        const NANOBITS: u64 = 8 * 1_000_000_000;
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Below 2 GB, 64 bits are enough and the division is several times faster.
        if let Some(nanobits) = bytes.checked_mul(NANOBITS) {
            return Duration::from_nanos(nanobits.div_ceil(self.0));
        }
        let ns = (u128::from(bytes) * u128::from(NANOBITS)).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Whole bytes sent in `time` at this rate, rounded down.
    #[must_use]
    pub fn bytes_in_floor(self, time: Duration) -> u64 {
        let bits = u128::from(self.0) * u128::from(time.as_nanos()) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    /// The rate in Mbit/s.
    #[must_use]
    pub fn as_mbit_s(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Why a quantity could not be parsed: the found text and the allowed ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The text as found.
    pub found: String,
    /// The form of a valid value.
    pub allowed: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found `{}`, allowed is {}", self.found, self.allowed)
    }
}

impl core::error::Error for UnitError {}

/// Parses a non-negative decimal number with one of `units` into a whole multiple of the smallest
/// unit.
///
/// A digit below the smallest unit is an error; nothing is rounded.
fn parse_exact(text: &str, units: &[(&str, u64)], allowed: &'static str) -> Result<u64, UnitError> {
    let error = || UnitError { found: text.into(), allowed };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(error)?;
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim_start();
    let factor = units.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return Err(error());
    }
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let mut value = whole.checked_mul(factor).ok_or_else(error)?;
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().map_err(|_| error())?;
        let scale = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
        let part = digits * u128::from(factor);
        if !part.is_multiple_of(scale) {
            return Err(error());
        }
        value = value
            .checked_add(u64::try_from(part / scale).map_err(|_| error())?)
            .ok_or_else(error)?;
    }
    Ok(value)
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: [(&str, u64); 6] = [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        parse_exact(text, &UNITS, "a time such as \"5ms\" (units ns, us, ms, s, min, h)")
            .map(Self::from_nanos)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: [(&str, u64); 7] = [
            ("B", 1),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        parse_exact(text, &UNITS, "a size such as \"1500B\" (units B, kB, MB, GB, KiB, MiB, GiB)")
            .map(Self)
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: [(&str, u64); 4] =
            [("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
        parse_exact(
            text,
            &UNITS,
            "a rate such as \"12Mbit/s\" (units bit/s, kbit/s, Mbit/s, Gbit/s)",
        )
        .map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1_000_000_000, "GB"),
            (1_000_000, "MB"),
            (1_000, "kB"),
        ] {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{}{name}", self.0 / unit);
            }
        }
        write!(f, "{}B", self.0)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1_000, "kbit/s")] {
            if self.0 >= unit {
                return write_decimal(f, self.0, unit, name);
            }
        }
        write!(f, "{}bit/s", self.0)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Qfi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl UnitError {
    /// The error for a bare number without its unit.
    #[must_use]
    pub fn bare_number(found: &dyn fmt::Display, allowed: &'static str) -> Self {
        Self { found: format!("{found}"), allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn units_are_read_exactly() {
        assert_eq!("1.04ms".parse::<Duration>().map(Duration::as_nanos), Ok(1_040_000));
        assert_eq!("11.68Mbit/s".parse::<BitRate>(), Ok(BitRate(11_680_000)));
        assert_eq!("10MB".parse::<Bytes>(), Ok(Bytes(10_000_000)));
        assert_eq!("3 MiB".parse::<Bytes>(), Ok(Bytes(3 << 20)));
    }

    #[test]
    fn a_bare_number_a_sign_a_wrong_unit_and_a_lost_digit_are_refused() {
        for bad in [
            "5",
            "-5ms",
            "5 parsecs",
            "",
            "ms",
            ".5ms",
            "5.ms",
            "0.5ns",
            "1e3ms",
            "99999999999999h",
            "1.2.3s",
        ] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
        assert!("5ms".parse::<Bytes>().is_err());
        assert!("0.5B".parse::<Bytes>().is_err());
    }

    #[test]
    fn sizes_and_rates_read_back_what_they_write() {
        for b in [0, 1, 1_000, 1_500, 1 << 20, 10_000_000, 3 << 30] {
            assert_eq!(Bytes(b).to_string().parse(), Ok(Bytes(b)));
        }
        for r in [0, 64_000, 11_680_000, 1_000_000_000, 999] {
            assert_eq!(BitRate(r).to_string().parse(), Ok(BitRate(r)));
        }
    }

    #[test]
    fn rate_times_time_and_back_say_floor_and_ceil() {
        let r = BitRate(12_000_000);
        assert_eq!(r.time_for_ceil(1500).as_nanos(), 1_000_000);
        assert_eq!(r.bytes_in_floor(Duration::from_nanos(999_999)), 1499);
        assert_eq!(BitRate(0).time_for_ceil(1), Duration::MAX);
    }

    #[test]
    fn a_qfi_has_six_bits() {
        assert!(Qfi::new(63).is_some());
        assert!(Qfi::new(64).is_none());
    }

    #[test]
    fn a_dscp_has_six_bits() {
        assert_eq!(Dscp::new(63).map(Dscp::get), Some(63));
        assert!(Dscp::new(64).is_none());
    }
}
