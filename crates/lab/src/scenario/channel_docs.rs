//! Pages of the channels that a scenario reads from files.

use justfull_base::doc::{MethodDoc, ParamDoc};

const FILE: ParamDoc = ParamDoc::new(
    "file",
    "name of a file",
    "a file beside the scenario, or in the folder that JUSTFULL_DATA names",
    "none",
    "The trace, plain or gzip.",
);
const AT_END: ParamDoc = ParamDoc::new(
    "at_end",
    "hold | loop | stop",
    "one of them",
    "loop",
    "After the last row: keep it, begin again, or carry nothing.",
);
const ROWS: ParamDoc = ParamDoc::new(
    "rows",
    "number",
    "1 to the rows of the trace",
    "none",
    "How many rows are used, from the first on; all when left out.",
);

/// Documentation of every channel from a file.
pub const DOCS: [&MethodDoc; 3] = [&TRACE, &CQI_TRACE, &MCS_TRACE];

const TRACE: MethodDoc = MethodDoc {
    name: "trace",
    kind: "channel trace",
    title: "capacities from a file",
    text: "Replays what a link could carry. Formats other than packets and bytes say themselves how long an amount is in force; \
           opportunities shorter than a slot are gathered into it, so that none is skipped.",
    sources: "T20 section 6; Mahimahi (Netravali et al. 2015); CellReplay (Sentosa et al. 2025); Raca et al. 2018, 2020",
    deviations: "none",
    params: &[
        FILE,
        ParamDoc::new(
            "format",
            "packets | bytes | auto | mahimahi | cellreplay | cellreplay-train | ucc | csv | parquet",
            "one of them",
            "packets",
            "What the file holds; auto tells it from the contents.",
        ),
        ROWS,
        ParamDoc::new(
            "row",
            "time or slots",
            "a time above 0s, or a number of slots above 0; packets and bytes only",
            "1s",
            "How long a row is in force.",
        ),
        ParamDoc::new(
            "interval",
            "time",
            "above 0s, at most 1h; packets and bytes only",
            "10ms",
            "The time in which a row's amount is carried.",
        ),
        AT_END,
        ParamDoc::new(
            "packet_bytes",
            "size",
            "1B to 65535B",
            "what is usual in the format: 1460B for packets",
            "What a packet of the trace is worth in bytes.",
        ),
        ParamDoc::new(
            "unit",
            "packets | bytes",
            "one of them",
            "packets",
            "The unit in which the MAC pulls.",
        ),
        ParamDoc::new(
            "column",
            "dl_bitrate | ul_bitrate | cqi",
            "one of them; ucc only",
            "dl_bitrate",
            "Column of a phone log.",
        ),
        ParamDoc::new(
            "repeated",
            "last | first | mean | error",
            "one of them; ucc only",
            "last",
            "What becomes of rows of a phone log that share a second.",
        ),
        ParamDoc::new(
            "gaps",
            "hold | zero | skip | error",
            "one of them; ucc only",
            "hold",
            "What becomes of seconds that a phone log lacks, and of rows without a value.",
        ),
        ParamDoc::new(
            "idle",
            "cut | keep",
            "one of them; ucc only",
            "cut",
            "What becomes of rows in which the phone was idle.",
        ),
    ],
};

const CQI_TRACE: MethodDoc = MethodDoc {
    name: "cqi_trace",
    kind: "channel trace",
    title: "channel qualities from a file",
    text: "Reads a column `cqi`, 0 to 15, where 0 carries nothing; `quality` says how a CQI becomes an MCS, a transport block and \
           the packets or bytes of a slot, and how long a row is in force, in the words of `cqi_rows`.",
    sources: "T20 section 6; TS 36.213; TS 38.214",
    deviations: "none",
    params: &[
        FILE,
        ParamDoc::new(
            "missing",
            "error | hold | skip",
            "one of them",
            "error",
            "What becomes of rows without a CQI: refused, the CQI before it, or left out, which compresses time.",
        ),
        ROWS,
        ParamDoc::new(
            "quality",
            "table",
            "the keys of cqi_rows but cqi",
            "those of cqi_rows",
            "How a quality becomes a capacity: map, n_prb, layers, row and others.",
        ),
    ],
};

const MCS_TRACE: MethodDoc = MethodDoc {
    name: "mcs_trace",
    kind: "channel trace",
    title: "modulation and coding schemes from a file, for a MAC with a carrier",
    text: "Reads a column `packets_per_10ms`, as T20's traces have it, and takes for each row the least MCS whose blocks of 25 \
           PRBs hold as many packets: the inverse of the rule that made the rows.",
    sources: "T20's traces; A21 section 5.3; TS 36.213",
    deviations: "where several CQIs made the same number of packets, the least of their MCSs is taken",
    params: &[
        FILE,
        ParamDoc::new(
            "first",
            "number",
            "1 to the rows of the trace",
            "1",
            "First row that is used, counted from 1.",
        ),
        ParamDoc::new(
            "rows",
            "number",
            "1 to the rows from the first on",
            "none",
            "How many rows are used, from `first` on; all when left out.",
        ),
        ParamDoc::new(
            "lead",
            "number",
            "0 to 3600",
            "0",
            "How many rows longer the first one is in force: what a flow meets that starts before the trace.",
        ),
        ParamDoc::new(
            "row",
            "time or slots",
            "a time above 0s, or a number of slots above 0",
            "1s",
            "How long a row is in force.",
        ),
        AT_END,
    ],
};
