//! Measurements of Vegas' cases.

use super::scope::wire;
use super::scope::{Acks, MSS, PAYLOAD, Scope, flow, link, periodic, run, slope, utilisation};
use super::shared::{convergence, rtt_exponents, share_beside_new_reno};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use crate::stats::mean;
use justfull_queue::Limit;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::vegas::VegasConfig;

pub(super) const EXPERIMENTS: &[Experiment] = &[sawtooth, queue, fairness, beside_new_reno];

/// The path of the cases with a queue.
const MBIT_S: u64 = 20;
const RTT_MS: u64 = 40;
/// Transmission time of a full packet on it, seconds.
const PACKET_S: f64 = MSS / PAYLOAD * 8.0 / (MBIT_S as f64 * 1e6);
/// Smallest RTT: transmission time of a packet plus propagation, seconds.
const BASE_S: f64 = RTT_MS as f64 / 1e3 + PACKET_S;
/// Start of the steady phase, long after slow start, and end, seconds.
const STEADY: [f64; 2] = [10.0, 30.0];

fn control() -> CcConfig {
    CcConfig::Vegas(VegasConfig::default())
}

/// One loss, then 60 rounds with nothing queued.
fn sawtooth() -> Evidence {
    const RTT_S: f64 = 0.1;
    let mut evidence = Evidence::default();
    let (_, scope) = run(&wire(&control(), Acks::Each, 100, periodic(100, 6000, 20), 40));
    let (first, second) = (scope.episodes[0], scope.episodes[1]);
    let (start, _) = first.end.expect("one loss is repaired");
    let rounds: Vec<(f64, f64)> = scope.windows().iter().map(|(t, w)| (t / RTT_S, *w)).collect();
    let from = start / RTT_S + 3.0;
    let to = (second.found / RTT_S - 1.0).min(from + 60.0);
    evidence.exact("slope", slope(&rounds, from, to));
    let (_, after) = second.end.expect("one loss is repaired");
    evidence.exact("halving", after / second.before);
    evidence
}

/// Packets before the link by the smoothed RTT: (seconds, packets).
fn queued(scope: &Scope) -> Vec<(f64, f64)> {
    let packets = |srtt: f64| (srtt - BASE_S) / PACKET_S;
    scope.first().iter().map(|s| (s.at.as_secs_f64(), packets(s.srtt.as_secs_f64()))).collect()
}

fn steady_mean(points: &[(f64, f64)]) -> f64 {
    let late: Vec<f64> = points.iter().filter(|p| p.0 > STEADY[0]).map(|p| p.1).collect();
    mean(&late).unwrap_or(f64::NAN)
}

fn queue() -> Evidence {
    let mut evidence = Evidence::default();
    let narrow = CcConfig::Vegas(VegasConfig { alpha: 20, beta: 20, ..VegasConfig::default() });
    let mut frame = Frame::new(
        "",
        ("time, s", Scale::FromZero),
        ("waiting before the link, packets", Scale::FromZero),
    );
    for (id, name, cc) in
        [("queue", "alpha 2, beta 4", control()), ("queue-alpha-beta", "alpha = beta = 20", narrow)]
    {
        let config = link(vec![flow(&cc, Acks::Each, RTT_MS)], MBIT_S, RTT_MS, 1, 30);
        let (_, scope) = run(&config);
        let points = queued(&scope);
        evidence.exact(id, steady_mean(&points));
        frame = frame.with(Curve::new(name, Stroke::Line, points));
        if id == "queue" {
            let lost = scope.losses.iter().filter(|&&at| at > STEADY[0]).count();
            evidence.exact("losses", lost as f64);
            let share = utilisation(scope.first(), MBIT_S, STEADY[0], STEADY[1]);
            evidence.exact("utilisation", share);
        }
    }
    for level in [2.0, 4.0] {
        let line = vec![(0.0, level), (STEADY[1], level)];
        frame = frame.with(Curve::new("2 and 4 packets", Stroke::Published, line));
    }
    let caption = "One flow over 20 Mbit/s and 40 ms with a FIFO of one bandwidth-delay product.";
    evidence.plots.push(Plot::new("vegas-queue", "Vegas: the queue", caption, &[frame]));
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(), MBIT_S, RTT_MS);
    evidence.random("jain", indices);
    evidence.random("rtt-share", rtt_exponents(&control(), MBIT_S));
    let caption = "20 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s and takes the first one's queue for the path.";
    evidence.plots.push(Plot::new("vegas-fairness", "Vegas: convergence", caption, &[frame]));
    evidence
}

fn beside_new_reno() -> Evidence {
    let mut evidence = Evidence::default();
    evidence.random("beside-new-reno", share_beside_new_reno(&control(), None));
    let few = Some(Limit::Packets(4));
    evidence.random("beside-new-reno-4", share_beside_new_reno(&control(), few));
    evidence
}
