//! Requests to a running stage: over a local socket, and to the server of metrics. Other threads
//! wait for clients; the stage's loop never waits.

use crate::config::OperationConfig;
use justfull_net::questions::{self, PATIENCE, PROMETHEUS};
use justfull_net::{SystemError, bounded_listener, http};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// An answer about 1 000 000 UEs.
const LONGEST_ANSWER: u64 = 1 << 30;
/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Status,
    Tunnels,
    Metrics,
    /// The path of the routing domain, for a proxy.
    Domain,
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
                Some((PROMETHEUS, text.unwrap_or_default()))
            };
            let server = bounded_listener(address)
                .and_then(|listener| http::Server::with_listener(listener, page));
            server.map_err(|e| SystemError::new(format!("serve metrics at {address}"), e))
        });
        let metrics = metrics.transpose()?;
        let path = PathBuf::from(&config.socket);
        let failed = |e: io::Error| SystemError::new(format!("listen at {}", path.display()), e);
        let listener = questions::bind(&path).map_err(failed)?;
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
        // If it stays, the next stage removes it.
        let _kept = std::fs::remove_file(&self.path);
    }
}

fn answer(mut stream: &UnixStream, asker: &Asker) -> io::Result<()> {
    let what = match questions::read(stream)?.as_str() {
        "status" => What::Status,
        "tunnels" => What::Tunnels,
        "domain" => What::Domain,
        _ => return Ok(()),
    };
    stream.write_all(asker.ask(what).unwrap_or_default().as_bytes())
}

/// Requests `status`, `domain` or `tunnels` of the stage at `socket`, in JSON.
///
/// # Errors
/// No stage serves it, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    questions::ask(socket, "stage", question, LONGEST_ANSWER)
}
