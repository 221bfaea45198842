//! Changes a delivery status in place: no byte moves, no length changes.

use crate::{Malformed, Message, checksum, gtpu};

/// Octets of a container before the desired buffer size.
const FLAGS: usize = 2;
/// Octets of each of the two fields.
const FIELD: usize = 4;
/// Bit of the second octet: a desired data rate follows.
const RATE: u8 = 1 << 3;
/// PDU type of a delivery status.
const STATUS: u8 = 1;

/// Offsets of fields from the begin of a GTP-U message, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The desired buffer size.
    pub desired_buffer_size: usize,
    /// The desired data rate, if the status has one.
    pub desired_data_rate: Option<usize>,
}

/// The fields of the delivery status in `message`; none if it carries no delivery status.
///
/// # Errors
/// The status is too short for them.
pub fn places(message: &Message<'_>) -> Result<Option<Places>, Malformed> {
    let Some(container) = message.extension(gtpu::NR_RAN_CONTAINER) else { return Ok(None) };
    let content = container.content;
    if content[0] >> 4 != STATUS {
        return Ok(None);
    }
    let size = container.at + FLAGS;
    let rate = (content[1] & RATE != 0).then_some(size + FIELD);
    let end = FLAGS + FIELD * (1 + usize::from(rate.is_some()));
    match content.len() >= end {
        true => Ok(Some(Places { desired_buffer_size: size, desired_data_rate: rate })),
        false => Err(Malformed::Short("desired data rate")),
    }
}

/// Writes `value` to the four bytes at `at` of a GTP-U message whose UDP checksum is `checksum`,
/// and returns the new checksum. A message begins at an even offset of its datagram.
///
/// # Errors
/// The message ends before the field does.
pub fn set(message: &mut [u8], at: usize, value: u32, checksum: u16) -> Result<u16, Malformed> {
    let place = message.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<FIELD>());
    let place = place.ok_or(Malformed::Short("desired buffer size"))?;
    let after = value.to_be_bytes();
    let changed = checksum::updated_udp(checksum, at, place, &after);
    *place = after;
    Ok(changed)
}
