//! Slots of whole packets (T20, E19): round robin over bearers, one packet each.

use super::turns::Turns;
use super::{Cell, MacSettings, SlotService, SlotUse, Turn};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::carried::Carried;
use crate::channel::{CapacityUnit, Channel};
use crate::config::{CellContext, PollConfig};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Probe, params};

params! {
    /// Settings of slots of whole packets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PacketsConfig {
        /// The slots: when the MAC pulls; the period must not be 0.
        slot: PollConfig = PollConfig::every(Duration::from_millis(1));
    }
}

/// Description.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "packets",
    kind: "MAC",
    title: "slots of whole packets",
    text: "The channel says how many packets a slot carries, whatever their size. Bearers send in \
           turn, one packet each.",
    sources: "T20 section V",
    deviations: "there are no headers: PDCP and RLC have no settings",
    params: PacketsConfig::params,
};

impl MacSettings for PacketsConfig {
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Packets
    }

    fn carried(&self) -> Carried {
        Carried::packets()
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        cell.refuse_rlc()
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        super::NO_PDCP
    }
}

/// The service of slots of whole packets.
pub struct Packets {
    turns: Turns,
    /// Largest packet in bytes.
    mtu: u32,
}

impl Packets {
    pub(super) fn new(_: &PacketsConfig, cell: &CellContext<'_>) -> Result<Self, ConfigError> {
        Ok(Self { turns: Turns::default(), mtu: cell.mtu })
    }
}

impl SlotService for Packets {
    fn unit(&self) -> &'static str {
        "packets"
    }

    fn most_bytes_per_unit(&self) -> u64 {
        u64::from(self.mtu)
    }

    #[inline]
    fn join(&mut self, bearer: BearerId) {
        self.turns.join(bearer);
    }

    fn leave(&mut self, bearer: BearerId, _cell: &mut Cell) {
        self.turns.leave(bearer);
    }

    fn suspend(&mut self, ue: u32) {
        self.turns.suspend(ue);
    }

    fn sharers(&self) -> usize {
        self.turns.len()
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        channel.peek(slot.k, slot.now)
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        self.turns.serve(slot, cell, |turns, cell, shared, budget| {
            let mut used = 0;
            let mut unserved_in_a_row = 0;
            while unserved_in_a_row < turns.len() {
                let Some(id) = turns.next() else { break };
                let capacity = cell.capacity(id.ue, slot, shared);
                if budget.left(capacity) == 0 {
                    if !cell.per_ue_channels {
                        // No bearer can send more: the bearer whose turn it is comes first in the
                        // next slot.
                        turns.keep_turn(id);
                        break;
                    }
                    turns.again(id);
                    unserved_in_a_row += 1;
                    continue;
                }
                unserved_in_a_row = 0;
                let (bearer, above) = cell.bearer_below(id);
                let before = bearer.view();
                let mut sent = None;
                if let Some(packet) = bearer.pull_packet(slot.now, above, exit) {
                    used += 1;
                    budget.take(1, capacity);
                    bearer.add_used(slot.now, 1);
                    exit.deliver(slot.now, &packet);
                    sent = Some(packet.size);
                }
                let after = bearer.view();
                if sent.is_some() {
                    cell.granted(id.ue, slot.now);
                }
                if let (Some(meter), Some(size)) = (&mut cell.meter, sent) {
                    meter.give(id.ue, 1, false);
                    meter.send(id.ue, size.into());
                }
                let offer = || Offer { capacity, full: capacity, left: budget.left(capacity) };
                if cell.settle(id, &Turn { before, after }, offer, turns.len() as u64 + 1) {
                    turns.again(id);
                }
            }
            used
        })
    }
}
