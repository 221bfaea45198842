//! A results folder: every file of one run, or nothing.
//!
//! The files are written into `.NAME.RANDOM` beside the folder, the manifest last, and synced to
//! the disk; then the two folders are exchanged atomically and the old one is removed. A reader of
//! the folder finds the old results or the new ones at any moment, also after a crash. A lock
//! beside the folder excludes a second writer.
//!
//! A live run cannot be reproduced: the files that fit on the disk are kept, and the manifest names
//! the others.

mod inspect;
mod lock;
mod manifest;
mod recover;
mod staging;
#[cfg(test)]
mod tests;

pub use inspect::{Inspection, State, inspect};
pub use manifest::{Entry, FORMAT, MANIFEST, Manifest, Origin, Subject};

use super::disk::{self, Dir};
use super::sink::ExportError;
use lock::Lock;
use rustix::fs::FileType;
use sha2::Digest;
use staging::{Hashed, Staging, make_all, unmake};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Longest wait for another run that writes the same folder.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind of runs whose results cannot be reproduced.
const LIVE: &str = "live";

/// Reserved space for the manifest of a live run; released when the manifest is written.
const SPARE: &str = ".spare";
/// Size of the reserved space, in bytes.
const SPARE_BYTES: usize = 64 << 10;

/// The reason why a folder cannot take results.
#[derive(Debug)]
pub struct Refused {
    found: String,
    allowed: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, allowed is {}", self.found, self.allowed)
    }
}

impl std::error::Error for Refused {}

const WRITABLE: &str = "a folder that can be written";

/// The manifest of the folder at `path`; the other files are not looked at.
///
/// # Errors
/// In words: there is none, or it cannot be read.
pub fn manifest(path: &Path) -> Result<Manifest, String> {
    let folder = Dir::open(path).map_err(|e| e.to_string())?;
    let found = Manifest::read(&folder).map_err(|why| format!("{MANIFEST}: {why}"))?;
    found.ok_or_else(|| format!("it has no {MANIFEST}"))
}

/// Messages for the user about actions taken.
pub type Said = Vec<String>;

/// Results being written. A drop before [`ResultsFolder::publish`] removes them.
pub struct ResultsFolder {
    /// The folder as the user named it.
    shown: PathBuf,
    parent: Dir,
    name: OsString,
    /// Parent folders that were created for it, the outermost first.
    made: Vec<PathBuf>,
    lock: Option<Lock>,
    subject: Subject,
    /// The folder of the files until they are moved into place; none before the first file.
    staging: Option<Staging>,
    files: Vec<Entry>,
    /// Files that did not fit on the disk, each with its error; live runs only.
    lost: Vec<(String, io::Error)>,
}

impl ResultsFolder {
    /// Claims `path` for the results of `subject`: creates its parents, takes its lock and cleans
    /// up after killed runs. The present content may be replaced if it is nothing, an empty folder,
    /// or results of the same subject alone; `force` permits any content. `waits` is called if
    /// another run is writing there.
    ///
    /// # Errors
    /// The content found and the content allowed; nothing has been created then.
    pub fn open(
        path: &Path,
        subject: Subject,
        force: bool,
        waits: &mut dyn FnMut(),
    ) -> Result<(Self, Said), Refused> {
        let mut folder = Self::take(path, subject, PATIENCE, waits)?.ok_or_else(|| Refused {
            found: format!(
                "{}, which another run has been writing for {PATIENCE:?}",
                path.display()
            ),
            allowed: "a folder that nobody else writes",
        })?;
        let said = folder.refused(recover::recover(&folder.parent, &folder.name))?;
        folder.admit(force)?;
        folder.reserve()?;
        Ok((folder, said))
    }

    /// Claims a new folder in `above`: `name`, or `name-2`, `name-3` ... Cleans up after killed
    /// runs whose folders begin with `prefix`.
    ///
    /// # Errors
    /// `above` is not writable.
    pub fn create_new(
        above: &Path,
        prefix: &str,
        name: &str,
        subject: &Subject,
    ) -> Result<(Self, Said), Refused> {
        let mut said = Vec::new();
        for n in 1.. {
            let path = above.join(if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
            let taken = Self::take(&path, subject.clone(), Duration::ZERO, &mut || {})?;
            let Some(mut folder) = taken else { continue };
            if n == 1 {
                said = folder.refused(recover::recover_all(&folder.parent, prefix))?;
            }
            if folder.refused(folder.parent.look(&folder.name))?.is_none() {
                folder.reserve()?;
                return Ok((folder, said));
            }
        }
        unreachable!("names do not end")
    }

    /// Creates the parents of `path` and takes its lock; none if another run holds it for
    /// `patience`.
    fn take(
        path: &Path,
        subject: Subject,
        patience: Duration,
        waits: &mut dyn FnMut(),
    ) -> Result<Option<Self>, Refused> {
        let refused = |what: io::Error| Refused {
            found: format!("{}: {what}", path.display()),
            allowed: WRITABLE,
        };
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(Refused {
                found: path.display().to_string(),
                allowed: "a folder with a name: it is replaced as a whole",
            });
        };
        if name.len() > disk::KEPT {
            return Err(Refused {
                found: format!("a name of {} bytes", name.len()),
                allowed: "at most 200 bytes for the folder's own name",
            });
        }
        let above = path.parent().unwrap_or(Path::new(""));
        let mut made = Vec::new();
        let opened = make_all(above, &mut made).and_then(|()| {
            let parent = Dir::open(above)?;
            let lock = Lock::take(&parent, name, patience, waits)?;
            Ok((parent, lock))
        });
        let (parent, lock) = match opened {
            Ok((parent, Some(lock))) => (parent, lock),
            Ok((_, None)) => return Ok(None),
            Err(what) => {
                unmake(&made);
                return Err(refused(what));
            }
        };
        Ok(Some(Self {
            shown: path.into(),
            parent,
            name: name.to_owned(),
            made,
            lock: Some(lock),
            subject,
            staging: None,
            files: Vec::new(),
            lost: Vec::new(),
        }))
    }

    fn refused<T>(&self, outcome: io::Result<T>) -> Result<T, Refused> {
        outcome.map_err(|what| Refused {
            found: format!("{}: {what}", self.shown.display()),
            allowed: WRITABLE,
        })
    }

    /// Reserves space for the manifest of results that cannot be reproduced.
    fn reserve(&mut self) -> Result<(), Refused> {
        if self.subject.kind != LIVE {
            return Ok(());
        }
        let taken = self.write_hashed(SPARE, |out| out.write_all(&[0; SPARE_BYTES]));
        self.refused(taken).map(drop)
    }

    /// Checks that the present folder may be replaced.
    fn admit(&mut self, force: bool) -> Result<(), Refused> {
        let found = |what: &str| format!("{}{what}", self.shown.display());
        let Some(there) = self.refused(self.parent.look(&self.name))? else { return Ok(()) };
        let refusal = match FileType::from_raw_mode(there.st_mode) {
            FileType::Directory => None,
            FileType::Symlink => Some(": a symbolic link, which is not followed"),
            _ => Some(": Not a directory"),
        };
        if let Some(why) = refusal {
            return Err(Refused { found: found(why), allowed: WRITABLE });
        }
        if self.parent.is_mounted(&self.name) {
            return Err(Refused {
                found: found(", on which something is mounted, so that it cannot be replaced"),
                allowed: "a folder inside of it",
            });
        }
        let state = self.refused(State::of(&self.parent, &self.name))?;
        match self.why_not(&state) {
            Some(why) if !force => Err(Refused {
                found: found(&format!(", {why}")),
                allowed: "an empty folder, one of the same command and scenario, or any with \
                          --force",
            }),
            _ => Ok(()),
        }
    }

    /// The reason, in words, why a new run of this subject may not replace results in `state`; none
    /// if it may.
    fn why_not(&self, state: &State) -> Option<String> {
        let held = match state {
            State::Empty => return None,
            State::Complete(manifest) | State::Incomplete { manifest: Some(manifest), .. } => {
                if manifest.subject == self.subject && self.subject.kind != LIVE {
                    return None;
                }
                inspect::of(manifest)
            }
            other => other.in_words(),
        };
        Some(format!("which holds something else: {held}"))
    }

    /// The path of the file or folder `name`, for messages.
    fn at(&self, name: &str) -> PathBuf {
        self.shown.join(name)
    }

    fn error(&self, name: &str, what: io::Error) -> ExportError {
        ExportError { path: if name.is_empty() { self.shown.clone() } else { self.at(name) }, what }
    }

    /// The folder as the user named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Writes the file `name`, a path in the folder with parts joined by `/`, using `fill`. A file
    /// of a live run is left out if it does not fit on the disk.
    ///
    /// # Errors
    /// Names the file if it cannot be written; no results are left then.
    pub fn write(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        match self.write_hashed(name, fill) {
            Ok((bytes, sha256)) => self.files.push(Entry { path: name.into(), bytes, sha256 }),
            Err(what) if self.subject.kind == LIVE => {
                // A partial file would only take space from other files.
                let _ = self.remove(name);
                self.lost.push((name.into(), what));
            }
            Err(what) => return Err(self.error(name, what)),
        }
        Ok(())
    }

    /// Removes the file `path`, complete or partial.
    fn remove(&mut self, path: &str) -> io::Result<()> {
        let (sub, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.stage()?.sub(sub)?.remove_file(OsStr::new(name))
    }

    fn write_hashed(
        &mut self,
        path: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<(u64, String)> {
        let staging = self.stage()?;
        let (sub, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut out = BufWriter::with_capacity(
            1 << 16,
            Hashed::new(staging.sub(sub)?.create(OsStr::new(name))?),
        );
        fill(&mut out)?;
        let written = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        disk::sync(&written.file)?;
        Ok((written.bytes, manifest::hex(&written.hash.finalize())))
    }

    /// The folder being written to, created when first needed.
    fn stage(&mut self) -> io::Result<&mut Staging> {
        if self.staging.is_none() {
            let name = disk::beside(&self.name);
            self.parent.make_dir(&name)?;
            let opened = self.parent.sub(&name);
            let dir = match opened {
                Ok(dir) => dir,
                Err(what) => {
                    // The folder is empty and has no owner.
                    let _ = self.parent.remove_tree(&name);
                    return Err(what);
                }
            };
            self.staging = Some(Staging { name, dir, subs: BTreeMap::new() });
        }
        Ok(self.staging.as_mut().expect("it was made"))
    }

    /// Writes the manifest and moves the results into place. Returns messages about the previous
    /// results.
    ///
    /// # Errors
    /// Names the file or folder that could not be written. The folder then holds either the earlier
    /// results or these, complete; for a live run it holds the files that fit, and the error says
    /// so.
    pub fn publish(mut self, origin: Origin) -> Result<Said, ExportError> {
        if self.subject.kind == LIVE {
            self.remove(SPARE).map_err(|what| self.error("", what))?;
        }
        let missing = self.lost.iter().map(|(name, _)| name.clone()).collect();
        let files = std::mem::take(&mut self.files);
        let kept = files.len();
        let manifest = Manifest::new(self.subject.clone(), origin, files, missing);
        let fill = |out: &mut dyn Write| -> io::Result<()> {
            serde_json::to_writer_pretty(&mut *out, &manifest)?;
            out.write_all(b"\n")
        };
        self.write_hashed(MANIFEST, fill).map_err(|what| self.error(MANIFEST, what))?;
        let said = self.place().map_err(|what| self.error("", what))?;
        let lost = self.lost.len();
        match std::mem::take(&mut self.lost).into_iter().next() {
            None => Ok(said),
            Some((name, what)) => {
                let all = kept + lost;
                let message = format!(
                    "{what}; {kept} of the {all} files are kept, {MANIFEST} names the others"
                );
                let message =
                    said.iter().fold(message, |message, line| format!("{message}; {line}"));
                Err(self.error(&name, io::Error::new(what.kind(), message)))
            }
        }
    }

    fn place(&mut self) -> io::Result<Said> {
        let old = match self.parent.look(&self.name)? {
            None => Old::None,
            Some(there) => {
                let state = State::of(&self.parent, &self.name)?;
                // A private folder must stay private, and this process must be able to write.
                self.stage()?.dir.set_mode(there.st_mode | 0o700)?;
                Old::of(&state)
            }
        };
        let staging = self.stage()?;
        for sub in staging.subs.values() {
            sub.sync()?;
        }
        staging.dir.sync()?;
        let staged = staging.name.clone();
        let said = match old {
            Old::None => {
                self.parent.rename_new(&staged, &self.name)?;
                Vec::new()
            }
            Old::Run | Old::Empty => {
                self.swap(&staged)?;
                let replaced = format!("replaced the earlier results in {}", self.shown.display());
                if old == Old::Run { vec![replaced] } else { Vec::new() }
            }
            Old::Kept => {
                let kept = self.keep(&staged)?;
                vec![format!("what was in {} is kept as {}", self.shown.display(), kept.display())]
            }
        };
        // The results are in place. Only the replaced folder remains to be removed; created parents
        // stay.
        self.made.clear();
        let placed = self.parent.sync();
        self.discard();
        placed.map(|()| said)
    }

    /// Moves `staged` to the place of the old folder; [`ResultsFolder::discard`] removes the old
    /// one later.
    fn swap(&mut self, staged: &OsStr) -> io::Result<()> {
        match self.parent.exchange(staged, &self.name) {
            Err(what) if what.kind() == io::ErrorKind::Unsupported => {}
            outcome => return outcome,
        }
        let aside = disk::set_aside(&self.name);
        self.parent.rename_new(&self.name, &aside)?;
        self.put(staged, &aside)?;
        if let Some(staging) = &mut self.staging {
            staging.name = aside;
        }
        Ok(())
    }

    /// Moves `staged` to the place left by the folder that is now at `aside`; on failure moves
    /// `aside` back.
    fn put(&mut self, staged: &OsStr, aside: &OsStr) -> io::Result<()> {
        let put = self.parent.rename_new(staged, &self.name);
        if put.is_err() {
            // If this fails too, the next run for this folder moves these results into place.
            let back = self.parent.rename_new(aside, &self.name);
            if back.is_err() {
                self.staging = None;
            }
        }
        put
    }

    /// Moves the previous folder to the first free name of `NAME.old`, `NAME.old2` ..., and
    /// `staged` into its place.
    fn keep(&mut self, staged: &OsStr) -> io::Result<PathBuf> {
        for n in 1.. {
            let mut kept = self.name.clone();
            kept.push(if n == 1 { ".old".into() } else { format!(".old{n}") });
            match self.parent.rename_new(&self.name, &kept) {
                Err(what) if what.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => {
                    outcome?;
                    self.put(staged, &kept)?;
                    self.staging = None;
                    return Ok(self.shown.with_file_name(kept));
                }
            }
        }
        unreachable!("names do not end")
    }

    /// Removes folders left beside the results, if any.
    fn discard(&mut self) {
        if let Some(staging) = self.staging.take()
            && matches!(self.parent.look(&staging.name), Ok(Some(_)))
        {
            // The next run for this folder removes the rest.
            let removed = self.parent.remove_tree(&staging.name);
            let _ = removed.or_else(|_| self.parent.remove_tree(&staging.name));
        }
    }
}

impl Drop for ResultsFolder {
    fn drop(&mut self) {
        self.discard();
        if let Some(lock) = self.lock.take() {
            lock.release(&self.parent);
        }
        unmake(&self.made);
    }
}

/// The content that the results replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    None,
    Empty,
    /// Reproducible results, and nothing else.
    Run,
    /// Any other content, kept under another name.
    Kept,
}

impl Old {
    fn of(state: &State) -> Self {
        match state {
            State::Empty => Self::Empty,
            State::Complete(manifest) | State::Incomplete { manifest: Some(manifest), .. }
                if manifest.subject.kind != LIVE =>
            {
                Self::Run
            }
            _ => Self::Kept,
        }
    }
}
