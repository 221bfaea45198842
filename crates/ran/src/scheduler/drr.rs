//! Deficit round robin: bytes in proportion to weights, at constant cost per packet.
//!
//! Source: Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", 1996. Each
//! queue in turn gets a credit of `quantum x weight` bytes and sends while its first packet fits
//! its credit; an empty queue loses its credit. Default quantum 1500 B, one full packet, so that
//! each turn sends at least one. Deviations from the source: a queue whose bearer currently admits
//! nothing keeps its credit and is skipped.

use super::{Candidate, SdapScheduler};
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, params};

params! {
    /// Settings of [`Drr`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DrrConfig {
        /// Credit per turn and unit of weight.
        quantum: Bytes = Bytes(1500),
            within(Bytes(64), Bytes(1_000_000)), "smaller credits need many turns per packet";
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "drr",
    kind: "scheduler",
    title: "SDAP deficit round robin, bytes in proportion to weights",
    text: "Each queue in turn gets a credit of quantum times its weight and sends while its first \
           packet fits.",
    sources: "Shreedhar and Varghese 1996",
    deviations: "a queue whose bearer takes nothing now keeps its credit",
    params: DrrConfig::params,
};

/// The deficit round robin scheduler.
#[derive(Clone, Debug)]
pub struct Drr {
    quantum: u64,
    credit: Vec<u64>,
    turn: usize,
    /// True if the queue whose turn it is has had its credit for this turn.
    credited: bool,
}

impl Drr {
    /// A scheduler over `queues` queues.
    ///
    /// # Errors
    /// The quantum is outside its bounds.
    pub fn new(config: &DrrConfig, queues: usize) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            quantum: config.quantum.0,
            credit: alloc::vec![0; queues],
            turn: 0,
            credited: false,
        })
    }

    fn next_turn(&mut self) {
        self.turn = (self.turn + 1) % self.credit.len();
        self.credited = false;
    }
}

impl SdapScheduler for Drr {
    fn pick(&mut self, candidates: &[Candidate]) -> Option<usize> {
        if !candidates.iter().any(|c| c.eligible) {
            return None;
        }
        // Terminates: an eligible queue gains at least 64 bytes per round, and a packet has at most
        // 65 535.
        loop {
            let c = &candidates[self.turn];
            if c.eligible {
                if !self.credited {
                    self.credit[self.turn] += self.quantum * u64::from(c.weight.max(1));
                    self.credited = true;
                }
                if self.credit[self.turn] >= u64::from(c.head_bytes) {
                    return Some(self.turn);
                }
            } else if c.head_bytes == 0 {
                self.credit[self.turn] = 0;
            }
            self.next_turn();
        }
    }

    fn on_sent(&mut self, index: usize, bytes: u32) {
        self.credit[index] = self.credit[index].saturating_sub(u64::from(bytes));
    }
}
