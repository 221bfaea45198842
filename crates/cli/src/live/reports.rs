//! `--reports`: the cells' reports about their UEs, in a file or a named pipe.

use crate::failure::Failure;
use crate::terminal::say;
use justfull_live::reports::{Reports, open};
use justfull_net::Side;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Writes on a separate thread until the end of the run.
pub(super) struct Writer {
    path: PathBuf,
    thread: JoinHandle<io::Result<u64>>,
}

impl Writer {
    /// Begins to write `reports` to `path`.
    pub(super) fn start(path: &Path, reports: Reports) -> Result<Self, Failure> {
        let failed = |e: io::Error| Failure::Usage(format!("--reports {}: {e}", path.display()));
        let to = open(path).map_err(failed)?;
        let addresses = |ue| Side::Ue(ue as usize).addresses().to_vec();
        let write = move || reports.write_lines(to, addresses);
        let thread = std::thread::Builder::new().name("reports".into()).spawn(write);
        Ok(Self { path: path.to_owned(), thread: thread.map_err(failed)? })
    }

    /// Waits for the last line at the end of the run.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let path = self.path.display();
        let written = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match written.map_err(|e| Failure::Failed(format!("write {path}: {e}")))? {
            0 => {}
            lost => say(&format!("note: {path} was full and did not take {lost} reports")),
        }
        Ok(())
    }
}
