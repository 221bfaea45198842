//! Moves a connection from one proxy to the next.

use super::Flow;
use crate::allocator::Allocator;
use crate::pools::PoolId;
use crate::relay::{Direction, DirectionState, End, Pool};
use crate::system;
use justfull_base::{Duration, Instant};
use justfull_rapid::{Opening, Windows};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The state of a connection that its descriptors do not have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FlowState {
    /// Its place, also among the windows of the radio legs.
    pub(crate) slot: u32,
    client_at: SocketAddr,
    #[serde(default)]
    pool: PoolId,
    server_at: SocketAddr,
    ways: [DirectionState; 2],
    connected: bool,
    /// Times of the clock that both proxies share.
    opened_ns: u64,
    active_ns: u64,
    rtts_ns: [u64; 3],
    mss: [u32; 2],
    segments: u32,
    bounded: bool,
}

impl Flow {
    pub(crate) fn state(&self) -> FlowState {
        FlowState {
            slot: self.slot,
            client_at: self.client_at,
            pool: self.pool,
            server_at: self.server_at,
            ways: [self.up.state(), self.down.state()],
            connected: self.connected,
            opened_ns: self.opened.as_nanos(),
            active_ns: self.active.as_nanos(),
            rtts_ns: [self.wired, self.radio, self.radio_least].map(Duration::as_nanos),
            mss: self.mss,
            segments: self.segments,
            bounded: self.bounded,
        }
    }

    /// Its sockets and the pipe with data, if any.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.client.socket.as_fd(), self.server.socket.as_fd()];
        fds.extend([&self.up, &self.down].into_iter().filter_map(Direction::pipe).flatten());
        fds
    }

    /// The connection of `state` and its descriptors. None if they do not match.
    pub(crate) fn restore(state: &FlowState, fds: Vec<OwnedFd>, pool: &mut Pool) -> Option<Self> {
        let mut fds = fds.into_iter();
        let (client, server) = (Socket::from(fds.next()?), Socket::from(fds.next()?));
        let mut way = |state: &DirectionState| Direction::restore(state, &mut fds, pool);
        let (up, down) = (way(&state.ways[0])?, way(&state.ways[1])?);
        let [wired, radio, radio_least] = state.rtts_ns.map(Duration::from_nanos);
        let acknowledged = system::tcp_info(&client).ok()?.acknowledged;
        let active = Instant::from_nanos(state.active_ns);
        Some(Self {
            sampled_bytes: [down.bytes, acknowledged],
            client: End::new(client),
            server: End::new(server),
            client_at: state.client_at,
            pool: state.pool,
            server_at: state.server_at,
            up,
            down,
            connected: state.connected,
            opened: Instant::from_nanos(state.opened_ns),
            active,
            member: None,
            windows: Windows::UNLIMITED,
            mss: state.mss,
            listed: false,
            failed: [false; 2],
            sampled: active,
            held: false,
            wired,
            radio,
            radio_least,
            paced: None,
            unsent: 0,
            slot: state.slot,
            segments: state.segments,
            bounded: state.bounded,
        })
    }

    /// Opens the flow at the control if the connection takes part.
    pub(crate) fn join(&mut self, now: Instant, key: u64, control: &mut impl Allocator) {
        if self.mss[0] == 0 {
            return;
        }
        let opening =
            Opening { mss: self.mss[0], wired_rtt: Some(self.wired), radio_rtt: Some(self.radio) };
        self.member = control.open(now, self.from().host(), key, &opening);
        self.sampled = now;
    }
}
