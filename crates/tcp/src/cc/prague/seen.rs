//! The part of an acknowledgement's report that the control reads.

use crate::control::AckSample;
use justfull_base::{Duration, Instant};

/// The fields of an [`AckSample`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) now: Instant,
    pub(super) acked: u64,
    pub(super) segments: u64,
    pub(super) rtt: Option<Duration>,
    pub(super) srtt: Duration,
    pub(super) delivered: u64,
    pub(super) in_flight: u64,
    pub(super) ce_count: u64,
    pub(super) ce_bytes: u64,
    pub(super) window_limited: bool,
    pub(super) max_in_flight: u64,
}

impl Seen {
    #[inline(always)]
    pub(super) fn of(sample: &AckSample) -> Self {
        Self {
            now: sample.now,
            acked: sample.acked,
            segments: sample.segments,
            rtt: sample.rtt,
            srtt: sample.srtt,
            delivered: sample.delivered,
            in_flight: sample.in_flight,
            ce_count: sample.ce_count,
            ce_bytes: sample.ce_bytes,
            window_limited: sample.window_limited,
            max_in_flight: sample.max_in_flight,
        }
    }

    /// True if it acknowledges a segment that left after the acknowledgement of `since`, or with
    /// it.
    pub(super) fn has_left_since(&self, since: Instant) -> bool {
        self.rtt.is_some_and(|rtt| self.now - rtt >= since)
    }
}
