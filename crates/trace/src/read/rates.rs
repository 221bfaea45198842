//! Any table of rates: the caller names the columns and the unit. A rate holds from its row's time
//! to the next row's; the last one as long as the row before it.

use super::super::error::quote;
use super::super::rows::{self, At};
use super::super::{Duration, TraceError};
use super::{Parsed, RateTable, Source};
use std::io::Read;

/// Longest time that a row may say, in seconds: the year 2096 as Unix time. Sums of three such
/// times in ns fit 64 bits.
const MOST_SECONDS: f64 = 4e9;
/// Shortest interval that is chosen by itself, in ns.
const LEAST: u64 = 1_000_000;

/// Positions of the columns.
struct Places {
    /// With the length in seconds of its unit.
    time: Option<(usize, f64)>,
    rate: usize,
    fields: usize,
}

impl Places {
    fn find(at: &At<'_>, header: &str, table: &RateTable) -> Result<Self, TraceError> {
        let names: Vec<&str> = header.split(',').map(bare).collect();
        let place = |column: &'static str, name: &str| {
            names.iter().position(|own| own.eq_ignore_ascii_case(name)).ok_or_else(|| {
                let allowed = format!("one of {}", names.join(", "));
                at.malformed(column, format!("no column {}", quote(name)), allowed)
            })
        };
        let seconds = |name: &str| {
            let ends = |unit: &str| name.to_ascii_lowercase().ends_with(unit);
            [("_ms", 1e-3), ("_us", 1e-6), ("_ns", 1e-9)]
                .into_iter()
                .find_map(|(unit, length)| ends(unit).then_some(length))
                .unwrap_or(1.0)
        };
        let time = match &table.time {
            Some(name) => Some((place("time", name)?, seconds(name))),
            None => None,
        };
        Ok(Self { time, rate: place("rate", &table.rate)?, fields: names.len() })
    }
}

/// A field without blanks and quotes around it.
fn bare(field: &str) -> &str {
    field.trim_ascii().trim_matches('"')
}

/// The number in `field`, 0 or more and below `most`.
fn number(at: &At<'_>, column: &'static str, field: &str, most: f64) -> Result<f64, TraceError> {
    let found = field.parse().ok().filter(|x: &f64| (0.0..most).contains(x));
    found.ok_or_else(|| {
        let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
        at.malformed(column, found, format!("a number from 0 to below {most}"))
    })
}

pub(super) fn read<R: Read>(
    reader: R,
    source: &Source<'_>,
    table: &RateTable,
) -> Result<Parsed, TraceError> {
    let most = source.options.max_intervals;
    let mut places: Option<Places> = None;
    // Times in ns from the first row on, and bytes per second.
    let (mut first, mut times, mut rates) = (0.0, Vec::<u64>::new(), Vec::<f64>::new());
    let marks = rows::each(reader, source.path, "rate", |at, row| {
        let text = at.text("rate", row)?;
        let Some(places) = &places else {
            places = Some(Places::find(&at, text, table)?);
            return Ok(());
        };
        let fields: Vec<&str> = text.split(',').map(bare).collect();
        if fields.len() != places.fields {
            let allowed = format!("{} fields as in the header", places.fields);
            return Err(at.malformed("rate", format!("{} fields", fields.len()), allowed));
        }
        if rates.len() == most {
            return Err(at.malformed("rate", "one row more", format!("at most {most} rows")));
        }
        if let Some((place, unit)) = places.time {
            let seconds = number(&at, "time", fields[place], MOST_SECONDS / unit)? * unit;
            if times.is_empty() {
                first = seconds;
            }
            // Unix time as a binary fraction is exact to 0.3 us.
            let ns = ((seconds - first) * 1e6).round() * 1e3;
            if ns < 0.0 || times.last().is_some_and(|last| ns as u64 <= *last) {
                let allowed = "a time after that of the row before";
                return Err(at.malformed("time", quote(fields[place]), allowed));
            }
            times.push(ns as u64);
        }
        rates.push(number(&at, "rate", fields[places.rate], 1e15)? * table.unit.bytes());
        Ok(())
    })?;
    let row = source.options.interval;
    if rates.is_empty() {
        return Err(source.unusable("no rows", "a header line and rows under it"));
    }
    let mut notes = Vec::new();
    if first > 0.0 {
        notes.push(format!("the first row is at {first} s, which became 0"));
    }
    if table.time.is_none() {
        let allowed = "the length of a row, or the column of its time";
        let row = row.filter(|row| !row.is_zero());
        let row = row.ok_or_else(|| source.unusable("no length of a row", allowed))?.as_nanos();
        times = (0..rates.len() as u64).map(|i| i.saturating_mul(row)).collect();
    }
    let steps = || times.windows(2).map(|pair| pair[1] - pair[0]);
    let shortest = steps().min().or(row.map(Duration::as_nanos));
    let Some(shortest) = shortest.filter(|shortest| *shortest > 0) else {
        return Err(source.unusable("one row", "two rows, or one and the length of a row"));
    };
    let interval = row.map_or(shortest.div_ceil(LEAST) * LEAST, Duration::as_nanos).max(1);
    let last = steps().next_back().unwrap_or(shortest);
    let end = times.last().copied().unwrap_or(0).saturating_add(last);
    source.ensure_length(end.div_ceil(interval))?;
    if steps().any(|step| step != shortest) {
        let interval = Duration::from_nanos(interval);
        notes.push(format!("rows are not of one length: they became intervals of {interval}"));
    }
    let bytes = binned(&times, &rates, end, interval).ok_or_else(|| {
        source.unusable("a rate that is too high", "at most 4 GiB in an interval")
    })?;
    source.finish(Duration::from_nanos(interval), bytes, None, marks, notes)
}

/// Bytes of each interval; a fraction of a byte is carried to the next. None where an interval has
/// too many.
fn binned(times: &[u64], rates: &[f64], end: u64, interval: u64) -> Option<Vec<u32>> {
    let mut bytes = Vec::with_capacity(end.div_ceil(interval) as usize);
    let (mut row, mut at, mut sum, mut told) = (0, 0, 0.0, 0_u64);
    while at < end {
        let to = at.saturating_add(interval).min(end);
        while at < to {
            let next = times.get(row + 1).copied().unwrap_or(end);
            let until = next.min(to);
            sum += rates[row] * (until - at) as f64 * 1e-9;
            at = until;
            if until == next {
                row += 1;
            }
        }
        // Sums of binary fractions end a little below what they stand for.
        let whole = (sum + 1e-6).floor() as u64;
        bytes.push(u32::try_from(whole - told).ok()?);
        told = whole;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{Loaded, RateUnit, ReadOptions, load_from};
    use super::*;
    use crate::FileFormat;
    use std::path::Path;

    fn read(
        text: &str,
        (time, rate, unit): (Option<&str>, &str, RateUnit),
        interval: Option<Duration>,
    ) -> Result<Loaded, String> {
        let rates = RateTable { time: time.map(str::to_string), rate: rate.into(), unit };
        let options = ReadOptions { rates: Some(rates), interval, ..ReadOptions::default() };
        load_from(text.as_bytes(), Path::new("t.csv"), &options).map_err(|e| e.to_string())
    }

    #[test]
    fn rates_hold_until_the_next_row_and_time_begins_at_the_first() {
        let text = "id,Time,\"Throughput\"\na,1700000000,8\nb,1700000001,16\nc,1700000002,0\n";
        let loaded = read(text, (Some("time"), "throughput", RateUnit::Mbit), None);
        let loaded = loaded.expect("it is sound");
        assert_eq!(loaded.format, FileFormat::Rates);
        assert_eq!(loaded.timeline.interval(), Duration::from_secs(1));
        assert_eq!(loaded.timeline.bytes(), [1_000_000, 2_000_000, 0]);
        assert_eq!(loaded.notes, ["the first row is at 1700000000 s, which became 0"]);
    }

    #[test]
    fn rows_of_several_lengths_keep_every_byte() {
        let text = "t_ms,rate\n0,800\n10,1600\n25,800\n";
        let loaded = read(text, (Some("t_ms"), "rate", RateUnit::Kbit), None).expect("it is sound");
        // 100 B/ms for 10 ms, 200 for 15, 100 for 15, in intervals of 10 ms.
        assert_eq!(loaded.timeline.bytes(), [1000, 2000, 1500, 1000]);
        assert_eq!(loaded.timeline.total(), 5500);
        assert!(loaded.notes[0].contains("intervals of 10ms"), "{:?}", loaded.notes);
        let text = "t,rate\n0,12\n0.001,12\n0.002,12\n0.003,12\n";
        let loaded = read(text, (Some("t"), "rate", RateUnit::Kbit), None).expect("it is sound");
        assert_eq!(loaded.timeline.bytes(), [1, 2, 1, 2], "1.5 bytes each");
    }

    #[test]
    fn unix_times_with_a_fraction_are_rows_of_one_length() {
        let row = |i: u32| format!("{:.3},8\n", 1_700_000_000.0 + f64::from(i) * 0.1);
        let text = format!("t,rate\n{}", (0..50).map(row).collect::<String>());
        let loaded = read(&text, (Some("t"), "rate", RateUnit::Mbit), None).expect("it is sound");
        assert_eq!(loaded.timeline.interval(), Duration::from_millis(100));
        assert_eq!(loaded.timeline.bytes(), [100_000; 50]);
        assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
    }

    #[test]
    fn without_times_a_row_has_the_length_that_is_stated() {
        let text = "x,rate\n1,1\n2,2\n";
        let row = Some(Duration::from_millis(500));
        let loaded = read(text, (None, "rate", RateUnit::Kbyte), row).expect("it is sound");
        assert_eq!(loaded.timeline.bytes(), [500, 1000]);
        assert!(read(text, (None, "rate", RateUnit::Kbyte), None).is_err());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, why) in [
            ("", "no rows"),
            ("t,rate\n", "no rows"),
            ("t,speed\n1,2\n", "one of t, speed"),
            ("t,rate\n1\n", "2 fields"),
            ("t,rate\n1,-2\n", "a number from 0"),
            ("t,rate\n1,NaN\n", "a number from 0"),
            ("t,rate\n1,\n", "an empty field"),
            ("t,rate\n2,1\n1,1\n", "after that of the row before"),
            ("t,rate\n1,1\n1,1\n", "after that of the row before"),
            ("t,rate\n1,5\n", "one row"),
            ("t,rate\n0,1\n0.001,1\n99999999,1\n", "intervals"),
            ("t,rate\n0,900000000000000\n1,1\n", "too high"),
            ("t,rate\n0,1\n3999999999.9,1\n", "interval"),
            ("t,rate\n0,1\n4000000000,1\n", "below 4000000000"),
        ] {
            let error = read(text, (Some("t"), "rate", RateUnit::Mbit), None).map(drop);
            let error = error.expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
