//! A frame of NR-U, by its PDU type (TS 38.425 section 5.5.3.1).

use crate::{Assistance, DeliveryStatus, Malformed, UserData};

/// The content of an NR RAN container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// PDU type 0.
    UserData(UserData<'a>),
    /// PDU type 1.
    Status(DeliveryStatus<'a>),
    /// PDU type 2.
    Assistance(Assistance<'a>),
    /// A PDU type of a later release, with the whole container.
    Other(&'a [u8]),
}

impl<'a> Frame<'a> {
    /// Reads a container.
    ///
    /// # Errors
    /// The bytes end inside a field, or the specification excludes the value of a field.
    pub fn read(container: &'a [u8]) -> Result<Self, Malformed> {
        let first = container.first().ok_or(Malformed::Short("PDU type"))?;
        match first >> 4 {
            0 => UserData::read(container).map(Self::UserData),
            1 => DeliveryStatus::read(container).map(Self::Status),
            2 => Assistance::read(container).map(Self::Assistance),
            _ => Ok(Self::Other(container)),
        }
    }

    /// Writes a container without padding to the begin of `room`, and returns its length in bytes.
    ///
    /// # Errors
    /// `room` is too small, or a value has no place in its field.
    pub fn write(&self, room: &mut [u8]) -> Result<usize, Malformed> {
        match self {
            Self::UserData(frame) => frame.write(room),
            Self::Status(frame) => frame.write(room),
            Self::Assistance(frame) => frame.write(room),
            Self::Other(container) => {
                let place = room.get_mut(..container.len()).ok_or(Malformed::Short("container"))?;
                place.copy_from_slice(container);
                Ok(container.len())
            }
        }
    }
}
