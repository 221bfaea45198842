//! The gate of one UE: SDAP's queues above the RLC, and the control of packets that pass into it.
//!
//! A [`Gate`] has a queue for each QoS flow, the scheduler that chooses among the queues, a limiter
//! for each bearer and a pacer for each queue. Below it is any [`Rlc`]. [`Stack`](crate::Stack) has
//! a gate for each UE above its own RLC; a base station with its own RLC and MAC binds only a gate.
//! A gate has no clock: the caller passes `now`, which must not go back.
//!
//! ```
//! use justfull_base::{Duration, Instant, Packet, Probe, Qfi, Silent, SlotReport};
//! use justfull_ran::gate::{Gate, GateConfig, Rlc};
//! use justfull_ran::limiter::{CapacityUnit, DrqlConfig, GrantContext, LimiterConfig, RlcView};
//! use justfull_ran::{QosFlowConfig, SdapConfig};
//! use std::collections::VecDeque;
//!
//! struct Fifo(VecDeque<Packet>);
//!
//! impl Rlc for Fifo {
//!     fn view(&self, _drb: u8) -> RlcView {
//!         let bytes = self.0.iter().map(|sdu| u64::from(sdu.size)).sum();
//!         RlcView { packets: self.0.len() as u64, bytes }
//!     }
//!
//!     fn enqueue<P: Probe>(&mut self, _: Instant, _drb: u8, sdu: &Packet, _: &mut P) -> bool {
//!         self.0.push_back(*sdu);
//!         true
//!     }
//! }
//!
//! let slot = Duration::from_millis(1);
//! let qfi = Qfi::new(9).expect("below 64");
//! let config = GateConfig {
//!     sdap: &SdapConfig::default(),
//!     limiter: &LimiterConfig::Drql(DrqlConfig { start: 10, ..DrqlConfig::default() }),
//!     report_delay: Duration::ZERO,
//!     qos_flows: &[QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
//!     drbs: 1,
//! };
//! let context = GrantContext { unit: CapacityUnit::Packets, slot, mtu: 1500 };
//! let (mut gate, mut rlc) = (Gate::new(&config, &context, 1)?, Fifo(VecDeque::new()));
//! let mut now = Instant::ZERO;
//! for id in 0..300 {
//!     gate.offer(now, 0, Packet { id, size: 1500, ..Packet::default() }, &mut Silent)?;
//! }
//! let mut sent = 0;
//! for _ in 0..100 {
//!     gate.poll(now, &mut rlc, &mut Silent);
//!     now += slot;
//!     // The radio takes two packets a slot.
//!     let mut used = 0;
//!     while used < 2 && let Some(sdu) = rlc.0.pop_front() {
//!         gate.on_departed(now, 0, now.since(sdu.enqueued))?;
//!         used += 1;
//!     }
//!     sent += used;
//!     let (granted, capacity, starved) = (2, 2, used < 2);
//!     let remaining = rlc.0.len() as u64;
//!     gate.on_slot(0, &SlotReport {
//!         pulled_at: now, slot, granted, used, remaining, capacity, starved,
//!     })?;
//! }
//! assert_eq!(sent, 200, "no slot was empty");
//! assert!(rlc.0.len() < 5, "the rest waits above, where it can be scheduled");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod station;

pub use config::{GateConfig, GateError};

use crate::few::{Few, collect_exactly};
use crate::limiter::{AnyLimiter, Apart, F1Config, GrantContext, Limiter, RlcView};
use crate::pacer::{Pacer, SdapPoll};
use crate::sdap::{SdapQueue, UeSdap};
use alloc::vec::Vec;
use justfull_base::{ConfigError, Duration, Instant, Packet, Probe, SlotForecast, SlotReport};
use justfull_queue::{Count, ManagedQueue};

/// The RLC of one UE below a [`Gate`]. `drb` numbers its bearers from 0.
pub trait Rlc {
    /// The data of bearer `drb` that is not sent yet.
    fn view(&self, drb: u8) -> RlcView;

    /// Bearer `drb` takes `sdu` at `now`. False if it drops the SDU for lack of room.
    fn enqueue<P: Probe>(&mut self, now: Instant, drb: u8, sdu: &Packet, probe: &mut P) -> bool;

    /// True if bearer `drb` has two legs.
    fn is_split(&self, drb: u8) -> bool {
        let _ = drb;
        false
    }

    /// The leg of the next SDU, of `size` bytes, of split bearer `drb`; none if it must wait.
    /// `admitted`: the bearer's limiter admits it to the own leg.
    fn way(&mut self, drb: u8, size: u32, admitted: bool) -> Option<Way> {
        let _ = (drb, size);
        admitted.then_some(Way::Own)
    }

    /// Split bearer `drb` takes `sdu` over `way`. False if it drops the SDU for lack of room.
    fn route<P: Probe>(
        &mut self,
        now: Instant,
        drb: u8,
        sdu: &Packet,
        way: Way,
        probe: &mut P,
    ) -> bool {
        let _ = way;
        self.enqueue(now, drb, sdu, probe)
    }
}

/// A leg of a split bearer, from its PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The RLC below the gate.
    Own = 0,
    /// The RLC of another cell.
    Other = 1,
}

/// The outcome of a poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Packets that left SDAP for the RLC.
    pub moved: u32,
    /// Queues whose first packet a limiter held back.
    pub held: u32,
}

/// The reason why a queue sends nothing to the RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The limiter of its bearer admits nothing.
    Limited,
    /// It is empty, or its AQM dropped everything.
    Empty,
}

/// The limiter of one bearer.
struct Door {
    limiter: AnyLimiter,
    /// The limiter admits everything and is not called.
    unlimited: bool,
}

/// The gate of one UE; see the [module's page](self). Flows and bearers are numbered from 0 in the
/// order of the configuration.
#[repr(C, align(64))]
pub struct Gate {
    pub(crate) sdap: UeSdap,
    doors: Few<Door>,
    /// Maximum number of packets per poll.
    batch: u32,
    /// Two bytes, so that the gate fits four cache lines.
    mtu: u16,
    paced: bool,
    /// True if the UE is in the stack's list of UEs with packets in SDAP.
    pub(crate) listed: bool,
}

impl Gate {
    /// A gate for a base station. `key` is the seed of the random numbers of queues and AQMs.
    ///
    /// # Errors
    /// The first field of `config` or `context` outside its bounds.
    pub fn new(
        config: &GateConfig<'_>,
        context: &GrantContext,
        key: u64,
    ) -> Result<Self, ConfigError> {
        config.validate(context)?;
        Self::build(config, &F1Config::default(), context, key)
    }

    /// A gate for settings that are already checked, over `f1`.
    pub(crate) fn build(
        config: &GateConfig<'_>,
        f1: &F1Config,
        context: &GrantContext,
        key: u64,
    ) -> Result<Self, ConfigError> {
        let apart = Apart::of(config.report_delay, f1, key);
        let door = |drb| {
            let mut limiter = AnyLimiter::new(config.limiter, context)
                .map_err(|e| e.within("limiter").within("rlc"))?;
            let unlimited = limiter.is_unlimited();
            if let Some(apart) = apart.filter(|_| !unlimited) {
                limiter = apart.wrap(limiter, drb);
            }
            Ok(Door { limiter, unlimited })
        };
        let doors: Few<Door> = collect_exactly((0..config.drbs).map(door))?.into();
        let sdap = UeSdap::new(config.sdap, config.qos_flows, context, key)
            .map_err(|e| e.within("sdap"))?;
        let paced = !sdap.queues.iter().all(|queue| queue.pacer.is_unpaced());
        let (batch, mtu) = (config.sdap.batch, u16::try_from(context.mtu).unwrap_or(u16::MAX));
        Ok(Self { sdap, doors, batch, mtu, paced, listed: false })
    }

    /// A gate without flows and bearers, in the place of a UE that has left.
    pub(crate) fn vacant() -> Self {
        let (sdap, doors) = (UeSdap::vacant(), Few::Many(Vec::new()));
        Self { sdap, doors, batch: 0, mtu: 0, paced: false, listed: false }
    }

    fn check_flow(&self, flow: usize) -> Result<(), GateError> {
        let flows = self.sdap.queues.len();
        if flow < flows { Ok(()) } else { Err(GateError::Flow { flow, flows }) }
    }

    fn door(&mut self, drb: u8) -> Result<&mut Door, GateError> {
        let drbs = self.doors.len();
        self.doors.get_mut(usize::from(drb)).ok_or(GateError::Bearer { drb, drbs })
    }

    /// Amount that the queue of `flow` should still take from above at `now`, in the unit of
    /// grants; `u64::MAX` without a pacer. Query it once before the packets of an instant; the
    /// queue also takes more.
    ///
    /// # Errors
    /// There is no such flow.
    pub fn room(&mut self, now: Instant, flow: usize) -> Result<u64, GateError> {
        self.check_flow(flow)?;
        Ok(self.wants(now, flow))
    }

    #[inline]
    pub(crate) fn wants(&mut self, now: Instant, flow: usize) -> u64 {
        let backlog = self.sdap.backlog(flow);
        self.sdap.queues[flow].pacer.occupancy(now).saturating_sub(backlog)
    }

    /// A packet of `flow` arrives at `now` and waits for [`Self::poll`]. False if the flow's queue
    /// or its AQM drops it; `probe` gets the reason.
    ///
    /// # Errors
    /// There is no such flow, or the packet's size is not 1 B to the MTU. Nothing changes.
    pub fn offer<P: Probe>(
        &mut self,
        now: Instant,
        flow: usize,
        mut packet: Packet,
        probe: &mut P,
    ) -> Result<bool, GateError> {
        self.check_flow(flow)?;
        let mtu = u32::from(self.mtu);
        if !(1..=mtu).contains(&packet.size) {
            return Err(GateError::Size { size: packet.size, mtu });
        }
        Ok(self.enqueue(now, flow, &mut packet, probe))
    }

    /// [`Self::offer`] for a checked packet, which gets its instant of entry.
    #[inline(always)]
    pub(crate) fn enqueue<P: Probe>(
        &mut self,
        now: Instant,
        flow: usize,
        packet: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let queue = &mut self.sdap.queues[flow];
        let taken = queue.queue.enqueue_from(now, packet, probe);
        if taken && self.paced {
            queue.pacer.on_enqueued(self.sdap.unit.amount(packet));
        }
        taken
    }

    /// Moves waiting packets into `rlc` at `now`, up to the batch of a poll: the scheduler names
    /// the queue, the limiter of its bearer admits the packet, and the queue's AQM may drop or mark
    /// it. Every packet's `enqueued` is the instant at which it entered SDAP's queue.
    pub fn poll<R: Rlc, P: Probe>(&mut self, now: Instant, rlc: &mut R, probe: &mut P) -> Polled {
        self.poll_rest(now, 0, rlc, probe)
    }

    /// The rest of a poll in which `moved` packets have already moved.
    #[inline(always)]
    pub(crate) fn poll_rest<R: Rlc, P: Probe>(
        &mut self,
        now: Instant,
        moved: u32,
        rlc: &mut R,
        probe: &mut P,
    ) -> Polled {
        let mut polled = Polled { moved, held: 0 };
        let Self { sdap, doors, .. } = self;
        sdap.begin_poll();
        // A refused queue uses none of the batch.
        while polled.moved < self.batch {
            let Some(i) = sdap.pick() else { break };
            let queue = sdap.queues.at(i);
            let door = doors.at(queue.drb.into());
            match door.take_from(now, &mut queue.queue, queue.drb, rlc, probe) {
                Ok(size) => {
                    polled.moved += 1;
                    queue.moved += sdap.unit.of_size(size);
                    sdap.on_sent(i, size);
                }
                Err(refusal) => {
                    polled.held += u32::from(refusal == Refusal::Limited);
                    queue.refused = true;
                }
            }
        }
        if self.paced {
            self.tell_pacers(now, rlc);
        }
        polled
    }

    /// Reports the moved and the remaining packets of a poll to the pacers.
    fn tell_pacers<R: Rlc>(&mut self, now: Instant, rlc: &R) {
        let Self { sdap, doors, .. } = self;
        for i in 0..sdap.queues.len() {
            let backlog = sdap.backlog(i);
            let queue = &mut sdap.queues[i];
            let room = doors.at(queue.drb.into()).limiter.room(now, &rlc.view(queue.drb));
            queue.pacer.on_poll(now, &SdapPoll { moved: queue.moved, backlog, room });
        }
    }

    /// A slot that served bearer `drb` has ended; amounts are in the unit of grants. Limiters need
    /// a report of each slot in which the bearer had data to send, and of the last slot before a
    /// poll.
    ///
    /// # Errors
    /// There is no such bearer.
    pub fn on_slot(&mut self, drb: u8, report: &SlotReport) -> Result<(), GateError> {
        self.door(drb)?.limiter.on_slot(report);
        Ok(())
    }

    /// The last byte of an SDU of bearer `drb` left for the radio at `now`, `sojourn` after its
    /// entry into the RLC.
    ///
    /// # Errors
    /// There is no such bearer.
    pub fn on_departed(
        &mut self,
        now: Instant,
        drb: u8,
        sojourn: Duration,
    ) -> Result<(), GateError> {
        self.door(drb)?.limiter.on_departed(now, sojourn);
        Ok(())
    }

    /// The next instant at which [`Self::on_timeout`] must be called for an AQM; never if there is
    /// none.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let each = self.queues().filter_map(ManagedQueue::next_timeout);
        each.min().unwrap_or(Instant::NEVER)
    }

    /// Runs the timeouts of AQMs that are due at `now`.
    pub fn on_timeout<P: Probe>(&mut self, now: Instant, probe: &mut P) {
        for queue in self.sdap.queues.iter_mut().map(|queue| &mut queue.queue) {
            if queue.next_timeout().is_some_and(|due| due <= now) {
                queue.on_timeout(now, probe);
            }
        }
    }

    /// The queues of the flows, in order: backlogs and counts.
    pub fn queues(&self) -> impl Iterator<Item = &ManagedQueue> {
        self.sdap.queues.iter().map(|queue| &queue.queue)
    }

    /// True if an AQM above bearer `drb` needs delivery reports.
    pub(crate) fn needs_reports(&self, drb: u8) -> bool {
        let needs = |queue: &SdapQueue| queue.drb == drb && queue.queue.needs().reports;
        self.sdap.queues.iter().any(needs)
    }

    /// A report arrives at `at`: `left` has left bearer `drb`, and `below` bytes are on the way to
    /// its RLC or in it.
    pub(crate) fn report_delivery(&mut self, at: Instant, drb: u8, left: Count, below: u64) {
        for queue in self.sdap.queues.iter_mut().filter(|queue| queue.drb == drb) {
            queue.queue.report_delivery(at, left, below);
        }
    }

    /// True while a packet waits here.
    #[must_use]
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.sdap.is_busy()
    }

    /// False if no limiter reads the reports of [`Self::on_slot`].
    #[must_use]
    pub fn wants_reports(&self) -> bool {
        self.doors.iter().any(|door| door.limiter.wants_reports())
    }

    /// True if the room of a limiter grows with time alone: [`Self::poll`] must then be called
    /// several times a slot, even without events.
    #[must_use]
    pub fn paces(&self) -> bool {
        self.doors.iter().any(|door| door.limiter.paces())
    }

    /// True if a limiter may hold packets back.
    pub(crate) fn limits(&self) -> bool {
        self.doors.iter().any(|door| !door.unlimited)
    }

    pub(crate) fn limiter(&mut self, drb: u8) -> &mut AnyLimiter {
        &mut self.doors.at(drb.into()).limiter
    }

    pub(crate) fn wants_forecast(&self) -> bool {
        self.doors.iter().any(|door| door.limiter.wants_forecast())
    }

    pub(crate) fn on_forecast(&mut self, forecast: &SlotForecast) {
        self.doors.iter_mut().for_each(|door| door.limiter.on_forecast(forecast));
    }

    /// True while a packet waits here, so that the gate stays in its stack's list.
    #[inline]
    pub(crate) fn stays_listed(&mut self) -> bool {
        self.listed = self.is_busy();
        self.listed
    }
}

impl Door {
    /// Moves the next SDU that the limiter admits from `queue` to bearer `drb` of `rlc`, and
    /// returns its size. The AQM of `queue` may drop SDUs on the way.
    #[inline(always)]
    fn take_from<R: Rlc, P: Probe>(
        &mut self,
        now: Instant,
        queue: &mut ManagedQueue,
        drb: u8,
        rlc: &mut R,
        probe: &mut P,
    ) -> Result<u32, Refusal> {
        if rlc.is_split(drb) {
            return self.route_from(now, queue, drb, rlc, probe);
        }
        if self.unlimited {
            let mut sdu = Packet::default();
            if !queue.dequeue_into(now, &mut sdu, probe) {
                return Err(Refusal::Empty);
            }
            rlc.enqueue(now, drb, &sdu, probe);
            return Ok(sdu.size);
        }
        let view = rlc.view(drb);
        if !queue.peek().is_some_and(|head| self.limiter.admits(now, head, &view)) {
            return Err(Refusal::Limited);
        }
        let sdu = queue.reserve(now, probe).ok_or(Refusal::Empty)?;
        // The AQM may have dropped the admitted SDU and offered a larger one.
        if !self.limiter.admits(now, &sdu, &view) {
            queue.abort(sdu);
            return Err(Refusal::Limited);
        }
        queue.commit(now, &sdu, probe);
        if rlc.enqueue(now, drb, &sdu, probe) {
            let amount = self.limiter.amount(&sdu);
            self.limiter.on_admitted(now, amount, &rlc.view(drb));
        }
        Ok(sdu.size)
    }

    /// Moves the next SDU for which a leg of split bearer `drb` has room from `queue` to that leg,
    /// and returns its size.
    #[cold]
    fn route_from<R: Rlc, P: Probe>(
        &mut self,
        now: Instant,
        queue: &mut ManagedQueue,
        drb: u8,
        rlc: &mut R,
        probe: &mut P,
    ) -> Result<u32, Refusal> {
        let view = rlc.view(drb);
        let Some(head) = queue.peek() else { return Err(Refusal::Empty) };
        let admitted = self.unlimited || self.limiter.admits(now, head, &view);
        let way = rlc.way(drb, head.size, admitted).ok_or(Refusal::Limited)?;
        let sdu = queue.reserve(now, probe).ok_or(Refusal::Empty)?;
        queue.commit(now, &sdu, probe);
        let taken = rlc.route(now, drb, &sdu, way, probe);
        if taken && way == Way::Own && !self.unlimited {
            let amount = self.limiter.amount(&sdu);
            self.limiter.on_admitted(now, amount, &rlc.view(drb));
        }
        Ok(sdu.size)
    }
}
