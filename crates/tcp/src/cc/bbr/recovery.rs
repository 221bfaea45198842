//! Loss recovery (draft section 4.2.3.4, "modulating cwnd in loss recovery"): in the first round as much leaves as is
//! delivered, and afterwards the window of before comes back.

use super::{Bbr, Mode};
use crate::cc::AckSample;
use crate::sender::RecoveryState;

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct Conservation {
    active: bool,
    /// State of the engine at the last acknowledgement.
    pub(super) previous: RecoveryState,
    /// The window to return to.
    pub(super) prior_cwnd: u64,
}

impl Conservation {
    /// A round has passed: the window may grow again.
    pub(super) fn end(&mut self) {
        self.active = false;
    }
}

impl Bbr {
    /// Remembers the last window that no loss and no probe had lowered.
    pub(super) fn save_cwnd(&mut self) {
        let saved = &mut self.conservation;
        let undisturbed = saved.previous < RecoveryState::Recovery && self.mode != Mode::ProbeRtt;
        saved.prior_cwnd = if undisturbed { self.cwnd } else { saved.prior_cwnd.max(self.cwnd) };
    }

    /// True when recovery alone sets the window for this acknowledgement.
    pub(super) fn recover_or_restore(&mut self, sample: &AckSample) -> bool {
        let (previous, state) = (self.conservation.previous, sample.recovery);
        self.conservation.previous = state;
        let mut cwnd = self.cwnd.saturating_sub(sample.lost).max(self.mss);
        if state == RecoveryState::Recovery && previous != RecoveryState::Recovery {
            self.conservation.active = true;
            self.next_round = sample.delivered;
            cwnd = sample.in_flight + sample.acked;
        } else if previous >= RecoveryState::Recovery && state < RecoveryState::Recovery {
            cwnd = cwnd.max(self.conservation.prior_cwnd);
            self.conservation.active = false;
        }
        if self.conservation.active {
            cwnd = cwnd.max(sample.in_flight + sample.acked);
        }
        self.cwnd = cwnd.max(self.mss);
        self.conservation.active
    }
}
