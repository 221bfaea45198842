//! Dedicated channels (R99 of UMTS): in each TTI a bearer may send some PDUs, independent of
//! others.
//!
//! Sources: TS 25.301 section 5.2.1 (DCH), TS 25.302 section 7.1.2 (TTI); P06 section V-A (Gilbert
//! loss). The slot of the MAC is the TTI.
//!
//! Formula: PDUs of a bearer in a TTI = min(`pdus`, payload capacity of the UE's channel). The loss
//! process of a bearer loses whole TTIs while it is bad. Good and bad states last a geometric
//! number of TTIs, bad ones `burst` on average and good ones `burst` (1 - `loss`) / `loss`, so that
//! the share `loss` of all TTIs is lost.
//!
//! Defaults: 4 PDUs, which in TTIs of 20 ms are 64 kbit/s, and no loss. Weaknesses: the loss
//! process has neither power control nor fading. Deviations: no transport format selection (a TTI
//! carries any number of PDUs up to `pdus`); the UE receives a TTI at its start.

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
use justfull_base::{ConfigError, Duration, Instant, Probe, Ratio, Rng, params};

params! {
    /// Settings of dedicated channels.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DchConfig: "P06 section V-A" {
        /// The slots are the TTIs: 10ms, 20ms, 40ms or 80ms.
        slot: PollConfig = PollConfig::every(Duration::from_millis(10));
        /// Most PDUs of the RLC that a bearer sends in a TTI.
        pdus: u32 as "PDUs" = 4, within(1, 4096), "a bearer that carries nothing never drains";
        /// Mean share of the TTIs of a bearer that are lost.
        loss: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(0.9));
        /// Mean number of TTIs that are lost in a row.
        burst: f64 as "TTIs" = 1.0, within(1.0, 1e6).and("at least loss / (1 - loss)", |c| {
            c.burst * (1.0 - c.loss.0) >= c.loss.0 - 1e-9
        }), "a run of TTIs that are not lost has at least one";
        /// Time from a STATUS PDU of the UE to the sender's RLC, besides its wait in the UE's queue
        /// as one PDU of the RLC, if `uplink` has a rate or grants.
        status_delay: Duration = Duration::from_millis(8);
    }
}

/// Description.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "dch",
    kind: "MAC",
    title: "Dedicated channels of UMTS",
    text: "Each bearer may send `pdus` PDUs in each TTI, independent of others, or fewer if the \
           channel carries fewer bytes of payload. Whole TTIs are lost, in bursts; the RLC sends \
           their PDUs again.",
    sources: "TS 25.301 section 5.2.1; TS 25.302 section 7.1.2; P06 section V-A",
    deviations: "any number of PDUs up to `pdus` is a transport format; the loss follows no \
                 fading; the UE has a TTI when it begins",
    params: DchConfig::params,
};

impl MacSettings for DchConfig {
    fn pdu_header(&self) -> Option<u8> {
        fixed::PDU_HEADER
    }

    fn status_way(&self) -> Option<Duration> {
        Some(self.status_delay)
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        let slot = self.slot.period;
        let known = [10, 20, 40, 80].map(Duration::from_millis).contains(&slot);
        let bound = "10ms, 20ms, 40ms or 80ms with mac.kind dch: the TTI";
        ensure(known, "mac.slot.period", &slot, bound, "TS 25.302 section 7.1.2")?;
        fixed::pdu(cell).map(|_| ())
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        fixed::UNREAD
    }
}

/// The service of dedicated channels.
pub struct Dch {
    fixed: FixedPdus,
    most: u32,
    /// PDUs per TTI last reported to the bearers' AQMs, if UEs share a channel.
    reported: Option<u32>,
    /// Loss process of each bearer; empty if no TTI is lost.
    losses: Vec<Gilbert>,
    content: TbContent,
}

impl Dch {
    pub(super) fn new(dch: &DchConfig, cell: &CellContext<'_>) -> Result<Self, ConfigError> {
        let fixed = FixedPdus::new(cell, dch.status_delay)?;
        let key = stream_key(cell.seed, "mac.dch.loss");
        let lossy = dch.loss.0 > 0.0;
        let losses = (0..if lossy { fixed.bearers() as u64 } else { 0 })
            .map(|bearer| Gilbert::new(dch, mix(key ^ bearer)))
            .collect();
        Ok(Self { fixed, most: dch.pdus, reported: None, losses, content: TbContent::default() })
    }

    /// PDUs that a bearer sends in a TTI in which its UE's channel carries `capacity` bytes.
    fn of(&self, capacity: u64) -> u32 {
        self.fixed.pdus(capacity).min(self.most)
    }

    /// Reports the service rates of bearers to their AQMs.
    fn tell_rates(&mut self, slot: Slot, cell: &mut Cell, shared: u64) {
        let pdus = self.of(shared);
        if !cell.per_ue_channels && self.reported.replace(pdus) == Some(pdus) {
            return;
        }
        for ue in 0..cell.ues.len() {
            let pdus = self.of(cell.capacity(ue as u32, slot, shared));
            let rate = FixedPdus::rate(slot, self.fixed.bytes(pdus));
            cell.ues[ue].bearers.iter_mut().for_each(|bearer| bearer.set_service_rate(rate));
        }
    }

    /// The capacity of the TTI for all bearers.
    fn capacity(&self, slot: Slot, cell: &mut Cell, shared: u64) -> u64 {
        if !cell.per_ue_channels {
            return self.fixed.bytes(self.of(shared)) * self.fixed.bearers() as u64;
        }
        (0..cell.ues.len())
            .map(|ue| {
                let pdus = self.of(cell.capacity(ue as u32, slot, shared));
                self.fixed.bytes(pdus) * cell.ues[ue].bearers.len() as u64
            })
            .sum()
    }
}

impl SlotService for Dch {
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

    /// 1: a channel is dedicated.
    fn sharers(&self) -> usize {
        0
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        self.fixed.bytes(self.of(channel.peek(slot.k, slot.now)))
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let shared = cell.channel.capacity(slot.k, slot.now);
        self.tell_rates(slot, cell, shared);
        self.fixed.begin(slot, cell, exit);
        let mut content = core::mem::take(&mut self.content);
        let mut used = 0;
        for i in 0..self.fixed.active.len() {
            let id = self.fixed.active[i];
            let most = self.of(cell.capacity(id.ue, slot, shared));
            let pdus = self.fixed.pull(slot, id, most, &mut content, cell, exit);
            let (capacity, sent) = (self.fixed.bytes(most), self.fixed.bytes(pdus));
            used += sent;
            // A limiter cannot judge a TTI without capacity.
            if capacity > 0 {
                cell.offer(id, Offer { capacity, full: capacity, left: capacity - sent });
            }
            let number = self.fixed.number(id);
            let lost = self.losses.get_mut(number).is_some_and(|loss| loss.loses(slot.k));
            if pdus > 0 && !lost {
                self.fixed.receive(slot, id, &content, cell, exit);
            }
        }
        self.content = content;
        SlotUse { capacity: self.capacity(slot, cell, shared), used }
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

/// The loss process of TTIs: two states, one of which loses all. A state is drawn with its length,
/// so that TTIs without a transmission cost no time.
#[derive(Clone, Debug)]
struct Gilbert {
    rng: Rng,
    /// The first TTI of the next state.
    until: u64,
    bad: bool,
    /// Natural logarithm of the probability that a state continues, good and bad.
    goes_on: [f64; 2],
}

impl Gilbert {
    /// The process of `dch` with the key `key`, started in its stationary distribution.
    fn new(dch: &DchConfig, key: u64) -> Self {
        let mut rng = Rng::from_key(key);
        let goes_on = |mean: f64| libm::log1p(-1.0 / mean);
        // At least 1, except for rounding.
        let good = (dch.burst * (1.0 - dch.loss.0) / dch.loss.0).max(1.0);
        let bad = rng.chance(dch.loss.0);
        let mut process = Self { rng, until: 0, bad, goes_on: [goes_on(good), goes_on(dch.burst)] };
        process.until = process.length();
        process
    }

    /// Number of TTIs of a state: geometric, and so is the rest of a state that has begun.
    fn length(&mut self) -> u64 {
        let goes_on = self.goes_on[usize::from(self.bad)];
        // From 0 (exclusive) to 1, so the logarithm is finite. A state that never continues has
        // -inf.
        let luck = libm::log(1.0 - self.rng.unit());
        ((luck / goes_on) as u64).saturating_add(1)
    }

    /// True if TTI `k` is lost; `k` never decreases.
    fn loses(&mut self, k: u64) -> bool {
        while k >= self.until {
            self.bad = !self.bad;
            self.until = self.until.saturating_add(self.length());
        }
        self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Ratio;

    fn config(loss: f64, burst: f64) -> DchConfig {
        DchConfig { loss: Ratio(loss), burst, ..DchConfig::default() }
    }

    fn process(loss: f64, burst: f64, seed: u64) -> Gilbert {
        Gilbert::new(&config(loss, burst), seed)
    }

    /// Share of lost TTIs and mean length of their runs over 400 000 TTIs.
    #[test]
    fn the_loss_has_its_mean_and_its_bursts() {
        for (loss, burst) in [(0.015, 1.0), (0.015, 3.0), (0.2, 5.0), (0.5, 1.0)] {
            let mut process = process(loss, burst, 7);
            let (mut lost, mut runs, mut before) = (0, 0, false);
            for k in 0..400_000 {
                let now = process.loses(k);
                lost += u64::from(now);
                runs += u64::from(now && !before);
                before = now;
            }
            let (share, length) = (lost as f64 / 400_000.0, lost as f64 / runs as f64);
            assert!((share / loss - 1.0).abs() < 0.06, "{loss}: {share}");
            assert!((length / burst - 1.0).abs() < 0.06, "{burst}: {length}");
        }
    }

    #[test]
    fn ttis_that_nobody_asks_about_change_nothing() {
        let (mut all, mut some) = (process(0.1, 4.0, 1), process(0.1, 4.0, 1));
        let each: Vec<bool> = (0..10_000).map(|k| all.loses(k)).collect();
        for k in (0..10_000).step_by(37) {
            assert_eq!(some.loses(k), each[k as usize], "{k}");
        }
    }

    #[test]
    fn a_run_of_good_ttis_is_not_shorter_than_one() {
        let config = |loss, burst| config(loss, burst).validate();
        assert!(config(0.5, 1.0).is_ok() && config(0.9, 9.0).is_ok());
        for (loss, burst) in [(0.6, 1.0), (0.1, 0.9), (-0.1, 1.0), (1.0, 1e6), (0.1, f64::NAN)] {
            assert!(config(loss, burst).is_err(), "{loss} {burst}");
        }
    }
}
