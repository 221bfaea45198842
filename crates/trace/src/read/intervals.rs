//! justfull's own text format: `start_UNIT,end_UNIT,bytes` and perhaps `cqi`, one row per interval.
//!
//! Rows follow one another. The last may be shorter than the others; rows of several lengths become
//! intervals of one, which is said.

use super::super::error::quote;
use super::super::number::Decimal;
use super::super::pieces::{PER_BYTE, Pieces};
use super::super::rows::At;
use super::super::table::{self, Record};
use super::super::{Duration, Timeline, TraceError};
use super::{Parsed, Source};
use std::io::Read;

/// Units of the columns `start_UNIT` and `end_UNIT`, with their length in ns.
pub(crate) const UNITS: [(&str, u64); 4] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Consecutive rows.
#[derive(Debug, Default)]
struct Intervals {
    /// Length of the first row, in ns.
    length: u64,
    /// Where the next row must begin, in ns.
    next: u64,
    /// Length of the row before, in ns.
    last: u64,
    /// Lengths of all rows, from the first on that is followed by others though it has another
    /// length than the first row.
    lengths: Vec<u64>,
    bytes: Vec<u32>,
    cqi: Vec<u8>,
}

/// Where a row begins and ends, in ns.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
}

impl Intervals {
    /// Takes a row of this `span`, whose ends the file writes as `text`.
    fn take(
        &mut self,
        at: &At<'_>,
        span: Span,
        text: (&str, &str),
        bytes: u32,
        most: usize,
    ) -> Result<(), TraceError> {
        let Span { start, end } = span;
        if start >= end {
            let allowed = format!("an end after the start, {}", text.0);
            return Err(at.malformed("end", quote(text.1), allowed));
        }
        let length = end - start;
        if self.bytes.is_empty() {
            self.length = length;
        } else if start != self.next {
            let allowed = "the end of the row before";
            return Err(at.malformed("start", quote(text.0), allowed));
        } else if self.bytes.len() == most {
            return Err(at.malformed("bytes", "one row more", format!("at most {most} rows")));
        } else if self.lengths.is_empty() && (self.last != self.length || length > self.length) {
            self.lengths = vec![self.length; self.bytes.len() - 1];
            self.lengths.push(self.last);
        }
        if !self.lengths.is_empty() {
            self.lengths.push(length);
        }
        (self.next, self.last) = (end, length);
        self.bytes.push(bytes);
        Ok(())
    }

    /// The timeline of the rows, and what to say of their lengths.
    fn timeline(self, source: &Source<'_>) -> Result<(Timeline, Option<String>), TraceError> {
        let Self { length, last, lengths, bytes, cqi, .. } = self;
        let refused = |e| source.refused(&e);
        if lengths.is_empty() {
            let cqi = (!cqi.is_empty()).then_some(cqi);
            let timeline = Timeline::new(Duration::from_nanos(length), bytes, cqi);
            let timeline = timeline.and_then(|t| t.ending(Duration::from_nanos(last)));
            return Ok((timeline.map_err(refused)?, None));
        }
        if !cqi.is_empty() {
            let allowed = "rows of one length where each has a cqi";
            return Err(source.unusable("rows of several lengths", allowed));
        }
        let mut pieces = Pieces::default();
        for (&length, &bytes) in lengths.iter().zip(&bytes) {
            pieces.push(length, u128::from(bytes) * PER_BYTE);
        }
        let interval = pieces.interval();
        source.ensure_length(pieces.duration().div_ceil(interval.as_nanos()))?;
        let (shortest, longest) = pieces.lengths();
        let note = format!(
            "rows of {} to {} became intervals of {interval}; every byte is kept",
            Duration::from_nanos(shortest),
            Duration::from_nanos(longest)
        );
        Ok((Timeline::of_rows(pieces, interval).map_err(refused)?, Some(note)))
    }
}

/// Positions of the columns.
#[derive(Clone, Copy, Debug)]
struct Places {
    start: usize,
    end: usize,
    bytes: usize,
    cqi: Option<usize>,
    fields: usize,
    unit: u64,
}

impl Places {
    fn find(at: &At<'_>, header: &Record<'_>) -> Result<Self, TraceError> {
        let names: Vec<String> = header.iter().map(str::to_ascii_lowercase).collect();
        let place = |name: &str| names.iter().position(|column| column == name);
        let times = UNITS.iter().find_map(|(unit, ns)| {
            Some((place(&format!("start_{unit}"))?, place(&format!("end_{unit}"))?, *ns))
        });
        match (times, place("bytes")) {
            (Some((start, end, unit)), Some(bytes)) => {
                Ok(Self { start, end, bytes, cqi: place("cqi"), fields: names.len(), unit })
            }
            _ => {
                let allowed =
                    "a header line with columns start_UNIT, end_UNIT (s, ms, us or ns) and bytes";
                Err(at.malformed("bytes", quote(&names.join(",")), allowed))
            }
        }
    }

    /// The time in `field`, in ns.
    fn time(&self, at: &At<'_>, column: &str, field: &str) -> Result<u64, TraceError> {
        let number = Decimal::parse(field, at.comma).filter(|number| !number.negative);
        let ns = number.and_then(|number| u64::try_from(number.scaled(self.unit, 0)?).ok());
        ns.filter(|ns| *ns <= i64::MAX as u64).ok_or_else(|| {
            let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
            at.malformed(column, found, "a number from 0 on, at most 292 years")
        })
    }
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let most = source.options.max_intervals;
    let mut places: Option<Places> = None;
    let mut rows = Intervals::default();
    let marks = table::each(reader, source.path, source.dialect, "bytes", |at, record| {
        let Some(places) = places else {
            places = Some(Places::find(&at, record)?);
            return Ok(());
        };
        record.ensure_fields(&at, "bytes", places.fields)?;
        let text = (record.get(places.start), record.get(places.end));
        let (start, end) = text;
        let start = places.time(&at, "start", start)?;
        let span = Span { start, end: places.time(&at, "end", end)? };
        let bytes = at.number("bytes", record.get(places.bytes), u64::from(u32::MAX))? as u32;
        rows.take(&at, span, text, bytes, most)?;
        if let Some(place) = places.cqi {
            rows.cqi.push(at.number("cqi", record.get(place), 15)? as u8);
        }
        Ok(())
    })?;
    if rows.bytes.is_empty() {
        let found = if places.is_some() { "no rows" } else { "no header line" };
        return Err(
            source.unusable(found, "a header line start_UNIT,end_UNIT,bytes and rows under it")
        );
    }
    let (timeline, note) = rows.timeline(source)?;
    Ok(source.marked(timeline, marks, note.into_iter().collect()))
}
