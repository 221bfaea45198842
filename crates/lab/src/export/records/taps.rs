//! From the events of a run to its records.

use super::columns::{PacketRecord, SlotRecord};
use crate::export::facts::RunFacts;
use justfull_base::{DropReason, Event, Instant, Layer, Packet};
use justfull_ran::channel::CapacityUnit;
use std::collections::BTreeMap;

/// Follows every packet through the chain. Holds the packets that wait, no others.
pub struct PacketTap {
    waiting: BTreeMap<u64, PacketRecord>,
    /// Class and bearer by flow.
    flows: Vec<(u32, u8)>,
}

impl PacketTap {
    /// For the run of `facts`.
    #[must_use]
    pub fn new(facts: &RunFacts) -> Self {
        Self { waiting: BTreeMap::new(), flows: facts.flows.iter().map(|f| (f.class, f.drb)).collect() }
    }

    fn fresh(&self, packet: &Packet, matched: bool) -> PacketRecord {
        let (class, drb) = self.flows[packet.flow as usize];
        PacketRecord {
            id: packet.id,
            flow: packet.flow,
            class,
            ue: packet.ue,
            qfi: matched.then_some(packet.qfi.get()),
            drb: matched.then_some(drb),
            size: packet.size,
            protocol: packet.protocol,
            entered: packet.entered.as_nanos(),
            ..PacketRecord::default()
        }
    }

    /// The record of `packet`, which is in `layer` or about to enter it; a UPF that lets all pass tells nothing.
    fn record(&mut self, packet: &Packet, layer: Layer, matched: bool) -> &mut PacketRecord {
        if !self.waiting.contains_key(&packet.id) {
            let mut record = self.fresh(packet, matched);
            record.left_upf = (layer != Layer::Upf).then_some(record.entered);
            self.waiting.insert(packet.id, record);
        }
        self.waiting.entry(packet.id).or_default()
    }

    /// Hears `event`; the record of the packet that it took out of the chain.
    pub fn hear(&mut self, now: Instant, event: &Event) -> Option<PacketRecord> {
        let at = Some(now.as_nanos());
        match event {
            Event::Enqueued { layer, packet, .. } => {
                self.record(packet, *layer, true);
                None
            }
            Event::Marked { layer, packet } => {
                self.record(packet, *layer, true).marked_at.get_or_insert(*layer);
                None
            }
            Event::Departed { layer: Layer::Upf, packet, .. } => {
                self.record(packet, Layer::Upf, true).left_upf = at;
                None
            }
            Event::Departed { layer: Layer::Sdap, packet, .. } => {
                self.record(packet, Layer::Sdap, true).left_sdap = at;
                None
            }
            Event::Departed { layer: Layer::Rlc, packet, .. } => {
                self.record(packet, Layer::Rlc, true).delivered = at;
                self.waiting.remove(&packet.id)
            }
            Event::Dropped { layer, packet, reason } => {
                let record = self.record(packet, *layer, *reason != DropReason::NoRule);
                record.dropped = at;
                record.dropped_at = Some(*layer);
                record.reason = Some(*reason);
                self.waiting.remove(&packet.id)
            }
            Event::Slot { .. } => None,
        }
    }

    /// The records of the packets that still wait, in order of entry.
    pub fn rest(self) -> impl Iterator<Item = PacketRecord> {
        self.waiting.into_values()
    }
}

/// Counts what waits in UPF and SDAP, and makes a record of each slot.
pub struct SlotTap {
    in_bytes: bool,
    packets: [u64; 3],
    bytes: [u64; 3],
}

impl SlotTap {
    /// For the run of `facts`.
    #[must_use]
    pub fn new(facts: &RunFacts) -> Self {
        Self { in_bytes: facts.unit == CapacityUnit::Bytes, packets: [0; 3], bytes: [0; 3] }
    }

    fn leaves(&mut self, layer: Layer, packet: &Packet) {
        self.packets[layer as usize] -= 1;
        self.bytes[layer as usize] -= u64::from(packet.size);
    }

    /// Hears `event`; its record when it is a slot.
    pub fn hear(&mut self, now: Instant, event: &Event) -> Option<SlotRecord> {
        match event {
            Event::Enqueued { layer, packet, .. } => {
                self.packets[*layer as usize] += 1;
                self.bytes[*layer as usize] += u64::from(packet.size);
            }
            Event::Departed { layer, packet, .. } => self.leaves(*layer, packet),
            Event::Dropped { layer, packet, reason } if waited(*reason) => self.leaves(*layer, packet),
            Event::Dropped { .. } | Event::Marked { .. } => {}
            Event::Slot { capacity, used, rlc_packets, rlc_bytes } => {
                return Some(SlotRecord {
                    time: now.as_nanos(),
                    in_bytes: self.in_bytes,
                    capacity: *capacity,
                    used: *used,
                    // The RLC's own count is of before the pull, and of the bytes of a cut SDU only what is left.
                    packets: [self.packets[0], self.packets[1], *rlc_packets],
                    bytes: [self.bytes[0], self.bytes[1], *rlc_bytes],
                });
            }
        }
        None
    }
}

/// True when a packet that is dropped for `reason` had been in the queue.
const fn waited(reason: DropReason) -> bool {
    matches!(reason, DropReason::OverflowVictim | DropReason::AqmDequeue | DropReason::AqmTimeout)
}
