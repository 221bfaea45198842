//! A queue's limit and counts, and the events of its packets.

use super::memory::Memory;
use crate::aqm::{Ect1, LaneView, QueueView};
use crate::counters::{Count, Counters};
use crate::limit::Limit;
use alloc::boxed::Box;
use justfull_base::{DropReason, Ecn, Event, Instant, Layer, Packet, Probe};

/// A queue's limit and counts, without its packets, in the order of use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Account {
    pub(super) waiting_packets: u32,
    pub(super) reserved_packets: u32,
    pub(super) waiting_bytes: u64,
    pub(super) reserved_bytes: u64,
    pub(super) limit: Limit,
    pub(super) layer: Layer,
    /// True if the queue is first in, first out, without an AQM.
    pub(super) plain: bool,
    pub(super) ect1: Ect1,
    /// True if the AQM needs the heads of lanes.
    pub(super) shows_heads: bool,
    /// True once the layer below has not served the queue for a time ([`Memory::served_from`]).
    pub(super) delayed: bool,
    /// True if another node sets the AQM's marks on L4S packets.
    pub(super) withholds: bool,
    pub(super) counters: Counters,
    /// None until there is data to keep. Behind a pointer, since each cache line counts with many
    /// UEs.
    pub(super) memory: Option<Box<Memory>>,
}

impl Account {
    #[inline]
    pub(super) const fn backlog_packets(&self) -> u32 {
        self.waiting_packets + self.reserved_packets
    }

    #[inline]
    pub(super) const fn backlog_bytes(&self) -> u64 {
        self.waiting_bytes + self.reserved_bytes
    }

    /// The AQM's view. `lane_bytes` is the backlog of the lane in question, unless that lane is the
    /// whole queue.
    #[inline(always)]
    pub(super) fn view(&self, lane_bytes: Option<u64>) -> QueueView {
        QueueView {
            backlog_packets: self.backlog_packets(),
            backlog_bytes: self.backlog_bytes(),
            lane: LaneView {
                bytes: lane_bytes.unwrap_or(self.backlog_bytes()),
                ..LaneView::default()
            },
            other: None,
            limit: self.limit,
            oldest: self.oldest(),
            service_rate: self.memory.as_ref().and_then(|memory| memory.service_rate),
            new_flow: false,
            ect1: self.ect1,
        }
    }

    #[inline(always)]
    pub(super) fn keep_waiting(&mut self, packet: &Packet) {
        self.waiting_packets += 1;
        self.waiting_bytes += u64::from(packet.size);
    }

    #[inline(always)]
    pub(super) fn forget_waiting(&mut self, packet: &Packet) {
        self.waiting_packets -= 1;
        self.waiting_bytes -= u64::from(packet.size);
    }

    /// `packet`, taken out of its lane, goes to the layer below.
    #[inline(always)]
    pub(super) fn keep_reserved(&mut self, packet: &Packet) {
        self.reserved_packets += 1;
        self.reserved_bytes += u64::from(packet.size);
    }

    /// The kept data, from now on.
    pub(super) fn kept(&mut self) -> &mut Memory {
        self.memory.get_or_insert_default()
    }

    /// Packets that have departed and still count as backlog.
    pub(super) fn held(&self) -> Count {
        self.memory.as_ref().map_or_else(Count::default, |memory| memory.held)
    }

    /// `packet` has left the queue.
    #[inline(always)]
    pub(super) fn forget(&mut self, packet: &Packet) {
        if !self.plain
            && let Some(memory) = &mut self.memory
        {
            memory.leave(packet);
        }
    }

    /// `packet`, no longer counted as backlog, has left downwards.
    #[inline(always)]
    pub(super) fn depart<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.counters.departed.add(packet.size);
        let sojourn = now.since(packet.enqueued);
        probe.on_event(now, &Event::Departed { layer: self.layer, packet: *packet, sojourn });
    }

    #[inline(always)]
    pub(super) fn release(&mut self, packet: &Packet) {
        debug_assert!(self.reserved_packets > 0, "packet {} is not reserved", packet.id);
        self.reserved_packets -= 1;
        self.reserved_bytes -= u64::from(packet.size);
    }
}

pub(super) fn drop_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &Packet,
    reason: DropReason,
    probe: &mut P,
) {
    counters.drop_one(reason, packet.size);
    probe.on_event(now, &Event::Dropped { layer, packet: *packet, reason });
}

pub(super) fn mark_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &mut Packet,
    probe: &mut P,
) {
    packet.ecn = Ecn::Ce;
    counters.mark_one(packet.size);
    probe.on_event(now, &Event::Marked { layer, packet: *packet });
}
