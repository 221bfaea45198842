//! The listener to the stack of a live run.

use super::flows::OnTheirWay;
use super::names::ByName;
use super::sojourn::Sojourns;
use crate::arena::Arena;
use crate::capture::Recorder;
use crate::packet::mark_ce;
use crate::recorder::LiveRecorder;
use justfull_base::{BitRate, DropReason, Duration, Ecn, Event, Instant, Packet, Probe};
use justfull_ran::{Egress, StatusWay};
use justfull_run::wire::Wire;

/// A packet on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) handle: u64,
    pub(super) ue: u32,
}

/// Counts since the start of the run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slots.
    pub slots: u64,
    /// The amount that they could have carried, in the unit of the MAC.
    pub offered: u64,
    /// The amount that they carried.
    pub used: u64,
    /// Bytes waiting in the RLC before the last slot.
    pub rlc_bytes: u64,
    /// Drops, by layer from the top down and by reason in the order of [`DropReason::ALL`].
    pub drops: [[u64; DropReason::ALL.len()]; 3],
    /// Packets marked, by layer.
    pub marks: [u64; 3],
    /// Sojourn times in each layer, for packets that left it.
    pub sojourn: [Sojourns; 3],
}

/// The recorder, the packets' buffers and the air.
pub(super) struct Side {
    pub(super) record: LiveRecorder,
    /// Buffers of packets on their way down, and of packets on their way up: a flood in one
    /// direction takes none from the other.
    pub(super) arena: Arena,
    pub(super) arena_up: Arena,
    pub(super) air: Wire<Arrival>,
    pub(super) counts: Counts,
    /// Counts by name, for observers of the run.
    pub(super) by_name: ByName,
    pub(super) capture: Option<Recorder>,
    pub(super) on_their_way: OnTheirWay,
    /// STATUS PDUs that the UEs' RLC sends: time, UE, handle and size. They move to the uplink
    /// after the stack has run.
    pub(super) statuses: Vec<(Instant, u32, u32, u32)>,
    /// STATUS PDUs share the uplink.
    pub(super) carries_statuses: bool,
    air_delay: Duration,
}

impl Side {
    pub(super) fn new(record: LiveRecorder, arenas: [Arena; 2], air_delay: Duration) -> Self {
        let [arena, arena_up] = arenas;
        Self {
            record,
            arena,
            arena_up,
            air: Wire::new(BitRate(0), air_delay),
            counts: Counts::default(),
            by_name: ByName::default(),
            capture: None,
            on_their_way: OnTheirWay::default(),
            statuses: Vec::new(),
            carries_statuses: false,
            air_delay,
        }
    }
}

/// The buffer in a payload handle: its lower half; the upper half is the number of payload bytes.
const fn buffer_of(packet: &Packet) -> u64 {
    packet.payload & 0xffff_ffff
}

impl Probe for Side {
    #[inline]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.record.on_event(now, event);
        if let Some(capture) = &mut self.capture {
            capture.record(now, event, &self.arena);
        }
        let counts = &mut self.counts;
        match event {
            Event::Slot { capacity, used, rlc_bytes, .. } => {
                counts.slots += 1;
                counts.offered += capacity;
                counts.used += used;
                counts.rlc_bytes = *rlc_bytes;
            }
            Event::Departed { layer, sojourn, .. } => {
                counts.sojourn[*layer as usize].record(*sojourn);
            }
            Event::Marked { layer, .. } => counts.marks[*layer as usize] += 1,
            Event::Dropped { layer, packet, reason } => {
                counts.drops[*layer as usize][*reason as usize] += 1;
                self.by_name.dropped(packet.flow, &self.record);
                self.on_their_way.end(packet.flow);
                self.arena.give_back(buffer_of(packet));
            }
            Event::Enqueued { .. } | Event::Withdrawn { .. } | Event::Quantum { .. } => {}
        }
    }
}

impl Egress for Side {
    #[inline]
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.record.delivered(now, packet, bound);
        self.by_name.left(packet, now.since(packet.entered), &self.record);
        self.send(now, packet);
    }

    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.record.delivered_from_air(now, left, packet, bound);
        self.by_name.left(packet, left.since(packet.entered), &self.record);
        self.send(now, packet);
    }

    fn send_status(&mut self, now: Instant, ue: u32, handle: u32, bytes: u32) -> StatusWay {
        if !self.carries_statuses {
            return StatusWay::Delayed;
        }
        self.statuses.push((now, ue, handle, bytes));
        StatusWay::Carried
    }
}

impl Side {
    /// `packet` begins the delay of the air.
    #[inline]
    fn send(&mut self, now: Instant, packet: &Packet) {
        self.record.goodput(now, packet.flow, packet.payload >> 32);
        self.on_their_way.end(packet.flow);
        let handle = buffer_of(packet);
        if packet.ecn == Ecn::Ce {
            mark_ce(self.arena.packet(handle));
        }
        if let Some(capture) = &mut self.capture {
            capture.reached(now + self.air_delay, packet, &self.arena);
        }
        self.air.push(now, packet.size, Arrival { handle, ue: packet.ue });
    }
}
