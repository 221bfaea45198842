//! Receiving side of a UM entity of NR (TS 38.322 section 5.2.2.2).
//!
//! While segments arrive in order, the SDU in reassembly needs only its handle and a count. The
//! ring is allocated at the first segment out of order, and holds each SN from RX_Next_Reassembly
//! up to RX_Next_Highest.

use super::SduSink;
use super::assembly::{Added, Runs};
use super::ring::{Held, Ring, Slot};
use crate::pdu::{Part, SduHandle, SegmentInfo};
use crate::rlc::mode::UmConfig;
use crate::rlc::sn::SnSpace;
use alloc::boxed::Box;
use justfull_base::{Duration, Instant};

/// A partly received SDU.
#[derive(Clone, Debug, Default)]
pub(super) struct Sdu {
    pub(super) handle: SduHandle,
    pub(super) runs: Runs,
}

impl Held for Sdu {
    fn clear(&mut self) {
        self.runs.clear();
    }
}

/// The fields of a UMD or AMD header.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) si: SegmentInfo,
    pub(super) sn: u32,
    pub(super) so: u16,
}

/// The only part of a PDU of NR; none if it contradicts the header.
#[inline]
pub(super) fn part_of(header: Header, parts: &[Part]) -> Option<&Part> {
    let Header { si, so, .. } = header;
    let [part] = parts else { return None };
    let agrees = si.has_first() == (part.offset == 0)
        && si.has_last() == part.last
        && u32::from(so) == part.offset
        && part.len > 0
        && part.offset.checked_add(part.len).is_some();
    agrees.then_some(part)
}

/// The receiving side of a UM entity of NR.
#[derive(Clone, Debug)]
pub(super) struct NrUm {
    /// RX_Next_Reassembly.
    next: u32,
    /// RX_Next_Highest.
    highest: u32,
    /// RX_Timer_Trigger.
    trigger: u32,
    sn: SnSpace,
    t_reassembly: Duration,
    /// Expiry of t-Reassembly.
    pub(super) timer: Instant,
    /// Without a ring: bytes of SDU `next` received, from the first on.
    prefix: u32,
    prefix_of: SduHandle,
    ring: Option<Box<Ring<Sdu>>>,
}

impl NrUm {
    pub(super) fn new(config: &UmConfig) -> Self {
        Self {
            next: 0,
            highest: 0,
            trigger: 0,
            sn: SnSpace::new(config.sn_bits),
            t_reassembly: config.t_reassembly,
            timer: Instant::NEVER,
            prefix: 0,
            prefix_of: SduHandle(0),
            ring: None,
        }
    }

    /// Receives a PDU; true if it is accepted. TS 38.322 v17 clause 5.2.2.2.2.
    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        header: Header,
        parts: &[Part],
        sink: &mut impl SduSink,
    ) -> bool {
        let Some(part) = part_of(header, parts) else { return false };
        if header.si != SegmentInfo::Whole {
            if !self.continues(header.sn, part) {
                return self.receive_out_of_order(now, header.sn, part, sink);
            }
            self.prefix += part.len;
            self.prefix_of = part.sdu;
            self.highest = self.sn.add(self.next, 1);
            if !part.last {
                return true;
            }
            self.prefix = 0;
            self.next = self.highest;
        }
        sink.deliver(part.sdu);
        true
    }

    /// True if the segment continues the data that arrived in order, and no other data is held.
    #[inline]
    fn continues(&self, sn: u32, part: &Part) -> bool {
        sn == self.next
            && part.offset == self.prefix
            && (self.prefix == 0 || part.sdu == self.prefix_of)
            && self.timer == Instant::NEVER
            && self.ring.as_ref().is_none_or(|ring| ring.is_empty())
            && self.sn.distance(self.next, self.highest) <= 1
    }

    /// SNs between the lower edge and RX_Next_Highest.
    fn span(&self) -> u32 {
        self.sn.distance(self.next, self.highest)
    }

    /// TS 38.322 v17 clause 5.2.2.2.3.
    #[inline(never)]
    fn receive_out_of_order(
        &mut self,
        now: Instant,
        sn: u32,
        part: &Part,
        sink: &mut impl SduSink,
    ) -> bool {
        if !self.sn.contains(sn) {
            return false;
        }
        // RX_Next_Highest - UM_Window_Size <= SN < RX_Next_Reassembly is stale; SNs outside the
        // window are ahead of it.
        let behind = self.sn.distance(sn, self.highest);
        let is_ahead = behind == 0 || behind > self.sn.window();
        if !is_ahead && behind > self.span() {
            return false;
        }
        self.spill();
        if is_ahead {
            self.move_highest(sn, sink);
        }
        let accepted = self.store(self.sn.distance(self.next, sn), part, sink);
        self.pop_done();
        self.update_timer(now);
        accepted
    }

    /// Moves the data that arrived in order into the ring.
    fn spill(&mut self) {
        let ring = self.ring.get_or_insert_default();
        if self.prefix > 0
            && let Some(sdu) = ring.hold(0)
        {
            sdu.handle = self.prefix_of;
            sdu.runs.add(0, self.prefix, false);
            self.prefix = 0;
        }
    }

    /// RX_Next_Highest becomes `sn` + 1; SNs that leave the window are given up. TS 38.322 v17
    /// clause 5.2.2.2.3.
    fn move_highest(&mut self, sn: u32, sink: &mut impl SduSink) {
        let span = self.span() + self.sn.distance(self.highest, sn) + 1;
        self.highest = self.sn.add(sn, 1);
        self.give_up(span.saturating_sub(self.sn.window()), sink);
    }

    /// Gives up the lowest `count` SNs that are not done.
    fn give_up(&mut self, count: u32, sink: &mut impl SduSink) {
        self.next = self.sn.add(self.next, count);
        let Some(ring) = &mut self.ring else { return };
        for _ in 0..count.min(ring.len()) {
            if let Slot::Held(sdu) = ring.slot(0) {
                sink.abandon(sdu.handle);
            }
            ring.pop();
        }
    }

    /// Adds the segment to its SDU; true unless it is a duplicate or a contradiction.
    fn store(&mut self, at: u32, part: &Part, sink: &mut impl SduSink) -> bool {
        let ring = self.ring.get_or_insert_default();
        let Some(sdu) = ring.hold(at) else { return false };
        // Another SDU under the same SN: the losses were so long that the SNs wrapped.
        if !sdu.runs.is_empty() && sdu.handle != part.sdu {
            sink.abandon(sdu.handle);
            sdu.runs.clear();
        }
        sdu.handle = part.sdu;
        let added = sdu.runs.add(part.offset, part.offset + part.len, part.last);
        if sdu.runs.is_complete() {
            ring.finish(at);
            sink.deliver(part.sdu);
        }
        added == Added::New
    }

    /// RX_Next_Reassembly moves to the first SN that is not done. TS 38.322 v17 clause 5.2.2.2.3.
    fn pop_done(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        while matches!(ring.slot(0), Slot::Done) {
            ring.pop();
            self.next = self.sn.add(self.next, 1);
        }
    }

    /// True if a later PDU shows that data is lost or late.
    fn has_gap(&self) -> bool {
        let lowest_has_gap = || {
            let ring = self.ring.as_ref();
            ring.is_some_and(|ring| matches!(ring.slot(0), Slot::Held(sdu) if sdu.runs.has_gap()))
        };
        self.span() > 1 || (self.span() == 1 && lowest_has_gap())
    }

    /// TS 38.322 v17 clause 5.2.2.2.3.
    fn update_timer(&mut self, now: Instant) {
        if self.timer != Instant::NEVER {
            let to_trigger = self.sn.distance(self.next, self.trigger);
            if to_trigger == 0 || to_trigger > self.span() || !self.has_gap() {
                self.timer = Instant::NEVER;
            }
        }
        if self.timer == Instant::NEVER && self.has_gap() {
            self.timer = now + self.t_reassembly;
            self.trigger = self.highest;
        }
    }

    /// Gives up SDUs before RX_Timer_Trigger once t-Reassembly has expired. TS 38.322 v17 clause
    /// 5.2.2.2.4.
    pub(super) fn on_timeout(&mut self, now: Instant, sink: &mut impl SduSink) {
        if now < self.timer || self.timer == Instant::NEVER {
            return;
        }
        self.timer = Instant::NEVER;
        self.give_up(self.sn.distance(self.next, self.trigger), sink);
        self.pop_done();
        self.update_timer(now);
    }
}
