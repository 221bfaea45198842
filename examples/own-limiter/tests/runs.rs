//! The program of the crate runs its limiter beside shipped methods.

use std::fs;
use std::process::{Command, Output};

fn run(folder: &std::path::Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_two-slots"));
    command
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn a_run_prints_a_table_and_writes_results_with_its_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = run(folder.path(), &["voip-over-lte", "--set", "duration=12s"]);
    let table = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    for method in ["Vanilla", "DRQL", "TwoSlots"] {
        assert!(table.contains(method), "{method}: {table}");
    }
    let read = |file: &str| fs::read_to_string(folder.path().join("results/two-slots").join(file));
    assert!(
        read("report.html")
            .expect("the run has a report")
            .contains("TwoSlots")
    );
    let results = read("result.json").expect("the run has all results");
    assert!(
        results.contains("duration = \\\"12s\\\""),
        "--set holds: {results:.2000}"
    );
}

#[test]
fn an_unknown_option_is_one_error_that_names_the_allowed_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = run(folder.path(), &["--seeds", "4"]);
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        said,
        "two-slots: found --seeds, allowed is --set KEY=VALUE\n"
    );
}
