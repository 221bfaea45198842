//! Tests of the metrics.

use super::*;
use justfull_run::results::{Distribution, FlowResult, ProxyResult, RunResult, SliceResult};

#[test]
fn metrics_are_found_by_name() {
    for metric in Metric::ALL {
        assert_eq!(Metric::by_name(metric.name()), Some(metric));
    }
    assert_eq!(Metric::by_name("delay"), None);
}

#[test]
fn low_latency_flows_are_the_subject_and_weigh_by_packets() {
    let delay = |count, mean_ms| Distribution {
        count,
        mean_ms,
        p95_ms: 2.0 * mean_ms,
        ..Distribution::default()
    };
    let flow = |low_latency, delay, goodput_mbit_s| FlowResult {
        low_latency,
        delay,
        goodput_mbit_s,
        entered_packets: 100,
        dropped_packets: 1,
        ..FlowResult::default()
    };
    let mut run = RunResult {
        flows: vec![
            flow(true, delay(300, 10.0), 0.1),
            flow(true, delay(100, 20.0), 0.1),
            flow(true, delay(0, 0.0), 0.0),
            flow(false, delay(1000, 900.0), 9.0),
        ],
        ..RunResult::default()
    };
    assert_eq!(Metric::DelayMean.of(&run), Some(12.5));
    assert_eq!(Metric::DelayP95.of(&run), Some(40.0));
    assert_eq!(Metric::Goodput.of(&run), Some(9.0));
    assert_eq!(Metric::Drops.of(&run), Some(1.0));
    assert_eq!(Metric::Utilisation.of(&run), None, "nothing was offered");
    assert_eq!(Metric::Rtt.of(&run), None, "no sample");
    run.flows.retain(|f| !f.low_latency);
    assert_eq!(Metric::DelayMean.of(&run), Some(900.0));
}

#[test]
fn the_ways_through_a_proxy_weigh_by_segments_and_leave_others_out() {
    let of = |count, mean_ms| Distribution { count, mean_ms, ..Distribution::default() };
    let flow = |residence, server_to_ue| FlowResult {
        proxy: Some(ProxyResult { residence, server_to_ue, ..ProxyResult::default() }),
        ..FlowResult::default()
    };
    let past = FlowResult { entered_packets: 100, ..FlowResult::default() };
    let run = RunResult {
        flows: vec![flow(of(10, 4.0), of(30, 20.0)), flow(of(30, 8.0), of(10, 40.0)), past],
        ..RunResult::default()
    };
    assert_eq!(Metric::Residence.of(&run), Some(7.0));
    assert_eq!(Metric::ServerToUe.of(&run), Some(25.0));
    let run = RunResult { flows: vec![FlowResult::default()], ..RunResult::default() };
    assert_eq!(Metric::Residence.of(&run), None);
    assert_eq!(Metric::ServerToUe.of(&run), None);
}

#[test]
fn the_quantum_of_one_slice_has_a_sign_and_of_several_a_distance() {
    let slice = |slice, p50, min, max| SliceResult {
        slice,
        quantum_p50: p50,
        quantum_min: min,
        quantum_max: max,
        ..SliceResult::default()
    };
    let mut run = RunResult {
        slices: vec![slice(0, -7.0, -30.0, 3.0), slice(1, 6.0, -4.0, 29.0)],
        ..RunResult::default()
    };
    let three = [Metric::QuantumMedian, Metric::QuantumMedianDistance, Metric::QuantumMost];
    assert_eq!(three.map(|m| m.of(&run)), [None, Some(7.0), Some(30.0)]);
    run.slices.remove(0);
    assert_eq!(three.map(|m| m.of(&run)), [Some(6.0), Some(6.0), Some(29.0)]);
    run.slices.clear();
    assert_eq!(three.map(|m| m.of(&run)), [None; 3], "nothing is lent");
}
