//! A capacity trace: an amount per interval, row by row.
//!
//! Source: T20 section V and the program behind it: one row per second, each the number of 1460 B packets that the MAC may take
//! per 10 ms, in force for 100 ticks of the MAC. The same form holds any trace of bytes per interval.
//!
//! Slot k of row r gets its share of `amounts[r]`, `slot / interval` of it, with remainders carried from slot to slot so
//! that the rate is kept whatever the length of a slot: over a row whose length is a multiple of both, the slots add up
//! to the row exactly; elsewhere to within one unit. With slots as long as the interval (T20: 10 ms), a slot gets the
//! row's amount itself. The *nominal* length of a slot counts: a MAC whose ticks come late serves less per second, as
//! T20's program does.
//!
//! Defaults: T20's interval, packet size and row. At the end a trace begins again, which keeps its statistics (the
//! program reads on beyond its array).
//!
//! Weakness: nothing is known of the channel within a row.
//! Deviations: for slots of another length than the interval, which T20 does not have.

use super::share::Share;
use super::timeline::{AtEnd, RowLength, Timeline, ensure_row};
use super::{CapacityUnit, ensure_amounts, narrow};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Duration, Instant};

/// Settings of a capacity trace. A door fills `amounts` from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct RowsConfig {
    /// Packets per interval of each row; at least one entry, one of them above 0, each at most 2^32 - 1.
    pub amounts: Vec<u64>,
    /// How long a row is in force.
    pub row: RowLength,
    /// The time in which a row's amount is carried; above 0, at most 1 h.
    pub interval: Duration,
    /// What follows the last row.
    pub at_end: AtEnd,
    /// What one of `amounts` is worth when the unit is bytes, 1 to 65 535 B; 1 B for traces in bytes.
    pub packet_bytes: Bytes,
    /// What the channel counts.
    pub unit: CapacityUnit,
}

impl Default for RowsConfig {
    fn default() -> Self {
        Self {
            amounts: Vec::new(),
            row: RowLength::default(),
            interval: Duration::from_millis(10),
            at_end: AtEnd::Loop,
            packet_bytes: Bytes(1460),
            unit: CapacityUnit::Packets,
        }
    }
}

impl RowsConfig {
    /// Checks the bounds.
    ///
    /// # Errors
    /// The first field outside the bounds stated at the fields.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure_amounts(&self.amounts, "amounts")?;
        ensure_row(self.row)?;
        ensure_interval(self.interval)?;
        ensure_packet(self.packet_bytes)
    }
}

/// Refuses an interval of zero or above 1 h.
pub(super) fn ensure_interval(interval: Duration) -> Result<(), ConfigError> {
    ensure(
        !interval.is_zero() && interval <= Duration::from_secs(3600),
        "interval",
        &interval,
        "above 0s, at most 1h",
        "T20's program counts packets per 10ms",
    )
}

/// Refuses a packet that IP does not have.
pub(super) fn ensure_packet(packet: Bytes) -> Result<(), ConfigError> {
    ensure(
        (1..=65_535).contains(&packet.0),
        "packet_bytes",
        &packet,
        "1B to 65535B",
        "RFC 791 section 3.1: the total length has 16 bits",
    )
}

/// A capacity trace in being.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    amounts: Arc<[u32]>,
    timeline: Timeline,
    share: Share,
}

impl Rows {
    /// The trace of a valid `config`, for slots of length `slot`.
    pub(super) fn new(config: &RowsConfig, slot: Duration) -> Self {
        let worth = match config.unit {
            CapacityUnit::Packets => 1,
            CapacityUnit::Bytes => config.packet_bytes.0,
        };
        Self {
            amounts: config.amounts.iter().map(|&amount| narrow(amount)).collect(),
            timeline: Timeline::new(config.row, config.at_end, config.amounts.len()),
            share: Share::new(slot, config.interval, worth, 1),
        }
    }

    /// What slot `slot_index` offers when it is pulled at `at`.
    #[inline]
    pub(super) fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        let row = self.timeline.row(slot_index, at);
        row.map_or(0, |row| self.share.of(u64::from(self.amounts[row]), slot_index))
    }
}

/// Description of the setting `row`, which two kinds share.
pub(super) const ROW_DOC: ParamDoc = ParamDoc {
    name: "row",
    unit: "time or slots",
    bounds: "a time above 0s, or a number of slots above 0",
    default: "1s",
    text: "How long a row is in force: a time by the clock of the run, or a bare number of slots however long they take.",
};

/// Description of the setting `at_end`, which two kinds share.
pub(super) const AT_END_DOC: ParamDoc = ParamDoc {
    name: "at_end",
    unit: "hold | loop | stop",
    bounds: "one of them",
    default: "loop",
    text: "After the last row: keep it, begin again, or carry nothing.",
};

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "rows",
    kind: "channel",
    title: "a trace of capacities",
    text: "Each row states what is carried per interval while it is in force. A slot gets its share by nominal length, \
           remainders carried, so the rate is kept whatever the length of a slot.",
    sources: "T20 section V and its released program",
    deviations: "shares for slots of another length than the interval; the end of the trace is defined",
    params: &[
        ParamDoc {
            name: "amounts",
            unit: "list of packets per interval",
            bounds: "at least one entry, one above 0, each at most 4294967295",
            default: "[]",
            text: "The rows. A trace file named in the scenario fills them.",
        },
        ROW_DOC,
        ParamDoc {
            name: "interval",
            unit: "time",
            bounds: "above 0s, at most 1h",
            default: "10ms",
            text: "The time in which a row's amount is carried.",
        },
        AT_END_DOC,
        ParamDoc {
            name: "packet_bytes",
            unit: "size",
            bounds: "1B to 65535B",
            default: "1460B",
            text: "What one of the amounts is worth when `unit` is bytes; 1B for a trace in bytes.",
        },
        ParamDoc {
            name: "unit",
            unit: "packets | bytes",
            bounds: "one of them",
            default: "packets",
            text: "The unit in which the MAC pulls.",
        },
    ],
};
