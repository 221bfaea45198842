//! A capacity trace: an amount per interval, row by row.
//!
//! Source: T20 section V and its program: one row per second, each the number of 1460 B packets
//! that the MAC may take per 10 ms, used for 100 ticks of the MAC. The same form holds any trace of
//! bytes per interval.
//!
//! Slot k of row r gets its share of `amounts[r]`, `slot / interval` of it. Remainders are carried
//! from slot to slot, so the rate is the same for any length of slot: over a row whose length is a
//! multiple of both, the slots add up to the row exactly; otherwise to within one unit. With slots
//! as long as the interval (T20: 10 ms), a slot gets the row's amount itself. The *nominal* length
//! of a slot counts: a MAC with late ticks serves less per second, like T20's program.
//!
//! Defaults: T20's interval, packet size and row. At the end a trace restarts, which keeps its
//! statistics (the program reads on beyond its array).
//!
//! Weakness: the channel is constant within a row. Deviations: slots of another length than the
//! interval, which T20 does not have.

use super::share::Share;
use super::timeline::{AtEnd, RowLength, Timeline};
use super::{
    AMOUNTS, AMOUNTS_SOURCE, CapacityUnit, ChannelContext, ChannelModel, ChannelSettings,
    are_amounts, narrow,
};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, params};

params! {
    /// Settings of a capacity trace. A door fills `amounts` from a file.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RowsConfig {
        /// The rows. A trace file named in the scenario fills them.
        amounts: Vec<u64> as "list of packets per interval" = Vec::new(),
            rule(AMOUNTS, |c| are_amounts(&c.amounts)), AMOUNTS_SOURCE;
        /// How long a row is in force: a time by the clock of the run, or a bare number of slots
        /// however long they take.
        row: RowLength = RowLength::default();
        /// The time in which a row's amount is carried.
        interval: Duration = Duration::from_millis(10),
            above(Duration::ZERO).to(Duration::from_secs(3600)), INTERVAL_SOURCE;
        /// After the last row: keep it, begin again, or carry nothing.
        at_end: AtEnd = AtEnd::Loop;
        /// Bytes of one unit of the amounts, if grants count bytes; 1B for a trace in bytes.
        packet_bytes: Bytes = Bytes(1460),
            within(Bytes(1), Bytes(65_535)), PACKET_SOURCE;
    }
}

/// The reason for the bounds of intervals.
pub(super) const INTERVAL_SOURCE: &str = "T20's program counts packets per 10ms";
/// The reason for the bounds of packet sizes.
pub(super) const PACKET_SOURCE: &str = "RFC 791 section 3.1: the total length has 16 bits";

impl ChannelSettings for RowsConfig {}

/// A running capacity trace.
#[derive(Clone, Debug)]
pub struct Rows {
    amounts: Arc<[u32]>,
    timeline: Timeline,
    share: Share,
}

impl Rows {
    /// The trace of a valid `config`.
    pub(super) fn new(config: &RowsConfig, context: &ChannelContext) -> Result<Self, ConfigError> {
        let worth = match context.unit {
            CapacityUnit::Packets => 1,
            CapacityUnit::Bytes => config.packet_bytes.0,
        };
        Ok(Self {
            amounts: config.amounts.iter().map(|&amount| narrow(amount)).collect(),
            timeline: Timeline::new(config.row, config.at_end, config.amounts.len()),
            share: Share::new(context.slot, config.interval, worth, 1),
        })
    }
}

impl ChannelModel for Rows {
    #[inline]
    fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        let row = self.timeline.row(slot_index, at);
        row.map_or(0, |row| self.share.of(u64::from(self.amounts[row]), slot_index))
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "rows",
    kind: "channel",
    title: "a trace of capacities",
    text: "Each row states what is carried per interval while it is in force. A slot gets its \
           share by nominal length, remainders carried, so the rate is kept whatever the length \
           of a slot.",
    sources: "T20 section V and its released program",
    deviations: "shares for slots of another length than the interval; the end of the trace is \
                 defined",
    params: RowsConfig::params,
};
