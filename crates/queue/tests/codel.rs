//! CoDel against a transcription of RFC 8289's pseudo-code, and the properties of the control law
//! and of the variants.

use justfull_base::{Bytes, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe};
use justfull_queue::aqm::codel::{CoDelConfig, Variant};
use justfull_queue::{AqmConfig, Limit, ManagedQueue, QueueConfig};
use proptest::prelude::*;
use rfc8289::Rfc8289;

mod rfc8289;

/// Records drops and marks in order.
#[derive(Default)]
struct Log {
    dropped: Vec<(Instant, u64, DropReason)>,
    marked: Vec<(Instant, u64)>,
}

impl Probe for Log {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Dropped { packet, reason, .. } => self.dropped.push((now, packet.id, *reason)),
            Event::Marked { packet, .. } => self.marked.push((now, packet.id)),
            _ => {}
        }
    }
}

fn queue(config: CoDelConfig) -> ManagedQueue {
    let config = QueueConfig {
        limit: Limit::Unlimited,
        aqm: AqmConfig::CoDel(config),
        ..Default::default()
    };
    ManagedQueue::new(Layer::Rlc, &config, 0).expect("within bounds")
}

fn t20() -> CoDelConfig {
    CoDelConfig {
        target: Duration::from_millis(15),
        interval: Duration::from_millis(300),
        ecn: false,
        variant: Variant::T20Released,
        ..CoDelConfig::default()
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    wait_us: u64,
    enqueue: bool,
    size: u32,
}

/// Arrivals and departures at rates at which the queue alternately grows and drains.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let phase = (1..10u32, 1..400usize).prop_flat_map(|(arrivals, length)| {
        let step = (0..2500u64, 0..10u32, prop_oneof![Just(1500u32), 40..1500u32])
            .prop_map(move |(wait_us, n, size)| Step { wait_us, enqueue: n < arrivals, size });
        prop::collection::vec(step, length)
    });
    prop::collection::vec(phase, 1..12).prop_map(|phases| phases.concat())
}

/// Runs both; returns the number of dropped packets.
fn compare(config: CoDelConfig, steps: &[Step]) -> usize {
    let mut oracle = Rfc8289::new(&config);
    let mut ours = queue(config);
    let mut log = Log::default();
    let mut now = Instant::from_nanos(1);
    for (id, step) in (0..).zip(steps) {
        now += Duration::from_micros(step.wait_us);
        if step.enqueue {
            oracle.queue.push_back((now.as_nanos(), step.size, id));
            ours.enqueue(now, Packet { id, size: step.size, ..Packet::default() }, &mut log);
        } else {
            let expected = oracle.dequeue(now.as_nanos());
            assert_eq!(ours.dequeue(now, &mut log).map(|p| p.id), expected, "delivered at {now:?}");
        }
        let dropped: Vec<u64> = log.dropped.iter().map(|d| d.1).collect();
        assert_eq!(dropped, oracle.dropped, "dropped by {now:?}");
    }
    ours.assert_conserved();
    oracle.dropped.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_verdict_follows_the_pseudo_code_of_the_rfc(
        steps in steps(), target_ms in 1..20u64, factor in 1..25u64, mtu in 0..3000u64,
    ) {
        let target = Duration::from_millis(target_ms);
        let config = CoDelConfig { target, interval: target.times(factor), mtu: Bytes(mtu),
            ..CoDelConfig::default() };
        compare(config, &steps);
    }
}

#[test]
fn the_comparison_with_the_rfc_sees_hundreds_of_drops_and_several_dropping_states() {
    let mut steps = Vec::new();
    for round in 0..8 {
        steps.extend((0..3000).map(|n| Step { wait_us: 500, enqueue: n % 5 < 3, size: 1500 }));
        steps.extend((0..400 + 40 * round).map(|_| Step {
            wait_us: 300,
            enqueue: false,
            size: 1500,
        }));
    }
    assert!(compare(CoDelConfig::default(), &steps) > 200);
}

/// A queue that is never below the target: 3 packets arrive for every 2 that leave, one event of
/// either kind per millisecond.
fn overload(queue: &mut ManagedQueue, log: &mut Log, ecn: Ecn, packets: u64) {
    for n in 0..packets {
        let now = Instant::ZERO + Duration::from_millis(n);
        queue.enqueue(now, Packet { id: n, size: 1500, ecn, ..Packet::default() }, log);
        if n % 3 > 0 {
            queue.dequeue(now, log);
        }
    }
}

#[test]
fn the_gaps_between_drops_shrink_as_the_interval_over_the_root_of_count() {
    let mut queue = queue(CoDelConfig::default());
    let mut log = Log::default();
    overload(&mut queue, &mut log, Ecn::NotEct, 1500);
    let at: Vec<f64> = log.dropped.iter().map(|d| d.0.as_secs_f64() * 1e3).collect();
    assert!(at.len() > 30, "{at:?}");
    let mut due = at[0];
    for (n, found) in (1u32..).zip(&at[1..]) {
        due += 100.0 / f64::from(n).sqrt();
        // A drop waits for the next dequeue, at most 2 ms: one millisecond in three has no dequeue.
        assert!((0.0..2.001).contains(&(found - due)), "drop {n} at {found} ms, due {due} ms");
    }
}

#[test]
fn packets_that_can_carry_a_mark_are_marked_and_delivered_at_the_times_of_the_drops() {
    let (mut dropping, mut marking, mut refusing) = (
        queue(CoDelConfig::default()),
        queue(CoDelConfig::default()),
        queue(CoDelConfig { ecn: false, ..CoDelConfig::default() }),
    );
    let (mut drops, mut marks, mut refusals) = (Log::default(), Log::default(), Log::default());
    overload(&mut dropping, &mut drops, Ecn::NotEct, 900);
    overload(&mut marking, &mut marks, Ecn::Ect0, 900);
    overload(&mut refusing, &mut refusals, Ecn::Ect0, 900);
    let times = |log: &Log| log.dropped.iter().map(|d| d.0).collect::<Vec<_>>();
    assert!(marks.dropped.is_empty() && marks.marked.len() > 10);
    assert_eq!(marks.marked.iter().map(|m| m.0).collect::<Vec<_>>(), times(&drops));
    assert_eq!(times(&refusals), times(&drops));
    assert_eq!(marking.counters().marked().packets, marks.marked.len() as u64);
    marking.assert_conserved();
}

#[test]
fn a_ce_threshold_marks_what_waited_longer_and_leaves_the_control_law_alone() {
    let config = CoDelConfig { ce_threshold: Duration::from_millis(2), ..CoDelConfig::default() };
    let mut log = Log::default();
    let mut queue = queue(config);
    // Two ECN-capable packets and a third that is not, dequeued after 2 ms, 3 ms and 4 ms.
    for (id, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ect1), (2, Ecn::NotEct)] {
        queue.enqueue(Instant::ZERO, Packet { id, size: 1500, ecn, ..Packet::default() }, &mut log);
    }
    let left: Vec<Ecn> = (2..5)
        .filter_map(|ms| queue.dequeue(Instant::ZERO + Duration::from_millis(ms), &mut log))
        .map(|p| p.ecn)
        .collect();
    assert_eq!(
        left,
        [Ecn::Ect0, Ecn::Ce, Ecn::NotEct],
        "longer than 2 ms, where a mark can be carried"
    );
    assert!(log.dropped.is_empty());
    // Packets that cannot be marked are dropped when CoDel alone would drop them.
    let (mut with, mut without) = (self::queue(config), self::queue(CoDelConfig::default()));
    let (mut drops_with, mut drops_without) = (Log::default(), Log::default());
    overload(&mut with, &mut drops_with, Ecn::NotEct, 900);
    overload(&mut without, &mut drops_without, Ecn::NotEct, 900);
    assert!(drops_with.dropped.len() > 10);
    assert_eq!(drops_with.dropped, drops_without.dropped);
}

#[test]
fn a_backlog_of_one_mtu_or_less_is_exempt_however_long_it_waited() {
    let run = |size| {
        let mut queue = queue(CoDelConfig::default());
        let mut log = Log::default();
        for n in 0..200 {
            let now = Instant::ZERO + Duration::from_millis(20 * n);
            queue.enqueue(now, Packet { id: n, size, ..Packet::default() }, &mut log);
            if n > 0 {
                queue.dequeue(now, &mut log);
            }
        }
        log.dropped.len()
    };
    assert_eq!(run(1500), 0);
    assert!(run(1501) > 0);
}

#[test]
fn each_drop_of_the_released_program_takes_the_head_and_the_packet_behind_it() {
    let mut queue = queue(t20());
    let mut log = Log::default();
    overload(&mut queue, &mut log, Ecn::NotEct, 3000);
    assert!(log.dropped.len() > 10 && log.dropped.len().is_multiple_of(2));
    for pair in log.dropped.chunks(2) {
        assert_eq!((pair[0].0, pair[0].1 + 1), (pair[1].0, pair[1].1));
        assert!(pair.iter().all(|d| d.2 == DropReason::AqmDequeue));
    }
    queue.assert_conserved();
}

#[test]
fn the_released_program_counts_the_next_drop_from_now_and_the_rfc_from_when_it_was_due() {
    // One dequeue every 7 ms: each drop is late by up to 7 ms, which accumulates only if the next
    // drop counts from now.
    let pairs = |variant| {
        let mut queue = queue(CoDelConfig { ecn: false, variant, ..CoDelConfig::default() });
        let mut log = Log::default();
        for n in 0..4000 {
            let now = Instant::ZERO + Duration::from_millis(n);
            queue.enqueue(now, Packet { id: n, size: 1500, ..Packet::default() }, &mut log);
            if n % 7 == 0 {
                queue.dequeue(now, &mut log);
            }
        }
        let mut at: Vec<f64> = log.dropped.iter().map(|d| d.0.as_secs_f64() * 1e3).collect();
        at.dedup();
        at
    };
    let released = pairs(Variant::T20Released);
    for (n, pair) in (1u32..).zip(released.windows(2)) {
        let late = pair[1] - pair[0] - 100.0 / f64::from(n).sqrt();
        assert!((0.0..7.001).contains(&late), "gap {n}: {late} ms late");
    }
    let rfc = pairs(Variant::Rfc8289);
    let due = rfc[0] + (1..=20u32).map(|n| 100.0 / f64::from(n).sqrt()).sum::<f64>();
    assert!((0.0..7.001).contains(&(rfc[20] - due)), "drop 20 at {} ms, due {due} ms", rfc[20]);
    assert!(released[20] > rfc[20] + 20.0, "{} {}", released[20], rfc[20]);
}

#[test]
fn the_released_program_drops_from_a_queue_of_two_packets_and_may_empty_it() {
    let run = |variant| {
        let mut queue = queue(CoDelConfig { ecn: false, variant, ..CoDelConfig::default() });
        let mut log = Log::default();
        let mut delivered = 0;
        for n in 0..20 {
            let now = Instant::ZERO + Duration::from_millis(20 * n);
            queue.enqueue(now, Packet { id: n, size: 1500, ..Packet::default() }, &mut log);
            if n > 0 {
                delivered += u64::from(queue.dequeue(now, &mut log).is_some());
            }
        }
        queue.assert_conserved();
        (log.dropped.iter().map(|d| d.1).collect::<Vec<_>>(), delivered)
    };
    assert_eq!(run(Variant::Rfc8289), (vec![], 19));
    // Above the target from 20 ms on, so the first drop is at 120 ms: packets 5 and 6, and that
    // dequeue returns nothing.
    assert_eq!(run(Variant::T20Released), (vec![5, 6], 18));
}

#[test]
fn a_signal_state_belongs_to_its_lane() {
    use justfull_queue::aqm::codel::CoDel;
    use justfull_queue::{Aqm, AqmContext, LaneView, QueueView, Verdict};
    let mut codel =
        CoDel::new(&CoDelConfig::default(), AqmContext::new(2, 0)).expect("within bounds");
    let view = QueueView {
        backlog_packets: 50,
        backlog_bytes: 75_000,
        lane: LaneView { bytes: 75_000, ..LaneView::default() },
        ..QueueView::default()
    };
    let packet = Packet { size: 1500, ..Packet::default() };
    let mut ask = |lane, ms, sojourn| {
        let sojourn = Duration::from_millis(sojourn);
        codel.on_dequeue(
            Instant::ZERO + Duration::from_millis(ms),
            &view,
            lane,
            &packet,
            0,
            sojourn,
        )
    };
    assert_eq!(ask(0, 1, 50), Verdict::Pass);
    assert_eq!(ask(1, 50, 50), Verdict::Pass);
    assert_eq!(ask(1, 101, 50), Verdict::Pass);
    assert_eq!(ask(0, 101, 50), Verdict::Signal);
    assert_eq!(ask(0, 101, 50), Verdict::Pass);
    assert_eq!(ask(1, 150, 4), Verdict::Pass);
    assert_eq!(ask(1, 151, 50), Verdict::Pass);
    assert_eq!(codel.stats().signals, 1);
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |config: CoDelConfig| config.validate().map_err(|e| e.field);
    assert_eq!(
        field(CoDelConfig { target: Duration::ZERO, ..CoDelConfig::default() }),
        Err("target".into())
    );
    assert_eq!(
        field(CoDelConfig { target: Duration::from_secs(1), ..CoDelConfig::default() }),
        Err("target".into())
    );
    assert_eq!(
        field(CoDelConfig { interval: Duration::ZERO, ..CoDelConfig::default() }),
        Err("interval".into())
    );
    assert_eq!(field(CoDelConfig { ecn: true, ..t20() }), Err("ecn".into()));
    assert_eq!(field(t20()), Ok(()));
    let ce_threshold = Duration::from_millis(1);
    assert_eq!(
        field(CoDelConfig { ecn: false, ce_threshold, ..CoDelConfig::default() }),
        Err("ce_threshold".into())
    );
    let config = QueueConfig {
        aqm: AqmConfig::CoDel(CoDelConfig { target: Duration::ZERO, ..CoDelConfig::default() }),
        ..Default::default()
    };
    let error = ManagedQueue::new(Layer::Upf, &config, 0).map(drop).map_err(|e| e.field);
    assert_eq!(error, Err("aqm.target".into()));
}
