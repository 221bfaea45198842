//! Radio information as lines of JSON, from a file that grows or a named pipe.
//!
//! A thread reads and parses, so that what is sent here never delays a connection. A line that
//! cannot be read is counted and passed over.

use crate::prefix::Prefix;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use serde::Deserialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread;

/// Longest line; what is longer is no report.
const LONGEST_LINE: usize = 16 * 1024;
/// How often a file is looked at for more.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);
/// Addresses of one UE in a report.
const MOST_ADDRESSES: usize = 16;

/// One report about one UE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// Its addresses or prefixes; the first names it.
    pub(crate) ue: Vec<Prefix>,
    pub(crate) ran: RanReport,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    One(Prefix),
    Several(Vec<Prefix>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Lte,
    Nr,
    Bytes,
}

/// A line; docs/guide/rapid-in-service.md says what its keys mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    ue: Named,
    at_us: u64,
    cell: Kind,
    #[serde(default = "one")]
    mcs_table: u8,
    #[serde(default = "one")]
    layers: u8,
    #[serde(default = "symbols")]
    symbols: u8,
    #[serde(default = "dmrs")]
    dmrs_res: u8,
    slot_us: u64,
    slots: u32,
    offered: u64,
    used: u64,
    #[serde(default)]
    active_ues: u32,
    #[serde(default)]
    blocks: u64,
    #[serde(default)]
    repeats: u64,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    mcs: Option<u8>,
    #[serde(default)]
    backlog: u64,
}

const fn one() -> u8 {
    1
}

/// A slot less one symbol of control.
const fn symbols() -> u8 {
    13
}

/// One symbol of reference signals.
const fn dmrs() -> u8 {
    12
}

/// Reads one line.
pub(crate) fn parse(line: &[u8]) -> Result<Report, String> {
    let line: Line = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let ue = match line.ue {
        Named::One(prefix) => vec![prefix],
        Named::Several(prefixes) => prefixes,
    };
    if ue.is_empty() || ue.len() > MOST_ADDRESSES {
        return Err(format!("`ue` has {} addresses, allowed is 1 to {MOST_ADDRESSES}", ue.len()));
    }
    let (mcs_table, layers) = (line.mcs_table, line.layers);
    let kind = match line.cell {
        Kind::Lte => CellKind::Lte { mcs_table, layers },
        Kind::Nr => {
            CellKind::Nr { mcs_table, layers, symbols: line.symbols, dmrs_res: line.dmrs_res }
        }
        Kind::Bytes => CellKind::Bytes,
    };
    let ran = RanReport {
        at: Instant::from_nanos(line.at_us.saturating_mul(1_000)),
        kind,
        slot: Duration::from_micros(line.slot_us),
        slots: line.slots,
        offered: line.offered,
        used: line.used,
        active_ues: line.active_ues,
        blocks: line.blocks,
        repeats: line.repeats,
        bytes: line.bytes,
        mcs: line.mcs,
        backlog: line.backlog,
    };
    Ok(Report { ue, ran })
}

/// What the reading thread has counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Lines that were no report.
    pub(crate) garbled: AtomicU64,
    /// Reports that came faster than they could be taken.
    pub(crate) dropped: AtomicU64,
    /// The source can be read.
    pub(crate) open: AtomicBool,
}

/// Reads the lines at `path` into `to` until nobody receives them, and calls `wake` after each.
/// The thread ends with the process.
///
/// # Errors
/// The source cannot be opened, or the thread cannot be started.
pub(crate) fn start(
    path: &Path,
    to: SyncSender<Report>,
    counts: Arc<Counts>,
    wake: impl Fn() + Send + 'static,
) -> io::Result<()> {
    let mut source = open(path)?;
    counts.open.store(true, Ordering::Relaxed);
    let work = move || {
        let mut lines = Lines::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => thread::sleep(LOOK),
                Ok(length) => {
                    let sent = lines.feed(&buffer[..length], |line| match parse(line) {
                        Ok(report) => match to.try_send(report) {
                            Ok(()) => true,
                            Err(TrySendError::Full(_)) => {
                                counts.dropped.fetch_add(1, Ordering::Relaxed);
                                true
                            }
                            Err(TrySendError::Disconnected(_)) => false,
                        },
                        Err(_) => {
                            counts.garbled.fetch_add(1, Ordering::Relaxed);
                            true
                        }
                    });
                    wake();
                    if !sent {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    counts.open.store(false, Ordering::Relaxed);
                    return;
                }
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

    const LINE: &str = r#"{"ue": "10.45.0.1", "at_us": 5000, "cell": "lte", "slot_us": 1000,
        "slots": 10, "offered": 250, "used": 100, "blocks": 60, "mcs": 20, "active_ues": 2}"#;

    #[test]
    fn a_line_is_a_report() {
        let report = parse(LINE.as_bytes()).expect("a report");
        assert_eq!(report.ue, ["10.45.0.1/32".parse().expect("a prefix")]);
        assert_eq!(report.ran.kind, CellKind::Lte { mcs_table: 1, layers: 1 });
        assert_eq!((report.ran.offered, report.ran.mcs), (250, Some(20)));
        assert_eq!(report.ran.at, Instant::ZERO + Duration::from_millis(5));
        let both = LINE.replace("\"10.45.0.1\"", r#"["10.45.0.1", "fd45::/64"]"#);
        assert_eq!(parse(both.as_bytes()).map(|report| report.ue.len()), Ok(2));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for (from, to) in [
            ("10.45.0.1", "ten"),
            ("\"10.45.0.1\"", "[]"),
            ("lte", "wimax"),
            ("5000", "-1"),
            ("\"mcs\"", "\"mcss\""),
            ("\"used\": 100,", ""),
            ("{", "["),
        ] {
            assert!(parse(LINE.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }

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
