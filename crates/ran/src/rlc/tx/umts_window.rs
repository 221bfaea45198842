//! The sent PDUs of UMTS in the window: acknowledgements, retransmissions and discard (TS 25.322
//! clauses 9.4, 9.7.3.3, 11.3, 11.5 and 11.6).
//!
//! VT(A) is `base`, VT(S) is `base` plus the PDUs in the window. The pieces of SDUs in them are in
//! one queue in order of sending.

use super::umts_poll::Polling;
use crate::pdu::{Part, SduHandle, StatusPdu};
use crate::rlc::codec::umts::SNS;
use crate::rlc::mode::AmConfig;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// The PDU has arrived, or was discarded.
const DONE: u8 = 1;
/// The PDU waits for retransmission.
const AGAIN: u8 = 2;
/// The order to move the receiving window covers it.
const DISCARDED: u8 = 4;
/// The PDU before it has a byte of padding.
pub(super) const ONE_SHORT: u8 = 8;

/// A PDU of the window.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Index of its first piece since the entity's start, and the number of its pieces.
    first: u32,
    count: u8,
    /// VT(DAT): number of times that it was scheduled.
    scheduled: u8,
    flags: u8,
}

/// An order to move the receiving window (MRW super-field).
#[derive(Clone, Copy, Debug)]
struct Mrw {
    sn: u32,
    end: u8,
    is_due: bool,
    /// Expiry of Timer_MRW.
    timer: Instant,
}

/// Largest move of the receiving window by one order: half of the SNs minus one, so that the UE can
/// recognise an old order.
pub(crate) const FURTHEST_MOVE: u32 = 2047;

/// The window of sent PDUs.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: u32,
    base: u32,
    slots: VecDeque<Slot>,
    pieces: VecDeque<Part>,
    /// Index of the first of `pieces`.
    first_piece: u32,
    /// Number of PDUs that wait for retransmission, and the start of the search for the first.
    again: u32,
    scan: usize,
    pub(super) polling: Polling,
    max_dat: u8,
    timer_mrw: Duration,
    mrw: Option<Mrw>,
    /// SDUs discarded by the last report or timeout, and the last one ever.
    discarded: Vec<SduHandle>,
    last_discarded: Option<SduHandle>,
}

impl Window {
    pub(super) fn new(config: &AmConfig) -> Self {
        Self {
            size: config.window,
            base: 0,
            slots: VecDeque::new(),
            pieces: VecDeque::new(),
            first_piece: 0,
            again: 0,
            scan: 0,
            polling: Polling::new(config),
            max_dat: config.max_dat,
            timer_mrw: config.timer_mrw,
            mrw: None,
            discarded: Vec::new(),
            last_discarded: None,
        }
    }

    /// Number of PDUs in the window.
    pub(super) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// VT(S).
    pub(super) fn next_sn(&self) -> u32 {
        SNS.add(self.base, self.len())
    }

    /// True if no new PDU may be sent. TS 25.322 clause 11.3.2. While the receiving window is being
    /// moved, the limit is half of the SNs.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.size || (self.mrw.is_some() && self.len() > FURTHEST_MOVE)
    }

    /// Number of PDUs that wait for retransmission.
    pub(super) fn again(&self) -> u32 {
        self.again
    }

    /// Adds a new PDU with `parts`, which is sent.
    #[inline]
    pub(super) fn push(&mut self, parts: &[Part], flags: u8) {
        let first = self.first_piece.wrapping_add(self.pieces.len() as u32);
        parts.iter().for_each(|&part| self.pieces.push_back(part));
        self.slots.push_back(Slot { first, count: parts.len() as u8, scheduled: 1, flags });
    }

    /// Takes the first PDU that waits for retransmission, which is sent: its SN, its pieces, and
    /// whether it is [`ONE_SHORT`].
    pub(super) fn pop_again(&mut self, parts: &mut Vec<Part>) -> Option<(u32, bool)> {
        if self.again == 0 {
            return None;
        }
        let ahead = self.slots.range(self.scan..).position(|slot| slot.flags & AGAIN != 0)?;
        let at = self.scan + ahead;
        self.scan = at + 1;
        self.again -= 1;
        let slot = &mut self.slots[at];
        slot.flags &= !AGAIN;
        let (range, flags) = (self.piece_range(at), self.slots[at].flags);
        parts.extend(self.pieces.range(range));
        Some((SNS.add(self.base, at as u32), flags & ONE_SHORT != 0))
    }

    /// Range of the pieces of PDU `at`.
    fn piece_range(&self, at: usize) -> core::ops::Range<usize> {
        let slot = &self.slots[at];
        let first = slot.first.wrapping_sub(self.first_piece) as usize;
        first..first + usize::from(slot.count)
    }

    /// Schedules PDU `at` for retransmission; true if its count reaches MaxDAT. TS 25.322 clauses
    /// 9.4 and 9.6 a).
    fn schedule(&mut self, at: usize) -> bool {
        let slot = &mut self.slots[at];
        if slot.flags & (AGAIN | DISCARDED) != 0 {
            return false;
        }
        slot.flags |= AGAIN;
        slot.scheduled = slot.scheduled.saturating_add(1);
        self.again += 1;
        self.scan = self.scan.min(at);
        self.slots[at].scheduled >= self.max_dat
    }

    /// PDUs `from..to` have arrived.
    fn arrived(&mut self, from: u32, to: u32) {
        for slot in self.slots.range_mut(from.min(to) as usize..to as usize) {
            if slot.flags & AGAIN != 0 {
                self.again -= 1;
            }
            slot.flags = (slot.flags | DONE) & !AGAIN;
        }
    }

    /// True if a report names only PDUs of the window, in ascending order. TS 25.322 clause 11.5.
    fn is_sound(&self, status: &StatusPdu) -> bool {
        let len = self.len();
        let mut from = 0;
        SNS.contains(status.ack_sn)
            && SNS.distance(self.base, status.ack_sn) <= len
            && status.nacks.iter().all(|nack| {
                let at = SNS.distance(self.base, nack.sn);
                let end = at + u32::from(nack.range);
                let is_next = SNS.contains(nack.sn) && nack.range > 0 && at >= from && end <= len;
                from = end;
                is_next
            })
    }

    /// A report arrived; `acked` gets each SDU whose PDUs have all arrived, in order. TS 25.322
    /// clauses 9.5 a), 11.3.2 and 11.5.
    pub(super) fn on_status(
        &mut self,
        now: Instant,
        status: &StatusPdu,
        acked: impl FnMut(SduHandle),
    ) {
        self.discarded.clear();
        if !self.is_sound(status) {
            return;
        }
        let lsn = SNS.distance(self.base, status.ack_sn);
        let first_missing = status.nacks.first().map_or(lsn, |n| SNS.distance(self.base, n.sn));
        let moved_to = first_missing.min(lsn);
        if self.mrw.is_some_and(|mrw| SNS.distance(self.base, mrw.sn) <= moved_to) {
            self.mrw = None;
        }
        let polled = self.polling.waits_for().map(|sn| SNS.distance(self.base, sn));
        let (mut from, mut is_answered, mut worst) = (0, polled.is_some_and(|to| to <= lsn), None);
        for nack in &status.nacks {
            let at = SNS.distance(self.base, nack.sn);
            let end = at + u32::from(nack.range);
            self.arrived(from, at.min(lsn));
            for at in at..end {
                if self.slots[at as usize].flags & DONE == 0 && self.schedule(at as usize) {
                    worst = Some(at as usize);
                }
            }
            // All up to VT(S) - 1 must have arrived, or VT(S) - 1 is named as missing.
            if let Some(to) = polled.filter(|_| at < lsn) {
                is_answered &= to <= at;
            }
            is_answered |= polled.is_some_and(|to| (at..end).contains(&to.wrapping_sub(1)));
            from = end;
        }
        self.arrived(from, lsn);
        if is_answered {
            self.polling.answered();
        }
        let gone = if self.mrw.is_none() { self.leave(acked) } else { 0 };
        if let Some(worst) = worst {
            self.discard(worst - gone);
        }
        if self.slots.is_empty() {
            self.polling.forget();
        } else if self.polling.is_wanted && self.again == 0 {
            self.polling.look_again(now);
        }
    }

    /// Moves VT(A) to the first PDU that has not arrived. Returns the number of PDUs that left.
    fn leave(&mut self, mut acked: impl FnMut(SduHandle)) -> usize {
        let before = self.slots.len();
        while let Some(slot) = self.slots.front().filter(|slot| slot.flags & DONE != 0) {
            let (count, is_acked) = (slot.count, slot.flags & DISCARDED == 0);
            // The PDU was to carry a poll because there was no other.
            self.again -= u32::from(slot.flags & AGAIN != 0);
            for _ in 0..count {
                if let Some(piece) = self.pieces.pop_front()
                    && piece.last
                    && is_acked
                    && self.last_discarded != Some(piece.sdu)
                {
                    acked(piece.sdu);
                }
            }
            self.first_piece = self.first_piece.wrapping_add(u32::from(count));
            self.slots.pop_front();
            self.base = SNS.add(self.base, 1);
            self.scan = self.scan.saturating_sub(1);
        }
        before - self.slots.len()
    }

    /// Handles expired timers. `can_send_new`: a new PDU will be sent. TS 25.322 clauses 9.5 a),
    /// 9.7.1 and 11.6.
    pub(super) fn on_timeout(&mut self, now: Instant, can_send_new: bool) {
        self.discarded.clear();
        if let Some(mrw) = self.mrw.as_mut().filter(|mrw| mrw.timer <= now) {
            (mrw.is_due, mrw.timer) = (true, Instant::NEVER);
        }
        let is_alone = self.polling.on_timeout(now, can_send_new || self.again > 0);
        match self.slots.back() {
            None => self.polling.forget(),
            Some(last) if last.flags & DISCARDED != 0 => self.polling.forget(),
            Some(_) if is_alone => {
                let last = self.slots.len() - 1;
                if self.schedule(last) {
                    self.discard(last);
                }
            }
            Some(_) => {}
        }
    }

    /// The next expiry of a timer.
    pub(super) fn next_timeout(&self) -> Instant {
        let mrw = self.mrw.map_or(Instant::NEVER, |mrw| mrw.timer);
        mrw.min(self.polling.next_timeout(self.again > 0))
    }

    /// PDU `worst` was sent as often as MaxDAT permits: discards all SDUs with a piece in it or in
    /// an earlier PDU, and orders the receiver to move its window past them. TS 25.322 clauses
    /// 9.7.3.3 and 11.6.
    fn discard(&mut self, worst: usize) {
        let worst = worst.min(FURTHEST_MOVE as usize - 1);
        let known = self.slots.partition_point(|slot| slot.flags & DISCARDED != 0).min(worst);
        let from = self.piece_range(known).start;
        for piece in self.pieces.range(from..self.piece_range(worst).end) {
            if self.last_discarded != Some(piece.sdu) {
                self.last_discarded = Some(piece.sdu);
                self.discarded.push(piece.sdu);
            }
        }
        let (sn, end) = self.end_of_last(worst);
        for slot in self.slots.range_mut(..sn) {
            if slot.flags & AGAIN != 0 {
                self.again -= 1;
            }
            slot.flags = (slot.flags | DONE | DISCARDED) & !AGAIN;
        }
        let sn = SNS.add(self.base, sn as u32);
        self.mrw = Some(Mrw { sn, end, is_due: true, timer: Instant::NEVER });
    }

    /// The first PDU that is kept if the SDUs up to the last of PDU `worst` are discarded, and the
    /// length indicator in it that ends the last of these SDUs; 0 for none. TS 25.322 clause
    /// 9.2.2.11.7.
    fn end_of_last(&self, worst: usize) -> (usize, u8) {
        let furthest = self.slots.len().min(FURTHEST_MOVE as usize);
        let Some(&last) = self.pieces.range(self.piece_range(worst)).last() else {
            return (worst + 1, 0);
        };
        if last.last {
            return (worst + 1, 0);
        }
        for at in worst + 1..furthest {
            let mut pieces = self.pieces.range(self.piece_range(at));
            match pieces.next() {
                Some(piece) if piece.last && pieces.len() > 0 => return (at, 1),
                Some(piece) if piece.last => return (at + 1, 0),
                _ => {}
            }
        }
        (furthest, 0)
    }

    /// The order to move the receiving window, if it is due now.
    pub(super) fn order(&mut self, now: Instant) -> Option<(u32, u8)> {
        let mrw = self.mrw.as_mut().filter(|mrw| mrw.is_due)?;
        (mrw.is_due, mrw.timer) = (false, now + self.timer_mrw);
        Some((mrw.sn, mrw.end))
    }

    /// True if [`Self::order`] has one.
    pub(super) fn has_order(&self) -> bool {
        self.mrw.is_some_and(|mrw| mrw.is_due)
    }

    /// SDUs discarded by the last report or timeout.
    pub(super) fn discarded(&self) -> impl Iterator<Item = SduHandle> {
        self.discarded.iter().copied()
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        assert!(self.len() <= self.size);
        let again = self.slots.iter().filter(|slot| slot.flags & AGAIN != 0).count();
        assert_eq!(again as u32, self.again);
        assert!(self.slots.iter().take(self.scan).all(|slot| slot.flags & AGAIN == 0));
        let pieces: usize = self.slots.iter().map(|slot| usize::from(slot.count)).sum();
        assert_eq!(pieces, self.pieces.len());
        assert!(self.slots.front().is_none_or(|slot| slot.flags & DONE == 0 || self.mrw.is_some()));
    }
}
