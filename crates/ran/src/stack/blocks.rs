//! One slot of a MAC that deals in resource blocks: retransmissions first, then new data as the scheduler says; what is decoded goes
//! through the receiver's RLC and PDCP to the driver.
//!
//! Everything at the UE happens at the slot of the transmission it follows from; the driver adds the way through the air. A
//! timer of RLC or PDCP ends at the first slot not before it.

use super::slot::{Exit, Offer};
use super::*;
use crate::carrier::{Carrier, SlotShape};
use crate::harq::{Block, Harq, Outcome};
use crate::in_flight::InFlight;
use crate::rb_demand::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand, UeServed};
use crate::rb_scheduler::{AnyRbScheduler, CheckedRbScheduler, RbScheduler};
use crate::rlc::{SduHandle, StatusPdu, TbContent};
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use justfull_base::Ratio;

mod sole;

/// What a cell has that deals in resource blocks.
pub(super) struct Blocks {
    carrier: Carrier,
    scheduler: CheckedRbScheduler,
    /// Slots by which the MAC's knowledge of the channel is old.
    lag: u64,
    air: Air,
    /// Buffers of one slot.
    demand: Demand,
    allocation: RbAllocation,
    served: Vec<UeServed>,
}

/// What is under way, and who has something to send.
struct Air {
    harq: Harq,
    sdus: InFlight,
    status_delay: Duration,
    /// UEs with something to send, sorted at each slot.
    active: Vec<u32>,
    /// Reports on their way to the sender, in order of arrival.
    statuses: VecDeque<(Instant, Bearer, StatusPdu)>,
    timers: BinaryHeap<Reverse<(Instant, u32, u8)>>,
}

/// What waits for a slot; the UEs' part borrows from the carrier and is kept empty in between.
#[derive(Default)]
struct Demand {
    ues: Vec<UeDemand<'static>>,
    drbs: Vec<DrbDemand>,
    sdus: Vec<u32>,
    /// MCS of each UE.
    mcs: Vec<u8>,
}

/// The slot that is served.
#[derive(Clone, Copy)]
struct Slot {
    k: u64,
    shape: SlotShape,
    units: RbUnits,
    lag: u64,
    /// The scheduler wants to be shown SDUs.
    lists_sdus: bool,
}

/// An empty vector in the memory of `vec`, for elements that borrow something else: collecting in place keeps the allocation.
fn recycle<'b>(mut vec: Vec<UeDemand<'_>>) -> Vec<UeDemand<'b>> {
    vec.clear();
    vec.into_iter().map(|_| UeDemand { ue: 0, slice: 0, tbs: &[], drbs: 0..0 }).collect()
}

impl Blocks {
    /// The resource-block part of `config`'s cell; none without a carrier.
    pub(super) fn new(config: &StackConfig) -> Result<Option<Box<Self>>, ConfigError> {
        let Some(carrier) = &config.mac.carrier else { return Ok(None) };
        let carrier = Carrier::new(carrier, config.mac.slot.period).map_err(|e| e.within("mac.carrier"))?;
        let whole = [Ratio(1.0)];
        let shares = if config.slices.is_empty() { &whole[..] } else { &config.slices };
        let scheduler =
            AnyRbScheduler::new(&config.mac.scheduler, shares).map_err(|e| e.within("mac.scheduler"))?;
        Ok(Some(Box::new(Self {
            carrier,
            scheduler: CheckedRbScheduler::new(scheduler),
            lag: u64::from(config.mac.cqi_delay),
            air: Air {
                harq: Harq::new(&config.mac.harq, stream_key(config.seed, "mac.harq")),
                sdus: InFlight::default(),
                status_delay: config.mac.status_delay,
                active: Vec::new(),
                statuses: VecDeque::new(),
                timers: BinaryHeap::new(),
            },
            demand: Demand::default(),
            allocation: RbAllocation::default(),
            served: Vec::new(),
        })))
    }

    /// `ue` has something to send, and had nothing before.
    pub(super) fn join(&mut self, ue: u32, listed: &mut bool) {
        if !*listed {
            *listed = true;
            self.air.active.push(ue);
        }
    }

    /// UEs with something to send.
    pub(super) const fn busy_ues(&self) -> usize {
        self.air.active.len()
    }

    /// Packets that have left the RLC's queue and are neither delivered nor lost, and packets that were lost so.
    pub(super) const fn in_the_air(&self) -> (u64, u64) {
        (self.air.sdus.flying(), self.air.sdus.lost())
    }

    /// Resource blocks that slice `slice` has lent (positive) or borrowed (negative).
    pub(super) fn quantum(&self, slice: usize) -> Option<f64> {
        self.scheduler.quantum(slice)
    }

    /// Most bytes that a resource block carries in a block of any size, rounded up.
    pub(super) fn most_bytes_per_block(&self) -> u64 {
        self.carrier.most_bytes_per_block()
    }

    /// Bytes of a block over all of a slot of `shape` at `mcs`.
    pub(super) fn most(&self, k: u64, mcs: Option<u8>) -> u64 {
        let shape = self.carrier.shape(k);
        mcs.map_or(0, |mcs| u64::from(self.carrier.sizes(shape, mcs)[usize::from(shape.n_prb)]))
    }
}

impl Stack {
    /// Slot `k`, pulled at `now`: what it offered and what was used, in resource blocks.
    pub(super) fn serve_blocks<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        driver: &mut D,
    ) -> (u64, u64) {
        let Some(mut mac) = self.blocks.take() else { return (0, 0) };
        self.end_timers(now, &mut mac.air, driver);
        self.hear_statuses(now, &mut mac.air, driver);
        let shape = mac.carrier.shape(k);
        let mut free = shape.n_prb;
        while let Some(block) = mac.air.harq.due(k, free) {
            free -= block.n_prb;
            self.transmit(now, k, block, false, &mut mac.air, driver);
        }
        if free > 0 && !mac.air.active.is_empty() {
            free -= self.serve_new(now, k, shape, free, &mut mac, driver);
        }
        for (slice, rbs) in (0..).map_while(|slice| Some((slice, mac.quantum(slice.into())?))) {
            driver.on_event(now, &Event::Quantum { slice, rbs });
        }
        self.blocks = Some(mac);
        (u64::from(shape.n_prb), u64::from(shape.n_prb - free))
    }

    /// New data in `free` resource blocks; answers how many of them were used.
    fn serve_new<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        shape: SlotShape,
        free: u16,
        mac: &mut Blocks,
        driver: &mut D,
    ) -> u16 {
        let Some(units) = RbUnits::new(free, mac.carrier.group()) else { return 0 };
        if let Some(used) = self.serve_sole(now, k, shape, units, mac, driver) {
            return used;
        }
        let Blocks { carrier, scheduler, lag, air, demand, allocation, served } = mac;
        air.active.sort_unstable();
        let mut ues = recycle(core::mem::take(&mut demand.ues));
        let slot = Slot { k, shape, units, lag: *lag, lists_sdus: scheduler.wants_sdus() };
        self.gather(now, slot, carrier, &air.active, &mut ues, demand);
        let shown = RbDemand { slot: k, now, units, ues: &ues, drbs: &demand.drbs, sdus: &demand.sdus };
        scheduler.schedule(&shown, allocation);
        served.clear();
        let mut used = 0;
        for (i, ue) in ues.iter().enumerate() {
            let rbs = allocation.grant(i).rbs;
            if rbs == 0 {
                continue;
            }
            let mut block = air.harq.open(ue.ue);
            block.n_prb = rbs;
            let mut bytes = 0;
            for j in ue.drbs.start as usize..ue.drbs.end as usize {
                let bearer = Bearer { ue: ue.ue, drb: demand.drbs[j].drb };
                bytes += self.pull_block(now, k, bearer, allocation.bytes()[j], &mut block, air, driver);
            }
            served.push(UeServed { ue: ue.ue, rbs, bytes });
            if bytes == 0 {
                air.harq.close(block);
                continue;
            }
            used += rbs;
            let stale = *lag > 0 && self.channel_mcs(ue.ue, k, now).is_none_or(|bears| bears < demand.mcs[i]);
            self.transmit(now, k, block, stale, air, driver);
        }
        scheduler.on_served(now, served);
        let left = units.rbs() - allocation.rbs() as u16 - allocation.withheld();
        self.settle_blocks(now, k, &ues, demand, (allocation, left), air);
        demand.ues = recycle(ues);
        used
    }

    /// Lists what waits: the UEs that the slot can carry anything to, their bearers, and the first SDUs of these.
    fn gather<'a>(
        &mut self,
        now: Instant,
        slot: Slot,
        carrier: &'a Carrier,
        active: &[u32],
        ues: &mut Vec<UeDemand<'a>>,
        demand: &mut Demand,
    ) {
        demand.drbs.clear();
        demand.sdus.clear();
        demand.mcs.clear();
        let cells = active.first().filter(|_| !self.per_ue_channels).copied();
        let cells = cells.map(|any| self.known_mcs(any, slot.k, now, slot.lag));
        for &index in active {
            let mcs = cells.unwrap_or_else(|| self.known_mcs(index, slot.k, now, slot.lag));
            let Some(mcs) = mcs else { continue };
            let tbs = &carrier.sizes(slot.shape, mcs)[..=usize::from(slot.shape.n_prb)];
            let most = tbs[usize::from(slot.units.rbs())];
            let first = demand.drbs.len() as u32;
            let ue = &self.ues[index as usize];
            for (drb, rlc) in ue.rlc.iter().enumerate() {
                let from = demand.sdus.len() as u32;
                let backlog = if slot.lists_sdus || !rlc.queue().is_fifo() {
                    rlc.list_sdus(most, &mut demand.sdus)
                } else {
                    rlc.backlog_on_air()
                };
                if backlog > 0 {
                    let sdus = from..demand.sdus.len() as u32;
                    let head_of_line = rlc.head_age(now);
                    demand.drbs.push(DrbDemand { drb: drb as u8, sdus, backlog, head_of_line });
                }
            }
            let drbs = first..demand.drbs.len() as u32;
            if most > 0 && !drbs.is_empty() {
                ues.push(UeDemand { ue: index, slice: ue.slice, tbs, drbs });
                demand.mcs.push(mcs);
            } else {
                demand.drbs.truncate(first as usize);
            }
        }
    }

    /// Fills `block` with up to `grant` bytes of `bearer`; answers how many, headers included.
    #[allow(clippy::too_many_arguments)]
    fn pull_block<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        bearer: Bearer,
        grant: u32,
        block: &mut Block,
        air: &mut Air,
        driver: &mut D,
    ) -> u32 {
        if grant == 0 {
            return 0;
        }
        let rlc = &mut self.ues[bearer.ue as usize].rlc[bearer.drb as usize];
        let before = rlc.view();
        let took = rlc.pull_block(now, grant, &mut air.sdus, block.add(bearer.drb), driver);
        let after = rlc.view();
        self.backlog.change(&before, &after);
        if self.limiters_listen {
            rlc.add_used(k, before.bytes - after.bytes);
        }
        // Of the sender's timers only acknowledged mode has one.
        if rlc.link.as_ref().is_some_and(|link| link.is_acknowledged()) {
            self.arm_timer(bearer, air);
        }
        took
    }

    /// `block` goes on the air in slot `k`; `stale` when its MCS is above what the channel bears.
    fn transmit<D: Probe + Egress>(
        &mut self,
        now: Instant,
        k: u64,
        mut block: Block,
        stale: bool,
        air: &mut Air,
        driver: &mut D,
    ) {
        match air.harq.transmit(k, &mut block, stale) {
            Outcome::Again => return air.harq.keep(k, block),
            Outcome::Decoded => {
                for (drb, content) in block.contents() {
                    self.receive(now, Bearer { ue: block.ue, drb: *drb }, content, air, driver);
                }
            }
            Outcome::Lost => {
                for (drb, content) in block.contents() {
                    self.lose(now, Bearer { ue: block.ue, drb: *drb }, content, air, driver);
                }
            }
        }
        air.harq.close(block);
    }

    /// The UE has decoded `content`.
    fn receive<D: Probe + Egress>(
        &mut self,
        now: Instant,
        bearer: Bearer,
        content: &TbContent,
        air: &mut Air,
        driver: &mut D,
    ) {
        let (link, mut exit) = self.link(bearer);
        let mut up = Upward { now, sdus: &mut air.sdus, exit: &mut exit, driver };
        link.receive(now, content, &mut up);
        if let Some(status) = link.status(now) {
            air.statuses.push_back((now + air.status_delay, bearer, status));
        }
        self.arm_timer(bearer, air);
    }

    /// `content` is lost for good. RLC AM sends it again when a status report says so; in other modes its SDUs are lost.
    fn lose<D: Probe + Egress>(
        &mut self,
        now: Instant,
        bearer: Bearer,
        content: &TbContent,
        air: &mut Air,
        driver: &mut D,
    ) {
        let (link, mut exit) = self.link(bearer);
        if link.is_acknowledged() {
            return;
        }
        let mut up = Upward { now, sdus: &mut air.sdus, exit: &mut exit, driver };
        for part in &content.parts {
            up.lose(part.sdu, DropReason::Harq);
        }
    }

    /// The RLC and PDCP entities of `bearer`, and the way out of the receiver.
    fn link(&mut self, bearer: Bearer) -> (&mut Link, Exit<'_>) {
        let (rlc, exit) = self.bearer(bearer);
        (rlc.link.as_mut().expect("a bearer of a cell with a carrier has a link"), exit)
    }

    /// Status reports that have reached the sender by `now`.
    fn hear_statuses<D: Probe + Egress>(&mut self, now: Instant, air: &mut Air, driver: &mut D) {
        while air.statuses.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, bearer, status)) = air.statuses.pop_front() else { break };
            let (link, mut exit) = self.link(bearer);
            let mut up = Upward { now, sdus: &mut air.sdus, exit: &mut exit, driver };
            link.on_status(now, &status, &mut up);
            self.list_active(bearer.ue, air);
            self.arm_timer(bearer, air);
        }
    }

    /// Timers of RLC and PDCP that have ended by `now`.
    fn end_timers<D: Probe + Egress>(&mut self, now: Instant, air: &mut Air, driver: &mut D) {
        while let Some(&Reverse((at, ue, drb))) = air.timers.peek()
            && at <= now
        {
            air.timers.pop();
            let bearer = Bearer { ue, drb };
            let more = !self.ues[ue as usize].rlc[drb as usize].queue().is_empty();
            let (link, mut exit) = self.link(bearer);
            link.armed = Instant::NEVER;
            let mut up = Upward { now, sdus: &mut air.sdus, exit: &mut exit, driver };
            link.on_timeout(now, more, &mut up);
            if let Some(status) = link.status(now) {
                air.statuses.push_back((now + air.status_delay, bearer, status));
            }
            self.list_active(ue, air);
            self.arm_timer(bearer, air);
        }
    }

    /// Puts the next end of a timer of `bearer` in the queue, if it is before what is there.
    fn arm_timer(&mut self, bearer: Bearer, air: &mut Air) {
        let (link, _) = self.link(bearer);
        let next = link.next_timeout();
        if next < link.armed {
            link.armed = next;
            air.timers.push(Reverse((next, bearer.ue, bearer.drb)));
        }
    }

    /// `ue` may have something to send again.
    fn list_active(&mut self, ue: u32, air: &mut Air) {
        let entry = &mut self.ues[ue as usize];
        if !entry.block_listed && entry.rlc.iter().any(RlcEntity::wants_to_send) {
            entry.block_listed = true;
            air.active.push(ue);
        }
    }

    /// After the slot: tells the limiters, and lets UEs go that have nothing more. `left` is what nobody used.
    fn settle_blocks(
        &mut self,
        now: Instant,
        k: u64,
        ues: &[UeDemand],
        demand: &Demand,
        (allocation, left): (&RbAllocation, u16),
        air: &mut Air,
    ) {
        let sharers = demand.drbs.len() as u64;
        if self.limiters_listen {
            for (ue, i) in ues.iter().zip(0..) {
                let grant = allocation.grant(i);
                let capacity = u64::from(ue.tbs[ue.tbs.len() - 1]);
                for drb in &demand.drbs[ue.drbs.start as usize..ue.drbs.end as usize] {
                    let bearer = Bearer { ue: ue.ue, drb: drb.drb };
                    let most = u64::from(ue.tbs[usize::from(grant.rbs + left)]);
                    let sent = u64::from(ue.tbs[usize::from(grant.rbs)]);
                    // At I_TBS 6 two blocks of LTE carry less than one (TS 36.213 Table 7.1.7.2.1-1).
                    let left = most.saturating_sub(sent) / sharers;
                    self.report(now, k, bearer, Offer { capacity, left });
                }
            }
        }
        let stack = &mut self.ues;
        air.active.retain(|&ue| {
            let ue = &mut stack[ue as usize];
            ue.block_listed = ue.rlc.iter().any(RlcEntity::wants_to_send);
            ue.block_listed
        });
    }

    /// The MCS that `ue`'s channel bears in slot `k`.
    fn channel_mcs(&mut self, ue: u32, k: u64, now: Instant) -> Option<u8> {
        self.ues[ue as usize].channel.as_deref_mut().unwrap_or(&mut self.channel).next_mcs(k, now)
    }

    /// The MCS that the MAC knows for `ue` in slot `k`: that of `lag` slots before.
    fn known_mcs(&mut self, ue: u32, k: u64, now: Instant, lag: u64) -> Option<u8> {
        let Ue { channel, reported, .. } = &mut self.ues[ue as usize];
        if lag == 0 {
            return channel.as_deref_mut().unwrap_or(&mut self.channel).next_mcs(k, now);
        }
        let then = Instant::ZERO + now.since(Instant::ZERO).saturating_sub(self.slot.times(lag));
        reported
            .as_deref_mut()
            .or(self.reported.as_mut())
            .and_then(|c| c.next_mcs(k.saturating_sub(lag), then))
    }
}

/// The way up at the UE: what RLC and PDCP do with an SDU.
pub(crate) struct Upward<'a, 'b, D> {
    now: Instant,
    sdus: &'a mut InFlight,
    exit: &'a mut Exit<'b>,
    driver: &'a mut D,
}

impl<D: Probe + Egress> Upward<'_, '_, D> {
    /// PDCP's SN of `sdu`; none when it is gone.
    pub(crate) fn pdcp_sn(&mut self, sdu: SduHandle) -> Option<u32> {
        self.sdus.pdcp_sn(sdu)
    }

    /// PDCP gives `sdu` to the layers above.
    pub(crate) fn deliver(&mut self, sdu: SduHandle) {
        if let Some((packet, left)) = self.sdus.close(sdu) {
            self.exit.deliver_from_air(self.now, left, &packet, self.driver);
        }
    }

    /// `sdu` will never be whole.
    pub(crate) fn lose(&mut self, sdu: SduHandle, reason: DropReason) {
        // What has not left whole yet is told when its last byte has.
        if let Some(packet) = self.sdus.lose(sdu) {
            self.driver.on_event(self.now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
        }
    }
}
