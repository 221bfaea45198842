//! The content of a scenario file.

mod cells;
mod channels;
pub mod docs;
mod flows;
mod scells;
mod uplink;

pub(crate) use cells::{CellFile, DriveFile, MoveFile, TourFile};
pub use channels::ChannelFile;
pub(crate) use channels::{AmountFormat, ChannelSource, CqiTraceFile, McsTraceFile, TraceFile};
pub use flows::FlowFile;
pub(crate) use flows::{Direction, TcpFile, UdpFile};
pub(crate) use scells::ScellFile;
pub(crate) use uplink::{UplinkFile, UplinkStackFile};

use super::error::ScenarioError;
use super::locator::Locator;
use super::method::Settings;
use super::preset;
use super::sweep::SweepFile;
use justfull_base::{BitRate, Duration, Qfi, Ratio, table};
use justfull_ran::config::MAX_DRBS;
use justfull_ran::{
    DrxConfig, MacConfig, PacketDetectionRule, PdcpConfig, QosFlowConfig, RlcConfig, SdapConfig,
    SplitConfig, TieOrder, UpfConfig,
};
use justfull_run::{A3Config, HandoverConfig, ProxyConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of runs of a method at a point, which bounds memory.
pub(super) const MOST_RUNS: u32 = 100_000;
/// Maximum number of UEs, and of flows, which bounds memory.
pub(super) const MOST: u32 = 1_000_000;

/// The variant without settings of its own: sound defaults.
pub(super) const SOUND: &str = "sound";

table! {
    /// A scenario file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ScenarioFile {
        /// Heading of tables and reports.
        title: String;
        /// Its purpose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String = Default::default();
        /// Simulated time.
        duration: Duration;
        /// Start of the measured window.
        #[serde(default)]
        warmup: Duration = Default::default();
        /// Seed of the first run.
        #[serde(default = "one_u64")]
        seed: u64 = one_u64();
        /// Number of runs, each with the next seed.
        #[serde(default = "one_u32")]
        runs: u32 = one_u32(), within(1, MOST_RUNS);
        /// Methods to compare.
        #[serde(default)]
        methods: Vec<String> = Default::default();
        /// Variant: `sound`, or one of `variants`.
        #[serde(default = "sound")]
        variant: String = sound();
        /// Order of events at one instant.
        #[serde(default)]
        tie_order: TieOrder = Default::default();
        /// Largest packet in bytes.
        #[serde(default = "mtu")]
        mtu: u32 = mtu(), within(68, 65_535);
        /// Bins of the series over time.
        #[serde(default = "series_bins")]
        series_bins: u32 = series_bins(), within(1, 100_000);
        /// Measure the backlog of every queue over time.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        entity_backlog: bool = Default::default();
        /// Compute the floor of each simulated run: what no method can beat.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        floor: bool = Default::default();
        /// A setting that takes several values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sweep: Option<SweepFile> = None;
        /// From servers to the UPF.
        #[serde(default)]
        core: CoreFile = Default::default();
        /// From the slot to the UE.
        #[serde(default)]
        air: AirFile = Default::default();
        /// From the UE back to the servers.
        #[serde(default)]
        uplink: UplinkFile = Default::default();
        /// A proxy that splits TCP connections in front of the UPF; with a control only.
        #[serde(default, skip_serializing_if = "is_default")]
        proxy: ProxyConfig = Default::default();
        /// The capacity of the cell.
        channel: ChannelFile;
        /// User plane function.
        #[serde(default)]
        upf: UpfConfig = Default::default();
        /// Service data adaptation.
        #[serde(default)]
        sdap: SdapConfig = Default::default();
        /// Radio link control.
        #[serde(default)]
        rlc: RlcConfig = Default::default();
        /// Packet data convergence; with a MAC of kind rb, dch or hsdpa.
        #[serde(default, skip_serializing_if = "is_default")]
        pdcp: PdcpConfig = Default::default();
        /// Medium access control.
        #[serde(default)]
        mac: MacConfig = Default::default();
        /// SCells of carrier aggregation, beside the carrier of `mac`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scell: Vec<ScellFile> = Default::default(), stated("none, or with mac.kind rb");
        /// Slices; one with all of the resource blocks when none is named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        slice: Vec<SliceFile> = Default::default();
        /// Cells; with two or more, each UE names its cell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cell: Vec<CellFile> = Default::default();
        /// Handovers between cells.
        #[serde(default, skip_serializing_if = "is_default")]
        handover: HandoverConfig = Default::default();
        /// User equipments; one with QFI 9 when none is named.
        #[serde(default = "one_ue")]
        ue: Vec<UeFile> = one_ue();
        /// Flows.
        flow: Vec<FlowFile>;
        /// Settings of the limiters of loaded plugins, by the name of the method and the name of
        /// the setting.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        plugin: BTreeMap<String, BTreeMap<String, f64>> = Default::default();
        /// Settings by the name of the variant.
        #[serde(default, skip_serializing)]
        variants: BTreeMap<String, Settings> = Default::default();
        /// Settings by the name of the switch, for `reproduce` and `--switch`.
        #[serde(default, skip_serializing)]
        switches: BTreeMap<String, Settings> = Default::default();
    }
}

table! {
    /// The core network.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CoreFile with Default {
        /// Rate of each server's link; "0bit/s" for infinitely fast.
        rate: BitRate = BitRate(1_000_000_000);
        /// One-way delay.
        delay: Duration = Duration::from_millis(10);
        /// Share of the packets to the UEs that is lost at random on it, each independently of the
        /// others.
        #[serde(skip_serializing_if = "is_default")]
        loss: Ratio = Default::default(), at_least(Ratio(0.0)).below(Ratio(1.0));
    }
}

table! {
    /// The air interface.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AirFile with Default {
        /// From the pull to the UE's stack.
        delay: Duration = Default::default();
    }
}

table! {
    /// A share of the cell's resource blocks that user equipments are put in.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SliceFile {
        /// Its name, once.
        name: String;
        /// Share of the resource blocks.
        share: Ratio where (above(Ratio(0.0)).to(Ratio(1.0))
            .and("all shares together at most 1", |_| true));
    }
}

table! {
    /// User equipments, alike.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct UeFile {
        /// How many.
        #[serde(default = "one_u32")]
        count: u32 = one_u32(), within(1, MOST);
        /// Data radio bearers of each.
        #[serde(default = "one_u8")]
        drbs: u8 = one_u8(), within(1, MAX_DRBS);
        /// QoS flows of each.
        #[serde(default = "default_qos_flow")]
        qos_flow: Vec<QosFlowConfig> = default_qos_flow();
        /// Packet detection rules of each, before those that follow from the flows' `qfi`.
        #[serde(default)]
        rule: Vec<PacketDetectionRule> = Default::default();
        /// A channel of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<ChannelFile> = None;
        /// Name of its slice; the first when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slice: Option<String> = None;
        /// It uses the SCells; false for the PCell alone.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        scells: bool = yes();
        /// Discontinuous reception; left out, it always listens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drx: Option<DrxConfig> = None;
        /// Name of its cell at the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cell: Option<String> = None, stated("a cell; required with two or more, but with drive");
        /// Changes of cell at given times.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moves: Vec<MoveFile> = Default::default(), stated("in the order of time; one of moves, tour, a3, drive");
        /// Changes of cell at regular times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tour: Option<TourFile> = None, stated("one of moves, tour, a3, drive");
        /// Measurements of the cells' signals on its walk: event A3 decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a3: Option<A3Config> = None, stated("with a channel of kind umi; one of moves, tour, a3, drive");
        /// Changes of cell as in the log of a phone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<DriveFile> = None, stated("one of moves, tour, a3, drive");
        /// Name of its secondary cell: its bearers are split over both cells (dual connectivity).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secondary: Option<String> = None, stated("another cell than `cell`; not for a UE that moves");
        /// How its bearers are split.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        split: Option<SplitConfig> = None, stated("with `secondary`");
    }
}

impl ScenarioFile {
    /// Reads a tree strictly, with the values of its presets.
    pub(super) fn of(tree: toml::Table) -> Result<Self, toml::de::Error> {
        preset::filled(tree).try_into()
    }

    /// Like [`ScenarioFile::of`], with an error for users.
    pub(super) fn read(tree: &toml::Table, locator: &Locator) -> Result<Self, ScenarioError> {
        Self::of(tree.clone()).map_err(|e| locator.fault(tree, &e, &Self::params()))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
fn yes() -> bool {
    true
}
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_true(value: &bool) -> bool {
    *value
}
fn one_u64() -> u64 {
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
fn default_qos_flow() -> Vec<QosFlowConfig> {
    let qfi = Qfi::new(9).unwrap_or_default();
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
        scells: true,
        drx: None,
        cell: None,
        moves: Vec::new(),
        tour: None,
        a3: None,
        drive: None,
        secondary: None,
        split: None,
    }]
}
