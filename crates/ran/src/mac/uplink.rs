//! The uplink of a cell: UEs send requests, reports and data; the base station sends grants.
//!
//! In this stack the data flows from the UEs to the base station: UPF, SDAP and RLC are the UE's
//! queues, and delivery is at the base station. In each slot of the uplink, in this order: HARQ's
//! repeats; configured grants; the scheduler's grants, each of which the UE divides among its
//! logical channels; the scheduling requests of UEs that had no grant.
//!
//! The scheduler decides for a slot with requests and reports that are at least `decoding` + `k2`
//! slots old: a grant is sent k2 slots before its PUSCH. The scheduler subtracts the grants in
//! between.

mod access;
mod granting;
mod levels;
mod prioritisation;
mod sending;
mod settings;

pub use self::levels::Reported;
pub use self::settings::{
    BsrConfig, ConfiguredGrantConfig, LogicalChannelConfig, SrConfig, UPLINK_DOCS, UplinkMacConfig,
};

pub(super) use self::settings::DOC;

use self::access::{Access, News, Report, Times, Trigger};
use self::prioritisation::Channel as LogicalChannel;
use super::active::Active;
use super::links::Links;
use super::{Cell, SlotService, SlotUse, Weight};
use crate::bearer::{BearerId, Egress, Exit, InFlight, Slot};
use crate::carrier::{Carrier, SlotShape};
use crate::channel::Channel;
use crate::config::CellContext;
use crate::harq::Harq;
use crate::rb_demand::{DrbDemand, RbAllocation, RbUnits, UeDemand, UeServed};
use crate::rb_scheduler::{AnyRbScheduler, CheckedRbScheduler, RbScheduler};
use alloc::vec::Vec;
use justfull_base::feedback::CellKind;
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Instant, Probe, Ratio};

/// Counts of the UEs and the scheduler of an uplink so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts {
    /// Scheduling requests sent.
    pub requests: u64,
    /// Grants by the scheduler, and configured grants that were used.
    pub grants: u64,
    /// Bytes of their transport blocks.
    pub granted_bytes: u64,
    /// Bytes of padding in them.
    pub padding_bytes: u64,
    /// Regular buffer status reports sent.
    pub regular_reports: u64,
    /// Periodic buffer status reports sent.
    pub periodic_reports: u64,
    /// Padding buffer status reports sent.
    pub padding_reports: u64,
    /// Transport blocks that were sent again.
    pub repeats: u64,
}

impl core::iter::Sum for AccessCounts {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, one| Self {
            requests: sum.requests + one.requests,
            grants: sum.grants + one.grants,
            granted_bytes: sum.granted_bytes + one.granted_bytes,
            padding_bytes: sum.padding_bytes + one.padding_bytes,
            regular_reports: sum.regular_reports + one.regular_reports,
            periodic_reports: sum.periodic_reports + one.periodic_reports,
            padding_reports: sum.padding_reports + one.padding_reports,
            repeats: sum.repeats + one.repeats,
        })
    }
}

/// A scheduling request of a UE, or a grant to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkAccess {
    /// The slot of the request, or of the PUSCH.
    pub at: Instant,
    /// The UE.
    pub ue: u32,
    /// A grant, not a request.
    pub granted: bool,
}

/// The service of slots of an uplink.
pub struct UplinkMac {
    carrier: Carrier,
    /// Sizes of transport blocks within a UE's power, in rows like the carrier's; empty without a
    /// limit.
    limited: Vec<u32>,
    scheduler: CheckedRbScheduler,
    harq: Harq,
    links: Links,
    config: UplinkMacConfig,
    /// Settings of the logical channels, by bearer.
    channels: Vec<LogicalChannelConfig>,
    /// Bearers in decreasing priority.
    by_priority: Vec<u8>,
    times: Times,
    ues: Vec<Access>,
    active: Active,
    /// Bearers that have got data since the last slot.
    fresh: Vec<BearerId>,
    /// The last slot of the uplink.
    before: Option<u64>,
    /// Reports in transport blocks on the air; a block's tag is the index plus one.
    reports: Vec<Report>,
    free_reports: Vec<u32>,
    counts: AccessCounts,
    /// Requests and grants since the last call; none unless a UE has DRX.
    accesses: Option<Vec<UplinkAccess>>,
    /// Seed of the cell.
    seed: u64,
    scratch: Scratch,
    allocation: RbAllocation,
    served: Vec<UeServed>,
}

/// Buffers of one slot.
#[derive(Default)]
struct Scratch {
    ues: Vec<UeDemand<'static>>,
    drbs: Vec<DrbDemand>,
    sdus: Vec<u32>,
    mcs: Vec<u8>,
    channels: Vec<LogicalChannel>,
    lengths: Vec<u32>,
    grants: Vec<Grant>,
}

/// A grant for new data in a slot.
#[derive(Clone, Copy, Debug)]
struct Grant {
    ue: u32,
    mcs: u8,
    rbs: u16,
    /// Bytes of the transport block.
    bytes: u32,
}

impl UplinkMac {
    /// The service of `cell`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub(super) fn new(
        config: &UplinkMacConfig,
        cell: &CellContext<'_>,
    ) -> Result<Self, ConfigError> {
        let carrier = Carrier::new(&config.mirrored(), config.slot.period)
            .map_err(|e| e.within("mac.carrier"))?;
        let whole = [Ratio(1.0)];
        let shares = if cell.slices.is_empty() { &whole[..] } else { cell.slices };
        let scheduler = AnyRbScheduler::new(&config.scheduler, shares)
            .map_err(|e| e.within("mac.scheduler"))?;
        let drbs = cell.ues.iter().map(|ue| ue.drbs).max().unwrap_or(1);
        let channels: Vec<_> = (0..drbs).map(|drb| config.channel(drb.into())).collect();
        let mut by_priority: Vec<u8> = (0..drbs).collect();
        by_priority.sort_by_key(|&drb| channels[usize::from(drb)].priority);
        Ok(Self {
            limited: carrier.limited(config.most_blocks()),
            carrier,
            scheduler: CheckedRbScheduler::new(scheduler),
            harq: Harq::new(&config.harq, stream_key(cell.seed, "uplink.harq")),
            links: Links::new(config.status_delay),
            config: config.clone(),
            channels,
            by_priority,
            times: Times::of(config),
            ues: Vec::new(),
            active: Active::new(cell.ues.len()),
            fresh: Vec::new(),
            before: None,
            reports: Vec::new(),
            free_reports: Vec::new(),
            counts: AccessCounts::default(),
            accesses: cell.ues.iter().any(|ue| ue.drx.is_some()).then(Vec::new),
            seed: cell.seed,
            scratch: Scratch::default(),
            allocation: RbAllocation::default(),
            served: Vec::new(),
        })
    }

    /// Bytes that 0, 1, 2, ... blocks of a UE carry at `mcs` in a slot of `shape`.
    fn sizes<'a>(carrier: &'a Carrier, limited: &'a [u32], shape: SlotShape, mcs: u8) -> &'a [u32] {
        if limited.is_empty() {
            carrier.sizes(shape, mcs)
        } else {
            carrier.row(limited, shape, mcs)
        }
    }

    /// Triggers reports for bearers that have got data since the last slot (TS 38.321 clause
    /// 5.4.5), if the bearer's group had no data, or the bearer's priority is above the priorities
    /// of all bearers with data.
    fn note_fresh(&mut self, cell: &mut Cell) {
        let Self { fresh, ues, channels, active, .. } = self;
        for id in fresh.drain(..) {
            let (access, bit) = (&mut ues[id.ue as usize], 1 << id.drb);
            if access.holding & bit != 0 || cell.bearer(id).backlog_on_air() == 0 {
                continue;
            }
            let own = &channels[usize::from(id.drb)];
            let mut held =
                (0..).zip(channels.iter()).filter(|(drb, _)| access.holding >> drb & 1 > 0);
            let in_group = held.clone().any(|(_, channel)| channel.group == own.group);
            let first = held.all(|(_, channel)| own.priority < channel.priority);
            if !in_group || first {
                access.trigger = Trigger::Regular;
            }
            access.holding |= bit;
            active.add(id.ue);
        }
    }

    /// `news` of `ue` reach the base station in slot `k`.
    fn send_news(&mut self, k: u64, ue: u32, news: News) {
        let at = k + u64::from(self.config.decoding) + u64::from(self.config.k2);
        self.ues[ue as usize].known.push(at.max(k + 1), news);
        self.active.add(ue);
    }

    /// Sends the requests of UEs that have no grant for their reports.
    fn send_requests(&mut self, slot: Slot, cell: &Cell) {
        for i in 0..self.active.ues().len() {
            let ue = self.active.ues()[i];
            let access = &mut self.ues[ue as usize];
            access.pending |= access.trigger == Trigger::Regular;
            if access.requests(slot.k, self.before, slot.now, &self.times) {
                self.counts.requests += 1;
                self.note(slot.now, cell.number(ue), false);
                self.send_news(slot.k, ue, News::Request);
            }
        }
    }

    /// Notes a request of UE number `ue`, or its grant, at `at`.
    fn note(&mut self, at: Instant, ue: u32, granted: bool) {
        if let Some(accesses) = &mut self.accesses {
            accesses.push(UplinkAccess { at, ue, granted });
        }
    }

    /// Handles expired timers and arrived reports of the RLC before the slot.
    fn catch_up<D: Probe + Egress>(&mut self, slot: Slot, cell: &mut Cell, exit: &mut Exit<'_, D>) {
        let Self { links, fresh, .. } = self;
        links.end_timers(slot.now, cell, exit, |id, _| fresh.push(id));
        links.receive_statuses(slot.now, cell, exit, |id, _| fresh.push(id));
        self.note_fresh(cell);
        let Self { active, ues, .. } = self;
        for &ue in active.ues() {
            let access = &mut ues[ue as usize];
            access.end_timers(slot.now);
            let granted = access.granted;
            access.known.receive(slot.k, granted);
        }
    }
}

impl SlotService for UplinkMac {
    fn unit(&self) -> &'static str {
        "resource_blocks"
    }

    fn most_bytes_per_unit(&self) -> u64 {
        self.carrier.most_bytes_per_block()
    }

    fn join(&mut self, bearer: BearerId) {
        self.fresh.push(bearer);
    }

    fn leave(&mut self, _bearer: BearerId, _cell: &mut Cell) {}

    fn sharers(&self) -> usize {
        self.active.ues().len()
    }

    fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        let shape = self.carrier.shape(slot.k);
        let sizes = |mcs| Self::sizes(&self.carrier, &self.limited, shape, mcs);
        let mcs = channel.mcs(slot.k, slot.now);
        mcs.map_or(0, |mcs| u64::from(sizes(mcs)[usize::from(shape.n_prb)]))
    }

    fn full_slot(&self, channel: &Channel, slot: Slot) -> u64 {
        channel.mcs(slot.k, slot.now).map_or(0, |mcs| self.carrier.full_slot(mcs))
    }

    fn serve<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> SlotUse {
        self.catch_up(slot, cell, exit);
        let shape = self.carrier.shape(slot.k);
        if shape.n_prb == 0 {
            return SlotUse::default();
        }
        let mut rbs = shape.n_prb;
        while let Some(block) = self.harq.due(slot.k, rbs, |_| true) {
            rbs -= block.n_prb;
            self.counts.repeats += 1;
            self.transmit(slot, block, cell, exit);
        }
        let free = SlotShape { n_prb: rbs, ..shape };
        rbs -= self.serve_configured(slot, free, cell, exit);
        if let Some(units) = RbUnits::new(rbs, self.carrier.group()).filter(|_| rbs > 0) {
            rbs -= self.serve_granted(slot, shape, units, cell, exit);
        }
        self.send_requests(slot, cell);
        let Self { active, ues, .. } = self;
        active.retain(|ue| ues[ue as usize].is_active());
        self.before = Some(slot.k);
        SlotUse { capacity: u64::from(shape.n_prb), used: u64::from(shape.n_prb - rbs) }
    }

    fn in_the_air(&self) -> (u64, u64) {
        self.links.in_the_air()
    }

    fn enter(&mut self, place: u32, number: u32, drbs: u8) {
        let access = Access::new(number, drbs, &self.config, self.seed);
        match self.ues.get_mut(place as usize) {
            Some(vacant) => *vacant = access,
            None => self.ues.push(access),
        }
    }

    fn forget(&mut self, ue: u32, cell: &Cell) {
        let Self { active, fresh, harq, free_reports, links, ues, .. } = self;
        active.retain(|other| other != ue);
        fresh.retain(|id| id.ue != ue);
        harq.forget(ue, |tag| free_reports.extend(tag.checked_sub(1)));
        links.forget(ue, cell);
        ues[ue as usize].leave();
    }

    fn in_flight(&mut self) -> Option<&mut InFlight> {
        Some(self.links.sdus())
    }

    fn watch(&mut self, bearer: BearerId, cell: &mut Cell) {
        self.links.watch(bearer, cell);
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

    fn accesses(&mut self) -> Option<&mut Vec<UplinkAccess>> {
        self.accesses.as_mut()
    }

    fn access_counts(&self) -> Option<AccessCounts> {
        Some(self.counts)
    }

    fn reported(&self, ue: u32) -> Option<Reported> {
        Some(self.ues[ue as usize].known.reported)
    }
}
