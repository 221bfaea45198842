//! Bounds on the bytes in flight on the leg to the UE. The first of three ways that this kernel
//! supports is used.
//!
//! | way | up | down | with loss |
//! |---|---|---|---|
//! | `struct_ops` | at once | at once | half, then back; with `loss = "ignore"` as before |
//! | `cwnd_clamp` | as the kernel's congestion control grows | at once | as the kernel's |
//! | `pacing` | a rate, no bound in flight | the same | as the kernel's |

mod btf;
mod clamp;
mod struct_ops;

use clamp::CwndClamp;
use justfull_base::choice;
use justfull_net::SystemError;
use justfull_rapid::Loss;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use struct_ops::Control;

/// Longest time of a connection from this host to itself.
const PATIENCE: Duration = Duration::from_secs(2);

choice! {
    serde;
    /// The bound on the bytes in flight on the leg to the UE.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RadioLegConfig {
        /// The first of the others that this kernel supports.
        #[default]
        Auto = "auto",
        /// A congestion control of our own that follows the window at once.
        StructOps = "struct_ops",
        /// A ceiling of the kernel's congestion window.
        CwndClamp = "cwnd_clamp",
        /// A rate, which does not bound the bytes in flight.
        Pacing = "pacing",
    }
}

/// The bound that this process uses.
#[derive(Debug)]
pub(crate) enum RadioLeg {
    StructOps(Control),
    /// It bounds sockets that were made after it.
    CwndClamp {
        /// Attached while this value exists.
        program: CwndClamp,
    },
    Pacing,
}

/// The state that its descriptors do not have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LegState {
    way: RadioLegConfig,
    /// Name of a congestion control, and the number of its windows.
    name: String,
    slots: u32,
}

impl LegState {
    /// The name of its way.
    pub(crate) fn way(&self) -> &'static str {
        self.way.name()
    }

    /// True if `asked` names this way.
    pub(crate) fn serves(&self, asked: RadioLegConfig) -> bool {
        [self.way, RadioLegConfig::Auto].contains(&asked)
    }
}

impl RadioLeg {
    /// The state and the descriptors with which another process continues.
    pub(crate) fn state(&self) -> (LegState, Vec<BorrowedFd<'_>>) {
        let (name, slots, fds) = match self {
            Self::StructOps(control) => control.parts(),
            Self::CwndClamp { program } => (String::new(), 0, program.descriptors()),
            Self::Pacing => (String::new(), 0, Vec::new()),
        };
        (LegState { way: self.way(), name, slots }, fds)
    }

    /// The bound of another process, from its descriptors.
    pub(crate) fn adopt(
        state: &LegState,
        loss: Loss,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> io::Result<Self> {
        Ok(match state.way {
            RadioLegConfig::StructOps => {
                Self::StructOps(Control::adopt(state.name.clone(), state.slots, loss, fds)?)
            }
            RadioLegConfig::CwndClamp => Self::CwndClamp { program: CwndClamp::adopt(fds)? },
            RadioLegConfig::Pacing | RadioLegConfig::Auto => Self::Pacing,
        })
    }

    /// The number of sockets that it can bound.
    pub(crate) const fn slots(&self) -> usize {
        match self {
            Self::StructOps(control) => control.slots(),
            Self::CwndClamp { .. } | Self::Pacing => usize::MAX,
        }
    }

    /// Takes the way that `asked` names, for up to `slots` sockets at a time; also returns why
    /// better ways are not available.
    ///
    /// # Errors
    /// The kernel refuses the way that `asked` names.
    pub(crate) fn take(
        asked: RadioLegConfig,
        slots: u32,
        loss: Loss,
    ) -> Result<(Self, Vec<String>), SystemError> {
        let attempt = |way| match way {
            RadioLegConfig::StructOps => Control::register(slots, loss).map(Self::StructOps),
            RadioLegConfig::CwndClamp => {
                CwndClamp::attach().map(|program| Self::CwndClamp { program })
            }
            RadioLegConfig::Pacing | RadioLegConfig::Auto => Ok(Self::Pacing),
        };
        if asked != RadioLegConfig::Auto {
            let failed = |e: io::Error| {
                let what = format!("bound the radio leg by {} (control.radio_leg)", asked.name());
                SystemError::new(what, explained(&e))
            };
            return attempt(asked).map(|leg| (leg, Vec::new())).map_err(failed);
        }
        let mut refused = Vec::new();
        for way in [RadioLegConfig::StructOps, RadioLegConfig::CwndClamp] {
            match attempt(way) {
                Ok(leg) => return Ok((leg, refused)),
                Err(error) => refused.push(format!("{}: {}", way.name(), explained(&error))),
            }
        }
        Ok((Self::Pacing, refused))
    }

    /// The way that was taken.
    pub(crate) const fn way(&self) -> RadioLegConfig {
        match self {
            Self::StructOps(_) => RadioLegConfig::StructOps,
            Self::CwndClamp { .. } => RadioLegConfig::CwndClamp,
            Self::Pacing => RadioLegConfig::Pacing,
        }
    }

    /// Bounds a socket to so many segments; `slot` is its place, and `first` is true for its first
    /// bound. False if the socket must be paced.
    pub(crate) fn bound(&self, socket: impl AsFd, slot: u32, first: bool, segments: u32) -> bool {
        match self {
            Self::StructOps(control) => {
                control.set(slot, segments);
                !first || control.join(socket, slot).is_ok()
            }
            Self::CwndClamp { .. } => clamp::clamp(socket, segments).is_ok(),
            Self::Pacing => false,
        }
    }
}

fn explained(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{error}; needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN")
        }
        _ => error.to_string(),
    }
}

/// Takes the way that `asked` names and bounds a connection of this host to itself with it. Returns
/// its effect.
///
/// # Errors
/// A refusal of the kernel, or the worse way that is used instead.
pub(crate) fn attempt(asked: RadioLegConfig) -> Result<String, String> {
    let (leg, refused) = RadioLeg::take(asked, 1, Loss::Halve).map_err(|e| e.to_string())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // A firewall may stop it.
    let stream =
        listener.and_then(|listener| TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE));
    let stream = stream.map_err(|e| e.to_string())?;
    let bounds = leg.bound(&stream, 0, true, 2);
    let what = match (&leg, bounds) {
        (RadioLeg::StructOps(control), true) => {
            format!("struct_ops: congestion control {}", control.name())
        }
        (RadioLeg::CwndClamp { .. }, true) => "cwnd_clamp: a program at the control group".into(),
        _ => "pacing: SO_MAX_PACING_RATE".into(),
    };
    if refused.is_empty() {
        Ok(what)
    } else {
        Err(format!("{}; {what} is used", refused.join("; ")))
    }
}
