//! A fixed part of the resource blocks for each slice, slot by slot (FP).
//!
//! Source: A21 section V-E, which gives this name to OpenAirInterface's default: a slice gets
//! `floor(share x n)` of the `n` blocks of a slot, 18, 12 or 6 of 25 for shares of 75, 50 and 25 %.
//! The remainders of the floors are lost, and so are blocks that a slice does not need. Inside a
//! slice UEs take turns, a unit at a time, and the bearers of a UE share its transport block.
//!
//! A slice gets the full units that its blocks cover. The rest of its blocks is lost, unless it
//! covers the short last unit and no earlier slice took that: with groups of 2 a slice of 18 blocks
//! gets 9 groups, a slice of 25 gets 12 groups and the last block.
//!
//! Weaknesses: cuts many SDUs, since a slice's part of a slot rarely fits them, and leaves blocks
//! free while others wait; a slice whose blocks cover no unit never sends. Deviations from the
//! source: none; shares are counted in millionths.

use super::{RbScheduler, Turns, share_parts};
use crate::rb_demand::{RbAllocation, RbDemand, RbUnits};
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Ratio, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FixedPartitionConfig {}
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "fixed_partition",
    kind: "resource block scheduler",
    title: "A fixed part of each slot for each slice (FP)",
    text: "A slice gets floor(share x n) of the n blocks of a slot, in whole RBs or RBGs; what \
           the floors leave and what a slice does not need is lost. Inside a slice UEs take turns.",
    sources: "A21 section V-E (the default of OpenAirInterface)",
    deviations: "none",
    params: FixedPartitionConfig::params,
};

/// The fixed partition.
#[derive(Clone, Debug)]
pub struct FixedPartition {
    /// Shares in millionths.
    parts: Vec<u32>,
    turns: Vec<Turns>,
}

impl FixedPartition {
    /// A partition of the cell into these shares.
    ///
    /// # Errors
    /// The share outside its bounds, see [`share_parts`].
    pub fn new(_: &FixedPartitionConfig, shares: &[Ratio]) -> Result<Self, ConfigError> {
        let parts = share_parts(shares)?;
        Ok(Self { turns: vec![Turns::default(); parts.len()], parts })
    }
}

impl RbScheduler for FixedPartition {
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        out.clear(demand);
        for (index, ue) in demand.ues.iter().enumerate() {
            self.turns[usize::from(ue.slice)].join(demand, index);
        }
        let mut free = demand.units;
        for (turns, &part) in self.turns.iter_mut().zip(&self.parts) {
            let own = free.split_off(super::floor_of_share(part, demand.units.rbs()));
            turns.serve(own, demand, out);
        }
        let unmet = |(index, grant): (usize, &crate::rb_demand::RbGrant)| {
            grant.rbs < demand.rbs_needed(index)
        };
        if out.grants().iter().enumerate().any(unmet) {
            let given = out.rbs() as u16;
            out.withhold(demand.units.rbs() - given);
        }
        for index in 0..demand.ues.len() {
            if out.grant(index).units > 0 {
                out.split_in_turn(demand, index);
            }
        }
    }

    fn wants_sdus(&self) -> bool {
        false
    }

    fn schedule_sole(&mut self, ue: u32, slice: u16, units: RbUnits) -> Option<RbUnits> {
        let mut free = units;
        let mut own = RbUnits::default();
        for &part in self.parts.get(..=usize::from(slice))? {
            own = free.split_off(super::floor_of_share(part, units.rbs()));
        }
        self.turns[usize::from(slice)].serve_sole(ue, own);
        Some(own)
    }
}
