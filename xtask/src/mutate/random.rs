//! Chance for mutations: SplitMix64 (Steele, Lea and Flood 2014), the same on every machine.

use std::hash::{BuildHasher, RandomState};

#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The chance of case `index` of a run with `seed`.
    pub(super) fn of(seed: u64, index: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is above 0; the bias is below 2^-32 for bounds as small as those here.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True once in `many` times.
    pub(super) fn once_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// One of `items`, which are not none.
    pub(super) fn of_all<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// A seed that no one has seen.
pub(super) fn fresh_seed() -> u64 {
    // The standard library keys its hasher from the system's entropy. Short, since people type it
    // again.
    RandomState::new().hash_one(std::process::id()) % 1_000_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_its_published_values() {
        let mut random = Random(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn fresh_seeds_differ() {
        assert_ne!(fresh_seed(), fresh_seed());
    }
}
