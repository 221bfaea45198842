//! FQ-CoDel: flows are hashed to lanes, lanes take turns in bytes, sparse flows first, and each
//! lane has its own CoDel.
//!
//! Source: RFC 8290; section 4.1 (enqueue), 4.2 (dequeue), 5.2 (parameters). The turns are deficit
//! round robin with two lists, new and old lanes, after M. H. MacGregor and W. Shi, "Deficits for
//! Bursty Latency-critical Flows: DRR++", 2000. CoDel is RFC 8289's, in [`crate::aqm::codel`], with
//! a state per lane.
//!
//! Controls who waits for whom and, through CoDel, for how long:
//! - lane = hash(`flow_hash`, key) mod `lanes`; the key is the queue's own, so that collisions
//!   differ from queue to queue.
//! - With `ways` above 1 that lane belongs to a set of `ways` lanes, and a flow takes another lane
//!   of the set if that lane holds another flow's packets (T. Hoeiland-Joergensen and others,
//!   "Piece of CAKE", 2018: eight ways). A flow keeps its lane until another flow takes it while it
//!   is empty.
//! - A lane that gets a packet while it is on no list joins the end of the *new* lanes with
//!   `quantum` credits.
//! - A dequeue examines the first of the new lanes, or the first of the old lanes if there is no
//!   new lane. A lane without credits earns a quantum and goes to the end of the old lanes. A new
//!   lane without packets goes there too, so that a flow that comes back at once cannot starve the
//!   old ones; an old lane without packets leaves the lists. In any other lane CoDel decides: a
//!   delivered packet costs as many credits as it has bytes, a dropped packet costs none.
//! - `turns = "by_share"` is this project's: a flow that sends less than its share always goes
//!   first. A lane is served once its credits pay for its first packet (deficit round robin of M.
//!   Shreedhar and G. Varghese, 1995); with a `quantum` below one packet, the first packets of many
//!   new flows then do not all go before a call's. A lane without packets leaves its list at its
//!   turn. It is new again once virtual time shows that it has had no more than its share (S. J.
//!   Golestani's self-clocked fair queueing, 1994); until then it joins the old lanes with its
//!   credits. In RFC 8290 a lane waits for one whole round of the others, which on a slow radio is
//!   longer than a call's 20 ms.
//! - A packet that finds the queue full costs the lane with most bytes (the packet counted) half of
//!   its packets from the head, at least one and at most `drop_batch`.
//!
//! Defaults are those of section 5.2: 1024 lanes, 1514 B, 5 ms, 100 ms, marks, no CE threshold,
//! batches of 64. The packet limit is the `limit` of the queue; section 5.2.3 starts from 10 240
//! packets, here a queue has 1024 by default. Memory: 52 bytes a lane and 40 for its CoDel (64 more
//! with `reserve`), all allocated once, at the first packet; 80 bytes a packet at the peak.
//!
//! Known weaknesses: flows that share a lane share its fate (ten flows in 1024 lanes: 4 %, with
//! eight ways only when more than eight of a set have packets); the
//! delay of a lane is bounded by CoDel only where the layer below holds little, so that a RAN needs
//! a limiter under it; a target below the time between two pulls is never met.
//!
//! Deviations from RFC 8290:
//! - Room is made before the arriving packet is stored, so that its number is at most the limit at
//!   every instant. The lane and the number of victims equal the RFC's after storing it; a packet
//!   alone in the largest lane is itself the victim.
//! - A lane that an overflow empties no longer counts as above the target, since it is empty. In
//!   the RFC this takes effect at its next dequeue.
//! - The MTU below which CoDel spares a packet is 1500 B, measured in the packet's own lane as RFC
//!   8289 section 5.6 has it.
//! - Credits of exactly zero pass the turn on: the lane "has already dequeued at least a quantum"
//!   (section 4.2).
//! - A packet that the layer below gives back is the next; its lane is moved to the front and gets
//!   its credits back.

pub mod lanes;
mod slots;
mod steady;

use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use crate::aqm::AqmConfig;
use crate::aqm::CoDelConfig;
use crate::pool::{List, Pool};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::rng::mix;
use justfull_base::{Bytes, ConfigError, Duration, Packet, choice, params};
use slots::Slots;

impl DisciplineSettings for FqCoDelConfig {
    /// RFC 8290 section 4.2: each lane has a CoDel, which is set with the discipline.
    fn own_aqm(&self) -> Option<AqmConfig> {
        Some(AqmConfig::CoDel(self.codel()))
    }
}

/// Describes FQ-CoDel.
pub const DOC: MethodDoc = MethodDoc {
    name: "fq_codel",
    kind: "discipline",
    title: "FQ-CoDel: fair lanes, sparse flows first, a CoDel for each lane (RFC 8290)",
    text: "Flows are hashed to lanes; lanes take turns of `quantum` bytes, and a lane that had \
           nothing to send goes before those that have been sending. Each lane has its own CoDel, \
           so the queue takes no other AQM. A full queue drops from the head of the lane with \
           most bytes.",
    sources: "RFC 8290 sections 4 and 5.2; RFC 8289",
    deviations: "Room is made before the arriving packet is stored; a lane emptied by an overflow \
                 leaves the dropping state; the limit is the queue's (1024 packets unless set; \
                 the RFC starts from 10 240).",
    params: FqCoDelConfig::params,
};

choice! {
    /// Which lane is next.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Turns {
        /// New lanes, then old ones, while they have credits (RFC 8290 section 4.2).
        #[default]
        Rfc8290 = "rfc8290",
        /// The same once they have credits for their first packet; new is whoever had no more than
        /// its share.
        ByShare = "by_share",
    }
}

params! {
    /// Settings of [`FqCoDel`] and of the CoDel of its lanes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FqCoDelConfig {
        /// Number of lanes.
        lanes: u16 as "lanes" = 1024, at_least(1), "a packet needs a lane";
        /// Lanes among which a flow finds one that holds no other flow's packets; 1, as the RFC's:
        /// the hash decides alone.
        ways: u8 as "lanes" = 1, within(1, 16), "a set of lanes is searched for each packet";
        /// Bytes that a lane may send in one turn, on average.
        quantum: Bytes = Bytes(1514),
            within(Bytes(256), Bytes(16 << 20)), "RFC 8290 section 5.2.4: about one packet";
        /// Which lane is next.
        turns: Turns = Turns::Rfc8290;
        /// Most packets that one overflow costs the largest lane.
        drop_batch: u32 as "packets" = 64,
            at_least(1), "RFC 8290 section 4.1: an overflow makes room";
        /// Sojourn time below which a lane's CoDel signals nothing.
        target: Duration = CoDelConfig::default().target,
            stated("above 0s, at most the interval");
        /// How long a lane's sojourn time must stay above the target before the first signal.
        interval: Duration = CoDelConfig::default().interval, stated("1us to 1h");
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = CoDelConfig::default().ecn;
        /// Mark every ECN-capable packet that waited longer than this, whatever CoDel says.
        ce_threshold: Duration = CoDelConfig::default().ce_threshold,
            stated("any, 0s for off; 0s without ecn");
        /// Mark every packet with ECT(1) that waited longer than this, and mark it also where CoDel
        /// signals, in place of a drop; 0s for off.
        l4s_threshold: Duration = CoDelConfig::default().l4s_threshold,
            stated("any, 0s for off; 0s without ecn");
        /// A packet is below the target while no more left its lane since it came than the radio
        /// could send in this time at its greatest rate of late; 0s for off.
        reserve: Duration = CoDelConfig::default().reserve,
            stated("0s for off, else the target to 1s");
        /// With `reserve`: a packet that has waited this long is above the target all the same.
        ceiling: Duration = CoDelConfig::default().ceiling, stated("at least reserve");
        /// With `reserve`: time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = CoDelConfig::default().memory, stated("100ms to 1h");
        /// Drop a packet that has waited this long while more than four of its size are behind it
        /// in its lane, whatever CoDel says; 0s for off.
        deadline: Duration = CoDelConfig::default().deadline,
            stated("0s for off, else above the target");
        /// Time over which the queue's rate is averaged: while it is lower, all of CoDel's times
        /// but `ce_threshold` pass as much more slowly; 0s for off.
        dip: Duration = CoDelConfig::default().dip, stated("0s for off, else 100ms to 1h");
        /// A lane drops at most one packet per this many packets that it passes; 0 for no bound.
        spacing: u32 as "packets" = CoDelConfig::default().spacing, stated("0 to 1000");
    }
    check |c| c.codel().validate();
}

impl FqCoDelConfig {
    /// Settings of the lanes' CoDel.
    #[must_use]
    pub fn codel(&self) -> CoDelConfig {
        CoDelConfig {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            l4s_threshold: self.l4s_threshold,
            reserve: self.reserve,
            ceiling: self.ceiling,
            memory: self.memory,
            deadline: self.deadline,
            dip: self.dip,
            spacing: self.spacing,
            ..CoDelConfig::default()
        }
    }
}

/// One lane: its packets, its credits, and the list that it is on.
#[derive(Clone, Copy, Debug)]
struct LaneState {
    list: List,
    /// In bytes; at zero or below the turn passes on.
    credits: i32,
    listed: bool,
    /// By share: the virtual time until which it has had its share.
    due: u64,
    /// With ways: hash of the flow that took it when it was empty, and whether packets of others
    /// have joined it since.
    flow: u32,
    shared: bool,
    /// From a pool: when a packet last came, in ms, and the next lane of the flow's bucket.
    since: u32,
    next: Lane,
}

/// Parts of a byte, the unit of virtual time.
const SHARES: u64 = 1 << 16;

const EMPTY: LaneState = LaneState {
    list: List::EMPTY,
    credits: 0,
    listed: false,
    due: 0,
    flow: 0,
    shared: false,
    since: 0,
    next: slots::FREE,
};

/// The flow queues of FQ-CoDel. [`crate::ManagedQueue`] adds the CoDel of their lanes.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    key: u64,
    quantum: i32,
    turns: Turns,
    ways: u16,
    drop_batch: u32,
    number: u16,
    /// The lane of each flow, if lanes are from a pool.
    slots: Option<Slots>,
    lanes: Vec<LaneState>,
    pool: Pool,
    new: VecDeque<Lane>,
    old: VecDeque<Lane>,
    /// By share: the bytes that a lane with packets all the time would have sent, in `SHARES`ths of
    /// a byte.
    virtual_time: u64,
}

impl FqCoDel {
    /// The queues with the settings of `config`, with the hash keyed by `key`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &FqCoDelConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            key,
            quantum: config.quantum.0 as i32,
            turns: config.turns,
            ways: config.ways.into(),
            drop_batch: config.drop_batch,
            number: config.lanes,
            slots: None,
            lanes: Vec::new(),
            pool: Pool::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            virtual_time: 0,
        })
    }

    /// The same with lanes from a pool.
    fn pooled(config: &FqCoDelConfig, key: u64) -> Result<Self, ConfigError> {
        let slots = Some(Slots::new(config.lanes, key));
        Ok(Self { slots, ..Self::new(config, key)? })
    }

    /// `packet` enters `lane`, which takes its place in the pool, if there is one. Else allocates
    /// all lanes and both lists at the first packet; an unused queue stays small.
    fn open(&mut self, lane: Lane, packet: &Packet) {
        match &mut self.slots {
            Some(slots) => {
                if self.lanes.get(usize::from(lane)).is_none_or(|state| state.list.is_empty()) {
                    slots.take(&mut self.lanes, lane, packet);
                }
                Slots::touch(&mut self.lanes[usize::from(lane)], packet);
            }
            None => self.materialise(),
        }
    }

    fn materialise(&mut self) {
        if self.lanes.is_empty() {
            let number = usize::from(self.number);
            self.lanes = alloc::vec![EMPTY; number];
            self.new.reserve_exact(number);
            self.old.reserve_exact(number);
        }
    }

    /// Least credits with which a lane in `state` is served.
    fn price(&self, state: &LaneState) -> i32 {
        if self.turns == Turns::Rfc8290 {
            return 1;
        }
        self.pool.head(&state.list).map_or(1, |queued| queued.packet.size.cast_signed())
    }

    /// The lane of `packet` in the set of `first`: the lane of its flow, else a lane without
    /// packets, `first` before others. Flows that share `first` keep it until it is empty: packets
    /// of the same flow may wait there.
    fn of_set(&self, first: Lane, packet: &Packet) -> Lane {
        let start = first - first % self.ways;
        let set = start..(start + self.ways).min(self.number);
        let mut set = core::iter::once(first).chain(set);
        let is_own = |lane: &Lane| self.state(*lane).flow == packet.flow_hash;
        let is_free = |lane: &Lane| self.state(*lane).list.is_empty();
        if let Some(own) = set.clone().find(is_own) {
            return own;
        }
        if self.state(first).shared {
            return first;
        }
        set.find(is_free).unwrap_or(first)
    }

    fn state(&self, lane: Lane) -> &LaneState {
        self.lanes.get(usize::from(lane)).unwrap_or(&EMPTY)
    }

    /// Makes `lane` the next to be served, whichever list it is on.
    fn move_to_front(&mut self, lane: Lane) {
        let next = self.new.front().or_else(|| self.old.front());
        if next != Some(&lane) {
            self.new.retain(|l| *l != lane);
            self.old.retain(|l| *l != lane);
            self.new.push_front(lane);
        }
    }
}

impl Discipline for FqCoDel {
    fn lanes(&self) -> u32 {
        u32::from(self.number)
    }

    fn lane_of(&self, packet: &Packet) -> Lane {
        if let Some(slots) = &self.slots {
            return slots.lane_of(&self.lanes, packet);
        }
        let hash = mix(u64::from(packet.flow_hash) ^ self.key) >> 32;
        let first = ((hash * u64::from(self.number)) >> 32) as Lane;
        if self.ways == 1 || self.lanes.is_empty() { first } else { self.of_set(first, packet) }
    }

    fn lane_bytes(&self, lane: Lane) -> Option<u64> {
        Some(self.state(lane).list.bytes())
    }

    fn push_back(&mut self, lane: Lane, queued: Queued) {
        self.open(lane, &queued.packet);
        let state = &mut self.lanes[usize::from(lane)];
        let flow = queued.packet.flow_hash;
        let is_owned = self.ways > 1 || self.slots.is_some();
        if is_owned && state.list.is_empty() {
            state.due = if state.flow == flow { state.due } else { 0 };
            (state.flow, state.shared) = (flow, false);
        }
        state.shared |= is_owned && state.flow != flow;
        self.pool.push_back(&mut state.list, queued);
        if !state.listed {
            state.listed = true;
            if self.turns == Turns::ByShare && state.due > self.virtual_time {
                self.old.push_back(lane);
            } else {
                state.credits = self.quantum;
                self.new.push_back(lane);
            }
        }
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        self.open(lane, &queued.packet);
        let state = &mut self.lanes[usize::from(lane)];
        self.pool.push_front(&mut state.list, queued);
        state.listed = true;
        // A lane is served only while it has credits, so with these back it has some again.
        let size = queued.packet.size;
        let credits = state.credits.saturating_add_unsigned(size);
        state.credits = if self.turns == Turns::ByShare {
            credits.max(size.cast_signed())
        } else {
            credits.min(self.quantum)
        };
        self.move_to_front(lane);
    }

    /// Does not change the lists; [`Self::advance`] does. A lane short of credits is passed over
    /// once for each quantum it lacks, new lanes before old ones in each round.
    fn turn(&self) -> Option<Lane> {
        let mut least: Option<(i32, Lane)> = None;
        for &lane in self.new.iter().chain(&self.old) {
            let state = &self.lanes[usize::from(lane)];
            if state.list.is_empty() {
                continue;
            }
            let short = self.price(state) - state.credits;
            if short <= 0 {
                return Some(lane);
            }
            let rounds = (short - 1) / self.quantum;
            if least.is_none_or(|(fewest, _)| rounds < fewest) {
                least = Some((rounds, lane));
            }
        }
        least.map(|(_, lane)| lane)
    }

    /// RFC 8290 section 4.2, the first part of a dequeue, including lanes without packets.
    fn advance(&mut self) -> Option<Lane> {
        loop {
            let is_new = !self.new.is_empty();
            let lane = *if is_new { &self.new } else { &self.old }.front()?;
            let price = self.price(self.state(lane));
            let state = &mut self.lanes[usize::from(lane)];
            let pays = state.credits >= price;
            if pays && !state.list.is_empty() {
                return Some(lane);
            }
            if is_new { &mut self.new } else { &mut self.old }.pop_front();
            if self.turns == Turns::ByShare && state.list.is_empty() {
                state.listed = false;
            } else if !pays {
                state.credits += self.quantum;
                self.old.push_back(lane);
            } else if is_new {
                self.old.push_back(lane);
            } else {
                state.listed = false;
            }
        }
    }

    fn head(&self, lane: Lane) -> Option<&Queued> {
        self.pool.head(&self.state(lane).list)
    }

    fn pop(&mut self, lane: Lane) -> Option<Queued> {
        self.pool.pop_front(&mut self.lanes.get_mut(usize::from(lane))?.list)
    }

    fn served(&mut self, lane: Lane, size: u32) {
        let state = &mut self.lanes[usize::from(lane)];
        state.credits = state.credits.saturating_sub_unsigned(size);
        if self.turns == Turns::ByShare {
            let shared = u64::from(size) * SHARES;
            state.due = state.due.max(self.virtual_time) + shared;
            let lanes = (self.new.len() + self.old.len()).max(1) as u64;
            self.virtual_time += shared / lanes;
        }
    }

    fn victim(&self, arriving: Lane, size: u32) -> Option<Victim> {
        let mut largest = (0, 0);
        for (lane, state) in (0..).zip(&self.lanes) {
            let bytes = state.list.bytes() + if lane == arriving { u64::from(size) } else { 0 };
            if bytes > largest.0 {
                largest = (bytes, lane);
            }
        }
        let lane = largest.1;
        let waiting = self.state(lane).list.packets();
        let packets = (waiting + u32::from(lane == arriving)) / 2;
        (waiting > 0).then(|| Victim::first_of(lane, packets.clamp(1, self.drop_batch)))
    }

    fn pop_tail(&mut self, lane: Lane) -> Option<Queued> {
        self.pool.pop_back(&mut self.lanes.get_mut(usize::from(lane))?.list)
    }

    fn len(&self) -> usize {
        self.pool.len()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
        for (lane, state) in (0..).zip(&mut self.lanes) {
            self.pool.retain(&mut state.list, |queued| keep(lane, queued));
        }
    }

    fn reserve(&mut self, packets: usize) {
        match &mut self.slots {
            Some(slots) => {
                slots.reserve(&mut self.lanes);
                let number = usize::from(self.number);
                self.new.reserve_exact(number.saturating_sub(self.new.len()));
                self.old.reserve_exact(number.saturating_sub(self.old.len()));
            }
            None => self.materialise(),
        }
        self.pool.reserve(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fq_codel(config: &FqCoDelConfig) -> FqCoDel {
        FqCoDel::new(config, 5).expect("within bounds")
    }

    fn queued(flow_hash: u32, size: u32) -> Queued {
        Queued { packet: Packet { flow_hash, size, ..Packet::default() }, ..Queued::default() }
    }

    #[test]
    fn the_codel_of_the_lanes_has_the_settings_of_the_queue() {
        let config = FqCoDelConfig {
            target: Duration::from_millis(7),
            interval: Duration::from_millis(70),
            ecn: false,
            ce_threshold: Duration::from_millis(3),
            ..FqCoDelConfig::default()
        };
        let codel = config.codel();
        assert_eq!(
            (codel.target, codel.interval, codel.ecn, codel.ce_threshold),
            (config.target, config.interval, config.ecn, config.ce_threshold)
        );
    }

    #[test]
    fn a_lane_has_the_stated_size() {
        assert_eq!(size_of::<LaneState>() + 2 * size_of::<Lane>(), 52);
    }

    #[test]
    fn memory_covers_the_lanes_once_and_the_most_packets_that_ever_waited() {
        let mut d = fq_codel(&FqCoDelConfig { lanes: 64, ..FqCoDelConfig::default() });
        assert_eq!(
            (d.lanes.capacity(), d.new.capacity(), d.old.capacity()),
            (0, 0, 0),
            "unused, it has no lanes"
        );
        let mut places = None;
        for n in 0..200_000u32 {
            // At most a hundred packets wait; flows come, go and return in changing lanes.
            let p = queued(n.wrapping_mul(0x9e37_79b9) >> (n % 7), 40 + n % 1400);
            d.push_back(d.lane_of(&p.packet), p);
            while d.len() > (n as usize / 50) % 100 {
                let lane = d.advance().expect("some wait");
                let size = d.pop(lane).expect("and are there").packet.size;
                d.served(lane, size);
            }
            let now = (d.lanes.capacity(), d.new.capacity(), d.old.capacity(), d.number);
            assert_eq!(*places.get_or_insert(now), now, "the lanes and lists never grow");
            assert!(d.new.len() + d.old.len() <= 64, "a lane is on one list at most");
        }
        assert!(d.pool.places() <= 101, "{}", d.pool.places());
    }
}
