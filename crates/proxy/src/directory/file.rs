//! Sessions in a file, one on each line; it is read again when it changes.

use super::session::Session;
use super::store::Store;
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

/// Time between two checks whether the file has changed.
const LOOK: Duration = Duration::from_millis(500);

/// Reads the file, and reads it again after each change, on a thread that ends with the process. If
/// the changed file is wrong, the sessions stay and the reason is logged.
///
/// # Errors
/// The file cannot be read, a line is wrong, or the thread cannot be started.
pub(super) fn follow(path: PathBuf, store: Arc<Store>) -> io::Result<()> {
    let mut last = state(&path).ok();
    store.set_file(read(&path)?);
    let work = move || {
        loop {
            thread::sleep(LOOK);
            let now = state(&path).ok();
            if now == last {
                continue;
            }
            last = now;
            match read(&path) {
                Ok(sessions) => store.set_file(sessions),
                Err(error) => store.refuse(&format!("{}: {error}", path.display())),
            }
        }
    };
    thread::Builder::new().name("directory".into()).spawn(work).map(drop)
}

fn state(path: &Path) -> io::Result<(SystemTime, u64)> {
    let found = path.metadata()?;
    Ok((found.modified()?, found.len()))
}

fn read(path: &Path) -> io::Result<Vec<Session>> {
    let text = read_text(path, SETTINGS_LIMIT)?;
    let lines = (1..).zip(text.lines().map(str::trim));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            Session::line(line).map_err(|why| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {why}"))
            })
        })
        .collect()
}
