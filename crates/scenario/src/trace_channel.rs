//! Converts a trace file to the rows of a channel.

use super::error::ScenarioError;
use super::file::{AmountFormat, McsTraceFile, TraceFile};
use super::locator::Locator;
use super::trace_start::TraceStart;
use justfull_base::param::Param;
use justfull_base::{Bytes, ConfigError, Duration};
use justfull_phy::cqi::{self, CqiToMcs};
use justfull_phy::lte;
use justfull_ran::channel::{AtEnd, CapacityUnit, McsConfig, RowLength, RowsConfig};
use justfull_trace::{
    self, FileFormat, Format, Loaded, ReadOption, ReadOptions, Repairs, Timeline, Trace,
    TraceError, TracePaths, Values, Words,
};
use std::path::Path;

/// Size of T20's packets, and the time over which a row of its traces counts them.
const T20: (Bytes, Duration) = (Bytes(1460), Duration::from_millis(10));
/// Packet size for a trace in bytes that is counted in packets without a given size: a full IP
/// packet.
const FULL_PACKET: u64 = 1500;
/// Maximum extra rows for the first row of MCSs.
const MAX_LEAD: u16 = 3600;

/// A run that replays a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) seed: u64,
    /// Nominal length of its slots.
    pub(super) slot: Duration,
    /// The unit of its MAC's grants.
    pub(super) unit: CapacityUnit,
    pub(super) length: Duration,
}

/// The rows of `file` from the start of `run`; `field` names the file in messages.
pub(super) fn rows(
    file: &TraceFile,
    run: Run,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<RowsConfig, ScenarioError> {
    let format = match (file.format, is_table(file)) {
        (AmountFormat::Packets, false) => Format::Packets,
        (AmountFormat::Bytes, false) => Format::Bytes,
        _ => return of_timeline(file, run, traces, field, locator),
    };
    let options = ReadOptions { packet: None, interval: None, ..options(file, field, locator)? };
    let named = options.format.unwrap_or(FileFormat::T20);
    options.ensure_read(named, file.file.as_ref()).map_err(|e| locator.trace(field, &e))?;
    let read = read(file.file.as_ref(), traces, format, file.rows, field, locator);
    let trace =
        read.map_err(|error| of_other_format(file, traces, field, locator).unwrap_or(error))?;
    let Values::Amounts(mut amounts) = trace.values else {
        return Err(locator.plain(field, "channel qualities", "capacities"));
    };
    let row = file.row.unwrap_or_default();
    let first = first(file, run.seed, amounts.len(), length(row, run.slot), field, locator)?;
    match file.at_end {
        AtEnd::Loop => amounts.rotate_left(first),
        AtEnd::Hold | AtEnd::Stop => drop(amounts.drain(..first)),
    }
    Ok(RowsConfig {
        amounts,
        row,
        interval: file.interval.unwrap_or(T20.1),
        at_end: file.at_end,
        packet_bytes: file.packet_bytes.unwrap_or(T20.0),
    })
}

/// The error of `file` if it is a trace of another format than packets or bytes, or a table whose
/// columns no key names.
fn of_other_format(
    file: &TraceFile,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Option<ScenarioError> {
    let path = traces.resolve(file.file.as_ref()).ok()?;
    let options =
        ReadOptions { interval: file.interval, words: Words::Trace, ..ReadOptions::default() };
    match justfull_trace::load(&path, &options) {
        Ok(Loaded { format: FileFormat::T20, .. }) => None,
        Ok(loaded) if loaded.format.name() == file.format.name() => None,
        Ok(Loaded { format: FileFormat::Cqi, .. }) => {
            let kind = field.replace(".file", ".kind");
            Some(locator.plain(&kind, "trace", "cqi_trace for this file, a table of CQIs"))
        }
        Ok(loaded) => {
            let format = field.replace(".file", ".format");
            let allowed = format!("{} or auto for this file", loaded.format.name());
            Some(locator.plain(&format, file.format.name(), &allowed))
        }
        Err(error) => {
            let is_table = matches!(&error, TraceError::Unnamed { guess, .. } if !guess.is_empty());
            is_table.then(|| locator.trace(field, &error))
        }
    }
}

/// Duration of a row in slots of length `slot`.
pub(super) fn length(row: RowLength, slot: Duration) -> Duration {
    match row {
        RowLength::Time(time) => time,
        RowLength::Slots(slots) => slot.times(u64::from(slots)),
    }
}

/// The first row of the run with `seed`, in a trace of `count` rows of length `row`.
fn first(
    file: &TraceFile,
    seed: u64,
    count: usize,
    row: Duration,
    field: &str,
    locator: &Locator,
) -> Result<usize, ScenarioError> {
    let refused = |allowed: &str| {
        locator.plain(&field.replace(".file", ".start"), &file.start.written(), allowed)
    };
    if file.start == TraceStart::Spread && file.at_end != AtEnd::Loop {
        return Err(refused(
            "a time: only a trace with at_end = \"loop\" is spread over the seeds",
        ));
    }
    file.start.row(seed, count, row).ok_or_else(|| {
        refused(&format!("below {}, the length of the trace", row.times(count as u64)))
    })
}

/// The MCSs of `file`: for each row the lowest MCS of T20's map whose blocks of 25 PRBs hold as
/// many packets as the row states. This is the inverse of the rule that made the rows. If several
/// CQIs give the same number, the lowest is taken.
pub(super) fn mcs(
    file: &McsTraceFile,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<McsConfig, ScenarioError> {
    let trace = read(file.file.as_ref(), traces, Format::Packets, None, field, locator)?;
    let Values::Amounts(packets) = trace.values else {
        return Err(locator.plain(field, "channel qualities", "packets per 10 ms"));
    };
    let first = file.first.wrapping_sub(1);
    if first >= packets.len() {
        let allowed = format!("1 to the {} rows of the trace", packets.len());
        return Err(locator.plain(
            &field.replace(".file", ".first"),
            &file.first.to_string(),
            &allowed,
        ));
    }
    let rows = file.rows.unwrap_or(packets.len() - first);
    ensure_rows(rows, packets.len() - first, field, locator)?;
    let per_cqi: Vec<(u64, u8)> = (1..=cqi::MAX_CQI).filter_map(t20_packets).collect();
    let mcs = packets[first..first + rows].iter().map(|packets| {
        let found = per_cqi.iter().find(|(of_cqi, _)| of_cqi == packets).map(|(_, mcs)| *mcs);
        let allowed = "numbers of packets that T20's rule makes: 1 to 4, 6, 7, 9, 10, 12, 15";
        found.ok_or_else(|| locator.plain(field, &format!("a row of {packets} packets"), allowed))
    });
    let mut mcs = mcs.collect::<Result<Vec<u8>, _>>()?;
    if file.lead > MAX_LEAD {
        let allowed = format!("0 to {MAX_LEAD}");
        return Err(locator.plain(
            &field.replace(".file", ".lead"),
            &file.lead.to_string(),
            &allowed,
        ));
    }
    mcs.splice(0..0, std::iter::repeat_n(mcs[0], usize::from(file.lead)).collect::<Vec<_>>());
    Ok(McsConfig { mcs, row: file.row, at_end: file.at_end })
}

/// Packets per 10 ms by T20's rule for `cqi`, and the MCS of that rule.
fn t20_packets(cqi: u8) -> Option<(u64, u8)> {
    let mcs = cqi::to_mcs(CqiToMcs::Tmc, cqi)?;
    let bits = lte::tbs_bits(lte::mcs(lte::McsTable::Qam64, mcs)?.i_tbs, 25)?;
    let packets = u64::from(bits) * 10 / (8 * T20.0.0);
    Some((packets.clamp(1, 15), mcs))
}

/// Reads a file of one column; at most its first `rows` rows if given.
pub(super) fn read(
    name: &Path,
    traces: &TracePaths,
    format: Format,
    rows: Option<usize>,
    field: &str,
    locator: &Locator,
) -> Result<Trace, ScenarioError> {
    let mut trace =
        justfull_trace::read(name, traces, format).map_err(|e| locator.trace(field, &e))?;
    if let Some(rows) = rows {
        ensure_rows(rows, trace.values.len(), field, locator)?;
        trace.values.truncate(rows);
    }
    Ok(trace)
}

/// Refuses `rows` that are none, or more than the `of` rows of the trace.
pub(super) fn ensure_rows(
    rows: usize,
    of: usize,
    field: &str,
    locator: &Locator,
) -> Result<(), ScenarioError> {
    if (1..=of).contains(&rows) {
        return Ok(());
    }
    Err(locator.plain(
        &field.replace(".file", ".rows"),
        &rows.to_string(),
        &format!("1 to the {of} rows of the trace"),
    ))
}

/// The repairs made in `file`, one warning each.
pub(super) fn notes(
    file: &TraceFile,
    unit: CapacityUnit,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<Vec<String>, ScenarioError> {
    if matches!(file.format, AmountFormat::Packets | AmountFormat::Bytes) && !is_table(file) {
        return Ok(Vec::new());
    }
    let name = &file.file;
    Ok(load(file, unit, traces, field, locator)?
        .notes
        .iter()
        .map(|note| format!("{name}: {note}"))
        .collect())
}

/// True if columns of a table are named.
const fn is_table(file: &TraceFile) -> bool {
    file.rate_column.is_some() || file.amount_column.is_some()
}

/// The options for reading `file`.
fn options(file: &TraceFile, field: &str, locator: &Locator) -> Result<ReadOptions, ScenarioError> {
    let format = match file.format {
        AmountFormat::Mahimahi => Some(FileFormat::Mahimahi),
        AmountFormat::Cellreplay => Some(FileFormat::Cellreplay),
        AmountFormat::CellreplayTrain => Some(FileFormat::CellreplayTrain),
        AmountFormat::Ucc => Some(FileFormat::Ucc),
        AmountFormat::Csv => Some(FileFormat::Csv),
        AmountFormat::NrScope => Some(FileFormat::NrScope),
        AmountFormat::Rates => Some(FileFormat::Rates),
        AmountFormat::Amounts => Some(FileFormat::Amounts),
        AmountFormat::Auto => None,
        // The default if the file's table names no format.
        AmountFormat::Packets if is_table(file) => None,
        AmountFormat::Packets => Some(FileFormat::T20),
        AmountFormat::Bytes => Some(FileFormat::Bytes),
    };
    Ok(ReadOptions {
        format,
        packet: file.packet_bytes,
        interval: file.interval,
        rate_column: file.rate_column.clone(),
        amount_column: file.amount_column.clone(),
        time_column: file.time_column.clone(),
        unit: parsed(file.rate_unit.as_ref(), &field.replace(".file", ".rate_unit"), locator)?,
        time_unit: file.time_unit,
        separator: file.separator,
        decimal: file.decimal,
        rnti: parsed(file.rnti.as_ref(), &field.replace(".file", ".rnti"), locator)?,
        link: file.link,
        column: file.column,
        repairs: Repairs { repeated: file.repeated, gaps: file.gaps, idle: file.idle },
        words: Words::Trace,
        ..ReadOptions::default()
    })
}

/// The value of `text`.
fn parsed<T: std::str::FromStr<Err = String>>(
    text: Option<&String>,
    field: &str,
    locator: &Locator,
) -> Result<Option<T>, ScenarioError> {
    let Some(text) = text else { return Ok(None) };
    let refused = |why: String| {
        let allowed = why.split_once("allowed is ").map_or(why.as_str(), |(_, allowed)| allowed);
        locator.plain(field, text, allowed)
    };
    text.parse().map(Some).map_err(refused)
}

/// Reads a file of any format.
fn load(
    file: &TraceFile,
    unit: CapacityUnit,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<Loaded, ScenarioError> {
    let mut options = options(file, field, locator)?;
    if unit == CapacityUnit::Packets {
        // The MAC counts its packets in this size.
        options = options.used_elsewhere(&[ReadOption::Packet]);
    }
    if file.row.is_some() {
        let allowed = "no such setting: the format says how long an amount is in force";
        return Err(locator.plain(&field.replace(".file", ".row"), "a length", allowed));
    }
    let loaded =
        traces.resolve(file.file.as_ref()).and_then(|path| justfull_trace::load(&path, &options));
    loaded.map_err(|e| locator.trace(field, &e))
}

/// The rows of a file that states the length of its rows.
fn of_timeline(
    file: &TraceFile,
    run: Run,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<RowsConfig, ScenarioError> {
    let Loaded { mut timeline, format, .. } = load(file, run.unit, traces, field, locator)?;
    let refused =
        |e: ConfigError| locator.plain(field, &format!("{} of {}", e.field, e.value), &e.bound);
    if let Some(rows) = file.rows {
        ensure_rows(rows, timeline.bytes().len(), field, locator)?;
        let end = timeline.interval().times(rows as u64).min(timeline.duration());
        timeline = timeline.slice(Duration::ZERO, end).map_err(refused)?;
    }
    if file.start != TraceStart::default() {
        let once = Run { length: Duration::ZERO, ..run };
        let rows = in_slots(timeline.clone(), once, file.at_end).map_err(refused)?;
        let (count, row) = (rows.bytes().len(), rows.interval());
        let begin = row.times(first(file, run.seed, count, row, field, locator)? as u64);
        let part = match file.at_end {
            AtEnd::Loop => timeline.beginning_at(begin),
            AtEnd::Hold | AtEnd::Stop => timeline.slice(begin, timeline.duration()),
        };
        timeline = part.map_err(refused)?;
    }
    let timeline = in_slots(timeline, run, file.at_end).map_err(refused)?;
    let interval = timeline.interval();
    let usual = if format.packet_bytes() > 1 { format.packet_bytes() } else { FULL_PACKET };
    let packet = file.packet_bytes.unwrap_or(Bytes(usual));
    let (mut amounts, packet_bytes): (Vec<u64>, Bytes) = match run.unit {
        CapacityUnit::Bytes => {
            (timeline.bytes().iter().map(|&bytes| bytes.into()).collect(), Bytes(1))
        }
        CapacityUnit::Packets => (timeline.packets(packet.0.max(1)).collect(), packet),
    };
    // A held rate continues for whole intervals.
    if let (AtEnd::Hold, Some(last)) = (file.at_end, amounts.last_mut()) {
        *last = *last * interval.as_nanos() / timeline.last().as_nanos();
    }
    let row = RowLength::Time(interval);
    Ok(RowsConfig { amounts, row, interval, at_end: file.at_end, packet_bytes })
}

/// Gathers intervals into slots, because a channel looks up one row per slot. Without this,
/// intervals shorter than a slot, or not a multiple of it, would skip opportunities. A repeating
/// trace is extended until it ends with a slot, or until the run ends, so that it keeps its length.
fn in_slots(timeline: Timeline, run: Run, at_end: AtEnd) -> Result<Timeline, ConfigError> {
    let (length, step) = (timeline.interval().as_nanos(), run.slot.as_nanos());
    if step == 0 || (length.is_multiple_of(step) && timeline.last() == timeline.interval()) {
        return Ok(timeline);
    }
    let last = timeline.last().as_nanos();
    let even = length.is_multiple_of(step) && last.is_multiple_of(step);
    let step = if even { gcd(length, last) } else { step };
    let all = timeline.duration().as_nanos();
    let times = if at_end == AtEnd::Loop { step / gcd(step, all) } else { 1 };
    let times = times.min(run.length.as_nanos().div_ceil(all).max(1));
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    let laid = if times > 1 { timeline.repeat(times)? } else { timeline };
    laid.resample(Duration::from_nanos(step))
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Instant;
    use justfull_ran::channel::{Channel, ChannelConfig, ChannelContext};

    /// Bytes or packets that a channel of `rows` offers in `slots` slots of `run`.
    fn offered(rows: &RowsConfig, run: Run, slots: u64) -> u64 {
        let Run { slot, unit, .. } = run;
        let context = ChannelContext { key: 1, slot, unit, bandwidth: None };
        let mut channel =
            Channel::new(&ChannelConfig::Rows(rows.clone()), &context).expect("a channel");
        (0..slots).map(|k| channel.capacity(k, Instant::ZERO + slot.times(k))).sum()
    }

    fn trace_file(text: &str) -> TraceFile {
        toml::from_str(text).expect("a trace's settings")
    }

    #[test]
    fn rows_of_packets_become_the_least_mcs_that_makes_them() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("p.csv"), "packets_per_10ms\n1\n2\n3\n6\n15\n5\n")
            .expect("a file");
        let traces =
            TracePaths { scenario_dir: folder.path().into(), data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        let read = |text: &str| {
            let file: McsTraceFile =
                toml::from_str(&format!("file = \"p.csv\"\n{text}")).expect("settings");
            mcs(&file, &traces, "channel.file", &locator).map_err(|e| e.to_string())
        };
        assert_eq!(read("first = 2\nrows = 4").expect("rows").mcs, [6, 9, 16, 28]);
        assert_eq!(read("rows = 1").expect("a row").mcs, [0]);
        assert_eq!(read("first = 4\nrows = 2\nlead = 3").expect("rows").mcs, [16, 16, 16, 16, 28]);
        for (text, said) in
            [("", "5 packets"), ("first = 7", "1 to the 6 rows"), ("first = 0", "1 to the 6 rows")]
        {
            let error = read(text).expect_err("refused");
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn opportunities_of_a_mahimahi_trace_are_offered_to_the_last_whatever_the_slot() {
        let folder =
            std::env::temp_dir().join(format!("justfull-trace-channel-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        // Bursts and gaps; 7 s, 12 003 opportunities.
        let times = (0..12_003_u64).map(|k| 1 + k * k % 7000).chain([7000]);
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        let text: String = times.iter().map(|t| format!("{t}\n")).collect();
        std::fs::write(folder.join("m.trace"), text).expect("a file");
        let traces = TracePaths { scenario_dir: folder.clone(), data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        for (unit, worth) in [(CapacityUnit::Packets, 1), (CapacityUnit::Bytes, 1500)] {
            for format in ["mahimahi", "auto"] {
                let file = trace_file(&format!("file = \"m.trace\"\nformat = \"{format}\""));
                for (slot_us, exact) in
                    [(125, true), (500, true), (1000, true), (10_000, true), (700, false)]
                {
                    let slot = Duration::from_micros(slot_us);
                    let run = Run { seed: 1, slot, unit, length: Duration::from_secs(7) };
                    let rows = rows(&file, run, &traces, "channel.file", &locator).expect("rows");
                    let got = offered(&rows, run, 7_000_000 / slot_us);
                    let want = times.len() as u64 * worth;
                    let off = got.abs_diff(want);
                    assert!(
                        off == 0 || (!exact && off * 1000 <= want),
                        "{unit:?} {slot_us} us: {got} for {want}"
                    );
                }
            }
        }
        std::fs::remove_dir_all(folder).expect("cleaned up");
    }

    #[test]
    fn the_error_of_a_table_keeps_the_whole_command_that_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let names: Vec<String> = (0..30).map(|i| format!("quantity_of_the_drive_{i}")).collect();
        let table = format!("{},time,DL_rate\n{}0,5\n", names.join(","), "x,".repeat(30));
        std::fs::write(folder.path().join("t.csv"), table).expect("a file");
        let traces =
            TracePaths { scenario_dir: folder.path().into(), data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        let file = trace_file("file = \"t.csv\"\nformat = \"auto\"");
        let unit = CapacityUnit::Bytes;
        let error = load(&file, unit, &traces, "channel.file", &locator).expect_err("no format");
        let keys = "time_column = \"time\", rate_column = \"DL_rate\", rate_unit = \"Mbit/s\" (or \
                    the unit that it has)";
        assert!(error.to_string().ends_with(keys), "{error}");
    }

    /// A table, the keys of its channel, a part of the error, and keys that mend it. `TABLE` stands
    /// for the keys of time, rate and unit.
    const TABLES: [[&str; 4]; 12] = [
        [
            "de.csv",
            "",
            "`zeit`, `rate`",
            "time_column = \"zeit\"\nrate_column = \"rate\"\nrate_unit = \"Mbit/s\"",
        ],
        [
            "abr.txt",
            "",
            "`1`, `2`",
            "time_column = \"1\"\nrate_column = \"2\"\nrate_unit = \"Mbit/s\"",
        ],
        [
            "unit-in-header.csv",
            "",
            "`Time(ms)`",
            "time_column = \"Time(ms)\"\nrate_column = \"DL Throughput (kbps)\"",
        ],
        [
            "em.csv",
            "TABLE",
            "em.csv:3: column `rate`: found an empty field, allowed is a number; gaps = \"hold\", \"zero\" or \"skip\" reads",
            "gaps = \"zero\"",
        ],
        [
            "dup.csv",
            "TABLE\nrepeated = \"error\"",
            "or repeated = \"mean\", \"sum\", \"last\" or \"first\"",
            "",
        ],
        ["gap.csv", "TABLE\ngaps = \"error\"", "or gaps = \"hold\", \"zero\" or \"skip\"", ""],
        ["em.csv", "rate_column = \"rate\"", "allowed is rate_unit with a unit of rates", ""],
        [
            "gap.csv",
            "rate_column = \"rate\"\nrate_unit = \"Mbit/s\"",
            "the length of a row (interval), or the column of its time (time_column)",
            "interval = \"1s\"",
        ],
        ["gap.csv", "rate_column = \"rat\"", "found no such column (rate_column)", ""],
        [
            "gap.csv",
            "TABLE\nidle = \"keep\"",
            "`channel.idle`: found a key without effect, allowed is a key that the format rates reads: rate_column, rate_unit,",
            "",
        ],
        ["c.csv", "", "field `channel.kind`: found trace, allowed is cqi_trace", ""],
        [
            "flt.csv",
            "",
            "field `channel.format`: found packets, allowed is csv or auto",
            "format = \"auto\"",
        ],
    ];

    #[test]
    fn tables_as_people_have_them_are_refused_in_keys_of_the_scenario_and_read_with_them() {
        let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/tables");
        let traces = TracePaths { scenario_dir: tables, data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        let slot = Duration::from_millis(1);
        let run = Run { seed: 1, slot, unit: CapacityUnit::Bytes, length: slot };
        let read = |keys: &str| {
            let rows = rows(&trace_file(keys), run, &traces, "channel.file", &locator);
            rows.map(drop).map_err(|error| error.to_string())
        };
        let table = "time_column = \"time\"\nrate_column = \"rate\"\nrate_unit = \"Mbit/s\"";
        for [name, keys, said, remedy] in TABLES {
            let file = format!("file = \"{name}\"\n{}", keys.replace("TABLE", table));
            let error = read(&file).expect_err(said);
            assert!(error.contains(said) && !error.contains(" --"), "{said}: {error}");
            let in_line = remedy.replace('\n', ", ");
            let is_told = keys.is_empty() && remedy.contains("time_column");
            assert!(!is_told || error.contains(&in_line), "{in_line}: {error}");
            if !remedy.is_empty() {
                read(&format!("{file}\n{remedy}")).expect(remedy);
            }
        }
    }

    #[test]
    fn a_trace_that_begins_again_keeps_its_length_and_bytes_whatever_the_slot() {
        let folder = tempfile::tempdir().expect("a folder");
        // 7003 ms, a multiple of no slot except 1 ms and its fractions, with silence near the end.
        let text: String = (0..4001_u64).map(|k| format!("{}\n", 1 + k * 6900 / 4000)).collect();
        std::fs::write(folder.path().join("m.trace"), format!("{text}7003\n")).expect("a file");
        // 1.7 s in rows of 0.5 and 0.2 s.
        let table = "t_s,rate\n0,8\n0.5,16\n1.0,0\n1.5,24\n1.7,24\n";
        std::fs::write(folder.path().join("t.csv"), table).expect("a file");
        let traces =
            TracePaths { scenario_dir: folder.path().into(), data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        for (file, length, bytes) in [
            ("file = \"m.trace\"\nformat = \"auto\"", 7003, 4002 * 1500),
            (
                "file = \"t.csv\"\ntime_column = \"t_s\"\nrate_column = \"rate\"\nrate_unit = \
                 \"Mbit/s\"",
                1900,
                500_000 + 1_000_000 + 600_000 + 600_000,
            ),
        ] {
            for start in ["0s", "1s"] {
                let file = trace_file(&format!("{file}\nstart = \"{start}\""));
                for slot_ms in [1, 10, 100] {
                    let slot = Duration::from_millis(slot_ms);
                    let (unit, run_time) = (CapacityUnit::Bytes, slot.times(100 * length));
                    let run = Run { seed: 1, slot, unit, length: run_time };
                    let rows = rows(&file, run, &traces, "channel.file", &locator).expect("rows");
                    let got = offered(&rows, run, 100 * length / slot_ms);
                    assert_eq!(got, 100 * bytes, "{length} ms in slots of {slot_ms} ms");
                }
            }
        }
    }
}
