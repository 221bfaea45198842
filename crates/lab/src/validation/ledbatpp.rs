//! Measurements of LEDBAT++'s cases.

use super::scope::{
    Acks, MSS, PAYLOAD, Scope, delivered_between, flow, jain, link, periodic, run, slope, spans,
    utilisation, wire,
};
use super::shared::{SEEDS, goodput, meeting, second_start, share_beside_new_reno};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use crate::stats::mean;
use justfull_base::Duration;
use justfull_base::stats::quantile;
use justfull_queue::Limit;
use justfull_sim::dumbbell::{Loss, Sample};
use justfull_tcp::CcConfig;
use justfull_tcp::cc::ledbatpp::LedbatppConfig;

pub(super) const EXPERIMENTS: &[Experiment] =
    &[slow_start, slopes, one_flow, drift, latecomers, beside_new_reno, beside_cubic];

/// The path of the cases with a queue; its FIFO holds four bandwidth-delay products.
const MBIT_S: u64 = 20;
const RTT_MS: u64 = 40;
const BDPS: u64 = 4;
/// Bytes of such a FIFO.
const FIFO: Limit = Limit::Bytes(BDPS * MBIT_S * 125 * RTT_MS);
/// The target, seconds.
const TARGET_S: f64 = 0.06;
/// End of the run of one flow, seconds.
const END_S: f64 = 60.0;
/// From this time on after the second flow's start, to that one, flows are compared, seconds.
const LATE: [f64; 2] = [60.0, 180.0];

fn control(slowdowns: bool) -> CcConfig {
    CcConfig::Ledbatpp(LedbatppConfig { slowdowns, ..LedbatppConfig::default() })
}

/// Packets that a link of `mbit_s` transmits in a second.
fn packets_per_s(mbit_s: u64) -> f64 {
    mbit_s as f64 * 1e6 / 8.0 * PAYLOAD / MSS
}

/// RTT without a queue over a link of `mbit_s`, seconds.
fn base_s(mbit_s: u64) -> f64 {
    RTT_MS as f64 / 1e3 + 1.0 / packets_per_s(mbit_s)
}

fn seconds(sample: &Sample) -> f64 {
    sample.at.as_secs_f64()
}

/// Growth in a round while nothing queues.
fn slow_start() -> Evidence {
    const RTT_S: f64 = 0.1;
    let mut evidence = Evidence::default();
    let (_, scope) = run(&wire(&control(true), Acks::Each, 100, Loss::Never, 2));
    let logarithms: Vec<(f64, f64)> =
        scope.windows().iter().map(|(t, w)| (t / RTT_S, w.ln())).collect();
    evidence.exact("slow-start", slope(&logarithms, 8.0, 18.0).exp());
    evidence
}

/// One loss ends slow start; after the slowdown that follows, the window grows in rounds. 400
/// rounds.
fn slopes() -> Evidence {
    let mut evidence = Evidence::default();
    for (id, rtt_ms) in [("slope-10", 10), ("slope-100", 100), ("slope-200", 200)] {
        let rtt_s = rtt_ms as f64 / 1e3;
        let world = wire(&control(true), Acks::Each, rtt_ms, periodic(100, 1, 1), 2 * rtt_ms / 5);
        let (_, scope) = run(&world);
        let samples = scope.first();
        let begin = spans(samples, |s| s.phase == "ramp")[0].1;
        let end = spans(samples, |s| s.phase == "avoidance" && seconds(s) >= begin)[0].1;
        let rounds: Vec<(f64, f64)> =
            scope.windows().iter().map(|(t, w)| (t / rtt_s, *w)).collect();
        evidence.exact(id, slope(&rounds, begin / rtt_s + 2.0, end / rtt_s - 1.0));
        if rtt_ms == 100 {
            let episode = scope.episodes[0];
            let (_, after) = episode.end.expect("one loss is repaired");
            evidence.exact("halving", after / episode.before);
        }
    }
    evidence
}

/// Time in the queue by the smoothed RTT, between slowdowns: (seconds, ms).
fn queued(samples: &[Sample], mbit_s: u64) -> Vec<(f64, f64)> {
    let steady = samples.iter().filter(|s| s.phase == "avoidance");
    steady.map(|s| (seconds(s), (s.srtt.as_secs_f64() - base_s(mbit_s)) * 1e3)).collect()
}

/// The median of `points` with `from` <= x <= `to`.
fn median(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let within = points.iter().filter(|p| from <= p.0 && p.0 <= to);
    let mut values: Vec<f64> = within.map(|p| p.1).collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5).unwrap_or(f64::NAN)
}

fn one_flow() -> Evidence {
    let mut evidence = Evidence::default();
    let flows = vec![flow(&control(true), Acks::Delayed, RTT_MS)];
    let mut world = link(flows, MBIT_S, RTT_MS, BDPS, END_S as u64);
    world.sample_every = Duration::from_millis(4);
    let (_, scope) = run(&world);
    let samples = scope.first();
    let (exit, window) = scope.slow_start_end.expect("slow start ends");
    let held = packets_per_s(MBIT_S) * (base_s(MBIT_S) + 0.75 * TARGET_S);
    evidence.exact("exit", window / held);
    cycles(&mut evidence, samples, exit);
    let least = samples.iter().filter(|s| seconds(s) > exit).map(|s| s.cwnd).min();
    evidence.exact("slowdown-window", least.map_or(f64::NAN, |bytes| bytes as f64 / MSS));
    evidence.exact("queue", median(&queued(samples, MBIT_S), 20.0, END_S));
    evidence.exact("losses", scope.losses.len() as f64);
    let share = utilisation(samples, MBIT_S, 10.0, END_S);
    evidence.formula("utilisation", expected_utilisation(), vec![share]);
    evidence.plots.push(sawtooth(&scope));
    evidence
}

/// The smoothed RTT at `at`, seconds.
fn srtt_at(samples: &[Sample], at: f64) -> f64 {
    samples.iter().find(|s| seconds(s) >= at).map_or(f64::NAN, |s| s.srtt.as_secs_f64())
}

/// The times of the slowdowns after slow start ended at `exit`.
fn cycles(evidence: &mut Evidence, samples: &[Sample], exit: f64) {
    let frozen = spans(samples, |s| s.phase == "slowdown");
    let wait = frozen[0].0 - exit;
    evidence.exact("first-slowdown", wait / srtt_at(samples, exit));
    let freezes: Vec<f64> =
        frozen.iter().map(|(begin, end)| (end - begin) / srtt_at(samples, *begin)).collect();
    evidence.exact("freeze", mean(&freezes).unwrap_or(f64::NAN));
    let whole = spans(samples, |s| matches!(s.phase, "slowdown" | "ramp"));
    let ratios: Vec<f64> =
        whole.windows(2).map(|w| (w[1].0 - w[0].0) / (w[0].1 - w[0].0)).collect();
    evidence.exact("cycle", mean(&ratios).unwrap_or(f64::NAN));
}

/// The share of the link over a slowdown and nine times its length. The window before, `whole`,
/// holds the path and the target; two segments leave each RTT once the window has drained; in the
/// ramp a third of what is acknowledged is added, in rounds of the RTT while nothing queues and at
/// the link's rate from then on.
fn expected_utilisation() -> f64 {
    const LEAST: f64 = 2.0;
    let (rate, base) = (packets_per_s(MBIT_S), base_s(MBIT_S));
    let divisor = (2.0 * TARGET_S / base).ceil();
    let (path, whole) = (rate * base, rate * (base + TARGET_S));
    let frozen = 2.0 * (base + TARGET_S);
    let rounds = (path / LEAST).ln() / (1.0 + 1.0 / divisor).ln();
    let length = frozen + rounds * base + (whole - path) * divisor / rate;
    let trickle = LEAST * (base + TARGET_S) / base;
    let sent = trickle + (divisor + 1.0) * (whole - LEAST);
    1.0 - (length - sent / rate) / (10.0 * length)
}

fn sawtooth(scope: &Scope) -> Plot {
    let shown = |s: &&Sample| seconds(s) < 25.0;
    let early = || scope.first().iter().filter(shown);
    let windows = early().map(|s| (seconds(s), s.cwnd as f64 / MSS)).collect();
    let rtts = early().map(|s| (seconds(s), s.srtt.as_secs_f64() * 1e3)).collect();
    let aim = (base_s(MBIT_S) + TARGET_S) * 1e3;
    let level = Curve::new("RTT and target", Stroke::Published, vec![(0.0, aim), (25.0, aim)]);
    let frame =
        |title, label| Frame::new(title, ("time, s", Scale::FromZero), (label, Scale::FromZero));
    let frames = [
        frame("window", "segments").with(Curve::new("LEDBAT++", Stroke::Line, windows)),
        frame("smoothed RTT", "ms").with(Curve::new("LEDBAT++", Stroke::Line, rtts)).with(level),
    ];
    let caption = "One flow over 20 Mbit/s and 40 ms with a FIFO of four bandwidth-delay products.";
    Plot::new("ledbatpp-slowdowns", "LEDBAT++: slowdowns", caption, &frames)
}

/// More than the ten minutes of the history of delays, with a FIFO of eight products.
fn drift() -> Evidence {
    const SLOW_MBIT_S: u64 = 5;
    let mut evidence = Evidence::default();
    for (id, slowdowns) in [("drift", true), ("drift-without", false)] {
        let flows = vec![flow(&control(slowdowns), Acks::Delayed, RTT_MS)];
        let (_, scope) = run(&link(flows, SLOW_MBIT_S, RTT_MS, 2 * BDPS, 800));
        evidence.exact(id, median(&queued(scope.first(), SLOW_MBIT_S), 660.0, 800.0));
    }
    evidence
}

/// A flow starts in the queue of another, with a FIFO of eight products.
fn latecomers() -> Evidence {
    let mut evidence = Evidence::default();
    let mut frames = Vec::new();
    for slowdowns in [false, true] {
        let (mut shares, mut indices, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 1..=SEEDS {
            let buffer_ms = 2 * BDPS * RTT_MS;
            let mut world = meeting(&control(slowdowns), MBIT_S, [RTT_MS, RTT_MS], buffer_ms, seed);
            let [from, to] = LATE.map(|late| second_start(seed) + late);
            world.duration = Duration::from_millis((to * 1e3) as u64 + 1);
            world.sample_every = Duration::from_millis(RTT_MS);
            let (_, scope) = run(&world);
            let bytes = [0, 1].map(|i: usize| delivered_between(&scope.series.flows[i], from, to));
            shares.push(bytes[1] / (bytes[0] + bytes[1]));
            indices.push(jain(&bytes));
            queues.push(median(&queued(&scope.series.flows[0], MBIT_S), from, to));
            if seed == 1 {
                let title = if slowdowns { "with slowdowns" } else { "without slowdowns" };
                frames.push(side_by_side(title, ["first flow", "second flow"], &scope));
            }
        }
        if slowdowns {
            evidence.random("latecomer", shares);
            evidence.random("jain", indices);
            evidence.random("queue-two", queues);
        } else {
            evidence.random("latecomer-without", shares);
        }
    }
    let caption = "20 Mbit/s, 40 ms, a FIFO of eight bandwidth-delay products; the second flow \
                   starts after 10 s in the queue of the first.";
    evidence.plots.push(Plot::new("ledbatpp-latecomer", "LEDBAT++: a latecomer", caption, &frames));
    evidence
}

/// Goodput of two flows over time.
fn side_by_side(title: &str, names: [&str; 2], scope: &Scope) -> Frame {
    let y = ("goodput over 1 s, Mbit/s", Scale::FromZero);
    let frame = Frame::new(title, ("time, s", Scale::FromZero), y);
    names.iter().zip(&scope.series.flows).fold(frame, |frame, (name, samples)| {
        frame.with(Curve::new(name, Stroke::Line, goodput(samples)))
    })
}

/// The share of LEDBAT++, 20 to 80 s after a flow under `other` has started beside it, for each
/// seed, and the goodput of both over time under the first seed.
fn share_before(other: &str, limit: Limit) -> (Vec<f64>, Frame) {
    let mut shares = Vec::new();
    let mut frames = Vec::new();
    for seed in 1..=SEEDS {
        let mut world = meeting(&control(true), MBIT_S, [RTT_MS, RTT_MS], RTT_MS, seed);
        world.flows[1].sender.cc = CcConfig::by_name(other).expect("it ships");
        world.limit = limit;
        let (_, scope) = run(&world);
        let from = second_start(seed) + 20.0;
        let [ours, theirs] =
            [0, 1].map(|i: usize| delivered_between(&scope.series.flows[i], from, from + 60.0));
        shares.push(ours / (ours + theirs));
        if seed == 1 {
            frames.push(side_by_side("", ["LEDBAT++", other], &scope));
        }
    }
    (shares, frames.remove(0))
}

fn beside_new_reno() -> Evidence {
    let mut evidence = Evidence::default();
    evidence.random("beside-new-reno", share_before("new_reno", FIFO).0);
    let small = Limit::Bytes(MBIT_S * 125 * RTT_MS);
    evidence.random("beside-new-reno-1", share_before("new_reno", small).0);
    evidence.random("after-new-reno", share_beside_new_reno(&control(true), Some(FIFO)));
    evidence
}

fn beside_cubic() -> Evidence {
    let mut evidence = Evidence::default();
    let (shares, frame) = share_before("cubic", FIFO);
    evidence.random("beside-cubic", shares);
    let caption = "20 Mbit/s, 40 ms, a FIFO of four bandwidth-delay products; CUBIC starts after \
                   10 s.";
    evidence.plots.push(Plot::new("ledbatpp-cubic", "LEDBAT++ beside CUBIC", caption, &[frame]));
    evidence
}
