//! Questions to a running proxy: over a local socket, and from the server of metrics. Threads wait
//! for their askers; the loop of the proxy waits for nobody.

use crate::config::OperationConfig;
use justfull_net::{SystemError, bounded_listener, http};
use nix::sys::eventfd::EventFd;
use nix::sys::stat::{Mode, umask};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// How long an asker may take to ask and to read, and the loop to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A question is a word.
const LONGEST_QUESTION: u64 = 64;
/// An answer about a million connections.
const LONGEST_ANSWER: u64 = 1 << 30;
/// What Prometheus asks for (exposition formats, "Text-based format").
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is asked.
#[derive(Debug)]
pub(crate) enum What {
    Status,
    Flows,
    Metrics,
    /// All of the proxy, for the process at the other end.
    Takeover(UnixStream),
}

/// A question, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) what: What,
    pub(crate) reply: Sender<String>,
}

/// Puts questions to the loop.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) to: Sender<Ask>,
    pub(crate) wake: Arc<EventFd>,
}

impl Asker {
    fn ask(&self, what: What) -> Option<String> {
        let (reply, answer) = channel();
        self.to.send(Ask { what, reply }).ok()?;
        // Full is awake as well.
        let _awake = self.wake.write(1);
        answer.recv_timeout(PATIENCE).ok()
    }
}

/// Where others ask this process; a proxy that takes its place goes on with them.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) questions: UnixListener,
    pub(crate) metrics: Option<TcpListener>,
}

/// Servers that run until this is dropped.
#[derive(Debug)]
pub(crate) struct Servers {
    path: PathBuf,
    _metrics: Option<http::Server>,
    outside: Option<Outside>,
}

impl Servers {
    /// Starts what `config` asks for.
    pub(crate) fn start(config: &OperationConfig, asker: &Asker) -> Result<Self, SystemError> {
        let path = PathBuf::from(&config.socket);
        let failed = |e: io::Error| SystemError::new(format!("listen at {}", path.display()), e);
        let questions = bind(&path).map_err(failed)?;
        Self::serve(config, asker, Outside { questions, metrics: None })
    }

    /// Goes on with the listeners of a proxy that is no more.
    pub(crate) fn serve(
        config: &OperationConfig,
        asker: &Asker,
        outside: Outside,
    ) -> Result<Self, SystemError> {
        let path = PathBuf::from(&config.socket);
        let failed = |e: io::Error| SystemError::new(format!("listen at {}", path.display()), e);
        let listener = outside.questions;
        let questions = listener.try_clone().map_err(failed)?;
        let own = asker.clone();
        let work = move || {
            // The thread ends with the process.
            for stream in listener.incoming().flatten() {
                // Who asks badly gets no answer.
                let _ill = answer(stream, &own);
            }
        };
        thread::Builder::new().name("control".into()).spawn(work).map_err(failed)?;
        let metrics = match config.metrics.parse() {
            Ok(address) => {
                let own = asker.clone();
                let page = move |path: &str| {
                    let text = (path == "/metrics").then(|| own.ask(What::Metrics))?;
                    Some((CONTENT_TYPE, text.unwrap_or_default()))
                };
                let failed = |e: io::Error| {
                    SystemError::new(format!("serve metrics at {}", config.metrics), e)
                };
                let old = outside.metrics.filter(|old| old.local_addr().ok() == Some(address));
                let listener = old.map_or_else(|| bounded_listener(address), Ok);
                let listener = listener.map_err(failed)?;
                let kept = listener.try_clone().map_err(failed)?;
                let server = http::Server::with_listener(listener, page).map_err(failed)?;
                Some((server, kept))
            }
            Err(_) => None,
        };
        let (metrics, kept) = metrics.unzip();
        let outside = Outside { questions, metrics: kept };
        Ok(Self { path, _metrics: metrics, outside: Some(outside) })
    }

    /// The listeners, for a proxy that takes this one's place.
    pub(crate) fn outside(&mut self) -> Option<Outside> {
        self.outside.take()
    }

    /// Lets go of what now belongs to another process: its socket stays where it is.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The next one removes it.
        let _kept = std::fs::remove_file(&self.path);
    }
}

/// Binds a socket that only its owner may use, in place of one that nobody serves any more.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another proxy serves it"));
    }
    use std::os::unix::fs::FileTypeExt;
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    // It is 0600 from its first moment; no other thread makes files yet.
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

fn answer(stream: UnixStream, asker: &Asker) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new((&stream).take(LONGEST_QUESTION)).read_line(&mut question)?;
    let what = match question.trim() {
        "status" => What::Status,
        "flows" => What::Flows,
        "takeover" => {
            let (reply, _nobody) = channel();
            // The loop answers at the stream itself.
            let _gone = asker.to.send(Ask { what: What::Takeover(stream), reply });
            let _awake = asker.wake.write(1);
            return Ok(());
        }
        _ => return Ok(()),
    };
    (&stream).write_all(asker.ask(what).unwrap_or_default().as_bytes())
}

/// Asks the proxy at `socket` for its `status` or its `flows`, in JSON.
///
/// # Errors
/// No proxy serves it, this user may not ask, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    let doing = || format!("ask the proxy at {}", socket.display());
    let failed = |e: io::Error| SystemError::new(doing(), e);
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(failed)?;
    writeln!(stream, "{question}").map_err(failed)?;
    let mut text = String::new();
    stream.take(LONGEST_ANSWER).read_to_string(&mut text).map_err(failed)?;
    if text.is_empty() { Err(SystemError::new(doing(), "no answer")) } else { Ok(text) }
}
