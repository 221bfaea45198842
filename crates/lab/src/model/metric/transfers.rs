//! Figures of sized transfers and of the flows beside them.

use crate::stats::jain;
use justfull_base::DropReason;
use justfull_run::results::{FlowResult, LayerResult, RunResult};

/// The instants at which the first and the last sized transfer were complete at the receiver.
pub(super) struct Ends {
    pub(super) first_s: f64,
    pub(super) last_s: f64,
}

/// The ends of the sized transfers of `flows`; none unless all are complete.
pub(super) fn ends(flows: &[&FlowResult]) -> Option<Ends> {
    let sized = || flows.iter().filter(|f| f.sized > 0);
    let last: Option<Vec<f64>> = sized().map(|f| f.received_s).collect();
    let first = sized().filter_map(|f| f.first_received_s).reduce(f64::min);
    Some(Ends { first_s: first?, last_s: last?.into_iter().reduce(f64::max)? })
}

/// Time from the start of the first of `flows` until the last sized transfer was complete, in s.
pub(super) fn took(flows: &[&FlowResult]) -> Option<f64> {
    let start = flows.iter().filter_map(|f| f.started_s).reduce(f64::min)?;
    ends(flows).map(|ends| ends.last_s - start)
}

/// Jain's index over the mean bytes in flight of the transfers among `flows`. An entry is the mean
/// over the flows of one name.
pub(super) fn jain_in_flight(flows: &[&FlowResult]) -> Option<f64> {
    let transfers = flows.iter().filter(|f| f.ping.is_none() && f.rtt.count > 0);
    let in_flight: Vec<f64> =
        transfers.map(|f| f.together_mbit_s / f64::from(f.flows.max(1)) * f.rtt.mean_ms).collect();
    if in_flight.len() > 1 { jain(&in_flight) } else { None }
}

/// Packets for which the queue of `layer` had no room: arrivals that were dropped, and packets
/// dropped to make room.
pub(super) fn overflow(layer: &LayerResult) -> f64 {
    let full = [DropReason::Overflow, DropReason::OverflowVictim].map(DropReason::name);
    let dropped = layer.drops.iter().filter(|(reason, _)| full.contains(&reason.as_str()));
    dropped.map(|(_, n)| *n).sum::<u64>() as f64
}

/// Size of a radio report about one UE with TCP and IP headers, in bytes (R22 section 4.4: "around
/// 170 bytes").
const REPORT: f64 = 170.0;

/// Rate of the reports about each UE, in Mbit/s; none if nobody requested any.
pub(super) fn report_mbit_s(run: &RunResult) -> Option<f64> {
    let per_ue = run.reports.sent as f64 / f64::from(run.reports.ues.max(1));
    (per_ue > 0.0).then(|| per_ue * REPORT * 8e-6 / run.duration_s)
}

/// The rate of reports in percent of the goodput of all transfers while all ran.
pub(super) fn report_percent(run: &RunResult) -> Option<f64> {
    let goodput: f64 = run.flows.iter().map(|flow| flow.together_mbit_s).sum();
    report_mbit_s(run).filter(|_| goodput > 0.0).map(|rate| 100.0 * rate / goodput)
}

#[cfg(test)]
mod tests {
    use crate::model::metric::Metric;
    use justfull_run::results::{
        Distribution, FlowResult, LayerResult, ReportsResult, RunResult, TogetherResult,
    };

    fn flow(name: &str, ends: Option<(f64, f64)>, mbit_s: f64, rtt: [f64; 3]) -> FlowResult {
        let [min_ms, mean_ms, p95_ms] = rtt;
        FlowResult {
            name: name.into(),
            flows: 1,
            sized: 1,
            first_received_s: Some(ends.map_or(1.0, |(first, _)| first)),
            received_s: ends.map(|(_, last)| last),
            together_mbit_s: mbit_s,
            rtt: Distribution { count: 10, min_ms, mean_ms, p95_ms, ..Distribution::default() },
            ..FlowResult::default()
        }
    }

    fn run() -> RunResult {
        let drops = [("overflow", 5), ("overflow_victim", 2), ("aqm", 9)]
            .map(|(reason, n)| (reason.to_string(), n));
        RunResult {
            flows: vec![
                flow("a", Some((2.0, 3.0)), 400.0, [1.0, 3.0, 8.0]),
                flow("b", Some((1.5, 3.5)), 100.0, [2.0, 4.0, 6.0]),
            ],
            layers: vec![LayerResult {
                layer: "rlc".into(),
                drops: drops.to_vec(),
                ..LayerResult::default()
            }],
            together: TogetherResult { until_s: 1.5, jain_index: Some(0.9) },
            ..RunResult::default()
        }
    }

    #[test]
    fn transfers_end_when_all_are_whole() {
        let mut run = run();
        let both = [Metric::Completion, Metric::CompletionSpread];
        assert_eq!(both.map(|m| m.of(&run)), [Some(3.5), Some(2.0)]);
        run.flows.push(FlowResult { name: "greedy".into(), flows: 1, ..FlowResult::default() });
        assert_eq!(both.map(|m| m.of(&run)), [Some(3.5), Some(2.0)], "it never ends");
        assert_eq!(Metric::Took.of(&run), None, "nobody says when they began");
        run.flows[0].started_s = Some(1.25);
        assert_eq!(Metric::Took.of(&run), Some(2.25));
        run.flows[1].received_s = None;
        assert_eq!(both.map(|m| m.of(&run)), [None; 2], "one had not ended");
    }

    #[test]
    fn growth_is_over_the_least_round_trip_of_each_flow() {
        // 200 % and 100 %, with as many samples.
        assert_eq!(Metric::RttGrowth.of(&run()), Some(150.0));
        assert_eq!(Metric::RttP95.of(&run()), Some(8.0), "the worst flow's");
        let mut run = run();
        run.flows[0].rtt.cdf = vec![(1.0, 0.5), (2.0, 0.79), (5.0, 0.8), (9.0, 1.0)];
        run.flows.truncate(1);
        assert_eq!(Metric::RttP80.of(&run), Some(5.0));
    }

    #[test]
    fn shares_and_bytes_in_flight_are_compared_over_names() {
        let run = run();
        assert_eq!(Metric::JainTogether.of(&run), Some(0.9));
        assert_eq!(Metric::Together.of(&run), Some(500.0));
        // 1200 and 400: 1600^2 / (2 (1200^2 + 400^2)).
        assert_eq!(Metric::JainInFlight.of(&run), Some(0.8));
        assert_eq!(Metric::RlcOverflow.of(&run), Some(7.0), "no other drop counts");
        let none = super::overflow(&LayerResult::default());
        assert!(none == 0.0 && none.is_sign_positive(), "{none} is printed");
    }

    #[test]
    fn a_report_of_170_bytes_each_millisecond_is_1_36_mbit_s() {
        let mut run = run();
        assert_eq!(Metric::ReportRate.of(&run), None, "no report was requested");
        (run.duration_s, run.reports) = (4.0, ReportsResult { ues: 2, sent: 8_000 });
        assert_eq!(Metric::ReportRate.of(&run).map(|r| (r * 1e3).round()), Some(1360.0));
        // Relative to 500 Mbit/s.
        assert_eq!(Metric::ReportShare.of(&run).map(|r| (r * 1e3).round()), Some(272.0));
    }
}
