//! Modulation and coding schemes, row by row: a channel for a MAC that allocates resource blocks.
//!
//! Source: A21 section V-C: an LTE cell whose MCS is fixed (28), or is set once a second from a
//! phone's log. Sets the MCS of a UE's transport blocks; the carrier determines the bytes of n
//! resource blocks ([`carrier`](crate::carrier)). An index that the carrier's table does not define
//! carries nothing.
//!
//! Default: MCS 28, the highest of LTE's first table. Weakness: no errors of its own; the block
//! error rate is a HARQ setting that does not depend on the MCS. Deviations: none.

use super::timeline::{AtEnd, RowLength, Timeline};
use super::{ChannelContext, ChannelModel, ChannelSettings};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, params};

/// Highest index of any MCS table (TS 36.213 Table 7.1.7.1-1; TS 38.214 Table 5.1.3.1-1).
const MAX_MCS: u8 = 28;

params! {
    /// Settings of a row of modulation and coding schemes. A door fills `mcs` from a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct McsConfig: "TS 36.213 Table 7.1.7.1-1, TS 38.214 section 5.1.3.1" {
        /// The rows; a single one is in force for ever. A trace file named in the scenario fills
        /// them.
        mcs: Vec<u8> as "list of MCS" = vec![MAX_MCS],
            rule("at least one entry, each 0 to 28", |c| {
                !c.mcs.is_empty() && c.mcs.iter().all(|mcs| *mcs <= MAX_MCS)
            });
        /// How long a row is in force: a time by the clock of the run, or a bare number of slots
        /// however long they take.
        row: RowLength = RowLength::default();
        /// After the last row: keep it, begin again, or carry nothing.
        at_end: AtEnd = AtEnd::Loop;
    }
}

impl ChannelSettings for McsConfig {
    fn needs_carrier(&self) -> bool {
        true
    }
}

/// Running rows of modulation and coding schemes.
#[derive(Clone, Debug)]
pub struct McsRows {
    mcs: Arc<[u8]>,
    timeline: Timeline,
}

impl McsRows {
    /// The rows of a valid `config`.
    pub(super) fn new(config: &McsConfig, _: &ChannelContext) -> Result<Self, ConfigError> {
        Ok(Self {
            mcs: config.mcs.as_slice().into(),
            timeline: Timeline::new(config.row, config.at_end, config.mcs.len()),
        })
    }
}

impl ChannelModel for McsRows {
    #[inline]
    fn mcs(&self, slot_index: u64, at: Instant) -> Option<u8> {
        if let [only] = *self.mcs {
            return Some(only);
        }
        self.timeline.row(slot_index, at).map(|row| self.mcs[row])
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "mcs",
    kind: "channel",
    title: "modulation and coding schemes, row by row",
    text: "Each row is an MCS. It needs mac.kind rb, whose carrier says what n resource \
           blocks carry at it.",
    sources: "A21 section V-C; TS 36.213 section 7.1.7; TS 38.214 section 5.1.3",
    deviations: "none",
    params: McsConfig::params,
};
