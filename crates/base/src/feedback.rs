//! What one side of the house tells another as plain data: the radio's slots to limiters and
//! pacers, and its reports to RAPID.

use crate::time::{Duration, Instant};

/// What the MAC tells a bearer's limiter after each slot. Amounts are in the MAC's unit: packets or
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotReport {
    /// When the MAC pulled.
    pub pulled_at: Instant,
    /// Nominal length of a slot.
    pub slot: Duration,
    /// What the bearer was offered in this slot: what it used, and its share of what no other
    /// used. Alone in its cell, all of it.
    pub granted: u64,
    /// What it sent.
    pub used: u64,
    /// What is still in its RLC queue.
    pub remaining: u64,
    /// Capacity of the slot just served at the MCS in force, if the bearer had had all of it.
    pub capacity: u64,
    /// The bearer could have sent more than it had.
    pub starved: bool,
}

/// What is known of the next pull when grants follow a fixed schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotForecast {
    /// When the MAC will pull next.
    pub next_pull: Instant,
    /// What it will take from this bearer at most.
    pub capacity: u64,
    /// Polls of the asking layer after this one and before that pull.
    pub polls_left: u32,
    /// Most packets that one poll may move; `u32::MAX` for no limit.
    pub packets_per_poll: u32,
}

/// Whose rules turn the blocks of a [`RanReport`] into bytes.
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
    /// A cell without resource blocks: a block is a byte that the UE could be sent.
    Bytes,
}

/// What a cell reports of one UE over one period: the content of a radio network information
/// service (ETSI GS MEC 012) that RAPID needs (R22 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanReport {
    /// End of the period, by the cell's clock. A later report has a later one.
    pub at: Instant,
    /// Rules of the cell.
    pub kind: CellKind,
    /// Mean time between two downlink slots.
    pub slot: Duration,
    /// Downlink slots in the period.
    pub slots: u32,
    /// Blocks that these slots offered, together.
    pub offered: u64,
    /// Blocks given to all UEs.
    pub used: u64,
    /// UEs that were given blocks.
    pub active_ues: u32,
    /// Blocks given to this UE.
    pub blocks: u64,
    /// Of these, the blocks that carried HARQ retransmissions.
    pub repeats: u64,
    /// Bytes sent to this UE in transport blocks, retransmissions not counted.
    pub bytes: u64,
    /// Last modulation and coding scheme; none when it is not known.
    pub mcs: Option<u8>,
    /// Bytes in this UE's RLC queues at the end.
    pub backlog: u64,
}
