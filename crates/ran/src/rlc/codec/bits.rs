//! Bit fields of any width, most significant bit first (TS 38.322 section 6.2.2.1).

use super::DecodeError;
use alloc::vec::Vec;

/// Appends fields to bytes.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Free bits of the last byte.
    free: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, free: 0 }
    }

    /// Writes the low `bits` of `value`.
    pub(super) fn put(&mut self, bits: u32, value: u32) {
        let mut left = bits;
        while left > 0 {
            if self.free == 0 {
                self.out.push(0);
                self.free = 8;
            }
            let n = left.min(self.free);
            left -= n;
            self.free -= n;
            let chunk = (value >> left) & ((1 << n) - 1);
            if let Some(byte) = self.out.last_mut() {
                *byte |= (chunk << self.free) as u8;
            }
        }
    }

    /// Writes one bit.
    pub(super) fn flag(&mut self, value: bool) {
        self.put(1, u32::from(value));
    }
}

/// Reads fields from bytes.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Bits read.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads a field of `bits`, at most 32.
    pub(super) fn get(&mut self, bits: u32) -> Result<u32, DecodeError> {
        let end = self.at + bits as usize;
        let needed = end.div_ceil(8);
        if needed > self.bytes.len() {
            return Err(DecodeError::Truncated { needed, found: self.bytes.len() });
        }
        let mut value = 0;
        while self.at < end {
            let in_byte = self.at % 8;
            let n = (8 - in_byte).min(end - self.at);
            let chunk = (u32::from(self.bytes[self.at / 8]) >> (8 - in_byte - n)) & ((1 << n) - 1);
            value = (value << n) | chunk;
            self.at += n;
        }
        Ok(value)
    }

    /// Reads one bit.
    pub(super) fn flag(&mut self) -> Result<bool, DecodeError> {
        Ok(self.get(1)? == 1)
    }

    /// True if D/C, the first bit, marks a control PDU. Consumes no bits.
    pub(super) fn is_control(&self) -> Result<bool, DecodeError> {
        let first = self.bytes.first().ok_or(DecodeError::Truncated { needed: 1, found: 0 })?;
        Ok(first & 0x80 == 0)
    }

    /// Bytes consumed, including a partly read byte.
    pub(super) fn consumed(&self) -> usize {
        self.at.div_ceil(8)
    }
}
