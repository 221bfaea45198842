//! Experiments shared by several controls: two competing flows.

use super::scope::{Acks, delivered_between, flow, jain, link, run};
use crate::model::plot::{Curve, Frame, Scale, Stroke};
use justfull_base::Duration;
use justfull_queue::Limit;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::Sample;
use justfull_tcp::CcConfig;

/// Seeds of experiments that depend on chance.
pub(super) const SEEDS: u64 = 5;

/// Start of the second flow, seconds: at another phase of the first flow's cycle for each seed.
pub(super) fn second_start(seed: u64) -> f64 {
    10.0 + 0.137 * seed as f64
}

fn start_of(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

/// Two flows of `rtts_ms` over a link; the second starts about 10 s later.
pub(super) fn meeting(
    cc: &CcConfig,
    mbit_s: u64,
    rtts_ms: [u64; 2],
    buffer_ms: u64,
    seed: u64,
) -> DumbbellConfig {
    let mut flows: Vec<_> = rtts_ms.iter().map(|rtt| flow(cc, Acks::Delayed, *rtt)).collect();
    flows[1].start = start_of(second_start(seed));
    let mut config = link(flows, mbit_s, buffer_ms, 1, 0);
    config.duration = start_of(second_start(seed) + 90.0);
    config.seed = seed;
    config
}

/// Jain's index over the bytes that two flows of equal RTT deliver from 30 to 90 s after the second
/// started, for each seed, and the goodput of both over time under the first seed.
pub(super) fn convergence(cc: &CcConfig, mbit_s: u64, rtt_ms: u64) -> (Vec<f64>, Frame) {
    let mut indices = Vec::new();
    let mut frame = Frame::new(
        "two flows of equal RTT",
        ("time, s", Scale::FromZero),
        ("goodput over 1 s, Mbit/s", Scale::FromZero),
    );
    for seed in 1..=SEEDS {
        let (_, scope) = run(&meeting(cc, mbit_s, [rtt_ms, rtt_ms], rtt_ms, seed));
        let met = second_start(seed);
        let shares: Vec<f64> = scope
            .series
            .flows
            .iter()
            .map(|f| delivered_between(f, met + 30.0, met + 90.0))
            .collect();
        indices.push(jain(&shares));
        if seed == 1 {
            for (name, samples) in
                ["first flow", "second flow"].into_iter().zip(&scope.series.flows)
            {
                frame = frame.with(Curve::new(name, Stroke::Line, goodput(samples)));
            }
        }
    }
    (indices, frame)
}

/// Goodput in each second: (seconds, Mbit/s).
pub(super) fn goodput(samples: &[Sample]) -> Vec<(f64, f64)> {
    let last = samples.last().map_or(0, |s| s.at.as_secs_f64() as u32);
    let each = |second: u32| {
        let end = f64::from(second + 1);
        (end, delivered_between(samples, f64::from(second), end) * 8.0 / 1e6)
    };
    (0..last).map(each).collect()
}

/// The exponent a of share_1 / share_2 = (RTT_2 / RTT_1)^a of two flows of 40 and 160 ms at one
/// FIFO of 100 ms, with RTTs that include the queue, for each seed.
pub(super) fn rtt_exponents(cc: &CcConfig, mbit_s: u64) -> Vec<f64> {
    let exponent = |seed| {
        let (_, scope) = run(&meeting(cc, mbit_s, [40, 160], 100, seed));
        let from = second_start(seed) + 10.0;
        let share = |i: usize| delivered_between(&scope.series.flows[i], from, from + 80.0);
        let rtt = |i: usize| {
            let late = scope.series.flows[i].iter().filter(|s| s.at.as_secs_f64() > from);
            let rtts: Vec<f64> = late.map(|s| s.srtt.as_secs_f64()).collect();
            crate::stats::mean(&rtts).unwrap_or(f64::NAN)
        };
        (share(0) / share(1)).ln() / (rtt(1) / rtt(0)).ln()
    };
    (1..=SEEDS).map(exponent).collect()
}

/// The share of a flow under `cc` beside a flow under NewReno that started about 10 s earlier, of
/// the bytes that both deliver from 20 to 80 s after its start, for each seed: 20 Mbit/s, 40 ms, a
/// FIFO of one bandwidth-delay product or of `limit`.
pub(super) fn share_beside_new_reno(cc: &CcConfig, limit: Option<Limit>) -> Vec<f64> {
    let share = |seed| {
        let mut config = meeting(cc, 20, [40, 40], 40, seed);
        config.flows[0].sender.cc = CcConfig::by_name("new_reno").expect("it ships");
        config.limit = limit.unwrap_or(config.limit);
        let (_, scope) = run(&config);
        let from = second_start(seed) + 20.0;
        let [reno, ours] =
            [0, 1].map(|i: usize| delivered_between(&scope.series.flows[i], from, from + 60.0));
        ours / (reno + ours)
    };
    (1..=SEEDS).map(share).collect()
}
