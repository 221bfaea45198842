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

mod streams;

use self::streams::Streams;
use crate::results::PageResult;
use crate::times::Times;
use crate::traffic::Span;
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param};
use justfull_base::{Bytes, ConfigError, Duration, Instant, Rng, choice, table};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Time after which a request that found no room is repeated.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Maximum number of connections of a page.
pub(crate) const MOST_CONNECTIONS: u32 = 32;

/// Size of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ObjectSize {
    /// Constant.
    Constant(Bytes),
    /// Lognormal, redrawn until it is within its bounds.
    Lognormal(Lognormal),
}

table! {
    /// A truncated lognormal law.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Lognormal {
        /// Mean before truncation.
        mean: Bytes;
        /// Standard deviation before truncation.
        sd: Bytes;
        /// Least size.
        min: Bytes;
        /// Greatest size.
        max: Bytes;
    }
}

/// The model's lognormal distribution of sizes, at most 2 MB.
fn lognormal(mean: u64, sd: u64, min: u64) -> ObjectSize {
    let [mean, sd, min, max] = [mean, sd, min, 2_000_000].map(Bytes);
    ObjectSize::Lognormal(Lognormal { mean, sd, min, max })
}

impl Param for ObjectSize {
    const UNIT: &'static str = "bytes, or { mean, sd, min, max }";

    fn form() -> Form {
        Form::OneOf(vec![Bytes::form(), Lognormal::form()])
    }

    fn allowed() -> String {
        "1B to 1GiB".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(size) => size.written(),
            Self::Lognormal(law) => law.written(),
        }
    }
}

impl Param for ObjectCount {
    const UNIT: &'static str = "number, or { pareto, least, most }";

    fn form() -> Form {
        Form::OneOf(vec![u32::form(), ParetoCount::form()])
    }

    fn allowed() -> String {
        "at most 10000".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(count) => count.written(),
            Self::Pareto(law) => law.written(),
        }
    }
}

impl ObjectSize {
    fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Constant(size) => size.0,
            Self::Lognormal(law) => {
                let ratio = law.sd.0 as f64 / law.mean.0 as f64;
                let variance = libm::log(1.0 + ratio * ratio);
                let location = libm::log(law.mean.0 as f64) - variance / 2.0;
                loop {
                    let size = libm::exp(location + libm::sqrt(variance) * rng.normal());
                    if (law.min.0 as f64..=law.max.0 as f64).contains(&size) {
                        return (size as u64).max(1);
                    }
                }
            }
        }
    }

    fn validate(&self, name: &str) -> Result<(), ConfigError> {
        let gib = 1 << 30;
        match self {
            Self::Constant(size) => ensure(
                (1..=gib).contains(&size.0),
                name,
                size,
                "1B to 1GiB",
                "an object has content",
            ),
            Self::Lognormal(Lognormal { mean, sd, min, max }) => {
                let sound = min.0 >= 1 && min.0 <= mean.0 && mean.0 <= max.0 && max.0 <= gib;
                let bound = "1B <= min <= mean <= max <= 1GiB";
                ensure(
                    sound,
                    &format!("{name}.mean"),
                    mean,
                    bound,
                    "most draws are within the bounds",
                )?;
                let most = 100 * mean.0;
                ensure(
                    sd.0 <= most,
                    &format!("{name}.sd"),
                    sd,
                    "at most 100 means",
                    "most draws are within the bounds",
                )
            }
        }
    }
}

/// Size of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestSize {
    /// This size on the IP layer.
    Constant(Bytes),
    /// Lognormal, with the headers of its connection on top.
    LogNormal(RequestLaw),
}

table! {
    /// A lognormal law by what the logarithm of a size in bytes has.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RequestLaw {
        /// Mean of the logarithm.
        ln_mean: f64 where (within(0.0, 7.0));
        /// Standard deviation of the logarithm.
        ln_sd: f64 where (within(0.0, 2.0));
    }
}

impl Param for RequestSize {
    const UNIT: &'static str = "bytes, or { ln_mean, ln_sd }";

    fn form() -> Form {
        Form::OneOf(vec![Bytes::form(), RequestLaw::form()])
    }

    fn allowed() -> String {
        "40B to the MTU; ln_mean 0 to 7, ln_sd 0 to 2".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(size) => size.written(),
            Self::LogNormal(law) => law.written(),
        }
    }
}

impl RequestSize {
    /// Bytes on the IP layer, at most `mtu`.
    pub(super) fn draw(&self, rng: &mut Rng, header: u32, mtu: u32) -> u32 {
        match self {
            Self::Constant(size) => size.0 as u32,
            Self::LogNormal(RequestLaw { ln_mean, ln_sd }) => {
                let size = libm::exp(ln_mean + ln_sd * rng.normal());
                (header + (size as u32).max(1)).min(mtu)
            }
        }
    }

    pub(super) fn validate(&self, mtu: u32) -> Result<(), ConfigError> {
        match self {
            Self::Constant(size) => {
                let fits = (40..=u64::from(mtu)).contains(&size.0);
                ensure(fits, "request", size, "40B to the MTU", "one packet")
            }
            Self::LogNormal(RequestLaw { ln_mean, ln_sd }) => {
                let fits = (0.0..=7.0).contains(ln_mean);
                ensure(fits, "request.ln_mean", ln_mean, "0 to 7", "one packet")?;
                let fits = (0.0..=2.0).contains(ln_sd);
                ensure(fits, "request.ln_sd", ln_sd, "0 to 2", "one packet")
            }
        }
    }
}

choice! {
    serde;
    /// How objects share connections.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Http {
        /// HTTP/1.1 without pipelining: parallel connections that live on, one request at a time on
        /// each.
        #[default]
        Parallel = "parallel",
        /// HTTP/1.0: a connection with a handshake for each object, as many at a time as there are
        /// `connections`.
        Http10 = "1.0",
        /// HTTP/1.1 with pipelining: one connection that lives on, all embedded objects requested
        /// at once.
        Http11 = "1.1",
        /// HTTP/2: one connection that lives on, all embedded objects requested at once, the
        /// answers interleaved in frames.
        Http2 = "2",
        /// HTTP/3: the same over UDP; a lost packet holds up only the answers that have bytes in
        /// it.
        Http3 = "3",
    }
}

impl Http {
    /// True if one connection takes the requests for all embedded objects at once.
    const fn is_pipelined(self) -> bool {
        matches!(self, Self::Http11 | Self::Http2 | Self::Http3)
    }

    /// True if the server interleaves its answers.
    const fn is_multiplexed(self) -> bool {
        matches!(self, Self::Http2 | Self::Http3)
    }
}

/// Number of embedded objects of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ObjectCount {
    /// Constant.
    Constant(u32),
    /// Pareto with shape `pareto` from `least` on; values beyond `most` count as `most`. The result
    /// is rounded, then `least` is subtracted.
    Pareto(ParetoCount),
}

table! {
    /// A truncated Pareto law.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ParetoCount {
        /// Shape.
        pareto: f64 where (within(0.1, 100.0));
        /// Where the law begins.
        least: u32 where (within(1, 10_000));
        /// Where it ends.
        most: u32 where (within(1, 10_000).and("not below least", |c| c.least <= c.most));
    }
}

impl ObjectCount {
    fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Self::Constant(n) => *n,
            Self::Pareto(ParetoCount { pareto, least, most }) => {
                let drawn = f64::from(*least) / libm::pow(1.0 - rng.unit(), 1.0 / pareto);
                (drawn.min(f64::from(*most)) + 0.5) as u32 - least
            }
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Constant(n) => {
                ensure(*n <= 10_000, "objects", n, "at most 10000", "objects of one page")
            }
            Self::Pareto(ParetoCount { pareto, least, most }) => {
                let sound = (0.1..=100.0).contains(pareto);
                ensure(sound, "objects.pareto", pareto, "0.1 to 100", "shape of a Pareto law")?;
                let sound = *least >= 1 && least <= most && *most <= 10_000;
                ensure(sound, "objects.most", most, "least to 10000", "objects of one page")
            }
        }
    }
}

table! {
    /// Settings of page loads.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PageConfig with Default {
        /// Size of the main object.
        main: ObjectSize = lognormal(10_710, 25_032, 100);
        /// Size of an embedded object.
        embedded: ObjectSize = lognormal(7_758, 126_168, 50);
        /// Number of embedded objects.
        objects: ObjectCount = ObjectCount::Pareto(ParetoCount { pareto: 1.1, least: 2, most: 55 });
        /// From the main object's arrival to the first request for an embedded object.
        parsing: Span = Span::Exponential { exponential: Duration::from_millis(130) };
        /// From a page's last object to the next page.
        reading: Span = Span::Exponential { exponential: Duration::from_secs(30) };
        /// How objects share connections.
        http: Http = Http::Parallel;
        /// Size of a request on the IP layer, or the law of its payload.
        request: RequestSize = RequestSize::Constant(Bytes(350));
        /// Parallel connections.
        connections: u32 = 6, within(1, MOST_CONNECTIONS)
            .and("1 with http = 1.1, 2 or 3", |c| !c.http.is_pipelined() || c.connections == 1),
            "browsers open about six to a server";
        /// The server's end of each connection.
        sender: SenderConfig = SenderConfig::default();
        /// The UE's end of each connection.
        receiver: ReceiverConfig = ReceiverConfig::default();
    }
}

impl PageConfig {
    /// Checks every bound; `mtu` is the cell's.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.main.validate("main")?;
        self.embedded.validate("embedded")?;
        self.objects.validate()?;
        self.request.validate(mtu)?;
        super::check_mss(&self.sender, mtu)?;
        self.validate()
    }
}

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
