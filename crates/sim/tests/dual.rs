//! Split bearers: nothing is lost, doubled or out of order above PDCP, and each routing rule does
//! what its settings say.

use justfull_base::{BitRate, Duration, Ratio};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig, RowLength};
use justfull_ran::limiter::LimiterConfig;
use justfull_ran::{Leg, RlcModeConfig, Routing, SplitConfig, StackConfig};
use justfull_run::handovers::{CellsResult, LegResult};
use justfull_run::results::RunResult;
use justfull_run::{
    CellConfig, CellsConfig, HandoverConfig, Interval, Place, WorldConfig, XnConfig,
};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, rb, run, tcp, udp, world};
use std::sync::Arc;

fn mcs(rows: &[u8]) -> ChannelConfig {
    let row = RowLength::Time(ms(100));
    ChannelConfig::Mcs(McsConfig { mcs: rows.to_vec(), row, ..McsConfig::default() })
}

/// One UE whose bearer is split as `split` says over the cells `steady`, of 25 LTE blocks at MCS
/// 10, and `fast`, at MCS 20 by rows of 100 ms as `rows` say. Index 31 carries nothing.
fn dual(acknowledged: bool, split: SplitConfig, rows: &[u8]) -> WorldConfig {
    let mut stack = cell(1, CapacityUnit::Bytes, Limit::Packets(100_000));
    stack.assert_bound = false;
    rb(&mut stack).carrier.n_prb = 25;
    rb(&mut stack).harq.bler = Ratio(0.1);
    stack.channel = mcs(&[10]);
    stack.rlc.mode =
        RlcModeConfig::by_name(if acknowledged { "am" } else { "um" }).expect("a mode");
    if let RlcModeConfig::Am(am) = &mut stack.rlc.mode {
        (am.poll_pdu, am.sn_bits) = (8, 18);
    }
    stack.pdcp.sn_bits = 18;
    stack.pdcp.t_reordering = ms(200);
    let flows = vec![
        tcp("download", CcConfig::default(), None),
        udp("datagrams", 172, Interval::Constant(ms(20))),
    ];
    let mut config = world(stack.clone(), flows, Duration::from_secs(4));
    let cell = |name: &str, channel| CellConfig {
        name: name.into(),
        mac: stack.mac.clone(),
        channel,
        gnb: None,
    };
    let place = Place { split: Some((1, split)), ..Place::default() };
    config.cells = Some(Box::new(CellsConfig {
        cells: vec![cell("steady", mcs(&[10])), cell("fast", mcs(rows))],
        places: vec![Arc::new(place)],
        handover: HandoverConfig {
            xn: XnConfig { rate: BitRate(0), delay: ms(2) },
            ..HandoverConfig::default()
        },
    }));
    config
}

fn cells_of(result: &RunResult) -> &CellsResult {
    result.cells.as_deref().expect("several cells")
}

fn legs(result: &RunResult) -> [&LegResult; 2] {
    let [master, secondary] = &cells_of(result).legs[..] else { panic!("two legs") };
    [master, secondary]
}

fn rule(routing: Routing) -> SplitConfig {
    SplitConfig { routing, ..SplitConfig::default() }
}

const RULES: [Routing; 3] = [Routing::Primary, Routing::Weighted, Routing::FlowControl];

const STEADY: &[u8] = &[20];

#[test]
fn no_packet_is_lost_doubled_or_out_of_order_above_pdcp() {
    let outages: &[u8] = &[20, 20, 20, 20, 20, 20, 20, 28, 28, 28];
    for acknowledged in [true, false] {
        for routing in RULES {
            for rows in [STEADY, outages] {
                let mut config = dual(acknowledged, rule(routing), rows);
                for cell in &mut config.cells.as_mut().expect("several cells").cells {
                    let justfull_ran::MacConfig::Rb(rb) = &mut cell.mac else { panic!("blocks") };
                    // Index 28 is reserved in the second table of LTE: it carries nothing.
                    rb.carrier.mcs_table = 2;
                }
                let result = run(&config);
                assert_eq!(cells_of(&result).disordered, 0, "{acknowledged} {routing:?}");
                let [master, secondary] = legs(&result);
                assert!(secondary.delivered_packets > 500, "{routing:?}: {secondary:?}");
                let out = rows.len() > 1;
                let late = master.late_packets + secondary.late_packets;
                if acknowledged {
                    // PDUs in the slow leg may miss t-Reordering: after an outage, or if its share
                    // is more than it carries.
                    assert_eq!(result.conservation.dropped, late, "{routing:?}");
                    let fits = !out && routing != Routing::Weighted;
                    assert!(!fits || late == 0, "{routing:?}");
                }
                assert_eq!(secondary.outages > 0, out, "{acknowledged} {routing:?}");
                assert!(!out || secondary.recovered_packets > 0, "{routing:?}");
                assert!(!out || master.delivered_packets > 0, "{routing:?}");
            }
        }
    }
}

#[test]
fn each_rule_gives_each_leg_its_share() {
    let share = |split: SplitConfig| {
        let result = run(&dual(true, split, STEADY));
        let [master, secondary] = legs(&result);
        let (m, s) = (master.delivered_bytes as f64, secondary.delivered_bytes as f64);
        (s / (m + s), (m + s) * 8.0 / 4.0 * 1e-6)
    };
    let primary = |primary| SplitConfig { primary, ..rule(Routing::Primary) };
    assert!(share(primary(Leg::Master)).0 <= 0.0);
    let (alone, secondary) = share(primary(Leg::Secondary));
    assert!(alone >= 1.0, "{alone}");
    let weighted = SplitConfig { weight: Ratio(0.25), ..rule(Routing::Weighted) };
    let (quarter, _) = share(weighted);
    assert!((quarter - 0.25).abs() < 0.01, "{quarter}");
    // The fast leg has 0.7 of both.
    let (by_delay, both) = share(rule(Routing::FlowControl));
    assert!((0.6..0.8).contains(&by_delay), "{by_delay}");
    assert!(both > 1.2 * secondary, "{both} {secondary}");
}

#[test]
fn a_packet_over_the_secondary_leg_takes_the_delay_of_xn() {
    let lone = |primary| {
        let split = SplitConfig { primary, ..rule(Routing::Primary) };
        let mut config = dual(true, split, STEADY);
        config.flows.remove(0);
        for cell in &mut config.cells.as_mut().expect("several cells").cells {
            let justfull_ran::MacConfig::Rb(rb) = &mut cell.mac else { panic!("blocks") };
            rb.harq.bler = Ratio(0.0);
        }
        run(&config).flows[0].delay.clone()
    };
    let (master, secondary) = (lone(Leg::Master), lone(Leg::Secondary));
    assert!((secondary.min_ms - master.min_ms - 2.0).abs() < 1e-6, "{master:?} {secondary:?}");
    assert!((secondary.p50_ms - master.p50_ms - 2.0).abs() < 1e-6, "{master:?} {secondary:?}");
}

#[test]
fn each_leg_has_a_limiter_and_both_stay_busy() {
    for limiter in ["drql", "bdp_5g", "fixed"] {
        let mut config = dual(true, rule(Routing::FlowControl), STEADY);
        config.stack.rlc.limiter = LimiterConfig::by_name(limiter).expect("a limiter");
        config.stack.sdap.queue.limit = Limit::Bytes(2_000_000);
        config.stack.sdap.poll = justfull_testkit::on_time(Duration::from_micros(500));
        let result = run(&config);
        let [master, secondary] = legs(&result);
        let (m, s) = (master.delivered_packets, secondary.delivered_packets);
        assert!(m > 300 && s > 1_000, "{limiter}: {m}, {s}");
    }
}

#[test]
fn a_limiter_bounds_the_queue_of_the_secondary_leg_however_late_its_reports_are() {
    // The backlog in packets, and the bytes over the secondary leg.
    let of = |limiter: &str, period_ms: u64| {
        let split = SplitConfig { report_period: ms(period_ms), ..rule(Routing::Primary) };
        let mut config = dual(true, split, STEADY);
        config.stack.rlc.limiter = LimiterConfig::by_name(limiter).expect("a limiter");
        config.stack.sdap.queue.limit = Limit::Bytes(2_000_000);
        config.stack.sdap.poll = justfull_testkit::on_time(Duration::from_micros(500));
        let result = run(&config);
        let rlc = result.layers.iter().find(|layer| layer.layer == "rlc").expect("an RLC");
        (rlc.backlog_packets_mean, legs(&result)[1].delivered_bytes)
    };
    let (unbounded, most) = of("unlimited", 5);
    for (limiter, period_ms) in
        [("drql", 1), ("drql", 5), ("drql", 20), ("bdp_5g", 5), ("fixed", 5)]
    {
        let (backlog, bytes) = of(limiter, period_ms);
        // At 1.1 kB/ms less than a packet a ms leaves: in a period, in the delay of a report and in
        // that of a packet, 2 ms each. The limiter admits four packets beyond them at most.
        let bound = (period_ms + 4 + 4) as f64;
        assert!(backlog < bound && 2.0 * bound < unbounded, "{limiter}: {backlog} {unbounded}");
        assert!(bytes as f64 > 0.95 * most as f64, "{limiter}, {period_ms} ms: {bytes} of {most}");
    }
}

#[test]
fn a_secondary_leg_with_a_limiter_is_as_full_after_an_outage_as_one_without() {
    // Bytes over the secondary leg, which is out for 300 ms of each second; no data recovery.
    let of = |limiter: &str| {
        let split = SplitConfig { outage: Duration::ZERO, ..rule(Routing::Primary) };
        let mut config = dual(true, split, &[20, 20, 20, 20, 20, 20, 20, 28, 28, 28]);
        config.stack.rlc.limiter = LimiterConfig::by_name(limiter).expect("a limiter");
        config.stack.sdap.queue.limit = Limit::Bytes(2_000_000);
        config.stack.sdap.poll = justfull_testkit::on_time(Duration::from_micros(500));
        for cell in &mut config.cells.as_mut().expect("several cells").cells {
            let justfull_ran::MacConfig::Rb(rb) = &mut cell.mac else { panic!("blocks") };
            // Index 28 is reserved in the second table of LTE: it carries nothing.
            rb.carrier.mcs_table = 2;
        }
        legs(&run(&config))[1].delivered_bytes as f64
    };
    let most = of("unlimited");
    for limiter in ["drql", "bdp_5g", "fixed"] {
        let bytes = of(limiter);
        assert!(bytes > 0.95 * most, "{limiter}: {bytes} of {most}");
    }
}

#[test]
fn split_bearers_that_cannot_be_are_refused() {
    fn place(config: &mut WorldConfig) -> &mut Place {
        Arc::make_mut(&mut config.cells.as_mut().expect("several cells").places[0])
    }
    fn split(config: &mut WorldConfig) -> &mut SplitConfig {
        &mut place(config).split.as_mut().expect("a split bearer").1
    }
    let refused = |change: &dyn Fn(&mut WorldConfig), field: &str| {
        let mut config = dual(true, SplitConfig::default(), STEADY);
        change(&mut config);
        let error = justfull_sim::World::new(&config).map(|_| ()).expect_err(field);
        assert_eq!(error.field, field, "{error}");
    };
    refused(&|c| place(c).split.as_mut().expect("it is there").0 = 0, "ue[0].secondary");
    refused(&|c| place(c).split.as_mut().expect("it is there").0 = 9, "ue[0].secondary");
    refused(&|c| split(c).report_period = Duration::ZERO, "ue[0].split.report_period");
    let silent = |c: &mut WorldConfig| {
        (split(c).routing, split(c).report_period) = (Routing::Weighted, Duration::ZERO);
    };
    refused(&silent, "ue[0].split.outage");
    refused(&|c| split(c).weight = Ratio(1.5), "ue[0].split.weight");
    refused(&|c| split(c).drbs = vec![1], "ue[0].split.drbs");
    refused(&|c| c.stack.pdcp.sn_bits = 12, "pdcp.sn_bits");
    let codel = |c: &mut WorldConfig| {
        c.stack.rlc.queue.aqm = justfull_queue::AqmConfig::by_name("codel").expect("an AQM");
        c.stack.rlc.queue.limit = Limit::Bytes(1_000_000);
    };
    refused(&codel, "rlc.queue");
    let moves = |c: &mut WorldConfig| {
        place(c).moves = vec![justfull_run::Move { at: ms(1), to: 1 }];
    };
    refused(&moves, "ue[0].secondary");
    let packets = |c: &mut WorldConfig| {
        let plain = cell(2, CapacityUnit::Packets, Limit::Packets(100));
        let StackConfig { mac, channel, .. } = plain;
        c.stack.rlc.mode = RlcModeConfig::default();
        for cell in &mut c.cells.as_mut().expect("several cells").cells {
            (cell.mac, cell.channel) = (mac.clone(), channel.clone());
        }
    };
    refused(&packets, "mac.kind");
}
