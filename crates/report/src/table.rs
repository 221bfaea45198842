//! Tables for people: the flows of each method, on a terminal or as Markdown. Only these tables
//! round numbers; files do not.

mod choices;
mod claims;
mod fit;
mod grouped;
mod methods;
mod parity;
mod shown;
mod terminal;
mod traces;

pub use choices::{agreement, choices};
pub use claims::{claims, narrow, switches, worlds};
pub use fit::fit;
pub use grouped::grouped;
pub use methods::{methods, rest, wide};
pub use parity::parity;
pub use shown::shown;
pub use terminal::{line, notes, printable, printable_in_colour, terminal};
pub use traces::traces;

use comfy_table::Table;
use justfull_lab::model::Group;
use justfull_lab::model::claims::Verdict;
use justfull_lab::stats::Summary;
use justfull_scenario::MethodSettings;
use std::io::IsTerminal;

/// Name of the row that holds the bound.
pub const BOUND: &str = "bound";

/// A table of text, ready for any medium.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Headings; a line feed marks a possible line break.
    pub header: Vec<String>,
    /// Rows, each with as many cells as there are headings.
    pub rows: Vec<Row>,
    /// Columns from this index on hold numbers and are aligned to the right.
    pub numbers_from: usize,
    /// Columns of numbers that a narrow terminal loses first, in this order; the others follow from
    /// the last to the first.
    pub dropped_first: Vec<usize>,
    /// How to read the table, one sentence each: the meaning of `±`, and the pooling.
    pub notes: Vec<String>,
}

/// One row of a [`Grid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Text of each cell.
    pub cells: Vec<String>,
    /// The kind of the row.
    pub kind: RowKind,
    /// A note on the row, shown below it across the table, e.g. `never acted: limiter`; may be
    /// empty.
    pub note: String,
}

impl Row {
    /// A row without a note.
    #[must_use]
    pub const fn new(cells: Vec<String>, kind: RowKind) -> Self {
        Self { cells, kind, note: String::new() }
    }
}

/// The kind of a row of a [`Grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The first row of a method.
    Method,
    /// A further row of a method.
    Part,
    /// The bound or the clairvoyant policy: a reference, not a rival.
    Reference,
    /// A claim with its outcome.
    Claim(Verdict),
}

/// The style of tables on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours and line-drawing characters; otherwise plain text and ASCII rules.
    pub colour: bool,
    /// Columns of the terminal; if none, lines have any length.
    pub width: Option<u16>,
}

impl Style {
    /// The style for standard output: plain if it is not a terminal, or if `NO_COLOR` is set and
    /// not empty. Without a terminal, the width is `COLUMNS` if this is a number above 0.
    #[must_use]
    pub fn detect() -> Self {
        if !std::io::stdout().is_terminal() {
            let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
            return Self { colour: false, width: columns.filter(|width| *width > 0) };
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { colour: !no_color && !dumb, width: Table::new().width() }
    }
}

/// The notes of the table of `group` about its runs: the parts of a trace, and the settings in
/// which the methods differ.
#[must_use]
pub fn settings(group: &Group) -> Vec<String> {
    let line = |of: &MethodSettings| format!("{}: {}", of.method, of.settings);
    group.parts.iter().cloned().chain(group.settings.iter().map(line)).collect()
}

/// Explains the sign in every table that has it.
const PLUS_MINUS: &str =
    "±: half width of the 95 % confidence interval of the mean over n seeds, by Student's t.";

/// `mean ± half width` with `digits` after the point, a dash for none. Lists the values if they are
/// too few for an interval.
fn with_interval(summary: Option<Summary>, digits: usize) -> String {
    match summary {
        None => "–".into(),
        Some(Summary { n: 1, mean, .. }) => format!("{mean:.digits$}"),
        Some(Summary { min, max, ci95: None, .. }) => format!("{min:.digits$}, {max:.digits$}"),
        Some(Summary { mean, ci95: Some(half), .. }) => {
            format!("{mean:.digits$} ± {half:.digits$}")
        }
    }
}

/// Digits after the point that suit a value of this size in an unknown unit.
fn digits_for(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v > 1.5 => 2,
        _ => 4,
    }
}

/// `grid` as a Markdown table with its notes below it and a line feed at the end; reference rows
/// are in italics.
#[must_use]
pub fn markdown(grid: &Grid) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(grid.header.iter().map(|name| escape(name)).collect());
    let rule = |i: usize| if i >= grid.numbers_from { "---:".to_owned() } else { "---".to_owned() };
    out.push_str(&line((0..grid.header.len()).map(rule).collect()));
    for row in &grid.rows {
        let note =
            if row.note.is_empty() { String::new() } else { format!(" ({})", escape(&row.note)) };
        let cell = |(i, text): (usize, &String)| match row.kind {
            RowKind::Reference if !text.is_empty() => format!("*{}*", escape(text)),
            _ if i == 0 => format!("{}{note}", escape(text)),
            _ => escape(text),
        };
        out.push_str(&line(row.cells.iter().enumerate().map(cell).collect()));
    }
    for note in &grid.notes {
        out.push_str(&format!("\n{note}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;
    use justfull_run::results::{FlowResult, RunResult};

    fn group() -> Vec<RunResult> {
        example::comparison(3).groups.remove(0).runs
    }

    #[test]
    fn plain_text_has_no_escape_codes_and_colour_has() {
        let grid = methods(&group());
        let plain = terminal(&grid, Style::default());
        assert!(!plain.contains('\u{1b}'), "{plain}");
        assert!(plain.contains("Vanilla") && plain.contains("± "), "{plain}");
        assert!(terminal(&grid, Style { colour: true, width: None }).contains('\u{1b}'));
    }

    /// A character of each kind that controls a terminal: C0, DEL, C1, separators, directions.
    const COMMANDS: &str = "\r\u{1b}\u{7f}\u{9b}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}";

    #[test]
    fn control_characters_are_printed_as_escapes_and_others_unchanged() {
        let harmless = "Größe 漢字 עברית – 5 µs\n e\u{301} \u{200d}";
        assert_eq!(printable(harmless), harmless);
        let shown = printable(COMMANDS);
        let escapes: String = COMMANDS.chars().map(|c| c.escape_default().to_string()).collect();
        assert_eq!((shown.as_ref(), shown.is_ascii()), (escapes.as_str(), true));
        for (text, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}[mx\u{202e}", "\u{1b}[mx\\u{202e}"),
            ("a\u{1b}[2J\u{1b}[", "a\\u{1b}[2J\\u{1b}["),
            ("\u{7}\u{1b}]0;x\u{7}", "\\u{7}\\u{1b}]0;x\\u{7}"),
        ] {
            assert_eq!(printable_in_colour(text), expected);
        }
    }

    #[test]
    fn no_part_of_a_table_commands_a_terminal() {
        let grid = Grid {
            dropped_first: Vec::new(),
            header: vec![COMMANDS.into(), COMMANDS.into(), COMMANDS.into(), COMMANDS.into()],
            rows: vec![Row {
                cells: vec![COMMANDS.into(); 4],
                kind: RowKind::Method,
                note: COMMANDS.into(),
            }],
            numbers_from: 1,
            notes: vec![COMMANDS.into()],
        };
        for width in [None, Some(30)] {
            let style = Style { colour: false, width };
            let text = terminal(&grid, style) + &notes([&grid], style);
            let left: Vec<char> =
                text.chars().filter(|c| *c != '\n' && COMMANDS.contains(*c)).collect();
            assert_eq!(left, [], "{text}");
            assert_eq!(text.contains("Too narrow for"), width.is_some());
        }
    }

    #[test]
    fn the_bound_and_the_clairvoyant_policy_stand_last_and_apart() {
        let grid = methods(&group());
        let names: Vec<&str> = grid.rows.iter().map(|row| row.cells[0].as_str()).collect();
        // The bound covers the call alone; a method has a row for each of its two flows.
        assert_eq!(names[names.len() - 4..], ["", BOUND, "clairvoyant", ""]);
        assert!(grid.rows[names.len() - 3..].iter().all(|row| row.kind == RowKind::Reference));
        assert!(grid.rows[..names.len() - 3].iter().all(|row| row.kind != RowKind::Reference));
        let text = terminal(&grid, Style::default());
        let lines: Vec<&str> = text.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.trim().starts_with(BOUND))
            .expect("the bound is there");
        assert!(lines[at - 1].trim().is_empty(), "{text}");
    }

    fn column(grid: &Grid, name: &str) -> usize {
        grid.header
            .iter()
            .position(|header| header.replace('\n', " ").starts_with(name))
            .expect(name)
    }

    #[test]
    fn each_flow_name_has_a_row_under_each_method() {
        let grid = methods(&group());
        let flows: Vec<&str> = grid.rows.iter().map(|row| row.cells[1].as_str()).collect();
        assert_eq!(flows[..4], ["voice", "bulk", "voice", "bulk"]);
        let (delay, rtt) = (column(&grid, "delay mean"), column(&grid, "RTT"));
        assert_ne!(grid.rows[0].cells[delay], grid.rows[1].cells[delay]);
        assert_eq!(grid.rows[0].cells[rtt], "–", "a call has no round trips");
        let cell = column(&grid, "utilisation");
        assert!(
            !grid.rows[0].cells[cell].is_empty() && grid.rows[1].cells[cell].is_empty(),
            "of the cell, once"
        );
        assert!(grid.notes.iter().all(|note| !note.contains("pool")), "{:?}", grid.notes);
    }

    #[test]
    fn a_pooled_row_says_what_it_is_and_how_it_is_made() {
        let mut runs = group();
        for run in &mut runs {
            let game = FlowResult { name: "game".into(), flows: 4, ..run.flows[0].clone() };
            run.flows.insert(1, game);
        }
        let grid = methods(&runs);
        let flows: Vec<&str> = grid.rows.iter().map(|row| row.cells[1].as_str()).collect();
        assert_eq!(flows[..4], ["all low-latency", "voice", "game x4", "bulk"]);
        let notes = grid.notes.join(" ");
        assert!(
            notes.contains("percentiles of the worst flow") && notes.contains("counted together"),
            "{notes}"
        );
    }

    /// An interval from two of five seeds must not look like one from five.
    #[test]
    fn an_interval_has_its_n_and_says_where_seeds_lack_the_value() {
        let mut runs = example::comparison(5).groups.remove(0).runs;
        for run in runs.iter_mut().filter(|run| run.method == "CoDel") {
            let keep = match run.seed {
                1 => 0,
                2 => 1,
                _ => 2,
            };
            run.flows[0].delay.count *= u64::from(keep != 0);
            run.flows[1].rtt.count *= u64::from(keep == 1);
        }
        let grid = methods(&runs);
        let (n, delay, rtt) =
            (column(&grid, "n"), column(&grid, "delay mean"), column(&grid, "RTT"));
        let at = grid.rows.iter().position(|row| row.cells[0] == "CoDel").expect("a method");
        assert_eq!(grid.rows[at].cells[n], "5");
        let cell = &grid.rows[at].cells[delay];
        assert!(cell.contains("± ") && cell.ends_with("(4 of 5)"), "{cell}");
        let cell = &grid.rows[at + 1].cells[rtt];
        assert!(!cell.contains('±') && cell.ends_with("(1 of 5)"), "{cell}");
        assert!(
            grid.notes.iter().any(|note| note.contains("k of the n seeds")),
            "{:?}",
            grid.notes
        );
    }

    /// With two seeds, Student's interval is twelve standard errors wide.
    #[test]
    fn two_seeds_are_listed_and_have_no_interval() {
        let grid = methods(&example::comparison(2).groups[0].runs);
        let cells = || grid.rows.iter().flat_map(|row| &row.cells);
        assert!(cells().all(|cell| !cell.contains('±')));
        assert_eq!(grid.rows[0].cells[column(&grid, "delay mean")].split(", ").count(), 2);
        assert!(
            grid.notes.iter().any(|note| note.contains("Two values are listed")),
            "{:?}",
            grid.notes
        );
    }

    /// If the limiter never held a packet, the run shows another method than its name says.
    #[test]
    fn idle_mechanisms_stand_below_the_rows_of_their_method_in_every_medium() {
        let mut runs = group();
        runs.iter_mut()
            .filter(|run| run.method == "DRQL")
            .for_each(|run| run.never_acted.push("limiter".into()));
        let grid = methods(&runs);
        for style in [Style::default(), Style { colour: true, width: Some(80) }] {
            let text = terminal(&grid, style);
            let lines: Vec<&str> = text.lines().collect();
            let at = lines
                .iter()
                .position(|line| line.contains("never acted: limiter"))
                .expect("it is said");
            assert!(lines[at - 2].contains("DRQL") && lines[at - 1].contains("bulk"), "{text}");
        }
        assert!(markdown(&grid).contains("never acted: limiter"));
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
    }

    #[test]
    fn a_terminal_of_80_columns_shows_goodput_and_drops_before_utilisation() {
        for colour in [false, true] {
            let text = terminal(&methods(&group()), Style { colour, width: Some(80) });
            let (shown, left_out) = text.split_once("Too narrow for:").expect("not all fit");
            assert!(shown.contains("goodput") && shown.contains("drops"), "{text}");
            assert!(left_out.contains("RLC backlog"), "{text}");
        }
        let header = methods(&group()).header;
        let place = |name: &str| header.iter().position(|h| h.starts_with(name)).expect(name);
        assert!(place("goodput") < place("drops") && place("drops") < place("utilisation"));
    }

    /// A name as long as the line must leave room for numbers and not lengthen the line.
    #[test]
    fn names_are_wrapped_where_no_number_would_fit_beside_them() {
        let mut runs = group();
        for run in &mut runs {
            run.method.push_str(" with a limit of the RLC queue, and_more_in_one_word_than_fits");
            run.flows.iter_mut().for_each(|flow| flow.name.push_str(" of the first of the UEs"));
        }
        for grid in [methods(&runs), wide(&runs)] {
            let whole = terminal(&grid, Style::default());
            for width in [60, 80, 100, 140] {
                let text = terminal(&grid, Style { colour: false, width: Some(width) });
                let over = text.lines().find(|line| line.chars().count() > width.into());
                assert_eq!(over, None, "{width}: {text}");
                let of_table = text.split("Too narrow").next().unwrap_or_default();
                let numbers = of_table.split_whitespace().filter(|word| word.contains('.'));
                let numbers: Vec<&str> = numbers.collect();
                assert!(!numbers.is_empty(), "{text}");
                let known: Vec<&str> = whole.split_whitespace().collect();
                let cut = numbers.iter().find(|number| !known.contains(number));
                assert_eq!(cut, None, "{width}: {text}");
                assert!(text.contains("Vanilla") && text.contains("bulk"), "{text}");
            }
        }
    }

    #[test]
    fn a_table_of_claims_fits_a_terminal_and_no_terminal() {
        for (given, width) in [(Some(72), 72), (Some(80), 80), (Some(130), 130), (None, 120)] {
            let style = Style { colour: false, width: given };
            let text = terminal(&narrow(&claims(&example::claims()), style), style);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
        let all = markdown(&claims(&example::claims()));
        for name in ["place", "anchor", "with switch"] {
            assert!(all.contains(name), "{all}");
        }
    }

    #[test]
    fn columns_adapt_to_runs_without_low_latency_flows() {
        let mut runs = example::comparison(1).groups.remove(0).runs;
        for run in &mut runs {
            run.flows.retain(|f| !f.low_latency);
            run.flows.iter_mut().for_each(|f| f.rtt.count = 0);
        }
        let without = methods(&runs);
        assert!(without.header.contains(&"delay\nmean, ms".to_owned()), "{:?}", without.header);
        assert!(without.header.contains(&"goodput,\nMbit/s".to_owned()));
        assert!(!without.header.iter().any(|name| name.contains("RTT")));
        assert!(without.rows.iter().all(|row| row.cells.len() == without.header.len()));
    }

    #[test]
    fn markdown_escapes_what_would_split_a_cell_and_has_a_rule() {
        let mut comparison = example::comparison(1);
        comparison.groups[0].runs[0].method = "a|b".into();
        let text = markdown(&methods(&comparison.groups[0].runs));
        assert!(text.contains("| a\\|b |") && text.contains("| delay mean, ms |"), "{text}");
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut lines = text.lines();
        let first = columns(lines.next().expect("a header"));
        assert!(lines.next().expect("a rule").starts_with("| --- | --- | ---: |"));
        assert!(
            lines.filter(|line| line.starts_with('|')).all(|line| columns(line) == first),
            "{text}"
        );
    }

    #[test]
    fn values_that_are_absent_are_dashes_and_never_zero() {
        assert_eq!(with_interval(None, 2), "–");
        assert_eq!(with_interval(Summary::of(&[2.0, 1.0]), 1), "1.0, 2.0");
        assert_eq!(with_interval(Summary::of(&[1.0, 2.0, 3.0]), 1), "2.0 ± 2.5");
    }
}
