//! One timer per UE: a heap that has the place of each UE.
//!
//! A timer that moves later fires early and is then set again. So an event that only postpones a
//! deadline costs nothing, and nearly all events are of this kind.

use alloc::vec::Vec;
use justfull_base::Instant;

/// The timer of a UE.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Instant,
    /// Its place in the heap, while it is on.
    place: usize,
}

impl Timer {
    const OFF: Self = Self { at: Instant::NEVER, place: 0 };
}

#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// UEs whose timer is on. The parent of the entry at `p` is at `(p - 1) / 2` and not after it.
    heap: Vec<(Instant, u32)>,
    /// By UE.
    timers: Vec<Timer>,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self { heap: Vec::new(), timers: Vec::new() }
    }

    /// Memory for `ues` UEs.
    pub(crate) fn reserve(&mut self, ues: usize) {
        self.heap.reserve_exact(ues.saturating_sub(self.heap.len()));
        self.timers.reserve_exact(ues.saturating_sub(self.timers.len()));
    }

    /// Makes the timer of `ue` fire at `at` or earlier.
    pub(crate) fn arm(&mut self, ue: u32, at: Instant) {
        let index = ue as usize;
        if index >= self.timers.len() {
            self.timers.resize(index + 1, Timer::OFF);
        }
        let before = self.timers[index];
        if at >= before.at {
            return;
        }
        if before.at == Instant::NEVER {
            self.heap.push((at, ue));
            self.rise(self.heap.len() - 1, (at, ue));
        } else {
            self.rise(before.place, (at, ue));
        }
    }

    /// Turns the timer of `ue` off.
    pub(crate) fn disarm(&mut self, ue: u32) {
        let on = self.timers.get(ue as usize).filter(|timer| timer.at != Instant::NEVER);
        if let Some(timer) = on {
            self.remove(timer.place);
        }
    }

    /// The earliest timer.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|&(at, _)| at)
    }

    /// A UE whose timer has fired by `now`; its timer is then off.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<u32> {
        let &(_, ue) = self.heap.first().filter(|&&(at, _)| at <= now)?;
        self.remove(0);
        Some(ue)
    }

    fn remove(&mut self, place: usize) {
        self.timers[self.heap[place].1 as usize] = Timer::OFF;
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            self.rise(place, last);
            self.sink(self.timers[last.1 as usize].place, last);
        }
    }

    fn put(&mut self, place: usize, entry: (Instant, u32)) {
        self.heap[place] = entry;
        self.timers[entry.1 as usize] = Timer { at: entry.0, place };
    }

    /// Puts `entry` at `place` or above, where its parent is before it.
    fn rise(&mut self, mut place: usize, entry: (Instant, u32)) {
        while place > 0 && entry < self.heap[(place - 1) / 2] {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, entry);
    }

    /// Puts `entry` at `place` or below, where its children are after it.
    fn sink(&mut self, mut place: usize, entry: (Instant, u32)) {
        loop {
            let children = self.heap.iter().enumerate().skip(2 * place + 1).take(2);
            let Some((child, &least)) = children.min_by_key(|(_, entry)| **entry) else { break };
            if entry <= least {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_timer_fires_once_at_its_earliest_time() {
        let at = Instant::from_nanos;
        let mut timers = Timers::new();
        timers.arm(0, at(30));
        timers.arm(1, at(20));
        timers.arm(0, at(10));
        timers.arm(0, at(40));
        assert_eq!((timers.next(), timers.pop(at(5))), (Some(at(10)), None));
        assert_eq!(timers.pop(at(50)), Some(0));
        assert_eq!(timers.next(), Some(at(20)));
        timers.disarm(1);
        assert_eq!((timers.next(), timers.pop(at(50))), (None, None));
    }

    proptest! {
        #[test]
        fn timers_fire_in_order_and_take_one_entry_for_each_ue(
            steps in prop::collection::vec((0_u32..12, 0_u64..50, 0_u8..5), 1..400),
        ) {
            let (mut timers, mut plain) = (Timers::new(), BTreeMap::new());
            timers.reserve(12);
            let room = timers.heap.capacity();
            for (ue, at, what) in steps {
                let at = Instant::from_nanos(at);
                match what {
                    0 => {
                        timers.disarm(ue);
                        plain.remove(&ue);
                    }
                    1 => {
                        let first = plain.iter().map(|(&ue, &at)| (at, ue)).min();
                        let due = first.filter(|&(first, _)| first <= at).map(|(_, ue)| ue);
                        prop_assert_eq!(timers.pop(at), due);
                        plain.retain(|&ue, _| Some(ue) != due);
                    }
                    _ => {
                        timers.arm(ue, at);
                        let before = plain.entry(ue).or_insert(at);
                        *before = at.min(*before);
                    }
                }
                prop_assert_eq!(timers.next(), plain.values().min().copied());
                prop_assert_eq!(timers.heap.capacity(), room);
            }
        }
    }
}
