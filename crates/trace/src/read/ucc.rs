//! Phone logs of University College Cork (Raca et al. 2018 for 4G, 2020 for 5G): about one row per
//! second.
//!
//! Columns are found by name: `Timestamp` (`2019.12.16_13.40.04`; also `t_s`, whole seconds, as in
//! excerpts), `DL_bitrate` and `UL_bitrate` in kbit/s (also `dl_kbps`, `ul_kbps`), `CQI`, `State`,
//! and `meas`, which is 0 in rows that an excerpt filled in: nothing was measured there.
//! The logs have faults: seconds are missing or appear twice, fields are `-`, and in rows with
//! state `I` the phone was idle, so their rate says nothing about the link. `Repairs` says how to
//! handle each; notes report what was repaired. A rate is that of one phone's download: the link
//! may have been able to carry more.

use super::super::clock::{days, iso};
use super::super::error::quote;
use super::super::format::LOG_TIMES;
use super::super::number::{Decimal, is_missing};
use super::super::rows::{At, Tally, digits};
use super::super::table::{self, Record};
use super::super::words::Given;
use super::super::{Column, Duration, Gaps, Idle, ReadOption, Repeated, TraceError, Words};
use super::{Parsed, Source};
use std::io::Read;

/// Longest gap that is filled, in seconds; a longer one starts another measurement.
const LONGEST_GAP: u64 = 3600;
/// Longest log in seconds, 46 days: a bound on memory (230 MB), since rows are kept until all are
/// known.
const LONGEST_LOG: u64 = 4_000_000;
/// Largest rate in kbit/s, so that a second stays below 4 GB.
const MOST_KBIT_S: u64 = u32::MAX as u64 / BYTES_PER_KBIT;
/// Bytes of a second at 1 kbit/s.
const BYTES_PER_KBIT: u64 = 125;

/// Names of columns, compared without case.
const CQI: &str = "cqi";
const STATE: &str = "state";
/// 0 in a row in which nothing was measured, as excerpts say it; 1 in others.
const MEASURED: &str = "meas";

/// Positions of the columns.
struct Places {
    time: usize,
    dated: bool,
    value: usize,
    cqi: Option<usize>,
    state: Option<usize>,
    measured: Option<usize>,
    fields: usize,
    /// Options that read the times of another table.
    other_times: String,
}

impl Places {
    fn find(
        at: &At<'_>,
        header: &Record<'_>,
        column: Column,
        words: &Words,
    ) -> Result<Self, TraceError> {
        let names: Vec<String> = header.iter().map(str::to_ascii_lowercase).collect();
        let place = |name: &str| names.iter().position(|column| column == name);
        let first = |names: &[&str]| names.iter().find_map(|name| place(name));
        let value = column.in_log();
        let missing = |name: &'static str| {
            at.malformed(
                name,
                format!("no such column in {}", quote(&names.join(","))),
                format!("a header line with columns Timestamp (or t_s) and {value}"),
            )
        };
        let time = first(&LOG_TIMES).ok_or_else(|| missing("Timestamp"))?;
        let value = first(column.names()).ok_or_else(|| missing(value))?;
        let columns = [
            Given { option: ReadOption::TimeColumn, value: header.get(time) },
            Given { option: ReadOption::RateColumn, value: header.get(value) },
            Given { option: ReadOption::Unit, value: "kbit/s" },
        ];
        Ok(Self {
            time,
            dated: place(LOG_TIMES[0]).is_some(),
            value,
            other_times: words.given(&columns),
            cqi: place(CQI),
            state: place(STATE),
            measured: place(MEASURED),
            fields: names.len(),
        })
    }
}

/// A second of the log.
#[derive(Clone, Copy, Debug)]
struct Second {
    time: u64,
    line: u64,
    value: Option<u32>,
    cqi: Option<u8>,
    idle: bool,
    /// Rows of this second and the sum of their values, for a mean.
    rows: u32,
    sum: u64,
}

/// The value and the CQI of each second of the result, if present.
type LaidOut = (Vec<Option<u32>>, Vec<Option<u8>>);

/// Findings and repairs.
#[derive(Default)]
struct Tallies {
    rows: u64,
    repeated: Tally,
    gaps: Tally,
    seconds: u64,
    absent: Tally,
    idle: Tally,
}

struct Log {
    column: Column,
    repeated: Repeated,
    gaps: Gaps,
    idle: Idle,
    most: u64,
    words: Words,
    places: Option<Places>,
    seconds: Vec<Second>,
    found: Tallies,
}

impl Log {
    fn take(&mut self, at: At<'_>, record: &Record<'_>) -> Result<(), TraceError> {
        let column = self.column.in_log();
        let Some(places) = &self.places else {
            self.places = Some(Places::find(&at, record, self.column, &self.words)?);
            return Ok(());
        };
        self.found.rows += 1;
        record.ensure_fields(&at, column, places.fields)?;
        let field = |index: usize| record.get(index);
        let when = field(places.time);
        // Seconds of an epoch and fractions of a second are times of some other table.
        let is_number = Decimal::parse(when, at.comma).is_some_and(|number| !number.negative);
        let hinted = |error: TraceError| match is_number {
            true => error.or_by(&places.other_times),
            false => error,
        };
        let time = time(&at, when, places.dated).map_err(hinted)?;
        let cqi = places.cqi.map(|index| cqi(&at, field(index))).transpose()?.flatten();
        let measured = match places.measured {
            Some(index) => at.number(MEASURED, field(index), 1)? == 1,
            None => true,
        };
        let cqi = cqi.filter(|_| measured);
        let value = match self.column {
            Column::Cqi => cqi.map(u32::from),
            _ => rate(&at, column, field(places.value))?.filter(|_| measured),
        };
        let idle = places.state.is_some_and(|index| field(index) == "I");
        if value.is_none() {
            self.found.absent.add(at.line);
            self.refuse_gap(&at, &format!("no {column}"))?;
        }
        if idle {
            self.found.idle.add(at.line);
        }
        let sum = u64::from(value.unwrap_or(0));
        self.join(
            &at,
            Second { time, line: at.line, value, cqi, idle, rows: u32::from(value.is_some()), sum },
        )
    }

    fn refuse_gap(&self, at: &At<'_>, found: &str) -> Result<(), TraceError> {
        if self.gaps == Gaps::Error {
            return Err(at.malformed(
                self.column.in_log(),
                found,
                format!(
                    "a value for each second, or {}",
                    self.words.choice(ReadOption::Gaps, &["hold", "zero", "skip"])
                ),
            ));
        }
        Ok(())
    }

    /// Appends a row, or joins it to the last one.
    fn join(&mut self, at: &At<'_>, row: Second) -> Result<(), TraceError> {
        let Some(last) = self.seconds.last_mut() else {
            self.seconds.push(row);
            return Ok(());
        };
        if row.time > last.time {
            let gap = row.time - last.time;
            if gap > LONGEST_GAP {
                let allowed = format!("at most {LONGEST_GAP} s between rows; cut the log in two");
                return Err(at.malformed("Timestamp", format!("a gap of {gap} s"), allowed));
            }
            if self.seconds.len() as u64 == self.most {
                return Err(at.malformed(
                    "Timestamp",
                    "one second more",
                    format!("at most {} seconds", self.most),
                ));
            }
            self.seconds.push(row);
            return Ok(());
        }
        if row.time < last.time {
            let back = last.time - row.time;
            return Err(at.malformed(
                "Timestamp",
                format!("a time {back} s before that of the row before"),
                "times that do not fall",
            ));
        }
        self.found.repeated.add(at.line);
        match self.repeated {
            Repeated::Error | Repeated::Sum => {
                return Err(at.malformed(
                    "Timestamp",
                    "a second that is already there",
                    format!(
                        "each second once, or {}",
                        self.words.choice(ReadOption::Repeated, &["last", "first", "mean"])
                    ),
                ));
            }
            Repeated::Last => *last = Second { line: last.line, ..row },
            Repeated::First => {}
            Repeated::Mean => {
                last.sum += row.sum;
                last.rows += row.rows;
                last.cqi = row.cqi.or(last.cqi);
                last.idle &= row.idle;
                last.value =
                    (last.rows > 0).then(|| (last.sum / u64::from(last.rows.max(1))) as u32);
            }
        }
        Ok(())
    }

    /// A value and a CQI for each second of the result, if present.
    fn laid_out(&mut self, source: &Source<'_>) -> Result<LaidOut, TraceError> {
        let (mut values, mut cqis) = (Vec::new(), Vec::new());
        let mut before: Option<Second> = None;
        for &second in &self.seconds {
            let cut = |row: &Second| row.idle && self.idle == Idle::Cut;
            let gap = before.map_or(0, |row| second.time - row.time - 1);
            if gap > 0 && !cut(&second) && !before.as_ref().is_some_and(cut) {
                self.found.gaps.add(second.line);
                self.found.seconds += gap;
                let at = At { path: source.path, line: second.line, comma: false };
                self.refuse_gap(&at, &format!("{gap} seconds missing before it"))?;
                if self.gaps != Gaps::Skip {
                    let seconds = values.len() as u64 + gap;
                    if seconds > self.most {
                        let most = format!("at most {} seconds", self.most);
                        return Err(source.unusable(&format!("{seconds} seconds"), &most));
                    }
                    values.resize(values.len() + gap as usize, None);
                    cqis.resize(values.len(), None);
                }
            }
            if !cut(&second) && (second.value.is_some() || self.gaps != Gaps::Skip) {
                values.push(second.value);
                cqis.push(second.cqi);
            }
            before = Some(second);
        }
        Ok((values, cqis))
    }

    fn notes(&self) -> Vec<String> {
        let column = self.column.in_log();
        let gap = match self.gaps {
            Gaps::Zero => "each carries nothing",
            Gaps::Skip => "they are left out and time is compressed",
            Gaps::Hold | Gaps::Error => "each holds the value before it",
        };
        let repeated = match self.repeated {
            Repeated::First => "the first is kept",
            Repeated::Mean => "their mean is taken",
            _ => "the last is kept",
        };
        let Tallies { rows: all, repeated: twice, gaps, seconds, absent, idle } = &self.found;
        let mut notes = Vec::new();
        let mut note = |tally: &Tally, text: String| {
            if tally.rows > 0 {
                notes.push(format!("line {}: {text}", tally.first));
            }
        };
        note(
            twice,
            format!("{} of {all} rows share a second with the row before; {repeated}", twice.rows),
        );
        note(gaps, format!("{seconds} seconds are missing in {} places; {gap}", gaps.rows));
        note(absent, format!("{} of {all} rows have no measured {column}; {gap}", absent.rows));
        if self.idle == Idle::Cut {
            note(
                idle,
                format!(
                    "{} of {all} rows are idle (state I); they are left out and time is compressed",
                    idle.rows
                ),
            );
        }
        notes
    }
}

/// Fills what is missing.
fn filled<T: Copy + Default>(values: &[Option<T>], gaps: Gaps) -> Vec<T> {
    let mut held = match gaps {
        Gaps::Zero => T::default(),
        // Seconds before the first value get that one.
        _ => values.iter().copied().flatten().next().unwrap_or_default(),
    };
    let take = |value: &Option<T>| {
        let now = value.unwrap_or(held);
        if gaps != Gaps::Zero {
            held = now;
        }
        now
    };
    values.iter().map(take).collect()
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let column = source.options.column.unwrap_or_default();
    let repairs = source.options.repairs;
    let most = LONGEST_LOG.min(source.options.max_intervals as u64);
    let (repeated, gaps, idle) = (
        repairs.repeated.unwrap_or_default(),
        repairs.gaps.unwrap_or_default(),
        repairs.idle.unwrap_or_default(),
    );
    if repeated == Repeated::Sum {
        let repairs = ["last", "first", "mean", "error"];
        let repairs = source.options.words.choice(ReadOption::Repeated, &repairs);
        let allowed = format!("{repairs}: a second of a phone log has one rate");
        return Err(source.unusable("repeated rows to be added up", &allowed));
    }
    let (seconds, found, words) = (Vec::new(), Tallies::default(), source.options.words.clone());
    let mut log = Log { column, repeated, gaps, idle, most, words, places: None, seconds, found };
    let marks = table::each(reader, source.path, source.dialect, column.in_log(), |at, record| {
        log.take(at, record)
    })?;
    if log.seconds.is_empty() {
        let found = if log.places.is_some() { "no rows" } else { "no header line" };
        return Err(source.unusable(
            found,
            "a header line with columns Timestamp and DL_bitrate, and rows under it",
        ));
    }
    let (values, cqis) = log.laid_out(source)?;
    if values.iter().all(Option::is_none) {
        let found = format!("no second with a {}", column.in_log());
        let keep = source.options.words.choice(ReadOption::Idle, &["keep"]);
        return Err(source.unusable(
            &found,
            &format!("some second in which the phone was not idle, or idle rows kept ({keep})"),
        ));
    }
    let notes = log.notes();
    let second = Duration::from_secs(1);
    let cqi = cqis.iter().any(Option::is_some).then(|| filled(&cqis, gaps));
    let values = filled(&values, gaps);
    if column == Column::Cqi {
        let cqi = values.into_iter().map(|value| value as u8).collect();
        return source.of_cqi(second, cqi, marks, notes);
    }
    source.finish(second, values, cqi, marks, notes)
}

/// Bytes of a second at the rate in kbit/s in `field`.
fn rate(at: &At<'_>, column: &str, field: &str) -> Result<Option<u32>, TraceError> {
    if is_missing(field) {
        return Ok(None);
    }
    let number = Decimal::parse(field, at.comma).filter(|number| !number.negative);
    let bytes = number.and_then(|number| number.scaled(BYTES_PER_KBIT, 0));
    let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
    bytes.map(Some).ok_or_else(|| {
        at.malformed(column, quote(field), format!("a number from 0 to {MOST_KBIT_S} kbit/s"))
    })
}

/// A CQI of LTE or NR; 3G counts to 30, a different quantity that is ignored.
fn cqi(at: &At<'_>, field: &str) -> Result<Option<u8>, TraceError> {
    if is_missing(field) {
        return Ok(None);
    }
    at.number("CQI", field, 30).map(|cqi| (cqi <= 15).then_some(cqi as u8))
}

/// Seconds since some fixed time.
pub(super) fn time(at: &At<'_>, field: &str, dated: bool) -> Result<u64, TraceError> {
    if !dated {
        return at.number("t_s", field, 1 << 40);
    }
    let part =
        |from: usize, to: usize| field.get(from..to).and_then(|text| digits(text.as_bytes()));
    let parse = || {
        let shape: Vec<u8> = field.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
        if field.len() != 19 || shape != b".._.." {
            return None;
        }
        let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
        let sound = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61;
        sound.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
    };
    let iso = || u64::try_from(iso(field)? / 1_000_000_000).ok();
    parse().or_else(iso).ok_or_else(|| {
        at.malformed("Timestamp", quote(field), "a time such as 2019.12.16_13.40.04")
    })
}
