//! Reports about slots to the limiters of a UE before its SDAP is polled.

use super::*;
use crate::bearer::{Above, Offer};

impl Stack {
    /// Reports missed slots to the limiters of a UE, and the next pull if a limiter requires it.
    pub(super) fn prepare_limiters(&mut self, now: Instant, ue_index: u32) {
        self.report_missed(ue_index);
        if self.cell.gates[ue_index as usize].wants_forecast() {
            let forecast = self.forecast(now);
            self.cell.gates[ue_index as usize].on_forecast(&forecast);
        }
    }

    /// Reports the last slot to the limiters of the UE's bearers that were idle in it; this report
    /// stands for all idle slots.
    fn report_missed(&mut self, ue_index: u32) {
        let Some(slot) = self.last_slot.filter(|_| self.cell.wants_reports) else { return };
        let number = self.cell.number(ue_index);
        let Cell { ues, gates, channel, unit, sleep, .. } = &mut self.cell;
        let UeRadio { bearers, own } = &mut ues[ue_index as usize];
        // A slot in which the UE sleeps does not show its rate.
        let awake = sleep.as_ref().is_none_or(|sleep| sleep.is_awake(ue_index));
        if !awake || !bearers.iter().any(|bearer| bearer.misses(slot.k)) {
            return;
        }
        let channel = own.as_ref().map_or(&*channel, |own| &own.channel);
        let (more, more_full) = self.service.of_scells(number, slot);
        let capacity = self.service.whole_slot(channel, slot) + more;
        let plain = matches!(self.service, AnyService::Packets(_) | AnyService::Bytes(_));
        if !plain && capacity == 0 {
            // A limiter cannot judge an uplink slot, or a slot without any PDU.
            return;
        }
        let full = self.service.full_slot(channel, slot) + more_full;
        let left = capacity / (self.service.sharers() as u64 + 1);
        for (drb, bearer) in (0..).zip(bearers.iter_mut()).filter(|(_, b)| b.misses(slot.k)) {
            let above = Above { gates, id: BearerId { ue: ue_index, drb } };
            bearer.report(slot, *unit, Offer { capacity, full, left }, above);
        }
    }
}
