//! A live run or a proxy that is running: its values over time, from the addresses that the user
//! named. The page names no address. The sizes of answers and labels, the number of points, and the
//! wait for metrics have limits.

mod exposition;
mod live;
mod proxy;

use exposition::samples;
use justfull_net::questions;
use justfull_rnis::{Trust, agent, up_to};
use live::Live;
use proxy::Proxy;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Time between two readings.
const EVERY: Duration = Duration::from_millis(500);
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer, in bytes.
const LONGEST: u64 = 8 << 20;
/// Points and runs that are kept, and names in a point.
const MOST_POINTS: usize = 2_400;
const MOST_RUNS: usize = 16;
const MOST_NAMES: usize = 16;
/// Most letters of a message about an answer.
const MOST_LETTERS: usize = 300;

/// Where something that runs can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Metrics over HTTP, of a live run or a proxy.
    Metrics(String),
    /// The socket of a proxy.
    Socket(PathBuf),
}

impl FromStr for Watched {
    type Err = String;

    /// Reads `http://ADDRESS:PORT/metrics`, `ADDRESS:PORT`, a port of 127.0.0.1, or the path of a
    /// socket.
    fn from_str(text: &str) -> Result<Self, String> {
        let zero = text.parse::<u16>() == Ok(0);
        if let (false, Ok(port)) = (zero, text.parse::<u16>()) {
            return Ok(Self::Metrics(format!("http://127.0.0.1:{port}/metrics")));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Metrics(format!("http://{address}/metrics")));
        }
        if let Some(rest) = text.strip_prefix("http://") {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let sound = rest.bytes().all(|byte| byte.is_ascii_graphic());
            if sound && !host.is_empty() && !host.contains(['@', '?', '#']) {
                let path = if path.is_empty() { "metrics" } else { path };
                return Ok(Self::Metrics(format!("http://{host}/{path}")));
            }
        } else if !zero && !text.is_empty() && !text.contains("://") {
            return Ok(Self::Socket(text.into()));
        }
        Err("allowed is the address of metrics, such as http://127.0.0.1:9100/metrics or 9100, or \
             the path of a proxy's socket"
            .into())
    }
}

impl Watched {
    fn name(&self) -> String {
        match self {
            Self::Metrics(url) => url.clone(),
            Self::Socket(path) => path.display().to_string(),
        }
    }

    /// Reads it; `get` returns status and body of the answer to a request for an address.
    fn read(&self, get: impl Fn(&str) -> Result<(u16, Vec<u8>), String>) -> Result<Found, String> {
        match self {
            Self::Metrics(url) => {
                let (status, body) = get(url)?;
                if status != 200 {
                    return Err(format!("it answers with status {status}"));
                }
                if body.len() as u64 > LONGEST {
                    return Err(format!("its answer has more than {LONGEST} bytes"));
                }
                let text = String::from_utf8(body).map_err(|_| "its answer is no text")?;
                found(&text)
            }
            Self::Socket(path) => {
                let ask = |what| -> Result<Value, String> {
                    let text = questions::ask(path, "proxy", what, LONGEST);
                    serde_json::from_str(&text.map_err(|e| e.to_string())?)
                        .map_err(|e| format!("its answer to {what}: {e}"))
                };
                let found = Proxy::answered(&ask("status")?, &ask("flows")?);
                found.map(Found::Proxy).ok_or_else(|| "it is no proxy of justfull".into())
            }
        }
    }
}

/// The reading in metrics.
fn found(text: &str) -> Result<Found, String> {
    let samples = samples(text)?;
    if samples.is_empty() {
        return Err("it has no metrics yet".into());
    }
    let live = Live::of(&samples).map(Found::Live);
    let found = live.or_else(|| Proxy::of(&samples).map(Found::Proxy));
    found.ok_or_else(|| "its metrics are not of a live run or a proxy of justfull".into())
}

/// The identity of a run; a proxy has only its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Run {
    kind: &'static str,
    scenario: String,
    method: String,
    seed: String,
    point: String,
}

/// Changes between two readings, by name.
#[derive(Clone, Debug, Default, Serialize)]
struct Point {
    /// Number of the point, and number of its run.
    number: u64,
    run: u64,
    /// Time since the start of the run.
    at_s: f64,
    delay_ms: BTreeMap<String, Option<f64>>,
    rate_mbit_s: BTreeMap<String, Option<f64>>,
    capacity_mbit_s: Option<f64>,
    /// Packets in the queues of a live run, or windows of a proxy.
    level: BTreeMap<String, Option<f64>>,
    /// Connections of a proxy, the busiest first; only the last point has them.
    #[serde(skip)]
    rows: Vec<Value>,
}

/// The counts of something that runs.
trait Reading {
    fn run(&self) -> Run;
    fn seconds(&self) -> f64;
    /// Changes since `before`, an earlier reading of the same run.
    fn point(&self, before: &Self) -> Point;
    /// Values at the time of the reading, for the page.
    fn now(&self) -> Value;
}

/// A reading of either kind.
#[derive(Clone, Debug)]
enum Found {
    Live(Live),
    Proxy(Proxy),
}

impl Found {
    fn run(&self) -> Run {
        match self {
            Self::Live(live) => live.run(),
            Self::Proxy(proxy) => proxy.run(),
        }
    }

    fn seconds(&self) -> f64 {
        match self {
            Self::Live(live) => live.seconds(),
            Self::Proxy(proxy) => proxy.seconds(),
        }
    }

    fn now(&self) -> Value {
        match self {
            Self::Live(live) => live.now(),
            Self::Proxy(proxy) => proxy.now(),
        }
    }

    /// The point since `before`; none if that is of another kind.
    fn point(&self, before: &Self) -> Option<Point> {
        match (self, before) {
            (Self::Live(now), Self::Live(before)) => Some(now.point(before)),
            (Self::Proxy(now), Self::Proxy(before)) => Some(now.point(before)),
            _ => None,
        }
    }
}

/// All that is known of a place.
#[derive(Default)]
struct Log {
    last: Option<Found>,
    /// Why the last reading failed.
    problem: Option<String>,
    runs: BTreeMap<u64, Run>,
    points: VecDeque<Point>,
    rows: Vec<Value>,
    next_run: u64,
    next_point: u64,
}

impl Log {
    fn take(&mut self, read: Result<Found, String>) {
        let now = match read {
            Ok(now) if !now.seconds().is_finite() => {
                self.problem = Some("its time is no number".into());
                return;
            }
            Ok(now) => now,
            Err(why) => {
                self.problem = Some(why.chars().take(MOST_LETTERS).collect());
                return;
            }
        };
        self.problem = None;
        let same = |last: &Found| last.run() == now.run() && now.seconds() >= last.seconds();
        match self.last.as_ref().filter(|last| same(last)) {
            // The driver has no news yet.
            Some(last) if now.seconds() <= last.seconds() => {}
            Some(last) => {
                if let Some(mut point) = now.point(last) {
                    self.rows = std::mem::take(&mut point.rows);
                    point.number = self.next_point;
                    point.run = self.next_run - 1;
                    point.at_s = now.seconds();
                    self.next_point += 1;
                    self.points.push_back(point);
                }
            }
            None => {
                self.runs.insert(self.next_run, now.run());
                self.next_run += 1;
            }
        }
        if self.runs.len() > MOST_RUNS {
            self.runs.pop_first();
        }
        let first = self.runs.keys().next().copied().unwrap_or_default();
        while self.points.len() > MOST_POINTS || self.points.front().is_some_and(|p| p.run < first)
        {
            self.points.pop_front();
        }
        self.last = Some(now);
    }

    /// The points from number `from` on, and the rest.
    fn answer(&self, from: u64) -> Value {
        let new: Vec<&Point> = self.points.iter().filter(|point| point.number >= from).collect();
        json!({
            "problem": self.problem,
            "runs": self.runs,
            "points": new,
            "next": self.next_point,
            "now": self.last.as_ref().map(Found::now),
            "rows": self.rows,
        })
    }
}

struct Place {
    watched: Watched,
    log: Mutex<Log>,
}

impl Place {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no thread panics with the log")
    }
}

/// All places that are watched; their threads end with the last copy of this.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<[Arc<Place>]>);

impl Watch {
    /// Watches `places`.
    pub(crate) fn start(places: &[Watched]) -> Self {
        let begin = |watched: &Watched| {
            let place = Arc::new(Place { watched: watched.clone(), log: Mutex::default() });
            let own = Arc::downgrade(&place);
            let watched = watched.clone();
            thread::spawn(move || {
                let agent = agent(&Trust::default(), PATIENCE);
                let get = |url: &str| match &agent {
                    Ok(agent) => up_to(LONGEST as usize, agent.get(url).call()),
                    Err(error) => Err(error.to_string()),
                };
                while own.strong_count() > 0 {
                    let read = watched.read(get);
                    if let Some(place) = own.upgrade() {
                        place.log().take(read);
                    }
                    thread::sleep(EVERY);
                }
            });
            place
        };
        Self(places.iter().map(begin).collect())
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|place| place.watched.name()).collect()
    }

    /// The state of place number `at`, with its points from number `from` on; none if there is no
    /// such place.
    pub(crate) fn answer(&self, at: usize, from: u64) -> Option<Value> {
        self.0.get(at).map(|place| place.log().answer(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(method: &str, seconds: f64) -> Result<Found, String> {
        found(&format!(
            "justfull_run_info{{scenario=\"s\",seed=\"1\",method=\"{method}\"}} 1\n\
             justfull_run_seconds{{method=\"{method}\"}} {seconds}\n\
             justfull_flow_bytes_total{{flow=\"f\",method=\"{method}\"}} {}\n",
            seconds * 125_000.0
        ))
    }

    #[test]
    fn a_place_is_an_address_of_metrics_or_a_socket() {
        let url = |text: &str| Ok(Watched::Metrics(text.into()));
        for (text, expected) in [
            ("9100", url("http://127.0.0.1:9100/metrics")),
            ("[::1]:9100", url("http://[::1]:9100/metrics")),
            ("http://box:1/metrics", url("http://box:1/metrics")),
            ("http://box:1", url("http://box:1/metrics")),
            ("http://box/a/b", url("http://box/a/b")),
            ("/run/justfull/proxy.sock", Ok(Watched::Socket("/run/justfull/proxy.sock".into()))),
        ] {
            assert_eq!(text.parse::<Watched>(), expected, "{text}");
        }
        for text in ["", "http://", "http:///x", "http://a b", "http://u:p@box/", "https://box/"] {
            let error = text.parse::<Watched>().expect_err(text);
            assert!(error.starts_with("allowed is the address of metrics"), "{error}");
        }
    }

    #[test]
    fn runs_follow_each_other_and_points_are_given_once() {
        let mut log = Log::default();
        for (method, seconds) in [("a", 0.5), ("a", 1.0), ("a", 1.0), ("b", 0.5), ("b", 1.5)] {
            log.take(metrics(method, seconds));
        }
        let all = log.answer(0);
        let points = all["points"].as_array().expect("a list");
        let at: Vec<_> = points.iter().map(|p| (p["run"].clone(), p["at_s"].clone())).collect();
        assert_eq!(at, [(json!(0), json!(1.0)), (json!(1), json!(1.5))]);
        assert_eq!(points[1]["rate_mbit_s"]["f"], 1.0);
        assert_eq!(all["runs"]["1"]["method"], "b");
        log.take(metrics("b", 0.2));
        log.take(metrics("b", 0.7));
        let new = log.answer(all["next"].as_u64().expect("a number"));
        assert_eq!(new["points"].as_array().map(Vec::len), Some(1));
        assert_eq!(new["points"][0]["run"], 2, "a run of the same method began");
        log.take(Err("x".repeat(1_000)));
        let problem = log.answer(9)["problem"].as_str().map(str::len);
        assert_eq!(problem, Some(MOST_LETTERS));
        log.take(metrics("b", 1.0));
        assert!(log.answer(9)["problem"].is_null());
    }

    #[test]
    fn memory_is_bounded_by_points_runs_and_names() {
        let mut log = Log::default();
        for run in 0..2 * MOST_RUNS {
            let method = run.to_string();
            (1..=200).for_each(|n| log.take(metrics(&method, f64::from(n))));
        }
        assert_eq!((log.points.len(), log.runs.len()), (MOST_POINTS, MOST_RUNS));
        let mut text = String::from("justfull_run_info{method=\"m\"} 1\n");
        for flow in 0..100 {
            text += &format!("justfull_flow_bytes_total{{flow=\"{flow}\"}} 1\n");
        }
        let [before, now] = [1, 2].map(|n| found(&format!("{text}justfull_run_seconds {n}\n")));
        let (before, now) = (before.expect("sound"), now.expect("sound"));
        assert_eq!(now.point(&before).expect("a point").rate_mbit_s.len(), MOST_NAMES);
    }

    #[test]
    fn a_bad_answer_is_a_problem_in_words() {
        for (text, why) in [
            ("", "it has no metrics yet"),
            ("<html>", "line 1 is no metric"),
            ("up 1\n", "its metrics are not of a live run or a proxy of justfull"),
        ] {
            assert_eq!(found(text).err().as_deref(), Some(why));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let closed = Watched::Socket(folder.path().join("none"));
        assert!(closed.read(|_| Err(String::new())).is_err());
        let metrics = Watched::Metrics("http://x/metrics".into());
        for (answer, why) in [
            (Ok((404, Vec::new())), "it answers with status 404"),
            (Ok((200, vec![0xff])), "its answer is no text"),
            (Ok((200, vec![b' '; LONGEST as usize + 1])), "its answer has more than 8388608 bytes"),
            (Err("refused".to_owned()), "refused"),
        ] {
            assert_eq!(metrics.read(|_| answer.clone()).err().as_deref(), Some(why));
        }
    }
}
