//! What the kinds of traffic count beyond packets: pings, calls, frames, pages.

use crate::results::{FlowResult, PingResult};
use crate::traffic::{FrameCount, PageCount, PingCount, Traffic, VoipCount};
use justfull_base::{Duration, Instant};

/// What is counted of the flows of one name; the first flow's kind decides.
pub(crate) enum App {
    /// Nothing more than packets.
    Plain,
    Ping(PingCount),
    Voip(Box<VoipCount>),
    Video(Box<FrameCount>),
    Page(Box<PageCount>),
}

/// Something that a kind of traffic counts. Each tells of a time of sending, which decides whether it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// An echo request, a frame, or a request for a page went out.
    Began,
    /// A datagram arrived, a reply came back, a frame or a page was complete, after that time.
    Done(Duration),
    /// A datagram was dropped, or a frame cannot become complete.
    Lost,
}

impl App {
    pub(crate) fn of(traffic: &Traffic) -> Self {
        match traffic {
            Traffic::Tcp { .. } | Traffic::Upload { .. } => Self::Plain,
            Traffic::Udp { .. } | Traffic::Cbr(_) | Traffic::OnOff(_) => Self::Plain,
            Traffic::Ping(_) => Self::Ping(PingCount::default()),
            Traffic::Voip(voip) => Self::Voip(Box::new(VoipCount::new(voip))),
            Traffic::Video(video) => Self::Video(Box::new(FrameCount::new(video))),
            Traffic::Page(_) => Self::Page(Box::new(PageCount::new())),
        }
    }

    /// Counts what it is `told`.
    #[cold]
    pub(crate) fn tell(&mut self, told: Told) {
        match (self, told) {
            (Self::Ping(ping), Told::Began) => ping.requests += 1,
            (Self::Ping(ping), Told::Done(_)) => ping.replies += 1,
            (Self::Ping(ping), Told::Lost) => ping.lost += 1,
            (Self::Voip(voip), Told::Done(after)) => voip.one_way.record(after),
            (Self::Voip(voip), Told::Lost) => voip.lost += 1,
            (Self::Video(frames), Told::Began) => frames.sent += 1,
            (Self::Video(frames), Told::Done(after)) => frames.complete(after),
            (Self::Video(frames), Told::Lost) => frames.broken += 1,
            (Self::Page(pages), Told::Began) => pages.begun += 1,
            (Self::Page(pages), Told::Done(after)) => pages.load.record(after),
            (Self::Plain, _) | (Self::Voip(_), Told::Began) | (Self::Page(_), Told::Lost) => {}
        }
    }

    /// True when the loss of the datagram with payload handle `sent` counts, which is its time of sending then.
    pub(crate) fn counts_datagrams(&self) -> bool {
        matches!(self, Self::Ping(_) | Self::Voip(_))
    }

    pub(crate) fn finish(&self, result: &mut FlowResult) {
        match self {
            Self::Plain => {}
            Self::Ping(PingCount { requests, replies, lost }) => {
                result.ping = Some(PingResult { requests: *requests, replies: *replies, lost: *lost });
            }
            Self::Voip(voip) => result.voip = voip.finish(),
            Self::Video(frames) => result.frames = Some(frames.finish()),
            Self::Page(pages) => result.pages = Some(pages.finish()),
        }
    }
}

/// The instant of sending that a datagram's payload handle holds.
pub(crate) fn sent_at(handle: u64) -> Instant {
    Instant::from_nanos(handle)
}
