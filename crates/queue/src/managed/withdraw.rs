//! Packets that leave a queue with their UE.

use super::Account;
use super::known::{Known, MayNeed};
use crate::aqm::Aqm;
use crate::discipline::Discipline;
use justfull_base::{Event, Instant, Packet, Probe};

impl<D: Discipline + ?Sized, A: Aqm + MayNeed> Known<'_, D, A> {
    /// See [`ManagedQueue::withdraw`](super::ManagedQueue::withdraw).
    #[cold]
    pub(super) fn withdraw<P: Probe>(
        &mut self,
        now: Instant,
        probe: &mut P,
        take: &mut dyn FnMut(Packet),
    ) {
        while let Some(lane) = self.discipline.advance() {
            let Some(queued) = self.discipline.pop(lane) else { return };
            let packet = queued.packet;
            self.account.forget_waiting(&packet);
            self.forget(&packet);
            self.account.withdraw(now, &packet, probe);
            self.tell_if_empty(now, lane);
            self.discipline.served(lane, packet.size);
            take(packet);
        }
    }
}

impl Account {
    /// Counts the waiting `packet` as departed with its UE.
    fn withdraw<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.counters.departed.add(packet.size);
        probe.on_event(now, &Event::Withdrawn { layer: self.layer, packet: *packet });
    }
}
