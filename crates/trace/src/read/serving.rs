//! The cells that served a phone, from its log: G-NetTrack's, or any table with a column of times
//! and one of cells.
//!
//! Times are as in phone logs ([`super::ucc`]), counted from the first row with a cell. A row
//! without a cell (`-`, an empty field) keeps the cell before it.

use super::super::rows::At;
use super::super::table::{self, Dialect, Record, place};
use super::super::unpack::{Limits, Unpacked, read_error};
use super::super::{TraceError, TracePaths, open};
use super::HEAD;
use super::ucc::time;
use crate::error::quote;
use crate::number::is_missing;
use justfull_base::Duration;
use std::io::{Cursor, Read};
use std::path::Path;

/// The usual names of the columns, compared without case.
const TIMES: [&str; 2] = ["Timestamp", "t_s"];
const CELLS: [&str; 4] = ["CellID", "Cell_ID", "CI", "PCI"];

/// A cell from the instant on at which it began to serve the phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Time since the first row with a cell.
    pub from: Duration,
    /// The cell's id, as the log writes it.
    pub cell: String,
    /// The line of the log.
    pub line: u64,
}

/// The columns of a log; the usual names if absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServingColumns<'a> {
    /// Times: dates such as 2019.12.16_13.40.04, or whole seconds.
    pub time: Option<&'a str>,
    /// Ids of cells.
    pub cell: Option<&'a str>,
}

/// Positions of the columns.
struct Places {
    time: usize,
    dated: bool,
    cell: usize,
    fields: usize,
}

impl Places {
    fn find(
        at: &At<'_>,
        header: &Record<'_>,
        columns: ServingColumns<'_>,
    ) -> Result<Self, TraceError> {
        let names: Vec<String> = header.iter().map(str::to_string).collect();
        let find = |what: &str, given: Option<&str>, usual: &[&str]| {
            let found = match given {
                Some(name) => place(&names, name),
                None => usual.iter().find_map(|name| place(&names, name)),
            };
            found.ok_or_else(|| {
                let wanted = given.map_or_else(|| usual.join(" or "), str::to_string);
                let allowed = format!("a header line with a column {wanted}");
                at.malformed(what, quote(&names.join(",")), allowed)
            })
        };
        let time = find("time", columns.time, &TIMES)?;
        let dated = !names[time].eq_ignore_ascii_case("t_s");
        Ok(Self { time, dated, cell: find("cell", columns.cell, &CELLS)?, fields: names.len() })
    }
}

/// The cells that served the phone of the log `name`, one after the other.
///
/// # Errors
/// When the file cannot be found or read, lacks a column, has a wrong time or times that fall, or
/// no row with a cell.
pub fn serving(
    name: &Path,
    paths: &TracePaths,
    columns: ServingColumns<'_>,
) -> Result<Vec<Serving>, TraceError> {
    let path = paths.resolve(name)?;
    let mut reader = Unpacked::new(open(&path)?, &path, Limits::ALL)?;
    let mut head = Vec::new();
    let peeked = reader.by_ref().take(HEAD).read_to_end(&mut head);
    peeked.map_err(|error| read_error(&path, None, &error))?;
    let dialect = Dialect::of_file(&mut head, None, None);
    let whole = Cursor::new(head).chain(reader);
    let (mut places, mut served) = (None, Vec::<Serving>::new());
    let (mut first, mut before) = (None, 0);
    table::each(whole, &path, dialect, "cell", |at, record| {
        let Some(Places { time: when, dated, cell, fields }) = &places else {
            places = Some(Places::find(&at, record, columns)?);
            return Ok(());
        };
        record.ensure_fields(&at, "cell", *fields)?;
        let now = time(&at, record.get(*when), *dated)?;
        if now < before {
            let found = format!("a time {} s before that of the row before", before - now);
            return Err(at.malformed("time", found, "times that do not fall"));
        }
        before = now;
        let id = record.get(*cell);
        if is_missing(id) || served.last().is_some_and(|last| last.cell == id) {
            return Ok(());
        }
        let from = Duration::from_secs(now - *first.get_or_insert(now));
        served.push(Serving { from, cell: id.into(), line: at.line });
        Ok(())
    })?;
    if served.is_empty() {
        return Err(TraceError::unusable(&path, "no row with a cell", "a cell in some row"));
    }
    Ok(served)
}
