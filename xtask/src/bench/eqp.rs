//! `cargo xtask bench eqp`: the cost of a slot of the scheduler EQP, and a check that its decisions
//! are the same.
//!
//! The program is `eqp_bench` in `crates/ran/examples`, which describes its workloads; `eqp_bench
//! --json` prints one line of JSON for each. It runs twice, and the decisions of both runs must be
//! equal.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::{Failure, Outcome, process};

/// Longest mean time of a slot, in microseconds, for the workloads with the goal of 50 us: the
/// first [`OF_THE_GOAL`].
const CEILING_US: f64 = 90.0;
const OF_THE_GOAL: usize = 4;
const RUNS: usize = 2;

/// One line of the program.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    name: String,
    /// Mean and maximum over slots of each slot's least time.
    mean_us: f64,
    worst_us: f64,
    allocations_after_warmup: u64,
    memory_bytes: u64,
    /// The decisions of all slots: SDUs sent completely, units given beyond those, bytes granted,
    /// and a hash of all answers.
    whole_sdus: u64,
    leftover_units: u64,
    bytes: u64,
    digest: String,
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-ran", "eqp_bench")?;
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        runs.push(parse(&process::stdout_of(Command::new(&program).arg("--json"))?)?);
    }
    print!("{}", report(&runs));
    super::judge(&violations(&runs), enforce)
}

fn parse(output: &str) -> Outcome<Vec<Line>> {
    let wrong = |error| Failure::Check(format!("eqp_bench --json: {error}"));
    output.lines().map(|line| serde_json::from_str(line).map_err(wrong)).collect()
}

/// The lesser of the runs' times of workload `i`.
fn least(runs: &[Vec<Line>], i: usize, time: impl Fn(&Line) -> f64) -> f64 {
    runs.iter().filter_map(|run| run.get(i)).map(time).fold(f64::INFINITY, f64::min)
}

fn report(runs: &[Vec<Line>]) -> String {
    let mut text = format!(
        "{:<44} {:>8} {:>8} {:>7} {:>8}  {:>10} {:>8}  digest\n",
        "workload", "mean us", "worst us", "allocs", "KiB", "whole SDUs", "leftover"
    );
    for (i, line) in runs.first().into_iter().flatten().enumerate() {
        text += &format!(
            "{:<44} {:>8.1} {:>8.1} {:>7} {:>8}  {:>10} {:>8}  {}\n",
            line.name,
            least(runs, i, |line| line.mean_us),
            least(runs, i, |line| line.worst_us),
            line.allocations_after_warmup,
            line.memory_bytes.div_ceil(1024),
            line.whole_sdus,
            line.leftover_units,
            line.digest
        );
    }
    text
}

/// Every violation of a limit, one sentence each.
fn violations(runs: &[Vec<Line>]) -> Vec<String> {
    let mut found = Vec::new();
    let first = runs.first().map_or(&[][..], Vec::as_slice);
    if first.len() < OF_THE_GOAL {
        found.push(format!("{} workloads were run, at least {OF_THE_GOAL}", first.len()));
    }
    for (i, line) in first.iter().enumerate() {
        let mean = least(runs, i, |line| line.mean_us);
        if i < OF_THE_GOAL && mean > CEILING_US {
            found.push(format!("{}: {mean:.1} us a slot, at most {CEILING_US:.1} us", line.name));
        }
        let all: Vec<&Line> = runs.iter().filter_map(|run| run.get(i)).collect();
        let allocations = all.iter().map(|line| line.allocations_after_warmup).max().unwrap_or(0);
        if allocations > 0 {
            found.push(format!(
                "{}: {allocations} allocations after the warm-up, at most 0",
                line.name
            ));
        }
        let work = |line: &Line| {
            (
                line.name.clone(),
                line.whole_sdus,
                line.leftover_units,
                line.bytes,
                line.digest.clone(),
            )
        };
        if all.len() < runs.len() || all.iter().any(|other| work(other) != work(line)) {
            found.push(format!("{}: two runs decided differently", line.name));
        }
        if line.whole_sdus == 0 {
            found.push(format!("{}: no SDU left whole", line.name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mean_us: f64) -> Line {
        Line {
            name: "w".into(),
            mean_us,
            worst_us: mean_us,
            allocations_after_warmup: 0,
            memory_bytes: 4096,
            whole_sdus: 7,
            leftover_units: 1,
            bytes: 100,
            digest: "0".into(),
        }
    }

    #[test]
    fn runs_inside_every_limit_pass_though_one_was_slow() {
        let found = violations(&[vec![line(40.0); 5], vec![line(140.0); 5]]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_limit_is_enforced() {
        let bad = Line { allocations_after_warmup: 1, ..line(91.0) };
        let other = Line { digest: "1".into(), whole_sdus: 0, ..line(91.0) };
        let found = violations(&[vec![other; 1], vec![bad; 1]]);
        for words in
            ["91.0 us", "1 allocations", "decided differently", "no SDU", "1 workloads were run"]
        {
            assert!(
                found.iter().any(|line| line.contains(words)),
                "{words} is missing in {found:?}"
            );
        }
    }

    #[test]
    fn the_programs_line_is_read() {
        let text = r#"{"name":"w","mean_us":1.5,"worst_us":2.5,"allocations_after_warmup":0,"memory_bytes":1,
            "whole_sdus":1,"leftover_units":0,"bytes":3,"digest":"00"}"#;
        let lines = parse(&text.replace('\n', "")).expect("a line");
        assert_eq!((lines.len(), lines[0].bytes), (1, 3));
        assert!(parse("{}").is_err(), "a missing field is an error");
    }
}
