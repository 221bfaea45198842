//! Servers for questions to a service. Threads wait for clients of a local socket and of the
//! metrics server, and pass each question to the service's loop. The loop never waits.

use super::{PATIENCE, PROMETHEUS, bind, read};
use crate::{SystemError, bounded_listener, http};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// The questions that a service answers.
pub trait Question: Copy + Send + 'static {
    /// The question of a client of the metrics server.
    const METRICS: Self;

    /// The question of a word; none for other words.
    fn of(word: &str) -> Option<Self>;
}

/// A question, and the channel for its answer.
#[derive(Debug)]
pub struct Ask<Q> {
    /// The question.
    pub what: Q,
    /// Takes the answer.
    pub reply: Sender<String>,
}

/// Passes questions to the loop.
#[derive(Clone, Debug)]
pub struct Asker<Q> {
    /// The loop's end.
    pub to: Sender<Ask<Q>>,
}

impl<Q> Asker<Q> {
    fn ask(&self, what: Q) -> Option<String> {
        let (reply, answer) = channel();
        self.to.send(Ask { what, reply }).ok()?;
        answer.recv_timeout(PATIENCE).ok()
    }
}

/// Servers that run until this is dropped.
#[derive(Debug)]
pub struct Servers {
    path: PathBuf,
    _metrics: Option<http::Server>,
}

impl Servers {
    /// Listens at the path `socket`, and serves metrics at `metrics` if that is an address.
    ///
    /// # Errors
    /// The socket or the address is in use, or the system refuses.
    pub fn start<Q: Question>(
        socket: &str,
        metrics: &str,
        asker: &Asker<Q>,
    ) -> Result<Self, SystemError> {
        let metrics = metrics.parse().ok().map(|address| {
            let own = asker.clone();
            let page = move |path: &str| {
                let text = (path == "/metrics").then(|| own.ask(Q::METRICS))?;
                Some((PROMETHEUS, text.unwrap_or_default()))
            };
            let server = bounded_listener(address)
                .and_then(|listener| http::Server::with_listener(listener, page));
            server.map_err(|e| SystemError::new(format!("serve metrics at {address}"), e))
        });
        let metrics = metrics.transpose()?;
        let path = PathBuf::from(socket);
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
        // If the socket stays, the next service removes it.
        let _kept = std::fs::remove_file(&self.path);
    }
}

fn answer<Q: Question>(mut stream: &UnixStream, asker: &Asker<Q>) -> io::Result<()> {
    let Some(what) = Q::of(&read(stream)?) else { return Ok(()) };
    stream.write_all(asker.ask(what).unwrap_or_default().as_bytes())
}
