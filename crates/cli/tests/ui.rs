//! `justfull ui`: its answers to foreign requests, and its page in a real browser.
//!
//! The browser's tests need Chromium, which `.ci/setup --tests` installs from Debian. Without it a
//! test prints a note and is skipped; in CI this is a failure.

mod devtools;

use devtools::Browser;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A page that is served until this is dropped.
struct Served {
    child: Child,
    url: String,
    /// Removed with it.
    folder: Option<TempDir>,
}

impl Served {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut served = Self::of(folder.path());
        served.folder = Some(folder);
        served
    }

    fn of(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["ui", "--no-browser"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it prints its address");
        Self { child, url: line.trim().to_owned(), folder: None }
    }

    /// The address without scheme and path.
    fn host(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("an address of HTTP");
        rest.split('/').next().expect("a host")
    }

    fn token(&self) -> &str {
        self.url.split_once("token=").expect("a token").1
    }

    /// Status and body of the answer to a request with only `fields` and its length.
    fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.host()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in fields {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n", body.len());
        // The answer to a body that is too long may come before its end.
        let _ =
            stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Like `ask`, with the fields of the page itself.
    fn own(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let fields = [
            ("host", self.host()),
            ("x-justfull-token", self.token()),
            ("content-type", "application/json"),
        ];
        self.ask(method, path, &fields, body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request for the shipped demonstration, short.
fn order(set: &[&str]) -> String {
    let set: Vec<&str> = ["duration=12s", "warmup=2s"].iter().chain(set).copied().collect();
    json!({ "scenario": "demo", "methods": ["Vanilla"], "set": set, "runs": 1 }).to_string()
}

#[test]
fn strangers_get_nothing_and_the_page_itself_gets_results() {
    let page = Served::new();
    let (host, token) = (page.host(), page.token());
    let with = |fields: &[(&str, &str)]| page.ask("GET", "/api/about", fields, "");
    assert_eq!(with(&[("host", host), ("x-justfull-token", token)]).0, 200);
    for fields in [
        vec![("host", host)],
        vec![("host", host), ("x-justfull-token", "0123")],
        vec![("host", "attacker.example"), ("x-justfull-token", token)],
        vec![("host", host), ("x-justfull-token", token), ("origin", "http://attacker.example")],
        vec![("host", host), ("x-justfull-token", token), ("sec-fetch-site", "cross-site")],
    ] {
        let (status, body) = with(&fields);
        assert_eq!(status, 403, "{fields:?}");
        assert!(!body.contains("scenarios"), "{body}");
    }
    assert_eq!(page.ask("GET", "/", &[("host", host)], "").0, 403);
    let (status, body) = page.own("POST", "/api/run", &order(&[]));
    assert_eq!(status, 200, "{body}");
    let result = finished(&page, &body);
    assert_eq!(result["runs"][0]["method"], "Vanilla");
    assert_eq!(result["runs"][0]["flows"][0]["name"], "call");
}

/// The result of the simulation named in `answer`.
fn finished(page: &Served, answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(answer).expect("an answer of JSON");
    while answer["done"] == false {
        let (status, body) = page.own("GET", &format!("/api/run/{}", answer["id"]), "");
        assert_eq!(status, 200, "{body}");
        answer = serde_json::from_str(&body).expect("an answer of JSON");
    }
    answer["result"].clone()
}

#[test]
fn wrong_orders_get_one_sentence_and_files_outside_the_folder_are_not_read() {
    let page = Served::new();
    let secret = TempDir::new().expect("a folder");
    let file = secret.path().join("secret.csv");
    std::fs::write(&file, "time_s,rate_mbit_s\n0,1\n1,2\n").expect("a file");
    let trace = format!("channel={{kind=\"trace\", file=\"{}\"}}", file.display());
    let up = "channel={kind=\"trace\", file=\"../secret.csv\"}";
    let folder = page.folder.as_ref().expect("its own folder").path();
    std::fs::write(folder.join("in.down"), "1\n2\n3\n").expect("a file");
    let inside = "channel={kind=\"trace\", format=\"auto\", file=\"in.down\"}";
    assert_eq!(page.own("POST", "/api/run", &order(&[inside])).0, 200);
    for setting in ["?channel.file", "channel.file"] {
        let elsewhere = format!("{setting}=\"{}\"", file.display());
        let (status, body) = page.own("POST", "/api/run", &order(&[inside, &elsewhere]));
        assert_eq!(status, 400, "{setting}: {body}");
    }
    std::os::unix::fs::symlink(&file, folder.join("link.csv")).expect("a link");
    for (set, expected) in [
        (trace.as_str(), "below the folder of the scenario"),
        (up, "channel.file"),
        ("channel={kind=\"trace\", file=\"link.csv\"}", "below the folder of the scenario"),
        ("rlc.queue.limit=none at all", "rlc.queue.limit"),
        ("duration=100000h", "duration"),
    ] {
        let (status, body) = page.own("POST", "/api/run", &order(&[set]));
        assert_eq!(status, 400, "{set}: {body}");
        assert!(body.contains(expected), "{set}: {body}");
    }
    assert_eq!(page.own("POST", "/api/run", "{").0, 400);
    assert_eq!(page.own("POST", "/api/run", "{\"scenario\":\"none\"}").0, 404);
    let long = format!("{{\"scenario\":\"{}\"}}", "x".repeat(2 << 20));
    assert!([413, 0].contains(&page.own("POST", "/api/run", &long).0));
    for name in ["..%2Fx.csv", ".hidden", "a%20b"] {
        let (status, body) = page.own("POST", &format!("/api/trace/{name}"), "0,1\n1,2\n");
        assert_eq!(status, 400, "{name}: {body}");
    }
    assert_eq!(page.own("GET", "/api/results/..%2F..", "").0, 404);
}

#[test]
fn a_trace_that_is_dropped_becomes_a_channel_and_one_that_cannot_be_read_leaves_no_file() {
    let folder = TempDir::new().expect("a folder");
    let page = Served::of(folder.path());
    // Mahimahi's format: an opportunity of 1500 B each millisecond.
    let text: String = (1..=2_000).map(|ms| format!("{ms}\n")).collect();
    let (status, body) = page.own("POST", "/api/trace/walk.down", &text);
    assert_eq!(status, 200, "{body}");
    let kept: Value = serde_json::from_str(&body).expect("an answer of JSON");
    assert_eq!(kept["file"], "traces/walk.down");
    let channel = "channel={kind=\"trace\", format=\"auto\", file=\"traces/walk.down\"}";
    let (status, body) = page.own("POST", "/api/run", &order(&[channel]));
    assert_eq!(status, 200, "{body}");
    assert!(finished(&page, &body)["runs"][0]["utilisation"].as_f64().expect("a share") > 0.1);
    assert_eq!(page.own("POST", "/api/trace/walk.down", &text).0, 200, "the same again");
    let (status, body) = page.own("POST", "/api/trace/walk.down", "1\n2\n3\n");
    assert_eq!(status, 400, "another trace of that name: {body}");
    let (status, body) = page.own("POST", "/api/trace/drive.csv", "time_s,rate\n0,1\n1,2\n");
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("justfull trace info drive.csv --time-column time_s"), "{body}");
    let names = std::fs::read_dir(folder.path().join("traces")).expect("the folder of traces");
    let names: Vec<_> =
        names.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    assert_eq!(names, ["walk.down"]);
}

/// Waits until the page has redrawn its views `times` times.
fn drawn(browser: &mut Browser, times: u32) {
    let done = format!("Number(document.getElementById('main').dataset.redrawn || 0) >= {times}");
    browser.until(&done);
}

#[test]
fn the_page_answers_its_question_and_follows_a_slider_without_a_request_beyond_loopback() {
    let Some(mut browser) = Browser::new() else { return };
    let page = Served::new();
    browser.open(&page.url);
    drawn(&mut browser, 1);
    let answer = browser.text("document.getElementById('answer').textContent");
    assert!(answer.contains("Vanilla") && answer.contains("Justfull"), "{answer}");
    assert_eq!(browser.eval("document.querySelectorAll('#table tbody tr').length"), json!(4));
    let cell = "document.querySelector('#table tbody tr td:nth-child(3)').textContent";
    let before = browser.text(cell);
    browser.eval(
        "(() => { const slider = document.querySelector('[data-key=buffer]'); slider.value = 100; \
         slider.dispatchEvent(new Event('input')); })()",
    );
    drawn(&mut browser, 2);
    assert_ne!(browser.text(cell), before, "a small buffer delays the call less");
    assert!(browser.text("location.hash").contains("buffer=100"), "the state has a link");
    let command = browser.text("asCommand(order())");
    assert!(command.starts_with("justfull run demo"), "{command}");
    for view in ["study", "results", "learn"] {
        browser.eval(&format!("document.getElementById('tab-{view}').click()"));
    }
    browser.until("document.querySelectorAll('#study-methods input').length > 10");
    browser.until("document.querySelectorAll('#lesson-table tbody tr').length > 0");
    browser.eval("document.getElementById('tab-study').click()");
    browser.eval("document.getElementById('study-runs').value = 1");
    browser.eval("document.getElementById('study').requestSubmit()");
    browser.until("document.querySelectorAll('#study-table tbody tr').length > 0");
    assert_eq!(browser.text("document.getElementById('study-error').textContent"), "");
    let own = format!("http://{}/", page.host());
    for url in browser.requests() {
        assert!(url.starts_with(&own) || url.starts_with("data:"), "a request to {url}");
    }
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn the_page_fits_phones_and_desks_by_day_and_by_night_and_everyone_can_use_it() {
    let Some(mut browser) = Browser::new() else { return };
    let page = Served::new();
    let axe = axe();
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    std::fs::create_dir_all(&shots).expect("a folder for pictures");
    for (width, height) in [(390, 844), (1280, 900), (1920, 1080)] {
        for theme in ["light", "dark"] {
            browser.resize(width, height, theme);
            browser.open(&page.url);
            drawn(&mut browser, 1);
            assert_eq!(browser.text("document.documentElement.dataset.theme"), theme);
            for view in ["try", "study", "results", "learn"] {
                browser.eval(&format!("document.getElementById('tab-{view}').click()"));
                if view == "learn" {
                    browser.until("document.querySelectorAll('#lesson-table tr').length > 0");
                }
                let wide = browser.number("document.documentElement.scrollWidth");
                assert!(wide <= f64::from(width), "{view} at {width}: {wide} pixels wide");
                browser.picture(&shots.join(format!("{view}-{width}-{theme}.png")));
                let Some(axe) = &axe else { continue };
                let found = browser.eval(&format!(
                    "{axe};axe.run().then(r => r.violations.filter(v => ['serious', 'critical']\
                     .includes(v.impact)).map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => \
                     n.html).join(' ')))"
                ));
                assert_eq!(found, json!([]), "{view} at {width}, {theme}");
            }
        }
    }
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// The source of axe-core, at the place where `.ci/setup --tests` installs it.
fn axe() -> Option<String> {
    let venv = std::env::var("JUSTFULL_VENV").unwrap_or_else(|_| "/var/tmp/justfull-venv".into());
    let source = std::fs::read_to_string(Path::new(&venv).join("axe-core/axe.min.js")).ok();
    if source.is_none() {
        println!("skipped: axe-core, which .ci/setup could not fetch from npm's registry");
    }
    source
}
