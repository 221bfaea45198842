//! How slow start ends before a loss, for any control that has one: what the controls that use it
//! share.

mod linux;
mod plus_plus;

use crate::control::AckSample;
use justfull_base::choice;
use linux::Linux;
use plus_plus::PlusPlus;

choice! {
    /// How slow start ends before a loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HyStart {
        /// By the length of the acknowledgement train or a rise of the delay (Ha and Rhee 2011, as
        /// in Linux).
        Linux = "linux",
        /// By a rise of the delay that lasts (RFC 9406).
        PlusPlus = "plus_plus",
        /// It does not.
        Off = "off",
    }
}

/// How slow start goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// By what is acknowledged.
    Full,
    /// By what is acknowledged divided by this.
    Divided(u32),
    /// Not at all: ssthresh becomes the window of now.
    Over,
}

/// Largest growth by one acknowledgement in segments under RFC 9406 without pacing (its L).
const PLUS_PLUS_LIMIT: u32 = 8;

/// The detector of one connection.
#[derive(Clone, Debug)]
pub(crate) enum Detector {
    Linux(Linux),
    PlusPlus(PlusPlus),
    Off,
}

impl Detector {
    pub(crate) fn new(kind: HyStart) -> Self {
        match kind {
            HyStart::Linux => Self::Linux(Linux::default()),
            HyStart::PlusPlus => Self::PlusPlus(PlusPlus::default()),
            HyStart::Off => Self::Off,
        }
    }

    /// Forgets what was measured: slow start begins anew.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Linux(linux) => linux.restart(),
            Self::PlusPlus(plus_plus) => *plus_plus = PlusPlus::default(),
            Self::Off => {}
        }
    }

    /// To be asked at each acknowledgement in slow start; `cwnd` in segments.
    pub(crate) fn growth(&mut self, sample: &AckSample, cwnd: f64) -> Growth {
        match self {
            Self::Linux(linux) => {
                if linux.is_full(sample, cwnd) {
                    Growth::Over
                } else {
                    Growth::Full
                }
            }
            Self::PlusPlus(plus_plus) => plus_plus.growth(sample),
            Self::Off => Growth::Full,
        }
    }

    /// Most segments that one acknowledgement may add in slow start, if the detector sets a limit
    /// (RFC 9406 section 4.2).
    pub(crate) const fn limit(&self) -> Option<u32> {
        match self {
            Self::PlusPlus(_) => Some(PLUS_PLUS_LIMIT),
            Self::Linux(_) | Self::Off => None,
        }
    }
}

#[cfg(test)]
mod tests;
