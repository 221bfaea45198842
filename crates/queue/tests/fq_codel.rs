//! FQ-CoDel against a transcription of RFC 8290's text; its guarantees for sparse flows and for
//! other lanes.

use justfull_base::{Bytes, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe};
use justfull_queue::discipline::Queued;
use justfull_queue::discipline::fq_codel::{FqCoDel, FqCoDelConfig, Turns};
use justfull_queue::{Discipline, DisciplineConfig, Limit, ManagedQueue, QueueConfig};
use proptest::prelude::*;
use rfc8289::Rfc8289;
use std::collections::VecDeque;

mod rfc8289;

const KEY: u64 = 77;

/// One flow queue of the RFC: RFC 8289's queue and state, credits, and whether it is on either
/// list.
struct Flow {
    codel: Rfc8289,
    credits: i64,
    active: bool,
    /// By share: the virtual time at which it has had its share.
    due: u64,
}

/// RFC 8290 sections 4.1 and 4.2, sentence by sentence, and the differences with turns by share.
struct Rfc8290 {
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    by_share: bool,
    virtual_time: u64,
    limit: usize,
    batch: usize,
    sizes: Vec<u32>,
    dropped: Vec<u64>,
    overflows: usize,
    codel_drops: usize,
}

impl Rfc8290 {
    fn new(config: &FqCoDelConfig, limit: u32) -> Self {
        let flow =
            |_| Flow { codel: Rfc8289::new(&config.codel()), credits: 0, active: false, due: 0 };
        Self {
            flows: (0..config.lanes).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: config.quantum.0.cast_signed(),
            by_share: config.turns == Turns::ByShare,
            virtual_time: 0,
            limit: limit as usize,
            batch: config.drop_batch as usize,
            sizes: Vec::new(),
            dropped: Vec::new(),
            overflows: 0,
            codel_drops: 0,
        }
    }

    /// The queue with the largest byte count, the first of several, after `size` bytes have joined
    /// queue `i`.
    fn largest_with(&self, i: usize, size: u32) -> usize {
        let bytes =
            |n: usize| self.flows[n].codel.bytes() + if n == i { u64::from(size) } else { 0 };
        (0..self.flows.len()).rev().max_by_key(|n| bytes(*n)).expect("at least one queue")
    }

    fn enqueue(&mut self, now: u64, i: usize, size: u32) {
        let id = self.sizes.len() as u64;
        self.sizes.push(size);
        let total: usize = self.flows.iter().map(|flow| flow.codel.queue.len()).sum();
        let full = total + 1 > self.limit;
        let largest = self.largest_with(i, size);
        // This crate does not store a packet that it drops at once, so its queue joins no list.
        if full && largest == i && self.flows[i].codel.queue.is_empty() {
            self.dropped.push(id);
            return;
        }
        let flow = &mut self.flows[i];
        flow.codel.queue.push_back((now, size, id));
        if !flow.active {
            flow.active = true;
            if self.by_share && flow.due > self.virtual_time {
                self.old.push_back(i);
            } else {
                flow.credits = self.quantum;
                self.new.push_back(i);
            }
        }
        if full {
            let codel = &mut self.flows[largest].codel;
            let half = (codel.queue.len() / 2).clamp(1, self.batch);
            self.dropped.extend(codel.queue.drain(..half).map(|p| p.2));
            self.overflows += 1;
            // In this crate an empty queue is at once not above the target, in the RFC from the
            // next dequeue on.
            if codel.queue.is_empty() {
                (codel.first_above_time, codel.dropping) = (0, false);
            }
        }
    }

    fn dequeue(&mut self, now: u64) -> Option<u64> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let i = *list.front()?;
            let flow = &mut self.flows[i];
            let first = flow.codel.queue.front().map(|packet| i64::from(packet.1));
            if self.by_share && first.is_none() {
                list.pop_front();
                flow.active = false;
                continue;
            }
            let price = first.filter(|_| self.by_share).unwrap_or(1);
            if flow.credits < price {
                flow.credits += self.quantum;
                list.pop_front();
                self.old.push_back(i);
                continue;
            }
            let found = flow.codel.dequeue(now);
            self.codel_drops += flow.codel.dropped.len();
            self.dropped.append(&mut flow.codel.dropped);
            match found {
                Some(id) => {
                    let size = self.sizes[id as usize];
                    flow.credits -= i64::from(size);
                    let shared = u64::from(size) << 16;
                    flow.due = flow.due.max(self.virtual_time) + shared;
                    self.virtual_time += shared / (self.new.len() + self.old.len()) as u64;
                    return Some(id);
                }
                None if self.by_share => {}
                None if from_new => {
                    self.new.pop_front();
                    self.old.push_back(i);
                }
                None => {
                    self.old.pop_front();
                    flow.active = false;
                }
            }
        }
    }
}

/// Records drops and marks in order.
#[derive(Default)]
struct Log {
    dropped: Vec<(u64, u32, DropReason)>,
    marked: Vec<u64>,
}

impl Probe for Log {
    fn on_event(&mut self, _now: Instant, event: &Event) {
        match event {
            Event::Dropped { packet, reason, .. } => {
                self.dropped.push((packet.id, packet.flow, *reason))
            }
            Event::Marked { packet, .. } => self.marked.push(packet.id),
            _ => {}
        }
    }
}

fn queue(config: FqCoDelConfig, limit: u32) -> ManagedQueue {
    let discipline = DisciplineConfig::FqCoDel(config);
    let config = QueueConfig { limit: Limit::Packets(limit), discipline, ..QueueConfig::default() };
    ManagedQueue::new(Layer::Sdap, &config, KEY).expect("within bounds")
}

fn packet(id: u64, flow: u32, size: u32) -> Packet {
    Packet { id, flow, flow_hash: flow.wrapping_mul(0x9e37_79b9), size, ..Packet::default() }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[derive(Clone, Copy, Debug)]
struct Step {
    wait_us: u64,
    /// Flow and size of an arrival; none for a departure.
    arrival: Option<(u32, u32)>,
}

/// Arrivals of heavy and light flows and departures, at rates at which the queue alternately grows
/// and empties.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let phase = (1..10u32, 1..7u32, 1..300usize).prop_flat_map(|(arrivals, flows, length)| {
        let size = prop_oneof![2 => Just(1500u32), 1 => 40..1500u32];
        let step = (0..2500u64, 0..10u32, 0..flows, 0..flows, size).prop_map(
            move |(wait_us, n, a, b, size)| {
                // The smaller of two draws: flow 0 is the heaviest.
                Step { wait_us, arrival: (n < arrivals).then_some((a.min(b), size)) }
            },
        );
        prop::collection::vec(step, length)
    });
    prop::collection::vec(phase, 1..10).prop_map(|phases| phases.concat())
}

/// Runs both over `steps`.
fn compare(config: FqCoDelConfig, limit: u32, steps: &[Step]) -> Rfc8290 {
    let lanes = FqCoDel::new(&config, KEY).expect("within bounds");
    let mut oracle = Rfc8290::new(&config, limit);
    let mut ours = queue(config, limit);
    let mut log = Log::default();
    let mut now = Instant::from_nanos(1);
    for step in steps {
        now += Duration::from_micros(step.wait_us);
        if let Some((flow, size)) = step.arrival {
            let p = packet(oracle.sizes.len() as u64, flow, size);
            oracle.enqueue(now.as_nanos(), usize::from(lanes.lane_of(&p)), size);
            ours.enqueue(now, p, &mut log);
        } else {
            let next = ours.peek().map(|p| p.id);
            let expected = oracle.dequeue(now.as_nanos());
            let drops = log.dropped.len();
            let found = ours.dequeue(now, &mut log).map(|p| p.id);
            assert_eq!(found, expected, "delivered at {now:?}");
            assert!(
                next == found || log.dropped.len() > drops,
                "what is shown is what comes: {next:?}, {found:?}"
            );
        }
        let dropped: Vec<u64> = log.dropped.iter().map(|d| d.0).collect();
        assert_eq!(dropped, oracle.dropped, "dropped by {now:?}");
        assert!(ours.backlog_packets() <= limit);
    }
    ours.assert_conserved();
    oracle
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_choice_and_every_drop_follows_the_text_of_the_rfc(
        steps in steps(), limit in 1..150u32, lanes in 1..9u16, quantum in 256..3000u64,
            drop_batch in 1..80u32,
        target_ms in 1..20u64, factor in 1..25u64, by_share: bool,
    ) {
        let turns = if by_share { Turns::ByShare } else { Turns::Rfc8290 };
        let target = Duration::from_millis(target_ms);
        let quantum = Bytes(quantum);
        let interval = target.times(factor);
        compare(FqCoDelConfig { lanes, quantum, drop_batch, target, interval, turns,
            ..FqCoDelConfig::default() }, limit, &steps);
    }

    /// An overflow then often takes the only packet of the lane that the arriving one joins.
    #[test]
    fn with_room_for_few_packets_every_drop_follows_the_text_of_the_rfc(
        steps in steps(), limit in 2..9u32, lanes in 1..9u16, quantum in 256..3000u64,
        target_ms in 1..6u64, by_share: bool,
    ) {
        let turns = if by_share { Turns::ByShare } else { Turns::Rfc8290 };
        let target = Duration::from_millis(target_ms);
        compare(FqCoDelConfig { lanes, quantum: Bytes(quantum), target, interval: target, turns,
            ..FqCoDelConfig::default() }, limit, &steps);
    }
}

#[test]
fn the_comparison_with_the_rfc_sees_overflows_and_drops_of_codel_by_the_hundred() {
    let mut steps = Vec::new();
    for round in 0..40u32 {
        let arrivals = |n: u32| (n % 5 < 3).then_some(((n * n + round) % 5, 200 + 130 * (n % 11)));
        steps.extend((0..900).map(|n| Step { wait_us: 600, arrival: arrivals(n) }));
        steps.extend((0..60 + 9 * round).map(|_| Step { wait_us: 300, arrival: None }));
    }
    let (target, interval) = (Duration::from_millis(2), Duration::from_millis(20));
    let slow = FqCoDelConfig { lanes: 16, ..FqCoDelConfig::default() };
    let short = compare(slow, 40, &steps);
    let long = compare(FqCoDelConfig { target, interval, ..slow }, 1000, &steps);
    assert!(short.overflows > 100, "{}", short.overflows);
    assert!(long.codel_drops > 200, "{}", long.codel_drops);
}

#[test]
fn a_sparse_flow_goes_before_flows_that_have_been_sending() {
    let mut queue = queue(FqCoDelConfig::default(), 1000);
    let mut log = Log::default();
    (0..300)
        .for_each(|id| assert!(queue.enqueue(at(0), packet(id, (id % 3) as u32, 1500), &mut log)));
    // Each of the three is served, and so becomes old.
    let served = (0..6).filter_map(|_| queue.dequeue(at(0), &mut log)).count();
    assert_eq!(served, 6);
    for n in 0..50 {
        // Flow 9 sends once in eight departures, about as often as the round of old lanes allows
        // twice.
        assert!(queue.enqueue(at(1), packet(1000 + n, 9, 200), &mut log));
        assert_eq!(queue.peek().map(|p| p.id), Some(1000 + n));
        let served: Vec<u32> =
            (0..5).filter_map(|_| queue.dequeue(at(1), &mut log)).map(|p| p.flow).collect();
        assert_eq!(served[0], 9, "{served:?}");
    }
    assert!(log.dropped.is_empty());
}

#[test]
fn a_flow_that_comes_back_as_soon_as_it_was_served_gets_no_more_than_its_share() {
    // Section 4.2: without the step from the new to the old lanes, the lane would be new each time
    // and starve the others.
    let mut queue = queue(FqCoDelConfig::default(), 1000);
    let mut log = Log::default();
    (0..400).for_each(|id| assert!(queue.enqueue(at(0), packet(id, 1, 1500), &mut log)));
    queue.enqueue(at(0), packet(1000, 2, 1500), &mut log);
    let mut bytes = [0; 3];
    for n in 0..200 {
        let served = queue.dequeue(at(0), &mut log).expect("many wait");
        bytes[served.flow as usize] += u64::from(served.size);
        if served.flow == 2 {
            queue.enqueue(at(0), packet(1001 + n, 2, 1500), &mut log);
        }
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 2 * 1514 + 3000, "{bytes:?}");
}

/// The number of departures before a packet of 160 B that comes just after a packet of 1500 B to
/// each of ten empty lanes.
fn before_a_small_packet(config: FqCoDelConfig) -> usize {
    let mut queue = queue(config, 1000);
    let mut log = Log::default();
    for flow in 0..10 {
        queue.enqueue(at(0), packet(u64::from(flow), flow, 1500), &mut log);
    }
    queue.enqueue(at(0), packet(100, 100, 160), &mut log);
    (0..11)
        .position(|_| queue.dequeue(at(0), &mut log).is_some_and(|p| p.id == 100))
        .expect("it is there")
}

#[test]
fn by_share_a_small_packet_passes_large_ones_of_new_lanes() {
    let quantum = Bytes(300);
    let rfc = FqCoDelConfig { quantum, ..FqCoDelConfig::default() };
    assert_eq!(before_a_small_packet(rfc), 10);
    assert_eq!(before_a_small_packet(FqCoDelConfig { turns: Turns::ByShare, ..rfc }), 0);
}

/// Lanes of `flows` flows, each with a packet waiting, all at once.
fn lanes_of(flows: u32, config: &FqCoDelConfig) -> Vec<u16> {
    let mut lanes = FqCoDel::new(config, KEY).expect("within bounds");
    (0..flows)
        .map(|flow| {
            let packet = packet(flow.into(), flow, 1500);
            let lane = lanes.lane_of(&packet);
            lanes.push_back(lane, Queued::passed(packet));
            assert_eq!(lanes.lane_of(&packet), lane, "a flow keeps its lane");
            lane
        })
        .collect()
}

#[test]
fn with_eight_ways_flows_share_a_lane_only_when_a_set_is_full() {
    let sharing = |lanes: u16, ways, flows| {
        let mut used = lanes_of(flows, &FqCoDelConfig { lanes, ways, ..FqCoDelConfig::default() });
        used.sort_unstable();
        used.dedup();
        flows as usize - used.len()
    };
    assert!(sharing(1024, 1, 100) > 0, "of 100 flows about five share a lane");
    assert_eq!(sharing(1024, 8, 100), 0);
    // One set of eight lanes.
    assert_eq!([sharing(8, 8, 8), sharing(8, 8, 20)], [0, 12]);
    // The last set of lanes is smaller.
    assert_eq!(sharing(11, 8, 2), 0);
}

#[test]
fn with_ways_a_flow_that_comes_back_finds_its_lane_or_another_and_keeps_its_order() {
    let config = FqCoDelConfig { lanes: 16, ways: 8, ..FqCoDelConfig::default() };
    let mut queue = queue(config, 10_000);
    let mut log = Log::default();
    let mut last = [0; 40];
    let mut rng = justfull_base::Rng::from_key(7);
    let mut served = 0;
    for id in 1..20_000u64 {
        if rng.chance(0.5) {
            queue.enqueue(at(0), packet(id, rng.below(40) as u32, 100), &mut log);
        } else if let Some(packet) = queue.dequeue(at(0), &mut log) {
            assert!(packet.id > last[packet.flow as usize], "in order");
            last[packet.flow as usize] = packet.id;
            served += 1;
        }
    }
    assert!(served > 5000, "{served}");
}

/// Greatest number of departures for which a call's packet waits: 200 B while 2500 B of eight
/// downloads leave, less than a ninth of the departing bytes.
fn departures_before_a_call(turns: Turns) -> usize {
    let quantum = Bytes(300);
    let mut queue = queue(FqCoDelConfig { quantum, turns, ..FqCoDelConfig::default() }, 1000);
    let mut log = Log::default();
    (0..640).for_each(|id| {
        queue.enqueue(at(0), packet(id, (id % 8) as u32, 1500), &mut log);
    });
    let mut most = 0;
    let (mut left, mut waits) = (0, None);
    for n in 0..300 {
        let served = queue.dequeue(at(0), &mut log).expect("many wait");
        left += u64::from(served.size);
        if served.flow == 100 {
            most = most.max(waits.take().expect("it was there"));
        } else if let Some(departures) = &mut waits {
            *departures += 1;
        }
        if waits.is_none() && left >= 2500 {
            left -= 2500;
            waits = Some(0);
            queue.enqueue(at(0), packet(1000 + n, 100, 200), &mut log);
        }
    }
    assert!(log.dropped.is_empty());
    most
}

#[test]
fn by_share_a_flow_below_its_share_goes_first_each_time() {
    assert_eq!(departures_before_a_call(Turns::ByShare), 0);
    assert!(departures_before_a_call(Turns::Rfc8290) > 1);
}

#[test]
fn by_share_a_flow_that_comes_back_as_soon_as_it_was_served_gets_no_more_than_its_share() {
    let turns = Turns::ByShare;
    let mut queue =
        queue(FqCoDelConfig { quantum: Bytes(300), turns, ..FqCoDelConfig::default() }, 1000);
    let mut log = Log::default();
    (0..400).for_each(|id| assert!(queue.enqueue(at(0), packet(id, 1, 1500), &mut log)));
    queue.enqueue(at(0), packet(1000, 2, 200), &mut log);
    let mut bytes = [0; 3];
    for n in 0..600 {
        let served = queue.dequeue(at(0), &mut log).expect("many wait");
        bytes[served.flow as usize] += u64::from(served.size);
        if served.flow == 2 {
            queue.enqueue(at(0), packet(1001 + n, 2, 200), &mut log);
        }
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 3000, "{bytes:?}");
}

#[test]
fn the_codel_of_one_lane_drops_nothing_of_another() {
    let mut queue = queue(FqCoDelConfig { ecn: false, ..FqCoDelConfig::default() }, 10_000);
    let mut log = Log::default();
    let mut waited = Duration::ZERO;
    for n in 0..3000u64 {
        // A packet leaves each millisecond; flow 1 sends two in this time, flow 2 a small one every
        // 20 ms.
        queue.enqueue(at(n), packet(3 * n, 1, 1500), &mut log);
        queue.enqueue(at(n), packet(3 * n + 1, 1, 1500), &mut log);
        if n.is_multiple_of(20) {
            queue.enqueue(at(n), packet(3 * n + 2, 2, 200), &mut log);
        }
        if let Some(p) = queue.dequeue(at(n), &mut log)
            && p.flow == 2
        {
            waited = waited.max(at(n).since(p.enqueued));
        }
    }
    let of_flow = |flow| log.dropped.iter().filter(|d| d.1 == flow).count();
    assert!(of_flow(1) > 100, "{}", of_flow(1));
    assert_eq!(of_flow(2), 0);
    assert!(waited <= Duration::from_millis(2), "{waited}");
}

#[test]
fn the_last_packet_of_a_lane_is_spared_while_others_are_long() {
    // Every packet of flow 2 waits 30 ms behind nine other lanes, but leaves no packet behind in
    // its own lane.
    let mut queue = queue(
        FqCoDelConfig { quantum: Bytes(1500), ecn: false, ..FqCoDelConfig::default() },
        10_000,
    );
    let mut log = Log::default();
    for n in 0..400u64 {
        for flow in 10..19 {
            queue.enqueue(at(30 * n), packet(100 * n + flow, flow as u32, 1500), &mut log);
        }
        queue.enqueue(at(30 * n), packet(100 * n, 2, 1500), &mut log);
        let now = at(30 * n + 29);
        assert_eq!((0..10).filter_map(|_| queue.dequeue(now, &mut log)).count(), 10);
    }
    assert!(log.dropped.is_empty(), "{:?}", log.dropped.first());
}

#[test]
fn an_overflow_takes_half_of_the_largest_lane_from_its_head_up_to_a_batch() {
    for (packets, expected) in [(1, 1), (9, 5), (90, 45), (300, 64)] {
        let mut queue = queue(FqCoDelConfig::default(), packets + 20);
        let mut log = Log::default();
        // Twenty packets in small lanes, then the large lane, whose last packet finds the queue
        // full.
        (0..20).for_each(|n| assert!(queue.enqueue(at(0), packet(n, 50 + n as u32, 40), &mut log)));
        let large = |n: u32| packet(1000 + u64::from(n), 1, 1000);
        (0..packets).for_each(|n| assert!(queue.enqueue(at(0), large(n), &mut log)));
        assert!(queue.enqueue(at(0), large(packets), &mut log));
        let victims: Vec<u64> = log.dropped.iter().map(|d| d.0).collect();
        assert_eq!(victims, (1000..1000 + expected).collect::<Vec<u64>>());
        assert!(log.dropped.iter().all(|d| d.2 == DropReason::OverflowVictim));
        queue.assert_conserved();
    }
    // Alone in its lane and larger than any other lane, the arriving packet is the victim.
    let mut queue = queue(FqCoDelConfig::default(), 3);
    let mut log = Log::default();
    (0..3).for_each(|n| assert!(queue.enqueue(at(0), packet(n, 50 + n as u32, 40), &mut log)));
    assert!(!queue.enqueue(at(0), packet(9, 1, 1500), &mut log));
    assert_eq!(log.dropped, [(9, 1, DropReason::Overflow)]);
}

#[test]
fn marks_take_the_place_of_drops_and_the_ce_threshold_marks_earlier() {
    let run = |config| {
        let mut queue = queue(config, 10_000);
        let mut log = Log::default();
        for n in 0..1200u64 {
            queue.enqueue(at(n), Packet { ecn: Ecn::Ect0, ..packet(n, 1, 1500) }, &mut log);
            if n % 3 > 0 {
                queue.dequeue(at(n), &mut log);
            }
        }
        (log.marked.len(), log.dropped.len())
    };
    let (marks, drops) = run(FqCoDelConfig::default());
    assert!(marks > 10 && drops == 0, "{marks} {drops}");
    assert_eq!(run(FqCoDelConfig { ecn: false, ..FqCoDelConfig::default() }).0, 0);
    let ce_threshold = Duration::from_millis(1);
    assert!(run(FqCoDelConfig { ce_threshold, ..FqCoDelConfig::default() }).0 > 700);
}

#[test]
fn queues_with_other_keys_spread_flows_in_other_ways() {
    let lanes = |key| {
        let d = FqCoDel::new(&FqCoDelConfig::default(), key).expect("within bounds");
        (0..50).map(|flow| d.lane_of(&packet(0, flow, 1))).collect::<Vec<_>>()
    };
    assert_eq!(lanes(1), lanes(1));
    assert_ne!(lanes(1), lanes(2));
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |config: FqCoDelConfig| config.validate().map_err(|e| e.field);
    assert_eq!(field(FqCoDelConfig { lanes: 0, ..FqCoDelConfig::default() }), Err("lanes".into()));
    assert_eq!(
        field(FqCoDelConfig { quantum: Bytes(255), ..FqCoDelConfig::default() }),
        Err("quantum".into())
    );
    assert_eq!(
        field(FqCoDelConfig { drop_batch: 0, ..FqCoDelConfig::default() }),
        Err("drop_batch".into())
    );
    assert_eq!(
        field(FqCoDelConfig { target: Duration::ZERO, ..FqCoDelConfig::default() }),
        Err("target".into())
    );
    let ce_threshold = Duration::from_millis(1);
    assert_eq!(
        field(FqCoDelConfig { ecn: false, ce_threshold, ..FqCoDelConfig::default() }),
        Err("ce_threshold".into())
    );
    assert_eq!(field(FqCoDelConfig::default()), Ok(()));
}
