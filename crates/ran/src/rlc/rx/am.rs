//! Receiving side of an AM entity (TS 38.322 sections 5.2.3.2 and 5.3.4; TS 36.322 sections 5.1.3.2
//! and 5.2.3).
//!
//! Both generations keep the same variables: RX_Next (VR(R)), RX_Next_Highest (VR(H)),
//! RX_Highest_Status (VR(MS)), RX_Next_Status_Trigger (VR(X)). They differ in the unit of an SN (an
//! SDU or a PDU), in the times at which t-Reassembly (t-Reordering) runs, and in the treatment of a
//! complete unit: see [`Joining`]. Ring: each SN from RX_Next up to RX_Next_Highest.

use super::assembly::{Added, Joiner, LtePdu, Runs, place};
use super::lte_um::checked_len;
use super::nr_um::{Header, Sdu, part_of};
use super::ring::{Held, Ring, Slot};
use crate::pdu::{FramingInfo, Nack, Part, PduSegment, SO_END, SduHandle, StatusPdu};
use crate::rlc::codec::{Format, fit_status};
use crate::rlc::mode::{AmConfig, RlcModeConfig};
use crate::rlc::sn::SnSpace;
use justfull_base::{Duration, Instant};

/// The unit that an SN numbers.
pub(super) trait Numbered: Held {
    /// Bytes of its data field from `so` on arrived: `len` in `parts`, including the very last byte
    /// if `last`.
    fn add(&mut self, so: u32, len: u32, parts: &[Part], last: bool) -> Added;

    /// The bytes that have arrived.
    fn runs(&self) -> &Runs;
}

/// The treatment of complete units.
pub(super) trait Joining: Default {
    type Unit: Numbered;

    /// True if the timer must run: `span` SNs lie between an SN with the state `slot` and an upper
    /// edge.
    fn waits(span: u32, slot: &Slot<'_, Self::Unit>) -> bool;

    /// The next unit in order arrived whole, and no unit is held.
    fn in_order(&mut self, parts: &[Part], deliver: &mut impl FnMut(SduHandle));

    /// Unit `at` is complete.
    fn complete(
        &mut self,
        ring: &mut Ring<Self::Unit>,
        at: u32,
        deliver: &mut impl FnMut(SduHandle),
    );

    /// The lowest unit has these bytes, or all of them if it `leaves`.
    fn lowest(&mut self, unit: &Self::Unit, leaves: bool, deliver: &mut impl FnMut(SduHandle));
}

impl Numbered for Sdu {
    fn add(&mut self, so: u32, len: u32, parts: &[Part], last: bool) -> Added {
        let Some(part) = parts.first() else { return Added::Contradiction };
        if !self.runs.is_empty() && self.handle != part.sdu {
            return Added::Contradiction;
        }
        self.handle = part.sdu;
        self.runs.add(so, so + len, last)
    }

    fn runs(&self) -> &Runs {
        &self.runs
    }
}

impl Numbered for LtePdu {
    fn add(&mut self, so: u32, len: u32, parts: &[Part], last: bool) -> Added {
        let added = self.runs.add(so, so + len, last);
        if added == Added::New {
            place(&mut self.pieces, so, parts);
        }
        added
    }

    fn runs(&self) -> &Runs {
        &self.runs
    }
}

/// NR: an SN numbers an SDU, delivered when complete.
#[derive(Clone, Debug, Default)]
pub(super) struct NrSdus;

impl Joining for NrSdus {
    type Unit = Sdu;

    fn waits(span: u32, slot: &Slot<'_, Sdu>) -> bool {
        span > 1 || (span == 1 && matches!(slot, Slot::Held(sdu) if sdu.runs.has_gap()))
    }

    fn in_order(&mut self, parts: &[Part], deliver: &mut impl FnMut(SduHandle)) {
        parts.iter().for_each(|part| deliver(part.sdu));
    }

    fn complete(&mut self, ring: &mut Ring<Sdu>, at: u32, deliver: &mut impl FnMut(SduHandle)) {
        if let Slot::Held(sdu) = ring.slot(at) {
            deliver(sdu.handle);
        }
        ring.finish(at);
    }

    fn lowest(&mut self, _unit: &Sdu, _leaves: bool, _deliver: &mut impl FnMut(SduHandle)) {}
}

/// LTE: an SN numbers a PDU; PDUs in order are joined.
#[derive(Clone, Debug, Default)]
pub(super) struct LtePdus {
    joiner: Joiner,
    /// Bytes of the lowest PDU already joined although it is incomplete.
    joined: u32,
}

impl Joining for LtePdus {
    type Unit = LtePdu;

    fn waits(span: u32, _slot: &Slot<'_, LtePdu>) -> bool {
        span > 0
    }

    fn in_order(&mut self, parts: &[Part], deliver: &mut impl FnMut(SduHandle)) {
        parts.iter().for_each(|part| self.joiner.feed(part, &mut (&mut *deliver, |_| {})));
    }

    fn complete(
        &mut self,
        _ring: &mut Ring<LtePdu>,
        _at: u32,
        _deliver: &mut impl FnMut(SduHandle),
    ) {
    }

    fn lowest(&mut self, unit: &LtePdu, leaves: bool, deliver: &mut impl FnMut(SduHandle)) {
        let prefix = unit.runs.prefix();
        let (joined, joiner) = (self.joined, &mut self.joiner);
        unit.pieces
            .iter()
            .filter(|piece| (joined..prefix).contains(&piece.at))
            .for_each(|piece| joiner.feed(&piece.part, &mut (&mut *deliver, |_| {})));
        self.joined = if leaves { 0 } else { prefix };
    }
}

/// The receiving side of an AM entity.
#[derive(Clone, Debug)]
pub(super) struct Am<J: Joining> {
    sn: SnSpace,
    format: Format,
    /// RX_Next.
    next: u32,
    /// RX_Next_Highest.
    highest: u32,
    /// RX_Highest_Status.
    highest_status: u32,
    /// RX_Next_Status_Trigger.
    trigger: u32,
    t_reassembly: Duration,
    /// Expiry of t-Reassembly.
    pub(super) timer: Instant,
    t_status_prohibit: Duration,
    /// Expiry of t-StatusProhibit.
    prohibited_until: Instant,
    status_triggered: bool,
    ring: Ring<J::Unit>,
    joining: J,
    report: StatusPdu,
}

/// The place of arrived bytes: `len` of them from `so` on, in unit `sn`; `last` if the unit ends
/// with them.
#[derive(Clone, Copy)]
struct Come {
    sn: u32,
    so: u32,
    len: u32,
    last: bool,
}

/// The fields of an AMD PDU of LTE.
pub(super) struct LteHeader {
    pub(super) fi: FramingInfo,
    pub(super) sn: u32,
    pub(super) segment: Option<PduSegment>,
}

impl<J: Joining> Am<J> {
    pub(super) fn new(config: &AmConfig) -> Self {
        Self {
            sn: SnSpace::new(config.sn_bits),
            format: RlcModeConfig::Am(config.clone()).format(),
            next: 0,
            highest: 0,
            highest_status: 0,
            trigger: 0,
            t_reassembly: config.t_reassembly,
            timer: Instant::NEVER,
            t_status_prohibit: config.t_status_prohibit,
            prohibited_until: Instant::ZERO,
            status_triggered: false,
            ring: Ring::default(),
            joining: J::default(),
            report: StatusPdu::default(),
        }
    }

    /// SNs from RX_Next to RX_Next_Highest, and to RX_Highest_Status.
    fn span(&self) -> u32 {
        self.sn.distance(self.next, self.highest)
    }

    fn status_span(&self) -> u32 {
        self.sn.distance(self.next, self.highest_status)
    }

    fn is_complete(&self, at: u32) -> bool {
        match self.ring.slot(at) {
            Slot::Missing => false,
            Slot::Held(unit) => unit.runs().is_complete(),
            Slot::Done => true,
        }
    }

    /// The bytes `come` arrived. True if they are accepted. TS 38.322 v17 clause 5.2.3.2.2, TS
    /// 36.322 v17 clause 5.1.3.2.2.
    #[inline]
    fn receive(
        &mut self,
        now: Instant,
        poll: bool,
        come: Come,
        parts: &[Part],
        deliver: &mut impl FnMut(SduHandle),
    ) -> bool {
        let Come { sn, so, last, .. } = come;
        if !self.sn.contains(sn) {
            return false;
        }
        if sn == self.next && self.next == self.highest && so == 0 && last {
            self.next = self.sn.add(sn, 1);
            self.highest = self.next;
            self.highest_status = self.next;
            self.status_triggered |= poll;
            self.joining.in_order(parts, deliver);
            return true;
        }
        match self.place(now, come, parts, deliver) {
            Added::Contradiction => return false,
            Added::Duplicate => {
                self.status_triggered |= poll;
                return false;
            }
            Added::New => {}
        }
        let at = self.sn.distance(self.next, sn);
        if poll && (at >= self.sn.window() || at < self.status_span()) {
            self.status_triggered = true;
        } else if poll {
            self.ring.poll(at);
        }
        true
    }

    /// TS 38.322 sections 5.2.3.2.2 and 5.2.3.2.3; outside the window counts as a duplicate.
    fn place(
        &mut self,
        now: Instant,
        come: Come,
        parts: &[Part],
        deliver: &mut impl FnMut(SduHandle),
    ) -> Added {
        let Come { sn, so, len, last } = come;
        let at = self.sn.distance(self.next, sn);
        if at >= self.sn.window() {
            return Added::Duplicate;
        }
        let Some(unit) = self.ring.hold(at) else { return Added::Duplicate };
        if unit.runs().is_complete() {
            return Added::Duplicate;
        }
        let added = unit.add(so, len, parts, last);
        if unit.runs().is_complete() {
            self.joining.complete(&mut self.ring, at, deliver);
        }
        if added == Added::New {
            self.highest = self.sn.add(self.next, self.span().max(at + 1));
            self.move_highest_status(self.status_span());
            self.move_next(deliver);
            self.update_timer(now);
        }
        added
    }

    /// RX_Highest_Status becomes the first incomplete SN from `at` on. Polls that it passes trigger
    /// a report. TS 38.322 v17 clause 5.2.3.2.3, TS 36.322 v17 clause 5.1.3.2.3.
    fn move_highest_status(&mut self, mut at: u32) {
        while self.is_complete(at) {
            self.status_triggered |= self.ring.has_polled(at);
            at += 1;
        }
        self.highest_status = self.sn.add(self.next, at);
    }

    /// RX_Next becomes the first incomplete SN. TS 38.322 v17 clause 5.2.3.2.3, TS 36.322 v17
    /// clause 5.1.3.2.3.
    fn move_next(&mut self, deliver: &mut impl FnMut(SduHandle)) {
        while self.is_complete(0) {
            if let Slot::Held(unit) = self.ring.slot(0) {
                self.joining.lowest(unit, true, deliver);
            }
            self.ring.pop();
            self.next = self.sn.add(self.next, 1);
        }
        if let Slot::Held(unit) = self.ring.slot(0) {
            self.joining.lowest(unit, false, deliver);
        }
    }

    /// TS 38.322 v17 clause 5.2.3.2.3, TS 36.322 v17 clause 5.1.3.2.3.
    fn update_timer(&mut self, now: Instant) {
        let lowest = self.ring.slot(0);
        if self.timer != Instant::NEVER {
            let to_trigger = self.sn.distance(self.next, self.trigger);
            if to_trigger > self.sn.window() || !J::waits(to_trigger, &lowest) {
                self.timer = Instant::NEVER;
            }
        }
        if self.timer == Instant::NEVER && J::waits(self.span(), &lowest) {
            self.timer = now + self.t_reassembly;
            self.trigger = self.highest;
        }
    }

    /// Reports missing data before RX_Next_Status_Trigger once t-Reassembly has expired. TS 38.322
    /// v17 clause 5.2.3.2.4, TS 36.322 v17 clause 5.1.3.2.4.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if now < self.timer || self.timer == Instant::NEVER {
            return;
        }
        self.timer = Instant::NEVER;
        self.move_highest_status(self.sn.distance(self.next, self.trigger));
        self.status_triggered = true;
        let at = self.status_span();
        if J::waits(self.span() - at, &self.ring.slot(at)) {
            self.timer = now + self.t_reassembly;
            self.trigger = self.highest;
        }
    }

    pub(super) fn status_due(&self) -> Option<Instant> {
        self.status_triggered.then_some(self.prohibited_until)
    }

    /// TS 38.322 v17 clause 5.3.4, TS 36.322 v17 clause 5.2.3.
    pub(super) fn status(&mut self, now: Instant, grant: u32) -> Option<&StatusPdu> {
        if !self.status_triggered || now < self.prohibited_until {
            return None;
        }
        let missing = Missing::new(self.format, self.sn);
        self.report.nacks.clear();
        self.report.ack_sn = self.highest_status;
        for at in 0..self.status_span() {
            let sn = self.sn.add(self.next, at);
            match self.ring.slot(at) {
                Slot::Missing => missing.add(&mut self.report, sn, 0, None),
                Slot::Held(unit) => {
                    for (start, end) in unit.runs().gaps() {
                        missing.add(&mut self.report, sn, start, end);
                    }
                }
                Slot::Done => {}
            }
        }
        if fit_status(self.format, &mut self.report, grant) == 0 {
            return None;
        }
        self.status_triggered = false;
        self.prohibited_until = now + self.t_status_prohibit;
        Some(&self.report)
    }
}

impl Am<NrSdus> {
    #[inline]
    pub(super) fn receive_nr(
        &mut self,
        now: Instant,
        poll: bool,
        header: Header,
        parts: &[Part],
        deliver: &mut impl FnMut(SduHandle),
    ) -> bool {
        let Some(part) = part_of(header, parts) else { return false };
        let (so, len, last) = (part.offset, part.len, part.last);
        self.receive(now, poll, Come { sn: header.sn, so, len, last }, parts, deliver)
    }
}

impl Am<LtePdus> {
    #[inline]
    pub(super) fn receive_lte(
        &mut self,
        now: Instant,
        poll: bool,
        header: LteHeader,
        parts: &[Part],
        deliver: &mut impl FnMut(SduHandle),
    ) -> bool {
        let LteHeader { fi, sn, segment } = header;
        let Some(len) = checked_len(fi, parts) else { return false };
        let (so, last) = segment.map_or((0, true), |segment| (u32::from(segment.so), segment.last));
        self.receive(now, poll, Come { sn, so, len, last }, parts, deliver)
    }
}

/// Collects missing data for a report.
#[derive(Clone, Copy)]
struct Missing {
    sn: SnSpace,
    /// The greatest SOstart, and the smallest SOend that would be read as "the end".
    max_so: u32,
    /// Runs of SNs become one NACK (NACK range).
    has_range: bool,
}

impl Missing {
    fn new(format: Format, sn: SnSpace) -> Self {
        let is_nr = matches!(format, Format::NrAm { .. });
        Self { sn, max_so: if is_nr { 0xffff } else { 0x7fff }, has_range: is_nr }
    }

    /// Bytes of `sn` from `start` on are missing, up to `end` if that is known.
    fn add(self, report: &mut StatusPdu, sn: u32, start: u32, end: Option<u32>) {
        let so_end = end
            .map(|end| end - 1)
            .filter(|&end| end < self.max_so)
            .map_or(SO_END, |end| end as u16);
        if let Some(before) = report.nacks.last_mut()
            && self.has_range
            && start == 0
            && before.so_end == SO_END
            && before.range < u8::MAX
            && self.sn.add(before.sn, u32::from(before.range)) == sn
        {
            before.range += 1;
            before.so_end = so_end;
            return;
        }
        report.nacks.push(Nack { sn, range: 1, so_start: start.min(self.max_so) as u16, so_end });
    }
}
