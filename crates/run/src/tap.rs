//! Additional listeners to a run, besides the recorder: writers of packet records, of captures, of
//! measurements over time.
//!
//! The simulator's world is compiled twice: for `()`, where every call to a tap
//! disappears at compile time, and for any [`Tap`] behind a reference, whose calls cost little
//! beside the tap's own work. If it were generic over taps, every crate that runs one would
//! recompile the stack.

use justfull_base::{Duration, Event, Instant, Packet};
use justfull_tcp::{Ack, Segment};

/// A listener to one run. All methods default to doing nothing.
pub trait Tap {
    /// `event` happened in the stack. `segment` is the content of its packet if that is TCP; the
    /// payload handle of any other packet is its time of sending, in ns.
    fn on_event(&mut self, _now: Instant, _event: &Event, _segment: Option<&Segment>) {}

    /// The UE has `packet` whole and in order at the slot of `now`; its last byte left the RLC at
    /// `left`. Called only when the MAC allocates resource blocks; otherwise a packet that leaves
    /// the RLC is delivered. The delay of the air comes on top.
    fn delivered(&mut self, _now: Instant, _left: Instant, _packet: &Packet) {}

    /// `bytes` of new payload reached the receiver of `flow`.
    fn received(&mut self, _now: Instant, _flow: u32, _bytes: u64) {}

    /// `ack` reached the sender of `flow`, which took this `sample` of the round-trip time.
    fn acknowledged(&mut self, _now: Instant, _flow: u32, _ack: &Ack, _sample: Option<Duration>) {}

    /// What the UE of `flow` asked at `sent` reached the server.
    fn asked(&mut self, _now: Instant, _flow: u32, _sent: Instant) {}

    /// The reply to what the server of `flow`, or its UE, asked at `sent` came back to it.
    fn replied(&mut self, _now: Instant, _flow: u32, _sent: Instant) {}
}

/// What a world is compiled for.
pub trait Listener: Tap {
    /// False if the listener ignores everything; the calls are then left out.
    const ACTIVE: bool;
}

impl Tap for () {}

impl Listener for () {
    const ACTIVE: bool = false;
}

impl Tap for &mut (dyn Tap + '_) {
    fn on_event(&mut self, now: Instant, event: &Event, segment: Option<&Segment>) {
        (**self).on_event(now, event, segment);
    }

    fn delivered(&mut self, now: Instant, left: Instant, packet: &Packet) {
        (**self).delivered(now, left, packet);
    }

    fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        (**self).received(now, flow, bytes);
    }

    fn acknowledged(&mut self, now: Instant, flow: u32, ack: &Ack, sample: Option<Duration>) {
        (**self).acknowledged(now, flow, ack, sample);
    }

    fn asked(&mut self, now: Instant, flow: u32, sent: Instant) {
        (**self).asked(now, flow, sent);
    }

    fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        (**self).replied(now, flow, sent);
    }
}

impl Listener for &mut (dyn Tap + '_) {
    const ACTIVE: bool = true;
}

/// The packet that `event` is about; none for slots and slices.
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
