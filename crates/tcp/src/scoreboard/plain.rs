//! The two most common acknowledgements: the first delivers the lowest segments while nothing is
//! marked; the second only sacks the segment after the highest sacked one.

use super::Scoreboard;
use crate::rate::Delivery;
use crate::record::{Latest, SACKED};
use crate::segment::Ack;
use justfull_base::Instant;

/// The segments that one acknowledgement delivers, if they start at the lowest outstanding one,
/// were sent once each and were never marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainRun {
    /// Offset after the last of them.
    end: u64,
    /// Serial after the last of them.
    serial: u64,
    /// When the last of them left.
    sent_at: Instant,
}

/// The one segment that an acknowledgement delivers, if it follows the highest sacked one and was
/// sent once and never marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextSacked {
    /// Offset after it.
    end: u64,
}

impl Scoreboard {
    /// The run that a cumulative acknowledgement of all bytes below `cumulative` delivers. None if
    /// it delivers no whole segment, if any outstanding segment is marked, if a segment of the run
    /// ever was, or if a segment beyond it was sent before `latest`.
    #[inline(always)]
    pub(crate) fn plain_run(&self, cumulative: u64, latest: Latest) -> Option<PlainRun> {
        let marked = self.sacked_end > self.first || self.lost_outstanding > 0;
        if marked || self.edge != self.first || self.has_retransmissions() {
            return None;
        }
        let mut run = PlainRun { end: self.una, serial: self.first, sent_at: Instant::ZERO };
        while run.serial < self.next {
            let record = self.slot(run.serial);
            let end = record.end();
            if record.flags != 0 {
                return None;
            }
            if end > cumulative {
                if Latest::new(record.sent_at, run.serial) < latest {
                    return None;
                }
                break;
            }
            run = PlainRun { end, serial: run.serial + 1, sent_at: record.sent_at };
        }
        (run.serial > self.first).then_some(run)
    }

    /// Like [`Self::acknowledge`], for an acknowledgement that delivers `run`. Returns the
    /// delivery.
    #[inline(always)]
    pub(crate) fn acknowledge_plain(&mut self, run: &PlainRun) -> Delivery {
        let mut delivery = Delivery::new(self.una, run.sent_at);
        delivery.bytes = run.end - self.una;
        delivery.segments = (run.serial - self.first) as u32;
        // Never retransmitted, so they left in the order of their serials.
        delivery.once = Latest::new(run.sent_at, run.serial - 1);
        self.pipe -= delivery.bytes;
        self.una = run.end;
        self.first = run.serial;
        self.edge = run.serial;
        self.high_rxt = self.high_rxt.max(run.serial);
        delivery
    }

    /// The segment that `ack` delivers, if its only change is that its first block, above all
    /// others, has grown by the next segment.
    #[inline(always)]
    pub(crate) fn next_sacked(&self, ack: &Ack) -> Option<NextSacked> {
        let serial = self.sacked_end;
        if ack.cumulative != self.una || serial <= self.first || serial >= self.next {
            return None;
        }
        let record = self.slot(serial);
        let ([first, second, third], [known, ..]) = (&ack.sack, &self.known);
        let grown = first.start == known.start && known.end == record.seq;
        let others = match ack.sack_len {
            1 => true,
            2 => *second == self.known[1],
            3 => *second == self.known[1] && *third == self.known[2],
            _ => false,
        };
        let plain = record.flags == 0 && first.end == record.end();
        (grown && others && plain && !ack.reports_duplicate())
            .then_some(NextSacked { end: first.end })
    }

    /// Like [`Self::acknowledge`] and [`Self::sack`], for an acknowledgement that delivers `next`.
    /// Returns the delivery.
    #[inline(always)]
    pub(crate) fn sack_next(&mut self, next: &NextSacked) -> Delivery {
        let serial = self.sacked_end;
        let record = self.slot_mut(serial);
        let len = u64::from(record.len);
        record.flags = SACKED;
        record.skip = 1;
        let sent = Latest::new(record.sent_at, serial);
        let mut delivery = Delivery::new(record.seq, sent.sent_at());
        delivery.bytes = len;
        delivery.segments = 1;
        delivery.once = sent;
        self.known[0].end = next.end;
        self.sacked_segments += 1;
        self.pipe -= len;
        if serial >= self.edge {
            self.sacked_above += len;
            // The segment before is sacked.
            self.runs_above += u32::from(serial == self.edge);
        }
        self.sacked_end = serial + 1;
        delivery
    }
}
