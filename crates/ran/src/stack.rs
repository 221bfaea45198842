//! The downlink chain: the only place that calls across layers.
//!
//! The life of a packet: [`Stack::input`] stamps it and gives it the QFI of its flow. The UPF holds
//! it until its opportunity and until SDAP has room for it (pacer). SDAP holds it in its QFI's
//! queue until a poll at which its bearer admits it (limiter) and its queue has the turn
//! (scheduler). The RLC holds it until a slot's grant has taken its last byte. [`Egress::deliver`]
//! passes it to the driver. A drop in any queue is an event with a reason.
//!
//! Polls without waiting packets are skipped: a packet arms the poll of the layer it enters. Events
//! at one instant are ordered by [`TieOrder`], then by insertion.

use self::core_network::Core;
use self::marking::Marking;
use self::split::Splits;
use self::wire::Wire;
use crate::bearer::{BearerId, Exit, Slot};
use crate::channel::{CapacityUnit, Channel};
use crate::config::TieOrder;
use crate::few::{Few, collect_exactly};
use crate::gate::{Gate, Rlc};
use crate::limiter::{GrantContext, RlcView};
use crate::mac::{AnyService, Cell, SlotService, SlotUse, UeRadio};
use crate::pacer::Pacer;
use crate::poll::Clocks;
use crate::timeouts::QueueId;
use crate::upf::FiveTuple;
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::{
    ConfigError, DropReason, Dscp, Duration, Event, Instant, Layer, Packet, Probe,
};
use justfull_queue::{Count, Pass};

mod build;
mod config;
mod contexts;
mod core_network;
mod counts;
mod drx;
mod forecast;
mod handover;
mod limiters;
mod marking;
mod pour;
mod refused;
mod reports;
mod rlc;
mod split;
mod timeouts;
mod wire;

pub use crate::bearer::{Egress, StatusWay};
pub use config::StackConfig;
pub use contexts::{RoamError, UeContext};
pub use core_network::Flows;
pub use counts::Conserved;
pub use handover::{Departure, Entry, Forwarded, Kept};
pub use split::{DeliveryStatus, LegState, Routed};

/// The downlink chain of one cell.
pub struct Stack {
    core: Core,
    cell: Cell,
    service: AnyService,
    clocks: Clocks,
    sdap_batch: u32,
    sdap_busy: Vec<u32>,
    slot: Duration,
    /// The last slot served.
    last_slot: Option<Slot>,
    unpaced: bool,
    /// Packets may take the short paths of [`pour`].
    pours: bool,
    assert_bound: bool,
    clairvoyant: Option<GrantContext>,
    /// Number of packets refused by a limiter.
    held: u64,
    delivered: u64,
    /// Number of packets that waited for UEs when these entered the cell, and when they left it.
    came: u64,
    gone: u64,
    /// Number of STATUS PDUs that the driver carries, so far.
    carried: u64,
    /// Split bearers of which the cell has PDCP; none without dual connectivity.
    splits: Option<Box<Splits>>,
    /// User data between CU and DU; none if they are one.
    wire: Option<Box<Wire>>,
    /// Marks that the CU or the UPF sets; none if the RLC's node does.
    marking: Option<Box<Marking>>,
}

impl Stack {
    /// Opens a flow of `ue`, whose packets have one 5-tuple and one DSCP. Returns its number, which
    /// each packet carries. The UE's rules assign its QFI once, here.
    ///
    /// # Panics
    /// If `ue` is not a UE of the cell.
    pub fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> u32 {
        self.core.flows.push(self.core.flow(ue, tuple, dscp));
        (self.core.flows.len() - 1) as u32
    }

    /// Like [`Stack::open_flow`], but reuses the number of a flow that has ended. The old flow must
    /// have ended for all listeners, and none of its packets may be in the stack.
    ///
    /// # Panics
    /// If `ue` is not a UE of the cell, or `number` is not a flow.
    pub fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        self.core.flows[number as usize] = self.core.flow(ue, tuple, dscp);
    }

    /// Flow `number` continues over a new connection with the 5-tuple `tuple`: queues treat its
    /// next packets as another flow. Its QFI stays.
    ///
    /// # Panics
    /// If `number` is not a flow.
    pub fn renew_flow(&mut self, number: u32, tuple: &FiveTuple) {
        self.core.flows[number as usize].hash = tuple.hash(self.core.hash_key);
    }

    /// Unit of grants.
    #[must_use]
    pub fn unit(&self) -> CapacityUnit {
        self.cell.unit
    }

    /// The unit of [`Event::Slot`]: `packets`, `bytes` or `resource_blocks`.
    #[must_use]
    pub fn slot_unit(&self) -> &'static str {
        self.service.unit()
    }

    /// A packet arrives from the data network at `now`. The driver sets its flow, size, ECN bits,
    /// protocol, payload handle and tracked flag; the stack sets the other fields.
    pub fn input<D: Probe + Egress>(&mut self, now: Instant, mut packet: Packet, driver: &mut D) {
        self.input_from(now, &mut packet, driver);
    }

    /// Like [`Stack::input`], but reads the packet from `place`, which saves copies, and sets its
    /// fields there.
    pub fn input_from<D: Probe + Egress>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        driver: &mut D,
    ) {
        self.advance(now, !self.clocks.top_down, driver);
        let flow = self.core.number(now, place);
        self.enter_upf(now, flow.ue, flow.qos, place, driver);
    }

    /// A packet of the UE at `ue` enters the UPF; `qos` is the index of its QoS flow.
    #[inline(always)]
    fn enter_upf<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue: u32,
        qos: Option<u8>,
        packet: &mut Packet,
        driver: &mut D,
    ) {
        let Some(qos) = qos else {
            return self.refuse(now, *packet, DropReason::NoRule, driver);
        };
        if self.core.upfs.is_empty() {
            return self.enter_sdap(now, ue, qos as usize, packet, driver);
        }
        let upf = &mut self.core.upfs[ue as usize];
        if upf.queues[qos as usize].queue.enqueue_from(now, packet, driver) && !upf.listed {
            upf.listed = true;
            self.core.busy.push(ue);
        }
        if self.clocks.have_timeouts() {
            self.arm_timeout(QueueId::Upf { ue, qos: qos.into() });
        }
        // A UPF in this list is polled; an unpolled one is unpaced (`check_polls`) and transparent.
        if !self.core.busy.is_empty() {
            self.clocks.arm_upf(now, !self.clocks.top_down);
        }
    }

    /// Does all work that is due up to `now`. An early wake does nothing; a late one catches up
    /// tick by tick.
    pub fn wake<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        self.advance(now, true, driver);
    }

    /// The STATUS PDU that the stack gave to [`Egress::send_status`] under `handle` arrives at the
    /// sender's RLC at `now`.
    pub fn receive_status<D: Probe + Egress>(&mut self, now: Instant, handle: u32, driver: &mut D) {
        self.advance(now, !self.clocks.top_down, driver);
        let Self { clocks, assert_bound, delivered, carried, service, cell, .. } = self;
        let mut exit = Exit { clocks, assert_bound: *assert_bound, delivered, carried, driver };
        service.receive_status(now, handle, cell, &mut exit);
    }

    /// The STATUS PDU under `handle` is lost on its way.
    pub fn lose_status(&mut self, handle: u32) {
        self.service.lose_status(handle);
    }

    /// Does all work that is due at `now`, then continues, instant by instant, with work that is
    /// due before `limit`, until it has delivered a packet or given away a STATUS PDU. Returns the
    /// last instant at which it acted, and the number of instants. For drivers to which nothing
    /// arrives before `limit` unless a packet is delivered.
    pub fn wake_before<D: Probe + Egress>(
        &mut self,
        now: Instant,
        limit: Instant,
        driver: &mut D,
    ) -> (Instant, u64) {
        let given = self.delivered + self.carried;
        let (mut last, mut instants) = (now, 1);
        self.advance(now, true, driver);
        while self.delivered + self.carried == given {
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

    /// The next instant with work for the stack. Slots never end, so there is always one.
    #[must_use]
    #[inline]
    pub fn next_wake(&self) -> Instant {
        self.clocks.next_wake()
    }

    /// Time of the next slot.
    #[must_use]
    pub fn next_slot(&self) -> Instant {
        self.clocks.mac.due()
    }

    /// Start of the first slot at or after `at`.
    #[must_use]
    pub fn slot_from(&self, at: Instant) -> Instant {
        self.clocks.mac.first(at, false).1
    }

    /// The first slot that can carry a part of a packet that arrives at `entered`: after the first
    /// SDAP poll after the first opportunity of the UPF, with all queues empty.
    #[must_use]
    pub fn first_slot(&self, entered: Instant) -> Instant {
        self.clocks.first_slot(entered).1
    }

    /// Resource blocks that slice `slice` has lent (positive) or borrowed (negative) so far; none
    /// if slices do not lend.
    #[must_use]
    pub fn quantum(&self, slice: usize) -> Option<f64> {
        self.service.quantum(slice)
    }

    /// Runs the ticks before `now`, and also the ticks at `now` if `inclusive`, in order of time
    /// and stage.
    #[inline(always)]
    fn advance<D: Probe + Egress>(&mut self, now: Instant, inclusive: bool, driver: &mut D) {
        loop {
            let due = self.next_wake();
            if due > now || (due == now && !inclusive) {
                return;
            }
            if self.clocks.timeout_due() == due {
                self.timeout_tick(driver);
                continue;
            }
            // At one instant: top-down UPF, SDAP, MAC; bottom-up the reverse.
            let Clocks { upf, sdap, mac, top_down, .. } = &self.clocks;
            let (upf, sdap, mac) = (upf.due() == due, sdap.due() == due, mac.due() == due);
            if *top_down {
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
        let Some(now) = self.clocks.take_upf() else { return };
        for i in 0..self.core.busy.len() {
            self.serve_upf(now, self.core.busy[i], driver);
        }
        let upfs = &mut self.core.upfs;
        self.core.busy.retain(|&ue| {
            let upf = &mut upfs[ue as usize];
            upf.listed = upf.is_busy();
            upf.listed
        });
        if !self.core.busy.is_empty() {
            self.clocks.arm_upf(now, false);
        }
    }

    /// One opportunity of the UPF for one UE.
    fn serve_upf<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        if self.core.ues[ue_index as usize].away {
            return;
        }
        let sent = self.pour_upf(now, ue_index, driver);
        if sent > 0 && !self.core.upfs[ue_index as usize].is_busy() {
            return;
        }
        let need = if self.clairvoyant.is_some() { self.clairvoyant_need(now) } else { 0 };
        let (upf, gate) =
            (&mut self.core.upfs[ue_index as usize], &mut self.cell.gates[ue_index as usize]);
        for (i, queue) in upf.queues.iter_mut().enumerate() {
            let pacer = &mut gate.sdap.queues[i].pacer;
            if pacer.wants_forecast() {
                pacer.on_need(need);
            }
            queue.allowance = gate.wants(now, i);
        }
        for _ in sent..self.core.batch {
            let upf = &mut self.core.upfs[ue_index as usize];
            let Some(i) = upf.next_in_turn() else {
                self.core.paced += u64::from(!self.unpaced && upf.is_busy());
                break;
            };
            let Some(mut packet) = upf.queues[i].queue.dequeue(now, driver) else { continue };
            let amount = self.cell.unit.amount(&packet);
            upf.queues[i].allowance = upf.queues[i].allowance.saturating_sub(amount);
            self.enter_sdap(now, ue_index, i, &mut packet, driver);
        }
    }

    #[inline(always)]
    fn enter_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        qos: usize,
        packet: &mut Packet,
        driver: &mut D,
    ) {
        let event_driven = self.clocks.sdap.is_event_driven();
        if event_driven && self.pass_sdap(now, ue_index, packet, driver) {
            return;
        }
        if self.marking.is_some() {
            self.mark_at_upf(now, ue_index, qos, packet, driver);
        }
        let gate = &mut self.cell.gates[ue_index as usize];
        if gate.enqueue(now, qos, packet, driver) && !gate.listed {
            gate.listed = true;
            self.sdap_busy.push(ue_index);
        }
        if self.clocks.have_timeouts() {
            self.arm_timeout(QueueId::Sdap { ue: ue_index, qos: qos as u32 });
        }
        if event_driven {
            self.serve_sdap(now, ue_index, driver);
            let gates = &mut self.cell.gates;
            self.sdap_busy.retain(|&ue| gates[ue as usize].stays_listed());
        } else if !self.sdap_busy.is_empty() {
            self.clocks.arm_sdap(now, !self.clocks.top_down);
        }
    }

    fn sdap_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let Some(now) = self.clocks.take_sdap() else { return };
        self.serve_busy_sdap(now, driver);
        if !self.sdap_busy.is_empty() {
            self.clocks.arm_sdap(now, false);
        }
    }

    /// One poll of each UE with packets in SDAP; UEs without packets leave the list.
    #[inline(always)]
    fn serve_busy_sdap<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        let &[ue] = self.sdap_busy.as_slice() else {
            return self.serve_several_sdaps(now, driver);
        };
        self.serve_sdap(now, ue, driver);
        if !self.cell.gates[ue as usize].stays_listed() {
            self.sdap_busy.clear();
        }
    }

    #[inline(never)]
    fn serve_several_sdaps<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        let mut busy = core::mem::take(&mut self.sdap_busy);
        busy.retain(|&ue| {
            self.serve_sdap(now, ue, driver);
            self.cell.gates[ue as usize].stays_listed()
        });
        self.sdap_busy = busy;
    }

    /// One poll of one UE's SDAP.
    #[inline(always)]
    fn serve_sdap<D: Probe + Egress>(&mut self, now: Instant, ue_index: u32, driver: &mut D) {
        if self.cell.wants_reports || self.clairvoyant.is_some() {
            self.prepare_limiters(now, ue_index);
        }
        let sent = self.pour_sdap(now, ue_index, driver);
        if sent == 0 || self.cell.gates[ue_index as usize].is_busy() {
            self.serve_in_turn(now, ue_index, sent, driver);
        }
    }

    /// The rest of a poll in which `sent` packets have already moved: the UE's gate decides.
    #[inline(never)]
    fn serve_in_turn<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue: u32,
        sent: u32,
        driver: &mut D,
    ) {
        let (gate, mut bearers) = self.gate_and_bearers(ue);
        let polled = gate.poll_rest(now, sent, &mut bearers, driver);
        self.held += u64::from(polled.held);
    }

    /// Passes `packet` through an SDAP that is not polled, without storing it. False if the packet
    /// must wait, or if a scheduler, queue or limiter must decide.
    #[inline]
    fn pass_sdap<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue_index: u32,
        packet: &Packet,
        driver: &mut D,
    ) -> bool {
        let pours = self.pours;
        let (gate, mut bearers) = self.gate_and_bearers(ue_index);
        let Few::One(queue) = &mut gate.sdap.queues else { return false };
        // A sole bearer has number 0; reading it would cost one more cache line.
        let drb = if matches!(bearers.radio.bearers, Few::One(_)) { 0 } else { queue.drb };
        if !pours || !bearers.radio.bearers.at(drb.into()).is_unlimited() {
            return false;
        }
        match queue.queue.pass(now, packet, driver) {
            Pass::Passed => {
                bearers.enqueue(now, drb, packet, driver);
            }
            Pass::Dropped => {}
            Pass::Held => return false,
        }
        true
    }

    /// One slot: the MAC pulls from the bearers with data to send.
    fn slot_tick<D: Probe + Egress>(&mut self, driver: &mut D) {
        let Some((k, now)) = self.clocks.take_slot() else { return };
        let slot = Slot { k, now, length: self.slot };
        self.last_slot = Some(slot);
        if self.cell.sleep.is_some() {
            self.follow_sleep(now);
        }
        let RlcView { packets: rlc_packets, bytes: rlc_bytes } = self.cell.backlog;
        let Self { clocks, assert_bound, delivered, carried, service, cell, .. } = self;
        let mut exit = Exit { clocks, assert_bound: *assert_bound, delivered, carried, driver };
        if let Some(meter) = &mut cell.meter {
            meter.begin_slot(service.weight(slot));
        }
        let slot_use @ SlotUse { capacity, used } = service.serve(slot, cell, &mut exit);
        if !cell.rated.is_empty() {
            let sharers = service.sharers() as u64;
            cell.tell_rates(slot, slot_use, sharers, |channel, ue| {
                service.slot_bytes(channel, ue, slot)
            });
        }
        if !cell.feeds.is_empty() {
            let wire = self.wire.as_deref();
            cell.feed_aqms(now, |id| wire.map_or_else(Count::default, |wire| wire.to(id)));
        }
        if let Some(marking) = &mut self.marking {
            marking.after_slot(now, &cell.ues);
        }
        if cell.meter.is_some() {
            cell.count_slot(slot, slot_use, matches!(service, AnyService::Rb(_)));
        }
        clocks.slot_carried(k, capacity);
        if cell.wants_reports {
            cell.report(slot);
        }
        driver.on_event(now, &Event::Slot { capacity, used, rlc_packets, rlc_bytes });
        // An SDAP that is not polled acts after the slot.
        if self.clocks.sdap.is_event_driven() && !self.sdap_busy.is_empty() {
            self.serve_busy_sdap(now, driver);
        }
    }
}

#[cfg(test)]
mod tests;
