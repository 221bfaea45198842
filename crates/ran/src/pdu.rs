//! Descriptors that pass between RLC and MAC: of SDUs, of their parts in a PDU, and of PDUs.
//!
//! No payload passes here. A [`Part`] gives the bytes of an SDU in a data field; a driver that owns
//! the bytes can copy them, a simulator need not. [`crate::rlc::codec`] converts headers to the
//! bytes of the standards and back.

use alloc::vec::Vec;
use core::ops::Range;

/// Identifies an SDU. The source chooses it, and this crate does not interpret it. A source must
/// not give the same handle to two SDUs in transit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SduHandle(pub u64);

/// An SDU waiting to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SduRef {
    /// Its handle.
    pub handle: SduHandle,
    /// Bytes with the headers of SDAP and PDCP; at least 1. May be segmented anywhere up to 64 KiB;
    /// beyond byte 65 535, which no segment offset reaches, the rest stays in one piece.
    pub size: u32,
}

/// The queue that a transmitting entity pulls from.
pub trait SduSource {
    /// The next SDU: the same at each call until it is taken.
    fn head(&mut self) -> Option<SduRef>;

    /// The last byte of the head has gone into a PDU.
    fn take(&mut self);
}

/// Bytes of one SDU in the data field of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The SDU of the bytes.
    pub sdu: SduHandle,
    /// Offset of the first byte in the SDU.
    pub offset: u32,
    /// Number of bytes; at least 1, except in [`PduHeader::UmtsAm`].
    pub len: u32,
    /// True if they include the last byte of the SDU.
    pub last: bool,
}

/// SI, the part of an SDU in a PDU of NR (TS 38.322 section 6.2.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentInfo {
    /// The whole SDU.
    #[default]
    Whole,
    /// The first segment.
    First,
    /// The last segment.
    Last,
    /// Neither the first nor the last segment.
    Middle,
}

impl SegmentInfo {
    /// The SI of a data field with or without the first byte of its SDU, and the last.
    #[must_use]
    pub const fn new(first: bool, last: bool) -> Self {
        match (first, last) {
            (true, true) => Self::Whole,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    /// True if the data field has the first byte of the SDU.
    #[must_use]
    pub const fn has_first(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// True if the data field has the last byte of the SDU.
    #[must_use]
    pub const fn has_last(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// FI: whether a data field of LTE begins and ends at SDU boundaries (TS 36.322 section 6.2.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramingInfo {
    /// True if the first byte is not the first of an SDU.
    pub starts_inside: bool,
    /// True if the last byte is not the last of an SDU.
    pub ends_inside: bool,
}

/// The additional fields of an AMD PDU segment of LTE (TS 36.322 section 6.2.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduSegment {
    /// SO: offset of its data field in the AMD PDU's data field; up to 32 767.
    pub so: u16,
    /// LSF: its last byte is the last of the AMD PDU.
    pub last: bool,
}

/// The header of a PDU, without LTE's length indicators: these are the lengths of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduHeader {
    /// TMD PDU: none.
    Tm,
    /// UMD PDU of NR. Only segments carry an SN, and all except the first an SO.
    NrUm {
        /// The part of the SDU.
        si: SegmentInfo,
        /// Number of the segmented SDU; 0 when whole.
        sn: u32,
        /// Offset in the SDU; 0 when whole or first.
        so: u16,
    },
    /// UMD PDU of LTE.
    LteUm {
        /// Whether its ends are SDU boundaries.
        fi: FramingInfo,
        /// Number of the PDU.
        sn: u32,
    },
    /// AMD PDU of NR.
    NrAm {
        /// P: requests a status report.
        poll: bool,
        /// The part of the SDU.
        si: SegmentInfo,
        /// Number of the SDU.
        sn: u32,
        /// Offset in the SDU; 0 when whole or first.
        so: u16,
    },
    /// AMD PDU, or segment of one, of LTE.
    LteAm {
        /// P: requests a status report.
        poll: bool,
        /// Whether its ends are SDU boundaries.
        fi: FramingInfo,
        /// Number of the PDU.
        sn: u32,
        /// None for a whole AMD PDU (RF is 0).
        segment: Option<PduSegment>,
    },
    /// AMD PDU of UMTS, of the fixed size. A first part of no bytes means that its SDU ended with
    /// the previous PDU (TS 25.322 clause 9.2.2.8).
    UmtsAm {
        /// P: requests a status report.
        poll: bool,
        /// Number of the PDU.
        sn: u32,
        /// No length indicator ends the last part: its SDU continues, or the next PDU states its
        /// end here.
        open: bool,
        /// The previous PDU, whose last SDU the first part ends, has one byte of padding.
        one_short: bool,
    },
    /// STATUS PDU of UMTS that orders the receiver to move its window (MRW super-field).
    UmtsMrw {
        /// SN_MRW: everything before it is discarded.
        sn: u32,
        /// N: the length indicator of PDU `sn` that ends the last discarded SDU; 0 for none.
        end: u8,
    },
    /// STATUS PDU: its index among the reports of the [`TbContent`].
    Status(u32),
}

/// A PDU of a transport block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Its header.
    pub header: PduHeader,
    /// Bytes of the header, in UMTS including the padding; for a STATUS PDU, all of it.
    pub header_bytes: u32,
    /// Its data field: a range of the [`TbContent`]'s parts.
    pub parts: Range<u32>,
}

/// [`Nack::so_end`]: up to the last byte.
pub const SO_END: u16 = u16::MAX;

/// Bytes that a status report declares missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN: SN of the SDU (NR) or of the PDU (LTE).
    pub sn: u32,
    /// NACK range: number of consecutive SNs from `sn`, 1 to 255; 1 in LTE. UMTS has lists and
    /// bitmaps instead.
    pub range: u8,
    /// SOstart: first missing byte of `sn`; 0 if all of it is missing.
    pub so_start: u16,
    /// SOend: last missing byte of the last SN of the range; [`SO_END`] for its end. In LTE
    /// otherwise up to 32 766.
    pub so_end: u16,
}

impl Nack {
    /// A report that all of `sn` is missing.
    #[must_use]
    pub const fn whole(sn: u32) -> Self {
        Self { sn, range: 1, so_start: 0, so_end: SO_END }
    }

    /// True if it needs SOstart and SOend.
    #[must_use]
    pub const fn has_so(&self) -> bool {
        self.so_start != 0 || self.so_end != SO_END
    }
}

/// A status report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPdu {
    /// ACK_SN: everything before it has been received except `nacks`.
    pub ack_sn: u32,
    /// Missing SNs and bytes, in ascending order.
    pub nacks: Vec<Nack>,
}

impl StatusPdu {
    /// Copies `other` into existing memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.ack_sn = other.ack_sn;
        self.nacks.clear();
        self.nacks.extend_from_slice(&other.nacks);
    }
}

/// The content of a transport block for one bearer. Reuse it: once its vectors have grown, nothing
/// allocates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TbContent {
    /// The PDUs in their order.
    pub pdus: Vec<Pdu>,
    /// The data fields of all PDUs.
    pub parts: Vec<Part>,
    /// Status reports; those beyond `status_count` are spares.
    statuses: Vec<StatusPdu>,
    status_count: u32,
}

impl TbContent {
    /// Removes the content but keeps the memory.
    pub fn clear(&mut self) {
        self.pdus.clear();
        self.parts.clear();
        self.status_count = 0;
    }

    /// True if it holds no PDU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pdus.is_empty()
    }

    /// The data field of `pdu`; empty if the range is not in this content.
    #[must_use]
    #[inline]
    pub fn parts_of(&self, pdu: &Pdu) -> &[Part] {
        self.parts.get(pdu.parts.start as usize..pdu.parts.end as usize).unwrap_or(&[])
    }

    /// The status reports, in the order of their PDUs.
    #[must_use]
    pub fn statuses(&self) -> &[StatusPdu] {
        &self.statuses[..self.status_count as usize]
    }

    /// Appends a STATUS PDU of `bytes` and returns the report to fill in.
    pub fn push_status(&mut self, bytes: u32) -> &mut StatusPdu {
        let index = self.status_count;
        if index as usize == self.statuses.len() {
            self.statuses.push(StatusPdu::default());
        }
        self.status_count += 1;
        let end = self.parts.len() as u32;
        self.pdus.push(Pdu {
            header: PduHeader::Status(index),
            header_bytes: bytes,
            parts: end..end,
        });
        &mut self.statuses[index as usize]
    }

    /// Appends a PDU with all parts from `first` on.
    #[inline]
    pub fn push_pdu(&mut self, header: PduHeader, header_bytes: u32, first: u32) {
        let end = self.parts.len() as u32;
        self.pdus.push(Pdu { header, header_bytes, parts: first..end });
    }

    /// Appends a PDU with one part.
    #[inline]
    pub(crate) fn push_single(&mut self, header: PduHeader, header_bytes: u32, part: Part) {
        let first = self.parts.len() as u32;
        self.parts.push(part);
        self.push_pdu(header, header_bytes, first);
    }

    /// Bytes of all PDUs, including headers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let headers: u64 = self.pdus.iter().map(|p| u64::from(p.header_bytes)).sum();
        headers + self.parts.iter().map(|p| u64::from(p.len)).sum::<u64>()
    }
}
