//! Loss detection: by time (RFC 8985) or by counting (RFC 6675).

use super::Sender;
use crate::cc::CongestionController;
use crate::control::{Lost, RecoveryState};
use crate::rack::Judgement;
use alloc::vec::Vec;
use justfull_base::Instant;

impl Sender {
    /// Marks the losses that the acknowledgement at `now` shows. Returns their bytes.
    #[inline]
    pub(super) fn detect_losses(&mut self, now: Instant) -> u64 {
        if !self.setup.by_time {
            return self.board.detect_losses();
        }
        self.reorder_deadline = Instant::NEVER;
        if !self.board.has_suspects(self.rack.latest()) {
            return 0;
        }
        self.judge(now)
    }

    fn judge(&mut self, now: Instant) -> u64 {
        let by = self.judgement(now);
        let found = self.board.detect_losses_by_time(&by);
        self.reorder_deadline = found.next;
        found.lost
    }

    fn judgement(&self, now: Instant) -> Judgement {
        let recovering = self.state >= RecoveryState::Recovery;
        let sacked = self.board.sacked_segments();
        let window = self.rack.window(recovering, sacked, self.rtt.min(), self.rtt.srtt());
        self.rack.judgement(now, window)
    }

    /// The reordering timer fired (RFC 8985 section 6.3).
    pub(super) fn judge_suspects(&mut self, now: Instant) {
        let lost = self.judge(now);
        self.count_lost(now, lost);
        if self.state < RecoveryState::Recovery && self.board.has_losses() {
            self.enter_recovery(now);
        }
    }

    /// Counts `bytes` as lost, and gives each of their segments to a control that uses lost
    /// segments.
    #[inline]
    pub(super) fn count_lost(&mut self, now: Instant, bytes: u64) {
        if let Some(serials) = self.board.take_newly_lost() {
            self.give_losses(now, serials);
        }
        self.stats.bytes_lost += bytes;
    }

    #[cold]
    fn give_losses(&mut self, now: Instant, serials: Vec<u64>) {
        let mut lost = self.stats.bytes_lost;
        for &serial in &serials {
            let Some(stamp) = self.rate.stamped(serial) else { continue };
            let bytes = u64::from(self.board.record(serial).len);
            lost += bytes;
            self.cc.on_lost(&Lost {
                now,
                bytes,
                tx_in_flight: stamp.tx_in_flight,
                lost_since_sent: lost - stamp.prior_lost,
                app_limited: stamp.app_limited,
                delivered: self.rate.delivered,
                follows: self.board.follows_loss(serial),
            });
        }
        self.board.keep_again(serials);
    }

    /// The retransmission timer fired: marks losses. Returns their bytes.
    pub(super) fn mark_timed_out(&mut self, now: Instant) -> u64 {
        if self.setup.by_time {
            let patience = self.judgement(now).patience;
            self.board.mark_lost_at_timeout(now, patience)
        } else {
            self.board.mark_all_lost()
        }
    }
}
