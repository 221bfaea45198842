//! A timer queue for many members that fire often: a calendar queue (R. Brown, "Calendar queues: a
//! fast O(1) priority queue implementation for the simulation event set problem", 1988).
//!
//! Time is divided into days of a fixed length. An entry for a later day goes into that day's chain
//! in constant time; a day is sorted when it begins. One heap holds entries armed for the current
//! day itself, another holds entries beyond the last day. Members fire in the order of (instant,
//! number), as with one heap for all. Deviation from the source: the length of a day does not
//! depend on the number of entries.

use justfull_base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A day has 2^15 ns; 1024 of them are 33.6 ms, more than the interval of voice.
const DAY_BITS: u32 = 15;
const DAYS: usize = 1024;
const WORDS: usize = DAYS / 64;

/// End of a chain.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    member: u32,
    /// The next entry of the same day, or the next free entry.
    next: u32,
}

/// Lazy timers of many members, like [`Timers`](justfull_run::timers::Timers). Memory: 24 B per
/// member, 4 KiB for the days.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// The current day; its entries, and any due earlier, are in `today` and `near`.
    day: u64,
    /// Entries of the current day armed before it, latest first.
    today: Vec<(Instant, u32)>,
    /// Entries armed during the current day for this day or an earlier one.
    near: BinaryHeap<Reverse<(Instant, u32)>>,
    /// First entry of each of the following days.
    days: Box<[u32; DAYS]>,
    /// One bit for each day that has an entry.
    busy: [u64; WORDS],
    entries: Vec<Entry>,
    free: u32,
    far: BinaryHeap<Reverse<(Instant, u32)>>,
    armed: Vec<Instant>,
    next: Instant,
}

fn day_of(at: Instant) -> u64 {
    at.as_nanos() >> DAY_BITS
}

impl Calendar {
    pub(crate) fn new(members: usize) -> Self {
        Self {
            day: 0,
            today: Vec::with_capacity(64),
            near: BinaryHeap::with_capacity(64),
            days: Box::new([NIL; DAYS]),
            busy: [0; WORDS],
            entries: Vec::with_capacity(members),
            free: NIL,
            far: BinaryHeap::new(),
            armed: vec![Instant::NEVER; members],
            next: Instant::NEVER,
        }
    }

    /// Requests a call for member `i` at `at` or earlier.
    #[inline]
    pub(crate) fn arm(&mut self, i: u32, at: Instant) {
        let armed = &mut self.armed[i as usize];
        if at < *armed {
            *armed = at;
            self.next = self.next.min(at);
            self.insert(at, i);
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The member whose entry is due. The entry is removed: the caller must arm it again.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<u32> {
        if self.next > now {
            return None;
        }
        if self.is_over() {
            self.turn_page();
        }
        let (at, i) = self.pop_of_today()?;
        if self.is_over() {
            self.turn_page();
        }
        let of_today = self.today.last().map_or(Instant::NEVER, |(at, _)| *at);
        let near = self.near.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
        self.next = of_today.min(near);
        let armed = &mut self.armed[i as usize];
        if *armed == at {
            *armed = Instant::NEVER;
        }
        Some(i)
    }

    /// True if the current day has no entry left.
    fn is_over(&self) -> bool {
        self.today.is_empty() && self.near.is_empty()
    }

    fn pop_of_today(&mut self) -> Option<(Instant, u32)> {
        match (self.today.last(), self.near.peek()) {
            (Some(first), Some(Reverse(near))) if near < first => {
                self.near.pop().map(|Reverse(entry)| entry)
            }
            (Some(_), _) => self.today.pop(),
            (None, _) => self.near.pop().map(|Reverse(entry)| entry),
        }
    }

    #[inline]
    fn insert(&mut self, at: Instant, member: u32) {
        let day = day_of(at);
        if day <= self.day {
            self.near.push(Reverse((at, member)));
        } else if day - self.day < DAYS as u64 {
            let place = day as usize % DAYS;
            let entry = Entry { at, member, next: self.days[place] };
            self.busy[place / 64] |= 1 << (place % 64);
            self.days[place] = self.keep(entry);
        } else {
            self.far.push(Reverse((at, member)));
        }
    }

    /// Puts `entry` in a free slot and returns its index.
    #[inline]
    fn keep(&mut self, entry: Entry) -> u32 {
        let place = self.free;
        if let Some(free) = self.entries.get_mut(place as usize) {
            self.free = free.next;
            *free = entry;
            return place;
        }
        self.entries.push(entry);
        (self.entries.len() - 1) as u32
    }

    /// Advances to the next day that has an entry, if any.
    fn turn_page(&mut self) {
        let far = self.far.peek().map(|Reverse((at, _))| day_of(*at));
        let Some(day) = self.first_busy().or(far) else { return };
        self.day = day;
        let place = day as usize % DAYS;
        self.busy[place / 64] &= !(1 << (place % 64));
        let mut link = std::mem::replace(&mut self.days[place], NIL);
        while let Some(entry) = self.entries.get_mut(link as usize) {
            self.today.push((entry.at, entry.member));
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = std::mem::replace(&mut link, next);
        }
        // Among periodic members, the one armed last, the first of the chain, usually fires last.
        if !self.today.is_sorted_by(|a, b| a >= b) {
            self.today.sort_unstable_by(|a, b| b.cmp(a));
        }
        while let Some(&Reverse((at, member))) = self.far.peek()
            && day_of(at) - day < DAYS as u64
        {
            self.far.pop();
            self.insert(at, member);
        }
    }

    /// The first day after the current one with an entry in its chain.
    fn first_busy(&self) -> Option<u64> {
        let start = (self.day + 1) as usize % DAYS;
        let from_start = u64::MAX << (start % 64);
        // The word of the first day comes twice: first for its later days, at the end for its
        // earlier days.
        let place = (0..=WORDS).find_map(|n| {
            let word = (start / 64 + n) % WORDS;
            let mask = if n == 0 { from_start } else { u64::MAX };
            let bits = self.busy[word] & if n == WORDS { !from_start } else { mask };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        Some(self.day + 1 + ((place + DAYS - start) % DAYS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::{Duration, Rng};
    use justfull_run::timers::Timers;

    /// Runs `members` members on a calendar and on a heap. Each is called again after a random time
    /// up to `most`, and sometimes one moves its call forward.
    fn assert_as_a_heap(members: u32, most: Duration, calls: u32) {
        let mut rng = Rng::stream(1, "calendar");
        let (mut calendar, mut heap) =
            (Calendar::new(members as usize), Timers::new(members as usize));
        let arm =
            |calendar: &mut Calendar, heap: &mut Timers, i: u32, now: Instant, rng: &mut Rng| {
                let at = now + Duration::from_nanos(rng.below(most.as_nanos()));
                calendar.arm(i, at);
                heap.arm(i, at);
            };
        for i in 0..members {
            arm(&mut calendar, &mut heap, i, Instant::ZERO, &mut rng);
        }
        for call in 0..calls {
            let now = heap.next();
            assert_eq!(calendar.next(), now, "call {call}");
            let called = calendar.pop(now);
            assert_eq!(called, heap.pop(now), "call {call}");
            arm(&mut calendar, &mut heap, called.expect("somebody is due"), now, &mut rng);
            if rng.below(8) == 0 {
                arm(&mut calendar, &mut heap, rng.below(u64::from(members)) as u32, now, &mut rng);
            }
        }
    }

    #[test]
    fn members_are_called_in_the_order_of_a_heap() {
        for (members, most_us) in
            [(1, 50_000), (3, 10), (1000, 20_000), (200, 500_000), (20, 3_000_000)]
        {
            assert_as_a_heap(members, Duration::from_micros(most_us), 20_000);
        }
    }

    #[test]
    fn after_a_silence_it_begins_where_it_is_armed() {
        let mut calendar = Calendar::new(2);
        for second in [1, 2, 7_200] {
            let at = Instant::from_nanos(second * 1_000_000_000);
            calendar.arm(1, at + Duration::from_nanos(1));
            calendar.arm(0, at + Duration::from_millis(40));
            assert_eq!(calendar.pop(at), None);
            assert_eq!(calendar.pop(at + Duration::from_millis(41)), Some(1));
            assert_eq!(calendar.next(), at + Duration::from_millis(40));
            assert_eq!(calendar.pop(at + Duration::from_millis(41)), Some(0));
            assert_eq!(calendar.next(), Instant::NEVER);
        }
    }
}
