//! The timers.

use super::Sender;
use crate::cc::CongestionController;
use crate::control::{CongestionCause, RecoveryState};
use justfull_base::Instant;

impl Sender {
    /// The earliest of the retransmission timer, the tail probe, the reordering timer, the release
    /// of a paced segment and the persist timer; none when only an acknowledgement or a write can
    /// change anything.
    #[must_use]
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        let loss = self.rto_deadline.min(self.reorder_deadline).min(self.probe_deadline());
        let next = loss.min(self.release_at).min(self.persist_deadline);
        (next != Instant::NEVER).then_some(next)
    }

    /// A wake-up: handles what is due at `now`. Segments that may now leave come from
    /// [`Sender::poll_transmit`].
    pub fn on_timer(&mut self, now: Instant) {
        if self.reorder_deadline <= now {
            self.judge_suspects(now);
        }
        if self.probe_deadline() <= now {
            self.call_for_probe(now);
        } else if self.rto_deadline <= now {
            if self.is_opening() {
                return self.repeat_syn();
            }
            self.on_timeout(now);
        }
        if self.persist_deadline <= now {
            self.probe_due = true;
            self.persist_backoff = (self.persist_backoff + 1).min(16);
            self.persist_deadline =
                now + self.rtt.rto().times(1 << self.persist_backoff).min(self.rtt.ceiling());
        }
    }

    /// True when the oldest segment timed out again, with no acknowledgement that advanced since
    /// the timer sent it.
    pub(super) fn repeated_timeout(&self) -> bool {
        self.state == RecoveryState::Loss && self.rtt.has_backed_off_twice()
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let lost = self.mark_timed_out(now);
        self.count_lost(now, lost);
        self.rtt.back_off();
        let repeated = self.repeated_timeout();
        let event = self.congestion(now, CongestionCause::Timeout { repeated });
        self.cc.on_congestion(&event);
        self.state = RecoveryState::Loss;
        self.recovery_point = self.board.nxt();
        self.reduction = None;
        self.timed = None;
        self.forced = true;
        self.duplicate_acks = 0;
        if !repeated {
            // A repeated timeout keeps the first stamp: whichever copy arrives, an older echo means
            // the original.
            self.first_retransmission = None;
            self.unjudged = true;
        }
        self.announce_reduction();
        self.start_f_rto(repeated);
        self.pacer.reset();
        self.tail.forget();
        self.reorder_deadline = Instant::NEVER;
        self.rto_deadline = now + self.rtt.rto();
    }
}
