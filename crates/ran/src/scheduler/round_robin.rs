//! A packet from each queue in turn.
//!
//! Source: E19 section IV; T20 released program. Deviations from the source: none.

use super::{Candidate, SdapScheduler};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RoundRobinConfig {}
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "round_robin",
    kind: "scheduler",
    title: "SDAP round robin, packet by packet",
    text: "A packet from each queue in turn.",
    sources: "E19 section IV; T20 released program",
    deviations: "none",
    params: RoundRobinConfig::params,
};

/// The round-robin scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    turn: usize,
}

impl RoundRobin {
    /// A scheduler without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &RoundRobinConfig, _: usize) -> Result<Self, ConfigError> {
        Ok(Self::default())
    }
}

impl SdapScheduler for RoundRobin {
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let n = candidates.len();
        (0..n).map(|i| (self.turn + i) % n).find(|&i| candidates[i].eligible)
    }
    fn on_sent(&mut self, index: usize, _bytes: u32) {
        self.turn = index + 1;
    }
}
