//! Packets that are dropped before any queue.

use super::*;

impl Stack {
    /// A packet that would have arrived from the data network at `now` was lost on the way. It
    /// counts as entered and dropped.
    #[cold]
    pub fn lose<D: Probe + Egress>(&mut self, now: Instant, packet: Packet, driver: &mut D) {
        self.advance(now, !self.clocks.top_down, driver);
        self.turn_away(now, packet, DropReason::CoreLoss, driver);
    }

    /// Drops a packet of `now` for `reason` before the stack sees it. It counts as entered and
    /// dropped. `now` may be earlier than the stack's last step.
    pub fn turn_away<D: Probe>(
        &mut self,
        now: Instant,
        mut packet: Packet,
        reason: DropReason,
        driver: &mut D,
    ) {
        self.core.number(now, &mut packet);
        self.refuse(now, packet, reason, driver);
    }

    /// Like [`Stack::lose`], for a packet that [`Flows`] has stamped.
    #[cold]
    pub fn lose_stamped<D: Probe + Egress>(
        &mut self,
        now: Instant,
        packet: Packet,
        driver: &mut D,
    ) {
        self.advance(now, !self.clocks.top_down, driver);
        self.refuse_stamped(now, packet, DropReason::CoreLoss, driver);
    }

    /// Like [`Stack::turn_away`], for a packet that [`Flows`] has stamped.
    #[cold]
    pub fn refuse_stamped<D: Probe>(
        &mut self,
        now: Instant,
        packet: Packet,
        reason: DropReason,
        driver: &mut D,
    ) {
        self.core.next_id += 1;
        self.refuse(now, packet, reason, driver);
    }

    /// Drops `packet` before it enters any queue.
    #[cold]
    pub(super) fn refuse<D: Probe>(
        &mut self,
        now: Instant,
        packet: Packet,
        reason: DropReason,
        driver: &mut D,
    ) {
        self.core.refused += 1;
        driver.on_event(now, &Event::Dropped { layer: Layer::Upf, packet, reason });
    }
}
