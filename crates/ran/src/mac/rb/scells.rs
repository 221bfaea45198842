//! Carrier aggregation: several carriers send the data of the same RLC entities (TS 38.300 sections
//! 5.4.1 and 6.7).
//!
//! The MAC pulls at every tick, the length of the shortest slot of all carriers. A carrier is
//! served at each tick at which one of its slots begins: the PCell first, then the SCells in their
//! order. Each carrier has its own blocks, channel, scheduler and HARQ entity; RLC and its timers
//! are common. A carrier lends its parts to the service and to the cell for the time of its slot,
//! so one function serves the slots of all carriers.

use super::*;
use crate::channel::ChannelContext;
use crate::config::{PCELL, ScellConfig};
use alloc::string::String;
use alloc::sync::Arc;
use core::mem::swap;
use justfull_base::Duration;
use justfull_base::rng::mix;

/// The use of a carrier over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarrierUse {
    /// Its name; `pcell` for the carrier of `mac.carrier`.
    pub name: String,
    /// Slots that could carry data.
    pub slots: u64,
    /// Resource blocks of these slots.
    pub offered: u64,
    /// Resource blocks that were used, also by retransmissions.
    pub used: u64,
    /// Bytes in the first transmissions of its transport blocks, with headers.
    pub bytes: u64,
}

impl CarrierUse {
    fn of(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn count(&mut self, slot_use: SlotUse, bytes: u64) {
        self.slots += u64::from(slot_use.capacity > 0);
        self.offered += slot_use.capacity;
        self.used += slot_use.used;
        self.bytes += bytes;
    }
}

/// The parts of the service and of the cell that a carrier has for itself.
struct Parts {
    carrier: Carrier,
    scheduler: CheckedRbScheduler,
    knowledge: Knowledge,
    harq: Harq,
    active: Active,
    channel: Channel,
    reported: Option<Channel>,
    per_ue_channels: bool,
    errors_follow_sinr: bool,
}

impl Parts {
    /// Exchanges these parts for the parts in `rb` and `cell`.
    fn exchange(&mut self, rb: &mut Rb, cell: &mut Cell) {
        swap(&mut self.carrier, &mut rb.carrier);
        swap(&mut self.scheduler, &mut rb.scheduler);
        swap(&mut self.knowledge, &mut rb.knowledge);
        swap(&mut self.harq, &mut rb.air.harq);
        swap(&mut self.active, &mut rb.air.active);
        swap(&mut self.channel, &mut cell.channel);
        swap(&mut self.reported, &mut cell.reported);
        swap(&mut self.per_ue_channels, &mut cell.per_ue_channels);
        swap(&mut self.errors_follow_sinr, &mut cell.errors_follow_sinr);
    }
}

/// An SCell.
struct Scell {
    parts: Parts,
    /// Ticks of one of its slots.
    ticks: u64,
    ues: Arc<[bool]>,
    used: CarrierUse,
}

impl Scell {
    fn serves(&self, ue: u32) -> bool {
        self.ues.get(ue as usize).copied().unwrap_or(true)
    }

    /// Bytes of its slot that begins at tick `slot`, 0 if none begins, and of its largest slot.
    fn carries(&self, slot: Slot) -> (u64, u64) {
        let Parts { carrier, channel, .. } = &self.parts;
        let k = slot.k / self.ticks;
        let begins = slot.k.is_multiple_of(self.ticks);
        let whole = if begins { carrier.whole_slot(channel, k, slot.now) } else { 0 };
        (whole, channel.mcs(k, slot.now).map_or(0, |mcs| carrier.full_slot(mcs)))
    }
}

/// The offer of a carrier to a bearer at a tick.
#[derive(Clone, Copy)]
struct OfCarrier {
    id: BearerId,
    /// 0 for the PCell, 1 for the first SCell.
    carrier: usize,
    offer: Offer,
}

/// The SCells of a cell.
pub(super) struct Scells {
    /// Ticks of a slot of the PCell.
    ticks: u64,
    pcell: CarrierUse,
    scells: Vec<Scell>,
    /// Buffers of one tick: the offers, and the part of each carrier's blocks that is unused.
    offers: Vec<OfCarrier>,
    unused: Vec<f64>,
}

/// The slot of a carrier that begins at tick `slot`, if one does.
fn begun(slot: Slot, ticks: u64) -> Option<Slot> {
    let begins = slot.k.is_multiple_of(ticks);
    begins.then(|| Slot { k: slot.k / ticks, length: slot.length.times(ticks), ..slot })
}

impl Rb {
    /// The slot of the PCell that begins at tick `slot`, if one does.
    pub(super) fn own_slot(&self, slot: Slot) -> Option<Slot> {
        self.scells.as_ref().map_or(Some(slot), |scells| begun(slot, scells.ticks))
    }

    /// Serves the carriers of which a slot begins at `tick`.
    #[inline(never)]
    pub(super) fn serve_carriers<D: Probe + Egress>(
        &mut self,
        tick: Slot,
        mut all: Box<Scells>,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let Scells { ticks, pcell, scells, offers, unused } = &mut *all;
        unused.clear();
        for scell in &mut *scells {
            scell.parts.active.clear();
            for &ue in self.air.active.ues() {
                if scell.serves(cell.number(ue)) {
                    scell.parts.active.add(ue);
                }
            }
        }
        let mut sum = SlotUse::default();
        for i in 0..=scells.len() {
            let ticks = if i == 0 { *ticks } else { scells[i - 1].ticks };
            let Some(slot) = begun(tick, ticks) else {
                unused.push(0.0);
                continue;
            };
            if i > 0 {
                scells[i - 1].parts.exchange(self, cell);
            }
            let before = self.air.bytes;
            let slot_use = self.serve_carrier(slot, true, cell, exit);
            let used = if i == 0 { &mut *pcell } else { &mut scells[i - 1].used };
            used.count(slot_use, self.air.bytes - before);
            if i > 0 {
                scells[i - 1].parts.exchange(self, cell);
            }
            let SlotUse { capacity, used } = slot_use;
            unused.push((capacity - used) as f64 / capacity.max(1) as f64);
            sum.capacity += capacity;
            sum.used += used;
            let taken = cell.offers.drain(..);
            offers.extend(taken.map(|(id, offer)| OfCarrier { id, carrier: i, offer }));
        }
        if !offers.is_empty() {
            self.offer_sums(tick, &mut all, cell);
        }
        self.air.active.retain(|ue| cell.ues[ue as usize].wants_to_send());
        self.scells = Some(all);
        sum
    }

    /// Reports to each bearer the sum of the carriers' offers at `tick`. A carrier at which the
    /// bearer had no more data offers its whole slot.
    fn offer_sums(&self, tick: Slot, all: &mut Scells, cell: &mut Cell) {
        let Scells { ticks, scells, offers, unused, .. } = all;
        offers.sort_unstable_by_key(|of| (of.id.ue, of.id.drb, of.carrier));
        let bearers = offers.chunk_by(|a, b| a.id == b.id).count() as f64;
        for group in offers.chunk_by(|a, b| a.id == b.id) {
            let id = group[0].id;
            let mut sum = Offer { capacity: 0, full: 0, left: 0 };
            for (i, unused) in unused.iter().enumerate() {
                let offered = group.iter().find(|of| of.carrier == i).map(|of| of.offer);
                let offer = offered.unwrap_or_else(|| {
                    let (capacity, full) = if i > 0 {
                        let scell = &scells[i - 1];
                        let serves = scell.serves(cell.number(id.ue));
                        if serves { scell.carries(tick) } else { (0, 0) }
                    } else {
                        let k = tick.k / *ticks;
                        let own = begun(tick, *ticks).is_some();
                        let channel = &*cell.channel_of(id.ue);
                        let whole = self.carrier.whole_slot(channel, k, tick.now);
                        let full = channel.mcs(k, tick.now);
                        let full = full.map_or(0, |mcs| self.carrier.full_slot(mcs));
                        (if own { whole } else { 0 }, full)
                    };
                    let left = (capacity as f64 * unused / bearers) as u64;
                    Offer { capacity, full, left }
                });
                sum.capacity += offer.capacity;
                sum.full += offer.full;
                sum.left += offer.left;
            }
            cell.offers.push((id, sum));
        }
        offers.clear();
    }
}

impl Scells {
    /// The SCells of `cell`; none if it has none.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub(super) fn new(
        config: &RbConfig,
        cell: &CellContext<'_>,
    ) -> Result<Option<Box<Self>>, ConfigError> {
        if cell.scells.is_empty() {
            return Ok(None);
        }
        let slots = cell.scells.iter().map(|scell| scell.slot);
        let tick = slots.fold(config.slot.period, Duration::min);
        let ticks = |slot: Duration| slot.as_nanos() / tick.as_nanos();
        let scells = cell.scells.iter().enumerate().map(|(i, scell)| {
            let at = |e: ConfigError| e.within(&alloc::format!("scell[{i}]"));
            let parts = Parts::new(config, cell, scell, i).map_err(at)?;
            let ues = Arc::clone(&scell.ues);
            Ok(Scell { parts, ticks: ticks(scell.slot), ues, used: CarrierUse::of(&scell.name) })
        });
        Ok(Some(Box::new(Self {
            ticks: ticks(config.slot.period),
            pcell: CarrierUse::of(PCELL),
            scells: scells.collect::<Result<_, ConfigError>>()?,
            offers: Vec::new(),
            unused: Vec::new(),
        })))
    }

    /// Ticks of a slot of the PCell.
    pub(super) const fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Bytes that they add for the UE with number `ue`: of the slots that begin at `slot`, and of
    /// the largest slots.
    pub(super) fn add(&self, ue: u32, slot: Slot) -> (u64, u64) {
        let serving = self.scells.iter().filter(|scell| scell.serves(ue));
        serving.map(|scell| scell.carries(slot)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// The use of each carrier, the PCell first.
    pub(super) fn uses(&self) -> Vec<CarrierUse> {
        let scells = self.scells.iter().map(|scell| scell.used.clone());
        core::iter::once(self.pcell.clone()).chain(scells).collect()
    }

    /// `ue` leaves the cell.
    pub(super) fn forget(&mut self, ue: u32) {
        self.scells.iter_mut().for_each(|scell| scell.parts.harq.forget(ue, |_| {}));
    }
}

impl Parts {
    /// The parts of `scell`, the SCell with this `index`.
    fn new(
        config: &RbConfig,
        cell: &CellContext<'_>,
        scell: &ScellConfig,
        index: usize,
    ) -> Result<Self, ConfigError> {
        let key = |name: &str| mix(stream_key(cell.seed, name) ^ index as u64);
        let carrier = Carrier::new(&scell.carrier, scell.slot).map_err(|e| e.within("carrier"))?;
        let channel = Channel::new(
            &scell.channel,
            &ChannelContext {
                key: key("scell.channel"),
                slot: scell.slot,
                unit: crate::channel::CapacityUnit::Bytes,
                bandwidth: scell.carrier.bandwidth(scell.slot),
            },
        )
        .map_err(|e| e.within("channel"))?;
        Ok(Self {
            carrier,
            scheduler: scheduler(config, cell)?,
            knowledge: Knowledge { lag: scell.cqi_delay.into() },
            harq: Harq::new(&scell.harq, key("scell.harq")),
            active: Active::new(cell.ues.len()),
            reported: (scell.cqi_delay > 0).then(|| channel.clone()),
            channel,
            per_ue_channels: false,
            errors_follow_sinr: scell.channel.errors_follow_sinr(),
        })
    }
}
