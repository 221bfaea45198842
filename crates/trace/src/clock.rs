//! Times of a table: numbers in a stated unit, epochs, dates.
//!
//! A date has the year first (ISO 8601), or points and the day first (14.05.2024). The order of day
//! and month in 5/14/2024 follows from a number above 12, or from two dates on successive days.
//!
//! A number counts in the unit that the caller or the name of its column states. Without one, an
//! epoch shows its unit by its size: 10^8 to 10^11 are seconds (1973 to 5138), a thousand times as
//! much are milliseconds, and so on; smaller numbers are seconds. The first row decides, and all
//! others must be of its kind.

use super::TraceError;
use super::error::quote;
use super::number::Decimal;
use super::rows::{At, digits};
use super::unit::{in_brackets, words};
use super::words::{ReadOption, Words};
use justfull_base::choice;
use std::mem::{Discriminant, discriminant};

choice! {
    serde;
    /// Unit of a column of times.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum TimeUnit {
        /// Seconds.
        #[default]
        S = "s",
        /// Milliseconds.
        Ms = "ms",
        /// Microseconds.
        Us = "us",
        /// Nanoseconds.
        Ns = "ns",
        /// Minutes.
        Min = "min",
        /// Hours.
        H = "h",
    }
}

impl TimeUnit {
    /// Nanoseconds of one.
    const fn ns(self) -> u64 {
        match self {
            Self::H => 3_600_000_000_000,
            Self::Min => 60_000_000_000,
            Self::S => 1_000_000_000,
            Self::Ms => 1_000_000,
            Self::Us => 1_000,
            Self::Ns => 1,
        }
    }

    /// The unit that a word spells.
    fn spelled(word: &str) -> Option<Self> {
        let word = word.trim().to_lowercase();
        match word.trim_end_matches('.') {
            "s" | "sec" | "secs" | "second" | "seconds" => Some(Self::S),
            "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => {
                Some(Self::Ms)
            }
            "us" | "µs" | "μs" | "usec" | "usecs" | "micro" | "micros" | "microsecond"
            | "microseconds" => Some(Self::Us),
            "ns" | "nsec" | "nsecs" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => {
                Some(Self::Ns)
            }
            "min" | "mins" | "minute" | "minutes" => Some(Self::Min),
            "h" | "hr" | "hrs" | "hour" | "hours" => Some(Self::H),
            _ => None,
        }
    }
}

/// Words in brackets after the name of a column of times that are no unit.
const NO_UNIT: [&str; 7] = ["utc", "gmt", "local", "unix", "epoch", "iso", "iso8601"];
/// Words for a time, to which a unit may be joined without a sign between.
const TIMES: [&str; 7] = ["timestamp", "elapsed", "epoch", "time", "ts", "tm", "t"];

/// The unit in the name of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Unit(TimeUnit),
    /// A unit that is none of the known ones, or several.
    Unknown(String),
    Nothing,
}

/// The unit that the name of a column of times states.
pub(super) fn in_name(name: &str) -> Named {
    if let Some(inner) = in_brackets(name) {
        return match TimeUnit::spelled(inner) {
            Some(unit) => Named::Unit(unit),
            None if NO_UNIT.contains(&inner.to_lowercase().as_str()) => Named::Nothing,
            None => Named::Unknown(inner.into()),
        };
    }
    let starts = words(name);
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    let alone = starts.iter().zip(ends).map(|(&from, to)| {
        name[from..to].trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_lowercase()
    });
    let mut found: Vec<TimeUnit> = Vec::new();
    for word in alone {
        // `timestamps` is many of them.
        let rest = |time: &&str| word.strip_prefix(*time).filter(|rest| *rest != "s");
        let joined = || TIMES.iter().find_map(|time| TimeUnit::spelled(rest(time)?));
        let unit = TimeUnit::spelled(&word)
            .or_else(|| if TIMES.contains(&word.as_str()) { None } else { joined() });
        found.extend(unit.filter(|unit| !found.contains(unit)));
    }
    match found[..] {
        [] => Named::Nothing,
        [unit] => Named::Unit(unit),
        _ => Named::Unknown(name.into()),
    }
}

/// How the times of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Numbers of a unit; of an epoch whose size shows it.
    Number { unit: TimeUnit, epoch: bool },
    /// Dates with a time, or times of a day.
    Iso,
}

/// Reads the times of a column.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    given: Option<TimeUnit>,
    column: String,
    words: Words,
    /// Known from the first row on, with its line.
    kind: Option<(Kind, u64)>,
    /// The first date of ambiguous form, and the order of day and month once a date settles it.
    open: Option<(Written, Option<Order>)>,
    /// The form of the first date; the inner value is none for times of the day.
    form: Option<Option<Discriminant<Date>>>,
    /// The meaning of the first time, if it has two numbers alone.
    short: Option<&'static str>,
}

impl Clock {
    pub(super) fn new(given: Option<TimeUnit>, column: &str, words: Words) -> Self {
        let column = column.into();
        Self { given, column, words, kind: None, open: None, form: None, short: None }
    }

    /// The name of the column.
    pub(super) fn column(&self) -> &str {
        &self.column
    }

    /// Gives the column the name that it has in the file.
    pub(super) fn rename(&mut self, column: &str) {
        self.column = column.into();
    }

    /// The time in `field`, in ns from an instant that is the same for all rows.
    pub(super) fn read(&mut self, at: &At<'_>, field: &str) -> Result<i128, TraceError> {
        let number = Decimal::parse(field, at.comma);
        let kind = match self.kind {
            Some((kind, _)) => kind,
            None => {
                let kind = self.first(at, field, number)?;
                self.kind = Some((kind, at.line));
                kind
            }
        };
        let instant = if kind == Kind::Iso { self.instant(field) } else { None };
        let refused = || {
            let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
            at.malformed(&self.column, found, self.allowed())
        };
        match kind {
            Kind::Iso => instant.ok_or_else(refused),
            Kind::Number { unit, epoch } => {
                let number = number.filter(|number| !epoch || by_size(*number) == Some(unit));
                let ns = number.and_then(|number| number.scaled(unit.ns(), 0));
                // A hundred thousand years are as good as any bound.
                let ns = ns.filter(|ns| *ns < 1 << 92).ok_or_else(refused)?;
                let negative = number.is_some_and(|number| number.negative);
                Ok(if negative { -ns.cast_signed() } else { ns.cast_signed() })
            }
        }
    }

    /// The kind of clock, by the first time.
    fn first(
        &mut self,
        at: &At<'_>,
        field: &str,
        number: Option<Decimal>,
    ) -> Result<Kind, TraceError> {
        let Some(number) = number else {
            return if self.given.is_none() && is_instant(field) {
                self.short = short(field);
                Ok(Kind::Iso)
            } else {
                let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
                Err(at.malformed(&self.column, found, self.allowed()))
            };
        };
        if let Some(unit) = self.given {
            return Ok(Kind::Number { unit, epoch: false });
        }
        match in_name(&self.column) {
            Named::Unit(unit) => Ok(Kind::Number { unit, epoch: false }),
            Named::Unknown(unit) => Err(at.malformed(
                &self.column,
                format!("times in {}", quote(&unit)),
                format!(
                    "h, min, s, ms, us or ns in its name, or by {}",
                    self.words.name(ReadOption::TimeUnit)
                ),
            )),
            Named::Nothing => {
                let epoch = by_size(number);
                Ok(Kind::Number { unit: epoch.unwrap_or_default(), epoch: epoch.is_some() })
            }
        }
    }

    /// The instant of `text`, in ns from an origin that all rows share.
    fn instant(&mut self, text: &str) -> Option<i128> {
        let (date, of_day) = date_and_time(text)?;
        // Dates of different forms have different origins.
        let form = date.as_ref().map(discriminant);
        if *self.form.get_or_insert(form) != form {
            return None;
        }
        let day = match date {
            Some(Date::Days(days)) => i128::from(days),
            Some(Date::Open(date)) => self.days_since_first(date)?,
            None => 0,
        };
        Some(day * DAY + of_day)
    }

    /// Days from the first date to `date`; none while the order of day and month is ambiguous.
    fn days_since_first(&mut self, date: Written) -> Option<i128> {
        let (first, order) = *self.open.get_or_insert((date, None));
        if date == first {
            return Some(0);
        }
        let between =
            |order: Order| Some(i128::from(date.days(order)?) - i128::from(first.days(order)?));
        let days = match order {
            Some(order) => between(order)?,
            None => {
                let both = [Order::MonthFirst, Order::DayFirst];
                let known = both.map(|order| Some((order, between(order)?)));
                let next = known.map(|one| one.filter(|(_, days)| days.abs() == 1));
                let (order, days) = match (known, next) {
                    ([Some(one), None] | [None, Some(one)], _)
                    | (_, [Some(one), None] | [None, Some(one)]) => one,
                    _ => return None,
                };
                self.open = Some((first, Some(order)));
                days
            }
        };
        Some(days)
    }

    /// The allowed values of the column, in words.
    fn allowed(&self) -> String {
        match (self.kind, self.given) {
            (Some((Kind::Number { unit, epoch: true }, line)), _) => {
                format!("an epoch in {unit}, as line {line} has")
            }
            (Some((Kind::Number { unit, .. }, _)), _) | (None, Some(unit)) => {
                format!("a number of {unit}")
            }
            (Some((Kind::Iso, line)), _) if self.open.is_some() => format!(
                "a date and a time, as line {line} has, whose day and month show; 2024-05-14 shows \
                 both"
            ),
            (Some((Kind::Iso, line)), _) => format!("a date and a time, as line {line} has"),
            (None, None) => "a number, or a date and a time such as 2024-05-14T09:31:02.5Z".into(),
        }
    }

    /// True when no option, no name and no size stated the unit.
    pub(super) fn is_assumed(&self) -> bool {
        self.given.is_none()
            && in_name(&self.column) == Named::Nothing
            && matches!(self.kind, Some((Kind::Number { epoch: false, .. }, _)))
    }

    /// How the times were taken.
    pub(super) fn note(&self) -> String {
        match (self.kind, self.given) {
            (Some((Kind::Iso, _)), _) => self.short.unwrap_or("dates and times").into(),
            (Some((Kind::Number { unit, epoch: true }, _)), _) => {
                format!("an epoch in {unit}, by its size")
            }
            (Some((Kind::Number { unit, .. }, _)), Some(_)) => {
                format!("{unit}, by {}", self.words.name(ReadOption::TimeUnit))
            }
            (Some((Kind::Number { unit, .. }, _)), None) if self.is_assumed() => {
                let option = self.words.aside(ReadOption::TimeUnit, "");
                format!("{unit}, since nothing says another unit{option}")
            }
            (Some((Kind::Number { unit, .. }, _)), None) => format!("{unit}, by its name"),
            (None, _) => "nothing".into(),
        }
    }
}

/// The unit that an epoch of this size counts.
fn by_size(number: Decimal) -> Option<TimeUnit> {
    let size = number.scaled(1, 0).filter(|_| !number.negative)?;
    match size {
        0..100_000_000 => None,
        100_000_000..100_000_000_000 => Some(TimeUnit::S),
        100_000_000_000..100_000_000_000_000 => Some(TimeUnit::Ms),
        100_000_000_000_000..100_000_000_000_000_000 => Some(TimeUnit::Us),
        _ => Some(TimeUnit::Ns),
    }
}

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// True for a date and a time, or a time of the day.
pub(super) fn is_instant(text: &str) -> bool {
    date_and_time(text).is_some()
}

/// The meaning of a time of two numbers without a date.
fn short(text: &str) -> Option<&'static str> {
    let is_short = text.matches(':').count() == 1 && matches!(date_and_time(text), Some((None, _)));
    let fraction = half_of_day(text).0.contains([',', '.']);
    is_short.then_some(if fraction { "minutes and seconds" } else { "hours and minutes" })
}

/// The instant of an ISO 8601 date and time, in ns since the first day of the year 0; for a time of
/// the day, in ns since midnight. None for a date of ambiguous form.
pub(super) fn iso(text: &str) -> Option<i128> {
    match date_and_time(text)? {
        (None, of_day) => Some(of_day),
        (Some(Date::Days(days)), of_day) => Some(i128::from(days) * DAY + of_day),
        (Some(Date::Open(_)), _) => None,
    }
}

/// The date of `text`, if it has one, and the ns since midnight, UTC where a zone is stated.
/// `T`, a blank or `_` separates date and time. A zone is `Z`, `UTC`, `GMT` or an offset. A time
/// after a date may have points in place of colons, as in phones' logs. A time may end with `AM` or
/// `PM`. Two numbers are hours and minutes, with a fraction minutes and seconds, as spreadsheets
/// show `mm:ss.0`.
fn date_and_time(text: &str) -> Option<(Option<Date>, i128)> {
    let (date, clock) = match text.split_once(['T', 't', ' ', '_']) {
        Some((date, clock))
            if !date.contains(':') && (date.contains(['-', '/', '.']) || date.len() == 8) =>
        {
            (Some(self::date(date.trim_end_matches(','))?), clock.trim_start())
        }
        _ => (None, text),
    };
    let (clock, half) = half_of_day(clock);
    let (clock, offset) = zone(clock)?;
    let pointed = clock.matches('.').count() == 2 && !clock.contains(':') && date.is_some();
    let colons = if pointed { clock.replace('.', ":") } else { String::new() };
    let clock = if pointed { &colons } else { clock };
    let (whole, fraction) = match clock.split_once([',', '.']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (clock, None),
    };
    let (hour, minute, second) = match (&whole.split(':').collect::<Vec<_>>()[..], fraction) {
        (&[hour, minute, second], _) => (hour, minute, second),
        (&[hour, minute], None) => (hour, minute, "00"),
        (&[minute, second], Some(_)) if date.is_none() && half.is_none() => ("0", minute, second),
        (&[packed], _) if date.is_some() && packed.len() == 6 && packed.is_ascii() => {
            (&packed[..2], &packed[2..4], &packed[4..])
        }
        _ => return None,
    };
    let fraction = fraction.unwrap_or("0");
    let part = |text: &str, below: u64| {
        digits(text.as_bytes()).filter(|value| text.len() <= 2 && *value < below)
    };
    let hour = match (half, part(hour, 24)?) {
        (None, hour) => hour,
        (Some(half), hour @ 1..=12) => hour % 12 + 12 * half,
        _ => return None,
    };
    let seconds = hour * 3600 + part(minute, 60)? * 60 + part(second, 61)?;
    let nines: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let ns = digits(nines.as_bytes())?;
    digits(fraction.as_bytes().get(..fraction.len().min(18))?)?;
    let of_day = (i128::from(seconds) - i128::from(offset)) * 1_000_000_000 + i128::from(ns);
    Some((date, of_day))
}

/// Removes `AM` or `PM` from a time of the day: the rest, and 0 for `AM` or 1 for `PM`.
fn half_of_day(clock: &str) -> (&str, Option<u64>) {
    let marks = [("am", 0), ("pm", 1), ("a.m.", 0), ("p.m.", 1)];
    let found = marks.into_iter().find_map(|(mark, half)| {
        let place = clock.len().checked_sub(mark.len())?;
        let end = clock.get(place..)?;
        end.eq_ignore_ascii_case(mark).then(|| (clock[..place].trim_end(), Some(half)))
    });
    found.unwrap_or((clock, None))
}

/// A date of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Date {
    /// A number of days, as [`days`] returns it.
    Days(u64),
    /// The order of day and month is ambiguous.
    Open(Written),
}

/// Day and month in either order, and a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    first: u64,
    second: u64,
    year: u64,
}

/// The order of day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    MonthFirst,
    DayFirst,
}

impl Written {
    fn days(self, order: Order) -> Option<u64> {
        let (month, day) = match order {
            Order::MonthFirst => (self.first, self.second),
            Order::DayFirst => (self.second, self.first),
        };
        let sound = self.year >= 1000 && (1..=12).contains(&month) && (1..=31).contains(&day);
        sound.then(|| days(self.year, month, day))
    }
}

/// A date such as 2024-05-14, 2024/05/14, 20240514, 14.05.2024, 5/14/2024 or 14-05-2024.
fn date(text: &str) -> Option<Date> {
    let part = |text: &str, most: usize| digits(text.as_bytes()).filter(|_| text.len() <= most);
    let (a, b, c) = match text.split(['-', '/', '.']).collect::<Vec<_>>()[..] {
        [a, b, c] => (a, b, c),
        [packed] if packed.len() == 8 && packed.is_ascii() => {
            (&packed[..4], &packed[4..6], &packed[6..])
        }
        _ => return None,
    };
    if c.len() < 4 {
        let day = Written { first: part(c, 2)?, second: part(b, 2)?, year: part(a, 4)? };
        return Some(Date::Days(day.days(Order::DayFirst)?));
    }
    let date = Written { first: part(a, 2)?, second: part(b, 2)?, year: part(c, 4)? };
    if text.contains('.') {
        return Some(Date::Days(date.days(Order::DayFirst)?));
    }
    let sound = date.days(Order::MonthFirst).or(date.days(Order::DayFirst)).is_some();
    sound.then_some(Date::Open(date))
}

/// A time of the day without its zone, and the zone's offset in seconds.
fn zone(clock: &str) -> Option<(&str, i64)> {
    for utc in ["Z", "z", "UTC", "GMT"] {
        if let Some(clock) = clock.strip_suffix(utc) {
            return Some((clock.trim_end(), 0));
        }
    }
    let Some(place) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (sign, offset) =
        (if clock[place..].starts_with('-') { -1 } else { 1 }, &clock[place + 1..]);
    let offset: String = offset.chars().filter(|c| *c != ':').collect();
    let number = digits(offset.as_bytes())?.cast_signed();
    let seconds = match offset.len() {
        2 => number * 3600,
        4 => number / 100 * 3600 + number % 100 * 60,
        _ => return None,
    };
    Some((clock[..place].trim_end(), sign * seconds))
}

/// Days since 1 March of the year 0 in the Gregorian calendar: if years begin in March, the varying
/// day comes last.
pub(super) const fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn at(line: u64) -> At<'static> {
        At { path: Path::new("t.csv"), line, comma: false }
    }

    #[test]
    fn days_follow_each_other_over_the_ends_of_months_and_leap_years() {
        for (before, after) in [
            ((2019, 12, 31), (2020, 1, 1)),
            ((2020, 2, 28), (2020, 2, 29)),
            ((2020, 2, 29), (2020, 3, 1)),
            ((2019, 2, 28), (2019, 3, 1)),
            ((1900, 2, 28), (1900, 3, 1)),
            ((2000, 2, 29), (2000, 3, 1)),
        ] {
            let of = |(year, month, day)| days(year, month, day);
            assert_eq!(of(before) + 1, of(after), "{before:?}");
        }
    }

    #[test]
    fn names_of_columns_state_their_unit() {
        use TimeUnit::{H, Min, Ms, Ns, S, Us};
        for (names, unit) in [
            ("Time(ms)|time [ms]|timeMs|time-ms|t_msec|ms|Time (msec)|time_ms|timems|tms", Ms),
            ("timestamp_us|time [µs]|t (us)|TimeUs|usec|elapsed_us", Us),
            ("time_ns|start_nanos|t(ns)|timestampNs", Ns),
            ("time_s|t [s]|sec|Time (seconds)|elapsed_sec", S),
            ("Time (min)|time_min|minutes|elapsed mins", Min),
            ("t[h]|time_h|Hours|Time (hrs)", H),
        ] {
            for name in names.split('|') {
                assert_eq!(in_name(name), Named::Unit(unit), "{name}");
            }
        }
        for name in ["time", "t", "ts", "Timestamp", "zeit", "Time (UTC)", "date", "status"] {
            assert_eq!(in_name(name), Named::Nothing, "{name}");
        }
        for name in ["Time (days)", "t[weeks]", "ms_or_us", "time_min_s"] {
            assert!(matches!(in_name(name), Named::Unknown(_)), "{name}");
        }
    }

    #[test]
    fn dates_and_times_are_read_with_zone_and_fraction() {
        let noon = iso("2024-05-14T12:00:00Z").expect("a date");
        for text in [
            "2024-05-14 12:00:00",
            "2024-05-14T14:00:00+02:00",
            "2024-05-14 14:00:00+0200",
            "2024-05-14T07:00:00-05",
            "2024/05/14 12:00",
            "20240514T120000Z",
            "2024-05-14T12:00:00.000000000Z",
            "2024-05-14 12:00:00 UTC",
            "2024.05.14_12.00.00",
            "14.05.2024 12:00:00",
            "14.5.2024, 12:00",
            "14.05.2024 12:00:00 PM",
        ] {
            assert_eq!(iso(text), Some(noon), "{text}");
        }
        assert_eq!(iso("2024-05-14 12:00:00.113"), Some(noon + 113_000_000));
        assert_eq!(iso("2024-05-14 12:00:00,5"), Some(noon + 500_000_000));
        assert_eq!(iso("00:01:00.25"), Some(60_250_000_000));
        assert_eq!(iso("01:02.5"), Some(62_500_000_000), "minutes and seconds");
        assert_eq!(iso("01:02"), Some(3_720_000_000_000), "hours and minutes");
        for text in [
            "",
            "12",
            "2024-05-14",
            "2024-13-14 12:00:00",
            "2024-05-14 25:00:00",
            "x:y:z",
            "12.00.00",
            "2024-05-14 12:00.5",
            "1:00.5 PM",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    /// The seconds of `texts` after the first one.
    fn after_first(texts: &[&str]) -> Result<Vec<i128>, String> {
        let mut clock = Clock::new(None, "time", Words::default());
        let read = |(line, text): (u64, &&str)| clock.read(&at(line), text);
        let found: Result<Vec<i128>, TraceError> = (1..).zip(texts).map(read).collect();
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.iter().map(|ns| (ns - found[0]) / 1_000_000_000).collect())
    }

    #[test]
    fn a_number_above_12_or_successive_days_settle_the_order_of_day_and_month() {
        for (texts, seconds) in [
            (
                ["5/14/2024 9:31:02 AM", "5/14/2024 9:31:03 AM", "5/15/2024 12:00:00 AM"],
                [1, 52_138],
            ),
            (["5/4/2024 11:59:59 PM", "5/4/2024 11:59:59 PM", "5/5/2024 12:00:01 AM"], [0, 2]),
            (["4/5/2024 23:59:59", "5/5/2024 00:00:01", "6/5/2024 00:00:00"], [2, 86_401]),
            (["31/12/2024 23:59", "01/01/2025 00:00", "02/01/2025 00:00"], [60, 86_460]),
            (["14-05-2024 12:00", "14-05-2024 12:01", "15-05-2024 12:00"], [60, 86_400]),
        ] {
            let found = after_first(&texts).expect("it is read");
            assert_eq!(found[1..], seconds, "{texts:?}");
        }
        let error = after_first(&["4/5/2024 10:00", "5/6/2024 10:00"]).expect_err("it is open");
        assert!(error.contains("found `5/6/2024 10:00`") && error.contains("2024-05-14 shows"));
        for text in ["13/13/2024 10:00", "5/14/2024 13:00:00 PM", "5/14/24 10:00"] {
            assert!(after_first(&[text]).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_the_day_accept_am_and_pm_with_hours_of_two_digits() {
        for texts in [
            ["9:59:59 AM", "10:00:00 AM", "1:00:00 PM"],
            ["09:59:59.5 am", "10:00:00.5 am", "01:00:00.5 pm"],
        ] {
            assert_eq!(after_first(&texts).expect("it is read"), [0, 1, 10_801], "{texts:?}");
        }
    }

    #[test]
    fn all_times_of_a_column_have_a_date_of_one_form_or_none() {
        for texts in [
            ["5/14/2024 10:00", "11:00"],
            ["5/14/2024 10:00", "2024-05-14 11:00"],
            ["10:00", "2024-05-14 11:00"],
        ] {
            let error = after_first(&texts).expect_err("two forms");
            assert!(error.contains(&format!("found `{}`", texts[1])), "{error}");
        }
    }

    #[test]
    fn an_epoch_shows_its_unit_by_its_size_and_keeps_it() {
        for (text, unit) in [
            ("1700000000.5", "s"),
            ("1700000000500", "ms"),
            ("1700000000500000", "us"),
            ("1700000000500000000", "ns"),
        ] {
            let mut clock = Clock::new(None, "timestamp", Words::default());
            assert_eq!(clock.read(&at(2), text), Ok(1_700_000_000_500_000_000), "{text}");
            assert_eq!(clock.note(), format!("an epoch in {unit}, by its size"));
            assert!(clock.read(&at(3), "17").is_err());
        }
        let mut clock = Clock::new(None, "timestamp", Words::default());
        clock.read(&at(2), "1700000000").expect("seconds");
        let error = clock.read(&at(3), "1700000001000").expect_err("milliseconds").to_string();
        assert!(error.contains("allowed is an epoch in s, as line 2 has"), "{error}");
        let mut clock = Clock::new(Some(TimeUnit::Ms), "t", Words::default());
        assert_eq!(clock.read(&at(2), "-1.5"), Ok(-1_500_000));
    }
}
