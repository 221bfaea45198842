//! `cargo xtask bench n3`: the cost of the proxy at N3, with TCP inside GTP-U, beside its cost at
//! SGi.
//!
//! The program is `n3_bench` in `crates/proxy/examples`. Rounds are interleaved, so that other work
//! on the machine affects all forms; medians are compared.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Failure, Outcome, process};

const ROUNDS: usize = 7;
const SECONDS: &str = "1";
/// Each form of N3 is compared with the form of SGi behind it.
const FORMS: [&str; 4] = ["n3", "sgi", "n3_offloads", "sgi_offloads"];
/// Aim of the share of the bytes for a CPU-second at SGi.
const GOAL: f64 = 0.7;
/// The pairs of forms, and the enforced share of each.
const PAIRS: [(&str, f64); 2] = [("packet by packet", 0.5), ("in packets of 64 kB", 0.15)];

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-proxy", "n3_bench")?;
    let lacking = process::stdout_of(Command::new(&program).arg("check"))?;
    if !lacking.trim().is_empty() {
        return process::skipped(&format!("bench n3: SKIPPED: {}", lacking.trim()));
    }
    let mut found = vec![Vec::new(); FORMS.len()];
    for _ in 0..ROUNDS {
        for (form, list) in FORMS.iter().zip(&mut found) {
            list.push(one(&program, form)?);
        }
    }
    let medians: Vec<f64> =
        found.iter().map(|list| super::min_and_median(list.iter().copied()).1).collect();
    let (text, missed) = compared(&medians);
    println!("{text}medians of {ROUNDS} interleaved rounds");
    super::judge(&missed, enforce)
}

fn one(program: &Path, form: &str) -> Outcome<f64> {
    let output = process::stdout_of(Command::new(program).args([form, SECONDS]))?;
    let wrong = |error| Failure::Check(format!("n3_bench {form}: {error}"));
    let line: Value = serde_json::from_str(output.trim()).map_err(wrong)?;
    let missing = || Failure::Check(format!("n3_bench said no gbit_per_cpu_s: {line}"));
    line["gbit_per_cpu_s"].as_f64().ok_or_else(missing)
}

/// A line for each form, in the order of [`FORMS`], and for each pair; the violations of floors.
fn compared(medians: &[f64]) -> (String, Vec<String>) {
    let (mut text, mut missed) = (String::new(), Vec::new());
    for (form, median) in FORMS.iter().zip(medians) {
        text += &format!("{form}: {median:.2} Gbit for a CPU-second\n");
    }
    for ((how, floor), pair) in PAIRS.into_iter().zip(medians.chunks(2)) {
        let ratio = pair[0] / pair[1];
        let line = format!("{ratio:.2} of SGi's {how}, goal at least {GOAL}");
        let mark = if ratio < GOAL { ": MISSED" } else { "" };
        text += &format!("{line}{mark}\n");
        missed.extend((ratio < floor).then(|| format!("{line}, floor {floor}")));
    }
    (text, missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_is_held_to_sgi_packet_by_packet_and_in_packets_of_64_kb() {
        let (text, missed) = compared(&[0.8, 1.0, 30.0, 40.0]);
        assert!(missed.is_empty() && text.contains("0.80 of SGi's packet by packet"), "{text}");
        assert!(!text.contains("MISSED") && text.contains("0.75 of SGi's in"), "{text}");
        let (text, missed) = compared(&[0.6, 1.0, 10.0, 40.0]);
        assert!(missed.is_empty() && text.matches("MISSED").count() == 2, "{text}");
        assert_eq!(compared(&[0.4, 1.0, 2.0, 40.0]).1.len(), 2);
    }
}
