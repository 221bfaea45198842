//! Building a world: its bounds, its classes, its flows.

use super::{End, Timed, World, WorldConfig};
use crate::app::App;
use crate::hosts::{Route, TcpFlow};
use crate::recorder::ClassInfo;
use crate::sources::Source;
use crate::tap::Listener;
use crate::traffic::{FlowConfig, Traffic};
use justfull_base::error::ensure;
use justfull_base::packet::Protocol;
use justfull_base::rng::stream_key;
use justfull_base::{Bytes, ConfigError, Duration, Instant};
use justfull_tcp::{CcConfig, Receiver, ReceiverConfig, Sender, SenderConfig};
use std::collections::BTreeMap;

/// What a run needs of its settings once everything is built; not the settings of each UE and flow.
pub(super) struct Plan {
    pub(super) scenario: String,
    pub(super) method: String,
    pub(super) seed: u64,
    pub(super) duration: Duration,
    pub(super) warmup: Duration,
    pub(super) air_delay: Duration,
    pub(super) shares: Vec<f64>,
    pub(super) mtu: u32,
    pub(super) ues: usize,
    /// Most bytes that the uplink can bring from a UE in the measured window, where it has a rate: what is sent in it, and what was on
    /// the wire or half sent before.
    pub(super) uplink_most: Option<u64>,
}

impl Plan {
    pub(super) fn of(config: &WorldConfig) -> Self {
        Self {
            scenario: config.scenario.clone(),
            method: config.method.clone(),
            seed: config.stack.seed,
            duration: config.duration,
            warmup: config.warmup,
            air_delay: config.air_delay,
            shares: config.stack.slices.iter().map(|share| share.0).collect(),
            mtu: config.stack.mtu,
            ues: config.stack.ues.len(),
            uplink_most: uplink_most(config),
        }
    }
}

/// See [`Plan::uplink_most`].
fn uplink_most(config: &WorldConfig) -> Option<u64> {
    let farthest = config.flows.iter().map(|flow| flow.extra_delay).max().unwrap_or_default();
    let time = config.duration - config.warmup + config.uplink.delay + farthest;
    let bits = u128::from(config.uplink.rate.0) * u128::from(time.as_nanos()) / 1_000_000_000;
    let bytes = (bits / 8) as u64 + 1 + u64::from(config.stack.mtu);
    (config.uplink.rate.0 > 0).then_some(bytes)
}

impl<T: Listener> World<T> {
    pub(super) fn add_flow(&mut self, route: Route, flow: &FlowConfig, seed: u64) -> Result<(), ConfigError> {
        let start = Instant::ZERO + flow.start;
        let number = self.tcp.len() as u32;
        match &*flow.traffic {
            Traffic::Tcp { sender, receiver, size } => {
                self.ends.push(End::Tcp(number));
                self.sender_timers.arm(number, start);
                self.add_tcp(route, (sender, receiver), *size)?;
            }
            Traffic::Upload { sender, receiver, size } => {
                self.ends.push(End::Upload(number));
                self.sender_timers.arm(number, start);
                self.add_tcp(route, (sender, receiver), *size)?.upload = true;
            }
            Traffic::Page(page) => {
                self.add_connections(route, page)?;
                self.add_page(route, page, start, seed);
            }
            _ => {
                if let Some((source, first)) = Source::new(route, &flow.traffic, start, seed) {
                    let source_number = self.sources.len() as u32;
                    self.ends.push(End::Source(source_number));
                    self.source_timers.arm(self.timed.len() as u32, first);
                    self.timed.push(Timed::Source(source_number));
                    self.sources.push(source);
                }
            }
        }
        Ok(())
    }

    /// Adds a TCP flow's two ends.
    pub(super) fn add_tcp(
        &mut self,
        route: Route,
        (sender, receiver): (&SenderConfig, &ReceiverConfig),
        size: Option<Bytes>,
    ) -> Result<&mut TcpFlow, ConfigError> {
        let mut sender = sender.clone();
        if let CcConfig::Bbr(bbr) = &mut sender.cc {
            bbr.seed = stream_key(self.plan.seed, &format!("tcp.{}", route.flow));
        }
        self.tcp.push(TcpFlow {
            route,
            sender: Sender::new(&sender)?,
            receiver: Receiver::new(receiver)?,
            size: size.map(|s| s.0),
            upload: false,
            started: false,
            completed: None,
        });
        let last = self.tcp.len() - 1;
        Ok(&mut self.tcp[last])
    }
}

pub(crate) fn validate(config: &WorldConfig) -> Result<(), ConfigError> {
    let day = Duration::from_secs(86_400);
    let ok = !config.duration.is_zero() && config.duration <= day;
    ensure(ok, "duration", &config.duration, "above 0s, at most 24h", "a run ends")?;
    ensure(
        config.warmup < config.duration,
        "warmup",
        &config.warmup,
        "below duration",
        "something must be measured",
    )?;
    let bins = config.series_bins;
    ensure((1..=100_000).contains(&bins), "series_bins", &bins, "1 to 100000", "memory is bounded")?;
    config.uplink.validate(config.stack.mtu).map_err(|e| e.within("uplink"))?;
    ensure(!config.flows.is_empty(), "flow", &0, "at least one flow", "nothing would happen")?;
    for (i, flow) in config.flows.iter().enumerate() {
        let at = format!("flow[{i}]");
        let known = (flow.ue as usize) < config.stack.ues.len();
        ensure(known, &format!("{at}.ue"), &flow.ue, "a UE of the cell", "counted from 0")?;
        flow.validate(config.stack.mtu).map_err(|e| e.within(&at))?;
    }
    Ok(())
}

/// How many there are of what the world holds.
pub(super) struct Members {
    /// Flows of packets.
    pub(super) flows: usize,
    /// TCP connections.
    pub(super) tcp: usize,
    /// Sources of datagrams, and pages.
    pub(super) sources: usize,
}

pub(super) fn members(config: &WorldConfig) -> Members {
    let mut all = Members { flows: 0, tcp: 0, sources: 0 };
    for traffic in config.flows.iter().map(|flow| &*flow.traffic) {
        let connections = traffic.connections() as usize;
        all.flows += connections;
        all.tcp += if traffic.protocol() == Protocol::Tcp { connections } else { 0 };
        all.sources += usize::from(!matches!(traffic, Traffic::Tcp { .. } | Traffic::Upload { .. }));
    }
    all
}

/// Name of `protocol` in results.
pub(crate) const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Icmp => "icmp",
        Protocol::Other => "other",
    }
}

/// Most names of flows; a bound on memory: each has statistics of its own, at most 90 kB for each of up to five quantities.
pub(crate) const MOST_NAMES: usize = 1_000;

/// Flows of one name are counted together.
///
/// # Errors
/// More than [`MOST_NAMES`] names.
pub(crate) fn classes(config: &WorldConfig) -> Result<(Vec<ClassInfo>, Vec<u32>), ConfigError> {
    let mut classes: Vec<ClassInfo> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut class_of_flow = Vec::with_capacity(config.flows.len());
    for (number, flow) in config.flows.iter().enumerate() {
        let class = match known.get(&*flow.name) {
            Some(&class) => class,
            None => {
                ensure(
                    classes.len() < MOST_NAMES,
                    &format!("flow[{number}].name"),
                    &format!("`{}`, name {} of the scenario", flow.name, classes.len() + 1),
                    &format!("at most {MOST_NAMES} different names; flows of one name are counted together"),
                    "memory is bounded",
                )?;
                known.insert(&flow.name, classes.len());
                classes.push(class_of(config, flow));
                classes.len() - 1
            }
        };
        classes[class].flows += 1;
        class_of_flow.extend((0..flow.traffic.connections()).map(|_| class as u32));
    }
    Ok((classes, class_of_flow))
}

/// The class whose first flow is `flow`.
fn class_of(config: &WorldConfig, flow: &FlowConfig) -> ClassInfo {
    let rules = &config.stack.ues[flow.ue as usize].rules;
    let qfi = justfull_ran::upf::detect(rules, &flow.tuple, flow.dscp).map_or(0, justfull_base::Qfi::get);
    ClassInfo {
        name: flow.name.to_string(),
        protocol: protocol_name(flow.traffic.protocol()),
        app: App::of(&flow.traffic),
        control: flow.traffic.sender().map_or_else(String::new, |s| s.cc.name().to_string()),
        ue: flow.ue,
        qfi,
        low_latency: flow.low_latency,
        delay_budget: flow.delay_budget,
        flows: 0,
    }
}
