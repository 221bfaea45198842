//! The ranges that have arrived beyond a gap, and the ranges that changed last.

use super::{FIRST_RANGES, Receiver};
use crate::segment::{SackBlock, Segment};

impl Receiver {
    /// Moves the in-order point past the ranges it has reached.
    pub(super) fn absorb(&mut self) {
        while let Some(first) = self.ranges.front() {
            if first.start > self.next {
                break;
            }
            self.next = self.next.max(first.end);
            self.beyond -= first.end - first.start;
            self.ranges.pop_front();
        }
        let next = self.next;
        self.keep_recent(|block| block.start > next);
    }

    fn keep_recent(&mut self, keep: impl Fn(&SackBlock) -> bool) {
        let mut kept = 0;
        for i in 0..self.recent_len {
            if keep(&self.recent[i]) {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }

    /// Stores a segment beyond a gap. If all of it had arrived before, returns it for an immediate
    /// acknowledgement.
    pub(super) fn insert(&mut self, segment: &Segment) -> Option<SackBlock> {
        self.stats.out_of_order += 1;
        let new = SackBlock { start: segment.seq, end: segment.end() };
        // The first range that ends at or after the new one's start: usually the last, which the
        // segment extends.
        let count = self.ranges.len();
        let at = match self.ranges.back() {
            Some(last) if last.end < new.start => count,
            Some(last) if last.start <= new.start => count - 1,
            _ => self.ranges.partition_point(|r| r.end < new.start),
        };
        let mut merged = new;
        match self.ranges.get_mut(at) {
            Some(range) if range.start <= new.end => {
                if range.start <= new.start && range.end >= new.end {
                    self.stats.duplicates += 1;
                    let block = *range;
                    self.touch(block);
                    return Some(new);
                }
                let before = range.end - range.start;
                range.start = range.start.min(new.start);
                range.end = range.end.max(new.end);
                merged = *range;
                self.beyond += merged.end - merged.start - before;
                self.merge_following(at, &mut merged);
            }
            _ => {
                if self.ranges.capacity() == 0 {
                    // Room for a window's worth of gaps, so that later losses do not allocate.
                    self.ranges.reserve(FIRST_RANGES);
                }
                self.ranges.insert(at, new);
                self.beyond += new.end - new.start;
            }
        }
        self.touch(merged);
        None
    }

    /// Merges the ranges after `at` that the range at `at` now reaches.
    fn merge_following(&mut self, at: usize, merged: &mut SackBlock) {
        while let Some(following) = self.ranges.get(at + 1).copied() {
            if following.start > merged.end {
                break;
            }
            // The overlap was counted twice.
            self.beyond -= merged.end.min(following.end) - following.start;
            merged.end = merged.end.max(following.end);
            self.ranges.remove(at + 1);
            self.ranges[at] = *merged;
        }
    }

    /// Puts `block` first among the recent blocks and removes the blocks within it.
    pub(super) fn touch(&mut self, block: SackBlock) {
        if self.recent_len > 0
            && self.recent[0].start == block.start
            && self.recent[0].end <= block.end
        {
            self.recent[0] = block;
            if self.recent_len == 1 {
                return;
            }
        }
        self.keep_recent(|r| r.start < block.start || r.end > block.end);
        let kept = self.recent_len.min(3);
        self.recent.copy_within(..kept, 1);
        self.recent[0] = block;
        self.recent_len = kept + 1;
    }
}
