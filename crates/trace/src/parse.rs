//! From lines to a checked trace.

use super::error::{SINGLE_BYTES, in_utf8, quote};
use super::lines::{Lines, Marks, Next};
use super::number::is_missing;
use super::rows::{digits, is_control, whole};
use super::table::{Dialect, Record, Splitter};
use super::unpack::read_error;
use super::{Format, MAX_LINE, MissingCqi, ReadOption, Repair, Trace, TraceError, Values, Words};
use std::io::Read;
use std::path::Path;

/// Reads a trace of `format` with at most `max_rows` rows from `reader`; `path` and `words` are for
/// messages.
pub(super) fn parse<R: Read>(
    reader: R,
    path: &Path,
    dialect: Dialect,
    format: Format,
    max_rows: u64,
    words: &Words,
) -> Result<(Trace, Marks), TraceError> {
    let mut lines = Lines::new(reader);
    let mut rows = Rows::new(path, format, max_rows, words);
    let mut splitter = Splitter::new(dialect.separator);
    rows.comma = dialect.comma;
    while let Some(line) = next_line(&mut lines, &mut rows)? {
        if !rows.take_bare_number(line) {
            rows.take(line, &mut splitter)?;
        }
    }
    rows.finish().map(|trace| (trace, lines.marks()))
}

/// The next line; its number is noted in `rows`.
fn next_line<'a, R: Read>(
    lines: &'a mut Lines<R>,
    rows: &mut Rows<'_>,
) -> Result<Option<&'a [u8]>, TraceError> {
    rows.line += 1;
    match lines.next() {
        Ok(Next::Line(line)) => Ok(Some(line)),
        Ok(Next::End) => Ok(None),
        Ok(Next::TooLong) => {
            Err(rows.malformed(format!("a line of more than {MAX_LINE} bytes"), "shorter lines"))
        }
        Err(error) => Err(read_error(rows.path, Some(rows.line - 1), &error)),
    }
}

/// Position of the value in a row.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: usize,
    fields: usize,
}

/// The data read so far.
struct Rows<'a> {
    path: &'a Path,
    format: Format,
    max_rows: u64,
    words: &'a Words,
    /// Number of the current line.
    line: u64,
    /// Numbers have a decimal comma.
    comma: bool,
    /// Known once the header has been read.
    place: Option<Place>,
    /// An empty line, which is an error if a row follows.
    gap: Option<u64>,
    amounts: Vec<u64>,
    cqi: Vec<u8>,
    rows: u64,
    largest: u64,
    missing: u64,
    first_missing: u64,
}

impl<'a> Rows<'a> {
    const fn new(path: &'a Path, format: Format, max_rows: u64, words: &'a Words) -> Self {
        Self {
            path,
            format,
            max_rows,
            words,
            line: 0,
            comma: false,
            place: None,
            gap: None,
            amounts: Vec::new(),
            cqi: Vec::new(),
            rows: 0,
            largest: 0,
            missing: 0,
            first_missing: 0,
        }
    }

    fn malformed_at(
        &self,
        line: u64,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> TraceError {
        TraceError::Malformed {
            path: self.path.into(),
            line,
            column: self.format.column().into(),
            found: found.into(),
            allowed: allowed.into(),
        }
    }

    fn malformed(&self, found: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        self.malformed_at(self.line, found, allowed)
    }

    /// Takes a line with a single column and a valid value: a fast path for the most common line.
    #[inline]
    fn take_bare_number(&mut self, line: &[u8]) -> bool {
        let one_column = self.place.is_some_and(|place| place.fields == 1);
        if !one_column || self.gap.is_some() || self.missing > 0 || self.rows == self.max_rows {
            return false;
        }
        let Some(value) = digits(line).filter(|&value| value <= self.format.largest()) else {
            return false;
        };
        self.rows += 1;
        self.push(value);
        true
    }

    /// Any other line of the file.
    fn take(&mut self, line: &[u8], splitter: &mut Splitter) -> Result<(), TraceError> {
        let Ok(text) = std::str::from_utf8(line) else {
            let found = quote(&String::from_utf8_lossy(line));
            return Err(self.malformed(found, in_utf8(self.path, SINGLE_BYTES)));
        };
        if text.starts_with('#') {
            return Ok(());
        }
        if line.iter().any(is_control) {
            return Err(self.malformed(quote(text), "text without control characters"));
        }
        if text.trim_ascii().is_empty() {
            self.gap = self.gap.or(Some(self.line).filter(|_| self.place.is_some()));
            return Ok(());
        }
        let Some(record) = splitter.split(text) else {
            return Err(self.malformed(quote(text), "quotes that end on their line"));
        };
        let Some(place) = self.place else { return self.header(text, &record) };
        if let Some(line) = self.gap {
            return Err(self.malformed_at(
                line,
                "an empty line before further rows",
                self.format.allowed(),
            ));
        }
        if self.rows == self.max_rows {
            let allowed = format!("at most {} rows", self.max_rows);
            return Err(self.malformed("one row more", allowed));
        }
        self.rows += 1;
        let field = self.field(&record, place)?;
        if let Format::Cqi { missing } = self.format
            && is_missing(field)
        {
            return self.without_cqi(missing);
        }
        let value = self.value(field)?;
        if self.cqi.is_empty() && self.holds() {
            // Rows before the first report get its value.
            self.cqi.resize(self.missing as usize, value as u8);
        }
        self.push(value);
        Ok(())
    }

    /// A value that is in range.
    #[inline]
    fn push(&mut self, value: u64) {
        self.largest = self.largest.max(value);
        match self.format {
            Format::Packets | Format::Bytes => self.amounts.push(value),
            Format::Cqi { .. } => self.cqi.push(value as u8),
        }
    }

    fn holds(&self) -> bool {
        matches!(self.format, Format::Cqi { missing: MissingCqi::Hold })
    }

    /// The header: finds the column.
    fn header(&mut self, text: &str, record: &Record<'_>) -> Result<(), TraceError> {
        let wanted = self.format.column();
        let fields = record.len();
        let is_it = |field: &str| field.eq_ignore_ascii_case(wanted);
        let mut places = record.iter().enumerate().filter(|(_, field)| is_it(field));
        match (places.next(), places.next()) {
            (Some((index, _)), None) => {
                self.place = Some(Place { index, fields });
                Ok(())
            }
            (None, _) => {
                Err(self.malformed(quote(text), format!("a header line with a column `{wanted}`")))
            }
            (Some(_), Some(_)) => Err(self.malformed(
                "the column twice",
                format!("a header line with one column `{wanted}`"),
            )),
        }
    }

    /// The value's field of a row, trimmed.
    fn field<'t>(&self, record: &Record<'t>, place: Place) -> Result<&'t str, TraceError> {
        if record.len() != place.fields {
            let allowed = format!("{} fields as in the header", place.fields);
            return Err(self.malformed(format!("{} fields", record.len()), allowed));
        }
        Ok(record.get(place.index))
    }

    /// The number in `field`.
    fn value(&self, field: &str) -> Result<u64, TraceError> {
        let value = whole(field, self.comma).filter(|&value| value <= self.format.largest());
        value.ok_or_else(|| {
            let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
            self.malformed(found, self.format.allowed())
        })
    }

    /// A row without a CQI.
    fn without_cqi(&mut self, how: MissingCqi) -> Result<(), TraceError> {
        if how == MissingCqi::Error {
            let repairs = self.words.choice(ReadOption::Gaps, &["hold", "zero", "skip"]);
            let allowed = format!("{}; {repairs} reads rows without one", self.format.allowed());
            return Err(self.malformed("no CQI", allowed));
        }
        if self.missing == 0 {
            self.first_missing = self.line;
        }
        self.missing += 1;
        match (how, self.cqi.last()) {
            (MissingCqi::Hold, Some(&before)) => self.cqi.push(before),
            (MissingCqi::Zero, _) => self.cqi.push(0),
            _ => {}
        }
        Ok(())
    }

    /// The end of the file.
    fn finish(self) -> Result<Trace, TraceError> {
        let column = self.format.column();
        let refuse =
            |found: &str, allowed: String| Err(TraceError::unusable(self.path, found, allowed));
        if self.place.is_none() {
            return refuse(
                "no header line",
                format!("a header line with a column `{column}`, then rows"),
            );
        }
        if self.rows == 0 {
            return refuse("no rows", format!("at least one row under the header `{column}`"));
        }
        if self.largest == 0 {
            let allowed = format!("some row with `{column}` above 0");
            return refuse("a channel that never carries anything", allowed);
        }
        let repair = match self.format {
            Format::Cqi { missing: how } if self.missing > 0 => Some(Repair {
                path: self.path.into(),
                rows: self.missing,
                of: self.rows,
                first_line: self.first_missing,
                how,
            }),
            _ => None,
        };
        let values = match self.format {
            Format::Cqi { .. } => Values::Cqi(self.cqi),
            Format::Packets | Format::Bytes => Values::Amounts(self.amounts),
        };
        Ok(Trace { values, repair })
    }
}
