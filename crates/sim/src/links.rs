//! The links of the world: from servers to the UPF, from the radio to the UEs, and from the UEs
//! back.

use crate::monitor::{Monitor, Sent};
use crate::receivers::AckLink;
use crate::senders::SegmentLink;
use justfull_base::{Duration, Ecn, Instant, Packet};
use justfull_run::route::Route;
use justfull_run::tap::Listener;
use justfull_run::uplink::{Fate, Up, Uplink, Way};
use justfull_run::wire::{Wire, Wires};
use justfull_tcp::{Ack, Segment};

/// A packet at its UE.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) payload: u64,
    pub(crate) flow: u32,
    pub(crate) size: u32,
    pub(crate) ce: bool,
}

impl Arrival {
    #[inline(always)]
    pub(crate) fn of(packet: &Packet) -> Self {
        let (payload, flow, size) = (packet.payload, packet.flow, packet.size);
        Self { payload, flow, size, ce: packet.ecn == Ecn::Ce }
    }
}

/// The way of a packet of `route` from its UE.
#[inline(always)]
pub(crate) fn way(route: &Route) -> Way {
    let Route { ue, wire, flow, protocol, .. } = *route;
    Way { ue, wire, flow, protocol, ..Way::default() }
}

/// The links and their listeners.
pub(crate) struct Links<T> {
    /// From servers to the UPF, one wire per distinct delay.
    pub(crate) core: Wires<Packet>,
    /// From the radio to the UEs; bypassed if its delay is 0.
    pub(crate) air: Wire<Arrival>,
    pub(crate) air_delay: Duration,
    /// From UEs to servers, with a wire for each wire of the core.
    pub(crate) uplink: Uplink<Up>,
    pub(crate) monitor: Monitor<T>,
}

impl<T: Listener> SegmentLink for Links<T> {
    #[inline(always)]
    fn send_segment(&mut self, now: Instant, i: u32, route: &Route, segment: Segment) {
        let size = segment.len + route.header();
        let payload = self.monitor.segments.put(Sent { segment, flow: route.flow });
        if route.up() {
            return self.send_up(now, i, route, size, payload);
        }
        let packet = Packet {
            payload,
            flow: route.flow,
            size,
            ecn: segment.ecn,
            protocol: route.protocol,
            tracked: route.tracked(),
            ..Packet::default()
        };
        self.core.push(now, route.wire, size, packet);
    }
}

impl<T: Listener> AckLink for Links<T> {
    #[inline(always)]
    fn send_ack(&mut self, now: Instant, i: u32, route: &Route, ack: Ack) {
        if route.up() {
            return self.send_ack_down(now, route, ack);
        }
        let way = || {
            let plain = ack.sack_len == 0 && !ack.syn;
            Way {
                ecn: ack.ecn,
                ack: plain.then_some(ack.cumulative),
                flags: ack.flags,
                ..way(route)
            }
        };
        self.uplink.push(now, route.wire, route.ack(), Up::Ack(i, ack), way);
    }
}

impl<T: Listener> Links<T> {
    /// The segment of `payload`, of sender `i`, goes to a server. It is lost if the UE's queue is
    /// full.
    fn send_up(&mut self, now: Instant, i: u32, route: &Route, size: u32, payload: u64) {
        let recorder = &mut self.monitor.recorder;
        recorder.upload_entered(now, route.flow);
        let ecn = self.monitor.segments.peek(payload).segment.ecn;
        let way = || Way { ecn, ..way(route) };
        if !self.uplink.push(now, route.wire, size, Up::Segment(i, payload), way) {
            recorder.upload_dropped(now, route.flow);
            self.monitor.lose(payload);
        } else if self.uplink.is_free() {
            recorder.upload_left(now, route.flow, now);
        }
    }

    /// Copies the next item that has arrived from the uplink by `now` to `place`. Returns false if
    /// there is none.
    #[inline(always)]
    pub(crate) fn pop_up(&mut self, now: Instant, place: &mut Up) -> bool {
        let Self { uplink, monitor, .. } = self;
        uplink.pop_into(now, place, |entered, item, fate| match (item, fate) {
            (Up::Segment(_, payload), Fate::Sent { ce }) => {
                let sent = monitor.segments.peek_mut(*payload);
                if ce {
                    sent.segment.ecn = Ecn::Ce;
                }
                monitor.recorder.upload_left(now, sent.flow, entered);
                false
            }
            (Up::Ack(_, ack), Fate::Sent { ce: true }) => {
                ack.ecn = Ecn::Ce;
                false
            }
            (_, Fate::Sent { .. } | Fate::Filtered) => false,
            (item, Fate::Lost { flow }) => monitor.lose_up(entered, flow, item),
        })
    }

    /// Sends an upload's acknowledgement down the chain as a packet. Most worlds have no uploads.
    #[cold]
    fn send_ack_down(&mut self, now: Instant, route: &Route, ack: Ack) {
        let packet = Packet {
            payload: self.monitor.put_ack(ack),
            flow: route.flow,
            size: route.ack(),
            ecn: ack.ecn,
            protocol: route.protocol,
            tracked: route.tracked(),
            ..Packet::default()
        };
        self.core.push(now, route.wire, route.ack(), packet);
    }
}
