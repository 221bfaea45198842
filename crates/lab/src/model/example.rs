//! A made-up, constant comparison for the tests of tables, figures, files and pages, with numbers
//! near T20's.

use super::{
    ClaimRow, ClaimTable, Comparison, Expected, Group, ShownTable, SwitchRow, SwitchValue, Verdict,
    WorldRow, WorldValue,
};
use crate::stats::Summary;
use justfull_base::Rng;
use justfull_run::results::{
    CellResult, Conservation, Distribution, FlowResult, FlowSeries, LayerResult, ReportsResult,
    RlcResult, RunResult, Series, TogetherResult, UplinkResult,
};
use justfull_scenario::MethodSettings;

/// A method, its mean delay in ms, utilisation and backlog in packets.
struct Example {
    method: &'static str,
    delay: f64,
    utilisation: f64,
    backlog: f64,
}

/// Method, mean delay in ms, utilisation, mean RLC backlog in packets.
const METHODS: [Example; 8] = [
    Example { method: "Vanilla", delay: 80.0, utilisation: 0.9993, backlog: 130.0 },
    Example { method: "BBR", delay: 55.0, utilisation: 0.9955, backlog: 75.0 },
    Example { method: "CoDel", delay: 28.0, utilisation: 0.996, backlog: 38.0 },
    Example { method: "DynRLC", delay: 16.0, utilisation: 0.9886, backlog: 17.0 },
    Example { method: "DRQL", delay: 15.9, utilisation: 0.9993, backlog: 18.5 },
    Example { method: "5G-BDP", delay: 9.4, utilisation: 0.9992, backlog: 15.0 },
    Example { method: "e5G-BDP", delay: 8.1, utilisation: 0.9978, backlog: 14.0 },
    Example { method: "clairvoyant", delay: 6.3, utilisation: 0.9993, backlog: 13.0 },
];

const BOUND_MS: f64 = 6.1;
const BINS: usize = 2000;

/// Four points of a sweep, eight methods, `seeds` seeds.
#[must_use]
pub fn comparison(seeds: u64) -> Comparison {
    let group = |interval: f64| Group {
        label: "scenario 1, pedestrian-like".into(),
        x: Some(("interval_ms".into(), interval)),
        grid: String::new(),
        runs: (1..=seeds)
            .flat_map(|seed| METHODS.iter().map(move |m| run(m, interval, seed)))
            .collect(),
        settings: vec![MethodSettings {
            method: "CoDel".into(),
            settings: "rlc.queue.aqm = codel (target 15ms, interval 300ms)".into(),
        }],
        parts: None,
    };
    Comparison {
        title: "Delay & utilisation <of eight policies>".into(),
        notes: vec!["Shipped synthetic channels, not the paper's traces.".into()],
        groups: [20.0, 40.0, 60.0, 70.0].map(group).to_vec(),
        scenario_toml: "[channel]\nkind = \"synthetic\" # \"a\" < \"b\" & c\n".into(),
        version: "0.1.0".into(),
        command: "justfull compare scenarios/t20.toml --seeds 3".into(),
        live: false,
        claims: Some(claims()),
        missing: Vec::new(),
        broken: Vec::new(),
    }
}

fn world(name: &str, switches: &[&str]) -> WorldRow {
    WorldRow {
        name: name.into(),
        switches: switches.iter().map(ToString::to_string).collect(),
        met: 1,
        missed: 2,
        ..WorldRow::default()
    }
}

/// One claim of each verdict.
#[must_use]
pub fn claims() -> ClaimTable {
    let row = |what: &str, ours: &[f64], verdict| ClaimRow {
        id: what.to_lowercase().replace(' ', "-"),
        place: "Fig. 7".into(),
        what: what.into(),
        unit: "ms".into(),
        paper: Expected::Range(25.66, 26.69),
        anchor: Expected::Range(27.8, 29.1),
        ours: Summary::of(ours).into_iter().collect(),
        band: Expected::Range(25.02, 32.01),
        changed: false,
        of_anchor: false,
        verdict,
        undecided: false,
        worlds: Vec::new(),
        reason: String::new(),
        switches: Vec::new(),
    };
    let mut rows = vec![
        row("CoDel: mean delay", &[27.9, 28.2, 28.0], Verdict::Met),
        row("BBR: mean delay", &[70.1, 71.0, 70.4], Verdict::Explained),
        row("DynRLC: mean delay", &[12.1, 12.0, 12.4], Verdict::Missed),
        row("Vanilla, train: mean delay", &[], Verdict::NotRun),
    ];
    rows[0].changed = true;
    rows[1].switches = vec![SwitchValue {
        name: "bbr_no_ack_aggregation".into(),
        ours: Summary::of(&[55.0, 54.0]).into_iter().collect(),
        meets: true,
        undecided: true,
        explains: true,
    }];
    rows[1].undecided = true;
    rows[2].of_anchor = true;
    rows[3].reason = "no trace".into();
    for row in &mut rows {
        let met = row.verdict == Verdict::Met;
        let found = (row.verdict != Verdict::NotRun).then(|| (row.ours.clone(), met, false));
        row.worlds = vec![WorldValue::of(found.clone()), WorldValue::of(found)];
    }
    ClaimTable {
        paper: "T20".into(),
        notes: vec!["short: 2 seeds of 5".into()],
        worlds: vec![world("today", &[]), world("Linux 4.15", &["kernel_4_15"])],
        rows,
        switches: vec![SwitchRow {
            name: "bbr_no_ack_aggregation".into(),
            recorded: Some([2, 1]),
            mends: Some(vec!["bbr:-mean-delay".into()]),
            breaks: Some(Vec::new()),
            may_explain: true,
            why: String::new(),
        }],
        shown: ShownTable::default(),
    }
}

fn run(example: &Example, interval: f64, seed: u64) -> RunResult {
    let Example { method, delay, utilisation, backlog } = *example;
    let mut rng = Rng::stream(seed * 1000 + interval as u64, method);
    let delay = delay * (1.0 + 0.01 * rng.normal()) * (1.0 + 0.0004 * (interval - 40.0));
    let series = series(backlog, &mut rng);
    let offered = 360_000;
    RunResult {
        cells: None,
        carriers: Vec::new(),
        drx: Vec::new(),
        scenario: "t20-individual".into(),
        method: method.into(),
        seed,
        duration_s: 200.0,
        warmup_s: 2.5,
        flows: flows(method, delay, backlog, utilisation, interval, &mut rng),
        layers: layers(delay, backlog, &mut rng),
        entities: Vec::new(),
        uplink: UplinkResult::default(),
        rlc: RlcResult::default(),
        cell: CellResult {
            unit: "packets".into(),
            offered,
            used: (offered as f64 * utilisation) as u64,
            utilisation: utilisation + 0.0002 * rng.normal(),
            slots: 20_000,
            starved_slots: 210,
        },
        together: TogetherResult { until_s: 200.0, jain_index: None },
        reports: ReportsResult::default(),
        slices: Vec::new(),
        series,
        conservation: Conservation {
            entered: 361_000,
            delivered: 359_000,
            dropped: 1_500,
            queued: 500,
        },
        component_calls: 5_000_000,
        never_acted: Vec::new(),
        broken: None,
    }
}

fn flows(
    method: &str,
    delay: f64,
    backlog: f64,
    utilisation: f64,
    interval: f64,
    rng: &mut Rng,
) -> Vec<FlowResult> {
    let voice = FlowResult {
        name: "voice".into(),
        protocol: "udp".into(),
        qfi: 1,
        low_latency: true,
        entered_packets: (195_000.0 / interval) as u64,
        delivered_packets: (194_000.0 / interval) as u64,
        dropped_packets: if method == "CoDel" { (4_000.0 / interval) as u64 } else { 0 },
        goodput_mbit_s: 0.05,
        delay: distribution(delay, 0.35, rng),
        bound: distribution(BOUND_MS, 0.3, rng),
        rlc_packets_at_entry_mean: (backlog - 13.0).max(0.2),
        ..FlowResult::default()
    };
    let bulk = FlowResult {
        name: "bulk".into(),
        protocol: "tcp".into(),
        control: "cubic".into(),
        qfi: 2,
        entered_packets: 350_000,
        delivered_packets: 349_000,
        dropped_packets: 900,
        goodput_mbit_s: 20.6 * utilisation,
        delay: distribution(delay + 40.0, 0.3, rng),
        rtt: distribution(delay + 60.0, 0.3, rng),
        ..FlowResult::default()
    };
    vec![voice, bulk]
}

fn layers(delay: f64, backlog: f64, rng: &mut Rng) -> Vec<LayerResult> {
    [("upf", 0.5), ("sdap", 0.7), ("rlc", delay - 1.2)]
        .map(|(layer, sojourn)| LayerResult {
            layer: layer.into(),
            low_latency_sojourn: distribution(sojourn, 0.4, rng),
            other_sojourn: distribution(sojourn * 3.0, 0.4, rng),
            drops: vec![("aqm_dequeue".into(), 12)],
            marks: 0,
            backlog_packets_mean: backlog,
        })
        .to_vec()
}

/// A log-normal sample of 2000 values with the given mean and shape.
fn distribution(mean: f64, shape: f64, rng: &mut Rng) -> Distribution {
    let mut values: Vec<f64> =
        (0..2000).map(|_| mean * (shape * rng.normal() - 0.5 * shape * shape).exp()).collect();
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[(p * 1999.0) as usize];
    Distribution {
        count: 2000,
        mean_ms: values.iter().sum::<f64>() / 2000.0,
        sd_ms: crate::stats::sd(&values).unwrap_or(0.0),
        min_ms: at(0.0),
        max_ms: at(1.0),
        p25_ms: at(0.25),
        p50_ms: at(0.5),
        p75_ms: at(0.75),
        p90_ms: at(0.9),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        p999_ms: at(0.999),
        cdf: (0..200).map(|i| (at(f64::from(i) / 199.0), f64::from(i) / 199.0)).collect(),
    }
}

/// A delay that follows the sawtooth of a backlog, known from the 5th second on.
fn flow_series(name: &str, backlog: f64) -> FlowSeries {
    let delay = |bin: usize| {
        let tooth = backlog * (0.5 + (bin % 12) as f64 / 12.0) + 4.0;
        (bin >= 5).then_some([0.7 * tooth, tooth, 1.6 * tooth])
    };
    let delay_ms: Vec<_> = (0..BINS / 10).map(delay).collect();
    FlowSeries { name: name.into(), goodput_mbit_s: vec![4.4; delay_ms.len()], delay_ms }
}

/// A channel that changes each second, and a sawtooth backlog.
fn series(backlog: f64, rng: &mut Rng) -> Series {
    let mut level = 18.0;
    let mut capacity = Vec::new();
    let mut rlc = Vec::new();
    for bin in 0..BINS {
        if bin % 10 == 0 {
            level = (level + 3.0 * rng.normal()).round().clamp(3.0, 34.0);
        }
        capacity.push(level);
        let tooth = 0.5 + (bin % 120) as f64 / 120.0;
        rlc.push((backlog * tooth * (1.0 + 0.05 * rng.normal())).max(0.0));
    }
    Series {
        bin_s: 0.1,
        upf_packets: rlc.iter().map(|r| r * 0.1).collect(),
        sdap_packets: rlc.iter().map(|r| r * 0.3).collect(),
        rlc_bytes: rlc.iter().map(|r| r * 1500.0).collect(),
        delivered_mbit_s: capacity.iter().map(|c| c * 1.2).collect(),
        capacity_per_slot: capacity,
        flow_bin_s: 1.0,
        flows: ["voice", "bulk"].map(|name| flow_series(name, backlog)).into(),
        rlc_packets: rlc,
    }
}
