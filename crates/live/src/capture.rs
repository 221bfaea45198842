//! Captures packets of a live run without ever making the driver wait.
//!
//! The driver copies the beginning of a datagram and its fate into a ring with a fixed number of
//! frames; a recorder thread removes them. When the ring is full the frame is lost and counted, and
//! the run continues undisturbed. The ring is allocated at once, [`ring_bytes`] in all. Its reader
//! polls and is never woken, so the driver makes no system call.

use crate::arena::Arena;
use justfull_base::{DropReason, Duration, Event, Instant, Layer, Packet};
use serde::Serialize;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Bytes kept of a datagram: an IPv6 header with a fragment header, a TCP header with all options,
/// and a little more.
pub const SNAPLEN: usize = 128;

/// Default frames in a ring: about 0.2 s of full packets at 1 Gbit/s.
pub const FRAMES: usize = 65_536;

/// Where a frame was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Leaving the UPF, or dropped there.
    Upf,
    /// Leaving SDAP, or dropped there.
    Sdap,
    /// Its last byte taken by the MAC, or dropped by the RLC.
    Rlc,
    /// Reaching the UE, at the end of the air's delay.
    Air,
    /// Reaching the server, or dropped by the UE's queue.
    Uplink,
}

impl Place {
    /// All places, in the order of interfaces.
    pub const ALL: [Self; 5] = [Self::Upf, Self::Sdap, Self::Rlc, Self::Air, Self::Uplink];

    const fn of(layer: Layer) -> Self {
        match layer {
            Layer::Upf => Self::Upf,
            Layer::Sdap => Self::Sdap,
            Layer::Rlc => Self::Rlc,
        }
    }
}

/// The fate of a datagram at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left the layer after this time.
    Left(Duration),
    /// It reached the UE this long after it entered the UPF.
    Reached(Duration),
    /// It reached the server.
    Arrived,
    /// It was dropped after this time in the layer.
    Dropped(DropReason, Duration),
}

/// The identity of a downlink packet in the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the packet.
    pub packet: u64,
    /// Number of its flow, in order of appearance.
    pub flow: u32,
    /// QoS flow.
    pub qfi: u8,
}

/// A datagram at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When.
    pub at: Instant,
    /// Where.
    pub place: Place,
    /// Its fate there.
    pub fate: Fate,
    /// Its identity; none on the uplink.
    pub identity: Option<Identity>,
    /// The UE at its end; none at the server.
    pub ue: Option<u32>,
    /// Length of the datagram.
    pub original: u32,
    kept: u8,
    bytes: [u8; SNAPLEN],
}

impl Frame {
    /// Its first bytes, at most [`SNAPLEN`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.kept)]
    }
}

/// Memory of a ring of `frames`, in bytes: each has a slot with a sequence number of 8 bytes.
#[must_use]
pub const fn ring_bytes(frames: usize) -> usize {
    frames * (size_of::<Frame>() + 8)
}

/// A ring of `frames`: the driver's end and the recorder's.
#[must_use]
pub fn ring(frames: usize) -> (Recorder, Frames) {
    let (into, out) = sync_channel(frames.max(1));
    let report =
        CaptureReport { ring_bytes: ring_bytes(frames.max(1)), ..CaptureReport::default() };
    (Recorder { into, report, from_upf: None }, Frames { out })
}

/// Counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureReport {
    /// Frames that were put into the ring.
    pub frames: u64,
    /// Frames that found it full.
    pub lost: u64,
    /// Memory of the ring.
    pub ring_bytes: usize,
}

/// The recorder's end.
pub struct Frames {
    out: Receiver<Frame>,
}

impl Frames {
    /// Calls `take` with all waiting frames. False when the run is over and no more will come.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn drain<E>(&self, mut take: impl FnMut(&Frame) -> Result<(), E>) -> Result<bool, E> {
        loop {
            match self.out.try_recv() {
                Ok(frame) => take(&frame)?,
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
    }
}

/// A datagram's fate at a place.
struct Seen {
    at: Instant,
    place: Place,
    fate: Fate,
}

/// The identity of a datagram, and the UE at its end.
struct Owner {
    identity: Option<Identity>,
    ue: Option<u32>,
}

/// The driver's end.
pub struct Recorder {
    into: SyncSender<Frame>,
    report: CaptureReport,
    /// The last packet that left a UPF queue; it enters SDAP next.
    from_upf: Option<u64>,
}

impl Recorder {
    /// Frames so far.
    #[must_use]
    pub fn report(&self) -> CaptureReport {
        self.report
    }

    fn put(&mut self, seen: Seen, owner: Owner, datagram: &[u8]) {
        let (Seen { at, place, fate }, Owner { identity, ue }) = (seen, owner);
        let kept = datagram.len().min(SNAPLEN);
        let mut bytes = [0; SNAPLEN];
        bytes[..kept].copy_from_slice(&datagram[..kept]);
        let original = datagram.len() as u32;
        let frame = Frame { at, place, fate, identity, ue, original, kept: kept as u8, bytes };
        // Without a recorder every frame is lost.
        if self.into.try_send(frame).is_ok() {
            self.report.frames += 1;
        } else {
            self.report.lost += 1;
        }
    }

    fn put_packet(&mut self, seen: Seen, packet: &Packet, arena: &Arena) {
        let identity = Identity { packet: packet.id, flow: packet.flow, qfi: packet.qfi.get() };
        let owner = Owner { identity: Some(identity), ue: Some(packet.ue) };
        self.put(seen, owner, arena.bytes(packet.payload & 0xffff_ffff));
    }

    /// `event` happened in the stack; the buffer of its packet still holds the packet.
    pub(crate) fn record(&mut self, now: Instant, event: &Event, arena: &Arena) {
        match event {
            Event::Enqueued { layer: Layer::Sdap, packet, .. } => {
                self.passed_upf(now, packet, arena)
            }
            Event::Departed { layer, packet, sojourn } => {
                let fate = Fate::Left(*sojourn);
                self.put_packet(Seen { at: now, place: Place::of(*layer), fate }, packet, arena);
                if *layer == Layer::Upf {
                    self.from_upf = Some(packet.id);
                }
            }
            Event::Dropped { layer, packet, reason } => {
                let arriving = reason.arriving();
                if *layer == Layer::Sdap && arriving {
                    self.passed_upf(now, packet, arena);
                }
                let waited = if arriving { Duration::ZERO } else { now.since(packet.enqueued) };
                let fate = Fate::Dropped(*reason, waited);
                self.put_packet(Seen { at: now, place: Place::of(*layer), fate }, packet, arena);
            }
            Event::Enqueued { .. }
            | Event::Withdrawn { .. }
            | Event::Marked { .. }
            | Event::Quantum { .. }
            | Event::Slot { .. } => {}
        }
    }

    /// A packet enters SDAP. A UPF that queues nothing emits no event, so this records that the
    /// packet left the UPF at once.
    fn passed_upf(&mut self, now: Instant, packet: &Packet, arena: &Arena) {
        if self.from_upf.take() != Some(packet.id) {
            let fate = Fate::Left(Duration::ZERO);
            self.put_packet(Seen { at: now, place: Place::Upf, fate }, packet, arena);
        }
    }

    /// `packet` reaches its UE at `at`.
    pub(crate) fn reached(&mut self, at: Instant, packet: &Packet, arena: &Arena) {
        let fate = Fate::Reached(at.since(packet.entered));
        self.put_packet(Seen { at, place: Place::Air, fate }, packet, arena);
    }

    /// `datagram` of a UE reached the server.
    pub(crate) fn arrived(&mut self, now: Instant, datagram: &[u8]) {
        let seen = Seen { at: now, place: Place::Uplink, fate: Fate::Arrived };
        self.put(seen, Owner { identity: None, ue: None }, datagram);
    }

    /// `ue` had no room for `datagram`, for this reason.
    pub(crate) fn refused(&mut self, now: Instant, ue: u32, reason: DropReason, datagram: &[u8]) {
        let fate = Fate::Dropped(reason, Duration::ZERO);
        let seen = Seen { at: now, place: Place::Uplink, fate };
        self.put(seen, Owner { identity: None, ue: Some(ue) }, datagram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_loses_frames_and_counts_them() {
        let (mut recorder, frames) = ring(2);
        for length in [20, 300, 40] {
            recorder.arrived(Instant::from_nanos(length), &vec![length as u8; length as usize]);
        }
        let mut seen = Vec::new();
        let more = frames.drain(|frame| {
            seen.push((frame.at.as_nanos(), frame.original, frame.bytes().to_vec()));
            Ok::<(), ()>(())
        });
        assert_eq!(more, Ok(true), "the run goes on");
        assert_eq!(seen, [(20, 20, vec![20; 20]), (300, 300, vec![44; SNAPLEN])]);
        let report = recorder.report();
        assert_eq!((report.frames, report.lost, report.ring_bytes), (2, 1, ring_bytes(2)));
        drop(recorder);
        assert_eq!(frames.drain(|_| Ok::<(), ()>(())), Ok(false));
    }

    #[test]
    fn a_recorder_that_has_gone_does_not_stop_the_driver() {
        let (mut recorder, frames) = ring(2);
        drop(frames);
        recorder.refused(Instant::ZERO, 3, DropReason::Overflow, &[0; 20]);
        assert_eq!((recorder.report().frames, recorder.report().lost), (0, 1));
    }
}
