//! The waits that an AQM counts, where the layer below cannot serve packets for a time.

use super::{Account, ManagedQueue};
use justfull_base::Instant;

impl ManagedQueue {
    /// The layer below serves no packet before `from`: for packets that arrive earlier, the AQM
    /// counts the wait from `from` on.
    pub fn serve_from(&mut self, from: Instant) {
        if !self.aqm.is_none() {
            self.account.delayed = true;
            self.account.kept().served_from = from;
        }
    }
}

impl Account {
    /// The instant from which the AQM counts the oldest packet's wait, if it needs that packet.
    #[inline(always)]
    pub(super) fn oldest(&self) -> Option<Instant> {
        if self.delayed {
            return self.oldest_waits_from();
        }
        self.memory.as_ref().and_then(|memory| memory.oldest())
    }

    #[cold]
    fn oldest_waits_from(&self) -> Option<Instant> {
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
