//! What one side of the house tells another as plain data: the radio's slots to limiters, pacers and RAPID.

use crate::time::{Duration, Instant};

/// What the MAC tells a bearer's limiter after each slot. Amounts are in the MAC's unit: packets or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotReport {
    /// When the MAC pulled.
    pub pulled_at: Instant,
    /// Nominal length of a slot.
    pub slot: Duration,
    /// What the bearer was offered in this slot: what it used, and its share of what no other used. Alone in its cell, all of it.
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
