//! The part of an acknowledgement's report that the control reads.

use crate::control::{AckSample, RecoveryState};
use crate::rate::bytes_per_second;
use justfull_base::{Duration, Instant};

/// The fields of an [`AckSample`], and its delivery rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) now: Instant,
    pub(super) acked: u64,
    pub(super) rtt: Option<Duration>,
    pub(super) srtt: Duration,
    pub(super) delivered: u64,
    pub(super) prior_delivered: u64,
    /// Bytes per second; none without a valid interval.
    pub(super) rate: Option<u64>,
    pub(super) in_flight: u64,
    pub(super) lost: u64,
    pub(super) tx_in_flight: u64,
    pub(super) lost_since_sent: u64,
    pub(super) app_limited: bool,
    pub(super) window_limited: bool,
    pub(super) recovery: RecoveryState,
}

impl Seen {
    #[inline(always)]
    pub(super) fn of(sample: &AckSample) -> Self {
        let delivered = sample.delivered - sample.prior_delivered;
        Self {
            now: sample.now,
            acked: sample.acked,
            rtt: sample.rtt,
            srtt: sample.srtt,
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered,
            rate: sample.interval.map(|interval| bytes_per_second(delivered, interval)),
            in_flight: sample.in_flight,
            lost: sample.lost,
            tx_in_flight: sample.tx_in_flight,
            lost_since_sent: sample.lost_since_sent,
            app_limited: sample.app_limited,
            window_limited: sample.window_limited,
            recovery: sample.recovery,
        }
    }
}
