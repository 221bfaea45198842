//! Xn wires: one for each ordered pair of cells, made at its first use.

use crate::cells::XnConfig;
use crate::wire::Wire;
use justfull_base::{BitRate, Duration, Instant};
use justfull_ran::stack::Forwarded;
use std::collections::BTreeMap;

/// Bytes of GTP-U, UDP and IP around a forwarded packet (TS 29.281: 8, with an extension header of
/// 8 for the PDCP SN; RFC 768: 8; RFC 791: 20).
const TUNNEL: u32 = 44;

/// Data on an Xn wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) ue: u32,
    /// None for the end marker.
    pub(super) data: Option<Forwarded>,
}

/// All Xn wires.
pub(super) struct Xn {
    rate: BitRate,
    delay: Duration,
    wires: BTreeMap<(u32, u32), Wire<Item>>,
    next: Instant,
}

impl Xn {
    pub(super) const fn new(config: &XnConfig) -> Self {
        let (rate, delay) = (config.rate, config.delay);
        Self { rate, delay, wires: BTreeMap::new(), next: Instant::NEVER }
    }

    /// `item` leaves cell `from` for cell `to`.
    pub(super) fn push(&mut self, now: Instant, from: u32, to: u32, item: Item) {
        let Self { rate, delay, wires, .. } = self;
        let wire = wires.entry((from, to)).or_insert_with(|| Wire::new(*rate, *delay));
        let bytes = item.data.map_or(0, |data| data.bytes());
        wire.push(now, bytes + TUNNEL, item);
        self.next = self.next.min(wire.next());
    }

    /// The arrival of the first item.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// The next item that has arrived by `now`. Items of one instant come in the order of the
    /// pairs.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Item> {
        if self.next > now {
            return None;
        }
        let next = self.next;
        let due = self.wires.values_mut().find(|wire| wire.next() == next)?;
        let item = due.pop(now);
        self.next = self.wires.values().map(Wire::next).min().unwrap_or(Instant::NEVER);
        item
    }

    /// Packets on the wires.
    pub(super) fn packets(&self) -> u64 {
        let is_packet =
            |item: &&Item| item.data.as_ref().is_some_and(|data| data.packet().is_some());
        self.wires.values().map(|wire| wire.items().filter(is_packet).count() as u64).sum()
    }
}
