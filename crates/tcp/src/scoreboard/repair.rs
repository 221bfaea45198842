//! The segments to retransmit (RFC 6675 section 4, `NextSeg()`).

use super::Scoreboard;
use crate::record::{EVER_RETRANSMITTED, LOST, Latest, RETRANSMITTED, SACKED};

impl Scoreboard {
    /// `NextSeg()` rule 1: the lowest segment that is lost and not yet retransmitted; before that,
    /// any segment with a lost retransmission.
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.has_losses() { self.next_of_lost() } else { None }
    }

    fn next_of_lost(&mut self) -> Option<u64> {
        if let Some(serial) = self.next_lost_again() {
            return Some(serial);
        }
        while self.high_rxt < self.edge {
            let serial = self.high_rxt;
            let record = self.slot(serial);
            if record.has(SACKED) {
                self.high_rxt = self.after_run(serial).min(self.edge);
            } else if record.has(RETRANSMITTED) || !record.has(LOST) {
                self.high_rxt += 1;
            } else {
                return Some(serial);
            }
        }
        None
    }

    /// `NextSeg()` rule 3: the lowest hole below the highest sacked byte that is neither lost nor
    /// retransmitted.
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        let mut serial = self.high_rxt.max(self.edge);
        while serial < self.sacked_end {
            let record = self.slot(serial);
            if record.has(SACKED) {
                serial = self.after_run(serial);
            } else if record.has(RETRANSMITTED) {
                serial += 1;
            } else {
                return Some(serial);
            }
        }
        None
    }

    /// `NextSeg()` rule 4: the highest segment that is not sacked, unless it has been
    /// retransmitted.
    pub(crate) fn rescue(&self) -> Option<u64> {
        let serial = (self.first..self.next).rev().find(|&s| !self.is_sacked(s))?;
        (!self.slot(serial).has(RETRANSMITTED)).then_some(serial)
    }

    /// `serial` leaves again; its record already has the new time. `rescue`: by rule 4, which does
    /// not move `HighRxt`.
    pub(crate) fn mark_retransmitted(&mut self, serial: u64, rescue: bool) {
        let record = self.record_mut(serial);
        debug_assert!(!record.has(SACKED));
        let added = if record.has(RETRANSMITTED) { 0 } else { u64::from(record.len) };
        record.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        let sent = Latest::new(record.sent_at, serial);
        self.pipe += added;
        match &mut self.again {
            Some(again) => {
                again.push(sent);
                self.high_rxt += u64::from(serial == self.high_rxt);
            }
            None if rescue => {}
            None => self.high_rxt = self.high_rxt.max(serial + 1),
        }
    }
}
