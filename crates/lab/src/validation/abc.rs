//! How the cases of ABC's sender are measured.

use super::scope::{Acks, MSS, run, slope, wire};
use super::watch::watched;
use super::{Evidence, Experiment};
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::abc::AbcConfig;

pub(super) const EXPERIMENTS: &[Experiment] = &[accelerates, half, brakes, loss];

/// Seeds of the cases with random brakes.
const SEEDS: u64 = 10;
const RTT_MS: u64 = 100;
/// The RTT with random brakes, of which 10 000 are averaged.
const SHORT_RTT_MS: u64 = 20;

fn control() -> CcConfig {
    CcConfig::Abc(AbcConfig::default())
}

/// No packet is braked.
fn accelerates() -> Evidence {
    let mut evidence = Evidence::default();
    let seen = watched(&wire(&control(), Acks::Each, RTT_MS, Loss::Never, 2));
    let rtt = RTT_MS as f64 / 1e3;
    let at = |time: f64| seen.windows.iter().rfind(|(t, _)| *t <= time).map_or(0.0, |(_, w)| *w);
    evidence.exact("doubling", at(4.95 * rtt) / at(3.95 * rtt));
    evidence
}

/// Every second packet is braked.
fn half() -> Evidence {
    let mut evidence = Evidence::default();
    let mut config = wire(&control(), Acks::Each, RTT_MS, Loss::Never, 20);
    config.marks = Loss::Every(2);
    let rtt = RTT_MS as f64 / 1e3;
    let windows = watched(&config).windows;
    let rounds: Vec<(f64, f64)> = windows.iter().map(|(t, w)| (t / rtt, *w)).collect();
    evidence.exact("half", slope(&rounds, 10.0, 20.0 / rtt));
    evidence
}

/// Packets that an RTT delivers on average from 20 to 220 s where packets are braked with the
/// probability `p`.
fn delivered(p: f64, seed: u64) -> f64 {
    let mut config = wire(&control(), Acks::Each, SHORT_RTT_MS, Loss::Never, 220);
    config.marks = Loss::Random(p);
    config.seed = seed;
    let (_, scope) = run(&config);
    let samples = scope.first().iter().filter(|sample| sample.at.as_secs_f64() >= 20.0);
    let bytes: Vec<u64> = samples.map(|sample| sample.delivered).collect();
    let (first, last) = (bytes[0], bytes[bytes.len() - 1]);
    (last - first) as f64 / MSS / (bytes.len() - 1) as f64
}

fn brakes() -> Evidence {
    let mut evidence = Evidence::default();
    for p in [0.51, 0.52] {
        let means = (1..=SEEDS).map(|seed| delivered(p, seed)).collect();
        evidence.formula(&format!("brakes-{p}"), 1.0 / (2.0 * p - 1.0), means);
    }
    evidence
}

/// Every second packet is braked, one is lost.
fn loss() -> Evidence {
    let mut evidence = Evidence::default();
    let mut config = wire(&control(), Acks::Each, RTT_MS, Loss::Listed(vec![3000]), 20);
    config.marks = Loss::Every(2);
    let (_, scope) = run(&config);
    let episode = scope.episodes[0];
    let (_, after) = episode.end.expect("one loss is repaired");
    evidence.exact("loss-cut", after / episode.before);
    evidence
}
