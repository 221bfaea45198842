//! Questions to a running service over a local socket: a line with a word, answered with a text.

mod served;

pub use served::{Ask, Asker, Question, Servers};

use crate::SystemError;
use crate::clock::now;
use nix::sys::stat::{Mode, umask};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time for a client's question and its reading, and for the service's answer.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The media type that Prometheus requires (exposition formats, "Text-based format").
pub const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Bytes of a question, which is a word.
const LONGEST: u64 = 64;

/// Binds a socket at `path` that only its owner may use: its mode is 0600 from the start. A socket
/// that no process serves any more is replaced. No other thread may make files during the call.
///
/// # Errors
/// Another process serves the socket, or the system refuses.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process serves it"));
    }
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

/// Reads the question of a client within [`PATIENCE`].
///
/// # Errors
/// The client is slow, gone, or sends no text.
pub fn read(stream: &UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut question)?;
    Ok(question.trim().to_owned())
}

/// Asks the service `who` at `socket` a `question`; its answer has at most `longest` bytes.
///
/// # Errors
/// No service serves the socket, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, who: &str, question: &str, longest: u64) -> Result<String, SystemError> {
    let doing = || format!("ask the {who} at {}", socket.display());
    let failed = |e: io::Error| SystemError::new(doing(), e);
    let end = now() + 2 * PATIENCE;
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_write_timeout(Some(2 * PATIENCE)).map_err(failed)?;
    writeln!(stream, "{question}").map_err(failed)?;
    let mut text = String::new();
    Until { stream, end }.take(longest).read_to_string(&mut text).map_err(failed)?;
    if text.is_empty() { Err(SystemError::new(doing(), "no answer")) } else { Ok(text) }
}

/// A stream whose reads fail after `end`.
struct Until {
    stream: UnixStream,
    end: Instant,
}

impl Read for Until {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its answer takes too long"));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_question_is_answered_and_silence_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = bind(&path).expect("it is free");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(bind(&path).is_err(), "a process serves it");
        let server = std::thread::spawn(move || {
            for stream in listener.incoming().take(3).flatten() {
                let question = read(&stream).unwrap_or_default();
                if question == "status" {
                    (&stream).write_all(b"{}").expect("the client reads");
                }
            }
        });
        assert_eq!(ask(&path, "box", "status", 10).expect("an answer"), "{}");
        let error = ask(&path, "box", "what", 10).expect_err("no answer").to_string();
        assert!(error.contains("ask the box at") && error.contains("no answer"), "{error}");
        drop(UnixStream::connect(&path));
        server.join().expect("it ends");
        assert!(bind(&path).is_ok(), "nobody serves it any more");
    }

    #[test]
    fn an_answer_in_small_pieces_ends_at_its_deadline() {
        let (mut there, stream) = UnixStream::pair().expect("a pair");
        there.write_all(b"abc").expect("it is read");
        let mut text = String::new();
        let mut until = Until { stream, end: now() };
        let error = until.read_to_string(&mut text).expect_err("it is late");
        assert_eq!((error.kind(), text.as_str()), (io::ErrorKind::TimedOut, ""));
        drop(there);
        until.end = now() + PATIENCE;
        assert_eq!(until.read_to_string(&mut text).ok(), Some(3));
    }
}
