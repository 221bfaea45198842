//! The identity of UEs: two handles for one UE, and the rate that a subscription allows.

use crate::control::Control;
use crate::members::Members;
use crate::refused::Refused;
use crate::slab::{CellId, UeId};
use justfull_base::Instant;

impl Control {
    /// `from` and `into` are one UE: the flows of `from` belong to `into` from now on, and the
    /// handle `from` ends. Reports, cell, limit and loops of `into` stay. If `from` was in another
    /// cell, the radio legs of its flows are measured anew.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`] or [`Refused::Full`]. A UE merged with itself changes nothing.
    pub fn merge_ues(&mut self, now: Instant, from: UeId, into: UeId) -> Result<(), Refused> {
        let old = self.ues.find(from.0).ok_or(Refused::UnknownUe)?;
        let new = self.ues.find(into.0).ok_or(Refused::UnknownUe)?;
        if old == new {
            return Ok(());
        }
        let together = self.ues[old].flows.len() + self.ues[new].flows.len();
        if together > self.room.flows_of_ue as usize {
            return Err(Refused::Full);
        }
        let now = self.at(now);
        let other_cell = self.ues[old].cell != self.ues[new].cell;
        let mut gone = core::mem::replace(&mut self.ues[old].flows, Members::new());
        for key in gone.all() {
            let flows = &mut self.ues[new].flows;
            let flow = &mut self.flows[key];
            flow.ue = new;
            flow.position = u32::try_from(flows.len()).expect("fewer than 2^32 flows");
            if other_cell {
                flow.change_radio();
            }
            flows.push(key);
            if !self.unlimited {
                self.timers.arm(new, flow.deadline(&self.rules));
            }
        }
        gone.clear();
        self.ues[old].flows = gone;
        // Without flows it gives back its share of the cell.
        self.allocate(now, old);
        self.timers.disarm(old);
        self.ues.remove(old);
        self.allocate(now, new);
        Ok(())
    }

    /// From now on all flows of `ue` together get at most `most` bytes per second, headers
    /// included: the limit of its subscription (UE-AMBR, TS 23.501 section 5.7.1.8). None: no
    /// limit. The rest of its share is free for the other UEs of its cell.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`], or [`Refused::Absurd`] for a rate that is not above 0.
    pub fn limit_ue(&mut self, now: Instant, ue: UeId, most: Option<f64>) -> Result<(), Refused> {
        let index = self.ues.find(ue.0).ok_or(Refused::UnknownUe)?;
        let most = most.unwrap_or(f64::INFINITY);
        if most.is_nan() || most <= 0.0 {
            return Err(Refused::Absurd("most"));
        }
        let now = self.at(now);
        self.ues[index].most = most;
        self.share_out(now, index);
        Ok(())
    }

    /// The cell of a UE; none if there is no such UE.
    #[must_use]
    pub fn cell(&self, ue: UeId) -> Option<CellId> {
        Some(CellId(self.ues[self.ues.find(ue.0)?].cell))
    }

    /// The share of `cell` that its UEs hold, 0 to 1. It is 0 without reports, and if the control
    /// does not divide free blocks.
    #[must_use]
    pub fn held(&self, cell: CellId) -> f64 {
        self.cells.get(cell.0 as usize).map_or(0.0, crate::cell::Cell::held)
    }
}
