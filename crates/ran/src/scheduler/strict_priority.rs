//! The queue with the lowest priority number first; ties by order in the configuration. A busy
//! urgent flow starves the others.
//!
//! Source: T20 section 5. Deviations from the source: none.

use super::{Candidate, SdapScheduler};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StrictPriorityConfig {}
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "strict_priority",
    kind: "scheduler",
    title: "SDAP strict priority",
    text: "The queue with the least priority number first; ties by order in the configuration. A \
           busy urgent flow starves the others.",
    sources: "T20 section 5",
    deviations: "none",
    params: StrictPriorityConfig::params,
};

/// The strict priority scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictPriority;

impl StrictPriority {
    /// A scheduler without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &StrictPriorityConfig, _: usize) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl SdapScheduler for StrictPriority {
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let eligible = candidates.iter().enumerate().filter(|(_, c)| c.eligible);
        eligible.min_by_key(|(i, c)| (c.priority, *i)).map(|(i, _)| i)
    }
    fn on_sent(&mut self, _index: usize, _bytes: u32) {}

    fn has_memory(&self) -> bool {
        false
    }
}
