//! The UEs with data to send.

use super::Roster;
use alloc::vec;
use alloc::vec::Vec;

/// Bits in a word.
const WORD: usize = u64::BITS as usize;

/// The list of UEs with data to send. The marks of listed UEs are here, because in each UE they
/// would take one more cache line.
pub(in crate::mac) struct Active {
    ues: Vec<u32>,
    /// A bit for each UE of the cell.
    listed: Vec<u64>,
}

impl Active {
    /// An empty list for `ues` UEs.
    pub(in crate::mac) fn new(ues: usize) -> Self {
        Self { ues: Vec::new(), listed: vec![0; ues.div_ceil(WORD)] }
    }

    /// `ue` has data to send.
    #[inline(always)]
    pub(in crate::mac) fn add(&mut self, ue: u32) {
        let (word, bit) = (ue as usize / WORD, 1 << (ue as usize % WORD));
        let word = &mut self.listed[word];
        if *word & bit == 0 {
            *word |= bit;
            self.ues.push(ue);
        }
    }

    /// Removes the UEs for which `stays` returns false: they have no more data to send.
    pub(in crate::mac) fn retain(&mut self, mut stays: impl FnMut(u32) -> bool) {
        let Self { ues, listed } = self;
        ues.retain(|&ue| {
            let stays = stays(ue);
            if !stays {
                listed[ue as usize / WORD] &= !(1 << (ue as usize % WORD));
            }
            stays
        });
    }

    /// Removes all UEs: none has more data to send.
    #[inline]
    pub(in crate::mac) fn clear(&mut self) {
        if self.are_few() {
            for &ue in &self.ues {
                self.listed[ue as usize / WORD] = 0;
            }
        } else {
            self.listed.fill(0);
        }
        self.ues.clear();
    }

    /// True if there are few enough to handle one by one instead of word by word.
    #[inline]
    fn are_few(&self) -> bool {
        self.ues.len() < self.listed.len().div_ceil(16)
    }

    /// Sorts the UEs by number; a cell of several has the numbers in its `roster`.
    #[inline]
    pub(in crate::mac) fn sort(&mut self, roster: Option<&Roster>) {
        if let Some(roster) = roster {
            return self.ues.sort_unstable_by_key(|&place| roster.number(place));
        }
        // Sorting takes some 80 instructions for each, reading the bits 3 for each word and 8 for
        // each UE: 2 000 calls of which 50 send in a slot take 3 % less.
        if self.are_few() {
            return self.ues.sort_unstable();
        }
        self.ues.clear();
        for (place, &word) in self.listed.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                self.ues.push((place * WORD) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    /// The UEs in the order of joining, or by number after [`Self::sort`].
    #[inline]
    pub(in crate::mac) fn ues(&self) -> &[u32] {
        &self.ues
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Rng;

    #[test]
    fn each_ue_is_listed_once_and_in_order_whether_few_or_many() {
        let mut rng = Rng::stream(1, "active");
        for ues in [1, 64, 65, 3_000] {
            let mut active = Active::new(ues);
            for round in 0..40 {
                let mut expected = active.ues().to_vec();
                for _ in 0..rng.below(1 + round * round) {
                    let ue = rng.below(ues as u64) as u32;
                    active.add(ue);
                    expected.push(ue);
                }
                active.sort(None);
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(active.ues(), expected);
                match round % 3 {
                    0 => active.clear(),
                    1 => active.retain(|ue| ue % 2 == 0),
                    _ => {}
                }
                let kept = |ue: &u32| round % 3 == 2 || (round % 3 == 1 && ue.is_multiple_of(2));
                expected.retain(kept);
                assert_eq!(active.ues(), expected);
            }
        }
    }
}
