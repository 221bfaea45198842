//! The folder of the files until they are moved into place.

use super::disk::{self, Dir};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) struct Staging {
    pub(super) name: OsString,
    pub(super) dir: Dir,
    /// Subfolders.
    pub(super) subs: BTreeMap<String, Dir>,
}

impl Staging {
    /// The folder `path` in it, created when first needed.
    pub(super) fn sub(&mut self, path: &str) -> io::Result<&Dir> {
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

/// A file that counts and hashes its bytes while they are written.
pub(super) struct Hashed {
    pub(super) file: File,
    pub(super) hash: Sha256,
    pub(super) bytes: u64,
}

impl Hashed {
    pub(super) fn new(file: File) -> Self {
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

/// Creates `path` with all its parents; collects the created folders.
pub(super) fn make_all(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        make_all(above, made)?;
    }
    match fs::create_dir(path) {
        Ok(()) => made.push(std::path::absolute(path)?),
        // Another run has created the folder in the meantime.
        Err(what) if what.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(what) => return Err(what),
    }
    Ok(())
}

/// Removes created folders that are empty.
pub(super) fn unmake(made: &[PathBuf]) {
    for path in made.iter().rev() {
        // A folder that another run already uses is not empty, and stays.
        let _ = fs::remove_dir(path);
    }
}
