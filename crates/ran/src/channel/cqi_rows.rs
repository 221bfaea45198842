//! A CQI trace: channel quality row by row, converted to capacity by the tables of LTE or NR.
//!
//! Source: T20 section V: the CQI column of a phone's log, one row per second, through a CQI-to-MCS
//! list and the transport block sizes of 25 PRBs. TS 36.213 sections 7.1.7 and 7.2.3; TS 38.214
//! section 5.1.3.
//!
//! Controls: in packets, `clamp(floor(TBS interval / (1 ms x 8 x 1460)), 1, 15)` per interval of 10
//! ms, which is T20's rule; in bytes, the transport blocks themselves, whole bytes per slot with
//! the remainder carried. CQI 0 is out of range and carries nothing. NR blocks count 13 symbols
//! with one front-loaded reference symbol.
//!
//! Defaults: T20's.
//!
//! Weaknesses: a phone's CQI is a report, seconds old in such logs, for a block that fails one time
//! in ten; outer loops and retransmissions are not modelled here. Deviations: CQI 0 (T20's script
//! would turn it into the highest rate by a wrapped index). Slots of another length than the
//! interval share its packets.

use super::quality::{Levels, quality_params};
use super::timeline::{AtEnd, RowLength, Timeline};
use super::{ChannelContext, ChannelModel, ChannelSettings};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::MAX_CQI;

quality_params! {
    /// Settings of a CQI trace. A door fills `cqi` from a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CqiRowsConfig: "TS 36.213 section 7.2.3: a CQI has four bits, and 0 is out of range" {
        /// The rows. A trace file named in the scenario fills them.
        cqi: Vec<u8> as "list of CQI" = Vec::new(),
            rule("at least one entry, one above 0, each 0 to 15", |c| {
                c.cqi.iter().any(|cqi| *cqi > 0) && c.cqi.iter().all(|cqi| *cqi <= MAX_CQI)
            });
        /// How long a row is in force: a time by the clock of the run, or a bare number of slots
        /// however long they take.
        row: RowLength = RowLength::default();
        /// After the last row: keep it, begin again, or carry nothing.
        at_end: AtEnd = AtEnd::Loop;
    }
}

impl ChannelSettings for CqiRowsConfig {
    fn map(&self) -> Option<CqiToMcs> {
        Some(self.map)
    }
}

/// A running CQI trace.
#[derive(Clone, Debug)]
pub struct CqiRows {
    cqi: Arc<[u8]>,
    timeline: Timeline,
    levels: Levels,
}

impl CqiRows {
    /// The trace of a valid `config`.
    pub(super) fn new(
        config: &CqiRowsConfig,
        context: &ChannelContext,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            cqi: config.cqi.as_slice().into(),
            timeline: Timeline::new(config.row, config.at_end, config.cqi.len()),
            levels: Levels::new(&config.quality(), context)?,
        })
    }
}

impl ChannelModel for CqiRows {
    #[inline]
    fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        self.cqi(slot_index, at).map_or(0, |cqi| self.levels.amount(cqi, slot_index))
    }

    #[inline]
    fn cqi(&self, slot_index: u64, at: Instant) -> Option<u8> {
        self.timeline.row(slot_index, at).map(|row| self.cqi[row])
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "cqi_rows",
    kind: "channel",
    title: "a trace of channel quality",
    text: "Each row is a CQI. It picks an MCS, that a transport block, and that the packets or \
           bytes of a slot. CQI 0 carries nothing.",
    sources: "T20 section V; TS 36.213 sections 7.1.7 and 7.2.3; TS 38.214 sections 5.1.3 and \
              5.2.2.1",
    deviations: "CQI 0 carries nothing; slots of another length than the interval share its \
                 packets",
    params: CqiRowsConfig::params,
};
