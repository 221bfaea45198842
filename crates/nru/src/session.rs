//! The PDU session container, extension header 0x85 (TS 38.415 section 5.5.2, Release 17): the
//! fields that are always there.

use crate::Malformed;
use crate::cursor::{Reader, flag, has};

/// The direction of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// DL PDU SESSION INFORMATION, PDU type 0.
    Downlink {
        /// A paging policy indicator follows (PPP).
        paging_policy: bool,
        /// The UE applies reflective QoS to this packet (RQI).
        reflective: bool,
    },
    /// UL PDU SESSION INFORMATION, PDU type 1.
    Uplink,
    /// A PDU type of a later release, 2 to 15.
    Other(u8),
}

/// A PDU session container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session<'a> {
    /// Its direction.
    pub kind: SessionKind,
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// The lower four bits of the first octet, which announce optional fields.
    pub flags: u8,
    /// The optional fields and padding, unread.
    pub rest: &'a [u8],
}

impl<'a> Session<'a> {
    /// Reads a container.
    ///
    /// # Errors
    /// It has fewer than two bytes.
    pub fn read(container: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(container);
        let first = reader.u8("PDU type")?;
        let second = reader.u8("QFI")?;
        let kind = match first >> 4 {
            0 => {
                SessionKind::Downlink { paging_policy: has(second, 7), reflective: has(second, 6) }
            }
            1 => SessionKind::Uplink,
            other => SessionKind::Other(other),
        };
        Ok(Self { kind, qfi: second & 0x3f, flags: first & 0xf, rest: reader.rest() })
    }

    /// Writes it to the begin of `room`, and returns its length in bytes.
    ///
    /// # Errors
    /// `room` is too small, or a value has no place in its field.
    pub fn write(&self, room: &mut [u8]) -> Result<usize, Malformed> {
        let value = |field, found: u8, most: u8| {
            let error = Malformed::Value { field, found: found.into(), most: most.into() };
            if found > most { Err(error) } else { Ok(found) }
        };
        let (kind, bits) = match self.kind {
            SessionKind::Downlink { paging_policy, reflective } => {
                (0, flag(paging_policy, 7) | flag(reflective, 6))
            }
            SessionKind::Uplink => (1, 0),
            SessionKind::Other(kind) => (value("PDU type", kind, 15)?, 0),
        };
        let first = kind << 4 | value("flags", self.flags, 15)?;
        let second = bits | value("QFI", self.qfi, 63)?;
        let length = 2 + self.rest.len();
        let place = room.get_mut(..length).ok_or(Malformed::Short("QFI"))?;
        place[..2].copy_from_slice(&[first, second]);
        place[2..].copy_from_slice(self.rest);
        Ok(length)
    }
}
