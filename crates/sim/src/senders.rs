//! The TCP senders: of downloads and pages at servers, of uploads at UEs.

use justfull_base::{BitRate, Duration, Instant};
use justfull_ran::FiveTuple;
use justfull_run::route::Route;
use justfull_run::timers::Timers;
use justfull_tcp::{Ack, Outlet, Segment, Sender, SenderConfig};

/// Takes the segments of senders.
pub(crate) trait SegmentLink {
    /// `segment` leaves sender `i`, whose data goes by `route`.
    fn send_segment(&mut self, now: Instant, i: u32, route: &Route, segment: Segment);
}

/// The link of the segments that sender `i` sends at `now`.
struct Way<'a, L> {
    now: Instant,
    i: u32,
    route: &'a Route,
    links: &'a mut L,
}

impl<L: SegmentLink> Outlet for Way<'_, L> {
    #[inline(always)]
    fn take(&mut self, segment: Segment) {
        self.links.send_segment(self.now, self.i, self.route, segment);
    }
}

/// The writes of a sender's application.
struct Writer {
    /// Time of the next write; never after the last.
    next: Instant,
    start: Instant,
    /// None: writes everything at the start.
    rate: Option<BitRate>,
    written: u64,
}

/// The new connections that a sender opens.
pub(crate) struct Reconnects {
    /// Settings of a connection.
    pub(crate) config: SenderConfig,
    /// Key of the random numbers of its control.
    pub(crate) key: u64,
    /// The 5-tuple of the last connection.
    pub(crate) tuple: FiveTuple,
}

/// One sender.
pub(crate) struct TcpSender {
    pub(crate) route: Route,
    pub(crate) sender: Sender,
    /// Total bytes to send; none for endless data, or for data on request.
    size: Option<u64>,
    writer: Writer,
    /// Each request opens a new connection.
    reconnects: Option<Box<Reconnects>>,
    /// When the last byte of `size` was acknowledged.
    pub(crate) completed: Option<Instant>,
}

/// All senders; the receiver of the same flow has the same number.
pub(crate) struct Senders {
    members: Vec<TcpSender>,
    timers: Timers,
}

impl Writer {
    /// Writes `size` bytes, or endlessly, from `start` on.
    const fn new(start: Instant, rate: Option<BitRate>) -> Self {
        Self { next: start, start, rate, written: 0 }
    }

    /// Bytes to write now. At a rate, it writes a segment of `mss` at a time, the k-th at k segment
    /// times after the start, so that rounding errors do not add up.
    fn write(&mut self, mss: u32, size: Option<u64>) -> u64 {
        let Some(rate) = self.rate else {
            self.next = Instant::NEVER;
            return size.unwrap_or(u64::MAX);
        };
        let left = size.map_or(u64::MAX, |size| size - self.written);
        let bytes = left.min(u64::from(mss));
        self.written += bytes;
        let done = bytes == left;
        self.next =
            if done { Instant::NEVER } else { self.start + rate.time_for_ceil(self.written) };
        bytes
    }
}

impl Senders {
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
    pub(crate) fn act<L: SegmentLink>(&mut self, now: Instant, links: &mut L) {
        if let Some(i) = self.timers.pop(now) {
            let flow = &mut self.members[i as usize];
            if flow.writer.next <= now {
                let bytes = flow.writer.write(flow.sender.mss(), flow.size);
                flow.sender.write(bytes);
            }
            flow.sender.on_timer(now);
            self.transmit(now, i, links);
        }
    }

    /// Adds a sender of `size` bytes, or endless data, from `start` on. With a `rate` its
    /// application writes at that rate, otherwise all at once.
    pub(crate) fn add(
        &mut self,
        route: Route,
        sender: Sender,
        size: Option<u64>,
        rate: Option<BitRate>,
        start: Instant,
    ) {
        self.timers.arm(self.members.len() as u32, start);
        let writer = Writer::new(start, rate);
        self.push(route, sender, size, writer);
    }

    fn push(&mut self, route: Route, sender: Sender, size: Option<u64>, writer: Writer) {
        let (reconnects, completed) = (None, None);
        self.members.push(TcpSender { route, sender, size, writer, reconnects, completed });
    }

    /// Adds a sender that sends requested data, over a new connection for each request if it
    /// `reconnects`.
    pub(crate) fn add_server(
        &mut self,
        route: Route,
        sender: Sender,
        reconnects: Option<Box<Reconnects>>,
    ) {
        let (writer, size, completed) = (Writer::new(Instant::NEVER, None), None, None);
        self.members.push(TcpSender { route, sender, size, writer, reconnects, completed });
    }

    /// Adds a sender that sends data given to it over time, `size` bytes in all or endlessly.
    pub(crate) fn add_relay(&mut self, route: Route, sender: Sender, size: Option<u64>) {
        self.push(route, sender, size, Writer::new(Instant::NEVER, None));
    }

    /// The senders in order of their numbers.
    pub(crate) fn all(&self) -> &[TcpSender] {
        &self.members
    }

    /// True if one of the senders opens new connections.
    pub(crate) fn reconnect(&self) -> bool {
        self.members.iter().any(|member| member.reconnects.is_some())
    }

    /// `ack` reaches sender `i`, which may [`transmit`](Senders::transmit) afterwards. Returns its
    /// sample of the round-trip time.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant, i: u32, ack: &Ack) -> Option<Duration> {
        let flow = &mut self.members[i as usize];
        let sample = flow.sender.on_ack(now, ack);
        if flow.completed.is_none() && flow.size == Some(flow.sender.acked_bytes()) {
            flow.completed = Some(now);
        }
        sample
    }

    /// The number of the flow of sender `i` and the 5-tuple of the new connection for the request
    /// that reaches it; none if it opens no connection. Each connection comes from another port of
    /// the UE.
    pub(crate) fn reconnects(&mut self, i: u32) -> Option<(u32, FiveTuple)> {
        let TcpSender { route, reconnects, .. } = &mut self.members[i as usize];
        let tuple = &mut reconnects.as_mut()?.tuple;
        tuple.destination_port = tuple.destination_port.wrapping_add(1);
        Some((route.flow, *tuple))
    }

    /// Sender `i` gets `bytes` more to send.
    pub(crate) fn write<L: SegmentLink>(
        &mut self,
        now: Instant,
        i: u32,
        bytes: u64,
        links: &mut L,
    ) {
        let TcpSender { sender, reconnects, .. } = &mut self.members[i as usize];
        if let Some(reconnects) = reconnects {
            let done = sender.reconnect(&reconnects.config, reconnects.key);
            debug_assert!(done.is_ok(), "a sender has been made by these settings");
        }
        sender.write(bytes);
        self.transmit(now, i, links);
    }

    /// Sets the window of sender `i`, whose control leaves the window to its owner.
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

    /// Sends the segments that sender `i` may send now.
    #[inline]
    pub(crate) fn transmit<L: SegmentLink>(&mut self, now: Instant, i: u32, links: &mut L) {
        let TcpSender { route, sender, writer, .. } = &mut self.members[i as usize];
        if now >= route.stop && !sender.is_closed() {
            sender.stop();
            writer.next = Instant::NEVER;
        }
        sender.transmit(now, &mut Way { now, i, route, links });
        let at = sender.next_timer().unwrap_or(Instant::NEVER).min(writer.next);
        if at != Instant::NEVER {
            self.timers.arm(i, at);
        }
    }
}
