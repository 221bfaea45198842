//! UEs that move between cells: no packet is lost or duplicated, packets stay in order, and each
//! figure of a handover follows from its settings.

use justfull_base::{BitRate, Duration, Rng};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, ConstantConfig, McsConfig, UmiConfig};
use justfull_ran::config::Skew;
use justfull_ran::limiter::LimiterConfig;
use justfull_ran::{RlcModeConfig, StackConfig, UeConfig};
use justfull_run::handovers::{CellsResult, HandoverResult, Outcome};
use justfull_run::results::RunResult;
use justfull_run::{
    A3Config, CellConfig, CellsConfig, HandoverConfig, Interval, Move, Place, State, WorldConfig,
    XnConfig,
};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, ping, rb, run, tcp, udp, upload, world};
use std::sync::Arc;

/// The radio below PDCP.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Radio {
    Packets,
    Bytes,
    Um,
    Am,
}

const RADIOS: [Radio; 4] = [Radio::Packets, Radio::Bytes, Radio::Um, Radio::Am];

/// A cell of `ues` UEs without bound on its queues.
fn stack(radio: Radio, ues: usize) -> StackConfig {
    let unit = if radio == Radio::Packets { CapacityUnit::Packets } else { CapacityUnit::Bytes };
    let per_slot = if radio == Radio::Packets { 2 } else { 3000 };
    let mut stack = cell(per_slot, unit, Limit::Packets(100_000));
    stack.assert_bound = false;
    let one: UeConfig = (*stack.ues[0]).clone();
    stack.ues = (0..ues).map(|_| Arc::new(one.clone())).collect();
    if matches!(radio, Radio::Um | Radio::Am) {
        let rb = rb(&mut stack);
        rb.carrier.n_prb = 25;
        rb.harq.bler = justfull_base::Ratio(0.2);
        stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
        let mode = if radio == Radio::Am { "am" } else { "um" };
        stack.rlc.mode = RlcModeConfig::by_name(mode).expect("a mode");
        if let RlcModeConfig::Am(am) = &mut stack.rlc.mode {
            (am.poll_pdu, am.sn_bits) = (8, 18);
        }
        stack.pdcp.sn_bits = 18;
    }
    stack
}

/// Cells `a`, `b`, `c` with the settings of `stack`.
fn cells(stack: &StackConfig, places: Vec<Place>) -> CellsConfig {
    let cell = |name: &str| CellConfig {
        name: name.into(),
        mac: stack.mac.clone(),
        channel: stack.channel.clone(),
        gnb: None,
    };
    CellsConfig {
        cells: ["a", "b", "c"].map(cell).into(),
        places: places.into_iter().map(Arc::new).collect(),
        handover: HandoverConfig::default(),
    }
}

/// Moves of one UE from cell 0 and back, every `every`.
fn to_and_fro(every: Duration, duration: Duration) -> Place {
    let n = duration.as_nanos() / every.as_nanos();
    let moves = (1..n).map(|k| Move { at: every.times(k), to: (k % 2) as u32 }).collect();
    Place { cell: 0, moves, ..Place::default() }
}

/// Three UEs with every kind of flow; the first moves every `every`.
fn mixed(radio: Radio, every: Duration, duration: Duration) -> WorldConfig {
    let stack = stack(radio, 3);
    let mut flows = vec![
        tcp("download", CcConfig::default(), None),
        udp("datagrams", 172, Interval::Constant(ms(20))),
        upload("upload", CcConfig::default(), None),
        ping("ping", 56, Interval::Constant(ms(50))),
        tcp("other", CcConfig::default(), None),
    ];
    (flows[4].ue, flows[3].ue) = (1, 0);
    let places = vec![
        to_and_fro(every, duration),
        Place { cell: 1, ..Place::default() },
        Place { cell: 2, ..Place::default() },
    ];
    let mut config = world(stack.clone(), flows, duration);
    config.cells = Some(Box::new(cells(&stack, places)));
    config
}

fn handover(config: &mut WorldConfig) -> &mut HandoverConfig {
    &mut config.cells.as_mut().expect("several cells").handover
}

fn cells_of(result: &RunResult) -> &CellsResult {
    result.cells.as_deref().expect("several cells")
}

fn sum(result: &RunResult, of: impl Fn(&HandoverResult) -> u64) -> u64 {
    cells_of(result).handovers.iter().map(of).sum()
}

#[test]
fn with_forwarding_no_radio_loses_a_waiting_packet_and_each_flow_keeps_its_order() {
    for radio in RADIOS {
        let result = run(&mixed(radio, ms(150), Duration::from_secs(4)));
        let cells = cells_of(&result);
        assert_eq!(cells.handovers.len(), 25, "{radio:?}");
        assert_eq!(cells.disordered, 0, "{radio:?}");
        assert!(sum(&result, |h| h.forwarded) > 100, "{radio:?}");
        let lost = sum(&result, |h| h.lost);
        assert_eq!(lost > 0, radio == Radio::Um, "{radio:?} lost {lost} on the air");
        assert!(cells.handovers.iter().rev().skip(1).all(|h| h.outcome == Outcome::Complete));
        let other = result.flows.iter().find(|flow| flow.name == "other").expect("it is there");
        assert!(other.goodput_mbit_s > 1.0, "the UE that stays has its cell: {radio:?}");
    }
}

#[test]
fn acknowledged_mode_loses_nothing_and_repeats_what_is_not_acknowledged() {
    let mut config = mixed(Radio::Am, ms(150), Duration::from_secs(4));
    config.flows.truncate(2);
    let result = run(&config);
    let dropped: u64 = result.flows.iter().map(|flow| flow.dropped_packets).sum();
    assert_eq!((dropped, result.conservation.dropped), (0, 0));
    assert_eq!((sum(&result, |h| h.late), sum(&result, |h| h.lost)), (0, 0));
    assert!(sum(&result, |h| h.duplicates) > 0, "some of the unacknowledged SDUs had arrived");
}

#[test]
fn without_forwarding_the_packets_of_the_old_path_are_lost() {
    for radio in RADIOS {
        let mut config = mixed(radio, ms(200), Duration::from_secs(4));
        handover(&mut config).forwarding = false;
        let result = run(&config);
        assert_eq!(sum(&result, |h| h.forwarded), 0);
        let lost = sum(&result, |h| h.lost);
        assert!(lost > 50 && lost <= result.conservation.dropped, "{radio:?}: {lost}");
        assert_eq!(cells_of(&result).disordered, 0, "{radio:?}");
    }
}

#[test]
fn a_handover_takes_its_preparation_its_interruption_and_the_way_of_the_end_marker() {
    let mut config = mixed(Radio::Bytes, ms(500), Duration::from_secs(2));
    config.flows = vec![udp("datagrams", 172, Interval::Constant(ms(1)))];
    *handover(&mut config) = HandoverConfig {
        preparation: ms(7),
        interruption: ms(40),
        path_switch: ms(11),
        xn: XnConfig { rate: BitRate(0), delay: ms(3) },
        ..HandoverConfig::default()
    };
    let result = run(&config);
    let first = &cells_of(&result).handovers[0];
    assert_eq!((first.from.as_str(), first.to.as_str(), first.decided_s), ("a", "b", 0.5));
    assert_eq!(first.preparation_ms, Some(7.0));
    assert_eq!(first.interruption_ms, Some(40.0));
    assert_eq!(first.complete_ms, Some(40.0 + 11.0 + 3.0));
    // A datagram each millisecond goes over Xn from the departure to the path switch.
    assert!((51..=52).contains(&first.forwarded), "{first:?}");
    assert_eq!((first.lost, first.late, first.duplicates), (0, 0, 0));
    let gap = first.gap_ms.expect("packets before and after");
    assert!((40.0..43.0).contains(&gap), "{gap}");
    let delay = first.forwarded_delay_max_ms.expect("forwarded packets");
    assert!((40.0..43.0).contains(&delay), "the first waited for the UE: {delay}");
}

#[test]
fn a_slow_xn_wire_holds_the_new_path_back_and_the_next_handover_waits() {
    let mut config = mixed(Radio::Bytes, ms(200), Duration::from_secs(3));
    handover(&mut config).xn = XnConfig { rate: BitRate(2_000_000), delay: ms(5) };
    let result = run(&config);
    let cells = cells_of(&result);
    let longest = cells.handovers.iter().filter_map(|h| h.complete_ms).fold(0.0, f64::max);
    assert!(longest > 200.0, "{longest} ms");
    assert!(cells.handovers.len() < 14, "moves wait: {}", cells.handovers.len());
    assert_eq!(cells.disordered, 0);
}

#[test]
fn a_polled_upf_keeps_its_packets_until_the_end_marker() {
    for radio in RADIOS {
        let mut config = mixed(radio, ms(150), Duration::from_secs(3));
        config.stack.upf.poll.period = Duration::from_micros(300);
        config.stack.sdap.poll.period = Duration::from_micros(200);
        let result = run(&config);
        assert_eq!(cells_of(&result).disordered, 0, "{radio:?}");
        assert!(cells_of(&result).handovers.len() > 10, "{radio:?}");
    }
}

#[test]
fn kept_and_new_state_differ_only_where_a_limiter_has_some() {
    for (limiter, differs) in [("unlimited", false), ("drql", true)] {
        let results = [State::New, State::Kept].map(|state| {
            let mut config = mixed(Radio::Bytes, ms(300), Duration::from_secs(4));
            config.stack.rlc.limiter = LimiterConfig::by_name(limiter).expect("on the list");
            handover(&mut config).state = state;
            run(&config)
        });
        assert_eq!(results[0] != results[1], differs, "{limiter}");
    }
}

#[test]
fn the_uplink_of_a_ue_on_its_way_waits_and_loses_nothing() {
    let mut config = mixed(Radio::Bytes, ms(250), Duration::from_secs(3));
    config.flows = vec![ping("ping", 56, Interval::Constant(ms(10)))];
    let result = run(&config);
    let up = &result.uplink;
    assert_eq!(up.overflow_drops, 0);
    assert!(up.entered > 200 && up.entered == up.delivered + up.queued, "{up:?}");
    let longest = result.flows[0].rtt.max_ms;
    assert!((60.0..90.0).contains(&longest), "50 ms away on top of the round trip: {longest}");
}

/// Random worlds: kinds of radio, times, wires, polls, queues.
#[test]
fn random_moves_break_no_invariant_and_one_seed_gives_one_result() {
    let mut rng = Rng::stream(1, "moves");
    let mut draw = |n: u64| (rng.unit() * n as f64) as u64;
    for case in 0..60 {
        let radio = RADIOS[case % 4];
        let mut config = mixed(radio, ms(20 + draw(400)), ms(1500));
        config.stack.seed = case as u64;
        let h = handover(&mut config);
        h.preparation = ms(draw(30));
        h.interruption = ms(draw(80));
        h.path_switch = ms(draw(60));
        h.forwarding = draw(4) > 0;
        h.conditional = draw(4) == 0;
        h.failure = justfull_base::Ratio([0.0, 0.3][draw(2) as usize]);
        h.t304 = ms(50 + draw(100));
        h.state = if draw(2) == 0 { State::New } else { State::Kept };
        let rates = [0, 500_000, 5_000_000, 1_000_000_000];
        h.xn = XnConfig { rate: BitRate(rates[draw(4) as usize]), delay: ms(draw(30)) };
        if draw(3) == 0 {
            config.stack.upf.poll.period = Duration::from_micros(100 + draw(900));
            config.stack.sdap.poll.period = Duration::from_micros(100 + draw(900));
        }
        if draw(2) == 0 {
            config.stack.rlc.queue.limit = Limit::Packets(5 + draw(100) as u32);
        }
        if draw(3) == 0 {
            config.core_loss = justfull_base::Ratio(0.02);
        }
        config.entity_backlog = draw(2) == 0;
        config.uplink.rate = BitRate([0, 3_000_000][draw(2) as usize]);
        config.stack.upf.poll.skew = Skew::Ppm(0.0);
        let result = run(&config);
        assert_eq!(cells_of(&result).disordered, 0, "case {case}: {config:?}");
        assert!(result == run(&config), "case {case}");
    }
}

#[test]
fn cells_in_which_nobody_moves_serve_their_ues_as_single_cells_do() {
    let mut config = mixed(Radio::Bytes, Duration::from_secs(9), Duration::from_secs(3));
    config.flows.retain(|flow| flow.ue == 1);
    let several = run(&config);
    let mut alone = config.clone();
    alone.cells = None;
    let alone = run(&alone);
    assert_eq!(
        several.flows, alone.flows,
        "the slots of both are on time, the channel is constant"
    );
    assert_eq!(cells_of(&several).handovers, []);
    let used: Vec<u64> = cells_of(&several).cells.iter().map(|cell| cell.used).collect();
    assert!(used[1] > 0 && used[0] == 0 && used[2] == 0, "{used:?}");
}

#[test]
fn wrong_cells_are_refused_with_their_field() {
    let good = mixed(Radio::Am, ms(500), Duration::from_secs(2));
    let refused = |change: &dyn Fn(&mut WorldConfig), field: &str| {
        let mut config = good.clone();
        change(&mut config);
        let error = justfull_sim::World::new(&config).err().expect("it is wrong");
        assert_eq!(error.field, field, "{error}");
    };
    fn of(config: &mut WorldConfig) -> &mut CellsConfig {
        config.cells.as_mut().expect("several")
    }
    refused(&|c| of(c).cells[1].name = "a".into(), "cell[1].name");
    refused(&|c| of(c).places[1] = Place { cell: 3, ..Place::default() }.into(), "ue[1].cell");
    let to_itself = Place { moves: vec![Move { at: ms(1), to: 0 }], ..Place::default() };
    refused(&|c| of(c).places[0] = to_itself.clone().into(), "ue[0].moves[0].cell");
    refused(&|c| of(c).handover.interruption = Duration::from_secs(11), "handover.interruption");
    refused(&|c| of(c).handover.rlf = true, "handover.rlf");
    refused(&|c| of(c).handover.qout = 31.0, "handover.qout");
    let constant = ChannelConfig::Constant(ConstantConfig { per_slot: 1 });
    refused(&|c| of(c).cells[2].channel = constant.clone(), "cell[2].channel");
    refused(&|c| c.stack.rlc.hold = justfull_ran::config::Hold::Acknowledged, "rlc.hold");
}

/// A UE that walks from the antenna of one cell to another's, 200 m apart.
fn walk(a3: A3Config) -> WorldConfig {
    let mut stack = stack(Radio::Um, 1);
    let umi = UmiConfig {
        ue: [10.0, 0.0, 1.5],
        walk: vec![[190.0, 0.0]],
        speed: 45.0,
        shadowing: false,
        ..UmiConfig::default()
    };
    stack.channel = ChannelConfig::Umi(umi.clone());
    stack.ue_mut(0).channel = Some(ChannelConfig::Umi(umi));
    rb(&mut stack).harq.bler = justfull_base::Ratio(0.0);
    let (carrier, slot) = (&mut rb(&mut stack).carrier, ms(1));
    carrier.kind = justfull_ran::CarrierKind::Nr;
    rb(&mut stack).slot.period = slot;
    let place = Place { a3: Some(a3), ..Place::default() };
    let flows = vec![udp("datagrams", 172, Interval::Constant(ms(20)))];
    let mut config = world(stack.clone(), flows, Duration::from_secs(4));
    let mut several = cells(&stack, vec![place]);
    several.cells.truncate(2);
    several.cells[0].gnb = Some([0.0, 0.0, 10.0]);
    several.cells[1].gnb = Some([200.0, 0.0, 10.0]);
    config.cells = Some(Box::new(several));
    config
}

#[test]
fn event_a3_decides_where_the_neighbour_is_better_by_offset_and_hysteresis_for_long_enough() {
    let decided = |offset, hysteresis, time_to_trigger| {
        let result = run(&walk(A3Config { offset, hysteresis, time_to_trigger, period: ms(10) }));
        let handovers = &cells_of(&result).handovers;
        assert_eq!(handovers.len(), 1, "{handovers:?}");
        assert_eq!((handovers[0].from.as_str(), handovers[0].to.as_str()), ("a", "b"));
        handovers[0].decided_s
    };
    // At 45 m/s it is half way, at 100 m, after 2 s; there both signals are equal.
    let at_once = decided(0.0, 0.0, Duration::ZERO);
    assert!((2.0..2.03).contains(&at_once), "{at_once}");
    let late = decided(0.0, 0.0, ms(160));
    assert!((late - at_once - 0.16).abs() < 1e-9, "{late}");
    // TR 38.901: 21 dB a decade. 4 dB: the distances have the ratio 10^(4 / 21) = 1.551, so that
    // the UE is at about 121.6 m after 2.48 s.
    let apart = decided(3.0, 1.0, Duration::ZERO);
    assert!((2.46..2.51).contains(&apart), "{apart}");
}

#[test]
fn a_radio_link_that_fails_before_a_decision_is_re_established_in_the_best_other_cell() {
    // Event A3 needs 30 dB, a ratio of 27 between the distances; the walk does not reach it.
    let mut config =
        walk(A3Config { offset: 15.0, hysteresis: 15.0, period: ms(10), ..A3Config::default() });
    assert_eq!(cells_of(&run(&config)).handovers.len(), 0);
    if let Some(ChannelConfig::Umi(walk)) = &mut config.stack.ue_mut(0).channel {
        walk.tx_power = -2.0;
    }
    let h = handover(&mut config);
    (h.rlf, h.qout, h.t310, h.reestablishment) = (true, 30.0, ms(300), ms(70));
    let result = run(&config);
    let handovers = &cells_of(&result).handovers;
    assert_eq!(handovers.len(), 1, "{handovers:?}");
    let failure = &handovers[0];
    // TR 38.901: the path loss at 100 m is 103 dB, and the SINR 20 dB. The SINR is below 30 dB from
    // 33 m on, for longer than T310. The other cell is better after half of the way, from 2 s on.
    assert!((2.0..2.03).contains(&failure.decided_s), "{failure:?}");
    assert_eq!((failure.from.as_str(), failure.to.as_str()), ("a", "b"));
    assert_eq!(failure.outcome, Outcome::Reestablished);
    assert_eq!((failure.preparation_ms, failure.interruption_ms), (Some(0.0), Some(70.0)));
    assert_eq!(cells_of(&result).disordered, 0);
    // A link above `qout` does not fail.
    handover(&mut config).qout = -30.0;
    assert_eq!(cells_of(&run(&config)).handovers.len(), 0);
}

#[test]
fn handovers_with_scells_lose_no_packet_and_release_the_blocks_of_the_old_scell() {
    let mut config = mixed(Radio::Am, ms(150), Duration::from_secs(3));
    config.flows.truncate(2);
    let alone = run(&config);
    config.stack.scells = vec![justfull_ran::ScellConfig {
        name: "second".into(),
        slot: ms(1),
        carrier: justfull_ran::CarrierConfig { n_prb: 25, ..Default::default() },
        harq: justfull_ran::HarqConfig { bler: justfull_base::Ratio(0.2), ..Default::default() },
        cqi_delay: 0,
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() }),
        ues: Arc::new([true, false, true]),
    }];
    let result = run(&config);
    assert_eq!(cells_of(&result).handovers.len(), 19);
    assert_eq!((result.conservation.dropped, cells_of(&result).disordered), (0, 0));
    let goodput = |result: &RunResult| result.flows[0].goodput_mbit_s;
    assert!(goodput(&result) > 1.5 * goodput(&alone), "two carriers carry more than one");
    let names: Vec<&str> = result.carriers.iter().map(|carrier| carrier.name.as_str()).collect();
    assert_eq!(names, ["a pcell", "a second", "b pcell", "b second", "c pcell", "c second"]);
    assert!(result.carriers[..4].iter().all(|carrier| carrier.used > 0));
    // UE 1 is the only UE in cell b and uses only the PCell.
    config.flows.truncate(1);
    config.flows[0].ue = 1;
    let others = run(&config);
    assert_eq!((others.carriers[3].used, others.carriers[2].used > 0), (0, true));
}

#[test]
fn a_failed_handover_takes_t304_and_the_re_establishment_and_loses_nothing() {
    let mut config = mixed(Radio::Am, ms(400), Duration::from_secs(4));
    config.flows.truncate(2);
    let h = handover(&mut config);
    h.failure = justfull_base::Ratio(1.0);
    (h.t304, h.reestablishment) = (ms(60), ms(70));
    let result = run(&config);
    let handovers = &cells_of(&result).handovers;
    assert_eq!(handovers.len(), 9);
    assert!(handovers.iter().all(|h| h.outcome == Outcome::Reestablished), "{handovers:?}");
    assert!(handovers.iter().all(|h| h.interruption_ms == Some(130.0)), "{handovers:?}");
    assert_eq!(sum(&result, |h| h.lost), 0);
    handover(&mut config).failure = justfull_base::Ratio(0.5);
    let some = run(&config);
    let failed =
        cells_of(&some).handovers.iter().filter(|h| h.outcome == Outcome::Reestablished).count();
    assert!((1..9).contains(&failed), "{failed} of 9 at one half");
}

#[test]
fn a_conditional_handover_needs_no_preparation_and_forwards_once_the_source_knows() {
    let mut config = mixed(Radio::Bytes, ms(500), Duration::from_secs(2));
    config.flows = vec![udp("datagrams", 172, Interval::Constant(ms(1)))];
    *handover(&mut config) = HandoverConfig {
        conditional: true,
        interruption: ms(40),
        path_switch: ms(11),
        xn: XnConfig { rate: BitRate(0), delay: ms(3) },
        ..HandoverConfig::default()
    };
    let result = run(&config);
    let first = &cells_of(&result).handovers[0];
    assert_eq!((first.preparation_ms, first.interruption_ms), (Some(0.0), Some(40.0)));
    assert_eq!(first.complete_ms, Some(40.0 + 11.0 + 3.0));
    // After 40 ms the target reports the arrival, and the source forwards: 3 ms each way.
    let gap = first.gap_ms.expect("packets before and after");
    assert!((46.0..49.0).contains(&gap), "{gap}");
    assert_eq!((first.lost, cells_of(&result).disordered), (0, 0));
}
