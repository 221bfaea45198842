//! Packet metadata: everything that an algorithm may see of a packet.

use crate::time::Instant;
use crate::units::Qfi;

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// Not ECN-capable: a signal must be a drop.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 01 (also used by L4S, RFC 9331).
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True when a congestion signal may be a mark.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// The transport protocol of a packet, as packet detection rules see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    #[default]
    Udp,
    /// ICMP and ICMPv6.
    Icmp,
    /// Any other, such as SCTP or IPsec ESP: identified by addresses alone.
    Other,
}

/// The PDU set of a packet, such as a frame of a video (TS 23.501 section 5.37.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PduSet {
    /// Number of the set in its flow, modulo 2^16.
    pub number: u16,
    /// Importance, 1 to 15, of which 1 is the greatest; 0 for a packet of no set.
    pub importance: u8,
}

/// Metadata of one IP packet (an SDU of the stack).
///
/// The content stays with the driver. `payload` is the driver's handle to it (a sequence number in
/// the simulator, a buffer index when live); the stack passes it on unread. 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Number of the packet in order of entry into the stack; unique within a run.
    pub id: u64,
    /// The driver's handle to the content.
    pub payload: u64,
    /// When it entered the UPF.
    pub entered: Instant,
    /// When it entered the queue it is in now.
    pub enqueued: Instant,
    /// Hash of the 5-tuple under the run's key.
    pub flow_hash: u32,
    /// The driver's number of the flow.
    pub flow: u32,
    /// Size on the IP layer in bytes, 1 to 65 535.
    pub size: u32,
    /// The UE it is for.
    pub ue: u32,
    /// QoS flow; set by the UPF's packet detection rules.
    pub qfi: Qfi,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Transport protocol.
    pub protocol: Protocol,
    /// The stack reports the delivery of this packet to the driver with its bound (low-latency
    /// flows).
    pub tracked: bool,
    /// Its PDU set.
    pub set: PduSet,
}
