//! Measurements of BBRv3's cases.

use super::scope::{Acks, PAYLOAD, Scope, delivered_between, flow, link, run, spans};
use super::shared::convergence;
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use crate::stats::mean;
use justfull_base::stats::quantile;
use justfull_base::{BitRate, Duration};
use justfull_queue::Limit;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::{Loss, Sample};
use justfull_tcp::CcConfig;
use justfull_tcp::cc::bbr3::{Bbr3Config, Variant};

pub(super) const EXPERIMENTS: &[Experiment] =
    &[one_flow, google, deep_queue, two_flows, periodic_loss, fairness];

/// The path of picoquic's runs: 50 Mbit/s and 40 ms.
const MBIT_S: u64 = 50;
const RTT_MS: u64 = 40;
const RTT_S: f64 = 0.04;
/// Payload that the path holds without a queue, bytes.
const BDP: f64 = MBIT_S as f64 * 1e6 / 8.0 * RTT_S * PAYLOAD;
/// Names of the states in the order of [`two_flows`]' count.
const STATES: [&str; 7] = ["startup", "drain", "down", "cruise", "refill", "up", "probe_rtt"];

fn control(variant: Variant) -> CcConfig {
    CcConfig::Bbr3(Bbr3Config { variant })
}

/// `flows` over picoquic's path with a FIFO of `queue_ms`.
fn path(variant: Variant, flows: usize, queue_ms: u64, seconds: u64) -> DumbbellConfig {
    let flows = (0..flows).map(|_| flow(&control(variant), Acks::Delayed, RTT_MS)).collect();
    let mut world = link(flows, MBIT_S, RTT_MS, 1, seconds);
    let queue = BitRate(MBIT_S * 1_000_000).bytes_in_floor(Duration::from_millis(queue_ms));
    world.limit = Limit::Bytes(queue);
    world.sample_every = Duration::from_millis(4);
    world
}

fn seconds(sample: &Sample) -> f64 {
    sample.at.as_secs_f64()
}

fn pacing(sample: &Sample) -> f64 {
    sample.pacing_rate.map_or(f64::NAN, BitRate::as_mbit_s)
}

fn in_flight(sample: &Sample) -> f64 {
    sample.in_flight as f64 / BDP
}

/// The quantile `q` of `values`.
fn quantile_of(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, q).unwrap_or(f64::NAN)
}

/// Pacing rate of the samples in `phase` over the median rate of cruising: all of them.
fn gains<'a>(samples: &'a [Sample], phase: &'static str) -> impl Iterator<Item = f64> + 'a {
    let cruise = quantile_of(samples.iter().filter(|s| s.phase == "cruise").map(pacing), 0.5);
    samples.iter().filter(move |s| s.phase == phase).map(move |s| pacing(s) / cruise)
}

/// A lone flow with a queue of 20 ms.
fn one_flow() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(Variant::Draft, 1, 20, 60));
    let samples = scope.first();
    let later: Vec<Sample> = samples.iter().copied().filter(|s| seconds(s) > 3.0).collect();
    evidence.exact("startup-gain", gains(samples, "startup").last().unwrap_or(f64::NAN));
    evidence.exact("drain-gain", quantile_of(gains(samples, "drain"), 0.5));
    let drained = samples.iter().skip_while(|s| s.phase != "drain").find(|s| s.phase != "drain");
    evidence.exact("drain-in-flight", drained.map_or(f64::NAN, in_flight));
    evidence.exact("up-gain", quantile_of(gains(&later, "up"), 0.5));
    evidence.exact("down-gain", quantile_of(gains(&later, "down"), 0.5));
    let waits: Vec<f64> = spans(&later, |s| matches!(s.phase, "down" | "cruise"))
        .iter()
        .filter(|(begin, end)| {
            // A wait that a probe of the RTT cuts is none.
            let near = |s: &&Sample| seconds(s) > begin - 0.01 && seconds(s) < end + 0.01;
            !later.iter().filter(near).any(|s| s.phase == "probe_rtt")
        })
        .map(|(begin, end)| end - begin)
        .collect();
    evidence.exact("wait", mean(&waits).unwrap_or(f64::NAN));
    let probes = spans(&later, |s| s.phase == "probe_rtt");
    let lengths: Vec<f64> = probes.iter().map(|(begin, end)| end - begin).collect();
    evidence.exact("probe-rtt-time", mean(&lengths).unwrap_or(f64::NAN));
    let probing = later.iter().filter(|s| s.phase == "probe_rtt").map(in_flight);
    evidence.exact("probe-rtt-in-flight", probing.fold(f64::NAN, f64::min));
    let rtts = || later.iter().map(|s| s.srtt.as_secs_f64() * 1e3);
    evidence.exact("rtt-median", quantile_of(rtts(), 0.5));
    evidence.exact("rtt-p95", quantile_of(rtts(), 0.95));
    evidence.exact("in-flight-median", quantile_of(later.iter().map(in_flight), 0.5));
    let goodput = delivered_between(samples, 3.0, 60.0) * 8.0 / 57.0 / 1e6;
    evidence.exact("pacing-median", quantile_of(later.iter().map(pacing), 0.5) / goodput);
    evidence.exact("utilisation", goodput / (MBIT_S as f64 * PAYLOAD));
    evidence.exact("lost-later", lost_after_startup(&scope));
    evidence.plots.push(start(samples));
    evidence
}

/// Packets lost after the last sample of Startup and a round trip.
fn lost_after_startup(scope: &Scope) -> f64 {
    let end = scope.first().iter().rfind(|s| s.phase == "startup").map_or(0.0, seconds);
    scope.losses.iter().filter(|lost| **lost > end + 2.0 * RTT_S).count() as f64
}

fn start(samples: &[Sample]) -> Plot {
    let early = |value: &dyn Fn(&Sample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().filter(|s| seconds(s) < 6.0).map(|s| (seconds(s), value(s))).collect()
    };
    let frame =
        |title, label| Frame::new(title, ("time, s", Scale::FromZero), (label, Scale::FromZero));
    let level = |y: f64| Curve::new("link rate, BDP", Stroke::Published, vec![(0.0, y), (6.0, y)]);
    let frames = [
        frame("pacing rate", "Mbit/s")
            .with(Curve::new("BBRv3", Stroke::Line, early(&pacing)))
            .with(level(MBIT_S as f64)),
        frame("in flight", "BDP")
            .with(Curve::new("BBRv3", Stroke::Line, early(&in_flight)))
            .with(level(1.0)),
    ];
    let caption = "One flow over 50 Mbit/s and 40 ms with a queue of 20 ms: Startup, Drain, the \
                   first cycles and ProbeRTT.";
    Plot::new("bbr3-start", "BBRv3: Startup, Drain, the cycle", caption, &frames)
}

fn google() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(Variant::Google, 1, 20, 30));
    let samples = scope.first();
    evidence.exact("google-drain-gain", quantile_of(gains(samples, "drain"), 0.5));
    evidence.exact("google-down-gain", quantile_of(gains(samples, "down"), 0.5));
    evidence
}

/// Startup where the queue holds all that it sends, and losses with a queue of two round trips.
fn deep_queue() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(Variant::Draft, 1, 320, 10));
    let starting = scope.first().iter().filter(|s| matches!(s.phase, "startup" | "drain"));
    evidence.exact("startup-in-flight", starting.map(in_flight).fold(f64::NAN, f64::max));
    let (_, scope) = run(&path(Variant::Draft, 1, 80, 20));
    evidence.exact("lost-80", scope.losses.len() as f64);
    evidence
}

/// Two flows keep a queue.
fn two_flows() -> Evidence {
    let mut evidence = Evidence::default();
    let mut world = path(Variant::Draft, 2, 80, 60);
    world.flows[1].start = Duration::from_millis(1300);
    let (_, scope) = run(&world);
    let samples = scope.first();
    let seen = STATES.iter().filter(|state| samples.iter().any(|s| s.phase == **state));
    evidence.exact("states", seen.count() as f64);
    let entries: Vec<f64> =
        spans(samples, |s| s.phase == "probe_rtt").iter().map(|(begin, _)| *begin).collect();
    let gaps: Vec<f64> = entries.windows(2).map(|w| w[1] - w[0]).collect();
    evidence.exact("probe-rtt-every", mean(&gaps).unwrap_or(f64::NAN));
    let mut frame = Frame::new(
        "",
        ("time, s", Scale::FromZero),
        ("in flight, BDP of the path", Scale::FromZero),
    );
    for (name, samples) in ["first flow", "second flow"].into_iter().zip(&scope.series.flows) {
        let shown = samples.iter().step_by(25).map(|s| (seconds(s), in_flight(s))).collect();
        frame = frame.with(Curve::new(name, Stroke::Line, shown));
    }
    let caption =
        "Two flows over 50 Mbit/s and 40 ms with a queue of 80 ms; the dips are ProbeRTT.";
    evidence.plots.push(Plot::new("bbr3-probe-rtt", "BBRv3: two flows", caption, &[frame]));
    evidence
}

/// Each n-th packet is lost over 20 s.
fn periodic_loss() -> Evidence {
    let mut evidence = Evidence::default();
    let mut curve = Vec::new();
    for (id, every) in
        [("loss-0.001", 1000), ("", 200), ("loss-0.01", 100), ("", 50), ("loss-0.05", 20)]
    {
        let mut world = path(Variant::Draft, 1, 80, 20);
        world.loss = Loss::Every(every);
        let delivered = run(&world).0.flows[0].delivered as f64;
        let share = delivered / (MBIT_S as f64 * 1e6 / 8.0 * PAYLOAD * 20.0);
        curve.push((100.0 / every as f64, 100.0 * share));
        if !id.is_empty() {
            evidence.exact(id, share);
        }
    }
    // 62.5 MB at 50 Mbit/s take 10 s.
    let picoquic = [(0.1, 13.6), (0.5, 19.1), (1.0, 22.6), (2.0, 31.8), (5.0, 64.2)];
    let published = picoquic.map(|(percent, seconds)| (percent, 1000.0 / seconds)).to_vec();
    let x = ("packets lost, %", Scale::Logarithmic);
    let frame = Frame::new("", x, ("goodput, % of the link", Scale::FromZero))
        .with(Curve::new("BBRv3", Stroke::Marks, curve))
        .with(Curve::new("picoquic's", Stroke::Published, published));
    let caption = "Goodput of one flow over 50 Mbit/s and 40 ms when each n-th packet is lost: the \
                   short-term bounds ignore the threshold of 2 %.";
    evidence.plots.push(Plot::new("bbr3-loss", "BBRv3 under periodic loss", caption, &[frame]));
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(Variant::Draft), 100, 40);
    evidence.random("jain", indices);
    let caption = "100 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    evidence.plots.push(Plot::new("bbr3-fairness", "BBRv3: convergence", caption, &[frame]));
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_the_times_in_a_phase_that_ends() {
        let (_, scope) = run(&path(Variant::Draft, 1, 20, 4));
        let drains = spans(scope.first(), |s| s.phase == "drain");
        assert_eq!(drains.len(), 1);
        assert!(drains[0].0 < drains[0].1);
    }
}
