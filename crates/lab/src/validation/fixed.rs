//! Measurements of a fixed window's cases.

use super::scope::{Acks, MSS, PAYLOAD, delivered_between, flow, link, run, wire};
use super::shared::SEEDS;
use super::{Evidence, Experiment};
use crate::model::plot::{Curve, Frame, Plot, Scale, Stroke};
use justfull_base::{Duration, Instant};
use justfull_queue::Limit;
use justfull_sim::DumbbellConfig;
use justfull_sim::dumbbell::Loss;
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{CcConfig, Receiver, Segment, Sender};

pub(super) const EXPERIMENTS: &[Experiment] = &[rates, losses, random_loss, set_window];

/// The path of Diarra et al. 2022 section 3.5.
const MBIT_S: u64 = 15;
const RTT_MS: u64 = 20;
/// Its RTT including the transmission time of one packet on the link, seconds.
const LOOP_S: f64 = RTT_MS as f64 / 1e3 + packet_s();

/// Transmission time of a full packet on the link, seconds.
const fn packet_s() -> f64 {
    MSS / PAYLOAD * 8.0 / (MBIT_S as f64 * 1e6)
}

fn control(segments: u32) -> CcConfig {
    CcConfig::Fixed(FixedConfig { segments, ..FixedConfig::default() })
}

fn path(segments: u32) -> DumbbellConfig {
    let mut config =
        link(vec![flow(&control(segments), Acks::Each, RTT_MS)], MBIT_S, RTT_MS, 1, 30);
    config.limit = Limit::Unlimited;
    config
}

/// Payload rate from the second second on, Mbit/s, and the smoothed RTT at the end, seconds.
fn rate(config: &DumbbellConfig) -> (f64, f64) {
    let (_, scope) = run(config);
    let samples = scope.first();
    let srtt = samples.last().map_or(f64::NAN, |s| s.srtt.as_secs_f64());
    let end = config.duration.as_secs_f64();
    (delivered_between(samples, 1.0, end) * 8.0 / 1e6 / (end - 1.0), srtt)
}

/// Payload rate of a window of `segments` on the path, Mbit/s.
fn law(segments: u32) -> f64 {
    let window = f64::from(segments) * MSS * 8.0 / 1e6 / LOOP_S;
    window.min(MBIT_S as f64 * PAYLOAD)
}

fn rates() -> Evidence {
    let mut evidence = Evidence::default();
    let mut points = Vec::new();
    for (id, segments) in
        [("rate-2", 2), ("", 5), ("", 10), ("rate-20", 20), ("", 30), ("", 40), ("rate-60", 60)]
    {
        let (ours, srtt) = rate(&path(segments));
        points.push((f64::from(segments), ours));
        if !id.is_empty() {
            evidence.formula(id, law(segments), vec![ours]);
        }
        if segments == 60 {
            evidence.formula("rtt-60", 60.0 * packet_s() * 1e3, vec![srtt * 1e3]);
        }
    }
    let published = (0..=60).map(|n| (f64::from(n), law(n)));
    let frame = Frame::new(
        "",
        ("window, segments", Scale::FromZero),
        ("payload delivered, Mbit/s", Scale::FromZero),
    )
    .with(Curve::new("fixed", Stroke::Marks, points))
    .with(Curve::new(
        "n MSS / RTT, up to the link's rate",
        Stroke::Published,
        published.collect(),
    ));
    let caption = "One flow over 15 Mbit/s and 20 ms.";
    evidence.plots.push(Plot::new("fixed-rate", "Fixed window: rate", caption, &[frame]));
    evidence
}

fn losses() -> Evidence {
    let mut evidence = Evidence::default();
    let (_, scope) = run(&wire(&control(20), Acks::Each, 40, Loss::Listed(vec![1000]), 5));
    let episode = scope.episodes[0];
    let (_, after) = episode.end.expect("one loss is repaired");
    evidence.exact("loss-window", after / episode.before);
    evidence
}

fn random_loss() -> Evidence {
    const P: f64 = 0.01;
    let mut evidence = Evidence::default();
    let ours = |seed| {
        let mut config = wire(&control(20), Acks::Each, 40, Loss::Random(P), 200);
        config.seed = seed;
        rate(&config).0
    };
    let published = 20.0 * MSS * 8.0 / 1e6 / 0.04 * (1.0 - P);
    evidence.formula("loss-rate", published, (1..=SEEDS).map(ours).collect());
    evidence
}

/// Sends over a path of 20 ms without a queue, and halves the window in the middle: the segments of
/// ten round trips after, divided by the segments of ten before.
fn set_window() -> Evidence {
    const ROUNDS: u32 = 10;
    let mut evidence = Evidence::default();
    let greedy = flow(&control(20), Acks::Each, RTT_MS);
    let mut sender = Sender::new(&greedy.sender).expect("the settings are sound");
    let mut receiver = Receiver::new(&greedy.receiver).expect("the settings are sound");
    sender.write(u64::MAX);
    let mut now = Instant::ZERO;
    let mut rounds = |sender: &mut Sender| {
        let mut sent = 0;
        for _ in 0..ROUNDS {
            let flight: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            sent += flight.len();
            now += Duration::from_millis(RTT_MS);
            for segment in &flight {
                if let Some(ack) = receiver.on_segment(now, segment, false) {
                    sender.on_ack(now, &ack);
                }
            }
        }
        sent as f64
    };
    let before = rounds(&mut sender);
    let taken = sender.set_window(sender.cwnd() / 2);
    let after = rounds(&mut sender);
    evidence.exact("set-window", if taken { after / before } else { f64::NAN });
    evidence
}
