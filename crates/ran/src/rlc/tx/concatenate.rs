//! Concatenation in LTE: SDUs follow each other in the data field of one PDU, whose ends may lie
//! inside SDUs; extension bits and length indicators mark the boundaries (TS 36.322 sections
//! 5.1.2.1 and 6.2.2.4 to 6.2.2.6).

use super::HeaderBytes;
use crate::pdu::{FramingInfo, Part, PduHeader, SduSource, TbContent};
use crate::rlc::sn::SnSpace;

/// Length indicators of some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Indicators {
    bits: u8,
}

impl Indicators {
    pub(super) const fn new(bits: u8) -> Self {
        Self { bits }
    }

    /// Bits of an indicator with its extension bit.
    pub(super) const fn bits_each(self) -> u32 {
        self.bits as u32 + 1
    }

    /// Header bytes of `count` indicators, including padding.
    pub(super) const fn bytes(self, count: u32) -> u32 {
        (count * self.bits_each()).div_ceil(8)
    }

    /// The greatest length that an indicator can hold: a longer piece is the last of its PDU.
    pub(super) const fn max_len(self) -> u32 {
        (1 << self.bits) - 1
    }
}

/// A PDU under construction; grows piece by piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    indicators: Indicators,
    fixed: u32,
    grant: u32,
    max_data: u32,
    count: u32,
    /// Bytes of data.
    pub(super) data: u32,
    closed: bool,
}

impl Filling {
    /// An empty PDU of up to `grant` bytes, with `fixed` header bytes before the indicators and up
    /// to `max_data` bytes of data.
    pub(super) const fn new(indicators: Indicators, fixed: u32, grant: u32, max_data: u32) -> Self {
        Self { indicators, fixed, grant, max_data, count: 0, data: 0, closed: false }
    }

    /// Bytes of header.
    pub(super) const fn header(&self) -> u32 {
        self.fixed + self.indicators.bytes(self.count.saturating_sub(1))
    }

    /// Maximum number of bytes of the next piece.
    pub(super) const fn room(&self) -> u32 {
        if self.closed {
            return 0;
        }
        let header = self.fixed + self.indicators.bytes(self.count);
        let by_grant = self.grant.saturating_sub(header).saturating_sub(self.data);
        let by_field = self.max_data - self.data;
        if by_grant < by_field { by_grant } else { by_field }
    }

    /// Adds a piece of `len` bytes.
    pub(super) const fn add(&mut self, len: u32) {
        self.count += 1;
        self.data += len;
        self.closed = len > self.indicators.max_len();
    }

    /// Fills it from `source`, whose head has `left` unsent bytes (0: not started), and appends the
    /// parts to `parts`.
    pub(super) fn fill(
        &mut self,
        source: &mut impl SduSource,
        left: &mut u32,
        out: &mut TbContent,
    ) {
        while let Some(head) = source.head() {
            debug_assert!(head.size > 0 && *left < head.size);
            let rest = if *left == 0 { head.size } else { *left };
            let len = rest.min(self.room());
            if len == 0 {
                return;
            }
            let last = len == rest;
            out.parts.push(Part { sdu: head.handle, offset: head.size - rest, len, last });
            self.add(len);
            *left = rest - len;
            if !last {
                return;
            }
            source.take();
        }
    }
}

/// The FI of a data field.
pub(super) fn framing(parts: &[Part]) -> FramingInfo {
    FramingInfo {
        starts_inside: parts.first().is_some_and(|part| part.offset > 0),
        ends_inside: parts.last().is_some_and(|part| !part.last),
    }
}

/// Transmitting side of a UM entity of LTE.
#[derive(Clone, Debug)]
pub(super) struct LteUm {
    /// VT(US): SN of the next PDU.
    next: u32,
    sn: SnSpace,
    /// Unsent bytes of the source's head; 0 if it has not been started.
    pub(super) left: u32,
    /// Bytes of the header before the indicators: 1 or 2.
    fixed: u8,
}

/// Length indicators of UM have 11 bits.
const UM_INDICATORS: Indicators = Indicators::new(11);

impl LteUm {
    pub(super) fn new(sn_bits: u8, below: u8) -> Self {
        let fixed = below + if sn_bits == 5 { 1 } else { 2 };
        Self { next: 0, sn: SnSpace::new(sn_bits), left: 0, fixed }
    }

    pub(super) fn headers(&self) -> HeaderBytes {
        let fixed = u32::from(self.fixed);
        let further_bits = Some(UM_INDICATORS.bits_each());
        HeaderBytes { whole: fixed, first: fixed, later: fixed, further_bits }
    }

    pub(super) fn rest_of_head(&self) -> u32 {
        if self.left == 0 { 0 } else { self.left + u32::from(self.fixed) }
    }

    /// TS 36.322 v17 clause 5.1.2.1.1.
    #[inline]
    pub(super) fn pull(
        &mut self,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let mut used = 0;
        loop {
            let first = out.parts.len() as u32;
            let mut filling =
                Filling::new(UM_INDICATORS, u32::from(self.fixed), grant - used, u32::MAX);
            filling.fill(source, &mut self.left, out);
            if filling.data == 0 {
                return used;
            }
            let fi = framing(&out.parts[first as usize..]);
            out.push_pdu(PduHeader::LteUm { fi, sn: self.next }, filling.header(), first);
            self.next = self.sn.add(self.next, 1);
            used += filling.header() + filling.data;
        }
    }
}
