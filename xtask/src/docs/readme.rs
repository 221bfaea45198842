//! `cargo xtask docs readme`: the README's table and its picture, from `justfull demo`. Its text is
//! written by hand.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Mode;
use super::rapid::{filled_in, interval, read, settle};
use crate::{Failure, Outcome, process};

const PAGE: &str = "README.md";
const FIGURE: &str = "docs/demo.svg";
/// The demonstration's first figure.
const SHOWN: &str = "figures/delay-time-1.svg";

/// A line of runs.jsonl.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    method: String,
    flow: String,
    goodput_mbit_s: f64,
    delay_ms_mean: f64,
    delay_ms_p99: f64,
    rtt_ms_mean: Option<f64>,
}

pub(super) fn run_with(root: &Path, mode: Mode, justfull: &Path) -> Outcome {
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory.into_std_path_buf();
    let folder = target.join("xtask/readme");
    let mut demo = Command::new(justfull);
    demo.current_dir(root).args(["demo", "--quiet", "--force", "--out"]).arg(&folder);
    process::stderr_of(&mut demo)?;
    let text = read(&folder.join("runs.jsonl"))?;
    let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| Failure::Check(format!("runs.jsonl: {error}")))?;
    let page = filled_in(PAGE, &read(&root.join(PAGE))?, "demo", &table(&rows))?;
    settle(&root.join(FIGURE), &read(&folder.join(SHOWN))?, mode)?;
    settle(&root.join(PAGE), &page, mode)
}

/// A row for each method: the call's delay, and what the download has.
fn table(rows: &[Row]) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for row in rows {
        if !methods.contains(&row.method.as_str()) {
            methods.push(&row.method);
        }
    }
    let mut text = "| method | delay of the call, mean, ms | p99, ms | goodput of the download, \
                    Mbit/s | its own RTT, ms |\n|---|---|---|---|---|\n"
        .to_owned();
    for method in methods {
        let of = |flow: &str, value: fn(&Row) -> Option<f64>, digits| {
            let rows = rows.iter().filter(|row| row.method == method && row.flow == flow);
            interval(&rows.filter_map(value).collect::<Vec<f64>>(), digits)
        };
        text += &format!(
            "| {method} | {} | {} | {} | {} |\n",
            of("call", |row| Some(row.delay_ms_mean), 1),
            of("call", |row| Some(row.delay_ms_p99), 1),
            of("download", |row| Some(row.goodput_mbit_s), 2),
            of("download", |row| row.rtt_ms_mean, 0)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_calls_delay_and_the_downloads_goodput() {
        let row = |flow: &str, delay_ms_mean, rtt_ms_mean| Row {
            method: "DRQL".into(),
            flow: flow.into(),
            goodput_mbit_s: 10.0,
            delay_ms_mean,
            delay_ms_p99: 2.0 * delay_ms_mean,
            rtt_ms_mean,
        };
        let rows = [row("call", 3.0, None), row("download", 800.0, Some(900.0))];
        let text = table(&rows);
        assert_eq!(text.lines().last(), Some("| DRQL | 3.0 | 6.0 | 10.00 | 900 |"));
        assert_eq!(text.lines().count(), 3);
    }
}
