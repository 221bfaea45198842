//! A live run, from its metrics.

use super::exposition::Sample;
use super::{MOST_NAMES, Point, Reading, Run};
use serde_json::json;
use std::collections::BTreeMap;

const LAYERS: [(&str, &str); 3] = [("upf", "UPF"), ("sdap", "SDAP"), ("rlc", "RLC")];
/// The percentile of the delays.
const PERCENTILE: f64 = 0.9;

/// Greatest number of buckets of a flow's delays.
const MOST_BUCKETS: usize = 256;

/// The counts of a flow name since the start of the run.
#[derive(Clone, Debug, Default)]
struct Flow {
    bytes: f64,
    /// Numbers of packets with at most these delays, in seconds, ascending.
    delays: Vec<(f64, f64)>,
}

/// The counts of a run at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    run: Run,
    seconds: f64,
    end: f64,
    packets: BTreeMap<String, f64>,
    /// Bytes that slots could have carried; none if the MAC counts in another unit.
    offered: Option<f64>,
    flows: BTreeMap<String, Flow>,
    dropped: f64,
    late: bool,
}

impl Live {
    /// The counts in `samples`; none if they are not of a live run.
    pub(super) fn of(samples: &[Sample<'_>]) -> Option<Self> {
        let info = samples.iter().find(|sample| sample.name == "justfull_run_info")?;
        let [scenario, method, seed, point] =
            ["scenario", "method", "seed", "point"].map(|label| info.label(label).to_owned());
        let run = Run { kind: "live", scenario, method, seed, point };
        let mut live = Self { run, ..Self::default() };
        samples.iter().for_each(|sample| live.add(sample));
        for flow in live.flows.values_mut() {
            flow.delays.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Some(live)
    }

    fn add(&mut self, sample: &Sample<'_>) {
        let value = sample.value;
        match sample.name {
            "justfull_run_seconds" => self.seconds = value,
            "justfull_run_end_seconds" => self.end = value,
            "justfull_backlog_packets" => {
                let of = LAYERS.iter().find(|(layer, _)| *layer == sample.label("layer"));
                self.packets.extend(of.map(|(_, name)| ((*name).to_owned(), value)));
            }
            "justfull_capacity_offered_total" if sample.label("unit") == "bytes" => {
                self.offered = Some(value);
            }
            "justfull_dropped_packets_total" => self.dropped += value,
            "justfull_late" => self.late = value > 0.0,
            "justfull_flow_bytes_total" => {
                if let Some(flow) = self.flow(sample) {
                    flow.bytes += value;
                }
            }
            "justfull_flow_delay_seconds_bucket" => {
                let Ok(end) = sample.label("le").parse::<f64>() else { return };
                let Some(flow) = self.flow(sample) else { return };
                // Flows of one name may be at several UEs.
                let known = flow.delays.len();
                match flow.delays.iter_mut().find(|(known, _)| known.total_cmp(&end).is_eq()) {
                    Some((_, count)) => *count += value,
                    None if known < MOST_BUCKETS => flow.delays.push((end, value)),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn flow(&mut self, sample: &Sample<'_>) -> Option<&mut Flow> {
        let name = sample.label("flow");
        let room = self.flows.len() < MOST_NAMES || self.flows.contains_key(name);
        room.then(|| self.flows.entry(name.to_owned()).or_default())
    }
}

impl Reading for Live {
    fn run(&self) -> Run {
        self.run.clone()
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn point(&self, before: &Self) -> Point {
        let passed = self.seconds - before.seconds;
        let rate = |bytes: f64| bytes * 8e-6 / passed;
        let none = Flow::default();
        let flows = || {
            let with = |name| before.flows.get(name).unwrap_or(&none);
            self.flows.iter().map(move |(name, flow)| (name.clone(), flow, with(name)))
        };
        let capacity = self.offered.zip(before.offered).map(|(now, then)| rate(now - then));
        Point {
            delay_ms: flows().map(|(name, now, then)| (name, delay(now, then))).collect(),
            rate_mbit_s: flows()
                .map(|(name, now, then)| (name, Some(rate(now.bytes - then.bytes))))
                .collect(),
            capacity_mbit_s: capacity,
            level: self.packets.iter().map(|(name, n)| (name.clone(), Some(*n))).collect(),
            ..Point::default()
        }
    }

    fn now(&self) -> serde_json::Value {
        json!({ "end_s": self.end, "dropped": self.dropped, "late": self.late })
    }
}

/// The percentile in ms of the delays between two moments; none without a packet. Within a bucket
/// delays are taken as spread evenly.
fn delay(now: &Flow, before: &Flow) -> Option<f64> {
    let count = |at: usize| {
        let (end, count) = now.delays[at];
        let known = before.delays.iter().find(|(known, _)| known.total_cmp(&end).is_eq());
        count - known.map_or(0.0, |known| known.1)
    };
    let all = now.delays.len().checked_sub(1).map(count).filter(|all| *all > 0.0)?;
    let wanted = PERCENTILE * all;
    let at = (0..now.delays.len()).find(|at| count(*at) >= wanted)?;
    let (low, below) = at.checked_sub(1).map_or((0.0, 0.0), |at| (now.delays[at].0, count(at)));
    let high = now.delays[at].0;
    if !high.is_finite() {
        return Some(low * 1e3);
    }
    Some((low + (high - low) * (wanted - below) / (count(at) - below)) * 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::exposition::samples;
    use super::*;

    fn live(seconds: f64, bytes: f64, buckets: [f64; 3]) -> Live {
        let [a, b, c] = buckets;
        let text = format!(
            "justfull_run_info{{scenario=\"s\",seed=\"1\",method=\"m\"}} 1\n\
             justfull_run_seconds{{method=\"m\"}} {seconds}\n\
             justfull_backlog_packets{{layer=\"rlc\",method=\"m\"}} 7\n\
             justfull_capacity_offered_total{{unit=\"bytes\",method=\"m\"}} {}\n\
             justfull_flow_bytes_total{{flow=\"call\",ue=\"0\",qfi=\"1\",method=\"m\"}} {bytes}\n\
             justfull_flow_delay_seconds_bucket{{flow=\"call\",le=\"0.001\",method=\"m\"}} {a}\n\
             justfull_flow_delay_seconds_bucket{{flow=\"call\",le=\"0.002\",method=\"m\"}} {b}\n\
             justfull_flow_delay_seconds_bucket{{flow=\"call\",le=\"+Inf\",method=\"m\"}} {c}\n",
            2.0 * bytes
        );
        Live::of(&samples(&text).expect("it is sound")).expect("it is a live run")
    }

    #[test]
    fn a_point_is_the_difference_between_two_moments() {
        let (before, now) =
            (live(1.0, 1_000.0, [5.0, 5.0, 5.0]), live(1.5, 63_500.0, [9.0, 15.0, 15.0]));
        let point = now.point(&before);
        assert_eq!(point.rate_mbit_s["call"], Some(1.0));
        assert_eq!(point.capacity_mbit_s, Some(2.0));
        // Of ten packets four waited at most 1 ms: the ninth is five sixths into the next bucket.
        let delay = point.delay_ms["call"].expect("there are packets");
        assert!((delay - (1.0 + 5.0 / 6.0)).abs() < 1e-9, "{delay}");
        assert_eq!(point.level["RLC"], Some(7.0));
        assert_eq!(now.point(&now.clone()).delay_ms["call"], None, "no packet, no delay");
        let slow = live(2.0, 64_000.0, [9.0, 15.0, 25.0]).point(&now).delay_ms["call"];
        assert_eq!(slow, Some(2.0), "beyond the last bucket");
    }

    #[test]
    fn metrics_of_something_else_are_no_live_run() {
        assert!(Live::of(&samples("node_load1 0.5\n").expect("sound")).is_none());
    }
}
