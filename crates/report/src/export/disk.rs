//! The operations on the disk by which results are written, each relative to an open folder and
//! none through a symbolic link.
//!
//! Whoever owns a folder may plant links in it and exchange its parts at any moment. Nothing here
//! follows a link, creates a file over another, or depends on a name that can be foreseen, so that
//! a run as root does not write where its user did not say.
//!
//! Each operation is a step that tests let fail (`faults`).

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, StatxAttributes, StatxFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[cfg(test)]
pub(crate) mod faults;

/// Says that a step is about to be made, which only tests let fail.
macro_rules! step {
    ($step:ident) => {{
        #[cfg(test)]
        faults::before(faults::Step::$step)?;
    }};
}

/// Digits of the random part of a name.
const DIGITS: usize = 16;

/// An open folder and where it is.
pub(crate) struct Dir {
    fd: OwnedFd,
    /// Its path, absolute.
    pub(crate) path: PathBuf,
}

impl Dir {
    /// Opens the folder at `path`; links in `path` are followed, since the user has named them.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let path = fs::canonicalize(path)?;
        let fd = rustix::fs::open(
            &path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self { fd, path })
    }

    /// Opens the folder `name` in this one.
    pub(crate) fn sub(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())?,
            path: self.path.join(name),
        })
    }

    /// Makes the folder `name`, which must not exist.
    pub(crate) fn make_dir(&self, name: &OsStr) -> io::Result<()> {
        step!(MakeDir);
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    /// Makes the file `name`, which must not exist, and opens it for writing.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        step!(Create);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// Opens the lock file `name`, made if needed. It is never written to.
    pub(crate) fn lock_file(&self, name: &OsStr) -> io::Result<File> {
        step!(Create);
        // A FIFO of that name must not hold the run up.
        let flags =
            OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// Opens the regular file `name` for reading.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(file)
    }

    /// What stands at `name`, a link itself and not what it names; none if nothing does.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<rustix::fs::Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Whether another file system, or another part of one, is mounted at `name`: such a folder
    /// cannot be renamed.
    pub(crate) fn is_mounted(&self, name: &OsStr) -> bool {
        let found =
            rustix::fs::statx(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
        found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    /// Names in this folder, in order.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Gives this folder the permissions `mode`.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        step!(SetMode);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(fd, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Exchanges two names at one instant.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file system cannot.
    pub(crate) fn exchange(&self, a: &OsStr, b: &OsStr) -> io::Result<()> {
        step!(Exchange);
        use rustix::io::Errno;
        match rustix::fs::renameat_with(&self.fd, a, &self.fd, b, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            outcome => Ok(outcome?),
        }
    }

    /// Renames `from` to `to`, where nothing may stand.
    pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step!(Rename);
        use rustix::io::Errno;
        match rustix::fs::renameat_with(&self.fd, from, &self.fd, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if self.look(to)?.is_none() => {
                Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
            }
            outcome => Ok(outcome?),
        }
    }

    /// Renames the file `from` to `to`, in whose place it comes; a link at `to` is replaced and not
    /// followed.
    pub(crate) fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step!(Rename);
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Removes the file `name`.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        step!(Remove);
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes the folder `name` with all that is in it; links in it are removed and not followed.
    pub(crate) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        step!(Remove);
        fs::remove_dir_all(self.path.join(name))
    }

    /// Puts the names in this folder on the disk itself.
    pub(crate) fn sync(&self) -> io::Result<()> {
        step!(Sync);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, ".", flags, Mode::empty()) {
            Ok(fd) => synced(rustix::fs::fsync(fd)),
            // A folder that may be written but not read cannot be opened for this.
            Err(rustix::io::Errno::ACCESS) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }
}

/// Puts the contents of `file` on the disk itself.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    step!(Sync);
    synced(rustix::fs::fsync(file))
}

/// Some file systems have nothing to put anywhere, and say so.
fn synced(outcome: rustix::io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Writes some of `bytes` to `file`.
pub(crate) fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(test)]
    let bytes = faults::room(bytes)?;
    file.write(bytes)
}

/// Longest part of a name that [`beside`] keeps: most file systems take names of 255 bytes.
pub(crate) const KEPT: usize = 200;

/// What [`set_aside`] adds.
const ASIDE: &str = ".old";

/// `.NAME.RANDOM`: where `name` is written until it is whole. A name that would get too long is
/// cut.
pub(crate) fn beside(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let mut made = OsString::from(".");
    made.push(OsStr::from_bytes(&bytes[..bytes.len().min(KEPT)]));
    // A fresh key from the system for each name; clashes are refused by whoever makes the file.
    made.push(format!(".{:0DIGITS$x}", RandomState::new().build_hasher().finish()));
    made
}

/// `.NAME.RANDOM.old`: where what stood at `name` goes until its successor has its place.
pub(crate) fn set_aside(name: &OsStr) -> OsString {
    let mut made = beside(name);
    made.push(ASIDE);
    made
}

/// A name that [`beside`] or [`set_aside`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beside<'a> {
    /// The name that it was made from.
    pub(crate) of: &'a OsStr,
    /// It is what stood there before.
    pub(crate) old: bool,
}

impl<'a> Beside<'a> {
    /// Takes `found` apart, if it is such a name.
    pub(crate) fn parse(found: &'a OsStr) -> Option<Self> {
        let bytes = found.as_bytes();
        let fresh = bytes.strip_suffix(ASIDE.as_bytes());
        let (name, random) =
            fresh.unwrap_or(bytes).strip_prefix(b".")?.split_last_chunk::<DIGITS>()?;
        let hex = random.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        let name = name.strip_suffix(b".").filter(|name| hex && !name.is_empty())?;
        Some(Self { of: OsStr::from_bytes(name), old: fresh.is_some() })
    }
}
