//! Converts the events of a run to its records.

use super::columns::{PacketRecord, SlotRecord, Stamp};
use crate::export::facts::{RunFacts, SlotUnit};
use justfull_base::{DropReason, Event, Instant, Layer, Packet};
use std::collections::VecDeque;

/// Mark in the ring of places: no record has this number.
const NONE: u32 = u32::MAX;

/// Follows every packet through the chain. Holds records only for packets in the chain, and four
/// bytes for each packet number from the oldest to the newest of them: numbers rise by one, so a
/// ring finds a record without a search.
pub struct PacketTap {
    /// Number of the packet at the start of the ring.
    first: u64,
    /// Slot of each packet's record, by packet number.
    places: VecDeque<u32>,
    records: Vec<PacketRecord>,
    free: Vec<u32>,
    /// Class and bearer by flow.
    flows: Vec<(u32, u8)>,
    /// True if packets may be lost after the RLC.
    by_air: bool,
}

impl PacketTap {
    /// A tap for the run of `facts`.
    #[must_use]
    pub fn new(facts: &RunFacts) -> Self {
        Self {
            first: 0,
            places: VecDeque::new(),
            records: Vec::new(),
            free: Vec::new(),
            flows: facts.flows.iter().map(|f| (f.class, f.drb)).collect(),
            by_air: facts.slots_in == SlotUnit::ResourceBlocks,
        }
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

    /// The record of `packet`, which is in `layer` or about to enter it. A transparent UPF emits no
    /// events.
    fn record(&mut self, packet: &Packet, layer: Layer, matched: bool) -> &mut PacketRecord {
        if self.places.is_empty() {
            self.first = packet.id;
        }
        debug_assert!(
            packet.id >= self.first,
            "packets are numbered in the order of their first events"
        );
        let at = (packet.id - self.first) as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, NONE);
        }
        if self.places[at] == NONE {
            let mut record = self.fresh(packet, matched);
            if layer != Layer::Upf {
                record.left_upf = Stamp::at(record.entered);
            }
            self.places[at] = self.keep(record);
        }
        &mut self.records[self.places[at] as usize]
    }

    fn keep(&mut self, record: PacketRecord) -> u32 {
        if let Some(place) = self.free.pop() {
            self.records[place as usize] = record;
            place
        } else {
            self.records.push(record);
            (self.records.len() - 1) as u32
        }
    }

    /// The record of `packet`, which has left the chain; its slot is free for the next packet.
    fn take(&mut self, packet: &Packet) -> Option<&PacketRecord> {
        let place =
            std::mem::replace(self.places.get_mut((packet.id - self.first) as usize)?, NONE);
        self.free.push(place);
        while self.places.front() == Some(&NONE) {
            self.places.pop_front();
            self.first += 1;
        }
        self.records.get(place as usize)
    }

    /// Handles `event`. Returns the record of the packet that left the chain by it.
    pub fn on_event(&mut self, now: Instant, event: &Event) -> Option<&PacketRecord> {
        let at = Stamp::at(now.as_nanos());
        match event {
            Event::Enqueued { layer, packet, .. } => {
                let record = self.record(packet, *layer, true);
                // A transparent UPF has marked it.
                if *layer == Layer::Sdap && record.left_upf.get().is_none() {
                    record.left_upf = at;
                }
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
                self.record(packet, Layer::Rlc, true).left_rlc = at;
                if self.by_air { None } else { self.end(now, packet) }
            }
            Event::Dropped { layer, packet, reason } => {
                let record = self.record(packet, *layer, *reason != DropReason::NoRule);
                record.ended = at;
                record.dropped = Some((*layer, *reason));
                self.take(packet)
            }
            Event::Withdrawn { .. } | Event::Quantum { .. } | Event::Slot { .. } => None,
        }
    }

    /// `packet` is delivered at `now`; returns its record.
    pub fn end(&mut self, now: Instant, packet: &Packet) -> Option<&PacketRecord> {
        self.record(packet, Layer::Rlc, true).ended = Stamp::at(now.as_nanos());
        self.take(packet)
    }

    /// The records of the packets still in the chain, in order of entry.
    pub fn rest(self) -> impl Iterator<Item = PacketRecord> {
        let Self { places, records, .. } = self;
        places.into_iter().filter(|place| *place != NONE).map(move |place| records[place as usize])
    }
}

/// Counts waiting packets in UPF and SDAP, and makes a record of each slot.
pub struct SlotTap {
    unit: SlotUnit,
    packets: [u64; 3],
    bytes: [u64; 3],
}

impl SlotTap {
    /// A tap for the run of `facts`.
    #[must_use]
    pub fn new(facts: &RunFacts) -> Self {
        Self { unit: facts.slots_in, packets: [0; 3], bytes: [0; 3] }
    }

    fn leaves(&mut self, layer: Layer, packet: &Packet) {
        self.packets[layer as usize] -= 1;
        self.bytes[layer as usize] -= u64::from(packet.size);
    }

    /// Handles `event`. Returns the record of a slot.
    pub fn on_event(&mut self, now: Instant, event: &Event) -> Option<SlotRecord> {
        match event {
            Event::Enqueued { layer, packet, .. } => {
                self.packets[*layer as usize] += 1;
                self.bytes[*layer as usize] += u64::from(packet.size);
            }
            Event::Departed { layer, packet, .. } | Event::Withdrawn { layer, packet } => {
                self.leaves(*layer, packet);
            }
            Event::Dropped { layer, packet, reason } if reason.waited() => {
                self.leaves(*layer, packet)
            }
            Event::Dropped { .. } | Event::Marked { .. } | Event::Quantum { .. } => {}
            Event::Slot { capacity, used, rlc_packets, rlc_bytes } => {
                return Some(SlotRecord {
                    time: now.as_nanos(),
                    unit: self.unit,
                    capacity: *capacity,
                    used: *used,
                    // The RLC counts before the pull, and counts only the rest of a segmented SDU.
                    packets: [self.packets[0], self.packets[1], *rlc_packets],
                    bytes: [self.bytes[0], self.bytes[1], *rlc_bytes],
                });
            }
        }
        None
    }
}
