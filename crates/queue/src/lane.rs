//! A lane of a queue and its packets: what disciplines store and AQMs decide on.

use justfull_base::Packet;

/// Number of a lane, from 0.
pub type Lane = u16;

/// A note that an AQM makes on a packet at enqueue and reads at dequeue.
pub type Tag = u64;

/// A packet as it waits in a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// What the AQM noted on it.
    pub tag: Tag,
    /// The AQM passed it at an earlier dequeue, and the layer below gave it back.
    pub passed: bool,
}
