//! Plain data that one side of the stack reports to another: the radio's slots to limiters and
//! pacers, and its reports to RAPID.

use crate::time::{Duration, Instant};

/// The MAC's report to a bearer's limiter after each slot. Amounts are in the MAC's unit: packets
/// or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotReport {
    /// When the MAC pulled.
    pub pulled_at: Instant,
    /// Nominal length of a slot.
    pub slot: Duration,
    /// The amount that the slot offered this bearer: the amount it used plus its share of the
    /// unused rest. A bearer alone in its cell gets the whole slot.
    pub granted: u64,
    /// The amount that it sent.
    pub used: u64,
    /// The amount still in its RLC queue.
    pub remaining: u64,
    /// The most that a slot carries at the current MCS if the bearer has all of it. If slots
    /// differ, as LTE's short subframes do, this is for the largest; if no MCS is known, for this
    /// slot.
    pub capacity: u64,
    /// True when the bearer could have sent more than it had.
    pub starved: bool,
}

/// Facts about the next pull, if grants follow a fixed schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotForecast {
    /// When the MAC will pull next.
    pub next_pull: Instant,
    /// The most that this pull takes from the bearer, together with later pulls that come before
    /// the next poll of the layer that calls.
    pub capacity: u64,
    /// Polls of that layer between this one and the pull.
    pub polls_left: u32,
    /// Most packets that one poll may move; `u32::MAX` for no limit.
    pub packets_per_poll: u32,
}

/// The rules that convert the resource blocks of a [`RanReport`] to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// LTE (TS 36.213 section 7.1.7).
    Lte {
        /// Table of modulation and coding schemes: 1 (64QAM) or 2 (256QAM).
        mcs_table: u8,
        /// Spatial layers, 1 to 4.
        layers: u8,
    },
    /// NR (TS 38.214 section 5.1.3).
    Nr {
        /// Table of modulation and coding schemes: 1 to 3.
        mcs_table: u8,
        /// Spatial layers, 1 to 4.
        layers: u8,
        /// Symbols of a slot that carry data or its reference signals, 1 to 14.
        symbols: u8,
        /// Resource elements of a block that reference signals take.
        dmrs_res: u8,
    },
    /// A cell without resource blocks: one block is one byte that the UE could receive.
    Bytes,
}

/// Longest name of a cell in reports, in bytes.
const LONGEST_CELL_NAME: usize = 64;

/// The allowed names of cells in reports: status, log and metrics show them unchanged.
pub const CELL_NAME: &str = "1 to 64 visible ASCII characters without quotes and backslashes";

/// True if `name` can name a cell in reports; see [`CELL_NAME`].
#[must_use]
pub fn is_cell_name(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    (1..=LONGEST_CELL_NAME).contains(&name.len()) && name.bytes().all(sound)
}

/// A cell's report about one UE for one period: the part of a radio network information service
/// (ETSI GS MEC 012) that RAPID needs (R22 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanReport {
    /// End of the period, by the cell's clock. Strictly increasing from report to report.
    pub at: Instant,
    /// Rules of the cell.
    pub kind: CellKind,
    /// Mean time between two downlink slots.
    pub slot: Duration,
    /// Downlink slots in the period.
    pub slots: u32,
    /// Blocks that these slots offered in total.
    pub offered: u64,
    /// Blocks given to all UEs.
    pub used: u64,
    /// UEs that were given blocks.
    pub active_ues: u32,
    /// Blocks given to this UE.
    pub blocks: u64,
    /// Blocks among these that carried HARQ retransmissions.
    pub repeats: u64,
    /// Bytes sent to this UE in transport blocks, without retransmissions.
    pub bytes: u64,
    /// Last modulation and coding scheme; none when unknown.
    pub mcs: Option<u8>,
    /// Bytes in this UE's RLC queues at the end of the period.
    pub backlog: u64,
}
