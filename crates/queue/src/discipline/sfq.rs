//! Stochastic fairness queueing: flows are hashed to lanes, and the active lanes take turns.
//!
//! Source: P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990 (lanes by hash, round
//! robin, a perturbation that changes, the victim of an overflow from the longest lane); M.
//! Shreedhar and G. Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995
//! (turns in bytes). T20 section 5 puts SFQ at the UPF.
//!
//! A flow alone in its lane waits for at most one turn of each other active lane.
//!
//! lane = hash(`flow_hash`, perturbation) mod `lanes`; the perturbation is a hash of the queue's
//! key and of the number of the `perturb` period, so that it does not depend on earlier arrivals.
//!
//! Defaults: 1024 lanes (ten flows then collide with probability 4 %), perturbed every 10 s, one
//! packet per turn (McKenney). Known weaknesses: turns of one packet favour large packets (set
//! `quantum` to bytes for shares in bytes); flows that collide share one lane until the next
//! perturbation; a lane that runs empty and comes back joins at the end of the round.
//!
//! Deviations from McKenney:
//! - When the perturbation changes, the packets that wait move to their new lanes (in the order of
//!   their arrival). In the paper they stay, and later packets of the same flow may overtake them
//!   from another lane: TCP takes that for a loss. It costs O(n log n) for n waiting packets once
//!   per period, at the first arrival in it.
//! - The longest lane is found by a walk over the active lanes at an overflow, not by lists per
//!   length. Among equals the arriving packet's own lane counts as the longest.
//!
//! Deviation from Shreedhar and Varghese: a lane may overdraw its deficit by one packet and pays
//! for it in its next turn (surplus round robin, as in RFC 8290 section 4.2), so that the head of
//! the lane in turn may always be sent.
//!
//! `as-released` of T20's program: `overflow = "arriving"` with `lane_limit = "512 packets"` (its
//! rings refuse the packet that arrives).

use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use crate::limit::Limit;
use crate::pool::{List, Pool};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use justfull_base::doc::MethodDoc;
use justfull_base::error::{ConfigError, ensure};
use justfull_base::param::{Form, Param};
use justfull_base::rng::mix;
use justfull_base::units::UnitError;
use justfull_base::{Bytes, Duration, Instant, Packet, choice, params};

impl DisciplineSettings for SfqConfig {}

/// Describes stochastic fairness queueing.
pub const DOC: MethodDoc = MethodDoc {
    name: "sfq",
    kind: "discipline",
    title: "Stochastic fairness queueing, by packets or with a deficit in bytes",
    text: "Flows are hashed to lanes with a perturbation that changes every `perturb`; active \
           lanes take turns of one packet or of `quantum` bytes. The victim of an overflow is the \
           last packet of the longest lane (by packets, or by bytes where turns are in bytes).",
    sources: "McKenney, INFOCOM 1990; Shreedhar and Varghese, SIGCOMM 1995; T20 section 5",
    deviations: "Waiting packets move to their new lanes when the perturbation changes, so that \
                 no flow is reordered; a lane may overdraw its deficit by one packet.",
    params: SfqConfig::params,
};

/// The amount that a lane may send in one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantum {
    /// One packet.
    #[default]
    Packet,
    /// Bytes, on average; 256 B to 16 MiB.
    Bytes(Bytes),
}

const QUANTUM_ALLOWED: &str = "\"1 packet\" or a size such as \"1514B\"";

impl fmt::Display for Quantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet => f.write_str("1 packet"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl FromStr for Quantum {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "1 packet" {
            return Ok(Self::Packet);
        }
        let error = |_| UnitError { found: text.into(), allowed: QUANTUM_ALLOWED };
        text.parse().map(Self::Bytes).map_err(error)
    }
}

impl Param for Quantum {
    const UNIT: &'static str = "packet or size";

    fn form() -> Form {
        Form::OneOf(vec![Form::Choice(vec!["1 packet"]), Bytes::form()])
    }

    fn allowed() -> String {
        "1 packet, or 256B to 16MiB".into()
    }

    fn written(&self) -> String {
        self.to_string()
    }

    fn check(&self) -> Result<(), ConfigError> {
        let fits = match self {
            Self::Packet => true,
            Self::Bytes(Bytes(bytes)) => (256..=16 << 20).contains(bytes),
        };
        let why = "with less than a packet per turn, turns cost more than packets (Shreedhar and \
                   Varghese 1995, section 3)";
        ensure(fits, "", self, &Self::allowed(), why)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Quantum {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Quantum {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

choice! {
    /// The victim when the queue is full.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Overflow {
        /// The last packet of the longest lane, the arriving packet counted.
        #[default]
        LongestLane = "longest_lane",
        /// The packet that arrives.
        Arriving = "arriving",
    }
}

params! {
    /// Settings of [`Sfq`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SfqConfig {
        /// Number of lanes.
        lanes: u16 as "lanes" = 1024, at_least(1), "a packet needs a lane";
        /// How often the hash changes.
        perturb: Duration = Duration::from_secs(10),
            rule("0s (never), or at least 1ms", |c| {
                c.perturb.is_zero() || c.perturb >= Duration::from_millis(1)
            }), "each change sorts the packets that wait";
        /// Amount that a lane may send in one turn; a size makes it deficit round robin.
        quantum: Quantum = Quantum::Packet;
        /// The victim when the queue is full.
        overflow: Overflow = Overflow::LongestLane;
        /// Most that one lane holds; the packet that arrives above it is dropped.
        lane_limit: Limit = Limit::Unlimited;
    }
}

/// One lane: its packets, and its place in the ring of active lanes.
#[derive(Clone, Copy, Debug)]
struct LaneState {
    list: List,
    /// Bytes that it may still send in this turn; positive while it has the turn.
    deficit: i64,
    next: Lane,
    prev: Lane,
}

const EMPTY: LaneState = LaneState { list: List::EMPTY, deficit: 0, next: 0, prev: 0 };

/// Stochastic fairness queueing. Memory: 40 bytes a lane from the first packet on, 80 bytes a
/// packet at the peak.
#[derive(Clone, Debug)]
pub struct Sfq {
    config: SfqConfig,
    /// Quantum in bytes; 0 for turns of one packet.
    quantum: i64,
    key: u64,
    perturbation: u64,
    /// Number of the perturbation period.
    period: u64,
    lanes: Vec<LaneState>,
    pool: Pool,
    /// The lane that has the turn, if any lane is active.
    current: Lane,
    /// The packets on their way to other lanes and their places; kept for its memory.
    moving: Vec<(u32, Queued)>,
}

impl Sfq {
    /// SFQ with the settings of `config`, with the hash keyed by `key`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &SfqConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let quantum = match config.quantum {
            Quantum::Packet => 0,
            Quantum::Bytes(Bytes(b)) => b.cast_signed(),
        };
        Ok(Self {
            config: *config,
            quantum,
            key,
            perturbation: mix(key ^ mix(0)),
            period: 0,
            lanes: Vec::new(),
            pool: Pool::new(),
            current: 0,
            moving: Vec::new(),
        })
    }

    /// Allocates the lanes at the first packet; an unused queue stays small.
    fn materialise(&mut self) {
        if self.lanes.is_empty() {
            self.lanes.resize(usize::from(self.config.lanes), EMPTY);
        }
    }

    /// Adds the empty `lane` at the end of the round, just before the lane with the turn, with a
    /// full deficit.
    fn activate(&mut self, lane: Lane) {
        if self.pool.len() == 0 {
            self.current = lane;
        }
        let next = self.current;
        let prev = if next == lane { lane } else { self.lanes[usize::from(next)].prev };
        let state = &mut self.lanes[usize::from(lane)];
        (state.next, state.prev, state.deficit) = (next, prev, self.quantum);
        self.lanes[usize::from(prev)].next = lane;
        self.lanes[usize::from(next)].prev = lane;
    }

    /// Removes `lane` from the round if it is empty now; if it had the turn, the turn passes on.
    fn deactivate_if_empty(&mut self, lane: Lane) {
        let LaneState { list, next, prev, .. } = self.lanes[usize::from(lane)];
        if !list.is_empty() {
            return;
        }
        self.lanes[usize::from(prev)].next = next;
        self.lanes[usize::from(next)].prev = prev;
        if self.current == lane {
            self.current = next;
            self.settle();
        }
    }

    /// Passes the turn on until a lane that may send has it. Each lane passed over earns a quantum.
    fn settle(&mut self) {
        if self.quantum == 0 || self.pool.len() == 0 {
            return;
        }
        while self.lanes[usize::from(self.current)].deficit <= 0 {
            let state = &mut self.lanes[usize::from(self.current)];
            state.deficit += self.quantum;
            self.current = state.next;
        }
    }

    fn state(&self, lane: Lane) -> &LaneState {
        self.lanes.get(usize::from(lane)).unwrap_or(&EMPTY)
    }

    /// Length of a lane in the unit of its turns.
    fn length(&self, lane: &LaneState) -> u64 {
        if self.quantum == 0 { u64::from(lane.list.packets()) } else { lane.list.bytes() }
    }

    /// Moves all packets to the lanes of the current perturbation in order of arrival. Packets of
    /// one instant keep the order of their lanes, so packets of a flow keep their order.
    fn rehash(&mut self) {
        let mut moving = core::mem::take(&mut self.moving);
        for lane in &mut self.lanes {
            let popped = core::iter::from_fn(|| self.pool.pop_front(&mut lane.list));
            for queued in popped {
                moving.push((moving.len() as u32, queued));
            }
        }
        // A stable sort would need memory.
        moving.sort_unstable_by_key(|(place, queued)| (queued.packet.enqueued, *place));
        for (_, queued) in moving.drain(..) {
            let lane = self.lane_of(&queued.packet);
            self.push_back(lane, queued);
        }
        self.moving = moving;
    }

    /// Moves the active `lane` to just before the lane that has the turn.
    fn move_before_current(&mut self, lane: Lane) {
        if lane == self.current {
            return;
        }
        let LaneState { next, prev, .. } = self.lanes[usize::from(lane)];
        self.lanes[usize::from(prev)].next = next;
        self.lanes[usize::from(next)].prev = prev;
        let next = self.current;
        let prev = self.lanes[usize::from(next)].prev;
        let state = &mut self.lanes[usize::from(lane)];
        (state.next, state.prev) = (next, prev);
        self.lanes[usize::from(prev)].next = lane;
        self.lanes[usize::from(next)].prev = lane;
    }
}

impl Discipline for Sfq {
    fn lanes(&self) -> u32 {
        u32::from(self.config.lanes)
    }

    fn reshuffle(&mut self, now: Instant) -> bool {
        if self.config.perturb.is_zero() {
            return false;
        }
        let period = now.as_nanos() / self.config.perturb.as_nanos();
        if period == self.period {
            return false;
        }
        self.period = period;
        self.perturbation = mix(self.key ^ mix(period));
        let moved = self.pool.len() > 0;
        if moved {
            self.rehash();
        }
        moved
    }

    fn lane_of(&self, packet: &Packet) -> Lane {
        let hash = mix(u64::from(packet.flow_hash) ^ self.perturbation) >> 32;
        ((hash * u64::from(self.config.lanes)) >> 32) as Lane
    }

    fn lane_admits(&self, lane: Lane, size: u32) -> bool {
        let state = self.state(lane);
        self.config.lane_limit.admits(state.list.packets(), state.list.bytes(), size)
    }

    fn push_back(&mut self, lane: Lane, queued: Queued) {
        self.materialise();
        if self.state(lane).list.is_empty() {
            self.activate(lane);
        }
        self.pool.push_back(&mut self.lanes[usize::from(lane)].list, queued);
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        self.materialise();
        if self.state(lane).list.is_empty() {
            self.activate(lane);
        } else {
            // The credit of the delivery is paid back, up to one turn's quantum.
            let state = &mut self.lanes[usize::from(lane)];
            state.deficit = (state.deficit + i64::from(queued.packet.size)).min(self.quantum);
            self.move_before_current(lane);
        }
        self.pool.push_front(&mut self.lanes[usize::from(lane)].list, queued);
        self.current = lane;
    }

    #[inline]
    fn turn(&self) -> Option<Lane> {
        if self.pool.len() == 0 { None } else { Some(self.current) }
    }

    #[inline]
    fn head(&self, lane: Lane) -> Option<&Queued> {
        self.pool.head(&self.state(lane).list)
    }

    fn lane_bytes(&self, lane: Lane) -> Option<u64> {
        Some(self.state(lane).list.bytes())
    }

    fn pop(&mut self, lane: Lane) -> Option<Queued> {
        let queued = self.pool.pop_front(&mut self.lanes.get_mut(usize::from(lane))?.list)?;
        self.deactivate_if_empty(lane);
        Some(queued)
    }

    fn served(&mut self, lane: Lane, size: u32) {
        // A lane that the pop emptied has already passed on its turn.
        if self.current != lane {
            return;
        }
        let state = &mut self.lanes[usize::from(lane)];
        if self.quantum == 0 {
            self.current = state.next;
        } else {
            state.deficit -= i64::from(size);
            self.settle();
        }
    }

    fn victim(&self, arriving: Lane, size: u32) -> Option<Victim> {
        if self.config.overflow == Overflow::Arriving || self.pool.len() == 0 {
            return None;
        }
        let own = self.state(arriving);
        let mut longest = self.length(own) + if self.quantum == 0 { 1 } else { u64::from(size) };
        let mut victim = None;
        let mut lane = self.current;
        loop {
            let state = self.state(lane);
            let length = self.length(state);
            if length > longest {
                (longest, victim) = (length, Some(Victim::last_of(lane)));
            }
            lane = state.next;
            if lane == self.current {
                return victim;
            }
        }
    }

    fn pop_tail(&mut self, lane: Lane) -> Option<Queued> {
        let queued = self.pool.pop_back(&mut self.lanes.get_mut(usize::from(lane))?.list)?;
        self.deactivate_if_empty(lane);
        Some(queued)
    }

    #[inline]
    fn len(&self) -> usize {
        self.pool.len()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
        for lane in 0..self.lanes.len() {
            let list = &mut self.lanes[lane].list;
            if !list.is_empty() {
                self.pool.retain(list, |queued| keep(lane as Lane, queued));
                self.deactivate_if_empty(lane as Lane);
            }
        }
    }

    fn reserve(&mut self, packets: usize) {
        self.materialise();
        self.pool.reserve(packets);
        if !self.config.perturb.is_zero() {
            self.moving.reserve_exact(packets);
        }
    }
}
