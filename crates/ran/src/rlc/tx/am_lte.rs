//! Transmitting side of an AM entity of LTE: a unit of its window is an AMD PDU, which may be
//! segmented at a retransmission (TS 36.322 sections 5.1.3.1 and 5.2.1).
//!
//! The pieces of SDUs in the PDUs of the window are in one queue in order of sending. The pieces of
//! one PDU are adjacent and leave the front with it.

use super::am_nr::send_control;
use super::arq::{Arq, Portion, Unit};
use super::concatenate::{Filling, Indicators, framing};
use super::stalls::Stopwatch;
use super::{HeaderBytes, Pending};
use crate::pdu::{Part, PduHeader, PduSegment, SduHandle, SduSource, StatusPdu, TbContent};
use crate::rlc::codec::{Format, status_bytes};
use crate::rlc::mode::AmConfig;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::Instant;

/// Header bytes of an AMD PDU, and of a segment of one, before the length indicators.
const WHOLE: u32 = 2;
const SEGMENT: u32 = 4;
/// Maximum number of bytes in a data field: SO's 15 bits can address each, and SOend's value of 15
/// ones stays free for "the end".
const MAX_DATA: u32 = 32_767;

/// The pieces of a PDU: index of the first since the entity's start, and their number.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    first: u32,
    count: u32,
}

/// The transmitting side of an AM entity of LTE.
#[derive(Clone, Debug)]
pub(super) struct LteAm {
    arq: Arq<Pieces>,
    pieces: VecDeque<Part>,
    /// Index of the first of `pieces`.
    first_piece: u32,
    /// Unsent bytes of the source's head; 0 if it has not been started.
    left: u32,
    /// Header bytes of an AMD PDU and of a segment of one, with the layer below's.
    whole: u32,
    segment: u32,
    indicators: Indicators,
    format: Format,
    pub(super) stalls: Stopwatch,
}

impl LteAm {
    pub(super) fn new(config: &AmConfig, below: u8) -> Self {
        Self {
            whole: WHOLE + u32::from(below),
            segment: SEGMENT + u32::from(below),
            arq: Arq::new(config),
            pieces: VecDeque::new(),
            first_piece: 0,
            left: 0,
            indicators: Indicators::new(config.li_bits),
            format: Format::LteAm { li_bits: config.li_bits },
            stalls: Stopwatch::new(),
        }
    }

    pub(super) fn headers(&self) -> HeaderBytes {
        let further_bits = Some(self.indicators.bits_each());
        HeaderBytes { whole: self.whole, first: self.whole, later: self.whole, further_bits }
    }

    pub(super) fn head_left(&self) -> u32 {
        self.left
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.arq.is_stalled()
    }

    /// The pieces of SDUs within bytes `start..end` of a unit's data field.
    fn pieces_within(
        &self,
        unit: &Unit<Pieces>,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = Part> {
        let first = unit.what.first.wrapping_sub(self.first_piece) as usize;
        let mut at = 0;
        self.pieces.range(first..first + unit.what.count as usize).filter_map(move |piece| {
            let (from, to) = (start.max(at), end.min(at + piece.len));
            let (skipped, is_end) = (from.saturating_sub(at), to == at + piece.len);
            at += piece.len;
            (from < to).then(|| Part {
                sdu: piece.sdu,
                offset: piece.offset + skipped,
                len: to - from,
                last: piece.last && is_end,
            })
        })
    }

    /// Bytes of a PDU with `portion` of `unit`.
    fn size_of(&self, portion: Portion, unit: &Unit<Pieces>) -> u32 {
        let len = portion.end - portion.start;
        let pieces = self.pieces_within(unit, portion.start, portion.end).count() as u32;
        let fixed = if len == unit.size { self.whole } else { self.segment };
        fixed + self.indicators.bytes(pieces.saturating_sub(1)) + len
    }

    fn rest_of_head(&self) -> u32 {
        if self.left == 0 { 0 } else { self.left + self.whole }
    }

    pub(super) fn pending(&self) -> Pending {
        Pending {
            control: self
                .arq
                .control
                .as_ref()
                .map_or(0, |status| status_bytes(self.format, status)),
            retransmission: self
                .arq
                .again()
                .fold(0, |sum, (p, unit)| sum.saturating_add(self.size_of(p, unit))),
            rest_of_head: self.rest_of_head(),
        }
    }

    pub(super) fn next_sizes(&self, most: usize, sizes: &mut Vec<u32>) {
        sizes.extend(self.arq.control.as_ref().map(|status| status_bytes(self.format, status)));
        sizes.extend(self.arq.again().take(most).map(|(p, unit)| self.size_of(p, unit)));
        sizes.extend(Some(self.rest_of_head()).filter(|&rest| rest > 0));
    }

    /// TS 36.322 v17 clause 5.1.3.1.1.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let mut used = send_control(&mut self.arq, self.format, grant, out);
        while !self.arq.nothing_again() {
            match self.pull_again(now, grant - used, source, out) {
                0 => return used,
                bytes => used += bytes,
            }
        }
        loop {
            match self.pull_new(now, grant - used, source, out) {
                0 => return used,
                bytes => used += bytes,
            }
        }
    }

    /// One PDU, or segment of one, with the first pending retransmission. TS 36.322 v17 clause
    /// 5.2.1.
    fn pull_again(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let Some((portion, unit)) = self.arq.again().next() else { return 0 };
        let is_whole =
            portion.end - portion.start == unit.size && self.size_of(portion, unit) <= grant;
        let fixed = if is_whole { self.whole } else { self.segment };
        let mut filling = Filling::new(self.indicators, fixed, grant, MAX_DATA);
        let first = out.parts.len() as u32;
        for piece in self.pieces_within(unit, portion.start, portion.end) {
            let len = piece.len.min(filling.room());
            if len == 0 {
                break;
            }
            filling.add(len);
            let is_all = len == piece.len;
            out.parts.push(Part { len, last: piece.last && is_all, ..piece });
            if !is_all {
                break;
            }
        }
        let end = portion.start + filling.data;
        if filling.data == 0 {
            return 0;
        }
        let segment =
            (!is_whole).then_some(PduSegment { so: portion.start as u16, last: end == unit.size });
        self.arq.sent_again(filling.data);
        let more = self.can_send_more(source);
        let poll = self.arq.poll(now, None, more);
        let fi = framing(&out.parts[first as usize..]);
        out.push_pdu(
            PduHeader::LteAm { poll, fi, sn: portion.sn, segment },
            filling.header(),
            first,
        );
        filling.header() + filling.data
    }

    /// One PDU with new bytes.
    fn pull_new(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        if self.arq.is_stalled() {
            return 0;
        }
        let first = out.parts.len();
        let mut filling = Filling::new(self.indicators, self.whole, grant, MAX_DATA);
        filling.fill(source, &mut self.left, out);
        if filling.data == 0 {
            return 0;
        }
        let parts = &out.parts[first..];
        let first_piece = self.first_piece.wrapping_add(self.pieces.len() as u32);
        self.pieces.extend(parts);
        let fi = framing(parts);
        self.arq.push(Pieces { first: first_piece, count: parts.len() as u32 }, filling.data);
        if let Some(unit) = self.arq.last_mut() {
            unit.sent = filling.data;
        }
        let sn = self.arq.last_sn();
        let more = self.can_send_more(source);
        let poll = self.arq.poll(now, Some(filling.data), more);
        out.push_pdu(
            PduHeader::LteAm { poll, fi, sn, segment: None },
            filling.header(),
            first as u32,
        );
        filling.header() + filling.data
    }

    fn can_send_more(&self, source: &mut impl SduSource) -> bool {
        !self.is_stalled() && (!self.arq.nothing_again() || source.head().is_some())
    }

    pub(super) fn queue_status(&mut self, status: &StatusPdu) {
        self.arq.control.get_or_insert_default().copy_from(status);
    }

    /// All SDUs with a byte in a PDU that is given up: none of them is complete without it.
    pub(super) fn given_up(&self, each: impl FnMut(SduHandle)) {
        let pieces = |unit| self.pieces_within(unit, 0, unit.size);
        self.arq.reached().flat_map(pieces).map(|piece| piece.sdu).for_each(each);
    }

    pub(super) fn on_status(&mut self, status: &StatusPdu, mut acked: impl FnMut(SduHandle)) {
        let (pieces, first_piece) = (&mut self.pieces, &mut self.first_piece);
        self.arq.on_status(
            status,
            |_| {},
            |gone| {
                *first_piece = first_piece.wrapping_add(gone.count);
                pieces
                    .drain(..gone.count as usize)
                    .filter(|piece| piece.last)
                    .for_each(|piece| acked(piece.sdu));
            },
        );
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.arq.poll_timeout()
    }

    pub(super) fn on_timeout(&mut self, now: Instant, more_waits: bool) {
        self.arq.on_timeout(now, more_waits);
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        self.arq.assert_sound();
    }
}
