//! The content of a folder: for `justfull check DIR`, and to decide whether a new run may replace
//! it.

use super::super::disk::{Beside, Dir};
use super::lock::Lock;
use super::manifest::{MANIFEST, Manifest, hex};
use rustix::fs::FileType;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::Path;

/// Number of names listed; the others are counted.
const TOLD: usize = 3;

/// The state of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The folder is empty.
    Empty,
    /// Every file of one run, unchanged, and no other file.
    Complete(Box<Manifest>),
    /// Some of the run's files are missing; the others are unchanged.
    Incomplete {
        /// The manifest; none if the run was killed while writing.
        manifest: Option<Box<Manifest>>,
        /// The missing files, in words.
        why: String,
    },
    /// Some files are not the run's.
    Mixed {
        /// The manifest.
        manifest: Box<Manifest>,
        /// The foreign files, in words.
        why: String,
    },
    /// The manifest cannot be read, or has a later version.
    Unreadable {
        /// The reason, in words.
        why: String,
    },
    /// Results of a version without manifests.
    Older,
    /// No results of this program.
    Other {
        /// The content, in words.
        found: String,
    },
}

impl State {
    /// The state of the folder `name` of `parent`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn of(parent: &Dir, name: &OsStr) -> io::Result<Self> {
        let folder = parent.sub(name)?;
        let names = folder.names()?;
        match Manifest::read(&folder) {
            Ok(Some(manifest)) => Self::against(&folder, manifest),
            Err(why) => Ok(Self::Unreadable { why: format!("{MANIFEST}: {}", why.escape_debug()) }),
            Ok(None) if Beside::parse(name).is_some_and(|beside| !beside.old) => {
                let why = format!("it has no {MANIFEST}: the run was killed while it wrote");
                Ok(Self::Incomplete { manifest: None, why })
            }
            Ok(None) if names.is_empty() => Ok(Self::Empty),
            Ok(None) if names.iter().any(|name| name == "result.json") => Ok(Self::Older),
            Ok(None) => {
                let names: Vec<String> =
                    names.iter().map(|name| name.display().to_string()).collect();
                Ok(Self::Other { found: listed(&names) })
            }
        }
    }

    /// Compares the content of `folder` with its manifest.
    fn against(folder: &Dir, manifest: Manifest) -> io::Result<Self> {
        let mut missing = manifest.missing.clone();
        let mut changed = Vec::new();
        for entry in &manifest.files {
            match contents(folder, Path::new(&entry.path), entry.bytes)? {
                Contents::Missing => missing.push(entry.path.clone()),
                Contents::Sha256(found) if found == entry.sha256 => {}
                Contents::Sha256(_) | Contents::Different => changed.push(entry.path.clone()),
            }
        }
        let mut foreign = Vec::new();
        foreign_files(folder, "", &expected(&manifest), &mut foreign)?;
        let manifest = Box::new(manifest);
        let mut why = Vec::new();
        if !changed.is_empty() {
            why.push(format!("not as the run wrote them: {}", listed(&changed)));
        }
        if !foreign.is_empty() {
            why.push(format!("not of the run: {}", listed(&foreign)));
        }
        let mixed = !why.is_empty();
        if !missing.is_empty() {
            why.push(format!("missing: {}", listed(&missing)));
        }
        let why = why.join("; ");
        Ok(match (mixed, missing.is_empty()) {
            (true, _) => Self::Mixed { manifest, why },
            (false, false) => Self::Incomplete { manifest: Some(manifest), why },
            (false, true) => Self::Complete(manifest),
        })
    }

    /// The manifest, if there is one.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Complete(manifest) | Self::Mixed { manifest, .. } => Some(manifest),
            Self::Incomplete { manifest, .. } => manifest.as_deref(),
            Self::Empty | Self::Unreadable { .. } | Self::Older | Self::Other { .. } => None,
        }
    }

    /// The state in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Empty => "empty".into(),
            Self::Complete(manifest) => {
                let (files, bytes) =
                    (manifest.files.len(), manifest.files.iter().map(|e| e.bytes).sum::<u64>());
                format!("complete: {files} files, {bytes} bytes of {}", of(manifest))
            }
            Self::Incomplete { manifest: Some(manifest), why } => {
                format!("incomplete: {why}; the rest is of {}", of(manifest))
            }
            Self::Incomplete { manifest: None, why } => format!("incomplete: {why}"),
            Self::Mixed { manifest, why } => {
                format!("mixed: {why}; the rest is of {}", of(manifest))
            }
            Self::Unreadable { why } => format!("unreadable: {why}"),
            Self::Older => {
                format!(
                    "of an older version, which wrote no {MANIFEST}: it is unknown whether it is \
                     whole"
                )
            }
            Self::Other { found } => format!("no results: it holds {found}"),
        }
    }
}

/// The run of `manifest`, in words.
pub(super) fn of(manifest: &Manifest) -> String {
    format!(
        "run {} ({}, {})",
        &manifest.run[..12],
        manifest.origin.command.escape_debug(),
        manifest.origin.version.escape_debug()
    )
}

/// The first few of `names`, and the number of the others.
fn listed(names: &[String]) -> String {
    let (first, others) = names.split_at(names.len().min(TOLD));
    // The creator of a folder chooses its names: none may control a terminal.
    let first: Vec<String> = first.iter().map(|name| name.escape_debug().to_string()).collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" and {} others", others.len()) };
    format!("{}{others}", first.join(", "))
}

/// The content at the path of an entry.
enum Contents {
    Missing,
    /// Not a regular file, or a different size.
    Different,
    Sha256(String),
}

fn contents(folder: &Dir, path: &Path, bytes: u64) -> io::Result<Contents> {
    let name = path.file_name().unwrap_or_default();
    let parts: Vec<&OsStr> = path.parent().into_iter().flat_map(Path::iter).collect();
    let mut inner = None;
    for part in parts {
        let at = inner.as_ref().unwrap_or(folder);
        if at.look(part)?.is_none() {
            return Ok(Contents::Missing);
        }
        let Ok(sub) = at.sub(part) else { return Ok(Contents::Different) };
        inner = Some(sub);
    }
    let at = inner.as_ref().unwrap_or(folder);
    let Some(found) = at.look(name)? else { return Ok(Contents::Missing) };
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile
        || found.st_size.cast_unsigned() != bytes
    {
        return Ok(Contents::Different);
    }
    let (mut file, mut hash) = (at.read(name)?.take(bytes), Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(Contents::Sha256(hex(&hash.finalize()))),
            n => hash.update(&block[..n]),
        }
    }
}

/// The names that each folder may contain, by the folder's path.
fn expected(manifest: &Manifest) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut expected = BTreeMap::from([("", BTreeSet::from([MANIFEST]))]);
    for entry in &manifest.files {
        let mut path = entry.path.as_str();
        while let Some((folder, name)) = path.rsplit_once('/') {
            expected.entry(folder).or_default().insert(name);
            path = folder;
        }
        expected.entry("").or_default().insert(path);
    }
    expected
}

/// Collects unexpected entries of `folder`, whose path is `at`.
fn foreign_files(
    folder: &Dir,
    at: &str,
    expected: &BTreeMap<&str, BTreeSet<&str>>,
    foreign: &mut Vec<String>,
) -> io::Result<()> {
    let known = expected.get(at);
    for name in folder.names()? {
        let text = name.to_str();
        let path =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
        match text.filter(|name| known.is_some_and(|known| known.contains(name))) {
            None => foreign.push(path(&name.to_string_lossy())),
            Some(name) if expected.contains_key(path(name).as_str()) => {
                if let Ok(sub) = folder.sub(OsStr::new(name)) {
                    foreign_files(&sub, &path(name), expected, foreign)?;
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The findings of `justfull check` at a results folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The state of the folder; none if there is no folder.
    pub state: Option<State>,
    /// A process is writing the folder now.
    pub in_use: bool,
    /// Folders left by killed runs beside it: name and state.
    pub leftovers: Vec<(String, State)>,
}

/// Inspects the results at `path` and the folders beside them.
///
/// # Errors
/// The results cannot be read.
pub fn inspect(path: &Path) -> io::Result<Inspection> {
    let absolute = std::path::absolute(path)?;
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    let (Some(name), Some(parent)) = (absolute.file_name(), absolute.parent()) else {
        return Err(io::Error::other("allowed is a folder with a name"));
    };
    let parent = Dir::open(parent)?;
    let state = match parent.look(name)? {
        Some(_) => Some(State::of(&parent, name)?),
        None => None,
    };
    // A folder that disappears meanwhile belongs to a run in progress.
    let state_of =
        |left: OsString| Some((left.display().to_string(), State::of(&parent, &left).ok()?));
    let leftovers = leftovers(&parent, name)?.into_iter().filter_map(state_of).collect();
    Ok(Inspection { state, in_use: Lock::is_held(&parent, name), leftovers })
}

/// Folders in `parent` that runs for `name` have left or are writing, in order of their names.
pub(super) fn leftovers(parent: &Dir, name: &OsStr) -> io::Result<Vec<OsString>> {
    let mut found = parent.names()?;
    found.retain(|left| {
        Beside::parse(left).is_some_and(|beside| beside.of == name) && is_folder(parent, left)
    });
    Ok(found)
}

fn is_folder(parent: &Dir, name: &OsStr) -> bool {
    let found = parent.look(name).ok().flatten();
    found.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}
