//! Where a file goes: beside its place until it is whole.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A result file could not be written.
#[derive(Debug)]
pub struct ExportError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
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

/// A file that is being written. It stands as `<path>.part` until [`Sink::commit`] renames it; one that is dropped before is
/// removed, and what stood at `path` stays. A device or a pipe at `path` cannot be renamed over: it is written to as it is.
pub struct Sink {
    out: Option<BufWriter<File>>,
    path: PathBuf,
    part: Option<PathBuf>,
}

impl Sink {
    /// Opens the place of `path`.
    ///
    /// # Errors
    /// Names the file when a folder is missing or may not be written.
    pub fn create(path: &Path) -> Result<Self, ExportError> {
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let opened = if special {
            OpenOptions::new().write(true).open(path).map(|file| (file, None))
        } else if path.is_dir() {
            Err(io::Error::from(io::ErrorKind::IsADirectory))
        } else {
            let mut part = OsString::from(path);
            part.push(".part");
            let part = PathBuf::from(part);
            File::create(&part).map(|file| (file, Some(part)))
        };
        let (file, part) = opened.map_err(|what| ExportError { path: path.into(), what })?;
        Ok(Self { out: Some(BufWriter::with_capacity(1 << 16, file)), path: path.into(), part })
    }

    /// Writes what is left and puts the file in its place.
    ///
    /// # Errors
    /// Names the file when the disk refuses; nothing is left behind then.
    pub fn commit(mut self) -> Result<(), ExportError> {
        let out = self.out.take();
        let attempt = || {
            if let Some(out) = out {
                out.into_inner().map_err(io::IntoInnerError::into_error)?;
            }
            match &self.part {
                Some(part) => fs::rename(part, &self.path),
                None => Ok(()),
            }
        };
        attempt().map_err(|what| ExportError { path: self.path.clone(), what })?;
        self.part = None;
        Ok(())
    }

    /// Puts what is on the disk into its place though more should follow. `whole` is given its length in bytes and says how many of
    /// them are to be kept.
    ///
    /// # Errors
    /// Names the file when the disk refuses that too, or when it is a device; nothing is left behind then.
    pub fn keep(mut self, whole: impl FnOnce(u64) -> u64) -> Result<(), ExportError> {
        let out = self.out.take();
        let attempt = || {
            let (Some(out), Some(part)) = (out, &self.part) else {
                return Err(io::ErrorKind::Unsupported.into());
            };
            let (file, _unwritten) = out.into_parts();
            file.set_len(whole(file.metadata()?.len()))?;
            fs::rename(part, &self.path)
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
            // What is still in the buffer belongs to a file that nobody wants.
            drop(out.into_parts());
        }
        if let Some(part) = self.part.take() {
            // A part file that cannot be removed is harmless, and there is nobody left to tell.
            let _ = fs::remove_file(part);
        }
    }
}

/// Writes `path` by `fill`; nothing is left behind on failure.
///
/// # Errors
/// Names the file when a folder is missing or the disk refuses.
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
    use super::*;

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
    fn a_full_device_is_one_error_and_stays_a_device() {
        let full = Path::new("/dev/full");
        let error = write_whole(full, |out| out.write_all(&[0; 1 << 20])).expect_err("it is full");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
        assert!(!fs::metadata(full).expect("it is there").is_file());
        assert!(!Path::new("/dev/full.part").exists());
        assert!(write_whole(full, |out| out.write_all(b"short")).is_err(), "told when the buffer is written");
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let error = Sink::create(folder.path()).map(drop).expect_err("it is a folder");
        assert!(error.to_string().contains("directory"), "{error}");
    }
}
