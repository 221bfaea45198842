//! Slots of resource blocks: retransmissions first, then new data in the scheduler's order; decoded
//! blocks pass through the receiver's RLC and PDCP to the driver.
//!
//! Every event at the UE happens at the slot of its transmission; the driver adds the air delay.

mod air;
mod demand;
mod light;
mod scells;
mod settings;
mod sole;

pub use self::scells::CarrierUse;
pub use self::settings::RbConfig;

pub(super) use self::settings::DOC;

use self::demand::{Gathering, gather, offer_blocks};
use self::scells::Scells;
use super::active::Active;
use super::links::Links;
use super::{Cell, SlotService, SlotUse, UeRadio, Weight};
use crate::bearer::{BearerId, Egress, Exit, InFlight, Offer, Slot};
use crate::carrier::{Carrier, SlotShape};
use crate::channel::Channel;
use crate::config::CellContext;
use crate::harq::Harq;
use crate::rb_demand::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand, UeServed};
use crate::rb_scheduler::{AnyRbScheduler, CheckedRbScheduler, RbScheduler};
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::feedback::CellKind;
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Event, Instant, Probe, Ratio};

/// The service of slots of resource blocks.
pub struct Rb {
    carrier: Carrier,
    scheduler: CheckedRbScheduler,
    knowledge: Knowledge,
    air: Air,
    /// Buffers of one slot.
    demand: Demand,
    allocation: RbAllocation,
    served: Vec<UeServed>,
    /// Numbers of UEs.
    numbers: Vec<u32>,
    /// The SCells; none without carrier aggregation.
    scells: Option<Box<Scells>>,
}

/// The MAC's knowledge of the channels.
#[derive(Clone, Copy)]
struct Knowledge {
    /// Age of the knowledge, in slots.
    lag: u64,
}

/// The data in transit, and the UEs with data to send.
struct Air {
    harq: Harq,
    links: Links,
    /// UEs with data to send, sorted at each slot.
    active: Active,
    /// Bytes in new blocks so far.
    bytes: u64,
}

/// The data waiting for a slot. The UEs' part borrows from the carrier and is kept empty between
/// slots.
#[derive(Default)]
struct Demand {
    ues: Vec<UeDemand<'static>>,
    drbs: Vec<DrbDemand>,
    sdus: Vec<u32>,
    /// MCS of each UE.
    mcs: Vec<u8>,
}

/// The part of a slot that is free for new data.
#[derive(Clone, Copy)]
struct Free {
    shape: SlotShape,
    units: RbUnits,
    /// The cell has SCells.
    aggregated: bool,
}

/// An empty vector in the memory of `vec`, for elements that borrow other data: collecting in place
/// keeps the allocation.
fn recycle<'b>(mut vec: Vec<UeDemand<'_>>) -> Vec<UeDemand<'b>> {
    vec.clear();
    vec.into_iter().map(|_| UeDemand { ue: 0, slice: 0, tbs: &[], drbs: 0..0 }).collect()
}

/// The scheduler of a carrier of `cell`.
fn scheduler(config: &RbConfig, cell: &CellContext<'_>) -> Result<CheckedRbScheduler, ConfigError> {
    let whole = [Ratio(1.0)];
    let shares = if cell.slices.is_empty() { &whole[..] } else { cell.slices };
    let scheduler = AnyRbScheduler::new(&config.scheduler, shares);
    scheduler.map(CheckedRbScheduler::new).map_err(|e| e.within("mac.scheduler"))
}

impl Rb {
    /// The service of `cell`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub(super) fn new(config: &RbConfig, cell: &CellContext<'_>) -> Result<Self, ConfigError> {
        let carrier = Carrier::new(&config.carrier, config.slot.period)
            .map_err(|e| e.within("mac.carrier"))?;
        Ok(Self {
            carrier,
            scheduler: scheduler(config, cell)?,
            knowledge: Knowledge { lag: u64::from(config.cqi_delay) },
            air: Air {
                harq: Harq::new(&config.harq, stream_key(cell.seed, "mac.harq")),
                links: Links::new(config.status_delay),
                active: Active::new(cell.ues.len()),
                bytes: 0,
            },
            demand: Demand::default(),
            allocation: RbAllocation::default(),
            served: Vec::new(),
            numbers: Vec::new(),
            scells: Scells::new(config, cell)?,
        })
    }

    /// Serves `slot` of one carrier, `aggregated` if the cell has several.
    #[inline(always)]
    fn serve_carrier<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        aggregated: bool,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        let shape = self.carrier.shape(slot.k);
        let mut rbs = shape.n_prb;
        while let Some(block) = self.air.harq.due(slot.k, rbs, |ue| cell.listens(ue, slot.now)) {
            rbs -= block.n_prb;
            self.air.transmit(slot, block, false, cell, exit);
        }
        if rbs > 0
            && !self.air.active.ues().is_empty()
            && let Some(units) = RbUnits::new(rbs, self.carrier.group())
        {
            rbs -= self.serve_new(slot, Free { shape, units, aggregated }, cell, exit);
        }
        SlotUse { capacity: u64::from(shape.n_prb), used: u64::from(shape.n_prb - rbs) }
    }

    /// Sends new data in the blocks that are `free`; returns the number of blocks used.
    fn serve_new<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        free: Free,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u16 {
        let short = self.serve_sole(slot, free, cell, exit);
        if let Some(used) = short.or_else(|| self.serve_light(slot, free, cell, exit)) {
            return used;
        }
        let Self { carrier, scheduler, knowledge, air, demand, allocation, served, .. } = self;
        air.active.sort(cell.roster.as_deref());
        let mut ues = recycle(core::mem::take(&mut demand.ues));
        gather(
            slot,
            free,
            &Gathering { carrier, knowledge: *knowledge, lists_sdus: scheduler.wants_sdus() },
            cell,
            air.active.ues(),
            &mut ues,
            demand,
        );
        let (k, now, units) = (slot.k, slot.now, free.units);
        let shown =
            RbDemand { slot: k, now, units, ues: &ues, drbs: &demand.drbs, sdus: &demand.sdus };
        scheduler.schedule(&shown, allocation);
        served.clear();
        let mut used = 0;
        for (i, ue) in ues.iter().enumerate() {
            let rbs = allocation.grant(i).rbs;
            if rbs == 0 {
                continue;
            }
            let place = cell.place(ue.ue);
            let mut block = air.harq.open(place);
            (block.n_prb, block.mcs) = (rbs, demand.mcs[i]);
            let mut bytes = 0;
            for j in ue.drbs.start as usize..ue.drbs.end as usize {
                let id = BearerId { ue: place, drb: demand.drbs[j].drb };
                bytes += air.pull_block(slot, id, allocation.bytes()[j], &mut block, cell, exit);
            }
            served.push(UeServed { ue: ue.ue, rbs, bytes });
            if bytes == 0 {
                air.harq.close(block);
                continue;
            }
            used += rbs;
            let stale = knowledge.is_stale(cell, place, demand.mcs[i], slot);
            air.transmit(slot, block, stale, cell, exit);
        }
        scheduler.on_served(now, served);
        let left = units.rbs() - allocation.rbs() as u16 - allocation.withheld();
        if cell.wants_reports {
            let full = |i: usize| carrier.full_slot(demand.mcs[i]);
            offer_blocks(cell, &ues, &demand.drbs, allocation, left, full);
        }
        demand.ues = recycle(ues);
        air.active.retain(|ue| cell.ues[ue as usize].wants_to_send());
        used
    }
}

#[cfg(debug_assertions)]
impl Rb {
    /// Asserts that `twin`, the scheduler in its state before the slot, gives each UE the same for
    /// the listed demand as the short path: `given` returns the units and bytes of the UE at an
    /// index.
    fn assert_as_listed(
        &mut self,
        twin: Option<AnyRbScheduler>,
        slot: Slot,
        free: Free,
        cell: &mut Cell,
        given: impl Fn(&Demand, usize) -> (u16, u64),
    ) {
        let Some(mut twin) = twin else { return };
        let Self { carrier, knowledge, air, demand, allocation, .. } = self;
        let mut ues = Vec::new();
        let how = Gathering { carrier, knowledge: *knowledge, lists_sdus: false };
        gather(slot, free, &how, cell, air.active.ues(), &mut ues, demand);
        let (k, now, units) = (slot.k, slot.now, free.units);
        let shown =
            RbDemand { slot: k, now, units, ues: &ues, drbs: &demand.drbs, sdus: &demand.sdus };
        twin.schedule(&shown, allocation);
        let active = air.active.ues().iter().map(|&place| cell.number(place));
        assert!(ues.iter().map(|ue| ue.ue).eq(active), "the UEs of the slot");
        for (i, (grant, &bytes)) in allocation.grants().iter().zip(allocation.bytes()).enumerate() {
            assert_eq!(
                (grant.units, u64::from(bytes)),
                given(demand, i),
                "UE {} in {slot:?}",
                ues[i].ue
            );
        }
    }
}

impl SlotService for Rb {
    fn unit(&self) -> &'static str {
        "resource_blocks"
    }

    fn most_bytes_per_unit(&self) -> u64 {
        self.carrier.most_bytes_per_block()
    }

    #[inline(always)]
    fn join(&mut self, bearer: BearerId) {
        self.air.active.add(bearer.ue);
    }

    fn leave(&mut self, bearer: BearerId, cell: &mut Cell) {
        if !cell.ues[bearer.ue as usize].wants_to_send() {
            self.air.active.retain(|ue| ue != bearer.ue);
        }
    }

    fn suspend(&mut self, ue: u32) {
        self.air.active.retain(|other| other != ue);
    }

    fn sharers(&self) -> usize {
        self.air.active.ues().len()
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        let Some(slot) = self.own_slot(slot) else { return 0 };
        self.carrier.whole_slot(channel, slot.k, slot.now)
    }

    fn full_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        let k = self.scells.as_ref().map_or(slot.k, |scells| slot.k / scells.ticks());
        channel.mcs(k, slot.now).map_or(0, |mcs| self.carrier.full_slot(mcs))
    }

    fn of_scells(&self, ue: u32, slot: Slot) -> (u64, u64) {
        self.scells.as_ref().map_or((0, 0), |scells| scells.add(ue, slot))
    }

    fn carriers(&self) -> Vec<CarrierUse> {
        self.scells.as_ref().map_or_else(Vec::new, |scells| scells.uses())
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        self.air.catch_up(slot.now, cell, exit);
        let slot_use = match self.scells.take() {
            None => self.serve_carrier(slot, false, cell, exit),
            Some(scells) => self.serve_carriers(slot, scells, cell, exit),
        };
        for (slice, rbs) in (0..).map_while(|slice| Some((slice, self.quantum(slice.into())?))) {
            exit.on_event(slot.now, &Event::Quantum { slice, rbs });
        }
        slot_use
    }

    fn in_the_air(&self) -> (u64, u64) {
        self.air.links.in_the_air()
    }

    fn forget(&mut self, ue: u32, cell: &Cell) {
        self.air.active.retain(|other| other != ue);
        self.air.harq.forget(ue, |_| {});
        self.scells.iter_mut().for_each(|scells| scells.forget(ue));
        self.air.links.forget(ue, cell);
    }

    fn in_flight(&mut self) -> Option<&mut InFlight> {
        Some(self.air.links.sdus())
    }

    fn watch(&mut self, bearer: BearerId, cell: &mut Cell) {
        self.air.links.watch(bearer, cell);
    }

    fn quantum(&self, slice: usize) -> Option<f64> {
        self.scheduler.quantum(slice)
    }

    fn report_kind(&self) -> Option<CellKind> {
        Some(self.carrier.report_kind())
    }

    fn weight(&self, slot: Slot) -> Weight {
        let (part, whole) = self.carrier.symbols(self.carrier.shape(slot.k));
        Weight { part: part.into(), whole: whole.into() }
    }

    fn known_mcs(&self, cell: &mut Cell, ue: u32, slot: Slot) -> Option<u8> {
        self.knowledge.mcs(cell, ue, slot)
    }
}

impl Knowledge {
    /// The MCS that the MAC has for `ue` in `slot`.
    fn mcs(self, cell: &mut Cell, ue: u32, slot: Slot) -> Option<u8> {
        if self.lag == 0 {
            return channel_mcs(cell, ue, slot);
        }
        let then = Instant::ZERO
            + slot.now.since(Instant::ZERO).saturating_sub(slot.length.times(self.lag));
        let Cell { ues, reported, per_ue_channels, .. } = cell;
        let own = ues[ue as usize].own.as_mut().filter(|_| *per_ue_channels);
        let own = own.and_then(|own| own.reported.as_mut());
        own.or(reported.as_mut()).and_then(|c| c.next_mcs(slot.k.saturating_sub(self.lag), then))
    }

    /// True if `mcs` is above the channel of `ue` in `slot`.
    fn is_stale(self, cell: &mut Cell, ue: u32, mcs: u8, slot: Slot) -> bool {
        self.lag > 0 && channel_mcs(cell, ue, slot).is_none_or(|bears| bears < mcs)
    }
}

/// The MCS that the channel of `ue` supports in `slot`.
#[inline(always)]
fn channel_mcs(cell: &mut Cell, ue: u32, slot: Slot) -> Option<u8> {
    cell.channel_of(ue).next_mcs(slot.k, slot.now)
}
