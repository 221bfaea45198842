//! Swarm: random worlds of every kind of traffic over a random cell and uplink, run twice.
//!
//! A failure prints the seed of its world; `JUSTFULL_SWARM_SEED=n cargo test -p justfull-sim --test swarm` runs that
//! world alone, and `JUSTFULL_SWARM_WORLDS=n` runs the first n.

mod common;

use common::{app, cell, ms, ping, run, tcp, udp, upload, world};
use justfull_base::{BitRate, Bytes, Duration, Lateness, Ratio, Rng};
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, QueueConfig, aqm, discipline};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, Fit, MarkovConfig, RowsConfig};
use justfull_ran::limiter::{
    Bdp5gConfig, DrqlConfig, DynRlcConfig, EBdp5gConfig, FixedConfig, LimiterConfig,
};
use justfull_ran::pacer::{PacerConfig, UspConfig};
use justfull_ran::scheduler::{DrrConfig, RoundRobinConfig, SdapSchedulerConfig, StrictPriorityConfig};
use justfull_ran::{PollConfig, StackConfig, TieOrder};
use justfull_sim::results::{Distribution, RunResult};
use justfull_sim::traffic::{CbrConfig, ObjectSize, OnOffConfig, PageConfig, Span, VideoConfig, VoipConfig};
use justfull_sim::{FlowConfig, GrantConfig, Interval, Traffic, WorldConfig};
use justfull_tcp::{CcConfig, SenderConfig};
use std::sync::Arc;

const WORLDS: u64 = 100;

/// The seeds to run: all, or the one that the environment asks for.
fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    match number("JUSTFULL_SWARM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("JUSTFULL_SWARM_WORLDS").unwrap_or(WORLDS)).collect(),
    }
}

/// Names the world when its thread panics.
struct Named(u64, String);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("world {} failed (JUSTFULL_SWARM_SEED={} runs it alone): {}", self.0, self.0, self.1);
        }
    }
}

fn pick<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize].clone()
}

fn queue(rng: &mut Rng) -> QueueConfig {
    let limit =
        pick(rng, &[Limit::Unlimited, Limit::Packets(10), Limit::Packets(300), Limit::Bytes(100_000)]);
    let codel = AqmConfig::CoDel(aqm::codel::Config::default());
    let sfq = DisciplineConfig::Sfq(discipline::sfq::Config::default());
    let aqm = pick(rng, &[AqmConfig::default(), codel]);
    QueueConfig { limit, aqm, discipline: pick(rng, &[DisciplineConfig::default(), sfq]) }
}

fn poll(rng: &mut Rng, least_us: u64) -> PollConfig {
    let period = Duration::from_micros(least_us + rng.below(4 * least_us));
    let lateness = match rng.below(3) {
        0 => Lateness::Exact,
        1 => Lateness::Uniform { max: Duration::from_nanos(period.as_nanos() / 2) },
        _ => Lateness::Missed { probability: Ratio(0.2) },
    };
    PollConfig { lateness, ..PollConfig::every(period) }
}

fn stack(rng: &mut Rng, seed: u64) -> StackConfig {
    let unit = pick(rng, &[CapacityUnit::Packets, CapacityUnit::Bytes]);
    let mut stack = cell(1, unit, Limit::Packets(100));
    let slot = pick(rng, &[ms(1), ms(10)]);
    stack.mac.slot = PollConfig::every(slot);
    stack.mac.overhead = Bytes(rng.below(4));
    let amounts: Vec<u64> = (0..20).map(|_| rng.below(12)).chain([5]).collect();
    stack.channel = match rng.below(3) {
        0 => ChannelConfig::Rows(RowsConfig { amounts, unit, interval: slot, ..RowsConfig::default() }),
        1 => ChannelConfig::Markov(MarkovConfig {
            fit: Fit::TrainLike,
            step: ms(100),
            unit,
            ..Default::default()
        }),
        _ => ChannelConfig::Markov(MarkovConfig { unit, interval: slot, ..MarkovConfig::default() }),
    };
    stack.rlc.queue = queue(rng);
    stack.rlc.limiter = match rng.below(6) {
        0 => LimiterConfig::default(),
        1 => LimiterConfig::Fixed(FixedConfig::default()),
        2 => LimiterConfig::DynRlc(DynRlcConfig::default()),
        3 => LimiterConfig::Drql(DrqlConfig::default()),
        4 => LimiterConfig::EBdp5g(EBdp5gConfig::default()),
        _ => LimiterConfig::Bdp5g(Bdp5gConfig::default()),
    };
    stack.sdap.poll = poll(rng, 50);
    stack.sdap.queue = queue(rng);
    stack.sdap.scheduler = match rng.below(4) {
        0 => SdapSchedulerConfig::default(),
        1 => SdapSchedulerConfig::RoundRobin(RoundRobinConfig {}),
        2 => SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {}),
        _ => SdapSchedulerConfig::Drr(DrrConfig::default()),
    };
    stack.upf.poll = poll(rng, 100);
    stack.upf.queue = queue(rng);
    if rng.chance(0.5) {
        stack.sdap.pacer = PacerConfig::Usp(UspConfig::default());
    }
    stack.tie_order = pick(rng, &[TieOrder::TopDown, TieOrder::BottomUp]);
    stack.seed = seed;
    for _ in 0..rng.below(3) {
        stack.ues.push(stack.ues[0].clone());
    }
    stack
}

fn pages(rng: &mut Rng, cc: CcConfig) -> PageConfig {
    PageConfig {
        reading: Span::Constant(ms(100)),
        embedded: ObjectSize::Constant(Bytes(1 + rng.below(30_000))),
        connections: 1 + rng.below(6) as u32,
        sender: SenderConfig { cc, ..SenderConfig::default() },
        ..PageConfig::default()
    }
}

fn flow(rng: &mut Rng, i: u64, ues: u64) -> FlowConfig {
    let mean = Duration::from_micros(500 + rng.below(30_000));
    let normal = Interval::Normal { mean, sd: Duration::from_nanos(mean.as_nanos() / 3) };
    let interval = pick(rng, &[Interval::Constant(mean), normal]);
    let cc = match rng.below(3) {
        0 => CcConfig::NewReno(Default::default()),
        1 => CcConfig::Cubic(Default::default()),
        _ => CcConfig::Bbr(Default::default()),
    };
    let size = rng.chance(0.4).then(|| 1 + rng.below(500_000));
    let half = Span::Exponential { exponential: ms(1 + rng.below(100)) };
    let spans = rng.chance(0.5).then_some(half);
    let mut flow = match rng.below(12) {
        0 => udp(&format!("udp{i}"), 1 + rng.below(1_472), interval),
        1 => ping(&format!("ping{i}"), rng.below(1_473), interval),
        2 => app(Traffic::Cbr(CbrConfig { rate: BitRate(100_000), payload: Bytes(500) })),
        3 => {
            let on_off = OnOffConfig { rate: BitRate(3_000_000), payload: Bytes(900), on: half, off: half };
            app(Traffic::OnOff(on_off))
        }
        4 => app(Traffic::Voip(VoipConfig { talk: spans, silence: spans, ..VoipConfig::default() })),
        5 => app(Traffic::Video(VideoConfig { rate: BitRate(2_000_000), ..VideoConfig::default() })),
        6 => app(Traffic::Page(Box::new(pages(rng, cc)))),
        7 | 8 => upload(&format!("up{i}"), cc, size),
        _ => tcp(&format!("tcp{i}"), cc, size),
    };
    flow.name = format!("{}{i}", flow.traffic.kind()).into();
    if let Traffic::Tcp { sender, .. } = Arc::make_mut(&mut flow.traffic) {
        sender.ecn = rng.chance(0.3);
    }
    flow.ue = rng.below(ues) as u32;
    flow.tuple.destination_port = i as u16;
    flow.low_latency = rng.chance(0.3);
    flow.start = ms(rng.below(500));
    flow.stop = rng.chance(0.3).then(|| ms(600 + rng.below(1_000)));
    flow.extra_delay = ms(pick(rng, &[0, 0, 25]));
    flow
}

fn draw(seed: u64) -> WorldConfig {
    let mut rng = Rng::stream(seed, "swarm");
    let stack = stack(&mut rng, seed);
    let ues = stack.ues.len() as u64;
    let flows = (0..1 + rng.below(6)).map(|i| flow(&mut rng, i, ues)).collect();
    let mut config = world(stack, flows, ms(2_000));
    config.core_rate = BitRate(pick(&mut rng, &[0, 1_000_000_000, 10_000_000]));
    config.uplink.limit = Bytes(pick(&mut rng, &[3_000, 4_000_000]));
    match rng.below(3) {
        0 => {}
        1 => config.uplink.rate = BitRate(5_000_000),
        _ => {
            config.uplink.grants = Some(GrantConfig {
                configured: rng.chance(0.3),
                sr_period: ms(1 + rng.below(40)),
                grant_delay: ms(rng.below(10)),
                grant: Bytes(40 + rng.below(5_000)),
                ..GrantConfig::default()
            });
        }
    }
    config.air_delay = ms(rng.below(6));
    config.warmup = ms(pick(&mut rng, &[0, 300]));
    config.entity_backlog = rng.chance(0.5);
    config
}

fn assert_ordered(d: &Distribution, what: &str) {
    if d.count == 0 {
        return;
    }
    let percentiles = [d.p25_ms, d.p50_ms, d.p75_ms, d.p90_ms, d.p95_ms, d.p99_ms, d.p999_ms];
    assert!(percentiles.is_sorted(), "{what}: {percentiles:?}");
    assert!(d.min_ms <= d.mean_ms + 1e-9 && d.mean_ms <= d.max_ms + 1e-9, "{what}: the mean is within {d:?}");
    assert!(d.cdf.is_sorted() && d.cdf.len() <= 200, "{what}: a distribution function rises");
}

fn assert_sound(config: &WorldConfig, result: &RunResult) {
    let c = result.conservation;
    assert_eq!(c.entered, c.delivered + c.dropped + c.queued);
    assert!(result.cell.used <= result.cell.offered);
    let up = &result.uplink;
    assert_eq!(up.entered, up.delivered + up.overflow_drops + up.queued);
    assert_ordered(&up.wait, "the uplink");
    for (flow, settings) in result.flows.iter().zip(&config.flows) {
        let name = &flow.name;
        assert!(flow.delivered_packets + flow.dropped_packets <= flow.entered_packets, "{name}");
        assert_ordered(&flow.delay, name);
        assert_ordered(&flow.rtt, name);
        assert_eq!(flow.bound.count, if settings.low_latency { flow.delay.count } else { 0 });
        assert!(flow.bound.mean_ms <= flow.delay.mean_ms + 1e-9, "{name} beats the bound");
        if flow.rtt.count > 0 {
            let least = config.core_delay + config.uplink.delay + config.air_delay;
            let least = least + settings.extra_delay + settings.extra_delay;
            assert!(
                flow.rtt.min_ms >= least.as_millis_f64() - 1e-9,
                "{name}: a round trip of {}",
                flow.rtt.min_ms
            );
        }
        if let Some(frames) = &flow.frames {
            assert!(frames.completed + frames.broken <= frames.sent, "{name}: {frames:?}");
            assert_ordered(&frames.completion, name);
        }
        if let Some(voip) = &flow.voip {
            assert!(
                (1.0..=4.5).contains(&voip.mos) && (0.0..=100.0).contains(&voip.loss_percent),
                "{name}: {voip:?}"
            );
        }
        if let Some(pages) = &flow.pages {
            assert!(pages.loaded <= pages.begun, "{name}: {pages:?}");
        }
        if let Some(ping) = flow.ping {
            assert!(ping.replies + ping.lost <= ping.requests, "{name}: {ping:?}");
            assert_eq!(ping.replies, flow.rtt.count, "{name}");
        }
        if let Traffic::Tcp { size: Some(size), .. } | Traffic::Upload { size: Some(size), .. } =
            &*settings.traffic
        {
            let window_s = result.duration_s - result.warmup_s;
            let received = flow.goodput_mbit_s * 1e6 / 8.0 * window_s;
            assert!(received <= size.0 as f64 + 0.5, "{name} received {received} of {size}");
        }
    }
}

#[test]
fn random_worlds_are_sound_and_the_same_when_run_again() {
    let (mut delivered, mut kinds) = (0, std::collections::BTreeSet::new());
    for seed in seeds() {
        let config = draw(seed);
        let _named = Named(seed, format!("{config:?}"));
        let result = run(&config);
        assert_sound(&config, &result);
        assert_eq!(result, run(&config), "the same world has the same result");
        delivered += result.conservation.delivered;
        kinds.extend(config.flows.iter().map(|f| f.traffic.kind()));
    }
    assert!(delivered > 0, "something is sent in some world");
    if seeds().len() >= WORLDS as usize {
        let all = ["cbr", "on_off", "page", "ping", "tcp", "udp", "upload", "video", "voip"];
        assert_eq!(Vec::from_iter(kinds), all, "every kind of traffic is in some world");
    }
}
