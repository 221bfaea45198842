//! Applications: datagram sources at servers, their peers at UEs, browsers, and video calls.

mod calls;

use crate::calendar::Calendar;
use crate::links::{Arrival, Links, way};
use crate::node::Node;
use justfull_base::{Instant, Packet, Rng};
use justfull_run::route::Route;
use justfull_run::sources::{Kind, Source};
use justfull_run::tap::Listener;
use justfull_run::traffic::{Browser, FrameProgress, PageConfig, Request, Wish};
use justfull_run::uplink::{Up, Way};
use justfull_run::{AppEvent, sent_at};

use calls::Call;

/// The owner of a timer.
#[derive(Clone, Copy)]
enum Timed {
    Source(u32),
    Page(u32),
    /// The sender of a video call.
    Call(u32),
    /// The UE of a video call.
    Reports(u32),
}

/// A browser, its connections and the requests it is about to send.
struct Page {
    browser: Browser,
    route: Route,
    /// Number of its first connection among the TCP flows; the others follow it.
    first: u32,
    timer: u32,
    out: Vec<Request>,
}

/// All applications.
pub(crate) struct Applications {
    sources: Vec<Source>,
    pages: Vec<Page>,
    calls: Vec<Call>,
    /// Members of `timers`.
    timed: Vec<Timed>,
    timers: Calendar,
}

impl Applications {
    /// An empty set with room for `members`.
    pub(crate) fn new(members: usize) -> Self {
        Self {
            sources: Vec::with_capacity(members),
            pages: Vec::new(),
            calls: Vec::new(),
            timed: Vec::with_capacity(members),
            timers: Calendar::new(members),
        }
    }

    /// The next instant at which one of them acts; never while all wait.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.timers.next()
    }

    /// Adds `source`, which first sends at `first`; returns its number.
    pub(crate) fn add_source(&mut self, source: Source, first: Instant) -> u32 {
        let number = self.sources.len() as u32;
        self.add_timer(Timed::Source(number), first);
        self.sources.push(source);
        number
    }

    /// Adds the browser of `config` from `start` on, with TCP flow `first` as its first connection;
    /// returns its number.
    pub(crate) fn add_page(
        &mut self,
        route: Route,
        config: &PageConfig,
        first: u32,
        start: Instant,
        seed: u64,
        mtu: u32,
    ) -> u32 {
        let rng = Rng::stream(seed, &format!("page.{}", route.flow));
        let (browser, first_page) = Browser::new(config, mtu, start, route.stop, rng);
        let number = self.pages.len() as u32;
        let timer = self.add_timer(Timed::Page(number), first_page);
        self.pages.push(Page { browser, route, first, timer, out: Vec::new() });
        number
    }

    fn add_timer(&mut self, timed: Timed, at: Instant) -> u32 {
        let timer = self.timed.len() as u32;
        self.timed.push(timed);
        self.timers.arm(timer, at);
        timer
    }

    /// Number of the flow of source `i`.
    pub(crate) fn flow_of(&self, i: u32) -> u32 {
        self.sources[i as usize].route.flow
    }

    fn wake_source<T: Listener>(&mut self, now: Instant, timer: u32, i: u32, links: &mut Links<T>) {
        let source = &mut self.sources[i as usize];
        let Route { flow, wire, .. } = source.route;
        let tracked = source.route.tracked();
        if let (Kind::Asked(_), Some((size, _))) = (&source.kind, source.datagram(now)) {
            let recorder = &mut links.monitor.recorder;
            recorder.app_event(flow, now, AppEvent::Sent);
            if !links.uplink.push(now, wire, size, Up::Asked(i, now), || way(&source.route)) {
                recorder.app_event(flow, now, AppEvent::Lost);
            }
            if let Some(at) = source.after(now) {
                self.timers.arm(timer, at);
            }
            return;
        }
        let (protocol, core) = (source.route.protocol, &mut links.core);
        let fixed = Packet { flow, protocol, tracked, ..Packet::default() };
        match source.datagram(now) {
            Some((size, payload)) => core.push(now, wire, size, Packet { payload, size, ..fixed }),
            None => source.send_frame(now, &mut |size, payload| {
                core.push(now, wire, size, Packet { payload, size, ..fixed });
            }),
        }
        if matches!(source.kind, Kind::Echo | Kind::Frames(_)) {
            links.monitor.recorder.app_event(flow, now, AppEvent::Sent);
        }
        if let Some(at) = source.after(now) {
            self.timers.arm(timer, at);
        }
    }

    fn wake_page<T: Listener>(&mut self, now: Instant, page: u32, links: &mut Links<T>) {
        let Page { browser, route, out, .. } = &mut self.pages[page as usize];
        if browser.wake(now, out) {
            links.monitor.recorder.app_event(route.flow, now, AppEvent::Sent);
        }
        self.send_requests(now, page, links);
    }

    /// A datagram of source `i` reaches its UE.
    pub(crate) fn receive<T: Listener>(
        &mut self,
        now: Instant,
        i: u32,
        arrival: &Arrival,
        links: &mut Links<T>,
    ) {
        let source = &mut self.sources[i as usize];
        let payload = source.payload_of(arrival.size);
        links.monitor.received(now, arrival.flow, payload);
        let recorder = &mut links.monitor.recorder;
        match &mut source.kind {
            Kind::Plain => {}
            Kind::Echo => {
                let sent = sent_at(arrival.payload);
                let route = &source.route;
                let item = Up::Reply(i, sent);
                if !links.uplink.push(now, route.wire, arrival.size, item, || way(route)) {
                    recorder.app_event(arrival.flow, sent, AppEvent::Lost);
                }
            }
            Kind::Asked(_) => links.monitor.replied(now, arrival.flow, sent_at(arrival.payload)),
            Kind::Call => {
                let sent = sent_at(arrival.payload);
                recorder.app_event(arrival.flow, sent, AppEvent::Completed(now.since(sent)));
            }
            Kind::Frames(frames) => {
                let broken = |sent| recorder.app_event(arrival.flow, sent, AppEvent::Lost);
                let progress = frames.video.arrived(arrival.payload, payload, broken);
                if let FrameProgress::Complete(sent) = progress {
                    recorder.app_event(arrival.flow, sent, AppEvent::Completed(now.since(sent)));
                }
            }
        }
    }

    /// The UE of source `i`.
    pub(crate) fn ue_of(&self, i: u32) -> u32 {
        self.sources[i as usize].route.ue
    }

    /// The request that the UE of source `i` sent at `sent` reaches its server. The reply waits for
    /// the slot, which `slot_from` finds from a given instant on.
    #[cold]
    pub(crate) fn answer<T: Listener>(
        &mut self,
        now: Instant,
        i: u32,
        sent: Instant,
        slot_from: impl Fn(Instant) -> Instant,
        links: &mut Links<T>,
    ) {
        let source = &mut self.sources[i as usize];
        let Route { flow, wire, protocol, .. } = source.route;
        let tracked = source.route.tracked();
        links.monitor.requested(now, flow, sent);
        let reply = source.datagram(sent);
        if let (Kind::Asked(turn), Some((size, payload))) = (&mut source.kind, reply) {
            let packet = Packet { payload, flow, size, protocol, tracked, ..Packet::default() };
            let there = links.core.carry(now, wire, size);
            links.core.arrive_at(turn.after(slot_from(there)), packet);
        }
    }

    /// TCP flow `i`, a connection of `page`, has received a packet that its server sent at `sent`:
    /// it has `delivered` bytes in order.
    pub(crate) fn page_received<T: Listener>(
        &mut self,
        now: Instant,
        page: u32,
        i: u32,
        sent: Instant,
        delivered: u64,
        links: &mut Links<T>,
    ) {
        let Page { browser, route, first, timer, out, .. } = &mut self.pages[page as usize];
        let recorder = &mut links.monitor.recorder;
        recorder.app_event(route.flow, sent, AppEvent::Packet(now.since(sent)));
        let connection = (i - *first) as usize;
        let Wish { wake, loaded } = browser.arrived(now, connection, delivered, out, |requested| {
            recorder.app_event(route.flow, requested, AppEvent::Object(now.since(requested)));
        });
        if let Some(at) = wake {
            self.timers.arm(*timer, at);
        }
        if let Some((began, bytes)) = loaded {
            let loaded = AppEvent::Loaded(now.since(began), bytes);
            recorder.app_event(route.flow, began, loaded);
        }
        self.send_requests(now, page, links);
    }

    fn send_requests<T: Listener>(&mut self, now: Instant, page: u32, links: &mut Links<T>) {
        let Page { browser, route, first, timer, out } = &mut self.pages[page as usize];
        for requested in out.drain(..) {
            let item = Up::Request(*first + requested.connection, requested.bytes);
            let flow = route.flow + requested.connection;
            let way = || Way { flow, ..way(route) };
            if !links.uplink.push(now, route.wire, requested.size, item, way) {
                self.timers.arm(*timer, browser.refused(now, requested));
            }
        }
    }
}

impl<T: Listener> Node<Links<T>> for Applications {
    fn act(&mut self, now: Instant, links: &mut Links<T>) {
        if let Some(timer) = self.timers.pop(now) {
            match self.timed[timer as usize] {
                Timed::Source(i) => self.wake_source(now, timer, i, links),
                Timed::Page(page) => self.wake_page(now, page, links),
                Timed::Call(call) => self.wake_call(now, call, links),
                Timed::Reports(call) => self.send_report(now, call, links),
            }
        }
    }
}
