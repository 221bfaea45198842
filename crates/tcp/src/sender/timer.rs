//! The retransmission and the persist timer.

use super::{RecoveryState, Sender};
use crate::cc::{CongestionCause, CongestionController};
use justfull_base::Instant;

impl Sender {
    /// The earliest of the retransmission timer, the release of a paced segment and the persist timer; none when
    /// nothing is due without an acknowledgement or a write.
    #[must_use]
    pub fn next_timer(&self) -> Option<Instant> {
        let earlier = |a: Option<Instant>, b: Option<Instant>| match (a, b) {
            (Some(x), Some(y)) => Some(x.min(y)),
            (x, y) => x.or(y),
        };
        earlier(earlier(self.rto_deadline, self.release_at), self.persist_deadline)
    }

    /// A wake-up; acts on what is due at `now`. Segments that become free come from [`Sender::poll_transmit`].
    pub fn on_timer(&mut self, now: Instant) {
        if self.rto_deadline.is_some_and(|at| at <= now) {
            self.on_timeout(now);
        }
        if self.persist_deadline.is_some_and(|at| at <= now) {
            self.probe_due = true;
            self.persist_backoff = (self.persist_backoff + 1).min(16);
            self.persist_deadline =
                Some(now + self.rtt.rto().times(1 << self.persist_backoff).min(self.rtt.ceiling()));
        }
    }

    /// The oldest segment timed out again, no acknowledgement having advanced since it was sent by the timer.
    pub(super) fn repeated_timeout(&self) -> bool {
        self.state == RecoveryState::Loss && self.rtt.has_backed_off_twice()
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.stats.bytes_lost += self.board.mark_all_lost();
        self.rtt.back_off();
        let repeated = self.repeated_timeout();
        let event = self.congestion(now, CongestionCause::Timeout { repeated });
        self.cc.on_congestion(&event);
        self.state = RecoveryState::Loss;
        self.recovery_point = self.board.nxt();
        self.prr = None;
        self.forced = true;
        self.duplicate_acks = 0;
        if !repeated {
            // A repeated timeout keeps the first stamp: whichever copy arrives, an older echo means the original.
            self.first_retransmission = None;
            self.unjudged = true;
        }
        self.pacer.reset();
        self.rto_deadline = Some(now + self.rtt.rto());
    }
}
