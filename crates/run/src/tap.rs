//! Additional listeners to a run, besides the recorder: writers of packet records, of captures, of
//! measurements over time.
//!
//! The simulator's world is compiled twice: for `()`, where every call to a tap disappears at
//! compile time, and for any [`Tap`] behind a reference, whose calls are cheap beside the tap's own
//! work. A world generic over taps would make every crate that runs one recompile the stack.

use justfull_base::{Duration, Event, Instant, Packet};
use justfull_tcp::{Ack, Segment};

/// A listener to one run. All methods do nothing by default.
pub trait Tap {
    /// `event` happened in the stack. `segment` is the content of its packet if it is TCP; the
    /// payload handle of any other packet is its time of sending, in ns.
    fn on_event(&mut self, _now: Instant, _event: &Event, _segment: Option<&Segment>) {}

    /// The UE receives `packet` whole and in order in the slot at `now`; its last byte left the RLC
    /// at `left`. Called only if the MAC allocates resource blocks; otherwise a packet is delivered
    /// when it leaves the RLC. The air delay is not included.
    fn delivered(&mut self, _now: Instant, _left: Instant, _packet: &Packet) {}

    /// `bytes` of new payload reach the receiver of `flow`.
    fn received(&mut self, _now: Instant, _flow: u32, _bytes: u64) {}

    /// `ack` reaches the sender of `flow`, which takes this `sample` of the round-trip time.
    fn acknowledged(&mut self, _now: Instant, _flow: u32, _ack: &Ack, _sample: Option<Duration>) {}

    /// The request that the UE of `flow` sent at `sent` reaches the server.
    fn requested(&mut self, _now: Instant, _flow: u32, _sent: Instant) {}

    /// The reply to the request that the server of `flow`, or its UE, sent at `sent` arrives.
    fn replied(&mut self, _now: Instant, _flow: u32, _sent: Instant) {}
}

/// A type of listener for which a world is compiled.
pub trait Listener: Tap {
    /// False if the listener ignores everything; the calls are then compiled out.
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

    fn requested(&mut self, now: Instant, flow: u32, sent: Instant) {
        (**self).requested(now, flow, sent);
    }

    fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        (**self).replied(now, flow, sent);
    }
}

impl Listener for &mut (dyn Tap + '_) {
    const ACTIVE: bool = true;
}

/// The packet of `event`; none for slots and slices.
#[must_use]
pub fn packet_of(event: &Event) -> Option<&Packet> {
    match event {
        Event::Enqueued { packet, .. }
        | Event::Departed { packet, .. }
        | Event::Withdrawn { packet, .. }
        | Event::Marked { packet, .. }
        | Event::Dropped { packet, .. } => Some(packet),
        Event::Quantum { .. } | Event::Slot { .. } => None,
    }
}
