//! Writes a file under a temporary name beside its final place until it is complete.

use super::disk::{self, Beside, Dir};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A result file could not be written.
#[derive(Debug)]
pub struct ExportError {
    /// The file.
    pub path: PathBuf,
    /// The disk error.
    pub what: io::Error,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.what)
    }
}

/// A file being written. Its name is `.NAME.RANDOM`, beside its final place, until [`Sink::commit`]
/// renames it. A drop before that removes it, and the previous file at `path` stays. The next
/// process that writes `path` removes the remains of a killed process. A link at `path` is
/// replaced, not followed. A device or a pipe at `path` cannot be replaced by a rename: it is
/// written to directly.
pub struct Sink {
    out: Option<BufWriter<Disk>>,
    path: PathBuf,
    part: Option<Part>,
}

/// The temporary file.
struct Part {
    folder: Dir,
    name: OsString,
    to: OsString,
}

/// A file written through the steps of [`disk`].
struct Disk(File);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        disk::write(&self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    /// Opens a file for `path`.
    ///
    /// # Errors
    /// Names the file if its folder is missing or not writable.
    pub fn create(path: &Path) -> Result<Self, ExportError> {
        let opened = match special(path) {
            Ok(Some(file)) => Ok((file, None)),
            Ok(None) => Part::create(path).map(|(file, part)| (file, Some(part))),
            Err(what) => Err(what),
        };
        let (file, part) = opened.map_err(|what| ExportError { path: path.into(), what })?;
        Ok(Self {
            out: Some(BufWriter::with_capacity(1 << 16, Disk(file))),
            path: path.into(),
            part,
        })
    }

    /// Writes the remaining bytes and moves the file into place.
    ///
    /// # Errors
    /// Names the file if it cannot be written; no file is left then.
    pub fn commit(mut self) -> Result<(), ExportError> {
        let out = self.out.take();
        let attempt = || {
            let file = out
                .map(|out| out.into_inner().map_err(io::IntoInnerError::into_error))
                .transpose()?;
            match (&self.part, file) {
                (Some(part), Some(file)) => part.commit(&file.0),
                _ => Ok(()),
            }
        };
        attempt().map_err(|what| ExportError { path: self.path.clone(), what })?;
        self.part = None;
        Ok(())
    }

    /// Moves the incomplete file on the disk into place. `whole` gets its length in bytes and
    /// returns the number of bytes to keep.
    ///
    /// # Errors
    /// Names the file if that fails too, or if it is a device; no file is left then.
    pub fn keep(mut self, whole: impl FnOnce(u64) -> u64) -> Result<(), ExportError> {
        let out = self.out.take();
        let attempt = || {
            let (Some(out), Some(part)) = (out, &self.part) else {
                return Err(io::ErrorKind::Unsupported.into());
            };
            let (Disk(file), _unwritten) = out.into_parts();
            file.set_len(whole(file.metadata()?.len()))?;
            part.commit(&file)
        };
        attempt().map_err(|what| ExportError { path: self.path.clone(), what })?;
        self.part = None;
        Ok(())
    }

    /// `what` as an error of this file.
    #[must_use]
    pub fn error(&self, what: io::Error) -> ExportError {
        ExportError { path: self.path.clone(), what }
    }
}

impl Part {
    fn create(path: &Path) -> io::Result<(File, Self)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let folder = Dir::open(path.parent().unwrap_or(Path::new("")))?;
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        sweep(&folder, |of| of == name);
        loop {
            let part = disk::beside(name);
            let file = folder.create(&part)?;
            // The lock marks the part as being written and ends with this process. Without locks,
            // other processes remove no parts.
            let swept = matches!(file.try_lock(), Err(TryLockError::WouldBlock))
                || file.metadata()?.nlink() == 0;
            if !swept {
                return Ok((file, Self { folder, name: part, to: name.to_owned() }));
            }
        }
    }

    fn commit(&self, file: &File) -> io::Result<()> {
        disk::sync(file)?;
        self.folder.rename_over(&self.name, &self.to)?;
        // The file is complete and in place. Without the sync a power failure may lose its name,
        // which is no reason to report it as lost.
        let _ = self.folder.sync();
        Ok(())
    }
}

/// Removes from `folder` the partial files of killed processes whose final names satisfy `ours`;
/// keeps everything else.
///
/// # Errors
/// The folder cannot be opened.
pub fn remove_left(folder: &Path, ours: impl Fn(&OsStr) -> bool) -> io::Result<()> {
    sweep(&Dir::open(folder)?, ours);
    Ok(())
}

/// Removes the parts in `folder` whose names satisfy `ours` and whose locks nobody holds: their
/// processes were killed.
fn sweep(folder: &Dir, ours: impl Fn(&OsStr) -> bool) {
    let mut parts = folder.names().unwrap_or_default();
    parts.retain(|part| Beside::parse(part).is_some_and(|beside| !beside.old && ours(beside.of)));
    for part in parts {
        let Ok(file) = folder.read(&part) else { continue };
        if file.try_lock().is_ok() {
            // A part that cannot be removed takes space but does no other harm.
            let _ = folder.remove_file(&part);
        }
    }
}

/// Opens the file at `path` if it must be written to directly: a device, a pipe, or an open file of
/// this process, as named by `/dev/stdout`. Follows links made by root or this user; other links
/// might lead anywhere.
fn special(path: &Path) -> io::Result<Option<File>> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(None) };
    let mut flags = rustix::fs::OFlags::NOFOLLOW;
    if found.is_symlink() {
        let ours = found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw();
        let of_process = fs::read_link(path).is_ok_and(|to| to.starts_with("/proc"))
            || path
                .parent()
                .and_then(|folder| folder.canonicalize().ok())
                .is_some_and(|at| at.starts_with("/proc"));
        let leads_to =
            fs::metadata(path).is_ok_and(|to| of_process || !(to.is_file() || to.is_dir()));
        if !ours || !leads_to {
            return Ok(None);
        }
        flags = rustix::fs::OFlags::empty();
    } else if found.is_file() || found.is_dir() {
        return Ok(None);
    }
    OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path).map(Some)
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            // The rest of the buffer belongs to a cancelled file.
            drop(out.into_parts());
        }
        if let Some(part) = self.part.take() {
            // A part that cannot be removed is harmless, and there is no caller to inform.
            let _ = part
                .folder
                .remove_file(&part.name)
                .or_else(|_| part.folder.remove_file(&part.name));
        }
    }
}

/// Writes `path` using `fill`; no file is left on failure.
///
/// # Errors
/// Names the file if its folder is missing or it cannot be written.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ExportError> {
    let mut sink = Sink::create(path)?;
    fill(&mut sink).map_err(|what| sink.error(what))?;
    sink.commit()
}

#[cfg(test)]
mod tests {
    use super::disk::faults::{Fault, Plan, under};
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_sink_that_is_dropped_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").expect("it can be written");
        let mut sink = Sink::create(&path).expect("it can be opened");
        sink.write_all(b"half").expect("there is room");
        drop(sink);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "old");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
    }

    #[test]
    fn the_next_writer_of_a_file_removes_the_remains_of_a_killed_process() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = |name: &str| folder.path().join(name);
        for left in [".a.csv.0123456789abcdef", ".b.csv.0123456789abcdef", ".a.csv.0123"] {
            fs::write(path(left), "half").expect("it can be written");
        }
        let mut sink = Sink::create(&path("a.csv")).expect("it can be opened");
        sink.write_all(b"first").expect("there is room");
        write_whole(&path("a.csv"), |out| out.write_all(b"second")).expect("there is room");
        assert!(!path(".a.csv.0123456789abcdef").exists(), "nobody wrote it any more");
        assert!(path(".b.csv.0123456789abcdef").exists(), "another file's");
        assert!(path(".a.csv.0123").exists(), "no name of ours");
        sink.commit().expect("a part that is being written is left alone");
        assert_eq!(fs::read(path("a.csv")).expect("it is there"), b"first");
    }

    #[test]
    fn a_full_device_is_one_error_and_stays_a_device() {
        let full = Path::new("/dev/full");
        let error = write_whole(full, |out| out.write_all(&[0; 1 << 20])).expect_err("it is full");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
        assert!(!fs::metadata(full).expect("it is there").is_file());
        assert!(
            write_whole(full, |out| out.write_all(b"short")).is_err(),
            "the error comes when the buffer is written"
        );
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let error = Sink::create(folder.path()).map(drop).expect_err("it is a folder");
        assert!(error.to_string().contains("directory"), "{error}");
    }

    /// After any failure the file is the old or the new one, and no other file is left.
    #[test]
    fn whichever_step_fails_a_file_is_whole() {
        for k in 0.. {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let path = folder.path().join("a.csv");
            fs::write(&path, "old").expect("it can be written");
            let plan = Plan { fault: Some(Fault::Once(k)), short: Some(2), ..Plan::default() };
            let (outcome, _, failed) =
                under(plan, || write_whole(&path, |out| out.write_all(b"brand new")));
            let found = fs::read_to_string(&path).expect("it is there");
            assert!(found == "brand new" || (outcome.is_err() && found == "old"), "{k}: {found}");
            assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "{k}");
            if !failed {
                assert!(outcome.is_ok() && k >= 5, "a file takes several steps");
                return;
            }
        }
    }

    /// The writer follows no link, neither at its place nor at predictable names beside it.
    #[test]
    fn planted_links_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (path, victim) = (folder.path().join("a.csv"), folder.path().join("victim"));
        fs::write(&victim, "precious").expect("it can be written");
        for name in ["a.csv", "a.csv.part", ".a.csv.part"] {
            symlink(&victim, folder.path().join(name)).expect("a link can be made");
        }
        write_whole(&path, |out| out.write_all(b"new")).expect("there is room");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
        assert!(fs::symlink_metadata(&path).expect("it is there").is_file());
        // A link of another user to a device; only root can make one.
        let device = folder.path().join("b.csv");
        symlink("/dev/full", &device).expect("a link can be made");
        if std::os::unix::fs::lchown(&device, Some(65_534), Some(65_534)).is_ok() {
            write_whole(&device, |out| out.write_all(b"new")).expect("it is replaced");
            assert!(fs::symlink_metadata(&device).expect("it is there").is_file());
        } else {
            println!("skipped: only root can make another's link");
        }
        let own = folder.path().join("c.csv");
        symlink("/dev/full", &own).expect("a link can be made");
        write_whole(&own, |out| out.write_all(b"new"))
            .expect_err("one's own link to a device is followed");
    }

    #[test]
    fn a_name_as_long_as_names_can_be_is_written() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("x".repeat(255));
        write_whole(&path, |out| out.write_all(b"new")).expect("there is room");
        assert_eq!(fs::read(&path).expect("it is there"), b"new");
    }
}
