//! Tail loss probes (RFC 8985 section 7): if a flight's last acknowledgements do not arrive within
//! two round trips, one more segment provokes them, so that RACK finds a lost tail before the
//! retransmission timer does.
//!
//! The RFC has conditions for sending a probe (one at a time, a new RTT sample in between). This
//! module checks the conditions that are known when it would arm the timer, so that a forbidden
//! probe does not delay the timeout.

use super::Sender;
use crate::cc::CongestionController;
use crate::control::{CongestionCause, RecoveryState};
use crate::segment::{Ack, Segment};
use justfull_base::{Duration, Instant};

/// `TLP.max_ack_delay`: how long a receiver may hold back the acknowledgement of a lone segment
/// (Linux: its smallest RTO).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout before the first RTT sample.
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// The probe's state (RFC 8985 section 5.3).
#[derive(Clone, Debug)]
pub(super) struct TailProbe {
    enabled: bool,
    /// `TLP.end_seq`: acknowledging this settles the probe.
    end: Option<u64>,
    /// `TLP.is_retrans`.
    is_retransmission: bool,
    /// An RTT has been measured since the last probe.
    sampled: bool,
    /// A probe should leave now.
    due: bool,
    /// When the timer was started; never while it is off.
    since: Instant,
}

impl TailProbe {
    pub(super) const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            end: None,
            is_retransmission: false,
            sampled: true,
            due: false,
            since: Instant::NEVER,
        }
    }

    /// Restarts the timer unless a recovery is under way or RACK already has evidence (section
    /// 7.2).
    #[inline]
    pub(super) fn restart(&mut self, now: Instant, state: RecoveryState, sacked: u64) {
        let may = self.enabled && self.sampled && self.end.is_none();
        self.since = if may && state < RecoveryState::Recovery && sacked == 0 {
            now
        } else {
            Instant::NEVER
        };
        self.due = false;
    }

    /// New data leaves: like [`TailProbe::restart`], but without its checks while the timer runs,
    /// since a failed check would have stopped the timer.
    #[inline]
    pub(super) fn on_new_data(&mut self, now: Instant, state: RecoveryState, sacked: u64) {
        if self.since == Instant::NEVER {
            self.restart(now, state, sacked);
        } else {
            self.since = now;
        }
    }

    #[inline]
    pub(super) fn stop(&mut self) {
        self.since = Instant::NEVER;
        self.due = false;
    }

    /// A recovery begins: the probe no longer matters.
    pub(super) fn forget(&mut self) {
        self.stop();
        self.end = None;
    }

    /// True when a probe has been sent and is not settled.
    #[inline]
    pub(super) const fn is_out(&self) -> bool {
        self.end.is_some()
    }

    #[inline]
    pub(super) fn on_rtt_sample(&mut self) {
        self.sampled = true;
    }

    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }
}

impl Sender {
    /// When the probe timer fires (`TLP_calc_PTO`), never later than the retransmission timer;
    /// never when it is off.
    #[inline]
    pub(super) fn probe_deadline(&self) -> Instant {
        if self.tail.since == Instant::NEVER {
            return Instant::NEVER;
        }
        let srtt = self.rtt.srtt();
        let mut pto = if srtt.is_zero() { INITIAL_PTO } else { srtt.times(2) };
        if !srtt.is_zero() && self.board.flight_size() <= self.mss_bytes() {
            pto += MAX_ACK_DELAY;
        }
        (self.tail.since + pto).min(self.rto_deadline)
    }

    /// The probe timer fired: the next segment is a probe, and the timeout starts again (section
    /// 7.3).
    pub(super) fn call_for_probe(&mut self, now: Instant) {
        self.tail.stop();
        self.tail.due = true;
        self.rto_deadline = now + self.rtt.rto();
    }

    /// `TLP_send_probe`: new data if there is any within the receiver's window, else the highest
    /// segment again. Neither the window nor the pacer holds it back.
    #[cold]
    pub(super) fn send_tail_probe(&mut self, now: Instant) -> Option<Segment> {
        self.tail.stop();
        let last = self.board.last()?;
        let len = self.unsent_bytes().min(self.mss_bytes());
        let room = self.window_end.saturating_sub(self.board.nxt());
        self.tail.is_retransmission = len == 0 || room < len;
        let segment = if self.tail.is_retransmission {
            self.emit_again(now, last, true)
        } else {
            self.emit(now, len)
        };
        self.tail.end = Some(self.board.nxt());
        self.tail.sampled = false;
        self.stats.tail_probes += 1;
        Some(segment)
    }

    /// `TLP_process_ack` (section 7.4.2). When the probe itself repaired the loss of a single
    /// segment, the only sign is an acknowledgement beyond it without a report that the probe
    /// arrived twice. This too is congestion.
    #[inline]
    pub(super) fn judge_tail_probe(&mut self, now: Instant, ack: &Ack, advanced: bool) {
        if let Some(end) = self.tail.end
            && ack.cumulative >= end
        {
            self.settle_tail_probe(now, ack, advanced, end);
        }
    }

    #[cold]
    fn settle_tail_probe(&mut self, now: Instant, ack: &Ack, advanced: bool, end: u64) {
        let arrived_twice = ack.reports_duplicate() && ack.sack[0].end == end;
        if !self.tail.is_retransmission || arrived_twice {
            self.tail.end = None;
        } else if ack.cumulative > end {
            self.tail.end = None;
            self.stats.tail_losses_repaired += 1;
            if self.state == RecoveryState::Open {
                let event = self.congestion(now, CongestionCause::Loss);
                self.cc.on_congestion(&event);
                self.cc.on_recovery_exit(now);
            }
        } else if !advanced && ack.sack_len == 0 {
            self.tail.end = None;
        }
    }
}
