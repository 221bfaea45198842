//! The workload of R22's fast downloads: CUBIC and BBR transfers of 200 MB to one UE of a cell at
//! 28 GHz, over resource blocks and RLC AM, at a round trip of 1 ms.
//!
//! `cargo run --release -p justfull-sim --example r22_bench -- [--json] [r22_vanilla | r22_rapid]`
//! prints the wall time and the counters, which must not depend on speed. `r22_vanilla` has no
//! proxy, `r22_rapid` has one with RAPID and a report each millisecond.

use justfull_base::{BitRate, Bytes, Duration, Qfi};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::AmConfig;
use justfull_ran::{
    CarrierConfig, CarrierKind, FiveTuple, MacConfig, PollConfig, RbConfig, RlcConfig, StackConfig,
    UeConfig,
};
use justfull_rapid::{Config, ControlConfig};
use justfull_run::{FlowConfig, ProxyConfig, Traffic, Transport, UplinkConfig, WorldConfig};
use justfull_tcp::{CcConfig, Kernel, ReceiverConfig, SenderConfig, Window};
use justfull_testkit as testkit;

#[path = "support/mod.rs"]
mod support;
#[path = "support/worlds.rs"]
mod worlds;
use worlds::{Arguments, Ran};

/// Both downloads last about 4 s.
const DURATION: Duration = Duration::from_secs(6);

fn download(name: &str, destination_port: u16, cc: CcConfig) -> FlowConfig {
    let sender =
        Box::new(SenderConfig { kernel: Kernel::Rfc, mss: 1440, cc, ..SenderConfig::default() });
    let receiver = Box::new(ReceiverConfig {
        kernel: Kernel::Rfc,
        window: Window::Fixed(Bytes(64_000_000)),
        ..ReceiverConfig::default()
    });
    let (size, transport) = (Some(Bytes(200_000_000)), Transport::Tcp);
    let flow = testkit::app(Traffic::Tcp { sender, receiver, size, rate: None, transport });
    let tuple = FiveTuple { destination_port, ..flow.tuple };
    FlowConfig { name: name.into(), tuple, ..flow }
}

/// 132 blocks at 120 kHz, MCS 28 on one layer: about 850 Mbit/s.
fn cell() -> StackConfig {
    let mode = AmConfig {
        sn_bits: 18,
        poll_pdu: 256,
        t_status_prohibit: Duration::from_millis(1),
        t_reassembly: Duration::from_millis(20),
        ..AmConfig::default()
    };
    let carrier = CarrierConfig { kind: CarrierKind::Nr, n_prb: 132, ..CarrierConfig::default() };
    let base = testkit::cell(1, CapacityUnit::Bytes, Limit::Bytes(10_000_000));
    StackConfig {
        rlc: RlcConfig { mode: RlcModeConfig::Am(mode), ..base.rlc },
        mac: MacConfig::Rb(RbConfig {
            slot: PollConfig::every(Duration::from_micros(125)),
            carrier,
            status_delay: Duration::from_millis(1),
            ..RbConfig::default()
        }),
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![28], ..McsConfig::default() }),
        ues: vec![UeConfig::plain(Qfi::new(9).expect("below 64")).into()],
        assert_bound: false,
        ..base
    }
}

fn r22(control: Option<ControlConfig>) -> WorldConfig {
    let half = Duration::from_micros(500);
    let flows = vec![
        download("cubic", 1, CcConfig::Cubic(Default::default())),
        download("bbr", 2, CcConfig::Bbr(Default::default())),
    ];
    let world = testkit::world(cell(), flows, DURATION);
    WorldConfig {
        scenario: "r22".into(),
        method: "bench".into(),
        core_rate: BitRate(10_000_000_000),
        core_delay: half,
        uplink: UplinkConfig { delay: half, ..world.uplink },
        proxy: ProxyConfig {
            control,
            radio: SenderConfig { kernel: Kernel::Rfc, ..SenderConfig::default() },
            ..ProxyConfig::default()
        },
        warmup: Duration::ZERO,
        series_bins: 1000,
        ..world
    }
}

fn main() {
    let arguments = Arguments::read();
    let rapid = || Some(ControlConfig::Rapid(Config::default()));
    for (name, control) in [("r22_vanilla", None), ("r22_rapid", rapid())] {
        if arguments.select(name) {
            let ran = Ran::of(1, || r22(control), Duration::from_millis(2_600));
            let flows = &ran.result.flows;
            let ends: Vec<f64> = flows.iter().filter_map(|flow| flow.completed_s).collect();
            let rtts: Vec<f64> = flows.iter().map(|flow| flow.rtt.mean_ms).collect();
            let text = format!("done after {ends:.3?} s, round trips {rtts:.3?} ms");
            ran.print(name, &arguments, &text);
        }
    }
}
