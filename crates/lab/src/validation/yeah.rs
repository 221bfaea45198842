//! Measurements of YeAH's cases.

use super::scope::{Acks, MSS, PAYLOAD, flow, link, run, slope, utilisation, wire};
use super::shared::{convergence, share_beside_new_reno};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use justfull_base::Duration;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::yeah::YeahConfig;

pub(super) const EXPERIMENTS: &[Experiment] =
    &[growth, response, long_buffer, short_buffer, fairness];

/// The path of the cases with a queue.
const MBIT_S: u64 = 100;
const RTT_MS: u64 = 50;
/// Payload of the link, bytes per second.
const FULL: f64 = MBIT_S as f64 * 1e6 / 8.0 * PAYLOAD;
/// Segments that the path holds without a queue, including the segment on the link.
const PATH: f64 = FULL * RTT_MS as f64 / 1e3 / MSS + 1.0;
/// Start of the steady phase, long after slow start and its loss, and end, seconds.
const STEADY: [f64; 2] = [20.0, 60.0];

fn control() -> CcConfig {
    CcConfig::Yeah(YeahConfig::default())
}

/// A loss ends slow start; another comes after the window has grown for a long time.
fn growth() -> Evidence {
    const RTT_S: f64 = 0.1;
    let mut evidence = Evidence::default();
    let loss = Loss::Listed(vec![500, 20_000]);
    let (_, scope) = run(&wire(&control(), Acks::Each, 100, loss, 20));
    let (first, second) = (scope.episodes[0], scope.episodes[1]);
    let (start, _) = first.end.expect("one loss is repaired");
    let logarithms: Vec<(f64, f64)> =
        scope.windows().iter().map(|(t, w)| (t / RTT_S, w.ln())).collect();
    let (from, to) = (start / RTT_S + 2.0, second.found / RTT_S - 1.0);
    evidence.exact("fast-growth", slope(&logarithms, from, to).exp());
    let (_, after) = second.end.expect("one loss is repaired");
    evidence.exact("loss-cut", after / second.before);
    evidence
}

/// Mean window when the window grows by 1 % per round trip and a loss takes off an eighth.
fn law(p: f64) -> f64 {
    1.01_f64.ln() / (-0.875_f64.ln() * p)
}

fn response() -> Evidence {
    const EVERY: u64 = 5000;
    let mut evidence = Evidence::default();
    let (_, scope) = run(&wire(&control(), Acks::Each, 100, Loss::Every(EVERY), 150));
    let published = law(1.0 / EVERY as f64);
    evidence.formula("response-0.0002", published, vec![scope.mean_window(20, 0.1)]);
    evidence
}

fn path(bdps: u64) -> DumbbellConfig {
    let flows = vec![flow(&control(), Acks::Each, RTT_MS)];
    let mut config = link(flows, MBIT_S, RTT_MS, bdps, STEADY[1] as u64);
    config.sample_every = Duration::from_millis(RTT_MS / 5);
    config
}

fn long_buffer() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(4));
    let samples = scope.first();
    let queue: Vec<(f64, f64)> =
        samples.iter().map(|s| (s.at.as_secs_f64(), s.in_flight as f64 / MSS - PATH)).collect();
    let steady = queue.iter().filter(|p| p.0 > STEADY[0]);
    evidence.exact("queue-peak", steady.map(|p| p.1).fold(f64::NAN, f64::max));
    // The window after its last fall.
    let late: Vec<f64> = samples
        .iter()
        .filter(|s| s.at.as_secs_f64() > STEADY[0])
        .map(|s| s.cwnd as f64 / MSS)
        .collect();
    let fallen = late.windows(2).rfind(|w| w[1] < w[0] - 10.0).map_or(f64::NAN, |w| w[1]);
    evidence.exact("decongestion", fallen / PATH);
    let frame = Frame::new(
        "",
        ("time, s", Scale::FromZero),
        ("in flight beyond what the path holds, segments", Scale::FromZero),
    )
    .with(Curve::new(
        "YeAH",
        Stroke::Line,
        queue.into_iter().map(|p| (p.0, p.1.max(0.0))).collect(),
    ))
    .with(Curve::new("80 segments", Stroke::Published, vec![(0.0, 80.0), (STEADY[1], 80.0)]));
    let caption =
        "One flow over 100 Mbit/s and 50 ms with a FIFO of four bandwidth-delay products.";
    evidence.plots.push(Plot::new("yeah-queue", "YeAH: the queue", caption, &[frame]));
    evidence
}

fn short_buffer() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(1));
    let lost = scope.losses.iter().filter(|&&at| at > STEADY[0]).count();
    evidence.exact("losses", lost as f64);
    evidence.exact("utilisation", utilisation(scope.first(), MBIT_S, STEADY[0], STEADY[1]));
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(), 20, 40);
    evidence.random("jain", indices);
    evidence.random("friendly", share_beside_new_reno(&control(), None));
    let caption = "20 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    evidence.plots.push(Plot::new("yeah-fairness", "YeAH: convergence", caption, &[frame]));
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_function_by_hand() {
        // 0.0099503 / 0.1335314 / 0.0002.
        assert!((law(0.0002) - 372.6).abs() < 0.1);
    }
}
