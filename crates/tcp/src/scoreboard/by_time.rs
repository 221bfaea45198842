//! Losses by time (RFC 8985 section 6.2 step 5), without walking the window.
//!
//! The RFC keeps all segments in one list by time of sending. Here originals have that order by
//! serial, so the edge separates the judged segments from the rest as it does when counting;
//! retransmissions have it in a queue. A queue entry is void once its segment is delivered, found
//! lost or sent again; it is dropped when it reaches the front. Segments lost again have a queue
//! too, so that `HighRxt` need not fall back to them.

use super::Scoreboard;
use crate::rack::Judgement;
use crate::record::{LOST, Latest, RETRANSMITTED, SACKED};
use alloc::collections::VecDeque;
use justfull_base::{Duration, Instant};

/// Number of retransmissions allocated at the first one: 1 KiB.
const FIRST_ENTRIES: usize = 64;

/// Queues of the retransmissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    /// In flight, in order of sending.
    sent: VecDeque<Latest>,
    /// Serials of lost retransmissions, to be sent again.
    lost: VecDeque<u64>,
}

impl Retransmissions {
    pub(super) fn push(&mut self, sent: Latest) {
        if self.sent.capacity() == 0 {
            // So that later losses do not allocate.
            self.sent.reserve(FIRST_ENTRIES);
            self.lost.reserve(FIRST_ENTRIES / 4);
        }
        self.sent.push_back(sent);
    }
}

/// Result of judging the suspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes newly marked lost.
    pub(crate) lost: u64,
    /// When the next suspect becomes lost; never if there is none.
    pub(crate) next: Instant,
}

impl Scoreboard {
    /// True when retransmissions may be in flight, as RACK counts them.
    #[inline]
    pub(super) fn has_retransmissions(&self) -> bool {
        self.again.as_ref().is_some_and(|again| !again.sent.is_empty())
    }

    /// False if no outstanding segment was sent before `latest`, as after every acknowledgement in
    /// order: there is nothing to judge.
    #[inline]
    pub(crate) fn has_suspects(&self, latest: Latest) -> bool {
        let Some(again) = &self.again else { return false };
        if !again.sent.is_empty() {
            return true;
        }
        if self.edge >= self.next {
            return false;
        }
        let record = self.slot(self.edge);
        record.flags & (SACKED | RETRANSMITTED) != 0
            || Latest::new(record.sent_at, self.edge) < latest
    }

    /// Marks segments lost that were sent before the latest delivered one and whose time is up.
    pub(crate) fn detect_losses_by_time(&mut self, by: &Judgement) -> Found {
        let mut found = Found { lost: 0, next: Instant::NEVER };
        while self.edge < self.next {
            let record = self.slot(self.edge);
            if record.has(SACKED) {
                self.pass_edge();
            } else if record.has(RETRANSMITTED) {
                self.edge += 1;
            } else if Latest::new(record.sent_at, self.edge) >= by.latest {
                break;
            } else {
                let due = record.sent_at + by.patience;
                if due > by.now {
                    found.next = due;
                    break;
                }
                found.lost += self.mark_lost(self.edge);
                self.edge += 1;
            }
        }
        while let Some(sent) = self.oldest_retransmission() {
            if sent >= by.latest {
                break;
            }
            let due = sent.sent_at() + by.patience;
            if due > by.now {
                found.next = found.next.min(due);
                break;
            }
            found.lost += self.lose_again(sent.serial());
        }
        found
    }

    /// The earliest sent retransmission in flight; drops void entries on the way.
    fn oldest_retransmission(&mut self) -> Option<Latest> {
        loop {
            let sent = *self.again.as_ref()?.sent.front()?;
            let serial = sent.serial();
            if serial >= self.first {
                let record = self.slot(serial);
                if record.flags & (SACKED | RETRANSMITTED) == RETRANSMITTED
                    && record.sent_at == sent.sent_at()
                {
                    return Some(sent);
                }
            }
            self.again.as_mut()?.sent.pop_front();
        }
    }

    /// The retransmission of `serial` is lost, and its original too if it was not yet marked.
    /// Returns its bytes.
    fn lose_again(&mut self, serial: u64) -> u64 {
        if self.mark_lost(serial) == 0 {
            self.note_lost(serial);
        }
        let record = self.slot_mut(serial);
        record.flags &= !RETRANSMITTED;
        let len = u64::from(record.len);
        self.pipe -= len;
        if let Some(again) = &mut self.again {
            again.lost.push_back(serial);
        }
        len
    }

    /// The first segment lost again and not sent since.
    pub(super) fn next_lost_again(&mut self) -> Option<u64> {
        loop {
            let serial = *self.again.as_ref()?.lost.front()?;
            if serial >= self.first
                && self.slot(serial).flags & (SACKED | LOST | RETRANSMITTED) == LOST
            {
                return Some(serial);
            }
            self.again.as_mut()?.lost.pop_front();
        }
    }

    /// Timeout under RACK (RFC 8985 section 6.3): the lowest segment is lost, and so is everything
    /// older than `patience`. Returns the bytes newly marked.
    pub(crate) fn mark_lost_at_timeout(&mut self, now: Instant, patience: Duration) -> u64 {
        let by = Judgement { now, latest: Latest::new(Instant::NEVER, u64::MAX - 1), patience };
        let mut lost = self.detect_losses_by_time(&by).lost;
        if self.first < self.next {
            let front = self.slot(self.first);
            // A sacked segment is no longer in flight, though it stays at the front until the
            // receiver acknowledges it.
            if !front.has(SACKED) {
                if front.has(RETRANSMITTED) {
                    lost += self.lose_again(self.first);
                } else {
                    lost += self.mark_lost(self.first);
                    self.edge = self.edge.max(self.first + 1);
                }
            }
        }
        // The lowest first, then all lost segments from there on. Only the queue has the lost
        // segments beyond the edge.
        let edge = self.edge;
        if let Some(again) = &mut self.again {
            again.lost.retain(|&serial| serial >= edge);
            again.lost.push_front(self.first);
        }
        self.high_rxt = self.first;
        lost
    }
}

#[cfg(test)]
mod tests;
