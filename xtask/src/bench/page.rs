//! `cargo xtask bench page`: times of the page of `justfull ui` in headless Chromium, from a
//! release build of the test `bench::times` in `crates/cli/tests/ui.rs`.

use std::path::Path;

use serde_json::Value;

use crate::{Failure, Outcome, process};

/// Figures of the page with their upper limits, in ms.
const BARS: [(&str, f64); 3] =
    [("first_paint_ms", 1_000.0), ("slider_p95_ms", 100.0), ("million_points_p95_ms", 100.0)];

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    if !process::exists("chromium") {
        return process::skipped("bench page: SKIPPED: there is no chromium");
    }
    let mut cargo = process::cargo(root);
    cargo.args(["test", "--release", "--quiet", "-p", "justfull", "--test", "ui", "bench::times"]);
    let said = process::stdout_of(cargo.args(["--", "--ignored", "--exact", "--nocapture"]))?;
    let found = figures(&said).ok_or_else(|| Failure::Check("the page gave no times".into()))?;
    let mut missed = Vec::new();
    for (name, bar) in BARS {
        let value = found[name].as_f64().unwrap_or(f64::INFINITY);
        println!("{name:<24} {value:8.1}  at most {bar}");
        if value > bar {
            missed.push(name);
        }
    }
    if enforce && !missed.is_empty() {
        return Err(Failure::Check(format!("the page misses its bars: {}", missed.join(", "))));
    }
    Ok(())
}

/// The line of figures in the test's output.
fn figures(said: &str) -> Option<Value> {
    let lines = said.lines().filter(|line| line.starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok()).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_from_the_json_line_of_the_test_output() {
        let found = figures("running 1 test\n\n{\"slider_p95_ms\":80.5}\ntest bench::times ... ok");
        assert_eq!(found.expect("figures")["slider_p95_ms"], 80.5);
        assert!(figures("running 0 tests").is_none());
    }
}
