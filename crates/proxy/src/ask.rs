//! Requests to a running proxy: over a local socket, and to the server of metrics. Other threads
//! wait for clients; the proxy's loop never waits.

use crate::config::OperationConfig;
use justfull_net::questions::{self, PATIENCE, PROMETHEUS};
use justfull_net::{SystemError, bounded_listener, http};
use nix::sys::eventfd::EventFd;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// An answer about a million connections.
const LONGEST_ANSWER: u64 = 1 << 30;
/// A request.
#[derive(Debug)]
pub(crate) enum What {
    Status,
    Flows,
    Metrics,
    /// Hands the whole proxy to the process at the other end.
    Takeover(UnixStream),
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
    pub(crate) wake: Arc<EventFd>,
}

impl Asker {
    fn ask(&self, what: What) -> Option<String> {
        let (reply, answer) = channel();
        self.to.send(Ask { what, reply }).ok()?;
        // If the counter is full, the loop is awake already.
        let _awake = self.wake.write(1);
        answer.recv_timeout(PATIENCE).ok()
    }
}

/// The listeners for requests; a proxy that takes over continues with them.
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
    /// Starts the servers that `config` names.
    pub(crate) fn start(config: &OperationConfig, asker: &Asker) -> Result<Self, SystemError> {
        let path = PathBuf::from(&config.socket);
        let failed = |e: io::Error| SystemError::new(format!("listen at {}", path.display()), e);
        let questions = questions::bind(&path).map_err(failed)?;
        Self::serve(config, asker, Outside { questions, metrics: None })
    }

    /// Continues with the listeners of the proxy that was replaced.
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
                // A malformed request gets no answer.
                let _ill = answer(stream, &own);
            }
        };
        thread::Builder::new().name("control".into()).spawn(work).map_err(failed)?;
        let metrics = match config.metrics.parse() {
            Ok(address) => {
                let own = asker.clone();
                let page = move |path: &str| {
                    let text = (path == "/metrics").then(|| own.ask(What::Metrics))?;
                    Some((PROMETHEUS, text.unwrap_or_default()))
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

    /// Leaves the servers to another process: the socket file stays.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // If it stays, the next proxy removes it.
        let _kept = std::fs::remove_file(&self.path);
    }
}

fn answer(stream: UnixStream, asker: &Asker) -> io::Result<()> {
    let what = match questions::read(&stream)?.as_str() {
        "status" => What::Status,
        "flows" => What::Flows,
        "takeover" => {
            let (reply, _nobody) = channel();
            // The loop answers on the stream itself.
            let _gone = asker.to.send(Ask { what: What::Takeover(stream), reply });
            let _awake = asker.wake.write(1);
            return Ok(());
        }
        _ => return Ok(()),
    };
    (&stream).write_all(asker.ask(what).unwrap_or_default().as_bytes())
}

/// Requests `status` or `flows` of the proxy at `socket`, in JSON.
///
/// # Errors
/// No proxy serves it, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    questions::ask(socket, "proxy", question, LONGEST_ANSWER)
}
