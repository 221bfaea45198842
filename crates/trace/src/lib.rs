//! Trace files: measured capacities and channel qualities, read from text.
//!
//! Lines that begin with `#` are comments. Gzip, CRLF and a UTF-8 byte order mark are accepted.
//! Everything else that is doubtful is one [`TraceError`] with file, line, column, the value found
//! and the allowed values. Repairs, and the unit and rule in use, are in [`Loaded::notes`] or
//! [`Trace::repair`].
//!
//! Reading is streaming; memory holds the values and one block of the file. Time is linear in the
//! bytes and lines of the file, limited to [`MAX_BYTES`] and [`MAX_LINES`] unpacked. Pipes and
//! devices are refused: read a pipe as standard input.
#![forbid(unsafe_code)]

mod clock;
mod error;
pub mod fit;
mod format;
pub mod info;
pub mod input;
mod lines;
pub mod near;
mod number;
mod options;
mod parse;
mod pieces;
mod quality;
mod read;
mod rows;
pub mod settings;
mod table;
mod timeline;
mod unit;
mod unpack;
mod words;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, metadata};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use crate::input::open_regular;

pub use clock::TimeUnit;
pub use error::TraceError;
pub use format::{FileFormat, guess};
use justfull_base::choice;
pub use justfull_base::{BitRate, Bytes, ConfigError, Duration};
pub use options::{Column, Gaps, Idle, Link, ReadOptions, Repairs, Repeated, Rnti};
pub use read::{Loaded, Serving, ServingColumns, cqis_have_times, load, load_from, serving};
pub use table::{DecimalSign, Separator};
pub use timeline::{Factor, MAX_INTERVALS, Timeline};
pub use unit::Unit;
pub use unpack::{MAX_BYTES, MAX_LINES, MAX_MEMBERS};
pub use words::{ReadOption, Words};
pub use write::Output;

use table::Dialect;
use unpack::{Limits, Unpacked, read_error};

/// Most rows of a trace: a year of one-second rows, and a bound on memory (320 MB).
pub const MAX_ROWS: u64 = MAX_INTERVALS as u64;
/// Longest line in bytes.
pub const MAX_LINE: usize = 4096;

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "format", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// Column `packets_per_10ms`: packets that the MAC may take per 10 ms (T20), 0 to 2^32 - 1.
    Packets,
    /// Column `cqi` (also `CQI`): 0 to 15. An empty field or `-` means that the phone reported
    /// none.
    Cqi {
        /// The treatment of rows without a CQI.
        #[serde(default)]
        missing: MissingCqi,
    },
    /// Column `bytes`: bytes per interval, 0 to 2^32 - 1.
    Bytes,
}

choice! {
    serde;
    /// The treatment of a row without a CQI.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MissingCqi {
        /// The trace is refused.
        #[default]
        Error = "error",
        /// The row takes the CQI before it; rows before the first CQI take that one.
        Hold = "hold",
        /// The row has CQI 0, out of range: nothing is carried.
        Zero = "zero",
        /// The row is left out, as T20's script does; the trace gets shorter and time in it is
        /// compressed.
        Skip = "skip",
    }
}

impl Format {
    /// Name of the column that is read.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Packets => "packets_per_10ms",
            Self::Cqi { .. } => "cqi",
            Self::Bytes => "bytes",
        }
    }

    /// Largest value of that column.
    const fn largest(self) -> u64 {
        match self {
            Self::Cqi { .. } => 15,
            Self::Packets | Self::Bytes => u32::MAX as u64,
        }
    }

    /// The allowed values of that column, in words.
    const fn allowed(self) -> &'static str {
        match self {
            Self::Cqi { .. } => "a whole number from 0 to 15",
            Self::Packets | Self::Bytes => "a whole number from 0 to 4294967295",
        }
    }
}

/// The values of a trace, one per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Packets or bytes per interval.
    Amounts(Vec<u64>),
    /// CQI, 0 to 15.
    Cqi(Vec<u8>),
}

impl Values {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Amounts(values) => values.len(),
            Self::Cqi(values) => values.len(),
        }
    }

    /// True without rows; a trace that was read has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the first `rows` rows (T20 uses 200).
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Amounts(values) => values.truncate(rows),
            Self::Cqi(values) => values.truncate(rows),
        }
    }
}

/// The result of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The rows; at least one value is above 0.
    pub values: Values,
    /// The repairs, for a warning; none for a complete trace.
    pub repair: Option<Repair>,
}

/// Rows without a CQI, and how they were handled. Its text is the warning to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// File.
    pub path: PathBuf,
    /// Rows without a CQI.
    pub rows: u64,
    /// Rows of the file.
    pub of: u64,
    /// Line of the first of them, from 1.
    pub first_line: u64,
    /// How they were handled: `Hold` or `Skip`.
    pub how: MissingCqi,
}

impl Repair {
    /// The repairs, without the place.
    fn what(&self) -> String {
        let how = match self.how {
            MissingCqi::Skip => "they are left out and time is compressed",
            MissingCqi::Zero => "each carries nothing",
            MissingCqi::Hold | MissingCqi::Error => "each holds the CQI before it",
        };
        format!("{} of {} rows have no CQI; {how}", self.rows, self.of)
    }

    /// The warning without the file's name.
    pub(crate) fn sentence(&self) -> String {
        format!("line {}: {}", self.first_line, self.what())
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.first_line, self.what())
    }
}

/// Where to look up relative names of trace files, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePaths {
    /// Folder of the scenario file.
    pub scenario_dir: PathBuf,
    /// Folder for data outside the project (environment variable `JUSTFULL_DATA`).
    pub data_dir: Option<PathBuf>,
    /// Files outside of both folders are refused, also those behind links: the scenario is a
    /// stranger's.
    pub confined: bool,
}

impl TracePaths {
    /// The file called `name`. Absolute names are used unchanged.
    ///
    /// # Errors
    /// [`TraceError::Unusable`] for a file outside of both folders, if the paths are confined;
    /// [`TraceError::NoDataDir`] when the scenario's folder has no such file and no data folder is
    /// named; [`TraceError::NotFound`] when there is none in either.
    pub fn resolve(&self, name: &Path) -> Result<PathBuf, TraceError> {
        let mut tried = vec![self.scenario_dir.join(name)];
        if name.is_relative() {
            tried.extend(self.data_dir.iter().map(|dir| dir.join(name)));
        }
        if let Some(found) = tried.iter().find(|path| metadata(path).is_ok()) {
            if self.confined && !self.is_inside(found) {
                return Err(TraceError::Unusable {
                    path: name.into(),
                    found: "a file elsewhere".into(),
                    allowed: "a file below the folder of the scenario or of the data".into(),
                });
            }
            return Ok(found.clone());
        }
        Err(if name.is_relative() && self.data_dir.is_none() {
            TraceError::NoDataDir { name: name.into(), scenario_dir: self.scenario_dir.clone() }
        } else {
            TraceError::NotFound { name: name.into(), tried }
        })
    }
}

impl TracePaths {
    /// True of an existing file below one of the folders, once all links are followed.
    fn is_inside(&self, path: &Path) -> bool {
        let folders = [Some(&self.scenario_dir), self.data_dir.as_ref()];
        let Ok(file) = path.canonicalize() else { return false };
        folders.into_iter().flatten().any(|folder| {
            // A scenario without a folder stands in the current one.
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder.canonicalize().is_ok_and(|folder| file.starts_with(folder))
        })
    }
}

/// Reads the trace file `name`.
///
/// # Errors
/// When the file cannot be found or read, or is not a trace of `format` (see [`TraceError`]).
pub fn read(name: &Path, paths: &TracePaths, format: Format) -> Result<Trace, TraceError> {
    let path = paths.resolve(name)?;
    read_from(open(&path)?, &path, format, MAX_ROWS)
}

/// Reads a trace from memory, plain or gzip; errors call it `<memory>`.
///
/// # Errors
/// When `bytes` are not a trace of `format`.
pub fn parse_bytes(bytes: &[u8], format: Format) -> Result<Trace, TraceError> {
    read_from(bytes, Path::new("<memory>"), format, MAX_ROWS)
}

/// Opens a trace file: a regular one, since a pipe or a device need not end.
fn open(path: &Path) -> Result<File, TraceError> {
    open_regular(path).map_err(|e| TraceError::unusable(path, e.found, e.allowed))
}

/// Parses, unpacking gzip.
fn read_from<R: Read>(
    reader: R,
    path: &Path,
    format: Format,
    max_rows: u64,
) -> Result<Trace, TraceError> {
    let mut reader = Unpacked::new(reader, path, Limits::ALL)?;
    let mut head = Vec::new();
    let peeked = reader.by_ref().take(read::HEAD).read_to_end(&mut head);
    let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
    peeked.map_err(|error| read_error(path, Some(lines), &error))?;
    let dialect = Dialect::of_file(&mut head, None, None);
    let whole = Cursor::new(head).chain(reader);
    parse::parse(whole, path, dialect, format, max_rows, &Words::CqiTrace).map(|(trace, _)| trace)
}
