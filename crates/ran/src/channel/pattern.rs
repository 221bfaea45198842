//! The bytes of a few slots, repeated for ever.
//!
//! Source: A21 section V: an LTE cell of 25 PRBs at MCS 28 whose subframes differ because two of
//! ten carry system information. The bytes of slot k are `bytes[k mod len]`.
//!
//! Default: ten subframes of A21, eight with 25 PRBs (TBS 18336 bit, 2292 B) and two with 17 of
//! them (12576 bit, 1572 B). The paper prints 2289 and 1569 B, the rest after the MAC header of 3
//! B; here the stack adds the overheads of MAC and RLC. The two are subframes 0 and 5, which hold
//! the synchronisation signals (TS 36.211 section 6.11); the paper does not name them.
//!
//! Weakness: the pattern fits one length of slot; with another it runs at another speed.
//! Deviations: none.

use super::{
    AMOUNTS, AMOUNTS_SOURCE, CapacityUnit, ChannelContext, ChannelModel, ChannelSettings,
    are_amounts, narrow,
};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Instant, params};

params! {
    /// Settings of a repeated pattern.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PatternConfig {
        /// The capacity of each slot in turn.
        bytes: Vec<u64> as "list of bytes" =
            vec![1572, 2292, 2292, 2292, 2292, 1572, 2292, 2292, 2292, 2292],
            rule(AMOUNTS, |c| are_amounts(&c.bytes)), AMOUNTS_SOURCE;
    }
}

impl ChannelSettings for PatternConfig {}

/// A pattern at one slot.
#[derive(Clone, Debug)]
pub struct Pattern {
    bytes: Arc<[u32]>,
    /// The last pulled slot and its index in the pattern, so that the next slot needs no division.
    slot: u64,
    place: usize,
}

impl Pattern {
    /// The pattern of a valid `config`.
    pub(super) fn new(
        config: &PatternConfig,
        context: &ChannelContext,
    ) -> Result<Self, ConfigError> {
        let in_bytes = context.unit == CapacityUnit::Bytes;
        let allowed = "another kind, or with mac.kind bytes, dch or hsdpa";
        ensure(in_bytes, "kind", &"pattern", allowed, "its amounts are bytes")?;
        let bytes = config.bytes.iter().map(|&bytes| narrow(bytes)).collect();
        Ok(Self { bytes, slot: 0, place: 0 })
    }

    #[inline]
    fn place(&self, k: u64) -> usize {
        match k.checked_sub(self.slot) {
            Some(0) => self.place,
            Some(1) if self.place + 1 < self.bytes.len() => self.place + 1,
            Some(1) => 0,
            _ => (k % self.bytes.len() as u64) as usize,
        }
    }
}

impl ChannelModel for Pattern {
    #[inline]
    fn amount(&self, slot_index: u64, _: Instant) -> u64 {
        u64::from(self.bytes[self.place(slot_index)])
    }

    #[inline]
    fn advance(&mut self, slot_index: u64, _: Instant) {
        self.place = self.place(slot_index);
        self.slot = slot_index;
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "pattern",
    kind: "channel",
    title: "bytes of a few slots, repeated",
    text: "Slot k offers entry k modulo the length of the list. The default is a frame of A21's \
           LTE cell: 25 PRBs at MCS 28, less 8 PRBs in the two subframes with system information; \
           17.18 Mbit/s in slots of 1 ms.",
    sources: "A21 section V; TS 36.213 Table 7.1.7.2.1-1",
    deviations: "the paper's 2289 and 1569 B are these sizes after the MAC header",
    params: PatternConfig::params,
};
