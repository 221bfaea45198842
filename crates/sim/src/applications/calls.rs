//! Video calls: their senders at servers, and their UEs, which report over the uplink.

use super::{Applications, Timed};
use crate::links::{Arrival, Links, way};
use justfull_base::{ConfigError, Ecn, Instant, Packet};
use justfull_run::AppEvent;
use justfull_run::recorder::Recorder;
use justfull_run::route::Route;
use justfull_run::tap::Listener;
use justfull_run::traffic::{CompleteFrame, FrameProgress, VideoCall, VideoCallConfig};
use justfull_run::uplink::Up;
use justfull_tcp::media::MediaReport;

/// A call and its two timers.
pub(super) struct Call {
    route: Route,
    media: VideoCall,
    sender: u32,
    reports: u32,
}

impl Applications {
    /// Adds the call of `config` from `start` on; returns its number.
    pub(crate) fn add_call(
        &mut self,
        route: Route,
        config: &VideoCallConfig,
        start: Instant,
        seed: u64,
    ) -> Result<u32, ConfigError> {
        let (media, first) = VideoCall::new(config, route.flow, start, route.stop, seed)?;
        let number = self.calls.len() as u32;
        let sender = self.add_timer(Timed::Call(number), first);
        let reports = self.add_timer(Timed::Reports(number), Instant::NEVER);
        self.calls.push(Call { route, media, sender, reports });
        Ok(number)
    }

    /// The sender of call `i` acts.
    #[inline(never)]
    pub(super) fn wake_call<T: Listener>(&mut self, now: Instant, i: u32, links: &mut Links<T>) {
        let Call { route, media, sender, .. } = &mut self.calls[i as usize];
        let Route { flow, wire, protocol, .. } = *route;
        let tracked = route.tracked();
        let core = &mut links.core;
        let woken = media.wake(now, |packet| {
            core.push(now, wire, packet.size, Packet { flow, protocol, tracked, ..packet });
        });
        let recorder = &mut links.monitor.recorder;
        if woken.frame {
            recorder.app_event(flow, now, AppEvent::Sent);
        }
        if woken.skipped {
            recorder.app_event(flow, now, AppEvent::Lost);
        }
        self.timers.arm(*sender, media.next());
    }

    /// A packet of call `i` reaches its UE.
    #[inline(never)]
    pub(crate) fn take_media<T: Listener>(
        &mut self,
        now: Instant,
        i: u32,
        arrival: &Arrival,
        links: &mut Links<T>,
    ) {
        let Call { route, media, reports, .. } = &mut self.calls[i as usize];
        let recorder = &mut links.monitor.recorder;
        let Arrival { payload: handle, flow, size, ce } = *arrival;
        let broken = |sent, _| recorder.app_event(flow, sent, AppEvent::Lost);
        let (payload, progress) = media.arrived(now, handle, size, ce, broken);
        if let FrameProgress::Complete(CompleteFrame { sent, frozen }) = progress {
            recorder.app_event(flow, sent, AppEvent::Completed(now.since(sent)));
            if let Some(since) = frozen {
                recorder.app_span(flow, since, now.min(route.stop), AppEvent::Stalled);
            }
        }
        links.monitor.received(now, flow, payload);
        self.timers.arm(*reports, media.report_due());
    }

    /// The base station predicts that `packet` of call `i` reaches its UE at `at`.
    pub(crate) fn foretold(&mut self, now: Instant, i: u32, packet: &Packet, at: Instant) {
        let Call { media, reports, .. } = &mut self.calls[i as usize];
        media.foretold(now, packet.payload, packet.ecn == Ecn::Ce, at);
        self.timers.arm(*reports, media.report_due());
    }

    /// The UE of call `i` reports, or the base station in its place. A report that the UE's queue
    /// drops is lost.
    #[inline(never)]
    pub(super) fn send_report<T: Listener>(&mut self, now: Instant, i: u32, links: &mut Links<T>) {
        let Call { route, media, .. } = &mut self.calls[i as usize];
        let Some(report) = media.report(now) else { return };
        let item = Up::Report(i, report);
        if links.uplink.builds_reports() {
            links.uplink.push_report(now, route.wire, report.bytes, item);
        } else {
            links.uplink.push(now, route.wire, report.bytes, item, || way(route));
        }
    }

    /// Records the times in which calls were watched, in a run that ends at `end`.
    pub(super) fn finish_calls(&self, end: Instant, recorder: &mut Recorder) {
        for Call { route, media, .. } in &self.calls {
            let to = route.stop.min(end);
            let (from, frozen) = media.watched(to);
            recorder.app_span(route.flow, from, to, AppEvent::Watched);
            if let Some(since) = frozen {
                recorder.app_span(route.flow, since, to, AppEvent::Stalled);
            }
            media.open(end, |sent| recorder.app_event(route.flow, sent, AppEvent::Open));
        }
    }

    /// `report` reaches the server of call `i`.
    #[inline(never)]
    pub(crate) fn reported(&mut self, now: Instant, i: u32, report: MediaReport) {
        let Call { media, sender, .. } = &mut self.calls[i as usize];
        media.reported(now, report);
        self.timers.arm(*sender, media.next());
    }
}
