//! `cargo xtask bench f1u`: the packets a second that pass the box on F1-U, beside a plain
//! forwarder over the same device, and beside the kernel's own forwarding.
//!
//! The program is `f1u_bench` in `crates/f1u/examples`. Rounds are interleaved, so that other work
//! on the machine affects all ways; medians are compared.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Failure, Outcome, process};

const ROUNDS: usize = 7;
const SECONDS: &str = "1";
const WAYS: [&str; 4] = ["kernel", "plain", "box", "copies"];
/// Bearers that take turns: some busy ones, and as many as a box may have.
const BEARERS: [&str; 2] = ["64", "4000"];
/// Aim and enforced share of the plain forwarder's packets. A packet of a bearer that is in no
/// cache costs more than reading and writing leave.
const GOAL: f64 = 0.9;
const FLOOR: f64 = 0.6;

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-f1u", "f1u_bench")?;
    let lacking = process::stdout_of(Command::new(&program).arg("check"))?;
    if !lacking.trim().is_empty() {
        return process::skipped(&format!("bench f1u: SKIPPED: {}", lacking.trim()));
    }
    let mut missed = Vec::new();
    for bearers in BEARERS {
        let mut found = vec![Vec::new(); WAYS.len()];
        for _ in 0..ROUNDS {
            for (way, list) in WAYS.iter().zip(&mut found) {
                list.push(one(&program, way, bearers)?);
            }
        }
        let medians: Vec<f64> = found.iter().map(|list| median(list)).collect();
        let (text, too_few) = compared(&medians);
        print!("{bearers} bearers\n{text}");
        missed.extend(too_few);
    }
    println!("medians of {ROUNDS} interleaved rounds");
    super::judge(&missed, enforce)
}

fn one(program: &Path, way: &str, bearers: &str) -> Outcome<f64> {
    let output = process::stdout_of(Command::new(program).args([way, SECONDS, bearers]))?;
    let wrong = |error| Failure::Check(format!("f1u_bench {way}: {error}"));
    let line: Value = serde_json::from_str(output.trim()).map_err(wrong)?;
    let missing = || Failure::Check(format!("f1u_bench said no packets_per_s: {line}"));
    line["packets_per_s"].as_f64().ok_or_else(missing)
}

fn median(list: &[f64]) -> f64 {
    super::min_and_median(list.iter().copied()).1
}

/// A line for each way, in the order of [`WAYS`], and the violations of the floor.
fn compared(medians: &[f64]) -> (String, Vec<String>) {
    let mut text = String::new();
    for (way, median) in WAYS.iter().zip(medians) {
        text += &format!("{way}: {:.1} thousand packets a second\n", median / 1_000.0);
    }
    let ratio = medians[2] / medians[1];
    let line = format!("{ratio:.2} of the plain forwarder's packets, goal at least {GOAL}");
    let missed = (ratio < FLOOR).then(|| format!("{line}, floor {FLOOR}"));
    let mark = if ratio < GOAL { ": MISSED" } else { "" };
    text +=
        &format!("{line}{mark}\nas it serves: {:.2} of the kernel's\n", medians[3] / medians[0]);
    (text, missed.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_held_to_the_plain_forwarder_and_not_to_the_kernel() {
        let (text, missed) = compared(&[500e3, 200e3, 181e3, 300e3]);
        assert!(missed.is_empty() && text.contains("0.91 of the plain") && text.contains("0.60"));
        assert!(!text.contains("MISSED"), "{text}");
        let (text, missed) = compared(&[100e3, 200e3, 179e3, 300e3]);
        assert!(missed.is_empty() && text.contains("goal at least 0.9: MISSED"), "{text}");
        assert_eq!(compared(&[100e3, 200e3, 119e3, 300e3]).1.len(), 1);
    }
}
