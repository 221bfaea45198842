//! What bounds what the leg to the UE has in flight: the first of three that this kernel can do.
//!
//! | way | up | down | with loss |
//! |---|---|---|---|
//! | `struct_ops` | at once | at once | half, then back; with `loss = "ignore"` as before |
//! | `cwnd_clamp` | as the kernel's congestion control grows | at once | as the kernel's |
//! | `pacing` | a rate, no bound in flight | the same | as the kernel's |

mod bpf;
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
use struct_ops::Control;

choice! {
    serde;
    /// What bounds what the leg to the UE has in flight.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RadioLegConfig {
        /// The first of the others that this kernel can do.
        #[default]
        Auto = "auto",
        /// A congestion control of ours, whose window follows at once.
        StructOps = "struct_ops",
        /// A ceiling of the kernel's congestion window.
        CwndClamp = "cwnd_clamp",
        /// A rate, which does not bound what is in flight.
        Pacing = "pacing",
    }
}

/// What bounds the legs of this process.
#[derive(Debug)]
pub(crate) enum RadioLeg {
    StructOps(Control),
    /// Sockets that were made after it have it.
    CwndClamp {
        /// Attached as long as this is there.
        program: CwndClamp,
    },
    Pacing,
}

/// What of it is not in its descriptors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LegState {
    way: RadioLegConfig,
    /// Of a congestion control: its name, and how many windows there are.
    name: String,
    slots: u32,
}

impl LegState {
    /// Which it is.
    pub(crate) fn way(&self) -> &'static str {
        self.way.name()
    }

    /// It is what `asked` names.
    pub(crate) fn serves(&self, asked: RadioLegConfig) -> bool {
        [self.way, RadioLegConfig::Auto].contains(&asked)
    }
}

impl RadioLeg {
    /// What another process needs to go on with it.
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

    /// Sockets that it has room for.
    pub(crate) const fn slots(&self) -> usize {
        match self {
            Self::StructOps(control) => control.slots(),
            Self::CwndClamp { .. } | Self::Pacing => usize::MAX,
        }
    }

    /// Takes what `asked` names, for up to `slots` sockets at a time; and why better ones cannot
    /// be had.
    ///
    /// # Errors
    /// The kernel refuses the one that is asked for.
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

    /// Which it is.
    pub(crate) const fn way(&self) -> RadioLegConfig {
        match self {
            Self::StructOps(_) => RadioLegConfig::StructOps,
            Self::CwndClamp { .. } => RadioLegConfig::CwndClamp,
            Self::Pacing => RadioLegConfig::Pacing,
        }
    }

    /// Bounds a socket, whose place is `slot`, to so many segments; `first` for the first time.
    /// False when the socket must be paced.
    pub(crate) fn bound(
        &self,
        socket: impl AsFd,
        (slot, first): (u32, bool),
        segments: u32,
    ) -> bool {
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

/// Takes what `asked` names and bounds a connection of this host to itself with it; what it did.
///
/// # Errors
/// What the kernel refuses, or that a worse one is used instead.
pub(crate) fn attempt(asked: RadioLegConfig) -> Result<String, String> {
    let (leg, refused) = RadioLeg::take(asked, 1, Loss::Halve).map_err(|e| e.to_string())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let stream = listener.and_then(|listener| TcpStream::connect(listener.local_addr()?));
    let stream = stream.map_err(|e| e.to_string())?;
    let bounds = leg.bound(&stream, (0, true), 2);
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
