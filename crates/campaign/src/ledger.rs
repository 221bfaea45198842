//! The ledger of a dataset: one line of JSON for each part and each failed job, appended and
//! synced.
//!
//! Each line ends with its own checksum. If a killed process left half a line, it is cut off. A
//! line that was damaged later is left out, and its content is found or made again. One process
//! writes at a time: it holds a lock on the file, which the kernel releases with its end.

use crate::failure::Failure;
use crate::plan::Id;
use crate::{SOURCE, VERSION};
use justfull_scenario::input::open_regular;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Its name in the dataset's folder.
pub(crate) use justfull_report::earlier::LEDGER as NAME;

/// Folder of all parts in the dataset's.
pub(crate) const PARTS: &str = "parts";

/// Most jobs of a part; it bounds memory and the loss by a fault.
pub(crate) const MOST: u64 = 1000;

/// More bytes than a first line has.
const LONGEST_BEGIN: u64 = 4096;

/// Version of its format.
const FORMAT: u32 = 2;

/// The text before a line's checksum.
const SUM: &str = ",\"sum\":\"";

/// A line of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first line.
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
    /// A job has failed, and so have the other jobs of its part.
    Failed(FailedJob),
}

/// A job without rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedJob {
    /// Name of the case.
    pub(crate) case: Id,
    /// Seed.
    pub(crate) seed: u64,
    /// The error.
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

/// A part of the dataset: jobs of one scenario and one method.
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
    /// Seconds of CPU that its jobs took; 0 if unknown.
    pub(crate) cpu_s: f64,
    /// Jobs among them that failed and have no rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedJob>,
    /// The target's metric and flow, if there is a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<(String, String)>,
    /// The target's metric of each other job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<Option<f64>>,
}

impl Part {
    /// False if no process of this program can have written it; the checksum of a line has no key.
    pub(crate) fn is_sound(&self) -> bool {
        let jobs = |stretch: &Stretch| stretch.to.checked_sub(stretch.from)?.checked_add(1);
        let all = self.jobs.iter().try_fold(0_u64, |all, one| all.checked_add(jobs(one)?));
        all.is_some_and(|all| (1..=MOST).contains(&all) && self.failed.len() as u64 <= all)
            && is_place(&self.file)
    }

    /// Case and seed of each job, and whether it has rows.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Id, u64, bool)> {
        let has_rows =
            |case, seed| !self.failed.iter().any(|job| (job.case, job.seed) == (case, seed));
        self.jobs.iter().flat_map(move |&Stretch { case, from, to }| {
            (from..=to).map(move |seed| (case, seed, has_rows(case, seed)))
        })
    }
}

/// True if a part's file may have this name, from the dataset's folder.
fn is_place(name: &str) -> bool {
    let steps: Vec<&str> = name.split('/').collect();
    let [PARTS, scenario, method, file] = steps[..] else { return false };
    scenario.starts_with(SCENARIO) && method.starts_with(METHOD) && is_part(file)
}

/// Prefixes of the names of folders in [`PARTS`], and of the folders in these.
pub(crate) const SCENARIO: &str = "scenario=";
pub(crate) const METHOD: &str = "method=";

/// True if a part's file may have this name, from its own folder.
pub(crate) fn is_part(name: &str) -> bool {
    name.strip_suffix(".parquet").is_some_and(|id| id.parse::<Id>().is_ok())
}

/// The file, open for appending.
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger in `folder`, or begins it; returns its lines and the number of damaged
    /// ones.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<Line>, usize), Failure> {
        let path = folder.join(NAME);
        let disk = |what| Failure::disk(&path, what);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).custom_flags(own_flags());
        let mut file = options.open(&path).map_err(disk)?;
        if !file.metadata().map_err(disk)?.is_file() {
            return Err(Failure::wrong(&path, "", "no regular file", "the ledger of a dataset"));
        }
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
            ledger.write(&begin())?;
        }
        Ok((ledger, content.lines, content.damaged.len()))
    }

    /// True if the folder has a ledger with the first line of any version. An empty ledger, or one
    /// cut within that line, does not identify the folder.
    pub(crate) fn is_begun(folder: &Path) -> Result<bool, Failure> {
        let path = folder.join(NAME);
        let mut start = Vec::new();
        match open_regular(&path) {
            Ok(file) => file
                .take(LONGEST_BEGIN)
                .read_to_end(&mut start)
                .map_err(|what| Failure::disk(&path, what))?,
            Err(error) if error.kind == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Failure::wrong(&path, "", &error.found, &error.allowed)),
        };
        let first = start.iter().position(|byte| *byte == b'\n').map(|end| &start[..end]);
        Ok(first.is_some_and(|first| format_of(first).is_some()))
    }

    /// The lines of the ledger in `folder`, and the number of damaged ones, only for reading; none
    /// if there is no ledger.
    pub(crate) fn look(folder: &Path) -> Result<(Vec<Line>, usize), Failure> {
        let path = folder.join(NAME);
        let mut bytes = Vec::new();
        match open_regular(&path) {
            Ok(mut file) => {
                file.read_to_end(&mut bytes).map_err(|what| Failure::disk(&path, what))?
            }
            Err(error) if error.kind == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(Failure::wrong(&path, "", &error.found, &error.allowed)),
        };
        Content::of(&bytes, &path).map(|content| (content.lines, content.damaged.len()))
    }

    /// Appends `lines` and waits until they are on the disk.
    pub(crate) fn append(&mut self, lines: &[Line]) -> Result<(), Failure> {
        self.write(&text(lines))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let before = self.file.metadata().map(|found| found.len());
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|what| {
            // A full disk may hold a part of a line; if it cannot be cut now, the next start cuts
            // it.
            let _ = before.and_then(|bytes| self.file.set_len(bytes));
            Failure::disk(&self.path, what)
        })
    }
}

/// Flags to open the ledger: a symbolic link is not followed, and a pipe does not block.
fn own_flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Overwrites damaged `lines`, each with its offset and length, with blanks.
fn blank(path: &Path, lines: &[(usize, usize)]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).custom_flags(own_flags()).open(path)?;
    for (at, length) in lines {
        file.write_all_at(&vec![b' '; *length], *at as u64)?;
    }
    file.sync_data()
}

/// The first line of a new ledger.
fn begin() -> String {
    let (version, source) = (VERSION.into(), SOURCE.into());
    text(&[Line::Begin { ledger: FORMAT, version, source }])
}

/// `lines` in the ledger's form.
pub(crate) fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = serde_json::to_string(line).unwrap_or_default();
        let body = line.strip_suffix('}').unwrap_or_default();
        text += &format!("{body}{SUM}{}\"}}\n", sum(body));
    }
    text
}

/// Checksum of a line's text.
fn sum(body: &str) -> String {
    Sha256::digest(body.as_bytes())[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The line in `text`; none if it is damaged.
pub(crate) fn line(text: &str) -> Option<Line> {
    let (body, end) = text.rsplit_once(SUM)?;
    let whole = end.strip_suffix("\"}")? == sum(body);
    serde_json::from_str(&format!("{body}}}")).ok().filter(|line| whole && is_sound(line))
}

fn is_sound(line: &Line) -> bool {
    match line {
        Line::Begin { .. } | Line::Failed(_) => true,
        Line::Part(part) => part.is_sound(),
        Line::Lost { file } => is_place(file),
    }
}

/// The content of a ledger.
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
        let cut = &bytes[content.whole..];
        // Without a complete first line, only its beginning identifies the file.
        if content.whole == 0 && !begin().starts_with(&String::from_utf8_lossy(cut).into_owned()) {
            return Err(no_beginning(cut, path));
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

/// The error for a first line, `found`, without a known format.
fn no_beginning(found: &[u8], path: &Path) -> Failure {
    match format_of(found).filter(|format| *format != FORMAT) {
        Some(format) => other_format(&format.to_string(), path),
        None => {
            let allowed =
                "the beginning of a ledger; remove the file, and its parts are read again";
            Failure::wrong(path, "line 1", "a damaged line or no ledger", allowed)
        }
    }
}

/// The format in the first line of a ledger.
fn format_of(line: &[u8]) -> Option<serde_json::Value> {
    let first: serde_json::Value = serde_json::from_slice(line).ok()?;
    first.get("ledger").cloned()
}

fn other_format(format: &str, path: &Path) -> Failure {
    let found = format!("a ledger of format {format}");
    let allowed = format!("format {FORMAT} of justfull {VERSION}; use another folder");
    Failure::wrong(path, "line 1", &found, &allowed)
}
