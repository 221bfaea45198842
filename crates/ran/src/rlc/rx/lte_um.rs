//! Receiving side of a UM entity of LTE: reorders PDUs and joins their SDUs (TS 36.322 section
//! 5.1.2.2).
//!
//! A PDU that arrives in order is not stored. Ring: each SN from VR(UR) up to VR(UH).

use super::SduSink;
use super::assembly::{Joiner, LtePdu, Placed, data_len};
use super::ring::{Ring, Slot};
use crate::pdu::{FramingInfo, Part};
use crate::rlc::mode::UmConfig;
use crate::rlc::sn::SnSpace;
use justfull_base::{Duration, Instant};

/// Bytes of the data field; none if FI contradicts the parts about its ends.
#[inline]
pub(super) fn checked_len(fi: FramingInfo, parts: &[Part]) -> Option<u32> {
    let starts_inside = parts.first()?.offset > 0;
    let ends_inside = !parts.last()?.last;
    if (FramingInfo { starts_inside, ends_inside }) != fi {
        return None;
    }
    data_len(parts)
}

/// The receiving side of a UM entity of LTE.
#[derive(Clone, Debug)]
pub(super) struct LteUm {
    sn: SnSpace,
    /// VR(UR).
    next: u32,
    /// VR(UH).
    highest: u32,
    /// VR(UX).
    trigger: u32,
    t_reordering: Duration,
    /// Expiry of t-Reordering.
    pub(super) timer: Instant,
    joiner: Joiner,
    ring: Ring<LtePdu>,
}

impl LteUm {
    pub(super) fn new(config: &UmConfig) -> Self {
        Self {
            sn: SnSpace::new(config.sn_bits),
            next: 0,
            highest: 0,
            trigger: 0,
            t_reordering: config.t_reassembly,
            timer: Instant::NEVER,
            joiner: Joiner::default(),
            ring: Ring::default(),
        }
    }

    fn span(&self) -> u32 {
        self.sn.distance(self.next, self.highest)
    }

    /// Receives a PDU; true if it is accepted. TS 36.322 v17 clause 5.1.2.2.2.
    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        fi: FramingInfo,
        sn: u32,
        parts: &[Part],
        sink: &mut impl SduSink,
    ) -> bool {
        if !self.sn.contains(sn) || checked_len(fi, parts).is_none() {
            return false;
        }
        if sn == self.next && self.next == self.highest && self.timer == Instant::NEVER {
            self.next = self.sn.add(sn, 1);
            self.highest = self.next;
            parts.iter().for_each(|part| self.joiner.feed(part, sink));
            return true;
        }
        let behind = self.sn.distance(sn, self.highest);
        let is_ahead = behind == 0 || behind > self.sn.window();
        if !is_ahead && behind > self.span() {
            return false;
        }
        if is_ahead {
            let span = self.span() + self.sn.distance(self.highest, sn) + 1;
            self.highest = self.sn.add(sn, 1);
            self.skip(span.saturating_sub(self.sn.window()), sink);
        }
        let Some(pdu) = self.ring.hold(self.sn.distance(self.next, sn)) else { return false };
        if !pdu.pieces.is_empty() {
            return false;
        }
        pdu.pieces.extend(parts.iter().map(|&part| Placed { at: 0, part }));
        self.drain(sink);
        self.update_timer(now);
        true
    }

    /// Moves the window past the lowest `count` SNs: arrived PDUs are joined, the others are lost.
    fn skip(&mut self, count: u32, sink: &mut impl SduSink) {
        for _ in 0..count {
            match self.ring.slot(0) {
                Slot::Held(pdu) => {
                    pdu.pieces.iter().for_each(|piece| self.joiner.feed(&piece.part, sink));
                }
                _ => self.joiner.break_off(sink),
            }
            self.ring.pop();
        }
        self.next = self.sn.add(self.next, count);
    }

    /// Joins PDUs from VR(UR) on up to the first gap. TS 36.322 v17 clause 5.1.2.2.3.
    fn drain(&mut self, sink: &mut impl SduSink) {
        while matches!(self.ring.slot(0), Slot::Held(_)) {
            self.skip(1, sink);
        }
    }

    /// TS 36.322 v17 clause 5.1.2.2.3.
    fn update_timer(&mut self, now: Instant) {
        let to_trigger = self.sn.distance(self.next, self.trigger);
        if self.timer != Instant::NEVER && (to_trigger == 0 || to_trigger > self.span()) {
            self.timer = Instant::NEVER;
        }
        if self.timer == Instant::NEVER && self.span() > 0 {
            self.timer = now + self.t_reordering;
            self.trigger = self.highest;
        }
    }

    /// Gives up missing PDUs before VR(UX) once t-Reordering has expired. TS 36.322 v17 clause
    /// 5.1.2.2.4.
    pub(super) fn on_timeout(&mut self, now: Instant, sink: &mut impl SduSink) {
        if now < self.timer || self.timer == Instant::NEVER {
            return;
        }
        self.timer = Instant::NEVER;
        self.skip(self.sn.distance(self.next, self.trigger), sink);
        self.drain(sink);
        self.update_timer(now);
    }
}
