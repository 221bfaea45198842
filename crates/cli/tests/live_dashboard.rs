//! The Grafana dashboard of `live --metrics`: its queries name served metrics, and Prometheus
//! answers each.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of lifecycles use the rest")]
mod room;

use room::{Run, room, sh, wait_until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const DASHBOARD: &str = include_str!("../../../docs/grafana/live.json");

/// Names with the labels of their samples.
type Served = BTreeMap<String, BTreeSet<String>>;

/// True for characters of names in a page or a query.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The names of labels in `{...}`; no value on this page has a comma or an equals sign.
fn labels(braces: &str) -> BTreeSet<String> {
    let name = |part: &str| part.split_once('=').map(|(name, _)| name.trim_end_matches('!').into());
    braces.split(',').filter_map(name).collect()
}

/// The metrics of the page. Prometheus adds `instance`.
fn served(page: &str) -> Served {
    let mut found = Served::new();
    for line in page.lines().filter(|line| line.starts_with("justfull_")) {
        let (name, rest) = line.split_once('{').expect("every sample has labels");
        let (braces, _) = rest.split_once('}').expect("closed");
        let of = found.entry(name.into()).or_default();
        of.extend(labels(braces));
        of.insert("instance".into());
    }
    found
}

/// Every query of the dashboard except the queries of its variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    targets.map(|target| target["expr"].as_str().expect("a query").into()).collect()
}

/// The names in `query` that are not served.
fn wrong(query: &str, served: &Served) -> Option<String> {
    let mut asked = BTreeSet::new();
    for (at, _) in query.match_indices("justfull_") {
        let name: String = query[at..].chars().take_while(|c| is_word(*c)).collect();
        let Some(known) = served.get(&name) else { return Some(name) };
        let rest = &query[at + name.len()..];
        let braces =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |b| b.0);
        if let Some(label) = labels(braces).into_iter().find(|label| !known.contains(label)) {
            return Some(format!("{name}{{{label}}}"));
        }
        asked.extend(known.clone());
    }
    if asked.is_empty() {
        return Some("nothing of ours".into());
    }
    let by = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let by = by.flat_map(|names| names.split(", ").map(str::to_owned));
    by.into_iter().find(|label| !asked.contains(label)).map(|label| format!("by {label}"))
}

fn fetch(url: &str) -> String {
    sh(&format!("curl -sS --globoff --max-time 5 '{url}'"))
}

/// True if `program` is installed; in CI it must be.
fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        println!("skipped: {program} is not installed");
        assert!(std::env::var_os("CI").is_none(), "{program} is missing; .ci/setup installs it");
    }
    found
}

/// A Prometheus process that ends when dropped.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already, which the test has noticed.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// In a room of its own every port is free.
const PORT: u16 = 9_090;

impl Prometheus {
    /// Reads `metrics` five times a second.
    fn start(folder: &Path, metrics: &str) -> Self {
        let config = format!(
            "scrape_configs:\n- job_name: live\n  scrape_interval: 200ms\n  scrape_timeout: \
             200ms\n  static_configs:\n  - targets: ['{metrics}']\n"
        );
        fs::write(folder.join("prometheus.yml"), config).expect("the folder takes it");
        let log = fs::File::create(folder.join("prometheus.log")).expect("the folder takes it");
        let child = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address=127.0.0.1:{PORT}"))
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self(child.expect("it starts"))
    }

    /// The series that answer `query`; none while Prometheus does not listen.
    fn ask(query: &str) -> Option<Value> {
        let done = Command::new("curl")
            .args(["-sS", "--max-time", "5", "-G", "--data-urlencode"])
            .arg(format!("query={query}"))
            .arg(format!("http://127.0.0.1:{PORT}/api/v1/query"))
            .output();
        serde_json::from_slice(&done.expect("curl is there").stdout).ok()
    }
}

#[test]
fn leftovers_are_additions_of_a_test_only() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(room::new_in(&words("lo"), &words("lo mount")).is_empty());
    assert_eq!(room::new_in(&words("lo lo run"), &words("lo mount")), ["lo", "run"]);
}

#[test]
fn every_query_of_the_dashboard_is_of_what_a_run_serves_and_prometheus_answers_it() {
    let test = "every_query_of_the_dashboard_is_of_what_a_run_serves_and_prometheus_answers_it";
    room(test, |folder| {
        if !has("curl") {
            return;
        }
        let words = ["--duration", "100s", "--no-files", "--flows", "--metrics", "9101"];
        let run = Run::live(folder, &[&words[..], &["--", "sleep", "1000"]].concat());
        let metrics = format!("127.0.0.1:{}", 9_101);
        let page = || {
            let curl = format!("curl -s --max-time 5 http://{metrics}/metrics || true");
            sh(&curl)
        };
        // The call begins in the second second.
        let call =
            "justfull_flow_packets_total{flow=\"call\",ue=\"0\",qfi=\"1\",method=\"Vanilla\"}";
        wait_until("the call has packets", || page().contains(call));
        let served = served(&fetch(&format!("http://{metrics}/metrics")));
        let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
        let queries = queries(&dashboard);
        assert!(queries.len() >= 10, "{queries:#?}");
        for query in &queries {
            assert_eq!(wrong(query, &served), None, "{query}");
        }
        // Absent metrics are detected.
        for query in ["justfull_no{method=\"a\"}", "justfull_late{way=\"up\"}", "up"] {
            assert!(wrong(query, &served).is_some(), "{query}");
        }
        let late = "sum by (method, flow) (justfull_late{method=\"a\"})";
        assert_eq!(wrong(late, &served).as_deref(), Some("by flow"));
        for variable in dashboard["templating"]["list"].as_array().expect("variables") {
            let query = variable["query"].as_str().expect("a query");
            let Some(of) = query.strip_prefix("label_values(") else { continue };
            let (of, label) = of.trim_end_matches(')').rsplit_once(", ").expect("of what");
            assert_eq!(wrong(of, &served), None, "{query}");
            let name: String = of.chars().take_while(|c| is_word(*c)).collect();
            assert!(served[&name].contains(label), "{query}");
        }
        if has("prometheus") {
            prometheus_answers(folder, &metrics, &queries);
        }
        run.signal("-TERM");
        assert_eq!(run.end().code, 1, "it was interrupted");
    });
}

/// Each query has an answer with the dashboard's variables in it, and numbers are right.
fn prometheus_answers(folder: &Path, metrics: &str, queries: &[String]) {
    let _prometheus = Prometheus::start(folder, metrics);
    let count = |query: &str| {
        let answer = Prometheus::ask(query)?;
        Some(answer["data"]["result"].as_array()?.len())
    };
    let samples = "count_over_time(justfull_slots_total[5s]) > 15";
    wait_until("it has read three seconds", || count(samples) == Some(1));
    for query in queries {
        let mut query = query.replace("$__rate_interval", "3s");
        for variable in ["$instance", "$method", "$flow", "$ue"] {
            query = query.replace(variable, ".*");
        }
        let answer = Prometheus::ask(&query).expect("it listens");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().expect("series");
        assert!(!series.is_empty(), "{query}");
        assert!(series.iter().all(|one| one["metric"]["method"] == "Vanilla"), "{query}: {answer}");
    }
    // 20 Mbit/s, of which the download takes the rest beside the call.
    let rate = Prometheus::ask("8 * sum(rate(justfull_capacity_offered_total[3s]))");
    let rate = rate.expect("it listens")["data"]["result"][0]["value"][1].clone();
    let rate: f64 = rate.as_str().and_then(|text| text.parse().ok()).expect("a number");
    assert!((15e6..25e6).contains(&rate), "{rate}");
}
