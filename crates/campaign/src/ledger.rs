//! The ledger of a dataset: one line of JSON for each part and each failed job, appended and
//! synced.
//!
//! Each line ends with a checksum of itself. A line that a killed process left half written is cut
//! off, and one that was damaged later is left out: what it told is found again, or made again. One
//! process writes at a time: the kernel's lock on the file ends with it.

use crate::failure::Failure;
use crate::plan::Id;
use crate::{SOURCE, VERSION};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Version of its format.
const FORMAT: u32 = 2;

/// What stands before a line's checksum.
const SUM: &str = ",\"sum\":\"";

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
    Failed(FailedJob),
}

/// A job without rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedJob {
    /// Name of the case.
    pub(crate) case: Id,
    /// Seed.
    pub(crate) seed: u64,
    /// What went wrong.
    pub(crate) error: String,
}

/// Successive seeds of one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Name of the case.
    pub case: Id,
    /// First seed.
    pub from: u64,
    /// Last seed.
    pub to: u64,
}

/// A part of the dataset: jobs of one scenario under one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Its jobs, in the order of its rows.
    pub(crate) jobs: Vec<Stretch>,
    /// The file, from the dataset's folder.
    pub(crate) file: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// SHA-256 of its content, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) sha256: String,
    /// Seconds of CPU that its jobs took; 0 when nobody knows any more.
    pub(crate) cpu_s: f64,
    /// Jobs among them that failed, and so have no rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedJob>,
    /// The target's metric and flow, where there is a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<(String, String)>,
    /// The target's metric of each other job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<Option<f64>>,
}

impl Part {
    /// Case and seed of each job, and whether it has rows.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Id, u64, bool)> {
        let has_rows =
            |case, seed| !self.failed.iter().any(|job| (job.case, job.seed) == (case, seed));
        self.jobs.iter().flat_map(move |&Stretch { case, from, to }| {
            (from..=to).map(move |seed| (case, seed, has_rows(case, seed)))
        })
    }
}

/// The file, open for appending.
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger in `folder`, or begins it, and returns its lines and how many are left out.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<Line>, usize), Failure> {
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
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(disk)?;
        let content = Content::of(&bytes, &path)?;
        if content.whole < bytes.len() {
            file.set_len(content.whole as u64).map_err(disk)?;
        }
        blank(&path, &content.damaged).map_err(disk)?;
        let mut ledger = Self { file, path };
        if content.lines.is_empty() {
            let (version, source) = (VERSION.into(), SOURCE.into());
            ledger.append(&[Line::Begin { ledger: FORMAT, version, source }])?;
        }
        Ok((ledger, content.lines, content.damaged.len()))
    }

    /// The lines of the ledger in `folder`, for reading alone; none when there is none.
    pub(crate) fn look(folder: &Path) -> Result<Vec<Line>, Failure> {
        let path = folder.join("ledger.jsonl");
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Content::of(&bytes, &path)?.lines),
            Err(what) if what.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
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

/// Writes blanks in the place of each of `lines`, the offset and length of a damaged one.
fn blank(path: &Path, lines: &[(usize, usize)]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(path)?;
    for (at, length) in lines {
        file.write_all_at(&vec![b' '; *length], *at as u64)?;
    }
    file.sync_data()
}

/// `lines` as the ledger holds them.
pub(crate) fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = serde_json::to_string(line).unwrap_or_default();
        let body = line.strip_suffix('}').unwrap_or_default();
        text += &format!("{body}{SUM}{}\"}}\n", sum(body));
    }
    text
}

/// Checksum of a line's text before it.
fn sum(body: &str) -> String {
    Sha256::digest(body.as_bytes())[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The line that `text` holds; none if it is damaged.
pub(crate) fn line(text: &str) -> Option<Line> {
    let (body, end) = text.rsplit_once(SUM)?;
    let whole = end.strip_suffix("\"}")? == sum(body);
    serde_json::from_str(&format!("{body}}}")).ok().filter(|_| whole)
}

/// What a ledger holds.
struct Content {
    lines: Vec<Line>,
    /// Bytes up to the last end of a line.
    whole: usize,
    /// Offset and length of each damaged line.
    damaged: Vec<(usize, usize)>,
}

impl Content {
    /// The content of `bytes`, which this version of the program has written.
    fn of(bytes: &[u8], path: &Path) -> Result<Self, Failure> {
        let mut content = Self { lines: Vec::new(), whole: 0, damaged: Vec::new() };
        for one in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(one) = one.strip_suffix(b"\n") else { break };
            let at = content.whole;
            content.whole += one.len() + 1;
            match std::str::from_utf8(one).ok().and_then(line) {
                Some(line) => content.lines.push(line),
                None if at == 0 => return Err(no_beginning(one, path)),
                None if one.iter().all(|byte| *byte == b' ') => {}
                None => content.damaged.push((at, one.len())),
            }
        }
        match content.lines.first() {
            Some(Line::Begin { ledger, .. }) if *ledger != FORMAT => {
                Err(other_format(&ledger.to_string(), path))
            }
            Some(Line::Begin { version, source, .. })
                if (version, source) != (&VERSION.into(), &SOURCE.into()) =>
            {
                let found = format!("results of justfull {version}, source {source}");
                let allowed = format!(
                    "those of this program, {VERSION}, source {SOURCE}; take another folder"
                );
                Err(Failure::wrong(path, "", &found, &allowed))
            }
            None | Some(Line::Begin { .. }) => Ok(content),
            Some(_) => Err(no_beginning(b"", path)),
        }
    }
}

/// The first line, `found`, says of no format that this program writes.
fn no_beginning(found: &[u8], path: &Path) -> Failure {
    let first: Option<serde_json::Value> = serde_json::from_slice(found).ok();
    let format = first.as_ref().and_then(|first| first.get("ledger"));
    match format.filter(|format| **format != FORMAT) {
        Some(format) => other_format(&format.to_string(), path),
        None => {
            let allowed =
                "the beginning of a ledger; remove the file, and its parts are read again";
            Failure::wrong(path, "line 1", "what is damaged or no ledger", allowed)
        }
    }
}

fn other_format(format: &str, path: &Path) -> Failure {
    let found = format!("a ledger of format {format}");
    let allowed = format!("format {FORMAT}, that of justfull {VERSION}; take another folder");
    Failure::wrong(path, "line 1", &found, &allowed)
}
