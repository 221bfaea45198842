//! Statistics of the kinds of traffic beyond packets: pings, calls, frames, pages, adaptive video.

use crate::results::{FlowResult, PingResult};
use crate::traffic::dash::{Chunk, DashCount};
use crate::traffic::{FrameCount, PageCount, PingCount, Traffic, VoipCount};
use justfull_base::{Duration, Instant};

/// Counts for the flows of one name; the kind of the first flow determines them.
pub struct AppStats(Counts);

enum Counts {
    /// Packets only.
    Plain,
    Ping(PingCount),
    Voip(Box<VoipCount>),
    Video(Box<FrameCount>),
    Page(Box<PageCount>),
    Dash(Box<DashCount>),
}

/// An event of a kind of traffic beyond its packets. It counts if the item was sent within the
/// measured window.
#[derive(Clone, Copy, Debug)]
pub enum AppEvent {
    /// An echo request, a frame, or a request for a page was sent.
    Sent,
    /// A datagram or a reply arrived, or a frame was complete, after this time.
    Completed(Duration),
    /// A page of this many bytes was complete after this time.
    Loaded(Duration, u64),
    /// An object of a page was complete after this time.
    Object(Duration),
    /// A packet of a page's connection arrived after this time.
    Packet(Duration),
    /// This chunk of an adaptive video was complete after this time.
    Chunk(Chunk, Duration),
    /// Playback of an adaptive video began, this long after the first request.
    Started(Duration),
    /// A video stood still for this time.
    Stalled(Duration),
    /// The user watched a video for this time, stalls included.
    Watched(Duration),
    /// The user of a rendered video sent an input.
    Input,
    /// A frame showed an input this time after it was sent.
    Reacted(Duration),
    /// A datagram was dropped, or a frame can no longer become complete.
    Lost,
    /// A frame is in transit within its budget at the end of the run. It does not count as sent.
    Open,
}

impl AppStats {
    /// Counts of packets only.
    pub const PLAIN: Self = Self(Counts::Plain);

    /// The counts of flows of `traffic`, all 0.
    #[must_use]
    pub fn of(traffic: &Traffic) -> Self {
        Self(Counts::of(traffic))
    }

    /// Counts `event`.
    pub fn count(&mut self, event: AppEvent) {
        self.0.count(event);
    }

    /// True if the loss of a datagram counts; its payload handle is then its time of sending.
    #[must_use]
    pub fn counts_datagrams(&self) -> bool {
        matches!(self.0, Counts::Ping(_) | Counts::Voip(_))
    }

    /// Writes the counts into `result`.
    pub fn finish(&self, result: &mut FlowResult) {
        self.0.finish(result);
    }
}

impl Counts {
    fn of(traffic: &Traffic) -> Self {
        match traffic {
            Traffic::Tcp { .. } | Traffic::Upload { .. } => Self::Plain,
            Traffic::Udp { .. } | Traffic::Cbr(_) | Traffic::OnOff(_) => Self::Plain,
            Traffic::Ping(_) => Self::Ping(PingCount::default()),
            Traffic::Voip(voip) => Self::Voip(Box::new(VoipCount::new(voip))),
            Traffic::Video(video) => Self::Video(Box::new(FrameCount::new(video))),
            Traffic::VideoCall(call) => Self::Video(Box::new(FrameCount::new(&call.video()))),
            Traffic::Page(_) => Self::Page(Box::new(PageCount::new())),
            Traffic::Dash(dash) => Self::Dash(Box::new(DashCount::new(dash))),
        }
    }

    fn count(&mut self, event: AppEvent) {
        match (self, event) {
            (Self::Ping(ping), AppEvent::Sent) => ping.requests += 1,
            (Self::Ping(ping), AppEvent::Completed(_)) => ping.replies += 1,
            (Self::Ping(ping), AppEvent::Lost) => ping.lost += 1,
            (Self::Voip(voip), AppEvent::Completed(after)) => voip.one_way.record(after),
            (Self::Voip(voip), AppEvent::Lost) => voip.lost += 1,
            (Self::Video(frames), AppEvent::Sent) => frames.sent += 1,
            (Self::Video(frames), AppEvent::Completed(after)) => frames.complete(after),
            (Self::Video(frames), AppEvent::Lost) => frames.broken += 1,
            (Self::Video(frames), AppEvent::Open) => frames.sent -= 1,
            (Self::Video(frames), AppEvent::Stalled(time)) => frames.frozen(time),
            (Self::Video(frames), AppEvent::Watched(time)) => frames.watched(time),
            (Self::Video(frames), AppEvent::Input) => frames.inputs += 1,
            (Self::Video(frames), AppEvent::Reacted(after)) => frames.reacted(after),
            (Self::Page(pages), AppEvent::Sent) => pages.begun += 1,
            (Self::Page(pages), AppEvent::Loaded(after, bytes)) => pages.loaded(after, bytes),
            (Self::Page(pages), AppEvent::Object(after)) => pages.object(after),
            (Self::Page(pages), AppEvent::Packet(after)) => pages.packet(after),
            (Self::Dash(dash), AppEvent::Chunk(chunk, after)) => dash.chunk(&chunk, after),
            (Self::Dash(dash), AppEvent::Started(after)) => dash.started(after),
            (Self::Dash(dash), AppEvent::Stalled(time)) => dash.stalled(time),
            (Self::Dash(dash), AppEvent::Watched(time)) => dash.watched(time),
            (Self::Plain | Self::Page(_) | Self::Dash(_), _)
            | (Self::Voip(_), AppEvent::Sent)
            | (_, AppEvent::Loaded(..) | AppEvent::Object(_) | AppEvent::Packet(_))
            | (
                _,
                AppEvent::Chunk(..) | AppEvent::Started(_) | AppEvent::Input | AppEvent::Reacted(_),
            )
            | (_, AppEvent::Stalled(_) | AppEvent::Watched(_) | AppEvent::Open) => {}
        }
    }

    fn finish(&self, result: &mut FlowResult) {
        match self {
            Self::Plain => {}
            Self::Ping(PingCount { requests, replies, lost }) => {
                result.ping =
                    Some(PingResult { requests: *requests, replies: *replies, lost: *lost });
            }
            Self::Voip(voip) => result.voip = voip.finish(),
            Self::Video(frames) => result.frames = Some(frames.finish()),
            Self::Page(pages) => result.pages = Some(pages.finish()),
            Self::Dash(dash) => result.dash = Some(dash.finish()),
        }
    }
}

/// The time of sending stored in a datagram's payload handle.
pub fn sent_at(handle: u64) -> Instant {
    Instant::from_nanos(handle)
}
