//! A UE that changes cells over the kernel's own sockets, in namespaces: handovers as settings say,
//! every packet accounted for, no file descriptor left open.
//!
//! The test counts the descriptors of its process: it is the only one of this program. Without the
//! right to build networks it prints that it was skipped; under `CI` that is a failure.

use justfull_base::{Duration, Instant};
use justfull_live::driver::{View, Watch};
use justfull_live::{LiveOptions, Session};
use justfull_net::chain::can_build;
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{FiveTuple, RlcModeConfig};
use justfull_run::handovers::Outcome;
use justfull_run::{
    CellConfig, CellsConfig, FlowConfig, HandoverConfig, Interval, Move, Place, WorldConfig,
};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, rb, tcp, udp, upload, world};
use std::sync::Arc;

/// Time between two moves.
const EVERY: Duration = Duration::from_secs(1);

/// One UE that moves between two cells of different channels every second: a download, an upload
/// and a call.
fn config(duration: Duration) -> WorldConfig {
    let mut stack = cell(1, CapacityUnit::Bytes, Limit::Bytes(300_000));
    stack.assert_bound = false;
    rb(&mut stack).carrier.n_prb = 52;
    let channel =
        |mcs: u8| ChannelConfig::Mcs(McsConfig { mcs: vec![mcs], ..McsConfig::default() });
    stack.channel = channel(16);
    stack.rlc.mode = RlcModeConfig::by_name("am").expect("a mode");
    if let RlcModeConfig::Am(am) = &mut stack.rlc.mode {
        (am.poll_pdu, am.sn_bits) = (16, 18);
    }
    stack.pdcp.sn_bits = 18;
    let own = |name: &str, mcs| CellConfig {
        name: name.into(),
        mac: stack.mac.clone(),
        channel: channel(mcs),
        gnb: None,
    };
    let n = duration.as_nanos() / EVERY.as_nanos();
    let moves = (1..n).map(|k| Move { at: EVERY.times(k), to: (k % 2) as u32 }).collect();
    let cells = CellsConfig {
        cells: vec![own("west", 16), own("east", 8)],
        places: vec![Arc::new(Place { moves, ..Place::default() })],
        handover: HandoverConfig::default(),
    };
    let flows = vec![
        tcp("download", CcConfig::default(), None),
        upload("upload", CcConfig::default(), None),
        udp("call", 172, Interval::Constant(ms(20))),
    ];
    let ports = |(number, flow): (u16, FlowConfig)| {
        let (source_port, destination_port) = (5001 + number, 6001 + number);
        FlowConfig { tuple: FiveTuple { source_port, destination_port, ..flow.tuple }, ..flow }
    };
    let flows = (0..).zip(flows).map(ports).collect();
    let mut config = world(stack, flows, duration);
    config.cells = Some(Box::new(cells));
    config.uplink.rate = justfull_base::BitRate(5_000_000);
    config.warmup = Duration::ZERO;
    config
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux has it").count()
}

/// The number of descriptors at each view.
#[derive(Default)]
struct Open(Vec<(Instant, usize)>);

impl Watch for Open {
    fn saw(&mut self, now: Instant, _view: &View) {
        self.0.push((now, descriptors()));
    }
}

#[test]
fn a_ue_that_moves_every_second_loses_no_packet_and_leaves_no_descriptor_open() {
    if !can_build() {
        return;
    }
    let session = Session { own_flows: true, ..Session::default() };
    let options = LiveOptions::default();
    // Descriptors that a process opens once, such as the pipes of its signals.
    session.run(&config(ms(300)), &options, &mut ()).expect("a short run");
    let before = descriptors();
    let mut open = Open::default();
    let outcome = session.run(&config(Duration::from_secs(10)), &options, &mut open);
    let outcome = outcome.expect("a run");
    assert_eq!(descriptors(), before, "as many as before the run");
    // All connections are open after a second. Other threads open files for an instant, so the
    // least of a second counts.
    let least_in = |second| {
        let from = Instant::ZERO + EVERY.times(second);
        let views = open.0.iter().filter(|(at, _)| (from..from + EVERY).contains(at));
        views.map(|(_, descriptors)| *descriptors).min().expect("views")
    };
    assert_eq!(least_in(1), least_in(9), "no handover opens a descriptor: {:?}", open.0);
    let (result, report) = (&outcome.result, &outcome.report);
    assert_eq!((result.broken.as_deref(), report.fault.as_deref()), (None, None));
    assert!(report.down.is_balanced() && report.up.is_balanced(), "{report:?}");
    assert_eq!((report.down.refused, report.down.no_buffer), (0, 0), "{:?}", report.down);
    let cells = result.cells.as_deref().expect("two cells");
    assert_eq!((cells.handovers.len(), cells.disordered), (9, 0));
    for handover in &cells.handovers {
        assert_eq!((handover.outcome, handover.lost), (Outcome::Complete, 0), "{handover:?}");
        assert_eq!(handover.interruption_ms, Some(50.0));
        assert!(handover.gap_ms.is_some_and(|gap| gap >= 50.0), "{handover:?}");
        assert!(handover.forwarded > 0, "{handover:?}");
    }
    for flow in &outcome.applications {
        assert_eq!(flow.failed, None, "{}", flow.flow);
    }
    let download = result.flows.iter().find(|flow| flow.name == "download").expect("it is there");
    assert!(download.goodput_mbit_s > 1.0, "{} Mbit/s", download.goodput_mbit_s);
    assert!(cells.cells.iter().all(|cell| cell.delivered_packets > 500), "{:?}", cells.cells);
}
