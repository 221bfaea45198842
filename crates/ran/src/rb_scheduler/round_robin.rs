//! Resource blocks in turn, the same number to each UE, regardless of slices.
//!
//! Source: TS 36.213 and 38.214 leave scheduling open; the resource-fair reference of the
//! literature (Capozzi et al., "Downlink packet scheduling in LTE cellular networks: key design
//! issues and a survey", 2013, section IV-B). One unit to each UE in turn until none is free or no
//! UE needs more; the next slot begins where the last one ended. The bearers of a UE share its
//! transport block in the same way, in bytes. Weaknesses: ignores the channel, so that a distant UE
//! takes as many blocks as a near one; cuts many SDUs at the end of a slot. Deviations from the
//! source: none.

use super::{RbScheduler, Turns, share_parts};
use crate::rb_demand::{RbAllocation, RbDemand, RbUnits};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Ratio, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RbRoundRobinConfig {}
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "round_robin",
    kind: "resource block scheduler",
    title: "Resource blocks to UEs in turn",
    text: "One RB or RBG to each UE in turn until nothing is free or nobody needs more; slices do \
           not count. The next slot begins where the last one ended. The bearers of a UE share \
           its transport block in equal parts.",
    sources: "Capozzi et al. 2013, section IV-B",
    deviations: "none",
    params: RbRoundRobinConfig::params,
};

/// The round-robin scheduler.
#[derive(Clone, Debug, Default)]
pub struct RbRoundRobin {
    turns: Turns,
}

impl RbRoundRobin {
    /// A scheduler that has served no UE; it ignores slices.
    ///
    /// # Errors
    /// The share outside its bounds, see [`share_parts`].
    pub fn new(_: &RbRoundRobinConfig, shares: &[Ratio]) -> Result<Self, ConfigError> {
        share_parts(shares)?;
        Ok(Self::default())
    }
}

impl RbScheduler for RbRoundRobin {
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        out.clear(demand);
        for index in 0..demand.ues.len() {
            self.turns.join(demand, index);
        }
        self.turns.serve(demand.units, demand, out);
        for index in 0..demand.ues.len() {
            if out.grant(index).units > 0 {
                out.split_in_turn(demand, index);
            }
        }
    }

    fn wants_sdus(&self) -> bool {
        false
    }

    #[inline]
    fn schedule_sole(&mut self, ue: u32, _slice: u16, units: RbUnits) -> Option<RbUnits> {
        self.turns.serve_sole(ue, units);
        Some(units)
    }

    fn schedule_one_each(&mut self, ues: &[u32], _units: RbUnits) -> bool {
        self.turns.serve_one_each(ues);
        true
    }
}
