//! Loss recovery (draft section 4.2.3.4, "modulating cwnd in loss recovery"): in the first round,
//! sends only as much as is delivered; afterwards restores the previous window.

use super::{Bbr, Mode};
use crate::control::{AckSample, RecoveryState};

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct Conservation {
    active: bool,
    /// The engine's state at the last acknowledgement.
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
    /// Saves the last window not lowered by a loss or a probe.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing::{self, MSS};
    use RecoveryState::{Loss, Open, Recovery, Reducing};

    #[test]
    fn the_window_to_return_to_is_the_last_that_neither_loss_nor_probe_had_lowered() {
        for (previous, mode, expected) in [
            (Open, Mode::ProbeBw, 5),
            (Reducing, Mode::Startup, 5),
            (Recovery, Mode::ProbeBw, 8),
            (Loss, Mode::ProbeBw, 8),
            (Open, Mode::ProbeRtt, 8),
        ] {
            let mut bbr = control(&BbrConfig::default());
            (bbr.cwnd, bbr.mode) = (5, mode);
            (bbr.conservation.previous, bbr.conservation.prior_cwnd) = (previous, 8);
            bbr.save_cwnd();
            assert_eq!(bbr.conservation.prior_cwnd, expected, "{previous:?} {mode:?}");
        }
    }

    /// The window, and whether it is settled, when `state` follows `previous`: 3 segments of 40 are
    /// lost, one is acknowledged, 20 are in flight.
    fn after(
        previous: RecoveryState,
        state: RecoveryState,
        active: bool,
    ) -> (u64, bool, bool, u64) {
        let mut bbr = control(&BbrConfig::default());
        bbr.cwnd = 40 * MSS;
        bbr.conservation = Conservation { active, previous, prior_cwnd: 50 * MSS };
        let mut sample = testing::sample(MSS);
        (sample.recovery, sample.lost, sample.in_flight, sample.delivered) =
            (state, 3 * MSS, 20 * MSS, 777);
        let settled = bbr.recover_or_restore(&sample);
        assert_eq!((bbr.conservation.previous, settled), (state, bbr.conservation.active));
        (bbr.cwnd / MSS, settled, bbr.conservation.active, bbr.next_round)
    }

    #[test]
    fn recovery_begins_with_what_is_in_flight_and_ends_with_the_window_of_before() {
        assert_eq!(after(Open, Open, false), (37, false, false, 0), "losses are taken off");
        assert_eq!(after(Open, Recovery, false), (21, true, true, 777));
        assert_eq!(after(Loss, Recovery, false), (21, true, true, 777));
        assert_eq!(after(Recovery, Recovery, true), (37, true, true, 0), "more than is in flight");
        assert_eq!(after(Recovery, Recovery, false), (37, false, false, 0));
        assert_eq!(after(Recovery, Open, true), (50, false, false, 0));
        assert_eq!(after(Loss, Reducing, true), (50, false, false, 0));
        assert_eq!(after(Reducing, Open, false), (37, false, false, 0));
        assert_eq!(after(Recovery, Loss, true), (37, true, true, 0));
    }

    #[test]
    fn conservation_keeps_the_window_above_what_is_in_flight_and_one_segment_is_the_least() {
        let mut bbr = control(&BbrConfig::default());
        bbr.cwnd = 2 * MSS;
        bbr.conservation = Conservation { active: true, previous: Recovery, prior_cwnd: 0 };
        let mut sample = testing::sample(MSS);
        (sample.recovery, sample.lost, sample.in_flight) = (Recovery, 9 * MSS, 6 * MSS);
        assert!(bbr.recover_or_restore(&sample));
        assert_eq!(bbr.cwnd, 7 * MSS);
        bbr.conservation.end();
        sample.in_flight = 0;
        assert!(!bbr.recover_or_restore(&sample));
        assert_eq!(bbr.cwnd, MSS);
        // Recovery begins with nothing in flight: the window is the acknowledged amount.
        bbr.conservation.previous = Open;
        sample.acked = 3 * MSS;
        assert!(bbr.recover_or_restore(&sample));
        assert_eq!(bbr.cwnd, 3 * MSS);
    }
}
