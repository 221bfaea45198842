//! `cargo xtask bench proxy`: the cost of RAPID's proxy beside HAProxy and nginx.
//!
//! The program is `proxy_bench` in `crates/proxy/examples`: it puts a proxy between two hosts, on
//! the last core, with the load on the first. Each round runs every case through every proxy in
//! turn, so that other work on the machine affects all of them; medians are compared. The rivals
//! run with one thread, transparent, HAProxy with splicing.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Failure, Outcome, process};

/// Rounds.
const ROUNDS: usize = 7;
/// The measured proxies; the first is ours.
const PROXIES: [&str; 3] = ["justfull", "haproxy", "nginx"];

/// A figure of a case, and the ratio of ours to the better rival's: a lower bound if more is
/// better, an upper bound if less is.
struct Case {
    name: &'static str,
    figure: &'static str,
    goal: f64,
    /// The enforced ratio.
    floor: f64,
    more_is_better: bool,
}

/// A connection takes more than the rivals': its first segment passes twice, and each half of its
/// end by itself. A 99th percentile of round trips is the machine's as much as the proxy's.
const CASES: [Case; 4] = [
    Case { name: "bulk1", figure: "gbit_per_cpu_s", goal: 4.0, floor: 3.0, more_is_better: true },
    Case { name: "bulk100", figure: "gbit_per_cpu_s", goal: 5.2, floor: 5.2, more_is_better: true },
    Case { name: "connections", figure: "per_s", goal: 1.0, floor: 0.85, more_is_better: true },
    Case { name: "ping", figure: "p99_us", goal: 1.0, floor: 2.0, more_is_better: false },
];

/// Most bytes of memory and pipes of an idle connection.
const IDLE_BYTES: f64 = 400.0;
/// Most share of a core, in percent, that reports each millisecond may cost above one a second.
const REPORTS_PERCENT: f64 = 5.0;
/// Upper goal for the load of a site's control process, without its workers, in percent of a core.
const SITE_PERCENT: f64 = 10.0;
/// Size of a pipe of the proxy.
const PIPE_BYTES: f64 = 262_144.0;

/// The results of a case: for each proxy the figures of all rounds.
type Found = Vec<Vec<f64>>;

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-proxy", "proxy_bench")?;
    let lacking = process::stdout_of(Command::new(&program).arg("check"))?;
    if !lacking.trim().is_empty() {
        return process::skipped(&format!("bench proxy: SKIPPED: {}", lacking.trim()));
    }
    let mut found: Vec<Found> = CASES.iter().map(|_| vec![Vec::new(); PROXIES.len()]).collect();
    let (mut idle, mut reports) = (Vec::new(), [Vec::new(), Vec::new()]);
    for round in 0..ROUNDS {
        for (case, found) in CASES.iter().zip(&mut found) {
            for (proxy, found) in PROXIES.iter().zip(found) {
                found.push(figure(&one(&program, proxy, case.name)?, case.figure)?);
            }
        }
        for (name, list) in ["reports_1ms", "reports_1s"].into_iter().zip(&mut reports) {
            list.push(figure(&one(&program, PROXIES[0], name)?, "core_percent")?);
        }
        if round == 0 {
            let line = one(&program, PROXIES[0], "idle")?;
            let flows = figure(&line, "flows")?;
            let pipes = figure(&line, "pipes")? * PIPE_BYTES / flows;
            idle.push(figure(&line, "bytes_per_flow")? + pipes);
        }
    }
    let [often, seldom] = reports.map(|list| median(&list));
    let (text, mut missed) = compared(&found);
    print!("{text}");
    println!(
        "idle: {:.0} bytes for a connection; 8 000 connections of which 100 are active: {often:.1} \
         % of a core with a report each ms, {seldom:.1} % with one each second",
        idle[0]
    );
    println!("{}", site(&one(&program, PROXIES[0], "site")?)?);
    println!("medians of {ROUNDS} interleaved rounds");
    missed.extend((idle[0] > IDLE_BYTES).then(|| format!("{:.0} bytes when idle", idle[0])));
    let more = often - seldom;
    missed
        .extend((more > REPORTS_PERCENT).then(|| format!("{more:.1} % of a core for the reports")));
    super::judge(&missed, enforce)
}

fn one(program: &Path, proxy: &str, case: &str) -> Outcome<Value> {
    let output = process::stdout_of(Command::new(program).args([proxy, case, "1"]))?;
    let wrong = |error| Failure::Check(format!("proxy_bench {proxy} {case}: {error}"));
    serde_json::from_str(output.trim()).map_err(wrong)
}

fn figure(line: &Value, name: &str) -> Outcome<f64> {
    line[name].as_f64().ok_or_else(|| Failure::Check(format!("proxy_bench said no {name}: {line}")))
}

/// The line about a site: 64 cells, 2 000 UEs, data on every connection, a report about each UE
/// every 10 ms.
fn site(line: &Value) -> Outcome<String> {
    let of = |name: &str| figure(line, name);
    let control = of("control_percent")?;
    let verdict = if control > SITE_PERCENT { ": MISSED" } else { "" };
    Ok(format!(
        "site: {} active connections, {} cells of which {} are over their bound, {:.0} of 200000 \
         reports a second: control {control:.1} % of a core, {:.1} without the reader of reports, \
         three workers {:.1} %; goal at most {SITE_PERCENT} %{verdict}",
        of("flows")?,
        of("cells")?,
        of("cells_over")?,
        of("reports_per_s")?,
        of("loop_percent")?,
        of("relay_percent")?
    ))
}

fn median(list: &[f64]) -> f64 {
    super::min_and_median(list.iter().copied()).1
}

/// A line for each case, and the violations of floors.
fn compared(found: &[Found]) -> (String, Vec<String>) {
    let (mut text, mut missed) = (String::new(), Vec::new());
    for (case, found) in CASES.iter().zip(found) {
        let medians: Vec<f64> = found.iter().map(|list| median(list)).collect();
        let better = medians[1..].iter().copied();
        let better = if case.more_is_better {
            better.fold(f64::MIN, f64::max)
        } else {
            better.fold(f64::MAX, f64::min)
        };
        let ratio = medians[0] / better;
        let named: Vec<String> = PROXIES
            .iter()
            .zip(&medians)
            .map(|(name, value)| format!("{name} {value:.1}"))
            .collect();
        let line = format!(
            "{} {}: {}; {ratio:.2} of the better rival's, goal {} {}",
            case.name,
            case.figure,
            named.join(", "),
            if case.more_is_better { "at least" } else { "at most" },
            case.goal
        );
        let meets = |bound| if case.more_is_better { ratio >= bound } else { ratio <= bound };
        if !meets(case.floor) {
            missed.push(format!("{line}, floor {}", case.floor));
        }
        text += &line;
        text += if meets(case.goal) { "\n" } else { ": MISSED\n" };
    }
    (text, missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_takes_too_much_is_marked() {
        let line = |control: f64| {
            serde_json::json!({ "flows": 20_000, "cells": 64, "cells_over": 0, "reports_per_s": 2e5,
                "control_percent": control, "loop_percent": 4.0, "relay_percent": 50.0 })
        };
        let text = |control: f64| site(&line(control)).expect("all figures");
        assert!(text(10.0).ends_with("goal at most 10 %"), "{}", text(10.0));
        assert!(text(10.1).ends_with(": MISSED"), "{}", text(10.1));
        assert!(site(&serde_json::json!({})).is_err());
    }

    #[test]
    fn ours_is_compared_with_the_better_rival_either_way() {
        let lists = |values: [f64; 3]| values.map(|value| vec![value; 3]).to_vec();
        let good = [[40.0, 10.0, 9.0], [52.0, 5.0, 10.0], [10.0, 9.0, 10.0], [9.0, 9.5, 10.0]];
        let (text, missed) = compared(&good.map(lists));
        assert!(missed.is_empty() && !text.contains("MISSED"), "{text}");
        let near = [[40.0, 10.0, 9.0], [52.0, 5.0, 10.0], [9.0, 9.0, 10.0], [9.6, 9.5, 10.0]];
        let (text, missed) = compared(&near.map(lists));
        assert!(missed.is_empty() && text.matches("MISSED").count() == 2, "{text}");
        let bad = [[29.0, 10.0, 9.0], [51.0, 5.0, 10.0], [8.4, 9.0, 10.0], [19.1, 9.5, 10.0]];
        let (text, missed) = compared(&bad.map(lists));
        assert_eq!((missed.len(), text.lines().count()), (4, 4), "{text}");
        assert!(missed[0].contains("2.90 of the better rival's, goal at least 4"), "{missed:?}");
    }
}
