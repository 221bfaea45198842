//! The chain itself: the only place that calls across layers.
//!
//! The life of a packet: [`Stack::input`] stamps it and gives it the QFI that its flow was detected for; the UPF holds it
//! until its opportunity and until SDAP wants it (pacer); SDAP holds it in its QFI's queue until a poll at which its
//! bearer takes it (limiter) and its turn has come (scheduler); the RLC holds it until a slot's grant has taken its
//! last byte; [`Egress::deliver`] hands it to the driver. A drop in any queue is an event with a reason.
//!
//! Polls at which nothing waits are skipped: a layer's poll is armed when a packet enters it. Events at one instant are
//! ordered by [`TieOrder`], then by insertion.

use crate::channel::{CapacityUnit, Channel};
use crate::config::{StackConfig, TieOrder};
use crate::few::Few;
use crate::limiter::{Limiter, LimiterContext, RlcView};
use crate::link::Link;
use crate::mac::{Bearer, LastSlot, SlotBudget, Turns};
use crate::pacer::{Pacer, PacerContext, SdapPoll};
use crate::poll::Poll;
use crate::rlc::RlcEntity;
use crate::sdap::UeSdap;
use crate::upf::{FiveTuple, PacketDetectionRule, UeUpf, detect};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use blocks::Blocks;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{
    ConfigError, DropReason, Dscp, Duration, Event, Instant, Layer, Packet, Probe, SlotReport,
};

mod blocks;
mod build;
mod counts;
mod forecast;
mod slot;

pub(crate) use blocks::Upward;
pub(crate) use build::collect_exactly;
pub use counts::Conserved;

/// Where packets go when the radio has taken their last byte.
pub trait Egress {
    /// `packet` left the sender's RLC whole at `now`. `bound` is the earliest instant at which any policy could have
    /// delivered it, told for tracked packets.
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>);

    /// The same where the MAC deals in resource blocks: `packet` left the sender's RLC whole at `left`, and at `now` the UE has it
    /// whole and in order, after HARQ's rounds and the waits of RLC and PDCP. The air's own delay is the driver's.
    fn deliver_from_air(&mut self, now: Instant, left: Instant, packet: &Packet, bound: Option<Instant>) {
        let _ = left;
        self.deliver(now, packet, bound);
    }
}

/// A flow that was opened on the stack.
#[derive(Clone, Copy, Debug)]
struct Flow {
    ue: u32,
    hash: u32,
    /// Index of the QoS flow among the UE's; none when no rule matched.
    qos: Option<u8>,
    /// Its QFI, where it has one.
    qfi: justfull_base::Qfi,
}

/// One UE's part of the chain.
struct Ue {
    sdap: UeSdap,
    rlc: Few<RlcEntity>,
    /// QFIs of its QoS flows and its rules; UEs that have the same share them.
    qfis: Arc<[justfull_base::Qfi]>,
    rules: Arc<[PacketDetectionRule]>,
    channel: Option<Box<Channel>>,
    /// Its channel as the MAC knows it, where that is older than the slot.
    reported: Option<Box<Channel>>,
    slice: u16,
    /// The UE is in the list of UEs that resource blocks are given to.
    block_listed: bool,
    /// The UE is in the list of UEs with packets in SDAP.
    sdap_listed: bool,
}

/// The downlink chain of one cell.
pub struct Stack {
    ues: Vec<Ue>,
    /// The UEs' queues in the UPF; none at all where packets pass through it.
    upfs: Vec<UeUpf>,
    flows: Vec<Flow>,
    upf_poll: Poll,
    sdap_poll: Poll,
    mac_poll: Poll,
    upf_batch: u32,
    sdap_batch: u32,
    upf_busy: Vec<u32>,
    sdap_busy: Vec<u32>,
    turns: Turns,
    channel: Channel,
    /// The cell's channel as the MAC knows it, where that is older than the slot.
    reported: Option<Channel>,
    blocks: Option<Box<Blocks>>,
    per_ue_channels: bool,
    unit: CapacityUnit,
    slot: Duration,
    overhead: u64,
    /// Largest packet in bytes.
    mtu: u32,
    last_slot: LastSlot,
    /// RLC backlog of the cell.
    backlog: RlcView,
    top_down: bool,
    unpaced: bool,
    hash_key: u64,
    assert_bound: bool,
    limiters_listen: bool,
    clairvoyant: Option<LimiterContext>,
    /// The UPF's queues have an AQM, and packets pass through the UPF.
    upf_aqm_idles: bool,
    /// How often a limiter refused a packet.
    held: u64,
    /// Opportunities of the UPF at which a pacer left packets there.
    paced: u64,
    next_id: u64,
    delivered: u64,
    unmatched: u64,
}

impl Stack {
    /// Opens a flow of `ue`, whose packets have one 5-tuple and one DSCP, and returns its number, which each of them carries. The
    /// rules of the UE give it its QFI once.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell.
    pub fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> u32 {
        self.flows.push(self.flow(ue, tuple, dscp));
        (self.flows.len() - 1) as u32
    }

    /// As [`Stack::open_flow`], under the number of a flow that is over: whoever listens must know that it is, and that none of its
    /// packets is in the stack.
    ///
    /// # Panics
    /// When `ue` is not a UE of the cell, or `number` not a flow.
    pub fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        self.flows[number as usize] = self.flow(ue, tuple, dscp);
    }

    fn flow(&self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> Flow {
        let Ue { rules, qfis, .. } = &self.ues[ue as usize];
        let qfi = detect(rules, tuple, dscp);
        let qos = qfi.and_then(|qfi| qfis.iter().position(|q| *q == qfi)).map(|i| i as u8);
        Flow { ue, hash: tuple.hash(self.hash_key), qos, qfi: qfi.unwrap_or_default() }
    }

    /// Unit of grants.
    #[must_use]
    pub fn unit(&self) -> CapacityUnit {
        self.unit
    }

    /// What [`Event::Slot`] counts: `packets`, `bytes` or `resource_blocks`.
    #[must_use]
    pub fn slot_unit(&self) -> &'static str {
        if self.blocks.is_some() { "resource_blocks" } else { self.unit.name() }
    }

    /// A packet arrives from the data network at `now`. Its flow, size, ECN bits, protocol, payload handle and tracked flag
    /// are the driver's; the rest is set here.
    pub fn input<D: Probe + Egress>(&mut self, now: Instant, mut packet: Packet, driver: &mut D) {
        self.advance(now, !self.top_down, driver);
        let flow = self.flows[packet.flow as usize];
        packet.id = self.next_id;
        self.next_id += 1;
        packet.entered = now;
        packet.enqueued = now;
        packet.ue = flow.ue;
        packet.flow_hash = flow.hash;
        let Some(qos) = flow.qos else {
            self.unmatched += 1;
            driver.on_event(now, &Event::Dropped { layer: Layer::Upf, packet, reason: DropReason::NoRule });
            return;
        };
        packet.qfi = flow.qfi;
        if self.upfs.is_empty() {
            self.enter_sdap(now, flow.ue, qos as usize, &packet, driver);
            return;
        }
        let upf = &mut self.upfs[flow.ue as usize];
        if upf.queues[qos as usize].queue.enqueue(now, packet, driver) && !upf.listed {
            upf.listed = true;
            self.upf_busy.push(flow.ue);
        }
        // Polled: a UPF that is not is unpaced (`check_polls`), and so passed through.
        if !self.upf_busy.is_empty() {
            self.upf_poll.arm(now, !self.top_down);
        }
    }

    /// Does all that is due up to `now`. An early wake does nothing; a late one catches up tick by tick.
    pub fn wake<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        self.advance(now, true, driver);
    }

    /// Does all that is due at `now` and goes on, instant by instant, with what is due before `limit`, until it has delivered
    /// something. Answers the last instant at which it did something, and at how many. For drivers that know that nothing
    /// will arrive before `limit` unless something is delivered.
    pub fn wake_before<D: Probe + Egress>(
        &mut self,
        now: Instant,
        limit: Instant,
        driver: &mut D,
    ) -> (Instant, u64) {
        let delivered = self.delivered;
        let (mut last, mut instants) = (now, 1);
        self.advance(now, true, driver);
        while self.delivered == delivered {
            let due = self.next_wake();
            if due >= limit {
                break;
            }
            self.advance(due, true, driver);
            last = due;
            instants += 1;
        }
        (last, instants)
    }

    /// When the stack has something to do next: the slots never end, so there is always an instant.
    #[must_use]
    #[inline]
    pub fn next_wake(&self) -> Instant {
        self.upf_poll.due().min(self.sdap_poll.due()).min(self.mac_poll.due())
    }

    /// When the MAC serves a slot next.
    #[must_use]
    pub fn next_slot(&self) -> Instant {
        self.mac_poll.due()
    }

    /// The earliest instant at which a packet that arrives at `entered` could be delivered whole by any policy: the first
    /// slot after the first SDAP poll after the first opportunity of the UPF, with no queue anywhere.
    #[must_use]
    pub fn bound(&self, entered: Instant) -> Instant {
        bound([&self.upf_poll, &self.sdap_poll, &self.mac_poll], !self.top_down, entered)
    }

    /// Resource blocks that slice `slice` has lent (positive) or borrowed (negative) until now; none where nothing is lent.
    #[must_use]
    pub fn quantum(&self, slice: usize) -> Option<f64> {
        self.blocks.as_ref()?.quantum(slice)
    }

    /// Runs the ticks before `now`, and those at `now` when `inclusive`, in order of time and stage.
    #[inline(always)]
    fn advance<D: Probe + Egress>(&mut self, now: Instant, inclusive: bool, driver: &mut D) {
        loop {
            let due = self.next_wake();
            if due > now || (due == now && !inclusive) {
                return;
            }
            // At one instant: top-down UPF, SDAP, MAC; bottom-up the reverse.
            let (upf, sdap, mac) =
                (self.upf_poll.due() == due, self.sdap_poll.due() == due, self.mac_poll.due() == due);
            if self.top_down {
                match (upf, sdap) {
                    (true, _) => self.upf_tick(driver),
                    (false, true) => self.sdap_tick(driver),
                    (false, false) => self.slot_tick(driver),
                }
            } else {
                match (mac, sdap) {
                    (true, _) => self.slot_tick(driver),
                    (false, true) => self.sdap_tick(driver),
                    (false, false) => self.upf_tick(driver),
                }
            }
        }
    }

    fn upf_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let Some((_, now)) = self.upf_poll.take() else { return };
        for i in 0..self.upf_busy.len() {
            self.serve_upf(now, self.upf_busy[i], driver);
        }
        let upfs = &mut self.upfs;
        self.upf_busy.retain(|&ue| {
            let upf = &mut upfs[ue as usize];
            upf.listed = upf.is_busy();
            upf.listed
        });
        if !self.upf_busy.is_empty() {
            self.upf_poll.arm(now, false);
        }
    }

    /// One opportunity of the UPF for one UE.
    fn serve_upf<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        let need = if self.clairvoyant.is_some() { self.clairvoyant_need(now) } else { 0 };
        let (upf, sdap) = (&mut self.upfs[ue_index as usize], &mut self.ues[ue_index as usize].sdap);
        for i in 0..upf.queues.len() {
            let backlog = sdap.backlog(i);
            let pacer = &mut sdap.queues[i].pacer;
            if pacer.wants_forecast() {
                pacer.on_need(need);
            }
            upf.queues[i].allowance = pacer.occupancy(now).saturating_sub(backlog);
        }
        for _ in 0..self.upf_batch {
            let upf = &mut self.upfs[ue_index as usize];
            let Some(i) = upf.next_in_turn() else {
                self.paced += u64::from(!self.unpaced && upf.is_busy());
                break;
            };
            let Some(packet) = upf.queues[i].queue.dequeue(now, driver) else { continue };
            let amount = self.unit.amount(&packet);
            upf.queues[i].allowance = upf.queues[i].allowance.saturating_sub(amount);
            self.enter_sdap(now, ue_index, i, &packet, driver);
        }
    }

    #[inline]
    fn enter_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        qos: usize,
        packet: &Packet,
        driver: &mut D,
    ) {
        if self.sdap_poll.is_event_driven() && self.pass_sdap(now, ue_index, packet, driver) {
            return;
        }
        let ue = &mut self.ues[ue_index as usize];
        let queue = &mut ue.sdap.queues[qos];
        if queue.queue.enqueue(now, *packet, driver) {
            if !self.unpaced {
                queue.pacer.on_enqueued(self.unit.amount(packet));
            }
            if !ue.sdap_listed {
                ue.sdap_listed = true;
                self.sdap_busy.push(ue_index);
            }
        }
        if self.sdap_poll.is_event_driven() {
            self.serve_sdap(now, ue_index, driver);
            self.unlist_idle_sdap();
        } else if !self.sdap_busy.is_empty() {
            self.sdap_poll.arm(now, !self.top_down);
        }
    }

    fn sdap_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let Some((_, now)) = self.sdap_poll.take() else { return };
        self.serve_busy_sdap(now, driver);
        if !self.sdap_busy.is_empty() {
            self.sdap_poll.arm(now, false);
        }
    }

    /// One poll of each UE that has packets in SDAP; those that have none left leave the list.
    #[inline]
    fn serve_busy_sdap<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        let mut busy = core::mem::take(&mut self.sdap_busy);
        busy.retain(|&ue_index| {
            self.serve_sdap(now, ue_index, driver);
            let ue = &mut self.ues[ue_index as usize];
            ue.sdap_listed = ue.sdap.is_busy();
            ue.sdap_listed
        });
        self.sdap_busy = busy;
    }

    #[inline]
    fn unlist_idle_sdap(&mut self) {
        let ues = &mut self.ues;
        self.sdap_busy.retain(|&ue| {
            let ue = &mut ues[ue as usize];
            ue.sdap_listed = ue.sdap.is_busy();
            ue.sdap_listed
        });
    }

    /// One poll of one UE's SDAP.
    fn serve_sdap<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        if self.limiters_listen {
            self.prepare_limiters(now, ue_index);
        }
        let ue = &mut self.ues[ue_index as usize];
        match (&ue.sdap.queues, &ue.rlc) {
            (Few::One(_), Few::One(rlc)) if self.unpaced && rlc.limiter.is_unlimited() => {
                self.forward(now, ue_index, driver)
            }
            _ => self.schedule(now, ue_index, driver),
        }
    }

    /// A poll of a UE with one QoS flow, no pacer and a bearer that takes everything: nothing to choose and nobody to ask.
    #[inline]
    fn forward<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        let Ue { sdap: UeSdap { queues, .. }, rlc, .. } = &mut self.ues[ue_index as usize];
        let (Few::One(queue), Few::One(rlc)) = (queues, rlc) else { return };
        let before = rlc.view();
        rlc.take_from(&mut queue.queue, now, self.sdap_batch, driver);
        self.settle_entries(Bearer { ue: ue_index, drb: 0 }, before);
    }

    /// `packet` goes through an SDAP that is not polled and has nothing to choose and nobody to ask; false where it must wait.
    #[inline]
    fn pass_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        packet: &Packet,
        driver: &mut D,
    ) -> bool {
        let Ue { sdap: UeSdap { queues, .. }, rlc, .. } = &mut self.ues[ue_index as usize];
        let (Few::One(queue), Few::One(rlc)) = (queues, rlc) else { return false };
        if !self.unpaced || !rlc.limiter.is_unlimited() {
            return false;
        }
        let before = rlc.view();
        let passes = rlc.take_through(&mut queue.queue, now, packet, driver);
        if passes {
            self.settle_entries(Bearer { ue: ue_index, drb: 0 }, before);
        }
        passes
    }

    /// After packets have entered the RLC of `bearer`, which held `before`: the cell's backlog, and that it takes turns.
    #[inline]
    fn settle_entries(&mut self, bearer: Bearer, before: RlcView) {
        let Ue { rlc, block_listed, .. } = &mut self.ues[bearer.ue as usize];
        let after = rlc[bearer.drb as usize].view();
        self.backlog.change(&before, &after);
        if before.packets == 0 && after.packets > 0 {
            match &mut self.blocks {
                None => self.turns.join(bearer),
                Some(mac) => mac.join(bearer.ue, block_listed),
            }
        }
    }

    /// A poll that lets the scheduler choose among the queues and asks the bearers' limiters.
    fn schedule<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        let Ue { sdap, rlc, block_listed, .. } = &mut self.ues[ue_index as usize];
        sdap.begin_poll();
        // A queue that is refused costs the others nothing of the batch.
        let mut sent = 0;
        while sent < self.sdap_batch {
            let Some(i) = sdap.pick() else { break };
            let queue = &mut sdap.queues[i];
            let drb = queue.drb;
            let rlc = &mut rlc[drb as usize];
            let before = rlc.view();
            let unlimited = rlc.limiter.is_unlimited();
            let admitted =
                unlimited || queue.queue.peek().is_some_and(|head| rlc.limiter.admits(now, head, &before));
            let reserved = if admitted { queue.queue.reserve(now, driver) } else { None };
            let Some(packet) = reserved else {
                self.held += u64::from(!admitted);
                queue.refused = true;
                continue;
            };
            // The AQM may have dropped the packet that was asked for and offered a larger one.
            if !unlimited && !rlc.limiter.admits(now, &packet, &before) {
                queue.queue.abort(packet);
                self.held += 1;
                queue.refused = true;
                continue;
            }
            queue.queue.commit(now, &packet, driver);
            sent += 1;
            queue.moved += self.unit.amount(&packet);
            sdap.on_sent(i, packet.size);
            rlc.enqueue(now, packet, driver);
            let after = rlc.view();
            self.backlog.change(&before, &after);
            if before.packets == 0 && after.packets > 0 {
                match &mut self.blocks {
                    None => self.turns.join(Bearer { ue: ue_index, drb }),
                    Some(mac) => mac.join(ue_index, block_listed),
                }
            }
        }
        if !self.unpaced {
            self.tell_pacers(now, ue_index);
        }
    }

    /// Tells the pacers of a UE what a poll has moved and left.
    fn tell_pacers(&mut self, now: Instant, ue_index: u32) {
        let Ue { sdap, rlc, .. } = &mut self.ues[ue_index as usize];
        for i in 0..sdap.queues.len() {
            let backlog = sdap.backlog(i);
            let queue = &mut sdap.queues[i];
            let rlc = &mut rlc[queue.drb as usize];
            let view = rlc.view();
            let room = rlc.limiter.room(now, &view);
            queue.pacer.on_poll(now, &SdapPoll { moved: queue.moved, backlog, room });
        }
    }

    /// Tells the limiters of a UE what they have missed while idle, and of the next pull where one asks for it.
    fn prepare_limiters(&mut self, now: Instant, ue_index: u32) {
        let forecast = if self.clairvoyant.is_some() { Some(self.forecast(now)) } else { None };
        let Some(k) = self.last_slot.number else { return self.forecast_first(ue_index, forecast) };
        let at = self.last_slot.at;
        let sharers = self.blocks.as_ref().map_or(self.turns.len(), |mac| mac.busy_ues()) as u64 + 1;
        let ue = &self.ues[ue_index as usize];
        let channel = ue.channel.as_deref().unwrap_or(&self.channel);
        let capacity =
            if ue.rlc.iter().any(|rlc| rlc.misses(k)) { self.whole_slot(channel, k, at) } else { 0 };
        if self.blocks.is_some() && capacity == 0 {
            // A slot of the uplink offered nothing that a limiter could judge.
            return self.forecast_first(ue_index, forecast);
        }
        let ue = &mut self.ues[ue_index as usize];
        for rlc in &mut *ue.rlc {
            if rlc.misses(k) {
                let remaining = rlc.view().backlog(self.unit);
                let starved = capacity > 0;
                rlc.report(
                    k,
                    &SlotReport {
                        pulled_at: at,
                        slot: self.slot,
                        granted: capacity / sharers,
                        capacity,
                        remaining,
                        starved,
                        ..SlotReport::default()
                    },
                );
            }
        }
        self.forecast_first(ue_index, forecast);
    }

    /// What slot `k` could carry if it is pulled at `at` and all of it belongs to one UE with this `channel`.
    fn whole_slot(&self, channel: &Channel, k: u64, at: Instant) -> u64 {
        match &self.blocks {
            None => channel.peek(k, at),
            Some(mac) => mac.most(k, channel.mcs(k, at)),
        }
    }
}

/// See [`Stack::bound`]; the polls from the top down, and whether a layer's poll misses what arrives at its very instant.
fn bound(polls: [&Poll; 3], strictly: bool, entered: Instant) -> Instant {
    polls.into_iter().fold(entered, |at, poll| poll.first(at, strictly).1)
}

#[cfg(test)]
mod tests;
