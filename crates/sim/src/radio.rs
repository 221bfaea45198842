//! The receiver of the radio: the air or, if that has no delay, the UEs themselves.

use crate::hosts::{End, Hosts};
use crate::links::{Arrival, Links};
use justfull_base::{Event, Instant, Packet, Probe};
use justfull_ran::{Egress, StatusWay};
use justfull_run::backlog::Foresees;
use justfull_run::region::Around;
use justfull_run::tap::Listener;
use justfull_run::uplink::Up;

/// Takes the radio's deliveries and receives the cell's events.
pub(crate) struct Radio<'a, T> {
    pub(crate) hosts: &'a mut Hosts,
    pub(crate) links: &'a mut Links<T>,
    /// A packet has been delivered, a STATUS PDU sent, or a packet's arrival predicted.
    pub(crate) delivered: bool,
}

impl<T: Listener> Radio<'_, T> {
    #[inline(always)]
    fn hand_over(&mut self, now: Instant, packet: &Packet) {
        self.delivered = true;
        let arrival = Arrival::of(packet);
        if self.links.air_delay.is_zero() {
            self.hosts.reach_ue(now, &arrival, self.links);
        } else {
            self.links.air.push(now, packet.size, arrival);
        }
    }
}

impl<T: Listener> Probe for Radio<'_, T> {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.links.monitor.on_event(now, event);
    }
}

impl<T: Listener> Egress for Radio<'_, T> {
    #[inline(always)]
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.links.monitor.recorder.delivered(now, packet, bound);
        self.hand_over(now, packet);
    }

    #[inline(always)]
    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.links.monitor.delivered_from_air(now, left, packet, bound);
        self.hand_over(now, packet);
    }

    fn send_status(&mut self, now: Instant, ue: u32, handle: u32, bytes: u32) -> StatusWay {
        let way = self.links.uplink.push_status(now, ue, bytes, Up::Status(handle));
        // The cell must not run past the uplink's next event.
        self.delivered |= way == StatusWay::Carried;
        way
    }
}

impl<T: Listener> Foresees for Radio<'_, T> {
    fn foresee(&mut self, now: Instant, event: &Event) {
        let Some(delay) = self.links.uplink.foresee(now, event) else { return };
        if let Event::Enqueued { packet, .. } = event
            && let End::Call(i) = self.hosts.ends[packet.flow as usize]
            && self.links.uplink.builds_reports()
        {
            self.hosts.applications.foretold(now, i, packet, now + delay);
            self.delivered = true;
        }
    }
}

impl<T: Listener> Around for Radio<'_, T> {
    fn leave(&mut self, now: Instant, ue: u32) {
        self.links.uplink.pause(now, ue);
    }

    fn join(&mut self, now: Instant, ue: u32, cell: u32) {
        self.links.uplink.resume(now, ue, cell);
    }

    #[inline]
    fn entered(&mut self, now: Instant, flow: u32) {
        self.links.monitor.recorder.entered(now, flow);
    }

    #[inline]
    fn count_call(&mut self) {
        self.links.monitor.calls += 1;
    }
}
