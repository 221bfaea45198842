//! Order of arrival over all queues, like a plain mapper.
//!
//! Source: TS 37.324 section 5.2.1. Deviations from the source: none.

use super::{Candidate, SdapScheduler};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FifoConfig {}
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "fifo",
    kind: "scheduler",
    title: "SDAP in order of arrival",
    text: "Order of arrival over all queues, as a plain mapper would forward.",
    sources: "TS 37.324 section 5.2.1",
    deviations: "none",
    params: FifoConfig::params,
};

/// The first-in, first-out scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Fifo {
    /// A scheduler without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &FifoConfig, _: usize) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl SdapScheduler for Fifo {
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let eligible = candidates.iter().enumerate().filter(|(_, c)| c.eligible);
        eligible.min_by_key(|(i, c)| (c.head_enqueued, *i)).map(|(i, _)| i)
    }
    fn on_sent(&mut self, _index: usize, _bytes: u32) {}

    fn has_memory(&self) -> bool {
        false
    }
}
