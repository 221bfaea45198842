//! Segmentation in NR: one SDU, or one segment of one, per PDU (TS 38.322 sections 5.2.2.1 and
//! 5.2.3.1).

use super::HeaderBytes;
use crate::pdu::{Part, PduHeader, SduHandle, SduSource, SegmentInfo, TbContent};
use crate::rlc::sn::SnSpace;

/// The largest offset at which a segment can start: SO has 16 bits.
const MAX_SO: u32 = 65_535;

/// Bytes `start..end` of an SDU of `size`.
#[inline]
pub(super) fn part(sdu: SduHandle, size: u32, start: u32, end: u32) -> Part {
    Part { sdu, offset: start, len: end - start, last: end == size }
}

/// The SI of bytes `start..end` of an SDU of `size`.
#[inline]
pub(super) const fn segment_info(size: u32, start: u32, end: u32) -> SegmentInfo {
    SegmentInfo::new(start == 0, end == size)
}

/// The part of bytes `start..end` of an SDU of `size` that fits into `grant`: header bytes, and the
/// end of the segment.
#[inline]
pub(super) fn cut(
    headers: &HeaderBytes,
    grant: u32,
    size: u32,
    start: u32,
    end: u32,
) -> Option<(u32, u32)> {
    if start == 0 && end == size && headers.whole.saturating_add(size) <= grant {
        return Some((headers.whole, size));
    }
    let header = if start == 0 { headers.first } else { headers.later };
    let room = grant.saturating_sub(header);
    let rest = end - start;
    if rest <= room && (start, end) != (0, size) {
        return Some((header, end));
    }
    // The rest must start at an offset that SO can hold.
    let len = room.min(rest - 1).min(MAX_SO.saturating_sub(start));
    (len > 0).then_some((header, start + len))
}

/// Transmitting side of a UM entity of NR.
#[derive(Clone, Debug)]
pub(super) struct NrUm {
    /// TX_Next: SN of the next segmented SDU.
    next: u32,
    sn: SnSpace,
    /// Unsent bytes of the source's head; 0 if it has not been started.
    pub(super) left: u32,
    /// Header bytes for a segment's SN and SI: 1 or 2.
    fixed: u8,
    /// Bytes that the layer below puts before each PDU.
    below: u8,
}

impl NrUm {
    pub(super) fn new(sn_bits: u8, below: u8) -> Self {
        Self {
            next: 0,
            sn: SnSpace::new(sn_bits),
            left: 0,
            fixed: if sn_bits == 6 { 1 } else { 2 },
            below,
        }
    }

    #[inline]
    pub(super) fn headers(&self) -> HeaderBytes {
        let below = u32::from(self.below);
        let first = below + u32::from(self.fixed);
        HeaderBytes { whole: below + 1, first, later: first + 2, further_bits: None }
    }

    pub(super) fn rest_of_head(&self) -> u32 {
        if self.left == 0 { 0 } else { self.left + self.headers().later }
    }

    /// TS 38.322 v17 clause 5.2.2.1.1.
    #[inline]
    pub(super) fn pull(
        &mut self,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let headers = self.headers();
        let mut used = 0;
        while let Some(head) = source.head() {
            debug_assert!(head.size > 0 && self.left < head.size);
            let start = if self.left == 0 { 0 } else { head.size - self.left };
            let Some((header, end)) = cut(&headers, grant - used, head.size, start, head.size)
            else {
                break;
            };
            let si = segment_info(head.size, start, end);
            let sn = if si == SegmentInfo::Whole { 0 } else { self.next };
            let pdu = PduHeader::NrUm { si, sn, so: start as u16 };
            out.push_single(pdu, header, part(head.handle, head.size, start, end));
            used += header + end - start;
            self.left = head.size - end;
            if self.left > 0 {
                break;
            }
            source.take();
            if si == SegmentInfo::Last {
                self.next = self.sn.add(self.next, 1);
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UM_12: HeaderBytes = HeaderBytes { whole: 1, first: 2, later: 4, further_bits: None };

    #[test]
    fn a_segment_takes_what_the_grant_leaves_beside_its_header() {
        assert_eq!(cut(&UM_12, 101, 100, 0, 100), Some((1, 100)), "whole");
        assert_eq!(cut(&UM_12, 100, 100, 0, 100), Some((2, 98)), "first segment");
        assert_eq!(cut(&UM_12, 102, 101, 0, 101), Some((1, 101)), "whole");
        assert_eq!(cut(&UM_12, 6, 100, 98, 100), Some((4, 100)), "last segment");
        assert_eq!(cut(&UM_12, 5, 100, 98, 100), Some((4, 99)), "middle segment");
    }

    #[test]
    fn nothing_fits_a_grant_of_a_header() {
        for grant in 0..=2 {
            assert_eq!(cut(&UM_12, grant, 100, 0, 100), None);
        }
        for grant in 0..=4 {
            assert_eq!(cut(&UM_12, grant, 100, 50, 100), None);
        }
    }

    #[test]
    fn a_whole_sdu_of_one_byte_is_not_cut() {
        assert_eq!(cut(&UM_12, 2, 1, 0, 1), Some((1, 1)));
        assert_eq!(cut(&UM_12, 1, 1, 0, 1), None);
    }

    #[test]
    fn no_segment_starts_beyond_what_so_can_name() {
        assert_eq!(cut(&UM_12, 70_000, 80_000, 0, 80_000), Some((2, 65_535)));
        assert_eq!(cut(&UM_12, 10, 65_540, 65_535, 65_540), Some((4, 65_540)));
        assert_eq!(cut(&UM_12, 8, 65_540, 65_535, 65_540), None);
    }
}
