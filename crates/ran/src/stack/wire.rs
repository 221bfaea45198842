//! User data on F1-U, between a CU with SDAP and PDCP and a DU with RLC and MAC.

use super::*;
use crate::RlcConfig;
use crate::config::MarkingPlace;
use alloc::collections::VecDeque;
use justfull_queue::Count;

/// SDUs on their way to the DU, in order.
pub(super) struct Wire {
    delay: Duration,
    /// Each with its instant of arrival and its bearer.
    sdus: VecDeque<(Instant, BearerId, Packet)>,
}

impl Wire {
    /// The wire of `rlc`, if data takes time on it, or the CU marks the data that enters it.
    pub(super) fn of(rlc: &RlcConfig) -> Option<Box<Self>> {
        let delay = rlc.f1.delay;
        let wire = || Box::new(Self { delay, sdus: VecDeque::new() });
        (!delay.is_zero() || rlc.marking.place == MarkingPlace::Cu).then(wire)
    }

    /// True unless data arrives at once.
    pub(super) fn takes_time(&self) -> bool {
        !self.delay.is_zero()
    }

    /// `sdu` of bearer `id` leaves the CU at `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn send(&mut self, now: Instant, id: BearerId, sdu: &Packet, clocks: &mut Clocks) {
        let at = now + self.delay;
        if self.sdus.is_empty() {
            clocks.arm_wire(at);
        }
        self.sdus.push_back((at, id, *sdu));
    }
}

impl Wire {
    /// Data on its way to bearer `id`.
    pub(super) fn to(&self, id: BearerId) -> Count {
        let mut sum = Count::default();
        for (_, _, sdu) in self.sdus.iter().filter(|(_, to, _)| *to == id) {
            sum += Count { packets: 1, bytes: sdu.size.into() };
        }
        sum
    }
}

impl Stack {
    /// Packets between CU and DU.
    pub(super) fn on_wire(&self) -> u64 {
        self.wire.as_ref().map_or(0, |wire| wire.sdus.len() as u64)
    }

    /// The SDUs that are due at `now` enter their bearers in the DU. Those of a UE that has left
    /// are lost.
    #[cold]
    pub(super) fn arrive_at_du<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        while let Some(wire) = &mut self.wire
            && let Some(&(at, id, sdu)) = wire.sdus.front()
        {
            if at > now {
                self.clocks.arm_wire(at);
                return;
            }
            wire.sdus.pop_front();
            if self.core.ues[id.ue as usize].away {
                self.core.refused += 1;
                let (packet, reason) = (sdu, DropReason::Handover);
                driver.on_event(now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
            } else {
                let (_, mut bearers) = self.gate_and_bearers(id.ue);
                bearers.take(now, id.drb, &sdu, driver);
            }
        }
    }
}
