//! The workload S1: one greedy CUBIC flow and one VoIP flow over a 5 MHz LTE cell for 60 simulated
//! seconds.
//!
//! `cargo run --release -p justfull-sim --example s1_bench -- [--json] [s1_10mb | s1_1mb |
//! s1_blocks | s1_linux]` prints, for each case, the wall time and the counters, which must not
//! depend on speed. `s1_blocks` is the first case with slots in resource blocks: RLC UM segments,
//! and the UE reassembles. TCP follows the RFCs, as for the floors; `s1_linux` is the second case
//! with Linux's TCP. `cargo xtask bench` runs it many times. `growth_N`, which runs only by name,
//! is the cell with 1 MB of RLC for each of N UEs, each with a download; `cargo xtask bench growth`
//! runs it.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, Dscp, Duration, Instant, Qfi};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, McsConfig, PatternConfig};
use justfull_ran::{
    BytesConfig, CarrierConfig, FiveTuple, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_run::{FlowConfig, Interval, Traffic, Transport, UplinkConfig, WorldConfig};
use justfull_sim::{Progress, World};
use justfull_tcp::{Kernel, ReceiverConfig, SenderConfig, Window};

#[path = "support/mod.rs"]
mod support;
use std::sync::Arc;
use support::{AfterWarmup, Line};

/// Reports the progress of the run to the counter.
struct Warm(AfterWarmup);

impl Progress for Warm {
    fn advanced(&mut self, now: Instant) -> bool {
        self.0.reached(now);
        true
    }
}

/// S1 with an RLC queue of `rlc_bytes`: 2292 B in eight slots of ten, 1572 B in two (25 PRB, MCS
/// 28, A21).
#[expect(clippy::too_many_lines, reason = "the settings of one world")]
fn s1(rlc_bytes: u64, kernel: Kernel) -> WorldConfig {
    let ms = Duration::from_millis;
    let qfi = Qfi::new(9).expect("below 64");
    let flow = |name: &str, port, protocol, traffic, low_latency, start| FlowConfig {
        name: name.into(),
        ue: 0,
        tuple: FiveTuple { destination_port: port, protocol, ..FiveTuple::default() },
        traffic: Arc::new(traffic),
        dscp: Dscp::default(),
        low_latency,
        start,
        stop: None,
        extra_delay: Duration::ZERO,
        proxied: None,
        delay_budget: None,
    };
    let receiver = ReceiverConfig {
        kernel,
        window: Window::Fixed(Bytes(64 << 20)),
        ..ReceiverConfig::default()
    };
    let sender = SenderConfig { kernel, ..SenderConfig::default() };
    let (sender, receiver) = (Box::new(sender), Box::new(receiver));
    let (size, rate, transport) = (None, None, Transport::Tcp);
    let bulk = Traffic::Tcp { sender, receiver, size, rate, transport };
    let voip = Traffic::Udp { payload: Bytes(172), interval: Interval::Constant(ms(20)) };
    let (full, less) = (2292, 1572);
    WorldConfig {
        scenario: "s1".into(),
        method: "Vanilla".into(),
        stack: StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig {
                poll: PollConfig::every(Duration::from_micros(200)),
                ..SdapConfig::default()
            },
            rlc: RlcConfig {
                queue: QueueConfig::tail_drop(Limit::Bytes(rlc_bytes)),
                ..RlcConfig::default()
            },
            mac: MacConfig::Bytes(BytesConfig::default()),
            channel: ChannelConfig::Pattern(PatternConfig {
                bytes: vec![less, full, full, full, full, less, full, full, full, full],
            }),
            ues: vec![Arc::new(UeConfig {
                drx: None,
                drbs: 1,
                qos_flows: vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
                rules: vec![PacketDetectionRule::any(qfi)],
                channel: None,
                slice: 0,
            })],
            pdcp: PdcpConfig::default(),
            slices: Vec::new(),
            scells: Vec::new(),
            tie_order: TieOrder::TopDown,
            mtu: 1500,
            seed: 1,
            assert_bound: false,
        },
        flows: vec![
            flow("bulk", 5001, Protocol::Tcp, bulk, false, Duration::ZERO),
            flow("voip", 5004, Protocol::Udp, voip, true, Duration::from_secs(5)),
        ],
        core_rate: BitRate(1_000_000_000),
        core_delay: ms(10),
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: ms(10),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
        },
        duration: Duration::from_secs(60),
        warmup: Duration::from_secs(5),
        series_bins: 1000,
        cells: None,
        entity_backlog: false,
        proxy: Default::default(),
    }
}

/// The same cell in resource blocks: 25 of them at MCS 28, of which two subframes of ten offer 17
/// (A21 section V-A).
fn in_blocks(mut config: WorldConfig) -> WorldConfig {
    let offered = vec![17, 25, 25, 25, 25, 17, 25, 25, 25, 25];
    let carrier = CarrierConfig { offered, ..CarrierConfig::default() };
    config.stack.mac = MacConfig::Rb(RbConfig { carrier, ..RbConfig::default() });
    config.stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![28], ..McsConfig::default() });
    config
}

/// The cell of the second case with `ues` UEs, each with a download from the start.
fn growth(ues: u32) -> WorldConfig {
    let mut config = s1(1_000_000, Kernel::Rfc);
    config.stack.ues = vec![Arc::clone(&config.stack.ues[0]); ues as usize];
    let bulk = config.flows.swap_remove(0);
    config.flows = (0..ues).map(|ue| FlowConfig { ue, ..bulk.clone() }).collect();
    config
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || a == name);
    let mut cases = vec![
        ("s1_10mb", s1(10_000_000, Kernel::Rfc)),
        ("s1_1mb", s1(1_000_000, Kernel::Rfc)),
        ("s1_blocks", in_blocks(s1(10_000_000, Kernel::Rfc))),
        ("s1_linux", s1(1_000_000, Kernel::default())),
    ];
    let ues = |name: &str| name.strip_prefix("growth_").and_then(|ues| ues.parse().ok());
    cases.extend(arguments.iter().filter_map(|name| Some((name.as_str(), growth(ues(name)?)))));
    for (name, config) in cases {
        if !asked(name) {
            continue;
        }
        let start = std::time::Instant::now();
        let world = World::new(&config).expect("the workload is sound");
        let mut warm = Warm(AfterWarmup::new(Instant::ZERO + Duration::from_secs(40)));
        let result = world.run(&mut warm).expect("nobody ends it");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let packets = result.conservation.delivered;
        let drops = result.conservation.dropped;
        let calls = result.component_calls as f64 / packets as f64;
        let goodput = result.flows[0].goodput_mbit_s;
        if json {
            Line { name, wall_ms, packets, drops, calls, allocations: warm.0.allocations() }
                .print(&result);
        } else {
            println!(
                "{name}: {wall_ms:.2} ms wall, {packets} packets, {drops} drops, {goodput:.2} \
                 Mbit/s, {calls:.2} calls per packet"
            );
        }
    }
}
