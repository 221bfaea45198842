//! What listens to the stack for the world.

use crate::arena::Arena;
use crate::recorder::Recorder;
use crate::tap::{Listener, packet_of};
use justfull_base::packet::Protocol;
use justfull_base::{Ecn, Event, Instant, Packet, Probe};
use justfull_ran::Egress;
use justfull_tcp::{Ack, Segment};
use std::collections::VecDeque;

/// What listens to the stack: the recorder, the packets it gave back, and the segments that its packets stand for.
pub(super) struct Driver<T> {
    pub(super) recorder: Recorder,
    pub(super) tap: T,
    pub(super) delivered: VecDeque<Arrival>,
    pub(super) segments: Arena<Sent>,
    /// Acknowledgements on their way down.
    pub(super) acks: Arena<Ack>,
    /// Payload bytes of dropped segments, by flow.
    pub(super) lost: Vec<u64>,
}

/// A segment that its sender has given to the network.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) segment: Segment,
    pub(super) flow: u32,
}

/// What a UE sees of a packet.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) payload: u64,
    pub(super) flow: u32,
    pub(super) size: u32,
    pub(super) ce: bool,
}

impl Arrival {
    #[inline(always)]
    fn of(packet: &Packet) -> Self {
        let (payload, flow, size) = (packet.payload, packet.flow, packet.size);
        Self { payload, flow, size, ce: packet.ecn == Ecn::Ce }
    }
}

/// Packets of one slot that a world makes room for at its start.
const FIRST_DELIVERED: usize = 1024;

/// Segments that a world makes room for at its start: more than 10 MB of them.
const FIRST_SEGMENTS: usize = 16_384;

/// In a payload handle: what is behind it is an acknowledgement, not a segment.
pub(super) const ACK_HANDLE: u64 = 1 << 63;

impl<T: Listener> Driver<T> {
    pub(super) fn new(recorder: Recorder, tap: T, flows: usize) -> Self {
        Self {
            recorder,
            tap,
            delivered: VecDeque::with_capacity(FIRST_DELIVERED),
            segments: Arena::new(FIRST_SEGMENTS),
            acks: Arena::new(0),
            lost: vec![0; flows],
        }
    }

    /// The segment of `handle` goes no further.
    #[cold]
    pub(super) fn lose(&mut self, handle: u64) {
        let Sent { segment, flow } = self.segments.take(handle);
        self.lost[flow as usize] += u64::from(segment.len);
    }

    /// `bytes` of new payload reached the receiver of `flow`.
    #[inline]
    pub(super) fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.recorder.goodput(now, flow, bytes);
        if T::ACTIVE {
            self.tap.received(now, flow, bytes);
        }
    }
}

impl<T: Listener> Probe for Driver<T> {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.recorder.on_event(now, event);
        if T::ACTIVE {
            let carries =
                |packet: &&Packet| packet.protocol == Protocol::Tcp && packet.payload & ACK_HANDLE == 0;
            let segment =
                packet_of(event).filter(carries).map(|packet| &self.segments.peek(packet.payload).segment);
            self.tap.on_event(now, event, segment);
        }
        if let Event::Dropped { packet, .. } = event {
            match packet.protocol {
                Protocol::Tcp if packet.payload & ACK_HANDLE != 0 => {
                    self.acks.take(packet.payload & !ACK_HANDLE);
                }
                Protocol::Tcp => self.lose(packet.payload),
                Protocol::Icmp | Protocol::Udp | Protocol::Other => {
                    self.recorder.datagram_lost(packet.flow, packet.payload);
                }
            }
        }
    }
}

impl<T: Listener> Egress for Driver<T> {
    #[inline(always)]
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.recorder.delivered(now, packet, bound);
        self.delivered.push_back(Arrival::of(packet));
    }

    fn deliver_from_air(&mut self, now: Instant, left: Instant, packet: &Packet, bound: Option<Instant>) {
        self.recorder.delivered_from_air(now, left, packet, bound);
        if T::ACTIVE {
            self.tap.delivered(now, left, packet);
        }
        self.delivered.push_back(Arrival::of(packet));
    }
}
