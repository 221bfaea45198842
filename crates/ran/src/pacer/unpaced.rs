//! No pacing: the UPF sends everything it has at each opportunity.
//!
//! Source: TS 23.501, which has no feedback between UPF and SDAP. Deviations from the source: none.

use super::{GrantContext, Pacer, PacerSettings, SdapPoll};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnpacedConfig {}
}

impl PacerSettings for UnpacedConfig {
    fn paces(&self) -> bool {
        false
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "unpaced",
    kind: "pacer",
    title: "No pacing between UPF and SDAP",
    text: "At each opportunity the UPF sends its waiting packets, up to upf.batch.",
    sources: "TS 23.501 section 5.8",
    deviations: "none",
    params: UnpacedConfig::params,
};

/// The absence of a pacer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unpaced;

impl Unpaced {
    /// An unpaced pacer, which has no settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &UnpacedConfig, _: &GrantContext) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Pacer for Unpaced {
    #[inline]
    fn occupancy(&mut self, _now: Instant) -> u64 {
        u64::MAX
    }
    #[inline]
    fn on_enqueued(&mut self, _amount: u64) {}
    #[inline]
    fn on_poll(&mut self, _now: Instant, _poll: &SdapPoll) {}
}
