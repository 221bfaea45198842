//! The bytes of RLC headers and STATUS PDUs, by the figures of TS 38.322 section 6.2.2, TS 36.322
//! section 6.2.1 and TS 25.322 clause 9.2.
//!
//! Encoding of this crate's own PDUs cannot fail. Decoding accepts any bytes: values that the
//! standards call reserved or invalid are errors (TS 38.322 section 5.6.1, TS 36.322 section 5.5.1:
//! such a PDU is discarded), and reserved *bits* are ignored.

mod bits;
mod lte;
mod nr;
pub(super) mod umts;

use super::sn::SnSpace;
use crate::pdu::{Nack, Pdu, PduHeader, StatusPdu, TbContent};
use alloc::vec::Vec;
use bits::{Reader, Writer};
use core::fmt;

/// The PDU format of an entity; both ends must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Transparent: no header.
    Tm,
    /// UMD PDUs of NR.
    NrUm {
        /// 6 or 12.
        sn_bits: u8,
    },
    /// UMD PDUs of LTE; length indicators of 11 bits.
    LteUm {
        /// 5 or 10.
        sn_bits: u8,
    },
    /// AMD and STATUS PDUs of NR.
    NrAm {
        /// 12 or 18.
        sn_bits: u8,
    },
    /// AMD and STATUS PDUs of LTE; SN of 10 bits.
    LteAm {
        /// 11 or 15.
        li_bits: u8,
    },
    /// AMD and STATUS PDUs of UMTS; SN of 12 bits.
    UmtsAm {
        /// Bytes of every AMD PDU.
        pdu: u32,
    },
}

impl Format {
    /// The numbers of its SN field.
    fn sn_space(self) -> SnSpace {
        match self {
            Self::Tm => SnSpace::new(1),
            Self::NrUm { sn_bits } | Self::LteUm { sn_bits } | Self::NrAm { sn_bits } => {
                SnSpace::new(sn_bits)
            }
            Self::LteAm { .. } => SnSpace::new(10),
            Self::UmtsAm { .. } => umts::SNS,
        }
    }
}

/// The reason why bytes are not a valid PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The PDU ends inside a field, or before the first byte of data.
    Truncated {
        /// Minimum bytes needed.
        needed: usize,
        /// Bytes available.
        found: usize,
    },
    /// A field holds a reserved value, or contradicts another field.
    Invalid {
        /// Name of the field in the standard.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// Bytes follow the end of a STATUS PDU.
    Trailing {
        /// Bytes of the STATUS PDU.
        end: usize,
        /// Bytes available.
        found: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, found } => {
                write!(f, "PDU of {found} bytes, at least {needed} are needed")
            }
            Self::Invalid { field, value } => {
                write!(f, "field {field} holds {value}, which is not valid here")
            }
            Self::Trailing { end, found } => {
                write!(f, "STATUS PDU ends after {end} bytes of {found}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// The result of [`decode`]; reused, so that decoding does not allocate per PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The header; `Status(0)` for a STATUS PDU.
    pub header: PduHeader,
    /// Bytes before the data field; for a STATUS PDU, all.
    pub header_bytes: u32,
    /// Length of each data field element; NR has one.
    pub elements: Vec<u32>,
    /// The report, if the PDU is a STATUS PDU.
    pub status: StatusPdu,
}

impl Default for Decoded {
    fn default() -> Self {
        Self {
            header: PduHeader::Tm,
            header_bytes: 0,
            elements: Vec::new(),
            status: StatusPdu::default(),
        }
    }
}

/// Appends the header of `pdu`, one of `content`'s, or a whole STATUS PDU. Padding is not written.
///
/// # Panics
/// If `pdu` does not have this `format`, or is a STATUS PDU that `content` does not have.
pub fn encode(format: Format, content: &TbContent, pdu: &Pdu, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    match (format, &pdu.header) {
        (Format::Tm, PduHeader::Tm) => {}
        (Format::NrUm { sn_bits }, &PduHeader::NrUm { si, sn, so }) => {
            nr::write_um(&mut w, sn_bits, si, sn, so);
        }
        (Format::NrAm { sn_bits }, &PduHeader::NrAm { poll, si, sn, so }) => {
            nr::write_am(&mut w, sn_bits, poll, si, sn, so);
        }
        (Format::LteUm { sn_bits }, &PduHeader::LteUm { fi, sn }) => {
            let parts = content.parts_of(pdu);
            lte::write_um(&mut w, sn_bits, fi, sn, parts.len() > 1);
            lte::write_extension(&mut w, 11, parts);
        }
        (Format::LteAm { li_bits }, &PduHeader::LteAm { poll, fi, sn, segment }) => {
            let parts = content.parts_of(pdu);
            lte::write_am(&mut w, poll, fi, sn, segment, parts.len() > 1);
            lte::write_extension(&mut w, li_bits, parts);
        }
        (Format::UmtsAm { pdu: bytes }, &PduHeader::UmtsAm { poll, sn, open, one_short }) => {
            let parts = content.parts_of(pdu);
            let ends = umts::Ends { open, one_short };
            umts::write_am(&mut w, bytes, poll, sn, ends, parts);
        }
        (Format::UmtsAm { .. }, &PduHeader::UmtsMrw { sn, end }) => {
            umts::write_mrw(&mut w, sn, end);
        }
        (Format::UmtsAm { .. }, &PduHeader::Status(i)) => {
            umts::write_status(&mut w, &content.statuses()[i as usize]);
        }
        (Format::NrAm { sn_bits }, &PduHeader::Status(i)) => {
            nr::write_status(&mut w, sn_bits, &content.statuses()[i as usize]);
        }
        (Format::LteAm { .. }, &PduHeader::Status(i)) => {
            lte::write_status(&mut w, &content.statuses()[i as usize]);
        }
        (format, header) => panic!("{header:?} is no header of {format:?}"),
    }
}

/// Decodes the header of a PDU, or all of a STATUS PDU, into `out`, replacing its content.
///
/// # Errors
/// The reason why `bytes` are not a PDU of `format`; `out` is then meaningless.
pub fn decode(format: Format, bytes: &[u8], out: &mut Decoded) -> Result<(), DecodeError> {
    out.elements.clear();
    out.status.nacks.clear();
    let mut r = Reader::new(bytes);
    match format {
        Format::Tm => out.header = PduHeader::Tm,
        Format::NrUm { sn_bits } => out.header = nr::read_um(&mut r, sn_bits)?,
        Format::LteUm { sn_bits } => {
            let (header, extended) = lte::read_um(&mut r, sn_bits)?;
            out.header = header;
            lte::read_extension(&mut r, 11, extended, &mut out.elements)?;
        }
        Format::UmtsAm { pdu } => {
            if !r.is_control()? {
                return umts::read_am(&mut r, pdu, bytes.len(), out);
            }
            out.header = umts::read_status(&mut r, &mut out.status)?;
            out.header_bytes = r.consumed() as u32;
            return Ok(());
        }
        Format::NrAm { .. } | Format::LteAm { .. } if r.is_control()? => {
            out.header = PduHeader::Status(0);
            match format {
                Format::NrAm { sn_bits } => nr::read_status(&mut r, sn_bits, &mut out.status)?,
                _ => lte::read_status(&mut r, &mut out.status)?,
            }
            let end = r.consumed();
            out.header_bytes = end as u32;
            let found = bytes.len();
            return if found == end { Ok(()) } else { Err(DecodeError::Trailing { end, found }) };
        }
        Format::NrAm { sn_bits } => out.header = nr::read_am(&mut r, sn_bits)?,
        Format::LteAm { li_bits } => {
            let (header, extended) = lte::read_am(&mut r)?;
            out.header = header;
            lte::read_extension(&mut r, li_bits, extended, &mut out.elements)?;
        }
    }
    let end = r.consumed();
    out.header_bytes = end as u32;
    let ahead: usize = out.elements.iter().map(|&len| len as usize).sum();
    if bytes.len() <= end + ahead {
        return Err(DecodeError::Truncated { needed: end + ahead + 1, found: bytes.len() });
    }
    out.elements.push((bytes.len() - end - ahead) as u32);
    Ok(())
}

/// Bits of a report without NACKs, and of `nack`, in `format`.
fn status_bits(format: Format) -> (u32, fn(Format, &Nack) -> u32) {
    match format {
        Format::LteAm { .. } => (15, |_, nack| 12 + if nack.has_so() { 30 } else { 0 }),
        _ => (24, |format, nack| {
            let sn = if matches!(format, Format::NrAm { sn_bits: 18 }) { 24 } else { 16 };
            sn + if nack.has_so() { 32 } else { 0 } + if nack.range > 1 { 8 } else { 0 }
        }),
    }
}

/// Bytes of a STATUS PDU in `format`, a format of acknowledged mode; in UMTS without its padding.
#[must_use]
pub fn status_bytes(format: Format, status: &StatusPdu) -> u32 {
    if matches!(format, Format::UmtsAm { .. }) {
        return umts::status_bytes(&status.nacks);
    }
    let (fixed, of_nack) = status_bits(format);
    (fixed + status.nacks.iter().map(|nack| of_nack(format, nack)).sum::<u32>()).div_ceil(8)
}

/// Removes NACKs from the end of `status` until it fits `grant` bytes, and moves its ACK_SN back to
/// the first missing SN that is no longer reported (TS 38.322 section 5.3.4, TS 36.322 section
/// 5.2.3). Returns its bytes; 0 if nothing fits.
///
/// If an SN has many gaps, the first are reported. The others are not acknowledged by this, since
/// the SN is reported as missing.
pub fn fit_status(format: Format, status: &mut StatusPdu, grant: u32) -> u32 {
    if matches!(format, Format::UmtsAm { .. }) {
        return umts::fit_status(status, grant);
    }
    let (fixed, of_nack) = status_bits(format);
    if fixed.div_ceil(8) > grant {
        return 0;
    }
    let mut bits = fixed;
    let fits = |nack: &&Nack| {
        bits += of_nack(format, nack);
        bits.div_ceil(8) <= grant
    };
    let kept = status.nacks.iter().take_while(fits).count();
    if kept < status.nacks.len() {
        let space = format.sn_space();
        let (named, gone) = status.nacks.split_at(kept);
        let last_of = |nack: &Nack| space.add(nack.sn, u32::from(nack.range).saturating_sub(1));
        let named_to = named.last().map(last_of);
        let is_unnamed = |nack: &&Nack| named_to.is_none_or(|sn| last_of(nack) != sn);
        if let Some(first) = gone.iter().find(is_unnamed) {
            let starts_named = named_to == Some(first.sn);
            status.ack_sn = space.add(first.sn, u32::from(starts_named));
        }
        status.nacks.truncate(kept);
    }
    status_bytes(format, status)
}

#[cfg(test)]
mod tests;
