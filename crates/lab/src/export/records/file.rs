//! A file of records of one kind in one of the formats.

use super::columns::{Read, RecordColumn, names_of};
use super::{parquet, text};
use crate::export::facts::RunFacts;
use crate::export::sink::{ExportError, Sink};
use std::io;
use std::path::Path;

/// Records that are kept before a row group is written; the rows of all columns of a group are in memory at once.
const GROUP: usize = 1 << 17;

/// Form of a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, in row groups, compressed by Snappy.
    Parquet,
    /// Comma-separated values (RFC 4180), after one line that starts with `#`.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// The formats with their names, which are the endings of their files.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Parquet, "parquet"), (Self::Csv, "csv"), (Self::JsonLines, "jsonl")];

    /// The format that the ending of `path` names; `ndjson` is another name for JSON lines.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let name = if ending == "ndjson" { "jsonl" } else { &ending };
        Self::ALL.into_iter().find(|(_, own)| *own == name).map(|(format, _)| format)
    }
}

enum Form {
    Parquet(Box<parquet::Writer>),
    Csv(Sink),
    JsonLines(Sink),
}

/// A file of records of kind `R` that is being written.
pub struct RecordFile<R: 'static> {
    form: Form,
    columns: &'static [RecordColumn<R>],
    /// Names by column; empty for whole numbers.
    names: Vec<Vec<String>>,
    rows: Vec<R>,
}

impl<R> RecordFile<R> {
    /// Opens `path` for records of the run of `facts`.
    ///
    /// # Errors
    /// Names the file when it cannot be written.
    pub fn create(
        path: &Path,
        format: Format,
        columns: &'static [RecordColumn<R>],
        facts: &RunFacts,
    ) -> Result<Self, ExportError> {
        let mut sink = Sink::create(path)?;
        let form = match format {
            Format::Parquet => {
                let failed = |what| ExportError { path: path.into(), what };
                let writer = parquet::Writer::new(sink, columns, &facts.provenance).map_err(failed)?;
                Form::Parquet(Box::new(writer))
            }
            Format::Csv => {
                text::csv_header(&mut sink, columns, &facts.provenance).map_err(|e| sink.error(e))?;
                Form::Csv(sink)
            }
            Format::JsonLines => {
                text::json_header(&mut sink, columns, &facts.provenance).map_err(|e| sink.error(e))?;
                Form::JsonLines(sink)
            }
        };
        let names = columns.iter().map(|column| match column.read {
            Read::Whole(..) => Vec::new(),
            Read::Name(names, _) => names_of(names, &facts.classes),
        });
        Ok(Self { form, columns, names: names.collect(), rows: Vec::new() })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// What the disk answers; records may be kept for a while before they are written.
    pub fn push(&mut self, record: R) -> io::Result<()> {
        self.rows.push(record);
        if self.rows.len() < GROUP { Ok(()) } else { self.write_rows() }
    }

    fn write_rows(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        match &mut self.form {
            Form::Parquet(writer) => writer.write(self.columns, &self.names, &self.rows)?,
            Form::Csv(sink) => text::csv_rows(sink, self.columns, &self.names, &self.rows)?,
            Form::JsonLines(sink) => text::json_rows(sink, self.columns, &self.names, &self.rows)?,
        }
        self.rows.clear();
        Ok(())
    }

    /// Writes what is left and puts the file in its place.
    ///
    /// # Errors
    /// Names the file when the disk refuses; nothing is left behind then.
    pub fn commit(mut self, path: &Path) -> Result<(), ExportError> {
        let failed = |what| ExportError { path: path.into(), what };
        self.write_rows().map_err(failed)?;
        let sink = match self.form {
            Form::Parquet(writer) => writer.finish().map_err(failed)?,
            Form::Csv(sink) | Form::JsonLines(sink) => sink,
        };
        sink.commit()
    }
}
