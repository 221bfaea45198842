//! PDCP and the RLC proper of one data radio bearer, at the sender and at the UE, where the MAC deals in resource blocks.
//!
//! The sender's side is pulled by the MAC; the UE's side gets what HARQ has decoded. Between the two go descriptors
//! ([`TbContent`]), never packets.

use crate::pdcp::{PdcpConfig, PdcpOutcome, PdcpRx, PdcpTx};
use crate::rlc::{Part, RlcModeConfig, RlcRx, RlcTx, SduHandle, StatusPdu, TbContent};
use crate::stack::Egress;
use crate::stack::Upward;
use core::cell::RefCell;
use justfull_base::{ConfigError, DropReason, Instant, Probe};

/// Bytes that a STATUS PDU of a UE may have: the uplink is not shared with anything else here, so that it is not cut short.
const STATUS_GRANT: u32 = 9000;

/// See the module's page. About 400 B; windows are allocated when something is missing for the first time.
pub(crate) struct Link {
    pub(crate) tx: RlcTx,
    rx: RlcRx,
    pub(crate) pdcp_tx: PdcpTx,
    pdcp_rx: PdcpRx,
    /// The SDU at the head of the sender's queue, while it is reserved.
    pub(crate) head: SduHandle,
    /// The end of a timer that the cell's queue of timers has for this bearer.
    pub(crate) armed: Instant,
    acknowledged: bool,
}

impl Link {
    pub(crate) fn new(mode: &RlcModeConfig, pdcp: &PdcpConfig, mac_header: u8) -> Result<Self, ConfigError> {
        Ok(Self {
            tx: RlcTx::above(mac_header, mode).map_err(|e| e.within("mode"))?,
            rx: RlcRx::new(mode).map_err(|e| e.within("mode"))?,
            pdcp_tx: PdcpTx::new(pdcp).map_err(|e| e.within("pdcp"))?,
            pdcp_rx: PdcpRx::new(pdcp).map_err(|e| e.within("pdcp"))?,
            head: SduHandle::default(),
            armed: Instant::NEVER,
            acknowledged: matches!(mode, RlcModeConfig::Am(_)),
        })
    }

    /// What is lost on the air is sent again.
    pub(crate) const fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Bytes of an SDU of `size` as the sender's queue counts it, once it is in a transport block of its own.
    pub(crate) fn bytes_of(&self, size: u32) -> u32 {
        size + self.pdcp_tx.header_bytes() + self.tx.headers().whole
    }

    /// IP bytes of the head, of `size`, that are sent: headers go first.
    pub(crate) fn sent_of_head(&self, size: u32) -> u32 {
        self.tx.head_left().map_or(0, |left| size.saturating_sub(left))
    }

    /// Shows `list` what waits inside the RLC and of a reserved head of `head` bytes, until it answers false; answers its last
    /// answer.
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

    /// The UE has decoded `content` at `now`.
    pub(crate) fn receive<D: Probe + Egress>(
        &mut self,
        now: Instant,
        content: &TbContent,
        up: &mut Upward<'_, '_, D>,
    ) {
        let Self { rx, pdcp_rx, acknowledged, .. } = self;
        let acknowledged = *acknowledged;
        let up = RefCell::new(up);
        let deliver = |sdu| reorder(now, sdu, pdcp_rx, &mut up.borrow_mut());
        let lose = |sdu| up.borrow_mut().lose(sdu, DropReason::Reassembly);
        // What comes twice in acknowledged mode is discarded; in other modes it is what comes too late.
        let discarded = |parts: &[Part]| {
            if !acknowledged {
                parts.iter().for_each(|part| up.borrow_mut().lose(part.sdu, DropReason::Reassembly));
            }
        };
        rx.receive_noting(now, content, deliver, lose, discarded);
    }

    /// Timers that may have ended by `now`, at both ends.
    pub(crate) fn on_timeout<D: Probe + Egress>(
        &mut self,
        now: Instant,
        more: bool,
        up: &mut Upward<'_, '_, D>,
    ) {
        let Self { tx, rx, pdcp_rx, .. } = self;
        if tx.next_timeout().is_some_and(|at| at <= now) {
            tx.on_timeout(now, more);
            tx.given_up(|sdu| up.lose(sdu, DropReason::MaxRetransmissions));
        }
        let up = RefCell::new(up);
        if rx.next_timeout().is_some_and(|at| at <= now) {
            let deliver = |sdu| reorder(now, sdu, pdcp_rx, &mut up.borrow_mut());
            rx.on_timeout(now, deliver, |sdu| up.borrow_mut().lose(sdu, DropReason::Reassembly));
        }
        if pdcp_rx.next_timeout().is_some_and(|at| at <= now) {
            pdcp_rx.on_timeout(now, |sdu| up.borrow_mut().deliver(sdu));
        }
    }

    /// The UE's status report, when one is due at `now`.
    pub(crate) fn status(&mut self, now: Instant) -> Option<StatusPdu> {
        if !self.acknowledged || self.rx.status_due().is_none_or(|at| at > now) {
            return None;
        }
        self.rx.status(now, STATUS_GRANT).cloned()
    }

    /// The UE's `status` has reached the sender.
    pub(crate) fn on_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        status: &StatusPdu,
        up: &mut Upward<'_, '_, D>,
    ) {
        self.tx.on_status(now, status, |_| {});
        self.tx.given_up(|sdu| up.lose(sdu, DropReason::MaxRetransmissions));
    }

    /// When a timer of either end has something to do, or a status report may be sent.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        let at = |timer: Option<Instant>| timer.unwrap_or(Instant::NEVER);
        let receiver = at(self.rx.next_timeout()).min(at(self.pdcp_rx.next_timeout()));
        if !self.acknowledged {
            return receiver;
        }
        receiver.min(at(self.tx.next_timeout())).min(at(self.rx.status_due()))
    }
}

/// The UE's RLC has `sdu` whole: PDCP puts it in order. What PDCP takes for stale or doubled is lost.
fn reorder<D: Probe + Egress>(now: Instant, sdu: SduHandle, pdcp: &mut PdcpRx, up: &mut Upward<'_, '_, D>) {
    let Some(sn) = up.pdcp_sn(sdu) else { return };
    if pdcp.receive(now, sn, sdu, |sdu| up.deliver(sdu)) == PdcpOutcome::Dropped {
        up.lose(sdu, DropReason::Reassembly);
    }
}
