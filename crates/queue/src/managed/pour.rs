//! Moves many packets from one queue to the next at once, if both are of the most common kind.
//!
//! The effect equals [`ManagedQueue::dequeue_into`] and [`ManagedQueue::enqueue`] in turn, but each
//! packet is copied once, from place to place, and the queues are counted once. Debug builds also
//! take the general path, on copies of short queues, and compare events and counts.

use super::{Known, ManagedQueue};
use crate::aqm::none::NoAqm;
use crate::counters::Count;
use crate::discipline::Discipline;
use crate::discipline::fifo::Fifo;
use crate::lane::Queued;
use justfull_base::{Event, Instant, Probe};

impl ManagedQueue {
    /// Moves up to `most` packets into `below` at `now` while `below` has room; returns their
    /// number. None if one of the queues has an AQM or does not serve in order of arrival.
    #[inline(always)]
    pub fn pour<P: Probe>(
        &mut self,
        below: &mut Self,
        now: Instant,
        most: u64,
        probe: &mut P,
    ) -> Count {
        let (Some(mut from), Some(mut to)) = (self.plain(), below.plain()) else {
            return Count::default();
        };
        #[cfg(debug_assertions)]
        let twin = twin::General::of(&from, &to, now, most);
        #[cfg(debug_assertions)]
        let probe = &mut twin::Compared::new(&twin, probe);
        let moved = from.pour(&mut to, now, most, probe);
        #[cfg(debug_assertions)]
        twin::check(twin, probe, &from, &to, moved);
        self.check();
        below.check();
        moved
    }
}

impl Known<'_, Fifo, NoAqm> {
    #[inline(always)]
    fn pour<P: Probe>(
        &mut self,
        to: &mut Known<'_, Fifo, NoAqm>,
        now: Instant,
        most: u64,
        probe: &mut P,
    ) -> Count {
        let (above, below) = (self.account.layer, to.account.layer);
        let limit = to.account.limit;
        let (packets, bytes) = (to.account.backlog_packets(), to.account.backlog_bytes());
        let mut moved = Count::default();
        while moved.packets < most {
            let backlog_packets = packets + moved.packets as u32;
            let backlog_bytes = bytes + moved.bytes;
            let admits = |size| limit.admits(backlog_packets, backlog_bytes, size);
            let head = self.discipline.head(0).filter(|queued| admits(queued.packet.size));
            let Some(&Queued { mut packet, .. }) = head else { break };
            // The returned packet has been copied already.
            let _ = self.discipline.pop(0);
            let sojourn = now.since(packet.enqueued);
            probe.on_event(now, &Event::Departed { layer: above, packet, sojourn });
            packet.enqueued = now;
            let entry = Event::Enqueued { layer: below, packet, backlog_packets, backlog_bytes };
            probe.on_event(now, &entry);
            to.discipline.push_back(0, Queued::new(packet, 0));
            moved.add(packet.size);
        }
        self.account.waiting_packets -= moved.packets as u32;
        self.account.waiting_bytes -= moved.bytes;
        self.account.counters.departed += moved;
        to.account.waiting_packets += moved.packets as u32;
        to.account.waiting_bytes += moved.bytes;
        to.account.counters.arrived += moved;
        moved
    }
}

/// The general path, on copies.
#[cfg(debug_assertions)]
mod twin {
    use super::{Count, Discipline, Event, Fifo, Instant, Known, NoAqm, Probe};
    use crate::managed::Account;
    use alloc::vec::Vec;
    use justfull_base::Packet;

    /// Longest queue that is copied.
    const LONGEST: usize = 64;

    /// The final state of the two queues, and the events on the way.
    pub(super) struct General {
        queues: [(Fifo, Account); 2],
        moved: Count,
        events: Events,
    }

    #[derive(Default)]
    struct Events(Vec<Event>);

    impl Probe for Events {
        fn on_event(&mut self, _now: Instant, event: &Event) {
            self.0.push(*event);
        }
    }

    type Plain<'a, 'b> = &'a Known<'b, Fifo, NoAqm>;

    impl General {
        pub(super) fn of(
            from: Plain<'_, '_>,
            to: Plain<'_, '_>,
            now: Instant,
            most: u64,
        ) -> Option<Self> {
            if from.discipline.len().max(to.discipline.len()) > LONGEST {
                return None;
            }
            let mut queues =
                [from, to].map(|queue| (queue.discipline.clone(), queue.account.clone()));
            let (mut moved, mut events) = (Count::default(), Events::default());
            let [from, to] = &mut queues;
            while moved.packets < most {
                let Some(size) = from.0.head(0).map(|queued| queued.packet.size) else { break };
                let (packets, bytes) = (to.1.backlog_packets(), to.1.backlog_bytes());
                if !to.1.limit.admits(packets, bytes, size) {
                    break;
                }
                let mut packet = Packet::default();
                let aqm = &mut NoAqm;
                Known { discipline: &mut from.0, aqm, account: &mut from.1 }.dequeue_into(
                    now,
                    &mut packet,
                    &mut events,
                );
                packet.enqueued = now;
                Known { discipline: &mut to.0, aqm, account: &mut to.1 }.enqueue(
                    now,
                    &mut packet,
                    &mut events,
                );
                moved.add(size);
            }
            Some(Self { queues, moved, events })
        }
    }

    /// Gets the events of the short path and compares them.
    pub(super) struct Compared<'a, P> {
        expected: Vec<Event>,
        checked: usize,
        compares: bool,
        probe: &'a mut P,
    }

    impl<'a, P> Compared<'a, P> {
        pub(super) fn new(twin: &Option<General>, probe: &'a mut P) -> Self {
            let expected = twin.as_ref().map(|twin| twin.events.0.clone()).unwrap_or_default();
            Self { expected, checked: 0, compares: twin.is_some(), probe }
        }
    }

    impl<P: Probe> Probe for Compared<'_, P> {
        fn on_event(&mut self, now: Instant, event: &Event) {
            if self.compares {
                assert_eq!(Some(event), self.expected.get(self.checked), "event {}", self.checked);
                self.checked += 1;
            }
            self.probe.on_event(now, event);
        }
    }

    pub(super) fn check<P>(
        twin: Option<General>,
        compared: &Compared<'_, P>,
        from: Plain<'_, '_>,
        to: Plain<'_, '_>,
        moved: Count,
    ) {
        let Some(General { queues, moved: expected, events }) = twin else { return };
        assert_eq!((moved, compared.checked), (expected, events.0.len()));
        for (queue, (discipline, account)) in [from, to].into_iter().zip(&queues) {
            assert_eq!(&*queue.discipline, discipline);
            assert_eq!(&*queue.account, account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, QueueConfig};
    use justfull_base::{Duration, Layer, Packet, Rng};
    use proptest::prelude::*;
    use std::vec::Vec;

    #[derive(Default)]
    struct Events(Vec<(Instant, Event)>);

    impl Probe for Events {
        fn on_event(&mut self, now: Instant, event: &Event) {
            self.0.push((now, *event));
        }
    }

    fn queue(layer: Layer, limit: Limit) -> ManagedQueue {
        ManagedQueue::new(layer, &QueueConfig::tail_drop(limit), 7).expect("the limit is sound")
    }

    /// Two queues, one above the other, and their events.
    struct Chain {
        above: ManagedQueue,
        below: ManagedQueue,
        events: Events,
    }

    impl Chain {
        fn new(limit: Limit) -> Self {
            let above = queue(Layer::Sdap, Limit::Unlimited);
            Self { above, below: queue(Layer::Rlc, limit), events: Events::default() }
        }

        /// Moves up to `most` packets down one by one; packets without room are dropped.
        fn move_each(&mut self, now: Instant, most: u64) {
            for _ in 0..most {
                let Some(packet) = self.above.dequeue(now, &mut self.events) else { return };
                self.below.enqueue(now, packet, &mut self.events);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::with_cases(128) })]

        #[test]
        fn pouring_is_moving_one_by_one(seed in any::<u64>()) {
            let mut rng = Rng::stream(seed, "pour");
            let limit = match rng.below(3) {
                0 => Limit::Packets(1 + rng.below(12) as u32),
                1 => Limit::Bytes(1 + rng.below(9_000)),
                _ => Limit::Unlimited,
            };
            let (mut poured, mut moved) = (Chain::new(limit), Chain::new(limit));
            for id in 0..200 {
                let now = Instant::ZERO + Duration::from_micros(id);
                let both = [&mut poured, &mut moved];
                match rng.below(4) {
                    0 | 1 => {
                        let size = 1 + rng.below(1_500) as u32;
                        let packet = Packet { id, size, ..Packet::default() };
                        for chain in both {
                            chain.above.enqueue(now, packet, &mut chain.events);
                        }
                    }
                    2 => {
                        for chain in both {
                            chain.below.dequeue(now, &mut chain.events);
                        }
                    }
                    _ => {
                        let most = rng.below(6);
                        let Chain { above, below, events } = &mut poured;
                        let sent = above.pour(below, now, most, events).packets;
                        poured.move_each(now, most - sent);
                        moved.move_each(now, most);
                    }
                }
                prop_assert_eq!(&poured.events.0, &moved.events.0);
                prop_assert_eq!(poured.below.counters(), moved.below.counters());
                prop_assert_eq!(poured.above.backlog_bytes(), moved.above.backlog_bytes());
            }
        }
    }

    #[test]
    fn nothing_pours_where_somebody_must_be_asked() {
        let aqm = crate::AqmConfig::by_name("codel").expect("it is on the list");
        let config = QueueConfig { aqm, ..QueueConfig::default() };
        let mut above = queue(Layer::Sdap, Limit::Unlimited);
        let mut below = ManagedQueue::new(Layer::Rlc, &config, 7).expect("the defaults are sound");
        let mut events = Events::default();
        above.enqueue(Instant::ZERO, Packet { size: 100, ..Packet::default() }, &mut events);
        assert_eq!(above.pour(&mut below, Instant::ZERO, 9, &mut events), Count::default());
        assert_eq!((above.backlog_packets(), events.0.len()), (1, 1));
    }
}
