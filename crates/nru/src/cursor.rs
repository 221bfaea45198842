//! Big-endian fields, one after the other.

use crate::{Malformed, SN_END};

/// Reads fields of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn take(
        &mut self,
        count: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed::Short(field))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Malformed::Short(field))?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array(field).map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u24(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u24)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn optional<T>(
        &mut self,
        present: bool,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        present.then(|| read(self)).transpose()
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Writes fields into a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    room: &'a mut [u8],
    written: usize,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(room: &'a mut [u8]) -> Self {
        Self { room, written: 0 }
    }

    pub(crate) fn put(&mut self, bytes: &[u8], field: &'static str) -> Result<(), Malformed> {
        let end = self.written + bytes.len();
        let place = self.room.get_mut(self.written..end).ok_or(Malformed::Short(field))?;
        place.copy_from_slice(bytes);
        self.written = end;
        Ok(())
    }

    pub(crate) fn u8(&mut self, value: u8, field: &'static str) -> Result<(), Malformed> {
        self.put(&[value], field)
    }

    pub(crate) fn u24(&mut self, value: u32, field: &'static str) -> Result<(), Malformed> {
        if value >= SN_END {
            return Err(Malformed::Value { field, found: value, most: SN_END - 1 });
        }
        self.put(&value.to_be_bytes()[1..], field)
    }

    pub(crate) fn u32(&mut self, value: u32, field: &'static str) -> Result<(), Malformed> {
        self.put(&value.to_be_bytes(), field)
    }

    pub(crate) const fn written(&self) -> usize {
        self.written
    }
}

/// Three bytes as a number.
pub(crate) fn u24(bytes: [u8; 3]) -> u32 {
    let [high, middle, low] = bytes;
    u32::from_be_bytes([0, high, middle, low])
}

/// Bit `bit` of an octet, when `set`; 0 is the lowest.
pub(crate) fn flag(set: bool, bit: u8) -> u8 {
    u8::from(set) << bit
}

/// True when bit `bit` of `octet` is set; 0 is the lowest.
pub(crate) const fn has(octet: u8, bit: u8) -> bool {
    octet & (1 << bit) != 0
}
