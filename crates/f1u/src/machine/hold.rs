//! User data of one bearer that waits in the box, in the order in which it came.

use std::collections::VecDeque;

/// Bytes of memory that a packet takes beside its own.
const BESIDE: usize = 64;

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) packet: Box<[u8]>,
    /// Bytes of the PDU; 0 for a PDU that the sums of the bearer leave out.
    pub(super) pdu: u32,
}

impl Waiting {
    pub(super) fn new(packet: &[u8], pdu: u32) -> Self {
        Self { packet: packet.into(), pdu }
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.packet.len() + BESIDE
    }
}

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Held {
    waiting: VecDeque<Waiting>,
    pdus: u32,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn packets(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Bytes of PDUs.
    pub(super) fn bytes(&self) -> u32 {
        self.pdus
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.pdus = self.pdus.wrapping_add(waiting.pdu);
        self.waiting.push_back(waiting);
    }

    /// The bytes of the next PDU.
    pub(super) fn next(&self) -> Option<u32> {
        self.waiting.front().map(|waiting| waiting.pdu)
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.pdus = self.pdus.wrapping_sub(waiting.pdu);
        Some(waiting)
    }
}
