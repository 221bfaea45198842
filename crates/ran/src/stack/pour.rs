//! A short path for a UE with waiting packets of one QFI only, where no pacer or limiter must
//! decide and no packet is marked between the layers: the packets move down in one batch, at an
//! opportunity of the UPF and at SDAP's poll.
//!
//! A second of the scenario nr-100mhz (Vanilla, `justfull run`) takes 117.4 million instructions
//! without this and 102.1 with it.

use super::{Egress, Instant, Probe, Stack};

impl Stack {
    /// Number of packets that moved by the short path at this opportunity of the UPF; the others
    /// take their turns.
    #[inline(always)]
    pub(super) fn pour_upf<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        driver: &mut D,
    ) -> u32 {
        let Self { core, cell, clocks, sdap_busy, .. } = self;
        if !self.pours || clocks.sdap.is_event_driven() {
            return 0;
        }
        let (upf, gate) = (&mut core.upfs[ue_index as usize], &mut cell.gates[ue_index as usize]);
        let Some(i) = upf.sole() else { return 0 };
        let below = &mut gate.sdap.queues.at(i).queue;
        let sent = upf.queues[i].queue.pour(below, now, core.batch.into(), driver).packets;
        if sent > 0 {
            upf.pass_turn(i);
            if !gate.listed {
                gate.listed = true;
                sdap_busy.push(ue_index);
            }
            clocks.arm_sdap(now, !clocks.top_down);
        }
        sent as u32
    }

    /// Number of packets that moved by the short path in this poll of SDAP; the others take their
    /// turns.
    #[inline(always)]
    pub(super) fn pour_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        driver: &mut D,
    ) -> u32 {
        if !self.pours {
            return 0;
        }
        let most = self.sdap_batch;
        let (gate, mut bearers) = self.gate_and_bearers(ue_index);
        let Some(queue) = gate.sdap.sole() else { return 0 };
        let bearer = bearers.radio.bearers.at(queue.drb.into());
        let before = bearer.view();
        let sent = bearer.pour_from(&mut queue.queue, now, most, driver);
        if sent > 0 {
            bearers.settle_entry(now, queue.drb, before);
        }
        sent
    }
}
