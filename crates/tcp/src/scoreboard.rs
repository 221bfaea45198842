//! The outstanding segments: one record per segment in a ring, with the marks of RFC 6675's
//! scoreboard.
//!
//! Counters, kept up to date, give the result of each function of the RFC; the window is never
//! walked:
//!
//! - `SetPipe()` is [`Scoreboard::pipe`], adjusted at each change of a mark.
//! - `IsLost()` is monotone (if a segment is lost, so are all unsacked ones below it), so one
//!   *edge* separates the judged segments from the rest. The bytes and the discontiguous runs
//!   sacked above the edge are counters. A segment once found lost stays lost, even when a filled
//!   gap merges the runs that proved it. This is the only deviation from the RFC, which evaluates
//!   the rule each time.
//! - `NextSeg()` moves a second pointer that only advances (only a timeout moves it back).
//! - A block that repeats known data costs one comparison. Skip links cross a sacked run and are
//!   shortened on use (path halving), so a rescanned block costs its number of new segments.
//!
//! - Under RACK (RFC 8985) the edge moves by time instead, and retransmissions have a queue of
//!   their own. Originals in order of serials, and retransmissions in order of their queue, are
//!   both in order of sending; see [`by_time`].
//!
//! Records are numbered by *serials* that never repeat; the slot is the serial modulo the ring's
//! power of two.

mod by_time;
mod plain;
mod repair;

use crate::rate::Delivery;
use crate::record::{LOST, RETRANSMITTED, Record, SACKED};
use crate::segment::SackBlock;
use alloc::vec::Vec;
use by_time::Retransmissions;
use justfull_base::Instant;
pub(crate) use plain::{NextSacked, PlainRun};

/// Initial size of the ring, in segments.
const FIRST_SLOTS: usize = 16;

/// The outstanding segments of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    slots: Vec<Record>,
    first: u64,
    next: u64,
    una: u64,
    nxt: u64,
    pipe: u64,
    /// Bytes marked lost and not delivered since.
    lost_outstanding: u64,
    /// Segments with lower serials are judged: lost, sacked or gone.
    edge: u64,
    sacked_above: u64,
    runs_above: u32,
    /// Outstanding segments that are sacked.
    sacked_segments: u64,
    /// All lost segments below this serial have been retransmitted: RFC 6675's `HighRxt`.
    high_rxt: u64,
    /// One past the highest sacked serial.
    sacked_end: u64,
    mss: u64,
    dup_thresh: u32,
    /// The blocks of the last acknowledgement; most are repeated in the next.
    known: [SackBlock; 3],
    /// RACK's state; none when losses are found by counting.
    again: Option<Retransmissions>,
    /// Serials of the originals newly marked lost; none if the control does not use them.
    newly_lost: Option<Vec<u64>>,
}

impl Scoreboard {
    /// An empty scoreboard. `by_time`: RACK finds losses, not counting.
    pub(crate) fn new(mss: u32, by_time: bool) -> Self {
        Self {
            slots: Vec::new(),
            first: 0,
            next: 0,
            una: 0,
            nxt: 0,
            pipe: 0,
            lost_outstanding: 0,
            edge: 0,
            sacked_above: 0,
            runs_above: 0,
            sacked_segments: 0,
            high_rxt: 0,
            sacked_end: 0,
            mss: u64::from(mss),
            dup_thresh: 3,
            known: [SackBlock::default(); 3],
            again: by_time.then(Retransmissions::default),
            newly_lost: None,
        }
    }

    /// With `keep`, [`Scoreboard::take_newly_lost`] has the serials of segments that are marked
    /// lost.
    pub(crate) fn keeping_losses(mut self, keep: bool) -> Self {
        self.newly_lost = keep.then(Vec::new);
        self
    }

    /// Takes the kept serials, if there are any. [`Scoreboard::keep_again`] gives them back.
    pub(crate) fn take_newly_lost(&mut self) -> Option<Vec<u64>> {
        self.newly_lost.take_if(|serials| !serials.is_empty())
    }

    /// Gives back the list that [`Scoreboard::take_newly_lost`] took, for its memory.
    pub(crate) fn keep_again(&mut self, mut serials: Vec<u64>) {
        serials.clear();
        self.newly_lost = Some(serials);
    }

    /// Begins a stream at `offset` instead of 0; nothing may be outstanding yet.
    pub(crate) fn begin_at(&mut self, offset: u64) {
        debug_assert!(self.next == 0, "it is new");
        (self.una, self.nxt) = (offset, offset);
    }

    /// Lowest unacknowledged offset.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Lowest offset not yet sent.
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes in flight by RFC 6675's estimate.
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes sent and not cumulatively acknowledged.
    pub(crate) fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// True when some segment is marked lost and has not been delivered.
    pub(crate) fn has_losses(&self) -> bool {
        self.lost_outstanding > 0
    }

    /// Number of segments (or full-sized equivalents in bytes) that must be sacked above a hole for
    /// it to be lost.
    pub(crate) fn dup_thresh(&self) -> u32 {
        self.dup_thresh
    }

    pub(crate) fn set_dup_thresh(&mut self, segments: u32) {
        self.dup_thresh = segments;
    }

    /// Segments from the lowest outstanding one to the highest sacked one.
    pub(crate) fn overtaken(&self) -> u32 {
        u32::try_from(self.sacked_end.saturating_sub(self.first)).unwrap_or(u32::MAX)
    }

    /// When the oldest outstanding segment last left; none if all are acknowledged.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        (self.first < self.next).then(|| self.slot(self.first).sent_at)
    }

    /// Capacity in segments.
    pub(crate) fn ring_len(&self) -> usize {
        self.slots.len()
    }

    fn slot(&self, serial: u64) -> &Record {
        let mask = self.slots.len().wrapping_sub(1);
        &self.slots[serial as usize & mask]
    }

    fn slot_mut(&mut self, serial: u64) -> &mut Record {
        let mask = self.slots.len().wrapping_sub(1);
        &mut self.slots[serial as usize & mask]
    }

    pub(crate) fn record(&self, serial: u64) -> &Record {
        debug_assert!((self.first..self.next).contains(&serial));
        self.slot(serial)
    }

    pub(crate) fn record_mut(&mut self, serial: u64) -> &mut Record {
        debug_assert!((self.first..self.next).contains(&serial));
        self.slot_mut(serial)
    }

    /// The most recently sent segment that an acknowledgement delivered. Call before sending
    /// anything: until then a record no longer outstanding keeps its slot.
    pub(crate) fn newest(&self, delivery: &Delivery) -> Option<(u64, &Record)> {
        let serial = delivery.newest().serial();
        (delivery.segments > 0).then(|| (serial, self.slot(serial)))
    }

    /// Serials of the lowest outstanding segment, and of the next to be sent for the first time.
    pub(crate) fn serials(&self) -> (u64, u64) {
        (self.first, self.next)
    }

    /// Highest offset delivered, in order or beyond a gap (RFC 8985's `RACK.fack`).
    pub(crate) fn fack(&self) -> u64 {
        if self.sacked_end > self.first { self.slot(self.sacked_end - 1).end() } else { self.una }
    }

    /// Outstanding segments that are sacked (RFC 8985's `RACK.segs_sacked`).
    pub(crate) fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Serial of the highest segment sent, if it is outstanding.
    pub(crate) fn last(&self) -> Option<u64> {
        (self.first < self.next).then(|| self.next - 1)
    }

    fn is_sacked(&self, serial: u64) -> bool {
        serial < self.next && self.slot(serial).has(SACKED)
    }

    /// Appends new data that leaves now.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        debug_assert!(record.seq == self.nxt && record.len > 0);
        if self.next - self.first == self.slots.len() as u64 {
            self.grow();
        }
        self.nxt = record.end();
        self.pipe += u64::from(record.len);
        let serial = self.next;
        self.next += 1;
        *self.slot_mut(serial) = record;
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SLOTS);
        let mut slots = Vec::with_capacity(size);
        slots.resize(size, Record::default());
        for serial in self.first..self.next {
            slots[serial as usize & (size - 1)] = *self.slot(serial);
        }
        self.slots = slots;
    }

    /// Moves the edge past one record that is sacked or no longer matters.
    fn pass_edge(&mut self) {
        let record = self.slot(self.edge);
        if record.has(SACKED) {
            self.sacked_above -= u64::from(record.len);
            if !self.is_sacked(self.edge + 1) {
                self.runs_above -= 1;
            }
        }
        self.edge += 1;
    }

    /// Processes the cumulative acknowledgement of all bytes below `cumulative`. A partly
    /// acknowledged segment stays until the rest is acknowledged.
    pub(crate) fn acknowledge(&mut self, cumulative: u64, delivery: &mut Delivery) {
        while self.first < self.next {
            let record = self.slot(self.first);
            let end = record.end();
            if end > cumulative {
                break;
            }
            if record.flags == 0 {
                // The most common case: sent once, neither sacked nor lost.
                delivery.add(self.first, record);
                self.pipe -= u64::from(record.len);
            } else if !record.has(SACKED) {
                delivery.add(self.first, record);
                let (in_pipe, lost) = (record.in_pipe(), record.lost_bytes());
                self.pipe -= in_pipe;
                self.lost_outstanding -= lost;
            } else {
                self.sacked_segments -= 1;
            }
            if self.edge == self.first {
                self.pass_edge();
            }
            self.una = end;
            self.first += 1;
        }
        self.high_rxt = self.high_rxt.max(self.first);
    }

    /// Processes the SACK blocks of one acknowledgement.
    pub(crate) fn sack(&mut self, blocks: &[SackBlock], delivery: &mut Delivery) {
        let before = self.known;
        for (i, block) in blocks.iter().enumerate().take(before.len()) {
            // Most blocks are repeated in the same place.
            if before[i] == *block {
                continue;
            }
            self.known[i] = *block;
            if block.end > self.una && block.end <= self.nxt && !before.contains(block) {
                self.sack_block(block, &before, delivery);
            }
        }
    }

    fn sack_block(&mut self, block: &SackBlock, known: &[SackBlock; 3], delivery: &mut Delivery) {
        // The first block usually extends a known one: start after the known part.
        let known = known.iter().find(|k| k.start == block.start && k.end < block.end);
        let start = known.map_or(block.start, |k| k.end);
        let mut serial = self.locate(start.max(self.una));
        while serial < self.next {
            let record = self.slot(serial);
            if record.end() > block.end {
                break;
            }
            if record.has(SACKED) {
                serial = self.after_run(serial);
            } else {
                self.mark_sacked(serial, delivery);
                serial += 1;
            }
        }
    }

    /// The first serial that starts at or after `offset`, given `una <= offset <= nxt`.
    fn locate(&self, offset: u64) -> u64 {
        if self.first == self.next {
            return self.next;
        }
        // No segment is longer than the MSS, so at least this many lie before it.
        let distance = offset.saturating_sub(self.slot(self.first).seq);
        let mut low = (self.first + distance.div_ceil(self.mss)).min(self.next);
        let mut high = self.next;
        if low < high && self.slot(low).seq >= offset {
            return low;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.slot(middle).seq < offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first serial after the run of sacked records that contains `serial`.
    fn after_run(&mut self, mut serial: u64) -> u64 {
        loop {
            let skip = self.slot(serial).skip;
            let there = serial + u64::from(skip);
            if !self.is_sacked(there) {
                return there;
            }
            let further = self.slot(there).skip;
            self.slot_mut(serial).skip = skip.saturating_add(further);
            serial = there;
        }
    }

    fn mark_sacked(&mut self, serial: u64, delivery: &mut Delivery) {
        let right = self.is_sacked(serial + 1);
        let record = self.slot_mut(serial);
        delivery.add(serial, record);
        let (len, in_pipe, lost) = (u64::from(record.len), record.in_pipe(), record.lost_bytes());
        record.flags |= SACKED;
        record.skip = 1;
        self.sacked_segments += 1;
        self.pipe -= in_pipe;
        self.lost_outstanding -= lost;
        if serial >= self.edge {
            self.sacked_above += len;
            let left = serial > self.edge && self.is_sacked(serial - 1);
            self.runs_above = self.runs_above + 1 - u32::from(left) - u32::from(right);
        }
        self.sacked_end = self.sacked_end.max(serial + 1);
    }

    /// Applies RFC 6675's `IsLost()`: marks segments below `dup_thresh` discontiguous sacked runs,
    /// or below more than `dup_thresh - 1` full segments' sacked bytes. Returns the bytes newly
    /// marked.
    pub(crate) fn detect_losses(&mut self) -> u64 {
        let limit = u64::from(self.dup_thresh - 1) * self.mss;
        let before = self.lost_outstanding;
        while self.edge < self.sacked_end {
            if self.slot(self.edge).has(SACKED) {
                self.pass_edge();
            } else if self.runs_above >= self.dup_thresh || self.sacked_above > limit {
                self.mark_lost(self.edge);
                self.edge += 1;
            } else {
                break;
            }
        }
        self.lost_outstanding - before
    }

    /// Marks the original lost; returns the bytes newly marked.
    fn mark_lost(&mut self, serial: u64) -> u64 {
        let record = self.slot_mut(serial);
        if record.has(LOST) {
            return 0;
        }
        record.flags |= LOST;
        let len = u64::from(record.len);
        self.pipe -= len;
        self.lost_outstanding += len;
        self.note_lost(serial);
        len
    }

    #[inline]
    fn note_lost(&mut self, serial: u64) {
        if let Some(serials) = &mut self.newly_lost {
            serials.push(serial);
        }
    }

    /// True if the segment before `serial` is outstanding and marked lost too.
    pub(crate) fn follows_loss(&self, serial: u64) -> bool {
        serial > self.first && self.slot(serial - 1).has(LOST)
    }

    /// Marks the lowest outstanding segment lost (the duplicate threshold was reached without
    /// `IsLost`). Returns the bytes newly marked.
    pub(crate) fn mark_front_lost(&mut self) -> u64 {
        if self.edge != self.first || self.first == self.next || self.is_sacked(self.first) {
            return 0;
        }
        self.edge += 1;
        self.mark_lost(self.first)
    }

    /// Timeout: everything that is not sacked is lost, retransmissions included; sacked segments
    /// stay sacked (RFC 6675 section 5.1). Returns the bytes newly marked.
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let before = self.lost_outstanding;
        for serial in self.first..self.next {
            if !self.is_sacked(serial) {
                self.mark_lost(serial);
                self.slot_mut(serial).flags &= !RETRANSMITTED;
            }
        }
        self.pipe = 0;
        self.edge = self.next;
        self.sacked_above = 0;
        self.runs_above = 0;
        self.high_rxt = self.first;
        self.lost_outstanding - before
    }

    /// There was no loss: removes all marks and judges again from the sacked segments.
    pub(crate) fn unmark_lost(&mut self) {
        self.pipe = 0;
        self.lost_outstanding = 0;
        self.sacked_above = 0;
        self.runs_above = 0;
        self.edge = self.first;
        if self.again.is_some() {
            // A copy that was lost counts as an original again, below the retransmitted segments.
            self.high_rxt = self.first;
        }
        let mut left = false;
        for serial in self.first..self.next {
            let slot = self.slot_mut(serial);
            slot.flags &= !LOST;
            let record = *slot;
            self.pipe += record.in_pipe();
            let sacked = record.has(SACKED);
            if sacked {
                self.sacked_above += u64::from(record.len);
                self.runs_above += u32::from(!left);
            }
            left = sacked;
        }
    }

    /// True for the lowest outstanding segment.
    pub(crate) fn is_front(&self, serial: u64) -> bool {
        serial == self.first
    }
}

#[cfg(test)]
mod tests;
