//! Standard output and standard error.

use crate::failure::Failure;
use justfull_report::table::{printable, printable_in_colour};
use std::io::Write;

/// Writes text for people to standard output. Control characters from names and files are escaped.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_exact(&printable_in_colour(text))
}

/// Writes text for programs to standard output unchanged; a closed pipe is no error.
pub(crate) fn print_exact(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Usage(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error and ignores a closed pipe. Control characters from names and
/// files are escaped.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(line));
}
