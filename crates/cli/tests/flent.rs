//! flent, from its package, reads and draws the files that `--flent` writes.
//!
//! Needs flent, which `.ci/setup` installs. Without it the test prints a note and is skipped; in CI
//! this is a failure.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn flent() -> Option<PathBuf> {
    let venv = std::env::var("JUSTFULL_VENV").unwrap_or_else(|_| "/var/tmp/justfull-venv".into());
    let program = Path::new(&venv).join("bin/flent");
    if program.is_file() {
        return Some(program);
    }
    assert!(std::env::var_os("CI").is_none(), "flent is missing; .ci/setup installs it");
    eprintln!("skipped: flent is not installed");
    None
}

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).current_dir(folder).output();
    let done = done.expect("the program starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {said}");
    assert!(!said.contains("Traceback"), "{arguments:?}: {said}");
    String::from_utf8(done.stdout).expect("text")
}

/// The mean that flent's statistics give for `series`.
fn mean(stats: &str, series: &str) -> f64 {
    let of_series =
        stats.split(&format!(" {series}:\n")).nth(1).unwrap_or_else(|| panic!("{stats}"));
    let line = of_series.lines().find_map(|line| line.trim().strip_prefix("Mean:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{series}: {stats}"))
}

#[test]
fn flent_reads_and_draws_what_we_write_and_finds_the_same_means() {
    let Some(flent) = flent() else { return };
    let room = tempfile::tempdir().expect("a folder");
    let folder = room.path();
    let justfull = Path::new(env!("CARGO_BIN_EXE_justfull"));
    let mut arguments = vec!["run", "voip-over-lte", "--runs", "1", "--quiet", "--out", "r"];
    arguments.extend(["--method", "Vanilla", "--method", "CoDel", "--flent", "call.flent.gz"]);
    arguments.extend(["--set", "duration=60s", "--set", "warmup=0s", "--set", "core.delay=10ms"]);
    run(justfull, folder, &arguments);
    let rows = std::fs::read_to_string(folder.join("r/runs.jsonl")).expect("results");
    let rows: Vec<Value> =
        rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let column = |method: &str, flow: &str, name: &str| {
        let mut of = rows.iter().filter(|row| row["method"] == method && row["flow"] == flow);
        of.next().and_then(|row| row[name].as_f64()).expect("the flow has a value")
    };
    let mut files = Vec::new();
    for method in ["Vanilla", "CoDel"] {
        let file = format!("call-{method}-seed1.flent.gz");
        let stats = run(&flent, folder, &["-i", &file, "-f", "stats"]);
        // flent's delay begins at the server, this program's at the UPF, behind the core's link of
        // 10 ms.
        for (series, flow, name, more) in [
            ("TCP download", "bulk", "goodput_mbit_s", 0.0),
            ("VoIP::delay", "voip", "delay_ms_mean", 10.0),
        ] {
            let (found, ours) = (mean(&stats, series), column(method, flow, name) + more);
            assert!((found / ours - 1.0).abs() < 0.02, "{method}, {series}: {found}, not {ours}");
        }
        files.push(file);
    }
    for plot in ["totals", "voip_delay_cdf"] {
        let picture = format!("{plot}.png");
        run(&flent, folder, &["-i", &files[0], &files[1], "-p", plot, "-o", &picture]);
        let bytes = std::fs::read(folder.join(&picture)).expect("it is drawn");
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{plot}");
    }
}
