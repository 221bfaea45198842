//! Hybrid automatic repeat request: transport blocks that were not decoded are retransmitted.
//!
//! Sources: TS 36.321 section 5.3.2, TS 38.321 section 5.3.2; A21 section V-E (retransmissions use
//! resource blocks that slices then do not share). A block fails with probability `bler` at its
//! first transmission and `bler x combining` at each further one, since the receiver combines all
//! transmissions (incremental redundancy). A block whose MCS follows an old measurement that is too
//! good always fails at first. A failed block is retransmitted `round_trip` slots later, before all
//! new data and on as many resource blocks; after `transmissions` in all it is lost.
//!
//! Defaults: no errors (A21's bench had nearly none), 8 slots of round trip (LTE FDD), 4
//! transmissions, combining 0.1. Known weaknesses: without a SINR the error rate is a setting that
//! depends on neither MCS nor distance. Deviations: a UE has as many processes as it needs; NR's 16
//! suffice for a round trip of up to 16 slots, and LTE's 8 for a round trip of 8.
//!
//! If the UE's channel has a SINR ([`umi`](crate::channel::umi)), the SINR and the MCS determine
//! the failure rate of a block, in place of `bler` and `combining`, and an old measurement costs
//! the loss of SINR since then. For such a block one random number determines its required sum. The
//! block fails while the sum of its transmissions is lower, so the share of failing blocks is the
//! channel's.

use crate::pdu::TbContent;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::rng::mix;
use justfull_base::{Ratio, params};

params! {
    /// Settings of HARQ.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HarqConfig: "TS 36.321 and 38.321 section 5.3.2" {
        /// Share of first transmissions that are not decoded; 0 with a channel whose SINR decides
        /// it.
        bler: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(1.0));
        /// Factor of that share from one transmission to the next; not with a channel that has a
        /// SINR, where transmissions add up.
        combining: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// From a transmission to the next of the same block.
        round_trip: u8 as "slots" = 8, within(1, 16);
        /// Most transmissions of a block.
        transmissions: u8 = 4, within(1, 16);
    }
}

/// Description.
pub(crate) const DOC: MethodDoc = MethodDoc {
    name: "harq",
    kind: "MAC",
    title: "HARQ: transport blocks that are sent again",
    text: "A block that is not decoded is sent again a round trip later, before all new data and \
           on as many resource blocks, which count as used; each time it is less likely to fail. \
           After its last transmission it is lost. With channel umi the SINR says how often.",
    sources: "TS 36.321 and 38.321 section 5.3.2",
    deviations: "the error rate is a setting, which follows neither MCS nor distance, but with \
                 channel umi; the number of processes does not limit",
    params: HarqConfig::params,
};

/// A transport block in transit: its content for each bearer of one UE.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) ue: u32,
    pub(crate) n_prb: u16,
    pub(crate) mcs: u8,
    /// Transmissions so far.
    pub(crate) sent: u8,
    /// True if its MCS was above the channel's at its first transmission.
    stale: bool,
    /// A number that the sender sets in each block for content other than the bearers' data.
    pub(crate) tag: u32,
    /// Sum of the SINRs of its transmissions, if the channel has a SINR.
    pub(crate) sinr: f64,
    /// It is decoded once the share of failing blocks is at most this number.
    luck: f64,
    /// Its content by bearer; only the first `bearers` are in use, the others keep their memory.
    contents: Vec<(u8, TbContent)>,
    bearers: usize,
}

impl Block {
    /// An empty share for bearer `drb`, to be filled.
    #[inline]
    pub(crate) fn add(&mut self, drb: u8) -> &mut TbContent {
        if self.bearers == self.contents.len() {
            self.contents.push((drb, TbContent::default()));
        }
        let (bearer, content) = &mut self.contents[self.bearers];
        self.bearers += 1;
        *bearer = drb;
        content.clear();
        content
    }

    /// Its content, bearer by bearer.
    #[inline]
    pub(crate) fn contents(&self) -> &[(u8, TbContent)] {
        &self.contents[..self.bearers]
    }

    fn reset(&mut self, ue: u32) {
        self.ue = ue;
        self.sent = 0;
        self.stale = false;
        self.sinr = 0.0;
        self.bearers = 0;
    }
}

/// The conditions of a transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reception {
    /// The channel supports its MCS.
    Borne,
    /// Its MCS is above the channel's.
    Stale,
    /// This share of blocks is not decoded from all transmissions so far.
    Error(f64),
}

/// The outcome of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Decoded,
    /// The block will be retransmitted.
    Again,
    /// The last transmission failed.
    Lost,
}

/// The blocks of a cell that wait for their next transmission. Memory: one block for each that has
/// failed and not yet passed, at most `round_trip` slots of them, and one spare.
pub(crate) struct Harq {
    config: HarqConfig,
    key: u64,
    /// Blocks with the slot in which they are due; in order, since all have the same round trip.
    waiting: VecDeque<(u64, Block)>,
    spare: Vec<Block>,
}

impl Harq {
    pub(crate) fn new(config: &HarqConfig, key: u64) -> Self {
        Self { config: config.clone(), key, waiting: VecDeque::new(), spare: Vec::new() }
    }

    /// Blocks of `ue` are not sent again: it leaves the cell. `gone` gets the tag of each.
    pub(crate) fn forget(&mut self, ue: u32, mut gone: impl FnMut(u32)) {
        for _ in 0..self.waiting.len() {
            let Some((due, block)) = self.waiting.pop_front() else { return };
            if block.ue == ue {
                gone(block.tag);
                self.close(block);
            } else {
                self.waiting.push_back((due, block));
            }
        }
    }

    /// An empty block for `ue`.
    #[inline]
    pub(crate) fn open(&mut self, ue: u32) -> Block {
        let mut block = self.spare.pop().unwrap_or_default();
        block.reset(ue);
        block
    }

    /// Returns the memory of `block`.
    #[inline]
    pub(crate) fn close(&mut self, block: Block) {
        self.spare.push(block);
    }

    /// True if every transmission is decoded, except with an MCS above the channel's, and except on
    /// a channel with a SINR.
    pub(crate) fn never_fails(&self) -> bool {
        self.config.bler.0 <= 0.0
    }

    /// Slots from a transmission to the next of its block.
    pub(crate) const fn round_trip(&self) -> u8 {
        self.config.round_trip
    }

    /// The first block to be retransmitted in slot `k` to a UE that `listens`, if it fits `n_prb`
    /// resource blocks.
    #[inline]
    pub(crate) fn due(
        &mut self,
        k: u64,
        n_prb: u16,
        mut listens: impl FnMut(u32) -> bool,
    ) -> Option<Block> {
        let mut due = self.waiting.iter().take_while(|(at, _)| *at <= k);
        let place = due.position(|(_, block)| listens(block.ue))?;
        if self.waiting[place].1.n_prb > n_prb {
            return None;
        }
        self.waiting.remove(place).map(|(_, block)| block)
    }

    /// Transmits `block` in slot `k` and returns the outcome; `number` gives its UE's number. A
    /// stale first transmission cannot be decoded. A block to be retransmitted must be passed to
    /// [`Self::keep`].
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        k: u64,
        block: &mut Block,
        met: Reception,
        number: impl FnOnce() -> u32,
    ) -> Outcome {
        block.sent += 1;
        block.stale |= met == Reception::Stale;
        let is_decoded = match met {
            Reception::Error(share) => {
                if block.sent == 1 {
                    block.luck = self.draw(k, number());
                }
                block.luck >= share
            }
            _ if self.never_fails() && !block.stale => true,
            _ => {
                let first = if block.stale { 1.0 } else { self.config.bler.0 };
                let error = (1..block.sent).fold(first, |rate, _| rate * self.config.combining.0);
                self.draw(k, number()) >= error
            }
        };
        if is_decoded {
            Outcome::Decoded
        } else if block.sent < self.config.transmissions {
            Outcome::Again
        } else {
            Outcome::Lost
        }
    }

    /// A random number from 0 to below 1 for UE `ue` in slot `k`: a hash instead of the next draw,
    /// so that one UE's numbers do not change another's.
    fn draw(&self, k: u64, ue: u32) -> f64 {
        let draw = mix(self.key ^ mix(k).wrapping_add(u64::from(ue)));
        (draw >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `block`, sent in slot `k`, waits for its next transmission.
    pub(crate) fn keep(&mut self, k: u64, block: Block) {
        self.waiting.push_back((k + u64::from(self.config.round_trip), block));
    }
}
