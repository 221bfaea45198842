//! Whether a file has all of its ELF segments: the loader maps them, and a segment beyond the end
//! of the file ends the program at its first access.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of the header of a file with 64 bits.
const HEADER: usize = 64;
/// Bytes of the header of a segment.
const SEGMENT: usize = 56;
/// Type of a segment that is loaded.
const PT_LOAD: u32 = 1;

/// The `N` bytes of `bytes` from `at` on; zeros beyond its end.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..at + N).and_then(|part| part.try_into().ok());
    found.unwrap_or([0; N])
}

/// False if `file` is an ELF file of this machine's form that ends before a segment does. Any
/// other file is the loader's to refuse.
///
/// # Errors
/// It cannot be read.
pub(crate) fn is_whole(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut header = [0; HEADER];
    if length < HEADER as u64 {
        return Ok(true);
    }
    file.read_exact_at(&mut header, 0)?;
    // ELFCLASS64 and ELFDATA2LSB: the form of the machines on which this program runs.
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(true);
    }
    let (begin, count) =
        (u64::from_le_bytes(part(&header, 32)), u16::from_le_bytes(part(&header, 56)));
    for i in 0..u64::from(count) {
        let mut segment = [0; SEGMENT];
        let at = begin.checked_add(i * SEGMENT as u64);
        if at.is_none_or(|at| file.read_exact_at(&mut segment, at).is_err()) {
            return Ok(false);
        }
        let (offset, size) =
            (u64::from_le_bytes(part(&segment, 8)), u64::from_le_bytes(part(&segment, 32)));
        let end = offset.checked_add(size);
        if u32::from_le_bytes(part(&segment, 0)) == PT_LOAD && end.is_none_or(|end| end > length) {
            return Ok(false);
        }
    }
    Ok(true)
}
