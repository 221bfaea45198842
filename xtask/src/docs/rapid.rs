//! `cargo xtask docs rapid`: the tables and figures of `docs/rapid.md`, from runs of shipped
//! scenarios. The page's text is written by hand; what stands between `<!-- made: NAME -->` and
//! `<!-- end -->` is made here, and the figures are in `docs/rapid`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::{Mode, first_difference};
use crate::{Failure, Outcome, process};

const PAGE: &str = "docs/rapid.md";
const FIGURES: &str = "docs/rapid";

/// A run whose results the page shows: its name there, the arguments of `justfull run`, its table,
/// and the figure to keep.
struct Made {
    name: &'static str,
    arguments: &'static [&'static str],
    table: fn(&[Row], &Series) -> String,
    figure: Option<&'static str>,
}

const MADE: [Made; 3] = [
    Made {
        name: "beside",
        arguments: &["rapid-beside-ran"],
        table: beside,
        figure: Some("delay-utilisation-1.svg"),
    },
    Made {
        name: "quic",
        arguments: &["rapid-beside-ran", "--switch", "quic"],
        table: beside,
        figure: Some("delay-utilisation-1.svg"),
    },
    Made { name: "reports", arguments: &["rapid-reports"], table: reports, figure: None },
];

/// Seeds of a run, and Student's t for a 95 % interval of as many.
const SEEDS: usize = 3;
const STUDENTS_T: f64 = 4.303;

/// When the reports of `rapid-reports` that fall silent are back, the width of the windows in which
/// goodput is compared, and what counts as back.
const BACK_AT: f64 = 7.0;
const WINDOW: f64 = 0.25;
const BACK: f64 = 0.95;

/// A line of runs.jsonl.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    x_value: Option<f64>,
    method: String,
    flow: String,
    goodput_mbit_s: f64,
    utilisation: f64,
    delay_ms_mean: f64,
    delay_ms_p99: f64,
    to_ue_ms_mean: Option<f64>,
    rtt_ms_mean: Option<f64>,
    rtt_ms_min: Option<f64>,
    server_to_ue_ms_mean: Option<f64>,
    entered_packets: u64,
    dropped_packets: u64,
}

/// Goodput of all flows by the start of a bin in seconds, by method and seed.
type Series = BTreeMap<(String, u64), Vec<(f64, f64)>>;

/// Makes the page with the `justfull` that is given, or compares.
pub(crate) fn run_with(root: &Path, mode: Mode, justfull: &Path) -> Outcome {
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory.into_std_path_buf();
    let mut page = read(&root.join(PAGE))?;
    let mut files = Vec::new();
    for made in &MADE {
        let folder = target.join("xtask").join(FIGURES).join(made.name);
        let mut run = Command::new(justfull);
        run.current_dir(root).arg("run").args(made.arguments);
        run.args(["--quiet", "--force", "--out"]).arg(&folder);
        process::stderr_of(&mut run)?;
        let rows = rows(&read(&folder.join("runs.jsonl"))?)?;
        let series = series(&read(&folder.join("series.csv"))?)?;
        page = filled(&page, made.name, &(made.table)(&rows, &series))?;
        if let Some(figure) = made.figure {
            let name = root.join(FIGURES).join(format!("{}.svg", made.name));
            files.push((name, read(&folder.join("figures").join(figure))?));
        }
    }
    files.push((root.join(PAGE), page));
    files.into_iter().try_for_each(|(file, text)| settle(&file, &text, mode))
}

/// Makes `file` hold `text`, or says where it does not.
pub(super) fn settle(file: &Path, text: &str, mode: Mode) -> Outcome {
    let old = fs::read_to_string(file).unwrap_or_default();
    if old == text {
        println!("{}: as the runs say", file.display());
        return Ok(());
    }
    if mode == Mode::Check {
        let line = first_difference(old.as_bytes(), text.as_bytes());
        return Err(Failure::Check(format!(
            "{}:{line}: not what the runs say; run `cargo xtask docs` for it and commit it",
            file.display()
        )));
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let failure = |error| Failure::Environment(format!("{}: {error}", file.display()));
    fs::create_dir_all(folder).map_err(failure)?;
    println!("wrote {}", file.display());
    fs::write(file, text).map_err(failure)
}

pub(super) fn read(file: &PathBuf) -> Outcome<String> {
    fs::read_to_string(file)
        .map_err(|error| Failure::Environment(format!("{}: {error}", file.display())))
}

fn rows(text: &str) -> Outcome<Vec<Row>> {
    let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str).collect();
    rows.map_err(|error| Failure::Check(format!("runs.jsonl: {error}")))
}

/// Reads the columns that [`Series`] needs; no name of these scenarios holds a quote.
fn series(text: &str) -> Outcome<Series> {
    let mut series = Series::new();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let bad = || Failure::Check("series.csv: a column is missing or not a number".into());
    let column = |name| header.iter().position(|column| *column == name).ok_or_else(bad);
    let at = [column("method")?, column("seed")?, column("time_s")?, column("delivered_mbit_s")?];
    for line in lines.filter(|line| line.len() == header.len()) {
        let number = |i: usize| line[at[i]].parse::<f64>().map_err(|_| bad());
        let seed = line[at[1]].parse().map_err(|_| bad())?;
        let bins: &mut Vec<_> = series.entry((line[at[0]].to_owned(), seed)).or_default();
        bins.push((number(2)?, number(3)?));
    }
    Ok(series)
}

/// `page` with `table` at the place called `name`.
fn filled(page: &str, name: &str, table: &str) -> Outcome<String> {
    filled_in(PAGE, page, name, table)
}

/// The same for the page in the file called `file`.
pub(super) fn filled_in(file: &str, page: &str, name: &str, table: &str) -> Outcome<String> {
    let begin = format!("<!-- made: {name} -->\n");
    let split = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once("<!-- end -->")?;
        Some((before, after))
    });
    let (before, after) = split.ok_or_else(|| {
        Failure::Check(format!("{file}: no `{}` with `<!-- end -->` after it", begin.trim()))
    })?;
    Ok(format!("{before}{begin}\n{table}\n<!-- end -->{after}"))
}

/// Mean and 95 % interval over the seeds.
pub(super) fn interval(values: &[f64], digits: usize) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() != SEEDS {
        return format!("{mean:.digits$}");
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.digits$} ± {:.digits$}", STUDENTS_T * (variance / n).sqrt())
}

/// Points of the sweep and methods, in order of the rows.
fn groups(rows: &[Row]) -> Vec<(Option<f64>, &str)> {
    let mut groups = Vec::new();
    for row in rows {
        let group = (row.x_value, row.method.as_str());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// The rows of one group for which `wanted` holds, and `value` of each.
fn values(
    rows: &[Row],
    (x, method): (Option<f64>, &str),
    flow: &str,
    value: impl Fn(&Row) -> Option<f64>,
) -> Vec<f64> {
    let of = |row: &&Row| row.x_value == x && row.method == method && row.flow == flow;
    rows.iter().filter(of).filter_map(value).collect()
}

/// From a server's sending to the UE: of a proxied flow as measured, of others the 10 ms of the
/// core and what the chain took.
fn server_to_ue(row: &Row) -> Option<f64> {
    const CORE_MS: f64 = 10.0;
    row.server_to_ue_ms_mean
        .or_else(|| Some(CORE_MS + row.delay_ms_mean + row.to_ue_ms_mean.unwrap_or(0.0)))
}

/// Per cent of a row's packets that were dropped.
fn dropped_percent(row: &Row) -> Option<f64> {
    Some(100.0 * row.dropped_packets as f64 / row.entered_packets.max(1) as f64)
}

/// RAPID and the methods in the RAN.
fn beside(rows: &[Row], _: &Series) -> String {
    let mut text = "| UEs | method | utilisation | bulk, Mbit/s | other, Mbit/s | call to the \
                    radio, mean, ms | p99 | dropped, % | bulk from server to UE, ms | other |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for group in groups(rows) {
        let of = |flow, value: fn(&Row) -> Option<f64>, digits| {
            interval(&values(rows, group, flow, value), digits)
        };
        let ues = group.0.unwrap_or(1.0);
        let cells = [
            format!("{ues:.0}"),
            group.1.to_owned(),
            of("bulk", |row| Some(row.utilisation), 3),
            of("bulk", |row| Some(row.goodput_mbit_s), 1),
            of("other", |row| Some(row.goodput_mbit_s), 1),
            of("call", |row| Some(row.delay_ms_mean), 2),
            of("call", |row| Some(row.delay_ms_p99), 1),
            of("call", dropped_percent, 2),
            of("bulk", server_to_ue, 1),
            of("other", server_to_ue, 1),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// RAPID with bad reports.
fn reports(rows: &[Row], series: &Series) -> String {
    let mut text =
        "| reports | utilisation | goodput, Mbit/s | growth of the round trip, % | from \
                    server to UE, ms | packets that the RLC dropped | full again after, s |\n\
                    | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for group in groups(rows) {
        // Two flows of equal weight.
        let mean = |value: fn(&Row) -> Option<f64>| -> Vec<f64> {
            let [cubic, bbr] = ["cubic", "bbr"].map(|flow| values(rows, group, flow, value));
            cubic.iter().zip(&bbr).map(|(a, b)| f64::midpoint(*a, *b)).collect()
        };
        let growth = |row: &Row| Some(100.0 * (row.rtt_ms_mean? / row.rtt_ms_min? - 1.0));
        let sum = |values: Vec<f64>| values.iter().map(|v| 2.0 * v).collect::<Vec<_>>();
        let drops: f64 = sum(mean(|row| Some(row.dropped_packets as f64))).iter().sum();
        let name = if group.1 == "RAPID" { "all, in time and true" } else { group.1 };
        let cells = [
            name.to_owned(),
            interval(&mean(|row| Some(row.utilisation)), 3),
            interval(&sum(mean(|row| Some(row.goodput_mbit_s))), 1),
            interval(&mean(growth), 1),
            interval(&mean(server_to_ue), 1),
            format!("{drops:.0}"),
            if group.1.starts_with("silent") { back(group.1, series) } else { "–".into() },
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// The longest time over the seeds from [`BACK_AT`] until the goodput of `method` in a window is at
/// least [`BACK`] of what it is without a fault.
fn back(method: &str, series: &Series) -> String {
    let of = |bins: &[(f64, f64)], from: f64| -> f64 {
        let inside = |(t, _): &&(f64, f64)| *t >= from - 1e-9 && *t < from + WINDOW - 1e-9;
        bins.iter().filter(inside).map(|(_, rate)| rate).sum()
    };
    let mut longest = 0.0_f64;
    for ((_, seed), bins) in series.iter().filter(|((name, _), _)| name == method) {
        let Some(sound) = series.get(&("RAPID".to_owned(), *seed)) else { return "–".into() };
        let starts = bins.iter().map(|(t, _)| *t).filter(|t| *t >= BACK_AT - 1e-9);
        let full = starts.into_iter().find(|t| of(bins, *t) >= BACK * of(sound, *t));
        longest = longest.max(full.map_or(f64::INFINITY, |t| t - BACK_AT));
    }
    format!("{longest:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_filled_and_one_that_is_missing_is_named() {
        let page = "a\n<!-- made: x -->\nold\n<!-- end -->\nb\n";
        let new = filled(page, "x", "| t |\n").unwrap();
        assert_eq!(new, "a\n<!-- made: x -->\n\n| t |\n\n<!-- end -->\nb\n");
        assert_eq!(filled(&new, "x", "| t |\n").unwrap(), new, "again");
        assert!(matches!(filled(page, "y", ""), Err(Failure::Check(said)) if said.contains("y")));
    }

    #[test]
    fn the_time_until_goodput_is_back_is_that_of_the_slowest_seed() {
        let bins = |low_until: f64| {
            let bin = |i| f64::from(i) * 0.05;
            let rate = |t: f64| if t < low_until { 5.0 } else { 10.0 };
            (0..240).map(bin).map(|t| (t, rate(t))).collect::<Vec<_>>()
        };
        let mut series = Series::new();
        for (seed, until) in [(1, 7.5), (2, 0.0)] {
            series.insert(("silent".into(), seed), bins(until));
            series.insert(("RAPID".into(), seed), bins(0.0));
        }
        assert_eq!(back("silent", &series), "0.50");
        series.insert(("silent".into(), 1), bins(100.0));
        assert_eq!(back("silent", &series), "inf");
    }

    #[test]
    fn an_interval_is_students() {
        assert_eq!(interval(&[1.0, 2.0, 3.0], 2), "2.00 ± 2.48");
        assert_eq!(interval(&[1.0, 3.0], 1), "2.0");
    }
}
