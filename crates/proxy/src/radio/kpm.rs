//! Indications of E2SM-KPM from an xApp. Each line is a JSON object. The lines come from a file
//! that grows, from a named pipe, or in the bodies of HTTP requests.

use super::config::KpmConfig;
use super::{Sink, State};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State as Shared};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::post;
use justfull_net::clock::{Clock, SlotClock};
use justfull_rnis::{
    KpmCell, KpmReader, KpmUe, NamedUe, Tokens, UeTable, each_line, listen, listen_after,
    open_lines,
};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Longest line in bytes; 4 096 UEs with ten measurements each fit.
const LONGEST: usize = 4 << 20;
/// Most connections of xApps; one client may have half of them.
const CONNECTIONS: usize = 32;

/// Starts a thread that reads the indications of `config` until no receiver is left; it ends with
/// the process at the latest. A `successor` waits for the address while the previous process holds
/// it.
///
/// # Errors
/// The source cannot be opened, the address cannot be bound, or a thread cannot be started.
pub(super) fn start(config: &KpmConfig, sink: &Sink, successor: bool) -> io::Result<()> {
    if !config.listen.is_empty() {
        return serve(config, sink.of(&config.listen), successor);
    }
    let sink = sink.of(&config.path);
    let mut reader = Indications::new(config, sink.clone())?;
    let source = open_lines(config.path.as_ref())?;
    sink.state(State::Connected);
    let work = move || {
        let read = each_line(source, true, LONGEST, |line| match line {
            Some(text) => reader.take(text),
            None => {
                sink.wake();
                true
            }
        });
        if let Err(error) = read {
            sink.state(State::Refused(error.to_string()));
        }
    };
    thread::Builder::new().name("reports".into()).spawn(work).map(drop)
}

/// Turns indications into reports for a sink.
struct Indications {
    reader: KpmReader,
    cell: KpmCell,
    table: UeTable,
    clock: SlotClock,
    sink: Sink,
}

impl Indications {
    fn new(config: &KpmConfig, sink: Sink) -> io::Result<Self> {
        Ok(Self {
            reader: KpmReader::default(),
            cell: config.cell(),
            table: UeTable::read(config.ues.as_ref())?,
            clock: SlotClock::start().map_err(io::Error::other)?,
            sink,
        })
    }

    /// Takes an indication; false if no receiver is left.
    fn take(&mut self, text: &[u8]) -> bool {
        // After an error the old table stays in use.
        let _kept = self.table.refresh();
        let table = &self.table;
        let known = |ue: KpmUe<'_>| -> Option<NamedUe> {
            let of_node = table.named(&format!("{}/{}", ue.node, ue.id));
            of_node.or_else(|| table.named(ue.id)).cloned()
        };
        match self.reader.read(text, &self.cell, self.clock.now(), known) {
            Ok(read) => {
                self.sink.unknown(read.unknown);
                self.sink.garbled(read.garbled);
                self.sink.lacking(read.lacking);
                read.reports.into_iter().all(|report| self.sink.take(Ok(report)))
            }
            Err(_) => {
                self.sink.garbled(1);
                true
            }
        }
    }
}

type Receiver = Arc<Mutex<Indications>>;

/// Listens for HTTP requests with lines in their bodies.
fn serve(config: &KpmConfig, sink: Sink, successor: bool) -> io::Result<()> {
    let tokens = match config.token_file.as_str() {
        "" => Tokens::default(),
        file => Tokens::read(Path::new(file))?,
    };
    let receiver: Receiver = Arc::new(Mutex::new(Indications::new(config, sink.clone())?));
    let router = Router::new()
        .route("/indications", post(indications))
        .layer(from_fn_with_state(Arc::new(tokens), admit))
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(receiver);
    let address = config.listen.parse().map_err(io::Error::other)?;
    let listen = if successor { listen_after } else { listen };
    let server = listen(address, None, router, CONNECTIONS)?;
    sink.state(State::Connected);
    let hold = move || {
        let _server = server;
        loop {
            thread::park();
        }
    };
    thread::Builder::new().name("reports".into()).spawn(hold).map(drop)
}

async fn admit(Shared(tokens): Shared<Arc<Tokens>>, request: Request, next: Next) -> Response {
    match tokens.refusal(request.headers(), true) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

async fn indications(Shared(receiver): Shared<Receiver>, body: Bytes) -> StatusCode {
    let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = body.split(|byte| *byte == b'\n');
    let goes_on = lines.all(|line| line.iter().all(u8::is_ascii_whitespace) || receiver.take(line));
    receiver.sink.wake();
    if goes_on { StatusCode::NO_CONTENT } else { StatusCode::SERVICE_UNAVAILABLE }
}
