//! A model of a DU: an RLC queue in acknowledged mode, a radio that takes bytes slot by slot, and
//! delivery statuses that request all that the queue can hold.

use super::cu_up::{self, Sdu};
use super::frames;
use justfull_base::{Duration, Instant};
use justfull_nru::{DeliveryStatus, Frame, Message};
use std::collections::VecDeque;

/// The desired buffer size of OCUDU's DU: 4096 SDUs of 1507 bytes.
pub(crate) const DESIRED: u32 = 4_096 * 1_507;
/// Until the UE's RLC has acknowledged an SDU.
const ACKNOWLEDGED: Duration = Duration::from_millis(8);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sn: u32,
    sdu: Sdu,
    left: u64,
}

#[derive(Debug)]
pub(crate) struct Du {
    /// The CU-UP's TEID.
    teid: u32,
    rlc: VecDeque<Waiting>,
    pub(crate) queued: u64,
    transmitted: Option<u32>,
    delivered: Option<u32>,
    unacknowledged: VecDeque<(Instant, u32)>,
    pub(crate) dropped: u64,
}

impl Du {
    pub(crate) fn new(teid: u32) -> Self {
        Self {
            teid,
            rlc: VecDeque::new(),
            queued: 0,
            transmitted: None,
            delivered: None,
            unacknowledged: VecDeque::new(),
            dropped: 0,
        }
    }

    /// User data arrives.
    pub(crate) fn on_message(&mut self, message: &Message<'_>) {
        let Ok(Some(Frame::UserData(_))) = message.frame() else { panic!("no user data") };
        let (sn, sdu) = cu_up::opened(message.payload);
        let left = message.payload.len() as u64;
        if self.queued + left > u64::from(DESIRED) {
            self.dropped += 1;
            return;
        }
        self.queued += left;
        self.rlc.push_back(Waiting { sn, sdu, left });
    }

    /// The radio takes up to `capacity` bytes; returns the SDUs that are then complete.
    pub(crate) fn slot(&mut self, now: Instant, mut capacity: u64) -> Vec<Sdu> {
        let mut whole = Vec::new();
        while let Some(first) = self.rlc.front_mut().filter(|_| capacity > 0) {
            let taken = first.left.min(capacity);
            first.left -= taken;
            capacity -= taken;
            self.queued -= taken;
            if first.left == 0 {
                whole.push(first.sdu);
                self.transmitted = Some(first.sn);
                self.unacknowledged.push_back((now + ACKNOWLEDGED, first.sn));
                self.rlc.pop_front();
            }
        }
        while let Some((_, sn)) = self.unacknowledged.front().filter(|(at, _)| *at <= now) {
            self.delivered = Some(*sn);
            self.unacknowledged.pop_front();
        }
        whole
    }

    /// The message of a delivery status.
    pub(crate) fn status(&self) -> Vec<u8> {
        let status = DeliveryStatus {
            desired_buffer_size: DESIRED,
            highest_delivered: self.delivered,
            highest_transmitted: self.transmitted,
            ..DeliveryStatus::default()
        };
        frames::message(self.teid, &Frame::Status(status), &[])
    }

    /// Restarts: the queue is lost.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.teid);
    }
}
