//! Transmitting side of an AM entity of UMTS: segments and concatenates SDUs to PDUs of one size
//! (TS 25.322 clauses 4.2.1.3, 9.2.1.4, 9.2.2.8 and 11.3.2).
//!
//! One pull makes the PDUs of a TTI, in this order: the order to move the receiving window, a
//! report of the entity's own receiving side, retransmissions, new PDUs.

use super::stalls::Stopwatch;
use super::umts_poll::Outgoing;
use super::umts_window::{ONE_SHORT, Window};
use super::{HeaderBytes, Pending};
use crate::pdu::{Part, PduHeader, SduHandle, SduSource, StatusPdu, TbContent};
use crate::rlc::codec::umts::{HEADER, indicator_bytes};
use crate::rlc::codec::{Format, fit_status};
use crate::rlc::mode::AmConfig;
use alloc::vec::Vec;
use justfull_base::Instant;

/// An SDU that filled its last PDU, whose end the next PDU must indicate.
#[derive(Clone, Copy, Debug)]
struct Untold {
    sdu: SduHandle,
    size: u32,
    /// One byte of that PDU stayed free.
    one_short: bool,
}

/// The transmitting side of an AM entity of UMTS.
#[derive(Clone, Debug)]
pub(super) struct UmtsAm {
    window: Window,
    /// Unsent bytes of the source's head; 0 if it has not been started.
    left: u32,
    untold: Option<Untold>,
    /// Bytes of a PDU, of its header, of a length indicator, and of the layer below.
    pdu: u32,
    indicator: u32,
    below: u32,
    /// A waiting report of this entity's receiving side.
    control: Option<StatusPdu>,
    pub(super) stalls: Stopwatch,
}

impl UmtsAm {
    pub(super) fn new(config: &AmConfig, below: u8) -> Self {
        let pdu = config.pdu.0 as u32;
        Self {
            window: Window::new(config),
            left: 0,
            untold: None,
            pdu,
            indicator: indicator_bytes(pdu),
            below: u32::from(below),
            control: None,
            stalls: Stopwatch::new(),
        }
    }

    /// Bytes that a PDU takes of the grant.
    fn size(&self) -> u32 {
        self.pdu + self.below
    }

    /// Bytes of a PDU for data and length indicators.
    fn room(&self) -> u32 {
        self.pdu - HEADER
    }

    /// Header bytes of an SDU in a PDU of its own.
    pub(super) fn headers(&self) -> HeaderBytes {
        let fixed = HEADER + self.below;
        let further_bits = Some(self.indicator * 8);
        HeaderBytes { whole: fixed + self.indicator, first: fixed, later: fixed, further_bits }
    }

    pub(super) fn head_left(&self) -> u32 {
        self.left
    }

    /// Bytes of each PDU.
    pub(super) const fn pdu(&self) -> u32 {
        self.pdu
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.window.is_full()
    }

    fn control_pdus(&self) -> u32 {
        u32::from(self.control.is_some()) + u32::from(self.window.has_order())
    }

    fn rest_of_head(&self) -> u32 {
        let bytes = self.left + u32::from(self.untold.is_some()) * self.indicator;
        bytes.div_ceil(self.room()) * self.size()
    }

    pub(super) fn pending(&self) -> Pending {
        Pending {
            control: self.control_pdus() * self.size(),
            retransmission: self.window.again() * self.size(),
            rest_of_head: self.rest_of_head(),
        }
    }

    pub(super) fn next_sizes(&self, most: usize, sizes: &mut Vec<u32>) {
        let count = (self.control_pdus() + self.window.again()) as usize;
        sizes.extend(core::iter::repeat_n(self.size(), count.min(most)));
        sizes.extend(Some(self.rest_of_head()).filter(|&rest| rest > 0));
    }

    /// TS 25.322 clauses 11.3.2 and 11.5.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let count = grant / self.size();
        let mut left = count;
        while left > 0 && self.send_control(now, out) {
            left -= 1;
        }
        while left > 0 && self.send_again(now, out) {
            left -= 1;
        }
        while left > 0 && !self.window.is_full() && self.send_new(now, source, out) {
            left -= 1;
        }
        (count - left) * self.size()
    }

    /// A STATUS PDU, padded. TS 25.322 clauses 11.5 and 11.6.
    fn send_control(&mut self, now: Instant, out: &mut TbContent) -> bool {
        if let Some((sn, end)) = self.window.order(now) {
            let first = out.parts.len() as u32;
            out.push_pdu(PduHeader::UmtsMrw { sn, end }, self.size(), first);
            return true;
        }
        let Some(mut status) = self.control.take() else { return false };
        // A PDU of six bytes, the smallest, holds a report with a NACK.
        fit_status(Format::UmtsAm { pdu: self.pdu }, &mut status, self.pdu);
        out.push_status(self.size()).copy_from(&status);
        true
    }

    fn send_again(&mut self, now: Instant, out: &mut TbContent) -> bool {
        let first = out.parts.len();
        let Some((sn, one_short)) = self.window.pop_again(&mut out.parts) else { return false };
        let going = Outgoing {
            window: 0,
            sdus: 0,
            is_last: self.window.again() == 0,
            next: self.window.next_sn(),
        };
        let poll = self.window.polling.goes(now, going);
        self.finish(out, first, (poll, sn, one_short));
        true
    }

    /// One new PDU, if there is data for it. TS 25.322 clause 11.3.2.
    #[inline]
    fn send_new(&mut self, now: Instant, source: &mut impl SduSource, out: &mut TbContent) -> bool {
        let first = out.parts.len();
        let one_short = self.untold.is_some_and(|untold| untold.one_short);
        self.fill(source, out);
        let parts = &out.parts[first..];
        let Some(last) = parts.last() else { return false };
        let sdus = parts.len() as u32 - u32::from(!last.last);
        let sn = self.window.next_sn();
        self.window.push(parts, if one_short { ONE_SHORT } else { 0 });
        let more = self.left > 0 || self.untold.is_some() || source.head().is_some();
        let going = Outgoing {
            window: self.window.len(),
            sdus,
            is_last: !more || self.window.is_full(),
            next: self.window.next_sn(),
        };
        let poll = self.window.polling.goes(now, going);
        self.finish(out, first, (poll, sn, one_short));
        true
    }

    /// Appends the PDU with the parts from `first` on.
    #[inline]
    fn finish(&self, out: &mut TbContent, first: usize, header: (bool, u32, bool)) {
        let (poll, sn, one_short) = header;
        let parts = &out.parts[first..];
        let data: u32 = parts.iter().map(|part| part.len).sum();
        let open = parts.last().is_some_and(|part| !part.last);
        let header = PduHeader::UmtsAm { poll, sn, open, one_short };
        out.push_pdu(header, self.size() - data, first as u32);
    }

    /// Appends the parts of a new PDU. An SDU ends with a length indicator in its last PDU, or, if
    /// that has no room for it, in the next one. TS 25.322 clause 9.2.2.8.
    #[inline]
    fn fill(&mut self, source: &mut impl SduSource, out: &mut TbContent) {
        let mut room = self.room();
        if let Some(Untold { sdu, size, .. }) = self.untold.take() {
            out.parts.push(Part { sdu, offset: size, len: 0, last: true });
            room -= self.indicator;
        }
        // One byte is too small for a length indicator of two, and then no part follows.
        while room >= self.indicator
            && let Some(head) = source.head()
        {
            debug_assert!(head.size > 0 && self.left < head.size);
            let rest = if self.left == 0 { head.size } else { self.left };
            let last = rest + self.indicator <= room;
            let len = rest.min(room);
            out.parts.push(Part { sdu: head.handle, offset: head.size - rest, len, last });
            self.left = rest - len;
            if self.left > 0 {
                return;
            }
            source.take();
            if !last {
                let one_short = len < room;
                self.untold = Some(Untold { sdu: head.handle, size: head.size, one_short });
                return;
            }
            room -= len + self.indicator;
        }
    }

    pub(super) fn queue_status(&mut self, status: &StatusPdu) {
        self.control.get_or_insert_default().copy_from(status);
    }

    pub(super) fn given_up(&self, each: impl FnMut(SduHandle)) {
        self.window.discarded().for_each(each);
    }

    pub(super) fn on_status(
        &mut self,
        now: Instant,
        status: &StatusPdu,
        acked: impl FnMut(SduHandle),
    ) {
        self.window.on_status(now, status, acked);
    }

    pub(super) fn next_timeout(&self) -> Instant {
        self.window.next_timeout()
    }

    pub(super) fn on_timeout(&mut self, now: Instant, more_waits: bool) {
        let has_new = self.left > 0 || self.untold.is_some() || more_waits;
        self.window.on_timeout(now, has_new && !self.window.is_full());
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        self.window.assert_sound();
    }
}
