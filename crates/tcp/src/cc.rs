//! Congestion control: what the engine tells a control, what a control answers, and the controls there are.
//!
//! Sizes are bytes of payload. A control never sees sequence numbers: loss detection, recovery, the timers and
//! the release of paced segments are the engine's.

pub mod bbr;
pub mod cubic;
pub mod new_reno;

use crate::sender::RecoveryState;
use alloc::boxed::Box;
use core::fmt;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Instant};

/// The congestion controls, for reference pages and lists.
pub const CONTROLS: &[&MethodDoc] = &[&new_reno::DOC, &cubic::DOC, &bbr::DOC];

/// What every control is born with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in bytes.
    pub initial_window: u64,
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
    /// It was sent before.
    pub retransmission: bool,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Now.
    pub now: Instant,
    /// Bytes newly delivered: acknowledged cumulatively or selectively for the first time.
    pub acked: u64,
    /// Round trip of the most recently sent segment that was newly delivered and never retransmitted.
    pub rtt: Option<Duration>,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Smallest RTT of the connection; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes that had been delivered when the sampled segment left (delivery-rate estimation, `P.delivered`).
    pub prior_delivered: u64,
    /// Time over which `delivered - prior_delivered` bytes were delivered; none when there is no valid sample.
    pub interval: Option<Duration>,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight now (RFC 6675's pipe).
    pub in_flight: u64,
    /// Bytes that were newly found lost.
    pub lost: u64,
    /// Bytes found lost since the start.
    pub lost_total: u64,
    /// Segments newly reported with congestion experienced.
    pub ce_count: u64,
    /// Payload bytes of these segments (RFC 9768).
    pub ce_bytes: u64,
    /// The sampled segment left while the application, not the network, set the pace.
    pub app_limited: bool,
    /// A round trip has ended: a segment that left after the last round's end is delivered.
    pub round_start: bool,
    /// The sampled segment had been retransmitted.
    pub retransmitted_sample: bool,
    /// The receiver probably held this acknowledgement back: one segment was alone in flight.
    pub maybe_delayed: bool,
    /// The window held the sender back in this round or the last (RFC 9438 section 5.8, RFC 7661).
    pub window_limited: bool,
    /// Most bytes in flight in this round or the last.
    pub max_in_flight: u64,
    /// All data sent before this acknowledgement's round is acknowledged: the sequence-number rounds of HyStart.
    pub sequence_round_start: bool,
    /// State of the engine after this acknowledgement.
    pub recovery: RecoveryState,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Fast retransmit (RFC 6675).
    Loss,
    /// Echo of a congestion mark (RFC 3168).
    Ecn,
    /// Retransmission timeout; `repeated`: the same data timed out before, so ssthresh stays (RFC 5681 (4)).
    Timeout {
        /// The oldest segment had already been retransmitted by the timer.
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
    /// Bytes found lost since the start.
    pub lost_total: u64,
}

/// The first segment after nothing was in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRestart {
    /// Now.
    pub now: Instant,
    /// Time since the last segment was sent.
    pub idle: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    /// The window is to fall back after `idle` longer than `rto` (RFC 5681 section 4.1).
    pub shrink: bool,
    /// The application had nothing to send in the meantime.
    pub app_limited: bool,
}

/// A congestion control.
pub trait CongestionController: fmt::Debug {
    /// A segment leaves.
    fn on_sent(&mut self, sent: &Sent);

    /// An acknowledgement came; called after the engine's own bookkeeping and state changes.
    fn on_ack(&mut self, sample: &AckSample);

    /// Congestion: called once per recovery, once per window of ECN echoes, once per timeout.
    fn on_congestion(&mut self, event: &Congestion);

    /// The last reduction was for nothing: the original segment had arrived (RFC 3522, RFC 4015).
    fn on_spurious(&mut self, now: Instant);

    /// Sending resumes with nothing in flight.
    fn on_idle_restart(&mut self, restart: &IdleRestart);

    /// The reduction or recovery is over.
    fn on_recovery_exit(&mut self, now: Instant);

    /// Congestion window in bytes, at least one MSS.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes; `u64::MAX` before the first reduction or when the control has none.
    fn ssthresh(&self) -> u64;

    /// Rate at which to pace; none: as the window allows.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// The window grows by what is acknowledged.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// True when [`CongestionController::cwnd`] holds during recovery too, without PRR.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// The control itself holds data back, so that samples from now on say nothing of the network (BBR in `ProbeRTT`).
    fn limits_samples(&self) -> bool {
        false
    }

    /// Name of the phase, for plots.
    fn phase(&self) -> &'static str {
        if self.in_slow_start() { "slow_start" } else { "avoidance" }
    }
}

/// A control that is not one of ours: anything that can be cloned and sent to another thread.
pub trait CustomControl: CongestionController + Send {
    /// A copy that behaves as the original.
    fn boxed_clone(&self) -> Box<dyn CustomControl>;
}

impl<T: CongestionController + Clone + Send + 'static> CustomControl for T {
    fn boxed_clone(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

/// Which control, with its settings.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "snake_case")
)]
pub enum CcConfig {
    /// [`new_reno`].
    NewReno(new_reno::Config),
    /// [`cubic`].
    Cubic(cubic::Config),
    /// [`bbr`].
    Bbr(bbr::Config),
}

impl Default for CcConfig {
    fn default() -> Self {
        Self::Cubic(cubic::Config::default())
    }
}

impl CcConfig {
    /// Checks the control's settings.
    ///
    /// # Errors
    /// The first field outside its bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::NewReno(c) => c.validate(),
            Self::Cubic(c) => c.validate(),
            Self::Bbr(c) => c.validate(),
        }
    }

    /// Name in scenario files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NewReno(_) => new_reno::DOC.name,
            Self::Cubic(_) => cubic::DOC.name,
            Self::Bbr(_) => bbr::DOC.name,
        }
    }

    /// The control with its default settings under the name it has in scenario files.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::NewReno(Default::default()), Self::Cubic(Default::default()), Self::Bbr(Default::default())]
            .into_iter()
            .find(|c| c.name() == name)
    }
}

/// One of our controls, or a user's own.
pub enum AnyControl {
    /// [`new_reno`].
    NewReno(new_reno::NewReno),
    /// [`cubic`].
    Cubic(cubic::Cubic),
    /// [`bbr`]; boxed, since its state is four times that of the others.
    Bbr(Box<bbr::Bbr>),
    /// A user's own.
    Custom(Box<dyn CustomControl>),
}

impl AnyControl {
    /// The control that `config` describes.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &CcConfig, birth: &Birth) -> Result<Self, ConfigError> {
        Ok(match config {
            CcConfig::NewReno(c) => Self::NewReno(new_reno::NewReno::new(c, birth)?),
            CcConfig::Cubic(c) => Self::Cubic(cubic::Cubic::new(c, birth)?),
            CcConfig::Bbr(c) => Self::Bbr(Box::new(bbr::Bbr::new(c, birth)?)),
        })
    }

    /// False for a control that never asks for a pacing rate.
    pub(crate) const fn may_pace(&self) -> bool {
        match self {
            Self::NewReno(_) | Self::Cubic(_) => false,
            Self::Bbr(_) | Self::Custom(_) => true,
        }
    }

    /// A user's own control.
    #[must_use]
    pub fn custom(control: impl CustomControl + 'static) -> Self {
        Self::Custom(Box::new(control))
    }
}

impl Clone for AnyControl {
    fn clone(&self) -> Self {
        match self {
            Self::NewReno(c) => Self::NewReno(c.clone()),
            Self::Cubic(c) => Self::Cubic(c.clone()),
            Self::Bbr(c) => Self::Bbr(c.clone()),
            Self::Custom(c) => Self::Custom((**c).boxed_clone()),
        }
    }
}

/// Calls the same method on whatever control there is.
macro_rules! each {
    ($self:ident, $c:ident => $call:expr) => {
        match $self {
            AnyControl::NewReno($c) => $call,
            AnyControl::Cubic($c) => $call,
            AnyControl::Bbr($c) => $call,
            AnyControl::Custom($c) => $call,
        }
    };
}

impl fmt::Debug for AnyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, c => c.fmt(f))
    }
}

impl CongestionController for AnyControl {
    fn on_sent(&mut self, sent: &Sent) {
        each!(self, c => c.on_sent(sent));
    }
    fn on_ack(&mut self, sample: &AckSample) {
        each!(self, c => c.on_ack(sample));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        each!(self, c => c.on_congestion(event));
    }
    fn on_spurious(&mut self, now: Instant) {
        each!(self, c => c.on_spurious(now));
    }
    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        each!(self, c => c.on_idle_restart(restart));
    }
    fn on_recovery_exit(&mut self, now: Instant) {
        each!(self, c => c.on_recovery_exit(now));
    }
    fn cwnd(&self) -> u64 {
        each!(self, c => c.cwnd())
    }
    fn ssthresh(&self) -> u64 {
        each!(self, c => c.ssthresh())
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        each!(self, c => c.pacing_rate())
    }
    fn in_slow_start(&self) -> bool {
        each!(self, c => c.in_slow_start())
    }
    fn owns_recovery(&self) -> bool {
        each!(self, c => c.owns_recovery())
    }
    fn limits_samples(&self) -> bool {
        each!(self, c => c.limits_samples())
    }
    fn phase(&self) -> &'static str {
        each!(self, c => c.phase())
    }
}

impl AckSample {
    /// True when the window was in use, so that it may grow: blocked in congestion avoidance, at least half
    /// used in slow start (RFC 7661's idea in the form Linux has).
    #[must_use]
    pub const fn may_grow(&self, cwnd: u64, slow_start: bool) -> bool {
        self.window_limited || (slow_start && cwnd < 2 * self.max_in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_on_the_list_is_found_by_its_name_and_no_other_is() {
        for doc in CONTROLS {
            let config = CcConfig::by_name(doc.name).expect("a control has a configuration");
            assert_eq!(config.name(), doc.name);
            assert_eq!(config.validate(), Ok(()));
            assert_eq!(doc.kind, "congestion control");
        }
        assert_eq!(CcConfig::by_name("tahoe"), None);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_control_is_written_as_its_kind_with_its_settings_and_an_unknown_setting_is_refused() {
        let read = |text| serde_json::from_str::<CcConfig>(text);
        let expected = cubic::Config { hystart: cubic::HyStart::Off, ..cubic::Config::default() };
        let config = read(r#"{"kind": "cubic", "hystart": "off"}"#).expect("both keys are known");
        assert_eq!(config, CcConfig::Cubic(expected));
        assert_eq!(read(r#"{"kind": "bbr"}"#).expect("the defaults"), CcConfig::Bbr(bbr::Config::default()));
        assert!(read(r#"{"kind": "cubic", "histart": "off"}"#).is_err());
        assert!(read(r#"{"kind": "tahoe"}"#).is_err());
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_its_path() {
        let cc = CcConfig::NewReno(new_reno::Config { abc_limit: 0, ..Default::default() });
        let config = crate::SenderConfig { cc, ..Default::default() };
        assert_eq!(crate::Sender::new(&config).map_err(|e| e.field).err(), Some("cc.abc_limit".into()));
    }
}
