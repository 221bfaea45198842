//! The rows of a dataset, of its campaign or all.

use super::{Dataset, with_rows};
use crate::VERSION;
use crate::failure::Failure;
use crate::ledger::{self, Ledger};
use crate::part;
use crate::plan::{Campaign, Id};
use justfull_report::read::{Folder, OF_ROW};
use parquet::record::Field;
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// The cells of a row, by the names of their columns.
pub type Row = Map<String, Value>;

/// Bytes of parts and rows that are read without their campaign.
const MOST_BYTES: u64 = 64 << 20;
const MOST_ROWS: usize = 1_000_000;

impl Dataset {
    /// Opens the folder at `path` for its rows alone, without its campaign.
    ///
    /// # Errors
    /// Another version has made it, it cannot be read, or its ledger is too large.
    pub(crate) fn alone(path: &Path) -> Result<Self, Failure> {
        let ledger = path.join(ledger::NAME);
        let bytes = fs::symlink_metadata(&ledger).map_or(0, |found| found.len());
        if bytes > MOST_BYTES {
            let allowed = format!("at most {MOST_BYTES}");
            return Err(Failure::wrong(&ledger, "", &format!("{bytes} bytes"), &allowed));
        }
        let (lines, damaged) = Ledger::look(path)?;
        Ok(Self { damaged, ..Self::of(path, None, lines) })
    }

    /// The rows of all finished jobs of `campaign`. They have the columns that identify a row, and
    /// those in `columns`.
    ///
    /// # Errors
    /// A part's file has changed, or a line of the ledger is damaged.
    pub fn rows(&self, campaign: &Campaign, columns: &[&str]) -> Result<Folder, Failure> {
        let wanted: Vec<&str> = OF_ROW.into_iter().chain(columns.iter().copied()).collect();
        let mut rows = Vec::new();
        self.each_row(&wanted, |case, seed, row| {
            rows.extend(campaign.index(case).map(|index| ((index, seed), row)));
            true
        })?;
        // Parts have no order; the flows of a job do.
        rows.sort_by_key(|(of, _)| *of);
        let mut folder = Folder::empty(&self.path, "justfull campaign run", VERSION);
        rows.into_iter().for_each(|(_, row)| folder.add(row));
        Ok(folder)
    }

    /// The cells in `columns` of all rows, in no order.
    pub(crate) fn all_rows(&self, columns: &[&str]) -> Result<Vec<Row>, Failure> {
        let bytes = self.parts.values().fold(0, |sum: u64, part| sum.saturating_add(part.bytes));
        let most = |found: &str, most: u64| {
            let allowed =
                format!("at most {most} without its campaign; `justfull plot` has no such bound");
            Err(Failure::wrong(&self.path, "", found, &allowed))
        };
        if bytes > MOST_BYTES {
            return most(&format!("parts of {bytes} bytes"), MOST_BYTES);
        }
        let mut rows = Vec::new();
        self.each_row(columns, |_, _, row| {
            rows.push(row);
            rows.len() <= MOST_ROWS
        })?;
        match rows.len() > MOST_ROWS {
            true => most("more rows", MOST_ROWS as u64),
            false => Ok(rows),
        }
    }

    /// Calls `each` with case, seed and the cells in `columns` of every row until it returns false.
    fn each_row(
        &self,
        columns: &[&str],
        mut each: impl FnMut(Id, u64, Row) -> bool,
    ) -> Result<(), Failure> {
        self.check_ledger()?;
        let mut goes_on = true;
        for part in self.parts.values() {
            let jobs: Vec<(Id, u64)> = with_rows(part).collect();
            let read = part::rows(&self.path, part, columns, |job, fields| {
                if let Some(&(case, seed)) = jobs.get(job) {
                    let cells = fields.into_iter().map(|(name, field)| (name.into(), json(field)));
                    goes_on = each(case, seed, cells.collect());
                }
                goes_on
            });
            read.ok_or_else(|| self.damaged_part(part))?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

/// A field of a row as `runs.jsonl` has it.
fn json(field: &Field) -> Value {
    match field {
        Field::Str(text) => text.as_str().into(),
        Field::Bool(flag) => (*flag).into(),
        Field::Long(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        _ => Value::Null,
    }
}
