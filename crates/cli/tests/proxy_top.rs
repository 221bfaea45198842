//! `proxy top` on a pseudo terminal and without one, beside a stand-in for a proxy.

#![cfg(all(feature = "proxy", target_os = "linux"))]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A stand-in with one UE and two connections, one of which has 1 MB more at each request.
fn answers(folder: &Path) -> PathBuf {
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for (number, mut stream) in (0_u64..).zip(listener.incoming().flatten()) {
            let mut question = String::new();
            BufReader::new(&stream).read_line(&mut question).expect("a question");
            let answer = match question.trim() {
                "status" => json!({
                    "state": "running", "seconds": number, "control": "rapid",
                    "radio_leg": "struct_ops", "flows": 2, "flows_limit": 8000, "pipes": 0,
                    "pipes_limit": 256, "radio": { "source": "json_lines", "state": "connected" },
                    "ues": [{
                        "ue": "10.45.0.1", "flows": 2, "radio": "coming", "report_age_s": 0.004,
                        "capacity_bytes_per_s": 2_000_000.0,
                    }],
                }),
                "flows" => Value::Array((0..2).map(|flow| json!({
                    // A hostile name must not reach the terminal.
                    "client": format!("10.45.0.1:500{flow}\u{1b}]"), "server": "10.46.0.1:443",
                    "ue": "10.45.0.1", "seconds": number, "bytes_down": flow * number * 500_000,
                    "bytes_up": 0, "category": "slow", "demand_bytes_per_s": null,
                    "server_window": 14_480, "radio_window": 28_960, "cwnd": 20, "in_flight": 0,
                    "wired_rtt_s": 0.01, "radio_rtt_s": 0.02,
                })).collect()),
                other => panic!("{other}"),
            };
            stream.write_all(answer.to_string().as_bytes()).expect("it reads");
        }
    });
    path
}

fn top(folder: &Path, arguments: &str) -> String {
    let program = env!("CARGO_BIN_EXE_justfull");
    format!("{program} proxy top --socket {} {arguments}", answers(folder).display())
}

fn plainly(arguments: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let command = top(folder.path(), arguments);
    Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output().expect("it runs")
}

#[test]
fn a_terminal_is_painted_on_until_q_and_then_is_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = top(folder.path(), "--every 100ms --count 100");
    // The terminal has 200 columns and 20 lines, and reports afterwards whether its input is edited
    // again.
    let command = format!("stty cols 200 rows 20; {command}; echo left $?; stty -a");
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is part of Debian");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut text, mut buffer) = (String::new(), [0; 4_096]);
    let mut keys = child.stdin.take().expect("a pipe");
    // The second picture has rates.
    let mut pressed = false;
    while let Ok(length) = out.read(&mut buffer) {
        if length == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..length]));
        if !pressed && text.contains(" 4.00") {
            keys.write_all(b"q").expect("it reads");
            pressed = true;
        }
    }
    assert!(child.wait().expect("a child").success());
    assert!(pressed, "{text}");
    let (painted, after) = text.split_once("left 0").expect("it ended well");
    let enter = painted.find("\u{1b}[?1049h").expect("a screen of its own");
    assert!(painted.rfind("\u{1b}[?1049l") > Some(enter), "{painted}");
    assert!(painted.contains("\u{1b}[?25l") && painted.contains("\u{1b}[?25h"), "the cursor");
    for part in ["radio leg by struct_ops", "10.45.0.1:5001", "16.00", "coming", "slow", "20.0"] {
        assert!(painted.contains(part), "{part}: {painted}");
    }
    assert!(!painted.contains("\u{1b}]"), "{painted}");
    assert!(after.contains(" icanon") && after.contains(" echo "), "{after}");
}

#[test]
fn without_a_terminal_there_are_plain_lines_and_json() {
    let plain = plainly("--every 100ms --count 2");
    let text = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(plain.status.success(), "{plain:?}");
    assert_eq!(text.matches("justfull proxy: running").count(), 2, "{text}");
    assert!(!text.contains('\u{1b}') && text.contains("10.45.0.1:5001"), "{text}");
    let json = plainly("--every 100ms --json");
    let lines: Vec<Value> = String::from_utf8_lossy(&json.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 1);
    // 500 kB for each request; a picture takes two requests in as many seconds.
    assert_eq!(lines[0]["rates"][1]["down_bytes_per_s"], 500_000.0);
    assert_eq!(lines[0]["status"]["radio_leg"], "struct_ops");
}

#[test]
fn a_bad_interval_and_an_absent_proxy_are_errors() {
    let wrong = plainly("--every 1ms");
    assert_eq!(wrong.status.code(), Some(2));
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(error.contains("--every") && error.contains("100ms to 1h are allowed"), "{error}");
    let program = env!("CARGO_BIN_EXE_justfull");
    let none = Command::new(program).args(["proxy", "top", "--socket", "/nowhere"]).output();
    let none = none.expect("it runs");
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}
