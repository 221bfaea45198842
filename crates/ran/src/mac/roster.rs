//! The places of UEs in a cell of several. A UE takes memory in its own cell only.

use crate::channel::Channel;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A UE's own channel.
pub(crate) struct OwnChannel {
    pub(crate) channel: Channel,
    /// The channel in the MAC's view, if that is older than the slot.
    pub(crate) reported: Option<Channel>,
}

/// The UEs of a cell of several, by their numbers in the world.
#[derive(Default)]
pub(crate) struct Roster {
    /// The number of the UE in each place; of a vacant place, of the last UE there.
    numbers: Vec<u32>,
    /// The place of each UE.
    places: BTreeMap<u32, u32>,
    vacant: Vec<u32>,
    /// The own channels to this cell of UEs in other cells.
    pub(crate) elsewhere: BTreeMap<u32, Box<OwnChannel>>,
}

impl Roster {
    #[inline]
    pub(crate) fn number(&self, place: u32) -> u32 {
        self.numbers[place as usize]
    }

    #[inline]
    pub(crate) fn place(&self, number: u32) -> u32 {
        self.places[&number]
    }

    /// The place of UE `number`, if it has one.
    pub(crate) fn find(&self, number: u32) -> Option<u32> {
        self.places.get(&number).copied()
    }

    /// The places of all UEs, in the order of their numbers.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> {
        self.places.values().copied()
    }

    /// UE `number` gets a place: a vacant place if there is one.
    pub(crate) fn add(&mut self, number: u32) -> u32 {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.numbers.push(number);
            (self.numbers.len() - 1) as u32
        });
        self.numbers[place as usize] = number;
        self.places.insert(number, place);
        place
    }

    /// The place of UE `number` becomes vacant.
    pub(crate) fn remove(&mut self, number: u32) {
        self.vacant.extend(self.places.remove(&number));
    }
}
