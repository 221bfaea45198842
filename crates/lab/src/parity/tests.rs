//! Parity of runs with known figures.

use super::*;
use justfull_run::results::{PingResult, ProxyResult};

const LONG: Duration = Duration::from_secs(60);

fn run(goodput: f64, delays: &[(f64, f64)], utilisation: f64) -> RunResult {
    let delay = Distribution { count: 1000, cdf: delays.to_vec(), ..Distribution::default() };
    let flow =
        FlowResult { name: "call".into(), goodput_mbit_s: goodput, delay, ..FlowResult::default() };
    let mut result = RunResult { flows: vec![flow], ..RunResult::default() };
    result.cell.utilisation = utilisation;
    result
}

#[test]
fn a_run_is_at_no_distance_from_itself() {
    let one = run(2.0, &[(1.0, 0.25), (2.0, 0.5), (3.0, 1.0)], 0.9);
    let parity = Parity::of(&one, &[&one], LONG);
    assert_eq!(parity.rows.len(), 3);
    assert!(parity.rows.iter().all(|row| row.met && row.apart == 0.0), "{parity:?}");
}

#[test]
fn a_small_shift_of_steps_is_explained_and_another_shape_is_not() {
    let steps = run(2.0, &[(10.0, 0.3), (20.0, 1.0)], 0.9);
    let judged = |live: &RunResult| {
        let mut parity = Parity::of(&steps, &[live], LONG);
        let missed = parity.missed();
        parity.explain(&steps, &[live], Duration::from_micros(200));
        (missed, parity.missed())
    };
    assert_eq!(judged(&run(2.0, &[(10.1, 0.3), (19.9, 1.0)], 0.9)), (1, 0));
    assert_eq!(judged(&run(2.0, &[(10.3, 0.3), (20.0, 1.0)], 0.9)), (1, 1), "beyond the time");
    assert_eq!(judged(&run(2.0, &[(10.1, 0.5), (20.0, 1.0)], 0.9)), (1, 1), "other shares");
}

#[test]
fn each_band_is_crossed_by_its_own_figure() {
    let one = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.90);
    let apart = |other: &RunResult| {
        let parity = Parity::of(&one, &[other], LONG);
        parity.rows.iter().filter(|row| !row.met).map(|row| row.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(apart(&run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.92)), ["utilisation"]);
    assert_eq!(apart(&run(2.2, &[(1.0, 0.5), (2.0, 1.0)], 0.90)), ["call: goodput, Mbit/s"]);
    assert_eq!(apart(&run(2.0, &[(1.0, 0.3), (2.0, 1.0)], 0.90)), ["call: delay, median ms"]);
    assert_eq!(
        apart(&RunResult { flows: Vec::new(), ..one.clone() }).len(),
        2,
        "a flow that is not there"
    );
}

#[test]
fn the_share_of_marks_is_compared_to_a_tenth_for_a_flow_that_the_simulated_cell_marks() {
    let marked = |packets: u64| {
        let mut run = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.9);
        (run.flows[0].marked_packets, run.flows[0].delivered_packets) = (packets, 1000);
        run
    };
    let missed = |live: u64| {
        let parity = Parity::of(&marked(50), &[&marked(live)], LONG);
        let row = parity.rows.iter().find(|row| row.what == "call: marked packets, %");
        row.map(|row| (row.simulated, row.live, row.met))
    };
    assert_eq!(missed(54), Some((5.0, 5.4, true)));
    assert_eq!(missed(56), Some((5.0, 5.6, false)));
    let unmarked = Parity::of(&marked(0), &[&marked(50)], LONG);
    assert_eq!(unmarked.rows.len(), 3, "the simulated cell marks nothing");
}

/// 10 000 round trips with these percentiles.
fn round_trips(p50_ms: f64, p95_ms: f64, p99_ms: f64) -> Distribution {
    Distribution { count: 10_000, p50_ms, p95_ms, p99_ms, ..Distribution::default() }
}

/// A run whose flow has these round trips.
fn with_rtt(rtt: Distribution, legs: Option<[Distribution; 2]>) -> RunResult {
    let mut run = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.9);
    run.flows[0].rtt = rtt;
    run.flows[0].proxy = legs.map(|[server_rtt, radio_rtt]| ProxyResult {
        server_rtt,
        radio_rtt,
        ..ProxyResult::default()
    });
    run
}

fn missed(parity: &Parity) -> Vec<&str> {
    parity.rows.iter().filter(|row| row.missed()).map(|row| row.what.as_str()).collect()
}

#[test]
fn median_p95_and_p99_of_round_trips_are_compared_to_five_percent() {
    let one = with_rtt(round_trips(40.0, 60.0, 100.0), None);
    let parity = |rtt| Parity::of(&one, &[&with_rtt(rtt, None)], LONG);
    let same = parity(round_trips(41.9, 57.1, 104.9));
    assert_eq!((same.rows.len(), missed(&same)), (6, Vec::new()));
    let other = parity(round_trips(42.1, 56.9, 105.1));
    let all = ["call: RTT, median ms", "call: RTT, p95 ms", "call: RTT, p99 ms"];
    assert_eq!(missed(&other), all);
    // The variation of the live runs explains it.
    let [near, far] = [90.0, 111.0].map(|p99| with_rtt(round_trips(40.0, 60.0, p99), None));
    assert!(missed(&Parity::of(&one, &[&near, &far], LONG)).is_empty());
    assert_eq!(missed(&Parity::of(&one, &[&near, &near], LONG)), ["call: RTT, p99 ms"]);
}

#[test]
fn both_legs_of_a_split_flow_are_compared_where_the_live_run_knows_them() {
    let legs = |server: f64, radio: f64| {
        Some([round_trips(server, server, server), round_trips(radio, radio, radio)])
    };
    let whole = || round_trips(40.0, 60.0, 100.0);
    let one = with_rtt(whole(), legs(20.0, 20.0));
    let parity = |legs| Parity::of(&one, &[&with_rtt(whole(), legs)], LONG);
    assert_eq!(parity(legs(20.0, 20.0)).rows.len(), 12);
    let other = parity(legs(22.0, 20.0));
    assert!(missed(&other).iter().all(|what| what.contains("RTT to the proxy")), "{other:?}");
    assert_eq!(other.missed(), 3);
    assert_eq!(parity(legs(20.0, 22.0)).missed(), 3);
    assert_eq!(parity(None).rows.len(), 6, "no figures of the legs");
}

#[test]
fn a_percentile_with_few_round_trips_beyond_it_and_a_ping_are_not_judged() {
    let few = Distribution { count: 300, ..round_trips(40.0, 60.0, 100.0) };
    let one = with_rtt(few, None);
    let other = with_rtt(round_trips(80.0, 120.0, 200.0), None);
    let parity = Parity::of(&one, &[&other], LONG);
    assert_eq!(missed(&parity), ["call: RTT, median ms", "call: RTT, p95 ms"]);
    assert_eq!(parity.too_short(), 1);
    let mut ping = one.clone();
    ping.flows[0].ping = Some(PingResult::default());
    assert_eq!(Parity::of(&ping, &[&other], LONG).rows.len(), 3);
}

#[test]
fn of_several_live_runs_medians_count_and_a_miss_within_their_own_differences_is_explained() {
    let one = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.90);
    let live = [0.93, 0.96, 0.90].map(|used| run(2.0, &[(1.0, 0.5), (2.0, 1.0)], used));
    let [a, b, c] = &live;
    let parity = Parity::of(&one, &[a, b, c], LONG);
    let row = &parity.rows[0];
    assert!((row.live - 0.93).abs() < 1e-9 && (row.apart - 0.03).abs() < 1e-9, "{row:?}");
    assert!(row.live_apart.is_some_and(|apart| (apart - 0.03).abs() < 1e-9), "{row:?}");
    // 0.03 and 0.03: equal except for rounding.
    let nearer = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.901);
    let explained = Parity::of(&nearer, &[a, b, c], LONG);
    assert!(explained.rows[0].explained() && explained.missed() == 0, "{explained:?}");
    let farther = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.88);
    assert_eq!(Parity::of(&farther, &[a, b, c], LONG).missed(), 1);
    assert_eq!(Parity::of(&nearer, &[a], LONG).missed(), 1, "one run says nothing of another");
}
