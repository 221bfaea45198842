//! How Prague's cases are measured.

use super::scope::{Acks, MSS, delivered_between, run, slope, wire};
use super::watch::{Watch, watched};
use super::{Evidence, Experiment};
use justfull_base::Duration;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::prague::{PragueConfig, Preset};

pub(super) const EXPERIMENTS: &[Experiment] =
    &[half, fifth, tenth, twentieth, fiftieth, later, law, independence, start, growth];

/// Seeds of the cases with random marks.
const SEEDS: u64 = 10;
/// RTTs of the table, in ms; 0 is a loopback.
const RTTS: [u64; 5] = [0, 10, 25, 50, 100];
/// RTT of a loopback.
const LOOPBACK: Duration = Duration::from_micros(200);

fn control(preset: Preset) -> CcConfig {
    CcConfig::Prague(PragueConfig { preset, ..PragueConfig::default() })
}

/// A path that marks each packet with probability `p` and loses none.
fn marking(preset: Preset, p: f64, rtt_ms: u64, seconds: u64, seed: u64) -> DumbbellConfig {
    let cc = control(preset);
    let mut config = wire(&cc, Acks::Each, rtt_ms.max(1), Loss::Never, seconds);
    if rtt_ms == 0 {
        config.flows[0].rtt = LOOPBACK;
    }
    config.marks = Loss::Random(p);
    config.seed = seed;
    config
}

/// The table of `udp_prague` for one probability.
fn udp(p: f64) -> Evidence {
    let mut evidence = Evidence::default();
    for rtt in RTTS.into_iter().filter(|rtt| *rtt > 0 || p > 0.02) {
        let goodput = |seed| {
            let mut config = marking(Preset::UdpPrague, p, rtt, 40, seed);
            config.flows[0].sender.mss = 1400;
            let (outcome, _) = run(&config);
            outcome.flows[0].delivered as f64 * 8.0 / 40.0 / 1e6
        };
        evidence.random(&format!("udp-{p}-{rtt}"), (1..=SEEDS).map(goodput).collect());
    }
    evidence
}

fn half() -> Evidence {
    udp(0.5)
}

fn fifth() -> Evidence {
    udp(0.2)
}

fn tenth() -> Evidence {
    udp(0.1)
}

fn twentieth() -> Evidence {
    udp(0.05)
}

fn fiftieth() -> Evidence {
    udp(0.02)
}

/// The cells of the table in which the start takes long, without it.
fn later() -> Evidence {
    let mut evidence = Evidence::default();
    for (p, rtt) in [(0.1, 100), (0.05, 100), (0.02, 50), (0.02, 100)] {
        let goodput = |seed| {
            let mut config = marking(Preset::UdpPrague, p, rtt, 60, seed);
            config.flows[0].sender.mss = 1400;
            let (_, scope) = run(&config);
            delivered_between(scope.first(), 20.0, 60.0) * 8.0 / 40.0 / 1e6
        };
        let id = format!("udp-{p}-{rtt}-later");
        evidence.random(&id, (1..=SEEDS).map(goodput).collect());
    }
    evidence
}

/// Bytes that Linux's Prague delivers from 10 to 70 s.
fn delivered(p: f64, rtt_ms: u64, seed: u64) -> f64 {
    let (_, scope) = run(&marking(Preset::Linux, p, rtt_ms, 70, seed));
    delivered_between(scope.first(), 10.0, 70.0)
}

/// Mean window in packets under independent marks: b = 2 (1/p - 1) packets where a reduction comes
/// every T; it comes every T (1 + 1 / (p W)).
fn window(p: f64) -> f64 {
    let b = 2.0 * (1.0 / p - 1.0);
    b / 2.0 + (b * b / 4.0 + b / p).sqrt()
}

fn law() -> Evidence {
    const RTT_MS: u64 = 25;
    let mut evidence = Evidence::default();
    for p in [0.2, 0.1, 0.05] {
        let rounds = 60.0 / (RTT_MS as f64 / 1e3);
        let mean = |seed| delivered(p, RTT_MS, seed) / MSS / rounds;
        evidence.formula(&format!("law-{p}"), window(p), (1..=SEEDS).map(mean).collect());
    }
    evidence
}

fn independence() -> Evidence {
    let mut evidence = Evidence::default();
    for rtt in [10, 50] {
        let ratio = |seed| delivered(0.05, rtt, seed) / delivered(0.05, 25, seed);
        evidence.random(&format!("independence-{rtt}"), (1..=SEEDS).map(ratio).collect());
    }
    evidence
}

/// One mark, packet 500, ends slow start.
fn after_a_mark(rtt_ms: u64, seconds: u64) -> Watch {
    let mut config = wire(&control(Preset::Linux), Acks::Each, rtt_ms, Loss::Never, seconds);
    config.marks = Loss::Listed(vec![500]);
    watched(&config)
}

fn start() -> Evidence {
    let mut evidence = Evidence::default();
    let seen = after_a_mark(50, 2);
    let (marked, before) = seen.first_mark().expect("a packet is marked");
    let after = seen.least(marked, marked + 0.1);
    evidence.exact("first-mark", after / before);
    evidence
}

fn growth() -> Evidence {
    let mut evidence = Evidence::default();
    for rtt_ms in [10, 50] {
        let rtt = rtt_ms as f64 / 1e3;
        let seen = after_a_mark(rtt_ms, 20);
        let (marked, _) = seen.first_mark().expect("a packet is marked");
        let rounds: Vec<(f64, f64)> = seen.windows.iter().map(|(t, w)| (t / rtt, *w)).collect();
        let grown = slope(&rounds, marked / rtt + 20.0, 20.0 / rtt);
        evidence.exact(&format!("growth-{rtt_ms}"), grown);
    }
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_by_hand() {
        // b = 18: 9 + sqrt(81 + 180).
        assert!((window(0.1) - 25.155).abs() < 0.001);
    }
}
