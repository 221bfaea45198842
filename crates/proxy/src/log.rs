//! The log: one line of JSON for each ended connection. A separate thread writes it, so that a pipe
//! without a reader or a disk that hangs costs lines but no connection.

use crate::config::OperationConfig;
use crate::connections::Ended;
use crate::pools::Pools;
use crate::steering::Notice;
use justfull_net::Prefix;
use justfull_net::SystemError;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Most lines that wait to be written; further lines are lost.
const WAITING: usize = 65_536;
/// At the end, longest wait for lines that are not written yet.
const END: Duration = Duration::from_secs(1);
/// The file's mode; the log shows who was connected to whom.
const MODE: u32 = 0o640;

/// Bits of an address that the log shows when addresses are hidden: an operator's network.
const SHOWN_BITS: [u8; 2] = [16, 32];

/// See the module's page. A full disk costs lines but nothing else.
pub(crate) struct Log {
    to: Option<Writer>,
    hide: bool,
    pools: Pools,
    /// Lines that could not be written, at the time of the last [`Log::flush`].
    pub(crate) lost: u64,
}

/// The thread that writes.
struct Writer {
    lines: Option<SyncSender<String>>,
    lost: Arc<AtomicU64>,
    /// The file must be reopened.
    again: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl Writer {
    /// `path` is the path of the file; none if it cannot be reopened.
    fn start(to: Box<dyn Write + Send>, path: Option<PathBuf>) -> io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let (alive, ended) = channel();
        let lost = Arc::<AtomicU64>::default();
        let again = Arc::<AtomicBool>::default();
        let mut file = File { to: BufWriter::new(to), lost: Arc::clone(&lost) };
        let asked = Arc::clone(&again);
        let work = move || {
            while let Ok(line) = waiting.recv() {
                if asked.swap(false, Ordering::Relaxed)
                    && let Some(path) = &path
                {
                    file.open_again(path);
                }
                file.write(&line);
                waiting.try_iter().for_each(|line| file.write(&line));
                file.flush();
            }
            drop(alive);
        };
        thread::Builder::new().name("log".into()).spawn(work)?;
        Ok(Self { lines: Some(lines), lost, again, ended })
    }

    fn write(&self, line: String) {
        if self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.lines.take());
        // The channel closes after the last line. Lines that are not written by then are lost.
        let _ended = self.ended.recv_timeout(END);
    }
}

struct File {
    to: BufWriter<Box<dyn Write + Send>>,
    lost: Arc<AtomicU64>,
}

impl File {
    /// Writes to a new file at `path` from now on. If it cannot be opened, the old file gets the
    /// reason and stays in use.
    fn open_again(&mut self, path: &Path) {
        match open(path) {
            Ok(new) => {
                self.flush();
                self.to = BufWriter::new(Box::new(new));
            }
            Err(why) => {
                let what = format!("{} cannot be opened again: {why}", path.display());
                let line = json!({ "time": unix_seconds(), "event": "log", "what": what });
                self.write(&format!("{line}\n"));
            }
        }
    }

    fn write(&mut self, line: &str) {
        // One write for each line, so that a full disk leaves no partial line.
        if self.to.write_all(line.as_bytes()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        if self.to.flush().is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Opens a file to append to.
fn open(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().create(true).append(true).mode(MODE).open(path)
}

impl Log {
    /// Reopens the file with the next line: another program has moved it.
    pub(crate) fn reopen(&self) {
        if let Some(to) = &self.to {
            to.again.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn open(config: &OperationConfig, pools: Pools) -> Result<Self, SystemError> {
        let failed = |e| SystemError::new(format!("open the log {}", config.log), e);
        let to: Option<Box<dyn Write + Send>> = match config.log.as_str() {
            "" => None,
            "-" => Some(Box::new(io::stdout())),
            path => Some(Box::new(open(path.as_ref()).map_err(failed)?)),
        };
        let path = (config.log != "-").then(|| PathBuf::from(&config.log));
        let to = to.map(|to| Writer::start(to, path)).transpose().map_err(failed)?;
        Ok(Self { to, hide: config.hide_addresses, pools, lost: 0 })
    }

    fn address(&self, at: SocketAddr) -> String {
        self.network(at.ip()).map_or_else(|| at.to_string(), |network| network.to_string())
    }

    /// The part of an address that the log shows; none for the whole address.
    fn network(&self, ip: IpAddr) -> Option<Prefix> {
        self.hide.then(|| Prefix::of(ip, SHOWN_BITS[usize::from(ip.is_ipv6())]))
    }

    fn write(&self, line: &serde_json::Value) {
        if let Some(to) = &self.to {
            to.write(format!("{line}\n"));
        }
    }

    /// A connection has ended, also one that could not begin.
    pub(crate) fn ended(&self, ended: &Ended) {
        let (Some(_), Some(server)) = (&self.to, ended.server) else { return };
        let mut line = json!({
            "time": unix_seconds(),
            "event": "connection",
            "client": self.address(ended.client.at),
            "server": server.to_string(),
            "outcome": ended.outcome.name(),
        });
        if let Some(pool) = self.pools.name(ended.client.pool) {
            line["pool"] = pool.into();
        }
        if let Some(flow) = &ended.flow {
            line["seconds"] = flow.seconds.into();
            line["bytes_up"] = flow.bytes[0].into();
            line["bytes_down"] = flow.bytes[1].into();
            line["mss"] = flow.mss.to_vec().into();
        }
        self.write(&line);
    }

    /// Reports that contradict each other.
    pub(crate) fn radio(&self, notice: &Notice) {
        let ue = notice.ue.map(|ue| self.network(ue.address()).unwrap_or(ue).to_string());
        let what = &notice.what;
        self.write(&json!({ "time": unix_seconds(), "event": "radio", "ue": ue, "what": what }));
    }

    /// Another event.
    pub(crate) fn note(&self, event: &str, what: &str) {
        let line = json!({ "time": unix_seconds(), "event": event, "what": what });
        self.write(&line);
    }

    /// Waits a moment until all lines are written, and accepts no more.
    pub(crate) fn end(&mut self) {
        self.flush();
        self.to = None;
    }

    /// Counts lost lines, and makes the thread write waiting lines at once.
    pub(crate) fn flush(&mut self) {
        if let Some(to) = &self.to {
            self.lost = to.lost.load(Ordering::Relaxed);
        }
    }
}

/// The time of day, for people; no computation uses it.
#[expect(clippy::disallowed_methods, reason = "the log tells when something was")]
fn unix_seconds() -> f64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_net::clock::now;

    /// A reader that has stopped reading.
    struct Hung(Receiver<()>);

    impl Write for Hung {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Blocks until the test is over.
            let _over = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_hangs_costs_lines_and_no_time() {
        let (over, hangs) = channel();
        let to = Writer::start(Box::new(Hung(hangs)), None).expect("a thread");
        let mut log = Log { to: Some(to), hide: false, pools: Pools::default(), lost: 0 };
        for _ in 0..WAITING + 10_000 {
            log.note("test", "a line");
        }
        log.flush();
        // The thread has taken as many lines as its buffer holds, and one more.
        assert!((9_000..=10_000).contains(&log.lost), "{}", log.lost);
        let began = now();
        drop(log);
        let took = now().duration_since(began);
        assert!((END..3 * END).contains(&took), "the end waits a moment: {took:?}");
        drop(over);
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_again_and_no_line_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, old] = ["log", "log.1"].map(|name| folder.path().join(name));
        let config =
            OperationConfig { log: path.display().to_string(), ..OperationConfig::default() };
        let log = Log::open(&config, Pools::default()).expect("it opens");
        let written = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let until = |path: &Path, what: &str| {
            let end = now() + Duration::from_secs(60);
            while !written(path).contains(what) {
                assert!(now() < end, "{what}: {}", written(path));
                thread::sleep(Duration::from_millis(1));
            }
        };
        log.note("test", "before");
        until(&path, "before");
        std::fs::rename(&path, &old).expect("it moves");
        log.note("test", "moved");
        until(&old, "moved");
        log.reopen();
        log.note("test", "after");
        until(&path, "after");
        assert!(!written(&old).contains("after"));
        // A file that cannot be opened: the old file stays in use.
        std::fs::remove_file(&path).expect("it is there");
        std::fs::create_dir(&path).expect("a folder");
        log.reopen();
        log.note("test", "last");
        drop(log);
    }

    #[test]
    fn the_file_is_closed_to_strangers_and_whole_at_the_end() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let config =
            OperationConfig { log: path.display().to_string(), ..OperationConfig::default() };
        let log = Log::open(&config, Pools::default()).expect("it opens");
        log.note("test", "a line");
        drop(log);
        let mode = path.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o137, 0, "{mode:o}");
        let text = std::fs::read_to_string(&path).expect("it reads");
        assert!(text.ends_with("\"a line\"}\n"), "all is written at the end: {text}");
    }
}
