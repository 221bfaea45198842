//! What the packets of TCP flows carry, while they are on their way.

use justfull_tcp::Segment;

/// Segments that a world makes room for at its start: more than 10 MB of them.
const FIRST_SEGMENTS: usize = 16_384;

/// Segments on their way, by the handle in `Packet::payload`.
pub(crate) struct Segments {
    slots: Vec<Segment>,
    free: Vec<u32>,
}

impl Segments {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::with_capacity(FIRST_SEGMENTS), free: Vec::with_capacity(FIRST_SEGMENTS) }
    }

    #[inline]
    pub(crate) fn put(&mut self, segment: Segment) -> u64 {
        if let Some(i) = self.free.pop() {
            self.slots[i as usize] = segment;
            u64::from(i)
        } else {
            self.slots.push(segment);
            // So that giving a handle back never allocates.
            self.free.reserve(self.slots.capacity());
            (self.slots.len() - 1) as u64
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, handle: u64) -> Segment {
        self.free.push(handle as u32);
        self.slots[handle as usize]
    }

    /// The segment of `handle`, which stays.
    #[inline]
    pub(crate) fn peek(&self, handle: u64) -> &Segment {
        &self.slots[handle as usize]
    }
}
