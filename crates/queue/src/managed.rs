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

mod account;
mod counts;
mod held;
mod known;
mod memory;
mod places;
mod pour;
mod settings;
mod timeout;
mod waits;
mod withdraw;
mod withheld;

use crate::aqm::none::NoAqm;
use crate::aqm::{AnyAqm, Aqm, AqmContext, Ect1};
use crate::counters::{Count, Counters};
use crate::discipline::fifo::Fifo;
use crate::discipline::{AnyDiscipline, Discipline};
use crate::lane::Queued;
use crate::limit::Limit;
use account::{Account, drop_one, mark_one};
use alloc::boxed::Box;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{ConfigError, DropReason, Duration, Instant, Layer, Packet, Probe};
use known::Known;
use memory::Memory;
pub use settings::QueueConfig;

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

/// Dispatches once on the queue's discipline and AQM and runs `$call` on the typed queue `$q`. Only
/// the most common pair is inlined into the caller. Having no AQM is a separate case for every
/// discipline; the AQMs dispatch among themselves.
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
                withholds: false,
                counters: Counters::default(),
                memory: Memory::of(aqm.needs()),
            },
            aqm,
        })
    }

    /// Offers `packet`; true if it is admitted.
    ///
    /// The AQM decides on every arrival, then the limit is checked. Only an admitted packet is
    /// marked.
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

    /// Calls `visit` with the waiting packets, next first, as far as their order is fixed
    /// ([`Discipline::visit`]) and until `visit` returns false. The AQM may still drop them.
    pub fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet) -> bool) {
        self.discipline.visit(visit);
    }

    /// Gives the reserved `packet` back. It becomes the next of its lane, its lane has the turn
    /// again, and the AQM does not decide on it again. Give several packets back in reverse order.
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

    /// True if [`Self::goes_before`] can be true.
    #[must_use]
    pub fn interrupts(&self) -> bool {
        self.discipline.interrupts()
    }

    /// True if a waiting packet should leave before the rest of `begun`, a reserved packet that is
    /// partly sent ([`Discipline::goes_before`]).
    #[inline]
    #[must_use]
    pub fn goes_before(&self, begun: &Packet) -> bool {
        !self.account.plain && self.discipline.goes_before(begun)
    }

    /// Time that the packet of [`Self::peek`] has waited in this queue; none if no packet waits.
    #[must_use]
    pub fn head_age(&self, now: Instant) -> Option<Duration> {
        self.peek().map(|packet| now.since(packet.enqueued))
    }

    /// Passes every waiting packet to `take`, in the order of service and without the AQM, since
    /// the UE leaves the cell. The packets count as departed; `probe` gets
    /// [`Withdrawn`](justfull_base::Event::Withdrawn) for each.
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

    #[inline(always)]
    fn check(&self) {
        debug_assert!(self.is_conserved(), "packets lost or doubled: {self:?}");
    }
}
