//! Handles and the arrays behind them: the handle of a closed entry never refers to its successor.

use alloc::vec::Vec;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub(crate) u32);

/// A UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UeId(pub(crate) Key);

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) Key);

impl FlowId {
    /// A small number unique among open flows and reused after a close: an index for the caller's
    /// own array.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }

    /// The handle as a number that is never 0.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0.to_u64()
    }

    /// The handle of [`FlowId::to_u64`]; for another number, one of a flow that is not open.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(Key::from_u64(number))
    }
}

impl UeId {
    /// A small number unique among UEs and reused after a removal.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }

    /// The handle as a number that is never 0.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0.to_u64()
    }

    /// The handle of [`UeId::to_u64`]; for another number, one of a UE that does not exist.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(Key::from_u64(number))
    }
}

/// The position of an entry, and its number among all entries that used this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    generation: u32,
}

impl Key {
    /// No entry has the largest index, so the sum does not wrap to 0.
    const fn to_u64(self) -> u64 {
        ((self.generation as u64) << 32 | self.index as u64) + 1
    }

    const fn from_u64(number: u64) -> Self {
        let bits = number.wrapping_sub(1);
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

#[derive(Clone, Debug)]
struct Slot<T> {
    generation: u32,
    live: bool,
    value: T,
}

/// Values by handle; the slot of a removed one is reused.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Memory for `most` entries.
    pub(crate) fn reserve(&mut self, most: usize) {
        self.slots.reserve_exact(most.saturating_sub(self.slots.len()));
        self.free.reserve_exact(most.saturating_sub(self.free.len()));
    }

    /// Adds free slots up to `most`, with values of `make`.
    pub(crate) fn fill(&mut self, most: u32, make: impl Fn() -> T) {
        let before = self.places();
        let free = || Slot { generation: 0, live: false, value: make() };
        self.slots.extend((before..most).map(|_| free()));
        self.free.extend((before..most).rev());
    }

    /// The value in the free slot that the next entry takes; none if it takes a new one.
    pub(crate) fn next_free(&mut self) -> Option<&mut T> {
        self.free.last().map(|&index| &mut self.slots[index as usize].value)
    }

    /// Number of existing entries.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            (slot.live, slot.value) = (true, value);
            return Key { index, generation: slot.generation };
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 entries");
        self.slots.push(Slot { generation: 0, live: true, value });
        Key { index, generation: 0 }
    }

    /// The index of `key`, if its entry still exists.
    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        let slot = self.slots.get(key.index as usize)?;
        (slot.live && slot.generation == key.generation).then_some(key.index)
    }

    /// The handle of the entry at `index`, if it exists.
    pub(crate) fn key(&self, index: u32) -> Option<Key> {
        let slot = &self.slots[index as usize];
        slot.live.then_some(Key { index, generation: slot.generation })
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.live = false;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
    }

    /// Number of slots, taken or free.
    pub(crate) fn places(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The existing entries, in order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.live).map(|(i, slot)| (i, &slot.value))
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.slots[index as usize].value
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.slots[index as usize].value
    }
}
