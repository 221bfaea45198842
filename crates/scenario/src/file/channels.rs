//! The channels of a scenario file: the kinds of the stack, and the kinds that read a file.

use super::is_default;
use crate::trace_start::TraceStart;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, Duration, choice, kinds_config, table};
use justfull_ran::channel::{
    AtEnd, ChannelConfig, ConstantConfig, CqiRowsConfig, DOCS, MarkovConfig, McsConfig,
    PatternConfig, RowLength, RowsConfig, UmiConfig,
};
use justfull_trace::{
    Column, DecimalSign, Gaps, Idle, Link, MissingCqi, Repeated, Separator, TimeUnit,
};
use serde::{Deserialize, Serialize};

/// A channel of a scenario: the kinds of the stack, and the kinds that read a file.
macro_rules! channels {
    ($($name:literal $Variant:ident = $Settings:ty;)+) => {
        kinds_config! {
            serde;
            /// The capacity of a cell, or of one UE.
            #[derive(Clone, Debug, PartialEq)]
            pub enum ChannelFile(docs());
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
        /// Column of the times. Left out: rows as long as `interval`; of CQIs the column that looks
        /// like times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_column: Option<String> = None, stated("a name, or a number from 1; rates, amounts and CQIs only");
        /// Unit of the rates or amounts; that in the column's name when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_unit: Option<String> = None, stated("such as Mbit/s, MB/s, bit, B; rates and amounts only");
        /// Unit of the times; that in the column's name, or what an epoch shows, when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_unit: Option<TimeUnit> = None, stated("s, ms, us, ns, min, h; rates, amounts and CQIs only");
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
        /// Rows of one time; the last of a phone log and of CQIs, the mean of rates, the sum of
        /// amounts when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeated: Option<Repeated> = None, stated("last, first, mean, sum, error; ucc, rates, amounts, CQIs only");
        /// Times without a row, and rows without a value; held when left out, but a table with
        /// empty fields is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gaps: Option<Gaps> = None, stated("hold, zero, skip, error; ucc, rates, amounts, CQIs only");
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
        /// The treatment of rows without a CQI, and of times without a row: refused, the CQI before
        /// it, nothing carried, or left out, which compresses time.
        #[serde(default)]
        missing: MissingCqi = Default::default();
        /// Column of the times: a CQI holds until the time of the next row. Left out: the column
        /// that looks like times; without one a row is in force for `quality.row`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_column: Option<String> = None, stated("a name, or a number from 1");
        /// Unit of the times; that in the column's name, or what an epoch shows, when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_unit: Option<TimeUnit> = None, stated("s, ms, us, ns, min, h; tables with times only");
        /// How many rows are used, from the first on; of a table with times, of the intervals that
        /// its rows become; all when left out.
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

fn one_usize() -> usize {
    1
}
fn packets() -> AmountFormat {
    AmountFormat::Packets
}

/// The kinds of `channel`: the cell's own and those from files.
fn docs() -> Vec<&'static MethodDoc> {
    DOCS.iter().copied().chain([&TRACE, &CQI_TRACE, &MCS_TRACE]).collect()
}

pub(super) const TRACE: MethodDoc = MethodDoc {
    name: "trace",
    kind: "channel trace",
    title: "capacities from a file",
    text: "Replays what a link could carry. Formats other than packets and bytes say themselves \
           how long an amount is in force; opportunities shorter than a slot are gathered into \
           it, so that none is skipped.",
    sources: "T20 section 6; Mahimahi (Netravali et al. 2015); CellReplay (Sentosa et al. 2025); \
              Raca et al. 2018, 2020",
    deviations: "none",
    params: TraceFile::params,
};

pub(super) const CQI_TRACE: MethodDoc = MethodDoc {
    name: "cqi_trace",
    kind: "channel trace",
    title: "channel qualities from a file",
    text: "Reads a column `cqi`, 0 to 15, where 0 carries nothing; `quality` says how a CQI \
           becomes an MCS, a transport block and the packets or bytes of a slot, and how long a \
           row is in force, in the words of `cqi_rows`. In a table with times a CQI holds until \
           the time of the next row.",
    sources: "T20 section 6; TS 36.213; TS 38.214",
    deviations: "none",
    params: CqiTraceFile::params,
};

pub(super) const MCS_TRACE: MethodDoc = MethodDoc {
    name: "mcs_trace",
    kind: "channel trace",
    title: "modulation and coding schemes from a file, for a MAC with a carrier",
    text: "Reads a column `packets_per_10ms`, as T20's traces have it, and takes for each row the \
           least MCS whose blocks of 25 PRBs hold as many packets: the inverse of the rule that \
           made the rows.",
    sources: "T20's traces; A21 section 5.3; TS 36.213",
    deviations: "where several CQIs made the same number of packets, the least of their MCSs is \
                 taken",
    params: McsTraceFile::params,
};
