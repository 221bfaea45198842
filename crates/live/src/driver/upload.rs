//! Data of uploads on the uplink; it counts for its flows.

use super::flows::Flow;
use super::side::Side;
use super::{Live, STATUS};
use crate::packet::{Datagram, parse};
use justfull_base::{DropReason, Instant};
use justfull_net::Port;
use justfull_run::uplink::{Fate, NO_FLOW, Way};

/// Place of the flow in an item of the uplink: one more than its number, above the number of its
/// buffer.
const FLOW: u32 = 32;

/// The flow of `item` on the uplink, if the item is data of an upload.
pub(super) const fn flow_of(item: u64) -> Option<u32> {
    if item & STATUS != 0 { None } else { ((item >> FLOW) as u32).checked_sub(1) }
}

/// The buffer of `item` on the uplink.
pub(super) const fn buffer_of(item: u64) -> u64 {
    item & ((1 << FLOW) - 1)
}

impl<P: Port> Live<P> {
    /// `ue` sends `datagram`, which is in buffer `handle`.
    pub(super) fn send_up(&mut self, stamp: Instant, ue: u32, mut datagram: Datagram, handle: u64) {
        let mut flow = None;
        if self.delays.len() > 1
            || self.uploads
            || self.uplink.is_stack()
            || self.uplink.has_cell_aqm()
        {
            self.fragments_up.complete(&mut datagram);
            flow = self.flows.up(&datagram.tuple);
        }
        let pipe = flow.map_or(0, |flow| flow.pipe);
        let protocol = datagram.tuple.protocol;
        let number = flow.map_or(NO_FLOW, |flow| flow.number);
        let way = Way { ue, wire: pipe, flow: number, protocol, ..Way::default() };
        let item = self.side.goes_up(stamp, &datagram, handle, flow);
        let reason = if handle == self.side.arena_up.spare() {
            self.uplink.turn_away(datagram.size);
            self.up.no_buffer += 1;
            DropReason::NoBuffer
        } else if self.uplink.push(stamp, way.wire, datagram.size, item, || way) {
            if self.uplink.is_free() {
                self.side.left_up(stamp, item, stamp);
            }
            return;
        } else {
            self.up.dropped += 1;
            DropReason::Overflow
        };
        self.side.refused_up(stamp, item);
        if let Some(capture) = &mut self.side.capture {
            capture.refused(stamp, ue, reason, self.side.arena_up.bytes(handle));
        }
        self.side.arena_up.give_back(handle);
    }
}

impl Side {
    /// `datagram` of `flow` in buffer `handle` is about to enter the queue of its UE. Returns its
    /// item on the uplink.
    fn goes_up(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        handle: u64,
        flow: Option<Flow>,
    ) -> u64 {
        let data = |flow: &Flow| datagram.payload > 0 && self.record.is_upload(flow.number);
        let Some(Flow { number, .. }) = flow.filter(data) else { return handle };
        self.record.upload_entered(now, number);
        self.on_their_way.begin(number);
        handle | (u64::from(number) + 1) << FLOW
    }

    /// `item`, which `entered` that queue then, is dropped; at once if it found the queue full, or
    /// no buffer.
    fn refused_up(&mut self, entered: Instant, item: u64) {
        if let Some(flow) = flow_of(item) {
            self.record.upload_dropped(entered, flow);
            self.on_their_way.end(flow);
        }
    }

    /// `item` has left its UE; it had `entered` the queue at that instant. True if it is lost.
    pub(super) fn took_leave_up(
        &mut self,
        now: Instant,
        item: u64,
        entered: Instant,
        fate: Fate,
    ) -> bool {
        if let Fate::Sent { .. } = fate {
            self.left_up(now, item, entered);
            return false;
        }
        self.refused_up(entered, item);
        self.arena_up.give_back(buffer_of(item));
        true
    }

    /// `item`, which `entered` the queue at that time, has been sent completely.
    pub(super) fn left_up(&mut self, now: Instant, item: u64, entered: Instant) {
        if let Some(flow) = flow_of(item) {
            self.record.upload_left(now, flow, entered);
        }
    }

    /// `item` reaches its server.
    pub(super) fn arrived_up(&mut self, now: Instant, item: u64) {
        let Some(flow) = flow_of(item) else { return };
        self.on_their_way.end(flow);
        if let Ok(datagram) = parse(self.arena_up.bytes(buffer_of(item))) {
            self.record.upload_reached(now, flow, datagram.payload.into());
        }
    }
}
