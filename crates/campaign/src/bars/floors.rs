//! The floor of a case: bounds on every method, with the best method's values.

use super::{Flow, elastic};
use serde::Serialize;

/// A method's figures compared with the floor of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OfFloor {
    /// 99th percentile of the low-latency packets' delay, as a ratio to the floor; at least 1.
    pub delay: Option<f64>,
    /// Goodput of the other flows, as a ratio to the floor; none without the schedule's goodput.
    pub goodput: Option<f64>,
    /// 95th percentile of the download's round trips less the schedule's value, in ms.
    pub round_trip_ms: Option<f64>,
}

impl OfFloor {
    pub(super) fn of(flows: &[Flow]) -> Self {
        let delay = |flow: &Flow| Some(flow.delay_ms_p99? / flow.floor.delay_ms_p99?);
        let filled = |flow: &&Flow| flow.floor.schedule_goodput_mbit_s.is_some();
        let most = || flows.iter().find(filled)?.floor.goodput_mbit_s;
        let round_trip = |flow: &Flow| Some(flow.rtt_ms_p95? - flow.floor.schedule_rtt_ms_p95?);
        Self {
            delay: flows.iter().filter_map(delay).reduce(f64::max),
            goodput: most().filter(|most| *most > 0.0).map(|most| elastic(flows) / most),
            round_trip_ms: download(flows).and_then(round_trip),
        }
    }
}

/// A bound, the schedule's value, and the best method with its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// The bound on every method.
    pub floor: Option<f64>,
    /// The schedule's value; none where no schedule exists.
    pub schedule: Option<f64>,
    /// The best method's value.
    pub best: Option<f64>,
    /// The best method's name.
    pub method: Option<String>,
}

/// The floor of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Floors {
    /// 99th percentile of the low-latency packets' delay, in ms; `best` is of the methods that drop
    /// none of them.
    pub delay_ms: Beside,
    /// Goodput of all other flows to the phones, in Mbit/s.
    pub goodput_mbit_s: Beside,
    /// 95th percentile of the download's round trips, in ms.
    pub round_trip_ms: Beside,
}

impl Floors {
    /// The floor of a case with these runs by method: the loosest of the runs' bounds.
    pub(super) fn of(runs: &[(&String, &Vec<Flow>)]) -> Self {
        let lossless = |flow: &&Flow| flow.low_latency && flow.dropped == 0.0;
        let urgent = |flows: &[Flow]| flows.iter().find(|flow| flow.low_latency).cloned();
        let other = |flows: &[Flow]| flows.iter().find(|flow| !flow.low_latency).cloned();
        let least = f64::min;
        Self {
            delay_ms: Beside {
                floor: over(runs, least, |flows| urgent(flows)?.floor.delay_ms_p99),
                schedule: over(runs, least, |flows| urgent(flows)?.floor.schedule_delay_ms_p99),
                ..best(runs, least, |flows| flows.iter().find(lossless)?.delay_ms_p99)
            },
            goodput_mbit_s: Beside {
                floor: over(runs, f64::max, |flows| other(flows)?.floor.goodput_mbit_s),
                schedule: over(runs, f64::max, |flows| other(flows)?.floor.schedule_goodput_mbit_s),
                ..best(runs, f64::max, |flows| Some(elastic(flows)))
            },
            round_trip_ms: Beside {
                floor: over(runs, least, |flows| download(flows)?.floor.rtt_ms),
                schedule: over(runs, least, |flows| download(flows)?.floor.schedule_rtt_ms_p95),
                ..best(runs, least, |flows| download(flows)?.rtt_ms_p95)
            },
        }
    }
}

/// The flow with the measured round trips.
fn download(flows: &[Flow]) -> Option<&Flow> {
    flows.iter().find(|flow| flow.name == "download")
}

/// The better of two values.
type Better = fn(f64, f64) -> f64;

fn over(
    runs: &[(&String, &Vec<Flow>)],
    better: Better,
    of: impl Fn(&[Flow]) -> Option<f64>,
) -> Option<f64> {
    runs.iter().filter_map(|(_, flows)| of(flows)).reduce(better)
}

fn best(
    runs: &[(&String, &Vec<Flow>)],
    better: Better,
    of: impl Fn(&[Flow]) -> Option<f64>,
) -> Beside {
    let best = over(runs, better, &of);
    let has_it = |(_, flows): &&(&String, &Vec<Flow>)| best.is_some() && of(flows) == best;
    let method = runs.iter().find(has_it).map(|(method, _)| (*method).clone());
    Beside { best, method, ..Beside::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_run::results::FloorResult;

    fn run(delay: f64, dropped: f64, goodput: f64) -> Vec<Flow> {
        let floor = FloorResult {
            delay_ms_p99: Some(2.0),
            goodput_mbit_s: Some(20.0),
            schedule_goodput_mbit_s: Some(20.0),
            schedule_rtt_ms_p95: Some(21.0),
            ..FloorResult::default()
        };
        let call = Flow {
            name: "call".into(),
            low_latency: true,
            dropped,
            delay_ms_p99: Some(delay),
            floor,
            ..Flow::default()
        };
        let download = Flow {
            name: "download".into(),
            goodput_mbit_s: goodput,
            rtt_ms_p95: Some(50.0),
            floor,
            ..Flow::default()
        };
        vec![call, download]
    }

    #[test]
    fn a_floor_has_the_best_value_and_for_delay_only_of_methods_without_drops() {
        let (a, b) = (String::from("A"), String::from("B"));
        let (of_a, of_b) = (run(2.5, 1.0, 19.0), run(3.0, 0.0, 18.0));
        let floors = Floors::of(&[(&a, &of_a), (&b, &of_b)]);
        let shown = |of: &Beside| (of.floor, of.best, of.method.clone().unwrap_or_default());
        assert_eq!(shown(&floors.delay_ms), (Some(2.0), Some(3.0), b));
        assert_eq!(shown(&floors.goodput_mbit_s), (Some(20.0), Some(19.0), a.clone()));
        assert_eq!(shown(&floors.round_trip_ms), (None, Some(50.0), a));
        let expected =
            OfFloor { delay: Some(1.25), goodput: Some(0.95), round_trip_ms: Some(29.0) };
        assert_eq!(OfFloor::of(&of_a), expected);
    }
}
