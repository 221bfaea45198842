//! The disk operations that write results. Each is relative to an open folder and follows no
//! symbolic link.
//!
//! The owner of a folder may plant links in it and exchange its parts at any moment. No operation
//! here follows a link, overwrites a file on creation, or uses a predictable name, so a run as root
//! writes only inside the folder that its user named.
//!
//! Each operation is a step that tests can make fail (`faults`).

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

/// Announces a step; only tests make it fail.
macro_rules! step {
    ($step:ident) => {{
        #[cfg(test)]
        faults::before(faults::Step::$step)?;
    }};
}

/// Hexadecimal digits in the random part of a name.
const DIGITS: usize = 16;

/// An open folder and its path.
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

    /// Creates the folder `name`, which must not exist.
    pub(crate) fn make_dir(&self, name: &OsStr) -> io::Result<()> {
        step!(MakeDir);
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    /// Creates the file `name`, which must not exist, and opens it for writing.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        step!(Create);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// Opens the lock file `name`, creating it if necessary. It is never written to.
    pub(crate) fn lock_file(&self, name: &OsStr) -> io::Result<File> {
        step!(Create);
        // A FIFO of this name must not block the run.
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

    /// The status of `name` (of a link itself, not of its target); none if it does not exist.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<rustix::fs::Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// True if another file system, or another part of one, is mounted at `name`. Such a folder
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

    /// Exchanges two names atomically.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the file system cannot do so.
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

    /// Renames `from` to `to`, which must not exist.
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

    /// Renames the file `from` to `to` and replaces an existing file. A link at `to` is replaced,
    /// not followed.
    pub(crate) fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step!(Rename);
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Removes the file `name`.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        step!(Remove);
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes the folder `name` with everything in it; links in it are removed, not followed.
    pub(crate) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        step!(Remove);
        fs::remove_dir_all(self.path.join(name))
    }

    /// Syncs the names in this folder to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        step!(Sync);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, ".", flags, Mode::empty()) {
            Ok(fd) => synced(rustix::fs::fsync(fd)),
            // A folder that is writable but not readable cannot be opened for a sync.
            Err(rustix::io::Errno::ACCESS) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }
}

/// Syncs the contents of `file` to the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    step!(Sync);
    synced(rustix::fs::fsync(file))
}

/// Accepts the errors of file systems that cannot sync.
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

/// Longest part of a name that [`beside`] keeps; most file systems allow names of 255 bytes.
pub(crate) const KEPT: usize = 200;

/// Suffix added by [`set_aside`].
const ASIDE: &str = ".old";

/// `.NAME.RANDOM`: the name under which `name` is written until it is complete. A long name is
/// truncated.
pub(crate) fn beside(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let mut made = OsString::from(".");
    made.push(OsStr::from_bytes(&bytes[..bytes.len().min(KEPT)]));
    // Each name takes a fresh random key from the system; creating the file detects clashes.
    made.push(format!(".{:0DIGITS$x}", RandomState::new().build_hasher().finish()));
    made
}

/// `.NAME.RANDOM.old`: the name of the previous `name` until its successor is in place.
pub(crate) fn set_aside(name: &OsStr) -> OsString {
    let mut made = beside(name);
    made.push(ASIDE);
    made
}

/// A name made by [`beside`] or [`set_aside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beside<'a> {
    /// The original name.
    pub(crate) of: &'a OsStr,
    /// True for a previous version that was set aside.
    pub(crate) old: bool,
}

impl<'a> Beside<'a> {
    /// Parses `found`; none if it is no such name.
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
