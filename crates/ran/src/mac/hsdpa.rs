//! HSDPA: bearers share the capacity of the cell by credits.
//!
//! Sources: P06 sections II-C and V-A; TS 25.435 section 5.9 (credits: PDUs that a bearer may send
//! in an interval); TS 25.308. The slot of the MAC is the interval, 10 ms.
//!
//! Formula: at the start of a period each active bearer, whose RLC may send data, gets
//! floor(`share` x capacity / active bearers) bytes of payload plus the rest of its last credit.
//! The whole PDUs in this sum are its credits; less than a PDU is left as the rest. Credits not
//! used in the period expire.
//!
//! Hybrid ARQ retransmissions are delays, as in P06's model: with probability `wait` the UE
//! receives a bearer's PDUs of a period only at the start of the next; no capacity is lost. With
//! `wait_wastes` a waiting bearer sends nothing in the period instead, and its credits expire.
//!
//! Defaults: the values that P06 prints. Weaknesses: every bearer gets the same share of time with
//! any channel. Deviations: there are no TTIs of 2 ms within a period: the UE receives the data of
//! a period at its start. With periods of 2 ms instead, P06's rows keep their verdicts
//! (docs/reproduction/P06.md has the figures). The probability applies to a bearer in a period; P06
//! leaves this open ("a packet").

use super::fixed::{self, FixedPdus};
use super::{Cell, MacSettings, SlotService, SlotUse};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::channel::Channel;
use crate::config::{CellContext, PollConfig};
use crate::pdu::TbContent;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{ConfigError, Duration, Instant, Probe, Ratio, params};

params! {
    /// Settings of HSDPA.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HsdpaConfig: "P06 section V-A" {
        /// The slots are the intervals of credits: a multiple of 2ms.
        slot: PollConfig = PollConfig::every(Duration::from_millis(10));
        /// Share of the channel's bytes that bearers get as credits.
        share: Ratio = Ratio(0.9), above(Ratio(0.0)).to(Ratio(1.0));
        /// Chance that a bearer's PDUs of a period wait for the next.
        wait: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// A bearer that waits sends nothing in the period, and its credits expire; otherwise the
        /// UE has the PDUs one period later.
        wait_wastes: bool = false, rule("false, or with wait below 1", |c| {
            !c.wait_wastes || c.wait.0 < 1.0
        }), "with a wait of 1 nothing is ever sent";
        /// Time from a STATUS PDU of the UE to the sender's RLC, besides its wait in the UE's queue
        /// as one PDU of the RLC, if `uplink` has a rate or grants.
        status_delay: Duration = Duration::from_millis(8);
    }
}

/// Description.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "hsdpa",
    kind: "MAC",
    title: "HSDPA: a cell shared by credits",
    text: "Each period, `mac.slot.period`, the bearers with something to send get equal credits: \
           PDUs for `share` of what the channel carries, remainders carried over. With the chance \
           `wait` a bearer's PDUs reach the UE one period later, as hybrid ARQ makes them.",
    sources: "P06 sections II-C and V-A; TS 25.435 section 5.9; TS 25.308",
    deviations: "the UE has what a period carries when the period begins, without TTIs of 2 ms; \
                 the chance of waiting is that of a bearer and period",
    params: HsdpaConfig::params,
};

impl MacSettings for HsdpaConfig {
    fn pdu_header(&self) -> Option<u8> {
        fixed::PDU_HEADER
    }

    fn status_way(&self) -> Option<Duration> {
        Some(self.status_delay)
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        let slot = self.slot.period;
        let step = Duration::from_millis(2).as_nanos();
        let known = !slot.is_zero() && slot.as_nanos().is_multiple_of(step);
        let bound =
            "a multiple of 2ms with mac.kind hsdpa, such as 10ms: the interval of its credits";
        ensure(known, "mac.slot.period", &slot, bound, "TS 25.308: TTIs of 2 ms; P06: 10 ms")?;
        fixed::pdu(cell).map(|_| ())
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        fixed::UNREAD
    }
}

/// A bearer's credits, and its PDUs that the UE has not received yet.
#[derive(Default)]
struct Account {
    /// Bytes left from the last credit, less than a PDU.
    rest: u64,
    waiting: TbContent,
}

/// The service of HSDPA.
pub struct Hsdpa {
    fixed: FixedPdus,
    config: HsdpaConfig,
    key: u64,
    accounts: Vec<Account>,
    /// Bearers whose PDUs of the last period reach the UE at the start of this one.
    waiting: Vec<BearerId>,
    content: TbContent,
}

impl Hsdpa {
    pub(super) fn new(config: &HsdpaConfig, cell: &CellContext<'_>) -> Result<Self, ConfigError> {
        let fixed = FixedPdus::new(cell, config.status_delay)?;
        let accounts = (0..fixed.bearers()).map(|_| Account::default()).collect();
        Ok(Self {
            fixed,
            config: config.clone(),
            key: stream_key(cell.seed, "mac.hsdpa.wait"),
            accounts,
            waiting: Vec::new(),
            content: TbContent::default(),
        })
    }

    /// Bytes of the credit of each of `active` bearers, if the channel carries `capacity`.
    fn credit(&self, capacity: u64, active: u64) -> u64 {
        (self.config.share.0 * capacity as f64 / active.max(1) as f64) as u64
    }

    /// True if the PDUs of bearer `number` wait in period `k`: a hash, so that every method meets
    /// the same periods.
    fn waits(&self, number: usize, k: u64) -> bool {
        let hash = mix(mix(self.key ^ number as u64) ^ k);
        (hash >> 11) as f64 * (1.0 / (1_u64 << 53) as f64) < self.config.wait.0
    }

    /// The UE receives the PDUs that waited since the last period.
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
            // A limiter cannot judge a period without credits.
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
        // The granted amount, and the channel's capacity beyond it: `rest` moves a part of this
        // from one period to the next.
        let ungranted = shared - (self.credit(shared, active) * active).min(shared);
        SlotUse { capacity: granted + ungranted, used }
    }

    fn in_the_air(&self) -> (u64, u64) {
        self.fixed.in_the_air()
    }

    fn receive_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        self.fixed.receive_status(now, handle, cell, exit);
    }

    fn lose_status(&mut self, handle: u32) {
        self.fixed.lose_status(handle);
    }
}
