//! Wires, which keep their packets in order.

use justfull_base::{BitRate, Duration, Instant};
use std::collections::VecDeque;

/// Room for items at the start of a wire. In a ring much longer than the items in transit each
/// packet would cost a cache miss.
const FIRST_IN_FLIGHT: usize = 1024;

/// A wire with a rate and then a delay. Unbounded, in order.
#[derive(Clone, Debug)]
pub struct Wire<T> {
    rate: BitRate,
    delay: Duration,
    free_at: Instant,
    /// Size and transmission time of the last item: most items have one size, and the division is
    /// the most expensive step.
    last: (u32, Duration),
    /// Arrival of the first item, which the event loop reads before each step.
    next: Instant,
    flight: VecDeque<(Instant, T)>,
}

impl<T> Wire<T> {
    /// A wire of `rate` (0 for infinitely fast) and one-way `delay`.
    #[must_use]
    pub fn new(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            free_at: Instant::ZERO,
            last: (0, Duration::ZERO),
            next: Instant::NEVER,
            flight: VecDeque::with_capacity(FIRST_IN_FLIGHT),
        }
    }

    /// `item` of `bytes` enters at `now`.
    #[inline]
    pub fn push(&mut self, now: Instant, bytes: u32, item: T) {
        let arrives = self.carry(now, bytes);
        self.next = self.next.min(arrives);
        self.flight.push_back((arrives, item));
    }

    /// An item of `bytes` enters at `now`; returns its arrival time.
    #[inline(always)]
    fn carry(&mut self, now: Instant, bytes: u32) -> Instant {
        let mut leaves = now;
        if self.rate.0 > 0 {
            if self.last.0 != bytes {
                self.last = (bytes, self.rate.time_for_ceil(u64::from(bytes)));
            }
            self.free_at = self.free_at.max(now) + self.last.1;
            leaves = self.free_at;
        }
        leaves + self.delay
    }

    /// `item` arrives at `at`, in order among the others.
    fn arrive_at(&mut self, at: Instant, item: T) {
        let place = self.flight.partition_point(|(arrives, _)| *arrives <= at);
        self.flight.insert(place, (at, item));
        self.next = self.next.min(at);
    }

    /// Arrival of the first item; never if there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Number of items in transit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flight.len()
    }

    /// True if no item is in transit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flight.is_empty()
    }

    /// Items in transit, in order.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.flight.iter().map(|(_, item)| item)
    }
}

impl<T: Copy> Wire<T> {
    /// The first item, if it has arrived by `now`.
    #[inline(always)]
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next > now {
            return None;
        }
        let (_, item) = *self.flight.front()?;
        self.drop_first();
        Some(item)
    }

    /// Copies the first item to `place`. Returns false if there is none.
    #[inline(always)]
    fn take_first(&mut self, place: &mut T) -> bool {
        let Some((_, item)) = self.flight.front() else { return false };
        *place = *item;
        self.drop_first();
        true
    }

    #[inline(always)]
    fn drop_first(&mut self) {
        self.flight.pop_front();
        self.next = self.flight.front().map_or(Instant::NEVER, |(at, _)| *at);
    }
}

/// Parallel wires, e.g. from servers at several distances.
#[derive(Clone, Debug)]
pub struct Wires<T> {
    wires: Vec<Wire<T>>,
    next: Instant,
}

impl<T> Wires<T> {
    /// Wires of `rate` (0 for infinitely fast), one for each of the one-way `delays`.
    #[must_use]
    pub fn new(rate: BitRate, delays: impl Iterator<Item = Duration>) -> Self {
        Self { wires: delays.map(|delay| Wire::new(rate, delay)).collect(), next: Instant::NEVER }
    }

    /// `item` of `bytes` enters wire `number` at `now`.
    ///
    /// # Panics
    /// If there is no such wire.
    #[inline]
    pub fn push(&mut self, now: Instant, number: u32, bytes: u32, item: T) {
        let wire = &mut self.wires[number as usize];
        wire.push(now, bytes, item);
        self.next = self.next.min(wire.next());
    }

    /// An item of `bytes` enters wire `number` at `now` and will wait at its end; returns its
    /// arrival time there.
    pub fn carry(&mut self, now: Instant, number: u32, bytes: u32) -> Instant {
        self.wires[number as usize].carry(now, bytes)
    }

    /// `item` arrives at `at` over the last of the wires.
    pub fn arrive_at(&mut self, at: Instant, item: T) {
        if let Some(wire) = self.wires.last_mut() {
            wire.arrive_at(at, item);
            self.next = self.next.min(at);
        }
    }

    /// `item` of `bytes` enters wire `number` at `leaves`, which may be later than the items that
    /// follow. It travels on the last of the wires, which keeps the order of arrivals.
    pub fn push_held(&mut self, leaves: Instant, number: u32, bytes: u32, item: T) {
        let at = self.carry(leaves, number, bytes);
        self.arrive_at(at, item);
    }

    /// Adds a wire with the next number.
    pub fn add(&mut self, wire: Wire<T>) {
        self.wires.push(wire);
    }

    /// The least delay of the wires.
    #[must_use]
    pub fn least_delay(&self) -> Duration {
        self.wires.iter().map(|wire| wire.delay).min().unwrap_or(Duration::ZERO)
    }

    /// Arrival of the first item for which `is` is true; never if there is none.
    pub fn first_of(&self, is: impl Fn(&T) -> bool) -> Instant {
        let of_wire = |wire: &Wire<T>| {
            wire.flight.iter().find(|(_, item)| is(item)).map(|(arrives, _)| *arrives)
        };
        self.wires.iter().filter_map(of_wire).min().unwrap_or(Instant::NEVER)
    }

    /// Number of wires.
    pub fn count(&self) -> u32 {
        self.wires.len() as u32
    }

    /// Items in transit.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.wires.iter().flat_map(Wire::items)
    }

    /// Arrival of the first item; never if there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Number of items in transit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wires.iter().map(Wire::len).sum()
    }

    /// True if no item is in transit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Copy> Wires<T> {
    /// An item that has arrived by `now`: wire by wire, and in order on each.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        let item = self.first_due(now)?.pop(now);
        self.find_next();
        item
    }

    /// Like [`Self::pop`], but copies the item once, to `place`. Returns false if there is none.
    #[inline(always)]
    pub fn pop_into(&mut self, now: Instant, place: &mut T) -> bool {
        if self.next > now {
            return false;
        }
        // Most worlds have one wire, which needs no search.
        let [wire] = self.wires.as_mut_slice() else { return self.pop_first_due(now, place) };
        let taken = wire.take_first(place);
        self.next = wire.next;
        taken
    }

    /// [`Self::pop_into`] for several wires.
    #[inline(never)]
    fn pop_first_due(&mut self, now: Instant, place: &mut T) -> bool {
        let popped = self.first_due(now).is_some_and(|wire| wire.take_first(place));
        self.find_next();
        popped
    }

    /// The first wire from which an item has arrived by `now`.
    #[inline(always)]
    fn first_due(&mut self, now: Instant) -> Option<&mut Wire<T>> {
        if self.next > now {
            return None;
        }
        match self.wires.as_mut_slice() {
            // Most worlds have one wire, which needs no search.
            [wire] => Some(wire),
            wires => wires.iter_mut().find(|wire| wire.next <= now),
        }
    }

    #[inline(always)]
    fn find_next(&mut self) {
        self.next = match self.wires.as_slice() {
            [wire] => wire.next(),
            wires => wires.iter().map(Wire::next).min().unwrap_or(Instant::NEVER),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_serialises_then_delays_in_order() {
        let mut wire = Wire::new(BitRate(12_000_000), Duration::from_millis(10));
        wire.push(Instant::ZERO, 1500, 'a');
        wire.push(Instant::ZERO, 1500, 'b');
        assert_eq!(wire.next().as_nanos(), 11_000_000);
        assert_eq!(wire.pop(Instant::from_nanos(10_999_999)), None);
        assert_eq!(wire.pop(Instant::from_nanos(11_000_000)), Some('a'));
        assert_eq!(wire.next().as_nanos(), 12_000_000);
    }

    #[test]
    fn wires_side_by_side_are_each_in_order_and_the_first_comes_first_at_one_instant() {
        let delays = [2, 1].map(Duration::from_millis);
        let mut wires = Wires::new(BitRate(0), delays.into_iter());
        assert_eq!((wires.next(), wires.is_empty()), (Instant::NEVER, true));
        wires.push(Instant::ZERO, 0, 100, 'a');
        wires.push(Instant::ZERO, 1, 100, 'b');
        wires.push(Instant::from_nanos(1_000_000), 1, 100, 'c');
        assert_eq!((wires.next().as_nanos(), wires.len()), (1_000_000, 3));
        let mut twin = wires.clone();
        let mut pop = |ns| {
            let (mut place, now) = (' ', Instant::from_nanos(ns));
            let popped = wires.pop_into(now, &mut place).then_some(place);
            assert_eq!((popped, wires.next()), (twin.pop(now), twin.next()));
            popped
        };
        assert_eq!([1_000_000; 2].map(&mut pop), [Some('b'), None]);
        assert_eq!([2_000_000; 3].map(pop), [Some('a'), Some('c'), None]);
    }
}
