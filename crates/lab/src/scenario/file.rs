//! What a scenario file may say.

use super::error::{Locator, ScenarioError};
use super::method::Settings;
use crate::trace::{Column, Gaps, Idle, Repeated};
use justfull_base::{BitRate, Bytes, Duration, Ratio};
use justfull_ran::channel::{
    AtEnd, CapacityUnit, ConstantConfig, CqiRowsConfig, MarkovConfig, McsConfig, PatternConfig, RowLength,
    RowsConfig,
};
use justfull_ran::{
    MacConfig, PacketDetectionRule, PdcpConfig, QosFlowConfig, RlcConfig, SdapConfig, TieOrder, UpfConfig,
};
use justfull_sim::traffic::{CbrConfig, OnOffConfig, PageConfig, VideoConfig, VoipConfig};
use justfull_sim::{GrantConfig, Interval, PingConfig, UplinkConfig};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The variant without settings of its own: sound defaults.
pub(super) const SOUND: &str = "sound";

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Heading of tables and reports.
    pub title: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Simulated time.
    pub duration: Duration,
    /// Start of the measured window.
    #[serde(default)]
    pub warmup: Duration,
    /// Seed of the first run.
    #[serde(default = "one_u64")]
    pub seed: u64,
    /// Number of runs, each with the next seed.
    #[serde(default = "one_u32")]
    pub runs: u32,
    /// Methods to compare.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Variant: `sound`, or one of `variants`.
    #[serde(default = "sound")]
    pub variant: String,
    /// Order of events at one instant.
    #[serde(default)]
    pub tie_order: TieOrder,
    /// Largest packet in bytes.
    #[serde(default = "mtu")]
    pub mtu: u32,
    /// Bins of the series over time.
    #[serde(default = "series_bins")]
    pub series_bins: u32,
    /// Measure the backlog of every queue over time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entity_backlog: bool,
    /// A setting that takes several values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepFile>,
    /// From servers to the UPF.
    #[serde(default)]
    pub core: CoreFile,
    /// From the slot to the UE.
    #[serde(default)]
    pub air: AirFile,
    /// From the UE back to the servers.
    #[serde(default)]
    pub uplink: UplinkFile,
    /// What the cell can carry.
    pub channel: ChannelFile,
    /// User plane function.
    #[serde(default)]
    pub upf: UpfConfig,
    /// Service data adaptation.
    #[serde(default)]
    pub sdap: SdapConfig,
    /// Radio link control.
    #[serde(default)]
    pub rlc: RlcConfig,
    /// Packet data convergence; with a carrier only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pdcp: PdcpConfig,
    /// Medium access control.
    #[serde(default)]
    pub mac: MacConfig,
    /// Slices; one with all of the resource blocks when none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slice: Vec<SliceFile>,
    /// User equipments; one with QFI 9 when none is named.
    #[serde(default = "one_ue")]
    pub ue: Vec<UeFile>,
    /// Flows.
    pub flow: Vec<FlowFile>,
    /// Settings by the name of the variant.
    #[serde(default, skip_serializing)]
    pub variants: BTreeMap<String, Settings>,
    /// Settings by the name of the switch, for `reproduce` and `--switch`.
    #[serde(default, skip_serializing)]
    pub switches: BTreeMap<String, Settings>,
}

/// A setting that takes several values, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// Dotted path of the setting.
    pub path: String,
    /// Its values.
    pub values: Vec<toml::Value>,
    /// Name for axes and columns; ends in the unit, e.g. `interval_ms`.
    pub label: String,
}

/// The core network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoreFile {
    /// Rate of each server's link; "0bit/s" for infinitely fast.
    pub rate: BitRate,
    /// One-way delay.
    pub delay: Duration,
}

impl Default for CoreFile {
    fn default() -> Self {
        Self { rate: BitRate(1_000_000_000), delay: Duration::from_millis(10) }
    }
}

/// The air interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AirFile {
    /// From the pull to the UE's stack.
    pub delay: Duration,
}

/// The way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UplinkFile {
    /// Rate of each UE; "0bit/s" for infinitely fast.
    pub rate: BitRate,
    /// One-way delay from UE to server.
    pub delay: Duration,
    /// What a UE's queue holds at most.
    pub limit: Bytes,
    /// A UE sends what it is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<GrantConfig>,
}

impl Default for UplinkFile {
    fn default() -> Self {
        Self { rate: BitRate(0), delay: Duration::from_millis(10), limit: UplinkConfig::LIMIT, grants: None }
    }
}

/// What a cell, or one UE, can carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChannelFile {
    /// The same in every slot.
    Constant(ConstantConfig),
    /// A few slots, repeated.
    Pattern(PatternConfig),
    /// Capacities written in the scenario itself.
    Rows(RowsConfig),
    /// Channel qualities written in the scenario itself.
    CqiRows(CqiRowsConfig),
    /// Channel quality by chance.
    Markov(MarkovConfig),
    /// Capacities from a file.
    Trace(TraceFile),
    /// Channel qualities from a file.
    CqiTrace(CqiTraceFile),
    /// Modulation and coding schemes written in the scenario itself, for a MAC with a carrier.
    Mcs(McsConfig),
    /// Modulation and coding schemes from a file, for a MAC with a carrier.
    McsTrace(McsTraceFile),
}

/// Capacities from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// Name of the file; looked up beside the scenario, then in the folder that `JUSTFULL_DATA` names.
    pub file: PathBuf,
    /// `packets` (column `packets_per_10ms`), `bytes` (column `bytes`), `auto` (told by what the file holds), or the name of
    /// another format.
    #[serde(default = "packets")]
    pub format: AmountFormat,
    /// Rows or intervals that are used, from the first; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// How long a row of `packets` or `bytes` is in force: a time, or a number of slots; 1 s when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<RowLength>,
    /// The time in which a row's amount of `packets` or `bytes` is carried; 10 ms when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// What follows the last row.
    #[serde(default)]
    pub at_end: AtEnd,
    /// What a packet of the trace is worth in bytes; 1460 B or what is usual in the format when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_bytes: Option<Bytes>,
    /// Unit of the MAC's grants.
    #[serde(default)]
    pub unit: CapacityUnit,
    /// Column of a phone log.
    #[serde(default)]
    pub column: Column,
    /// Rows of a phone log that share a second.
    #[serde(default)]
    pub repeated: Repeated,
    /// Seconds that a phone log lacks, and rows without a value.
    #[serde(default)]
    pub gaps: Gaps,
    /// Idle rows of a phone log.
    #[serde(default)]
    pub idle: Idle,
}

/// Format of a capacity trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AmountFormat {
    /// Packets per 10 ms.
    Packets,
    /// Bytes per interval.
    Bytes,
    /// Told by what the file holds.
    Auto,
    /// Mahimahi's opportunities.
    Mahimahi,
    /// CellReplay's heavy opportunities.
    Cellreplay,
    /// CellReplay's packet trains.
    CellreplayTrain,
    /// A phone log of University College Cork.
    Ucc,
    /// justfull's own text.
    Csv,
    /// justfull's own columns in Parquet.
    Parquet,
}

/// Channel qualities from a file; the other fields are those of `cqi_rows`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CqiTraceFile {
    /// Name of the file; looked up beside the scenario, then in the folder that `JUSTFULL_DATA` names.
    pub file: PathBuf,
    /// What becomes of rows without a CQI: `error`, `hold`, `skip`.
    #[serde(default)]
    pub missing: crate::trace::MissingCqi,
    /// Rows that are used, from the first; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// How a quality becomes a capacity.
    #[serde(default)]
    pub quality: CqiRowsConfig,
}

/// Modulation and coding schemes from a file of T20's packets per 10 ms: the least MCS that makes as many of 25 blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McsTraceFile {
    /// Name of the file; looked up beside the scenario, then in the folder that `JUSTFULL_DATA` names.
    pub file: PathBuf,
    /// First row that is used, counted from 1.
    #[serde(default = "one_usize")]
    pub first: usize,
    /// Rows that are used; all from the first on when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// How many rows longer the first is in force, 0 to 3600: what a flow meets that starts before the trace.
    #[serde(default)]
    pub lead: u16,
    /// How long a row is in force.
    #[serde(default)]
    pub row: RowLength,
    /// What follows the last row.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// A share of the cell's resource blocks that user equipments are put in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceFile {
    /// Its name, once.
    pub name: String,
    /// Share of the resource blocks, above 0; all shares together at most 1.
    pub share: Ratio,
}

/// User equipments, alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UeFile {
    /// How many.
    #[serde(default = "one_u32")]
    pub count: u32,
    /// Data radio bearers of each.
    #[serde(default = "one_u8")]
    pub drbs: u8,
    /// QoS flows of each.
    #[serde(default = "default_qos_flow")]
    pub qos_flow: Vec<QosFlowConfig>,
    /// Packet detection rules of each, before those that follow from the flows' `qfi`.
    #[serde(default)]
    pub rule: Vec<PacketDetectionRule>,
    /// A channel of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelFile>,
    /// Name of its slice; the first when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
}

/// Flows, alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// Name; counted together under it.
    pub name: String,
    /// How many to each UE.
    #[serde(default = "one_u32")]
    pub count: u32,
    /// First UE that has it.
    #[serde(default)]
    pub ue: u32,
    /// Number of UEs that have it, from `ue` on; all of them when 0.
    #[serde(default = "one_u32")]
    pub ues: u32,
    /// Differentiated services codepoint of its packets towards the UE (RFC 2474), 0 to 63.
    #[serde(default, skip_serializing_if = "justfull_base::Dscp::is_default")]
    pub dscp: justfull_base::Dscp,
    /// QFI; left out, the UE's own rules decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qfi: Option<justfull_base::Qfi>,
    /// Its delay is what the scenario asks for.
    #[serde(default)]
    pub low_latency: bool,
    /// 5QI of its QoS flow (TS 23.501 Table 5.7.4-1): packets that miss its packet delay budget are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub five_qi: Option<u8>,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// When it stops; left out, at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// One-way delay between server and UPF on top of the core's.
    #[serde(default)]
    pub extra_delay: Duration,
    /// A TCP transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpFile>,
    /// Datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpFile>,
    /// Echo requests that the UE answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingConfig>,
    /// Datagrams at a constant rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cbr: Option<CbrConfig>,
    /// Datagrams at a constant rate by times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOffConfig>,
    /// A G.711 call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<VoipConfig>,
    /// Frames of a rendered video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoConfig>,
    /// Pages that the UE loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<PageConfig>,
}

/// Which way a TCP transfer goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the server to the UE.
    #[default]
    Down,
    /// From the UE to the server: its segments take the uplink, its acknowledgements the chain.
    Up,
}

/// A TCP transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TcpFile {
    /// Which way it goes.
    #[serde(skip_serializing_if = "is_down")]
    pub direction: Direction,
    /// Bytes to transfer; left out, it never ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The end that sends: the server's, or the UE's where it goes up.
    pub sender: SenderConfig,
    /// The other end.
    pub receiver: ReceiverConfig,
}

/// Datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpFile {
    /// Payload of each.
    pub payload: Bytes,
    /// Time between them: a time, or `{ mean, sd }` for a normal law.
    pub interval: Interval,
}

impl ScenarioFile {
    /// Reads a tree strictly.
    pub(super) fn read(tree: &toml::Table, locator: &Locator) -> Result<Self, ScenarioError> {
        let read = |tree: &toml::Table| tree.clone().try_into::<Self>();
        read(tree).map_err(|e| locator.fault(tree, &e, &|t| read(t).map(|_| ())))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
fn is_down(direction: &Direction) -> bool {
    *direction == Direction::Down
}
fn one_u64() -> u64 {
    1
}
fn one_usize() -> usize {
    1
}
fn one_u32() -> u32 {
    1
}
fn one_u8() -> u8 {
    1
}
fn mtu() -> u32 {
    1500
}
fn series_bins() -> u32 {
    1000
}
fn sound() -> String {
    SOUND.into()
}
fn packets() -> AmountFormat {
    AmountFormat::Packets
}
fn default_qos_flow() -> Vec<QosFlowConfig> {
    let qfi = justfull_base::Qfi::new(9).unwrap_or_default();
    vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }]
}
fn one_ue() -> Vec<UeFile> {
    vec![UeFile {
        count: 1,
        drbs: 1,
        qos_flow: default_qos_flow(),
        rule: Vec::new(),
        channel: None,
        slice: None,
    }]
}
