//! PDCP and RLC of one data radio bearer, at the sender and at the UE, for a MAC that allocates
//! resource blocks or sends PDUs of one size (UMTS).
//!
//! The MAC pulls from the sender's side; the UE's side receives blocks that HARQ has decoded.
//! Descriptors ([`TbContent`]) pass between the two, never packets.

use super::{Egress, Upward};
use crate::pdcp::{PdcpConfig, PdcpOutcome, PdcpRx, PdcpTx};
use crate::pdu::{Part, SduHandle, StatusPdu, TbContent};
use crate::rlc::{RlcModeConfig, RlcRx, RlcTx, SduSink, UMTS_HEADER};
use justfull_base::{ConfigError, DropReason, Instant, Probe};

/// Maximum bytes of a UE's STATUS PDU except in UMTS. Other data does not compete for the uplink
/// here, so the PDU is never truncated.
const STATUS_GRANT: u32 = 9000;

/// PDCP and RLC of a bearer at both ends. 168 B; a packet that passes whole needs only the first
/// 64. Windows are allocated at the first loss.
#[repr(C)]
pub(crate) struct Link {
    pub(crate) tx: RlcTx,
    pub(crate) pdcp_tx: PdcpTx,
    pdcp_rx: PdcpRx,
    rx: RlcRx,
    /// The SDU at the head of the sender's queue, while reserved.
    pub(crate) head: SduHandle,
    /// The timer expiry that the cell's timer queue holds for this bearer.
    pub(crate) armed: Instant,
}

impl Link {
    pub(crate) fn new(
        mode: &RlcModeConfig,
        pdcp: &PdcpConfig,
        mac_header: u8,
    ) -> Result<Self, ConfigError> {
        let pdcp_tx = if mode.pdu().is_some() { PdcpTx::umts(pdcp) } else { PdcpTx::new(pdcp) };
        Ok(Self {
            tx: RlcTx::above(mac_header, mode).map_err(|e| e.within("mode"))?,
            rx: RlcRx::new(mode).map_err(|e| e.within("mode"))?,
            pdcp_tx: pdcp_tx.map_err(|e| e.within("pdcp"))?,
            pdcp_rx: PdcpRx::new(pdcp).map_err(|e| e.within("pdcp"))?,
            head: SduHandle::default(),
            armed: Instant::NEVER,
        })
    }

    /// Continues the PDCP of the same bearer in another cell, in acknowledged mode: the numbers
    /// continue, and the UE keeps its waiting packets (TS 38.323 section 5.1.2). RLC starts anew,
    /// and in other modes PDCP too.
    pub(crate) fn adopt(&mut self, before: Self) {
        if self.is_acknowledged() {
            self.pdcp_tx.continue_from(&before.pdcp_tx);
            self.pdcp_rx = before.pdcp_rx;
        }
    }

    /// The receiving side of PDCP.
    pub(crate) fn pdcp_rx(&mut self) -> &mut PdcpRx {
        &mut self.pdcp_rx
    }

    /// True if data lost on the air is retransmitted.
    pub(crate) const fn is_acknowledged(&self) -> bool {
        self.tx.is_acknowledged()
    }

    /// Bytes of a transport block with only an SDU of `size`, as the sender's queue counts it.
    #[inline(always)]
    pub(crate) fn bytes_of(&self, size: u32) -> u32 {
        size + self.pdcp_tx.header_bytes() + self.tx.headers().whole
    }

    /// True if a whole SDU would leave no state in RLC, and the UE's PDCP has received all sent
    /// data.
    #[inline(always)]
    pub(crate) fn is_level(&self) -> bool {
        self.tx.forgets_whole() && self.pdcp_rx.has_all_before(self.pdcp_tx.next())
    }

    /// Passes a whole SDU from PDCP to PDCP over a link that [is level](Self::is_level).
    pub(crate) fn pass_whole(&mut self) {
        self.pdcp_tx.number();
        self.pdcp_rx.receive_next();
    }

    /// IP bytes already sent of the head, which has `size`; headers are sent first.
    pub(crate) fn sent_of_head(&self, size: u32) -> u32 {
        self.tx.head_left().map_or(0, |left| size.saturating_sub(left))
    }

    /// Calls `list` with the size of each pending item (retransmissions, then the rest of the head
    /// SDU of `head` bytes) until it returns false. Returns the last result.
    pub(crate) fn list_begun(&self, head: Option<u32>, list: &mut impl FnMut(u32) -> bool) -> bool {
        let pending = self.tx.pending();
        let repeats = pending.control + pending.retransmission;
        if repeats > 0 && !list(repeats) {
            return false;
        }
        match (pending.rest_of_head, head) {
            (0, Some(size)) => list(self.bytes_of(size)),
            (0, None) => true,
            (rest, _) => list(rest),
        }
    }

    /// The UE has decoded `content`.
    pub(crate) fn receive<D: Probe + Egress>(
        &mut self,
        content: &TbContent,
        up: &mut Upward<'_, '_, D>,
    ) {
        let acknowledged = self.is_acknowledged();
        let now = up.now;
        if self.tx.pdu().is_some() {
            return self.rx.receive_into(now, content, &mut InSequence { up });
        }
        let Self { rx, pdcp_rx: pdcp, .. } = self;
        rx.receive_into(now, content, &mut Reordering { pdcp, acknowledged, up });
    }

    /// Runs the timers that may have expired, at both ends. `more`: SDUs wait in the sender's
    /// queue.
    pub(crate) fn on_timeout<D: Probe + Egress>(&mut self, more: bool, up: &mut Upward<'_, '_, D>) {
        let acknowledged = self.is_acknowledged();
        let Self { tx, rx, pdcp_rx: pdcp, .. } = self;
        let now = up.now;
        if tx.next_timeout().is_some_and(|at| at <= now) {
            tx.on_timeout(now, more);
            tx.given_up(|sdu| up.give_up(sdu));
        }
        if rx.next_timeout().is_some_and(|at| at <= now) {
            // In UMTS only a report timer, which delivers nothing.
            rx.on_timeout_into(now, &mut Reordering { pdcp, acknowledged, up });
        }
        if pdcp.next_timeout().is_some_and(|at| at <= now) {
            pdcp.on_timeout(now, |sdu| up.deliver(sdu));
        }
    }

    /// The UE's status report, if one is due at `now`. With UMTS one PDU of it: the next call
    /// returns the rest.
    pub(crate) fn status(&mut self, now: Instant) -> Option<&StatusPdu> {
        if !self.is_acknowledged() || self.rx.status_due().is_none_or(|at| at > now) {
            return None;
        }
        self.rx.status(now, self.tx.pdu().unwrap_or(STATUS_GRANT))
    }

    /// Bytes that a STATUS PDU takes of the UE's uplink; none unless it shares the uplink. In UMTS
    /// it is a padded PDU, of which the uplink's rate counts the payload, like the downlink's.
    pub(crate) fn uplink_bytes(&self) -> Option<u32> {
        self.tx.pdu().map(|pdu| pdu - UMTS_HEADER)
    }

    /// The UE's `status` has reached the sender.
    pub(crate) fn on_status<D: Probe + Egress>(
        &mut self,
        status: &StatusPdu,
        up: &mut Upward<'_, '_, D>,
    ) {
        self.tx.on_status(up.now, status, |sdu| up.acknowledge(sdu));
        self.tx.given_up(|sdu| up.give_up(sdu));
    }

    /// The next expiry of a timer of either end, or time for a status report.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        let at = |timer: Option<Instant>| timer.unwrap_or(Instant::NEVER);
        let receiver = at(self.rx.next_timeout()).min(at(self.pdcp_rx.next_timeout()));
        if !self.is_acknowledged() {
            return receiver;
        }
        receiver.min(at(self.tx.next_timeout())).min(at(self.rx.status_due()))
    }
}

/// The UE's PDCP above its RLC.
struct Reordering<'a, 'b, 'c, D> {
    pdcp: &'a mut PdcpRx,
    acknowledged: bool,
    up: &'a mut Upward<'b, 'c, D>,
}

impl<D: Probe + Egress> SduSink for Reordering<'_, '_, '_, D> {
    /// Delivers an SDU; a stale or duplicate SDU is lost.
    #[inline]
    fn deliver(&mut self, sdu: SduHandle) {
        let Self { pdcp, up, .. } = self;
        let Some(sn) = up.pdcp_sn(sdu) else { return };
        if pdcp.is_leg() {
            return up.deliver_leg(sdu, sn);
        }
        if pdcp.receive(up.now, sn, sdu, |sdu| up.deliver(sdu)) == PdcpOutcome::Dropped {
            up.lose(sdu, DropReason::Reassembly);
        }
    }

    fn abandon(&mut self, sdu: SduHandle) {
        self.up.lose(sdu, DropReason::Reassembly);
    }

    /// In acknowledged mode discards duplicates; in other modes, late segments.
    fn discard(&mut self, parts: &[Part]) {
        if !self.acknowledged {
            parts.iter().for_each(|part| self.abandon(part.sdu));
        }
    }
}

/// The UE's PDCP above an RLC that delivers in sequence (UMTS): only removes the header.
struct InSequence<'a, 'b, 'c, D> {
    up: &'a mut Upward<'b, 'c, D>,
}

impl<D: Probe + Egress> SduSink for InSequence<'_, '_, '_, D> {
    fn deliver(&mut self, sdu: SduHandle) {
        self.up.deliver(sdu);
    }

    fn abandon(&mut self, sdu: SduHandle) {
        self.up.lose(sdu, DropReason::Reassembly);
    }
}
