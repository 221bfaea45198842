//! Reports as lines of JSON, from a file that grows or a named pipe.
//!
//! A line that cannot be read is counted and passed over.

use super::{Sink, State};
use justfull_rnis::Report;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::thread;

/// Longest line; what is longer is no report.
const LONGEST_LINE: usize = 16 * 1024;
/// How often a file is looked at for more.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);

/// Reads the lines at `path` into `sink` until nobody receives them. The thread ends with the
/// process.
///
/// # Errors
/// The source cannot be opened, or the thread cannot be started.
pub(super) fn start(path: &Path, sink: Sink) -> io::Result<()> {
    let mut source = open(path)?;
    sink.state(State::Connected);
    let work = move || {
        let mut lines = Lines::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => thread::sleep(LOOK),
                Ok(length) => {
                    let goes_on =
                        lines.feed(&buffer[..length], |text| sink.take(Report::parse(text)));
                    sink.wake();
                    if !goes_on {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return sink.state(State::Refused(error.to_string())),
            }
        }
    };
    thread::Builder::new().name("reports".into()).spawn(work).map(drop)
}

/// Opens a source. A named pipe is opened for writing too, so that it stays open between writers.
fn open(path: &Path) -> io::Result<File> {
    let pipe = path.metadata()?.file_type().is_fifo();
    OpenOptions::new().read(true).write(pipe).open(path)
}

/// Cuts what is read into lines.
#[derive(Debug, Default)]
struct Lines {
    part: Vec<u8>,
}

impl Lines {
    /// Gives each whole line to `take` until that says false, which it returns.
    fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8]) -> bool) -> bool {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            self.add(line);
            let goes_on = self.part.iter().all(u8::is_ascii_whitespace) || take(&self.part);
            self.part.clear();
            if !goes_on {
                return false;
            }
        }
        self.add(bytes);
        true
    }

    /// What is too long stays too long, and is then refused as a whole.
    fn add(&mut self, bytes: &[u8]) {
        let room = (LONGEST_LINE + 1).saturating_sub(self.part.len());
        self.part.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut_and_long_ones_are_cut_off() {
        let text = b"one\n\n  \ntwo\nthree";
        for size in 1..text.len() {
            let (mut lines, mut got) = (Lines::default(), Vec::new());
            for part in text.chunks(size) {
                assert!(lines.feed(part, |line| {
                    got.push(String::from_utf8_lossy(line).into_owned());
                    true
                }));
            }
            assert_eq!(got, ["one", "two"]);
        }
        let mut lines = Lines::default();
        let mut longest = 0;
        lines.feed(&vec![b'x'; 100_000], |_| true);
        lines.feed(b"\n", |line| {
            longest = line.len();
            true
        });
        assert_eq!(longest, LONGEST_LINE + 1);
    }
}
