//! A lane of a queue and what waits in it: what disciplines store and AQMs are asked about.

use justfull_base::Packet;

/// Number of a lane, from 0.
pub type Lane = u16;

/// What an AQM may note on a packet when it is enqueued and reads when it is dequeued.
pub type Tag = u64;

/// A packet as it waits in a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// What the AQM noted on it.
    pub tag: Tag,
    /// The AQM has passed it on dequeue; the layer below gave it back.
    pub passed: bool,
}
