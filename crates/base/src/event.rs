//! Events inside the stack. This enum is the schema of every trace file.

use crate::packet::Packet;
use crate::time::{Duration, Instant};

/// A place in the downlink chain that holds packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// User plane function: flow queues.
    Upf,
    /// Service data adaptation protocol: a queue per QFI.
    Sdap,
    /// Radio link control: a queue per data radio bearer.
    Rlc,
}

impl Layer {
    /// All layers from the top down.
    pub const ALL: [Self; 3] = [Self::Upf, Self::Sdap, Self::Rlc];

    /// Lower-case name for columns and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upf => "upf",
            Self::Sdap => "sdap",
            Self::Rlc => "rlc",
        }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue was full and the arriving packet was the victim.
    Overflow,
    /// The queue was full and a packet already waiting was the victim.
    OverflowVictim,
    /// The AQM signalled on enqueue and the packet cannot carry a mark.
    AqmEnqueue,
    /// The AQM signalled on dequeue and the packet cannot carry a mark.
    AqmDequeue,
    /// The AQM signalled on a timeout.
    AqmTimeout,
    /// It waited longer than PDCP's discard timer allows (TS 38.323 section 5.3).
    DiscardTimer,
    /// No packet detection rule matched the packet.
    NoRule,
    /// A transport block with a part of the packet failed its last HARQ transmission, and no RLC
    /// resends it.
    Harq,
    /// RLC AM reached its limit of retransmissions for a part of it (TS 38.322 section 5.3.2).
    MaxRetransmissions,
    /// The receiver gave it up: RLC waited too long for a missing part, or PDCP for an earlier
    /// packet.
    Reassembly,
    /// Lost at random between its server and the UPF, by the scenario's `core.loss`.
    CoreLoss,
    /// Live: it came while all packet buffers of its direction were in use.
    NoBuffer,
    /// Its UE left the cell, and the source cell does not forward it, or it was on the air and no
    /// RLC retransmits it (TS 38.300 section 9.2.3.2).
    Handover,
}

impl DropReason {
    /// All reasons, in the order of columns.
    pub const ALL: [Self; 13] = [
        Self::Overflow,
        Self::OverflowVictim,
        Self::AqmEnqueue,
        Self::AqmDequeue,
        Self::AqmTimeout,
        Self::DiscardTimer,
        Self::NoRule,
        Self::Harq,
        Self::MaxRetransmissions,
        Self::Reassembly,
        Self::CoreLoss,
        Self::NoBuffer,
        Self::Handover,
    ];

    /// True when the packet was waiting in the queue that dropped it.
    #[must_use]
    pub const fn waited(self) -> bool {
        matches!(
            self,
            Self::OverflowVictim | Self::AqmDequeue | Self::AqmTimeout | Self::DiscardTimer
        )
    }

    /// True when the packet was about to enter the layer that dropped it, and never was in its
    /// queue.
    #[must_use]
    pub const fn arriving(self) -> bool {
        matches!(
            self,
            Self::Overflow | Self::AqmEnqueue | Self::NoRule | Self::CoreLoss | Self::NoBuffer
        )
    }

    /// True if the packet had left all queues before: lost on the air, given up by the receiver, or
    /// withdrawn with its UE.
    #[must_use]
    pub const fn on_air(self) -> bool {
        matches!(self, Self::Harq | Self::MaxRetransmissions | Self::Reassembly | Self::Handover)
    }

    /// Lower-case name for columns and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::OverflowVictim => "overflow_victim",
            Self::AqmEnqueue => "aqm_enqueue",
            Self::AqmDequeue => "aqm_dequeue",
            Self::AqmTimeout => "aqm_timeout",
            Self::DiscardTimer => "discard_timer",
            Self::NoRule => "no_rule",
            Self::Harq => "harq",
            Self::MaxRetransmissions => "max_retransmissions",
            Self::Reassembly => "reassembly",
            Self::CoreLoss => "core_loss",
            Self::NoBuffer => "no_buffer",
            Self::Handover => "handover",
        }
    }
}

/// Something that happened at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet entered a queue. The backlog does not count the packet itself.
    Enqueued {
        /// The queue's layer.
        layer: Layer,
        /// The packet.
        packet: Packet,
        /// Packets in that queue before it.
        backlog_packets: u32,
        /// Bytes in that queue before it.
        backlog_bytes: u64,
    },
    /// A packet left a queue downwards. For the RLC: its last byte entered a transport block.
    Departed {
        /// Where.
        layer: Layer,
        /// The packet.
        packet: Packet,
        /// Time it spent in that queue.
        sojourn: Duration,
    },
    /// A waiting packet was taken out of its queue, since its UE leaves the cell.
    Withdrawn {
        /// Where.
        layer: Layer,
        /// The packet.
        packet: Packet,
    },
    /// A packet was marked congestion experienced.
    Marked {
        /// Where.
        layer: Layer,
        /// The packet.
        packet: Packet,
    },
    /// A packet was dropped.
    Dropped {
        /// Where.
        layer: Layer,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// The blocks that a slice has lent so far, under a scheduler that lets slices lend. Emitted
    /// before the slot itself.
    Quantum {
        /// Index of the slice.
        slice: u16,
        /// Resource blocks lent (positive) or borrowed (negative) so far.
        rbs: f64,
    },
    /// The MAC served a slot.
    Slot {
        /// The amount that the cell could have carried, in the MAC's unit (packets or bytes).
        capacity: u64,
        /// The amount that it carried.
        used: u64,
        /// RLC backlog of all bearers before the pull, in packets.
        rlc_packets: u64,
        /// RLC backlog of all bearers before the pull, in bytes.
        rlc_bytes: u64,
    },
}

/// Receives events. The no-op implementation compiles away.
pub trait Probe {
    /// Called for each event at the instant it happens.
    fn on_event(&mut self, now: Instant, event: &Event);
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Probe for Silent {
    #[inline(always)]
    fn on_event(&mut self, _now: Instant, _event: &Event) {}
}

impl<P: Probe> Probe for &mut P {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        (**self).on_event(now, event);
    }
}
