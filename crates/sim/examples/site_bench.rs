//! The workload of a site: 64 cells of 20 MHz with 100 UEs each, for 10 simulated seconds.
//!
//! `cargo run --release -p justfull-sim --example site_bench -- [--json] [site | site_two |
//! site_quiet | site_few]` prints the wall time with the construction, the counters, and the
//! memory. The counters do not depend on the speed of the machine. In `site` each UE has a call, a
//! page or a download, and one UE of each cell moves to the next cell and back. `site_two` is the
//! same on two threads. In `site_quiet` only one UE of each cell has a call, and `site_few` has
//! only these UEs: the difference in memory is the cost of the quiet UEs. `cargo xtask bench site`
//! runs it.

use justfull_base::{BitRate, Duration, Qfi};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{
    CarrierConfig, CarrierKind, FiveTuple, MacConfig, PollConfig, RbConfig, StackConfig, UeConfig,
};
use justfull_run::traffic::VoipConfig;
use justfull_run::{
    CellConfig, CellsConfig, FlowConfig, HandoverConfig, Move, Place, Traffic, Transport,
    WorldConfig,
};
use justfull_testkit as testkit;
use std::sync::Arc;

#[path = "support/mod.rs"]
mod support;
#[path = "support/worlds.rs"]
mod worlds;
use support::rss_kib;
use worlds::{Arguments, Ran};

const CELLS: u32 = 64;

/// A cell with 51 blocks at 30 kHz at MCS 16, and all `ues` of the site.
fn stack(ues: u32) -> StackConfig {
    let ue = Arc::new(UeConfig::plain(Qfi::new(9).expect("below 64")));
    let carrier = CarrierConfig { kind: CarrierKind::Nr, n_prb: 51, ..CarrierConfig::default() };
    StackConfig {
        mac: MacConfig::Rb(RbConfig {
            slot: PollConfig::every(Duration::from_micros(500)),
            carrier,
            ..RbConfig::default()
        }),
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![16], ..McsConfig::default() }),
        ues: std::iter::repeat_n(ue, ues as usize).collect(),
        assert_bound: false,
        ..testkit::cell(1, CapacityUnit::Bytes, Limit::Bytes(200_000))
    }
}

/// The cells, with `each` UEs in each.
fn cells(stack: &StackConfig, each: u32) -> CellsConfig {
    let cell = |c| CellConfig {
        name: format!("cell {c}").into(),
        mac: stack.mac.clone(),
        channel: stack.channel.clone(),
        gnb: None,
    };
    // The last UE of each cell moves to the next cell and back; the others share one place.
    let places = |c: u32| {
        let stays = Arc::new(Place { cell: c, ..Place::default() });
        let to_and_fro = [(3, (c + 1) % CELLS), (6, c)];
        let moves = to_and_fro.map(|(at, to)| Move { at: Duration::from_secs(at), to }).into();
        let mover = Arc::new(Place { cell: c, moves, ..Place::default() });
        let movers = usize::from(each > 1);
        std::iter::repeat_n(stays, each as usize - movers).chain((movers > 0).then_some(mover))
    };
    CellsConfig {
        cells: (0..CELLS).map(cell).collect(),
        places: (0..CELLS).flat_map(places).collect(),
        handover: HandoverConfig::default(),
    }
}

/// The site with `each` UEs in each cell; all have traffic, or only the first of each cell.
fn site(each: u32, all: bool, duration: Duration) -> WorldConfig {
    let stack = stack(each * CELLS);
    let call = testkit::app(Traffic::Voip(VoipConfig::default()));
    let page = testkit::app(Traffic::Page(Box::default()));
    let (sender, receiver) = Default::default();
    let (size, rate, transport) = (None, None, Transport::Tcp);
    let download = testkit::app(Traffic::Tcp { sender, receiver, size, rate, transport });
    let flow = |ue: u32| {
        // Of ten UEs six have calls, three load pages, and one downloads.
        let (name, flow) = match ue % each % 10 {
            1 if all => ("download", &download),
            2 | 5 | 8 if all => ("page", &page),
            _ => ("call", &call),
        };
        let tuple = FiveTuple { destination_port: 5004, ..flow.tuple };
        FlowConfig { name: name.into(), ue, tuple, low_latency: false, ..flow.clone() }
    };
    let flows = (0..each * CELLS).filter(|ue| all || ue % each == 0).map(flow).collect();
    let cells = cells(&stack, each);
    WorldConfig {
        scenario: "site".into(),
        method: "Vanilla".into(),
        core_rate: BitRate(0),
        warmup: duration.scaled(0.1),
        series_bins: 1000,
        cells: Some(Box::new(cells)),
        ..testkit::world(stack, flows, duration)
    }
}

fn main() {
    let arguments = Arguments::read();
    let duration = Duration::from_secs(10);
    for (name, each, all, threads) in [
        ("site_few", 1, false, 1),
        ("site_quiet", 100, false, 1),
        ("site", 100, true, 1),
        ("site_two", 100, true, 2),
    ] {
        if arguments.select(name) {
            let make = || site(each, all, duration);
            let ran = Ran::of(threads, make, duration.scaled(2.0 / 3.0));
            let handovers = ran.result.cells.as_ref().map_or(0, |cells| cells.handovers.len());
            let used = ran.result.cell.utilisation * 100.0;
            let text =
                format!("{handovers} handovers, {used:.1} % of blocks used, {} KiB", rss_kib());
            ran.print(name, &arguments, &text);
        }
    }
}
