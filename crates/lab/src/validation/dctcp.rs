//! How DCTCP's cases are measured.

use super::scope::{Acks, run, slope, wire};
use super::watch::watched;
use super::{Evidence, Experiment};
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::dctcp::DctcpConfig;

pub(super) const EXPERIMENTS: &[Experiment] = &[marks, loss];

const RTT_MS: u64 = 100;

fn control() -> CcConfig {
    CcConfig::Dctcp(DctcpConfig::default())
}

/// The fifth packet is marked, and no other.
fn marks() -> Evidence {
    let mut evidence = Evidence::default();
    let mut config = wire(&control(), Acks::Each, RTT_MS, Loss::Never, 20);
    config.marks = Loss::Listed(vec![5]);
    let seen = watched(&config);
    let (marked, before) = seen.first_mark().expect("a packet is marked");
    evidence.exact("first-cut", seen.least(marked, marked) / before);
    let rtt = RTT_MS as f64 / 1e3;
    let rounds: Vec<(f64, f64)> = seen.windows.iter().map(|(t, w)| (t / rtt, *w)).collect();
    evidence.exact("slope", slope(&rounds, marked / rtt + 2.0, 20.0 / rtt));
    evidence
}

/// The fifth packet is marked, a later one is lost.
fn loss() -> Evidence {
    let mut evidence = Evidence::default();
    let mut config = wire(&control(), Acks::Each, RTT_MS, Loss::Listed(vec![3000]), 20);
    config.marks = Loss::Listed(vec![5]);
    let (_, scope) = run(&config);
    let episode = scope.episodes[0];
    let (_, after) = episode.end.expect("one loss is repaired");
    evidence.exact("loss-cut", after / episode.before);
    evidence
}
