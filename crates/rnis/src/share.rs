//! A client's share of a server: connections, bytes of answers that it has not read, and time to
//! read them.

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use justfull_net::{Prefix, clock, victim};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::Sleep;

/// Most bytes of answers that wait for their readers, of all clients and of one.
const MOST_BYTES: usize = 256 << 20;
const SHARE_BYTES: usize = 64 << 20;
/// Longest time in which a client may read nothing, and bytes per second that it must read on
/// average.
const PATIENCE: Duration = Duration::from_secs(5);
const LEAST_RATE: u32 = 32 << 10;
/// Bytes of an answer that go to the connection at once.
const PIECE: usize = 16 << 10;

/// A connection.
#[derive(Debug)]
struct Entry {
    number: u64,
    client: Prefix,
    /// When its client last sent something.
    heard: Instant,
    /// Bytes of its answer.
    bytes: usize,
    task: AbortHandle,
}

#[derive(Debug)]
struct Inner {
    open: Vec<Entry>,
    next: u64,
}

/// The connections of a server.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    inner: Arc<Mutex<Inner>>,
    most: usize,
}

/// One connection of [`Places`].
#[derive(Clone, Debug)]
pub(crate) struct Open {
    places: Places,
    client: Prefix,
    number: u64,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        let inner = Inner { open: Vec::new(), next: 0 };
        Self { inner: Arc::new(Mutex::new(inner)), most }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection of `client`; `start` starts its task. There is always a place for it.
    pub(crate) fn enter(&self, client: Prefix, start: impl FnOnce(Open) -> AbortHandle) {
        let mut inner = self.lock();
        let of_client = |entry: &&Entry| entry.client == client;
        if inner.open.iter().filter(of_client).count() >= (self.most / 2).max(1) {
            inner.end(|entry| entry.client == client);
        } else if inner.open.len() >= self.most {
            inner.end(|_| true);
        }
        let number = inner.next;
        inner.next += 1;
        drop(inner);
        // The task does not run before this thread waits.
        let task = start(Open { places: self.clone(), client, number });
        self.lock().open.push(Entry { number, client, heard: clock::now(), bytes: 0, task });
    }
}

impl Inner {
    /// Ends the connection that has been silent longest, of the client that has the most among
    /// those for which `may_go` is true; false if there is none.
    fn end(&mut self, may_go: impl Fn(&Entry) -> bool) -> bool {
        let those: Vec<usize> = (0..self.open.len()).filter(|i| may_go(&self.open[*i])).collect();
        let ranked = those.iter().map(|i| (self.open[*i].client, self.open[*i].heard));
        let Some(index) = victim(ranked) else { return false };
        self.open.swap_remove(those[index]).task.abort();
        true
    }

    fn bytes(&self, of: impl Fn(&Entry) -> bool) -> usize {
        self.open.iter().filter(|entry| of(entry)).map(|entry| entry.bytes).sum()
    }
}

impl Open {
    /// Its client.
    pub(crate) const fn client(&self) -> Prefix {
        self.client
    }

    fn with(&self, then: impl FnOnce(&mut Entry)) {
        let mut inner = self.places.lock();
        // Another connection may have taken its place.
        if let Some(entry) = inner.open.iter_mut().find(|entry| entry.number == self.number) {
            then(entry);
        }
    }

    fn heard(&self) {
        self.with(|entry| entry.heard = clock::now());
    }

    /// The connection has ended.
    pub(crate) fn leave(&self) {
        self.places.lock().open.retain(|entry| entry.number != self.number);
    }

    /// Counts `bytes` for an answer. Clients that have not read their answers make room.
    fn hold(&self, bytes: usize) {
        let mut inner = self.places.lock();
        let own = |entry: &Entry| entry.client == self.client;
        let waits = |entry: &Entry| entry.number != self.number && entry.bytes > 0;
        while inner.bytes(own) + bytes > SHARE_BYTES
            && inner.end(|entry| own(entry) && waits(entry))
        {}
        while inner.bytes(|_| true) + bytes > MOST_BYTES && inner.end(waits) {}
        drop(inner);
        self.with(|entry| entry.bytes = bytes);
    }
}

/// The body of an answer; it counts until all of it is on its way.
#[derive(Debug)]
pub(crate) struct Held {
    open: Open,
    bytes: Bytes,
}

impl Held {
    pub(crate) fn new(open: Open, bytes: Bytes) -> Self {
        open.hold(bytes.len());
        Self { open, bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.open.with(|entry| entry.bytes = 0);
    }
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = &mut self.get_mut().bytes;
        let piece = bytes.split_to(bytes.len().min(PIECE));
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

/// A connection that ends if its client does not read.
#[derive(Debug)]
pub(crate) struct Reader {
    stream: TcpStream,
    open: Open,
    /// Time for which the client may still keep the server waiting.
    left: Duration,
    /// Start of the present wait, and its end.
    waits: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Reader {
    pub(crate) const fn new(stream: TcpStream, open: Open) -> Self {
        Self { stream, open, left: PATIENCE, waits: None }
    }

    /// The bytes that the client has read give it time, up to [`PATIENCE`].
    fn has_read(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waits.take() {
            self.left = self.left.saturating_sub(clock::now().duration_since(since));
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.left = (self.left + Duration::from_secs(1) * bytes / LEAST_RATE).min(PATIENCE);
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut own.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            own.open.heard();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Reader {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        if let Poll::Ready(written) = Pin::new(&mut own.stream).poll_write(context, bytes) {
            own.has_read(*written.as_ref().unwrap_or(&0));
            return Poll::Ready(written);
        }
        let left = own.left;
        let (_, end) =
            own.waits.get_or_insert_with(|| (clock::now(), Box::pin(tokio::time::sleep(left))));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_net::client;

    /// A connection that never ends by itself.
    fn enter(places: &Places, address: &str) -> Open {
        let mut entered = None;
        places.enter(client(address.parse().expect("an address")), |open| {
            entered = Some(open);
            tokio::spawn(std::future::pending::<()>()).abort_handle()
        });
        entered.expect("there is always a place")
    }

    fn stays(open: &Open) -> bool {
        open.places.lock().open.iter().any(|entry| entry.number == open.number)
    }

    fn within<T>(test: impl FnOnce() -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async { test() })
    }

    #[test]
    fn a_client_has_half_of_the_places_and_the_most_silent_goes() {
        within(|| {
            let places = Places::new(4);
            let [first, second] = ["192.0.2.1"; 2].map(|at| enter(&places, at));
            first.heard();
            let third = enter(&places, "192.0.2.1");
            assert!(stays(&first) && !stays(&second) && stays(&third));
            let others = ["192.0.2.2", "192.0.2.3"].map(|at| enter(&places, at));
            let last = enter(&places, "192.0.2.4");
            assert_eq!([stays(&first), stays(&third)], [false, true], "it had the most");
            assert!(others.iter().chain([&last]).all(stays));
            last.leave();
            assert!(!stays(&last));
        });
    }

    #[test]
    fn answers_that_are_not_read_give_way() {
        within(|| {
            let places = Places::new(256);
            let of = |at| [at; 3].map(|at| enter(&places, at));
            let (one, other) = (of("192.0.2.1"), of("192.0.2.2"));
            for open in [&one[0], &one[1], &other[0], &one[2]] {
                open.hold(30 << 20);
            }
            assert_eq!(one.each_ref().map(stays), [false, true, true], "64 MiB for one");
            assert!(stays(&other[0]));
            for n in 3..12 {
                enter(&places, &format!("192.0.2.{n}")).hold(30 << 20);
            }
            assert!(places.lock().bytes(|_| true) <= MOST_BYTES);
            drop(Held { open: other[1].clone(), bytes: Bytes::new() });
            assert!(stays(&other[1]), "who holds nothing stays");
        });
    }
}
