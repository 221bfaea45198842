//! A CQI trace: channel quality row by row, turned into capacity by the tables of LTE or NR.
//!
//! Source: T20 section V: the CQI column of a phone's log, one row per second, through a CQI-to-MCS list and the
//! transport block sizes of 25 PRBs. TS 36.213 sections 7.1.7 and 7.2.3; TS 38.214 section 5.1.3.
//!
//! Controls: in packets, `clamp(floor(TBS interval / (1 ms x 8 x 1460)), 1, 15)` per interval of 10 ms, which is T20's
//! rule; in bytes, the transport blocks themselves, whole bytes per slot with the remainder carried. CQI 0 is out of
//! range and carries nothing. NR blocks count 13 symbols with one front-loaded reference symbol.
//!
//! Defaults: T20's.
//!
//! Weaknesses: a phone's CQI is a report, seconds old in such logs, for a block that fails one time in ten; no outer
//! loop and no retransmission is modelled here.
//! Deviations: CQI 0 (T20's script would turn it into the highest rate by a wrapped index). Slots of another length
//! than the interval share its packets.

use super::CapacityUnit;
use super::quality::{self, Levels, QualityConfig};
use super::rows::{AT_END_DOC, ROW_DOC};
use super::timeline::{AtEnd, RowLength, Timeline, ensure_row};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Duration, Instant};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::MAX_CQI;

/// Settings of a CQI trace. A door fills `cqi` from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct CqiRowsConfig {
    /// CQI of each row, 0 to 15; at least one entry, one of them above 0.
    pub cqi: Vec<u8>,
    /// How long a row is in force.
    pub row: RowLength,
    /// What follows the last row.
    pub at_end: AtEnd,
    /// Which MCS answers a CQI; it also picks LTE or NR.
    pub map: CqiToMcs,
    /// Resource blocks: 1 to 110 (LTE), 55 (LTE with two layers) or 275 (NR).
    pub n_prb: u16,
    /// Numerology: 0 (LTE) or 0 to 3 (NR).
    pub numerology: u8,
    /// Spatial layers: 1 to 2 (LTE) or 4 (NR).
    pub layers: u8,
    /// What the channel counts.
    pub unit: CapacityUnit,
    /// Size of a packet when the unit is packets, 1 to 65 535 B.
    pub packet_bytes: Bytes,
    /// Whole packets are counted per interval; above 0, at most 1 h.
    pub interval: Duration,
    /// Fewest packets per interval at a CQI above 0; at most `max_packets`.
    pub min_packets: u64,
    /// Most packets per interval, 1 to 2^32 - 1.
    pub max_packets: u64,
}

impl Default for CqiRowsConfig {
    fn default() -> Self {
        Self {
            cqi: Vec::new(),
            row: RowLength::default(),
            at_end: AtEnd::Loop,
            map: CqiToMcs::Tmc,
            n_prb: 25,
            numerology: 0,
            layers: 1,
            unit: CapacityUnit::Packets,
            packet_bytes: Bytes(1460),
            interval: Duration::from_millis(10),
            min_packets: 1,
            max_packets: 15,
        }
    }
}

impl CqiRowsConfig {
    /// Checks the bounds.
    ///
    /// # Errors
    /// The first field outside the bounds stated at the fields.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const SOURCE: &str = "TS 36.213 section 7.2.3: a CQI has four bits, and 0 is out of range";
        ensure(!self.cqi.is_empty(), "cqi", &"no entry", "at least one entry", SOURCE)?;
        let largest = self.cqi.iter().copied().max().unwrap_or(0);
        ensure(largest > 0, "cqi", &"only zeros", "some entry above 0", SOURCE)?;
        ensure(largest <= MAX_CQI, "cqi", &largest, "entries of 0 to 15", SOURCE)?;
        ensure_row(self.row)?;
        self.quality().validate()
    }

    const fn quality(&self) -> QualityConfig {
        QualityConfig {
            map: self.map,
            n_prb: self.n_prb,
            numerology: self.numerology,
            layers: self.layers,
            unit: self.unit,
            packet_bytes: self.packet_bytes,
            interval: self.interval,
            min_packets: self.min_packets,
            max_packets: self.max_packets,
        }
    }
}

/// A CQI trace in being.
#[derive(Clone, Debug)]
pub(super) struct CqiRows {
    cqi: Arc<[u8]>,
    timeline: Timeline,
    levels: Levels,
}

impl CqiRows {
    /// The trace of a valid `config`, for slots of length `slot`.
    pub(super) fn new(config: &CqiRowsConfig, slot: Duration) -> Result<Self, ConfigError> {
        Ok(Self {
            cqi: config.cqi.as_slice().into(),
            timeline: Timeline::new(config.row, config.at_end, config.cqi.len()),
            levels: Levels::new(&config.quality(), slot)?,
        })
    }

    /// What slot `slot_index` offers when it is pulled at `at`.
    #[inline]
    pub(super) fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        self.cqi(slot_index, at).map_or(0, |cqi| self.levels.amount(cqi, slot_index))
    }

    /// The CQI of slot `slot_index` when it is pulled at `at`; none after the end of a trace that stops.
    #[inline]
    pub(super) fn cqi(&self, slot_index: u64, at: Instant) -> Option<u8> {
        self.timeline.row(slot_index, at).map(|row| self.cqi[row])
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "cqi_rows",
    kind: "channel",
    title: "a trace of channel quality",
    text: "Each row is a CQI. It picks an MCS, that a transport block, and that the packets or bytes of a slot. CQI 0 \
           carries nothing.",
    sources: "T20 section V; TS 36.213 sections 7.1.7 and 7.2.3; TS 38.214 sections 5.1.3 and 5.2.2.1",
    deviations: "CQI 0 carries nothing; slots of another length than the interval share its packets",
    params: &[
        ParamDoc {
            name: "cqi",
            unit: "list of CQI",
            bounds: "at least one entry, one above 0, each 0 to 15",
            default: "[]",
            text: "The rows. A trace file named in the scenario fills them.",
        },
        ROW_DOC,
        AT_END_DOC,
        quality::DOCS[0],
        quality::DOCS[1],
        quality::DOCS[2],
        quality::DOCS[3],
        quality::DOCS[4],
        quality::DOCS[5],
        quality::DOCS[6],
        quality::DOCS[7],
        quality::DOCS[8],
    ],
};
