//! The sender: decides which segments may leave, and handles acknowledgements and timers.
//!
//! Sources: RFC 9293 (flow control), RFC 5681, 6675 and 8985 (recovery), RFC 6298 (timeout), RFC
//! 3522 (Eifel detection), RFC 3168 (ECN). Limited transmit (RFC 3042) needs no code of its own: a
//! sacked segment leaves the pipe, so a new one may leave.
//!
//! A driver calls [`Sender::on_ack`] and [`Sender::on_timer`], then [`Sender::poll_transmit`] until
//! it returns none, then arms [`Sender::next_timer`]. An early or late timer does no harm.

mod ack;
mod detect;
mod new_reno;
mod offload;
mod plain;
mod spurious;
mod syn;
mod tail_probe;
mod timer;
mod transmit;
mod turns;

use crate::accecn::{Feedback, Flags, Stretches};
use crate::cc::AnyControl;
use crate::cc::CongestionController;
use crate::config::{Pacing, Prr as PrrConfig, Recovery, SenderConfig, SpuriousDetection};
use crate::control::{Birth, RecoveryState};
use crate::pacer::Pacer;
use crate::rack::Rack;
use crate::rate::RateSampler;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use alloc::boxed::Box;
use justfull_base::{BitRate, ConfigError, Duration, Ecn, Instant};
use new_reno::Reduction;
use offload::Offload;
pub use plain::Outlet;
use spurious::FRto;
use syn::Syn;
use tail_probe::TailProbe;
use turns::Turns;

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Segments sent, including retransmissions but not probes.
    pub segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Bytes marked lost (a segment counts once per loss mark).
    pub bytes_lost: u64,
    /// Acknowledgements processed.
    pub acks: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries that proved needless.
    pub spurious_recoveries: u64,
    /// Timeouts that proved needless.
    pub spurious_timeouts: u64,
    /// Probes of the tail of a flight (RFC 8985 section 7).
    pub tail_probes: u64,
    /// Losses that such a probe repaired.
    pub tail_losses_repaired: u64,
    /// Windows reduced because of ECN echoes.
    pub ece_reductions: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Acknowledgements that reported data received twice (RFC 2883).
    pub duplicate_reports: u64,
    /// SYNs sent, repeated ones included.
    pub syns: u64,
    /// Acknowledgements with congestion experienced, SYN/ACKs included.
    pub marked_acks: u64,
}

/// A sender's state for plots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SenderSnapshot {
    /// Current congestion window ([`Sender::cwnd`]), in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` when there is none.
    pub ssthresh: u64,
    /// Current pacing rate, if segments are paced.
    pub pacing_rate: Option<BitRate>,
    /// Bytes in flight (RFC 6675's pipe).
    pub in_flight: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Retransmission timeout with its backoff.
    pub rto: Duration,
    /// State of loss recovery.
    pub recovery: RecoveryState,
    /// Name of the control's phase.
    pub phase: &'static str,
}

/// A round trip by sequence numbers: it ends when all data sent by its start is acknowledged.
#[derive(Clone, Debug, Default)]
struct Round {
    end: u64,
    limited: bool,
    limited_before: bool,
    max_in_flight: u64,
    max_in_flight_before: u64,
}

/// The settings that the data path reads.
#[derive(Clone, Debug)]
struct Setup {
    mss: u32,
    header: u32,
    ack: u32,
    /// The feedback of marks that it asks for, and the codepoint it then sends.
    asked: (Feedback, Ecn),
    /// The control reacts to counts of marks.
    scalable: bool,
    /// The feedback that both ends agreed on.
    feedback: Feedback,
    /// The codepoint of new data.
    ecn: Ecn,
    /// The codepoint of window probes and, unless the control is scalable, of retransmissions.
    control_ecn: Ecn,
    /// The SYN, probes and retransmissions may be ECN-capable.
    wants_control_ecn: bool,
    /// The flags of segments: ACE by the marked acknowledgements, or none.
    flags: Flags,
    prr: PrrConfig,
    nagle: bool,
    restart_after_idle: bool,
    always_pace: bool,
    /// True if the settings or the control may pace.
    paced: bool,
    max_reordering: u32,
    /// RACK finds losses.
    by_time: bool,
    /// RFC 6582 finds losses, without SACK.
    by_reno: bool,
    limited_transmit: bool,
    impatient: bool,
    timestamps: bool,
    /// See [`Features::sack_restarts`](crate::kernel::Features).
    sack_restarts: bool,
    spurious_detection: SpuriousDetection,
}

impl Setup {
    /// The settings of a connection whose ends have not agreed on ECN yet.
    fn new(config: &SenderConfig, cc: &AnyControl) -> Self {
        let always_pace = config.pacing == Pacing::Always;
        let asked = match cc.codepoint() {
            Some(codepoint) => (Feedback::Accurate, codepoint),
            None if config.ecn && config.accecn => (Feedback::Accurate, Ecn::Ect0),
            None if config.ecn => (Feedback::Classic, Ecn::Ect0),
            None => (Feedback::Off, Ecn::NotEct),
        };
        Self {
            mss: config.mss,
            header: config.header,
            ack: config.ack_size(),
            asked,
            scalable: cc.codepoint().is_some(),
            feedback: Feedback::Off,
            ecn: Ecn::NotEct,
            control_ecn: Ecn::NotEct,
            wants_control_ecn: config.control_ecn,
            flags: 0,
            prr: config.prr,
            nagle: config.nagle,
            restart_after_idle: config.restart_after_idle,
            always_pace,
            paced: always_pace || cc.may_pace(),
            max_reordering: config.max_reordering,
            by_time: config.recovery == Recovery::Rack,
            by_reno: config.recovery == Recovery::NewReno,
            limited_transmit: config.limited_transmit,
            impatient: config.impatient,
            timestamps: config.timestamps,
            sack_restarts: config.kernel.features().sack_restarts,
            spurious_detection: config.spurious_detection,
        }
    }
}

/// A TCP sender.
#[derive(Clone, Debug)]
pub struct Sender {
    setup: Setup,
    cc: AnyControl,
    /// The control to begin with after a SYN that may have been marked: its first window is one
    /// segment.
    careful: Option<Box<AnyControl>>,
    board: Scoreboard,
    rate: RateSampler,
    rtt: RttEstimator,
    pacer: Pacer,
    offload: Offload,
    turns: Turns,
    rack: Rack,
    tail: TailProbe,
    /// Replaces the control's window: PRR during a reduction, unless the control owns its window or
    /// PRR is off; without SACK, the inflated window.
    reduction: Option<Reduction>,
    syn: Syn,
    /// Without timestamps, the segment that is being timed: its end, and when it left.
    timed: Option<(u64, Instant)>,
    state: RecoveryState,
    /// The state ends when this offset is acknowledged (RFC 6675's `RecoveryPoint`).
    recovery_point: u64,
    /// The one rescue retransmission of this recovery has been used.
    rescued: bool,
    /// The next retransmission ignores the window (RFC 6675 (4.3)).
    forced: bool,
    /// When the first retransmission of this recovery left. None before that, and after the
    /// recovery is judged.
    first_retransmission: Option<Instant>,
    /// It is not yet decided whether this recovery was needed.
    unjudged: bool,
    f_rto: FRto,
    duplicate_acks: u32,
    /// End of the data that the application has written.
    written: u64,
    closed: bool,
    /// First offset beyond the receiver's window.
    window_end: u64,
    clamp: u64,
    round: Round,
    /// The flags of the next new segment.
    next_flags: Flags,
    /// Marked segments and bytes that the receiver has reported by its counters.
    ce_packets: u64,
    ce_bytes: u64,
    /// Marked acknowledgements of this connection.
    ce_acks: u64,
    /// Of acknowledgements without the option.
    stretches: Stretches,
    last_sent: Option<Instant>,
    /// This and the next three are "never" while not armed.
    rto_deadline: Instant,
    /// When RACK judges next.
    reorder_deadline: Instant,
    /// When to probe a closed window.
    persist_deadline: Instant,
    /// Set while only the pacer holds data back.
    release_at: Instant,
    persist_backoff: u32,
    probe_due: bool,
    stats: SenderStats,
}

impl Sender {
    /// A sender with nothing to send. Its connection is established or, with `handshake`, will be
    /// opened. Until the first acknowledgement it assumes that the peer advertises 64 KiB.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &SenderConfig) -> Result<Self, ConfigError> {
        Self::with_key(config, 0)
    }

    /// Like [`Sender::new`]; the control draws its chance by `key`, one for each flow
    /// ([`stream_key`](justfull_base::rng::stream_key)).
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn with_key(config: &SenderConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let birth = birth(config, key);
        let control =
            |birth: &Birth| AnyControl::new(&config.cc, birth).map_err(|e| e.within("cc"));
        let mut sender = Self::with_control(config, control(&birth)?)?;
        if config.control_ecn && config.handshake {
            let one = Birth { initial_window: config.mss.into(), ..birth };
            sender.careful = Some(Box::new(control(&one)?));
        }
        Ok(sender)
    }

    /// Like [`Sender::new`], with the caller's control instead of the configured one.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn with_control(config: &SenderConfig, cc: AnyControl) -> Result<Self, ConfigError> {
        config.validate()?;
        let setup = Setup::new(config, &cc);
        let (by_time, asked) = (setup.by_time, setup.asked.0);
        let mut sender = Self {
            setup,
            rate: RateSampler::new(cc.uses_rate_samples()),
            pacer: Pacer::new(config.kernel.features()).with_bursts(cc.bursts()),
            board: Scoreboard::new(config.mss, by_time).keeping_losses(cc.uses_losses()),
            cc,
            careful: None,
            rtt: RttEstimator::new(config),
            offload: Offload::new(config.kernel.features()),
            turns: Turns::default(),
            rack: Rack::new(),
            tail: TailProbe::new(by_time && config.tail_loss_probe),
            reduction: None,
            syn: if config.handshake { Syn::Due } else { Syn::Done },
            timed: None,
            state: RecoveryState::Open,
            recovery_point: 0,
            rescued: false,
            forced: false,
            first_retransmission: None,
            unjudged: false,
            f_rto: FRto::Off,
            duplicate_acks: 0,
            written: 0,
            closed: false,
            window_end: INITIAL_PEER_WINDOW,
            clamp: u64::MAX,
            round: Round::default(),
            next_flags: 0,
            ce_packets: 0,
            ce_bytes: 0,
            ce_acks: 0,
            stretches: Stretches::default(),
            last_sent: None,
            rto_deadline: Instant::NEVER,
            reorder_deadline: Instant::NEVER,
            persist_deadline: Instant::NEVER,
            release_at: Instant::NEVER,
            persist_backoff: 0,
            probe_due: false,
            stats: SenderStats::default(),
        };
        // Without a SYN the peer is taken to support it.
        if !config.handshake {
            sender.use_feedback(asked);
        }
        Ok(sender)
    }

    /// The application makes `bytes` more available; `u64::MAX` for an endless supply. Ignored
    /// after a close.
    pub fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.written = self.written.saturating_add(bytes);
        }
    }

    /// The application has written its last byte.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The application stops: discards data that was never sent, and closes. Data in flight is
    /// still repaired.
    pub fn stop(&mut self) {
        self.written = self.board.nxt();
        self.closed = true;
    }

    /// The application has closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// True if all written data has been acknowledged.
    #[must_use]
    pub fn all_acked(&self) -> bool {
        self.board.una() == self.written
    }

    /// Bytes acknowledged cumulatively.
    #[must_use]
    pub fn acked_bytes(&self) -> u64 {
        self.board.una()
    }

    /// Bytes written and not yet sent for the first time.
    #[must_use]
    pub fn unsent_bytes(&self) -> u64 {
        self.written - self.board.nxt()
    }

    /// Bytes in flight (RFC 6675's pipe).
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe()
    }

    /// The current window in bytes: the control's, or PRR's during a reduction, or without SACK
    /// the inflated one; capped by the clamp.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        self.reduction
            .as_ref()
            .map_or_else(|| self.cc.cwnd(), Reduction::window)
            .max(self.mss_bytes())
            .min(self.clamp)
    }

    /// Caps the congestion window, in bytes (how a proxy steers a flow); none removes the cap.
    pub fn set_cwnd_clamp(&mut self, bytes: Option<u64>) {
        self.clamp = bytes.map_or(u64::MAX, |b| b.max(u64::from(self.setup.mss)));
    }

    /// Sets the window to `bytes`, at least one MSS, if the control leaves the window to its owner,
    /// as `fixed` does. With any other control returns false and changes nothing. Data in flight
    /// beyond a smaller window stays in flight.
    pub fn set_window(&mut self, bytes: u64) -> bool {
        self.cc.set_window(bytes)
    }

    /// Smoothed RTT; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        let srtt = self.rtt.srtt();
        (!srtt.is_zero()).then_some(srtt)
    }

    /// Smallest RTT seen; none before the first sample.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        let min = self.rtt.min();
        (min != Duration::MAX).then_some(min)
    }

    /// Payload bytes of a full segment.
    #[must_use]
    pub const fn mss(&self) -> u32 {
        self.setup.mss
    }

    /// Bytes of headers of each segment.
    #[must_use]
    pub const fn header(&self) -> u32 {
        self.setup.header
    }

    /// Bytes of each acknowledgement.
    #[must_use]
    pub const fn ack_size(&self) -> u32 {
        self.setup.ack
    }

    /// Segments of this connection that its receiver has reported as marked by its counters (RFC
    /// 9768); an estimate where ACE may have wrapped.
    #[must_use]
    pub const fn marked_segments(&self) -> u64 {
        self.ce_packets
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The congestion control.
    #[must_use]
    pub const fn control(&self) -> &AnyControl {
        &self.cc
    }

    /// The state for plots.
    #[must_use]
    pub fn snapshot(&self) -> SenderSnapshot {
        SenderSnapshot {
            cwnd: self.cwnd(),
            ssthresh: self.cc.ssthresh(),
            pacing_rate: self.pacing_rate(),
            in_flight: self.board.pipe(),
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            recovery: self.state,
            phase: self.cc.phase(),
        }
    }

    /// The rate at which segments are paced, if they are.
    fn pacing_rate(&self) -> Option<BitRate> {
        let own = self.cc.pacing_rate();
        if own.is_some() || !self.setup.always_pace {
            return own;
        }
        self.usual_rate().map(|bytes| BitRate(bytes.saturating_mul(8)))
    }

    /// Bytes a second that Linux assumes under a control without a rate of its own
    /// (`tcp_update_pacing_rate`); none before the first round trip.
    #[inline(always)]
    fn usual_rate(&self) -> Option<u64> {
        let srtt = self.rtt.srtt().as_nanos();
        if srtt == 0 {
            return None;
        }
        let window = self.cwnd();
        // The rate is doubled below half of ssthresh, so that the last round of slow start is
        // already gentle. Nanoseconds: times 1e9.
        let gain = if window < self.cc.ssthresh() / 2 { 2.0e9 } else { 1.2e9 };
        let bytes = window.max(self.board.flight_size()) as f64;
        Some((bytes * gain / srtt as f64) as u64)
    }

    fn mss_bytes(&self) -> u64 {
        u64::from(self.setup.mss)
    }

    /// Payload bytes of a full segment now.
    fn segment_bytes(&self) -> u64 {
        let mss = self.mss_bytes();
        self.cc.segment().map_or(mss, |bytes| bytes.clamp(1, mss))
    }
}

/// The window that a peer is assumed to advertise before its first acknowledgement, in bytes (about
/// Linux's initial receive window).
const INITIAL_PEER_WINDOW: u64 = 65_536;

/// The arguments of a new control under `config`.
fn birth(config: &SenderConfig, key: u64) -> Birth {
    Birth {
        mss: config.mss,
        initial_window: u64::from(config.initial_window) * u64::from(config.mss),
        kernel: config.kernel,
        key,
    }
}
