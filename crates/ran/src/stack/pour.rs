//! SDAP's poll of a UE with one queue, a bearer without limits and no pacer above: then what waits
//! goes down in one lot.

use super::{BearerId, Egress, Few, Instant, Probe, Stack, settle_entry};

impl Stack {
    /// Packets that went down so in this poll; the others take their turns.
    #[inline(always)]
    pub(super) fn pour_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        driver: &mut D,
    ) -> u32 {
        let Self { ues, cell, service, .. } = self;
        let Few::One(queue) = &mut ues[ue_index as usize].sdap.queues else { return 0 };
        if !self.unpaced {
            return 0;
        }
        let radio = &mut cell.ues[ue_index as usize];
        let id = BearerId { ue: ue_index, drb: queue.drb };
        let bearer = radio.bearers.at(id.drb.into());
        let before = bearer.view();
        let sent = bearer.pour_from(&mut queue.queue, now, self.sdap_batch, driver);
        if sent > 0 {
            settle_entry(id, before, (radio, &mut cell.backlog, service));
        }
        sent
    }
}
