//! Ctrl-C during many runs: finished runs are kept, the others are named.
#![cfg(unix)]

use justfull_report::export::folder::{State, inspect};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Requested runs: 7 methods, 4 points, 300 seeds; minutes of work.
const ASKED: usize = 7 * 4 * 300;

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn an_interrupted_comparison_keeps_its_finished_runs_and_names_the_others() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args([
            "run",
            "t20-individual",
            "--runs",
            "300",
            "--set",
            "duration=20s",
            "-j",
            "1",
            "-q",
            "--out",
        ])
        .arg(&out)
        .env_remove("JUSTFULL_DATA")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_secs(3));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("`kill` is there");
    assert!(sent.success(), "the program ended before it was interrupted");
    let over = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().expect("the program can be asked").is_some()
    });
    if !over {
        child.kill().expect("the program can be stopped");
    }
    assert!(over, "it ends within a minute of the interruption");
    let done = child.wait_with_output().expect("the program ends");

    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{stderr}");
    let result = std::fs::read(out.join("result.json")).expect("result.json is there");
    let result: serde_json::Value = serde_json::from_slice(&result).expect("result.json is sound");
    let missing = result["missing"].as_array().expect("the missing runs are named");
    let groups = result["groups"].as_array().expect("groups are there");
    let runs: Vec<_> =
        groups.iter().flat_map(|g| g["runs"].as_array().expect("runs are there")).collect();
    assert!(!runs.is_empty() && runs.len() < ASKED, "{} runs", runs.len());
    assert_eq!(runs.len() + missing.len(), ASKED);
    assert!(
        runs.iter()
            .all(|run| run["duration_s"] == 20.0
                && run["conservation"]["entered"].as_u64() > Some(0))
    );
    assert!(
        stderr.contains(&format!("interrupted, {} of the runs are missing", missing.len())),
        "{stderr}"
    );
    assert!(stderr.contains(missing[0].as_str().expect("a run in words")), "{stderr}");

    let rows = |name: &str| std::fs::read_to_string(out.join(name)).expect("the table is there");
    let flows: usize = runs.iter().map(|run| run["flows"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(rows("runs.jsonl").lines().count(), flows);
    for line in rows("runs.jsonl").lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("a line of runs.jsonl is sound");
    }
    let table = rows("runs.csv");
    let columns = table.lines().next().map_or(0, |header| header.split(',').count());
    assert_eq!(table.lines().count(), 1 + flows);
    assert!(columns > 10 && table.ends_with('\n'), "whole lines");
    let state = inspect(&out).expect("the folder can be read").state.expect("it is there");
    assert!(matches!(state, State::Complete(_)), "{}", state.in_words());
    assert_eq!(files(folder.path()).len(), files(&out).len(), "nothing is left beside it");
}
