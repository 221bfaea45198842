//! Reports as lines of JSON, from a file that grows or a named pipe.
//!
//! A line that cannot be read is counted and skipped.

use super::{Sink, State};
use justfull_rnis::{Line, open_lines, read_lines};
use std::io;
use std::path::Path;
use std::thread;

/// Reads the lines at `path` into `sink` until no receiver is left. The thread ends with the
/// process.
///
/// # Errors
/// The source cannot be opened, or the thread cannot be started.
pub(super) fn start(path: &Path, sink: Sink) -> io::Result<()> {
    let source = open_lines(path)?;
    sink.state(State::Connected);
    let work = move || {
        let read = read_lines(source, true, |line| match line {
            Line::Report(report) => sink.take(report),
            Line::Pause => {
                sink.wake();
                true
            }
        });
        if let Err(error) = read {
            sink.state(State::Refused(error.to_string()));
        }
    };
    thread::Builder::new().name("reports".into()).spawn(work).map(drop)
}
