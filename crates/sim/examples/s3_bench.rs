//! The workload S3: 10 000 UEs with one VoIP flow each on an NR cell of 100 MHz and 4 layers, for
//! 60 simulated seconds.
//!
//! `cargo run --release -p justfull-sim --example s3_bench -- [--json] [s3 | s3_one_ue | s3_short]`
//! prints the wall time, the counters, which must not depend on speed, and the memory. `s3_one_ue`
//! is the same cell with one UE: the difference in memory is the cost of the UEs. `s3_short` has
//! 2 000 UEs for 4 seconds, for `cargo xtask bench`.

use justfull_base::{BitRate, Duration, Qfi};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{
    AllocationType, CarrierConfig, CarrierKind, FiveTuple, MacConfig, PollConfig, RbConfig,
    RlcConfig, StackConfig, UeConfig,
};
use justfull_run::{FlowConfig, Interval, UplinkConfig, WorldConfig};
use justfull_testkit as testkit;
use std::sync::Arc;

#[path = "support/mod.rs"]
mod support;
#[path = "support/worlds.rs"]
mod worlds;
use support::rss_kib;
use worlds::{Arguments, Ran};

/// The cell with `ues` UEs: 273 blocks at 30 kHz in every slot, 256QAM at MCS 27, four layers. A
/// packet takes one block, and a slot has 250 packets on average. RLC UM with segmentation and its
/// receiver.
fn s3(ues: u32, duration: Duration) -> WorldConfig {
    let ue = Arc::new(UeConfig::plain(Qfi::new(1).expect("below 64")));
    let call = testkit::udp("voip", 172, Interval::Constant(testkit::ms(20)));
    let tuple = FiveTuple { destination_port: 5004, ..call.tuple };
    let carrier = CarrierConfig {
        kind: CarrierKind::Nr,
        n_prb: 273,
        mcs_table: 2,
        layers: 4,
        allocation: AllocationType::Type1,
        ..CarrierConfig::default()
    };
    let stack = StackConfig {
        rlc: RlcConfig::default(),
        mac: MacConfig::Rb(RbConfig {
            slot: PollConfig::every(Duration::from_micros(500)),
            carrier,
            ..RbConfig::default()
        }),
        channel: ChannelConfig::Mcs(McsConfig { mcs: vec![27], ..McsConfig::default() }),
        ues: std::iter::repeat_n(ue, ues as usize).collect(),
        assert_bound: false,
        ..testkit::cell(1, CapacityUnit::Bytes, Limit::Bytes(1))
    };
    let flows = (0..ues).map(|ue| FlowConfig { ue, tuple, ..call.clone() }).collect();
    let world = testkit::world(stack, flows, duration);
    WorldConfig {
        scenario: "s3".into(),
        method: "Vanilla".into(),
        core_rate: BitRate(0),
        core_delay: testkit::ms(5),
        uplink: UplinkConfig { delay: testkit::ms(5), ..world.uplink },
        warmup: duration.scaled(1.0 / 12.0),
        series_bins: 1000,
        ..world
    }
}

fn main() {
    let arguments = Arguments::read();
    for (name, ues, seconds) in [("s3_one_ue", 1, 60), ("s3", 10_000, 60), ("s3_short", 2_000, 4)] {
        if arguments.select(name) {
            let duration = Duration::from_secs(seconds);
            let ran = Ran::of(1, || s3(ues, duration), duration.scaled(2.0 / 3.0));
            let (delay, used) = (&ran.result.flows[0].delay, ran.result.cell.utilisation);
            let text = format!(
                "delay {:.3} ms (p99 {:.3} ms), {:.1} % of blocks used, {} KiB",
                delay.mean_ms,
                delay.p99_ms,
                used * 100.0,
                rss_kib()
            );
            ran.print(name, &arguments, &text);
        }
    }
}
