//! UEs that change cells live: the same handovers as in the simulator, every buffer accounted for.

use super::upload::{to_server, upload};
use super::*;
use crate::reports::UeReport;
use justfull_base::feedback::RanReport;
use justfull_ran::{CarrierConfig, CarrierKind, RlcModeConfig, UplinkMacConfig};
use justfull_run::handovers::{CellsResult, Outcome};
use justfull_run::proxy::At;
use justfull_run::{CellConfig, CellsConfig, HandoverConfig, Move, Place, UplinkStack};

/// Gives `config` two cells; its UE changes to the other one every `every`.
pub(super) fn two_cells(config: &mut WorldConfig, every: Duration) {
    let cell = |name: &str| CellConfig {
        name: name.into(),
        mac: config.stack.mac.clone(),
        channel: config.stack.channel.clone(),
        gnb: None,
    };
    let n = config.duration.as_nanos() / every.as_nanos();
    let moves = (1..n).map(|k| Move { at: every.times(k), to: (k % 2) as u32 }).collect();
    config.cells = Some(Box::new(CellsConfig {
        cells: ["west", "east"].map(cell).into(),
        places: vec![Arc::new(Place { moves, ..Place::default() })],
        handover: HandoverConfig::default(),
    }));
}

fn handover(config: &mut WorldConfig) -> &mut HandoverConfig {
    &mut config.cells.as_mut().expect("two cells").handover
}

fn cells(result: &RunResult) -> &CellsResult {
    result.cells.as_deref().expect("two cells")
}

/// 15.3 Mbit/s offered to 12 Mbit/s: the queue is full most of the time.
fn busy() -> WorldConfig {
    let traffic = vec![source(172, 20_000), source(1_400, 750)];
    let mut config = config(ms(1), 1_500, droptail(), traffic);
    two_cells(&mut config, ms(300));
    config
}

/// The packets that the flows of `config` send in a simulated run, and its result.
pub(super) fn simulated(config: &WorldConfig) -> (Vec<Timed>, RunResult) {
    let mut entries = Entries::default();
    let world = World::tapped(config, &mut entries).expect("sound settings");
    let result = world.run(&mut ()).expect("it ends");
    let packet = |&(entered, flow, size): &(Instant, u32, u32)| {
        (entered, udp(SERVER, UE, 6000 + flow as u16, size as usize - 28))
    };
    (entries.0.values().map(packet).collect(), result)
}

#[test]
fn a_live_ue_has_the_handovers_and_within_a_slot_the_delays_of_the_simulated_one() {
    let config = busy();
    let (packets, simulated) = simulated(&config);
    let (live, report, (at_ue, _)) = Bench::new(packets, Vec::new()).run(&config);
    assert!(!report.late(), "{report:?}");
    assert_eq!(live.broken, None);
    assert_eq!(at_ue.len() as u64, report.down.delivered);
    let (found, expected) = (cells(&live), cells(&simulated));
    assert_eq!((found.handovers.len(), found.disordered), (5, 0));
    for (found, expected) in found.handovers.iter().zip(&expected.handovers) {
        assert_eq!((&found.from, &found.to), (&expected.from, &expected.to));
        assert_eq!((found.decided_s, found.outcome), (expected.decided_s, expected.outcome));
        assert_eq!(found.interruption_ms, expected.interruption_ms);
        // Stamps are accurate to 50 us: another packet may overflow the queue.
        assert!(found.forwarded > 40 && found.forwarded.abs_diff(expected.forwarded) <= 3);
        assert_eq!((found.lost, found.late), (0, 0));
        let gaps = [found, expected].map(|handover| handover.gap_ms.expect("packets come"));
        assert!((gaps[0] - gaps[1]).abs() <= 1.0, "{gaps:?}");
    }
    for (found, expected) in live.flows.iter().zip(&simulated.flows) {
        assert_eq!(found.entered_packets, expected.entered_packets, "{}", found.name);
        let lost = found.dropped_packets.abs_diff(expected.dropped_packets);
        assert!(lost * 50 <= expected.dropped_packets, "{lost} of {}", expected.dropped_packets);
        let shares =
            |flow: &justfull_run::results::FlowResult| [flow.delay.mean_ms, flow.delay.p99_ms];
        for (a, b) in shares(found).into_iter().zip(shares(expected)) {
            assert!((a - b).abs() <= 1.0, "{}: {a} {b}", found.name);
        }
    }
}

/// The reports of a simulated run of `config` once a `period`.
pub(super) fn simulated_reports(config: &WorldConfig, period: Duration) -> Vec<(At, RanReport)> {
    let mut reports = Vec::new();
    let mut listen = |of: At, ran: &RanReport| reports.push((of, *ran));
    let world = World::new(config).expect("sound settings");
    world.run_reported(period, &mut listen, &mut ()).expect("it ends");
    reports
}

#[test]
fn reports_name_the_cell_that_serves_the_ue_as_simulated_ones_do_and_none_between_two_cells() {
    let config = busy();
    let period = ms(10);
    let (packets, simulated) = simulated(&config);
    let mut bench = Bench::new(packets, Vec::new());
    let mut stream = ReportStream::new(period);
    let reports = stream.listen();
    bench.reports = Some(stream);
    let (live, report, _) = bench.run(&config);
    assert_eq!((live.broken.as_deref(), &simulated.broken), (None, &None));
    let patience = std::time::Duration::ZERO;
    let reports: Vec<_> = std::iter::from_fn(|| reports.next(patience).ok().flatten()).collect();

    // The cell of each period.
    let period_of = |at: Instant| at.as_nanos() / period.as_nanos();
    let found = reports.iter().map(|of| (period_of(of.ran.at), of.ue, of.cell));
    let expected = simulated_reports(&config, period);
    let expected = expected.iter().map(|(of, ran)| (period_of(ran.at), of.ue, of.cell));
    let [found, expected]: [Vec<_>; 2] = [found.collect(), expected.collect()];
    // The last period ends with the run.
    assert!(found.len().abs_diff(expected.len()) <= 1 && found.len() > 150, "{}", found.len());
    let both = found.len().min(expected.len());
    assert_eq!(found[..both], expected[..both]);

    let cells = cells(&live);
    let counts = report.reports.expect("there was a listener");
    assert_eq!((counts.moves, cells.handovers.len()), (5, 5));
    for handover in &cells.handovers {
        let left = handover.decided_s + handover.preparation_ms.expect("it has left") * 1e-3;
        let joined = left + handover.interruption_ms.expect("it has joined") * 1e-3;
        // A report at an instant of a handover is made after it.
        let between = |of: &&UeReport| (left..joined).contains(&of.ran.at.as_secs_f64());
        assert_eq!(reports.iter().filter(between).count(), 0, "{left} to {joined}");
    }
    for (number, cell) in (0..).zip(&cells.cells) {
        let own = reports.iter().filter(|of| of.cell == number);
        let bytes: u64 = own.clone().map(|of| of.ran.bytes).sum();
        // A cell reports nothing of the period in which its UE leaves, nor of the last.
        let most = 15_000 * (cells.handovers.len() as u64 + 1);
        assert!(bytes <= cell.used && cell.used - bytes <= most, "{bytes} of {}", cell.used);
        assert!(own.clone().all(|of| of.ran.blocks <= of.ran.used), "{}", cell.name);
        assert!(own.count() > 50, "{}", cell.name);
    }
}

/// `config` in resource blocks, with RLC in the mode `mode`.
pub(super) fn in_blocks(config: &mut WorldConfig, mode: &str) {
    config.stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    let harq = HarqConfig { bler: Ratio(0.2), ..HarqConfig::default() };
    let slot = *config.stack.mac.slot();
    config.stack.mac = MacConfig::Rb(RbConfig { slot, harq, ..RbConfig::default() });
    config.stack.rlc.mode = RlcModeConfig::by_name(mode).expect("a mode");
    if let RlcModeConfig::Am(am) = &mut config.stack.rlc.mode {
        (am.poll_pdu, am.sn_bits) = (8, 18);
    }
    config.stack.pdcp.sn_bits = 18;
    config.stack.assert_bound = false;
}

#[test]
fn each_buffer_comes_back_whether_data_is_forwarded_repeated_lost_or_still_on_its_way() {
    for mode in ["um", "am"] {
        for forwarding in [true, false] {
            let mut config = busy();
            in_blocks(&mut config, mode);
            two_cells(&mut config, ms(150));
            // The last handover is under way at the end.
            config.duration = ms(1_870);
            handover(&mut config).forwarding = forwarding;
            // More ports than flows: numbers of flows are used again, also between two cells.
            let packets =
                (0..2_400).map(|i| (at(i * 750), udp(SERVER, UE, 6000 + (i % 97) as u16, 1_000)));
            let mut bench = Bench::new(packets.collect(), Vec::new());
            (bench.options.flows, bench.options.buffers) = (20, 400);
            // The run's end asserts that each buffer in use holds a queued packet.
            let (result, report, _) = bench.run(&config);
            let told = format!("{mode}, forwarding {forwarding}: {:?}", report.down);
            assert_eq!((result.broken.as_deref(), report.down.no_buffer), (None, 0), "{told}");
            let handovers = &cells(&result).handovers;
            assert!(handovers.len() >= 10 && report.aged_flows > 100, "{told}");
            let sum = |of: fn(&justfull_run::handovers::HandoverResult) -> u64| {
                handovers.iter().map(of).sum::<u64>()
            };
            assert_eq!(sum(|h| h.forwarded) > 100, forwarding, "{told}");
            assert_eq!(sum(|h| h.lost) > 0, mode == "um" || !forwarding, "{told}");
            let complete = handovers.iter().filter(|h| h.outcome == Outcome::Complete);
            assert_eq!(complete.count(), handovers.len() - 1, "{told}");
        }
    }
}

#[test]
fn packets_without_a_buffer_are_counted_in_the_cell_of_their_ue() {
    let mut config = busy();
    two_cells(&mut config, ms(300));
    let packets = (0..1_600).map(|i| (at(i * 1_000), udp(SERVER, UE, 6000, 1_400)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    // During an interruption of 50 ms more than 20 come.
    bench.options.buffers = 20;
    let (result, report, _) = bench.run(&config);
    let down = report.down;
    assert!(down.no_buffer > 50, "{down:?}");
    assert_eq!((result.broken.as_deref(), result.conservation.entered), (None, 1_600));
    assert_eq!(result.conservation.dropped, down.no_buffer + down.dropped);
}

/// The uplink of `config` as a stack of 1500 bytes and more in each slot.
fn uplink_stack(config: &WorldConfig) -> Box<UplinkStack> {
    let mac = UplinkMacConfig {
        slot: *config.stack.mac.slot(),
        carrier: CarrierConfig { kind: CarrierKind::Nr, ..CarrierConfig::default() },
        ..UplinkMacConfig::default()
    };
    let mut chain = config.stack.clone();
    chain.mac = MacConfig::Uplink(mac);
    chain.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![20], ..McsConfig::default() });
    chain.assert_bound = false;
    Box::new(UplinkStack { chain, ack_filter: false })
}

#[test]
fn what_a_ue_sends_while_it_is_in_no_cell_waits_for_the_target_and_is_in_order() {
    for stack in [false, true] {
        let mut config = config(ms(1), 1_500, droptail(), vec![upload()]);
        in_blocks(&mut config, "am");
        two_cells(&mut config, ms(300));
        config.uplink.stack = stack.then(|| uplink_stack(&config));
        let down = vec![(at(0), udp(SERVER, UE, 6000, 20))];
        // Each packet has a size of its own.
        let up = (0..180).map(|i| (at(100_000 + i * 10_000), to_server(100 + i as usize)));
        let (result, report, (_, reached)) = Bench::new(down, up.collect()).run(&config);
        assert_eq!((result.broken.as_deref(), report.up.dropped), (None, 0), "stack {stack}");
        let sizes: Vec<usize> = reached.iter().map(|(_, packet)| packet.len()).collect();
        assert!(sizes.is_sorted() && sizes.len() >= 170, "stack {stack}: {sizes:?}");
        for handover in cells(&result).handovers.iter().take(5) {
            let left = handover.decided_s + handover.preparation_ms.expect("it has left") * 1e-3;
            let joined = left + handover.interruption_ms.expect("it has joined") * 1e-3;
            // 10 ms from the UE to the server; what is sent before may arrive a little later.
            let way = 0.010;
            let between = reached.iter().filter(|(at, _)| {
                let at = at.as_secs_f64();
                at > left + way + 0.002 && at < joined + way
            });
            assert_eq!(between.count(), 0, "stack {stack}: {left} to {joined}");
            let times = reached.iter().map(|(at, _)| at.as_secs_f64());
            let after: Vec<f64> = times.filter(|at| *at >= joined + way).collect();
            assert!(after[0] < joined + way + 0.045, "stack {stack}: {joined} {after:?}");
            // What has waited for 50 ms comes at once; new packets are 10 ms apart.
            let at_once = after.iter().filter(|at| **at < after[0] + 0.015);
            assert!(at_once.count() >= 4, "stack {stack}: {joined} {after:?}");
        }
    }
}
