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
}

impl UeId {
    /// A small number unique among UEs and reused after a removal.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// The position of an entry, and its number among all entries that used this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    generation: u32,
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
