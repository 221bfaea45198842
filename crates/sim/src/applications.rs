//! Applications: datagram sources at servers, their peers at UEs, browsers, players and video
//! calls.

mod calls;

use crate::calendar::Calendar;
use crate::links::{Arrival, Links, way};
use justfull_base::{Instant, Packet};
use justfull_run::recorder::Recorder;
use justfull_run::route::Route;
use justfull_run::sources::{Inputs, Kind, Source};
use justfull_run::tap::Listener;
use justfull_run::traffic::{
    Browser, CompleteFrame, Fate, FrameProgress, Player, Request, Shown, Watched, Wish,
};
use justfull_run::uplink::{Up, Way};
use justfull_run::{AppEvent, sent_at};
use justfull_tcp::Segment;

use calls::Call;

/// The owner of a timer.
#[derive(Clone, Copy)]
enum Timed {
    Source(u32),
    /// The user of a source.
    User(u32),
    Client(u32),
    /// The sender of a video call.
    Call(u32),
    /// The UE of a video call.
    Reports(u32),
}

/// The application that requests data over TCP.
pub(crate) enum Requester {
    Browser(Box<Browser>),
    Player(Box<Player>),
}

/// A browser or a player, its connections and the requests it is about to send.
struct Client {
    requester: Requester,
    route: Route,
    /// Number of its first connection among the TCP flows; the others follow it.
    first: u32,
    timer: u32,
    out: Vec<Request>,
}

/// A packet that a connection of a client received.
pub(crate) struct Received {
    pub(crate) segment: Segment,
    /// Bytes of it that are new.
    pub(crate) new: u64,
    /// Bytes that the connection has in order.
    pub(crate) delivered: u64,
}

/// All applications.
pub(crate) struct Applications {
    sources: Vec<Source>,
    clients: Vec<Client>,
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
            clients: Vec::new(),
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

    /// The first of them acts at `now`, its next instant.
    pub(crate) fn act<T: Listener>(&mut self, now: Instant, links: &mut Links<T>) {
        if let Some(timer) = self.timers.pop(now) {
            match self.timed[timer as usize] {
                Timed::Source(i) => self.wake_source(now, timer, i, links),
                Timed::User(i) => self.wake_user(now, timer, i, links),
                Timed::Client(client) => self.wake_client(now, client, links),
                Timed::Call(call) => self.wake_call(now, call, links),
                Timed::Reports(call) => self.send_report(now, call, links),
            }
        }
    }

    /// Adds `source`, which first sends at `first`; returns its number.
    pub(crate) fn add_source(&mut self, source: Source, first: Instant) -> u32 {
        let number = self.sources.len() as u32;
        self.add_timer(Timed::Source(number), first);
        if source.inputs().is_some() {
            self.add_timer(Timed::User(number), first);
        }
        self.sources.push(source);
        number
    }

    /// Adds `requester`, which first acts at `at`, with TCP flow `first` as its first connection;
    /// returns its number.
    pub(crate) fn add_client(
        &mut self,
        route: Route,
        requester: Requester,
        first: u32,
        at: Instant,
    ) -> u32 {
        let number = self.clients.len() as u32;
        let timer = self.add_timer(Timed::Client(number), at);
        self.clients.push(Client { requester, route, first, timer, out: Vec::new() });
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
            None => source.send_frame(now, &mut |size, payload, set| {
                core.push(now, wire, size, Packet { payload, size, set, ..fixed });
            }),
        }
        if matches!(source.kind, Kind::Echo | Kind::Frames(_)) {
            links.monitor.recorder.app_event(flow, now, AppEvent::Sent);
        }
        if let Some(at) = source.after(now) {
            self.timers.arm(timer, at);
        }
    }

    /// The user of source `i` sends an input.
    #[cold]
    fn wake_user<T: Listener>(&mut self, now: Instant, timer: u32, i: u32, links: &mut Links<T>) {
        let source = &self.sources[i as usize];
        let Route { flow, wire, stop, .. } = source.route;
        let Some(Inputs { interval, size }) = source.inputs() else { return };
        links.monitor.recorder.app_event(flow, now, AppEvent::Input);
        // An input that finds no room is lost; the flow has counted it.
        links.uplink.push(now, wire, size, Up::Input(i, now), || way(&source.route));
        if now + interval < stop {
            self.timers.arm(timer, now + interval);
        }
    }

    /// The input that the user of source `i` sent at `sent` reaches its server.
    #[cold]
    pub(crate) fn take_input(&mut self, i: u32, sent: Instant) {
        if let Kind::Frames(frames) = &mut self.sources[i as usize].kind {
            frames.video.input(sent);
        }
    }

    fn wake_client<T: Listener>(&mut self, now: Instant, client: u32, links: &mut Links<T>) {
        let Client { requester, route, out, .. } = &mut self.clients[client as usize];
        match requester {
            Requester::Browser(browser) => {
                if browser.wake(now, out) {
                    links.monitor.recorder.app_event(route.flow, now, AppEvent::Sent);
                }
            }
            Requester::Player(player) => player.wake(now, out),
        }
        self.send_requests(now, client, links);
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
                let flow = arrival.flow;
                let fate = |sent: Instant, fate| {
                    let event = match fate {
                        Fate::Broken => AppEvent::Lost,
                        Fate::Shown => AppEvent::Reacted(now.since(sent)),
                    };
                    recorder.app_event(flow, sent, event);
                };
                let progress = frames.video.arrived(now, arrival.payload, payload, fate);
                if let FrameProgress::Complete(CompleteFrame { sent, frozen }) = progress {
                    recorder.app_event(flow, sent, AppEvent::Completed(now.since(sent)));
                    if let Some(since) = frozen {
                        let to = now.min(source.route.stop);
                        recorder.app_span(flow, since, to, AppEvent::Stalled);
                    }
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

    /// TCP flow `i`, a connection of `client`, has `received` a packet.
    pub(crate) fn client_received<T: Listener>(
        &mut self,
        now: Instant,
        client: u32,
        i: u32,
        received: &Received,
        links: &mut Links<T>,
    ) {
        let &Received { segment: Segment { seq, len, sent_at: sent, .. }, new, delivered } =
            received;
        let Client { requester, route, first, timer, out } = &mut self.clients[client as usize];
        let recorder = &mut links.monitor.recorder;
        let browser = match requester {
            Requester::Browser(browser) => browser,
            Requester::Player(player) => {
                let shown = player.arrived(now, delivered, out);
                if let Some(at) = shown.wake {
                    self.timers.arm(*timer, at);
                }
                record(now, route.flow, &shown, recorder);
                return self.send_requests(now, client, links);
            }
        };
        recorder.app_event(route.flow, sent, AppEvent::Packet(now.since(sent)));
        let connection = (i - *first) as usize;
        // A segment that is new in part counts once the bytes before it are there.
        if new == u64::from(len) {
            browser.arrived_apart(connection, seq, seq + new);
        }
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
        self.send_requests(now, client, links);
    }

    /// The request for `bytes` over TCP flow `i`, a connection of `client`, reaches the server,
    /// which has not sent the last `unsent` bytes of earlier answers.
    pub(crate) fn reached_server(&mut self, client: u32, i: u32, bytes: u64, unsent: u64) {
        let Client { requester, first, .. } = &mut self.clients[client as usize];
        if let Requester::Browser(browser) = requester {
            browser.reached_server((i - *first) as usize, bytes, unsent);
        }
    }

    fn send_requests<T: Listener>(&mut self, now: Instant, client: u32, links: &mut Links<T>) {
        let Client { requester, route, first, timer, out } = &mut self.clients[client as usize];
        for requested in out.drain(..) {
            let item = Up::Request(*first + requested.connection, requested.bytes);
            let flow = route.flow + requested.connection;
            let way = || Way { flow, ..way(route) };
            if !links.uplink.push(now, route.wire, requested.size, item, way) {
                let again = match requester {
                    Requester::Browser(browser) => browser.refused(now, requested),
                    Requester::Player(player) => player.refused(now, requested),
                };
                self.timers.arm(*timer, again);
            }
        }
    }

    /// Records the times in which users watched, in a run that ends at `end`.
    pub(crate) fn finish(&mut self, end: Instant, recorder: &mut Recorder) {
        for Source { kind, route, .. } in &self.sources {
            if let Kind::Frames(frames) = kind {
                let to = end.min(route.stop);
                let (from, frozen) = frames.video.watched(to);
                recorder.app_span(route.flow, from, to, AppEvent::Watched);
                if let Some(since) = frozen {
                    recorder.app_span(route.flow, since, to, AppEvent::Stalled);
                }
                frames.video.open(end, |sent| recorder.app_event(route.flow, sent, AppEvent::Open));
            }
        }
        self.finish_calls(end, recorder);
        for Client { requester, route, .. } in &mut self.clients {
            if let Requester::Player(player) = requester
                && let Some(Watched { from, to, stalled }) = player.watched(end)
            {
                recorder.app_span(route.flow, from, to, AppEvent::Watched);
                if let Some(since) = stalled {
                    recorder.app_span(route.flow, since, to, AppEvent::Stalled);
                }
            }
        }
    }
}

/// Records what the player of `flow` has `shown`.
fn record(now: Instant, flow: u32, shown: &Shown, recorder: &mut Recorder) {
    if let Some(chunk) = shown.chunk {
        recorder.app_event(flow, chunk.asked, AppEvent::Chunk(chunk, now.since(chunk.asked)));
    }
    if let Some(after) = shown.started {
        recorder.playback_started(flow, after);
    }
    if let Some(since) = shown.stalled {
        recorder.app_span(flow, since, now, AppEvent::Stalled);
    }
}
