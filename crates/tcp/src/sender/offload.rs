//! New data leaves in buffers of several segments, as with TCP segmentation offload.
//!
//! A buffer has as many segments as the pacing rate pays for in a millisecond, at least two
//! (`tcp_tso_autosize`; Linux has this rate for every control), and at most as many as the windows
//! allow. If the windows allow only a part of it, this part may wait for the next acknowledgement,
//! which allows more (`tcp_tso_should_defer`). The last segment of a buffer of several has PSH.

use super::Sender;
use crate::cc::CongestionController;
use crate::control::RecoveryState;
use crate::kernel::{Deferral, Features};
use justfull_base::{Duration, Instant};

/// The rest of a window waits only if data left within this time.
const RECENT: Duration = Duration::from_millis(1);
/// An acknowledgement counts as expected soon within this time, or half an RTT.
const SOON: Duration = Duration::from_millis(1);
/// A buffer of at least this part of the window never waits (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Bytes a second that pay for the largest burst.
const MOST_RATE: u64 = 1 << 40;

/// The buffer that is leaving, and the features of the sender's kernel.
#[derive(Clone, Debug)]
pub(super) struct Offload {
    deferral: Deferral,
    pushes: bool,
    /// Segments of it that have not left yet.
    left: u64,
    /// It has several segments.
    several: bool,
}

impl Offload {
    pub(super) fn new(features: Features) -> Self {
        let Features { deferral, push_of_burst: pushes, .. } = features;
        Self { deferral, pushes, left: 0, several: false }
    }

    /// True if the grouping of segments makes a difference.
    pub(super) fn is_on(&self) -> bool {
        self.deferral != Deferral::Never || self.pushes
    }

    /// A buffer of `segments` begins to leave.
    pub(super) fn begin(&mut self, segments: u64) {
        self.left = segments;
        self.several = segments > 1;
    }

    /// A segment leaves; true if it has PSH. Without a buffer it counts as a buffer of one segment.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.pushes && self.several && self.left == 0
    }

    /// The rest of the buffer does not leave.
    pub(super) fn cut(&mut self) {
        self.left = 0;
        self.several = false;
    }
}

/// Bytes of payload that each limit still allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rooms {
    /// By the congestion window.
    pub(super) congestion: u64,
    /// By the receiver.
    pub(super) receiver: u64,
    /// By the application's data.
    pub(super) written: u64,
}

impl Sender {
    /// Begins a buffer of new data if none is leaving. Returns false if the data waits instead;
    /// `last` is when data left last.
    #[inline(always)]
    pub(super) fn begin_buffer(&mut self, now: Instant, last: Option<Instant>, r: Rooms) -> bool {
        if self.offload.left > 0 {
            return true;
        }
        let Some(segments) = self.next_buffer(now, last, r) else { return false };
        self.offload.begin(segments);
        true
    }

    /// Segments of the next buffer; none if it waits.
    #[inline(never)]
    fn next_buffer(&mut self, now: Instant, last: Option<Instant>, rooms: Rooms) -> Option<u64> {
        let mss = self.mss_bytes();
        let most = self.burst_segments().min(rooms.written.div_ceil(mss));
        let allowed = rooms.congestion.min(rooms.receiver) / mss;
        if allowed < most && self.defers(now, last, rooms) {
            self.round.limited |= rooms.congestion < rooms.receiver;
            return None;
        }
        Some(allowed.min(most).max(1))
    }

    /// Segments that leave together at the rate of the connection.
    #[inline]
    fn burst_segments(&self) -> u64 {
        let own = self.cc.pacing_rate().map(|rate| rate.0 / 8);
        // A rate that is not known yet bounds nothing.
        let rate = own.or_else(|| self.usual_rate()).unwrap_or(MOST_RATE);
        let mss = self.mss_bytes();
        self.pacer.burst(mss, rate, self.cc.least_burst(), self.rtt.min()) / mss
    }

    /// True if the part that the windows allow, less than a whole buffer, waits for the next
    /// acknowledgement.
    fn defers(&self, now: Instant, last: Option<Instant>, rooms: Rooms) -> bool {
        let recent = last.is_some_and(|at| now.since(at) <= RECENT);
        let usual = self.state < RecoveryState::Recovery;
        let Some(oldest) = self.board.oldest().filter(|_| recent && usual) else { return false };
        let window = self.cwnd().min(self.window_end - self.board.una());
        if rooms.congestion.min(rooms.receiver) >= window / WINDOW_DIVISOR {
            return false;
        }
        let srtt = self.rtt.srtt();
        let half = Duration::from_nanos(srtt.as_nanos() / 2);
        match self.offload.deferral {
            Deferral::Never => false,
            Deferral::HalfRtt => now.since(oldest) >= half,
            Deferral::Expected => oldest + srtt <= now + half.min(SOON),
        }
    }
}
