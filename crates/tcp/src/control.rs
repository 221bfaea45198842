//! The interface between the engine and a congestion control.
//!
//! Sizes are bytes of payload. A control never sees sequence numbers: loss detection, recovery,
//! timers and the release of paced segments belong to the engine.

use crate::kernel::Kernel;
use alloc::boxed::Box;
use core::fmt;
use justfull_base::{BitRate, Duration, Instant};

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
    /// True if the window was in use and may grow: it blocked the sender in congestion avoidance,
    /// or half of it was used in slow start (the idea of RFC 7661, in Linux's form).
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

/// A congestion control.
pub trait CongestionController: fmt::Debug {
    /// A segment leaves.
    fn on_sent(&mut self, sent: &Sent);

    /// An acknowledgement has arrived. The engine has already updated its own state.
    fn on_ack(&mut self, sample: &AckSample);

    /// Congestion: called once per recovery, once per window of ECN echoes, once per timeout.
    fn on_congestion(&mut self, event: &Congestion);

    /// The last reduction was needless: the original segment had arrived (RFC 3522, RFC 4015).
    fn on_spurious(&mut self, now: Instant);

    /// Sending resumes with nothing in flight.
    fn on_idle_restart(&mut self, restart: &IdleRestart);

    /// The reduction or recovery is over.
    fn on_recovery_exit(&mut self, now: Instant);

    /// Congestion window in bytes, at least one MSS.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes; `u64::MAX` before the first reduction or when the control has
    /// none.
    fn ssthresh(&self) -> u64;

    /// Sets the window from outside to `bytes`, at least one MSS. Returns false, and changes
    /// nothing, for a control that sets its own window.
    fn set_window(&mut self, _bytes: u64) -> bool {
        false
    }

    /// False for a control that never sets a pacing rate.
    fn may_pace(&self) -> bool {
        true
    }

    /// Pacing rate; none to send as the window allows.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Segments of the smallest burst of a sender that follows a Linux (`min_tso_segs`).
    fn least_burst(&self) -> u64 {
        2
    }

    /// True in slow start: the window grows by the acknowledged bytes.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// False if the control uses no delivery-rate samples. The sender then makes none: in its
    /// [`AckSample`]s `prior_delivered` is the amount delivered before, `interval` is none, and
    /// `app_limited`, `round_start` and `retransmitted_sample` are false.
    fn uses_rate_samples(&self) -> bool {
        true
    }

    /// True when [`CongestionController::cwnd`] holds during recovery too, without PRR.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// True while the control itself holds data back, so that samples do not show the network's
    /// rate (BBR in `ProbeRTT`).
    fn limits_samples(&self) -> bool {
        false
    }

    /// Name of the phase, for plots.
    fn phase(&self) -> &'static str {
        if self.in_slow_start() { "slow_start" } else { "avoidance" }
    }
}

/// A control from outside this crate: anything that can be cloned and sent to another thread.
pub trait CustomControl: CongestionController + Send {
    /// A copy with the same behaviour.
    fn boxed_clone(&self) -> Box<dyn CustomControl>;
}

impl<T: CongestionController + Clone + Send + 'static> CustomControl for T {
    fn boxed_clone(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}
