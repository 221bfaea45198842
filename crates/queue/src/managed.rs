//! The only queue type that other crates use: a discipline stores, an AQM signals, with one limit
//! and one set of counters.
//!
//! A packet has exactly one fate. At any time arrived + held = departed + dropped + waiting +
//! reserved, in packets and in bytes.
//!
//! *Waiting* packets are in a lane. *Reserved* packets are with the layer below, which has not
//! finished with them (RLC sends an SDU over several slots); they count as backlog. A reserved
//! packet is committed (it departs) or aborted (it returns to the head of its lane). A packet that
//! has departed but whose place is not free yet is *held*: it stays reserved until it is released
//! (an RLC keeps an SDU until the receiver has acknowledged it).

mod held;
mod known;
mod memory;
mod places;
mod pour;
mod timeout;
mod waits;
mod withdraw;

use crate::aqm::none::NoAqm;
use crate::aqm::{AnyAqm, Aqm, AqmConfig, AqmContext, Ect1, LaneView, Needs, QueueView};
use crate::counters::{Count, Counters};
use crate::discipline::fifo::Fifo;
use crate::discipline::{AnyDiscipline, Discipline, DisciplineConfig};
use crate::lane::Queued;
use crate::limit::Limit;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use justfull_base::error::ensure;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{
    BitRate, ConfigError, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe, params,
};
use known::Known;
use memory::Memory;

params! {
    /// Settings of a [`ManagedQueue`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct QueueConfig {
        /// Most that the queue holds.
        limit: Limit = Default::default();
        /// When to signal congestion; none with a discipline that brings its own AQM.
        aqm: AqmConfig as "AQM" = Default::default();
        /// In which order to serve.
        discipline: DisciplineConfig as "discipline" = Default::default();
        /// What a signal of a classic AQM does to a packet with ECT(1): a drop (l4s), or a mark as
        /// with ECT(0) (classic).
        ect1: Ect1 = Ect1::L4s, free(), "RFC 9331 sections 4.3 and 5";
    }
    check Self::check_aqm;
}

impl QueueConfig {
    /// A first-in-first-out queue without AQM.
    #[must_use]
    pub fn tail_drop(limit: Limit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// True if the queue has an AQM: a configured one, or the one built into its discipline.
    #[must_use]
    pub fn has_aqm(&self) -> bool {
        !matches!(self.aqm, AqmConfig::None(_)) || self.discipline.own_aqm().is_some()
    }

    /// True when it marks packets with ECT(1) as L4S asks: early, and not as classic ones.
    #[must_use]
    pub fn marks_l4s(&self) -> bool {
        match self.discipline.own_aqm().as_ref().unwrap_or(&self.aqm) {
            AqmConfig::DualPi2(_) | AqmConfig::Custom(_) => true,
            AqmConfig::CoDel(codel) => {
                !codel.l4s_threshold.is_zero() || !codel.ce_threshold.is_zero()
            }
            _ => false,
        }
    }

    /// It has one lane, or two by codepoint.
    const fn lanes_are_kinds(&self) -> bool {
        matches!(
            self.discipline,
            DisciplineConfig::Fifo(_)
                | DisciplineConfig::DualQueue(_)
                | DisciplineConfig::Custom(_)
        )
    }

    fn check_aqm(&self) -> Result<(), ConfigError> {
        ensure(
            !self.aqm.takes_kinds() || self.lanes_are_kinds(),
            "discipline",
            &self.discipline.name(),
            "fifo, dual_queue with aqm dualpi2",
            "RFC 9332 section 2: one lane for each of the two kinds, or one for both",
        )?;
        ensure(
            self.discipline.own_aqm().is_none() || matches!(self.aqm, AqmConfig::None(_)),
            "aqm",
            &self.aqm.name(),
            &format!("none with discipline {}", self.discipline.name()),
            "the discipline has an AQM of its own, which is set with it",
        )
    }
}

/// A queue. The fields that every packet reads and writes are in its first 120 bytes, since cache
/// lines are the main cost of a packet in a large cell.
#[derive(Debug)]
#[repr(C)]
pub struct ManagedQueue {
    discipline: AnyDiscipline,
    account: Account,
    aqm: AnyAqm,
}

/// The outcome for a packet that tries to pass through a queue without being stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pass {
    /// It has left the queue.
    Passed,
    /// It was dropped.
    Dropped,
    /// Nothing happened. The caller must enqueue it: another packet is ahead of it, or this kind of
    /// queue must hold it.
    Held,
}

/// Dispatches once on the queue's discipline and AQM and runs `$call` on the typed queue `$q`. The
/// most common pair is inlined into the caller, the others are not. Having no AQM is a separate
/// case for every discipline; the AQMs dispatch among themselves.
macro_rules! known {
    ($queue:expr, $q:ident => $call:expr) => {
        match $queue.plain() {
            Some(mut $q) => $call,
            None => outlined(|| {
                let ManagedQueue { discipline, aqm, account } = $queue;
                match aqm {
                    AnyAqm::None(aqm) => known!(discipline, aqm, account, $q => $call),
                    aqm => known!(discipline, aqm, account, $q => $call),
                }
            }),
        }
    };
    ($discipline:ident, $aqm:ident, $account:ident, $q:ident => $call:expr) => {
        crate::discipline::each!($discipline, &mut d => known!(d, $aqm, $account; $q => $call))
    };
    ($d:expr, $aqm:ident, $account:ident; $q:ident => $call:expr) => {{
        let mut $q = Known { discipline: $d, aqm: $aqm, account: $account };
        $call
    }};
}

/// Keeps `call` from being inlined into its caller.
#[inline(never)]
fn outlined<R>(call: impl FnOnce() -> R) -> R {
    call()
}

impl ManagedQueue {
    /// A queue of `layer` with the settings of `config`; `key` is the key of its random stream
    /// ([`stream_key`]).
    ///
    /// # Errors
    /// Names the setting outside its bounds.
    pub fn new(layer: Layer, config: &QueueConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let discipline =
            AnyDiscipline::new(&config.discipline, key).map_err(|e| e.within("discipline"))?;
        let own_aqm = config.discipline.own_aqm();
        let context = AqmContext::new(discipline.lanes(), mix(key ^ stream_key(0, "aqm")));
        let aqm = AnyAqm::new(own_aqm.as_ref().unwrap_or(&config.aqm), context)
            .map_err(|e| e.within("aqm"))?;
        let mut queue = Self::from_parts(layer, config.limit, discipline, aqm)?;
        queue.account.ect1 = config.ect1;
        Ok(queue)
    }

    /// A queue of `layer` from parts built elsewhere, such as user-defined ones. The AQM must serve
    /// as many lanes as the discipline has, and the discipline must be empty.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn from_parts(
        layer: Layer,
        limit: Limit,
        discipline: AnyDiscipline,
        aqm: AnyAqm,
    ) -> Result<Self, ConfigError> {
        limit.validate()?;
        debug_assert!(discipline.is_empty(), "a new queue holds nothing");
        let plain = matches!((&discipline, &aqm), (AnyDiscipline::Fifo(_), AnyAqm::None(_)));
        Ok(Self {
            discipline,
            account: Account {
                waiting_packets: 0,
                reserved_packets: 0,
                waiting_bytes: 0,
                reserved_bytes: 0,
                limit,
                layer,
                plain,
                ect1: Ect1::L4s,
                shows_heads: aqm.needs().heads,
                delayed: false,
                counters: Counters::default(),
                memory: Memory::of(aqm.needs()),
            },
            aqm,
        })
    }

    /// Offers `packet`; true if it is admitted.
    ///
    /// The AQM sees every arrival, then the limit is checked. Only an admitted packet is marked.
    #[inline(always)]
    pub fn enqueue<P: Probe>(&mut self, now: Instant, mut packet: Packet, probe: &mut P) -> bool {
        self.enqueue_from(now, &mut packet, probe)
    }

    /// Like [`Self::enqueue`], but reads the packet from `place`, which saves a copy, and stamps it
    /// there.
    #[inline(always)]
    pub fn enqueue_from<P: Probe>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        place.enqueued = now;
        let admitted = known!(self, queue => queue.enqueue(now, place, probe));
        self.check();
        admitted
    }

    /// Takes the next packet for good: [`Self::reserve`] and [`Self::commit`] in one.
    #[inline(always)]
    pub fn dequeue<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        let mut packet = Packet::default();
        self.dequeue_into(now, &mut packet, probe).then_some(packet)
    }

    /// Like [`Self::dequeue`], but writes the packet to `place`, which saves a copy through an
    /// `Option`. False if there is none; `place` may then hold a dropped packet.
    #[inline(always)]
    pub fn dequeue_into<P: Probe>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let taken = known!(self, queue => queue.dequeue_into(now, place, probe));
        self.check();
        taken
    }

    /// Offers `packet` and takes it out again at once, without storing it: [`Self::enqueue`] and
    /// [`Self::dequeue`] in one.
    #[inline(always)]
    pub fn pass<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) -> Pass {
        if !self.is_empty() || !self.account.plain {
            return Pass::Held;
        }
        // For an empty queue of the most common kind only the account matters.
        let (discipline, aqm) = (&mut Fifo::default(), &mut NoAqm);
        let mut queue = Known { discipline, aqm, account: &mut self.account };
        let passed = queue.pass(now, &mut Packet { enqueued: now, ..*packet }, probe);
        self.check();
        if passed { Pass::Passed } else { Pass::Dropped }
    }

    /// Takes the next packet that the AQM passes. It counts as backlog until it is committed or
    /// aborted.
    #[inline(always)]
    pub fn reserve<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        let mut packet = Packet::default();
        self.reserve_into(now, &mut packet, probe).then_some(packet)
    }

    /// Like [`Self::reserve`], into `place` like [`Self::dequeue_into`].
    #[inline(always)]
    pub fn reserve_into<P: Probe>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        probe: &mut P,
    ) -> bool {
        let taken = known!(self, queue => queue.reserve_into(now, place, probe));
        self.check();
        taken
    }

    /// The queue as its most common kind, whose code is inlined into the caller.
    #[inline(always)]
    fn plain(&mut self) -> Option<Known<'_, Fifo, NoAqm>> {
        match &mut self.discipline {
            AnyDiscipline::Fifo(discipline) if self.account.plain => {
                // `NoAqm` has no size: nothing is allocated, and nothing is read beyond the
                // account.
                let aqm = Box::leak(Box::new(NoAqm));
                Some(Known { discipline, aqm, account: &mut self.account })
            }
            _ => None,
        }
    }

    /// The reserved `packet` has left downwards.
    #[inline(always)]
    pub fn commit<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.account.release(packet);
        self.account.forget(packet);
        self.account.depart(now, packet, probe);
        self.check();
    }

    /// The layer that holds the reserved `packet` drops it for `reason`.
    pub fn discard<P: Probe>(
        &mut self,
        now: Instant,
        packet: &Packet,
        reason: DropReason,
        probe: &mut P,
    ) {
        self.account.release(packet);
        self.account.forget(packet);
        drop_one(self.account.layer, &mut self.account.counters, now, packet, reason, probe);
        self.check();
    }

    /// True if packets leave in order of arrival and none is dropped at departure.
    #[inline]
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.account.plain
    }

    /// True if packets leave in order of arrival; [`Self::visit_waiting`] then visits all of them.
    #[inline]
    #[must_use]
    pub const fn is_fifo(&self) -> bool {
        matches!(self.discipline, AnyDiscipline::Fifo(_))
    }

    /// Calls `visit` with the waiting packets, next first, as far as the discipline knows their
    /// order ([`Discipline::visit`]) and until `visit` returns false. The AQM may still drop them.
    pub fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet) -> bool) {
        self.discipline.visit(visit);
    }

    /// Gives the reserved `packet` back. It becomes the next of its lane, its lane has the turn
    /// again, and the next reserve does not ask the AQM about it. Give several packets back in
    /// reverse order.
    pub fn abort(&mut self, packet: Packet) {
        self.account.release(&packet);
        self.account.keep_waiting(&packet);
        let lane = self.discipline.lane_of(&packet);
        self.discipline.push_front(lane, Queued::passed(packet));
        self.check();
    }

    /// The packet that the discipline would serve next. The AQM may still drop it.
    #[inline(always)]
    #[must_use]
    pub fn peek(&self) -> Option<&Packet> {
        let first = match &self.discipline {
            AnyDiscipline::Fifo(fifo) => fifo.first(),
            other => outlined(|| other.first()),
        };
        first.map(|queued| &queued.packet)
    }

    /// Time that the packet of [`Self::peek`] has waited in this queue; none if no packet waits.
    #[must_use]
    pub fn head_age(&self, now: Instant) -> Option<Duration> {
        self.peek().map(|packet| now.since(packet.enqueued))
    }

    /// Packets in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_packets(&self) -> u32 {
        self.account.backlog_packets()
    }

    /// Bytes in the queue: waiting and reserved.
    #[inline]
    #[must_use]
    pub const fn backlog_bytes(&self) -> u64 {
        self.account.backlog_bytes()
    }

    /// Packets that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_packets(&self) -> u32 {
        self.account.waiting_packets
    }

    /// Bytes that wait in a lane.
    #[inline]
    #[must_use]
    pub const fn waiting_bytes(&self) -> u64 {
        self.account.waiting_bytes
    }

    /// Packets that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_packets(&self) -> u32 {
        self.account.reserved_packets
    }

    /// Bytes that the layer below holds.
    #[inline]
    #[must_use]
    pub const fn reserved_bytes(&self) -> u64 {
        self.account.reserved_bytes
    }

    /// True if no packet waits and none is reserved.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.backlog_packets() == 0
    }

    /// The greatest amount that the queue may hold.
    #[must_use]
    pub const fn limit(&self) -> Limit {
        self.account.limit
    }

    /// The layer that the queue belongs to.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        self.account.layer
    }

    /// The fate of its packets.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.account.counters
    }

    /// Packets that the AQM has dropped or marked so far; none for a queue without AQM.
    #[must_use]
    pub fn aqm_signals(&self) -> Option<u64> {
        let counters = &self.account.counters;
        let drops = [DropReason::AqmEnqueue, DropReason::AqmDequeue, DropReason::AqmTimeout];
        let dropped: u64 = drops.map(|reason| counters.dropped(reason).packets).iter().sum();
        (!self.aqm.is_none()).then(|| counters.marked().packets + dropped)
    }

    /// The AQM, for its statistics.
    #[must_use]
    pub const fn aqm(&self) -> &AnyAqm {
        &self.aqm
    }

    /// The needs of its AQM.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.aqm.needs()
    }

    /// Sets the rate at which the layer below serves this queue, for its AQM from now on; none if
    /// unknown.
    #[inline]
    pub fn set_service_rate(&mut self, rate: Option<BitRate>) {
        self.account.kept().service_rate = rate;
    }

    /// The rate at which the layer below serves this queue; none if it has not reported one.
    #[must_use]
    pub fn service_rate(&self) -> Option<BitRate> {
        self.account.memory.as_ref()?.service_rate
    }

    /// Passes every waiting packet to `take`, in the order of service and without the AQM, since
    /// the UE leaves the cell. The packets count as departed; `probe` gets [`Event::Withdrawn`] for
    /// each.
    pub fn withdraw<P: Probe>(
        &mut self,
        now: Instant,
        probe: &mut P,
        take: &mut dyn FnMut(Packet),
    ) {
        known!(self, queue => queue.withdraw(now, probe, take));
        self.check();
    }

    /// Resets the counts to the present content: the queue moves to another place, and none of its
    /// packets is held.
    pub fn count_anew(&mut self) {
        let account = &mut self.account;
        let inside =
            Count { packets: u64::from(account.backlog_packets()), bytes: account.backlog_bytes() };
        account.counters = Counters::default();
        account.counters.arrived = inside;
        self.check();
    }

    /// Packets were removed from any lane.
    fn forget_empty_lanes(&mut self, now: Instant) {
        known!(self, queue => queue.forget_empty_lanes(now));
    }

    /// True if arrived + held = departed + dropped + waiting + reserved, in packets and in bytes,
    /// and the lanes hold as many packets as are counted as waiting.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        let account = &self.account;
        let mut sum =
            Count { packets: u64::from(account.backlog_packets()), bytes: account.backlog_bytes() };
        sum += account.counters.departed;
        sum += account.counters.dropped_total();
        let mut arrived = account.counters.arrived;
        arrived += account.held();
        sum == arrived && self.discipline.len() == account.waiting_packets as usize
    }

    /// The queue's counts in words if [`Self::is_conserved`] is false; for the end of a run.
    #[must_use]
    pub fn broken_conservation(&self) -> Option<String> {
        let (account, places) = (&self.account, self.discipline.len());
        let name = account.layer.name();
        (!self.is_conserved())
            .then(|| format!("{name} queue: waiting packets in {places} places, {account:?}"))
    }

    /// Fails the run unless [`Self::is_conserved`].
    ///
    /// # Panics
    /// If a packet was lost or duplicated.
    pub fn assert_conserved(&self) {
        let broken = self.broken_conservation();
        assert!(broken.is_none(), "{}", broken.unwrap_or_default());
    }

    #[inline(always)]
    fn check(&self) {
        debug_assert!(self.is_conserved(), "packets lost or doubled: {self:?}");
    }
}

/// A queue's limit and counts, without its packets, in the order of use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
struct Account {
    waiting_packets: u32,
    reserved_packets: u32,
    waiting_bytes: u64,
    reserved_bytes: u64,
    limit: Limit,
    layer: Layer,
    /// True if the queue is first in, first out, without an AQM.
    plain: bool,
    ect1: Ect1,
    /// True if the AQM needs the heads of lanes.
    shows_heads: bool,
    /// True once the layer below has not served the queue for a time ([`Memory::served_from`]).
    delayed: bool,
    counters: Counters,
    /// None until there is data to keep. Behind a pointer, since each cache line counts with many
    /// UEs.
    memory: Option<Box<Memory>>,
}

impl Account {
    #[inline]
    const fn backlog_packets(&self) -> u32 {
        self.waiting_packets + self.reserved_packets
    }

    #[inline]
    const fn backlog_bytes(&self) -> u64 {
        self.waiting_bytes + self.reserved_bytes
    }

    /// The AQM's view. `lane_bytes` is the backlog of the lane in question, unless that lane is the
    /// whole queue.
    #[inline(always)]
    fn view(&self, lane_bytes: Option<u64>) -> QueueView {
        QueueView {
            backlog_packets: self.backlog_packets(),
            backlog_bytes: self.backlog_bytes(),
            lane: LaneView { bytes: lane_bytes.unwrap_or(self.backlog_bytes()), head: None },
            other: None,
            limit: self.limit,
            oldest: self.oldest(),
            service_rate: self.memory.as_ref().and_then(|memory| memory.service_rate),
            new_flow: false,
            ect1: self.ect1,
        }
    }

    #[inline(always)]
    fn keep_waiting(&mut self, packet: &Packet) {
        self.waiting_packets += 1;
        self.waiting_bytes += u64::from(packet.size);
    }

    #[inline(always)]
    fn forget_waiting(&mut self, packet: &Packet) {
        self.waiting_packets -= 1;
        self.waiting_bytes -= u64::from(packet.size);
    }

    /// `packet`, taken out of its lane, goes to the layer below.
    #[inline(always)]
    fn keep_reserved(&mut self, packet: &Packet) {
        self.reserved_packets += 1;
        self.reserved_bytes += u64::from(packet.size);
    }
    /// The kept data, from now on.
    fn kept(&mut self) -> &mut Memory {
        self.memory.get_or_insert_default()
    }

    /// Packets that have departed and still count as backlog.
    fn held(&self) -> Count {
        self.memory.as_ref().map_or_else(Count::default, |memory| memory.held)
    }

    /// `packet` has left the queue.
    #[inline(always)]
    fn forget(&mut self, packet: &Packet) {
        if !self.plain
            && let Some(memory) = &mut self.memory
        {
            memory.leave(packet);
        }
    }

    /// `packet`, no longer counted as backlog, has left downwards.
    #[inline(always)]
    fn depart<P: Probe>(&mut self, now: Instant, packet: &Packet, probe: &mut P) {
        self.counters.departed.add(packet.size);
        let sojourn = now.since(packet.enqueued);
        probe.on_event(now, &Event::Departed { layer: self.layer, packet: *packet, sojourn });
    }

    #[inline(always)]
    fn release(&mut self, packet: &Packet) {
        debug_assert!(self.reserved_packets > 0, "packet {} is not reserved", packet.id);
        self.reserved_packets -= 1;
        self.reserved_bytes -= u64::from(packet.size);
    }
}

fn drop_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &Packet,
    reason: DropReason,
    probe: &mut P,
) {
    counters.drop_one(reason, packet.size);
    probe.on_event(now, &Event::Dropped { layer, packet: *packet, reason });
}

fn mark_one<P: Probe>(
    layer: Layer,
    counters: &mut Counters,
    now: Instant,
    packet: &mut Packet,
    probe: &mut P,
) {
    packet.ecn = Ecn::Ce;
    counters.mark_one(packet.size);
    probe.on_event(now, &Event::Marked { layer, packet: *packet });
}
