//! TS 25.322 clauses 9.2.1.4 (AMD PDU), 9.2.1.5 (STATUS PDU), 9.2.2.8 (length indicators) and
//! 9.2.2.11 (super-fields).
//!
//! Super-fields: ACK, LIST, BITMAP, MRW and NO_MORE. The others (WINDOW, RLIST, MRW_ACK, POLL),
//! piggybacked reports and the special value of HE are refused: this crate sends none of them.

use super::bits::{Reader, Writer};
use super::{DecodeError, Decoded};
use crate::pdu::{Nack, Part, PduHeader, StatusPdu};
use crate::rlc::sn::SnSpace;
use alloc::vec::Vec;

/// The numbers of PDUs: 12 bits.
pub(crate) const SNS: SnSpace = SnSpace::new(12);

/// Bytes of a length indicator with its extension bit, by the size of the PDUs: it has 7 bits up to
/// 126 bytes, 15 bits above. Clause 9.2.2.8.
pub(crate) const fn indicator_bytes(pdu: u32) -> u32 {
    if pdu <= 126 { 1 } else { 2 }
}

/// Bytes of an AMD PDU before the length indicators. Clause 9.2.1.4.
pub(crate) const HEADER: u32 = 2;

const NO_MORE: u32 = 0;
const ACK: u32 = 2;
const LIST: u32 = 3;
const BITMAP: u32 = 4;
const MRW: u32 = 6;

/// Maximum number of pairs of a LIST, and of SNs of one pair.
const MAX_PAIRS: u32 = 15;
const MAX_PAIR: u32 = 16;
/// SNs of the longest BITMAP.
const MAX_BITMAP: u32 = 128;

/// The first and last bytes of a PDU.
pub(super) struct Ends {
    /// Its last part is not the end of an SDU.
    pub(super) open: bool,
    /// An SDU ended one byte before the end of the previous PDU.
    pub(super) one_short: bool,
}

/// Writes D/C, SN, P, HE and the length indicators of a PDU with `parts`.
pub(super) fn write_am(
    w: &mut Writer<'_>,
    pdu: u32,
    poll: bool,
    sn: u32,
    ends: Ends,
    parts: &[Part],
) {
    let bytes = indicator_bytes(pdu);
    let bits = bytes * 8 - 1;
    let Ends { open, one_short } = ends;
    let ended = parts.len() as u32 - u32::from(open);
    let data: u32 = parts.iter().map(|part| part.len).sum();
    let is_padded = !open && HEADER + bytes * (ended + 1) + data <= pdu;
    let count = ended + u32::from(is_padded);
    w.flag(true);
    w.put(12, sn);
    w.flag(poll);
    w.put(2, u32::from(count > 0));
    let mut end = 0;
    let mut i = 0;
    let mut put = |value: u32| {
        i += 1;
        w.put(bits, value);
        w.flag(i < count);
    };
    for part in &parts[..ended as usize] {
        end += part.len;
        match part.len {
            0 if one_short => put(one_short_of(bits)),
            _ => put(end),
        }
    }
    if is_padded {
        put(padding_of(bits));
    }
}

/// The rest of the PDU is padding.
const fn padding_of(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// An SDU ended one byte before the end of the previous PDU; only for 15 bits.
const fn one_short_of(bits: u32) -> u32 {
    (1 << bits) - 5
}

/// Reads an AMD PDU.
pub(super) fn read_am(
    r: &mut Reader<'_>,
    pdu: u32,
    found: usize,
    out: &mut Decoded,
) -> Result<(), DecodeError> {
    if found != pdu as usize {
        return if found < pdu as usize {
            Err(DecodeError::Truncated { needed: pdu as usize, found })
        } else {
            Err(DecodeError::Trailing { end: pdu as usize, found })
        };
    }
    let bits = indicator_bytes(pdu) * 8 - 1;
    r.flag()?;
    let sn = r.get(12)?;
    let poll = r.flag()?;
    let mut more = match r.get(2)? {
        value @ 0..=1 => value == 1,
        value => return Err(DecodeError::Invalid { field: "HE", value }),
    };
    let (mut end, mut is_padded, mut one_short) = (0, false, false);
    while more {
        let value = r.get(bits)?;
        more = r.flag()?;
        let is_first = out.elements.is_empty();
        if value == padding_of(bits) && !more {
            is_padded = true;
        } else if is_first && (value == 0 || (bits == 15 && value == one_short_of(bits))) {
            one_short = value != 0;
            out.elements.push(0);
        } else if value > end && value <= padding_of(bits) - 4 {
            out.elements.push(value - end);
            end = value;
        } else {
            return Err(DecodeError::Invalid { field: "LI", value });
        }
    }
    let header = r.consumed() as u32;
    let needed = (header + end) as usize;
    let rest = (found as u32).checked_sub(header + end);
    let rest = rest.ok_or(DecodeError::Truncated { needed, found })?;
    // A byte behind the last indicator of 15 bits is padding, because no indicator fits in it.
    let is_spare = bits == 15 && rest == 1 && end > 0;
    let open = !is_padded && rest > 0 && !is_spare;
    if open {
        out.elements.push(rest);
    } else if out.elements.is_empty() {
        return Err(DecodeError::Truncated { needed: needed + 1, found: needed });
    }
    out.header = PduHeader::UmtsAm { poll, sn, open, one_short };
    out.header_bytes = if open { header } else { header + rest };
    Ok(())
}

/// The form in which a report names missing SNs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    List,
    Bitmap,
}

/// The shorter form for `nacks`, and its bits.
fn missing_bits(nacks: &[Nack]) -> (Missing, u32) {
    let (Some(first), Some(last)) = (nacks.first(), nacks.last()) else {
        return (Missing::List, 0);
    };
    let pairs: u32 = nacks.iter().map(|nack| u32::from(nack.range).div_ceil(MAX_PAIR)).sum();
    let list = pairs.div_ceil(MAX_PAIRS) * 8 + pairs * 16;
    let span = SNS.distance(first.sn, last.sn) + u32::from(last.range);
    let bitmap = span.div_ceil(MAX_BITMAP) * 20 + span.div_ceil(8) * 8;
    if bitmap < list { (Missing::Bitmap, bitmap) } else { (Missing::List, list) }
}

/// Bytes of a STATUS PDU without padding: D/C and type, missing SNs, and ACK. Clause 9.2.1.5.
pub(super) fn status_bytes(nacks: &[Nack]) -> u32 {
    (4 + missing_bits(nacks).1 + 16).div_ceil(8)
}

/// Removes NACKs from the end of `status` until it fits `grant`. If any is removed, LSN becomes the
/// first missing SN, so that nothing beyond is acknowledged. Returns its bytes; 0 if nothing fits.
/// Clause 9.2.2.11.2.
pub(super) fn fit_status(status: &mut StatusPdu, grant: u32) -> u32 {
    if status_bytes(&[]) > grant {
        return 0;
    }
    let Some(first) = status.nacks.first().copied() else { return status_bytes(&[]) };
    // There is an arrived SN between two NACKs, so a bitmap has at least two bits for each.
    let is_cut = status.nacks.len() > grant as usize * 4;
    status.nacks.truncate(grant as usize * 4);
    let mut bytes = status_bytes(&status.nacks);
    if is_cut || bytes > grant {
        status.ack_sn = first.sn;
    }
    while bytes > grant {
        match status.nacks.last_mut() {
            Some(last) if u32::from(last.range) > MAX_PAIR => last.range -= MAX_PAIR as u8,
            _ => drop(status.nacks.pop()),
        }
        bytes = status_bytes(&status.nacks);
    }
    bytes
}

pub(super) fn write_status(w: &mut Writer<'_>, status: &StatusPdu) {
    // D/C is 0, the PDU type 000.
    w.put(4, 0);
    match missing_bits(&status.nacks).0 {
        Missing::List => write_lists(w, &status.nacks),
        Missing::Bitmap => write_bitmaps(w, &status.nacks),
    }
    w.put(4, ACK);
    w.put(12, status.ack_sn);
}

/// Clause 9.2.2.11.4.
fn write_lists(w: &mut Writer<'_>, nacks: &[Nack]) {
    let pairs = |nack: &Nack| {
        let (sn, range) = (nack.sn, u32::from(nack.range));
        (0..range.div_ceil(MAX_PAIR)).map(move |i| {
            let skipped = i * MAX_PAIR;
            (SNS.add(sn, skipped), (range - skipped).min(MAX_PAIR))
        })
    };
    let mut left: u32 = nacks.iter().map(|nack| pairs(nack).len() as u32).sum();
    let mut in_list = 0;
    for (sn, count) in nacks.iter().flat_map(pairs) {
        if in_list == 0 {
            in_list = left.min(MAX_PAIRS);
            left -= in_list;
            w.put(4, LIST);
            w.put(4, in_list);
        }
        w.put(12, sn);
        w.put(4, count - 1);
        in_list -= 1;
    }
}

/// A bit is 0 for a missing SN; bits behind the last NACK are 1. Clause 9.2.2.11.5.
fn write_bitmaps(w: &mut Writer<'_>, nacks: &[Nack]) {
    let (Some(first), Some(last)) = (nacks.first(), nacks.last()) else { return };
    let span = SNS.distance(first.sn, last.sn) + u32::from(last.range);
    let is_missing = |at: u32| {
        let sn = SNS.add(first.sn, at);
        nacks.iter().any(|nack| SNS.distance(nack.sn, sn) < u32::from(nack.range))
    };
    for start in (0..span).step_by(MAX_BITMAP as usize) {
        let bytes = (span - start).min(MAX_BITMAP).div_ceil(8);
        w.put(4, BITMAP);
        w.put(4, bytes - 1);
        w.put(12, SNS.add(first.sn, start));
        (start..start + bytes * 8).for_each(|at| w.flag(!is_missing(at)));
    }
}

/// Clause 9.2.2.11.7.
pub(super) fn write_mrw(w: &mut Writer<'_>, sn: u32, end: u8) {
    w.put(4, 0);
    w.put(4, MRW);
    w.put(4, 1);
    w.put(12, sn);
    w.put(4, u32::from(end));
    w.put(4, NO_MORE);
}

/// Adds `count` SNs from `sn` on to `nacks`.
fn add(nacks: &mut Vec<Nack>, sn: u32, count: u32) {
    for sn in (0..count).map(|i| SNS.add(sn, i)) {
        match nacks.last_mut() {
            Some(last) if last.range < u8::MAX && SNS.add(last.sn, u32::from(last.range)) == sn => {
                last.range += 1;
            }
            _ => nacks.push(Nack::whole(sn)),
        }
    }
}

/// Reads a STATUS PDU; the bytes after its last super-field are padding.
pub(super) fn read_status(
    r: &mut Reader<'_>,
    out: &mut StatusPdu,
) -> Result<PduHeader, DecodeError> {
    r.flag()?;
    match r.get(3)? {
        0 => {}
        value => return Err(DecodeError::Invalid { field: "PDU type", value }),
    }
    loop {
        match r.get(4)? {
            ACK => {
                out.ack_sn = r.get(12)?;
                return Ok(PduHeader::Status(0));
            }
            LIST => {
                let pairs = r.get(4)?;
                if pairs == 0 {
                    return Err(DecodeError::Invalid { field: "LENGTH", value: 0 });
                }
                for _ in 0..pairs {
                    let sn = r.get(12)?;
                    let more = r.get(4)?;
                    add(&mut out.nacks, sn, more + 1);
                }
            }
            BITMAP => {
                let bytes = r.get(4)? + 1;
                let first = r.get(12)?;
                for at in 0..bytes * 8 {
                    if !r.flag()? {
                        add(&mut out.nacks, SNS.add(first, at), 1);
                    }
                }
            }
            MRW if out.nacks.is_empty() => return read_mrw(r),
            value => return Err(DecodeError::Invalid { field: "SUFI type", value }),
        }
    }
}

fn read_mrw(r: &mut Reader<'_>) -> Result<PduHeader, DecodeError> {
    match r.get(4)? {
        1 => {}
        value => return Err(DecodeError::Invalid { field: "LENGTH", value }),
    }
    let sn = r.get(12)?;
    let end = r.get(4)? as u8;
    match r.get(4)? {
        NO_MORE => Ok(PduHeader::UmtsMrw { sn, end }),
        value => Err(DecodeError::Invalid { field: "SUFI type", value }),
    }
}
