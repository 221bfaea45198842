//! A window that grows and shrinks by Reno's steps (RFC 5681), for the controls that use these
//! steps. The control decides when to take a step, and by how much the window shrinks.

use crate::control::{Birth, Congestion, CongestionCause, IdleRestart};

/// Window and threshold in bytes.
#[derive(Clone, Debug)]
pub(crate) struct RenoWindow {
    pub(crate) mss: u64,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    initial: u64,
    /// Bytes acknowledged towards the next segment of growth.
    pub(crate) counted: u64,
    /// Window and threshold before the last reduction.
    before: (u64, u64),
}

impl RenoWindow {
    /// The window at the start of a connection, a segment at least, without a threshold.
    pub(crate) fn new(birth: &Birth) -> Self {
        let mss = u64::from(birth.mss);
        let cwnd = birth.initial_window.max(mss);
        let before = (cwnd, u64::MAX);
        Self { mss, cwnd, ssthresh: u64::MAX, initial: cwnd, counted: 0, before }
    }

    #[inline(always)]
    pub(crate) const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start for `acked` bytes, up to the threshold; returns the bytes left for congestion
    /// avoidance.
    #[inline(always)]
    pub(crate) fn slow_start(&mut self, acked: u64) -> u64 {
        let add = acked.min(self.ssthresh - self.cwnd);
        self.cwnd += add;
        acked - add
    }

    /// Congestion avoidance for `acked` bytes: a segment for each `per` bytes.
    #[inline(always)]
    pub(crate) fn avoid(&mut self, acked: u64, per: u64) {
        self.counted += acked;
        if self.counted >= per {
            let segments = self.counted / per;
            self.counted -= segments * per;
            self.cwnd += segments * self.mss;
        }
    }

    /// Slow start, then a segment for each window.
    pub(crate) fn grow(&mut self, acked: u64) {
        let mut left = acked;
        if self.in_slow_start() {
            left = self.slow_start(acked);
            if self.in_slow_start() {
                return;
            }
        }
        self.avoid(left, self.cwnd);
    }

    /// A congestion event: the threshold, and after any event but a timeout the window, becomes
    /// `target`, at least two segments (RFC 5681 (4)). A timeout leaves one segment; a repeated
    /// timeout keeps the threshold.
    pub(crate) fn reduce(&mut self, event: &Congestion, target: u64) {
        if event.cause != (CongestionCause::Timeout { repeated: true }) {
            self.before = (self.cwnd, self.ssthresh);
            self.ssthresh = target.max(2 * self.mss);
        }
        self.counted = 0;
        let timeout = matches!(event.cause, CongestionCause::Timeout { .. });
        self.cwnd = if timeout { self.mss } else { self.ssthresh };
    }

    /// Undoes the last reduction, which was needless.
    pub(crate) fn restore(&mut self) {
        let (cwnd, ssthresh) = self.before;
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    /// Silence beyond a timeout takes the window back to the initial one (RFC 5681 section 4.1);
    /// the threshold keeps three quarters (RFC 2861).
    pub(crate) fn restart(&mut self, restart: &IdleRestart) {
        if restart.shrink && restart.idle > restart.rto {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            self.cwnd = self.cwnd.min(self.initial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};

    #[test]
    fn the_rest_of_slow_start_goes_to_congestion_avoidance() {
        let mut w = RenoWindow::new(&testing::birth());
        w.ssthresh = 12 * MSS;
        w.grow(14 * MSS);
        assert_eq!((w.cwnd, w.counted), (13 * MSS, 0), "2 to the threshold, 12 for one segment");
    }

    #[test]
    fn an_acknowledgement_of_several_portions_adds_as_many_segments() {
        let mut w = RenoWindow::new(&testing::birth());
        w.avoid(35 * MSS, 10 * MSS);
        assert_eq!((w.cwnd, w.counted), (13 * MSS, 5 * MSS));
    }

    #[test]
    fn a_reduction_leaves_two_segments_and_is_taken_back_unless_it_was_made_up_for() {
        let mut w = RenoWindow::new(&testing::birth());
        w.reduce(&testing::loss(MSS), 0);
        assert_eq!((w.cwnd, w.ssthresh), (2 * MSS, 2 * MSS));
        w.restore();
        assert_eq!((w.cwnd, w.ssthresh), (10 * MSS, u64::MAX));
        w.reduce(&testing::loss(MSS), 8 * MSS);
        w.cwnd = 20 * MSS;
        w.restore();
        assert_eq!(w.cwnd, 20 * MSS);
    }
}
