//! Random worlds: every kind of traffic over a random cell and uplink, run twice.

use crate::draws::{self, pick};
use crate::harness::{Reduction, World};
use crate::{reductions, wires};
use justfull_base::{BitRate, Bytes, Duration, Event, Instant, Ratio, Rng};
use justfull_queue::aqm::{L4SpanConfig, l4span};
use justfull_queue::{AqmConfig, DisciplineConfig, QueueConfig};
use justfull_ran::config::Hold;
use justfull_ran::limiter::{F1Config, LimiterNode};
use justfull_ran::{
    Leg, MacConfig, MarkingConfig, MarkingPlace, RlcModeConfig, Routing, SplitConfig,
};
use justfull_rapid::{Config, ControlConfig, EqualShareConfig, NoneConfig};
use justfull_run::floor::Floor;
use justfull_run::results::{FlowResult, RunResult};
use justfull_run::tap::Tap;
use justfull_run::traffic::{
    AbrConfig, BbaConfig, BolaConfig, CbrConfig, DashConfig, Http, InputConfig, MpcConfig,
    ObjectSize, OnOffConfig, PageConfig, PingConfig, RequestLaw, RequestSize, Span,
    ThroughputConfig, VideoCallConfig, VideoConfig, VoipConfig,
};
use justfull_run::{
    CellConfig, CellsConfig, FlowConfig, GrantConfig, HandoverConfig, Interval, Move, Place,
    ProxyConfig, ReportConfig, State, Stop, Traffic, Transport, TurnConfig, WorldConfig, XnConfig,
};
use justfull_tcp::rc::scream::ScreamEcn;
use justfull_tcp::rc::{GccConfig, RcConfig, ScreamConfig};
use justfull_tcp::{ReceiverConfig, Segment};
use justfull_testkit::{app, ms, world};
use std::fmt;
use std::sync::Arc;

/// A world and nothing else.
#[derive(Clone)]
pub(crate) struct Whole(WorldConfig);

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn pages(rng: &mut Rng) -> PageConfig {
    let http = pick(rng, &[Http::Parallel, Http::Http10, Http::Http11, Http::Http2, Http::Http3]);
    let most = if matches!(http, Http::Http11 | Http::Http2 | Http::Http3) { 1 } else { 6 };
    let law = RequestLaw { ln_mean: 5.93, ln_sd: 0.32 };
    let constant = RequestSize::Constant(Bytes(350));
    PageConfig {
        http,
        request: pick(rng, &[constant, RequestSize::LogNormal(law)]),
        reading: Span::Constant(ms(100)),
        embedded: ObjectSize::Constant(Bytes(1 + rng.below(30_000))),
        connections: 1 + rng.below(most) as u32,
        sender: wires::sender(rng),
        receiver: wires::receiver(rng),
        ..PageConfig::default()
    }
}

fn player(rng: &mut Rng) -> DashConfig {
    let least = 10_000 + rng.below(500_000);
    let low = ms(1 + rng.below(500));
    DashConfig {
        ladder: (1..=2 + rng.below(4)).map(|rung| BitRate(rung * least)).collect(),
        chunk: ms(100 + rng.below(400)),
        size_sd: Ratio(pick(rng, &[0.0, 0.2])),
        buffer: ms(1_100 + rng.below(2_000)),
        startup: ms(rng.below(600)),
        abr: pick(
            rng,
            &[
                AbrConfig::Bola(BolaConfig { low }),
                AbrConfig::Bba(BbaConfig { reservoir: ms(200), cushion: ms(400) }),
                AbrConfig::Mpc(MpcConfig::default()),
                AbrConfig::Throughput(ThroughputConfig::default()),
            ],
        ),
        sender: wires::sender(rng),
        receiver: wires::receiver(rng),
        ..DashConfig::default()
    }
}

fn traffic(rng: &mut Rng) -> Traffic {
    let mean = Duration::from_micros(500 + rng.below(30_000));
    let normal = Interval::Normal { mean, sd: Duration::from_nanos(mean.as_nanos() / 3) };
    let poisson = Interval::Exponential { exponential: mean };
    let interval = pick(rng, &[Interval::Constant(mean), normal, poisson]);
    let half = Span::Exponential { exponential: ms(1 + rng.below(100)) };
    match rng.below(12) {
        0 => Traffic::Udp { payload: Bytes(1 + rng.below(1_472)), interval },
        1 => {
            let [phase, jitter] = [5, 10].map(|us| Duration::from_micros(rng.below(us)));
            let from_ue = rng.chance(0.3).then_some(TurnConfig { phase, jitter });
            Traffic::Ping(PingConfig { payload: Bytes(rng.below(1_473)), interval, from_ue })
        }
        2 => Traffic::Cbr(CbrConfig { rate: BitRate(100_000), payload: Bytes(500) }),
        3 => {
            let (rate, payload) = (BitRate(3_000_000), Bytes(900));
            Traffic::OnOff(OnOffConfig { rate, payload, on: half, off: half })
        }
        4 => {
            let spans = rng.chance(0.5).then_some(half);
            let (jitter_buffer, concealment) = (ms(rng.below(200)), rng.chance(0.5));
            Traffic::Voip(VoipConfig { jitter_buffer, concealment, talk: spans, silence: spans })
        }
        5 => {
            let fps = pick(rng, &[24, 60, 120]);
            let rate = BitRate(100_000 + rng.below(20_000_000));
            let jitter_sd = Duration::from_micros(rng.below(2_000));
            if rng.chance(0.5) {
                return Traffic::VideoCall(Box::new(video_call(rng, fps, rate)));
            }
            let inputs = rng.chance(0.3).then(InputConfig::default);
            Traffic::Video(VideoConfig { fps, rate, jitter_sd, inputs, ..VideoConfig::default() })
        }
        6 if rng.chance(0.4) => Traffic::Dash(Box::new(player(rng))),
        6 => Traffic::Page(Box::new(pages(rng))),
        n => {
            let (sender, receiver) = (Box::new(wires::sender(rng)), Box::new(wires::receiver(rng)));
            let size = rng.chance(0.4).then(|| Bytes(1 + rng.below(500_000)));
            // At most one segment per 2 us, and at least one per second.
            let most = u64::from(sender.mss) * 4_000_000;
            let paced = [most, 16_000_000, 1_000_000, 8_000];
            let rate = rng.chance(0.3).then(|| BitRate(pick(rng, &paced).min(most)));
            let transport = pick(rng, &[Transport::Tcp, Transport::Tcp, Transport::Udp]);
            if n < 9 {
                Traffic::Upload { sender, receiver, size, rate, transport }
            } else {
                Traffic::Tcp { sender, receiver, size, rate, transport }
            }
        }
    }
}

fn video_call(rng: &mut Rng, fps: u32, max_rate: BitRate) -> VideoCallConfig {
    let ecn = pick(rng, &[ScreamEcn::L4s, ScreamEcn::Classic, ScreamEcn::Off]);
    let scream = ScreamConfig { ecn, reduce_jitter: rng.chance(0.5), ..ScreamConfig::default() };
    let gcc = GccConfig { report: ms(1 + rng.below(200)), ..GccConfig::default() };
    VideoCallConfig {
        control: pick(rng, &[RcConfig::Scream(scream), RcConfig::Gcc(gcc)]),
        fps,
        min_rate: BitRate(50_000),
        start_rate: BitRate(100_000),
        max_rate,
        payload: Bytes(100 + rng.below(1_300)),
        skip: ms(1 + rng.below(1_000)),
        ..VideoCallConfig::default()
    }
}

/// Flow `i` to one of the UEs, whose rules match ports from 0 on; some flows match no rule.
fn flow(rng: &mut Rng, i: u64, qos_flows: &[usize]) -> FlowConfig {
    let mut flow = app(traffic(rng));
    flow.name = format!("{}{i}", flow.traffic.kind()).into();
    let ue = rng.below(qos_flows.len() as u64) as usize;
    flow.ue = ue as u32;
    flow.tuple.destination_port = rng.below(qos_flows[ue] as u64 * 16 + 1) as u16 / 16;
    flow.tuple.source_port = i as u16;
    flow.low_latency = rng.chance(0.3);
    flow.delay_budget = rng.chance(0.3).then(|| ms(rng.below(100)));
    flow.start = ms(rng.below(500));
    flow.stop = rng.chance(0.3).then(|| ms(600 + rng.below(1_000)));
    flow.extra_delay = ms(pick(rng, &[0, 0, 25, 700]));
    flow
}

fn draw(seed: u64) -> WorldConfig {
    let mut rng = Rng::stream(seed, "swarm");
    let stack = draws::cell(&mut rng, seed);
    let qos_flows: Vec<usize> = stack.ues.iter().map(|ue| ue.qos_flows.len()).collect();
    let flows = (0..1 + rng.below(6)).map(|i| flow(&mut rng, i, &qos_flows)).collect();
    let mut config = world(stack, flows, ms(pick(&mut rng, &[700, 2_000, 2_000, 4_000])));
    config.core_rate = BitRate(pick(&mut rng, &[0, 1_000_000_000, 10_000_000, 200_000]));
    config.core_delay = ms(pick(&mut rng, &[0, 10, 300]));
    config.uplink.delay = ms(pick(&mut rng, &[0, 10, 10]));
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
    config.warmup = ms(pick(&mut rng, &[0, 300, 600]));
    config.entity_backlog = rng.chance(0.5);
    config.series_bins = pick(&mut rng, &[1, 100, 7_777]);
    split(&mut Rng::stream(seed, "swarm.proxy"), &mut config);
    crate::uplink::stacked(&mut Rng::stream(seed, "swarm.uplink"), &mut config);
    crate::uplink::marked_in_the_cell(&mut Rng::stream(seed, "swarm.cell_aqm"), &mut config);
    roam(&mut Rng::stream(seed, "swarm.cells"), &mut config);
    connect_twice(&mut Rng::stream(seed, "swarm.dual"), &mut config);
    put_apart(&mut Rng::stream(seed, "swarm.f1"), &mut config);
    mark_by_reports(&mut Rng::stream(seed, "swarm.l4span"), &mut config);
    mark_elsewhere(&mut Rng::stream(seed, "swarm.marking"), &mut config);
    crate::uplink::held_in_the_cell(&mut Rng::stream(seed, "swarm.zhuge"), &mut config);
    config
}

/// Lets another node than the RLC's mark in half of the worlds that allow it.
fn mark_elsewhere(rng: &mut Rng, config: &mut WorldConfig) {
    if config.cells.is_some() || !rng.chance(0.5) {
        return;
    }
    let mut stack = config.stack.clone();
    stack.rlc.marking = MarkingConfig {
        place: pick(rng, &[MarkingPlace::Cu, MarkingPlace::Upf]),
        report_period: draws::micros(rng, 100, 50_000),
        report_delay: ms(pick(rng, &[0, 1, 20])),
    };
    if stack.validate().is_ok() {
        config.stack = stack;
    }
}

/// Gives SDAP an AQM that marks by delivery reports in a tenth of the worlds with one cell.
fn mark_by_reports(rng: &mut Rng, config: &mut WorldConfig) {
    if config.cells.is_some() || !rng.chance(0.1) {
        return;
    }
    let mut stack = config.stack.clone();
    let limit = stack.sdap.queue.limit;
    let aqm = AqmConfig::L4Span(L4SpanConfig {
        preset: pick(rng, &l4span::Preset::ALL),
        target: draws::micros(rng, 500, 30_000),
        threshold: Bytes(1 + rng.below(100_000)),
        ..L4SpanConfig::default()
    });
    stack.sdap.queue = QueueConfig { aqm, ..QueueConfig::tail_drop(limit) };
    if stack.validate().is_ok() {
        config.stack = stack;
    }
}

/// Puts CU and DU apart in half of the worlds that allow it, with late and lost reports.
fn put_apart(rng: &mut Rng, config: &mut WorldConfig) {
    if config.cells.is_some() || !rng.chance(0.5) {
        return;
    }
    let f1 = F1Config {
        delay: ms(pick(rng, &[0, 1, 5, 20])),
        report_period: draws::micros(rng, 0, 50_000),
        report_loss: Ratio(pick(rng, &[0.0, 0.01, 0.3])),
        limiter_at: pick(rng, &LimiterNode::ALL),
    };
    let mut stack = config.stack.clone();
    (stack.rlc.f1, stack.rlc.report_delay) = (f1, Duration::ZERO);
    if stack.validate().is_ok() {
        config.stack = stack;
    }
}

/// Gives several cells, between which UEs move, to half of the worlds that allow them.
fn roam(rng: &mut Rng, config: &mut WorldConfig) {
    let stack = &mut config.stack;
    let fits = matches!(stack.mac.name(), "packets" | "bytes" | "rb")
        && stack.rlc.mode.is_of_nr()
        && stack.rlc.hold == Hold::Sent;
    if !fits || !rng.chance(0.5) {
        return;
    }
    let few = 2 + rng.below(3) as u32;
    let mut of_many = Rng::stream(stack.seed, "swarm.many_cells");
    // Worlds of eight cells or more run on threads.
    let n = if of_many.chance(0.3) { 8 + of_many.below(9) as u32 } else { few };
    let cell = |c: u32| CellConfig {
        name: format!("cell {c}").into(),
        mac: stack.mac.clone(),
        channel: stack.channel.clone(),
        gnb: None,
    };
    let place = |rng: &mut Rng| {
        let cell = rng.below(n.into()) as u32;
        let (mut at, mut here, mut moves) = (Duration::ZERO, cell, Vec::new());
        for _ in 0..rng.below(12) {
            at += ms(rng.below(400));
            here = (here + 1 + rng.below(u64::from(n) - 1) as u32) % n;
            moves.push(Move { at, to: here });
        }
        Arc::new(Place { cell, moves, ..Place::default() })
    };
    let handover = HandoverConfig {
        preparation: ms(pick(rng, &[0, 20, 100])),
        interruption: ms(pick(rng, &[0, 1, 50, 300])),
        path_switch: ms(pick(rng, &[0, 10, 200])),
        conditional: rng.chance(0.2),
        failure: Ratio(pick(rng, &[0.0, 0.0, 0.5])),
        forwarding: rng.chance(0.8),
        state: pick(rng, &[State::New, State::Kept]),
        xn: XnConfig {
            rate: BitRate(pick(rng, &[0, 300_000, 10_000_000, 1_000_000_000])),
            delay: ms(pick(rng, &[0, 2, 40])),
        },
        ..HandoverConfig::default()
    };
    config.cells = Some(Box::new(CellsConfig {
        cells: (0..n).map(cell).collect(),
        places: stack.ues.iter().map(|_| place(rng)).collect(),
        handover,
    }));
    // A forwarded packet passes the UPF's poll in another cell.
    stack.assert_bound = false;
}

/// Splits the bearers of UEs in half of the worlds with several cells that may have split bearers;
/// these UEs stay in their cells.
fn connect_twice(rng: &mut Rng, config: &mut WorldConfig) {
    let Some(cells) = &mut config.cells else { return };
    let stack = &mut config.stack;
    let fits = stack.mac.name() == "rb"
        && !matches!(stack.rlc.mode, RlcModeConfig::Tm(_))
        && !config.proxy.is_there();
    if !fits || !rng.chance(0.5) {
        return;
    }
    stack.scells.clear();
    stack.pdcp.sn_bits = 18;
    stack.rlc.queue = QueueConfig::tail_drop(stack.rlc.queue.limit);
    stack.sdap.pacer = Default::default();
    if stack.rlc.limiter.name() == "clairvoyant" {
        stack.rlc.limiter = Default::default();
    }
    let n = cells.cells.len() as u32;
    for place in &mut cells.places {
        if rng.chance(0.4) {
            continue;
        }
        let routing = pick(rng, &Routing::ALL);
        let reports = routing == Routing::FlowControl || rng.chance(0.7);
        let split = SplitConfig {
            routing,
            primary: pick(rng, &Leg::ALL),
            weight: Ratio(rng.unit()),
            report_period: if reports { ms(1 + rng.below(50)) } else { Duration::ZERO },
            outage: if reports { ms(pick(rng, &[0, 20, 100])) } else { Duration::ZERO },
            drbs: pick(rng, &[vec![], vec![0]]),
        };
        let place = Arc::make_mut(place);
        place.moves.clear();
        place.split = Some(((place.cell + 1 + rng.below(u64::from(n) - 1) as u32) % n, split));
    }
}

/// Puts a proxy in two of five worlds, with any control and lost, late and wrong reports.
fn split(rng: &mut Rng, config: &mut WorldConfig) {
    if !rng.chance(0.4) {
        return;
    }
    let control = match rng.below(6) {
        0 => ControlConfig::None(NoneConfig {}),
        1 => ControlConfig::EqualShare(EqualShareConfig::default()),
        2 => {
            let preset = Config::preset(pick(rng, &Config::PRESETS)).expect("it is listed");
            ControlConfig::Rapid(preset)
        }
        _ => ControlConfig::Rapid(Config::default()),
    };
    let at = |rng: &mut Rng| ms(rng.below(1_500));
    let report = ReportConfig {
        period: draws::micros(rng, 10, 20_000),
        delay: ms(pick(rng, &[0, 0, 5, 200])),
        jitter: ms(pick(rng, &[0, 0, 3, 300])),
        loss: pick(rng, &[0.0, 0.0, 0.1, 0.9, 1.0]),
        stops: (0..rng.below(3)).map(|_| Stop { from: at(rng), lasts: at(rng) }).collect(),
        factor: pick(rng, &[1.0, 1.0, 0.5, 2.0, 30.0]),
    };
    config.stack.scells.clear();
    config.proxy = ProxyConfig {
        control: Some(control),
        wan_delay: Some(config.uplink.delay.scaled(pick(rng, &[0.0, 0.3, 1.0]))),
        buffer: Bytes(pick(rng, &[3_000, 100_000, 10_000_000])),
        radio: wires::sender(rng),
        report,
    };
    for flow in config.flows.iter_mut().filter(|_| rng.chance(0.2)) {
        flow.proxied = Some(false);
    }
}

/// Asserts results that a run does not check itself.
fn assert_sound(config: &WorldConfig, result: &RunResult) {
    if let Some(broken) = &result.broken {
        panic!("an invariant is broken: {broken}");
    }
    let queues = [&config.stack.upf.queue, &config.stack.sdap.queue, &config.stack.rlc.queue];
    let own =
        config.stack.ues.iter().flat_map(|ue| &ue.qos_flows).filter_map(|f| f.queue.as_deref());
    let fifo = |queue: &QueueConfig| matches!(queue.discipline, DisciplineConfig::Fifo(_));
    if let Some(cells) = &result.cells
        && queues.into_iter().chain(own).all(fifo)
        && !config.stack.pdcp.out_of_order
    {
        assert_eq!(cells.disordered, 0, "packets of a flow keep their order");
    }
    for (flow, settings) in result.flows.iter().zip(&config.flows) {
        assert_flow(config, result, flow, settings);
    }
}

fn assert_flow(config: &WorldConfig, result: &RunResult, flow: &FlowResult, settings: &FlowConfig) {
    let name = &flow.name;
    assert!(flow.delivered_packets + flow.dropped_packets <= flow.entered_packets, "{name}");
    let bounded = settings.low_latency && !settings.is_upload();
    if config.cells.is_none() || !bounded {
        assert_eq!(flow.bound.count, if bounded { flow.delay.count } else { 0 });
    }
    assert!(flow.bound.count <= flow.delay.count, "{name}");
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
    let active = flow.active_from_s.zip(flow.active_to_s);
    let in_window = |(from, to)| from >= result.warmup_s && from < to && to <= result.duration_s;
    assert!(active.is_none_or(in_window), "{name} is active {active:?}");
    if let Traffic::Tcp { size: Some(size), .. } | Traffic::Upload { size: Some(size), .. } =
        &*settings.traffic
    {
        let received = flow.goodput_bytes();
        assert!(received <= size.0 as f64 + 0.5, "{name} received {received} of {size}");
    }
    if let Traffic::Tcp { rate: Some(rate), sender, .. }
    | Traffic::Upload { rate: Some(rate), sender, .. } = &*settings.traffic
    {
        let received = flow.goodput_bytes();
        let written = rate.0 as f64 / 8.0 * result.duration_s + f64::from(sender.mss);
        assert!(received <= written + 0.5, "{name} received {received} of {written} written");
    }
}

/// A listener for every event, so that events only for listeners occur.
#[derive(Default)]
struct Ears {
    events: u64,
}

impl Tap for Ears {
    fn on_event(&mut self, _: Instant, _: &Event, _: Option<&Segment>) {
        self.events += 1;
    }
}

impl World for Whole {
    const KIND: &'static str = "worlds";

    const REDUCTIONS: &'static [Reduction<Self>] = &[
        ("half-time", |w| {
            w.0.duration = Duration::from_nanos(w.0.duration.as_nanos() / 2);
            w.0.duration > ms(1) && w.0.duration > w.0.warmup
        }),
        ("last-flow", |w| w.0.flows.len() > 1 && w.0.flows.pop().is_some()),
        ("first-flow", |w| w.0.flows.len() > 1 && w.0.flows.drain(..1).count() == 1),
        ("last-ue", |w| {
            let fewer = reductions::last_ue(&mut w.0.stack);
            if let Some(cells) = &mut w.0.cells {
                cells.places.truncate(w.0.stack.ues.len());
            }
            fewer
        }),
        ("cells", |w| w.0.cells.take().is_some()),
        ("tenth-time", |w| {
            w.0.duration = Duration::from_nanos(w.0.duration.as_nanos() / 10 * 9);
            w.0.duration > ms(1) && w.0.duration > w.0.warmup
        }),
        ("warmup", |w| reductions::set(&mut w.0.warmup, Duration::ZERO)),
        ("proxy", |w| w.0.proxy.control.take().is_some()),
        ("proxy-reports", |w| reductions::set(&mut w.0.proxy.report, ReportConfig::default())),
        ("proxy-radio", |w| reductions::set(&mut w.0.proxy.radio, Default::default())),
        ("cell-aqm", |w| w.0.uplink.cell_aqm.take().is_some()),
        ("zhuge", |w| w.0.uplink.zhuge.take().is_some()),
        ("uplink-stack", |w| w.0.uplink.stack.take().is_some()),
        ("grants", |w| w.0.uplink.grants.take().is_some()),
        ("uplink-rate", |w| reductions::set(&mut w.0.uplink.rate, BitRate(0))),
        ("core-rate", |w| reductions::set(&mut w.0.core_rate, BitRate(0))),
        ("air-delay", |w| reductions::set(&mut w.0.air_delay, Duration::ZERO)),
        ("entities", |w| reductions::set(&mut w.0.entity_backlog, false)),
        ("stops", |w| {
            w.0.flows.iter_mut().fold(false, |any, flow| flow.stop.take().is_some() | any)
        }),
        ("extra-delays", |w| {
            let plain =
                |flow: &mut FlowConfig| reductions::set(&mut flow.extra_delay, Duration::ZERO);
            w.0.flows.iter_mut().fold(false, |any, flow| plain(flow) | any)
        }),
        ("rates", |w| {
            let plain = |flow: &mut FlowConfig| match Arc::make_mut(&mut flow.traffic) {
                Traffic::Tcp { rate, .. } | Traffic::Upload { rate, .. } => rate.take().is_some(),
                _ => false,
            };
            w.0.flows.iter_mut().fold(false, |any, flow| plain(flow) | any)
        }),
        ("tcp-settings", |w| w.0.flows.iter_mut().fold(false, |any, flow| plain_ends(flow) | any)),
        ("pacer", |w| reductions::pacer(&mut w.0.stack)),
        ("limiter", |w| reductions::limiter(&mut w.0.stack)),
        ("upf-queue", |w| reductions::upf_queue(&mut w.0.stack)),
        ("sdap-queue", |w| reductions::sdap_queue(&mut w.0.stack)),
        ("rlc-queue", |w| reductions::rlc_queue(&mut w.0.stack)),
        ("own-queues", |w| reductions::own_queues(&mut w.0.stack)),
        ("own-channels", |w| reductions::own_channels(&mut w.0.stack)),
        ("scells", |w| reductions::scells(&mut w.0.stack)),
        ("slices", |w| reductions::slices(&mut w.0.stack)),
        ("harq", |w| reductions::harq(&mut w.0.stack)),
        ("rb-scheduler", |w| reductions::rb_scheduler(&mut w.0.stack)),
        ("rlc-mode", |w| reductions::rlc_mode(&mut w.0.stack)),
        ("hold", |w| reductions::hold(&mut w.0.stack)),
        ("pdcp", |w| reductions::pdcp(&mut w.0.stack)),
        ("delays", |w| reductions::delays(&mut w.0.stack)),
        ("pattern", |w| reductions::pattern(&mut w.0.stack)),
        ("lateness", |w| reductions::lateness(&mut w.0.stack)),
        ("sdap-scheduler", |w| reductions::sdap_scheduler(&mut w.0.stack)),
        ("batches", |w| reductions::batches(&mut w.0.stack)),
        ("tie-order", |w| reductions::tie_order(&mut w.0.stack)),
    ];

    fn draw(seed: u64) -> Self {
        Self(draw(seed))
    }

    fn accepted(&self) -> Result<(), String> {
        justfull_sim::World::new(&self.0).map(drop).map_err(|e| e.to_string())
    }

    fn check(&self) -> u64 {
        let world = justfull_sim::World::new(&self.0).expect("a world that was accepted");
        let result = world.run(&mut ()).expect("nobody ends it");
        assert_sound(&self.0, &result);
        let mut ears = Ears::default();
        let listened = |tap: &mut dyn Tap| {
            let tapped = justfull_sim::World::tapped(&self.0, tap).expect("it was accepted");
            let again = tapped.run_on(4, &mut ()).expect("nobody ends it");
            assert_eq!(result, again, "the result depends on no listener and no number of threads");
            again
        };
        if self.0.cells.is_some() {
            listened(&mut ears);
        } else {
            let mut floor = Floor::new(&self.0, Some(&mut ears)).expect("it was accepted");
            let mut again = listened(&mut floor);
            floor.hold(&mut again);
            assert_eq!(again.broken, None, "no method beats the floor");
        }
        assert!(ears.events >= result.conservation.delivered);
        result.conservation.delivered
    }
}

/// Sets the default settings at both ends of a TCP flow, under its own control.
fn plain_ends(flow: &mut FlowConfig) -> bool {
    let (sender, receiver) = match Arc::make_mut(&mut flow.traffic) {
        Traffic::Tcp { sender, receiver, .. } | Traffic::Upload { sender, receiver, .. } => {
            (&mut **sender, &mut **receiver)
        }
        Traffic::Page(page) => (&mut page.sender, &mut page.receiver),
        Traffic::Dash(dash) => (&mut dash.sender, &mut dash.receiver),
        _ => return false,
    };
    wires::plain_sender(sender) | reductions::set(receiver, ReceiverConfig::default())
}

#[test]
fn worlds_have_every_kind_of_traffic_mac_and_method() {
    let worlds: Vec<WorldConfig> = (0..800).map(draw).collect();
    let count = |what: &dyn Fn(&WorldConfig) -> String| {
        worlds.iter().map(what).collect::<std::collections::BTreeSet<_>>().len()
    };
    let kinds: std::collections::BTreeSet<_> =
        worlds.iter().flat_map(|w| &w.flows).map(|f| f.traffic.kind()).collect();
    let all = [
        "cbr",
        "dash",
        "on_off",
        "page",
        "ping",
        "tcp",
        "udp",
        "upload",
        "video",
        "video_call",
        "voip",
    ];
    assert_eq!(Vec::from_iter(kinds), all);
    // The name of a variant is the start of its `Debug` text.
    let name = |debug: String| debug.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.rlc.limiter))), 10, "limiters");
    let late = |w: &&WorldConfig| !w.stack.rlc.report_delay.is_zero();
    let late = worlds.iter().filter(late).count();
    assert!(late > 20, "{late} limiters that hear late");
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.sdap.pacer))), 3, "pacers");
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.sdap.scheduler))), 4, "SDAP schedulers");
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.rlc.queue.discipline))), 6, "disciplines");
    assert_eq!(
        count(&|w| name(format!("{:?}", w.stack.rlc.queue.aqm))),
        AqmConfig::all().iter().filter(|aqm| !aqm.needs_reports()).count(),
        "AQMs"
    );
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.channel))), 7, "channels");
    assert_eq!(count(&|w| w.stack.mac.name().into()), 5, "MACs");
    let scheduler = |w: &WorldConfig| match &w.stack.mac {
        MacConfig::Rb(rb) => rb.scheduler.name().into(),
        _ => String::new(),
    };
    assert_eq!(count(&scheduler), 5, "none, and four schedulers of resource blocks");
    assert_eq!(count(&|w| name(format!("{:?}", w.stack.rlc.mode))), 3, "modes of the RLC");
    let proxy = |w: &WorldConfig| w.proxy.control.as_ref().map(ControlConfig::name);
    assert_eq!(count(&|w| format!("{:?}", proxy(w))), 4, "controls of the proxy, or none");
    let splits = worlds.iter().filter(|w| w.flows.iter().any(FlowConfig::goes_by_proxy));
    assert!(splits.filter(|w| w.proxy.is_there()).count() > 50, "worlds with proxied flows");
    let moves = |w: &&WorldConfig| w.cells.as_ref().is_some_and(|cells| cells.moves());
    assert!(worlds.iter().filter(moves).count() > 50, "worlds with UEs that move");
}
