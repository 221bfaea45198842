//! Data that only some queues keep: an AQM's needs ([`Needs`]), the rate of a bearer, and held
//! packets.

use crate::aqm::Needs;
use crate::counters::{Count, Withheld};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use justfull_base::{BitRate, Instant, Packet};

/// Data of a queue, behind a pointer: most queues have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Times at which the packets of the queue, waiting and reserved, were enqueued, in order.
    ages: Option<VecDeque<Instant>>,
    flows: Option<Box<Flows>>,
    /// The last timeout given to the driver that has not come yet.
    pub(super) armed: Instant,
    /// Rate at which the layer below serves the queue; none if unknown.
    pub(super) service_rate: Option<BitRate>,
    /// Departed packets that still count as reserved.
    pub(super) held: Count,
    /// The layer below could serve no packet before this instant.
    pub(super) served_from: Instant,
    /// L4S packets that have left, if another node marks them.
    pub(super) withheld: Withheld,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            ages: None,
            flows: None,
            armed: Instant::NEVER,
            service_rate: None,
            held: Count::default(),
            served_from: Instant::ZERO,
            withheld: Withheld::default(),
        }
    }
}

impl Memory {
    /// The data for `needs`; none if there are no needs.
    pub(super) fn of(needs: Needs) -> Option<Box<Self>> {
        let keeps = needs.oldest || needs.new_flows || needs.timeouts;
        keeps.then(|| {
            Box::new(Self {
                ages: needs.oldest.then(VecDeque::new),
                flows: needs.new_flows.then(Flows::boxed),
                ..Self::default()
            })
        })
    }

    /// Allocates room for the ages of `packets` packets.
    pub(super) fn reserve(&mut self, packets: usize) {
        if let Some(ages) = &mut self.ages {
            ages.reserve_exact(packets.saturating_sub(ages.len()));
        }
    }

    /// Time at which the oldest packet in the queue was enqueued.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.ages.as_ref()?.front().copied()
    }

    /// True if `packet` belongs to no known flow.
    pub(super) fn is_new(&self, packet: &Packet) -> bool {
        self.flows.as_ref().is_some_and(|flows| !flows.has(packet.flow_hash))
    }

    /// `packet` enters the queue; none entered later.
    pub(super) fn enter(&mut self, packet: &Packet) {
        if let Some(ages) = &mut self.ages {
            debug_assert!(ages.back().is_none_or(|last| *last <= packet.enqueued));
            ages.push_back(packet.enqueued);
        }
        if let Some(flows) = &mut self.flows {
            flows.note(packet.flow_hash);
        }
    }

    /// `packet` has left the queue, downwards or dropped.
    pub(super) fn leave(&mut self, packet: &Packet) {
        let Some(ages) = &mut self.ages else { return };
        if ages.front() == Some(&packet.enqueued) {
            ages.pop_front();
            return;
        }
        let found = ages.binary_search(&packet.enqueued);
        debug_assert!(found.is_ok(), "packet {} is not in the queue", packet.id);
        if let Ok(at) = found {
            ages.remove(at);
        }
    }
}

/// Sets of the table of flows.
const SETS: usize = 256;

/// Flows in a set.
const WAYS: usize = 4;

/// The last seen flows: 256 sets of 4 hashes of 5-tuples, 4 KiB. In a set the last seen flow comes
/// first and the last one makes room.
///
/// A flow leaves its set after packets of four other flows of the set, and then counts as new
/// again. Among n active flows with random hashes a flow shares its set with four or more with
/// probability P(Poisson((n - 1) / 256) >= 4): 0.01 % of 64 flows, 1.9 % of 256 flows. A flow whose
/// 32-bit hash equals a stored one (n / 2^32) is never new.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flows {
    sets: [[u32; WAYS]; SETS],
}

impl Flows {
    fn boxed() -> Box<Self> {
        Box::new(Self { sets: [[0; WAYS]; SETS] })
    }

    /// The set of `hash`, and its mark there: 0 means a free place.
    const fn place(hash: u32) -> (usize, u32) {
        (hash as usize % SETS, if hash == 0 { 1 << 31 } else { hash })
    }

    fn has(&self, hash: u32) -> bool {
        let (set, mark) = Self::place(hash);
        self.sets[set].contains(&mark)
    }

    fn note(&mut self, hash: u32) {
        let (set, mark) = Self::place(hash);
        let set = &mut self.sets[set];
        let at = set.iter().position(|known| *known == mark).unwrap_or(WAYS - 1);
        set.copy_within(..at, 1);
        set[0] = mark;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::rng::Rng;

    #[test]
    fn the_table_has_the_stated_size_and_the_flow_seen_longest_ago_makes_room() {
        assert_eq!(size_of::<Flows>(), 4096);
        let mut flows = Flows::boxed();
        let of_one_set = |n: u32| 7 + n * SETS as u32;
        (0..4).for_each(|n| flows.note(of_one_set(n)));
        flows.note(of_one_set(0));
        flows.note(of_one_set(4));
        let known = [0, 1, 2, 3, 4].map(|n| flows.has(of_one_set(n)));
        assert_eq!(known, [true, false, true, true, true]);
        assert!(!flows.has(0), "a free place is no flow");
        flows.note(0);
        assert!(flows.has(0) && !flows.has(SETS as u32));
    }

    #[test]
    fn as_few_active_flows_are_told_as_new_again_as_stated() {
        let mut rng = Rng::stream(1, "flows");
        for (active, most) in [(64, 0.001), (256, 0.03)] {
            let (mut again, mut packets) = (0, 0);
            for _ in 0..20 {
                let hashes: std::vec::Vec<u32> =
                    (0..active).map(|_| rng.next_u64() as u32).collect();
                let mut flows = Flows::boxed();
                hashes.iter().for_each(|hash| flows.note(*hash));
                for _ in 0..20 * active {
                    let hash = hashes[rng.below(active) as usize];
                    again += u64::from(!flows.has(hash));
                    flows.note(hash);
                    packets += 1;
                }
            }
            let share = again as f64 / packets as f64;
            assert!(share <= most, "{share} of the packets of {active} flows");
        }
    }

    #[test]
    fn the_oldest_is_known_whichever_packets_leave() {
        let needs = Needs { oldest: true, ..Needs::default() };
        let mut memory = Memory::of(needs).expect("it needs some of it");
        let packet = |ms: u64| Packet {
            enqueued: Instant::ZERO + justfull_base::Duration::from_millis(ms),
            ..Packet::default()
        };
        [1, 2, 2, 3, 5].iter().for_each(|ms| memory.enter(&packet(*ms)));
        for (left, oldest) in [(3, 1), (1, 2), (2, 2), (2, 5)] {
            memory.leave(&packet(left));
            assert_eq!(memory.oldest(), Some(packet(oldest).enqueued), "after {left}");
        }
        memory.leave(&packet(5));
        assert_eq!((memory.oldest(), memory.is_new(&packet(9))), (None, false));
        assert_eq!(Memory::of(Needs::default()), None);
    }
}
