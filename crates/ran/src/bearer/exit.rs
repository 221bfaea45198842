//! The way out of the stack.

use super::InFlight;
use crate::pdu::SduHandle;
use crate::poll::Clocks;
use justfull_base::{DropReason, Event, Instant, Layer, Packet, Probe};

/// Where packets go when the radio has taken their last byte.
pub trait Egress {
    /// `packet` left the sender's RLC whole at `now`. `bound` is the earliest instant at which any
    /// policy could have delivered it, told for tracked packets.
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>);

    /// The same where the MAC allocates resource blocks: `packet` left the sender's RLC whole at
    /// `left`, and at `now` the UE has it whole and in order, after HARQ's rounds and the waits of
    /// RLC and PDCP. The air's own delay is the driver's.
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
}

/// The driver as the radio sees it: it hears of events, and gets each packet with its bound.
pub(crate) struct Exit<'a, D> {
    pub(crate) clocks: &'a Clocks,
    /// Every packet is held to its bound.
    pub(crate) assert_bound: bool,
    /// Packets delivered so far.
    pub(crate) delivered: &'a mut u64,
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

    /// The UE has `packet` whole and in order at `now`; its last byte left the RLC at `left`.
    #[inline]
    pub(crate) fn deliver_from_air(&mut self, now: Instant, left: Instant, packet: &Packet) {
        let bound = self.bound(left, packet);
        self.driver.deliver_from_air(now, left, packet, bound);
    }

    /// Counts `packet`, whose last byte leaves at `now`; returns its bound where the driver asks
    /// for it.
    #[inline]
    fn bound(&mut self, now: Instant, packet: &Packet) -> Option<Instant> {
        *self.delivered += 1;
        if packet.tracked || self.assert_bound { self.checked_bound(now, packet) } else { None }
    }

    #[inline(never)]
    fn checked_bound(&self, now: Instant, packet: &Packet) -> Option<Instant> {
        let bound = self.clocks.bound(packet.entered);
        let held = now >= bound || !self.assert_bound;
        assert!(
            held,
            "no policy delivers before the bound: {packet:?} at {now:?}, bound {bound:?}"
        );
        packet.tracked.then_some(bound)
    }
}

/// The way up at the UE, at `now`: what becomes of the SDUs that RLC and PDCP put together.
pub(crate) struct Upward<'a, 'b, D> {
    pub(crate) now: Instant,
    pub(crate) sdus: &'a mut InFlight,
    pub(crate) exit: &'a mut Exit<'b, D>,
}

impl<D: Probe + Egress> Upward<'_, '_, D> {
    /// PDCP's SN of `sdu`; none when it is gone.
    pub(crate) fn pdcp_sn(&mut self, sdu: SduHandle) -> Option<u32> {
        self.sdus.pdcp_sn(sdu)
    }

    /// PDCP gives `sdu` to the layers above.
    pub(crate) fn deliver(&mut self, sdu: SduHandle) {
        if let Some((packet, left)) = self.sdus.close(sdu) {
            self.exit.deliver_from_air(self.now, left, &packet);
        }
    }

    /// `sdu` will never be whole.
    pub(crate) fn lose(&mut self, sdu: SduHandle, reason: DropReason) {
        // What has not left whole yet is told when its last byte has.
        if let Some(packet) = self.sdus.lose(sdu) {
            self.exit.on_event(self.now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
        }
    }
}
