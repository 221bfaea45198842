//! The flows of all UEs, which any cell may serve.

use super::{Around, Region};
use justfull_base::{DropReason, Dscp, Instant, Packet};
use justfull_ran::FiveTuple;

impl Region {
    /// Opens a flow of `ue`, as [`Stack::open_flow`](justfull_ran::Stack::open_flow) does in one
    /// cell. Returns its number.
    ///
    /// # Panics
    /// If `ue` is not a UE of the region.
    pub fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> u32 {
        self.log.open_flow();
        self.flows.open(ue, &self.ues[ue as usize], tuple, dscp)
    }

    /// Like [`Region::open_flow`], but reuses the number of a flow that has ended. All listeners
    /// must know that it has ended, and none of its packets may be in a cell or between cells.
    ///
    /// # Panics
    /// If `ue` is not a UE of the region, or `number` is not a flow.
    pub fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        self.flows.reopen(number, ue, &self.ues[ue as usize], tuple, dscp);
    }

    /// The UE of flow `number`.
    ///
    /// # Panics
    /// If `number` is not a flow.
    #[must_use]
    pub fn ue_of(&self, number: u32) -> u32 {
        self.flows.ue_of(number)
    }

    /// Flow `number` continues over a new connection with the 5-tuple `tuple`.
    ///
    /// # Panics
    /// If `number` is not a flow.
    pub fn renew_flow(&mut self, number: u32, tuple: &FiveTuple) {
        self.flows.renew(number, tuple);
    }

    /// Drops `packet` to `ue` for `reason` before any cell sees it. It counts as entered and
    /// dropped. `now` may be earlier than the last step of the cells.
    pub fn turn_away<A: Around>(
        &mut self,
        now: Instant,
        mut packet: Packet,
        reason: DropReason,
        around: &mut A,
    ) {
        let at = self.homes[self.ue_of(packet.flow) as usize].serving;
        self.flows.stamp(now, &mut packet, &self.cells[at as usize]);
        self.on_cell(at, around, |cell, sited| cell.refuse_stamped(now, packet, reason, sited));
    }
}
