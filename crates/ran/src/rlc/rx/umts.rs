//! Receiving side of an AM entity of UMTS: joins PDUs in order into SDUs, and reports missing ones
//! (TS 25.322 clauses 9.4, 9.5, 9.7.2, 11.3.3, 11.3.4, 11.5 and 11.6).
//!
//! VR(R) is `next`, VR(H) is `highest`. Ring: each SN from VR(R) up to VR(H).

use super::SduSink;
use super::assembly::Joiner;
use super::ring::{Held, Ring, Slot};
use crate::pdu::{Nack, Part, StatusPdu};
use crate::rlc::codec::umts::SNS;
use crate::rlc::codec::{Format, fit_status};
use crate::rlc::mode::AmConfig;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// A PDU that waits for an earlier one. Without parts, it has not arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    parts: Vec<Part>,
}

impl Held for Waiting {
    fn clear(&mut self) {
        self.parts.clear();
    }
}

/// Offsets are sums of untrusted lengths; no valid SDU ends beyond this.
const MAX_SDU: u32 = 1 << 30;

/// Largest move of the window by an order; an order for a larger move is an old one.
const FURTHEST_MOVE: u32 = 2047;

/// The receiving side of an AM entity of UMTS.
#[derive(Clone, Debug)]
pub(super) struct UmtsAm {
    format: Format,
    window: u32,
    next: u32,
    highest: u32,
    ring: Ring<Waiting>,
    joiner: Joiner,
    reports_missing: bool,
    t_prohibit: Duration,
    t_periodic: Duration,
    /// Expiry of Timer_Status_Periodic.
    pub(super) timer: Instant,
    /// Expiry of Timer_Status_Prohibit.
    prohibited_until: Instant,
    status_triggered: bool,
    /// The next part of a report begins at this SN.
    resume: Option<u32>,
    report: StatusPdu,
}

impl UmtsAm {
    pub(super) fn new(config: &AmConfig) -> Self {
        Self {
            format: Format::UmtsAm { pdu: config.pdu.0 as u32 },
            window: config.window,
            next: 0,
            highest: 0,
            ring: Ring::default(),
            joiner: Joiner::default(),
            reports_missing: config.missing_pdu_indicator,
            t_prohibit: config.timer_status_prohibit,
            t_periodic: config.timer_status_periodic,
            timer: Instant::NEVER,
            prohibited_until: Instant::ZERO,
            status_triggered: false,
            resume: None,
            report: StatusPdu::default(),
        }
    }

    /// SNs from VR(R) to VR(H).
    fn span(&self) -> u32 {
        SNS.distance(self.next, self.highest)
    }

    /// True if the parts can be a PDU's: each but the last ends an SDU, each but the first starts
    /// one, and only the first may be a bare end.
    fn is_valid(open: bool, parts: &[Part]) -> bool {
        let count = parts.len();
        count > 0
            && parts.iter().enumerate().all(|(i, part)| {
                let is_end = part.len == 0 && i == 0 && part.offset > 0 && part.last;
                (part.len > 0 || is_end)
                    && part.offset.checked_add(part.len).is_some_and(|end| end <= MAX_SDU)
                    && part.last == (i + 1 < count || !open)
                    && (i == 0 || part.offset == 0)
            })
    }

    /// PDU `sn` with `parts` arrived. True if it is accepted. TS 25.322 clauses 9.7.2, 11.3.3 and
    /// 11.3.4.2.
    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        poll: bool,
        sn: u32,
        open: bool,
        parts: &[Part],
        sink: &mut impl SduSink,
    ) -> bool {
        if !SNS.contains(sn) || !Self::is_valid(open, parts) {
            return false;
        }
        self.status_triggered |= poll;
        if self.timer == Instant::NEVER && !self.t_periodic.is_zero() {
            self.timer = now + self.t_periodic;
        }
        if sn == self.next && self.next == self.highest {
            self.next = SNS.add(sn, 1);
            self.highest = self.next;
            parts.iter().for_each(|part| self.joiner.feed(part, sink));
            return true;
        }
        let (at, span) = (SNS.distance(self.next, sn), self.span());
        if at >= self.window || self.is_old(at, span) {
            return false;
        }
        let Some(held) = self.ring.hold(at).filter(|held| held.parts.is_empty()) else {
            return false;
        };
        held.parts.extend_from_slice(parts);
        if at >= span {
            self.highest = SNS.add(sn, 1);
            self.status_triggered |= at > span && self.reports_missing;
        }
        self.join(sink);
        true
    }

    /// True if the SN at distance `at` from VR(R) is nearer behind VR(R) than ahead of VR(H). Never
    /// true in windows up to half of the SNs; in larger ones a retransmitted PDU may be either.
    fn is_old(&self, at: u32, span: u32) -> bool {
        at >= span && at - span > SNS.distance(at, 0)
    }

    /// Joins the PDUs that wait for no earlier PDU. TS 25.322 clause 11.3.3.
    fn join(&mut self, sink: &mut impl SduSink) {
        while let Slot::Held(held) = self.ring.slot(0) {
            held.parts.iter().for_each(|part| self.joiner.feed(part, sink));
            self.ring.pop();
            self.next = SNS.add(self.next, 1);
        }
    }

    /// The sender has discarded everything before `sn`. The next report answers the order. TS
    /// 25.322 clause 11.6.
    pub(super) fn move_window(&mut self, now: Instant, sn: u32, sink: &mut impl SduSink) -> bool {
        let at = SNS.distance(self.next, sn);
        if !SNS.contains(sn) {
            return false;
        }
        self.status_triggered = true;
        self.prohibited_until = now;
        if at == 0 || at > FURTHEST_MOVE {
            return true;
        }
        let span = self.span();
        self.joiner.break_off(sink);
        for _ in 0..at.min(self.ring.len()) {
            self.ring.pop();
        }
        self.next = sn;
        if at > span {
            self.highest = sn;
        }
        self.join(sink);
        true
    }

    /// Handles an expiry of Timer_Status_Periodic. TS 25.322 clauses 9.5 and 9.7.2.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if now >= self.timer && self.timer != Instant::NEVER {
            self.status_triggered = true;
            self.timer = now + self.t_periodic;
        }
    }

    pub(super) fn status_due(&self) -> Option<Instant> {
        self.status_triggered.then_some(self.prohibited_until)
    }

    /// One STATUS PDU of the report. If it cannot name all missing SNs, it acknowledges nothing
    /// beyond VR(R); the next PDU names the rest and acknowledges nothing beyond VR(R) either. None
    /// also if it cannot name any missing SN; six bytes can. TS 25.322 clauses 9.2.2.11.2 and 11.5.
    pub(super) fn status(&mut self, now: Instant, grant: u32) -> Option<&StatusPdu> {
        if !self.status_triggered || now < self.prohibited_until {
            return None;
        }
        let resumed = self.resume.map(|sn| SNS.distance(self.next, sn));
        let from = resumed.filter(|&at| at < self.span());
        self.report.nacks.clear();
        self.report.ack_sn = if from.is_some() { self.next } else { self.highest };
        self.name_missing(from.unwrap_or(0));
        let last = self.report.nacks.last().copied();
        if fit_status(self.format, &mut self.report, grant) == 0 {
            return None;
        }
        let named = self.report.nacks.last().copied();
        if named != last {
            let named = named?;
            self.report.ack_sn = self.next;
            self.resume = Some(SNS.add(named.sn, u32::from(named.range)));
            return Some(&self.report);
        }
        self.resume = None;
        self.status_triggered = false;
        self.prohibited_until = now + self.t_prohibit;
        Some(&self.report)
    }

    /// Adds missing SNs from `from` on, counted from VR(R), to the report.
    fn name_missing(&mut self, from: u32) {
        let nacks = &mut self.report.nacks;
        for at in from..SNS.distance(self.next, self.highest) {
            if !matches!(self.ring.slot(at), Slot::Missing) {
                continue;
            }
            let sn = SNS.add(self.next, at);
            match nacks.last_mut() {
                Some(last)
                    if last.range < u8::MAX && SNS.add(last.sn, u32::from(last.range)) == sn =>
                {
                    last.range += 1;
                }
                _ => nacks.push(Nack::whole(sn)),
            }
        }
    }
}
