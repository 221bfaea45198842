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

use justfull_base::{Bytes, Duration, Qfi};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig, PatternConfig};
use justfull_ran::{
    BytesConfig, CarrierConfig, FiveTuple, MacConfig, PollConfig, RbConfig, SdapConfig,
    StackConfig, UeConfig,
};
use justfull_run::{FlowConfig, Interval, Traffic, Transport, WorldConfig};
use justfull_tcp::{Kernel, ReceiverConfig, SenderConfig, Window};
use justfull_testkit as testkit;

#[path = "support/mod.rs"]
mod support;
#[path = "support/worlds.rs"]
mod worlds;
use worlds::{Arguments, Ran};

/// S1 with an RLC queue of `rlc_bytes`: 2292 B in eight slots of ten, 1572 B in two (25 PRB, MCS
/// 28, A21).
fn s1(rlc_bytes: u64, kernel: Kernel) -> WorldConfig {
    let receiver = ReceiverConfig {
        kernel,
        window: Window::Fixed(Bytes(64 << 20)),
        ..ReceiverConfig::default()
    };
    let sender = SenderConfig { kernel, ..SenderConfig::default() };
    let (sender, receiver) = (Box::new(sender), Box::new(receiver));
    let (size, rate, transport) = (None, None, Transport::Tcp);
    let bulk = testkit::app(Traffic::Tcp { sender, receiver, size, rate, transport });
    let voip = testkit::udp("voip", 172, Interval::Constant(testkit::ms(20)));
    let at = |flow: &FlowConfig, destination_port| FiveTuple { destination_port, ..flow.tuple };
    let (full, less) = (2292, 1572);
    let ue = UeConfig::plain(Qfi::new(9).expect("below 64"));
    let stack = StackConfig {
        sdap: SdapConfig {
            poll: PollConfig::every(Duration::from_micros(200)),
            ..SdapConfig::default()
        },
        mac: MacConfig::Bytes(BytesConfig::default()),
        channel: ChannelConfig::Pattern(PatternConfig {
            bytes: vec![less, full, full, full, full, less, full, full, full, full],
        }),
        ues: vec![ue.into()],
        assert_bound: false,
        ..testkit::cell(1, CapacityUnit::Bytes, Limit::Bytes(rlc_bytes))
    };
    let flows = vec![
        FlowConfig { name: "bulk".into(), tuple: at(&bulk, 5001), ..bulk },
        FlowConfig { tuple: at(&voip, 5004), start: Duration::from_secs(5), ..voip },
    ];
    WorldConfig {
        scenario: "s1".into(),
        method: "Vanilla".into(),
        warmup: Duration::from_secs(5),
        series_bins: 1000,
        ..testkit::world(stack, flows, Duration::from_secs(60))
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
    config.stack.ues = vec![config.stack.ues[0].clone(); ues as usize];
    let bulk = config.flows.swap_remove(0);
    config.flows = (0..ues).map(|ue| FlowConfig { ue, ..bulk.clone() }).collect();
    config
}

fn main() {
    let arguments = Arguments::read();
    let mut cases = vec![
        ("s1_10mb", s1(10_000_000, Kernel::Rfc)),
        ("s1_1mb", s1(1_000_000, Kernel::Rfc)),
        ("s1_blocks", in_blocks(s1(10_000_000, Kernel::Rfc))),
        ("s1_linux", s1(1_000_000, Kernel::default())),
    ];
    let ues = |name: &str| name.strip_prefix("growth_").and_then(|ues| ues.parse().ok());
    cases.extend(arguments.0.iter().filter_map(|name| Some((name.as_str(), growth(ues(name)?)))));
    for (name, config) in cases {
        if arguments.select(name) {
            let ran = Ran::of(1, || config, Duration::from_secs(40));
            let goodput = ran.result.flows[0].goodput_mbit_s;
            ran.print(name, &arguments, &format!("{goodput:.2} Mbit/s"));
        }
    }
}
