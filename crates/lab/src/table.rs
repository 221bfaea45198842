//! Tables for people: one row for each method, on a terminal or as Markdown. Numbers are rounded here and in no file.

use crate::report::claims::{ClaimRow, ClaimTable, Expected, Verdict};
use crate::report::summary::{GroupSummary, MethodSummary, Metric, is_clairvoyant};
use crate::stats::Summary;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};
use std::io::IsTerminal;

/// Name of the row that holds the bound.
pub const BOUND: &str = "bound";

/// A table of text, ready for any medium.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Headings; a line feed stands where a line may end.
    pub header: Vec<String>,
    /// Rows with as many cells as there are headings.
    pub rows: Vec<Row>,
    /// Columns from this one on hold numbers and are aligned to the right.
    pub numbers_from: usize,
}

/// One row of a [`Grid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Text of each cell.
    pub cells: Vec<String>,
    /// What the row is.
    pub kind: RowKind,
}

/// What a row of a [`Grid`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A method.
    Method,
    /// The bound or the clairvoyant policy: no rival, but what rivals are measured against.
    Reference,
    /// A claim with its outcome.
    Claim(Verdict),
}

/// How a terminal shows tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours and line-drawing characters; without, only plain text and ASCII rules.
    pub colour: bool,
    /// Columns of the terminal; without, lines are as long as they need to be.
    pub width: Option<u16>,
}

impl Style {
    /// The style for standard output: plain when it is no terminal or when `NO_COLOR` is set and not empty.
    #[must_use]
    pub fn detect() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::default();
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { colour: !no_color && !dumb, width: Table::new().width() }
    }
}

/// Digits after the point that suit values of `metric`.
const fn decimals(metric: Metric) -> usize {
    match metric {
        Metric::Utilisation | Metric::Jain => 4,
        Metric::DelayP95
        | Metric::DelayP99
        | Metric::DelayP999
        | Metric::PdvP99
        | Metric::Rtt
        | Metric::Backlog
        | Metric::SdapBacklog
        | Metric::RlcBacklog
        | Metric::RlcBacklogSd
        | Metric::RlcAtEntry
        | Metric::Within1
        | Metric::Within2
        | Metric::Within3
        | Metric::Within4
        | Metric::Within50
        | Metric::QuantumMedian
        | Metric::QuantumMedianDistance
        | Metric::QuantumMost
        | Metric::FrameP95 => 1,
        Metric::DelayMean
        | Metric::DelaySd
        | Metric::Ipdv
        | Metric::Late
        | Metric::Goodput
        | Metric::Drops
        | Metric::DropsOfAll
        | Metric::Bound
        | Metric::PingRtt
        | Metric::PingRttLeast
        | Metric::Unused
        | Metric::ToUe
        | Metric::Mos
        | Metric::PageLoad => 2,
    }
}

/// `mean ± half width` with `digits` after the point, a dash for none.
fn with_interval(summary: Option<Summary>, digits: usize) -> String {
    match summary {
        None => "–".into(),
        Some(Summary { mean, ci95: None, .. }) => format!("{mean:.digits$}"),
        Some(Summary { mean, ci95: Some(half), .. }) => format!("{mean:.digits$} ± {half:.digits$}"),
    }
}

fn mean_only(summary: Option<Summary>, digits: usize) -> String {
    summary.map_or_else(|| "–".into(), |s| format!("{:.digits$}", s.mean))
}

/// Columns of the table of methods, the most telling first: the metric, its name, and whether the interval is shown.
const COLUMNS: [(Metric, &str, bool); 13] = [
    (Metric::DelayMean, "delay\nmean", true),
    (Metric::DelayP95, "delay\np95", false),
    (Metric::DelayP99, "delay\np99", false),
    (Metric::Utilisation, "utilisation", true),
    (Metric::Goodput, "goodput", true),
    (Metric::Drops, "drops", false),
    (Metric::Rtt, "RTT\nmean", false),
    (Metric::PingRtt, "ping\nRTT", true),
    (Metric::Mos, "MOS", true),
    (Metric::FrameP95, "frame\np95", false),
    (Metric::PageLoad, "page\nload", true),
    (Metric::RlcBacklog, "RLC\nbacklog", false),
    (Metric::RlcAtEntry, "RLC at\nentry", false),
];

/// Heading of `metric`: whose it is, what it is, its unit.
fn heading(metric: Metric, name: &str, low_latency: bool) -> String {
    let whose = match metric {
        Metric::DelayMean
        | Metric::DelayP95
        | Metric::DelayP99
        | Metric::DelayP999
        | Metric::PdvP99
        | Metric::Ipdv
        | Metric::Late
        | Metric::Within1
        | Metric::Within4
        | Metric::Drops
            if low_latency =>
        {
            "low-lat.\n"
        }
        Metric::Goodput | Metric::Rtt | Metric::Jain if low_latency => "bulk\n",
        _ => "",
    };
    let unit = metric.unit();
    let separator = match unit.len() {
        0 => "",
        1 | 2 => ", ",
        _ => ",\n",
    };
    format!("{whose}{name}{separator}{unit}")
}

/// Columns of the wide table beyond [`COLUMNS`].
const WIDE_COLUMNS: [(Metric, &str, bool); 9] = [
    (Metric::Within1, "within\n1 ms", true),
    (Metric::Within4, "within\n4 ms", false),
    (Metric::Unused, "unused", true),
    (Metric::ToUe, "pull\nto UE", false),
    (Metric::DelayP999, "delay\np99.9", false),
    (Metric::PdvP99, "PDV\np99", false),
    (Metric::Ipdv, "IPDV\nmean", false),
    (Metric::Late, "late", false),
    (Metric::Jain, "Jain\nindex", false),
];

/// The table of a group: methods in order of appearance, then the bound and the clairvoyant policy. Columns that no
/// method has a value for are left out.
#[must_use]
pub fn methods(group: &GroupSummary) -> Grid {
    grid(group, COLUMNS.iter())
}

/// [`methods`] with shares within TTIs, unused capacity, high percentiles, jitter, missed delay budgets and fairness.
#[must_use]
pub fn wide(group: &GroupSummary) -> Grid {
    grid(group, COLUMNS.iter().chain(&WIDE_COLUMNS))
}

fn grid(group: &GroupSummary, columns: impl Iterator<Item = &'static (Metric, &'static str, bool)>) -> Grid {
    let columns: Vec<_> =
        columns.filter(|(m, ..)| group.methods.iter().any(|row| row.get(*m).is_some())).collect();
    let mut header = vec!["method".to_owned()];
    header.extend(columns.iter().map(|(metric, name, _)| heading(*metric, name, group.low_latency)));
    let row = |method: &MethodSummary, kind| {
        let mut cells = vec![method.method.clone()];
        cells.extend(columns.iter().map(|(metric, _, interval)| {
            let show = if *interval { with_interval } else { mean_only };
            show(method.get(*metric), decimals(*metric))
        }));
        Row { cells, kind }
    };
    let (seers, rivals): (Vec<_>, Vec<_>) = group.methods.iter().partition(|m| is_clairvoyant(&m.method));
    let mut rows: Vec<Row> = rivals.into_iter().map(|m| row(m, RowKind::Method)).collect();
    if let Some(bound) = group.bound {
        let mut cells = vec![BOUND.to_owned()];
        cells.extend(columns.iter().map(|(metric, ..)| match metric {
            Metric::DelayMean => with_interval(Some(bound), decimals(Metric::Bound)),
            _ => String::new(),
        }));
        rows.push(Row { cells, kind: RowKind::Reference });
    }
    rows.extend(seers.into_iter().map(|m| row(m, RowKind::Reference)));
    Grid { header, rows, numbers_from: 1 }
}

/// Digits after the point that suit values like `value` in no known unit.
fn digits_for(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v > 1.5 => 2,
        _ => 4,
    }
}

fn expected(value: &Expected) -> String {
    match value {
        Expected::Absent => "–".into(),
        Expected::Words(words) => words.clone(),
        Expected::Range(low, high) if low.total_cmp(high).is_eq() => format!("{low}"),
        Expected::Range(low, high) => format!("{low} to {high}"),
    }
}

fn found(ours: &[Summary]) -> String {
    let text: Vec<String> = ours.iter().map(|s| with_interval(Some(*s), digits_for(s.mean))).collect();
    if text.is_empty() { "–".into() } else { text.join("; ") }
}

fn claim_cells(claim: &ClaimRow) -> Vec<String> {
    let unit = if claim.unit.is_empty() { String::new() } else { format!(", {}", claim.unit) };
    let mark = if claim.changed { " (changed)" } else { "" };
    let reason = if claim.reason.is_empty() { String::new() } else { format!(": {}", claim.reason) };
    let switches: Vec<String> = claim
        .switches
        .iter()
        .map(|s| format!("{}: {}{}", s.name, found(&s.ours), if s.meets { " (met)" } else { "" }))
        .collect();
    vec![
        claim.place.clone(),
        format!("{}{unit}", claim.what),
        expected(&claim.paper),
        expected(&claim.anchor),
        found(&claim.ours),
        format!("{}{mark}", expected(&claim.band)),
        format!("{}{reason}", claim.verdict.word()),
        switches.join("; "),
    ]
}

/// The table of claims; the columns for anchors and switches are left out when no row has one.
#[must_use]
pub fn claims(table: &ClaimTable) -> Grid {
    let names = ["place", "claim", "paper", "anchor", "ours (± 95 %)", "band", "verdict", "with switch"];
    let anchors = table.rows.iter().any(|row| row.anchor != Expected::Absent);
    let switches = table.rows.iter().any(|row| !row.switches.is_empty());
    let keep = |i: usize| (i != 3 || anchors) && (i != 7 || switches);
    let kept = |cells: Vec<String>| -> Vec<String> {
        cells.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, cell)| cell).collect()
    };
    let rows = table
        .rows
        .iter()
        .map(|claim| Row { cells: kept(claim_cells(claim)), kind: RowKind::Claim(claim.verdict) })
        .collect();
    let header = kept(names.map(str::to_owned).to_vec());
    Grid { numbers_from: header.len(), header, rows }
}

fn paint(cell: Cell, kind: RowKind, last_text: bool) -> Cell {
    match kind {
        RowKind::Method => cell,
        RowKind::Reference => cell.add_attribute(Attribute::Dim),
        RowKind::Claim(_) if !last_text => cell,
        RowKind::Claim(Verdict::Met) => cell.fg(Color::Green),
        RowKind::Claim(Verdict::Explained) => cell.fg(Color::Cyan),
        RowKind::Claim(Verdict::Missed) => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        RowKind::Claim(Verdict::NotRun) => cell.fg(Color::Yellow),
    }
}

/// Horizontal rules at the ends and below the header.
const fn rules(line: char) -> TableStyle {
    let rule = LineStyle::none().fill(line).junction(line);
    TableStyle::new().top_border(rule).header_separator(rule).bottom_border(rule)
}

/// Width of column `i` with the blanks before it.
fn column_width(grid: &Grid, i: usize) -> usize {
    let texts = grid.rows.iter().map(|row| &row.cells[i]).chain([&grid.header[i]]);
    2 + texts.flat_map(|text| text.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Number of leading columns that fit into `width`, at least two.
fn fitting(grid: &Grid, width: usize) -> usize {
    let ends = (0..grid.header.len()).scan(0, |end, i| {
        *end += column_width(grid, i);
        Some(*end)
    });
    ends.take_while(|end| *end <= width).count().max(2).min(grid.header.len())
}

/// `grid` for a terminal, without a line feed at the end.
///
/// A table of numbers that is too wide loses its last columns and says which; a table of words is wrapped. Reference
/// rows follow an empty line.
#[must_use]
pub fn terminal(grid: &Grid, style: Style) -> String {
    let mut table = Table::new();
    table.load_style(rules(if style.colour { '─' } else { '-' }));
    table.set_content_arrangement(ContentArrangement::Disabled);
    let mut columns = grid.header.len();
    match style.width {
        Some(width) if grid.numbers_from < columns => columns = fitting(grid, width.into()),
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(20));
        }
        None => {}
    }
    if style.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let align = |i: usize| if i >= grid.numbers_from { CellAlignment::Right } else { CellAlignment::Left };
    let verdict_column = grid.header.iter().position(|name| name == "verdict");
    let header = grid.header.iter().take(columns).enumerate();
    table.set_header(header.map(|(i, name)| Cell::new(name).set_alignment(align(i))));
    let mut apart = false;
    for row in &grid.rows {
        if row.kind == RowKind::Reference && !apart {
            table.add_row((0..columns).map(|_| Cell::new("")));
            apart = true;
        }
        table.add_row(row.cells.iter().take(columns).enumerate().map(|(i, text)| {
            let cell = Cell::new(text).set_alignment(align(i));
            if style.colour { paint(cell, row.kind, Some(i) == verdict_column) } else { cell }
        }));
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    if columns < grid.header.len() {
        lines.push("Too narrow for:".into());
        lines.extend(grid.header[columns..].iter().map(|name| format!("  {}", name.replace('\n', " "))));
    }
    lines.join("\n")
}

/// `grid` as a Markdown table with a line feed at the end; reference rows are in italics.
#[must_use]
pub fn markdown(grid: &Grid) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(grid.header.iter().map(|name| escape(name)).collect());
    let rule = |i: usize| if i >= grid.numbers_from { "---:".to_owned() } else { "---".to_owned() };
    out.push_str(&line((0..grid.header.len()).map(rule).collect()));
    for row in &grid.rows {
        let cell = |text: &String| match row.kind {
            RowKind::Reference if !text.is_empty() => format!("*{}*", escape(text)),
            _ => escape(text),
        };
        out.push_str(&line(row.cells.iter().map(cell).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    fn group() -> GroupSummary {
        GroupSummary::of(&example::comparison(3).groups[0].runs)
    }

    #[test]
    fn plain_text_has_no_escape_codes_and_colour_has() {
        let grid = methods(&group());
        let plain = terminal(&grid, Style::default());
        assert!(!plain.contains('\u{1b}'), "{plain}");
        assert!(plain.contains("Vanilla") && plain.contains("± "), "{plain}");
        assert!(terminal(&grid, Style { colour: true, width: None }).contains('\u{1b}'));
    }

    #[test]
    fn the_bound_and_the_clairvoyant_policy_stand_last_and_apart() {
        let grid = methods(&group());
        let names: Vec<&str> = grid.rows.iter().map(|row| row.cells[0].as_str()).collect();
        assert_eq!(names[names.len() - 2..], [BOUND, "clairvoyant"]);
        assert!(grid.rows[names.len() - 2..].iter().all(|row| row.kind == RowKind::Reference));
        assert!(grid.rows[..names.len() - 2].iter().all(|row| row.kind == RowKind::Method));
        let text = terminal(&grid, Style::default());
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.trim().starts_with(BOUND)).expect("the bound is there");
        assert!(lines[at - 1].trim().is_empty(), "{text}");
    }

    #[test]
    fn a_narrow_terminal_gets_lines_that_fit() {
        let text = terminal(&methods(&group()), Style { colour: false, width: Some(72) });
        assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
        let all = terminal(&methods(&group()), Style { colour: false, width: Some(200) });
        assert_eq!(all, terminal(&methods(&group()), Style::default()));
        for name in ["Vanilla", "5G-BDP", BOUND, "\n  RLC backlog, packets"] {
            assert!(text.contains(name), "{text}");
        }
        let claims = terminal(&claims(&example::claims()), Style { colour: false, width: Some(72) });
        assert!(claims.lines().all(|line| line.chars().count() <= 72), "{claims}");
    }

    #[test]
    fn columns_adapt_to_runs_without_low_latency_flows() {
        let mut runs = example::comparison(1).groups.remove(0).runs;
        let with = methods(&GroupSummary::of(&runs));
        assert!(with.header.contains(&"low-lat.\ndelay\nmean, ms".to_owned()), "{:?}", with.header);
        for run in &mut runs {
            run.flows.retain(|f| !f.low_latency);
            run.flows.iter_mut().for_each(|f| f.rtt.count = 0);
        }
        let without = methods(&GroupSummary::of(&runs));
        assert!(without.header.contains(&"delay\nmean, ms".to_owned()), "{:?}", without.header);
        assert!(without.header.contains(&"goodput,\nMbit/s".to_owned()));
        assert!(!without.header.iter().any(|name| name.contains("RTT")));
        assert!(without.rows.iter().all(|row| row.cells.len() == without.header.len()));
    }

    #[test]
    fn one_run_shows_no_interval() {
        let grid = methods(&GroupSummary::of(&example::comparison(1).groups[0].runs));
        assert!(grid.rows.iter().flat_map(|row| &row.cells).all(|cell| !cell.contains('±')));
    }

    #[test]
    fn markdown_escapes_what_would_split_a_cell_and_has_a_rule() {
        let mut comparison = example::comparison(1);
        comparison.groups[0].runs[0].method = "a|b".into();
        let text = markdown(&methods(&GroupSummary::of(&comparison.groups[0].runs)));
        assert!(text.contains("| a\\|b |") && text.contains("| low-lat. delay mean, ms |"), "{text}");
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut lines = text.lines();
        let first = columns(lines.next().expect("a header"));
        assert!(lines.next().expect("a rule").starts_with("| --- | ---: |"));
        assert!(lines.all(|line| columns(line) == first), "{text}");
    }

    #[test]
    fn claims_say_their_verdict_in_words_and_mark_a_changed_band() {
        let table = example::claims();
        let text = terminal(&claims(&table), Style::default());
        for verdict in Verdict::ALL {
            assert!(text.contains(verdict.word()), "{text}");
        }
        assert!(text.contains("(changed)") && text.contains("no trace"), "{text}");
        assert_eq!(table.tally(), "4 claims: 1 met, 1 explained, 1 missed, 1 not run");
    }

    #[test]
    fn values_that_are_absent_are_dashes_and_never_zero() {
        assert_eq!(with_interval(None, 2), "–");
        assert_eq!(with_interval(Summary::of(&[1.0, 2.0]), 1), "1.5 ± 6.4");
        assert_eq!(found(&[]), "–");
    }
}
