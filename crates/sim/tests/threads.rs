//! Worlds of many cells give the same result on any number of threads.

use justfull_base::{BitRate, Duration, Ratio, Rng};
use justfull_queue::{DisciplineConfig, Limit};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig, UmiConfig};
use justfull_ran::{CarrierKind, RlcModeConfig, StackConfig};
use justfull_run::traffic::VoipConfig;
use justfull_run::{
    A3Config, CellConfig, CellsConfig, HandoverConfig, Interval, Move, Place, Traffic, WorldConfig,
};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_testkit::{app, cell, ms, ping, rb, run, tcp, udp, upload, world};
use std::sync::Arc;

const CELLS: u32 = 16;
/// UEs of each cell at the start.
const UES: u32 = 3;

/// A cell with all UEs, in resource blocks, with RLC AM.
fn stack() -> StackConfig {
    let mut stack = cell(3000, CapacityUnit::Bytes, Limit::Packets(300));
    stack.assert_bound = false;
    stack.ues = std::iter::repeat_n(Arc::clone(&stack.ues[0]), (CELLS * UES) as usize).collect();
    let rb = rb(&mut stack);
    rb.carrier.n_prb = 25;
    rb.harq.bler = Ratio(0.2);
    stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    stack.rlc.mode = RlcModeConfig::by_name("am").expect("a mode");
    if let RlcModeConfig::Am(am) = &mut stack.rlc.mode {
        (am.poll_pdu, am.sn_bits) = (8, 18);
    }
    stack.pdcp.sn_bits = 18;
    stack
}

/// In each cell, one UE stays, one moves at random times, and one moves at the same times as in all
/// other cells.
fn place(ue: u32) -> Place {
    let (cell, kind) = (ue / UES, ue % UES);
    let mut rng = Rng::stream(1, &format!("place.{ue}"));
    let steps = if kind == 0 { 0 } else { 8 };
    let step = |k: u32| Move {
        at: if kind == 1 {
            ms(u64::from(k) * 200) + Duration::from_nanos(rng.below(190_000_000))
        } else {
            ms(u64::from(k) * 150)
        },
        to: (cell + k % 2) % CELLS,
    };
    Place { cell, moves: (1..=steps).map(step).collect(), ..Place::default() }
}

fn flow(ue: u32) -> justfull_run::FlowConfig {
    let mut flow = match ue % 7 {
        0 => tcp("download", CcConfig::default(), None),
        1 => udp("datagrams", 172, Interval::Constant(ms(20))),
        2 => upload("upload", CcConfig::default(), None),
        3 => ping("ping", 56, Interval::Constant(ms(50))),
        4 => app(Traffic::Voip(VoipConfig::default())),
        5 => app(Traffic::Page(Box::default())),
        _ => tcp("file", CcConfig::default(), Some(300_000)),
    };
    (flow.ue, flow.low_latency) = (ue, false);
    flow.extra_delay = ms(u64::from(ue % 2) * 3);
    flow
}

fn site(stack: StackConfig, place: impl Fn(u32) -> Place) -> WorldConfig {
    let flows = (0..CELLS * UES).map(flow).collect();
    let cell = |c: u32| CellConfig {
        name: format!("cell {c}").into(),
        mac: stack.mac.clone(),
        channel: stack.channel.clone(),
        gnb: None,
    };
    let cells = CellsConfig {
        cells: (0..CELLS).map(cell).collect(),
        places: (0..CELLS * UES).map(|ue| Arc::new(place(ue))).collect(),
        handover: HandoverConfig::default(),
    };
    WorldConfig { cells: Some(Box::new(cells)), ..world(stack, flows, Duration::from_millis(1500)) }
}

fn handover(config: &mut WorldConfig) -> &mut HandoverConfig {
    &mut config.cells.as_mut().expect("several cells").handover
}

/// Asserts that runs of `config` on 1, 2 and 4 threads have the result of single steps, with at
/// least `handovers` handovers.
fn assert_same(config: &WorldConfig, handovers: usize) {
    let one = run(config);
    let made = one.cells.as_ref().map_or(0, |cells| cells.handovers.len());
    assert!(made >= handovers, "{made} handovers");
    for threads in [1, 2, 4] {
        let built = World::new(config).expect("a valid world");
        assert_eq!(built.threads(threads), threads);
        let several = built.run_on(threads, &mut ()).expect("nobody ends it");
        assert_eq!(format!("{several:?}"), format!("{one:?}"), "{threads} threads");
    }
}

#[test]
fn a_site_in_acknowledged_mode_is_the_same_on_any_number_of_threads() {
    let mut config = site(stack(), place);
    assert_same(&config, 200);
    config.air_delay = ms(2);
    config.core_loss = Ratio(0.01);
    config.entity_backlog = true;
    handover(&mut config).forwarding = false;
    assert_same(&config, 200);
}

#[test]
fn failed_and_conditional_handovers_are_the_same_on_any_number_of_threads() {
    let mut config = site(stack(), place);
    config.core_rate = BitRate(0);
    config.uplink.delay = Duration::ZERO;
    *handover(&mut config) =
        HandoverConfig { conditional: true, failure: Ratio(0.3), ..HandoverConfig::default() };
    assert_same(&config, 100);
}

#[test]
fn packets_that_wait_in_the_upf_are_the_same_on_any_number_of_threads() {
    let mut stack = cell(3000, CapacityUnit::Bytes, Limit::Packets(300));
    stack.assert_bound = false;
    stack.ues = std::iter::repeat_n(Arc::clone(&stack.ues[0]), (CELLS * UES) as usize).collect();
    stack.upf.queue.discipline = DisciplineConfig::by_name("fq_codel").expect("a discipline");
    stack.upf.poll = justfull_testkit::on_time(ms(3));
    assert_same(&site(stack, place), 200);
}

#[test]
fn ues_that_measure_their_cells_are_the_same_on_any_number_of_threads() {
    let mut stack = stack();
    let (carrier, slot) = (&mut rb(&mut stack).carrier, ms(1));
    carrier.kind = CarrierKind::Nr;
    (rb(&mut stack).slot.period, rb(&mut stack).harq.bler) = (slot, Ratio(0.0));
    stack.channel = ChannelConfig::Umi(UmiConfig { shadowing: false, ..UmiConfig::default() });
    let at = |c: u32| f64::from(c) * 60.0;
    for ue in 0..CELLS * UES {
        let walk = UmiConfig {
            ue: [at(ue / UES) + 10.0, 0.0, 1.5],
            walk: vec![[at(ue / UES) + 90.0, 0.0]],
            speed: 60.0,
            shadowing: false,
            ..UmiConfig::default()
        };
        stack.ue_mut(ue as usize).channel = Some(ChannelConfig::Umi(walk));
    }
    let a3 = A3Config { time_to_trigger: ms(40), ..A3Config::default() };
    let place = |ue| Place { cell: ue / UES, a3: Some(a3), ..Place::default() };
    let mut config = site(stack, place);
    let cells = config.cells.as_mut().expect("several cells");
    for (c, cell) in (0..).zip(&mut cells.cells) {
        cell.gnb = Some([at(c), 0.0, 10.0]);
    }
    assert_same(&config, 40);
}

#[test]
fn a_world_of_few_cells_or_without_delay_to_the_upf_runs_on_one_thread() {
    let threads = |config: &WorldConfig| World::new(config).expect("a valid world").threads(4);
    let config = site(stack(), place);
    assert_eq!((threads(&config), World::new(&config).expect("valid").threads(1)), (4, 1));
    let mut without_delay = config.clone();
    without_delay.core_delay = Duration::ZERO;
    for flow in &mut without_delay.flows {
        flow.extra_delay = Duration::ZERO;
    }
    assert_eq!(threads(&without_delay), 1);
    let mut few = config;
    let cells = few.cells.as_mut().expect("several cells");
    cells.cells.truncate(3);
    cells.places = (0..CELLS * UES).map(|_| Arc::default()).collect();
    assert_eq!(threads(&few), 1);
}
