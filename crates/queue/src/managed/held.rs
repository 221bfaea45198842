//! Packets that have departed and keep their place.

use super::ManagedQueue;
use crate::counters::Count;
use justfull_base::{Instant, Packet, Probe};

impl ManagedQueue {
    /// The reserved `packet` has left downwards, but keeps its place in the backlog until
    /// [`Self::release`].
    pub fn depart_held<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.account.kept().held.add(packet.size);
        self.account.depart(now, packet, probe);
        self.check();
    }

    /// The place of `packet`, which [departed but was held](Self::depart_held), becomes free.
    pub fn release(&mut self, packet: &Packet) {
        let held = &mut self.account.kept().held;
        debug_assert!(held.packets > 0, "packet {} is not held", packet.id);
        held.packets -= 1;
        held.bytes -= u64::from(packet.size);
        self.account.release(packet);
        self.account.forget(packet);
        self.check();
    }

    /// Packets that have departed and still count as backlog.
    #[must_use]
    pub fn held(&self) -> Count {
        self.account.held()
    }
}
