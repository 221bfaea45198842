//! Conformance of every discipline, and properties of stochastic fairness queueing.

use justfull_base::packet::Protocol;
use justfull_base::param::Param;
use justfull_base::{Bytes, Duration, Instant, Packet};
use justfull_queue::discipline::sfq::{Overflow, Quantum, Sfq, SfqConfig};
use justfull_queue::discipline::{dual_queue, fq_codel, lanes, protocol};
use justfull_queue::{
    AnyDiscipline, Discipline, DisciplineConfig, End, Lane, Limit, Queued, Victim,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Every discipline, with the settings that change its code path.
fn all() -> Vec<DisciplineConfig> {
    let sfq = SfqConfig { lanes: 8, perturb: Duration::ZERO, ..SfqConfig::default() };
    vec![
        DisciplineConfig::default(),
        DisciplineConfig::Protocol(protocol::ByProtocolConfig {}),
        DisciplineConfig::Sfq(sfq),
        DisciplineConfig::Sfq(SfqConfig { quantum: Quantum::Bytes(Bytes(300)), ..sfq }),
        DisciplineConfig::Sfq(SfqConfig { perturb: Duration::from_millis(1), ..sfq }),
        DisciplineConfig::Sfq(SfqConfig {
            overflow: Overflow::Arriving,
            lane_limit: Limit::Packets(5),
            ..sfq
        }),
        DisciplineConfig::FqCoDel(fq_codel::FqCoDelConfig {
            lanes: 8,
            ..fq_codel::FqCoDelConfig::default()
        }),
        DisciplineConfig::FqCoDel(fq_codel::FqCoDelConfig {
            lanes: 8,
            quantum: Bytes(256),
            drop_batch: 3,
            ..fq_codel::FqCoDelConfig::default()
        }),
        DisciplineConfig::Lanes(lanes::LanesConfig { lanes: 8, ..lanes::LanesConfig::default() }),
        DisciplineConfig::Lanes(lanes::LanesConfig {
            lanes: 8,
            urgent: 1,
            ..lanes::LanesConfig::default()
        }),
        DisciplineConfig::Lanes(lanes::LanesConfig {
            lanes: 8,
            steady: Duration::ZERO,
            ..lanes::LanesConfig::default()
        }),
        DisciplineConfig::DualQueue(dual_queue::DualQueueConfig::default()),
    ]
}

fn build(config: &DisciplineConfig) -> AnyDiscipline {
    AnyDiscipline::new(config, 7).expect("within bounds")
}

fn packet(id: u64, flow: u32, size: u32) -> Packet {
    let protocol = if flow.is_multiple_of(2) { Protocol::Tcp } else { Protocol::Udp };
    Packet {
        id,
        flow,
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        size,
        protocol,
        ..Packet::default()
    }
}

fn push(d: &mut impl Discipline, p: Packet) -> Lane {
    let lane = d.lane_of(&p);
    d.push_back(lane, Queued::new(p, p.id));
    lane
}

fn serve(d: &mut impl Discipline) -> Option<Packet> {
    let turn = d.turn();
    assert_eq!(d.advance(), turn, "the announced lane has the turn");
    let lane = turn?;
    let packet = d.pop(lane).expect("the lane in turn is active").packet;
    d.served(lane, packet.size);
    Some(packet)
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push { flow: u32, size: u32 },
    Serve,
    ServeAndGiveBack,
    Drop,
    Victim { flow: u32 },
    Remove { one_in: u64 },
    Wait { ms: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..20u32, 1..3000u32).prop_map(|(flow, size)| Op::Push { flow, size }),
        5 => Just(Op::Serve),
        1 => Just(Op::ServeAndGiveBack),
        1 => Just(Op::Drop),
        1 => (0..20u32).prop_map(|flow| Op::Victim { flow }),
        1 => (2..20u64).prop_map(|one_in| Op::Remove { one_in }),
        1 => (0..3u64).prop_map(|ms| Op::Wait { ms }),
    ]
}

/// The expected content: the packets of each flow in order.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u32, Vec<u64>>,
    len: usize,
}

impl Model {
    fn left_from_head(&mut self, p: &Packet) {
        let flow = self.flows.get_mut(&p.flow).expect("a known flow");
        assert_eq!(flow.first(), Some(&p.id), "flow {} out of order", p.flow);
        flow.remove(0);
        self.len -= 1;
    }

    fn removed(&mut self, p: &Packet) {
        let flow = self.flows.get_mut(&p.flow).expect("a known flow");
        let before = flow.len();
        flow.retain(|id| *id != p.id);
        assert_eq!(flow.len() + 1, before, "packet {} was there once", p.id);
        self.len -= 1;
    }
}

fn apply(d: &mut AnyDiscipline, model: &mut Model, op: Op, now: &mut Instant, id: u64) {
    match op {
        Op::Push { flow, size } => {
            d.reshuffle(*now);
            let p = Packet { enqueued: *now, ..packet(id, flow, size) };
            push(d, p);
            model.flows.entry(flow).or_default().push(id);
            model.len += 1;
        }
        Op::Serve => {
            if let Some(p) = serve(d) {
                model.left_from_head(&p);
            }
        }
        Op::ServeAndGiveBack => {
            if let Some(p) = serve(d) {
                let lane = d.lane_of(&p);
                d.push_front(lane, Queued::passed(p));
                let again = d.turn().and_then(|lane| d.head(lane)).map(|q| q.packet);
                assert_eq!(again, Some(p), "a packet that is given back is the next");
            }
        }
        Op::Drop => {
            if let Some(lane) = d.advance() {
                let p = d.pop(lane).expect("active").packet;
                model.left_from_head(&p);
                // By share, a lane pays for its next packet before it is served.
                let is_dearer = |next: &Queued| next.packet.size > p.size;
                let by_share = matches!(d, AnyDiscipline::Lanes(_));
                assert!(
                    d.head(lane).is_none_or(|next| by_share && is_dearer(next))
                        || d.turn() == Some(lane),
                    "a drop costs the lane nothing"
                );
            }
        }
        Op::Victim { flow } => {
            let lane = d.lane_of(&packet(0, flow, 100));
            if let Some(victim) = d.victim(lane, 100) {
                for _ in 0..victim.packets {
                    let taken = match victim.end {
                        End::Head => d.pop(victim.lane),
                        End::Tail => d.pop_tail(victim.lane),
                    };
                    let p = taken.expect("a victim lane holds as many packets").packet;
                    assert_eq!(d.lane_of(&p), victim.lane);
                    model.removed(&p);
                }
            }
        }
        Op::Remove { one_in } => d.retain(&mut |_, q| {
            let keep = !(q.packet.id + id).is_multiple_of(one_in);
            if !keep {
                model.removed(&q.packet);
            }
            keep
        }),
        Op::Wait { ms } => *now += Duration::from_millis(ms),
    }
}

/// Each lane has the bytes of its packets; a queue of one lane does not count them.
fn assert_lane_bytes(d: &mut AnyDiscipline) {
    let lanes = d.lanes() as usize;
    // Before `retain`, which may recount.
    let told: Vec<_> = (0..lanes).map(|lane| d.lane_bytes(lane as Lane)).collect();
    let mut bytes = vec![0; lanes];
    d.retain(&mut |lane, q| {
        bytes[usize::from(lane)] += u64::from(q.packet.size);
        true
    });
    let expected: Vec<_> = bytes.into_iter().map(|bytes| (lanes > 1).then_some(bytes)).collect();
    assert_eq!(told, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_packet_is_lost_or_doubled_and_each_flow_keeps_its_order(ops in prop::collection::vec(op(),
        1..500)) {
        for config in all().into_iter().filter(|config| !config.splits_flows()) {
            let mut d = build(&config);
            let mut model = Model::default();
            let mut now = Instant::ZERO;
            for (id, op) in (0..).zip(&ops) {
                apply(&mut d, &mut model, *op, &mut now, id);
                assert_eq!(d.len(), model.len, "{config:?}");
                assert_eq!(d.turn().is_none(), model.len == 0, "{config:?}");
                assert_lane_bytes(&mut d);
            }
            while let Some(p) = serve(&mut d) {
                model.left_from_head(&p);
            }
            assert_eq!(model.len, 0, "{config:?}");
        }
    }
}

#[test]
fn packets_leave_the_tail_of_each_lane_last_in_first_out() {
    for config in all() {
        let mut d = build(&config);
        let mut lanes = vec![Vec::new(); d.lanes() as usize];
        for id in 0..60 {
            let lane = push(&mut d, packet(id, (id % 13) as u32, 100));
            lanes[usize::from(lane)].push(id);
        }
        for (lane, mut ids) in (0..).zip(lanes) {
            while let Some(id) = ids.pop() {
                assert_eq!(d.pop_tail(lane).map(|q| q.packet.id), Some(id), "{config:?}");
            }
            assert_eq!(d.pop_tail(lane), None, "{config:?}");
        }
        assert_eq!((d.len(), d.turn()), (0, None), "{config:?}");
    }
}

#[test]
fn a_clone_behaves_as_its_original() {
    let mut original = Sfq::new(&SfqConfig::default(), 3).expect("within bounds");
    for id in 0..500 {
        push(&mut original, packet(id, (id % 37) as u32, 100 + id as u32));
    }
    let mut copy = original.clone();
    while let Some(p) = serve(&mut original) {
        assert_eq!(serve(&mut copy), Some(p));
    }
    assert_eq!(serve(&mut copy), None);
}

/// Packets and bytes served to two endless flows in different lanes, over `n` packets.
fn shares(quantum: Quantum, sizes: [u32; 2], n: usize) -> [(u64, u64); 2] {
    let mut d = Sfq::new(&SfqConfig { quantum, ..SfqConfig::default() }, 1).expect("within bounds");
    assert_ne!(
        d.lane_of(&packet(0, 0, 1)),
        d.lane_of(&packet(0, 1, 1)),
        "the flows do not collide"
    );
    for (flow, size) in (0..).zip(sizes) {
        for _ in 0..3 {
            push(&mut d, packet(0, flow, size));
        }
    }
    let mut served = [(0, 0); 2];
    for _ in 0..n {
        let p = serve(&mut d).expect("never empty");
        let (packets, bytes) = &mut served[p.flow as usize];
        *packets += 1;
        *bytes += u64::from(p.size);
        push(&mut d, p);
    }
    served
}

#[test]
fn active_lanes_get_one_packet_each_in_turn() {
    let [a, b] = shares(Quantum::Packet, [1500, 100], 1001);
    assert!(a.0.abs_diff(b.0) <= 1, "{a:?} {b:?}");
}

#[test]
fn active_lanes_get_the_same_bytes_where_turns_are_in_bytes() {
    for quantum in [256, 1000, 1514, 9000] {
        let [a, b] = shares(Quantum::Bytes(Bytes(quantum)), [1500, 100], 10_000);
        // Shreedhar and Varghese 1995, theorem: apart by less than one quantum and one packet per
        // lane.
        assert!(a.1.abs_diff(b.1) <= quantum + 3000, "quantum {quantum}: {a:?} {b:?}");
    }
}

#[test]
fn a_sparse_flow_waits_for_at_most_one_packet_of_each_other_lane() {
    let mut d = Sfq::new(&SfqConfig::default(), 1).expect("within bounds");
    for id in 0..400 {
        push(&mut d, packet(id, (id % 4) as u32, 1500));
    }
    push(&mut d, packet(1000, 99, 100));
    let position = (0..10).position(|_| serve(&mut d).is_some_and(|p| p.id == 1000));
    assert!(position.is_some_and(|n| n <= 4), "{position:?}");
}

#[test]
fn the_victim_is_the_last_packet_of_the_longest_lane_or_the_arriving_one() {
    let mut d = Sfq::new(&SfqConfig::default(), 1).expect("within bounds");
    let long = (0..6).map(|id| push(&mut d, packet(id, 0, 100))).last().expect("six");
    let short = (10..12).map(|id| push(&mut d, packet(id, 1, 1500))).last().expect("two");
    assert_ne!(long, short);
    assert_eq!(d.victim(short, 1500), Some(Victim::last_of(long)));
    assert_eq!(d.victim(long, 100), None);
    assert_eq!(d.pop_tail(long).map(|q| q.packet.id), Some(5));
    // In bytes the lane of two large packets is the longer one.
    let config = SfqConfig { quantum: Quantum::Bytes(Bytes(1514)), ..SfqConfig::default() };
    let mut d = Sfq::new(&config, 1).expect("within bounds");
    for id in 0..6 {
        push(&mut d, packet(id, 0, 100));
    }
    for id in 10..12 {
        push(&mut d, packet(id, 1, 1500));
    }
    assert_eq!(d.victim(long, 100), Some(Victim::last_of(short)));
}

#[test]
fn as_released_the_arriving_packet_is_the_victim_and_each_lane_has_its_own_limit() {
    let config = SfqConfig {
        overflow: Overflow::Arriving,
        lane_limit: Limit::Packets(2),
        ..SfqConfig::default()
    };
    let mut d = Sfq::new(&config, 1).expect("within bounds");
    let lane = (0..2).map(|id| push(&mut d, packet(id, 0, 100))).last().expect("two");
    let other = d.lane_of(&packet(0, 1, 100));
    assert!(!d.lane_admits(lane, 100) && d.lane_admits(other, 100));
    assert_eq!(d.victim(other, 100), None);
}

#[test]
fn a_new_perturbation_spreads_the_flows_anew_and_moves_whole_flows() {
    let config = SfqConfig { lanes: 16, ..SfqConfig::default() };
    let mut d = Sfq::new(&config, 5).expect("within bounds");
    let lanes = |d: &Sfq| (0..200).map(|flow| d.lane_of(&packet(0, flow, 1))).collect::<Vec<_>>();
    for id in 0..600 {
        push(&mut d, packet(id, (id % 200) as u32, 100));
    }
    let before = lanes(&d);
    assert!(!d.reshuffle(Instant::from_nanos(9_999_999_999)));
    assert_eq!(lanes(&d), before);
    assert!(d.reshuffle(Instant::from_nanos(10_000_000_000)));
    let after = lanes(&d);
    let same = before.iter().zip(&after).filter(|(a, b)| a == b).count();
    assert!(same < 40, "{same} of 200 flows kept their lane; one in 16 by chance");
    // Two flows that shared a lane are usually apart now.
    let pairs = |l: &[Lane]| (0..199).filter(|&i| l[i] == l[i + 1]).collect::<Vec<_>>();
    let still = pairs(&before).iter().filter(|&&i| after[i] == after[i + 1]).count();
    assert!(
        still * 2 < pairs(&before).len(),
        "{still} of {} collisions remain",
        pairs(&before).len()
    );
    d.retain(&mut |lane, q| {
        assert_eq!(lane, after[q.packet.flow as usize], "waiting packets follow their flow");
        true
    });
}

#[test]
fn queues_with_other_keys_spread_flows_in_other_ways() {
    let lanes = |key| {
        let d = Sfq::new(&SfqConfig::default(), key).expect("within bounds");
        (0..50).map(|flow| d.lane_of(&packet(0, flow, 1))).collect::<Vec<_>>()
    };
    assert_eq!(lanes(1), lanes(1));
    assert_ne!(lanes(1), lanes(2));
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |config: SfqConfig| config.validate().map_err(|e| e.field);
    assert_eq!(field(SfqConfig { lanes: 0, ..SfqConfig::default() }), Err("lanes".into()));
    assert_eq!(
        field(SfqConfig { perturb: Duration::from_nanos(1), ..SfqConfig::default() }),
        Err("perturb".into())
    );
    let quantum = Quantum::Bytes(Bytes(255));
    assert_eq!(field(SfqConfig { quantum, ..SfqConfig::default() }), Err("quantum".into()));
    let lane_limit = Limit::Packets(0);
    assert_eq!(field(SfqConfig { lane_limit, ..SfqConfig::default() }), Err("lane_limit".into()));
    assert_eq!(field(SfqConfig::default()), Ok(()));
    assert!("1514B".parse::<Quantum>().is_ok() && "2 packets".parse::<Quantum>().is_err());
}

#[test]
fn the_size_of_a_turn_is_written_as_it_is_read_and_has_bounds() {
    for quantum in [Quantum::Packet, Quantum::Bytes(Bytes(1514)), Quantum::Bytes(Bytes(1 << 20))] {
        assert_eq!(quantum.written().parse(), Ok(quantum));
    }
    assert_eq!(Quantum::Packet.written(), "1 packet");
    assert_eq!(Quantum::Bytes(Bytes(1514)).written(), "1514B");
    for bytes in [256, 16 << 20] {
        assert_eq!(Quantum::Bytes(Bytes(bytes)).check(), Ok(()));
    }
    for bytes in [255, (16 << 20) + 1] {
        let error = Quantum::Bytes(Bytes(bytes)).check().map_err(|error| error.bound);
        assert_eq!(error, Err("1 packet, or 256B to 16MiB".into()));
    }
}

#[cfg(feature = "serde")]
#[test]
fn the_size_of_a_turn_is_a_text_in_a_file() {
    for (quantum, text) in
        [(Quantum::Packet, "\"1 packet\""), (Quantum::Bytes(Bytes(1514)), "\"1514B\"")]
    {
        assert_eq!(serde_json::to_string(&quantum).ok().as_deref(), Some(text));
        assert_eq!(serde_json::from_str::<Quantum>(text).ok(), Some(quantum));
    }
    assert!(serde_json::from_str::<Quantum>("\"2 packets\"").is_err());
}

#[test]
fn datagrams_go_before_tcp_and_tcp_gives_way_when_the_queue_is_full() {
    let mut d = build(&DisciplineConfig::Protocol(protocol::ByProtocolConfig {}));
    for (id, flow) in [(0, 2), (1, 2), (2, 1)] {
        push(&mut d, packet(id, flow, 100));
    }
    assert_eq!((d.victim(0, 100), d.victim(1, 100)), (Some(Victim::last_of(1)), None));
    let order: Vec<u64> = std::iter::from_fn(|| serve(&mut d)).map(|p| p.id).collect();
    assert_eq!(order, [2, 0, 1]);
}

#[test]
fn flows_that_differ_little_spread_evenly_over_the_lanes() {
    let lanes = 64;
    let sfq = SfqConfig { lanes, ..SfqConfig::default() };
    let fq_codel = fq_codel::FqCoDelConfig { lanes, ..fq_codel::FqCoDelConfig::default() };
    for config in [DisciplineConfig::Sfq(sfq), DisciplineConfig::FqCoDel(fq_codel)] {
        for key in [0, 5, u64::MAX] {
            let d = AnyDiscipline::new(&config, key).expect("within bounds");
            let mut flows = vec![0u32; usize::from(lanes)];
            for flow_hash in 0..6_400 {
                flows[usize::from(d.lane_of(&Packet { flow_hash, ..Packet::default() }))] += 1;
            }
            // 100 each, give or take five standard deviations.
            assert!(
                flows.iter().all(|n| (50..150).contains(n)),
                "{config:?}, key {key}: {flows:?}"
            );
        }
    }
}

#[test]
fn each_period_of_sfq_spreads_flows_anew_whatever_the_key() {
    for key in [0, 5, u64::MAX] {
        let mut d = Sfq::new(&SfqConfig::default(), key).expect("within bounds");
        let mut seen = std::collections::BTreeSet::new();
        for period in 0..20 {
            let now = Instant::ZERO + Duration::from_secs(10).times(period);
            assert!(!d.reshuffle(now), "nothing waits, so that nothing moves");
            seen.insert((0..20).map(|flow| d.lane_of(&packet(0, flow, 1))).collect::<Vec<_>>());
        }
        assert_eq!(seen.len(), 20, "key {key}");
    }
}

#[test]
fn a_packet_that_is_given_back_costs_its_lane_nothing() {
    let bytes = Quantum::Bytes(Bytes(1514));
    let sfq = DisciplineConfig::Sfq(SfqConfig { quantum: bytes, ..SfqConfig::default() });
    for config in [sfq, DisciplineConfig::FqCoDel(fq_codel::FqCoDelConfig::default())] {
        let mut d = AnyDiscipline::new(&config, 1).expect("within bounds");
        for id in 0..200 {
            push(&mut d, packet(id, (id % 2) as u32, 1500));
        }
        for _ in 0..50 {
            let p = serve(&mut d).expect("many wait");
            let lane = d.lane_of(&p);
            d.push_front(lane, Queued::passed(p));
        }
        let mut served = [0u32; 2];
        for _ in 0..40 {
            served[serve(&mut d).expect("many wait").flow as usize] += 1;
        }
        assert!(served[0].abs_diff(served[1]) <= 4, "{config:?}: {served:?}");
    }
}

#[test]
fn a_lane_that_is_given_a_packet_back_goes_before_the_lane_in_turn_and_no_other_loses_its_place() {
    let mut d = Sfq::new(&SfqConfig::default(), 1).expect("within bounds");
    let lanes: Vec<_> = (0..9).map(|id| push(&mut d, packet(id, (id % 3) as u32, 100))).collect();
    assert!(lanes[0] != lanes[1] && lanes[1] != lanes[2] && lanes[2] != lanes[0]);
    let first = serve(&mut d).expect("nine wait");
    assert_eq!(serve(&mut d).map(|p| p.id), Some(1));
    d.push_front(lanes[0], Queued::passed(first));
    let order: Vec<u64> = std::iter::from_fn(|| serve(&mut d)).map(|p| p.id).collect();
    // The lane of 1 has been served in this round: the lane of 2 comes before it.
    assert_eq!(order, [0, 2, 4, 3, 5, 7, 6, 8]);
}

#[test]
fn a_lane_that_has_sent_exactly_its_quantum_lets_the_next_one_go() {
    let sfq = DisciplineConfig::Sfq(SfqConfig {
        quantum: Quantum::Bytes(Bytes(1500)),
        ..SfqConfig::default()
    });
    let fq = fq_codel::FqCoDelConfig { quantum: Bytes(1500), ..fq_codel::FqCoDelConfig::default() };
    for config in [sfq, DisciplineConfig::FqCoDel(fq)] {
        let mut d = AnyDiscipline::new(&config, 1).expect("within bounds");
        for id in 0..6 {
            push(&mut d, packet(id, (id % 2) as u32, 1500));
        }
        let order: Vec<u64> = std::iter::from_fn(|| serve(&mut d)).map(|p| p.id).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 5], "{config:?}");
    }
}

#[test]
fn of_equally_long_lanes_the_arriving_packets_own_loses_and_no_other() {
    let mut d = Sfq::new(&SfqConfig::default(), 1).expect("within bounds");
    let [long, short] = [(0, 3), (1, 2)].map(|(flow, n)| {
        (0..n).map(|id| push(&mut d, packet(id, flow, 100))).last().expect("some")
    });
    assert_ne!(long, short);
    // With the arriving packet both have three.
    assert_eq!(d.victim(short, 100), None);
    let third = (0..3).map(|id| push(&mut d, packet(id, 2, 100))).last().expect("three");
    let empty = d.lane_of(&packet(0, 9, 1));
    assert!(![long, short, third].contains(&empty));
    assert_eq!(
        d.victim(empty, 100),
        Some(Victim::last_of(long)),
        "the first of several others, from the turn on"
    );
    let mut d = build(&DisciplineConfig::Protocol(protocol::ByProtocolConfig {}));
    push(&mut d, packet(0, 1, 100));
    push(&mut d, packet(1, 2, 100));
    assert_eq!((d.victim(0, 100), d.victim(1, 100)), (None, None));
}
