//! Bad input gives one clear error that names file, line, field, what was found and what is allowed, exit status 2, and nothing
//! half written.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SOUND: &str = r#"
title = "t"
duration = "1s"
methods = ["Vanilla", "DRQL"]
[channel]
kind = "constant"
per_slot = 4
[sdap]
poll = { period = "1ms" }
[rlc]
queue = { limit = "31 packets" }
[[flow]]
name = "bulk"
tcp = {}
[[flow]]
name = "game"
low_latency = true
udp = { payload = "200B", interval = "20ms" }
"#;

fn justfull(folder: &Path, data: Option<&Path>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(arguments).current_dir(folder).env_remove("JUSTFULL_DATA");
    if let Some(data) = data {
        command.env("JUSTFULL_DATA", data);
    }
    command.output().expect("the program runs")
}

/// Runs `text` and expects exit status 2, one error that holds all of `parts`, and no results.
fn refused(text: &[u8], extra: &[&str], parts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("s.toml"), text).expect("a file can be written");
    let arguments: Vec<&str> = ["run", "s.toml", "--out", "out", "-q"].iter().chain(extra).copied().collect();
    let done = justfull(folder.path(), None, &arguments);
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "one error: {error}");
    for part in parts {
        assert!(error.contains(part), "`{part}` in: {error}");
    }
    assert!(!folder.path().join("out").exists(), "nothing is written");
    assert!(done.stdout.is_empty());
}

/// The sound scenario with one thing changed.
fn changed(from: &str, to: &str) -> Vec<u8> {
    assert!(SOUND.contains(from), "{from}");
    SOUND.replacen(from, to, 1).into_bytes()
}

#[test]
fn the_scenario_is_sound_before_it_is_changed() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("s.toml"), SOUND).expect("a file can be written");
    assert!(justfull(folder.path(), None, &["run", "s.toml", "--no-files", "-q"]).status.success());
}

#[test]
fn unknown_keys_are_named_with_their_line_wherever_they_stand() {
    refused(&changed("title", "foo = 1\ntitle"), &[], &["s.toml:2:1", "`foo`", "allowed is one of `title`"]);
    refused(&changed("limit =", "limt ="), &[], &["s.toml:11:", "rlc.queue.limt", "`limit`"]);
    refused(&changed("low_latency", "low_latncy"), &[], &["s.toml:17:1", "flow[1].low_latncy"]);
    let limiter = "[rlc]\nlimiter = { kind = \"drql\", grwth = 2.0 }";
    refused(
        &changed("[rlc]", limiter),
        &["--method", "Vanilla"],
        &["s.toml:11:", "rlc.limiter.grwth", "`growth`"],
    );
}

#[test]
fn units_signs_and_kinds_are_checked() {
    refused(
        &changed("\"1s\"", "1"),
        &[],
        &["s.toml:3:1", "`duration`", "integer `1`", "a time with its unit"],
    );
    refused(&changed("\"1s\"", "\"1B\""), &[], &["s.toml:3:1", "`duration`", "\"1B\""]);
    refused(&changed("\"1ms\"", "\"-1ms\""), &[], &["s.toml:9:", "sdap.poll.period", "\"-1ms\""]);
    refused(&changed("\"20ms\"", "20"), &[], &["s.toml:18:", "flow[1].udp.interval", "\"20ms\""]);
    refused(&changed("\"constant\"", "\"constnt\""), &[], &["s.toml:6:1", "channel.kind", "`markov`"]);
    refused(&changed("title = \"t\"\n", ""), &[], &["`title`", "found nothing"]);
}

#[test]
fn impossible_values_are_refused_with_their_bound() {
    let qos = "[[ue]]\nqos_flow = [{ qfi = 64 }]\n[[flow]]";
    refused(&changed("[[flow]]", qos), &[], &["s.toml:13:", "qfi", "integer `64`", "0 to 63"]);
    let twice = "[[ue]]\nqos_flow = [{ qfi = 5 }, { qfi = 5 }]\n[[flow]]";
    refused(&changed("[[flow]]", twice), &[], &["ue[0].qos_flow[1].qfi", "found 5"]);
    refused(
        &changed("31 packets", "0 packets"),
        &[],
        &["s.toml:11:", "rlc.queue.limit", "0 packets", "at least 1"],
    );
    refused(&changed("per_slot = 4", "per_slot = 0"), &[], &["s.toml:7:1", "channel.per_slot", "found 0"]);
    refused(&changed("\"1s\"", "\"0s\""), &[], &["s.toml:3:1", "`duration`", "above 0s"]);
    refused(&changed("\"DRQL\"", "\"DRLQ\""), &[], &["s.toml:4:1", "`methods`", "DRLQ", "DRQL"]);
    let paced = "[rlc]\nlimiter = { kind = \"bdp_5g\" }";
    let text = changed("poll = { period = \"1ms\" }", "");
    let text = String::from_utf8(text).expect("text").replacen("[rlc]", paced, 1);
    refused(text.as_bytes(), &["--method", "Vanilla"], &["sdap.poll.period", "above 0s"]);
}

#[test]
fn the_command_line_is_checked_like_the_file() {
    refused(SOUND.as_bytes(), &["--set", "foo"], &["--set", "path=value"]);
    refused(SOUND.as_bytes(), &["--set", "flow.nope.qfi=3"], &["--set", "nope"]);
    refused(
        SOUND.as_bytes(),
        &["--set", "rlc.queue.limit=5"],
        &["rlc.queue.limit", "integer `5`", "allowed is a limit"],
    );
    refused(SOUND.as_bytes(), &["--set", "rlc.limiter.kind=zz"], &["rlc.limiter.kind", "`zz`", "set on top"]);
    refused(SOUND.as_bytes(), &["--variant", "zz"], &["`variant`", "zz", "sound"]);
    refused(SOUND.as_bytes(), &["--switch", "zz"], &["`switch`", "zz"]);
    refused(SOUND.as_bytes(), &["--runs", "0"], &["`runs`", "at least 1"]);
}

#[test]
fn files_that_are_no_scenarios_are_refused() {
    refused(b"\xff\xfe", &[], &["s.toml", "not UTF-8"]);
    refused(b"title = = 3", &[], &["s.toml:1:"]);
    let folder = tempfile::tempdir().expect("a folder can be made");
    for name in ["absent.toml", "."] {
        let done = justfull(folder.path(), None, &["run", name, "-q"]);
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&done.stderr).contains(name));
    }
}

#[test]
fn traces_are_refused_with_line_and_column_or_read_whatever_their_dress() {
    let trace = changed("kind = \"constant\"\nper_slot = 4", "kind = \"trace\"\nfile = \"t.csv\"");
    let with = |content: Option<&[u8]>| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        fs::write(folder.path().join("s.toml"), &trace).expect("a file can be written");
        if let Some(content) = content {
            fs::write(folder.path().join("t.csv"), content).expect("a file can be written");
        }
        let done = justfull(folder.path(), None, &["run", "s.toml", "--out", "out", "-q"]);
        let written = folder.path().join("out").exists();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned(), written)
    };
    let refused = |content: Option<&[u8]>, parts: &[&str]| {
        let (code, error, written) = with(content);
        assert_eq!((code, written), (Some(2), false), "{error}");
        assert!(parts.iter().all(|p| error.contains(p)), "{parts:?} in {error}");
    };
    refused(None, &["t.csv", "JUSTFULL_DATA"]);
    refused(Some(b""), &["t.csv", "no header line"]);
    refused(Some(b"bytes\n3\n"), &["t.csv:1", "packets_per_10ms"]);
    refused(Some(b"packets_per_10ms\n3\nfour\n"), &["t.csv:3", "four"]);
    refused(Some(b"packets_per_10ms\n0\n0\n"), &["t.csv"]);
    refused(Some(b"\x1f\x8b\x08\x00\x00"), &["t.csv"]);
    for dressed in [&b"packets_per_10ms\r\n3\r\n4\r\n"[..], b"\xef\xbb\xbfpackets_per_10ms\n3\n4\n"] {
        let (code, error, written) = with(Some(dressed));
        assert_eq!((code, written), (Some(0), true), "{error}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_first_run() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("s.toml"), SOUND).expect("a file can be written");
    fs::write(folder.path().join("taken"), b"").expect("a file can be written");
    let done = justfull(folder.path(), None, &["run", "s.toml", "--out", "taken/out", "-q"]);
    assert_eq!(done.status.code(), Some(2));
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(error.contains("--out") && error.contains("taken/out"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_keeps_what_is_finished_and_says_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let child = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["run", "t20-individual", "--runs", "500", "-j", "1", "--out", "out", "-q"])
        .current_dir(&folder)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let done = child.wait_with_output().expect("the program ends");
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{error}");
    assert!(error.contains("interrupted"), "{error}");
    let out = folder.path().join("out");
    let result = fs::read_to_string(out.join("result.json")).expect("results are written");
    let result: serde_json::Value = serde_json::from_str(&result).expect("whole JSON");
    assert!(result.to_string().contains("seed 500"), "the last run is named as missing");
    let rows = fs::read_to_string(out.join("runs.csv")).expect("results are written");
    assert!(rows.lines().count() > 1, "finished runs are kept");
    let mut files = fs::read_dir(&out).expect("a folder").filter_map(Result::ok);
    assert!(files.all(|f| !f.file_name().to_string_lossy().ends_with(".part")));
}

#[test]
fn every_listed_name_is_explained_or_shown_and_shipped_scenarios_are_sound() {
    let here = Path::new(".");
    let list = justfull(here, None, &["list"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = |from: &str, to: &str| -> Vec<String> {
        let part = list.split(from).nth(1).and_then(|rest| rest.split(to).next()).unwrap_or_default();
        let lines = part.lines().filter(|l| l.starts_with("  "));
        lines.filter_map(|l| l.split_whitespace().next()).map(str::to_string).collect()
    };
    let algorithms = names("Methods", "Scenarios");
    assert!(algorithms.len() > 30, "{algorithms:?}");
    for name in algorithms {
        assert!(justfull(here, None, &["explain", &name]).status.success(), "{name}");
    }
    let scenarios = names("Scenarios", "Papers");
    assert!(scenarios.len() >= 6);
    for name in scenarios {
        assert!(justfull(here, None, &["show", &name]).status.success(), "{name}");
        assert!(justfull(here, None, &["check", &name]).status.success(), "{name}");
    }
    for arguments in [&["completions", "bash"][..], &["--help"], &["--version"]] {
        assert!(!justfull(here, None, arguments).stdout.is_empty());
    }
}
