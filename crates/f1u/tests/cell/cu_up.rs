//! Two models of a CU-UP: one holds user data back above the desired buffer size, in a queue for
//! each QoS flow; one drops it there before it gets a PDCP sequence number, as OCUDU does.

use super::frames;
use justfull_nru::{DeliveryStatus, Frame, UserData};
use std::collections::VecDeque;

/// Bits of PDCP's sequence numbers.
pub(crate) const SN_BITS: u8 = 18;
/// Octets of PDCP's header, and of an SDU's number after it.
pub(crate) const HEADER: usize = 3;
const NUMBER: usize = 8;
/// A queue of SDAP holds this many packets.
const QUEUE: usize = 1_024;

/// Its behaviour above the desired buffer size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    HoldsBack,
    Drops,
}

/// An SDU. Its owner is known to the world only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sdu {
    pub(crate) number: u64,
    pub(crate) bytes: usize,
}

/// QoS flows of the bearer: the call's queue goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Qfi {
    Call,
    Bulk,
}

#[derive(Debug)]
pub(crate) struct CuUp {
    above: Above,
    /// The DU's TEID.
    teid: u32,
    queues: [VecDeque<Sdu>; 2],
    /// The sum of bytes up to and with each PDU since the start.
    sums: Vec<u64>,
    /// PDUs delivered, by the last status; in acknowledged mode the desired size counts from there.
    delivered: usize,
    desired: u32,
    pub(crate) dropped: [u64; 2],
    pub(crate) statuses: u64,
    /// The last desired sizes.
    pub(crate) sizes: Vec<u32>,
}

impl CuUp {
    pub(crate) fn new(above: Above, teid: u32) -> Self {
        Self {
            above,
            teid,
            queues: Default::default(),
            sums: Vec::new(),
            delivered: 0,
            desired: 0,
            dropped: [0; 2],
            statuses: 0,
            sizes: Vec::new(),
        }
    }

    /// An SDU arrives; returns the messages to the DU.
    pub(crate) fn on_sdu(&mut self, qfi: Qfi, sdu: Sdu) -> Vec<Vec<u8>> {
        let full = match self.above {
            Above::HoldsBack => self.queues[qfi as usize].len() >= QUEUE,
            Above::Drops => !self.may_send(sdu),
        };
        if full {
            self.dropped[qfi as usize] += 1;
            return Vec::new();
        }
        self.queues[qfi as usize].push_back(sdu);
        self.send()
    }

    /// The message of a delivery status.
    pub(crate) fn on_status(&mut self, status: &DeliveryStatus<'_>) -> Vec<Vec<u8>> {
        self.statuses += 1;
        self.sizes.push(status.desired_buffer_size);
        self.desired = status.desired_buffer_size;
        if let Some(sn) = status.highest_delivered {
            let modulus = 1 << SN_BITS;
            let next = u32::try_from(self.sums.len() % modulus).expect("small");
            let behind = (next.wrapping_sub(sn + 1) as usize) % modulus;
            // An older status does not take anything back.
            self.delivered = self.delivered.max(self.sums.len().saturating_sub(behind));
        }
        self.send()
    }

    /// Restarts: numbers begin anew, queues are empty.
    pub(crate) fn restart(&mut self) {
        self.sums.clear();
        self.queues = Default::default();
        (self.delivered, self.desired) = (0, 0);
    }

    fn outstanding(&self) -> u64 {
        let sum = |count: usize| count.checked_sub(1).map_or(0, |last| self.sums[last]);
        sum(self.sums.len()) - sum(self.delivered)
    }

    fn may_send(&self, sdu: Sdu) -> bool {
        let after = self.outstanding() + (sdu.bytes + HEADER) as u64;
        self.desired > 0 && after <= u64::from(self.desired)
    }

    fn send(&mut self) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while let Some(queue) = (0..2).find(|queue| !self.queues[*queue].is_empty()) {
            let sdu = self.queues[queue][0];
            if !self.may_send(sdu) {
                break;
            }
            self.queues[queue].pop_front();
            messages.push(self.pdu(sdu));
        }
        messages
    }

    fn pdu(&mut self, sdu: Sdu) -> Vec<u8> {
        let count = u32::try_from(self.sums.len()).expect("few");
        let sn = count % (1 << SN_BITS);
        let [_, high, middle, low] = sn.to_be_bytes();
        let mut pdu = vec![0x80 | high, middle, low];
        pdu.extend(sdu.number.to_be_bytes());
        pdu.resize(HEADER + sdu.bytes.max(NUMBER), 0);
        let before = self.sums.last().copied().unwrap_or(0);
        self.sums.push(before + pdu.len() as u64);
        let frame =
            UserData { sequence: count % (1 << 24), user_data: true, ..UserData::default() };
        frames::message(self.teid, &Frame::UserData(frame), &pdu)
    }
}

/// The PDCP sequence number and the SDU in a PDU.
pub(crate) fn opened(pdu: &[u8]) -> (u32, Sdu) {
    let [first, middle, low, ..] = *pdu else { panic!("too short") };
    let sn = u32::from_be_bytes([0, first & 0x3, middle, low]);
    let number = pdu[HEADER..].first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    (sn, Sdu { number: number.expect("a number"), bytes: pdu.len() - HEADER })
}
