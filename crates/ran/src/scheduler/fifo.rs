//! Order of arrival over all queues, as a plain mapper would forward.
//!
//! Source: TS 37.324 section 5.2.1. Deviations from the source: none.

use super::{Candidate, SdapScheduler};
use justfull_base::doc::MethodDoc;

/// No settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct FifoConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "fifo",
    kind: "scheduler",
    title: "SDAP in order of arrival",
    text: "Order of arrival over all queues, as a plain mapper would forward.",
    sources: "TS 37.324 section 5.2.1",
    deviations: "none",
    params: &[],
};

/// See the module's page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl SdapScheduler for Fifo {
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let eligible = candidates.iter().enumerate().filter(|(_, c)| c.eligible);
        eligible.min_by_key(|(i, c)| (c.head_enqueued, *i)).map(|(i, _)| i)
    }
    fn on_sent(&mut self, _index: usize, _bytes: u32) {}
}
