//! The answers of `run` if the files of single runs cannot be written as requested.

use std::path::Path;
use std::process::{Command, Output, Stdio};

const SHORT: [&str; 8] = [
    "--set",
    "duration=2s",
    "--set",
    "warmup=1s",
    "--set",
    "flow.voip.start=0s",
    "--no-files",
    "--quiet",
];

fn justfull(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.current_dir(folder).args(["run", "voip-over-lte"]).args(SHORT).args(arguments);
    command.output().expect("the program runs")
}

/// Runs in an empty folder; asserts that the folder is empty afterwards and that the exit status is
/// 2 with one error. Returns the error.
fn refused(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let done = justfull(folder.path(), arguments);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert_eq!(told.matches("justfull: ").count(), 1, "{told}");
    let left: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
    told
}

const ONE: [&str; 2] = ["--method", "CoDel"];

fn one(arguments: &[&str]) -> String {
    refused(&[&ONE, arguments].concat())
}

#[test]
fn a_name_that_tells_no_form_is_refused() {
    let told = one(&["--packets", "packets.dat"]);
    assert!(
        told.contains("--packets: found packets.dat") && told.contains("parquet, csv, jsonl"),
        "{told}"
    );
    let told = one(&["--slots", "slots.csv", "--format", "xml"]);
    assert!(told.contains("--format: found xml, allowed is one of parquet, csv, jsonl"), "{told}");
}

#[test]
fn two_files_cannot_have_one_place() {
    let told = one(&["--packets", "a.csv", "--slots", "a.csv"]);
    assert!(told.contains("--slots: found a.csv, which --packets names too"), "{told}");
}

#[test]
fn a_device_holds_the_file_of_one_run() {
    let told = refused(&["--method", "CoDel", "--method", "Vanilla", "--pcapng", "/dev/null"]);
    assert!(told.contains("/dev/null for 2 runs, allowed is one run"), "{told}");
}

#[test]
fn a_missing_folder_and_a_full_disk_are_one_error_each() {
    for (option, path) in [
        ("--packets", "missing/p.parquet"),
        ("--slots", "missing/s.csv"),
        ("--pcapng", "missing/c.pcapng"),
        ("--flent", "missing/f.flent.gz"),
        ("--irtt", "missing/i.json"),
        ("--pcapng", "/dev/full"),
        ("--flent", "/dev/full"),
        ("--irtt", "/dev/full"),
    ] {
        let told = one(&[option, path]);
        assert!(told.contains(&format!("cannot write {path}: ")), "{option} {path}: {told}");
    }
    for format in ["parquet", "csv", "jsonl"] {
        for option in ["--packets", "--slots"] {
            let told = one(&[option, "/dev/full", "--format", format]);
            assert!(told.contains("cannot write /dev/full: "), "{option} {format}: {told}");
        }
    }
}

#[test]
fn a_failed_file_removes_the_files_beside_it() {
    let told = one(&["--packets", "p.parquet", "--flent", "f.flent.gz", "--pcapng", "/dev/full"]);
    assert!(told.contains("/dev/full"), "{told}");
}

#[test]
fn a_reader_that_goes_away_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let script = format!(
        "mkfifo pipe; head -c 10 pipe > /dev/null & '{}' run voip-over-lte {} --method CoDel \
         --packets pipe --format csv",
        env!("CARGO_BIN_EXE_justfull"),
        SHORT.join(" ")
    );
    let done =
        Command::new("sh").args(["-c", &script]).current_dir(&folder).stdin(Stdio::null()).output();
    let done = done.expect("a shell runs");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(
        told.contains("cannot write pipe: ") && told.matches("justfull: ").count() == 1,
        "{told}"
    );
}

#[test]
fn several_runs_have_a_file_each() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let arguments = ["--method", "CoDel", "--method", "Vanilla", "--runs", "2", "--slots", "s.csv"];
    let done = justfull(folder.path(), &arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for name in
        ["s-CoDel-seed1.csv", "s-CoDel-seed2.csv", "s-Vanilla-seed1.csv", "s-Vanilla-seed2.csv"]
    {
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 4);
}

#[test]
fn the_wide_table_has_jitter_and_budget() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let done =
        justfull(folder.path(), &["--method", "CoDel", "--wide", "--set", "flow.voip.five_qi=1"]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    for heading in ["p99.9", "PDV", "IPDV", "late"] {
        assert!(text.contains(heading), "{text}");
    }
    let told = one(&["--set", "flow.voip.five_qi=11"]);
    assert!(told.contains("five_qi") && told.contains("found 11"), "{told}");
}

fn run(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    let done = command.current_dir(folder).arg("run").args(arguments).arg("-q").output();
    let done = done.expect("the program runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The live run's counterpart: `live.rs`.
#[test]
fn a_packet_that_has_waited_out_its_lifetime_has_that_reason() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let words = ["slow-bearer", "--method", "TTLRED2", "--runs", "1", "--packets", "p.csv"];
    run(folder.path(), &[&words[..], &["--no-files", "--set", "duration=30s"]].concat());
    let packets = std::fs::read_to_string(folder.path().join("p.csv")).expect("the file is there");
    assert!(packets.lines().filter(|line| line.contains("aqm_timeout")).count() > 10);
}

/// Losses from a channel's random walk, AQMs with random drops, connections that come and go.
#[test]
fn the_same_scenario_and_seeds_give_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let files = |out: &str, jobs: &str| {
        let words = ["p06-web", "--runs", "2", "--set", "duration=60s", "--jobs", jobs];
        run(folder.path(), &[&words[..], &["--out", out]].concat());
        let read = |name| std::fs::read(folder.path().join(out).join(name)).expect("it is there");
        ["runs.csv", "runs.jsonl", "series.csv", "flow_series.csv", "cdf.csv"].map(read)
    };
    assert!(files("one", "1") == files("two", "2"));
}
