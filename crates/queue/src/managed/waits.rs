//! The waits that an AQM counts, where the layer below cannot serve packets for a time.

use super::{Account, ManagedQueue};
use justfull_base::Instant;

impl ManagedQueue {
    /// The layer below serves no packet before `from`: the AQM counts the waits of packets that
    /// arrive earlier from then on.
    pub fn serve_from(&mut self, from: Instant) {
        if !self.aqm.is_none() {
            self.account.delayed = true;
            self.account.kept().served_from = from;
        }
    }
}

impl Account {
    /// The instant from which the AQM counts the wait of the oldest packet.
    #[cold]
    pub(super) fn oldest_waits_from(&self) -> Option<Instant> {
        Some(self.waits_from(self.memory.as_ref()?.oldest()?))
    }

    /// The instant from which the AQM counts the wait of a packet that was enqueued at `enqueued`.
    #[inline(always)]
    pub(super) fn waits_from(&self, enqueued: Instant) -> Instant {
        if !self.delayed {
            return enqueued;
        }
        self.memory.as_ref().map_or(enqueued, |memory| enqueued.max(memory.served_from))
    }
}
