//! The TCP receivers: of downloads and pages at UEs, of uploads at servers.

use justfull_base::Instant;
use justfull_run::route::Route;
use justfull_run::timers::Timers;
use justfull_tcp::{Ack, Receiver, Segment};

/// Takes the acknowledgements of receivers.
pub(crate) trait AckLink {
    /// `ack` leaves receiver `i`, whose data comes by `route`.
    fn send_ack(&mut self, now: Instant, i: u32, route: &Route, ack: Ack);
}

/// One receiver.
pub(crate) struct TcpReceiver {
    route: Route,
    pub(crate) receiver: Receiver,
}

/// All receivers; the sender of the same flow has the same number.
pub(crate) struct Receivers {
    members: Vec<TcpReceiver>,
    timers: Timers,
}

impl Receivers {
    /// An empty set with room for `members`.
    pub(crate) fn new(members: usize) -> Self {
        Self { members: Vec::with_capacity(members), timers: Timers::new(members) }
    }

    /// The next instant at which one of them acts; never while all wait.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.timers.next()
    }

    /// The first of them acts at `now`, its next instant.
    pub(crate) fn act<L: AckLink>(&mut self, now: Instant, links: &mut L) {
        if let Some(i) = self.timers.pop(now) {
            let ack = self.members[i as usize].receiver.on_timer(now);
            self.answer(now, i, ack, links);
        }
    }

    /// Adds the receiver of the sender that was added last.
    pub(crate) fn add(&mut self, route: Route, receiver: Receiver) {
        self.members.push(TcpReceiver { route, receiver });
    }

    /// The receivers in order of their numbers.
    pub(crate) fn all(&self) -> &[TcpReceiver] {
        &self.members
    }

    /// Bytes that receiver `i` has in order.
    pub(crate) fn delivered_bytes(&self, i: u32) -> u64 {
        self.members[i as usize].receiver.delivered_bytes()
    }

    /// `segment` reaches receiver `i`, with congestion experienced if `ce`. Returns the number of
    /// new bytes.
    #[inline(always)]
    pub(crate) fn receive<L: AckLink>(
        &mut self,
        now: Instant,
        i: u32,
        segment: &Segment,
        ce: bool,
        links: &mut L,
    ) -> u64 {
        let receiver = &mut self.members[i as usize].receiver;
        let before = receiver.received_bytes();
        let ack = receiver.on_segment(now, segment, ce);
        let new = receiver.received_bytes() - before;
        self.answer(now, i, ack, links);
        new
    }

    /// Receiver `i` advertises its window to its sender.
    pub(crate) fn update_window<L: AckLink>(&mut self, now: Instant, i: u32, links: &mut L) {
        let ack = self.members[i as usize].receiver.window_update();
        self.answer(now, i, Some(ack), links);
    }

    #[inline(always)]
    fn answer<L: AckLink>(&mut self, now: Instant, i: u32, ack: Option<Ack>, links: &mut L) {
        let TcpReceiver { route, receiver } = &self.members[i as usize];
        if let Some(at) = receiver.next_timer() {
            self.timers.arm(i, at);
        }
        if let Some(ack) = ack {
            links.send_ack(now, i, route, ack);
        }
    }
}
