//! The ledger of a dataset: one line of JSON for each part and each failed job, appended and
//! synced.
//!
//! A line that a killed process left half written is cut off. One process writes at a time: the
//! kernel's lock on the file ends with it.

use crate::failure::Failure;
use crate::{SOURCE, VERSION};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Version of its format.
const FORMAT: u32 = 1;

/// A line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first.
    Begin {
        /// [`FORMAT`].
        ledger: u32,
        /// Version of the program.
        version: String,
        /// Hash of its source.
        source: String,
    },
    /// A part is in its place.
    Part(Part),
    /// A part is missing or damaged: its jobs are to be made again.
    Lost {
        /// Its file.
        file: String,
    },
    /// A job has failed, and so have all that would share its part.
    Failed {
        /// Name of the case.
        case: String,
        /// Seed.
        seed: u64,
        /// What went wrong.
        error: String,
    },
}

/// A part of the dataset: jobs of one case with successive seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Name of the case.
    pub(crate) case: String,
    /// First seed.
    pub(crate) from: u64,
    /// Last seed.
    pub(crate) to: u64,
    /// The file, from the dataset's folder.
    pub(crate) file: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// SHA-256 of its content, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) sha256: String,
    /// Seconds of CPU that its jobs took.
    pub(crate) cpu_s: f64,
    /// Jobs among them that failed, and so have no rows: what went wrong, by seed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) failed: BTreeMap<u64, String>,
    /// The target's metric of each other job, where there is a target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<Option<f64>>,
}

/// The file, open for appending.
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger in `folder`, or begins it, and returns its lines.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<Line>), Failure> {
        let path = folder.join("ledger.jsonl");
        let disk = |what| Failure::disk(&path, what);
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(&path).map_err(disk)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let found = "another process that writes it";
                return Err(Failure::wrong(&path, "", found, "one at a time"));
            }
            Err(TryLockError::Error(what)) => return Err(disk(what)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(disk)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(disk)?;
            file.seek(SeekFrom::End(0)).map_err(disk)?;
        }
        let lines = lines(&text[..whole], &path)?;
        let mut ledger = Self { file, path };
        if lines.is_empty() {
            let (version, source) = (VERSION.into(), SOURCE.into());
            ledger.append(&[Line::Begin { ledger: FORMAT, version, source }])?;
        }
        Ok((ledger, lines))
    }

    /// The lines of the ledger in `folder`, for reading alone; none when there is none.
    pub(crate) fn look(folder: &Path) -> Result<Vec<Line>, Failure> {
        let path = folder.join("ledger.jsonl");
        match std::fs::read_to_string(&path) {
            Ok(text) => lines(&text[..text.rfind('\n').map_or(0, |end| end + 1)], &path),
            Err(what) if what.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(what) => Err(Failure::disk(&path, what)),
        }
    }

    /// Appends `lines` and waits until they are on the disk.
    pub(crate) fn append(&mut self, lines: &[Line]) -> Result<(), Failure> {
        let text = text(lines);
        let before = self.file.metadata().map(|found| found.len());
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|what| {
            // A full disk may have taken a part of it; what cannot be cut is cut at the next start.
            let _ = before.and_then(|bytes| self.file.set_len(bytes));
            Failure::disk(&self.path, what)
        })
    }
}

/// `lines` as the ledger holds them.
pub(crate) fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        text += &serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
    }
    text
}

/// The lines of `text`, which this version of the program has made.
fn lines(text: &str, path: &Path) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = format!("line {}", number + 1);
        if number == 0
            && let Ok(first) = serde_json::from_str::<serde_json::Value>(line)
            && first.get("ledger").and_then(serde_json::Value::as_u64) > Some(u64::from(FORMAT))
        {
            let found = format!("a ledger of format {}", first["ledger"]);
            let allowed = format!("at most {FORMAT}, which justfull {VERSION} reads");
            return Err(Failure::wrong(path, &at, &found, &allowed));
        }
        let line: Line = serde_json::from_str(line).map_err(|error| {
            Failure::wrong(path, &at, &error.to_string(), "a line as justfull wrote it")
        })?;
        lines.push(line);
    }
    match lines.first() {
        None => Ok(lines),
        Some(Line::Begin { version, source, .. })
            if (version, source) != (&VERSION.into(), &SOURCE.into()) =>
        {
            let found = format!("results of justfull {version}, source {source}");
            let allowed =
                format!("those of this program, {VERSION}, source {SOURCE}; take another folder");
            Err(Failure::wrong(path, "", &found, &allowed))
        }
        Some(Line::Begin { .. }) => Ok(lines),
        Some(_) => {
            Err(Failure::wrong(path, "line 1", "no beginning", "a ledger as justfull wrote it"))
        }
    }
}
