//! Detects needless recoveries: by the echo of a timestamp (Eifel, RFC 3522) or by the next
//! acknowledgements (F-RTO, RFC 5682).

use super::Sender;
use crate::cc::CongestionController;
use crate::config::SpuriousDetection;
use crate::control::RecoveryState;
use crate::segment::{Ack, Segment};
use justfull_base::Instant;

/// Steps of F-RTO with SACK (RFC 5682 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FRto {
    /// Inactive.
    #[default]
    Off,
    /// Step 2: the timer's retransmission is in flight.
    First,
    /// Step 3: up to `left` new segments leave in place of lost ones. Data beyond `point` was sent
    /// after the first acknowledgement.
    Second { point: u64, left: u8 },
}

/// New segments that step 2B sends.
const NEW_SEGMENTS: u8 = 2;

impl Sender {
    /// Eifel detection: the original had arrived if and only if the first acknowledgement that
    /// advances after the first retransmission echoes a timestamp older than it.
    pub(super) fn judge_by_echo(&mut self, now: Instant, ack: &Ack, overtaken: u32) {
        let Some(first) = self.first_retransmission.take() else { return };
        self.unjudged = false;
        if ack.ts_echo < first && self.setup.spurious_detection == SpuriousDetection::Eifel {
            self.undo(now, overtaken);
        }
    }

    /// Undoes the marks and the reduction.
    fn undo(&mut self, now: Instant, overtaken: u32) {
        match self.state {
            RecoveryState::Recovery => {
                self.stats.spurious_recoveries += 1;
                self.rack.on_needless_recovery();
                let wanted = overtaken.max(self.board.dup_thresh());
                let thresh = wanted.min(self.setup.max_reordering);
                self.board.set_dup_thresh(thresh);
            }
            RecoveryState::Loss => self.stats.spurious_timeouts += 1,
            RecoveryState::Open | RecoveryState::Reducing => return,
        }
        self.board.unmark_lost();
        self.cc.on_spurious(now);
        self.leave_recovery(now);
    }

    /// Step 1: a timeout, unless it repeats one.
    pub(super) fn start_f_rto(&mut self, repeated: bool) {
        let wanted = self.setup.spurious_detection == SpuriousDetection::FRto && !repeated;
        self.f_rto = if wanted { FRto::First } else { FRto::Off };
    }

    /// Steps 2 and 3, for an acknowledgement that `advanced` or at least delivered `new` data.
    #[inline]
    pub(super) fn judge_by_next_acks(&mut self, now: Instant, advanced: bool, new: bool) {
        if self.f_rto != FRto::Off {
            self.step_f_rto(now, advanced, new);
        }
    }

    #[cold]
    fn step_f_rto(&mut self, now: Instant, advanced: bool, new: bool) {
        match self.f_rto {
            FRto::First if advanced => {
                // 2A: all is acknowledged. Without new data to send, nothing distinguishes the two
                // cases.
                let point = self.board.nxt();
                let possible = self.unsent_bytes() > 0 && self.window_end > point;
                let go_on = self.board.una() < self.recovery_point && possible;
                self.f_rto =
                    if go_on { FRto::Second { point, left: NEW_SEGMENTS } } else { FRto::Off };
            }
            FRto::Second { point, .. } if advanced || new => {
                self.f_rto = FRto::Off;
                // 3A: data sent later has arrived and data sent before has not. 3B: originals still
                // arrive.
                if self.board.fack() <= point && self.state == RecoveryState::Loss {
                    self.undo(now, 0);
                }
            }
            FRto::Off | FRto::First | FRto::Second { .. } => {}
        }
    }

    /// True while new data, or nothing, leaves in place of lost data (step 2B).
    #[inline]
    pub(super) const fn prefers_new_data(&self) -> bool {
        matches!(self.f_rto, FRto::Second { .. })
    }

    /// Sends up to two new segments. After that it waits for the second acknowledgement or the
    /// timer.
    #[cold]
    pub(super) fn send_instead_of_lost(&mut self, now: Instant) -> Option<Segment> {
        let FRto::Second { point, left } = self.f_rto else { return None };
        let len = self.unsent_bytes().min(self.mss_bytes());
        let room = self.window_end.saturating_sub(self.board.nxt());
        let pipe = self.board.pipe();
        if left == 0 || len == 0 || room < len || (pipe > 0 && pipe + len > self.cwnd()) {
            return None;
        }
        let segment = self.send_new(now, len)?;
        self.f_rto = FRto::Second { point, left: left - 1 };
        Some(segment)
    }
}
