//! The workload of a site: 64 cells of 20 MHz with 100 UEs each, for 10 simulated seconds.
//!
//! `cargo run --release -p justfull-sim --example site_bench -- [--json] [site | site_quiet |
//! site_few]` prints the wall time, with the construction, the counters, which must not depend on
//! speed, and the memory. In `site` each UE has a call, a page or a download, and one UE of each
//! cell moves to the next cell and back. In `site_quiet` only one UE of each cell has a call, and
//! `site_few` has only these UEs: the difference in memory is the cost of the quiet UEs. `cargo
//! xtask bench site` runs it.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Dscp, Duration, Instant, Qfi};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, McsConfig};
use justfull_ran::{
    CarrierConfig, CarrierKind, FiveTuple, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_run::traffic::VoipConfig;
use justfull_run::{
    CellConfig, CellsConfig, FlowConfig, HandoverConfig, Move, Place, Traffic, Transport,
    UplinkConfig, WorldConfig,
};
use justfull_sim::{Progress, World};

#[path = "support/mod.rs"]
mod support;
use std::sync::Arc;
use support::{AfterWarmup, Line, rss_kib};

const CELLS: u32 = 64;

/// Reports the progress of the run to the counter.
struct Warm(AfterWarmup);

impl Progress for Warm {
    fn advanced(&mut self, now: Instant) -> bool {
        self.0.reached(now);
        true
    }
}

/// A cell with 51 blocks at 30 kHz at MCS 16, and all `ues` of the site.
fn stack(ues: u32) -> StackConfig {
    let qfi = Qfi::new(9).expect("below 64");
    let ue = UeConfig {
        drbs: 1,
        qos_flows: vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
        rules: vec![PacketDetectionRule::any(qfi)],
        channel: None,
        slice: 0,
        drx: None,
    };
    let carrier = CarrierConfig { kind: CarrierKind::Nr, n_prb: 51, ..CarrierConfig::default() };
    StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig::default(),
        rlc: RlcConfig {
            queue: QueueConfig::tail_drop(Limit::Bytes(200_000)),
            ..RlcConfig::default()
        },
        mac: MacConfig::Rb(RbConfig {
            slot: PollConfig::every(Duration::from_micros(500)),
            carrier,
            ..RbConfig::default()
        }),
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![16], ..McsConfig::default() }),
        pdcp: PdcpConfig::default(),
        ues: std::iter::repeat_n(Arc::new(ue), ues as usize).collect(),
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: 1500,
        seed: 1,
        assert_bound: false,
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
    let call = Arc::new(Traffic::Voip(VoipConfig::default()));
    let page = Arc::new(Traffic::Page(Box::default()));
    let (sender, receiver) = Default::default();
    let (size, rate, transport) = (None, None, Transport::Tcp);
    let download = Arc::new(Traffic::Tcp { sender, receiver, size, rate, transport });
    let flow = |ue: u32| {
        // Of ten UEs six have calls, three load pages, and one downloads.
        let (name, traffic, protocol) = match ue % each % 10 {
            1 if all => ("download", &download, Protocol::Tcp),
            2 | 5 | 8 if all => ("page", &page, Protocol::Tcp),
            _ => ("call", &call, Protocol::Udp),
        };
        FlowConfig {
            name: name.into(),
            ue,
            tuple: FiveTuple { destination_port: 5004, protocol, ..FiveTuple::default() },
            traffic: Arc::clone(traffic),
            dscp: Dscp::default(),
            low_latency: false,
            start: Duration::ZERO,
            stop: None,
            extra_delay: Duration::ZERO,
            proxied: None,
            delay_budget: None,
        }
    };
    let flows = (0..each * CELLS).filter(|ue| all || ue % each == 0).map(flow).collect();
    let cells = cells(&stack, each);
    WorldConfig {
        scenario: "site".into(),
        method: "Vanilla".into(),
        stack,
        flows,
        core_rate: BitRate(0),
        core_delay: Duration::from_millis(10),
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: Duration::from_millis(10),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
        },
        duration,
        warmup: duration.scaled(0.1),
        series_bins: 1000,
        cells: Some(Box::new(cells)),
        entity_backlog: false,
        proxy: Default::default(),
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || a == name);
    let duration = Duration::from_secs(10);
    for (name, each, all) in
        [("site_few", 1, false), ("site_quiet", 100, false), ("site", 100, true)]
    {
        if !asked(name) {
            continue;
        }
        let start = std::time::Instant::now();
        let config = site(each, all, duration);
        let world = World::new(&config).expect("the workload is sound");
        drop(config);
        let mut warm = Warm(AfterWarmup::new(Instant::ZERO + duration.scaled(2.0 / 3.0)));
        let result = world.run(&mut warm).expect("nobody ends it");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let packets = result.conservation.delivered;
        let drops = result.conservation.dropped;
        let calls = result.component_calls as f64 / packets as f64;
        if json {
            Line { name, wall_ms, packets, drops, calls, allocations: warm.0.allocations() }
                .print(&result);
        } else {
            let handovers = result.cells.as_ref().map_or(0, |cells| cells.handovers.len());
            let used = result.cell.utilisation * 100.0;
            println!(
                "{name}: {wall_ms:.0} ms wall, {packets} packets, {drops} drops, {handovers} \
                 handovers, {used:.1} % of blocks used, {calls:.2} calls per packet, {} KiB",
                rss_kib()
            );
        }
    }
}
