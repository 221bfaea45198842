//! The end of slow start before a loss: detectors that the controls with slow start share.

mod linux;
mod plus_plus;

use crate::control::AckSample;
use justfull_base::choice;
use linux::Linux;
use plus_plus::PlusPlus;

choice! {
    /// The detector that ends slow start before a loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HyStart {
        /// By the length of the acknowledgement train or a rise of the delay (Ha and Rhee 2011, as
        /// in Linux).
        Linux = "linux",
        /// By a rise of the delay that lasts (RFC 9406).
        PlusPlus = "plus_plus",
        /// Slow start ends only at a loss.
        Off = "off",
    }
}

/// The further course of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Grows by the acknowledged bytes.
    Full,
    /// Grows by the acknowledged bytes divided by this.
    Divided(u32),
    /// Ends: ssthresh becomes the current window.
    Over,
}

/// Largest growth per acknowledgement in segments under RFC 9406 without pacing (its L).
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

    /// Forgets all measurements: slow start begins again.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Linux(linux) => linux.restart(),
            Self::PlusPlus(plus_plus) => *plus_plus = PlusPlus::default(),
            Self::Off => {}
        }
    }

    /// Call at each acknowledgement in slow start; `cwnd` in segments.
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

    /// The most segments that one acknowledgement may add in slow start, if the detector limits it
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
