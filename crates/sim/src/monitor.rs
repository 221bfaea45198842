//! Follows packets at every step, and stores their segments and acknowledgements while in transit.

use justfull_base::packet::Protocol;
use justfull_base::{Duration, Event, Instant, Packet, Probe};
use justfull_run::AppEvent;
use justfull_run::arena::Arena;
use justfull_run::recorder::Recorder;
use justfull_run::tap::{Listener, packet_of};
use justfull_run::uplink::Up;
use justfull_tcp::{Ack, Segment};

/// The recorder, the tap, and the content behind the payload handles of packets.
pub(crate) struct Monitor<T> {
    pub(crate) recorder: Recorder,
    pub(crate) tap: T,
    pub(crate) segments: Arena<Sent>,
    /// Acknowledgements of uploads, in transit to the UEs.
    acks: Arena<Ack>,
    /// True for a flow whose packets stand for segments and acknowledgements, under any protocol
    /// number.
    streams: Vec<bool>,
    /// Payload bytes of dropped segments, by flow.
    pub(crate) lost: Vec<u64>,
    /// Number of calls of nodes and links.
    pub(crate) calls: u64,
}

/// A segment in the network.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) segment: Segment,
    pub(crate) flow: u32,
}

/// Room for segments at the start of a world; they have more than 10 MB.
const FIRST_SEGMENTS: usize = 16_384;

/// Flag in a payload handle: it refers to an acknowledgement, not a segment.
const ACK_HANDLE: u64 = 1 << 63;

impl<T: Listener> Monitor<T> {
    /// A monitor of the flows in `streams`, each true for a TCP flow, also behind UDP's header.
    pub(crate) fn new(recorder: Recorder, tap: T, streams: Vec<bool>) -> Self {
        Self {
            recorder,
            tap,
            segments: Arena::new(FIRST_SEGMENTS),
            acks: Arena::new(0),
            lost: vec![0; streams.len()],
            streams,
            calls: 0,
        }
    }

    /// True if the payload of `packet` is the handle of a segment or an acknowledgement.
    #[inline]
    fn is_of_stream(&self, packet: &Packet) -> bool {
        packet.protocol == Protocol::Tcp || self.streams[packet.flow as usize]
    }

    /// Stores an acknowledgement that travels as a packet; returns its handle.
    pub(crate) fn put_ack(&mut self, ack: Ack) -> u64 {
        self.acks.put(ack) | ACK_HANDLE
    }

    /// The acknowledgement behind `handle`.
    pub(crate) fn take_ack(&mut self, handle: u64) -> Ack {
        self.acks.take(handle & !ACK_HANDLE)
    }

    /// The segment of `handle` is lost.
    #[cold]
    pub(crate) fn lose(&mut self, handle: u64) {
        let Sent { segment, flow } = self.segments.take(handle);
        self.lost[flow as usize] += u64::from(segment.len);
    }

    /// `item` of `flow`, which entered the uplink at `entered`, is lost there. True if it must be
    /// sent again: a request, which TCP would retransmit.
    #[cold]
    pub(crate) fn lose_up(&mut self, entered: Instant, flow: u32, item: &Up) -> bool {
        match *item {
            Up::Segment(_, payload) => {
                self.recorder.upload_dropped(entered, flow);
                self.lose(payload);
            }
            Up::Reply(_, sent) | Up::Asked(_, sent) => {
                self.recorder.app_event(flow, sent, AppEvent::Lost);
            }
            Up::Request(..) => return true,
            Up::Ack(..) | Up::Report(..) | Up::Status(_) | Up::Input(..) => {}
        }
        false
    }

    /// `ack` reaches the sender of `flow`, which takes this `sample` of the round-trip time.
    #[inline]
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        flow: u32,
        ack: &Ack,
        sample: Option<Duration>,
    ) {
        if let Some(rtt) = sample {
            self.recorder.rtt(now, flow, rtt);
        }
        if T::ACTIVE {
            self.tap.acknowledged(now, flow, ack, sample);
        }
    }

    /// The request that the UE of `flow` sent at `sent` reaches its server.
    #[cold]
    pub(crate) fn requested(&mut self, now: Instant, flow: u32, sent: Instant) {
        if T::ACTIVE {
            self.tap.requested(now, flow, sent);
        }
    }

    /// The reply to the request that `flow` sent at `sent` arrives.
    pub(crate) fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        self.recorder.replied(now, flow, sent);
        if T::ACTIVE {
            self.tap.replied(now, flow, sent);
        }
    }

    /// `bytes` of new payload reach the receiver of `flow`.
    #[inline(always)]
    pub(crate) fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.recorder.goodput(now, flow, bytes);
        if T::ACTIVE {
            self.tap.received(now, flow, bytes);
        }
    }

    /// `packet`, which left the RLC whole at `left`, arrives over the air.
    #[inline]
    pub(crate) fn delivered_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.recorder.delivered_from_air(now, left, packet, bound);
        if T::ACTIVE {
            self.tap.delivered(now, left, packet);
        }
    }
}

impl<T: Listener> Probe for Monitor<T> {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.recorder.on_event(now, event);
        if T::ACTIVE {
            let carries =
                |packet: &&Packet| self.is_of_stream(packet) && packet.payload & ACK_HANDLE == 0;
            let segment = packet_of(event)
                .filter(carries)
                .map(|packet| &self.segments.peek(packet.payload).segment);
            self.tap.on_event(now, event, segment);
        }
        if let Event::Dropped { packet, .. } = event {
            if !self.is_of_stream(packet) {
                self.recorder.datagram_lost(packet.flow, packet.payload);
            } else if packet.payload & ACK_HANDLE != 0 {
                self.take_ack(packet.payload);
            } else {
                self.lose(packet.payload);
            }
        }
    }
}
