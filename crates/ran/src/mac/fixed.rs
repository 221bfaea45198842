//! Bearers of fixed PDUs (TS 25.322): the common parts of DCH and HSDPA.
//!
//! A bearer takes part while its RLC may send data; otherwise it costs no time. Its data in a slot
//! is one batch of PDUs. Amounts are bytes of payload: a PDU of 42 B has a header of two and counts
//! 40, as in the nominal rate of a UMTS bearer (4 x 40 B in 20 ms are 64 kbit/s).

use super::Cell;
use super::links::Links;
use crate::bearer::{BearerId, Egress, Exit, Slot, UMTS_HEADER};
use crate::config::CellContext;
use crate::pdu::TbContent;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Probe};

/// On a separate DTCH the MAC adds no header to a PDU; on HS-DSCH it adds none to the PDU itself
/// (TS 25.321 sections 9.1.2 and 9.2.1).
pub(super) const PDU_HEADER: Option<u8> = Some(0);

const IN_SEQUENCE: &str = "the RLC of UMTS delivers in sequence, and its PDUs count their headers";

/// PDCP's settings that are not read.
pub(super) const UNREAD: &[(&str, &str)] = &[
    ("pdcp.sn_bits", IN_SEQUENCE),
    ("pdcp.t_reordering", IN_SEQUENCE),
    ("pdcp.out_of_order", IN_SEQUENCE),
];

/// Bytes of a PDU of the RLC of `cell`.
///
/// # Errors
/// Its mode has PDUs of different sizes.
pub(super) fn pdu(cell: &CellContext<'_>) -> Result<u32, ConfigError> {
    let mode = &cell.rlc.mode;
    let allowed = "am with generation umts, with mac.kind dch or hsdpa";
    let why = "only the RLC of UMTS has PDUs of one size (TS 25.322)";
    mode.pdu().ok_or_else(|| ConfigError::new("rlc.mode", &mode.name(), allowed, why))
}

/// The bearers and links of a service with fixed PDUs.
pub(super) struct FixedPdus {
    links: Links,
    /// Bearers whose RLC may send data, in the order in which they became active.
    pub(super) active: Vec<BearerId>,
    /// The active bearers of each UE: bit n for bearer n.
    listed: Vec<u32>,
    /// Bytes of a PDU.
    pdu: u32,
    /// Payload of a full PDU.
    pub(super) payload: u32,
    /// Number of each UE's first bearer among all bearers and, last, the total number of bearers.
    first: Vec<u32>,
}

impl FixedPdus {
    /// The bearers of `cell`; a STATUS PDU takes `status_delay`.
    ///
    /// # Errors
    /// The error of [`pdu`].
    pub(super) fn new(cell: &CellContext<'_>, status_delay: Duration) -> Result<Self, ConfigError> {
        let pdu = pdu(cell)?;
        let mut first = vec![0];
        for ue in cell.ues {
            first.push(first[first.len() - 1] + u32::from(ue.drbs));
        }
        Ok(Self {
            links: Links::new(status_delay),
            active: Vec::new(),
            listed: vec![0; cell.ues.len()],
            pdu,
            payload: pdu - UMTS_HEADER,
            first,
        })
    }

    /// Number of bearers of the cell.
    pub(super) fn bearers(&self) -> usize {
        self.first[self.first.len() - 1] as usize
    }

    /// Number of `id` among all bearers.
    pub(super) fn number(&self, id: BearerId) -> usize {
        self.first[id.ue as usize] as usize + usize::from(id.drb)
    }

    /// Number of PDUs that `bytes` of payload fill.
    pub(super) fn pdus(&self, bytes: u64) -> u32 {
        u32::try_from(bytes / u64::from(self.payload)).unwrap_or(u32::MAX)
    }

    /// Payload of `pdus`.
    pub(super) fn bytes(&self, pdus: u32) -> u64 {
        u64::from(pdus) * u64::from(self.payload)
    }

    /// See [`SlotService::in_the_air`](super::SlotService::in_the_air).
    pub(super) const fn in_the_air(&self) -> (u64, u64) {
        self.links.in_the_air()
    }

    /// `bearer` has data to send.
    #[inline]
    pub(super) fn join(&mut self, bearer: BearerId) {
        list(bearer, &mut self.active, &mut self.listed);
    }

    /// See [`SlotService::leave`](super::SlotService::leave).
    pub(super) fn leave(&mut self, bearer: BearerId, cell: &mut Cell) {
        if !cell.bearer(bearer).may_send() {
            self.listed[bearer.ue as usize] &= !(1 << bearer.drb);
            self.active.retain(|other| *other != bearer);
        }
    }

    /// The rate of `bytes` of payload in each slot like `slot`.
    pub(super) fn rate(slot: Slot, bytes: u64) -> BitRate {
        BitRate((bytes as f64 * 8.0 / slot.length.as_secs_f64()) as u64)
    }

    /// Handles expired timers and arrived reports at the sender before `slot`; bearers without data
    /// leave.
    pub(super) fn begin<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        let Self { links, active, listed, .. } = self;
        let mut woken = |id: BearerId, cell: &mut Cell| {
            if cell.bearer(id).may_send() {
                list(id, active, listed);
            }
        };
        links.end_timers(slot.now, cell, exit, &mut woken);
        links.receive_statuses(slot.now, cell, exit, woken);
        active.retain(|&id| {
            let stays = cell.bearer(id).may_send();
            listed[id.ue as usize] &= !(u32::from(!stays) << id.drb);
            stays
        });
    }

    /// Lets `id` send up to `most` PDUs into `content`; returns the number sent.
    pub(super) fn pull<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        id: BearerId,
        most: u32,
        content: &mut TbContent,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        content.clear();
        let grant = most.saturating_mul(self.pdu);
        let pdus = self.links.pull(slot, id, grant, content, cell, exit) / self.pdu;
        if let Some(meter) = &mut cell.meter {
            meter.give(id.ue, u64::from(pdus) * u64::from(self.payload), false);
        }
        pdus
    }

    /// The UE has decoded `content` of `id`.
    pub(super) fn receive<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        id: BearerId,
        content: &TbContent,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        self.links.receive(slot.now, id, content, cell, exit);
    }

    /// See [`SlotService::receive_status`](super::SlotService::receive_status).
    pub(super) fn receive_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        let id = self.links.receive_carried(now, handle, cell, exit);
        if cell.bearer(id).may_send() {
            self.join(id);
        }
    }

    /// See [`SlotService::lose_status`](super::SlotService::lose_status).
    pub(super) fn lose_status(&mut self, handle: u32) {
        self.links.lose_carried(handle);
    }
}

#[inline]
fn list(id: BearerId, active: &mut Vec<BearerId>, listed: &mut [u32]) {
    let (bits, bit) = (&mut listed[id.ue as usize], 1 << id.drb);
    if *bits & bit == 0 {
        *bits |= bit;
        active.push(id);
    }
}
