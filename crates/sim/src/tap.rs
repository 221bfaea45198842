//! What else may listen to a run besides the recorder: writers of packet records, of captures, of measurements over time.
//!
//! A [`World`](crate::World) is compiled for one kind of tap. For `()`, the default, every call is gone before code is made.

use justfull_base::{Event, Instant, Packet};
use justfull_tcp::{Ack, Segment};

/// A listener to one run. Every method does nothing unless it is written.
pub trait Tap {
    /// False promises that nothing is heard: the calls are then left out.
    const ACTIVE: bool = true;

    /// `event` happened in the stack. `segment` is what its packet carries where that is TCP; the payload handle of any other
    /// packet is the instant at which it was sent, in ns.
    fn on_event(&mut self, _now: Instant, _event: &Event, _segment: Option<&Segment>) {}

    /// The UE has `packet` whole and in order at the slot of `now`; its last byte left the RLC at `left`. Told only where the MAC
    /// deals in resource blocks: elsewhere a packet that leaves the RLC is delivered. The air's own delay comes on top.
    fn delivered(&mut self, _now: Instant, _left: Instant, _packet: &Packet) {}

    /// `bytes` of new payload reached the receiver of `flow`.
    fn received(&mut self, _now: Instant, _flow: u32, _bytes: u64) {}

    /// `ack` reached the sender of `flow`.
    fn acknowledged(&mut self, _now: Instant, _flow: u32, _ack: &Ack) {}

    /// The reply to what the server of `flow` sent at `sent` came back to it.
    fn replied(&mut self, _now: Instant, _flow: u32, _sent: Instant) {}
}

impl Tap for () {
    const ACTIVE: bool = false;
}

/// The packet that `event` is about; none for a slot and a slice.
#[must_use]
pub fn packet_of(event: &Event) -> Option<&Packet> {
    match event {
        Event::Enqueued { packet, .. }
        | Event::Departed { packet, .. }
        | Event::Marked { packet, .. }
        | Event::Dropped { packet, .. } => Some(packet),
        Event::Quantum { .. } | Event::Slot { .. } => None,
    }
}
