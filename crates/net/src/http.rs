//! A small HTTP server that no client can block.
//!
//! One thread serves all connections with poll(2) and waits for none of them. Each client's use is
//! bounded: a head of [`HEAD_BYTES`], [`CONNECTIONS`] connections at a time, [`PATIENCE`] to send a
//! request and as long again to read the response. Bodies are never read into memory, and a
//! connection carries one request (RFC 9112, section 9.6: `Connection: close`). When all
//! connections are in use, a new client takes the place of a connection that has kept the server
//! waiting, of the client with the most connections. The bytes that wait in the kernel are bounded
//! too.

use crate::clients::{bounded_listener, client, victim};
use crate::clock::now;
use crate::prefix::Prefix;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that a request line and its fields may take together.
pub const HEAD_BYTES: usize = 8 * 1024;
/// Connections served at a time.
pub const CONNECTIONS: usize = 32;
/// Time limit for receiving a request, and for sending its response.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes after a request that are read and discarded, so that the client sees its response before
/// the connection is reset.
const DRAINED: usize = 64 * 1024;
/// How often the thread checks deadlines and whether to end.
const LOOK: Duration = Duration::from_millis(100);
/// Longest wait for the thread when a server is dropped.
const END: Duration = Duration::from_secs(1);
/// Connections accepted before others are served again.
const ACCEPTED_AT_ONCE: usize = 64;

/// The method of a request, as far as the server distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: as `GET`, without the body.
    Head,
    /// Any other.
    Other,
}

/// A request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its method.
    pub method: Method,
    /// The target up to its query.
    pub path: &'a str,
}

/// The state of a connection's bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// An incomplete head.
    Part,
    /// A complete head.
    Whole(Request<'a>),
    /// Not HTTP/1.
    Malformed,
    /// More than [`HEAD_BYTES`] without an end.
    TooLong,
}

/// Parses the head of a request (RFC 9112, sections 2 and 3). Ignores its fields.
#[must_use]
pub fn head(bytes: &[u8]) -> Head<'_> {
    // Empty lines before a request are ignored (section 2.2).
    let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let bytes = &bytes[blank..];
    let line = bytes.iter().position(|byte| *byte == b'\n');
    let ends = line.is_some_and(|line| {
        let fields = &bytes[line..];
        fields.windows(2).any(|pair| pair == b"\n\n")
            || fields.windows(3).any(|three| three == b"\n\r\n")
    });
    let Some(line) = line.filter(|_| ends) else {
        return if blank + bytes.len() < HEAD_BYTES { Head::Part } else { Head::TooLong };
    };
    let line = &bytes[..line];
    request(line.strip_suffix(b"\r").unwrap_or(line)).map_or(Head::Malformed, Head::Whole)
}

/// Reads `METHOD TARGET HTTP/1.N`.
fn request(line: &[u8]) -> Option<Request<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let sound = words.next().is_none()
        && !method.is_empty()
        && method
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        && !target.is_empty()
        && target.bytes().all(|byte| byte.is_ascii_graphic())
        && matches!(version, "HTTP/1.1" | "HTTP/1.0");
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        _ => Method::Other,
    };
    let path = target.split(['?', '#']).next().unwrap_or_default();
    sound.then_some(Request { method, path })
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code and reason, e.g. `200 OK`.
    pub status: &'static str,
    /// Media type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// A line of text with this status.
    #[must_use]
    pub fn text(status: &'static str, line: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{line}\n") }
    }

    fn into_bytes(self, with_body: bool) -> Vec<u8> {
        let Self { status, kind, body } = self;
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let mut bytes = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: \
             {}\r\n{allow}Connection: close\r\n\r\n",
            body.len()
        )
        .into_bytes();
        if with_body {
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }
}

/// A server that runs until it is dropped, which takes a second at most.
#[derive(Debug)]
pub struct Server {
    stop: Arc<AtomicBool>,
    ended: Receiver<()>,
    address: SocketAddr,
}

impl Server {
    /// Listens on `address`. `page` returns the body for a path with its media type, or none if
    /// there is no such page.
    ///
    /// # Errors
    /// The address cannot be bound, or the thread cannot be started.
    pub fn start(
        address: SocketAddr,
        page: impl FnMut(&str) -> Option<(&'static str, String)> + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_listener(bounded_listener(address)?, page)
    }

    /// Like [`Server::start`], with an existing listener.
    ///
    /// # Errors
    /// It is not a listener, or the thread cannot be started.
    pub fn with_listener(
        listener: TcpListener,
        page: impl FnMut(&str) -> Option<(&'static str, String)> + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::<AtomicBool>::default();
        let (alive, ended) = channel();
        let told = Arc::clone(&stop);
        let work = move || {
            serve(&listener, &told, page);
            drop(alive);
        };
        thread::Builder::new().name("http".into()).spawn(work)?;
        Ok(Self { stop, ended, address })
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The channel closes when the thread has ended. A thread that has not ended by then ends
        // with the process.
        let _ended = self.ended.recv_timeout(END);
    }
}

/// The state of a connection.
#[derive(Debug)]
enum Stage {
    Reading(Vec<u8>),
    Writing {
        bytes: Vec<u8>,
        written: usize,
    },
    /// Discards further bytes of the client, up to this number.
    Draining(usize),
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    client: Prefix,
    stage: Stage,
    deadline: Instant,
}

/// The result of trying to proceed.
enum Step {
    /// Nothing more can be done now.
    Waits,
    /// The next stage.
    Next(Stage),
    /// The connection is over.
    Over,
}

impl Connection {
    /// Proceeds as far as possible without waiting; false when the connection is over.
    fn go_on(&mut self, page: &mut impl FnMut(&str) -> Option<(&'static str, String)>) -> bool {
        loop {
            let stream = &mut self.stream;
            let step = match &mut self.stage {
                Stage::Reading(head) => read(stream, head, page),
                Stage::Writing { bytes, written } => write(stream, bytes, written),
                Stage::Draining(left) => drain(stream, left),
            };
            match step {
                Step::Waits => return now() < self.deadline,
                Step::Next(stage) => (self.stage, self.deadline) = (stage, now() + PATIENCE),
                Step::Over => return false,
            }
        }
    }

    fn interest(&self) -> PollFlags {
        if matches!(self.stage, Stage::Writing { .. }) {
            PollFlags::POLLOUT
        } else {
            PollFlags::POLLIN
        }
    }
}

fn read(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    page: &mut impl FnMut(&str) -> Option<(&'static str, String)>,
) -> Step {
    let mut chunk = [0; 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Step::Over,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) => return waits_or_over(&error),
        }
        let found = head(bytes);
        if found != Head::Part {
            let (answer, with_body) = answer(found, page);
            return Step::Next(Stage::Writing { bytes: answer.into_bytes(with_body), written: 0 });
        }
    }
}

/// The response to a complete or invalid head, and whether to send its body.
fn answer(
    head: Head<'_>,
    page: &mut impl FnMut(&str) -> Option<(&'static str, String)>,
) -> (Answer, bool) {
    let request = match head {
        Head::Whole(request) => request,
        Head::TooLong => {
            return (
                Answer::text("431 Request Header Fields Too Large", "the head is too long"),
                true,
            );
        }
        Head::Part | Head::Malformed => {
            return (Answer::text("400 Bad Request", "no request of HTTP/1"), true);
        }
    };
    let with_body = request.method != Method::Head;
    let answer = match page(request.path) {
        None => Answer::text("404 Not Found", "there is no such page"),
        Some(_) if request.method == Method::Other => {
            Answer::text("405 Method Not Allowed", "GET it")
        }
        Some((kind, body)) => Answer { status: "200 OK", kind, body },
    };
    (answer, with_body)
}

fn write(stream: &mut TcpStream, bytes: &[u8], written: &mut usize) -> Step {
    while *written < bytes.len() {
        match stream.write(&bytes[*written..]) {
            Ok(0) => return Step::Over,
            Ok(length) => *written += length,
            Err(error) => return waits_or_over(&error),
        }
    }
    // Closing with unread input would reset the connection, and the client might lose its response
    // (RFC 9112, section 9.6).
    match stream.shutdown(Shutdown::Write) {
        Ok(()) => Step::Next(Stage::Draining(DRAINED)),
        Err(_) => Step::Over,
    }
}

fn drain(stream: &mut TcpStream, left: &mut usize) -> Step {
    let mut chunk = [0; 4096];
    while *left > 0 {
        match stream.read(&mut chunk) {
            Ok(0) => return Step::Over,
            Ok(length) => *left = left.saturating_sub(length),
            Err(error) => return waits_or_over(&error),
        }
    }
    Step::Over
}

fn waits_or_over(error: &io::Error) -> Step {
    match error.kind() {
        // An interrupted call is repeated when poll reports readiness.
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Step::Waits,
        _ => Step::Over,
    }
}

fn serve(
    listener: &TcpListener,
    stop: &AtomicBool,
    mut page: impl FnMut(&str) -> Option<(&'static str, String)>,
) {
    let mut open = VecDeque::with_capacity(CONNECTIONS);
    let mut accepts = true;
    while !stop.load(Ordering::Relaxed) {
        wait(listener, accepts, &open);
        accepts = accept(listener, &mut open, &mut page);
        open.retain_mut(|connection| connection.go_on(&mut page));
    }
}

/// Waits until something can be done, at most [`LOOK`].
fn wait(listener: &TcpListener, accepts: bool, open: &VecDeque<Connection>) {
    let incoming = if accepts { PollFlags::POLLIN } else { PollFlags::empty() };
    let mut watched = Vec::with_capacity(1 + CONNECTIONS);
    watched.push(PollFd::new(listener.as_fd(), incoming));
    watched.extend(open.iter().map(|c| PollFd::new(c.stream.as_fd(), c.interest())));
    let limit = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
    if poll(&mut watched, limit).is_err() {
        // Interrupted, or out of memory: do not start the next round at once.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Accepts new connections and serves them as far as possible. False when the machine has no
/// resources for more.
fn accept(
    listener: &TcpListener,
    open: &mut VecDeque<Connection>,
    page: &mut impl FnMut(&str) -> Option<(&'static str, String)>,
) -> bool {
    for _ in 0..ACCEPTED_AT_ONCE {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                let passes = matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                        | io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                );
                return passes;
            }
        };
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        let stage = Stage::Reading(Vec::new());
        let (client, deadline) = (client(from.ip()), now() + PATIENCE);
        let mut connection = Connection { stream, client, stage, deadline };
        if connection.go_on(page) {
            make_room(open);
            open.push_back(connection);
        }
    }
    true
}

/// Closes a connection of the client that has the most. First go connections that have their
/// response, then those without a request, then those that read their response; among equals the
/// oldest.
fn make_room(open: &mut VecDeque<Connection>) {
    if open.len() < CONNECTIONS {
        return;
    }
    let rank = |connection: &Connection| match connection.stage {
        Stage::Draining(_) => 0,
        Stage::Reading(_) => 1,
        Stage::Writing { .. } => 2,
    };
    let ranked = open.iter().enumerate().map(|(age, c)| (c.client, (rank(c), age)));
    open.remove(victim(ranked).unwrap_or(0));
}

#[cfg(test)]
mod tests;
