//! Worlds with an AQM of the base station for the UEs' queues: a UE's upload fills a drop-tail
//! queue, and the base station marks or drops what it receives.

use justfull_base::{BitRate, Duration, Ratio};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{
    CarrierConfig, CarrierKind, FiveTuple, HarqConfig, MacConfig, StackConfig, UplinkMacConfig,
};
use justfull_run::results::{CellAqmResult, FlowResult, RunResult};
use justfull_run::{CellAqmConfig, FlowConfig, Interval, Traffic, UplinkStack, WorldConfig};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, ping, rb, run, tcp, upload, world};
use std::sync::Arc;

/// A flow with a 5-tuple of its own.
fn from_port(port: u16, flow: FlowConfig) -> FlowConfig {
    let tuple = FiveTuple { source_port: port, ..flow.tuple };
    FlowConfig { tuple, ..flow }
}

fn uploading() -> FlowConfig {
    from_port(1, upload("upload", CcConfig::default(), None))
}

fn echo() -> FlowConfig {
    from_port(2, ping("echo", 172, Interval::Constant(ms(20))))
}

fn downloading() -> FlowConfig {
    from_port(3, tcp("download", CcConfig::default(), None))
}

/// A cell of 40 Mbit/s, and an uplink of 10 Mbit/s with a queue of 4 MB.
fn queued(flows: Vec<FlowConfig>) -> WorldConfig {
    let down = cell(5_000, CapacityUnit::Bytes, Limit::Packets(200));
    let mut config = world(down, flows, ms(20_000));
    config.uplink.rate = BitRate(10_000_000);
    config
}

/// A cell of 51 blocks of NR at MCS 15, and its uplink with 4 MB in the UE's RLC.
fn stacked(flows: Vec<FlowConfig>) -> WorldConfig {
    let mut down = cell(1, CapacityUnit::Bytes, Limit::Packets(200));
    down.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![15], ..McsConfig::default() });
    let carrier = CarrierConfig { kind: CarrierKind::Nr, n_prb: 51, ..CarrierConfig::default() };
    rb(&mut down).carrier = carrier.clone();
    let mac = UplinkMacConfig {
        slot: *down.mac.slot(),
        carrier,
        harq: HarqConfig { bler: Ratio(0.1), ..HarqConfig::default() },
        ..UplinkMacConfig::default()
    };
    let chain = StackConfig { mac: MacConfig::Uplink(mac), assert_bound: false, ..down.clone() };
    let mut config = world(down, flows, ms(20_000));
    let mut stack = UplinkStack { chain, ack_filter: false };
    stack.chain.rlc.queue = QueueConfig::tail_drop(Limit::Bytes(4_000_000));
    config.uplink.stack = Some(Box::new(stack));
    config
}

/// The run of `config` without and with the base station's AQM.
fn without_and_with(mut config: WorldConfig) -> [RunResult; 2] {
    let without = run(&config);
    config.uplink.cell_aqm = Some(CellAqmConfig::default());
    [without, run(&config)]
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result.flows.iter().find(|flow| flow.name == name).expect("such a flow")
}

fn aqm(result: &RunResult) -> CellAqmResult {
    result.uplink.cell_aqm.expect("an AQM of the base station")
}

fn wait_ms(result: &RunResult) -> f64 {
    result.uplink.wait.mean_ms
}

#[test]
fn an_upload_over_drop_tail_waits_below_50_ms_in_place_of_a_second_and_keeps_its_rate() {
    for config in [queued(vec![uploading()]), stacked(vec![uploading()])] {
        let [without, with] = without_and_with(config);
        assert_eq!(without.uplink.cell_aqm, None);
        let (before, after) = (wait_ms(&without), wait_ms(&with));
        assert!(before > 500.0 && after < 50.0, "{before} ms, then {after} ms");
        let [before, after] = [&without, &with].map(|r| flow(r, "upload").goodput_mbit_s);
        assert!(after > 0.9 * before, "{before} Mbit/s, then {after} Mbit/s");
    }
}

#[test]
fn beside_an_upload_a_download_gets_its_acknowledgements_and_an_echo_its_reply_in_time() {
    for config in [queued, stacked].map(|c| c(vec![uploading(), downloading(), echo()])) {
        let [without, with] = without_and_with(config);
        let download = |result| flow(result, "download").goodput_mbit_s;
        assert!(download(&with) > 1.2 * download(&without));
        let lost = flow(&with, "echo").ping.expect("echoes").lost;
        assert_eq!(lost, 0, "an echo is a sparse flow");
        let replies = |result: &RunResult| flow(result, "echo").rtt.p99_ms;
        assert!(replies(&with) < 0.2 * replies(&without), "{}", replies(&with));
    }
}

#[test]
fn packets_are_conserved_and_each_drop_counts_for_its_upload() {
    for config in [queued(vec![uploading()]), stacked(vec![uploading()])] {
        let [_, with] = without_and_with(config);
        let CellAqmResult { marked, dropped, dropped_bytes } = aqm(&with);
        let up = &with.uplink;
        assert!(dropped > 5 && dropped_bytes >= 1_400 * dropped && marked == 0);
        assert_eq!((up.overflow_drops, up.overflow_bytes), (dropped, dropped_bytes));
        assert_eq!(up.entered, up.delivered + dropped + up.queued);
        let flow = flow(&with, "upload");
        // The flow counts from the warm-up on.
        assert!((1..=dropped).contains(&flow.dropped_packets));
    }
}

#[test]
fn packets_that_can_carry_a_mark_are_marked_and_none_is_dropped() {
    for mut config in [queued(vec![uploading()]), stacked(vec![uploading()])] {
        let traffic = Arc::make_mut(&mut config.flows[0].traffic);
        let Traffic::Upload { sender, .. } = traffic else { unreachable!() };
        sender.ecn = true;
        config.uplink.cell_aqm =
            Some(CellAqmConfig { deadline: Duration::ZERO, ..CellAqmConfig::default() });
        let result = run(&config);
        let CellAqmResult { marked, dropped, .. } = aqm(&result);
        assert!(marked > 5 && dropped == 0, "{marked} marked, {dropped} dropped");
        assert!(wait_ms(&result) < 50.0, "{} ms", wait_ms(&result));
    }
}

#[test]
fn a_slow_upload_beside_a_fast_one_loses_nothing_and_a_lone_slow_one_neither() {
    let slow = |name: &str| {
        let mut flow = from_port(4, upload(name, CcConfig::default(), None));
        let Traffic::Upload { rate, .. } = Arc::make_mut(&mut flow.traffic) else { unreachable!() };
        *rate = Some(BitRate(300_000));
        flow
    };
    for make in [queued, stacked] {
        let mut config = make(vec![uploading(), slow("slow")]);
        config.uplink.cell_aqm = Some(CellAqmConfig::default());
        let result = run(&config);
        assert!(aqm(&result).dropped > 5);
        assert_eq!(flow(&result, "slow").dropped_packets, 0);
        config.flows.remove(0);
        assert_eq!(aqm(&run(&config)).dropped, 0);
    }
}

#[test]
fn acknowledgements_that_fill_an_uplink_are_never_dropped() {
    let mut config = queued(vec![downloading()]);
    config.uplink.rate = BitRate(300_000);
    let [without, with] = without_and_with(config);
    assert_eq!(aqm(&with).dropped, 0);
    assert!(with.flows == without.flows, "the same run");
    assert!(wait_ms(&with) > 50.0, "they wait");
}

#[test]
fn an_uplink_that_is_no_bottleneck_has_no_aqm() {
    let mut config = queued(vec![uploading()]);
    config.uplink.rate = BitRate(0);
    let [without, with] = without_and_with(config);
    assert!(with == without && with.uplink.cell_aqm.is_none());
}

#[test]
fn reports_that_are_late_cost_some_wait_and_no_upload() {
    let mut config = queued(vec![uploading()]);
    config.uplink.cell_aqm = Some(CellAqmConfig::default().later_by(ms(20)));
    let late = run(&config);
    assert!(wait_ms(&late) < 70.0, "{} ms", wait_ms(&late));
    assert!(flow(&late, "upload").goodput_mbit_s > 8.5);
}
