//! Delivery statuses with other bounds: the DU's own, and repetitions of it.

use super::packet::Datagram;
use justfull_nru::{DeliveryStatus, Message, edit};

/// The values to write into a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desired {
    pub(super) size: u32,
    /// Bytes a second.
    pub(super) rate: u32,
}

/// Where the bounds of a status are in its packet.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    checksum: usize,
    message: usize,
    places: edit::Places,
}

impl Bounds {
    pub(super) fn new(datagram: &Datagram, places: edit::Places) -> Self {
        Self { checksum: datagram.checksum, message: datagram.payload.start, places }
    }

    /// Lowers the bounds of the status in `packet` to `desired`. A bound of the DU that is lower
    /// stays. True if a bound changed.
    pub(super) fn lower(&self, packet: &mut [u8], desired: Desired) -> bool {
        let bounds = [
            (Some(self.places.desired_buffer_size), desired.size),
            (self.places.desired_data_rate, desired.rate),
        ];
        let (message, sum) = (self.message, self.checksum);
        let mut changed = false;
        for (at, value) in bounds {
            let Some(at) = at else { continue };
            let field = packet[message + at..].first_chunk().map(|b| u32::from_be_bytes(*b));
            if field.is_none_or(|field| field <= value) {
                continue;
            }
            let before = u16::from_be_bytes([packet[sum], packet[sum + 1]]);
            let Ok(after) = edit::set(&mut packet[message..], at, value, before) else { continue };
            packet[sum..sum + 2].copy_from_slice(&after.to_be_bytes());
            changed = true;
        }
        changed
    }
}

/// The packet of a status of the DU, which may be repeated with other bounds.
#[derive(Clone, Debug)]
pub(super) struct Original {
    packet: Vec<u8>,
    bounds: Bounds,
}

impl Original {
    /// Keeps the status in `kept`, whose memory is used again. False, without a change, for a
    /// status that says more than numbers and bounds, such as lost ranges or a cause: it is for
    /// once.
    pub(super) fn keep(
        kept: &mut Option<Self>,
        packet: &[u8],
        bounds: &Bounds,
        message: &Message<'_>,
        status: &DeliveryStatus<'_>,
    ) -> bool {
        let once = status.final_frame
            || status.lost.is_some()
            || status.cause.is_some()
            || message.sequence.is_some();
        if once {
            return false;
        }
        let new = || Self { packet: Vec::new(), bounds: bounds.clone() };
        let original = kept.get_or_insert_with(new);
        original.bounds.clone_from(bounds);
        original.packet.clear();
        original.packet.extend_from_slice(packet);
        true
    }

    pub(super) fn heap(&self) -> usize {
        self.packet.capacity()
    }

    /// The same status with `desired` bounds, in `room`.
    pub(super) fn repeated<'a>(&self, desired: Desired, room: &'a mut Vec<u8>) -> &'a [u8] {
        room.clear();
        room.extend_from_slice(&self.packet);
        self.bounds.lower(room, desired);
        room
    }
}
