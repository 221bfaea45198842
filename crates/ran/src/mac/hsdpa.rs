//! HSDPA: bearers share the capacity of the cell by credits.
//!
//! Sources: P06 sections II-C and V-A; TS 25.435 section 5.9 (credits: PDUs that a bearer may send
//! in an interval); TS 25.308. The slot of the MAC is the interval, 10 ms.
//!
//! Formula: at the beginning of a period each active bearer, one whose RLC may send something, gets
//! floor(`share` x capacity / active bearers) bytes of payload and what was left over from its last
//! credit; the whole PDUs in it are its credits, and less than a PDU is left over. Credits not used
//! in the period expire.
//!
//! Retransmissions of hybrid ARQ are delays, as P06 models them: with the chance `wait` the UE has
//! a bearer's PDUs of a period only at the beginning of the next; no capacity is lost. With
//! `wait_wastes` a bearer that waits sends nothing in the period instead, and its credits expire.
//!
//! Defaults: those that P06 prints. Weaknesses: every bearer gets the same share of time whatever
//! its channel. Deviations: there are no TTIs of 2 ms within a period: the UE has what a period
//! carries when the period begins. With periods of 2 ms instead, P06's rows keep their verdicts
//! (docs/reproduction/P06.md has the figures). The chance is that of a bearer and period, which P06
//! leaves open ("a packet").

use super::fixed::FixedPdus;
use super::{Cell, SlotService, SlotUse};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::channel::Channel;
use crate::config::StackConfig;
use crate::fixed_pdus::HsdpaConfig;
use crate::pdu::TbContent;
use alloc::vec::Vec;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{Instant, Probe};

/// A bearer's credits, and its PDUs that the UE does not have yet.
#[derive(Default)]
struct Account {
    /// Bytes left over from the last credit, less than a PDU.
    rest: u64,
    waiting: TbContent,
}

/// See the module's page.
pub(crate) struct Hsdpa {
    fixed: FixedPdus,
    config: HsdpaConfig,
    key: u64,
    accounts: Vec<Account>,
    /// Bearers whose PDUs of the last period the UE has at the beginning of this one.
    waiting: Vec<BearerId>,
    content: TbContent,
}

impl Hsdpa {
    pub(super) fn new(config: &StackConfig, hsdpa: &HsdpaConfig, pdu: u32, header: u32) -> Self {
        let fixed = FixedPdus::new(config, pdu, header);
        let accounts = (0..fixed.bearers()).map(|_| Account::default()).collect();
        Self {
            fixed,
            config: hsdpa.clone(),
            key: stream_key(config.seed, "mac.hsdpa.wait"),
            accounts,
            waiting: Vec::new(),
            content: TbContent::default(),
        }
    }

    /// Bytes of the credit of each of `active` bearers where the channel carries `capacity`.
    fn credit(&self, capacity: u64, active: u64) -> u64 {
        (self.config.share.0 * capacity as f64 / active.max(1) as f64) as u64
    }

    /// The PDUs of bearer `number` wait in period `k`: a hash, so that every method meets the same
    /// periods.
    fn waits(&self, number: usize, k: u64) -> bool {
        let hash = mix(mix(self.key ^ number as u64) ^ k);
        (hash >> 11) as f64 * (1.0 / (1_u64 << 53) as f64) < self.config.wait.0
    }

    /// The UE has what waited since the last period.
    fn land<D: Probe + Egress>(&mut self, slot: Slot, cell: &mut Cell, exit: &mut Exit<'_, D>) {
        let Self { fixed, accounts, waiting, .. } = self;
        for id in waiting.drain(..) {
            let account = &accounts[fixed.number(id)];
            fixed.receive(slot, id, &account.waiting, cell, exit);
        }
    }
}

impl SlotService for Hsdpa {
    fn unit(&self) -> &'static str {
        "bytes"
    }

    fn most_bytes_per_unit(&self) -> u64 {
        1
    }

    #[inline]
    fn join(&mut self, bearer: BearerId) {
        self.fixed.join(bearer);
    }

    fn leave(&mut self, bearer: BearerId, cell: &mut Cell) {
        self.fixed.leave(bearer, cell);
    }

    fn tells_rates(&self) -> bool {
        true
    }

    fn sharers(&self) -> usize {
        self.fixed.active.len()
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        self.credit(channel.peek(slot.k, slot.now), 1)
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let shared = cell.channel.capacity(slot.k, slot.now);
        self.land(slot, cell, exit);
        self.fixed.begin(slot, cell, exit);
        let mut content = core::mem::take(&mut self.content);
        let active = self.fixed.active.len() as u64;
        let (mut used, mut granted) = (0, 0);
        for i in 0..self.fixed.active.len() {
            let id = self.fixed.active[i];
            let number = self.fixed.number(id);
            let own = cell.capacity(id.ue, slot, shared);
            let credit = self.credit(own, active);
            cell.bearer(id).set_service_rate(FixedPdus::rate(slot, credit));
            let bytes = self.accounts[number].rest + credit;
            let credits = self.fixed.pdus(bytes);
            let capacity = self.fixed.bytes(credits);
            self.accounts[number].rest = bytes - capacity;
            granted += capacity;
            let waits = self.waits(number, slot.k);
            let most = if waits && self.config.wait_wastes { 0 } else { credits };
            let pdus = self.fixed.pull(slot, id, most, &mut content, cell, exit);
            let sent = self.fixed.bytes(pdus);
            used += sent;
            let left = self.fixed.bytes(most) - sent;
            // A period without credits is nothing that a limiter could judge.
            if capacity > 0 {
                let capacity = self.credit(own, 1).max(capacity);
                cell.offer(id, Offer { capacity, full: capacity, left });
            }
            if pdus > 0 && waits {
                core::mem::swap(&mut content, &mut self.accounts[number].waiting);
                self.waiting.push(id);
            } else if pdus > 0 {
                self.fixed.receive(slot, id, &content, cell, exit);
            }
        }
        self.content = content;
        // What was granted, and what the channel carries beyond that: `rest` moves some of it from
        // one period to the next.
        let ungranted = shared - (self.credit(shared, active) * active).min(shared);
        SlotUse { capacity: granted + ungranted, used }
    }

    fn in_the_air(&self) -> (u64, u64) {
        self.fixed.in_the_air()
    }

    fn hear_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        self.fixed.hear_status(now, handle, cell, exit);
    }

    fn lose_status(&mut self, handle: u32) {
        self.fixed.lose_status(handle);
    }
}
