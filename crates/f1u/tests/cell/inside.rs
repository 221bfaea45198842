//! The same gNB in one piece, with a limiter inside: SDAP gets the RLC queue and each slot without
//! delay.

use super::cu_up::{HEADER, Qfi, Sdu};
use justfull_base::{Duration, Instant, SlotReport};
use justfull_ran::limiter::{
    AnyLimiter, CapacityUnit, GrantContext, Limiter, LimiterConfig, RlcView,
};
use std::collections::VecDeque;

/// A queue of SDAP holds this many packets.
const QUEUE: usize = 1_024;

pub(crate) struct Inside {
    limiter: AnyLimiter,
    slot: Duration,
    queues: [VecDeque<Sdu>; 2],
    rlc: VecDeque<(Sdu, u64)>,
    view: RlcView,
    pub(crate) dropped: u64,
}

impl Inside {
    pub(crate) fn new(limiter: &LimiterConfig, slot: Duration) -> Self {
        let context = GrantContext { unit: CapacityUnit::Bytes, slot, mtu: 1_500 };
        Self {
            limiter: AnyLimiter::new(limiter, &context).expect("in bounds"),
            slot,
            queues: Default::default(),
            rlc: VecDeque::new(),
            view: RlcView::default(),
            dropped: 0,
        }
    }

    pub(crate) fn on_sdu(&mut self, now: Instant, qfi: Qfi, sdu: Sdu) {
        let queue = &mut self.queues[qfi as usize];
        if queue.len() >= QUEUE {
            self.dropped += 1;
            return;
        }
        queue.push_back(sdu);
        self.poll(now);
    }

    /// SDAP gives the RLC the packets that may enter.
    pub(crate) fn poll(&mut self, now: Instant) {
        while let Some(queue) = self.queues.iter_mut().find(|queue| !queue.is_empty()) {
            let room = self.limiter.room(now, &self.view);
            let bytes = (queue[0].bytes + HEADER) as u64;
            if room < if self.limiter.overdraws() { 1 } else { bytes } {
                break;
            }
            let sdu = queue.pop_front().expect("not empty");
            self.rlc.push_back((sdu, bytes));
            self.view.bytes += bytes;
            self.view.packets += 1;
            self.limiter.on_admitted(now, bytes, &self.view);
        }
    }

    pub(crate) fn slot(&mut self, now: Instant, capacity: u64) -> Vec<Sdu> {
        let (mut left, mut whole) = (capacity, Vec::new());
        while let Some((sdu, bytes)) = self.rlc.front_mut().filter(|_| left > 0) {
            let taken = left.min(*bytes);
            *bytes -= taken;
            left -= taken;
            self.view.bytes -= taken;
            if *bytes == 0 {
                whole.push(*sdu);
                self.view.packets -= 1;
                self.rlc.pop_front();
            }
        }
        self.limiter.on_slot(&SlotReport {
            pulled_at: now,
            slot: self.slot,
            granted: capacity,
            used: capacity - left,
            remaining: self.view.bytes,
            capacity,
            starved: left > 0,
        });
        whole
    }
}
