//! The workload S3: 10 000 UEs with one VoIP flow each on an NR cell of 100 MHz and 4 layers, for
//! 60 simulated seconds.
//!
//! `cargo run --release -p justfull-sim --example s3_bench -- [--json] [s3 | s3_one_ue | s3_short]`
//! prints the wall time, the counters, which must not depend on speed, and the memory. `s3_one_ue`
//! is the same cell with one UE: the difference in memory is the cost of the UEs. `s3_short` has
//! 2 000 UEs for 4 seconds, for `cargo xtask bench`.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, Dscp, Duration, Instant, Qfi};
use justfull_ran::channel::{ChannelConfig, McsConfig};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::{
    AllocationType, CarrierConfig, CarrierKind, FiveTuple, MacConfig, PacketDetectionRule,
    PdcpConfig, PollConfig, QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder,
    UeConfig, UpfConfig,
};
use justfull_run::{FlowConfig, Interval, Traffic, UplinkConfig, WorldConfig};
use justfull_sim::{Progress, World};

use std::sync::Arc;

#[path = "support/mod.rs"]
mod support;
use support::{AfterWarmup, Line, rss_kib};

/// Reports the progress of the run to the counter.
struct Warm(AfterWarmup);

impl Progress for Warm {
    fn advanced(&mut self, now: Instant) -> bool {
        self.0.reached(now);
        true
    }
}

/// The cell with `ues` UEs: 273 blocks at 30 kHz in every slot, 256QAM at MCS 27, four layers. A
/// packet takes one block, and a slot has 250 packets on average. RLC UM with segmentation and its
/// receiver.
#[expect(clippy::too_many_lines, reason = "the settings of one world")]
fn s3(ues: u32, duration: Duration) -> WorldConfig {
    let qfi = Qfi::new(1).expect("below 64");
    let ue = UeConfig {
        drx: None,
        drbs: 1,
        qos_flows: vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
        rules: vec![PacketDetectionRule::any(qfi)],
        channel: None,
        slice: 0,
    };
    let call = Traffic::Udp {
        payload: Bytes(172),
        interval: Interval::Constant(Duration::from_millis(20)),
    };
    let (name, traffic) = (Arc::<str>::from("voip"), Arc::new(call));
    let flow = |ue: u32| FlowConfig {
        name: Arc::clone(&name),
        ue,
        tuple: FiveTuple {
            destination_port: 5004,
            protocol: Protocol::Udp,
            ..FiveTuple::default()
        },
        traffic: Arc::clone(&traffic),
        dscp: Dscp::default(),
        low_latency: true,
        start: Duration::ZERO,
        stop: None,
        extra_delay: Duration::ZERO,
        proxied: None,
        delay_budget: None,
    };
    let carrier = CarrierConfig {
        kind: CarrierKind::Nr,
        n_prb: 273,
        mcs_table: 2,
        layers: 4,
        allocation: AllocationType::Type1,
        ..CarrierConfig::default()
    };
    WorldConfig {
        scenario: "s3".into(),
        method: "Vanilla".into(),
        stack: StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig::default(),
            rlc: RlcConfig { mode: RlcModeConfig::default(), ..RlcConfig::default() },
            mac: MacConfig::Rb(RbConfig {
                slot: PollConfig::every(Duration::from_micros(500)),
                carrier,
                ..RbConfig::default()
            }),
            channel: ChannelConfig::Mcs(McsConfig { mcs: vec![27], ..McsConfig::default() }),
            pdcp: PdcpConfig::default(),
            ues: std::iter::repeat_n(Arc::new(ue), ues as usize).collect(),
            slices: Vec::new(),
            scells: Vec::new(),
            tie_order: TieOrder::TopDown,
            mtu: 1500,
            seed: 1,
            assert_bound: false,
        },
        flows: (0..ues).map(flow).collect(),
        core_rate: BitRate(0),
        core_delay: Duration::from_millis(5),
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: Duration::from_millis(5),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
        },
        duration,
        warmup: duration.scaled(1.0 / 12.0),
        series_bins: 1000,
        cells: None,
        entity_backlog: false,
        proxy: Default::default(),
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || a == name);
    for (name, ues, seconds) in [("s3_one_ue", 1, 60), ("s3", 10_000, 60), ("s3_short", 2_000, 4)] {
        if !asked(name) {
            continue;
        }
        let duration = Duration::from_secs(seconds);
        let config = s3(ues, duration);
        let start = std::time::Instant::now();
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
            let (delay, used) = (&result.flows[0].delay, result.cell.utilisation);
            println!(
                "{name}: {wall_ms:.0} ms wall, {packets} packets, {drops} drops, delay {:.3} ms \
                 (p99 {:.3} ms), {:.1} % of blocks used, {calls:.2} calls per packet, {} KiB",
                delay.mean_ms,
                delay.p99_ms,
                used * 100.0,
                rss_kib()
            );
        }
    }
}
