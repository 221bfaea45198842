//! The workload of R22's fast downloads: CUBIC and BBR transfers of 200 MB to one UE of a cell at
//! 28 GHz, over resource blocks and RLC AM, at a round trip of 1 ms.
//!
//! `cargo run --release -p justfull-sim --example r22_bench -- [--json] [r22_vanilla | r22_rapid]`
//! prints the wall time and the counters, which must not depend on speed. `r22_vanilla` has no
//! proxy, `r22_rapid` has one with RAPID and a report each millisecond.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, Dscp, Duration, Instant, Qfi};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, McsConfig};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::AmConfig;
use justfull_ran::{
    CarrierConfig, CarrierKind, FiveTuple, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_rapid::{Config, ControlConfig};
use justfull_run::{FlowConfig, ProxyConfig, Traffic, Transport, UplinkConfig, WorldConfig};
use justfull_sim::{Progress, World};
use justfull_tcp::{CcConfig, Kernel, ReceiverConfig, SenderConfig, Window};
use std::sync::Arc;

#[path = "support/mod.rs"]
mod support;
use support::{AfterWarmup, Line};

/// Reports the progress of the run to the counter.
struct Warm(AfterWarmup);

impl Progress for Warm {
    fn advanced(&mut self, now: Instant) -> bool {
        self.0.reached(now);
        true
    }
}

/// Both downloads last about 4 s.
const DURATION: Duration = Duration::from_secs(6);

fn download(name: &str, port: u16, cc: CcConfig) -> FlowConfig {
    let sender =
        Box::new(SenderConfig { kernel: Kernel::Rfc, mss: 1440, cc, ..SenderConfig::default() });
    let receiver = Box::new(ReceiverConfig {
        kernel: Kernel::Rfc,
        window: Window::Fixed(Bytes(64_000_000)),
        ..ReceiverConfig::default()
    });
    let (size, transport) = (Some(Bytes(200_000_000)), Transport::Tcp);
    FlowConfig {
        name: name.into(),
        ue: 0,
        tuple: FiveTuple {
            destination_port: port,
            protocol: Protocol::Tcp,
            ..FiveTuple::default()
        },
        traffic: Traffic::Tcp { sender, receiver, size, rate: None, transport }.into(),
        dscp: Dscp::default(),
        low_latency: false,
        start: Duration::ZERO,
        stop: None,
        extra_delay: Duration::ZERO,
        proxied: None,
        delay_budget: None,
    }
}

/// 132 blocks at 120 kHz, MCS 28 on one layer: about 850 Mbit/s.
fn cell() -> StackConfig {
    let qfi = Qfi::new(9).expect("below 64");
    let ue = UeConfig {
        drx: None,
        drbs: 1,
        qos_flows: vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
        rules: vec![PacketDetectionRule::any(qfi)],
        channel: None,
        slice: 0,
    };
    let mode = AmConfig {
        sn_bits: 18,
        poll_pdu: 256,
        t_status_prohibit: Duration::from_millis(1),
        t_reassembly: Duration::from_millis(20),
        ..AmConfig::default()
    };
    let carrier = CarrierConfig { kind: CarrierKind::Nr, n_prb: 132, ..CarrierConfig::default() };
    StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig::default(),
        rlc: RlcConfig {
            queue: QueueConfig::tail_drop(Limit::Bytes(10_000_000)),
            mode: RlcModeConfig::Am(mode),
            ..RlcConfig::default()
        },
        mac: MacConfig::Rb(RbConfig {
            slot: PollConfig::every(Duration::from_micros(125)),
            carrier,
            status_delay: Duration::from_millis(1),
            ..RbConfig::default()
        }),
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![28], ..McsConfig::default() }),
        pdcp: PdcpConfig::default(),
        ues: vec![Arc::new(ue)],
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: 1500,
        seed: 1,
        assert_bound: false,
    }
}

fn r22(control: Option<ControlConfig>) -> WorldConfig {
    let half = Duration::from_micros(500);
    WorldConfig {
        scenario: "r22".into(),
        method: "bench".into(),
        stack: cell(),
        flows: vec![
            download("cubic", 1, CcConfig::Cubic(Default::default())),
            download("bbr", 2, CcConfig::Bbr(Default::default())),
        ],
        core_rate: BitRate(10_000_000_000),
        core_delay: half,
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: half,
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
        },
        proxy: ProxyConfig {
            control,
            radio: SenderConfig { kernel: Kernel::Rfc, ..SenderConfig::default() },
            ..ProxyConfig::default()
        },
        duration: DURATION,
        warmup: Duration::ZERO,
        series_bins: 1000,
        cells: None,
        entity_backlog: false,
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || a == name);
    let rapid = || Some(ControlConfig::Rapid(Config::default()));
    for (name, control) in [("r22_vanilla", None), ("r22_rapid", rapid())] {
        if !asked(name) {
            continue;
        }
        let config = r22(control);
        let start = std::time::Instant::now();
        let world = World::new(&config).expect("the workload is sound");
        let mut warm = Warm(AfterWarmup::new(Instant::ZERO + Duration::from_millis(2_600)));
        let result = world.run(&mut warm).expect("nobody ends it");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let packets = result.conservation.delivered;
        let drops = result.conservation.dropped;
        let calls = result.component_calls as f64 / packets as f64;
        let allocations = warm.0.allocations();
        if json {
            Line { name, wall_ms, packets, drops, calls, allocations }.print(&result);
            continue;
        }
        let ends: Vec<f64> = result.flows.iter().filter_map(|flow| flow.completed_s).collect();
        let rtts: Vec<f64> = result.flows.iter().map(|flow| flow.rtt.mean_ms).collect();
        println!(
            "{name}: {wall_ms:.0} ms wall, {packets} packets, {drops} drops, done after {ends:.3?} \
             s, round trips {rtts:.3?} ms, {calls:.2} calls per packet, {allocations} allocations \
             after the start"
        );
    }
}
