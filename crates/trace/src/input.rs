//! Reads files named by the user: whole, up to a limit, and only regular ones.

use justfull_base::Bytes;
use std::fmt;
use std::fs::{File, Metadata, metadata};
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a scenario file, of methods and of claims.
pub const SCENARIO_LIMIT: Bytes = Bytes(16_000_000);

/// Most bytes of a file of settings, tokens, names of UEs, or certificates.
pub const SETTINGS_LIMIT: Bytes = Bytes(4_000_000);

/// Why a file was not read.
#[derive(Debug)]
pub struct InputError {
    /// The thing found in place of the file's bytes, e.g. `a pipe`.
    pub found: String,
    /// The allowed things.
    pub allowed: String,
    /// The system's error kind, or [`io::ErrorKind::InvalidInput`] for a refused file.
    pub kind: io::ErrorKind,
}

impl InputError {
    fn system(error: &io::Error) -> Self {
        Self { found: error.to_string(), allowed: "a readable file".into(), kind: error.kind() }
    }

    fn refused(found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { found: found.into(), allowed: allowed.into(), kind: io::ErrorKind::InvalidInput }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, allowed is {}", self.found, self.allowed)
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        Self::new(error.kind, error)
    }
}

/// Opens `path`, following links, if it is a regular file. A pipe or a device is refused before
/// opening: opening one can block for ever, and reading one need not end.
///
/// # Errors
/// When there is no such file, it may not be read, or it is not a regular file.
pub fn open_regular(path: &Path) -> Result<File, InputError> {
    regular(&metadata(path).map_err(|e| InputError::system(&e))?)?;
    let file = File::open(path).map_err(|e| InputError::system(&e))?;
    // The file may have been replaced since the check.
    regular(&file.metadata().map_err(|e| InputError::system(&e))?)?;
    Ok(file)
}

/// Reads the whole regular file at `path`. Memory is bounded by `limit` even if the file grows
/// meanwhile.
///
/// # Errors
/// As [`open_regular`], when the file holds more than `limit`, and when reading fails.
pub fn read_capped(path: &Path, limit: Bytes) -> Result<Vec<u8>, InputError> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(limit.0.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| InputError::system(&e))?;
    if bytes.len() as u64 > limit.0 {
        return Err(InputError::refused(
            format!("more than {limit}"),
            format!("a file of at most {limit}"),
        ));
    }
    Ok(bytes)
}

/// As [`read_capped`], of a file of text.
///
/// # Errors
/// As those, and when it is no UTF-8.
pub fn read_text(path: &Path, limit: Bytes) -> Result<String, InputError> {
    let bytes = read_capped(path, limit)?;
    String::from_utf8(bytes).map_err(|_| InputError::refused("what is no UTF-8", "a file of text"))
}

fn regular(found: &Metadata) -> Result<(), InputError> {
    match kind(found) {
        None => Ok(()),
        Some(what) => Err(InputError::refused(what, "a regular file")),
    }
}

/// The kind of file, in words; none for a regular file.
fn kind(found: &Metadata) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    if found.is_dir() {
        return Some("a directory");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some("something that is no file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_a_byte_beyond() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("f");
        std::fs::write(&path, b"12345").expect("the folder can be written");
        assert_eq!(read_capped(&path, Bytes(5)).expect("it fits"), b"12345");
        let error = read_capped(&path, Bytes(4)).expect_err("too long");
        assert_eq!(error.to_string(), "found more than 4B, allowed is a file of at most 4B");
        let absent =
            read_capped(&folder.path().join("absent"), Bytes(4)).expect_err("it is not there");
        assert_eq!(absent.kind, io::ErrorKind::NotFound);
    }

    /// Reading `/dev/zero` or a pipe would never end.
    #[test]
    #[cfg(unix)]
    fn pipes_devices_and_folders_are_refused_before_they_are_opened() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
        assert!(made.success());
        let socket = folder.path().join("socket");
        let _listener =
            std::os::unix::net::UnixListener::bind(&socket).expect("a socket can be made");
        for (path, what) in [
            (pipe.as_path(), "a pipe"),
            (socket.as_path(), "a socket"),
            (Path::new("/dev/zero"), "a device"),
            (folder.path(), "a directory"),
        ] {
            let error = read_capped(path, SCENARIO_LIMIT).expect_err(what);
            assert_eq!((error.found.as_str(), error.allowed.as_str()), (what, "a regular file"));
            let error = io::Error::from(read_text(path, SETTINGS_LIMIT).expect_err(what));
            assert_eq!(error.to_string(), format!("found {what}, allowed is a regular file"));
        }
        let bytes = folder.path().join("bytes");
        std::fs::write(&bytes, [0xff]).expect("the folder can be written");
        let error = read_text(&bytes, SETTINGS_LIMIT).expect_err("no text").to_string();
        assert_eq!(error, "found what is no UTF-8, allowed is a file of text");
    }
}
