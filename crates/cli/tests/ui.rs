//! `justfull ui`: its answers to foreign requests, and its page in a real browser.
//!
//! The browser's tests need Chromium, which `.ci/setup --tests` installs from Debian. Without it a
//! test prints a note and is skipped; in CI this is a failure.

#[path = "ui/bench.rs"]
mod bench;
mod devtools;
#[cfg(all(feature = "live", feature = "proxy", target_os = "linux"))]
#[path = "ui/real_proxy.rs"]
mod real_proxy;
#[path = "ui/report.rs"]
mod report;

use devtools::Browser;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
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
        Self::watching(folder, &[])
    }

    /// A page for `folder` that watches `places`.
    fn watching(folder: &Path, places: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["ui", "--no-browser"])
            .arg(folder)
            .args(places.iter().flat_map(|place| ["--watch", place]))
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
    assert_eq!(page.own("GET", "/api/saved?folder=..%2F..", "").0, 404);
}

#[test]
fn a_dropped_trace_becomes_a_channel_and_an_unreadable_one_leaves_no_file() {
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
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("found another trace of that name"), "{body}");
    let (status, body) = page.own("POST", "/api/trace/drive.csv", "time_s,rate\n0,1\n1,2\n");
    assert_eq!(status, 400, "{body}");
    let refused: Value = serde_json::from_str(&body).expect("an answer of JSON");
    let said = "drive.csv: found a table with the columns `time_s`, `rate`, allowed is the names of \
                two of them: time_column = \"time_s\", rate_column = \"rate\", rate_unit = \"Mbit/s\"";
    assert!(refused["error"].as_str().expect("a text").starts_with(said), "{body}");
    assert_eq!(refused["columns"], json!(["time_s", "rate"]));
    let keys = json!({ "time_column": "time_s", "rate_column": "rate", "rate_unit": "Mbit/s" });
    assert_eq!(refused["keys"], keys);
    for (keys, told) in
        [("colour=red", "colour: found no such key"), ("gaps=most", "gaps: found `most`")]
    {
        let (status, body) = page.own("POST", &format!("/api/trace/drive.csv?{keys}"), "1\n");
        assert!(status == 400 && body.contains(told), "{body}");
    }
    let names = std::fs::read_dir(folder.path().join("traces")).expect("the folder of traces");
    let names: Vec<_> =
        names.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    assert_eq!(names, ["walk.down"]);
    let keys = "time_column=time_s&rate_column=rate&rate_unit=Mbit%2Fs";
    let name = format!("/api/trace/drive.csv?{keys}");
    assert_eq!(page.own("POST", &name, "time_s,rate\n0,1\n1,2\n").0, 200);
    let channel = "channel={kind=\"trace\", format=\"auto\", file=\"traces/drive.csv\", time_column=\
                   \"time_s\", rate_column=\"rate\", rate_unit=\"Mbit/s\"}";
    let (status, body) = page.own("POST", "/api/run", &order(&[channel]));
    assert_eq!(status, 200, "{body}");
}

/// Waits until the page has redrawn its views `times` times.
fn drawn(browser: &mut Browser, times: u32) {
    let done = format!("Number(document.getElementById('main').dataset.redrawn || 0) >= {times}");
    browser.until(&done);
}

#[test]
fn the_page_asks_for_the_columns_of_a_table_until_they_read_it() {
    let Some(mut browser) = Browser::new() else { return };
    let folder = TempDir::new().expect("a folder");
    let page = Served::of(folder.path());
    browser.open(&page.url);
    drawn(&mut browser, 1);
    browser
        .eval("void takeFile(new File(['Zeit;DL-Rate\\n0;12,5\\n1;\\n2;8,25\\n'], 'a table.csv'))");
    browser.until("document.getElementById('columns').open");
    let field = "document.querySelector('#columns [name=rate_column]').value";
    assert_eq!(browser.text(field), "DL-Rate");
    browser.eval("document.querySelector('#columns [value=read]').click()");
    browser.until("document.getElementById('columns-why').className === 'error'");
    let why = browser.text("document.getElementById('columns-why').textContent");
    assert!(
        why.contains("column `DL-Rate`: found an empty field") && why.contains("gaps ="),
        "{why}"
    );
    browser.eval(
        "document.querySelector('#columns [name=gaps]').value = 'zero'; \
         document.querySelector('#columns [value=read]').click()",
    );
    browser.until("study.set.length === 1");
    let channel = browser.text("study.set[0]");
    assert!(channel.contains("file=\"traces/a_table.csv\"") && channel.contains("gaps=\"zero\""));
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
    let filled = "(() => { const run = shown.runs[0], { bin_s, queues } = run.series; \
                  const at = Math.floor(11 / bin_s); const queued = ['UPF', 'SDAP', 'RLC']\
                  .reduce((sum, of) => sum + (queues[of][at] || 0), 0); \
                  showScene(run, 11, 2 * queued); \
                  return queued > 10 && Number(sceneParts.fill.getAttribute('height')); })()";
    assert_eq!(browser.eval(filled), json!(34), "half of 68: the queue is drawn to scale");
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
    for view in ["study", "results", "live", "learn"] {
        browser.eval(&format!("document.getElementById('tab-{view}').click()"));
    }
    browser.until("document.querySelectorAll('#study-methods input').length > 10");
    browser.until("document.querySelectorAll('#lesson-table tbody tr').length > 0");
    let curves = "charts.get('lesson-delay').plot.series.length - 1";
    assert_eq!(browser.eval(curves), json!(1));
    browser.eval("document.querySelector('#lesson-legend button').click()");
    browser.until(&format!("{curves} === 0"));
    browser.eval("document.getElementById('tab-study').click()");
    let own = "[...document.querySelectorAll('#study-methods input')].slice(0, 5)";
    assert_eq!(browser.eval(&format!("{own}.every(box => box.checked)")), json!(true));
    browser.until("document.querySelectorAll('#study-chart canvas').length === 1");
    let said = browser.text("document.querySelector('#view-study figcaption').textContent");
    assert!(said.starts_with("Delay of call, ms ") && said.contains("logarithmic"), "{said}");
    browser.eval("document.getElementById('study-runs').value = 1");
    browser.eval("document.getElementById('study').requestSubmit()");
    browser.until("document.querySelectorAll('#study-table tbody tr').length > 0");
    assert_eq!(browser.text("document.getElementById('study-error').textContent"), "");
    let answer = browser.text("document.getElementById('study-answer').textContent");
    assert!(answer.contains("one in a hundred packets of call waits longer than"), "{answer}");
    let own = format!("http://{}/", page.host());
    for url in browser.requests() {
        assert!(url.starts_with(&own) || url.starts_with("data:"), "a request to {url}");
    }
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// Results of a short call and download below `folder`.
fn results(folder: &Path, name: &str, settings: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["run", "voip-over-lte", "--method", "Vanilla", "--method", "DRQL", "--runs", "3"])
        .args(["--duration", "12s", "--quiet", "--out", name])
        .args(settings.iter().flat_map(|one| ["--set", one]))
        .current_dir(folder)
        .output()
        .expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn earlier_runs_are_listed_opened_and_compared_and_their_names_are_only_text() {
    let folder = TempDir::new().expect("a folder");
    const HOSTILE: &str = "<img src=x onerror=document.title=1>";
    results(folder.path(), "plain", &[]);
    results(folder.path(), &format!("deep/{HOSTILE}"), &["rlc.queue.limit=200kB"]);
    let page = Served::of(folder.path());
    let (status, body) = page.own("GET", "/api/results", "");
    assert_eq!(status, 200, "{body}");
    let list: Value = serde_json::from_str(&body).expect("an answer of JSON");
    let runs = list["runs"].as_array().expect("a list");
    assert_eq!((list["all"].as_u64(), runs.len()), (Some(2), 2));
    assert_eq!(runs[0]["folder"], format!("deep/{HOSTILE}"));
    assert_eq!(runs[0]["settings"], json!(["rlc.queue.limit=200kB"]));
    let ask = |name: &str| page.own("GET", &format!("/api/saved?folder={name}"), "").0;
    assert_eq!(ask("plain"), 200);
    for name in ["", ".", "deep", "..", "plain%2F..%2Fplain", "%2Fetc", "plain/figures"] {
        assert_eq!(ask(name), 404, "{name}");
    }
    let Some(mut browser) = Browser::new() else { return };
    browser.open(&format!("{}#view=results", page.url));
    browser.until("document.querySelectorAll('#results-list tbody tr').length === 2");
    let text = browser.text("document.getElementById('results-list').textContent");
    assert!(text.contains(HOSTILE) && text.contains("rlc.queue.limit=200kB"), "{text}");
    browser.eval("document.querySelector('#results-list tbody tr:nth-child(2) button').click()");
    browser.until("document.querySelectorAll('#results-table tbody tr').length === 4");
    browser.until("document.querySelectorAll('#results-chart canvas').length === 1");
    let command = browser.text("comparison()");
    assert!(command.contains("--kind series --y delay.p90 --flow"), "{command}");
    for what in ["goodput", "cdf", "queue", "delay"] {
        browser.eval(&format!(
            "(() => {{ const what = document.getElementById('results-what'); what.value = \
             '{what}'; what.dispatchEvent(new Event('change')); }})()"
        ));
        let drawn = "charts.get('results-chart').plot.data.slice(1).every(values => \
                     values.filter(value => value != null).length > 10)";
        assert_eq!(browser.eval(drawn), json!(true), "{what}");
    }
    browser.eval("document.querySelector('#results-list tbody tr:nth-child(1) input').click()");
    browser.until("document.querySelectorAll('#results-table tbody tr').length === 8");
    assert_eq!(browser.eval("charts.get('results-chart').plot.series.length"), json!(5));
    let command = browser.text("comparison()");
    assert!(command.starts_with("justfull compare ") && command.contains("'"), "{command}");
    let link = browser.text("location.href");
    browser.open(&link);
    browser.until("document.querySelectorAll('#results-table tbody tr').length === 8");
    browser.open(&format!("{}&again#view=results&open=plain,gone", page.url));
    browser.until("document.getElementById('results-error').textContent.includes('names gone,')");
    browser.until("document.querySelectorAll('#results-table tbody tr').length === 4");
    assert_ne!(browser.text("document.title"), "1");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// The dataset of a small campaign below `folder`.
fn campaign(folder: &Path) {
    let text = "scenarios = [\"voip-over-lte\"]\nmethods = [\"Vanilla\", \"DRQL\"]\nseeds = 3\n\
                [set]\nduration = \"12s\"\n[grid]\n\"rlc.queue.limit\" = [\"50kB\", \"200kB\"]\n";
    std::fs::write(folder.join("depth.toml"), text).expect("a file");
    let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["campaign", "run", "depth.toml", "-q", "--out", "campaign/depth"])
        .current_dir(folder)
        .output()
        .expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // The page reads only the dataset.
    std::fs::remove_file(folder.join("depth.toml")).expect("it is there");
}

#[test]
fn a_campaign_is_listed_and_drawn_over_its_setting_beside_a_run() {
    let folder = TempDir::new().expect("a folder");
    campaign(folder.path());
    results(folder.path(), "run", &["rlc.queue.limit=100kB"]);
    let page = Served::of(folder.path());
    let (status, body) = page.own("GET", "/api/results", "");
    assert_eq!(status, 200, "{body}");
    let list: Value = serde_json::from_str(&body).expect("an answer of JSON");
    let runs = list["runs"].as_array().expect("a list");
    let found = runs.iter().find(|run| run["folder"] == "campaign/depth").expect("the campaign");
    assert_eq!((&found["kind"], &found["problem"]), (&json!("campaign"), &Value::Null));
    assert_eq!(found["settings"], json!(["rlc.queue.limit_kB=[50, 200]"]));
    let (status, body) = page.own("GET", "/api/saved?folder=campaign/depth", "");
    assert_eq!(status, 200, "{body}");
    let saved: Value = serde_json::from_str(&body).expect("an answer of JSON");
    let first = &saved["runs"][0];
    assert_eq!(saved["runs"].as_array().map(Vec::len), Some(12), "2 settings, 2 methods, 3 seeds");
    assert_eq!(first["settings"], json!([["rlc.queue.limit_kB", "50"]]));
    assert_eq!(saved["words"]["rlc.queue.limit_kB=50"], "rlc.queue.limit 50 kB");
    assert!(first["flows"][0]["delay"]["p99"].is_f64(), "{first}");
    let Some(mut browser) = Browser::new() else { return };
    browser.open(&format!("{}#view=results&open={}", page.url, "campaign%252Fdepth"));
    browser.until("document.querySelectorAll('#results-table tbody tr').length === 8");
    let drawn = |browser: &mut Browser| {
        browser.text("JSON.stringify(charts.get('results-chart').plot.data.map(d => [...d]))")
    };
    let data: Value = serde_json::from_str(&drawn(&mut browser)).expect("JSON");
    assert_eq!(data[0], json!([50, 200]), "the values of the setting: {data}");
    let of = |at: usize, method: &str| {
        let runs = saved["runs"].as_array().expect("a list").iter();
        let own = runs
            .filter(|run| run["method"] == method && run["settings"][0][1] == ["50", "200"][at]);
        let flow = found["flow"].as_str().expect("a flow");
        let p99 = own.map(|run| {
            let flows = run["flows"].as_array().expect("flows").iter();
            let own = flows.clone().find(|one| one["name"] == flow).expect("the flow");
            own["delay"]["p99"].as_f64().expect("a delay")
        });
        p99.sum::<f64>() / 3.0
    };
    let value = |line: usize, at: usize| data[line][at].as_f64().expect("a value");
    let methods: Vec<&str> =
        found["methods"].as_array().expect("methods").iter().filter_map(Value::as_str).collect();
    for (line, at) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        let expected = of(at, methods[line - 1]);
        assert!((value(line, at) - expected).abs() < 1e-9 * expected, "{line}, {at}: {data}");
    }
    let words = "document.querySelector('#results-table tbody tr td:nth-child(3)').textContent";
    assert_eq!(browser.text(words), "rlc.queue.limit 50 kB");
    let axis = browser.text("charts.get('results-chart').plot.axes[0].label");
    assert_eq!(axis, "RLC queue limit (kB)");
    let command = browser.text("comparison()");
    assert!(command.contains("--kind line --x rlc.queue.limit_kB --y delay.p99"), "{command}");
    browser.eval("document.querySelector('#view-results [data-copy=link]').click()");
    browser.until("$('said').textContent !== '' && $('said').offsetHeight > 0");
    let link = browser.text("(choose(['campaign/depth', 'run']), location.href)");
    browser.until("results.shown.length === 2");
    browser.open(&link);
    browser.until("results.shown.length === 2");
    assert!(browser.text("comparison()").starts_with("justfull compare "));
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// A stand-in for a proxy with two connections, each of which has more bytes at each request.
fn proxy(folder: &Path) -> PathBuf {
    let path = folder.join("proxy.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for (number, mut stream) in (2_u64..).zip(listener.incoming().flatten()) {
            let mut question = String::new();
            let _ = BufReader::new(&stream).read_line(&mut question);
            // A picture takes two questions.
            let seconds = number / 2;
            let flow = |n: u64| {
                json!({
                    "client": format!("10.45.0.1:500{n}<script>document.title=1</script>"),
                    "server": "10.46.0.1:443", "category": "slow", "bytes_up": 0,
                    "bytes_down": n * seconds * 500_000, "server_window": 14_480,
                    "radio_window": 28_960, "in_flight": 1_448, "wired_rtt_s": 0.01,
                    "radio_rtt_s": 0.02,
                })
            };
            let answer = match question.trim() {
                "status" => json!({
                    "state": "running", "seconds": seconds, "control": "rapid", "flows": 2,
                    "radio_leg": "struct_ops", "unsplit": [], "ues": [],
                    "radio": { "source": "json_lines", "state": "connected" },
                    "cells": [{ "cell": "east", "capacity_bytes_per_s": 2_500_000.0 }],
                }),
                _ => Value::Array((1..=2).map(flow).collect()),
            };
            let _ = stream.write_all(answer.to_string().as_bytes());
        }
    });
    path
}

#[test]
fn a_proxy_is_watched_with_its_capacity_windows_round_trips_and_connections() {
    let folder = TempDir::new().expect("a folder");
    let socket = proxy(folder.path());
    let page = Served::watching(folder.path(), &[socket.to_str().expect("text")]);
    let Some(mut browser) = Browser::new() else { return };
    browser.open(&format!("{}#view=live", page.url));
    browser.until("Number(document.getElementById('main').dataset.watched) > 2");
    let answer = browser.text("document.getElementById('live-answer').textContent");
    assert!(answer.contains("The proxy is running; control rapid"), "{answer}");
    for (value, expected) in [
        ("rate_mbit_s['to the UEs']", "12"),
        ("capacity_mbit_s", "20"),
        ("delay_ms['radio leg']", "20"),
        ("level['windows of the radio legs, kB']", "57.92"),
    ] {
        let found = browser.text(&format!("String(live.points.at(-1).{value})"));
        assert_eq!(found, expected, "{value}");
    }
    for chart in ["live-delay", "live-rate", "live-level"] {
        let canvas = format!("document.querySelectorAll('#{chart} canvas').length");
        assert_eq!(browser.eval(&canvas), json!(1), "{chart}");
    }
    let rows = "document.querySelectorAll('#live-table tbody tr').length";
    assert_eq!(browser.eval(rows), json!(2));
    let first = browser.text("document.querySelector('#live-table tbody td').textContent");
    assert!(first.starts_with("10.45.0.1:5002<script>"), "the busiest first: {first}");
    assert_ne!(browser.text("document.title"), "1");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// A server that answers each request with `answer`, and counts them by its address.
fn server(answer: String) -> (String, std::sync::Arc<std::sync::atomic::AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    let count = std::sync::Arc::<std::sync::atomic::AtomicU32>::default();
    let own = std::sync::Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            own.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).and_then(|_| stream.write_all(answer.as_bytes()));
        }
    });
    (address, count)
}

#[test]
fn a_redirect_of_a_watched_service_is_not_followed_and_a_bad_answer_is_one_sentence() {
    let (elsewhere, asked) = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".into());
    let moved = format!(
        "HTTP/1.1 302 Found\r\nlocation: http://{elsewhere}/metrics\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    );
    let page = "<html><script>document.title=1</script>";
    let text = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    let (moved, text) = (server(moved).0, server(text).0);
    let folder = TempDir::new().expect("a folder");
    let page = Served::watching(folder.path(), &[&moved, &text, "/no/such/socket"]);
    for (place, why) in
        [(0, "it answers with status 302"), (1, "line 1 is no metric"), (2, "cannot ask the proxy")]
    {
        let mut problem = String::new();
        while problem.is_empty() {
            let (status, body) = page.own("GET", &format!("/api/watch/{place}"), "");
            assert_eq!(status, 200, "{body}");
            let answer: Value = serde_json::from_str(&body).expect("an answer of JSON");
            problem = answer["problem"].as_str().unwrap_or_default().to_owned();
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(problem.starts_with(why), "{problem}");
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    for (path, expected) in
        [("/api/watch/3", 404), ("/api/watch/x", 400), ("/api/watch/0?from=x", 400)]
    {
        assert_eq!(page.own("GET", path, "").0, expected, "{path}");
    }
    for place in ["https://127.0.0.1/metrics", "http://", "ftp://x"] {
        let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["ui", "--no-browser", "--watch", place])
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let named = said.contains(&format!("--watch: found {place}, allowed is the address of"));
        assert!(done.status.code() == Some(2) && named, "{said}");
    }
}

#[test]
fn the_methods_of_a_live_run_are_watched_one_over_the_other() {
    let check = Command::new(env!("CARGO_BIN_EXE_justfull")).args(["live", "--check"]).output();
    let check = check.expect("the program starts");
    if !check.status.success() {
        assert!(std::env::var_os("CI").is_none(), "live runs must not be skipped in CI");
        println!("skipped: {}", String::from_utf8_lossy(&check.stderr));
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let mut run = Command::new("env")
        .args(["--default-signal", env!("CARGO_BIN_EXE_justfull"), "live", "live-lte"])
        .args(["--method", "Vanilla", "--method", "Justfull", "--duration", "5s"])
        .args(["--set", "warmup=500ms", "--allow-late", "--no-files", "--metrics", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut said = BufReader::new(run.stderr.take().expect("it is piped"));
    let address = said.by_ref().lines().map_while(Result::ok).find_map(|line| {
        let rest = line.split_once("metrics at ")?.1.to_owned();
        rest.split(';').next().map(str::to_owned)
    });
    let address = address.expect("it names the address of its metrics");
    std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(drop));
    let page = Served::watching(folder.path(), &[&address]);
    let points = |method: &str| {
        let (_, body) = page.own("GET", "/api/watch/0", "");
        let answer: Value = serde_json::from_str(&body).expect("an answer of JSON");
        let runs = answer["runs"].as_object().cloned().unwrap_or_default();
        let of = |point: &&Value| runs[&point["run"].to_string()]["method"] == method;
        answer["points"].as_array().expect("a list").iter().filter(of).count()
    };
    if let Some(mut browser) = Browser::new() {
        browser.open(&format!("{}#view=live", page.url));
        browser.until("Number(document.getElementById('main').dataset.watched) > 2");
        let answer = browser.text("document.getElementById('live-answer').textContent");
        assert!(answer.contains("live-lte under "), "{answer}");
        browser.until("document.querySelectorAll('#live-table tbody tr').length === 2");
        let seen = "live.points.some(point => Object.values(point.delay_ms).some(v => v > 0)) && \
                    live.points.some(point => Object.values(point.rate_mbit_s).some(v => v > 1))";
        assert_eq!(browser.eval(seen), json!(true));
        assert_eq!(browser.faults(), Vec::<String>::new());
    }
    run.wait().expect("it ends");
    let (vanilla, justfull) = (points("Vanilla"), points("Justfull"));
    assert!(vanilla > 2 && justfull > 2, "{vanilla}, {justfull}");
}

#[test]
fn the_page_fits_phones_and_desks_by_day_and_by_night_and_everyone_can_use_it() {
    let Some(mut browser) = Browser::new() else { return };
    let folder = TempDir::new().expect("a folder");
    results(folder.path(), "a", &[]);
    results(folder.path(), "below/b", &["rlc.queue.limit=200kB"]);
    campaign(folder.path());
    let socket = proxy(folder.path());
    let page = Served::watching(folder.path(), &[socket.to_str().expect("text")]);
    let axe = axe();
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    std::fs::create_dir_all(&shots).expect("a folder for pictures");
    for (width, height) in [(390, 844), (1280, 900), (1920, 1080)] {
        for theme in ["light", "dark"] {
            browser.resize(width, height, theme);
            browser.open(&page.url);
            drawn(&mut browser, 1);
            assert_eq!(browser.text("document.documentElement.dataset.theme"), theme);
            for view in ["try", "study", "results", "live", "learn"] {
                browser.eval(&format!("document.getElementById('tab-{view}').click()"));
                match view {
                    "learn" => {
                        browser.until("document.querySelectorAll('#lesson-table tr').length > 0");
                    }
                    "results" => {
                        browser
                            .until("document.querySelectorAll('#results-list input').length > 1");
                        browser.eval("choose(results.runs.map(run => run.folder))");
                        browser.until("document.querySelectorAll('#results-table tr').length > 8");
                    }
                    "live" => {
                        browser.until("Number($('main').dataset.watched) > 2");
                    }
                    _ => {}
                }
                if view == "try" {
                    let fits = "$('table').scrollWidth <= $('table').parentElement.clientWidth";
                    assert_eq!(browser.eval(fits), json!(true), "the table at {width}");
                }
                if view == "try" && width == 390 {
                    browser.eval("document.querySelector('[data-key=at]').scrollIntoView(false)");
                    let above = "$('chart-delay').getBoundingClientRect().top >= 0";
                    assert_eq!(browser.eval(above), json!(true), "the delay is seen with sliders");
                    browser.eval("scrollTo(0, 0)");
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
