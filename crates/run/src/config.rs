//! Settings of a run, their bounds, and the names under which its flows are counted.

use crate::app_stats::AppStats;
use crate::cells::CellsConfig;
use crate::proxy::ProxyConfig;
use crate::recorder::{ClassInfo, Opening};
use crate::traffic::{FlowConfig, Traffic};
use crate::uplink::UplinkConfig;
use justfull_base::error::ensure;
use justfull_base::packet::Protocol;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Ratio};
use justfull_ran::{MacConfig, StackConfig};
use std::collections::BTreeMap;

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldConfig {
    /// Name of the scenario, for the results.
    pub scenario: String,
    /// Name of the method, for the results.
    pub method: String,
    /// The cell.
    pub stack: StackConfig,
    /// The flows; at least one.
    pub flows: Vec<FlowConfig>,
    /// Rate of each server's link into the core; 0 for no transmission time.
    pub core_rate: BitRate,
    /// One-way delay from server to UPF.
    pub core_delay: Duration,
    /// Share of the packets lost at random between server and UPF, from 0 to below 1.
    pub core_loss: Ratio,
    /// Delay from the slot's pull to the UE: air interface and processing.
    pub air_delay: Duration,
    /// The UEs' return paths.
    pub uplink: UplinkConfig,
    /// The cells, if there are several. `stack` then has the settings that all cells share.
    pub cells: Option<Box<CellsConfig>>,
    /// The proxy, if its settings name a control.
    pub proxy: ProxyConfig,
    /// Simulated time; above 0, at most a day.
    pub duration: Duration,
    /// Start of the measured window; below `duration`.
    pub warmup: Duration,
    /// Bins of the series over time, 1 to 100 000.
    pub series_bins: u32,
    /// Measure the backlog of every queue over time.
    pub entity_backlog: bool,
}

impl WorldConfig {
    /// The time from one pull of the MAC to the next: the length of the shortest slot of all cells.
    #[must_use]
    pub fn tick(&self) -> Duration {
        let Some(cells) = &self.cells else { return self.stack.tick() };
        let own = cells.cells.iter().map(|cell| cell.mac.slot().period);
        let scells = self.stack.scells.iter().map(|scell| scell.slot);
        own.chain(scells).min().unwrap_or_else(|| self.stack.tick())
    }
}

/// Checks the bounds of `config` that concern the whole run.
///
/// # Errors
/// The first field outside its bounds.
pub fn validate(config: &WorldConfig) -> Result<(), ConfigError> {
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
    ensure(
        (1..=100_000).contains(&bins),
        "series_bins",
        &bins,
        "1 to 100000",
        "memory is bounded",
    )?;
    let loss = config.core_loss;
    let some_arrive = (0.0..1.0).contains(&loss.0);
    ensure(some_arrive, "core.loss", &loss, "0 to below 1", "some packet must arrive")?;
    ensure(
        loss.0 == 0.0 || !config.proxy.is_there(),
        "core.loss",
        &loss,
        "0 with a proxy",
        "the way from the servers to the proxy loses nothing",
    )?;
    let own = config.stack.mac.name();
    let why = "the MAC of the uplink is uplink.stack.mac";
    let ok = !matches!(config.stack.mac, MacConfig::Uplink(_));
    ensure(ok, "mac.kind", &own, "packets, bytes, rb, dch or hsdpa", why)?;
    let why = "its STATUS PDUs share the queue of a UE";
    let ok = config.uplink.stack.is_none() || config.stack.mac.status_way().is_none();
    ensure(ok, "uplink.kind", &"stack", &format!("queue with mac.kind {own}"), why)?;
    config.uplink.validate(config.stack.mtu).map_err(|e| e.within("uplink"))?;
    ensure(!config.flows.is_empty(), "flow", &0, "at least one flow", "nothing would happen")?;
    for (i, flow) in config.flows.iter().enumerate() {
        let at = format!("flow[{i}]");
        let known = (flow.ue as usize) < config.stack.ues.len();
        ensure(known, &format!("{at}.ue"), &flow.ue, "a UE of the cell", "counted from 0")?;
        flow.validate(config.stack.mtu).map_err(|e| e.within(&at))?;
        if let Traffic::Ping(ping) = &*flow.traffic
            && let Some(turn) = &ping.from_ue
        {
            let slot = config.stack.mac.slot().period;
            turn.fits(slot).map_err(|e| e.within(&format!("{at}.ping.from_ue")))?;
        }
    }
    validate_cells(config)?;
    validate_zhuge(config)?;
    validate_scells(config)?;
    validate_proxy(config).map_err(|e| e.within("proxy"))
}

/// Checks the cells, if there are several.
fn validate_cells(config: &WorldConfig) -> Result<(), ConfigError> {
    let Some(cells) = &config.cells else { return Ok(()) };
    cells.validate(&config.stack)?;
    cells.validate_signals(&config.stack)?;
    let split = cells.places.iter().position(|place| place.split.is_some());
    if let Some(i) = split.filter(|_| config.proxy.is_there()) {
        let why = "reports of the radio are about one cell";
        ensure(false, &format!("ue[{i}].secondary"), &"set", "none with proxy.control", why)?;
    }
    let Some(stack) = &config.uplink.stack else { return Ok(()) };
    let valid = cells.validate_uplink(&config.stack, &stack.chain);
    valid.map_err(|e| e.within("uplink.stack"))
}

/// Checks that the world can have Zhuge, if there is one.
fn validate_zhuge(config: &WorldConfig) -> Result<(), ConfigError> {
    let is_there = config.uplink.zhuge.is_some();
    let refused = |ok: bool, allowed: &str, why: &'static str| {
        ensure(ok || !is_there, "uplink.zhuge", &"set", allowed, why)
    };
    let why = "it predicts for the UEs of one base station";
    refused(config.cells.is_none(), "none with several cells", why)?;
    let why = "a proxy takes the acknowledgements from the base station";
    refused(!config.proxy.is_there(), "none with proxy.control", why)
}

/// Checks that the world can have SCells, if there are any.
fn validate_scells(config: &WorldConfig) -> Result<(), ConfigError> {
    let n = config.stack.scells.len();
    let places = config.cells.iter().flat_map(|cells| &cells.places);
    let split = places.filter(|place| place.split.is_some()).count();
    let why = "the legs of a split bearer are two cells of one carrier";
    ensure(n == 0 || split == 0, "scell", &n, "none with ue.secondary", why)?;
    let why = "reports of the radio are about one carrier";
    let alone = !config.proxy.is_there();
    ensure(n == 0 || alone, "scell", &n, "none with proxy.control", why)
}

/// Checks the settings of the proxy, if there is one, and that it fits the world.
fn validate_proxy(config: &WorldConfig) -> Result<(), ConfigError> {
    config.proxy.validate()?;
    let proxied = config.flows.iter().filter(|flow| flow.goes_by_proxy());
    let mss = proxied.filter_map(|flow| flow.traffic.sender()).map(|sender| sender.mss).max();
    if let Some(mss) = mss.filter(|_| config.proxy.is_there()) {
        config.proxy.fits(config.core_delay, config.uplink.delay, config.stack.mtu, mss)?;
    }
    Ok(())
}

/// Name of `protocol` in results.
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Icmp => "icmp",
        Protocol::Other => "other",
    }
}

/// Maximum number of flow names, which bounds memory: each has its own statistics, at most 90 kB
/// for each of up to five quantities.
pub const MOST_NAMES: usize = 1_000;

/// The names, whose flows are counted together, and each flow of packets.
///
/// # Errors
/// More than [`MOST_NAMES`] names.
pub fn classes(config: &WorldConfig) -> Result<(Vec<ClassInfo>, Vec<Opening>), ConfigError> {
    let mut classes: Vec<ClassInfo> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut openings = Vec::with_capacity(config.flows.len());
    for (number, flow) in config.flows.iter().enumerate() {
        let class = match known.get(&*flow.name) {
            Some(&class) => class,
            None => {
                ensure(
                    classes.len() < MOST_NAMES,
                    &format!("flow[{number}].name"),
                    &format!("`{}`, name {} of the scenario", flow.name, classes.len() + 1),
                    &format!(
                        "at most {MOST_NAMES} different names; flows of one name are counted \
                         together"
                    ),
                    "memory is bounded",
                )?;
                known.insert(&flow.name, classes.len());
                classes.push(class_of(config, flow));
                classes.len() - 1
            }
        };
        classes[class].flows += 1;
        let start = Instant::ZERO + flow.start;
        let opening = Opening { class: class as u32, start, stop: flow.stop_instant() };
        openings.extend((0..flow.traffic.connections()).map(|_| opening));
    }
    Ok((classes, openings))
}

/// The class whose first flow is `flow`.
fn class_of(config: &WorldConfig, flow: &FlowConfig) -> ClassInfo {
    let rules = &config.stack.ues[flow.ue as usize].rules;
    let qfi =
        justfull_ran::upf::detect(rules, &flow.tuple, flow.dscp).map_or(0, justfull_base::Qfi::get);
    ClassInfo {
        name: flow.name.to_string(),
        protocol: protocol_name(flow.traffic.protocol()),
        app: AppStats::of(&flow.traffic),
        control: flow.traffic.sender().map_or_else(String::new, |s| s.cc.name().to_string()),
        ue: flow.ue,
        qfi,
        low_latency: flow.low_latency,
        up: flow.is_upload(),
        delay_budget: flow.delay_budget,
        flows: 0,
    }
}
