//! The calls and views that an AQM gets.

use super::*;

/// Records the heads of the lanes in its view.
#[derive(Debug)]
struct Heads;

impl Aqm for Heads {
    fn needs(&self) -> Needs {
        Needs { heads: true, ..Needs::default() }
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        _p: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        let ages = (view.lane.head_age(now), view.other.map(|other| other.head_age(now)));
        CALLS.with_borrow_mut(|calls| calls.push(format!("{ages:?}")));
        Verdict::Pass
    }
}

#[test]
fn an_aqm_that_needs_heads_gets_the_head_of_each_of_two_lanes() {
    let discipline = DisciplineConfig::Protocol(protocol::ByProtocolConfig {});
    let discipline = AnyDiscipline::new(&discipline, 1).expect("within bounds");
    let aqm = AnyAqm::Custom(Box::new(Heads));
    let mut queue = ManagedQueue::from_parts(Layer::Rlc, Limit::Unlimited, discipline, aqm)
        .expect("within bounds");
    let mut ledger = Ledger::default();
    for (id, ms, protocol) in [(0, 1, Protocol::Tcp), (1, 2, Protocol::Udp), (2, 4, Protocol::Tcp)]
    {
        queue.enqueue(at(ms), Packet { protocol, ..packet(id, 100) }, &mut ledger);
    }
    while queue.dequeue(at(10), &mut ledger).is_some() {}
    let ms = |ms: u64| Some(Duration::from_millis(ms));
    // Each without the packet that leaves.
    let seen = [(None, Some(ms(9))), (ms(6), Some(None)), (None, Some(None))];
    let seen = seen.map(|ages: (_, Option<Option<Duration>>)| format!("{ages:?}"));
    CALLS.with_borrow(|calls| assert_eq!(calls, &seen));
}

#[test]
fn an_aqm_is_called_at_arrivals_departures_overflows_and_emptiness_with_its_tags() {
    let mut queue = fifo_with(Limit::Packets(2), Recorder::default());
    queue.set_service_rate(Some(BitRate(5000)));
    let mut ledger = Ledger::default();
    for (id, size, flow_hash) in [(0, 500, 1), (1, 501, 2), (2, 1001, 2), (3, 500, 1)] {
        queue.enqueue(at(0), Packet { flow_hash, ..packet(id, size) }, &mut ledger);
    }
    assert_eq!(queue.dequeue(at(7), &mut ledger).map(|p| p.id), Some(0));
    assert_eq!(queue.dequeue(at(8), &mut ledger), None);
    let expected = [
        "enqueue 0 at 0 new true",
        "enqueue 1 at 1 new true",
        "enqueue 3 at 2 new false",
        "overflow 0 at 2",
        "dequeue 0 tag 100 behind 1001 after 7ms at 5000",
        "dequeue 2 tag 102 behind 0 after 8ms at 5000",
        "empty 0",
    ];
    CALLS.with_borrow(|calls| assert_eq!(*calls, expected));
    let dropped =
        [(1, DropReason::AqmEnqueue), (3, DropReason::Overflow), (2, DropReason::AqmDequeue)];
    assert_eq!(ledger.dropped, dropped);
    queue.assert_conserved();
}

/// Records the age in ms of the oldest packet in the queue.
#[derive(Debug)]
struct Ages(bool);

impl Aqm for Ages {
    fn needs(&self) -> Needs {
        Needs { oldest: self.0, ..Needs::default() }
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        let age = view.oldest.map(|oldest| now.since(oldest).as_nanos() / 1_000_000);
        CALLS.with_borrow_mut(|calls| calls.push(format!("{age:?}")));
        (Verdict::Pass, 0)
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        _view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        Verdict::Pass
    }
}

#[test]
fn an_aqm_that_needs_it_gets_the_oldest_packet_waiting_or_reserved() {
    for asks in [true, false] {
        let mut queue = fifo_with(Limit::Packets(3), Ages(asks));
        let mut held = Vec::new();
        for (id, takes) in [(0, true), (1, true), (2, false), (3, false)] {
            queue.enqueue(at(id), packet(id, 100), &mut Silent);
            held.extend(takes.then(|| queue.reserve(at(id), &mut Silent)).flatten());
        }
        // The second reserved packet leaves before the first, as with an acknowledgement.
        for id in [1, 0] {
            queue.commit(at(10), &held[id], &mut Silent);
            queue.enqueue(at(10), packet(4, 100), &mut Silent);
        }
        let told: Vec<String> = CALLS.with_borrow_mut(std::mem::take);
        let ages = [None, Some(1), Some(2), Some(3), Some(10), Some(8)];
        assert_eq!(told, ages.map(|age: Option<u32>| format!("{:?}", age.filter(|_| asks))));
    }
}
