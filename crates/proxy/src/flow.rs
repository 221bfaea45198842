//! One proxied connection: a leg to the client, a leg to the server, and the bytes between them.
//!
//! Until both ends have closed and all data is acknowledged, closing either socket resets it
//! (SO_LINGER 0): however the proxy ends, no peer takes a truncated stream for a complete one.

mod moved;
mod outcome;
mod shown;

pub(crate) use moved::FlowState;
pub(crate) use outcome::{Outcome, outcome_of};

use crate::allocator::{Allocator, Member};
use crate::pools::{Client, PoolId, Pools};
use crate::radio_leg::RadioLeg;
use crate::relay::{Direction, End, Failed, Pool};
use crate::system;
use justfull_base::{Duration, Instant};
use justfull_rapid::{Sample, Windows};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::epoll::EpollFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// A flow is sampled at most this often, and shorter round trips count as this one: a process does
/// not run at the instant at which data arrives, and a window for less would stop a near peer.
const LEAST_SAMPLE: Duration = Duration::from_millis(1);
/// If a turn of the loop takes more than this part of a flow's wired round trip, it delays the
/// flow.
const LATE_PART: u64 = 4;
/// The radio leg's pace follows its round trip up to this multiple of the least.
const RTT_GROWTH: u64 = 2;
/// The radio leg's socket accepts at least so many unsent segments.
const LEAST_UNSENT: u64 = 4;
/// A connection takes part in the control once its server has sent more than this: four segments of
/// Ethernet with timestamps. Both ends begin with ten (RFC 6928), so windows would bound no less.
const JOINS_AT: u64 = 4 * 1_448;

/// A socket of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    Client,
    Server,
}

/// The next state of a connection.
#[derive(Debug)]
pub(crate) enum Step {
    /// It waits for an event.
    Waits,
    /// It continues after the others had their turn.
    Again,
    /// It is over.
    Over(Outcome),
}

/// State that all connections share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) scratch: Vec<u8>,
    /// Number of times that a TIME_WAIT was ended because a client reused its port.
    pub(crate) time_waits: u64,
    /// The bound on the UEs' legs.
    pub(crate) leg: RadioLeg,
    /// Length of the last turn of the loop; events wait during a turn.
    pub(crate) turn: Duration,
    pub(crate) pools: Pools,
}

/// See the module's page.
pub(crate) struct Flow {
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) client_at: SocketAddr,
    pub(crate) pool: PoolId,
    pub(crate) server_at: SocketAddr,
    pub(crate) up: Direction,
    pub(crate) down: Direction,
    pub(crate) connected: bool,
    pub(crate) opened: Instant,
    pub(crate) active: Instant,
    /// None if it does not take part in the control.
    pub(crate) member: Option<Member>,
    pub(crate) windows: Windows,
    /// Segments of both legs; 0 until it takes part in the control.
    pub(crate) mss: [u32; 2],
    /// It is in the list of connections that continue.
    pub(crate) listed: bool,
    failed: [bool; 2],
    sampled: Instant,
    sampled_bytes: [u64; 2],
    /// Since the last sample, data of the server has waited here for the radio leg.
    held: bool,
    pub(crate) wired: Duration,
    pub(crate) radio: Duration,
    radio_least: Duration,
    paced: Option<u64>,
    /// Bound on unsent bytes in its radio leg's socket; 0 before the first.
    unsent: u64,
    /// Its place in the array of the radio legs' windows.
    pub(crate) slot: u32,
    /// Bound of the radio leg in segments; 0 before the first.
    segments: u32,
    /// True if the bound could be set.
    bounded: bool,
}

/// Makes a socket reset its peer when it is closed. Accepted sockets inherit this from their
/// listener.
pub(crate) fn prepare(socket: &Socket) -> io::Result<()> {
    socket.set_linger(Some(std::time::Duration::ZERO))?;
    // An urgent byte keeps its place among the others (RFC 6093, section 6).
    socket.set_out_of_band_inline(true)?;
    socket.set_tcp_nodelay(true)
}

impl Flow {
    /// Takes the connection of a client. Begins one to its server, from the client's own address
    /// and port, unless there is one in `server`.
    pub(crate) fn begin(
        client: Socket,
        from: Client,
        server: Option<Socket>,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, (Outcome, Option<SocketAddr>)> {
        let left = (Outcome::ClientLeft, None);
        let Client { pool, at: client_at } = from;
        let server_at = client.local_addr().ok().and_then(|at| at.as_socket()).ok_or(left)?;
        // A socket's codepoint is 0 by default.
        let dscp = system::received_dscp(&client, client_at.is_ipv6()).filter(|&dscp| dscp > 0);
        let server = match server {
            Some(server) => server,
            None => {
                let way = Way { dscp, by: shared.pools.servers(pool) };
                reach(client_at, server_at, way, &mut shared.time_waits)
                    .map_err(|e| (outcome_of(&e), Some(server_at)))?
            }
        };
        if let Some(dscp) = dscp {
            let _unmarked = system::set_dscp(&client, client_at.is_ipv6(), dscp);
        }
        Ok(Self {
            client: End::new(client),
            server: End::new(server),
            client_at,
            pool,
            server_at,
            up: Direction::default(),
            down: Direction::default(),
            connected: false,
            opened: now,
            active: now,
            member: None,
            windows: Windows::UNLIMITED,
            mss: [0; 2],
            listed: false,
            failed: [false; 2],
            sampled: now,
            sampled_bytes: [0; 2],
            held: false,
            wired: Duration::ZERO,
            radio: Duration::ZERO,
            radio_least: Duration::ZERO,
            paced: None,
            unsent: 0,
            slot: 0,
            segments: 0,
            bounded: true,
        })
    }

    /// Its client.
    pub(crate) const fn from(&self) -> Client {
        Client { pool: self.pool, at: self.client_at }
    }

    /// Notes that something happened to a leg.
    pub(crate) fn event(&mut self, leg: Leg, flags: EpollFlags) {
        let (end, of) = match leg {
            Leg::Client => (&mut self.client, 0),
            Leg::Server => (&mut self.server, 1),
        };
        let over = EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
        let last = over | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLPRI;
        end.readable |= flags.intersects(last | EpollFlags::EPOLLIN);
        end.writable |= flags.intersects(over | EpollFlags::EPOLLOUT);
        end.to_the_end |= flags.intersects(last);
        end.shut |= flags.contains(EpollFlags::EPOLLHUP);
        self.failed[of] |= flags.contains(EpollFlags::EPOLLERR);
    }

    /// Does all steps that need no waiting. `key` names the flow to the control.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        key: u64,
        shared: &mut Shared,
        control: &mut impl Allocator,
    ) -> Step {
        if !self.connected
            && let Some(step) = self.connect(now)
        {
            return step;
        }
        let (before, arrived) = (self.up.bytes + self.down.bytes, self.down.bytes);
        let Shared { pool, scratch, .. } = shared;
        let up = self.up.pump(&mut self.client, &mut self.server, pool, scratch, true);
        let reading = self.windows.reading;
        // A socket reports its failure once and later looks as if it had ended, so a failed
        // direction stops the other.
        let both = up.and_then(|up| {
            let (from, to) = (&mut self.server, &mut self.client);
            let down = self.down.pump(from, to, pool, scratch, reading);
            down.map(|down| up || down).map_err(Failed::other_way)
        });
        // The data waits in a pipe or, without a pipe, in the server's own socket.
        if !self.client.writable && !std::mem::replace(&mut self.held, true) {
            self.member.into_iter().for_each(|member| control.hold(member));
        }
        if self.up.bytes + self.down.bytes > before {
            self.active = now;
        }
        if self.down.bytes > arrived {
            self.clamp();
            if self.mss[0] > 0 {
                self.sample(now, shared, control);
            } else if self.down.bytes > JOINS_AT {
                self.take_part(now, key, control);
            }
        }
        let more = match both {
            Ok(more) => more,
            Err(Failed::From) => return Step::Over(Outcome::ClientReset),
            Err(Failed::To) => return Step::Over(Outcome::ServerReset),
        };
        if let Some(outcome) = self.error() {
            return Step::Over(outcome);
        }
        if self.up.closed && self.down.closed && self.both_closed() {
            return Step::Over(Outcome::Completed);
        }
        if more { Step::Again } else { Step::Waits }
    }

    /// The error of a leg that an event reported.
    fn error(&mut self) -> Option<Outcome> {
        let legs = [(&self.client, Outcome::ClientReset), (&self.server, Outcome::ServerReset)];
        let mut found = None;
        for ((end, outcome), failed) in legs.into_iter().zip(&mut self.failed) {
            if std::mem::take(failed) && matches!(end.socket.take_error(), Ok(Some(_)) | Err(_)) {
                found = found.or(Some(outcome));
            }
        }
        found
    }

    /// True when both legs have ended. The sockets are queried only after an event that their end
    /// also causes.
    fn both_closed(&mut self) -> bool {
        for end in [&mut self.client, &mut self.server] {
            if std::mem::take(&mut end.shut) {
                end.over |= system::tcp_info(&end.socket).is_ok_and(|info| info.closed);
            }
        }
        self.client.over && self.server.over
    }

    /// The server answers or refuses, or the client leaves first. None once it has answered.
    fn connect(&mut self, now: Instant) -> Option<Step> {
        if std::mem::take(&mut self.failed[0])
            && matches!(self.client.socket.take_error(), Ok(Some(_)) | Err(_))
        {
            return Some(Step::Over(Outcome::ClientLeft));
        }
        if std::mem::take(&mut self.failed[1])
            && matches!(self.server.socket.take_error(), Ok(Some(_)) | Err(_))
        {
            return Some(Step::Over(Outcome::Refused));
        }
        if !self.server.writable {
            return Some(Step::Waits);
        }
        (self.connected, self.active) = (true, now);
        let v6 = self.client_at.is_ipv6();
        // Over IPv4 the kernel does not keep the codepoint of an answer.
        if v6 && let Some(dscp) = system::received_dscp(&self.server.socket, v6) {
            let _unmarked = system::set_dscp(&self.client.socket, v6, dscp);
        }
        None
    }

    /// Opens the flow at the control. Its first windows apply at the end of this turn.
    fn take_part(&mut self, now: Instant, key: u64, control: &mut impl Allocator) {
        let info = |end: &End| system::tcp_info(&end.socket).unwrap_or_default();
        let (client, server) = (info(&self.client), info(&self.server));
        self.mss = [client.mss, server.mss];
        self.wired = server.rtt.max(LEAST_SAMPLE);
        (self.radio, self.radio_least) =
            (client.rtt.max(LEAST_SAMPLE), client.min_rtt.max(LEAST_SAMPLE));
        self.sampled_bytes = [self.down.bytes, client.acknowledged];
        self.join(now, key, control);
    }

    /// Gives the control a sample of the last round trip.
    fn sample(&mut self, now: Instant, shared: &Shared, control: &mut impl Allocator) {
        let Some(member) = self.member else { return };
        if now.since(self.sampled) < self.wired || !control.takes_samples() {
            return;
        }
        let (Ok(client), Ok(server)) =
            (system::tcp_info(&self.client.socket), system::tcp_info(&self.server.socket))
        else {
            return;
        };
        // The server leg sends little, so its own round trip stays that of the handshake. The round
        // trip of its receiving side includes a queue, which the window must cover.
        let wired = if server.receive_rtt.is_zero() {
            server.rtt
        } else {
            server.receive_rtt.max(server.min_rtt)
        };
        self.wired = wired.max(LEAST_SAMPLE);
        (self.radio, self.radio_least) =
            (client.rtt.max(LEAST_SAMPLE), client.min_rtt.max(LEAST_SAMPLE));
        let bytes = [self.down.bytes, client.acknowledged];
        let since =
            [bytes[0] - self.sampled_bytes[0], bytes[1].saturating_sub(self.sampled_bytes[1])];
        (self.sampled, self.sampled_bytes) = (now, bytes);
        let late = shared.turn.as_nanos() * LATE_PART > self.wired.as_nanos();
        let waited = std::mem::take(&mut self.held);
        let mss = u64::from(client.mss);
        let full = client.in_flight + mss > u64::from(client.cwnd) * mss;
        let sample = Sample {
            arrived: since[0],
            delivered: since[1],
            wired_rtt: Some(self.wired),
            radio_rtt: Some(self.radio),
            radio_smoothed: Some(self.radio),
            held: waited || late,
            waiting: if waited && full { client.unsent + self.down.held() } else { 0 },
        };
        control.sample(now, member, &sample);
        self.bound(&shared.leg);
    }

    /// Applies `windows`. True if the flow may read again.
    pub(crate) fn apply(&mut self, windows: Windows, leg: &RadioLeg) -> bool {
        let again = windows.reading && !self.windows.reading;
        self.windows = windows;
        self.clamp();
        self.bound(leg);
        again
    }

    /// Bounds the bytes in flight from the server.
    fn clamp(&self) {
        if self.windows != Windows::UNLIMITED {
            // A failed socket shows its failure elsewhere.
            let _failed = system::clamp_window(&self.server.socket, self.windows.server);
        }
    }

    /// Bounds the bytes in flight on the radio leg, or its rate.
    fn bound(&mut self, leg: &RadioLeg) {
        if self.windows == Windows::UNLIMITED || self.mss[0] == 0 {
            return;
        }
        let segments = self.windows.radio / u64::from(self.mss[0]);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX).max(1);
        if self.bounded && self.segments != segments {
            let first = self.segments == 0;
            self.segments = segments;
            self.bounded = leg.bound(&self.client.socket, self.slot, first, segments);
        }
        if !self.bounded {
            self.pace();
        }
        self.limit_unsent();
    }

    /// Bounds the unsent bytes in the radio leg's socket to about its window, so that further data
    /// fills the server's window and the server stops. A change of less than twofold is not worth a
    /// call.
    fn limit_unsent(&mut self) {
        let bytes = self.windows.radio.max(LEAST_UNSENT * u64::from(self.mss[0]));
        if !(self.unsent / 2..=self.unsent.saturating_mul(2)).contains(&bytes) {
            self.unsent = bytes;
            let _failed = system::limit_unsent(&self.client.socket, bytes);
        }
    }

    /// Bounds the rate of the radio leg to its window in each of its round trips. At most twice the
    /// least round trip counts, so that a queue does not slow it down for good.
    fn pace(&mut self) {
        let rtt = self.radio.min(Duration::from_nanos(self.radio_least.as_nanos() * RTT_GROWTH));
        if rtt.is_zero() {
            return;
        }
        let rate = u128::from(self.windows.radio) * 1_000_000_000 / u128::from(rtt.as_nanos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        if self.paced != Some(rate) {
            self.paced = Some(rate);
            let _failed = system::pace(&self.client.socket, Some(rate));
        }
    }
}

/// The way of a leg to a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way<'a> {
    /// Codepoint of its packets; 0 if left out.
    pub(crate) dscp: Option<u8>,
    /// The interface to which its socket is bound; none if routes decide.
    pub(crate) by: Option<&'a str>,
}

/// Begins a connection from the client's address and port, and counts in `time_waits` if that ended
/// a TIME_WAIT.
pub(crate) fn reach(
    client: SocketAddr,
    server: SocketAddr,
    way: Way<'_>,
    time_waits: &mut u64,
) -> io::Result<Socket> {
    match connect(client, server, way) {
        // A TIME_WAIT of the last connection between the same ports blocks the socket.
        Err(e) if e.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32) => {
            *time_waits += 1;
            // If this fails, the next attempt fails in the same way.
            let bound = way.by.and_then(|name| if_nametoindex(name).ok()).unwrap_or(0);
            let _kept = system::end_time_wait(client, server, bound);
            connect(client, server, way)
        }
        other => other,
    }
}

/// Begins a connection from the client's address and port.
pub(crate) fn connect(client: SocketAddr, server: SocketAddr, way: Way<'_>) -> io::Result<Socket> {
    let v6 = client.is_ipv6();
    let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    if v6 {
        socket.set_ip_transparent_v6(true)?
    } else {
        socket.set_ip_transparent_v4(true)?
    }
    socket.set_reuse_address(true)?;
    // Before it gets an address: the address may be in use at another interface.
    socket.bind_device(way.by.map(str::as_bytes))?;
    prepare(&socket)?;
    if let Some(dscp) = way.dscp {
        let _unmarked = system::set_dscp(&socket, v6, dscp);
    }
    socket.bind(&client.into())?;
    match socket.connect(&server.into()) {
        Err(e) if e.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(e),
        _ => Ok(socket),
    }
}
