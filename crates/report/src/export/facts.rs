//! Facts about a run that every file records, and facts about its flows that the writers need.

use super::SCHEMA;
use justfull_base::packet::Protocol;
use justfull_base::{Dscp, Duration};
use justfull_ran::FiveTuple;
use justfull_ran::channel::CapacityUnit;
use justfull_run::{PingConfig, Traffic, WorldConfig};
use serde::Serialize;

/// The origin of a file, enough to reproduce it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// Version of the layout, [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the method.
    pub method: String,
    /// Seed of the run.
    pub seed: u64,
    /// Point of the sweep, e.g. `interval_ms = 20`; empty without a sweep.
    pub point: String,
    /// The scenario under the method with every default filled in.
    pub scenario_toml: String,
}

impl Provenance {
    /// Keys and values for formats that store pairs of texts; the keys begin with the program's
    /// name.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, String); 7] {
        [
            ("justfull.schema", self.schema.to_string()),
            ("justfull.version", self.version.clone()),
            ("justfull.scenario", self.scenario.clone()),
            ("justfull.method", self.method.clone()),
            ("justfull.seed", self.seed.to_string()),
            ("justfull.point", self.point.clone()),
            ("justfull.scenario_toml", self.scenario_toml.clone()),
        ]
    }
}

/// Direction of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the UE.
    Down,
    /// From the UE.
    Up,
}

/// Facts about a flow for the writers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFacts {
    /// Index of its name in [`RunFacts::classes`].
    pub class: u32,
    /// Addresses and ports, towards the UE.
    pub tuple: FiveTuple,
    /// Codepoint of its packets towards the UE.
    pub dscp: Dscp,
    /// Data radio bearer of its QoS flow; 0 when no rule gives it one.
    pub drb: u8,
    /// Payload of a datagram in bytes and mean time between datagrams; none for TCP, and for
    /// frames, whose datagrams differ in size.
    pub datagrams: Option<(u32, Duration)>,
    /// Direction of its TCP payload; none for datagrams.
    pub stream: Option<Way>,
    /// True if the receiver, UE or server, replies to each datagram.
    pub answered: bool,
    /// True if the UE sends the requests.
    pub asked_by_ue: bool,
    /// The scenario marks it `low_latency`.
    pub low_latency: bool,
    /// One-way delay between server and UPF.
    pub core_delay: Duration,
}

/// The unit of a slot's capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotUnit {
    /// Whole packets.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
    /// Resource blocks, with a carrier.
    ResourceBlocks,
}

/// Facts about a run for the writers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The origin of the files.
    pub provenance: Provenance,
    /// Names of flows in order of appearance; flows of one name form a class.
    pub classes: Vec<String>,
    /// The flows by number.
    pub flows: Vec<FlowFacts>,
    /// The unit of slots.
    pub slots_in: SlotUnit,
    /// Time from the pull to the arrival at the UE.
    pub air_delay: Duration,
    /// Simulated time.
    pub duration: Duration,
}

impl RunFacts {
    /// The facts of the world of `config`; `scenario_toml` is its resolved scenario at `point`.
    #[must_use]
    pub fn new(config: &WorldConfig, scenario_toml: String, point: String) -> Self {
        let mut classes: Vec<String> = Vec::new();
        let flows = config.flows.iter().flat_map(|flow| {
            let class = classes.iter().position(|name| **name == *flow.name).unwrap_or_else(|| {
                classes.push(flow.name.to_string());
                classes.len() - 1
            });
            let ue = &config.stack.ues[flow.ue as usize];
            let core_delay = config.core_delay + flow.extra_delay;
            (0..flow.traffic.connections()).map(move |connection| {
                let tuple = flow.tuple_of(connection);
                let qfi = justfull_ran::upf::detect(&ue.rules, &tuple, flow.dscp);
                FlowFacts {
                    class: class as u32,
                    tuple,
                    dscp: flow.dscp,
                    drb: ue.qos_flows.iter().find(|q| Some(q.qfi) == qfi).map_or(0, |q| q.drb),
                    datagrams: flow
                        .traffic
                        .datagrams()
                        .map(|(bytes, interval)| (bytes.0 as u32, interval)),
                    stream: match &*flow.traffic {
                        Traffic::Tcp { .. } | Traffic::Page(_) | Traffic::Dash(_) => {
                            Some(Way::Down)
                        }
                        Traffic::Upload { .. } => Some(Way::Up),
                        _ => None,
                    },
                    answered: matches!(*flow.traffic, Traffic::Ping(_)),
                    asked_by_ue: matches!(
                        &*flow.traffic,
                        Traffic::Ping(PingConfig { from_ue: Some(_), .. })
                    ),
                    low_latency: flow.low_latency,
                    core_delay,
                }
            })
        });
        let flows = flows.collect();
        Self {
            provenance: Provenance {
                schema: SCHEMA,
                version: env!("CARGO_PKG_VERSION").into(),
                scenario: config.scenario.clone(),
                method: config.method.clone(),
                seed: config.stack.seed,
                point,
                scenario_toml,
            },
            classes,
            flows,
            slots_in: match (config.stack.mac.carrier(), config.stack.unit()) {
                (Some(_), _) => SlotUnit::ResourceBlocks,
                (None, CapacityUnit::Packets) => SlotUnit::Packets,
                (None, CapacityUnit::Bytes) => SlotUnit::Bytes,
            },
            air_delay: config.air_delay,
            duration: config.duration,
        }
    }

    /// Name of the class of flow number `flow`.
    #[must_use]
    pub fn class_of(&self, flow: u32) -> &str {
        &self.classes[self.flows[flow as usize].class as usize]
    }
}

/// Lower-case name of a protocol for columns and keys.
#[must_use]
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    PROTOCOLS[protocol as usize]
}

/// Names of protocols by their number.
pub(crate) const PROTOCOLS: [&str; 4] = ["tcp", "udp", "icmp", "other"];
