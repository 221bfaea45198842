//! Builds a world: its nodes, its links, its flows.

use super::World;
use crate::applications::{Applications, Requester};
use crate::cell::Cell;
use crate::cells::{Cells, Several};
use crate::hosts::{End, Hosts, key, tcp};
use crate::links::Links;
use crate::monitor::Monitor;
use crate::proxy::{Place, Proxy};
use crate::receivers::Receivers;
use crate::senders::{Reconnects, Senders};
use justfull_base::{BitRate, ConfigError, Duration, Instant, Packet, Rng};
use justfull_ran::stack::Flows;
use justfull_ran::{FiveTuple, Stack};
use justfull_run::CoreLoss;
use justfull_run::Plan;
use justfull_run::backlog::{Backlogs, Watch};
use justfull_run::config::{WorldConfig, classes, validate};
use justfull_run::recorder::{Recorder, Window};
use justfull_run::region::Region;
use justfull_run::route::{Marks, Route};
use justfull_run::sources::Source;
use justfull_run::tap::Listener;
use justfull_run::traffic::{Browser, FlowConfig, Http, PingConfig, Player, Traffic};
use justfull_run::uplink::{Up, Uplink, UplinkConfig};
use justfull_run::wire::{Wire, Wires};

/// Upper bound of the bytes that the uplink can carry from a UE in the measured window: the bytes
/// sent in the window, plus bytes on the wire or partly sent before it. None without a rate.
fn uplink_most(config: &WorldConfig) -> Option<u64> {
    let farthest = config.flows.iter().map(|flow| flow.extra_delay).max().unwrap_or_default();
    let time = config.duration - config.warmup + config.uplink.delay + farthest;
    let bits = u128::from(config.uplink.rate.0) * u128::from(time.as_nanos()) / 1_000_000_000;
    let bytes = (bits / 8) as u64 + 1 + u64::from(config.stack.mtu);
    (config.uplink.rate.0 > 0).then_some(bytes)
}

impl<T: Listener> World<T> {
    pub(super) fn build(config: &WorldConfig, tap: T) -> Result<Self, ConfigError> {
        validate(config)?;
        let seed = config.stack.seed;
        let mut cells = cells(config)?;
        let delays = delays(config);
        let Members { streams, tcp, applications } = members(config);
        let (classes, openings) = classes(config)?;
        let warmup = Instant::ZERO + config.warmup;
        let window = Window { start: warmup, end: Instant::ZERO + config.duration };
        let bins = config.series_bins as usize;
        let mut recorder = Recorder::new(window, bins, config.air_delay, classes, &openings);
        let mut hosts = Hosts {
            ends: Vec::with_capacity(streams.len()),
            senders: Senders::new(tcp),
            receivers: Receivers::new(tcp),
            applications: Applications::new(applications),
            ledgers: Vec::new(),
        };
        let mut proxy = proxy(config, &delays)?;
        if proxy.as_ref().is_some_and(|proxy| proxy.wants_reports()) {
            cells.each_stack(|_, stack| stack.start_reports());
        }
        for (i, flow) in config.flows.iter().enumerate() {
            let route = route(flow, hosts.ends.len() as u32, &delays);
            if let Traffic::Tcp { size, .. } | Traffic::Upload { size, .. } = &*flow.traffic {
                recorder.transfer(route.flow, size.map(|size| size.0));
            }
            let within = |e: ConfigError| e.within(&format!("flow[{i}]"));
            match &mut proxy {
                Some(proxy) if flow.goes_by_proxy() => {
                    let rtt = proxy.add(&mut hosts, route, flow, seed).map_err(within)?;
                    recorder.split(route.flow, rtt);
                }
                _ => {
                    add_flow(&mut hosts, route, flow, seed, config.stack.mtu).map_err(within)?;
                }
            }
        }
        let links = Links {
            core: core(config, &delays, proxy.is_some()),
            air: Wire::new(BitRate(0), config.air_delay),
            air_delay: config.air_delay,
            uplink: uplink(config, &delays, proxy.as_deref().map(Proxy::wan_delay))?,
            monitor: Monitor::new(recorder, tap, streams),
        };
        Ok(Self {
            plan: Plan::of(config),
            ues: config.stack.ues.len(),
            uplink_most: uplink_most(config),
            cells,
            hosts,
            links,
            proxy,
        })
    }
}

/// The route of the first connection of `flow`, which has this `number`.
fn route(flow: &FlowConfig, number: u32, delays: &[Duration]) -> Route {
    let sender = flow.traffic.sender();
    Route {
        flow: number,
        ue: flow.ue,
        wire: delays.iter().position(|d| *d == flow.extra_delay).unwrap_or(0) as u32,
        protocol: flow.traffic.protocol(),
        marks: Marks::NONE.tracked(flow.low_latency).up(flow.is_upload()),
        header: sender.map_or(0, |sender| sender.header as u8),
        ack: sender.map_or(0, |sender| sender.ack_size() as u8),
        stop: flow.stop_instant(),
    }
}

/// The connections of all flows of `config`, each with its flow and its 5-tuple.
fn connections(config: &WorldConfig) -> impl Iterator<Item = (&FlowConfig, FiveTuple)> {
    config.flows.iter().flat_map(|flow| {
        (0..flow.traffic.connections()).map(move |number| (flow, flow.tuple_of(number)))
    })
}

/// The cells of `config`, with its flows.
fn cells(config: &WorldConfig) -> Result<Cells, ConfigError> {
    let (common, warmup) = (&config.stack, Instant::ZERO + config.warmup);
    let backlogs = config.entity_backlog.then(|| Backlogs::new(&common.ues, warmup));
    let loss = CoreLoss::new(config.core_loss, common.seed);
    let mut cells = match &config.cells {
        None => {
            let mut stack = Stack::new(common)?;
            for (flow, tuple) in connections(config) {
                stack.open_flow(flow.ue, &tuple, flow.dscp);
            }
            let foresees = config.uplink.zhuge.is_some();
            let watches = foresees || backlogs.is_some();
            let watch = watches.then(|| Box::new(Watch { backlogs, foresees }));
            Cells::One(Cell { stack, watch, loss })
        }
        Some(several) => {
            let mut flows = Flows::default();
            for (flow, tuple) in connections(config) {
                flows.open(flow.ue, &common.ues[flow.ue as usize], &tuple, flow.dscp);
            }
            let mut region = Region::new(several, common, flows)?;
            region.measure(backlogs.map(Box::new));
            Cells::Several(Box::new(Several { region, loss }))
        }
    };
    cells.each_stack(|_, stack| stack.count_awake_from(warmup));
    Ok(cells)
}

/// The extra delays of servers beyond the core, in ascending order.
fn delays(config: &WorldConfig) -> Vec<Duration> {
    let mut delays: Vec<Duration> = config.flows.iter().map(|flow| flow.extra_delay).collect();
    delays.sort_unstable();
    delays.dedup();
    delays
}

/// The proxy; none if the world has none.
fn proxy(config: &WorldConfig, delays: &[Duration]) -> Result<Option<Box<Proxy>>, ConfigError> {
    let flows = config.flows.iter().filter(|flow| flow.goes_by_proxy()).count();
    let place = Place {
        rate: config.core_rate,
        core_delay: config.core_delay,
        delays,
        homes: match &config.cells {
            Some(cells) => cells.places.iter().map(|place| place.cell).collect(),
            None => vec![0; config.stack.ues.len()],
        },
        cells: config.cells.as_ref().map_or(1, |cells| cells.cells.len()),
        seed: config.stack.seed,
    };
    Proxy::new(&config.proxy, place, flows)
}

/// Wires from servers at `delays` to the UPF and, behind them, the wire from the proxy, and the
/// last wire for packets that arrive in step with the slots.
fn core(config: &WorldConfig, delays: &[Duration], proxy: bool) -> Wires<Packet> {
    let ways = delays.iter().map(|d| config.core_delay + *d);
    let mut core = Wires::new(config.core_rate, ways);
    if proxy {
        core.add(Wire::new(BitRate(0), Duration::ZERO));
    }
    let requests = |flow: &FlowConfig| {
        matches!(&*flow.traffic, Traffic::Ping(PingConfig { from_ue: Some(_), .. }))
    };
    if config.flows.iter().any(requests) {
        core.add(Wire::new(BitRate(0), Duration::ZERO));
    }
    core
}

/// The return paths to servers at `delays` and, with the proxy at `wan` before them, the path to
/// it.
fn uplink(
    config: &WorldConfig,
    delays: &[Duration],
    wan: Option<Duration>,
) -> Result<Uplink<Up>, ConfigError> {
    let (ues, seed) = (config.stack.ues.len(), config.stack.seed);
    let warmup = Instant::ZERO + config.warmup;
    let statuses = config.stack.mac.status_way();
    let way = config.uplink.beyond(config.stack.rlc.f1.delay);
    let uplink = match wan {
        None => Uplink::new(&way, ues, delays, warmup, seed),
        Some(wan) => {
            let to_proxy = UplinkConfig { delay: way.delay - wan, ..way };
            let beyond = delays.iter().map(|d| *d + wan).chain([Duration::ZERO]);
            Uplink::new(&to_proxy, ues, &beyond.collect::<Vec<_>>(), warmup, seed)
        }
    };
    let moves = config.cells.as_ref().is_some_and(|cells| cells.moves());
    let uplink = if moves { uplink.with_moves(ues) } else { uplink };
    let sleeps = config.stack.ues.iter().any(|ue| ue.drx.is_some());
    let uplink = if sleeps { uplink.with_drx(ues) } else { uplink };
    let uplink = uplink.with_statuses(statuses);
    let uplink = match &config.cells {
        None => uplink.with_stack(&config.uplink)?,
        Some(cells) => uplink.with_stacks(&config.uplink, cells, &config.stack)?,
    };
    let mut uplink = uplink.with_zhuge(&config.uplink, ues, seed);
    for (number, (flow, tuple)) in (0..).zip(connections(config)) {
        uplink.open_flow(flow.ue, &tuple, flow.dscp);
        if flow.traffic.sender().is_some() && !flow.is_upload() {
            uplink.hold_flow(number);
        }
    }
    Ok(uplink)
}

fn add_flow(
    hosts: &mut Hosts,
    route: Route,
    flow: &FlowConfig,
    seed: u64,
    mtu: u32,
) -> Result<(), ConfigError> {
    let start = Instant::ZERO + flow.start;
    let number = hosts.receivers.all().len() as u32;
    match &*flow.traffic {
        Traffic::Tcp { sender, receiver, size, rate, .. }
        | Traffic::Upload { sender, receiver, size, rate, .. } => {
            let (sender, receiver) = tcp(route, sender, receiver, seed)?;
            hosts.ends.push(if route.up() { End::Upload(number) } else { End::Download(number) });
            hosts.senders.add(route, sender, size.map(|size| size.0), *rate, start);
            hosts.receivers.add(route, receiver);
        }
        Traffic::Page(config) => {
            let rng = Rng::stream(seed, &format!("page.{}", route.flow));
            let (browser, at) = Browser::new(config, mtu, start, route.stop, rng);
            let browser = Requester::Browser(Box::new(browser));
            let page = hosts.applications.add_client(route, browser, number, at);
            for c in 0..config.connections {
                let route = Route { flow: route.flow + c, ..route };
                let (sender, receiver) = tcp(route, &config.sender, &config.receiver, seed)?;
                hosts.ends.push(End::Client(number + c, page));
                let reconnects = config.http == Http::Http10;
                let reconnects = reconnects.then(|| {
                    let (config, key) = (config.sender.clone(), key(route, seed));
                    Box::new(Reconnects { config, key, tuple: flow.tuple_of(c) })
                });
                hosts.senders.add_server(route, sender, reconnects);
                hosts.receivers.add(route, receiver);
            }
        }
        Traffic::VideoCall(config) => {
            let call = hosts.applications.add_call(route, config, start, seed);
            hosts.ends.push(End::Call(call.map_err(|e| e.within("video_call"))?));
        }
        Traffic::Dash(config) => {
            let rng = Rng::stream(seed, &format!("dash.{}", route.flow));
            let player = Player::new(config, mtu, route.stop, rng);
            let player = Requester::Player(Box::new(player));
            let client = hosts.applications.add_client(route, player, number, start);
            let (sender, receiver) = tcp(route, &config.sender, &config.receiver, seed)?;
            hosts.ends.push(End::Client(number, client));
            hosts.senders.add_server(route, sender, None);
            hosts.receivers.add(route, receiver);
        }
        _ => {
            if let Some((source, first)) = Source::new(route, &flow.traffic, start, seed) {
                hosts.ends.push(End::Source(hosts.applications.add_source(source, first)));
            }
        }
    }
    Ok(())
}

/// Numbers of the world's members.
struct Members {
    /// Flows of packets: true for a TCP connection.
    streams: Vec<bool>,
    /// Number of TCP connections.
    tcp: usize,
    /// Timers of datagram sources, their users, browsers, players and video calls.
    applications: usize,
}

fn members(config: &WorldConfig) -> Members {
    let mut all = Members { streams: Vec::new(), tcp: 0, applications: 0 };
    for traffic in config.flows.iter().map(|flow| &*flow.traffic) {
        let connections = traffic.connections() as usize;
        let is_stream = traffic.sender().is_some();
        all.streams.extend((0..connections).map(|_| is_stream));
        all.tcp += if is_stream { connections } else { 0 };
        all.applications += match traffic {
            Traffic::Tcp { .. } | Traffic::Upload { .. } => 0,
            Traffic::VideoCall(_) => 2,
            Traffic::Video(video) => 1 + usize::from(video.inputs.is_some()),
            _ => 1,
        };
    }
    all
}
