//! Measurements of CUBIC's cases.

use super::scope::{Acks, MSS, Scope, flow, link, periodic, run, slope, wire};
use super::shared::{convergence, rtt_exponents};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use justfull_base::{Bytes, Duration};
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::cubic::{CubicConfig, HyStart};

pub(super) const EXPERIMENTS: &[Experiment] =
    &[curve, reno_region, fast_convergence, response_long, response_short, hystart, fairness];

/// C and beta of RFC 9438 sections 4.1 and 4.6, for comparison with the defaults.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// CUBIC without HyStart: slow start ends at the loss that an experiment makes.
fn without_hystart() -> CubicConfig {
    CubicConfig { hystart: HyStart::Off, ..CubicConfig::default() }
}

/// The cubic from `low` segments at t = 0 towards `w_max`, and its K.
fn cubic(w_max: f64, low: f64) -> (f64, impl Fn(f64) -> f64) {
    let k = ((w_max - low) / C).cbrt();
    (k, move |t: f64| C * (t - k).powi(3) + w_max)
}

/// One loss at about 2000 segments, then growth for 25 s.
fn after_one_loss(rtt_ms: u64) -> Scope {
    let cc = CcConfig::Cubic(without_hystart());
    run(&wire(&cc, Acks::Each, rtt_ms, Loss::Listed(vec![2000]), 25)).1
}

/// Seconds from the end of recovery until the window reaches `level` again.
fn regained(scope: &Scope, start: f64, level: f64) -> f64 {
    let windows = scope.windows();
    let first = windows.iter().find(|(t, w)| *t > start && *w >= level);
    first.map_or(f64::NAN, |(t, _)| t - start)
}

fn curve() -> Evidence {
    let mut evidence = Evidence::default();
    let mut frames = Vec::new();
    let mut times = Vec::new();
    for (rtt_ms, title) in [(50, "RTT 50 ms"), (100, "RTT 100 ms"), (200, "RTT 200 ms")] {
        let scope = after_one_loss(rtt_ms);
        let episode = scope.episodes[0];
        let (start, low) = episode.end.expect("one loss is repaired");
        let (k, w) = cubic(episode.before, BETA * episode.before);
        let measured = regained(&scope, start, 0.999 * episode.before);
        if rtt_ms == 100 {
            evidence.exact("beta", low / episode.before);
            let apart = |&(t, window): &(f64, f64)| (window - w(t - start)).abs() / episode.before;
            let within =
                scope.windows().into_iter().filter(|(t, _)| (start..start + 1.6 * k).contains(t));
            evidence.exact("curve", within.map(|point| apart(&point)).fold(0.0, f64::max));
            // The window comes within a thousandth of W_max before K: the cubic is flat there.
            let flat = (0.001 * episode.before / C).cbrt();
            evidence.formula("k", k, vec![measured + flat]);
        }
        times.push(measured);
        if rtt_ms != 100 {
            let grey: Vec<(f64, f64)> = (0..=200)
                .map(|i| f64::from(i) * 0.08 * k / 10.0)
                .map(|t| (start + t, w(t)))
                .collect();
            let frame = Frame::new(
                title,
                ("time, s", Scale::FromZero),
                ("window, segments", Scale::FromZero),
            );
            frames.push(
                frame.with(Curve::new("window", Stroke::Line, scope.windows())).with(Curve::new(
                    "C (t - K)^3 + W_max",
                    Stroke::Published,
                    grey,
                )),
            );
        }
    }
    evidence.exact("rtt-independence", times[2] / times[0]);
    let caption = "One loss in slow start: the window follows the cubic of the time since the \
                   loss, at any RTT.";
    evidence.plots.push(Plot::new(
        "cubic-curve",
        "CUBIC: the curve after a loss",
        caption,
        &frames,
    ));
    evidence
}

/// A short RTT and a small window: a Reno flow grows faster than the cubic here.
fn reno_region() -> Evidence {
    const RTT_S: f64 = 0.01;
    let mut evidence = Evidence::default();
    let cc = CcConfig::Cubic(without_hystart());
    let (_, scope) = run(&wire(&cc, Acks::Each, 10, Loss::Listed(vec![100]), 3));
    let episode = scope.episodes[0];
    let (start, _) = episode.end.expect("one loss is repaired");
    let rounds: Vec<(f64, f64)> = scope.windows().iter().map(|(t, w)| (t / RTT_S, *w)).collect();
    let regained = (start + regained(&scope, start, episode.before)) / RTT_S;
    evidence.exact("reno-slope", slope(&rounds, start / RTT_S + 2.0, regained - 2.0));
    evidence.exact("reno-slope-beyond", slope(&rounds, regained + 2.0, regained + 60.0));
    evidence
}

/// A second loss five seconds after the first, below the first W_max: K and the plateau follow from
/// the lowered W_max.
fn fast_convergence() -> Evidence {
    let mut evidence = Evidence::default();
    let cc = CcConfig::Cubic(without_hystart());
    let (_, scope) = run(&wire(&cc, Acks::Each, 100, Loss::Listed(vec![2000, 100_000]), 30));
    let second = scope.episodes[1];
    let (start, low) = second.end.expect("one loss is repaired");
    let (k, _) = cubic((1.0 + BETA) / 2.0 * second.before, low);
    let below = second.before < 0.99 * scope.episodes[0].before;
    evidence.exact(
        "fast-convergence",
        if below { scope.window_at(start + k) / second.before } else { f64::NAN },
    );
    evidence
}

/// Mean windows under periodic loss of one RTT, with the values of RFC 9438.
fn response(rtt_ms: u64, losses: &[(&str, u64, f64)]) -> (Vec<(f64, f64)>, Evidence) {
    let rtt_s = rtt_ms as f64 / 1e3;
    let mut evidence = Evidence::default();
    let mut points = Vec::new();
    let cc = CcConfig::Cubic(CubicConfig { fast_convergence: false, ..without_hystart() });
    for (p, every, expected) in losses {
        // Cycles until the end of slow start has no more effect on the curve, and measured cycles.
        let (forget, cycles) = if *every > 100_000 { (5, 6) } else { (20, 30) };
        let count = forget + cycles + 1;
        let seconds = (1.5 * (count * every) as f64 / expected * rtt_s) as u64 + 10;
        let loss = periodic(*expected as u64, *every, count);
        let mut world = wire(&cc, Acks::Each, rtt_ms, loss, seconds);
        // The flow ends with the losses; without them the window would grow with the cube of the
        // time.
        world.flows[0].size = Some(Bytes(count * every * MSS as u64));
        let (_, scope) = run(&world);
        let ours = scope.mean_window(forget as usize, rtt_s);
        evidence.exact(&format!("response-{rtt_ms}ms-{p}"), ours);
        points.push((1.0 / *every as f64, ours));
    }
    (points, evidence)
}

/// `AVG_W_cubic` of RFC 9438 section 5.1.
fn law(p: f64, rtt_s: f64) -> f64 {
    (C * (3.0 + BETA) / (4.0 * (1.0 - BETA))).powf(0.25) * (rtt_s / p).powf(0.75)
}

fn response_figure(rtt_ms: u64, points: Vec<(f64, f64)>) -> Plot {
    let rtt_s = rtt_ms as f64 / 1e3;
    let decades = (0..=40).map(|i| 1e-6 * 10f64.powf(f64::from(i) / 10.0));
    let reno: Vec<(f64, f64)> = decades.clone().map(|p| (p, (1.5 / p).sqrt())).collect();
    let grey: Vec<(f64, f64)> = decades.map(|p| (p, law(p, rtt_s))).collect();
    let frame = Frame::new(
        "",
        ("loss rate p", Scale::Logarithmic),
        ("mean window, segments", Scale::Logarithmic),
    )
    .with(Curve::new("periodic loss", Stroke::Marks, points))
    .with(Curve::new(
        "1.054 (RTT / p)^0.75 and Reno's sqrt(3 / 2p): the greater holds",
        Stroke::Published,
        grey,
    ))
    .with(Curve::new(
        "1.054 (RTT / p)^0.75 and Reno's sqrt(3 / 2p): the greater holds",
        Stroke::Published,
        reno,
    ));
    let title = format!("CUBIC: response function, RTT {rtt_ms} ms");
    let caption =
        "Mean window under periodic loss, every segment acknowledged, without fast convergence.";
    Plot::new(&format!("cubic-response-{rtt_ms}ms"), &title, caption, &[frame])
}

fn response_long() -> Evidence {
    let table = [
        ("0.01", 100, 12.0),
        ("0.001", 1_000, 38.0),
        ("0.0001", 10_000, 187.0),
        ("0.00001", 100_000, 1054.0),
        ("0.000001", 1_000_000, 5926.0),
    ];
    let (points, mut evidence) = response(100, &table);
    evidence.plots.push(response_figure(100, points));
    evidence
}

fn response_short() -> Evidence {
    let table = [
        ("0.01", 100, 12.0),
        ("0.001", 1_000, 38.0),
        ("0.0001", 10_000, 120.0),
        ("0.00001", 100_000, 379.0),
    ];
    let (points, mut evidence) = response(10, &table);
    evidence.plots.push(response_figure(10, points));
    evidence
}

/// Slow start into 100 Mbit/s with 50 ms and a FIFO of one bandwidth-delay product.
fn hystart() -> Evidence {
    let mut evidence = Evidence::default();
    let bdp = 100e6 / 8.0 * 0.05 / (MSS + 52.0);
    let mut frame =
        Frame::new("", ("time, s", Scale::FromZero), ("window, segments", Scale::FromZero));
    for (name, config) in [("with HyStart", CubicConfig::default()), ("without", without_hystart())]
    {
        let with = config.hystart != HyStart::Off;
        let flows = vec![flow(&CcConfig::Cubic(config), Acks::Delayed, 50)];
        let mut world = link(flows, 100, 50, 1, 5);
        world.sample_every = Duration::from_millis(5);
        let (_, scope) = run(&world);
        let (end, window) = scope.slow_start_end.unwrap_or((f64::NAN, f64::NAN));
        if with {
            let lost = scope.losses.iter().filter(|at| **at <= end).count();
            evidence.exact("hystart-losses", lost as f64);
            evidence.exact("hystart-exit", window / bdp);
        } else {
            evidence.exact("hystart-off-losses", scope.losses.len() as f64);
        }
        frame = frame.with(Curve::new(name, Stroke::Line, scope.windows()));
    }
    let capacity = vec![(0.0, 2.0 * bdp), (5.0, 2.0 * bdp)];
    let frame = frame.with(Curve::new("BDP and buffer", Stroke::Published, capacity));
    let caption = "100 Mbit/s, 50 ms, a FIFO of one bandwidth-delay product.";
    evidence.plots.push(Plot::new("cubic-hystart", "CUBIC: HyStart", caption, &[frame]));
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let cc = CcConfig::Cubic(CubicConfig::default());
    let (indices, frame) = convergence(&cc, 20, 40);
    evidence.random("jain", indices);
    evidence.random("rtt-share-fifo", rtt_exponents(&cc, 200));
    let caption = "20 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    evidence.plots.push(Plot::new("cubic-fairness", "CUBIC: convergence", caption, &[frame]));
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_function_has_the_values_of_the_rfcs_first_table() {
        for (p, window) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0), (1e-8, 187_400.0)] {
            assert!((law(p, 0.1) / window - 1.0).abs() < 0.003, "{p}");
        }
    }

    #[test]
    fn the_cubic_starts_at_beta_and_is_flat_at_w_max() {
        let (k, w) = cubic(1000.0, 700.0);
        assert!((k - 9.0856).abs() < 1e-3);
        assert!((w(0.0) - 700.0).abs() < 1e-6 && (w(k) - 1000.0).abs() < 1e-9);
    }
}
