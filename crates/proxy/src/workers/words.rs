//! Messages between the proxy and its workers beside windows and samples.

use crate::config::TimeoutsConfig;
use crate::connections::{Ended, Load, Part};
use crate::pools::{Client, ClientHost};
use crate::radio_leg::LegState;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// To a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    /// The first, with the descriptors of the radio legs' bound; then, if there is a predecessor,
    /// the stream from it.
    SetUp(SetUp),
    /// This client has connected; with its socket, and the leg to its server if
    /// there is one.
    Take(Client, bool),
    Timeouts(TimeoutsConfig),
    /// Send the open connections, as the answer to the request of this number.
    List(u64),
    /// Give all connections to the process at the other end of the stream that comes with this, and
    /// touch none until `Resume`.
    HandOver,
    /// The predecessor's connections are yours.
    Begin,
    Resume,
    /// Reset all connections, and end.
    End,
}

/// A worker's part of the proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SetUp {
    pub(crate) part: Part,
    pub(crate) pipes: u32,
    pub(crate) timeouts: TimeoutsConfig,
    /// Begin of the clock that all processes share.
    pub(crate) clock: u64,
    pub(crate) leg: LegState,
    pub(crate) predecessor: bool,
}

/// From a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// All connections of the predecessor have arrived: their number.
    Adopted(usize),
    /// The clients of adopted connections.
    Clients(Vec<ClientHost>),
    Ended(Ended),
    State(State),
    /// Open connections with their keys, as a part of the answer to a request.
    List(Listed),
    /// Nothing changes until `Resume`.
    Frozen,
}

/// A part of a list of connections.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) request: u64,
    pub(crate) flows: Vec<(u64, Value)>,
    pub(crate) last: bool,
}

/// A worker as `status` and metrics show it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) process: u32,
    pub(crate) load: Load,
    /// The longest turn of its loop within the last 10 to 20 s.
    pub(crate) slowest_turn_s: f64,
    /// Memory in use; none if the kernel has no value.
    pub(crate) memory: Option<f64>,
    /// Open descriptors.
    pub(crate) descriptors: usize,
}
