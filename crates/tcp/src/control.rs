//! The interface between the engine and a congestion control.
//!
//! Sizes are bytes of payload. A control never sees sequence numbers: loss detection, recovery,
//! timers and the release of paced segments belong to the engine.

use crate::kernel::Kernel;
use justfull_base::{Duration, Instant};

/// The engine's state of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryState {
    /// No congestion is known.
    #[default]
    Open,
    /// Reduces the window after an ECN echo; nothing is lost.
    Reducing,
    /// Fast recovery (RFC 6675).
    Recovery,
    /// Repairing after a timeout.
    Loss,
}

/// The inputs of every new control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// The Linux that the sender follows.
    pub kernel: Kernel,
    /// Key of the control's streams of chance ([`stream_key`](justfull_base::rng::stream_key)).
    pub key: u64,
}

/// Bursts of a control that paces in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Longest burst at the pacing rate, a segment at least.
    pub time: Duration,
    /// A burst that the window has held back is credited with at most half of its time, as in
    /// Linux; if false, with none.
    pub credited: bool,
}

/// A segment that is leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Now.
    pub now: Instant,
    /// Payload bytes.
    pub bytes: u32,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// True when it was sent before.
    pub retransmission: bool,
}

/// The report of one acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Now.
    pub now: Instant,
    /// Bytes newly delivered: acknowledged cumulatively or selectively for the first time.
    pub acked: u64,
    /// Segments newly delivered.
    pub segments: u64,
    /// Round trip of the most recently sent segment that was newly delivered and never
    /// retransmitted.
    pub rtt: Option<Duration>,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Smallest RTT of the connection; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes that had been delivered when the sampled segment left (delivery-rate estimation,
    /// `P.delivered`).
    pub prior_delivered: u64,
    /// Time in which `delivered - prior_delivered` bytes were delivered; none without a valid
    /// sample.
    pub interval: Option<Duration>,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight now (RFC 6675's pipe).
    pub in_flight: u64,
    /// When the pacer releases the next burst, if that is after `now`.
    pub departure: Instant,
    /// Bytes newly marked lost.
    pub lost: u64,
    /// Bytes marked lost since the start.
    pub lost_total: u64,
    /// Bytes in flight when the sampled segment left, with it (`P.tx_in_flight` of BBRv3's draft).
    pub tx_in_flight: u64,
    /// Bytes marked lost since the sampled segment left (`RS.lost`).
    pub lost_since_sent: u64,
    /// Segments newly reported with congestion experienced.
    pub ce_count: u64,
    /// Payload bytes of these segments (RFC 9768).
    pub ce_bytes: u64,
    /// The sampled segment left while the application, not the network, limited the rate.
    pub app_limited: bool,
    /// A round trip has ended: a segment sent after the end of the last round is delivered.
    pub round_start: bool,
    /// The sampled segment was a retransmission.
    pub retransmitted_sample: bool,
    /// The receiver probably delayed this acknowledgement: the only delivery in a round trip is one
    /// segment below the MSS.
    pub maybe_delayed: bool,
    /// The window limited the sender in this round or the last (RFC 9438 section 5.8, RFC 7661).
    pub window_limited: bool,
    /// Most bytes in flight in this round or the last.
    pub max_in_flight: u64,
    /// All data sent before this acknowledgement's round is acknowledged: the sequence-number
    /// rounds of HyStart.
    pub sequence_round_start: bool,
    /// State of the engine after this acknowledgement.
    pub recovery: RecoveryState,
}

impl AckSample {
    /// True if the window was in use and may grow: in congestion avoidance it blocked the sender,
    /// in slow start half of it was used (the idea of RFC 7661, in Linux's form).
    #[must_use]
    pub const fn may_grow(&self, cwnd: u64, slow_start: bool) -> bool {
        self.window_limited || (slow_start && cwnd < 2 * self.max_in_flight)
    }
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Fast retransmit (RFC 6675).
    Loss,
    /// Echo of a congestion mark (RFC 3168).
    Ecn,
    /// Retransmission timeout. If `repeated`, the same data timed out before, so ssthresh stays
    /// (RFC 5681 (4)).
    Timeout {
        /// The timer had already retransmitted the oldest segment.
        repeated: bool,
    },
}

/// A congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Now.
    pub now: Instant,
    /// Why.
    pub cause: CongestionCause,
    /// Bytes outstanding, sent and not cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight_size: u64,
    /// Bytes in flight (RFC 6675's pipe) after the losses were marked.
    pub in_flight: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes marked lost since the start.
    pub lost_total: u64,
}

/// A segment that was just marked lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Now.
    pub now: Instant,
    /// Payload bytes.
    pub bytes: u64,
    /// Bytes in flight when it left, with it.
    pub tx_in_flight: u64,
    /// Bytes marked lost since it left, with it.
    pub lost_since_sent: u64,
    /// It left while the application limited the rate.
    pub app_limited: bool,
    /// Bytes delivered since the start of the connection.
    pub delivered: u64,
    /// It directly follows the segment that was marked before, so that both are in one range.
    pub follows: bool,
}

/// The first segment after a time with nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRestart {
    /// Now.
    pub now: Instant,
    /// Time since the last segment was sent.
    pub idle: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    /// True when the window is to fall back because `idle` exceeds `rto` (RFC 5681 section 4.1).
    pub shrink: bool,
    /// The application had nothing to send during that time.
    pub app_limited: bool,
}
