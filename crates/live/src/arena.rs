//! Packet buffers: a fixed number of one size, which hold the packets while the chain handles their
//! metadata.
//!
//! The buffers are one allocation of `(buffers + 1) * stride` bytes, made at the start (the kernel
//! provides pages at first use). Packets take this memory, 8 bytes a buffer for the free list and
//! the lengths, and no more. The last buffer is a spare one: a packet that arrives while all others
//! are in use is read into it, so that it can be counted by its kind.

/// Buffers for packets, by the handle in [`justfull_base::Packet::payload`].
pub struct Arena {
    bytes: Box<[u8]>,
    stride: usize,
    lengths: Box<[u32]>,
    free: Vec<u32>,
    least_free: usize,
}

impl Arena {
    /// Makes `buffers` buffers for packets of up to `mtu` bytes, each with at least one more byte,
    /// which shows that a packet is too long.
    #[must_use]
    pub fn new(buffers: u32, mtu: u32) -> Self {
        let (count, stride) = (buffers as usize, (mtu as usize + 1).next_multiple_of(64));
        Self {
            bytes: vec![0; (count + 1) * stride].into_boxed_slice(),
            stride,
            lengths: vec![0; count + 1].into_boxed_slice(),
            free: (0..buffers).rev().collect(),
            least_free: count,
        }
    }

    /// Takes a free buffer; none when all are in use.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        let handle = self.free.pop()?;
        self.least_free = self.least_free.min(self.free.len());
        Some(u64::from(handle))
    }

    /// The spare buffer, which holds a packet until the next one is read.
    #[inline]
    #[must_use]
    pub fn spare(&self) -> u64 {
        self.buffers() as u64
    }

    /// The whole of buffer `handle`, for writing.
    #[inline]
    pub fn space(&mut self, handle: u64) -> &mut [u8] {
        let start = handle as usize * self.stride;
        &mut self.bytes[start..start + self.stride]
    }

    /// Sets the length of the packet in buffer `handle`.
    #[inline]
    pub fn set_length(&mut self, handle: u64, length: u32) {
        self.lengths[handle as usize] = length;
    }

    /// The packet in buffer `handle`.
    #[inline]
    pub fn packet(&mut self, handle: u64) -> &mut [u8] {
        let start = handle as usize * self.stride;
        &mut self.bytes[start..start + self.lengths[handle as usize] as usize]
    }

    /// The packet in buffer `handle`, read-only.
    #[inline]
    #[must_use]
    pub fn bytes(&self, handle: u64) -> &[u8] {
        let start = handle as usize * self.stride;
        &self.bytes[start..start + self.lengths[handle as usize] as usize]
    }

    /// Frees buffer `handle`. The spare one is always free.
    #[inline]
    pub fn give_back(&mut self, handle: u64) {
        if handle != self.spare() {
            debug_assert!(self.in_use() > 0, "a buffer is given back once");
            self.free.push(handle as u32);
        }
    }

    /// All buffers but the spare one.
    #[inline]
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.lengths.len() - 1
    }

    /// Buffers in use now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.buffers() - self.free.len()
    }

    /// Most buffers ever in use at once.
    #[must_use]
    pub fn most_used(&self) -> usize {
        self.buffers() - self.least_free
    }

    /// Bytes of memory it holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.len() + 4 * (self.lengths.len() + self.buffers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_buffers_as_configured_and_each_keeps_its_own_packet() {
        let mut arena = Arena::new(3, 1500);
        let handles: Vec<u64> = std::iter::from_fn(|| arena.take()).collect();
        assert_eq!((handles.len(), arena.in_use()), (3, 3));
        let spare = arena.spare();
        arena.space(spare).fill(9);
        arena.give_back(spare);
        assert_eq!((arena.in_use(), arena.take()), (3, None), "the spare one is never given away");
        for (i, &handle) in handles.iter().enumerate() {
            arena.space(handle)[..1500].fill(i as u8 + 1);
            arena.set_length(handle, 1500 - i as u32);
        }
        for (i, &handle) in handles.iter().enumerate() {
            assert_eq!(arena.packet(handle), vec![i as u8 + 1; 1500 - i]);
            arena.give_back(handle);
        }
        assert_eq!((arena.in_use(), arena.most_used()), (0, 3));
        assert_eq!(arena.take(), Some(handles[2]), "the one that was used last is warm");
    }

    #[test]
    fn a_buffer_takes_one_byte_more_than_the_mtu() {
        let mut arena = Arena::new(1, 1536);
        let handle = arena.take().expect("one is free");
        assert!(arena.space(handle).len() > 1536);
        assert_eq!(arena.memory(), 2 * 1600 + 8 + 4, "with the spare one");
    }
}
