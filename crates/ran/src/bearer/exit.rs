//! The exit of packets from the stack.

use super::InFlight;
use super::in_flight::{Acknowledged, Landed};
use crate::pdu::SduHandle;
use crate::poll::Clocks;
use justfull_base::{DropReason, Event, Instant, Layer, Packet, Probe};
use justfull_queue::ManagedQueue;

/// Receives packets once the radio has taken their last byte.
pub trait Egress {
    /// `packet` left the sender's RLC whole at `now`. `bound` is an instant before which no policy
    /// could have delivered it; only tracked packets have one.
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>);

    /// [`Self::deliver`] if the MAC allocates resource blocks. `packet` left the sender's RLC whole
    /// at `left`; at `now` the UE has it whole and in order, after HARQ and the waits of RLC and
    /// PDCP. The driver adds the air delay.
    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        let _ = left;
        self.deliver(now, packet, bound);
    }

    /// The UE's RLC of a leg of a split bearer delivers the PDCP PDU `sn`, which holds `packet` and
    /// whose last byte left the sender's RLC at `left`, to the UE's PDCP at `now`.
    fn deliver_leg(&mut self, now: Instant, left: Instant, packet: &Packet, sn: u32) {
        let _ = sn;
        self.deliver_from_air(now, left, packet, None);
    }

    /// The RLC of `ue` sends a STATUS PDU that takes `bytes` of its uplink. A driver that carries
    /// it passes `handle` to [`Stack::receive_status`](crate::Stack::receive_status) on arrival, or
    /// to [`Stack::lose_status`](crate::Stack::lose_status) on loss.
    fn send_status(&mut self, now: Instant, ue: u32, handle: u32, bytes: u32) -> StatusWay {
        let _ = (now, ue, handle, bytes);
        StatusWay::Delayed
    }
}

/// The transport of a STATUS PDU to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWay {
    /// The uplink is no bottleneck: the PDU takes `mac.status_delay`.
    Delayed,
    /// The driver carries it.
    Carried,
    /// The UE's uplink queue was full.
    Lost,
}

/// The driver from the radio's view: receives events, and each packet with its bound.
pub(crate) struct Exit<'a, D> {
    pub(crate) clocks: &'a Clocks,
    /// Assert the bound for every packet.
    pub(crate) assert_bound: bool,
    /// Packets delivered so far.
    pub(crate) delivered: &'a mut u64,
    /// STATUS PDUs that the driver carries, so far.
    pub(crate) carried: &'a mut u64,
    pub(crate) driver: &'a mut D,
}

impl<D: Probe> Probe for Exit<'_, D> {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.driver.on_event(now, event);
    }
}

impl<D: Egress> Exit<'_, D> {
    #[inline]
    pub(crate) fn deliver(&mut self, now: Instant, packet: &Packet) {
        let bound = self.bound(now, packet);
        self.driver.deliver(now, packet, bound);
    }

    /// Sends a STATUS PDU; see [`Egress::send_status`].
    pub(crate) fn send_status(
        &mut self,
        now: Instant,
        ue: u32,
        handle: u32,
        bytes: u32,
    ) -> StatusWay {
        let way = self.driver.send_status(now, ue, handle, bytes);
        *self.carried += u64::from(way == StatusWay::Carried);
        way
    }

    /// The UE has received `packet` whole and in order at `now`; its last byte left the RLC at
    /// `left`.
    #[inline(always)]
    pub(crate) fn deliver_from_air(&mut self, now: Instant, left: Instant, packet: &Packet) {
        let bound = self.bound(left, packet);
        self.driver.deliver_from_air(now, left, packet, bound);
    }

    /// Counts `packet`, whose last byte leaves at `now`. Returns its bound if the driver needs it.
    #[inline]
    fn bound(&mut self, now: Instant, packet: &Packet) -> Option<Instant> {
        *self.delivered += 1;
        if packet.tracked || self.assert_bound { self.checked_bound(now, packet) } else { None }
    }

    #[inline(always)]
    fn checked_bound(&self, now: Instant, packet: &Packet) -> Option<Instant> {
        let bound = self.clocks.bound(packet.entered, packet.size);
        if self.assert_bound && now < bound {
            beats(packet, now, bound);
        }
        packet.tracked.then_some(bound)
    }
}

#[cold]
#[inline(never)]
fn beats(packet: &Packet, now: Instant, bound: Instant) -> ! {
    panic!("no policy delivers before the bound: {packet:?} at {now:?}, bound {bound:?}");
}

/// The UE's upper layers at `now`: handle SDUs that RLC and PDCP have reassembled.
pub(crate) struct Upward<'a, 'b, D> {
    pub(crate) now: Instant,
    pub(crate) sdus: &'a mut InFlight,
    pub(crate) exit: &'a mut Exit<'b, D>,
    /// The bearer's queue, if it holds SDUs until they are acknowledged.
    pub(crate) holds: Option<&'a mut ManagedQueue>,
}

impl<D: Probe + Egress> Upward<'_, '_, D> {
    /// The PDCP SN of `sdu`; none if it has ended.
    pub(crate) fn pdcp_sn(&mut self, sdu: SduHandle) -> Option<u32> {
        self.sdus.pdcp_sn(sdu)
    }

    /// PDCP delivers `sdu` to the layers above. A held SDU counts as departed from its queue now,
    /// and keeps its place there until it is acknowledged.
    pub(crate) fn deliver(&mut self, sdu: SduHandle) {
        let Some(Landed { packet, left, held }) = self.sdus.close(sdu) else { return };
        if held && let Some(queue) = &mut self.holds {
            queue.depart_held(self.now, &packet, self.exit);
        }
        self.exit.deliver_from_air(self.now, left, &packet);
    }

    /// RLC delivers `sdu`, a PDU with `sn` of a split bearer, to the UE's PDCP.
    pub(crate) fn deliver_leg(&mut self, sdu: SduHandle, sn: u32) {
        let Some(Landed { packet, left, .. }) = self.sdus.close(sdu) else { return };
        *self.exit.delivered += 1;
        self.exit.driver.deliver_leg(self.now, left, &packet, sn);
    }

    /// `sdu` will never be complete.
    pub(crate) fn lose(&mut self, sdu: SduHandle, reason: DropReason) {
        // An SDU that has not left completely is reported as lost when its last byte leaves.
        let Some(Landed { packet, held, .. }) = self.sdus.lose(sdu) else { return };
        if held && let Some(queue) = &mut self.holds {
            queue.commit(self.now, &packet, self.exit);
        }
        self.exit.on_event(self.now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
    }

    /// The sender gives up `sdu`, which the UE may have received.
    pub(crate) fn give_up(&mut self, sdu: SduHandle) {
        self.lose(sdu, DropReason::MaxRetransmissions);
        self.acknowledge(sdu);
    }

    /// `sdu` has been acknowledged.
    pub(crate) fn acknowledge(&mut self, sdu: SduHandle) {
        let Some(queue) = &mut self.holds else { return };
        match self.sdus.acknowledge(sdu) {
            Some(Acknowledged::Delivered(packet)) => queue.release(&packet),
            Some(Acknowledged::Flying(packet)) => queue.commit(self.now, &packet, self.exit),
            None => {}
        }
    }
}
