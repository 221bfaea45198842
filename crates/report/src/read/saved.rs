//! The tables of a folder of results, cell by cell, for programs.

use super::Refused;
use crate::export::folder::{self, MANIFEST, Manifest, State};
use crate::export::{Column, Table, Value};
use csv::StringRecord;
use std::path::{Path, PathBuf};

/// A complete folder of results.
#[derive(Clone, Debug)]
pub struct Saved {
    path: PathBuf,
    manifest: Manifest,
}

impl Saved {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// The folder is not the whole of one run, was changed, or is of another version of the format.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let refused = |why: String| Refused { path: path.into(), why };
        let state = folder::inspect(path).map_err(|e| refused(e.to_string()))?.state;
        let manifest = match state {
            Some(State::Complete(manifest)) => *manifest,
            Some(State::Older) => {
                let state = State::Older.in_words();
                return Err(refused(format!("{state}; make the results again")));
            }
            Some(State::Unreadable { why }) => return Err(refused(why)),
            Some(other) => {
                return Err(refused(format!("{}, not complete results", other.in_words())));
            }
            None => return Err(refused("no folder of results is there".into())),
        };
        manifest.readable().map_err(|why| refused(format!("{MANIFEST}: {why}")))?;
        Ok(Self { path: path.into(), manifest })
    }

    /// The manifest of the folder.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The path of `file` in the folder; none if the run has not written it.
    #[must_use]
    pub fn file(&self, file: &str) -> Option<PathBuf> {
        self.manifest.files.iter().any(|entry| entry.path == file).then(|| self.path.join(file))
    }

    /// The cells of the CSV file `file`, column by column; columns without cells if the run has not
    /// written it. A number without a fraction is whole.
    ///
    /// # Errors
    /// The file cannot be read, or its columns are not `columns`.
    pub fn cells<T: Table>(
        &self,
        file: &str,
        columns: &[Column<T>],
    ) -> Result<Vec<Vec<Value>>, Refused> {
        let mut cells: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
        let Some(path) = self.file(file) else { return Ok(cells) };
        let refused = |why: &str| Refused { path: path.clone(), why: why.into() };
        let mut reader = csv::Reader::from_path(&path).map_err(|e| refused(&e.to_string()))?;
        let header = reader.headers().map_err(|e| refused(&e.to_string()))?;
        if !header.iter().eq(columns.iter().map(|column| column.name)) {
            return Err(refused("its columns are not those of this version"));
        }
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|e| refused(&e.to_string()))? {
            for ((field, column), cells) in row.iter().zip(columns).zip(&mut cells) {
                cells.push(Value::read(field, column.unit));
            }
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Kind;

    #[test]
    fn a_cell_is_read_back_as_it_was_written() {
        for (value, unit) in [
            (Value::Absent, "ms"),
            (Value::Text("CoDel".into()), "text"),
            (Value::Text("=1+1".into()), "text"),
            (Value::Text("'quoted'".into()), "text"),
            (Value::Text("5".into()), "text"),
            (Value::Whole(u64::MAX), "packets"),
            (Value::Real(0.1 + 0.2), "ms"),
            (Value::Real(-1.5), "ms"),
            (Value::Real(1.5e-300), "ms"),
            (Value::Flag(true), "true or false"),
        ] {
            assert_eq!(Value::read(&value.cell(), unit), value, "{value:?}");
        }
        let whole = Value::read(&Value::Real(5.0).cell(), "ms");
        assert_eq!(Kind::of("ms", &[whole, Value::Real(5.5)]), Kind::Real);
    }
}
