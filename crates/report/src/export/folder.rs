//! A folder of results: every file of one run, or nothing.
//!
//! The files are written into `.NAME.RANDOM` beside the folder, the manifest last, and everything
//! is put on the disk itself; then the two folders are exchanged at one instant and the old one is
//! removed. Whoever opens the folder at any moment finds the old results or the new ones; so does
//! whoever comes after a crash. A lock beside the folder keeps a second writer out.
//!
//! A live run cannot be made again: the files that the disk takes are kept, and the manifest names
//! the others.

mod inspect;
mod lock;
mod manifest;
mod recover;
#[cfg(test)]
mod tests;

pub use inspect::{Inspection, State, inspect};
pub use manifest::{Entry, FORMAT, MANIFEST, Manifest, Origin, Subject};

use super::disk::{self, Dir};
use super::sink::ExportError;
use lock::Lock;
use rustix::fs::FileType;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// How long a run waits for another that writes the same folder.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind of runs whose results cannot be made again.
const LIVE: &str = "live";

/// Room for the manifest of such a run: taken before the run, given back when the manifest is
/// written.
const SPARE: &str = ".spare";
/// Bytes of it.
const SPARE_BYTES: usize = 64 << 10;

/// Why a folder cannot take results.
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

/// What was done on the way, in words, for people.
pub type Said = Vec<String>;

/// Results that are being written. Dropped before [`ResultsFolder::publish`] they leave nothing.
pub struct ResultsFolder {
    /// The folder as the user has named it.
    shown: PathBuf,
    parent: Dir,
    name: OsString,
    /// Folders above it that were made for it, the uppermost first.
    made: Vec<PathBuf>,
    lock: Option<Lock>,
    subject: Subject,
    /// Where the files are until they have their place, once there is one.
    staging: Option<Staging>,
    files: Vec<Entry>,
    /// Files that the disk did not take, and why; only of a live run.
    lost: Vec<(String, io::Error)>,
}

struct Staging {
    name: OsString,
    dir: Dir,
    /// Folders in it.
    subs: BTreeMap<String, Dir>,
}

impl ResultsFolder {
    /// Takes `path` for the results of `subject`: makes the folders above it, takes its lock,
    /// cleans up behind killed runs, and looks whether what is there may be replaced: nothing,
    /// an empty folder, or results of the same subject with nothing else beside them. With
    /// `force` anything may. `waits` is told when another run writes there.
    ///
    /// # Errors
    /// Says what is there and what may be; nothing has been made then.
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

    /// Takes a folder in `above` that did not exist: `name`, or `name-2`, `name-3` ... Cleans up
    /// behind killed runs whose folders begin with `prefix`.
    ///
    /// # Errors
    /// `above` cannot be written.
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

    /// Makes what is above `path` and takes its lock; none when another holds it for `patience`.
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

    /// Takes room for the manifest of results that cannot be made again.
    fn reserve(&mut self) -> Result<(), Refused> {
        if self.subject.kind != LIVE {
            return Ok(());
        }
        let taken = self.write_hashed(SPARE, |out| out.write_all(&[0; SPARE_BYTES]));
        self.refused(taken).map(drop)
    }

    /// Looks whether what stands at the place may be replaced.
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

    /// Why a new run of this subject may not replace results in `state`, in words; none if it may.
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

    /// The place of the file or folder `name`, as the user sees it.
    fn at(&self, name: &str) -> PathBuf {
        self.shown.join(name)
    }

    fn error(&self, name: &str, what: io::Error) -> ExportError {
        ExportError { path: if name.is_empty() { self.shown.clone() } else { self.at(name) }, what }
    }

    /// The folder as the user has named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Writes the file `name`, a path in the folder with parts joined by `/`, by `fill`. A file of
    /// a live run that the disk does not take is left out.
    ///
    /// # Errors
    /// Names the file when the disk refuses; no results are left then.
    pub fn write(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        match self.write_hashed(name, fill) {
            Ok((bytes, sha256)) => self.files.push(Entry { path: name.into(), bytes, sha256 }),
            Err(what) if self.subject.kind == LIVE => {
                // What was written of it is in the way of other files, and of nothing else.
                let _ = self.remove(name);
                self.lost.push((name.into(), what));
            }
            Err(what) => return Err(self.error(name, what)),
        }
        Ok(())
    }

    /// Removes the file `path` that was written, or begun.
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

    /// The folder that is written to, made when it is first needed.
    fn stage(&mut self) -> io::Result<&mut Staging> {
        if self.staging.is_none() {
            let name = disk::beside(&self.name);
            self.parent.make_dir(&name)?;
            let opened = self.parent.sub(&name);
            let dir = match opened {
                Ok(dir) => dir,
                Err(what) => {
                    // It is empty and nobody's.
                    let _ = self.parent.remove_tree(&name);
                    return Err(what);
                }
            };
            self.staging = Some(Staging { name, dir, subs: BTreeMap::new() });
        }
        Ok(self.staging.as_mut().expect("it was made"))
    }

    /// Writes the manifest and puts the results in their place. Says what became of those that were
    /// there.
    ///
    /// # Errors
    /// Names the file or folder that the disk refuses. At the place are then the earlier results,
    /// or these, as a whole; of a live run also what the disk took of them, which the error says.
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
                let told = format!(
                    "{what}; {kept} of the {all} files are kept, {MANIFEST} names the others"
                );
                let told = said.iter().fold(told, |told, line| format!("{told}; {line}"));
                Err(self.error(&name, io::Error::new(what.kind(), told)))
            }
        }
    }

    fn place(&mut self) -> io::Result<Said> {
        let old = match self.parent.look(&self.name)? {
            None => Old::None,
            Some(there) => {
                let state = State::of(&self.parent, &self.name)?;
                // What its owner forbade to others must not be open to them afterwards; we must be
                // able to write.
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
        // They have their place: there is nothing to remove any more but what they have replaced,
        // and folders made for them stay.
        self.made.clear();
        let placed = self.parent.sync();
        self.discard();
        placed.map(|()| said)
    }

    /// Puts `staged` where the old folder is, which becomes what [`ResultsFolder::discard`]
    /// removes.
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

    /// Puts `staged` in the place that was just left by what is now at `aside`, which returns when
    /// that fails.
    fn put(&mut self, staged: &OsStr, aside: &OsStr) -> io::Result<()> {
        let put = self.parent.rename_new(staged, &self.name);
        if put.is_err() {
            // When this fails too, the next run for this place puts these results there.
            let back = self.parent.rename_new(aside, &self.name);
            if back.is_err() {
                self.staging = None;
            }
        }
        put
    }

    /// Moves what was there to a name beside it, `NAME.old` or the next that is free, and puts
    /// `staged` in its place.
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

    /// Removes what stands beside the place, if anything does.
    fn discard(&mut self) {
        if let Some(staging) = self.staging.take()
            && matches!(self.parent.look(&staging.name), Ok(Some(_)))
        {
            // What cannot be removed now is removed by the next run for this place.
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

/// What results replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    None,
    Empty,
    /// Results that can be made again, and nothing else.
    Run,
    /// What cannot: it is kept under another name.
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

impl Staging {
    /// The folder `path` in it, made when it is first asked for.
    fn sub(&mut self, path: &str) -> io::Result<&Dir> {
        if path.is_empty() {
            return Ok(&self.dir);
        }
        if !self.subs.contains_key(path) {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let name = OsStr::new(name);
            let above = self.sub(above)?;
            above.make_dir(name)?;
            let made = above.sub(name)?;
            self.subs.insert(path.to_owned(), made);
        }
        Ok(&self.subs[path])
    }
}

/// A file whose bytes are counted and hashed as they are written.
struct Hashed {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Hashed {
    fn new(file: File) -> Self {
        Self { file, hash: Sha256::new(), bytes: 0 }
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = disk::write(&self.file, bytes)?;
        self.hash.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes `path` with all that is above it; collects what was made.
fn make_all(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        make_all(above, made)?;
    }
    match fs::create_dir(path) {
        Ok(()) => made.push(std::path::absolute(path)?),
        // Another run has made it in the meantime.
        Err(what) if what.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(what) => return Err(what),
    }
    Ok(())
}

/// Removes folders that were made, as far as they are empty.
fn unmake(made: &[PathBuf]) {
    for path in made.iter().rev() {
        // One that another run uses by now is not empty, and stays.
        let _ = fs::remove_dir(path);
    }
}
