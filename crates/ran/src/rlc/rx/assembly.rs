//! The bytes of one SDU (NR) or PDU (LTE) received so far.

use super::SduSink;
use super::ring::Held;
use crate::pdu::{Part, SduHandle};
use alloc::vec::Vec;

/// Received bytes: runs in ascending order that do not touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: Vec<(u32, u32)>,
    /// The size, once the piece with the last byte has arrived.
    size: Option<u32>,
}

/// The outcome for a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// The piece has new bytes.
    New,
    /// All of the piece had been received.
    Duplicate,
    /// The piece exceeds the end, or ends at a different place.
    Contradiction,
}

impl Runs {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.size = None;
    }

    /// Bytes `start..end` arrived, including the very last byte if `last`.
    pub(super) fn add(&mut self, start: u32, end: u32, last: bool) -> Added {
        let reach = self.runs.last().map_or(0, |run| run.1);
        let fits = match self.size {
            Some(size) => end <= size && (!last || end == size),
            None => !last || reach <= end,
        };
        if !fits || start >= end {
            return Added::Contradiction;
        }
        if last {
            self.size = Some(end);
        }
        let from = self.runs.partition_point(|run| run.1 < start);
        let to = self.runs.partition_point(|run| run.0 <= end);
        match &mut self.runs[from..to] {
            [] => self.runs.insert(from, (start, end)),
            [run] if run.0 <= start && end <= run.1 => return Added::Duplicate,
            [first, .., last] => {
                first.1 = last.1.max(end);
                first.0 = first.0.min(start);
                self.runs.drain(from + 1..to);
            }
            [run] => *run = (run.0.min(start), run.1.max(end)),
        }
        Added::New
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!((self.runs.as_slice(), self.size), ([(0, end)], Some(size)) if *end == size)
    }

    /// Bytes from the first on without a gap.
    pub(super) fn prefix(&self) -> u32 {
        self.runs.first().filter(|run| run.0 == 0).map_or(0, |run| run.1)
    }

    /// True if a byte is missing before the last received one.
    pub(super) fn has_gap(&self) -> bool {
        !matches!(self.runs.as_slice(), [] | [(0, _)])
    }

    /// The runs of missing bytes. The last has no end if the size is unknown and nothing beyond it
    /// has arrived.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        let starts = core::iter::once(0).chain(self.runs.iter().map(|run| run.1));
        let ends = self.runs.iter().map(|run| Some(run.0)).chain(core::iter::once(None));
        let size = self.size;
        starts.zip(ends).filter(move |&(start, end)| Some(start) != end && Some(start) != size)
    }
}

/// Data fields are sums of untrusted lengths; no valid PDU ends beyond this.
const MAX_DATA: u32 = 1 << 30;

/// Total bytes of `parts`; none if a part is empty or exceeds the number range, or if consecutive
/// parts do not end and start at SDU boundaries.
pub(super) fn data_len(parts: &[Part]) -> Option<u32> {
    let mut sum = 0u32;
    for (i, part) in parts.iter().enumerate() {
        let ends_sdu = part.last || i + 1 == parts.len();
        let starts_sdu = part.offset == 0 || i == 0;
        if part.len == 0
            || part.offset.checked_add(part.len)? > MAX_DATA
            || !ends_sdu
            || !starts_sdu
        {
            return None;
        }
        sum = sum.checked_add(part.len).filter(|&sum| sum <= MAX_DATA)?;
    }
    (sum > 0).then_some(sum)
}

/// Joins pieces that arrive in order into SDUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Joiner {
    /// The SDU whose first `bytes` have arrived; meaningless if `bytes` is 0.
    sdu: SduHandle,
    bytes: u32,
    /// The last abandoned SDU; its other pieces need no report.
    given_up: Option<SduHandle>,
}

impl Joiner {
    pub(super) fn feed(&mut self, part: &Part, sink: &mut impl SduSink) {
        let follows = part.offset == self.bytes && (self.bytes == 0 || part.sdu == self.sdu);
        if !follows {
            self.break_off(sink);
            if part.offset > 0 {
                self.give_up(part.sdu, sink);
                return;
            }
        }
        self.sdu = part.sdu;
        self.bytes = part.offset + part.len;
        if part.last {
            self.bytes = 0;
            self.given_up = None;
            sink.deliver(part.sdu);
        }
    }

    /// The next piece is lost.
    pub(super) fn break_off(&mut self, sink: &mut impl SduSink) {
        if self.bytes > 0 {
            self.bytes = 0;
            self.give_up(self.sdu, sink);
        }
    }

    fn give_up(&mut self, sdu: SduHandle, sink: &mut impl SduSink) {
        if self.given_up != Some(sdu) {
            self.given_up = Some(sdu);
            sink.abandon(sdu);
        }
    }
}

/// A piece of an SDU, and its offset in the data field of its PDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) at: u32,
    pub(super) part: Part,
}

/// A partly received PDU of LTE.
#[derive(Clone, Debug, Default)]
pub(super) struct LtePdu {
    pub(super) runs: Runs,
    pub(super) pieces: Vec<Placed>,
}

impl Held for LtePdu {
    fn clear(&mut self) {
        self.runs.clear();
        self.pieces.clear();
    }
}

/// Inserts the pieces of a PDU segment that starts at `so` into `pieces`, sorted by offset. If
/// bytes arrive twice, the later ones are left out.
pub(super) fn place(pieces: &mut Vec<Placed>, so: u32, parts: &[Part]) {
    let mut at = so;
    for part in parts {
        let end = at + part.len;
        let mut from = at;
        let mut i = pieces.partition_point(|p| p.at + p.part.len <= from);
        while from < end {
            let next = pieces.get(i).map(|p| (p.at, p.at + p.part.len)).filter(|next| next.0 < end);
            let to = next.map_or(end, |next| next.0);
            if from < to {
                let cut = Part {
                    sdu: part.sdu,
                    offset: part.offset + (from - at),
                    len: to - from,
                    last: part.last && to == end,
                };
                pieces.insert(i, Placed { at: from, part: cut });
                i += 1;
            }
            from = next.map_or(end, |next| next.1);
            i += 1;
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn runs_join_and_gaps_lie_between_them() {
        let mut runs = Runs::default();
        assert_eq!(runs.add(10, 20, false), Added::New);
        assert_eq!(runs.add(30, 40, true), Added::New);
        assert_eq!(runs.gaps().collect::<Vec<_>>(), [(0, Some(10)), (20, Some(30))]);
        assert_eq!(runs.add(12, 20, false), Added::Duplicate);
        assert_eq!(runs.add(15, 32, false), Added::New);
        assert_eq!(runs.gaps().collect::<Vec<_>>(), [(0, Some(10))]);
        assert!(runs.has_gap() && !runs.is_complete());
        assert_eq!(runs.add(0, 10, false), Added::New);
        assert!(runs.is_complete() && !runs.has_gap());
        assert_eq!(runs.gaps().count(), 0);
    }

    #[test]
    fn the_last_gap_is_open_until_the_size_is_known() {
        let mut runs = Runs::default();
        runs.add(0, 5, false);
        assert_eq!(runs.gaps().collect::<Vec<_>>(), [(5, None)]);
        assert_eq!(runs.prefix(), 5);
    }

    #[test]
    fn a_piece_that_contradicts_the_size_is_refused() {
        let mut runs = Runs::default();
        runs.add(4, 8, true);
        assert_eq!(runs.add(6, 9, false), Added::Contradiction);
        assert_eq!(runs.add(2, 6, true), Added::Contradiction);
        let mut runs = Runs::default();
        runs.add(4, 8, false);
        assert_eq!(runs.add(0, 6, true), Added::Contradiction);
    }

    #[test]
    fn pieces_that_overlap_are_kept_once() {
        let part = |offset, len, last| Part { sdu: SduHandle(1), offset, len, last };
        let mut pieces = vec![];
        place(&mut pieces, 4, &[part(104, 4, false)]);
        place(&mut pieces, 0, &[part(100, 10, true)]);
        let found: Vec<_> =
            pieces.iter().map(|p| (p.at, p.part.offset, p.part.len, p.part.last)).collect();
        assert_eq!(found, [(0, 100, 4, false), (4, 104, 4, false), (8, 108, 2, true)]);
    }

    #[test]
    fn pieces_that_touch_leave_nothing_between_them() {
        let part = |sdu, offset, len| Part { sdu: SduHandle(sdu), offset, len, last: false };
        let mut pieces = vec![];
        place(&mut pieces, 4, &[part(1, 4, 4)]);
        place(&mut pieces, 16, &[part(1, 16, 4)]);
        place(&mut pieces, 4, &[part(1, 4, 12), part(2, 0, 8)]);
        let found: Vec<_> = pieces.iter().map(|p| (p.at, p.part.sdu.0, p.part.len)).collect();
        assert_eq!(found, [(4, 1, 4), (8, 1, 8), (16, 1, 4), (20, 2, 4)]);
    }

    #[test]
    fn the_data_of_a_pdu_has_some_bytes_in_every_part_and_no_more_than_the_bound() {
        let part = |offset, len| Part { sdu: SduHandle(1), offset, len, last: true };
        assert_eq!(data_len(&[]), None);
        assert_eq!(data_len(&[part(0, 0), part(0, 5)]), None);
        assert_eq!(data_len(&[part(MAX_DATA - 1, 1)]), Some(1));
        assert_eq!(data_len(&[part(MAX_DATA, 1)]), None);
        assert_eq!(data_len(&[part(0, MAX_DATA), part(0, 1)]), None);
    }

    /// The SDUs that a joiner delivers and abandons for parts `(SDU, offset, last)` of 50 bytes.
    fn joined(parts: &[(u64, u32, bool)]) -> (Vec<u64>, Vec<u64>) {
        let (mut delivered, mut abandoned) = (vec![], vec![]);
        let mut joiner = Joiner::default();
        for &(sdu, offset, last) in parts {
            let part = Part { sdu: SduHandle(sdu), offset, len: 50, last };
            let sink = &mut (
                |sdu: SduHandle| delivered.push(sdu.0),
                |sdu: SduHandle| abandoned.push(sdu.0),
            );
            joiner.feed(&part, sink);
        }
        (delivered, abandoned)
    }

    #[test]
    fn a_piece_joins_the_piece_before_it_of_the_same_sdu() {
        assert_eq!(joined(&[(1, 0, false), (1, 50, true)]), (vec![1], vec![]));
        assert_eq!(joined(&[(1, 0, false), (2, 50, true)]), (vec![], vec![1, 2]), "another SDU");
        assert_eq!(joined(&[(1, 0, false), (2, 0, true)]), (vec![2], vec![1]), "its end is lost");
    }
}
