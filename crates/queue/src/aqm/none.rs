//! No active queue management: only the limit drops packets.
//!
//! Source: the "Vanilla" case of T20 (section 5) and of E19; RFC 7567 section 2 explains why it is
//! not enough.
//!
//! It is the default because every comparison starts from it. Known weakness: a buffer too large
//! for the rate stays full (bufferbloat). Deviations: none.

use super::{Aqm, AqmContext, AqmSettings, QueueView, Tag, Verdict};
use crate::lane::Lane;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet, params};

impl AqmSettings for NoAqmConfig {
    fn needs_room(&self) -> bool {
        false
    }
}

/// Describes the absence of an AQM.
pub const DOC: MethodDoc = MethodDoc {
    name: "none",
    kind: "aqm",
    title: "No active queue management",
    text: "Never signals. Packets are lost to the queue's limit alone.",
    sources: "T20 section 5 (Vanilla); RFC 7567 section 2",
    deviations: "none",
    params: NoAqmConfig::params,
};

params! {
    /// Has no settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NoAqmConfig {}
}

/// Never signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoAqm;

impl NoAqm {
    /// The absence of an AQM, without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &NoAqmConfig, _: AqmContext) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Aqm for NoAqm {
    #[inline(always)]
    fn on_dequeue(
        &mut self,
        _now: Instant,
        _view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        Verdict::Pass
    }
}
