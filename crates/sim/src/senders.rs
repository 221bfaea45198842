//! The TCP senders: of downloads and pages at servers, of uploads at UEs.

use crate::node::Node;
use crate::route::Route;
use crate::timers::Timers;
use justfull_base::Instant;
use justfull_tcp::{Ack, Segment, Sender};

/// Takes the segments of senders.
pub(crate) trait SegmentLink {
    /// `segment` leaves sender `i`, whose data goes by `route`.
    fn send_segment(&mut self, now: Instant, i: u32, route: &Route, segment: Segment);
}

/// One sender.
pub(crate) struct TcpSender {
    pub(crate) route: Route,
    pub(crate) sender: Sender,
    /// Total bytes to send; none for endless data, or for data on request.
    size: Option<u64>,
    started: bool,
    /// When the last byte of `size` was acknowledged.
    pub(crate) completed: Option<Instant>,
}

/// All senders; the receiver of the same flow has the same number.
pub(crate) struct Senders {
    members: Vec<TcpSender>,
    timers: Timers,
}

impl Senders {
    /// None yet, of `members` to come.
    pub(crate) fn new(members: usize) -> Self {
        Self { members: Vec::with_capacity(members), timers: Timers::new(members) }
    }

    /// When one of them acts next; never while all wait.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.timers.next()
    }

    /// Adds a sender that has `size` bytes to send from `start` on, or data without end.
    pub(crate) fn add(&mut self, route: Route, sender: Sender, size: Option<u64>, start: Instant) {
        self.timers.arm(self.members.len() as u32, start);
        self.members.push(TcpSender { route, sender, size, started: false, completed: None });
    }

    /// Adds a sender that sends what is requested from it.
    pub(crate) fn add_server(&mut self, route: Route, sender: Sender) {
        self.members.push(TcpSender { route, sender, size: None, started: true, completed: None });
    }

    /// Adds a sender that sends what it is given over time, `size` bytes in all or without end.
    pub(crate) fn add_relay(&mut self, route: Route, sender: Sender, size: Option<u64>) {
        self.members.push(TcpSender { route, sender, size, started: true, completed: None });
    }

    /// The senders in order of their numbers.
    pub(crate) fn all(&self) -> &[TcpSender] {
        &self.members
    }

    /// `ack` reaches sender `i`.
    #[inline]
    pub(crate) fn acknowledge<L: SegmentLink>(
        &mut self,
        now: Instant,
        i: u32,
        ack: &Ack,
        links: &mut L,
    ) {
        let flow = &mut self.members[i as usize];
        flow.sender.on_ack(now, ack);
        if flow.completed.is_none() && flow.size == Some(flow.sender.acked_bytes()) {
            flow.completed = Some(now);
        }
        self.transmit(now, i, links);
    }

    /// Sender `i` is asked for `bytes` more.
    pub(crate) fn write<L: SegmentLink>(
        &mut self,
        now: Instant,
        i: u32,
        bytes: u64,
        links: &mut L,
    ) {
        self.members[i as usize].sender.write(bytes);
        self.transmit(now, i, links);
    }

    /// Sets the window of sender `i`, whose control leaves that to its owner.
    pub(crate) fn set_window<L: SegmentLink>(
        &mut self,
        now: Instant,
        i: u32,
        bytes: u64,
        links: &mut L,
    ) {
        let taken = self.members[i as usize].sender.set_window(bytes);
        debug_assert!(taken, "its control is `fixed`");
        self.transmit(now, i, links);
    }

    /// Sends what sender `i` may send now.
    #[inline]
    fn transmit<L: SegmentLink>(&mut self, now: Instant, i: u32, links: &mut L) {
        let TcpSender { route, sender, .. } = &mut self.members[i as usize];
        if now >= route.stop && !sender.is_closed() {
            sender.stop();
        }
        sender.transmit(now, |segment| links.send_segment(now, i, route, segment));
        if let Some(at) = sender.next_timer() {
            self.timers.arm(i, at);
        }
    }
}

impl<L: SegmentLink> Node<L> for Senders {
    fn act(&mut self, now: Instant, links: &mut L) {
        if let Some(i) = self.timers.pop(now) {
            let flow = &mut self.members[i as usize];
            if !flow.started {
                flow.started = true;
                flow.sender.write(flow.size.unwrap_or(u64::MAX));
            }
            flow.sender.on_timer(now);
            self.transmit(now, i, links);
        }
    }
}
