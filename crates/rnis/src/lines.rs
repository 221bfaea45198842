//! Reports as lines of JSON, from a file that grows, a named pipe or standard input.

use crate::malformed::Malformed;
use crate::report::Report;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Longest line; a longer one is no report.
const LONGEST_LINE: usize = 16 * 1024;
/// Time between two checks whether a file has grown.
const LOOK: Duration = Duration::from_millis(5);

/// Input from a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A complete line, parsed.
    Report(Result<Report, Malformed>),
    /// All present input has been read.
    Pause,
}

/// Opens a source. A named pipe is opened for writing too, so that it stays open between writers.
///
/// # Errors
/// It is not there, or may not be read.
pub fn open_lines(path: &Path) -> io::Result<File> {
    let found = path.metadata()?.file_type();
    let pipe = found.is_fifo();
    if !pipe && !found.is_file() {
        let what = "it is neither, allowed is a file or a named pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    OpenOptions::new().read(true).write(pipe).open(path)
}

/// Passes the reports in the lines of `source` to `take` until it returns false. Without `follow`,
/// the end of `source` also ends the reading.
///
/// # Errors
/// It cannot be read any more.
pub fn read_lines(
    source: impl Read,
    follow: bool,
    mut take: impl FnMut(Line) -> bool,
) -> io::Result<()> {
    each_line(source, follow, LONGEST_LINE, |line| {
        take(line.map_or(Line::Pause, |text| Line::Report(Report::parse(text))))
    })
}

/// Passes each line of `source` that is not blank to `take`, and none after all present input,
/// until it returns false. Without `follow`, the end of `source` also ends the reading. A line of
/// more than `longest` bytes is cut after `longest` + 1 bytes.
///
/// # Errors
/// `source` cannot be read.
pub fn each_line(
    mut source: impl Read,
    follow: bool,
    longest: usize,
    mut take: impl FnMut(Option<&[u8]>) -> bool,
) -> io::Result<()> {
    let mut lines = Lines { part: Vec::new(), longest };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match source.read(&mut buffer) {
            Ok(0) if follow => thread::sleep(LOOK),
            Ok(0) => {
                // The last line may have no end.
                lines.feed(b"\n", |text| take(Some(text)));
                take(None);
                return Ok(());
            }
            Ok(length) => {
                if !lines.feed(&buffer[..length], |text| take(Some(text))) || !take(None) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Splits input into lines.
#[derive(Debug)]
struct Lines {
    part: Vec<u8>,
    longest: usize,
}

impl Lines {
    /// Gives each complete line to `take` until that returns false; returns the last result.
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

    /// A line that is too long keeps its excess length, and is then refused as a whole.
    fn add(&mut self, bytes: &[u8]) {
        let room = (self.longest + 1).saturating_sub(self.part.len());
        self.part.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut_and_long_ones_are_cut_off() {
        let new = || Lines { part: Vec::new(), longest: LONGEST_LINE };
        let text = b"one\n\n  \ntwo\nthree";
        for size in 1..text.len() {
            let (mut lines, mut got) = (new(), Vec::new());
            for part in text.chunks(size) {
                assert!(lines.feed(part, |line| {
                    got.push(String::from_utf8_lossy(line).into_owned());
                    true
                }));
            }
            assert_eq!(got, ["one", "two"]);
        }
        let mut lines = new();
        let mut longest = 0;
        lines.feed(&vec![b'x'; 100_000], |_| true);
        lines.feed(b"\n", |line| {
            longest = line.len();
            true
        });
        assert_eq!(longest, LONGEST_LINE + 1);
    }
}
