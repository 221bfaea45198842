//! Transmitting side of an AM entity of NR: a unit of its window is an SDU (TS 38.322 section
//! 5.2.3.1).

use super::arq::{Arq, Portion, Unit};
use super::segment::{cut, part, segment_info};
use super::stalls::Stopwatch;
use super::{HeaderBytes, Pending};
use crate::pdu::{PduHeader, SduHandle, SduSource, StatusPdu, TbContent};
use crate::rlc::codec::{Format, fit_status, status_bytes};
use crate::rlc::mode::AmConfig;
use alloc::vec::Vec;
use justfull_base::Instant;

/// The transmitting side of an AM entity of NR.
#[derive(Clone, Debug)]
pub(super) struct NrAm {
    arq: Arq<SduHandle>,
    format: Format,
    headers: HeaderBytes,
    pub(super) stalls: Stopwatch,
}

impl NrAm {
    pub(super) fn new(config: &AmConfig, below: u8) -> Self {
        let fixed = u32::from(below) + if config.sn_bits == 18 { 3 } else { 2 };
        Self {
            arq: Arq::new(config),
            format: Format::NrAm { sn_bits: config.sn_bits },
            stalls: Stopwatch::new(),
            headers: HeaderBytes {
                whole: fixed,
                first: fixed,
                later: fixed + 2,
                further_bits: None,
            },
        }
    }

    pub(super) fn headers(&self) -> HeaderBytes {
        self.headers
    }

    /// Unsent bytes of the source's head; 0 if it has not been started.
    pub(super) fn head_left(&self) -> u32 {
        self.arq.last().map_or(0, |unit| unit.size - unit.sent)
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.head_left() == 0 && self.arq.is_stalled()
    }

    /// Bytes of a PDU with `portion` of `unit`.
    fn size_of(&self, portion: Portion, unit: &Unit<SduHandle>) -> u32 {
        let len = portion.end - portion.start;
        let header = match (portion.start, len == unit.size) {
            (0, true) => self.headers.whole,
            (0, false) => self.headers.first,
            _ => self.headers.later,
        };
        header + len
    }

    fn rest_of_head(&self) -> u32 {
        match self.head_left() {
            0 => 0,
            left => left + self.headers.later,
        }
    }

    /// TS 38.322 v17 clause 5.5.
    pub(super) fn pending(&self) -> Pending {
        Pending {
            control: self
                .arq
                .control
                .as_ref()
                .map_or(0, |status| status_bytes(self.format, status)),
            retransmission: self
                .arq
                .again()
                .fold(0, |sum, (p, unit)| sum.saturating_add(self.size_of(p, unit))),
            rest_of_head: self.rest_of_head(),
        }
    }

    pub(super) fn next_sizes(&self, most: usize, sizes: &mut Vec<u32>) {
        sizes.extend(self.arq.control.as_ref().map(|status| status_bytes(self.format, status)));
        sizes.extend(self.arq.again().take(most).map(|(p, unit)| self.size_of(p, unit)));
        sizes.extend(Some(self.rest_of_head()).filter(|&rest| rest > 0));
    }

    /// TS 38.322 v17 clause 5.2.3.1.1.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let mut used = send_control(&mut self.arq, self.format, grant, out);
        while !self.arq.nothing_again() {
            match self.pull_again(now, grant - used, source, out) {
                0 => return used,
                bytes => used += bytes,
            }
        }
        loop {
            match self.pull_new(now, grant - used, source, out) {
                0 => return used,
                bytes => used += bytes,
            }
        }
    }

    /// One PDU with the first pending retransmission. TS 38.322 v17 clause 5.3.2.
    fn pull_again(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let Some((portion, unit)) = self.arq.again().next() else { return 0 };
        let (size, sdu) = (unit.size, unit.what);
        let Some((header, end)) = cut(&self.headers, grant, size, portion.start, portion.end)
        else {
            return 0;
        };
        self.arq.sent_again(end - portion.start);
        let more = self.can_send_more(source);
        let poll = self.arq.poll(now, None, more);
        let si = segment_info(size, portion.start, end);
        let pdu = PduHeader::NrAm { poll, si, sn: portion.sn, so: portion.start as u16 };
        out.push_single(pdu, header, part(sdu, size, portion.start, end));
        header + end - portion.start
    }

    /// One PDU with new bytes.
    fn pull_new(
        &mut self,
        now: Instant,
        grant: u32,
        source: &mut impl SduSource,
        out: &mut TbContent,
    ) -> u32 {
        let left = self.head_left();
        if left == 0 && self.arq.is_stalled() {
            return 0;
        }
        let Some(head) = source.head() else { return 0 };
        debug_assert!(head.size > 0 && left < head.size);
        let start = if left == 0 { 0 } else { head.size - left };
        let Some((header, end)) = cut(&self.headers, grant, head.size, start, head.size) else {
            return 0;
        };
        if left == 0 {
            self.arq.push(head.handle, head.size);
        }
        if let Some(unit) = self.arq.last_mut() {
            unit.sent = end;
        }
        if end == head.size {
            source.take();
        }
        let sn = self.arq.last_sn();
        let more = self.can_send_more(source);
        let poll = self.arq.poll(now, Some(end - start), more);
        let si = segment_info(head.size, start, end);
        let pdu = PduHeader::NrAm { poll, si, sn, so: start as u16 };
        out.push_single(pdu, header, part(head.handle, head.size, start, end));
        header + end - start
    }

    fn can_send_more(&self, source: &mut impl SduSource) -> bool {
        !self.is_stalled()
            && (!self.arq.nothing_again() || self.head_left() > 0 || source.head().is_some())
    }

    pub(super) fn queue_status(&mut self, status: &StatusPdu) {
        self.arq.control.get_or_insert_default().copy_from(status);
    }

    pub(super) fn on_status(&mut self, status: &StatusPdu, mut acked: impl FnMut(SduHandle)) {
        self.arq.on_status(status, |&sdu| acked(sdu), |_| {});
    }

    /// The SDUs that are not acknowledged, oldest first.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = &Unit<SduHandle>> {
        self.arq.unacknowledged()
    }

    pub(super) fn given_up(&self, each: impl FnMut(SduHandle)) {
        self.arq.reached().map(|unit| unit.what).for_each(each);
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.arq.poll_timeout()
    }

    pub(super) fn on_timeout(&mut self, now: Instant, more_waits: bool) {
        self.arq.on_timeout(now, more_waits);
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self) {
        self.arq.assert_sound();
    }
}

/// Sends the waiting status report, cut to `grant`; returns its bytes.
pub(super) fn send_control<T>(
    arq: &mut Arq<T>,
    format: Format,
    grant: u32,
    out: &mut TbContent,
) -> u32 {
    let Some(mut status) = arq.control.take() else { return 0 };
    let bytes = fit_status(format, &mut status, grant);
    if bytes == 0 {
        arq.control = Some(status);
    } else {
        out.push_status(bytes).copy_from(&status);
    }
    bytes
}
