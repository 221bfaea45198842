//! The table of a group: results of each flow under each method, and of the cell.

use super::{BOUND, Grid, PLUS_MINUS, Row, RowKind, with_interval};
use justfull_lab::model::breakdown::{Breakdown, MethodRuns, Part, UPLINK};
use justfull_lab::model::metric::{Metric, Scope};
use justfull_lab::model::summary::{bound_method, is_clairvoyant};
use justfull_lab::stats::{LEAST_FOR_INTERVAL, Summary};
use justfull_run::results::RunResult;

/// A column of the table of methods.
struct Column {
    metric: Metric,
    name: &'static str,
    /// Show the interval.
    interval: bool,
}

/// Columns of the table of methods, the most important first: a narrow terminal loses the last
/// ones.
const COLUMNS: [Column; 18] = [
    Column { metric: Metric::DelayMean, name: "delay\nmean", interval: true },
    Column { metric: Metric::DelayP95, name: "delay\np95", interval: false },
    Column { metric: Metric::DelayP99, name: "delay\np99", interval: false },
    Column { metric: Metric::Goodput, name: "goodput", interval: true },
    Column { metric: Metric::Drops, name: "drops", interval: false },
    Column { metric: Metric::Utilisation, name: "utilisation", interval: true },
    Column { metric: Metric::Rtt, name: "RTT\nmean", interval: false },
    Column { metric: Metric::Residence, name: "in the\nproxy", interval: false },
    Column { metric: Metric::ServerToUe, name: "server\nto UE", interval: false },
    Column { metric: Metric::PingRtt, name: "ping\nRTT", interval: true },
    Column { metric: Metric::Mos, name: "MOS", interval: true },
    Column { metric: Metric::FrameP95, name: "frame\np95", interval: false },
    Column { metric: Metric::Frozen, name: "frozen", interval: false },
    Column { metric: Metric::PageLoad, name: "page\nload", interval: true },
    Column { metric: Metric::DashQoe, name: "video\nQoE", interval: true },
    Column { metric: Metric::DashStalled, name: "video\nstalled", interval: false },
    Column { metric: Metric::RlcBacklog, name: "RLC\nbacklog", interval: false },
    Column { metric: Metric::RlcAtEntry, name: "RLC at\nentry", interval: false },
];

/// Columns of the wide table beyond [`COLUMNS`].
const WIDE_COLUMNS: [Column; 17] = [
    Column { metric: Metric::Within1, name: "within\n1 ms", interval: true },
    Column { metric: Metric::Within4, name: "within\n4 ms", interval: false },
    Column { metric: Metric::Unused, name: "unused", interval: true },
    Column { metric: Metric::ToUe, name: "pull\nto UE", interval: false },
    Column { metric: Metric::DelayP999, name: "delay\np99.9", interval: false },
    Column { metric: Metric::TransferGoodput, name: "page\ngoodput", interval: true },
    Column { metric: Metric::ObjectTime, name: "object", interval: false },
    Column { metric: Metric::EndToEndP95, name: "end to end\np95", interval: true },
    Column { metric: Metric::FrameMissed, name: "frames\nmissed", interval: false },
    Column { metric: Metric::InputP95, name: "input to\nframe p95", interval: false },
    Column { metric: Metric::DashBitrate, name: "video\nbitrate", interval: false },
    Column { metric: Metric::DashSwitches, name: "video\nswitches", interval: false },
    Column { metric: Metric::DashStartup, name: "video\nstartup", interval: false },
    Column { metric: Metric::PdvP99, name: "PDV\np99", interval: false },
    Column { metric: Metric::Ipdv, name: "IPDV\nmean", interval: false },
    Column { metric: Metric::Late, name: "late", interval: false },
    Column { metric: Metric::Jain, name: "Jain\nindex", interval: false },
];

/// Names of the columns before the metrics: the method, the flow of the row, and the number of
/// seeds.
const LABELS: [&str; 3] = ["method", "flow", "n"];

/// The table of `runs`: a row for each flow name under each method in order of appearance, after a
/// pooled row if there are several of a kind; then the bound and the clairvoyant policy. Columns
/// without any value are omitted.
#[must_use]
pub fn methods(runs: &[RunResult]) -> Grid {
    grid(runs, COLUMNS.iter())
}

/// [`methods`] with shares within TTIs, unused capacity, high percentiles, jitter, missed delay
/// budgets and fairness.
#[must_use]
pub fn wide(runs: &[RunResult]) -> Grid {
    grid(runs, COLUMNS.iter().chain(&WIDE_COLUMNS))
}

/// The columns of [`wide`] beyond [`methods`], as a separate table; only the names if no row has a
/// value.
#[must_use]
pub fn rest(runs: &[RunResult]) -> Grid {
    grid(runs, WIDE_COLUMNS.iter())
}

/// Heading of `metric`: name and unit.
fn heading(metric: Metric, name: &str) -> String {
    let unit = metric.unit();
    let separator = match unit.len() {
        0 => "",
        // A short name alone would make its column wider than its numbers.
        1 | 2 if name.contains('\n') => ", ",
        _ => ",\n",
    };
    format!("{name}{separator}{unit}")
}

fn is_of_cell(metric: Metric) -> bool {
    metric.scope() == Scope::Cell
}

/// The cell of a row in the column of `metric`; none if the metric does not apply.
fn value(
    method: &MethodRuns<'_>,
    part: Option<&Part>,
    first: bool,
    metric: Metric,
) -> Option<Option<Summary>> {
    match (is_of_cell(metric), part) {
        (true, _) => first.then(|| method.of_cell(metric)),
        (false, Some(part)) => Some(method.get(metric, part)),
        (false, None) => None,
    }
}

/// A mean over seeds for display, with the number of seeds if fewer than `of` have it.
fn cell(summary: Option<Summary>, of: usize, column: &Column) -> String {
    let Some(summary) = summary else { return "–".into() };
    // The goodput of a ping is small but not zero.
    let small = column.metric == Metric::Goodput && summary.mean.abs() < 0.1;
    let digits = column.metric.decimals() + usize::from(small);
    let text = match column.interval || summary.n < LEAST_FOR_INTERVAL {
        true => with_interval(Some(summary), digits),
        false => format!("{:.digits$}", summary.mean),
    };
    if summary.n == of { text } else { format!("{text} ({} of {of})", summary.n) }
}

/// The rows of one method: one for each part, or a single row without parts.
fn rows_of(method: &MethodRuns<'_>, parts: &[Part], columns: &[&Column]) -> Vec<Row> {
    let kind = if is_clairvoyant(&method.method) { RowKind::Reference } else { RowKind::Method };
    let all: Vec<Option<&Part>> =
        if parts.is_empty() { vec![None] } else { parts.iter().map(Some).collect() };
    let row = |(i, part): (usize, &Option<&Part>)| {
        let (first, runs) = (i == 0, method.count());
        let mut cells = match first {
            true => vec![method.method.clone(), String::new(), runs.to_string()],
            false => vec![String::new(); LABELS.len()],
        };
        cells[1] = part.map(|part| part.label.clone()).unwrap_or_default();
        cells.extend(columns.iter().map(|column| {
            value(method, *part, first, column.metric)
                .map_or_else(String::new, |v| cell(v, runs, column))
        }));
        Row::new(cells, if first || kind == RowKind::Reference { kind } else { RowKind::Part })
    };
    let mut rows: Vec<Row> = all.iter().enumerate().map(row).collect();
    let idle = method.never_acted();
    if let Some(last) = rows.last_mut().filter(|_| !idle.is_empty()) {
        last.note = format!("{}: never acted: {idle}", method.method);
    }
    rows
}

/// The bound of each part that has one, over the packets of `method`.
fn bound_rows(method: &MethodRuns<'_>, parts: &[Part], columns: &[&Column]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for part in parts {
        let Some(bound) = method.get(Metric::Bound, part) else { continue };
        let mut cells = vec![String::new(), part.label.clone(), String::new()];
        if rows.is_empty() {
            (cells[0], cells[2]) = (BOUND.to_owned(), method.count().to_string());
        }
        cells.extend(columns.iter().map(|column| match column.metric {
            Metric::DelayMean => cell(
                Some(bound),
                method.count(),
                &Column { metric: Metric::Bound, name: "", interval: true },
            ),
            _ => String::new(),
        }));
        rows.push(Row::new(cells, RowKind::Reference));
    }
    rows
}

fn grid(runs: &[RunResult], columns: impl Iterator<Item = &'static Column>) -> Grid {
    let found = Breakdown::of(runs);
    let has = |metric: Metric, method: &MethodRuns<'_>| match is_of_cell(metric) {
        true => method.of_cell(metric).is_some(),
        false => found.parts.iter().any(|part| method.get(metric, part).is_some()),
    };
    let columns: Vec<&Column> = columns
        .filter(|column| found.methods.iter().any(|method| has(column.metric, method)))
        .collect();
    let mut header: Vec<String> = LABELS.map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|column| heading(column.metric, column.name)));
    let (seers, rivals): (Vec<_>, Vec<_>) =
        found.methods.iter().partition(|m| is_clairvoyant(&m.method));
    let rows_of = |methods: Vec<&MethodRuns<'_>>| -> Vec<Row> {
        methods.into_iter().flat_map(|method| rows_of(method, &found.parts, &columns)).collect()
    };
    let mut rows = rows_of(rivals);
    let bound = bound_method(runs);
    let bounded = found.methods.iter().find(|m| Some(&m.method) == bound.as_ref());
    if columns.iter().any(|column| column.metric == Metric::DelayMean) {
        rows.extend(bounded.map(|m| bound_rows(m, &found.parts, &columns)).unwrap_or_default());
    }
    rows.extend(rows_of(seers));
    let notes = notes(&found, &rows, bounded.is_some());
    Grid { dropped_first: Vec::new(), header, rows, numbers_from: 2, notes }
}

/// Notes on how to read `rows`.
fn notes(found: &Breakdown<'_>, rows: &[Row], bounded: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let any = |mark: &str| {
        rows.iter().flat_map(|row| &row.cells[LABELS.len()..]).any(|cell| cell.contains(mark))
    };
    if any("±") {
        notes.push(PLUS_MINUS.into());
    }
    if any(" of ") {
        notes.push("(k of n): only k of the n seeds have the value, and only they count.".into());
    }
    if any(", ") {
        notes.push(
            "Two values are listed, the least first: fewer than three have no interval.".into(),
        );
    }
    if found.parts.iter().any(Part::is_pool) {
        notes.push(
            "Rows \"all ...\" pool flows: mean delay over all packets, mean RTT over all samples, \
             percentiles of the worst flow, goodput of all from the first's beginning to the \
             last's end."
                .into(),
        );
    }
    if found.parts.iter().any(|part| part.label.ends_with(UPLINK)) {
        notes.push(format!(
            "\"name{UPLINK}\": an upload; delay and drops are those of its data in the UE's queue."
        ));
    }
    if let Some(part) = found.parts.iter().find(|part| part.label.contains(" x")) {
        notes.push(format!("\"{}\": flows of one name are counted together.", part.label));
    }
    if bounded {
        notes.push(format!(
            "{BOUND}: no policy could have given the same packets, those of the method that lost \
             the fewest, a lower mean delay. It is that of empty queues with each packet's own \
             transmission, or, with resource blocks, PDUs of one size or UEs' own channels, up to \
             the first slot."
        ));
    }
    if !found.silent.is_empty() {
        notes.push(format!("Without a packet: {}.", found.silent.join(", ")));
    }
    notes
}
