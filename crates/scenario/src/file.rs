//! The content of a scenario file.

mod cells;
pub mod docs;
mod scells;
mod uplink;

pub(crate) use uplink::{UplinkFile, UplinkStackFile};

pub(crate) use cells::{CellFile, DriveFile, MoveFile, TourFile};
pub(crate) use scells::ScellFile;

use super::error::ScenarioError;
use super::locator::Locator;
use super::method::Settings;
use super::preset;
use super::sweep::SweepFile;
use super::trace_start::TraceStart;
use justfull_base::{BitRate, Bytes, Dscp, Duration, Qfi, Ratio, choice, kinds_config, table};
use justfull_ran::channel::{
    AtEnd, ChannelConfig, ConstantConfig, CqiRowsConfig, MarkovConfig, McsConfig, PatternConfig,
    RowLength, RowsConfig, UmiConfig,
};
use justfull_ran::config::MAX_DRBS;
use justfull_ran::{
    DrxConfig, MacConfig, PacketDetectionRule, PdcpConfig, QosFlowConfig, RlcConfig, SdapConfig,
    SplitConfig, TieOrder, UpfConfig,
};
use justfull_run::traffic::{
    CbrConfig, DashConfig, OnOffConfig, PageConfig, VideoCallConfig, VideoConfig, VoipConfig,
};
use justfull_run::{A3Config, HandoverConfig, Interval, PingConfig, ProxyConfig, Transport};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use justfull_trace::{
    Column, DecimalSign, Gaps, Idle, Link, MissingCqi, Repeated, Separator, TimeUnit,
};
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

/// A channel of a scenario: the kinds of the stack, and the kinds that read a file.
macro_rules! channels {
    ($($name:literal $Variant:ident = $Settings:ty;)+) => {
        kinds_config! {
            serde;
            /// The capacity of a cell, or of one UE.
            #[derive(Clone, Debug, PartialEq)]
            pub enum ChannelFile(docs::channels());
            $($name $Variant = $Settings;)+
            "trace" Trace = TraceFile;
            "cqi_trace" CqiTrace = CqiTraceFile;
            "mcs_trace" McsTrace = McsTraceFile;
        }

        impl ChannelFile {
            /// The source of the stack's channel.
            pub(crate) fn source(&self) -> ChannelSource<'_> {
                match self {
                    $(Self::$Variant(config) => {
                        ChannelSource::Here(ChannelConfig::$Variant(config.clone()))
                    })+
                    Self::Trace(file) => ChannelSource::Trace(file),
                    Self::CqiTrace(file) => ChannelSource::CqiTrace(file),
                    Self::McsTrace(file) => ChannelSource::McsTrace(file),
                }
            }
        }
    };
}

/// The source of the stack's channel.
pub(crate) enum ChannelSource<'a> {
    /// The scenario itself.
    Here(ChannelConfig),
    /// A file of capacities, which gives its rows.
    Trace(&'a TraceFile),
    /// A file of channel qualities.
    CqiTrace(&'a CqiTraceFile),
    /// A file of packet counts, read as MCSs.
    McsTrace(&'a McsTraceFile),
}

channels! {
    "constant" Constant = ConstantConfig;
    "pattern" Pattern = PatternConfig;
    "rows" Rows = RowsConfig;
    "cqi_rows" CqiRows = CqiRowsConfig;
    "markov" Markov = MarkovConfig;
    "mcs" Mcs = McsConfig;
    "umi" Umi = UmiConfig;
}

table! {
    /// Capacities from a file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct TraceFile {
        /// Name of the trace, plain or gzip; looked up beside the scenario, then in the folder that
        /// `JUSTFULL_DATA` names.
        file: String;
        /// Format of the file; auto finds it from the content.
        #[serde(default = "packets")]
        format: AmountFormat = packets();
        /// How many rows are used, from the first on; all when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<usize> = None, stated("1 to the rows of the trace");
        /// Where a run begins, rounded down to a row: a time after the beginning, or `spread`, by
        /// which each seed begins elsewhere and all are spread over the whole trace.
        #[serde(default, skip_serializing_if = "is_default")]
        start: TraceStart = Default::default(),
            stated("a time below the trace's length, or spread with at_end = loop");
        /// How long a row of `packets` or `bytes` is in force: a time, or a number of slots; 1 s
        /// when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<RowLength> = None,
            stated("a time above 0s, or a number of slots above 0; packets and bytes only");
        /// The time in which a row's amount of `packets` or `bytes` is carried, 10 ms when left
        /// out; for tables of rates and amounts the length of a row without a time, or of the
        /// intervals that rows become.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Duration> = None,
            stated("above 0s, at most 1h; packets, bytes, rates, amounts, nr-scope only");
        /// The rows after the last one.
        #[serde(default)]
        at_end: AtEnd = Default::default();
        /// Bytes of a packet of the trace. Left out: 1460 B, or the usual size of the format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packet_bytes: Option<Bytes> = None, stated("1B to 65535B");
        /// Column of the rates of a table, which the file then is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_column: Option<String> = None, stated("a name, or a number from 1");
        /// Column of amounts at instants of a table, which the file then is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amount_column: Option<String> = None, stated("a name, or a number from 1");
        /// Column of their times; rows as long as `interval` when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_column: Option<String> = None, stated("a name, or a number from 1; rates and amounts only");
        /// Unit of the rates or amounts; that in the column's name when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_unit: Option<String> = None, stated("such as Mbit/s, MB/s, bit, B; rates and amounts only");
        /// Unit of the times; that in the column's name, or what an epoch shows, when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_unit: Option<TimeUnit> = None, stated("s, ms, us, ns, min, h; rates and amounts only");
        /// The separator of the fields of a table. Left out: found from the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        separator: Option<Separator> = None, stated("comma, semicolon, tab, pipe, blank; tables only");
        /// The sign before a fraction; found from the file when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimal: Option<DecimalSign> = None, stated("point, comma; tables only");
        /// Terminal of NR-Scope's log; all added up when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rnti: Option<String> = None, stated("sum, or a number from 0 to 65535; nr-scope only");
        /// Direction of NR-Scope's log; downlink when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<Link> = None, stated("dl, ul; nr-scope only");
        /// Column of a phone log; dl_bitrate when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        column: Option<Column> = None, stated("dl_bitrate, ul_bitrate, cqi; ucc only");
        /// Rows of one time; the last of a phone log, the mean of rates, the sum of amounts when
        /// left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeated: Option<Repeated> = None, stated("last, first, mean, sum, error; ucc, rates, amounts only");
        /// Times without a row, and rows without a value; held when left out, but a table with
        /// empty fields is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gaps: Option<Gaps> = None, stated("hold, zero, skip, error; ucc, rates, amounts only");
        /// Idle rows of a phone log; cut when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle: Option<Idle> = None, stated("cut, keep; ucc only");
    }
}

choice! {
    serde;
    /// Format of a capacity trace.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AmountFormat {
        /// Packets per 10 ms.
        Packets = "packets",
        /// Bytes per interval.
        Bytes = "bytes",
        /// Found from the content of the file.
        Auto = "auto",
        /// Mahimahi's opportunities.
        Mahimahi = "mahimahi",
        /// CellReplay's heavy opportunities.
        Cellreplay = "cellreplay",
        /// CellReplay's packet trains.
        CellreplayTrain = "cellreplay-train",
        /// A phone log of University College Cork.
        Ucc = "ucc",
        /// justfull's own text.
        Csv = "csv",
        /// NR-Scope's log of grants.
        NrScope = "nr-scope",
        /// A table of rates; `rate_column` names them.
        Rates = "rates",
        /// A table of amounts; `amount_column` names them.
        Amounts = "amounts",
    }
}

table! {
    /// Channel qualities from a file; the other fields are those of `cqi_rows`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CqiTraceFile {
        /// Name of the trace, plain or gzip; looked up beside the scenario, then in the folder that
        /// `JUSTFULL_DATA` names.
        file: String;
        /// The treatment of rows without a CQI: refused, the CQI before it, nothing carried, or
        /// left out, which compresses time.
        #[serde(default)]
        missing: MissingCqi = Default::default();
        /// How many rows are used, from the first on; all when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<usize> = None, stated("1 to the rows of the trace");
        /// How a quality becomes a capacity.
        #[serde(default)]
        quality: CqiRowsConfig = Default::default(), stated("the keys of cqi_rows but cqi");
    }
}

table! {
    /// Modulation and coding schemes from a file of T20's packets per 10 ms: the least MCS that
    /// makes as many of 25 blocks.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct McsTraceFile {
        /// Name of the trace, plain or gzip; looked up beside the scenario, then in the folder that
        /// `JUSTFULL_DATA` names.
        file: String;
        /// First row that is used, counted from 1.
        #[serde(default = "one_usize")]
        first: usize = one_usize(), stated("1 to the rows of the trace");
        /// How many rows are used, from `first` on; all when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<usize> = None, stated("1 to the rows from the first on");
        /// Number of rows by which the first row is extended, for flows that start before the
        /// trace.
        #[serde(default)]
        lead: u16 as "rows" = Default::default(), at_most(3600);
        /// How long a row is in force.
        #[serde(default)]
        row: RowLength = Default::default();
        /// The rows after the last one.
        #[serde(default)]
        at_end: AtEnd = Default::default();
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

table! {
    /// Flows, alike.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowFile {
        /// Name; counted together under it.
        name: String;
        /// How many to each UE.
        #[serde(default = "one_u32")]
        count: u32 = one_u32(), within(1, MOST);
        /// First UE that has it.
        #[serde(default)]
        ue: u32 = Default::default();
        /// Number of UEs that have it, from `ue` on; all of them when 0.
        #[serde(default = "one_u32")]
        ues: u32 = one_u32();
        /// Differentiated services codepoint of its packets towards the UE (RFC 2474), 0 to 63.
        #[serde(default, skip_serializing_if = "Dscp::is_default")]
        dscp: Dscp = Default::default();
        /// QFI; left out, the UE's own rules decide.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        qfi: Option<Qfi> = None;
        /// Its packets are in the UE's tunnel, whose flows have one 5-tuple; simulated runs only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tunnel: bool = Default::default();
        /// The scenario is about its delay.
        #[serde(default)]
        low_latency: bool = Default::default();
        /// 5QI of its QoS flow (TS 23.501 Table 5.7.4-1): packets that miss its packet delay budget
        /// are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        five_qi: Option<u8> = None;
        /// When it starts.
        #[serde(default)]
        start: Duration = Default::default();
        /// When it stops; left out, at the end of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Duration> = None;
        /// One-way delay between server and UPF on top of the core's.
        #[serde(default)]
        extra_delay: Duration = Default::default();
        /// A proxy splits it, where there is one; left out: if it is a TCP transfer to the UE.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proxied: Option<bool> = None, stated("false but for a TCP transfer to the UE");
        /// A TCP transfer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tcp: Option<TcpFile> = None;
        /// Datagrams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        udp: Option<UdpFile> = None;
        /// Echo requests that the UE answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ping: Option<PingConfig> = None;
        /// Datagrams at a constant rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cbr: Option<CbrConfig> = None;
        /// Datagrams at a constant rate by times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_off: Option<OnOffConfig> = None;
        /// A G.711 call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voip: Option<VoipConfig> = None;
        /// Frames of a rendered video.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        video: Option<VideoConfig> = None;
        /// A video call whose encoder follows a rate control.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        video_call: Option<VideoCallConfig> = None;
        /// Pages that the UE loads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<PageConfig> = None;
        /// Adaptive video over HTTP.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dash: Option<DashConfig> = None;
    }
}

choice! {
    serde;
    /// Which way a TCP transfer goes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Direction {
        /// From the server to the UE.
        #[default]
        Down = "down",
        /// From the UE to the server: its segments take the uplink, its acknowledgements the chain.
        Up = "up",
    }
}

table! {
    /// A TCP transfer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TcpFile with Default {
        /// Direction of the transfer.
        #[serde(skip_serializing_if = "is_down")]
        direction: Direction = Default::default();
        /// Bytes to transfer; left out, it never ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<Bytes> = None, stated("at least 1B");
        /// Payload that its application writes per second, a segment at a time, from the start on;
        /// left out, all is there at the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<BitRate> = None, stated("1bit/s to a segment per 1us");
        /// Protocol of its packets. With `udp` it is a flow like QUIC (RFC 9000): its ends work as
        /// TCP's, and rules, queues and a proxy treat it as datagrams. With `ssh` the bytes belong
        /// to an SSH session: live, an `ssh` fetches them from an `sshd`; the simulator sends the
        /// bytes without SSH's handshake.
        #[serde(skip_serializing_if = "is_default")]
        protocol: Transport = Default::default();
        /// The end that sends: the server's, or the UE's where it goes up.
        sender: SenderConfig = Default::default();
        /// The other end.
        receiver: ReceiverConfig = Default::default();
    }
}

table! {
    /// Datagrams.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct UdpFile {
        /// Payload of each.
        payload: Bytes where (stated("1B to the MTU less 28B of headers"));
        /// Time between them: a time, `{ mean, sd }` for a normal law, or `{ exponential = mean }`
        /// for a Poisson process.
        interval: Interval;
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
fn is_down(direction: &Direction) -> bool {
    *direction == Direction::Down
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
