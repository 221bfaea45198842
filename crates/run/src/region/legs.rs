//! The events of cells that split bearers need.

use justfull_base::{Instant, Packet};

/// A PDU that a leg has delivered to the UE's PDCP.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) now: Instant,
    /// When its last byte left the RLC.
    pub(super) left: Instant,
    pub(super) packet: Packet,
    pub(super) sn: u32,
    pub(super) cell: u32,
}

/// The fates of split bearers' PDUs in a cell.
#[derive(Default)]
pub(super) struct OfLegs {
    /// True if a UE of the region has split bearers.
    pub(super) on: bool,
    pub(super) arrivals: Vec<Arrival>,
    /// PDUs dropped, by UE: the cell, and the packet.
    pub(super) drops: Vec<(u32, u32)>,
}

impl OfLegs {
    pub(super) fn arrived(
        &mut self,
        cell: u32,
        now: Instant,
        left: Instant,
        packet: &Packet,
        sn: u32,
    ) {
        self.arrivals.push(Arrival { now, left, packet: *packet, sn, cell });
    }

    pub(super) fn dropped(&mut self, cell: u32, ue: u32) {
        if self.on {
            self.drops.push((cell, ue));
        }
    }
}
