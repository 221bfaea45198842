//! Helpers shared by the tests of this crate.

use crate::control::{AckSample, Birth, Congestion, CongestionCause, RecoveryState};
use crate::kernel::Kernel;
use justfull_base::{Duration, Instant};

/// Payload of a full segment.
pub(crate) const MSS: u64 = 1448;

pub(crate) fn birth() -> Birth {
    Birth { mss: 1448, initial_window: 10 * MSS, kernel: Kernel::default(), key: 0 }
}

/// An acknowledgement of `acked` bytes on a fully used path.
pub(crate) fn sample(acked: u64) -> AckSample {
    AckSample {
        now: Instant::from_nanos(1),
        acked,
        segments: acked.div_ceil(MSS),
        rtt: Some(Duration::from_millis(50)),
        srtt: Duration::from_millis(50),
        min_rtt: Duration::from_millis(50),
        delivered: acked,
        prior_delivered: 0,
        interval: Some(Duration::from_millis(50)),
        prior_in_flight: 10 * MSS,
        in_flight: 10 * MSS,
        departure: Instant::ZERO,
        lost: 0,
        lost_total: 0,
        tx_in_flight: 11 * MSS,
        lost_since_sent: 0,
        ce_count: 0,
        ce_bytes: 0,
        app_limited: false,
        round_start: false,
        retransmitted_sample: false,
        maybe_delayed: false,
        window_limited: true,
        max_in_flight: u64::MAX / 4,
        sequence_round_start: false,
        recovery: RecoveryState::Open,
    }
}

fn congestion(cause: CongestionCause, flight_size: u64) -> Congestion {
    Congestion {
        now: Instant::from_nanos(1),
        cause,
        flight_size,
        in_flight: 0,
        delivered: flight_size,
        lost_total: 0,
    }
}

pub(crate) fn loss(flight_size: u64) -> Congestion {
    congestion(CongestionCause::Loss, flight_size)
}

pub(crate) fn echo(flight_size: u64) -> Congestion {
    congestion(CongestionCause::Ecn, flight_size)
}

pub(crate) fn timeout(flight_size: u64, repeated: bool) -> Congestion {
    congestion(CongestionCause::Timeout { repeated }, flight_size)
}
