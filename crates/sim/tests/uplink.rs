//! Worlds whose uplink is a stack: packets are conserved, acknowledgements may be filtered, lost
//! requests are repeated, and UEs compete.

use justfull_base::Ratio;
use justfull_queue::aqm::{AqmConfig, CoDelConfig};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{
    CarrierConfig, CarrierKind, HarqConfig, MacConfig, RlcModeConfig, StackConfig, UplinkMacConfig,
};
use justfull_run::results::{RunResult, UplinkStackResult};
use justfull_run::traffic::{PageConfig, Span};
use justfull_run::{
    CellConfig, CellsConfig, FlowConfig, HandoverConfig, Interval, Move, Place, Traffic,
    UplinkStack, WorldConfig,
};
use justfull_tcp::CcConfig;
use justfull_tcp::accecn::ControlEcn;
use justfull_testkit::{app, cell, ms, ping, rb, run, tcp, upload, world};
use std::sync::Arc;

/// A cell of 25 blocks of NR at MCS 10 both ways, and its uplink with `limit` in each RLC queue.
fn stacked(ues: usize, limit: Limit, flows: Vec<FlowConfig>) -> WorldConfig {
    let mut down = cell(1, CapacityUnit::Bytes, Limit::Packets(2_000));
    down.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    let carrier = CarrierConfig { kind: CarrierKind::Nr, ..CarrierConfig::default() };
    rb(&mut down).carrier = carrier.clone();
    let one = Arc::clone(&down.ues[0]);
    down.ues = vec![one; ues];
    let mac = UplinkMacConfig {
        slot: *down.mac.slot(),
        carrier,
        harq: HarqConfig { bler: Ratio(0.1), ..HarqConfig::default() },
        ..UplinkMacConfig::default()
    };
    let chain = StackConfig { mac: MacConfig::Uplink(mac), assert_bound: false, ..down.clone() };
    let mut config = world(down, flows, ms(8_000));
    let mut stack = UplinkStack { chain, ack_filter: false };
    stack.chain.rlc.queue = QueueConfig::tail_drop(limit);
    stack.chain.rlc.mode = RlcModeConfig::default();
    config.uplink.stack = Some(Box::new(stack));
    config
}

/// Two such cells, between which the first of two UEs moves every `every`; `mode` of the uplink's
/// RLC.
fn roaming(every: u64, mode: &str, flows: Vec<FlowConfig>) -> WorldConfig {
    let mut config = stacked(2, Limit::Packets(5_000), flows);
    let chain = &mut config.uplink.stack.as_mut().expect("a stack").chain;
    chain.rlc.mode = RlcModeConfig::by_name(mode).expect("a mode");
    if let RlcModeConfig::Am(am) = &mut chain.rlc.mode {
        (am.poll_pdu, am.sn_bits) = (8, 18);
    }
    chain.pdcp.sn_bits = 18;
    let cell = |name: &str| CellConfig {
        name: name.into(),
        mac: config.stack.mac.clone(),
        channel: config.stack.channel.clone(),
        gnb: None,
    };
    let moves = (1..8_000 / every).map(|k| Move { at: ms(k * every), to: (k % 2) as u32 });
    let mover = Place { moves: moves.collect(), ..Place::default() };
    config.cells = Some(Box::new(CellsConfig {
        cells: vec![cell("a"), cell("b")],
        places: vec![Arc::new(mover), Arc::new(Place { cell: 1, ..Place::default() })],
        handover: HandoverConfig::default(),
    }));
    config
}

/// Uploads and echoes of the UE that moves, and an upload of the other.
fn uploads() -> Vec<FlowConfig> {
    let other = FlowConfig { ue: 1, ..upload("other", bulk(), None) };
    vec![upload("upload", bulk(), None), ping("echo", 56, Interval::Constant(ms(20))), other]
}

fn of_stack(result: &RunResult) -> &UplinkStackResult {
    result.uplink.stack.as_ref().expect("a stack")
}

fn bulk() -> CcConfig {
    CcConfig::default()
}

/// 0.2 s in a debug build.
#[test]
fn packets_are_conserved_beside_an_upload_that_overflows_its_queue() {
    let flows = vec![
        upload("upload", bulk(), None),
        tcp("download", bulk(), None),
        ping("echo", 56, Interval::Constant(ms(20))),
    ];
    let result = run(&stacked(1, Limit::Packets(60), flows));
    let stack = of_stack(&result);
    assert!(stack.drops.iter().any(|(reason, n)| reason == "overflow" && *n > 0), "{stack:?}");
    let dropped: u64 = stack.drops.iter().map(|(_, n)| n).sum();
    assert_eq!(dropped, result.uplink.overflow_drops);
    assert!(stack.requests > 0 && stack.grants > 1_000 && stack.repeats > 0, "{stack:?}");
    assert!(stack.padding_bytes < stack.granted_bytes);
    for flow in &result.flows {
        assert!(flow.goodput_mbit_s > 0.0, "{} lives", flow.name);
    }
}

#[test]
fn filtered_acknowledgements_leave_the_download_more_and_are_counted() {
    let with = |ack_filter: bool| {
        let flows = vec![upload("upload", bulk(), None), tcp("download", bulk(), None)];
        let mut config = stacked(1, Limit::Packets(1_000), flows);
        config.uplink.stack.as_mut().expect("a stack").ack_filter = ack_filter;
        run(&config)
    };
    let (all, filtered) = (with(false), with(true));
    assert_eq!(of_stack(&all).filtered_acks, 0);
    assert!(of_stack(&filtered).filtered_acks > 100, "{:?}", of_stack(&filtered));
    let download = |result: &RunResult| result.flows[1].goodput_mbit_s;
    assert!(download(&filtered) > 1.1 * download(&all));
}

#[test]
fn capable_acknowledgements_that_wait_are_marked_and_their_sender_counts_them() {
    let with = |control_ecn| {
        let flows = vec![upload("upload", bulk(), None), tcp("download", bulk(), None)];
        let mut config = stacked(1, Limit::Packets(1_000), flows);
        let Traffic::Tcp { sender, receiver, .. } = Arc::make_mut(&mut config.flows[1].traffic)
        else {
            unreachable!()
        };
        (sender.ecn, sender.accecn, receiver.control_ecn) = (true, true, control_ecn);
        let chain = &mut config.uplink.stack.as_mut().expect("a stack").chain;
        let codel = CoDelConfig { ce_threshold: ms(5), ..CoDelConfig::default() };
        chain.rlc.queue.aqm = AqmConfig::CoDel(codel);
        run(&config).flows[1].marked_acks
    };
    assert_eq!(with(ControlEcn::Off), None);
    let marked = with(ControlEcn::Ect1);
    assert!(marked.is_some_and(|acks| acks > 100), "{marked:?}");
}

#[test]
fn a_lost_request_of_a_page_is_repeated() {
    let page = PageConfig { reading: Span::Constant(ms(100)), ..PageConfig::default() };
    let flows = vec![upload("upload", bulk(), None), app(Traffic::Page(Box::new(page)))];
    // A queue of two packets loses requests beside an upload.
    let result = run(&stacked(1, Limit::Bytes(3_000), flows));
    assert!(result.flows[1].goodput_mbit_s > 0.0, "pages load");
}

#[test]
fn ues_share_the_uplink_of_the_cell() {
    let uploads = |ues: usize| {
        let flow = |ue: usize| FlowConfig {
            ue: ue as u32,
            name: format!("upload{ue}").into(),
            ..upload("upload", bulk(), None)
        };
        let result = run(&stacked(ues, Limit::Packets(200), (0..ues).map(flow).collect()));
        result.flows.iter().map(|flow| flow.goodput_mbit_s).collect::<Vec<_>>()
    };
    let (alone, three) = (uploads(1)[0], uploads(3));
    let sum: f64 = three.iter().sum();
    assert!((0.8..1.1).contains(&(sum / alone)), "{alone} alone, {three:?}");
    assert!(three.iter().all(|of| (0.7..1.4).contains(&(of * 3.0 / sum))), "{three:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let once = || {
        let flows = vec![upload("upload", bulk(), None), tcp("download", bulk(), None)];
        run(&stacked(2, Limit::Packets(100), flows))
    };
    assert_eq!(once(), once());
}

#[test]
fn the_uplink_of_a_ue_that_moves_loses_nothing_in_acknowledged_mode() {
    let result = run(&roaming(200, "am", uploads()));
    let (up, cells) = (&result.uplink, result.cells.as_ref().expect("cells"));
    assert!(cells.handovers.len() > 35, "{}", cells.handovers.len());
    assert_eq!((up.overflow_drops, of_stack(&result).drops.len()), (0, 0));
    assert_eq!(up.entered, up.delivered + up.queued);
    let timeouts: u64 = result.flows.iter().map(|flow| flow.timeouts).sum();
    assert_eq!(timeouts, 0, "an interruption of 50 ms is no loss");
    // A UE that has data sends a new request in the target.
    assert!(of_stack(&result).requests as usize >= cells.handovers.len());
}

#[test]
fn unacknowledged_mode_loses_what_is_on_the_air_at_a_handover() {
    let result = run(&roaming(200, "um", uploads()));
    let drops = &of_stack(&result).drops;
    let by_handover = drops.iter().find(|(reason, _)| reason == "handover").map_or(0, |(_, n)| *n);
    assert!(by_handover > 0, "{drops:?}");
    let sum: u64 = drops.iter().map(|(_, n)| n).sum();
    assert_eq!(result.uplink.overflow_drops, sum, "each drop has a reason");
    assert!(result.flows.iter().all(|flow| flow.goodput_mbit_s > 0.0));
}

/// The window begins when the UE leaves its cell, with its data on the air.
#[test]
fn data_that_entered_before_the_window_is_no_drop_of_the_window() {
    let mut config = roaming(200, "um", uploads());
    config.warmup = ms(200) + HandoverConfig::default().preparation;
    config.duration = config.warmup + ms(1);
    let result = run(&config);
    let drops = &of_stack(&result).drops;
    assert!(drops.iter().any(|(reason, n)| reason == "handover" && *n > 0), "{drops:?}");
    let upload = &result.flows[0];
    assert!(upload.entered_packets < 5, "the UE gets no acknowledgements: {upload:?}");
    assert_eq!(upload.dropped_packets, 0);
}

#[test]
fn a_ue_that_stays_uploads_as_in_its_cell_alone_while_the_other_is_away() {
    let with = |every: u64| run(&roaming(every, "am", uploads())).flows[2].goodput_mbit_s;
    let (alone, half) = (with(9_000), with(1_000));
    assert!((0.6..0.9).contains(&(half / alone)), "{half} of {alone} Mbit/s");
}
