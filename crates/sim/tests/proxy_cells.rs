//! A proxy in front of several cells: its control divides each cell by itself, and learns from
//! reports that a UE has moved.

use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, ConstantConfig};
use justfull_rapid::{Config, ControlConfig};
use justfull_run::proxy::At;
use justfull_run::results::RunResult;
use justfull_run::tap::Tap;
use justfull_run::{
    CellConfig, CellsConfig, HandoverConfig, Move, Place, ReportConfig, WorldConfig,
};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, run, tcp, world};
use std::sync::Arc;

/// Bytes of a slot of 1 ms of each cell.
const FAST: u64 = 15_000;
const SLOW: u64 = 6_000;

/// Downloads of one UE for each of `places`, through RAPID, in a fast cell and a slow one.
fn proxied(places: Vec<Place>, seconds: u64) -> WorldConfig {
    let names = ["fast", "slow", "moves"];
    let mut flows: Vec<_> = names.iter().map(|name| tcp(name, CcConfig::default(), None)).collect();
    flows.truncate(places.len());
    (0..).zip(&mut flows).for_each(|(ue, flow)| flow.ue = ue);
    let mut stack = cell(FAST, CapacityUnit::Bytes, Limit::Bytes(4_000_000));
    stack.ues = vec![Arc::clone(&stack.ues[0]); places.len()];
    stack.assert_bound = false;
    let of = |name: &str, per_slot| CellConfig {
        name: name.into(),
        mac: stack.mac.clone(),
        channel: ChannelConfig::Constant(ConstantConfig { per_slot }),
        gnb: None,
    };
    let cells = CellsConfig {
        cells: vec![of("fast", FAST), of("slow", SLOW)],
        places: places.into_iter().map(Arc::new).collect(),
        handover: HandoverConfig::default(),
    };
    let mut config = world(stack, flows, Duration::from_secs(seconds));
    config.proxy.control = Some(ControlConfig::Rapid(Config::default()));
    config.cells = Some(Box::new(cells));
    config
}

fn stays(cell: u32) -> Place {
    Place { cell, ..Place::default() }
}

fn goodput(result: &RunResult, name: &str) -> f64 {
    let flow = result.flows.iter().find(|flow| flow.name == name);
    flow.expect("the flow is there").goodput_mbit_s
}

#[test]
fn each_of_two_ues_in_two_full_cells_has_the_rate_of_its_cell_alone() {
    let both = run(&proxied(vec![stays(0), stays(1)], 8));
    for (name, per_slot) in [("fast", FAST), ("slow", SLOW)] {
        let mut config = proxied(vec![stays(0)], 8);
        config.cells = None;
        config.stack.channel = ChannelConfig::Constant(ConstantConfig { per_slot });
        let alone = goodput(&run(&config), "fast");
        let shared = goodput(&both, name);
        assert!((shared / alone - 1.0).abs() < 0.02, "{name}: {shared} of {alone} Mbit/s");
        assert!(alone > 0.95 * per_slot as f64 * 8e-3 * 1448.0 / 1500.0, "{name}: {alone} Mbit/s");
    }
}

/// Payload that reaches the UE of the flow `moves`, by instant.
#[derive(Default)]
struct Arrivals(Vec<(Instant, u64)>);

impl Tap for Arrivals {
    fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        if flow == 2 {
            self.0.push((now, bytes));
        }
    }
}

#[test]
fn a_ue_that_moves_has_its_share_of_the_new_cell_300_ms_after_the_first_report() {
    // 5 s: the decision. 70 ms: preparation and interruption. The first report comes within 1 ms.
    let first_report = ms(5_071);
    for (to, here, per_slot) in [(1, 0, SLOW), (0, 1, FAST)] {
        let moves = vec![Move { at: ms(5_000), to }];
        let mut config =
            proxied(vec![stays(0), stays(1), Place { cell: here, moves, ..Place::default() }], 6);
        for flow in &mut config.flows[..2] {
            flow.stop = Some(ms(3_000));
        }
        let mut arrivals = Arrivals::default();
        let world = World::tapped(&config, &mut arrivals).expect("it is sound");
        let result = world.run(&mut ()).expect("nobody ends it");
        assert_eq!(result.broken, None);
        let from = Instant::ZERO + first_report + ms(300);
        let window = from..from + ms(200);
        let bytes: u64 =
            arrivals.0.iter().filter(|(at, _)| window.contains(at)).map(|(_, n)| n).sum();
        let share = bytes as f64 * 1500.0 / 1448.0 / (200 * per_slot) as f64;
        assert!(share >= 0.95, "to cell {to}: {share} of the cell");
    }
}

#[test]
fn two_ues_in_one_cell_share_it_and_a_moving_ue_leaves_it_whole() {
    let moves = vec![Move { at: ms(5_000), to: 1 }];
    let config = proxied(vec![stays(0), Place { cell: 0, moves, ..Place::default() }], 10);
    let result = run(&config);
    // Half of the fast cell for 5 s (of which 2 s are warm-up), all of it for 5 s.
    let whole = FAST as f64 * 8e-3 * 1448.0 / 1500.0;
    let wanted = whole * (3.0 * 0.5 + 5.0) / 8.0;
    let found = goodput(&result, "fast");
    assert!((found / wanted - 1.0).abs() < 0.05, "{found} of {wanted} Mbit/s");
}

#[test]
fn late_reports_of_the_old_cell_do_not_bring_a_ue_back() {
    let moves = (1..20).map(|k| Move { at: ms(k * 200), to: (k % 2) as u32 }).collect();
    let mut config =
        proxied(vec![stays(0), stays(1), Place { cell: 0, moves, ..Place::default() }], 4);
    config.proxy.report =
        ReportConfig { delay: ms(20), jitter: ms(60), loss: 0.2, ..ReportConfig::default() };
    let result = run(&config);
    assert!(result.flows.iter().all(|flow| flow.goodput_mbit_s > 1.0), "{:?}", result.flows);
    assert_eq!(run(&config), result);
}

#[test]
fn each_report_is_of_the_cell_that_serves_its_ue_and_a_move_is_in_the_reports() {
    let moves = vec![Move { at: ms(1_000), to: 1 }, Move { at: ms(2_000), to: 0 }];
    let mut config = proxied(vec![stays(0), stays(1), Place { moves, ..Place::default() }], 3);
    config.proxy.control = None;
    let mut reports = Vec::new();
    let mut listen = |of: At, ran: &RanReport| reports.push((ran.at, of.ue, of.cell));
    let world = World::new(&config).expect("it is sound");
    let result = world.run_reported(ms(10), &mut listen, &mut ()).expect("nobody ends it");
    assert_eq!(result.broken, None);
    let of_ue = |ue: u32| {
        let own = reports.iter().filter(move |(_, of, _)| *of == ue);
        own.map(|(at, _, cell)| (at.as_nanos() / 10_000_000, *cell)).collect::<Vec<_>>()
    };
    let all = |cell| (1..=300).map(|n| (n, cell)).collect::<Vec<_>>();
    assert_eq!((of_ue(0), of_ue(1)), (all(0), all(1)));
    // The UE leaves 20 ms after each decision, and is in no cell for 50 ms.
    let cell = |n: u64| match n {
        ..102 => Some(0),
        102..107 => None,
        107..202 => Some(1),
        202..207 => None,
        _ => Some(0),
    };
    let moving: Vec<_> = (1..=300).filter_map(|n| Some((n, cell(n)?))).collect();
    assert_eq!(of_ue(2), moving);
}
