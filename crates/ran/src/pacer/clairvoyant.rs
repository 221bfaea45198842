//! The clairvoyant policy one level up: the UPF sends the amount that SDAP will need before the
//! UPF's next opportunity.
//!
//! Source: this project; see the limiter of the same name. The stack computes the need from the
//! schedules of both polls and of the pulls. Deviations from the source: none.

use super::{GrantContext, Pacer, PacerSettings, SdapPoll};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClairvoyantPacerConfig {}
}

impl PacerSettings for ClairvoyantPacerConfig {
    fn foresees(&self) -> bool {
        true
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "clairvoyant",
    kind: "pacer",
    title: "Clairvoyant pacing: the packets that SDAP will need before the UPF's next opportunity \
            (a yardstick)",
    text: "Only for cells with one bearer, together with the clairvoyant limiter.",
    sources: "this project",
    deviations: "none",
    params: ClairvoyantPacerConfig::params,
};

/// The clairvoyant pacer of a queue.
#[derive(Clone, Debug, Default)]
pub struct ClairvoyantPacer {
    need: u64,
}

impl ClairvoyantPacer {
    /// A clairvoyant pacer, which has no settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &ClairvoyantPacerConfig, _: &GrantContext) -> Result<Self, ConfigError> {
        Ok(Self::default())
    }
}

impl Pacer for ClairvoyantPacer {
    fn occupancy(&mut self, _now: Instant) -> u64 {
        self.need
    }
    fn on_enqueued(&mut self, _amount: u64) {}
    fn on_poll(&mut self, _now: Instant, _poll: &SdapPoll) {}
    fn wants_forecast(&self) -> bool {
        true
    }
    fn on_need(&mut self, need: u64) {
        self.need = need;
    }
}
