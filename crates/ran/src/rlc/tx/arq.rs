//! Automatic repeat request, transmitting side: window, polling, status reports, and
//! retransmissions.
//!
//! TS 38.322 sections 5.2.3.1 and 5.3.2 to 5.3.3; TS 36.322 sections 5.1.3.1 and 5.2.1 to 5.2.2. NR
//! numbers SDUs and LTE numbers PDUs; here both are units of some bytes. TX_Next_Ack (VT(A)) is
//! `base`, TX_Next (VT(S)) is `base` plus the units in the ring.

use crate::pdu::{Nack, SO_END, StatusPdu};
use crate::rlc::mode::AmConfig;
use crate::rlc::sn::SnSpace;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// A unit that is unacknowledged, or follows an unacknowledged one.
#[derive(Clone, Debug)]
pub(super) struct Unit<T> {
    /// The entity's data for it.
    pub(super) what: T,
    /// Its bytes, and the number of them that went to the MAC at least once.
    pub(super) size: u32,
    pub(super) sent: u32,
    acked: bool,
    /// RETX_COUNT; [`NOT_YET`] before the first retransmission is considered.
    retx_count: u8,
    /// The last cause that counted, report or timeout: only one NACK of a report counts.
    counted_by: u16,
}

/// No retransmission has been considered yet.
const NOT_YET: u8 = u8::MAX;

/// Bytes `start..end` of unit `sn`, to be retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portion {
    pub(super) sn: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// The state of the procedures.
#[derive(Clone, Debug)]
pub(super) struct Arq<T> {
    sn: SnSpace,
    base: u32,
    ring: VecDeque<Unit<T>>,
    /// In ascending order, without overlap.
    again: VecDeque<Portion>,
    /// A waiting report of this entity's receiving side.
    pub(super) control: Option<StatusPdu>,
    poll_pdu: u32,
    poll_byte: u64,
    t_poll_retransmit: Duration,
    max_retx: u8,
    pdus_without_poll: u32,
    bytes_without_poll: u64,
    /// POLL_SN; t-PollRetransmit runs until `poll_timer`.
    poll_sn: u32,
    poll_timer: Instant,
    /// t-PollRetransmit has expired: the next PDU has the poll bit.
    poll_due: bool,
    cause: u16,
    /// Units whose RETX_COUNT reached the threshold at the last report or timeout.
    reached: Vec<u32>,
}

impl<T> Arq<T> {
    pub(super) fn new(config: &AmConfig) -> Self {
        Self {
            sn: SnSpace::new(config.sn_bits),
            base: 0,
            ring: VecDeque::new(),
            again: VecDeque::new(),
            control: None,
            poll_pdu: if config.poll_pdu == 0 { u32::MAX } else { config.poll_pdu },
            poll_byte: if config.poll_byte.0 == 0 { u64::MAX } else { config.poll_byte.0 },
            t_poll_retransmit: config.t_poll_retransmit,
            max_retx: config.max_retx_threshold,
            pdus_without_poll: 0,
            bytes_without_poll: 0,
            poll_sn: 0,
            poll_timer: Instant::NEVER,
            poll_due: false,
            cause: 0,
            reached: Vec::new(),
        }
    }

    /// True if the window has no room for another unit. TS 38.322 v17 clause 5.2.3.1.1, TS 36.322
    /// v17 clause 5.1.3.1.1.
    pub(super) fn is_stalled(&self) -> bool {
        self.ring.len() as u32 >= self.sn.window()
    }

    /// SN of the next unit: TX_Next.
    fn next_sn(&self) -> u32 {
        self.sn.add(self.base, self.ring.len() as u32)
    }

    /// SN of the newest unit.
    pub(super) fn last_sn(&self) -> u32 {
        self.sn.add(self.next_sn(), u32::MAX)
    }

    /// Adds a new unit of `size` bytes, all unsent.
    pub(super) fn push(&mut self, what: T, size: u32) {
        self.ring.push_back(Unit {
            what,
            size,
            sent: 0,
            acked: false,
            retx_count: NOT_YET,
            counted_by: 0,
        });
    }

    /// The unit with the highest SN.
    pub(super) fn last_mut(&mut self) -> Option<&mut Unit<T>> {
        self.ring.back_mut()
    }

    pub(super) fn last(&self) -> Option<&Unit<T>> {
        self.ring.back()
    }

    /// Pending retransmissions, with their units.
    pub(super) fn again(&self) -> impl Iterator<Item = (Portion, &Unit<T>)> {
        self.again
            .iter()
            .map(|&portion| (portion, &self.ring[self.sn.distance(self.base, portion.sn) as usize]))
    }

    /// True if no retransmission is pending.
    pub(super) fn nothing_again(&self) -> bool {
        self.again.is_empty()
    }

    /// The first `len` bytes of the first portion are sent.
    pub(super) fn sent_again(&mut self, len: u32) {
        if let Some(front) = self.again.front_mut() {
            front.start += len;
            if front.start >= front.end {
                self.again.pop_front();
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.poll_timer
    }

    /// True if the AMD PDU made at `now` has the poll bit (TS 38.322 section 5.3.3.2). `new_bytes`
    /// of its data field were never sent; `more`: more data can be sent after it.
    pub(super) fn poll(&mut self, now: Instant, new_bytes: Option<u32>, more: bool) -> bool {
        if let Some(bytes) = new_bytes {
            self.pdus_without_poll += 1;
            self.bytes_without_poll += u64::from(bytes);
        }
        let polls = self.poll_due
            || !more
            || self.pdus_without_poll >= self.poll_pdu
            || self.bytes_without_poll >= self.poll_byte;
        if polls {
            self.poll_due = false;
            self.pdus_without_poll = 0;
            self.bytes_without_poll = 0;
            self.poll_sn = self.last_sn();
            self.poll_timer = now + self.t_poll_retransmit;
        }
        polls
    }

    /// A report arrived. `acked` gets each unit acknowledged now, `gone` gets each unit that leaves
    /// the window. TS 38.322 v17 clause 5.3.3.3, TS 36.322 v17 clause 5.2.2.2.
    pub(super) fn on_status(
        &mut self,
        status: &StatusPdu,
        mut acked: impl FnMut(&T),
        mut gone: impl FnMut(&T),
    ) {
        self.reached.clear();
        let acked_to = self.sn.distance(self.base, status.ack_sn);
        if !self.is_sound(status, acked_to) {
            return;
        }
        if self.poll_timer != Instant::NEVER && self.sn.distance(self.base, self.poll_sn) < acked_to
        {
            self.poll_timer = Instant::NEVER;
        }
        self.cause = self.cause.wrapping_add(1);
        let mut at = 0;
        for nack in &status.nacks {
            let first = self.sn.distance(self.base, nack.sn);
            self.acknowledge(at, first, &mut acked);
            at = first + u32::from(nack.range);
            self.on_nack(first, nack);
        }
        self.acknowledge(at, acked_to, &mut acked);
        if !self.again.is_empty() {
            let (sn, base, ring) = (self.sn, self.base, &self.ring);
            self.again.retain(|portion| !ring[sn.distance(base, portion.sn) as usize].acked);
        }
        while let Some(unit) = self.ring.front().filter(|unit| unit.acked) {
            gone(&unit.what);
            self.ring.pop_front();
            self.base = self.sn.add(self.base, 1);
        }
    }

    /// The units whose RETX_COUNT reached the threshold at the last report or timeout. A unit
    /// appears only once.
    pub(super) fn reached(&self) -> impl Iterator<Item = &Unit<T>> {
        self.reached.iter().map(|&sn| self.unit(sn))
    }

    /// True if the report acknowledges no unsent data, and its NACKs ascend and are below ACK_SN.
    /// TS 38.322 v17 clause 5.6.1.
    fn is_sound(&self, status: &StatusPdu, acked_to: u32) -> bool {
        if acked_to as usize > self.ring.len() || !self.sn.contains(status.ack_sn) {
            return false;
        }
        // The next NACK must not precede this position: SN, then byte.
        let mut least = (0, 0);
        status.nacks.iter().all(|nack| {
            let first = self.sn.distance(self.base, nack.sn);
            let last = first + u32::from(nack.range).saturating_sub(1);
            let ascends = (first, nack.so_start) >= least && last < acked_to;
            least = if nack.so_end == SO_END { (last + 1, 0) } else { (last, nack.so_end) };
            ascends && nack.range >= 1 && self.sn.contains(nack.sn)
        })
    }

    /// Units `from..to`, counted from the base, have arrived. A partly sent unit cannot have
    /// arrived.
    fn acknowledge(&mut self, from: u32, to: u32, acked: &mut impl FnMut(&T)) {
        for at in from..to {
            let unit = &mut self.ring[at as usize];
            if !unit.acked && unit.sent == unit.size {
                unit.acked = true;
                acked(&unit.what);
            }
        }
    }

    /// Considers the units of `nack`, which starts `first` from the base, for retransmission. TS
    /// 38.322 v17 clause 5.3.2, TS 36.322 v17 clause 5.2.1.
    fn on_nack(&mut self, first: u32, nack: &Nack) {
        let last = first + u32::from(nack.range) - 1;
        for at in first..=last {
            let unit = &self.ring[at as usize];
            let start = if at == first { u32::from(nack.so_start) } else { 0 };
            let to_end = at != last || nack.so_end == SO_END;
            let end = if to_end { unit.sent } else { unit.sent.min(u32::from(nack.so_end) + 1) };
            if !unit.acked && start < end && self.repeat(at, start, end) {
                self.count_retx(at);
            }
        }
    }

    /// Adds bytes `start..end` of unit `at` to the pending retransmissions; true if some were new
    /// there.
    fn repeat(&mut self, at: u32, start: u32, end: u32) -> bool {
        let (sn, base) = (self.sn, self.base);
        let place = |p: &Portion| (sn.distance(base, p.sn), p.start);
        let unit_sn = sn.add(base, at);
        let mut i = self.again.partition_point(|p| place(p) < (at, start));
        let before = i.checked_sub(1).map(|i| self.again[i]).filter(|p| p.sn == unit_sn);
        let mut start = before.map_or(start, |p| start.max(p.end));
        let mut is_new = false;
        while start < end {
            let next = self.again.get(i).copied().filter(|p| p.sn == unit_sn && p.start < end);
            let to = next.map_or(end, |p| p.start);
            if start < to {
                self.again.insert(i, Portion { sn: unit_sn, start, end: to });
                is_new = true;
                i += 1;
            }
            start = next.map_or(end, |p| p.end);
            i += 1;
        }
        is_new
    }

    /// Counts a retransmission of unit `at`, once for each cause.
    /// TS 38.322 v17 clause 5.3.2, TS 36.322 v17 clause 5.2.1.
    fn count_retx(&mut self, at: u32) {
        let (cause, unit) = (self.cause, &mut self.ring[at as usize]);
        if unit.retx_count == NOT_YET {
            unit.retx_count = 0;
        } else if unit.counted_by != cause {
            unit.retx_count = unit.retx_count.saturating_add(1).min(NOT_YET - 1);
            if unit.retx_count == self.max_retx {
                self.reached.push(self.sn.add(self.base, at));
            }
        }
        unit.counted_by = cause;
    }

    /// Handles an expiry of t-PollRetransmit. TS 38.322 v17 clause 5.3.3.4, TS 36.322 v17 clause
    /// 5.2.2.3.
    pub(super) fn on_timeout(&mut self, now: Instant, more_waits: bool) {
        self.reached.clear();
        if now < self.poll_timer {
            return;
        }
        self.poll_timer = Instant::NEVER;
        self.poll_due = true;
        let begun = self.ring.back().is_some_and(|unit| unit.sent < unit.size);
        let can_send_new = begun || (more_waits && !self.is_stalled());
        if !self.again.is_empty() || can_send_new {
            return;
        }
        self.cause = self.cause.wrapping_add(1);
        let Some(at) = self.ring.iter().rposition(|unit| !unit.acked && unit.sent > 0) else {
            return;
        };
        let end = self.ring[at].sent;
        if self.repeat(at as u32, 0, end) {
            self.count_retx(at as u32);
        }
    }

    /// The units that are not acknowledged, in the order of their SNs.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = &Unit<T>> {
        self.ring.iter().filter(|unit| !unit.acked)
    }

    /// The unit `sn` of the window.
    pub(super) fn unit(&self, sn: u32) -> &Unit<T> {
        &self.ring[self.sn.distance(self.base, sn) as usize]
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        assert!(self.ring.len() as u32 <= self.sn.window());
        let places: Vec<_> =
            self.again.iter().map(|p| (self.sn.distance(self.base, p.sn), p)).collect();
        for (at, portion) in &places {
            let unit = &self.ring[*at as usize];
            assert!(
                !unit.acked && portion.start < portion.end && portion.end <= unit.sent,
                "{portion:?}"
            );
        }
        for pair in places.windows(2) {
            let ((a, p), (b, q)) = (pair[0], pair[1]);
            assert!((a, p.end) <= (b, q.start), "{p:?} before {q:?}");
        }
    }
}
