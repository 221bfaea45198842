//! Recovery without SACK (RFC 6582), and limited transmit without it (RFC 3042).
//!
//! The acknowledgements do not show which segments beyond the cumulative point have arrived, so the
//! pipe stays at the outstanding bytes. Instead each duplicate acknowledgement inflates the window
//! by the segment that it reports.

use super::Sender;
use crate::cc::CongestionController;
use crate::control::RecoveryState;
use crate::prr::Prr;
use crate::segment::Ack;

/// Duplicates that show a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// A temporary replacement of the control's window.
#[derive(Clone, Debug)]
pub(super) enum Reduction {
    /// Proportional rate reduction.
    Prr(Prr),
    /// The window of RFC 6582 section 3.2, or of RFC 3042 before a recovery, in bytes.
    Inflated(Inflated),
}

/// The inflated window.
#[derive(Clone, Debug, Default)]
pub(super) struct Inflated {
    window: u64,
    /// A partial acknowledgement has restarted the timer.
    restarted: bool,
    /// The current acknowledgement leaves the timer alone.
    keeps_timer: bool,
}

impl Reduction {
    /// The window now, in bytes.
    pub(super) fn window(&self) -> u64 {
        match self {
            Self::Prr(prr) => prr.window(),
            Self::Inflated(inflated) => inflated.window,
        }
    }
}

impl Sender {
    /// True for a duplicate acknowledgement by RFC 5681 section 2. `window_end` is the window's end
    /// before the acknowledgement is processed.
    pub(super) fn is_duplicate(&self, ack: &Ack, window_end: u64) -> bool {
        ack.cumulative == self.board.una()
            && self.board.flight_size() > 0
            && ack.cumulative.saturating_add(ack.window) == window_end
    }

    /// Steps 2, 3 (b) and (c) of RFC 6582 section 3.2 after an acknowledgement of `acked` new
    /// bytes, or a `duplicate`. Returns the bytes newly marked lost.
    pub(super) fn take_reno(&mut self, acked: u64, duplicate: bool) -> u64 {
        let mss = self.mss_bytes();
        if self.state < RecoveryState::Recovery {
            return self.count_duplicates();
        }
        if self.state == RecoveryState::Loss {
            return 0;
        }
        let partial = acked > 0 && self.board.una() < self.recovery_point;
        let impatient = self.setup.impatient;
        let Some(Reduction::Inflated(inflated)) = &mut self.reduction else { return 0 };
        if duplicate {
            inflated.window += mss;
        }
        if !partial {
            return 0;
        }
        // Deflates by the acknowledged bytes, or, if they are a segment or more, by a segment less.
        let back = if acked >= mss { mss } else { 0 };
        inflated.window = inflated.window.saturating_sub(acked) + back;
        inflated.keeps_timer = impatient && inflated.restarted;
        inflated.restarted = true;
        self.forced = true;
        self.board.mark_front_lost()
    }

    /// Before a recovery: the third duplicate marks the oldest segment lost, unless the segment
    /// belongs to the last recovery (step 2). Each of the first two lets a new segment out.
    fn count_duplicates(&mut self) -> u64 {
        if self.duplicate_acks == 0 {
            self.reduction = None;
            return 0;
        }
        if self.duplicate_acks >= DUPLICATES && self.board.una() > self.recovery_point {
            return self.board.mark_front_lost();
        }
        if self.setup.limited_transmit {
            let extra = u64::from(self.duplicate_acks.min(DUPLICATES - 1)) * self.mss_bytes();
            let window = self.cc.cwnd().saturating_add(extra);
            self.reduction = Some(Reduction::Inflated(Inflated { window, ..Inflated::default() }));
        }
        0
    }

    /// Step 2, after the control has reduced its window: ssthresh and the three segments that have
    /// left the network.
    pub(super) fn inflate(&mut self) {
        let window = self.cc.cwnd() + u64::from(DUPLICATES) * self.mss_bytes();
        self.reduction = Some(Reduction::Inflated(Inflated { window, ..Inflated::default() }));
    }

    /// True while partial acknowledgements leave the retransmission timer alone.
    #[inline(always)]
    pub(super) fn keeps_timer(&self) -> bool {
        matches!(&self.reduction, Some(Reduction::Inflated(Inflated { keeps_timer: true, .. })))
    }
}
