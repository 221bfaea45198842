//! The accounting queue over every AQM and discipline, and the conformance of every AQM.

use justfull_base::packet::Protocol;
use justfull_base::{
    BitRate, Bytes, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe, Ratio, Silent,
};
use justfull_queue::aqm::{
    abc, adaptive_red, ared, codel, dualpi2, none, pdpc, pdu_set, pie, red, ttlred1, ttlred2,
};
use justfull_queue::discipline::{dual_queue, fifo::Fifo, fq_codel, protocol, sfq};
use justfull_queue::{
    AnyAqm, AnyDiscipline, Aqm, AqmConfig, AqmContext, Count, DisciplineConfig, Ect1, Lane,
    LaneView, Limit, ManagedQueue, Needs, Pass, QueueConfig, QueueView, Scan, Tag, Verdict,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[path = "managed/calls.rs"]
mod calls;
#[path = "managed/marks.rs"]
mod marks;
#[path = "managed/timeouts.rs"]
mod timeouts;

/// Records its calls; signals on packets of odd size.
#[derive(Debug, Default)]
struct Recorder {
    marks: bool,
}

impl Recorder {
    fn judge(call: String, packet: &Packet) -> Verdict {
        CALLS.with_borrow_mut(|calls| calls.push(call));
        if packet.size % 2 == 1 { Verdict::Signal } else { Verdict::Pass }
    }
}

impl Aqm for Recorder {
    fn needs(&self) -> Needs {
        Needs { new_flows: true, oldest: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        self.marks
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        view: &QueueView,
        _lane: Lane,
        p: &Packet,
    ) -> (Verdict, Tag) {
        let call = format!("enqueue {} at {} new {}", p.id, view.backlog_packets, view.new_flow);
        (if p.size < 1000 { Self::judge(call, p) } else { Verdict::Pass }, p.id + 100)
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        view: &QueueView,
        _lane: Lane,
        p: &Packet,
        tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        let rate = view.service_rate.map_or(0, |r| r.0);
        let behind = view.backlog_bytes;
        Self::judge(
            format!("dequeue {} tag {tag} behind {behind} after {sojourn} at {rate}", p.id),
            p,
        )
    }

    fn on_empty(&mut self, _now: Instant, lane: Lane) {
        CALLS.with_borrow_mut(|calls| calls.push(format!("empty {lane}")));
    }

    fn on_overflow(&mut self, _now: Instant, view: &QueueView, lane: Lane) {
        CALLS.with_borrow_mut(|calls| {
            calls.push(format!("overflow {lane} at {}", view.backlog_packets))
        });
    }
}

/// Follows each packet from event to event, and fails unless each has exactly one fate.
#[derive(Default)]
struct Ledger {
    /// Only packets of one flow and of like codepoints keep their order.
    by_kind: bool,
    inside: BTreeMap<u64, Packet>,
    left: BTreeMap<(u32, bool), Vec<u64>>,
    arrived: u64,
    dropped: Vec<(u64, DropReason)>,
    marked: Vec<u64>,
    sojourns: Vec<Duration>,
}

impl Probe for Ledger {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Enqueued { packet, backlog_packets, backlog_bytes, .. } => {
                assert_eq!(backlog_packets as usize, self.inside.len(), "the backlog it found");
                let bytes: u64 = self.inside.values().map(|p| u64::from(p.size)).sum();
                assert_eq!(backlog_bytes, bytes);
                assert_eq!(packet.enqueued, now);
                assert!(
                    self.inside.insert(packet.id, packet).is_none(),
                    "{} came twice",
                    packet.id
                );
                self.arrived += 1;
            }
            Event::Departed { packet, sojourn, .. } => {
                let came = self.inside.remove(&packet.id);
                let Some(came) = came else { panic!("{} left twice", packet.id) };
                assert_eq!(sojourn, now.since(packet.enqueued));
                self.sojourns.push(sojourn);
                let kind = self.by_kind && dualpi2::is_l4s(came.ecn);
                self.left.entry((packet.flow, kind)).or_default().push(packet.id);
            }
            Event::Dropped { packet, reason, .. } => {
                let was_inside = self.inside.remove(&packet.id).is_some();
                let never_entered = matches!(reason, DropReason::Overflow | DropReason::AqmEnqueue);
                assert_ne!(was_inside, never_entered, "{} {reason:?}", packet.id);
                self.arrived += u64::from(never_entered);
                self.dropped.push((packet.id, reason));
            }
            Event::Marked { packet, .. } => {
                assert_eq!(packet.ecn, Ecn::Ce);
                assert!(self.inside.contains_key(&packet.id));
                self.marked.push(packet.id);
            }
            Event::Withdrawn { packet, .. } => {
                assert!(self.inside.remove(&packet.id).is_some());
            }
            Event::Quantum { .. } | Event::Slot { .. } => unreachable!("not of a queue"),
        }
    }
}

fn aqms() -> Vec<AqmConfig> {
    let fast = codel::CoDelConfig {
        target: Duration::from_millis(1),
        interval: Duration::from_millis(4),
        ..codel::CoDelConfig::default()
    };
    let released = codel::CoDelConfig { ecn: false, variant: codel::Variant::T20Released, ..fast };
    let some = [AqmConfig::None(none::NoAqmConfig {}), AqmConfig::CoDel(fast)];
    let mut aqms = vec![AqmConfig::CoDel(released)];
    aqms.extend(some);
    aqms.extend(AqmConfig::all().into_iter().filter_map(|aqm| impatient(&aqm)));
    aqms
}

/// `aqm` with settings under which it acts on the queues of these tests; none for the first two
/// kinds, and for kinds that wait for reports.
fn impatient(aqm: &AqmConfig) -> Option<AqmConfig> {
    let ms = Duration::from_millis;
    Some(match *aqm {
        AqmConfig::None(_) | AqmConfig::CoDel(_) | AqmConfig::L4Span(_) | AqmConfig::Custom(_) => {
            return None;
        }
        AqmConfig::Red(c) => {
            let (min, max) = (Limit::Packets(2), Limit::Packets(6));
            AqmConfig::Red(red::RedConfig { min, max, wait: false, weight: Ratio(0.5), ..c })
        }
        AqmConfig::AdaptiveRed(c) => {
            let (floor, weight) = (Bytes(1000), Ratio(0.5));
            AqmConfig::AdaptiveRed(adaptive_red::AdaptiveRedConfig { floor, weight, ..c })
        }
        AqmConfig::ARed(c) => AqmConfig::ARed(ared::ARedConfig { floor: Bytes(1000), ..c }),
        AqmConfig::Pdpc(c) => AqmConfig::Pdpc(pdpc::PdpcConfig { floor: Bytes(1000), n: 3, ..c }),
        AqmConfig::TtlRed1(c) => {
            let (low, high) = (ms(1), ms(8));
            AqmConfig::TtlRed1(ttlred1::TtlRed1Config { low, high, n: 3, ..c })
        }
        AqmConfig::TtlRed2(c) => {
            let (low, high) = (ms(1), ms(8));
            AqmConfig::TtlRed2(ttlred2::TtlRed2Config { low, high, period: ms(1), ..c })
        }
        AqmConfig::Pie(c) => {
            let (target, t_update, burst) = (ms(1), ms(1), Duration::ZERO);
            AqmConfig::Pie(pie::PieConfig { target, t_update, burst, alpha: Ratio(20.0), ..c })
        }
        AqmConfig::PduSet(c) => {
            let (timer, congested) = (ms(4), ms(1));
            AqmConfig::PduSet(pdu_set::PduSetConfig { timer, congested, ..c })
        }
        AqmConfig::Abc(c) => {
            let (target, window) = (Duration::ZERO, ms(4));
            AqmConfig::Abc(abc::AbcConfig { target, window, tokens: 2, ..c })
        }
        AqmConfig::DualPi2(c) => {
            let (target, t_update) = (ms(1), Some(ms(1)));
            let (alpha, ramp) = (Some(Ratio(20.0)), Some([ms(1), ms(3)]));
            AqmConfig::DualPi2(dualpi2::DualPi2Config { target, t_update, alpha, ramp, ..c })
        }
    })
}

fn disciplines() -> Vec<DisciplineConfig> {
    let sfq = sfq::SfqConfig {
        lanes: 4,
        perturb: Duration::from_millis(20),
        ..sfq::SfqConfig::default()
    };
    let bytes = sfq::SfqConfig { quantum: sfq::Quantum::Bytes(Bytes(600)), ..sfq };
    let arriving = sfq::SfqConfig {
        overflow: sfq::Overflow::Arriving,
        lane_limit: Limit::Packets(8),
        perturb: Duration::ZERO,
        ..sfq
    };
    vec![
        DisciplineConfig::default(),
        DisciplineConfig::Protocol(protocol::ByProtocolConfig {}),
        DisciplineConfig::Sfq(sfq),
        DisciplineConfig::Sfq(bytes),
        DisciplineConfig::Sfq(arriving),
        DisciplineConfig::FqCoDel(fq_codel()),
        DisciplineConfig::FqCoDel(fq_codel::FqCoDelConfig {
            drop_batch: 1,
            ecn: false,
            ..fq_codel()
        }),
        DisciplineConfig::DualQueue(dual_queue::DualQueueConfig::default()),
    ]
}

fn fq_codel() -> fq_codel::FqCoDelConfig {
    fq_codel::FqCoDelConfig {
        lanes: 4,
        quantum: Bytes(700),
        drop_batch: 3,
        target: Duration::from_millis(1),
        interval: Duration::from_millis(4),
        ..fq_codel::FqCoDelConfig::default()
    }
}

/// Every possible pair in a queue: FQ-CoDel has its own AQM.
fn pairs() -> impl Iterator<Item = (AqmConfig, DisciplineConfig)> {
    let pairs =
        disciplines().into_iter().flat_map(|d| aqms().into_iter().map(move |a| (a, d.clone())));
    pairs.filter(|(aqm, d)| {
        let (aqm, discipline) = (aqm.clone(), d.clone());
        QueueConfig { aqm, discipline, ..QueueConfig::default() }.validate().is_ok()
    })
}

fn build(limit: Limit, aqm: AqmConfig, discipline: DisciplineConfig) -> ManagedQueue {
    let config = QueueConfig { limit, aqm, discipline, ..QueueConfig::default() };
    ManagedQueue::new(Layer::Sdap, &config, 11).expect("within bounds")
}

fn fifo_with(limit: Limit, aqm: impl Aqm + Send + 'static) -> ManagedQueue {
    let parts = (AnyDiscipline::Fifo(Fifo::default()), AnyAqm::Custom(Box::new(aqm)));
    ManagedQueue::from_parts(Layer::Sdap, limit, parts.0, parts.1).expect("within bounds")
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn packet(id: u64, size: u32) -> Packet {
    Packet { id, size, ..Packet::default() }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Enqueue { flow: u32, size: u32, ecn: Ecn },
    Dequeue,
    Reserve,
    Commit,
    AbortAll,
    Timeout,
    Wait { us: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    prop_oneof![
        8 => (0..6u32, 40..1500u32, ecn)
            .prop_map(|(flow, size, ecn)| Op::Enqueue { flow, size, ecn }),
        3 => Just(Op::Dequeue),
        2 => Just(Op::Reserve),
        2 => Just(Op::Commit),
        1 => Just(Op::AbortAll),
        1 => Just(Op::Timeout),
        6 => (0..1500u64).prop_map(|us| Op::Wait { us }),
    ]
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1..40u32).prop_map(Limit::Packets),
        (1000..40_000u64).prop_map(Limit::Bytes),
        Just(Limit::Unlimited)
    ]
}

/// Runs `ops`, then empties the queue; the ledger checks each event. `by_kind`: the queue has a
/// lane for each kind of codepoint.
fn run(queue: &mut ManagedQueue, ops: &[Op], by_kind: bool) -> Ledger {
    let mut ledger = Ledger { by_kind, ..Ledger::default() };
    let mut reserved: Vec<Packet> = Vec::new();
    let mut now = Instant::ZERO;
    for (id, op) in (0..).zip(ops) {
        match *op {
            Op::Enqueue { flow, size, ecn } => {
                let p = Packet {
                    id,
                    flow,
                    flow_hash: flow * 0x0123_4567,
                    size,
                    ecn,
                    ..Packet::default()
                };
                queue.enqueue(now, p, &mut ledger);
            }
            // In the order of reservation, so that flows keep their order.
            Op::Dequeue if reserved.is_empty() => drop(queue.dequeue(now, &mut ledger)),
            Op::Dequeue | Op::Timeout => queue.on_timeout(now, &mut ledger),
            Op::Reserve => reserved.extend(queue.reserve(now, &mut ledger)),
            Op::Commit if !reserved.is_empty() => {
                queue.commit(now, &reserved.remove(0), &mut ledger)
            }
            Op::Commit => {}
            Op::AbortAll => reserved.drain(..).rev().for_each(|p| queue.abort(p)),
            Op::Wait { us } => now += Duration::from_micros(us),
        }
        queue.assert_conserved();
        assert_eq!(queue.backlog_packets() as usize, ledger.inside.len());
        assert_eq!(queue.reserved_packets() as usize, reserved.len());
        assert_eq!(queue.head_age(now).is_none(), queue.waiting_packets() == 0);
        assert!(match queue.limit() {
            Limit::Packets(most) => queue.backlog_packets() <= most,
            Limit::Bytes(most) => queue.backlog_bytes() <= most,
            Limit::Unlimited => true,
        });
    }
    reserved.drain(..).for_each(|p| queue.commit(now, &p, &mut ledger));
    while queue.dequeue(now, &mut ledger).is_some() {}
    assert!(queue.is_empty() && ledger.inside.is_empty());
    let c = queue.counters();
    assert_eq!(
        (c.arrived.packets, c.marked().packets),
        (ledger.arrived, ledger.marked.len() as u64)
    );
    assert_eq!(c.dropped_total().packets, ledger.dropped.len() as u64);
    for order in ledger.left.values() {
        assert!(order.is_sorted(), "a flow left out of order: {order:?}");
    }
    ledger
}

#[test]
fn every_aqm_acts_on_these_loads() {
    let mut rng = justfull_base::Rng::from_key(5);
    let ops: Vec<Op> = (0..6000)
        .map(|_| match rng.below(16) {
            0..=6 => {
                let size = 40 + rng.below(1460) as u32;
                let ecn = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1][rng.below(4) as usize];
                Op::Enqueue { flow: rng.below(6) as u32, size, ecn }
            }
            7..=9 => Op::Dequeue,
            10 => Op::Reserve,
            11 => Op::Commit,
            12 => Op::Timeout,
            _ => Op::Wait { us: rng.below(1500) },
        })
        .collect();
    for aqm in aqms().into_iter().filter(|aqm| !matches!(aqm, AqmConfig::None(_))) {
        let mut queue = build(Limit::Packets(60), aqm.clone(), DisciplineConfig::default());
        if queue.needs().offers {
            queue.set_service_rate(Some(BitRate(1_000_000)));
        }
        run(&mut queue, &ops, false);
        let signals = queue.aqm_signals();
        assert!(signals.is_some_and(|signals| signals > 30), "{signals:?} signals of {aqm:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn reserve_commit_and_abort_never_lose_double_or_reorder_a_packet(
        ops in prop::collection::vec(op(), 1..600), limit in limits(),
    ) {
        for (aqm, discipline) in pairs() {
            let by_kind = discipline.splits_flows();
            run(&mut build(limit, aqm, discipline), &ops, by_kind);
        }
    }

    #[test]
    fn the_same_input_gives_the_same_output(ops in prop::collection::vec(op(), 1..300),
        limit in limits()) {
        for (aqm, discipline) in pairs() {
            let mut twins = [(); 2].map(|()| build(limit, aqm.clone(), discipline.clone()));
            let [a, b] = twins.each_mut().map(|queue| run(queue, &ops, discipline.splits_flows()));
            prop_assert_eq!((a.left, a.dropped, a.marked), (b.left, b.dropped, b.marked));
        }
    }

    #[test]
    fn a_clone_of_an_aqm_behaves_as_its_original(
        asks in prop::collection::vec((0..3000u64, 0..9000u64, 0..6000u64, any::<bool>()), 2..200),
        cut in 0..100usize,
    ) {
        for config in aqms() {
            let AqmConfig::CoDel(config) = config else { continue };
            let mut original = codel::CoDel::new(&config, AqmContext::new(1, 0)).expect("within bounds");
            let mut copy = original.clone();
            let mut now = Instant::ZERO;
            for (n, &(wait, sojourn, bytes, capable)) in asks.iter().enumerate() {
                if n == cut {
                    copy = original.clone();
                }
                now += Duration::from_micros(wait);
                let view = view(bytes);
                let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                let p = Packet { ecn, ..packet(0, 1500) };
                let ask = |aqm: &mut codel::CoDel| {
                    aqm.on_dequeue(now, &view, 0, &p, 0, Duration::from_micros(sojourn))
                };
                let verdict = ask(&mut original);
                if n >= cut {
                    prop_assert_eq!(ask(&mut copy), verdict);
                }
            }
            prop_assert!(cut >= asks.len() || copy == original);
        }
    }
}

fn view(backlog_bytes: u64) -> QueueView {
    QueueView {
        backlog_packets: 4,
        backlog_bytes,
        lane: LaneView { bytes: backlog_bytes, ..LaneView::default() },
        ..QueueView::default()
    }
}

#[test]
fn no_aqm_signals_while_each_packet_leaves_an_otherwise_empty_queue_at_once() {
    for (aqm, discipline) in pairs() {
        let mut queue = build(Limit::Packets(10), aqm.clone(), discipline);
        let mut ledger = Ledger::default();
        for n in 0..2000 {
            let p = Packet { ecn: Ecn::Ect0, flow_hash: n as u32, ..packet(n, 1500) };
            assert!(queue.enqueue(at(n), p, &mut ledger));
            assert_eq!(
                queue.dequeue(at(n), &mut ledger).map(|p| (p.id, p.ecn)),
                Some((n, Ecn::Ect0))
            );
            assert_eq!(queue.dequeue(at(n), &mut ledger), None);
        }
        assert!(ledger.dropped.is_empty() && ledger.marked.is_empty(), "{aqm:?}");
    }
}

#[test]
fn a_full_fifo_refuses_the_packet_that_arrives() {
    let mut queue = build(Limit::Packets(3), AqmConfig::default(), DisciplineConfig::default());
    let mut ledger = Ledger::default();
    let admitted: Vec<bool> =
        (0..5).map(|id| queue.enqueue(at(0), packet(id, 100), &mut ledger)).collect();
    assert_eq!(admitted, [true, true, true, false, false]);
    assert_eq!(ledger.dropped, [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
    assert_eq!(queue.counters().dropped(DropReason::Overflow), Count { packets: 2, bytes: 200 });
}

#[test]
fn a_reserved_packet_counts_against_the_limit_until_it_is_committed() {
    let mut queue = build(Limit::Bytes(3000), AqmConfig::default(), DisciplineConfig::default());
    let mut ledger = Ledger::default();
    assert!(queue.enqueue(at(0), packet(0, 1500), &mut ledger));
    assert!(queue.enqueue(at(0), packet(1, 1500), &mut ledger));
    let first = queue.reserve(at(1), &mut ledger).expect("two wait");
    assert_eq!(
        (queue.waiting_bytes(), queue.reserved_bytes(), queue.backlog_bytes()),
        (1500, 1500, 3000)
    );
    assert!(!queue.enqueue(at(1), packet(2, 1500), &mut ledger));
    queue.commit(at(4), &first, &mut ledger);
    assert!(queue.enqueue(at(4), packet(3, 1500), &mut ledger));
    assert_eq!(ledger.sojourns, [Duration::from_millis(4)]);
}

#[test]
fn the_longest_lane_pays_for_an_overflow() {
    let sfq = DisciplineConfig::Sfq(sfq::SfqConfig::default());
    let mut queue = build(Limit::Packets(10), AqmConfig::default(), sfq);
    let mut ledger = Ledger::default();
    let of_flow = |id, flow: u32| Packet { flow, flow_hash: flow * 77_777, ..packet(id, 500) };
    (0..10).for_each(|id| assert!(queue.enqueue(at(0), of_flow(id, 1), &mut ledger)));
    assert!(queue.enqueue(at(1), of_flow(10, 2), &mut ledger));
    assert!(!queue.enqueue(at(1), of_flow(11, 1), &mut ledger));
    assert_eq!(ledger.dropped, [(9, DropReason::OverflowVictim), (11, DropReason::Overflow)]);
    assert_eq!(queue.backlog_packets(), 10);
}

#[test]
fn a_discipline_with_an_aqm_of_its_own_takes_no_other() {
    let config = QueueConfig {
        aqm: AqmConfig::CoDel(codel::CoDelConfig::default()),
        discipline: DisciplineConfig::FqCoDel(fq_codel()),
        ..QueueConfig::default()
    };
    let error = ManagedQueue::new(Layer::Rlc, &config, 1).map(drop).expect_err("two AQMs");
    assert_eq!((error.field.as_str(), error.value.as_str()), ("aqm", "codel"));
    let queue =
        build(Limit::Packets(9), AqmConfig::default(), DisciplineConfig::FqCoDel(fq_codel()));
    assert!(matches!(queue.aqm(), AnyAqm::CoDel(_)));
}

#[test]
fn a_packet_larger_than_the_limit_costs_no_other_its_place() {
    let sfq = DisciplineConfig::Sfq(sfq::SfqConfig::default());
    let mut queue = build(Limit::Bytes(2000), AqmConfig::default(), sfq);
    let mut ledger = Ledger::default();
    (0..4).for_each(|id| assert!(queue.enqueue(at(0), packet(id, 500), &mut ledger)));
    let large = Packet { flow_hash: 1, ..packet(4, 2001) };
    assert!(!queue.enqueue(at(0), large, &mut ledger));
    assert_eq!((ledger.dropped, queue.backlog_packets()), (vec![(4, DropReason::Overflow)], 4));
}

#[test]
fn a_packet_that_was_given_back_is_next_and_is_not_judged_twice() {
    let mut queue = fifo_with(Limit::Unlimited, Recorder::default());
    let mut ledger = Ledger::default();
    for id in 0..3 {
        queue.enqueue(at(0), packet(id, 1000), &mut ledger);
    }
    let first = queue.reserve(at(1), &mut ledger).expect("three wait");
    let second = queue.reserve(at(1), &mut ledger).expect("two wait");
    queue.abort(second);
    queue.abort(first);
    assert_eq!(queue.peek().map(|p| p.id), Some(0));
    let order: Vec<u64> =
        (0..3).filter_map(|_| queue.dequeue(at(2), &mut ledger)).map(|p| p.id).collect();
    assert_eq!(order, [0, 1, 2]);
    let asked =
        CALLS.with_borrow(|calls| calls.iter().filter(|c| c.starts_with("dequeue")).count());
    assert_eq!(asked, 3, "each packet once");
}

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn a_passed_packet_leaves_the_same_state_as_an_enqueued_and_dequeued_packet() {
    #[derive(Default, PartialEq, Debug)]
    struct Log(Vec<String>);
    impl Probe for Log {
        fn on_event(&mut self, now: Instant, event: &Event) {
            self.0.push(format!("{now:?} {event:?}"));
        }
    }
    for (aqm, discipline) in pairs() {
        let plain = aqm == AqmConfig::default() && discipline == DisciplineConfig::default();
        let [mut passed, mut stored] =
            [(); 2].map(|()| build(Limit::Bytes(900), aqm.clone(), discipline.clone()));
        let (mut short, mut long) = (Log::default(), Log::default());
        let mut ways = [0; 3];
        for id in 0..60 {
            // Some do not fit, and no packet overtakes a packet that stays.
            let (now, one) = (at(id), packet(id, [100, 901, 500][id as usize % 3]));
            let stays = id % 10 > 6;
            let way = if stays { Pass::Held } else { passed.pass(now, &one, &mut short) };
            ways[way as usize] += 1;
            if way == Pass::Held {
                passed.enqueue(now, one, &mut short);
            }
            stored.enqueue(now, one, &mut long);
            if !stays {
                if way == Pass::Held {
                    passed.dequeue(now, &mut short);
                }
                stored.dequeue(now, &mut long);
            }
            assert_eq!(
                (&short, passed.counters()),
                (&long, stored.counters()),
                "{aqm:?} {discipline:?} {id}"
            );
            assert_eq!(passed.backlog_bytes(), stored.backlog_bytes());
        }
        assert_eq!(ways[..2].iter().all(|&packets| packets > 0), plain, "{discipline:?}: {ways:?}");
    }
}

#[test]
fn an_idle_queue_is_small() {
    assert!(size_of::<ManagedQueue>() <= 256, "{}", size_of::<ManagedQueue>());
}

#[test]
fn a_lane_that_its_aqm_empties_hands_its_turn_to_the_next() {
    let sfq = DisciplineConfig::Sfq(sfq::SfqConfig::default());
    let discipline = AnyDiscipline::new(&sfq, 1).expect("within bounds");
    let aqm = AnyAqm::Custom(Box::new(Recorder::default()));
    let mut queue = ManagedQueue::from_parts(Layer::Upf, Limit::Unlimited, discipline, aqm)
        .expect("within bounds");
    for (id, flow, size) in [(0, 1, 1001), (1, 1, 1001), (2, 2, 1000)] {
        queue.enqueue(at(0), Packet { flow_hash: flow * 77_777, ..packet(id, size) }, &mut Silent);
    }
    assert_eq!(queue.dequeue(at(1), &mut Silent).map(|p| p.id), Some(2));
    assert_eq!(queue.counters().dropped(DropReason::AqmDequeue).packets, 2);
}

#[test]
fn a_probe_may_be_shared() {
    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<u32>>);
    impl Probe for Shared {
        fn on_event(&mut self, _now: Instant, _event: &Event) {
            *self.0.borrow_mut() += 1;
        }
    }
    let probe = Shared::default();
    let mut queue = build(Limit::Unlimited, AqmConfig::default(), DisciplineConfig::default());
    queue.enqueue(at(0), packet(0, 100), &mut probe.clone());
    queue.dequeue(at(0), &mut probe.clone());
    assert_eq!(*probe.0.borrow(), 2);
}
