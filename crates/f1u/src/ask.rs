//! Requests to a running box: over a local socket, and to the server of metrics. Other threads wait
//! for clients; the box's loop never waits.

use crate::config::OperationConfig;
use justfull_net::{SystemError, bounded_listener, http};
use nix::sys::stat::{Mode, umask};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Longest time for a client's request and its reading, and for the loop's answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request, which is a word.
const LONGEST_QUESTION: u64 = 64;
/// An answer about 65 536 bearers.
const LONGEST_ANSWER: u64 = 1 << 26;
/// The media type that Prometheus requires (exposition formats, "Text-based format").
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Status,
    Bearers,
    Metrics,
    /// Leaves the detour to another box, and ends.
    Leave,
}

/// A request, and the channel for its answer.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) what: What,
    pub(crate) reply: Sender<String>,
}

/// Passes requests to the loop.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) to: Sender<Ask>,
}

impl Asker {
    fn ask(&self, what: What) -> Option<String> {
        let (reply, answer) = channel();
        self.to.send(Ask { what, reply }).ok()?;
        answer.recv_timeout(PATIENCE).ok()
    }
}

/// Servers that run until this is dropped.
#[derive(Debug)]
pub(crate) struct Servers {
    path: PathBuf,
    _metrics: Option<http::Server>,
}

impl Servers {
    /// Starts the servers that `config` names.
    pub(crate) fn start(config: &OperationConfig, asker: &Asker) -> Result<Self, SystemError> {
        let metrics = config.metrics.parse().ok().map(|address| {
            let own = asker.clone();
            let page = move |path: &str| {
                let text = (path == "/metrics").then(|| own.ask(What::Metrics))?;
                Some((CONTENT_TYPE, text.unwrap_or_default()))
            };
            let server = bounded_listener(address)
                .and_then(|listener| http::Server::with_listener(listener, page));
            server.map_err(|e| SystemError::new(format!("serve metrics at {address}"), e))
        });
        let metrics = metrics.transpose()?;
        let path = PathBuf::from(&config.socket);
        let failed = |e: io::Error| SystemError::new(format!("listen at {}", path.display()), e);
        let listener = bind(&path).map_err(failed)?;
        let own = asker.clone();
        let work = move || {
            // The thread ends with the process.
            for stream in listener.incoming().flatten() {
                // A malformed request gets no answer.
                let _ill = answer(&stream, &own);
            }
        };
        thread::Builder::new().name("control".into()).spawn(work).map_err(failed)?;
        Ok(Self { path, _metrics: metrics })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // If it stays, the next box removes it.
        let _kept = std::fs::remove_file(&self.path);
    }
}

/// Binds a socket that only its owner may use. It replaces a socket that no process serves any
/// more.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another box serves it"));
    }
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    // The file has mode 0600 from its first moment. No other thread makes files yet.
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

fn answer(mut stream: &UnixStream, asker: &Asker) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream.take(LONGEST_QUESTION)).read_line(&mut question)?;
    let what = match question.trim() {
        "status" => What::Status,
        "bearers" => What::Bearers,
        "leave" => What::Leave,
        _ => return Ok(()),
    };
    stream.write_all(asker.ask(what).unwrap_or_default().as_bytes())
}

/// Requests `status` or `bearers` of the box at `socket`, in JSON.
///
/// # Errors
/// No box serves it, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    let doing = || format!("ask the box at {}", socket.display());
    let failed = |e: io::Error| SystemError::new(doing(), e);
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(failed)?;
    writeln!(stream, "{question}").map_err(failed)?;
    let mut text = String::new();
    stream.take(LONGEST_ANSWER).read_to_string(&mut text).map_err(failed)?;
    if text.is_empty() { Err(SystemError::new(doing(), "no answer")) } else { Ok(text) }
}
