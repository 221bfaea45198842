//! The flows of a UE, and which of them an allocation must visit.
//!
//! The windows of an idle flow are its floor, whatever the UE's capacity. Once it has them, it
//! sleeps: a bit for each flow marks the awake flows, and a walk skips 64 sleepers at a time. A
//! walk has the order of the whole list, so every rounded sum stays the same.

use alloc::vec::Vec;
use core::ops::Range;

/// Flows that one bit map word describes.
const WORD: usize = u64::BITS as usize;

/// Indices of a UE's flows by their positions.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    keys: Vec<u32>,
    /// A bit for each position, set while the flow is awake; 0 past the last.
    awake: Vec<u64>,
}

impl Members {
    pub(crate) const fn new() -> Self {
        Self { keys: Vec::new(), awake: Vec::new() }
    }

    /// Memory for `most` flows.
    pub(crate) fn reserve(&mut self, most: usize) {
        self.keys.reserve_exact(most.saturating_sub(self.keys.len()));
        let words = most.div_ceil(WORD);
        self.awake.reserve_exact(words.saturating_sub(self.awake.len()));
    }

    /// Removes all flows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.awake.clear();
    }

    pub(crate) const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds a flow, which is awake.
    pub(crate) fn push(&mut self, key: u32) {
        let position = self.keys.len();
        self.keys.push(key);
        if position / WORD == self.awake.len() {
            self.awake.push(0);
        }
        self.wake(position);
    }

    /// Removes the flow at `position`; returns the flow that takes its place, if any.
    pub(crate) fn remove(&mut self, position: usize) -> Option<u32> {
        let last = self.keys.len() - 1;
        let moved_wakes = self.is_awake(last);
        self.keys.swap_remove(position);
        self.sleep(position);
        self.sleep(last);
        if position < last && moved_wakes {
            self.wake(position);
        }
        self.awake.truncate(last.div_ceil(WORD));
        self.keys.get(position).copied()
    }

    /// The flow at `position`.
    pub(crate) fn key(&self, position: usize) -> u32 {
        self.keys[position]
    }

    /// All flows, asleep or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().copied()
    }

    /// The flows that are awake.
    pub(crate) fn awake(&self) -> impl Iterator<Item = u32> {
        let mut rest = 0..self.keys.len();
        core::iter::from_fn(move || self.next_awake(&mut rest).map(|position| self.keys[position]))
    }

    /// The first position of `rest` whose flow is awake; `rest` then begins after it.
    pub(crate) fn next_awake(&self, rest: &mut Range<usize>) -> Option<usize> {
        while rest.start < rest.end {
            let (word, bit) = (rest.start / WORD, rest.start % WORD);
            let bits = self.awake[word] >> bit;
            if bits != 0 {
                let position = rest.start + bits.trailing_zeros() as usize;
                rest.start = position + 1;
                return (position < rest.end).then_some(position);
            }
            rest.start = (word + 1) * WORD;
        }
        None
    }

    /// The flow at `position` is to be visited.
    pub(crate) fn wake(&mut self, position: usize) {
        self.awake[position / WORD] |= 1 << (position % WORD);
    }

    /// The flow at `position` has the windows that it keeps until it wakes.
    pub(crate) fn sleep(&mut self, position: usize) {
        self.awake[position / WORD] &= !(1 << (position % WORD));
    }

    fn is_awake(&self, position: usize) -> bool {
        self.awake[position / WORD] >> (position % WORD) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_walk_meets_those_awake_in_order(
            steps in prop::collection::vec(any::<(u8, u16)>(), 1..600),
            cut in any::<(u16, u16)>(),
        ) {
            let mut members = Members::new();
            let mut plain: Vec<(u32, bool)> = Vec::new();
            for (number, (what, which)) in (0..).zip(steps) {
                let at = usize::from(which) % plain.len().max(1);
                match what % 6 {
                    _ if plain.is_empty() => {}
                    0 => {
                        plain.swap_remove(at);
                        let moved = plain.get(at).map(|&(key, _)| key);
                        prop_assert_eq!(members.remove(at), moved);
                        continue;
                    }
                    1 | 2 => {
                        plain[at].1 = false;
                        members.sleep(at);
                        continue;
                    }
                    3 => {
                        plain[at].1 = true;
                        members.wake(at);
                        continue;
                    }
                    _ => {}
                }
                plain.push((number, true));
                members.push(number);
            }
            let awake = plain.iter().filter(|(_, awake)| *awake).map(|&(key, _)| key);
            prop_assert!(members.awake().eq(awake));
            prop_assert!(members.all().eq(plain.iter().map(|&(key, _)| key)));
            let [from, to] = [cut.0, cut.1].map(|at| usize::from(at) % (plain.len() + 1));
            let mut rest = from..to;
            let mut met = Vec::new();
            while let Some(position) = members.next_awake(&mut rest) {
                met.push(position);
            }
            let due: Vec<usize> = (from..to).filter(|&position| plain[position].1).collect();
            prop_assert_eq!(met, due);
        }
    }
}
