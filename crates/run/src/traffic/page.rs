//! Page loads: a main object, time to parse it, then its embedded objects over parallel TCP
//! connections.
//!
//! The HTTP model of 3GPP and NGMN (NGMN white paper on radio access performance evaluation, annex
//! A; the distributions of ns-3's 3gpp-http application): truncated lognormal object sizes, a
//! truncated Pareto number of embedded objects, exponential parsing and reading times. The defaults
//! are the model's numbers: about 56 kB a page, which is small today. A page of 2024 (HTTP Archive,
//! median for desktops) is `main = "18kB"`, `embedded = "37kB"`, `objects = 70`.
//!
//! The browser requests the main object on its first connection. Once this object has arrived and
//! is parsed, it requests the embedded ones, one request at a time on each connection. A page is
//! loaded when its last object has arrived. Connections persist over pages, so there are no
//! handshakes, and the congestion window survives unless the control restarts it after idling. A
//! request is one packet on the uplink; if the queue there has no room, it is sent again after 1 s
//! (RFC 6298's first timeout).
//!
//! P06's variant: over HTTP/1.0 each object has its own connection, with a handshake, in one of the
//! parallel places, from another port of the UE; over HTTP/1.1 one connection takes the requests
//! for all embedded objects at once. As in ns-2 the server, not the UE, sends the SYN after it has
//! the request: the two round trips are the same.
//!
//! Over HTTP/2 (RFC 9113) one connection takes the requests for all embedded objects at once too,
//! and the server sends frames of 16 384 B of all its answers in turn. A lost segment holds all of
//! them up until it is repaired. HTTP/3 (RFC 9114) does the same over UDP, and a lost packet holds
//! up only the answers that have bytes in it.

mod config;
mod streams;

pub use self::config::{
    Http, Lognormal, ObjectCount, ObjectSize, PageConfig, ParetoCount, RequestLaw, RequestSize,
};

use self::streams::Streams;
use crate::results::PageResult;
use crate::times::Times;
use justfull_base::{Duration, Instant, Rng};
use std::collections::VecDeque;

/// Time after which a request that found no room is repeated.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// The state of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Idle until the next page.
    Reading,
    /// The main object is requested.
    Main,
    /// The main object has arrived.
    Parsing,
    /// Embedded objects are requested.
    Embedded,
}

/// One connection of a browser.
#[derive(Clone, Debug, Default)]
struct Connection {
    /// Bytes requested since the start.
    requested: u64,
    /// Objects in transit: the end of each in the stream, and the time of its request.
    due: VecDeque<(u64, Instant)>,
    /// Objects in transit that are interleaved.
    streams: Streams,
}

impl Connection {
    /// True if it waits for no object.
    fn is_idle(&self) -> bool {
        self.due.is_empty() && self.streams.is_idle()
    }
}

/// A request to send: its connection, the size of the answer, and its own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection on the page.
    pub connection: u32,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Bytes of the request.
    pub size: u32,
}

/// A user who loads one page after another.
#[derive(Clone, Debug)]
pub struct Browser {
    config: PageConfig,
    rng: Rng,
    stop: Instant,
    phase: Phase,
    began: Instant,
    /// Bytes of the objects that the page has requested.
    bytes: u64,
    /// Embedded objects not yet requested.
    left: u32,
    mtu: u32,
    connections: Vec<Connection>,
    refused: Vec<Request>,
}

/// The requests of a browser to the driver.
#[derive(Debug, Default)]
pub struct Wish {
    /// Call it at this instant.
    pub wake: Option<Instant>,
    /// The page begun at this instant, with all its bytes, is loaded.
    pub loaded: Option<(Instant, u64)>,
}

impl Browser {
    /// A browser, and the time of its first page: random within one mean parsing time after
    /// `start`.
    pub fn new(
        config: &PageConfig,
        mtu: u32,
        start: Instant,
        stop: Instant,
        mut rng: Rng,
    ) -> (Self, Instant) {
        let first = start + config.parsing.mean().scaled(rng.unit());
        let connections = vec![Connection::default(); config.connections as usize];
        let browser = Self {
            config: config.clone(),
            rng,
            stop,
            phase: Phase::Reading,
            began: start,
            bytes: 0,
            left: 0,
            mtu,
            connections,
            refused: Vec::new(),
        };
        (browser, first)
    }

    /// The browser's timer has fired; appends requests to `out`. True if a page was begun.
    pub fn wake(&mut self, now: Instant, out: &mut Vec<Request>) -> bool {
        out.append(&mut self.refused);
        match self.phase {
            Phase::Reading if now < self.stop => {
                self.phase = Phase::Main;
                (self.began, self.bytes) = (now, 0);
                let bytes = self.config.main.draw(&mut self.rng);
                self.request(now, 0, bytes, out);
                return true;
            }
            Phase::Parsing => {
                self.phase = Phase::Embedded;
                let pipelined = self.config.http.is_pipelined();
                let requests = if pipelined { self.left as usize } else { self.connections.len() };
                for i in 0..requests {
                    self.ask_next(now, if pipelined { 0 } else { i }, out);
                }
            }
            Phase::Reading | Phase::Main | Phase::Embedded => {}
        }
        false
    }

    fn request(&mut self, now: Instant, connection: usize, bytes: u64, out: &mut Vec<Request>) {
        let header = self.config.sender.header;
        let size = self.config.request.draw(&mut self.rng, header, self.mtu);
        let on = &mut self.connections[connection];
        on.requested += bytes;
        if self.config.http.is_multiplexed() {
            on.streams.ask(now, bytes);
        } else {
            on.due.push_back((on.requested, now));
        }
        self.bytes += bytes;
        out.push(Request { connection: connection as u32, bytes, size });
    }

    fn ask_next(&mut self, now: Instant, connection: usize, out: &mut Vec<Request>) {
        if self.left > 0 {
            self.left -= 1;
            let bytes = self.config.embedded.draw(&mut self.rng);
            self.request(now, connection, bytes, out);
        }
    }

    /// `request` found no room; returns the instant for another try.
    pub fn refused(&mut self, now: Instant, request: Request) -> Instant {
        self.refused.push(request);
        now + RETRY
    }

    /// The request for `bytes` on `connection` reaches the server, which has not sent the last
    /// `unsent` bytes of earlier answers.
    pub fn reached_server(&mut self, connection: usize, bytes: u64, unsent: u64) {
        if self.config.http.is_multiplexed() {
            self.connections[connection].streams.open(bytes, unsent);
        }
    }

    /// The bytes from `from` to `to` on `connection` have arrived for the first time.
    pub fn arrived_apart(&mut self, connection: usize, from: u64, to: u64) {
        if self.config.http == Http::Http3 {
            self.connections[connection].streams.arrived_apart(from, to);
        }
    }

    /// `delivered` bytes have arrived in order on `connection` since the start; calls `object` with
    /// the instant of the request for each object that is complete with them.
    pub fn arrived(
        &mut self,
        now: Instant,
        connection: usize,
        delivered: u64,
        out: &mut Vec<Request>,
        mut object: impl FnMut(Instant),
    ) -> Wish {
        let at = &mut self.connections[connection];
        let mut whole = false;
        if self.config.http.is_multiplexed() {
            at.streams.delivered(delivered);
            while let Some(requested) = at.streams.next_complete() {
                object(requested);
                whole = true;
            }
        }
        while let Some((_, requested)) = at.due.front().copied().filter(|due| due.0 <= delivered) {
            at.due.pop_front();
            object(requested);
            whole = true;
        }
        if !whole || !at.is_idle() {
            return Wish::default();
        }
        if self.phase == Phase::Main {
            self.left = self.config.objects.draw(&mut self.rng);
            if self.left > 0 {
                self.phase = Phase::Parsing;
                return Wish {
                    wake: Some(now + self.config.parsing.draw(&mut self.rng)),
                    loaded: None,
                };
            }
        } else {
            self.ask_next(now, connection, out);
            if self.connections.iter().any(|c| !c.is_idle()) {
                return Wish::default();
            }
        }
        self.phase = Phase::Reading;
        let next = now + self.config.reading.draw(&mut self.rng);
        let loaded = Some((self.began, self.bytes));
        Wish { wake: Some(next).filter(|at| *at < self.stop), loaded }
    }
}

/// Counts for the browsers of one name, over pages begun in the measured window.
pub(crate) struct PageCount {
    pub(crate) begun: u64,
    load: Times,
    object: Times,
    end_to_end: Times,
    /// Sum over pages of bytes over time, in kbit/s.
    goodput: f64,
}

impl PageCount {
    pub(crate) fn new() -> Self {
        let [load, object, end_to_end] = [(); 3].map(|()| Times::new());
        Self { begun: 0, load, object, end_to_end, goodput: 0.0 }
    }

    /// A page of `bytes` was loaded within `time`.
    pub(crate) fn loaded(&mut self, time: Duration, bytes: u64) {
        self.load.record(time);
        self.goodput += bytes as f64 * 8e-3 / time.as_secs_f64();
    }

    /// An object was complete `time` after its request.
    pub(crate) fn object(&mut self, time: Duration) {
        self.object.record(time);
    }

    /// A packet of a connection reached the UE `time` after its server had sent it.
    #[inline]
    pub(crate) fn packet(&mut self, time: Duration) {
        self.end_to_end.record(time);
    }

    pub(crate) fn finish(&self) -> PageResult {
        let load = self.load.finish();
        let loaded = load.count;
        PageResult {
            begun: self.begun,
            loaded,
            load,
            object: self.object.finish(),
            end_to_end: self.end_to_end.finish(),
            transfer_goodput_kbit_s: (loaded > 0).then(|| self.goodput / loaded as f64),
        }
    }
}

#[cfg(test)]
mod tests;
