//! TS 38.322 sections 6.2.2.3 (UMD PDU), 6.2.2.4 (AMD PDU) and 6.2.2.5 (STATUS PDU).

use super::DecodeError;
use super::bits::{Reader, Writer};
use crate::pdu::{Nack, PduHeader, SO_END, SegmentInfo, StatusPdu};

fn write_si(w: &mut Writer<'_>, si: SegmentInfo) {
    let code = match si {
        SegmentInfo::Whole => 0b00,
        SegmentInfo::First => 0b01,
        SegmentInfo::Last => 0b10,
        SegmentInfo::Middle => 0b11,
    };
    w.put(2, code);
}

fn read_si(r: &mut Reader<'_>) -> Result<SegmentInfo, DecodeError> {
    Ok(match r.get(2)? {
        0b00 => SegmentInfo::Whole,
        0b01 => SegmentInfo::First,
        0b10 => SegmentInfo::Last,
        _ => SegmentInfo::Middle,
    })
}

fn write_so(w: &mut Writer<'_>, si: SegmentInfo, so: u16) {
    if !si.has_first() {
        w.put(16, u32::from(so));
    }
}

/// SO is present unless the data field has the first byte of the SDU; it is then not 0.
fn read_so(r: &mut Reader<'_>, si: SegmentInfo) -> Result<u16, DecodeError> {
    if si.has_first() {
        return Ok(0);
    }
    match r.get(16)? {
        0 => Err(DecodeError::Invalid { field: "SO", value: 0 }),
        so => Ok(so as u16),
    }
}

pub(super) fn write_um(w: &mut Writer<'_>, sn_bits: u8, si: SegmentInfo, sn: u32, so: u16) {
    write_si(w, si);
    if si == SegmentInfo::Whole {
        w.put(6, 0);
        return;
    }
    if sn_bits == 12 {
        w.put(2, 0);
    }
    w.put(u32::from(sn_bits), sn);
    write_so(w, si, so);
}

pub(super) fn read_um(r: &mut Reader<'_>, sn_bits: u8) -> Result<PduHeader, DecodeError> {
    let si = read_si(r)?;
    if si == SegmentInfo::Whole {
        r.get(6)?;
        return Ok(PduHeader::NrUm { si, sn: 0, so: 0 });
    }
    if sn_bits == 12 {
        r.get(2)?;
    }
    let sn = r.get(u32::from(sn_bits))?;
    Ok(PduHeader::NrUm { si, sn, so: read_so(r, si)? })
}

/// Reserved bits before the SN of an AMD PDU, after E1 of a STATUS PDU, and after E3.
fn reserved_bits(sn_bits: u8) -> (u32, u32, u32) {
    if sn_bits == 18 { (2, 1, 3) } else { (0, 7, 1) }
}

pub(super) fn write_am(
    w: &mut Writer<'_>,
    sn_bits: u8,
    poll: bool,
    si: SegmentInfo,
    sn: u32,
    so: u16,
) {
    w.flag(true);
    w.flag(poll);
    write_si(w, si);
    w.put(reserved_bits(sn_bits).0, 0);
    w.put(u32::from(sn_bits), sn);
    write_so(w, si, so);
}

pub(super) fn read_am(r: &mut Reader<'_>, sn_bits: u8) -> Result<PduHeader, DecodeError> {
    r.flag()?;
    let poll = r.flag()?;
    let si = read_si(r)?;
    r.get(reserved_bits(sn_bits).0)?;
    let sn = r.get(u32::from(sn_bits))?;
    Ok(PduHeader::NrAm { poll, si, sn, so: read_so(r, si)? })
}

pub(super) fn write_status(w: &mut Writer<'_>, sn_bits: u8, status: &StatusPdu) {
    let (_, after_e1, after_e3) = reserved_bits(sn_bits);
    // D/C and CPT are 0.
    w.put(4, 0);
    w.put(u32::from(sn_bits), status.ack_sn);
    w.flag(!status.nacks.is_empty());
    w.put(after_e1, 0);
    for (i, nack) in status.nacks.iter().enumerate() {
        w.put(u32::from(sn_bits), nack.sn);
        w.flag(i + 1 < status.nacks.len());
        w.flag(nack.has_so());
        w.flag(nack.range > 1);
        w.put(after_e3, 0);
        if nack.has_so() {
            w.put(16, u32::from(nack.so_start));
            w.put(16, u32::from(nack.so_end));
        }
        if nack.range > 1 {
            w.put(8, u32::from(nack.range));
        }
    }
}

pub(super) fn read_status(
    r: &mut Reader<'_>,
    sn_bits: u8,
    out: &mut StatusPdu,
) -> Result<(), DecodeError> {
    let (_, after_e1, after_e3) = reserved_bits(sn_bits);
    r.flag()?;
    match r.get(3)? {
        0 => {}
        value => return Err(DecodeError::Invalid { field: "CPT", value }),
    }
    out.ack_sn = r.get(u32::from(sn_bits))?;
    let mut more = r.flag()?;
    r.get(after_e1)?;
    while more {
        let sn = r.get(u32::from(sn_bits))?;
        more = r.flag()?;
        let (has_so, has_range) = (r.flag()?, r.flag()?);
        r.get(after_e3)?;
        let (so_start, so_end) =
            if has_so { (r.get(16)? as u16, r.get(16)? as u16) } else { (0, SO_END) };
        let range = if has_range { r.get(8)? as u8 } else { 1 };
        if range == 0 {
            return Err(DecodeError::Invalid { field: "NACK range", value: 0 });
        }
        if range == 1 && so_start > so_end {
            return Err(DecodeError::Invalid { field: "SOstart", value: u32::from(so_start) });
        }
        out.nacks.push(Nack { sn, range, so_start, so_end });
    }
    Ok(())
}
