//! A lane of a queue and its packets, which disciplines store and AQMs decide on.

use justfull_base::Packet;

/// Number of a lane, from 0.
pub type Lane = u16;

/// A note that an AQM makes on a packet at enqueue and reads at dequeue.
pub type Tag = u64;

/// The tag of a packet that the AQM has passed on dequeue.
const PASSED: Tag = Tag::MAX;

/// A packet waiting in a lane: 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    pub(crate) tag: Tag,
}

impl Queued {
    /// `packet` with the AQM's note `tag`; [`Tag::MAX`] is reduced by one.
    #[inline]
    #[must_use]
    pub fn new(packet: Packet, tag: Tag) -> Self {
        Self { packet, tag: tag.min(PASSED - 1) }
    }

    /// `packet`, which the AQM has passed on dequeue and the layer below gave back.
    #[inline]
    #[must_use]
    pub const fn passed(packet: Packet) -> Self {
        Self { packet, tag: PASSED }
    }

    /// The AQM's note on the packet; none once the AQM has passed it.
    #[inline]
    #[must_use]
    pub const fn tag(&self) -> Option<Tag> {
        if self.tag == PASSED { None } else { Some(self.tag) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_of_an_aqm_says_that_it_has_passed_the_packet() {
        let packet = Packet::default();
        let tags = [0, 7, Tag::MAX - 1, Tag::MAX].map(|tag| Queued::new(packet, tag).tag());
        assert_eq!(tags, [Some(0), Some(7), Some(Tag::MAX - 1), Some(Tag::MAX - 1)]);
        assert_eq!((Queued::passed(packet).tag(), size_of::<Queued>()), (None, 64));
    }
}
