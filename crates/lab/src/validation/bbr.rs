//! Measurements of BBR's cases.

use super::scope::{Acks, MSS, PAYLOAD, delivered_between, flow, link, run};
use super::shared::convergence;
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use crate::stats::mean;
use justfull_base::{BitRate, Duration};
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::{Loss, Sample};
use justfull_tcp::CcConfig;
use justfull_tcp::cc::{bbr, cubic};

pub(super) const EXPERIMENTS: &[Experiment] =
    &[one_flow, two_flows, loss_bbr, loss_cubic, fairness];

/// The path of all cases except loss: 100 Mbit/s, 50 ms, a FIFO of four bandwidth-delay products.
const MBIT_S: u64 = 100;
const RTT_MS: u64 = 50;
const RTT_S: f64 = 0.05;
/// Payload that the path holds without a queue, bytes.
const BDP: f64 = MBIT_S as f64 * 1e6 / 8.0 * RTT_S * PAYLOAD;

fn control() -> CcConfig {
    CcConfig::Bbr(bbr::BbrConfig::default())
}

fn path(flows: usize, seconds: u64) -> DumbbellConfig {
    let flows = (0..flows).map(|_| flow(&control(), Acks::Delayed, RTT_MS)).collect();
    link(flows, MBIT_S, RTT_MS, 4, seconds)
}

fn seconds(sample: &Sample) -> f64 {
    sample.at.as_secs_f64()
}

fn pacing(sample: &Sample) -> f64 {
    sample.pacing_rate.map_or(f64::NAN, BitRate::as_mbit_s)
}

/// Median of ordered values.
fn median(mut values: Vec<f64>) -> f64 {
    values.retain(|v| v.is_finite());
    values.sort_by(f64::total_cmp);
    justfull_base::stats::quantile(&values, 0.5).unwrap_or(f64::NAN)
}

/// Instants at which `is` becomes true.
fn rises(samples: &[Sample], is: impl Fn(&Sample) -> bool) -> Vec<f64> {
    samples.windows(2).filter(|w| !is(&w[0]) && is(&w[1])).map(|w| seconds(&w[1])).collect()
}

fn mean_gap(instants: &[f64]) -> f64 {
    let gaps: Vec<f64> = instants.windows(2).map(|w| w[1] - w[0]).collect();
    mean(&gaps).unwrap_or(f64::NAN)
}

/// Growth of the delivery rate per round while it is below half the link's.
fn startup_growth(samples: &[Sample]) -> f64 {
    let per_round: Vec<f64> = (0..12)
        .map(|k| {
            delivered_between(samples, (f64::from(k) + 0.5) * RTT_S, (f64::from(k) + 1.5) * RTT_S)
        })
        .skip_while(|bytes| *bytes <= 0.0)
        .take_while(|bytes| *bytes < 0.5 * BDP)
        .collect();
    let rounds = per_round.len().saturating_sub(1);
    (per_round.last().unwrap_or(&f64::NAN) / per_round.first().unwrap_or(&f64::NAN))
        .powf(1.0 / rounds as f64)
}

/// Startup, Drain and `ProbeBW` of a lone flow, sampled ten times per RTT.
fn one_flow() -> Evidence {
    let mut evidence = Evidence::default();
    let mut world = path(1, 30);
    world.sample_every = Duration::from_millis(RTT_MS / 10);
    let (_, scope) = run(&world);
    let samples = scope.first();
    let steady: Vec<Sample> =
        samples.iter().copied().filter(|s| s.phase == "probe_bw" && seconds(s) > 10.0).collect();
    let cruise = median(steady.iter().map(pacing).collect());
    let gain = |s: &Sample| pacing(s) / cruise;
    evidence.exact("startup-growth", startup_growth(samples));
    let last_of_startup = samples.iter().rfind(|s| s.phase == "startup").map_or(f64::NAN, gain);
    evidence.exact("startup-gain", last_of_startup);
    evidence.exact(
        "drain-gain",
        median(samples.iter().filter(|s| s.phase == "drain").map(gain).collect()),
    );
    let drained = samples.iter().skip_while(|s| s.phase != "drain").find(|s| s.phase != "drain");
    evidence.exact("drain-in-flight", drained.map_or(f64::NAN, |s| s.in_flight as f64 / BDP));
    evidence.exact("cycle-up", steady.iter().map(gain).fold(f64::NAN, f64::max));
    evidence.exact("cycle-down", steady.iter().map(gain).fold(f64::NAN, f64::min));
    evidence.exact("cycle-period", mean_gap(&rises(&steady, |s| gain(s) > 1.1)) / RTT_S);
    let cruising = steady.iter().filter(|s| (gain(s) - 1.0).abs() < 0.05).count();
    evidence.exact("cycle-cruise", cruising as f64 / steady.len() as f64);
    let in_flight: Vec<f64> = steady.iter().map(|s| s.in_flight as f64 / BDP).collect();
    evidence.exact("in-flight", mean(&in_flight).unwrap_or(f64::NAN));
    evidence.exact("utilisation", delivered_between(samples, 10.0, 30.0) / (BDP / RTT_S * 20.0));
    let early = |value: &dyn Fn(&Sample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().filter(|s| seconds(s) < 2.0).map(|s| (seconds(s), value(s))).collect()
    };
    let frame =
        |title, label| Frame::new(title, ("time, s", Scale::FromZero), (label, Scale::FromZero));
    let level = |y: f64| Curve::new("link rate, BDP", Stroke::Published, vec![(0.0, y), (2.0, y)]);
    let frames = [
        frame("pacing rate", "Mbit/s")
            .with(Curve::new("BBR", Stroke::Line, early(&pacing)))
            .with(level(MBIT_S as f64)),
        frame("in flight", "BDP")
            .with(Curve::new("BBR", Stroke::Line, early(&|s| s.in_flight as f64 / BDP)))
            .with(level(1.0)),
    ];
    let caption =
        "One flow over 100 Mbit/s and 50 ms: Startup, Drain and the first cycles of ProbeBW.";
    evidence.plots.push(Plot::new("bbr-start", "BBR: Startup, Drain, ProbeBW", caption, &frames));
    evidence
}

/// Two flows keep a queue, which makes `ProbeRTT` occur.
fn two_flows() -> Evidence {
    let mut evidence = Evidence::default();
    let mut world = path(2, 60);
    world.flows[1].start = Duration::from_millis(1300);
    world.sample_every = Duration::from_micros(2500);
    let (_, scope) = run(&world);
    let samples = scope.first();
    let mut states: Vec<&str> = Vec::new();
    for sample in samples {
        if !states.contains(&sample.phase) {
            states.push(sample.phase);
        }
    }
    let expected = ["startup", "drain", "probe_bw", "probe_rtt"];
    let placed = states.iter().zip(expected).filter(|(state, wanted)| *state == wanted).count();
    evidence.exact("states", placed as f64);
    let probing = |s: &Sample| s.phase == "probe_rtt";
    let entries = rises(samples, probing);
    evidence.exact("probe-rtt-every", mean_gap(&entries));
    let least =
        samples.iter().filter(|s| probing(s)).map(|s| s.cwnd as f64 / MSS).fold(f64::NAN, f64::min);
    evidence.exact("probe-rtt-window", least);
    let low = samples.iter().filter(|s| probing(s) && s.in_flight as f64 <= 4.0 * MSS).count();
    evidence.exact("probe-rtt-time", low as f64 * 0.0025 / entries.len() as f64);
    let mut frame = Frame::new(
        "",
        ("time, s", Scale::FromZero),
        ("in flight, BDP of the path", Scale::FromZero),
    );
    for (name, samples) in ["first flow", "second flow"].into_iter().zip(&scope.series.flows) {
        // Every 20th sample and all of ProbeRTT, so that its dips stay in the picture.
        let shown = samples
            .iter()
            .enumerate()
            .filter(|(i, s)| i.is_multiple_of(60) || probing(s) && i.is_multiple_of(20));
        let points = shown.map(|(_, s)| (seconds(s), s.in_flight as f64 / BDP)).collect();
        frame = frame.with(Curve::new(name, Stroke::Line, points));
    }
    let caption = "Two flows over 100 Mbit/s and 50 ms; the dips are ProbeRTT.";
    evidence.plots.push(Plot::new("bbr-probe-rtt", "BBR: ProbeRTT", caption, &[frame]));
    evidence
}

/// Seeds of each point of the loss cases.
const LOSS_SEEDS: u64 = 3;

/// Goodput under random loss over 60 s of 100 Mbit/s and 100 ms, relative to the link's payload
/// rate times (1 - p).
fn under_loss(cc: &CcConfig, p: f64) -> Vec<f64> {
    let share = |seed| {
        let mut world = link(vec![flow(cc, Acks::Delayed, 100)], 100, 100, 1, 60);
        world.loss = Loss::Random(p);
        world.seed = seed;
        let delivered = run(&world).0.flows[0].delivered as f64;
        delivered / (100e6 / 8.0 * PAYLOAD * 60.0 * (1.0 - p))
    };
    (1..=LOSS_SEEDS).map(share).collect()
}

const LOSS_POINTS: [(&str, f64); 6] = [
    ("0.0001", 1e-4),
    ("0.001", 1e-3),
    ("0.01", 0.01),
    ("0.05", 0.05),
    ("0.15", 0.15),
    ("0.3", 0.3),
];

/// The points of one control, the values of the points with a case, and the curve for the figure.
fn loss_curve(cc: &CcConfig, prefix: &str, cases: &[&str]) -> (Evidence, Vec<(f64, f64)>) {
    let mut evidence = Evidence::default();
    let mut curve = Vec::new();
    for (text, p) in LOSS_POINTS {
        let shares = under_loss(cc, p);
        curve.push((100.0 * p, 100.0 * mean(&shares).unwrap_or(f64::NAN) * (1.0 - p)));
        if cases.contains(&text) {
            evidence.random(&format!("{prefix}{text}"), shares);
        }
    }
    (evidence, curve)
}

fn loss_frame(title: &str, name: &str, curve: Vec<(f64, f64)>) -> Frame {
    let limit = (0..=50).map(|i| 0.01 * 10f64.powf(f64::from(i) * 0.07)).map(|p| (p, 100.0 - p));
    let x = ("random loss, %", Scale::Logarithmic);
    Frame::new(title, x, ("goodput, % of the link", Scale::FromZero))
        .with(Curve::new(name, Stroke::Marks, curve.clone()))
        .with(Curve::new("1 - p", Stroke::Published, limit.filter(|(p, _)| *p <= 30.0).collect()))
}

const LOSS_CAPTION: &str = "Goodput of one flow in 60 s over 100 Mbit/s and 100 ms under random \
                            loss, as in Fig. 8 of Cardwell et al. 2016.";

fn loss_bbr() -> Evidence {
    let (mut evidence, curve) = loss_curve(&control(), "loss-", &["0.001", "0.01", "0.05", "0.15"]);
    let frame = loss_frame("", "BBR", curve);
    evidence.plots.push(Plot::new("bbr-loss", "BBR under random loss", LOSS_CAPTION, &[frame]));
    evidence
}

fn loss_cubic() -> Evidence {
    let cc = CcConfig::Cubic(cubic::CubicConfig::default());
    let (mut evidence, curve) = loss_curve(&cc, "cubic-loss-", &["0.001", "0.01"]);
    let frame = loss_frame("", "CUBIC", curve);
    evidence.plots.push(Plot::new(
        "bbr-loss-cubic",
        "CUBIC under random loss",
        LOSS_CAPTION,
        &[frame],
    ));
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(), 100, 40);
    evidence.random("jain", indices);
    let caption = "100 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    evidence.plots.push(Plot::new("bbr-fairness", "BBR: convergence", caption, &[frame]));
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_and_gaps_belong_to_the_samples() {
        let (_, scope) = run(&path(1, 2));
        let starts = rises(scope.first(), |s| s.phase == "probe_bw");
        assert_eq!(starts.len(), 1);
        assert!((mean_gap(&[1.0, 2.0, 4.0]) - 1.5).abs() < 1e-12);
        assert!((median(vec![3.0, f64::NAN, 1.0, 2.0]) - 2.0).abs() < 1e-12);
    }
}
