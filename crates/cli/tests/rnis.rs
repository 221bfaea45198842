//! `justfull rnis` with clients of such a service: curl, with and without TLS and tokens, and
//! schemathesis, which tries everything in the OpenAPI description and much outside it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A report, on one line.
fn line() -> String {
    r#"{"ue": ["10.45.0.1", "fd45::/64"], "at_us": 1000, "cell": "lte", "slot_us": 1000,
        "slots": 10, "offered": 250, "used": 180, "active_ues": 2, "blocks": 90, "bytes": 7000,
        "mcs": 20}"#
        .replace('\n', "")
}

/// A service that a signal to its process ends.
struct Served {
    child: Child,
    at: String,
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["rnis", "--listen", "0"])
            .args(args)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its output")).lines();
        let said = lines.next().expect("a line").expect("text");
        // Its further output must be read.
        std::thread::spawn(move || lines.for_each(drop));
        let (_, at) = said.split_once("serving ").unwrap_or_else(|| panic!("{said}"));
        let (at, _) = at.split_once("/rni/v2").unwrap_or_else(|| panic!("{said}"));
        Self { child, at: at.to_owned() }
    }

    fn feed(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{line}").expect("it reads");
    }

    /// The body of a successful answer.
    fn get(&self, path: &str, args: &[&str]) -> Result<String, String> {
        let out = curl(&[&["--fail-with-body", &format!("{}{path}", self.at)][..], args].concat());
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() { Ok(text) } else { Err(text) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _code = self.child.wait();
    }
}

fn curl(args: &[&str]) -> Output {
    let fixed = ["--silent", "--show-error", "--max-time", "10"];
    Command::new("curl").args(fixed).args(args).output().expect("curl is there (.ci/setup --tests)")
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = now();
    while !holds() {
        assert!(now().duration_since(began) < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(clippy::disallowed_methods, reason = "a program is waited for")]
fn now() -> Instant {
    Instant::now()
}

/// A file of the folder.
fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    path
}

/// A certificate for this machine, and its key.
fn certificate(folder: &TempDir) -> [PathBuf; 2] {
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext"])
        .args(["subjectAltName=DNS:localhost,IP:127.0.0.1", "-out"])
        .arg(&cert)
        .arg("-keyout")
        .arg(&key)
        .output()
        .expect("openssl is there (.ci/setup --tests)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    [cert, key]
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn curl_is_served_over_tls_with_a_token_and_not_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let [cert, key] = certificate(&folder);
    let tokens = write(&folder, "tokens", "right\n");
    let args = ["--tls-cert", text(&cert), "--tls-key", text(&key), "--tokens", text(&tokens)];
    let mut served = Served::start(&[&["--lines", "-"][..], &args].concat());
    assert!(served.at.starts_with("https://127.0.0.1:"), "{}", served.at);
    served.feed(&line());
    let trusted = ["--cacert", text(&cert), "--header", "Authorization: Bearer right"];
    let mut told = String::new();
    until("the report is served", || {
        told = served.get("/justfull/v1/ran_reports", &trusted).expect("an answer");
        told.contains("at_us")
    });
    assert!(told.contains(r#"{"type":1,"value":"10.45.0.1"}"#), "{told}");
    let bearers = served.get("/rni/v2/queries/rab_info?ue_ipv4_address=10.45.0.1", &trusted);
    assert!(bearers.is_ok_and(|text| text.contains("\"qci\":9")));
    let refused = served.get("/rni/v2/queries/rab_info", &trusted[..2]).expect_err("no token");
    assert!(refused.contains("\"status\":401") && refused.contains("bearer token"), "{refused}");
    assert!(served.get("/openapi.json", &[]).is_err(), "curl does not trust it");
    let plain = curl(&[&served.at.replace("https", "http")]);
    assert!(!plain.status.success() || plain.stdout.is_empty(), "no HTTP where HTTPS is");
}

#[test]
fn a_scenario_is_served_in_real_time() {
    let served = Served::start(&["live-lte", "--method", "Vanilla", "--set", "duration=60s"]);
    let at = || {
        let text = served.get("/justfull/v1/ran_reports", &[]).expect("an answer");
        let reports: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let report = &reports["reports"][0];
        assert!(report.is_null() || report["associateId"][0]["value"] == "10.45.0.1", "{text}");
        report["at_us"].as_u64()
    };
    until("the cell reports", || at().is_some());
    let (began, first) = (now(), at().expect("a report"));
    std::thread::sleep(Duration::from_millis(1_500));
    let (passed, last) = (now().duration_since(began), at().expect("a report"));
    let simulated = (last - first) as f64 / 1e6 / passed.as_secs_f64();
    assert!((0.6..1.4).contains(&simulated), "{simulated} s in a second");
}

#[test]
fn a_scenario_of_two_cells_is_served_and_its_ue_moves() {
    // West, from 1.07 s on east, and west again 2 s later.
    let served = Served::start(&["two-cells-live", "--method", "Vanilla"]);
    let cell = |path: &str, of: &dyn Fn(&serde_json::Value) -> serde_json::Value| {
        let text = served.get(path, &[]).expect("an answer");
        of(&serde_json::from_str(&text).expect("JSON"))
    };
    let named = || cell("/justfull/v1/ran_reports", &|all| all["reports"][0]["cell_id"].clone());
    let numbered = || {
        let cells = |all: &serde_json::Value| all["cellUserInfo"][0]["ecgi"]["cellId"].clone();
        cell("/rni/v2/queries/rab_info", &cells)
    };
    for (name, number) in [("west", "0000001"), ("east", "0000002"), ("west", "0000001")] {
        // The UE may move between two requests; it comes back.
        until(name, || named() == name && numbered() == number && named() == name);
    }
}

#[test]
fn wrong_use_is_refused_and_garbage_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let cells = justfull_scenario::library::scenario("two-cells-live").expect("it is shipped");
    let spaced = write(&folder, "cells.toml", &cells.replace("\"west\"", "\"far west\""));
    let empty = write(&folder, "empty", "");
    let [cert, key] = certificate(&folder);
    for (args, parts) in [
        (&["--lines", "/none"][..], &["--lines /none", "No such file"][..]),
        (&["--lines", "-", "--listen", "x"], &["--listen x", "allowed is a port of 127.0.0.1"]),
        (&["--lines", "-", "--tokens", text(&empty)], &["--tokens", "found 0 tokens"]),
        (&["--lines", "-", "--tls-cert", text(&empty), "--tls-key", text(&empty)], &["--tls-cert"]),
        (&["--lines", "-", "--tls-cert", text(&cert), "--tls-key", text(&empty)], &["--tls-key"]),
        (&["--lines", "-", "--tls-cert", text(&key), "--tls-key", text(&key)], &["--tls-cert"]),
        (&["--lines", "-", "--tokens", "/dev/zero"], &["--tokens", "found a device"]),
        (&["--lines", "-", "--ca", "/dev/zero"], &["--ca", "found a device"]),
        (&["--lines", "/dev/zero"], &["--lines /dev/zero", "allowed is a file or a named pipe"]),
        (
            &["--lines", "-", "--allow-callbacks", "here"],
            &["--allow-callbacks: found here", "allowed is an address, or a network"],
        ),
        (
            &["live-lte", "--method", "Vanilla", "--report-period", "1h"],
            &["--report-period: found 3600s", "allowed is 1ms to"],
        ),
        (
            &["live-lte", "--method", "Vanilla", "--report-period", "1ns"],
            &["--report-period: found 1ns", "allowed is 1ms to"],
        ),
        (&["--lines", "-", "--ca", text(&empty)], &["--ca", "no certificate"]),
        (&["--lines", "-", "--mcc", "12"], &["field `mcc`", "found 12", "three digits"]),
        (&["--lines", "-", "--cell-id", "x"], &["field `cell_id`", "seven hexadecimal digits"]),
        (
            &["live-lte", "--method", "RAPID"],
            &["proxy.control", "RAPID", "a method without a proxy"],
        ),
        (&["dual-connectivity"], &["field `ue[0].secondary`", "a UE in one cell"]),
        (&[text(&spaced)], &["field `cell[0].name`: found far west", "visible ASCII"]),
        (&[], &["required"]),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_justfull")).arg("rnis").args(args).output();
        let out = out.expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
    let mut served = Served::start(&["--lines", "-"]);
    served.feed("no report");
    drop(served.child.stdin.take());
    assert_eq!(served.child.wait().expect("it ends").code(), Some(1), "garbage is told");
}

#[test]
fn schemathesis_finds_no_answer_that_the_description_does_not_allow() {
    let venv = std::env::var("JUSTFULL_VENV").unwrap_or_else(|_| "/var/tmp/justfull-venv".into());
    let program = Path::new(&venv).join("bin/schemathesis");
    if !program.is_file() {
        assert!(std::env::var_os("CI").is_none(), "schemathesis is missing; .ci/setup installs it");
        return eprintln!("skipped: schemathesis is not installed");
    }
    let mut served = Served::start(&["--lines", "-"]);
    served.feed(&line());
    let folder = tempfile::tempdir().expect("a folder");
    // A body above the limit is refused by its size (413).
    let statuses =
        "[checks]\nnegative_data_rejection.expected-statuses = [400, 404, 405, 413, 415]";
    fs::write(folder.path().join("schemathesis.toml"), statuses).expect("it is written");
    let out = Command::new(program)
        .arg("run")
        .arg(format!("{}/openapi.json", served.at))
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance,negative_data_rejection"])
        .args(["--max-examples", "15", "--max-time", "20", "--no-color", "--seed", "1"])
        .args(["--phases", "examples,coverage,fuzzing"])
        .current_dir(folder.path())
        .output()
        .expect("schemathesis runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
}
