//! Memory that a queue allocates before its first packet.

use super::ManagedQueue;
use crate::aqm::Aqm;
use crate::discipline::Discipline;

impl ManagedQueue {
    /// Allocates now all that the queue needs while at most `packets` packets wait or are reserved,
    /// so that it allocates nothing later. Without this call it grows as packets come.
    pub fn make_places(&mut self, packets: u32) {
        let packets = packets as usize;
        self.discipline.reserve(packets);
        self.aqm.reserve();
        self.account.counters.reserve();
        if self.aqm.needs().service_rate {
            self.account.kept();
        }
        if let Some(memory) = &mut self.account.memory {
            memory.reserve(packets);
        }
    }
}
