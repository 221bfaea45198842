//! Measurements of Westwood+'s cases.

use super::scope::{Acks, MSS, PAYLOAD, delivered_between, flow, link, run, utilisation, wire};
use super::shared::{SEEDS, convergence, rtt_exponents, share_beside_new_reno};
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use crate::stats::mean;
use justfull_base::Duration;
use justfull_queue::Limit;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::Loss;
use justfull_tcp::CcConfig;
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::cc::westwood::WestwoodConfig;

pub(super) const EXPERIMENTS: &[Experiment] =
    &[overflow, no_queue, small_buffer, response, lossy, fairness];

/// The path of all cases with a queue.
const MBIT_S: u64 = 20;
const RTT_MS: u64 = 40;
/// Payload of the link, bytes per second.
const FULL: f64 = MBIT_S as f64 * 1e6 / 8.0 * PAYLOAD;
/// Smallest RTT: transmission time of a packet plus propagation, seconds.
const BASE_S: f64 = RTT_MS as f64 / 1e3 + MSS / FULL;

fn control() -> CcConfig {
    CcConfig::Westwood(WestwoodConfig::default())
}

fn path(cc: &CcConfig, seconds: u64) -> DumbbellConfig {
    link(vec![flow(cc, Acks::Each, RTT_MS)], MBIT_S, RTT_MS, 1, seconds)
}

/// The last overflow of one flow, when the filters have settled.
fn overflow() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&path(&control(), 60));
    let last = scope.episodes.iter().rev().find_map(|episode| episode.end);
    let (_, after) = last.expect("the buffer overflows");
    evidence.exact("window-after-loss", after * MSS / (FULL * BASE_S));
    let frame = Frame::new("", ("time, s", Scale::FromZero), ("window, segments", Scale::FromZero))
        .with(Curve::new("Westwood+", Stroke::Line, scope.windows()))
        .with(Curve::new(
            "link rate times smallest RTT",
            Stroke::Published,
            [0.0, 60.0].map(|t| (t, FULL * BASE_S / MSS)).to_vec(),
        ));
    let caption = "One flow over 20 Mbit/s and 40 ms with a FIFO of one bandwidth-delay product.";
    let title = "Westwood+: the window at overflows";
    evidence.plots.push(Plot::new("westwood-window", title, caption, &[frame]));
    evidence
}

/// A loss without a queue, after the window has grown by a segment per round for a long time.
fn no_queue() -> Evidence {
    let mut evidence = Evidence::default();
    // Slow start ends at the 100th packet; the second loss comes about 60 rounds later.
    let loss = Loss::Listed(vec![100, 6000]);
    let (_, scope) = run(&wire(&control(), Acks::Each, 100, loss, 20));
    let episode = scope.episodes[1];
    let (_, after) = episode.end.expect("one loss is repaired");
    evidence.exact("no-loss-cut", after / episode.before);
    evidence
}

fn small_buffer() -> Evidence {
    let mut evidence = Evidence::default();
    let mut config = path(&control(), 60);
    config.limit = Limit::Bytes((MBIT_S * 1_000_000 / 8 * RTT_MS / 1000) / 4);
    let (_, scope) = run(&config);
    evidence.exact("small-buffer", utilisation(scope.first(), MBIT_S, 20.0, 60.0));
    evidence
}

/// Grieco and Mascolo 2004: segments per second at loss rate `p`, with an RTT and a queueing time
/// in seconds.
fn law(p: f64, rtt: f64, queueing: f64) -> f64 {
    ((1.0 - p) / p).sqrt() / (rtt * queueing).sqrt()
}

/// Segments that the other flow keeps in flight: about twice the capacity of the path.
const STANDING: u32 = 130;
const RESPONSE_S: f64 = 200.0;

/// Delivered segments per second, and the formula's value for the RTT of the run.
fn beside_a_queue(p: f64, seed: u64) -> (f64, f64) {
    let mut config = path(&control(), RESPONSE_S as u64);
    let standing = CcConfig::Fixed(FixedConfig { segments: STANDING, ..FixedConfig::default() });
    config.flows.push(flow(&standing, Acks::Each, RTT_MS));
    // By then the first flow has measured the empty path.
    config.flows[1].start = Duration::from_secs(1);
    config.limit = Limit::Unlimited;
    config.loss = Loss::Random(p);
    config.seed = seed;
    let (_, scope) = run(&config);
    let late = scope.first().iter().filter(|s| s.at.as_secs_f64() > 10.0);
    let rtts: Vec<f64> = late.map(|s| s.srtt.as_secs_f64()).collect();
    let rtt = mean(&rtts).unwrap_or(f64::NAN);
    let delivered = delivered_between(scope.first(), 10.0, RESPONSE_S) / MSS;
    (delivered / (RESPONSE_S - 10.0), law(p, rtt, rtt - BASE_S))
}

fn response() -> Evidence {
    let mut evidence = Evidence::default();
    let (mut ours, mut published) = (Vec::new(), Vec::new());
    for (id, p) in [("response-0.01", 0.01), ("response-0.003", 0.003), ("response-0.001", 0.001)] {
        let runs: Vec<(f64, f64)> = (1..=SEEDS).map(|seed| beside_a_queue(p, seed)).collect();
        let (rates, laws): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
        let law = mean(&laws).unwrap_or(f64::NAN);
        ours.push((p, mean(&rates).unwrap_or(f64::NAN)));
        published.push((p, law));
        evidence.formula(id, law, rates);
    }
    let frame = Frame::new(
        "",
        ("loss rate p", Scale::Logarithmic),
        ("segments delivered per second", Scale::Logarithmic),
    )
    .with(Curve::new("random loss", Stroke::Marks, ours))
    .with(Curve::new("Grieco and Mascolo 2004", Stroke::Published, published));
    let caption = "One flow over 20 Mbit/s and 40 ms beside a fixed window of 130 segments, which \
                   keeps a queue; the formula has the RTT that was measured.";
    let title = "Westwood+: response function";
    evidence.plots.push(Plot::new("westwood-response", title, caption, &[frame]));
    evidence
}

/// The same beside NewReno on the same path.
fn lossy() -> Evidence {
    let mut evidence = Evidence::default();
    let new_reno = CcConfig::by_name("new_reno").expect("it ships");
    let gain = |seed| {
        let delivered = |cc: &CcConfig| {
            let mut config = path(cc, 100);
            config.loss = Loss::Random(0.001);
            config.seed = seed;
            run(&config).0.flows[0].delivered as f64
        };
        delivered(&control()) / delivered(&new_reno)
    };
    evidence.random("lossy", (1..=SEEDS).map(gain).collect());
    evidence
}

fn fairness() -> Evidence {
    let mut evidence = Evidence::default();
    let (indices, frame) = convergence(&control(), MBIT_S, RTT_MS);
    evidence.random("jain", indices);
    evidence.random("rtt-share", rtt_exponents(&control(), MBIT_S));
    evidence.random("friendly", share_beside_new_reno(&control(), None));
    let caption = "20 Mbit/s, 40 ms, a FIFO of one bandwidth-delay product; the second flow \
                   starts after 10 s.";
    let title = "Westwood+: convergence";
    evidence.plots.push(Plot::new("westwood-fairness", title, caption, &[frame]));
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_by_hand() {
        // sqrt(99) / sqrt(0.09 x 0.04) = 9.9499 / 0.06.
        assert!((law(0.01, 0.09, 0.04) - 165.83).abs() < 0.01);
    }
}
