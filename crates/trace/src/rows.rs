//! Shared by all text readers: rows with their place in the file, with comments and gaps handled.

use super::error::{SINGLE_BYTES, in_utf8, quote};
use super::lines::{Lines, Marks, Next};
use super::number::Decimal;
use super::unpack::read_error;
use super::{MAX_LINE, TraceError};
use std::io::Read;
use std::path::Path;

/// A line of a file, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) path: &'a Path,
    /// From 1.
    pub(super) line: u64,
    /// Numbers have a decimal comma.
    pub(super) comma: bool,
}

impl At<'_> {
    pub(super) fn malformed(
        &self,
        column: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> TraceError {
        let (column, found, allowed) = (column.into(), found.into(), allowed.into());
        TraceError::Malformed { path: self.path.into(), line: self.line, column, found, allowed }
    }

    /// The row as text.
    pub(super) fn text<'t>(&self, column: &str, row: &'t [u8]) -> Result<&'t str, TraceError> {
        std::str::from_utf8(row).map_err(|_| {
            let found = quote(&String::from_utf8_lossy(row));
            self.malformed(column, found, in_utf8(self.path, SINGLE_BYTES))
        })
    }

    /// The whole number in `field`, at most `most`; `7.0` is one.
    pub(super) fn number(&self, column: &str, field: &str, most: u64) -> Result<u64, TraceError> {
        whole(field, self.comma).filter(|&value| value <= most).ok_or_else(|| {
            let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
            self.malformed(column, found, format!("a whole number from 0 to {most}"))
        })
    }
}

/// The whole number that `text` is, as digits or with a fraction of zeros.
#[inline]
pub(super) fn whole(text: &str, comma: bool) -> Option<u64> {
    let signed = text.starts_with('+');
    digits(text.as_bytes()).or_else(|| Decimal::parse(text, comma).filter(|_| !signed)?.whole())
}

/// The number that `text` holds in decimal digits, at least one and nothing else; none above 64
/// bits.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    let add = |value: u64, &byte: &u8| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    };
    if text.is_empty() { None } else { text.iter().try_fold(0, add) }
}

/// True for a byte that no text of numbers and names contains: a control character other than tab.
pub(super) const fn is_control(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t'
}

/// The meaning of empty lines between rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    Refused,
    Skipped,
}

/// Calls `take` with each line that is neither empty nor a comment. `column` names the subject of
/// an error about the line itself.
pub(super) fn each<'p, R: Read>(
    reader: R,
    path: &'p Path,
    column: &str,
    empty: Empty,
    mut take: impl FnMut(At<'p>, &[u8]) -> Result<(), TraceError>,
) -> Result<Marks, TraceError> {
    let mut lines = Lines::new(reader);
    let mut at = At { path, line: 0, comma: false };
    let mut begun = false;
    let mut gap = None;
    loop {
        at.line += 1;
        let row = match lines.next() {
            Ok(Next::Line(line)) => line,
            Ok(Next::End) => return Ok(lines.marks()),
            Ok(Next::TooLong) => {
                return Err(at.malformed(
                    column,
                    format!("a line of more than {MAX_LINE} bytes"),
                    "shorter lines",
                ));
            }
            Err(error) => return Err(read_error(path, Some(at.line - 1), &error)),
        };
        if row.trim_ascii_start().first() != Some(&b'#') && row.iter().any(is_control) {
            let found = quote(&String::from_utf8_lossy(row));
            return Err(at.malformed(column, found, "text without control characters"));
        }
        match row.trim_ascii_start().first() {
            Some(b'#') => {}
            None if begun && empty == Empty::Refused => gap = gap.or(Some(at)),
            None => {}
            Some(_) => {
                if let Some(gap) = gap {
                    return Err(gap.malformed(
                        column,
                        "an empty line before further rows",
                        "rows one after another",
                    ));
                }
                begun = true;
                take(at, row)?;
            }
        }
    }
}

/// Counts rows of one kind and keeps the first, for the note on a repair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: u64,
    pub(super) first: u64,
}

impl Tally {
    pub(super) fn add(&mut self, line: u64) {
        if self.rows == 0 {
            self.first = line;
        }
        self.rows += 1;
    }
}
