//! What the cell reports of its UEs to RAPID (ETSI GS MEC 012; R22 section 3.1).

use super::Stack;
use crate::mac::{Meter, SlotService, UeMeter};
use alloc::boxed::Box;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};

impl Stack {
    /// Begins to count what [`Stack::reports`] tells. Until then nothing of it is counted.
    pub fn start_reports(&mut self) {
        self.cell.meter = Some(Box::new(Meter::new(self.cell.ues.len())));
    }

    /// Tells, for each UE by its number, what happened since this was last asked for, or since
    /// [`Stack::start_reports`]. Tells nothing, and goes on counting, before there was a downlink
    /// slot; `now` must be after the last time.
    ///
    /// Blocks are resource blocks where the MAC allocates them. Where it grants bytes, a block is a
    /// byte; where it grants packets, a packet is as many blocks as the MTU has bytes. There the
    /// slots of a UE with a channel of its own offer what they could carry to it alone, and what
    /// others took of it is their part of the slot.
    ///
    /// The MCS is the one that the MAC knows for the UE in the last slot, whether it sent or not.
    pub fn reports(&mut self, now: Instant, mut tell: impl FnMut(u32, &RanReport)) {
        let Some(mut meter) = self.cell.meter.take() else { return };
        if let Some(slot) = self.last_slot.filter(|_| meter.downlink_slots > 0) {
            let kind = self.service.report_kind();
            let in_rbs = kind.is_some();
            let per_ue = self.cell.per_ue_channels && !in_rbs;
            // Of a packet, the MTU.
            let unit = if in_rbs { 1 } else { self.service.most_bytes_per_unit() };
            let slots = meter.downlink_slots;
            let between = self.slot.as_nanos() * meter.slots / u64::from(slots);
            let active_ues = meter.active_ues();
            for ue in 0..meter.ues.len() {
                let UeMeter { blocks, repeats, bytes, offered, used, .. } = meter.ues[ue];
                let (offered, used) =
                    if per_ue { (offered, used) } else { (meter.offered, meter.used) };
                let number = ue as u32;
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
                    mcs: self.service.known_mcs(&mut self.cell, number, slot),
                    backlog: self.cell.ues[ue].bearers.iter().map(|b| b.view().bytes).sum(),
                };
                tell(number, &report);
            }
            meter.reset();
        }
        self.cell.meter = Some(meter);
    }
}
