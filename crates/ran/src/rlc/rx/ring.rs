//! The state of each SN from the lower edge of a window on.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Codes of a slot: nothing has arrived; all is done; else the index among the held items, plus
/// [`FIRST_HELD`].
const MISSING: u32 = 0;
const DONE: u32 = 1;
const FIRST_HELD: u32 = 2;
/// The slot's SN had the poll bit set; see [`Ring::poll`].
const POLLED: u32 = 1 << 31;

/// State kept for an SN, reusable for another.
pub(super) trait Held: Default {
    /// Resets the state but keeps the memory.
    fn clear(&mut self);
}

/// State of one SN.
#[derive(Debug)]
pub(super) enum Slot<'a, H> {
    Missing,
    Held(&'a H),
    Done,
}

/// The slots; `at` counts from the lower edge of the window.
#[derive(Clone, Debug)]
pub(super) struct Ring<H> {
    codes: VecDeque<u32>,
    held: Vec<H>,
    free: Vec<u32>,
}

impl<H> Default for Ring<H> {
    fn default() -> Self {
        Self { codes: VecDeque::new(), held: Vec::new(), free: Vec::new() }
    }
}

impl<H: Held> Ring<H> {
    /// SNs from the lower edge up to the highest received.
    pub(super) fn len(&self) -> u32 {
        self.codes.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Grows so that each SN up to `at` has a slot.
    fn reach(&mut self, at: u32) {
        if self.len() <= at {
            self.codes.resize(at as usize + 1, MISSING);
        }
    }

    pub(super) fn slot(&self, at: u32) -> Slot<'_, H> {
        match self.codes.get(at as usize).map_or(MISSING, |code| code & !POLLED) {
            MISSING => Slot::Missing,
            DONE => Slot::Done,
            held => Slot::Held(&self.held[(held - FIRST_HELD) as usize]),
        }
    }

    /// The item held for `at`, created empty if missing; none if `at` is done.
    pub(super) fn hold(&mut self, at: u32) -> Option<&mut H> {
        self.reach(at);
        let code = &mut self.codes[at as usize];
        match *code & !POLLED {
            DONE => None,
            MISSING => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.held.push(H::default());
                    self.held.len() as u32 - 1
                });
                *code |= place + FIRST_HELD;
                Some(&mut self.held[place as usize])
            }
            held => Some(&mut self.held[(held - FIRST_HELD) as usize]),
        }
    }

    /// Marks `at` as done.
    pub(super) fn finish(&mut self, at: u32) {
        self.reach(at);
        let code = self.codes[at as usize];
        self.codes[at as usize] = DONE | (code & POLLED);
        self.release(code);
    }

    /// Removes the lowest slot.
    pub(super) fn pop(&mut self) {
        if let Some(code) = self.codes.pop_front() {
            self.release(code);
        }
    }

    fn release(&mut self, code: u32) {
        if let Some(place) = (code & !POLLED).checked_sub(FIRST_HELD) {
            self.held[place as usize].clear();
            self.free.push(place);
        }
    }

    /// `at` had the poll bit set, but its status report must wait (TS 38.322 section 5.3.4).
    pub(super) fn poll(&mut self, at: u32) {
        self.reach(at);
        self.codes[at as usize] |= POLLED;
    }

    /// True if `at` had the poll bit set.
    pub(super) fn has_polled(&self, at: u32) -> bool {
        self.codes.get(at as usize).is_some_and(|code| code & POLLED != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Held for u32 {
        fn clear(&mut self) {
            *self = 0;
        }
    }

    #[test]
    fn the_place_of_a_departure_from_the_ring_is_reused_cleared() {
        let mut ring = Ring::<u32>::default();
        for leave in [Ring::pop, |ring: &mut Ring<u32>| {
            ring.finish(0);
            ring.pop();
        }] {
            for _ in 0..10 {
                let held = ring.hold(0).expect("not done");
                assert_eq!(*held, 0);
                *held = 7;
                leave(&mut ring);
            }
        }
        assert_eq!((ring.held.len(), ring.free.as_slice()), (1, &[0][..]));
    }
}
