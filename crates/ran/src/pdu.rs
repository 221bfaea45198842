//! What the RLC hands to the MAC and gets back: descriptors of SDUs, of their parts in a PDU, and
//! of PDUs.
//!
//! No payload passes here. A [`Part`] says which bytes of which SDU are in a data field; a driver
//! that owns the bytes can copy them, a simulator need not. [`crate::rlc::codec`] converts headers
//! to the bytes of the standards and back.

use alloc::vec::Vec;
use core::ops::Range;

/// Identifies an SDU. The source chooses it, and nothing here interprets it. A source must not give
/// the same handle to two SDUs in transit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SduHandle(pub u64);

/// An SDU waiting to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SduRef {
    /// Its handle.
    pub handle: SduHandle,
    /// Bytes with the headers of SDAP and PDCP; at least 1. May be cut anywhere up to 64 KiB;
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
    /// The SDU that the bytes belong to.
    pub sdu: SduHandle,
    /// Offset of the first in the SDU.
    pub offset: u32,
    /// How many; at least 1, but see [`PduHeader::UmtsAm`].
    pub len: u32,
    /// True when the last byte of the SDU is among them.
    pub last: bool,
}

/// SI, which part of an SDU a PDU of NR holds (TS 38.322 section 6.2.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentInfo {
    /// All of it.
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

    /// The data field has the first byte of the SDU.
    #[must_use]
    pub const fn has_first(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// The data field has the last byte of the SDU.
    #[must_use]
    pub const fn has_last(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// FI: whether a data field of LTE begins and ends at SDU boundaries (TS 36.322 section 6.2.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramingInfo {
    /// The first byte is not the first of an SDU.
    pub starts_inside: bool,
    /// The last byte is not the last of an SDU.
    pub ends_inside: bool,
}

/// What turns an AMD PDU of LTE into an AMD PDU segment (TS 36.322 section 6.2.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduSegment {
    /// SO: offset of its data field in that of the AMD PDU; up to 32 767.
    pub so: u16,
    /// LSF: its last byte is the last of the AMD PDU.
    pub last: bool,
}

/// The header of a PDU, without the length indicators of LTE: those are the lengths of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduHeader {
    /// TMD PDU: none.
    Tm,
    /// UMD PDU of NR. Only segments carry an SN, and all but the first an SO.
    NrUm {
        /// Which part of the SDU.
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
        /// P: asks for a status report.
        poll: bool,
        /// Which part of the SDU.
        si: SegmentInfo,
        /// Number of the SDU.
        sn: u32,
        /// Offset in the SDU; 0 when whole or first.
        so: u16,
    },
    /// AMD PDU, or segment of one, of LTE.
    LteAm {
        /// P: asks for a status report.
        poll: bool,
        /// Whether its ends are SDU boundaries.
        fi: FramingInfo,
        /// Number of the PDU.
        sn: u32,
        /// None for a whole AMD PDU (RF is 0).
        segment: Option<PduSegment>,
    },
    /// AMD PDU of UMTS, of the one size. A first part of no bytes says that its SDU ended with the
    /// PDU before (TS 25.322 clause 9.2.2.8).
    UmtsAm {
        /// P: asks for a status report.
        poll: bool,
        /// Number of the PDU.
        sn: u32,
        /// No length indicator ends the last part: its SDU goes on, or the next PDU says that it
        /// ended here.
        open: bool,
        /// The PDU before, whose last SDU the first part ends, has one byte of padding.
        one_short: bool,
    },
    /// STATUS PDU of UMTS that orders the receiver to move its window (MRW super-field).
    UmtsMrw {
        /// SN_MRW: everything before it is discarded.
        sn: u32,
        /// N: which length indicator of PDU `sn` ends the last discarded SDU; 0 for none.
        end: u8,
    },
    /// STATUS PDU: index among those of the [`TbContent`].
    Status(u32),
}

/// A PDU of a transport block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Its header.
    pub header: PduHeader,
    /// Bytes of the header, of UMTS also the padding; for a STATUS PDU, all of it.
    pub header_bytes: u32,
    /// Its data field: a range of the [`TbContent`]'s parts.
    pub parts: Range<u32>,
}

/// [`Nack::so_end`]: up to the last byte.
pub const SO_END: u16 = u16::MAX;

/// Bytes that a status report says are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN: SN of the SDU (NR) or of the PDU (LTE).
    pub sn: u32,
    /// NACK range: number of consecutive SNs from `sn`, 1 to 255; 1 in LTE. UMTS has lists and
    /// bitmaps in its place.
    pub range: u8,
    /// SOstart: first missing byte of `sn`; 0 when all of it is missing.
    pub so_start: u16,
    /// SOend: last missing byte of the last SN of the range; [`SO_END`] for its end. In LTE
    /// otherwise up to 32 766.
    pub so_end: u16,
}

impl Nack {
    /// All of `sn` is missing.
    #[must_use]
    pub const fn whole(sn: u32) -> Self {
        Self { sn, range: 1, so_start: 0, so_end: SO_END }
    }

    /// It needs SOstart and SOend.
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
    /// What is missing, in ascending order.
    pub nacks: Vec<Nack>,
}

impl StatusPdu {
    /// Copies `other` into the memory it has.
    pub fn copy_from(&mut self, other: &Self) {
        self.ack_sn = other.ack_sn;
        self.nacks.clear();
        self.nacks.extend_from_slice(&other.nacks);
    }
}

/// What one bearer has in a transport block. Meant to be reused: once its vectors have grown,
/// nothing allocates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TbContent {
    /// The PDUs in their order.
    pub pdus: Vec<Pdu>,
    /// The data fields of all of them.
    pub parts: Vec<Part>,
    /// Status reports; those beyond `status_count` are spares.
    statuses: Vec<StatusPdu>,
    status_count: u32,
}

impl TbContent {
    /// Empties it but keeps its memory.
    pub fn clear(&mut self) {
        self.pdus.clear();
        self.parts.clear();
        self.status_count = 0;
    }

    /// True when it holds no PDU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pdus.is_empty()
    }

    /// The data field of `pdu`; empty when the range is not one of this content's.
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

    /// Bytes of all PDUs, headers included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let headers: u64 = self.pdus.iter().map(|p| u64::from(p.header_bytes)).sum();
        headers + self.parts.iter().map(|p| u64::from(p.len)).sum::<u64>()
    }
}
