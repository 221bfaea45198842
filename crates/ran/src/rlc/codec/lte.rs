//! TS 36.322 sections 6.2.1.3 (UMD PDU), 6.2.1.4 (AMD PDU), 6.2.1.5 (AMD PDU segment) and 6.2.1.6
//! (STATUS PDU).

use super::DecodeError;
use super::bits::{Reader, Writer};
use crate::pdu::{FramingInfo, Nack, Part, PduHeader, PduSegment, SO_END, StatusPdu};
use alloc::vec::Vec;

/// SOend meaning the last byte of an AMD PDU: 15 ones.
const TO_THE_END: u32 = 0x7fff;

fn write_fi(w: &mut Writer<'_>, fi: FramingInfo) {
    w.flag(fi.starts_inside);
    w.flag(fi.ends_inside);
}

fn read_fi(r: &mut Reader<'_>) -> Result<FramingInfo, DecodeError> {
    Ok(FramingInfo { starts_inside: r.flag()?, ends_inside: r.flag()? })
}

pub(super) fn write_um(w: &mut Writer<'_>, sn_bits: u8, fi: FramingInfo, sn: u32, extended: bool) {
    if sn_bits == 10 {
        w.put(3, 0);
    }
    write_fi(w, fi);
    w.flag(extended);
    w.put(u32::from(sn_bits), sn);
}

/// The header, and whether length indicators follow.
pub(super) fn read_um(r: &mut Reader<'_>, sn_bits: u8) -> Result<(PduHeader, bool), DecodeError> {
    if sn_bits == 10 {
        r.get(3)?;
    }
    let fi = read_fi(r)?;
    let extended = r.flag()?;
    Ok((PduHeader::LteUm { fi, sn: r.get(u32::from(sn_bits))? }, extended))
}

pub(super) fn write_am(
    w: &mut Writer<'_>,
    poll: bool,
    fi: FramingInfo,
    sn: u32,
    segment: Option<PduSegment>,
    extended: bool,
) {
    w.flag(true);
    w.flag(segment.is_some());
    w.flag(poll);
    write_fi(w, fi);
    w.flag(extended);
    w.put(10, sn);
    if let Some(PduSegment { so, last }) = segment {
        w.flag(last);
        w.put(15, u32::from(so));
    }
}

/// The header, and whether length indicators follow.
pub(super) fn read_am(r: &mut Reader<'_>) -> Result<(PduHeader, bool), DecodeError> {
    r.flag()?;
    let is_segment = r.flag()?;
    let poll = r.flag()?;
    let fi = read_fi(r)?;
    let extended = r.flag()?;
    let sn = r.get(10)?;
    let segment =
        if is_segment { Some(PduSegment { last: r.flag()?, so: r.get(15)? as u16 }) } else { None };
    Ok((PduHeader::LteAm { poll, fi, sn, segment }, extended))
}

/// E and LI of each part but the last, with padding to a whole byte.
pub(super) fn write_extension(w: &mut Writer<'_>, li_bits: u8, parts: &[Part]) {
    let count = parts.len().saturating_sub(1);
    for (i, part) in parts[..count].iter().enumerate() {
        w.flag(i + 1 < count);
        w.put(u32::from(li_bits), part.len);
    }
}

/// Reads lengths until an E bit ends the list.
pub(super) fn read_extension(
    r: &mut Reader<'_>,
    li_bits: u8,
    mut extended: bool,
    lengths: &mut Vec<u32>,
) -> Result<(), DecodeError> {
    while extended {
        extended = r.flag()?;
        match r.get(u32::from(li_bits))? {
            0 => return Err(DecodeError::Invalid { field: "LI", value: 0 }),
            len => lengths.push(len),
        }
    }
    Ok(())
}

pub(super) fn write_status(w: &mut Writer<'_>, status: &StatusPdu) {
    // D/C and CPT are 0.
    w.put(4, 0);
    w.put(10, status.ack_sn);
    w.flag(!status.nacks.is_empty());
    for (i, nack) in status.nacks.iter().enumerate() {
        w.put(10, nack.sn);
        w.flag(i + 1 < status.nacks.len());
        w.flag(nack.has_so());
        if nack.has_so() {
            w.put(15, u32::from(nack.so_start));
            w.put(15, if nack.so_end == SO_END { TO_THE_END } else { u32::from(nack.so_end) });
        }
    }
}

pub(super) fn read_status(r: &mut Reader<'_>, out: &mut StatusPdu) -> Result<(), DecodeError> {
    r.flag()?;
    match r.get(3)? {
        0 => {}
        value => return Err(DecodeError::Invalid { field: "CPT", value }),
    }
    out.ack_sn = r.get(10)?;
    let mut more = r.flag()?;
    while more {
        let sn = r.get(10)?;
        more = r.flag()?;
        let (mut so_start, mut so_end) = (0, SO_END);
        if r.flag()? {
            so_start = r.get(15)? as u16;
            let end = r.get(15)?;
            so_end = if end == TO_THE_END { SO_END } else { end as u16 };
        }
        if so_start > so_end {
            return Err(DecodeError::Invalid { field: "SOstart", value: u32::from(so_start) });
        }
        out.nacks.push(Nack { sn, range: 1, so_start, so_end });
    }
    Ok(())
}
