//! `justfull recommend`: which method to take, for a scenario and for a trace.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const SHORT: [&str; 6] = ["--set", "duration=4s", "--set", "warmup=1s", "--runs", "1"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn recommend(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_justfull"))
        .arg("recommend")
        .args(args)
        .current_dir(folder)
        .env_remove("JUSTFULL_DATA")
        .output()
        .expect("the program runs")
}

/// The answers of a sound command with `--json`, one for each point of the sweep.
fn answers(folder: &Path, args: &[&str]) -> Vec<Value> {
    let done = recommend(folder, &[args, &["--json"]].concat());
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{args:?}: {error}");
    let text = String::from_utf8(done.stdout).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn methods(answer: &Value) -> Vec<&str> {
    let choices = answer["choices"].as_array().expect("a list");
    choices.iter().map(|c| c["method"].as_str().expect("a name")).collect()
}

/// The mean of `figure` under `method`.
fn figure_of(answer: &Value, method: &str, figure: &str) -> f64 {
    let choices = answer["choices"].as_array().expect("a list");
    let choice = choices.iter().find(|c| c["method"] == method).expect("it was asked for");
    choice[figure]["mean"].as_f64().expect("a number")
}

/// The error of a command that is refused.
fn refused(folder: &Path, args: &[&str]) -> String {
    let done = recommend(folder, args);
    assert_eq!(done.status.code(), Some(2), "{args:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "", "{args:?}");
    String::from_utf8(done.stderr).expect("UTF-8")
}

/// A Mahimahi trace of `seconds` at 12 Mbit/s.
fn mahimahi(seconds: u64) -> String {
    (1..=seconds * 1000).fold(String::new(), |mut lines, ms| {
        writeln!(lines, "{ms}").expect("a string takes all");
        lines
    })
}

#[test]
fn of_the_methods_that_carry_enough_the_one_with_least_delay_is_recommended() {
    let folder = folder();
    let asked = ["--method", "Vanilla", "--method", "CoDel", "--method", "Justfull"];
    let args = [&["download-pages-call"], &SHORT[..], &asked[..]].concat();
    let found = answers(folder.path(), &args);
    let [answer] = found.as_slice() else { panic!("a scenario has one answer") };
    assert_eq!(methods(answer), ["Vanilla", "CoDel", "Justfull"]);
    assert_eq!(answer["seeds"].as_array().map(Vec::len), Some(1));
    let of = |method: &str, figure: &str| figure_of(answer, method, figure);
    let delay = |method: &str| of(method, "delay_ms_p99");
    assert!(delay("Justfull") < delay("CoDel") && delay("CoDel") < delay("Vanilla"));
    assert!(of("Justfull", "goodput_mbit_s") > 0.95 * of("Vanilla", "goodput_mbit_s"));
    let recommended: Vec<bool> = answer["choices"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["recommended"].as_bool().expect("yes or no"))
        .collect();
    assert_eq!(recommended, [false, false, true]);

    let table = recommend(folder.path(), &args);
    let text = String::from_utf8(table.stdout).expect("UTF-8");
    for method in ["Vanilla", "CoDel", "Justfull"] {
        assert!(text.contains(method), "{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "no files");
}

/// Goodput over Vanilla's under FQ-CoDel and Justfull on a radio of such amounts each 100 ms.
fn shares(amounts: &[u64]) -> [f64; 2] {
    let channel = format!(
        "channel={{ kind = \"rows\", amounts = {amounts:?}, row = \"100ms\", interval = \"100ms\", \
         packet_bytes = \"1B\", unit = \"bytes\" }}"
    );
    let methods = ["--method", "Vanilla", "--method", "FQ-CoDel", "--method", "Justfull"];
    let time = ["--set", "duration=25s", "--set", "warmup=5s", "--runs", "1"];
    let args = [&["download-pages-call", "--set", &channel], &time[..], &methods[..]].concat();
    let found = answers(folder().path(), &args);
    let goodput = |method| figure_of(&found[0], method, "goodput_mbit_s");
    ["FQ-CoDel", "Justfull"].map(|method| goodput(method) / goodput("Vanilla"))
}

#[test]
fn justfull_keeps_a_download_where_the_radio_falls_to_a_fortieth_and_plain_lanes_do_not() {
    // 400 and 10 Mbit/s, as where the beam of a cell of millimetre waves is blocked.
    let (open, blocked) = (5_000_000, 125_000);
    let tenths = [(2, 1), (3, 3), (5, 2), (2, 0)];
    let seconds = [(40, 10), (35, 25)];
    for times in [&tenths[..], &seconds[..]] {
        let rows = times.iter().flat_map(|(long, short)| {
            std::iter::repeat_n(open, *long).chain(std::iter::repeat_n(blocked, *short))
        });
        let [lanes, justfull] = shares(&rows.collect::<Vec<_>>());
        assert!(justfull > 0.92, "{times:?}: {justfull}");
        assert!(lanes < 0.8, "{times:?}: {lanes}");
    }
}

#[test]
fn a_trace_carries_a_download_pages_and_a_call() {
    let folder = folder();
    let file = folder.path().join("walk.trace");
    std::fs::write(&file, mahimahi(5)).expect("a file can be written");
    let asked = ["--method", "Vanilla", "--method", "Justfull"];
    let found = answers(folder.path(), &[&["walk.trace"], &SHORT[..], &asked[..]].concat());
    assert_eq!(found.len(), 1);
    let goodput = found[0]["choices"][0]["goodput_mbit_s"]["mean"].as_f64().expect("a number");
    assert!((10.0..12.0).contains(&goodput), "of 12 Mbit/s: {goodput}");
    assert!(found[0]["scenario"].as_str().is_some_and(|s| s.contains("walk.trace")));
}

#[test]
fn where_the_rlc_is_apart_what_reorders_it_is_not_run() {
    let folder = folder();
    let found =
        answers(folder.path(), &[&["download-pages-call", "--split", "5ms"], &SHORT[..]].concat());
    let ran = methods(&found[0]);
    assert!(ran.contains(&"Justfull-split") && ran.contains(&"LastPoll"), "{ran:?}");
    assert!(!ran.contains(&"FQ-CoDel") && !ran.contains(&"Justfull"), "{ran:?}");
    let error =
        refused(folder.path(), &["download-pages-call", "--split", "5ms", "--method", "FQ-CoDel"]);
    assert!(error.contains("rlc.queue.discipline") && error.contains("fifo"), "{error}");
}

#[test]
fn wrong_input_is_one_error_before_any_run() {
    let folder = folder();
    std::fs::write(folder.path().join("words.trace"), "not a trace\n").expect("a file");
    let cases: [(&[&str], &str); 6] = [
        (&["download-pages-call", "--method", "Justful"], "Justfull"),
        (&["missing.trace"], "missing.trace"),
        (&["missing.toml"], "missing.toml"),
        (&["words.trace"], "words.trace"),
        (&["download-pages-call", "--split", "2s"], "rlc.report_delay"),
        (&["download-pages-call", "--runs", "0"], "--runs"),
    ];
    for (args, named) in cases {
        let error = refused(folder.path(), args);
        assert!(error.contains(named), "{args:?}: {error}");
    }
}
