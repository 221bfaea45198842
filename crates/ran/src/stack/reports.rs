//! The cell's reports about its UEs to RAPID (ETSI GS MEC 012; R22 section 3.1).

use super::Stack;
use crate::mac::{Meter, SlotService, UeMeter};
use alloc::boxed::Box;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};

impl Stack {
    /// Starts the counts for [`Stack::reports`]. Before that nothing is counted.
    pub fn start_reports(&mut self) {
        self.cell.meter = Some(Box::new(Meter::new(self.cell.ues.len())));
    }

    /// Calls `each` for each UE, by its number, with the events since the last call, or since
    /// [`Stack::start_reports`]. Makes no report, and continues to count, before the first downlink
    /// slot; `now` must be after the last call.
    ///
    /// Blocks are resource blocks if the MAC allocates them. If it grants bytes, a block is a byte;
    /// if it grants packets, a packet counts as many blocks as the MTU has bytes. In these two
    /// cases the slots of a UE with its own channel offer their capacity for this UE alone, and the
    /// others' use counts as their share of the slot.
    ///
    /// The MCS is the MAC's MCS for the UE in the last slot, even if the UE was not served.
    pub fn reports(&mut self, now: Instant, mut each: impl FnMut(u32, &RanReport)) {
        let Some(mut meter) = self.cell.meter.take() else { return };
        if let Some(slot) = self.last_slot.filter(|_| meter.downlink_slots > 0) {
            let kind = self.service.report_kind();
            let in_rbs = kind.is_some();
            let per_ue = self.cell.per_ue_channels && !in_rbs;
            // With packets, the MTU.
            let unit = if in_rbs { 1 } else { self.service.most_bytes_per_unit() };
            let slots = meter.downlink_slots;
            let between = self.slot.as_nanos() * meter.slots / u64::from(slots);
            let active_ues = meter.active_ues();
            self.cell.list_places(&mut meter.places);
            for &ue in &meter.places {
                if self.core.ues[ue].away {
                    continue;
                }
                let UeMeter { blocks, repeats, bytes, offered, used, .. } = meter.ues[ue];
                let (offered, used) =
                    if per_ue { (offered, used) } else { (meter.offered, meter.used) };
                let place = ue as u32;
                let report = RanReport {
                    at: now,
                    kind: kind.unwrap_or(CellKind::Bytes),
                    slot: Duration::from_nanos(between),
                    slots,
                    offered: offered * unit,
                    used: used * unit,
                    active_ues,
                    blocks: blocks * unit,
                    repeats: repeats * unit,
                    bytes,
                    mcs: self.service.known_mcs(&mut self.cell, place, slot),
                    backlog: self.cell.ues[ue].bearers.iter().map(|b| b.view().bytes).sum(),
                };
                each(self.cell.number(place), &report);
            }
            meter.reset();
        }
        self.cell.meter = Some(meter);
    }
}
