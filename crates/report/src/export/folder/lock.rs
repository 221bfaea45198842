//! `.NAME.lock`: marks the folder `NAME` as being written.
//!
//! The lock is a kernel lock (`flock`) and ends with its process in every case. The file beside the
//! folder only carries the lock and is removed with it; a file left by a killed process locks
//! nothing.

use super::super::disk::Dir;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// Time between two attempts.
const STEP: Duration = Duration::from_millis(25);

/// The lock of a folder, held until dropped.
pub(super) struct Lock {
    file: File,
    name: OsString,
}

/// Name of the lock file of `name`.
pub(super) fn file_name(name: &OsStr) -> OsString {
    let mut file = OsString::from(".");
    file.push(name);
    file.push(".lock");
    file
}

/// The folder name to which the lock file `file` belongs; none if it is no lock file.
pub(super) fn of(file: &OsStr) -> Option<&OsStr> {
    let name = file.as_bytes().strip_prefix(b".")?.strip_suffix(b".lock")?;
    (!name.is_empty()).then(|| OsStr::from_bytes(name))
}

impl Lock {
    /// Takes the lock of `name` in `folder`; none if another holds it for `patience` or longer.
    /// `waits` is called once if it is held at first.
    pub(super) fn take(
        folder: &Dir,
        name: &OsStr,
        patience: Duration,
        waits: &mut dyn FnMut(),
    ) -> io::Result<Option<Self>> {
        let name = file_name(name);
        // Counts attempts instead of time, so that a stalled machine does not shorten the wait.
        let attempts = patience.as_millis() / STEP.as_millis();
        for attempt in 0..=attempts {
            if let Some(lock) = Self::attempt(folder, &name)? {
                return Ok(Some(lock));
            }
            if attempt == 0 && attempts > 0 {
                waits();
            }
            if attempt < attempts {
                std::thread::sleep(STEP);
            }
        }
        Ok(None)
    }

    fn attempt(folder: &Dir, name: &OsStr) -> io::Result<Option<Self>> {
        loop {
            let file = folder.lock_file(name)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(what)) => return Err(what),
            }
            // The last holder may have removed the file between the open and the lock here; then
            // the lock is on a deleted file.
            let (ours, there) = (file.metadata()?, folder.look(name)?);
            if there.is_some_and(|there| (there.st_dev, there.st_ino) == (ours.dev(), ours.ino())) {
                return Ok(Some(Self { file, name: name.to_owned() }));
            }
        }
    }

    /// Removes the file, then releases the lock.
    pub(super) fn release(self, folder: &Dir) {
        // A file that cannot be removed locks nothing once no process holds it.
        let _ = folder.remove_file(&self.name).or_else(|_| folder.remove_file(&self.name));
        drop(self.file);
    }

    /// True when a process holds the lock of `name`.
    pub(super) fn is_held(folder: &Dir, name: &OsStr) -> bool {
        let Ok(file) = folder.read(&file_name(name)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}
