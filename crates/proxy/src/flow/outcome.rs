//! How a connection has ended.

use nix::errno::Errno;
use serde::{Deserialize, Serialize};
use std::io;

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Both ends closed it and have all data.
    Completed,
    /// The client reset it.
    ClientReset,
    /// The server reset it.
    ServerReset,
    /// The server refused it, or is unreachable.
    Refused,
    /// The server did not answer: it is silent, or its answers take another route.
    NoAnswer,
    /// The client left before the server answered.
    ClientLeft,
    /// No data for too long.
    Idle,
    /// No data for too long after one end had closed.
    HalfClosed,
    /// No descriptor was left for it.
    NoResources,
    /// Another socket of this host has the client's port.
    AddressInUse,
    /// The proxy, or its worker, ended first.
    Ended,
}

impl Outcome {
    /// All, in order.
    pub(crate) const ALL: [Self; 11] = [
        Self::Completed,
        Self::ClientReset,
        Self::ServerReset,
        Self::Refused,
        Self::NoAnswer,
        Self::ClientLeft,
        Self::Idle,
        Self::HalfClosed,
        Self::NoResources,
        Self::AddressInUse,
        Self::Ended,
    ];

    /// Its name in logs and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ClientReset => "client_reset",
            Self::ServerReset => "server_reset",
            Self::Refused => "refused",
            Self::NoAnswer => "no_answer",
            Self::ClientLeft => "client_left",
            Self::Idle => "idle",
            Self::HalfClosed => "half_closed",
            Self::NoResources => "no_resources",
            Self::AddressInUse => "address_in_use",
            Self::Ended => "ended",
        }
    }
}

/// The outcome of a connection that could not begin.
pub(crate) fn outcome_of(error: &io::Error) -> Outcome {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE | Errno::ENFILE) => Outcome::NoResources,
        Some(Errno::EADDRNOTAVAIL | Errno::EADDRINUSE) => Outcome::AddressInUse,
        _ => Outcome::Refused,
    }
}
