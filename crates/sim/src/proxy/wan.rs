//! The wires between servers and the proxy, and the windows that the proxy offers over them.

use crate::receivers::AckLink;
use crate::senders::SegmentLink;
use justfull_base::{BitRate, Duration, Instant};
use justfull_run::route::Route;
use justfull_run::wire::Wires;
use justfull_tcp::accecn::AccEcnOption;
use justfull_tcp::{Ack, Segment};

/// A segment on its way to the proxy.
#[derive(Clone, Copy)]
pub(crate) struct Down {
    /// Number of the flow at the proxy.
    pub(crate) i: u32,
    pub(crate) segment: Segment,
    /// Its timestamp echo reply (RFC 7323): the departure time of the last acknowledgement that had
    /// reached the server; none before the first.
    pub(crate) echo: Option<Instant>,
}

/// An acknowledgement on its way to the server.
#[derive(Clone, Copy)]
pub(crate) struct Up {
    pub(crate) i: u32,
    pub(crate) ack: Ack,
    sent_at: Instant,
}

/// The window offered to one flow's server, in offsets of its stream.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    /// Bytes beyond the arrived ones that the control allows.
    pub(crate) window: u64,
    /// Bytes of the flow that may be here, if fewer than the buffer holds.
    pub(crate) room: u64,
    /// Bytes that the UE has acknowledged and that have left the buffer.
    pub(crate) freed: u64,
    /// First byte never offered; an offer is never withdrawn.
    offered: u64,
    /// The next segment's [`Down::echo`].
    echo: Option<Instant>,
}

/// The wires and windows of all flows.
pub(crate) struct Wan {
    pub(crate) down: Wires<Down>,
    pub(crate) up: Wires<Up>,
    /// By the number of the flow at the proxy.
    pub(crate) offers: Vec<Offer>,
    buffer: u64,
}

impl Wan {
    /// Wires to and from servers with extra `delays`, on top of the delay `core` from the servers
    /// and `wan` to them. Their links have `rate`; each flow has a buffer of `buffer` bytes.
    pub(crate) fn new(
        rate: BitRate,
        core: Duration,
        wan: Duration,
        delays: &[Duration],
        buffer: u64,
    ) -> Self {
        Self {
            down: Wires::new(rate, delays.iter().map(|d| core + *d)),
            up: Wires::new(BitRate(0), delays.iter().map(|d| wan + *d)),
            offers: Vec::new(),
            buffer,
        }
    }

    /// Opens a flow with a window of `window` bytes. Returns the acknowledgement that carries the
    /// window to the server, like the end of a handshake.
    pub(crate) fn open(&mut self, window: u64) -> Ack {
        let offered = window.min(self.buffer);
        self.offers.push(Offer { window, room: u64::MAX, freed: 0, offered, echo: None });
        Ack {
            cumulative: 0,
            window: offered,
            ts_echo: Instant::ZERO,
            sack: Default::default(),
            sack_len: 0,
            flags: 0,
            syn: false,
            ecn: justfull_base::Ecn::NotEct,
            option: AccEcnOption::NONE,
        }
    }

    /// Maximum number of bytes of a flow that may be here.
    pub(crate) const fn buffer(&self) -> u64 {
        self.buffer
    }

    /// The next arrival at a server or at the proxy.
    pub(crate) fn next(&self) -> Instant {
        self.down.next().min(self.up.next())
    }

    /// First byte that flow `i` may not send, if all bytes below `arrived` are here.
    fn edge(&self, i: u32, arrived: u64) -> u64 {
        let offer = &self.offers[i as usize];
        let room = offer.room.min(self.buffer);
        arrived.saturating_add(offer.window).min(offer.freed + room)
    }

    /// True if the server of flow `i` may send less than the control allows, for lack of room.
    pub(crate) fn is_held(&self, i: u32, arrived: u64) -> bool {
        let offer = &self.offers[i as usize];
        offer.freed + offer.room.min(self.buffer) < arrived.saturating_add(offer.window)
    }

    /// True if the server of flow `i` must get a window update at once: if the edge has moved by at
    /// least a segment and by at least the bytes that the server may send now. Linux sends window
    /// updates in the same cases.
    pub(crate) fn has_news(&self, i: u32, arrived: u64, mss: u64) -> bool {
        let offered = self.offers[i as usize].offered;
        let open = offered.saturating_sub(arrived);
        self.edge(i, arrived) >= offered.max(arrived).saturating_add(open.max(mss))
    }

    /// An acknowledgement that has reached a server by `now`.
    pub(crate) fn at_server(&mut self, now: Instant) -> Option<Up> {
        let up = self.up.pop(now)?;
        self.offers[up.i as usize].echo = Some(up.sent_at);
        Some(up)
    }
}

impl SegmentLink for Wan {
    fn send_segment(&mut self, now: Instant, i: u32, route: &Route, segment: Segment) {
        let echo = self.offers[i as usize].echo;
        self.down.push(now, route.wire, segment.len + route.header(), Down { i, segment, echo });
    }
}

impl AckLink for Wan {
    /// The window is the control's and the buffer's, not the receiver's.
    fn send_ack(&mut self, now: Instant, i: u32, route: &Route, mut ack: Ack) {
        let edge = self.edge(i, ack.cumulative);
        let offer = &mut self.offers[i as usize];
        offer.offered = offer.offered.max(edge).max(ack.cumulative);
        ack.window = offer.offered - ack.cumulative;
        self.up.push(now, route.wire, route.ack(), Up { i, ack, sent_at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::packet::Protocol;
    use justfull_run::route::Marks;

    fn wan(buffer: u64, window: u64) -> Wan {
        let mut wan =
            Wan::new(BitRate(0), Duration::ZERO, Duration::ZERO, &[Duration::ZERO], buffer);
        assert_eq!(wan.open(window).window, window.min(buffer));
        wan
    }

    fn ack(cumulative: u64) -> Ack {
        Ack { cumulative, ..wan(0, 0).open(0) }
    }

    const ROUTE: Route = Route {
        flow: 0,
        ue: 0,
        wire: 0,
        protocol: Protocol::Tcp,
        marks: Marks::NONE,
        header: 52,
        ack: 52,
        stop: Instant::NEVER,
    };

    /// The window that an acknowledgement of `cumulative` carries to the server.
    fn offered(wan: &mut Wan, cumulative: u64) -> u64 {
        wan.send_ack(Instant::ZERO, 0, &ROUTE, ack(cumulative));
        wan.at_server(Instant::ZERO).expect("it has arrived").ack.window
    }

    #[test]
    fn the_window_is_the_smaller_of_the_controls_and_the_free_buffer() {
        let mut wan = wan(10_000, 4_000);
        assert_eq!(offered(&mut wan, 0), 4_000);
        assert_eq!(offered(&mut wan, 5_000), 4_000);
        assert_eq!(offered(&mut wan, 7_000), 3_000, "10 000 less what the UE has not acknowledged");
        assert_eq!(offered(&mut wan, 10_000), 0, "full");
        wan.offers[0].freed = 1_000;
        assert!(wan.has_news(0, 10_000, 1_000) && !wan.has_news(0, 10_000, 1_001));
        assert_eq!(offered(&mut wan, 10_000), 1_000);
    }

    #[test]
    fn an_offered_window_is_not_withdrawn_and_an_update_comes_when_it_has_doubled() {
        let mut wan = wan(100_000, 40_000);
        assert_eq!(offered(&mut wan, 0), 40_000);
        wan.offers[0].window = 2_000;
        assert_eq!(offered(&mut wan, 10_000), 30_000);
        assert_eq!(offered(&mut wan, 39_000), 2_000);
        wan.offers[0].window = 3_999;
        assert!(!wan.has_news(0, 39_000, 1_000));
        wan.offers[0].window = 4_000;
        assert!(wan.has_news(0, 39_000, 1_000));
        wan.offers[0].window = u64::MAX;
        assert_eq!(offered(&mut wan, 39_000), 61_000);
        wan.offers[0].room = 1_000;
        assert_eq!(offered(&mut wan, 99_000), 1_000);
        wan.offers[0].freed = 99_500;
        assert_eq!(offered(&mut wan, 100_000), 500, "that much of it may be here");
    }

    #[test]
    fn a_segment_echoes_the_acknowledgement_that_its_server_heard_last() {
        let (mut wan, at) = (wan(10_000, 4_000), |ns| Instant::from_nanos(ns));
        let segment = Segment {
            seq: 0,
            len: 100,
            retransmission: false,
            sent_at: Instant::ZERO,
            ecn: justfull_base::Ecn::NotEct,
            flags: 0,
            mark: justfull_tcp::Mark::None,
        };
        wan.send_segment(at(0), 0, &ROUTE, segment);
        assert_eq!(wan.down.pop(at(0)).expect("it has arrived").echo, None);
        wan.send_ack(at(5), 0, &ROUTE, ack(100));
        wan.send_segment(at(6), 0, &ROUTE, segment);
        assert_eq!(wan.down.pop(at(6)).expect("it has arrived").echo, None, "not there yet");
        assert!(wan.at_server(at(7)).is_some());
        wan.send_segment(at(8), 0, &ROUTE, segment);
        assert_eq!(wan.down.pop(at(8)).expect("it has arrived").echo, Some(at(5)));
    }
}
