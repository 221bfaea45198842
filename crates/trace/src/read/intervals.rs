//! justfull's own text format: `start_UNIT,end_UNIT,bytes` and perhaps `cqi`, one row per interval;
//! and the check that rows form one timeline, shared with Parquet.

use super::super::error::quote;
use super::super::rows::{self, At};
use super::super::{Duration, TraceError};
use super::{Parsed, Source};
use std::io::Read;

/// Units of the columns `start_UNIT` and `end_UNIT`, with their length in ns.
pub(crate) const UNITS: [(&str, u64); 4] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Consecutive rows of equal length.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    /// Length of the first row, in ns.
    length: u64,
    /// Where the next row must begin, in ns.
    next: u64,
    pub(super) bytes: Vec<u32>,
    pub(super) cqi: Vec<u8>,
}

impl Intervals {
    /// Takes a row; `unit` is the length in ns of the unit of `start` and `end`.
    pub(super) fn take(
        &mut self,
        at: &At<'_>,
        (start, end): (u64, u64),
        unit: u64,
        bytes: u32,
        most: usize,
    ) -> Result<(), TraceError> {
        let ns = |value: u64, column| {
            value
                .checked_mul(unit)
                .ok_or_else(|| at.malformed(column, value.to_string(), "a time of this age"))
        };
        let (from, to) = (ns(start, "start")?, ns(end, "end")?);
        if self.bytes.is_empty() {
            if from >= to {
                return Err(at.malformed(
                    "end",
                    end.to_string(),
                    format!("an end after the start, {start}"),
                ));
            }
            self.length = to - from;
        } else if from != self.next {
            let allowed = format!("{}, where the row before ends", self.next / unit);
            return Err(at.malformed("start", start.to_string(), allowed));
        } else if to.checked_sub(from) != Some(self.length) {
            let allowed = format!(
                "{}: all rows are as long as the first",
                from.saturating_add(self.length) / unit
            );
            return Err(at.malformed("end", end.to_string(), allowed));
        } else if self.bytes.len() == most {
            return Err(at.malformed("bytes", "one row more", format!("at most {most} rows")));
        }
        self.next = to;
        self.bytes.push(bytes);
        Ok(())
    }

    /// Length of a row.
    pub(super) const fn interval(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    /// The CQIs, if rows have them.
    pub(super) fn cqi(&mut self) -> Option<Vec<u8>> {
        let cqi = std::mem::take(&mut self.cqi);
        (!cqi.is_empty()).then_some(cqi)
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
    fn find(at: &At<'_>, header: &str) -> Result<Self, TraceError> {
        let names: Vec<String> =
            header.split(',').map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
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
                Err(at.malformed("bytes", quote(header), allowed))
            }
        }
    }
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let most = source.options.max_intervals;
    let mut places: Option<Places> = None;
    let mut rows = Intervals::default();
    let marks = rows::each(reader, source.path, "bytes", |at, row| {
        let text = at.text("bytes", row)?;
        let Some(places) = places else {
            places = Some(Places::find(&at, text)?);
            return Ok(());
        };
        let mut fields = [""; 4];
        let mut count = 0;
        for (index, field) in text.split(',').enumerate() {
            count += 1;
            let wanted = [Some(places.start), Some(places.end), Some(places.bytes), places.cqi];
            if let Some(slot) = wanted.iter().position(|place| *place == Some(index)) {
                fields[slot] = field.trim_ascii();
            }
        }
        if count != places.fields {
            let allowed = format!("{} fields as in the header", places.fields);
            return Err(at.malformed("bytes", format!("{count} fields"), allowed));
        }
        let span =
            (at.number("start", fields[0], u64::MAX)?, at.number("end", fields[1], u64::MAX)?);
        let bytes = at.number("bytes", fields[2], u64::from(u32::MAX))? as u32;
        rows.take(&at, span, places.unit, bytes, most)?;
        if places.cqi.is_some() {
            rows.cqi.push(at.number("cqi", fields[3], 15)? as u8);
        }
        Ok(())
    })?;
    if rows.bytes.is_empty() {
        let found = if places.is_some() { "no rows" } else { "no header line" };
        return Err(
            source.unusable(found, "a header line start_UNIT,end_UNIT,bytes and rows under it")
        );
    }
    let cqi = rows.cqi();
    source.finish(rows.interval(), rows.bytes, cqi, marks, Vec::new())
}
