//! Mahimahi's traces of delivery opportunities, and CellReplay's, which have the same form.
//!
//! Source: the manual page mm-link(1) and the traces' README. A line is a time in whole
//! milliseconds at which one packet may pass. Times do not decrease; several lines may share one.
//! After the last line the trace begins again, its clock advanced by the last time. So a trace
//! lasts until its last line. Interval k, of one millisecond, holds the opportunities at k + 1 ms;
//! those at time 0 coincide with the end of the previous loop and count as the first millisecond.

use super::super::error::{SINGLE_BYTES, in_utf8, quote};
use super::super::rows::{self, At, Empty, digits, whole};
use super::super::{Duration, FileFormat, TraceError};
use super::{Parsed, Source};
use std::io::Read;

const COLUMN: &str = "time_ms";

pub(super) fn read<R: Read>(
    reader: R,
    source: &Source<'_>,
    format: FileFormat,
) -> Result<Parsed, TraceError> {
    let most = source.options.max_intervals as u64;
    let packet = source.packet(format)?;
    let mut bytes: Vec<u32> = Vec::new();
    let (mut last, mut at_zero, mut lines) = (0, 0_u64, 0_u64);
    let marks = rows::each(reader, source.path, COLUMN, Empty::Refused, |at, row| {
        let row = row.trim_ascii();
        let time = digits(row).or_else(|| whole(std::str::from_utf8(row).ok()?, false));
        let time = match time {
            Some(time) if time <= most => time,
            _ => return Err(refused(&at, row, most)),
        };
        if time < last {
            let found = format!("{time} after {last}");
            return Err(at.malformed(COLUMN, found, "times that do not fall"));
        }
        (last, lines) = (time, lines + 1);
        at_zero += u64::from(time == 0);
        let index = time.saturating_sub(1) as usize;
        if index >= bytes.len() {
            bytes.resize(index + 1, 0);
        }
        bytes[index] = bytes[index].checked_add(packet).ok_or_else(|| {
            at.malformed(
                COLUMN,
                format!("more opportunities at {time} ms"),
                "at most 4 GB per millisecond",
            )
        })?;
        Ok(())
    })?;
    if lines == 0 {
        return Err(
            source.unusable("no rows", "a line with a time in whole milliseconds for each packet")
        );
    }
    if last == 0 {
        return Err(
            source.unusable("a trace of no duration: all times are 0", "a last time above 0")
        );
    }
    let mut notes = Vec::new();
    if at_zero > 0 {
        notes.push(format!("{at_zero} opportunities at time 0 count to the first millisecond"));
    }
    source.finish(Duration::from_millis(1), bytes, None, marks, notes)
}

fn refused(at: &At<'_>, row: &[u8], most: u64) -> TraceError {
    let found = quote(&String::from_utf8_lossy(row));
    let allowed = format!("a time in whole milliseconds, at most {most}, alone on its line");
    match std::str::from_utf8(row) {
        Ok(_) => at.malformed(COLUMN, found, allowed),
        Err(_) => at.malformed(COLUMN, found, in_utf8(at.path, SINGLE_BYTES)),
    }
}
