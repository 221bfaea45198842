//! Lanes from a pool: a flow has a lane of its own while it has packets and for a while after, so
//! memory follows the number of flows.
//!
//! A lane that had no packet for [`IDLE`] goes to the next new flow that finds it among a few; else
//! the pool grows, up to its number. When all lanes are taken, any lane without packets will do,
//! and when there is none, a new flow shares the lane of its hash.

use super::{EMPTY, LaneState};
use crate::discipline::Lane;
use alloc::vec::Vec;
use justfull_base::rng::mix;
use justfull_base::{Duration, Instant, Packet};

/// Time without a packet after which a lane may go to another flow: longer than most pauses.
const IDLE: Duration = Duration::from_secs(10);
/// Lanes at which a new flow looks before the pool grows.
const LOOKED: usize = 4;
/// End of a bucket's chain.
const END: Lane = Lane::MAX;
/// `next` of a lane that no flow has.
pub(super) const FREE: Lane = Lane::MAX - 1;

/// The lane of each flow.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    key: u64,
    number: usize,
    /// First lane of the flows whose hash ends in the index; the others follow by `next`. As many
    /// as the next power of two of the lanes.
    buckets: Vec<Lane>,
    /// The first lane at which the next new flow looks.
    hand: usize,
}

/// Milliseconds of `at`, which wrap after 49 days.
fn millis(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

impl Slots {
    pub(super) const fn new(number: u16, key: u64) -> Self {
        Self { key, number: number as usize, buckets: Vec::new(), hand: 0 }
    }

    fn hash(&self, flow: u32) -> usize {
        (mix(u64::from(flow) ^ self.key) >> 32) as usize
    }

    fn bucket(&self, flow: u32) -> usize {
        self.hash(flow) & (self.buckets.len() - 1)
    }

    /// The lane of `packet`: its flow's own, or the lane that its flow will take.
    pub(super) fn lane_of(&self, lanes: &[LaneState], packet: &Packet) -> Lane {
        if let Some(own) = self.find(lanes, packet.flow_hash) {
            return own;
        }
        let home = (self.hash(packet.flow_hash) % self.number) as Lane;
        if lanes.get(usize::from(home)).is_some_and(|state| state.shared) {
            return home;
        }
        self.vacant(lanes, millis(packet.enqueued)).unwrap_or(home)
    }

    fn find(&self, lanes: &[LaneState], flow: u32) -> Option<Lane> {
        if self.buckets.is_empty() {
            return None;
        }
        let mut lane = self.buckets[self.bucket(flow)];
        while lane != END {
            let state = &lanes[usize::from(lane)];
            if state.flow == flow {
                return Some(lane);
            }
            lane = state.next;
        }
        None
    }

    /// The lane that the next new flow takes.
    fn vacant(&self, lanes: &[LaneState], now: u32) -> Option<Lane> {
        let at_rest = |lane: &usize| lanes[*lane].list.is_empty() && !lanes[*lane].listed;
        let idle = |lane: &usize| {
            let rests = u64::from(now.wrapping_sub(lanes[*lane].since));
            at_rest(lane) && Duration::from_millis(rests) >= IDLE
        };
        let looked = LOOKED.min(lanes.len());
        let found = (self.hand..self.hand + looked).map(|lane| lane % lanes.len()).find(idle);
        let found = found.or_else(|| (lanes.len() < self.number).then_some(lanes.len()));
        found.or_else(|| (0..lanes.len()).find(at_rest)).map(|lane| lane as Lane)
    }

    /// `packet` enters `lane`, which has no other: it is its flow's now.
    pub(super) fn take(&mut self, lanes: &mut Vec<LaneState>, lane: Lane, packet: &Packet) {
        let (at, flow) = (usize::from(lane), packet.flow_hash);
        if at >= lanes.len() {
            self.hand += LOOKED;
            lanes.resize(at + 1, EMPTY);
        } else if lanes[at].flow != flow {
            self.hand = at + 1;
        }
        self.hand %= lanes.len();
        if lanes.len() > self.buckets.len() {
            let buckets = lanes.len().next_power_of_two();
            self.widen(lanes, buckets);
        }
        if lanes[at].next != FREE && lanes[at].flow == flow {
            return;
        }
        self.unlink(lanes, lane);
        let bucket = self.bucket(flow);
        // A lane that still waits for its turn without packets stays on its list.
        let next = self.buckets[bucket];
        lanes[at] = LaneState { flow, next, due: 0, shared: false, ..lanes[at] };
        self.buckets[bucket] = lane;
    }

    /// Takes `lane` from its flow.
    fn unlink(&mut self, lanes: &mut [LaneState], lane: Lane) {
        let LaneState { flow, next, .. } = lanes[usize::from(lane)];
        if next == FREE {
            return;
        }
        let bucket = self.bucket(flow);
        if self.buckets[bucket] == lane {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket];
        while lanes[usize::from(before)].next != lane {
            before = lanes[usize::from(before)].next;
        }
        lanes[usize::from(before)].next = next;
    }

    /// Makes `buckets` buckets, a power of two.
    fn widen(&mut self, lanes: &mut [LaneState], buckets: usize) {
        self.buckets = alloc::vec![END; buckets];
        for (lane, state) in lanes.iter_mut().enumerate() {
            if state.next != FREE {
                let bucket = self.bucket(state.flow);
                state.next = core::mem::replace(&mut self.buckets[bucket], lane as Lane);
            }
        }
    }

    /// Notes that a packet enters a lane in `state`.
    pub(super) fn touch(state: &mut LaneState, packet: &Packet) {
        state.since = millis(packet.enqueued);
    }

    /// Allocates the buckets of all lanes.
    pub(super) fn reserve(&mut self, lanes: &mut Vec<LaneState>) {
        lanes.reserve_exact(self.number - lanes.len());
        let all = self.number.next_power_of_two();
        if self.buckets.len() < all {
            self.widen(lanes, all);
        }
    }
}
