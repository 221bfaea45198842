//! Storage for the contents of packets in transit.

/// Items in transit, by the handle in `Packet::payload`.
pub struct Arena<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Arena<T> {
    /// An arena with room for `first` items.
    pub fn new(first: usize) -> Self {
        Self { slots: Vec::with_capacity(first), free: Vec::with_capacity(first) }
    }

    #[inline]
    /// Keeps `item`; returns its handle.
    pub fn put(&mut self, item: T) -> u64 {
        if let Some(i) = self.free.pop() {
            self.slots[i as usize] = item;
            u64::from(i)
        } else {
            self.slots.push(item);
            // Reserved here, so that returning a handle never allocates.
            self.free.reserve(self.slots.capacity());
            (self.slots.len() - 1) as u64
        }
    }

    #[inline]
    /// Removes and returns the item of `handle`.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn take(&mut self, handle: u64) -> T {
        self.free.push(handle as u32);
        self.slots[handle as usize]
    }

    /// The stored items; for the end of a run.
    pub fn live(&self) -> impl Iterator<Item = &T> {
        let mut free = vec![false; self.slots.len()];
        self.free.iter().for_each(|&i| free[i as usize] = true);
        self.slots.iter().zip(free).filter(|(_, free)| !free).map(|(item, _)| item)
    }

    /// The item of `handle`, mutable.
    #[inline]
    pub fn peek_mut(&mut self, handle: u64) -> &mut T {
        &mut self.slots[handle as usize]
    }

    /// The item of `handle`, without removing it.
    #[inline]
    pub fn peek(&self, handle: u64) -> &T {
        &self.slots[handle as usize]
    }
}
