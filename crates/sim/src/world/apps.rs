//! Applications at the UEs: what answers datagrams, and browsers.

use super::{Arrival, World};
use crate::app::{Told, sent_at};
use crate::hosts::{Route, TcpFlow};
use crate::sources::Kind;
use crate::tap::Listener;
use crate::traffic::{Browser, FrameProgress, PageConfig, Request, Wish};
use crate::uplink::Up;
use justfull_base::{ConfigError, Instant, Rng};

/// A browser, its connections and the requests that it is about to send.
pub(super) struct Page {
    browser: Browser,
    route: Route,
    /// Number of its first connection among the TCP flows; the others follow.
    first: u32,
    request: u32,
    timer: u32,
    out: Vec<Request>,
}

impl<T: Listener> World<T> {
    /// A datagram of source `i` reaches its UE.
    pub(super) fn receive_datagram(&mut self, now: Instant, i: u32, arrival: &Arrival) {
        let source = &mut self.sources[i as usize];
        let payload = source.payload_of(arrival.size);
        self.driver.received(now, arrival.flow, payload);
        let recorder = &mut self.driver.recorder;
        match &mut source.kind {
            Kind::Plain => {}
            Kind::Echo => {
                let sent = sent_at(arrival.payload);
                let to = (source.route.ue, source.route.pipe);
                if !self.uplink.push(now, to, arrival.size, Up::Reply(i, sent)) {
                    recorder.app(arrival.flow, sent, Told::Lost);
                }
            }
            Kind::Call => {
                let sent = sent_at(arrival.payload);
                recorder.app(arrival.flow, sent, Told::Done(now.since(sent)));
            }
            Kind::Frames(frames) => {
                let broken = |sent| recorder.app(arrival.flow, sent, Told::Lost);
                if let FrameProgress::Complete(sent) = frames.video.arrived(arrival.payload, payload, broken)
                {
                    recorder.app(arrival.flow, sent, Told::Done(now.since(sent)));
                }
            }
        }
    }

    /// Makes the browser of `config`, whose connections have been added as the last of the TCP flows.
    pub(super) fn add_page(&mut self, route: Route, config: &PageConfig, start: Instant, seed: u64) {
        let rng = Rng::stream(seed, &format!("page.{}", route.flow));
        let (browser, first_page) = Browser::new(config, start, route.stop, rng);
        let page = self.pages.len() as u32;
        let timer = self.timed.len() as u32;
        self.timed.push(super::Timed::Page(page));
        self.source_timers.arm(timer, first_page);
        let first = self.tcp.len() as u32 - config.connections;
        self.pages.push(Page {
            browser,
            route,
            first,
            request: config.request.0 as u32,
            timer,
            out: Vec::new(),
        });
    }

    pub(super) fn wake_page(&mut self, now: Instant, page: u32) {
        let Page { browser, route, out, .. } = &mut self.pages[page as usize];
        if browser.wake(now, out) {
            self.driver.recorder.app(route.flow, now, Told::Began);
        }
        self.send_requests(now, page);
    }

    fn send_requests(&mut self, now: Instant, page: u32) {
        let Page { browser, route, first, request, timer, out } = &mut self.pages[page as usize];
        for asked in out.drain(..) {
            let item = Up::Request(*first + asked.connection, asked.bytes);
            if !self.uplink.push(now, (route.ue, route.pipe), *request, item) {
                self.source_timers.arm(*timer, browser.refused(now, asked));
            }
        }
    }

    /// A request for `bytes` on connection `i` reaches its server.
    pub(super) fn serve_request(&mut self, now: Instant, i: u32, bytes: u64) {
        self.tcp[i as usize].sender.write(bytes);
        self.transmit(now, i);
    }

    /// Connection `i` of `page` may have brought something new in order.
    pub(super) fn tell_page(&mut self, now: Instant, i: u32, page: u32) {
        let TcpFlow { receiver, .. } = &self.tcp[i as usize];
        let Page { browser, route, first, timer, out, .. } = &mut self.pages[page as usize];
        let connection = (i - *first) as usize;
        let Wish { wake, loaded } = browser.arrived(now, connection, receiver.delivered_bytes(), out);
        if let Some(at) = wake {
            self.source_timers.arm(*timer, at);
        }
        if let Some(began) = loaded {
            self.driver.recorder.app(route.flow, began, Told::Done(now.since(began)));
        }
        self.send_requests(now, page);
    }

    /// Adds the connections of a page: senders that write nothing until they are asked.
    pub(super) fn add_connections(&mut self, route: Route, config: &PageConfig) -> Result<(), ConfigError> {
        let page = self.pages.len() as u32;
        for c in 0..config.connections {
            let route = Route { flow: route.flow + c, ..route };
            self.ends.push(super::End::Page(self.tcp.len() as u32, page));
            self.add_tcp(route, (&config.sender, &config.receiver), None)?;
            if let Some(flow) = self.tcp.last_mut() {
                flow.started = true;
            }
        }
        Ok(())
    }
}
