//! Measurements of NewReno's cases.

use super::scope::{Acks, flow, periodic, run, slope, wire};
use super::shared::{SEEDS, convergence, rtt_exponents};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use justfull_base::Duration;
use justfull_sim::dumbbell::Loss;
use justfull_tcp::cc::new_reno::NewRenoConfig;
use justfull_tcp::{CcConfig, Recovery};

pub(super) const EXPERIMENTS: &[Experiment] =
    &[slow_start, avoidance, response, padhye, partial, fairness, share_under_random_loss];

/// RTT of the cases on a fast path.
const RTT_MS: u64 = 100;
const RTT_S: f64 = 0.1;

fn control() -> CcConfig {
    CcConfig::NewReno(NewRenoConfig::default())
}

/// Growth per round over seven rounds, read in the middle of each, after its acknowledgements.
fn slow_start() -> Evidence {
    let mut evidence = Evidence::default();
    let mut frame = Frame::new(
        "slow start",
        ("time, RTT", Scale::FromZero),
        ("window, segments", Scale::Logarithmic),
    );
    let classic = CcConfig::NewReno(NewRenoConfig { abc_limit: 1, ..NewRenoConfig::default() });
    let cases = [
        ("slow-start-each", "every segment acknowledged", control(), Acks::Each),
        ("slow-start-delayed", "delayed, L = 2", control(), Acks::Delayed),
        ("slow-start-delayed-l1", "delayed, L = 1", classic, Acks::Delayed),
    ];
    for (id, name, cc, acks) in cases {
        let mut config = wire(&cc, acks, RTT_MS, Loss::Never, 1);
        config.sample_every = Duration::from_millis(RTT_MS / 2);
        let (_, scope) = run(&config);
        let middles: Vec<(f64, f64)> =
            scope.windows().into_iter().step_by(2).map(|(t, w)| (t / RTT_S, w)).collect();
        evidence.exact(id, (middles[7].1 / middles[0].1).powf(1.0 / 7.0));
        frame = frame.with(Curve::new(name, Stroke::Marks, middles[..8].to_vec()));
        if id == "slow-start-each" {
            evidence.exact("initial-window", scope.first_flight as f64);
        }
    }
    let doubling = |rate: f64| (0..8).map(|k| (f64::from(k) + 0.5, 10.0 * rate.powi(k))).collect();
    let frame = frame
        .with(Curve::new("10 x 2^n", Stroke::Published, doubling(2.0)))
        .with(Curve::new("10 x 1.5^n", Stroke::Published, doubling(1.5)));
    let caption = "The window in the middle of each round trip; grey lines: doubling, and half as \
                   much again.";
    evidence.plots.push(Plot::new("new_reno-slow-start", "NewReno: slow start", caption, &[frame]));
    evidence
}

/// One loss, then 60 rounds of congestion avoidance.
fn avoidance() -> Evidence {
    let mut evidence = Evidence::default();
    let mut frame =
        Frame::new("", ("time, s", Scale::FromZero), ("window, segments", Scale::FromZero));
    let cases = [
        ("avoidance-each", "every segment acknowledged", Acks::Each),
        ("avoidance-delayed", "delayed", Acks::Delayed),
    ];
    for (id, name, acks) in cases {
        let (_, scope) = run(&wire(&control(), acks, RTT_MS, periodic(100, 6000, 20), 40));
        let (first, second) = (scope.episodes[0], scope.episodes[1]);
        let (start, _) = first.end.expect("one loss is repaired");
        let rounds: Vec<(f64, f64)> =
            scope.windows().iter().map(|(t, w)| (t / RTT_S, *w)).collect();
        let from = start / RTT_S + 2.0;
        let to = (second.found / RTT_S - 1.0).min(from + 60.0);
        evidence.exact(id, slope(&rounds, from, to));
        if acks == Acks::Each {
            let (_, after) = second.end.expect("one loss is repaired");
            evidence.exact("halving", after / second.before);
        }
        frame = frame.with(Curve::new(name, Stroke::Line, scope.windows()));
    }
    let caption = "The 100th packet and every 6000th from there on are lost: slow start, then \
                   half the window at each loss and one segment per round trip, whether segments \
                   are acknowledged singly or in pairs, since bytes are counted (RFC 3465).";
    evidence.plots.push(Plot::new("new_reno-sawtooth", "NewReno: sawtooth", caption, &[frame]));
    evidence
}

/// Mean window under periodic loss, every segment acknowledged, against sqrt(3 / 2p).
fn response() -> Evidence {
    let mut evidence = Evidence::default();
    let mut points = Vec::new();
    let law = |p: f64| (1.5 / p).sqrt();
    for (id, every) in [
        ("response-0.0001", 10_000_u64),
        ("response-0.0003", 3_333),
        ("response-0.001", 1_000),
        ("response-0.003", 333),
        ("response-0.01", 100),
    ] {
        let p = 1.0 / every as f64;
        // Sixty cycles of W / 2 rounds, after about ten in which slow start's window subsides.
        let seconds = (70.0 * law(p) * 0.67 * RTT_S) as u64 + 10;
        let (_, scope) = run(&wire(&control(), Acks::Each, RTT_MS, Loss::Every(every), seconds));
        let ours = scope.mean_window(12, RTT_S);
        evidence.formula(id, law(p), vec![ours]);
        points.push((p, ours));
    }
    let curve = [1e-4, 1e-2].map(|p| (p, law(p)));
    let frame = Frame::new(
        "",
        ("loss rate p", Scale::Logarithmic),
        ("mean window, segments", Scale::Logarithmic),
    )
    .with(Curve::new("periodic loss", Stroke::Marks, points))
    .with(Curve::new("sqrt(3 / 2p), Mathis et al. 1997", Stroke::Published, curve.to_vec()));
    let caption = "Mean window under periodic loss, every segment acknowledged.";
    evidence.plots.push(Plot::new(
        "new_reno-response",
        "NewReno: response function",
        caption,
        &[frame],
    ));
    evidence
}

/// Padhye et al. 1998, approximate model, in segments per second; b: segments per acknowledgement.
fn pftk(p: f64, rtt_s: f64, rto_s: f64, b: f64) -> f64 {
    let fast = rtt_s * (2.0 * b * p / 3.0).sqrt();
    let timeouts = rto_s * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (fast + timeouts)
}

/// Segments sent per second under random loss. The timeout is the RTT plus the floor of its
/// variance, 200 ms.
fn padhye() -> Evidence {
    const SECONDS: u64 = 300;
    let mut evidence = Evidence::default();
    let mut points = Vec::new();
    let model = |p: f64| pftk(p, RTT_S, RTT_S + 0.2, 1.0);
    for (id, p) in [
        ("", 0.001),
        ("", 0.005),
        ("pftk-0.02", 0.02),
        ("pftk-0.05", 0.05),
        ("pftk-0.1", 0.1),
        ("", 0.2),
    ] {
        let rate = |seed| {
            let mut config = wire(&control(), Acks::Each, RTT_MS, Loss::Random(p), SECONDS);
            config.seed = seed;
            // The model detects losses only by three duplicates and by timeout.
            config.flows[0].sender.recovery = Recovery::Dupack;
            config.flows[0].sender.tail_loss_probe = false;
            run(&config).0.flows[0].stats.segments_sent as f64 / SECONDS as f64
        };
        let rates: Vec<f64> = (1..=2 * SEEDS).map(rate).collect();
        points.push((p, crate::stats::mean(&rates).unwrap_or(f64::NAN)));
        if !id.is_empty() {
            evidence.formula(id, model(p), rates);
        }
    }
    let over = |law: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        (0..=46).map(|i| 0.001 * 10f64.powf(f64::from(i) / 20.0)).map(|p| (p, law(p))).collect()
    };
    let frame = Frame::new(
        "",
        ("loss rate p", Scale::Logarithmic),
        ("segments sent per second", Scale::Logarithmic),
    )
    .with(Curve::new("random loss", Stroke::Marks, points))
    .with(Curve::new(
        "Padhye et al. 1998 (lower), sqrt(3 / 2p) (upper)",
        Stroke::Published,
        over(&model),
    ))
    .with(Curve::new(
        "Padhye et al. 1998 (lower), sqrt(3 / 2p) (upper)",
        Stroke::Published,
        over(&|p| (1.5 / p).sqrt() / RTT_S),
    ));
    let caption =
        "Segments sent per second under independent random loss, RTT 100 ms, mean of ten seeds.";
    evidence.plots.push(Plot::new("new_reno-padhye", "NewReno: random loss", caption, &[frame]));
    evidence
}

/// After one loss that ends slow start, five losses in one window.
fn partial() -> Evidence {
    let mut evidence = Evidence::default();
    let losses = [100, 3000, 3008, 3016, 3024, 3032];
    let (outcome, scope) =
        run(&wire(&control(), Acks::Each, RTT_MS, Loss::Listed(losses.to_vec()), 20));
    let stats = &outcome.flows[0].stats;
    let episode = scope.episodes[1];
    let (end, after) = episode.end.expect("all is repaired");
    let first = episode.repaired.expect("something is sent again");
    evidence.exact("partial-recoveries", (stats.fast_recoveries - 1) as f64);
    evidence.exact("partial-timeouts", stats.timeouts as f64);
    evidence.exact("partial-window", after / episode.before);
    evidence.exact("partial-rounds", (end - first) / RTT_S);
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(), 20, 40);
    evidence.random("jain", indices);
    evidence.random("rtt-share-fifo", rtt_exponents(&control(), 20));
    let caption = "20 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    evidence.plots.push(Plot::new("new_reno-fairness", "NewReno: convergence", caption, &[frame]));
    evidence
}

/// Two flows that share only their loss rate.
fn share_under_random_loss() -> Evidence {
    let mut evidence = Evidence::default();
    let ratio = |seed| {
        let mut config = wire(&control(), Acks::Each, 40, Loss::Random(0.001), 400);
        config.flows.push(flow(&control(), Acks::Each, 160));
        config.seed = seed;
        let (outcome, _) = run(&config);
        outcome.flows[0].delivered as f64 / outcome.flows[1].delivered as f64
    };
    evidence.random("rtt-share-random", (1..=2 * SEEDS).map(ratio).collect());
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_padhye_is_the_square_root_law_at_small_loss() {
        let p: f64 = 1e-6;
        let law = (1.5 / p).sqrt() / 0.1;
        assert!((pftk(p, 0.1, 0.3, 1.0) / law - 1.0).abs() < 0.01);
        // By hand for p = 0.02, b = 1: 0.1 x 0.11547 + 0.3 x 0.25981 x 0.02 x 1.0128 = 0.013126.
        assert!((pftk(0.02, 0.1, 0.3, 1.0) - 76.18).abs() < 0.05);
    }
}
