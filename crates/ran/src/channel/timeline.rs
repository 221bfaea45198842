//! The current row of a trace, and the behaviour after its last row.

use alloc::string::String;
use alloc::vec;
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param};
use justfull_base::{ConfigError, Duration, Instant, choice};

/// Duration of a row of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLength {
    /// This time, by the instant of the pull; written as a time ("1s").
    Time(Duration),
    /// This many slots, regardless of their real length; written as a number (T20's program: 100
    /// MAC ticks).
    Slots(u32),
}

impl Default for RowLength {
    /// 1 s, the step of the phone logs of T20's traces.
    fn default() -> Self {
        Self::Time(Duration::from_secs(1))
    }
}

choice! {
    /// The rows after the last one.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AtEnd {
        /// The last row stays in force.
        Hold = "hold",
        /// The trace begins again.
        #[default]
        Loop = "loop",
        /// Nothing is carried any more.
        Stop = "stop",
    }
}

/// A walk through the rows of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    row: RowLength,
    at_end: AtEnd,
    rows: u64,
}

impl Timeline {
    /// A walk over `rows` rows (at least one).
    pub(super) const fn new(row: RowLength, at_end: AtEnd, rows: usize) -> Self {
        Self { row, at_end, rows: rows as u64 }
    }

    /// The current row for slot `slot_index` pulled at `at`; none after the end of a trace that
    /// stops.
    #[inline]
    pub(super) fn row(&self, slot_index: u64, at: Instant) -> Option<usize> {
        let row = match self.row {
            RowLength::Time(length) => at.as_nanos() / length.as_nanos(),
            RowLength::Slots(slots) => slot_index / u64::from(slots),
        };
        let row = match self.at_end {
            _ if row < self.rows => row,
            AtEnd::Hold => self.rows - 1,
            AtEnd::Loop => row % self.rows,
            AtEnd::Stop => return None,
        };
        Some(row as usize)
    }
}

impl Param for RowLength {
    const UNIT: &'static str = "time or slots";

    fn form() -> Form {
        Form::OneOf(vec![Duration::form(), u32::form()])
    }

    fn allowed() -> String {
        "a time above 0s, or a number of slots above 0".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Time(length) => length.written(),
            Self::Slots(slots) => slots.written(),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let ok = !matches!(self, Self::Time(Duration::ZERO) | Self::Slots(0));
        ensure(ok, "", &self.written(), &Self::allowed(), "a trace must move on")
    }
}

#[cfg(feature = "serde")]
mod as_text {
    use super::RowLength;
    use core::fmt;
    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    struct TimeOrSlots;

    impl Visitor<'_> for TimeOrSlots {
        type Value = RowLength;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time with its unit, such as \"1s\", or a number of slots")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<RowLength, E> {
            let time = text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
            Ok(RowLength::Time(time))
        }

        fn visit_u64<E: Error>(self, slots: u64) -> Result<RowLength, E> {
            let slots = u32::try_from(slots)
                .map_err(|_| E::invalid_value(Unexpected::Unsigned(slots), &self))?;
            Ok(RowLength::Slots(slots))
        }

        fn visit_i64<E: Error>(self, slots: i64) -> Result<RowLength, E> {
            let slots = u32::try_from(slots)
                .map_err(|_| E::invalid_value(Unexpected::Signed(slots), &self))?;
            Ok(RowLength::Slots(slots))
        }
    }

    impl<'de> Deserialize<'de> for RowLength {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            d.deserialize_any(TimeOrSlots)
        }
    }

    impl Serialize for RowLength {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Time(length) => length.serialize(s),
                Self::Slots(slots) => s.serialize_u32(*slots),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(row: RowLength, at_end: AtEnd) -> [Option<usize>; 5] {
        let line = Timeline::new(row, at_end, 3);
        core::array::from_fn(|i| {
            let second = i as u64;
            line.row(second * 100, Instant::ZERO + Duration::from_secs(second))
        })
    }

    #[test]
    fn a_trace_holds_loops_or_stops_at_its_end() {
        let second = RowLength::Time(Duration::from_secs(1));
        assert_eq!(rows(second, AtEnd::Hold), [0, 1, 2, 2, 2].map(Some));
        assert_eq!(rows(second, AtEnd::Loop), [0, 1, 2, 0, 1].map(Some));
        assert_eq!(rows(second, AtEnd::Stop), [Some(0), Some(1), Some(2), None, None]);
    }

    #[test]
    fn a_row_of_slots_goes_by_their_number_and_not_by_the_time() {
        let line = Timeline::new(RowLength::Slots(100), AtEnd::Hold, 3);
        let late = Instant::from_nanos(u64::MAX);
        assert_eq!(line.row(99, late), Some(0));
        assert_eq!(line.row(100, Instant::ZERO), Some(1));
    }
}
