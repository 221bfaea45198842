//! The rows of a dataset: all rows, or the rows of its campaign's jobs.

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

/// Limit on the bytes of the parts, and on the rows, that a reader without the campaign takes.
const MOST_BYTES: u64 = 64 << 20;
const MOST_ROWS: usize = 1_000_000;
/// Limit on the bytes of texts in these rows. A short part can repeat a long text in each row.
const MOST_TEXT: usize = 256 << 20;

/// Rows read so far, and the bytes of their texts.
#[derive(Default)]
struct Read {
    rows: Vec<Row>,
    text: usize,
}

impl Read {
    /// Takes a row. False if the rows exceed a limit.
    fn take(&mut self, row: Row) -> bool {
        self.text += row.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
        self.rows.push(row);
        self.fits()
    }

    const fn fits(&self) -> bool {
        self.rows.len() <= MOST_ROWS && self.text <= MOST_TEXT
    }
}

impl Dataset {
    /// Opens the folder at `path` to read its rows, without its campaign.
    ///
    /// # Errors
    /// The folder is of another version, it cannot be read, or its ledger is too large.
    pub(crate) fn alone(path: &Path) -> Result<Self, Failure> {
        let ledger = path.join(ledger::NAME);
        let bytes = fs::metadata(&ledger).map_or(0, |found| found.len());
        if bytes > MOST_BYTES {
            let allowed = format!("at most {MOST_BYTES}");
            return Err(Failure::wrong(&ledger, "", &format!("{bytes} bytes"), &allowed));
        }
        let (lines, damaged) = Ledger::look(path)?;
        Ok(Self { damaged, ..Self::of(path, None, lines) })
    }

    /// The rows of all finished jobs of `campaign`, with the identifying columns and `columns`.
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
        // Parts are unordered; the flows of a job are ordered.
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
        let mut read = Read::default();
        self.each_row(columns, |_, _, row| read.take(row))?;
        match read {
            Read { rows, .. } if rows.len() > MOST_ROWS => most("more rows", MOST_ROWS as u64),
            read if !read.fits() => most("more bytes of texts", MOST_TEXT as u64),
            Read { rows, .. } => Ok(rows),
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

/// The JSON value of a field of a row, as in `runs.jsonl`.
fn json(field: &Field) -> Value {
    match field {
        Field::Str(text) => text.as_str().into(),
        Field::Bool(flag) => (*flag).into(),
        // The only whole number is the seed, whose 64 bits have no sign.
        Field::Long(number) => number.cast_unsigned().into(),
        Field::Double(number) => (*number).into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_stops_at_the_limit_on_bytes_of_texts() {
        let row: Row = [("flow".to_owned(), "x".repeat(1 << 20).into())].into_iter().collect();
        let mut read = Read::default();
        let taken = (0..1000).take_while(|_| read.take(row.clone())).count();
        assert_eq!(taken, MOST_TEXT >> 20);
    }

    #[test]
    fn a_seed_above_2_to_the_63_keeps_its_value() {
        for seed in [1, i64::MAX.cast_unsigned() + 1, u64::MAX] {
            assert_eq!(json(&Field::Long(seed.cast_signed())).as_u64(), Some(seed));
        }
    }

    #[test]
    fn a_ledger_behind_a_link_is_not_read_if_it_is_too_large() {
        let folder = tempfile::tempdir().expect("a folder");
        let [large, dataset] = ["large", "dataset"].map(|name| folder.path().join(name));
        let file = fs::File::create(&large).expect("a file");
        file.set_len(MOST_BYTES + 1).expect("it has holes");
        fs::create_dir(&dataset).expect("a folder");
        std::os::unix::fs::symlink(&large, dataset.join(ledger::NAME)).expect("a link");
        let error = Dataset::alone(&dataset).err().expect("it is refused").to_string();
        assert!(error.contains("allowed is at most 67108864"), "{error}");
    }
}
