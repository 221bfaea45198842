//! The page watches a real proxy between a UE and a server in network namespaces.

use super::{Browser, Served};
use justfull_net::chain::{Chain, Mtus, Place, can_build};
use justfull_net::clock::now;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const JUSTFULL: &str = env!("CARGO_BIN_EXE_justfull");
/// Timeout of each wait.
const LIMIT: Duration = Duration::from_secs(60);

/// Polls `found` until it returns a value.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = now() + LIMIT;
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(now() < end, "waited too long: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A process that is killed on drop.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The proxy in the middle of `chain`, with reports from a file, metrics and a socket in `folder`.
fn proxy(chain: &Chain, folder: &Path) -> Process {
    let path = |name: &str| folder.join(name);
    fs::write(path("reports"), "").expect("a file");
    let text = format!(
        "[select]\ninterfaces = [\"ran\"]\n[radio]\nkind = \"json_lines\"\npath = {:?}\n\
         [operation]\nsocket = {:?}\n",
        path("reports"),
        path("proxy.sock"),
    );
    fs::write(path("rapid.toml"), text).expect("a file");
    let child = chain.inside(Place::Middle, || {
        let mut command = Command::new(JUSTFULL);
        command.args(["proxy", "run", "--config"]).arg(path("rapid.toml"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    Process(child.expect("it starts"))
}

/// The output of `justfull proxy WHAT --json`.
fn told(folder: &Path, what: &str) -> Option<Value> {
    let done = Command::new(JUSTFULL)
        .args(["proxy", what, "--json", "--socket"])
        .arg(folder.join("proxy.sock"))
        .output()
        .expect("the program starts");
    serde_json::from_slice(&done.stdout).ok().filter(|_| done.status.success())
}

/// Writes a report of 10 Mbit/s of capacity for the UE every 10 ms, until `stop`.
fn report(folder: &Path, stop: &AtomicBool) {
    let mut file = OpenOptions::new().append(true).open(folder.join("reports")).expect("a file");
    for n in 1_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let line = format!(
            "{{\"ue\": \"10.45.0.1\", \"at_us\": {}, \"cell\": \"bytes\", \"slot_us\": 1000, \
             \"slots\": 10, \"offered\": 12500, \"used\": 0}}\n",
            n * 10_000
        );
        file.write_all(line.as_bytes()).expect("it is written");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A download of UE 1 through the proxy, until `stop`.
fn download(chain: &Chain, stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let server = SocketAddr::new(Chain::server()[0], 8_080);
    let listener = chain.inside(Place::Server, || TcpListener::bind(server));
    let listener = listener.expect("it listens");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten().take(1) {
            while stream.write_all(&[7; 16_384]).is_ok() {}
        }
    });
    let mut stream = chain
        .inside(Place::Ue, || TcpStream::connect_timeout(&server, LIMIT))
        .expect("it connects");
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        let mut part = vec![0; 65_536];
        while !stop.load(Ordering::Relaxed) && stream.read(&mut part).is_ok_and(|read| read > 0) {
            // Limits the rate of the download, since the links of the namespaces have no limit.
            thread::sleep(Duration::from_millis(5));
        }
    })
}

#[test]
fn a_proxy_in_service_is_watched_with_the_capacity_rates_and_windows_of_its_own_answers() {
    if !can_build() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let chain = Chain::build(2, Mtus::ETHERNET).expect("three hosts");
    let _proxy = proxy(&chain, folder.path());
    until("the proxy answers", || told(folder.path(), "status"));
    let socket = folder.path().join("proxy.sock");
    let page = Served::watching(folder.path(), &[socket.to_str().expect("text")]);
    let stop = Arc::new(AtomicBool::new(false));
    let client = download(&chain, &stop);
    thread::scope(|scope| {
        scope.spawn(|| report(folder.path(), &stop));
        let seen = watched(&page, folder.path());
        let looked = seen.and_then(|()| looked_at(&page));
        stop.store(true, Ordering::Relaxed);
        looked.expect("the page shows the proxy");
    });
    client.join().expect("it ends");
}

/// Compares the page's values with the proxy's values.
fn watched(page: &Served, folder: &Path) -> Result<(), String> {
    let flow = until("the proxy reports the connection with its window", || {
        let flows = told(folder, "flows")?;
        let flow = flows.as_array()?.first()?.clone();
        flow["radio_window"].is_u64().then_some(flow)
    });
    let (answer, point) = until("the page has the rate and the capacity", || {
        let (status, body) = page.own("GET", "/api/watch/0", "");
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).ok()?;
        let point = answer["points"].as_array()?.last()?.clone();
        let is_full = point["rate_mbit_s"]["to the UEs"].as_f64()? > 0.1
            && point["capacity_mbit_s"].is_f64()
            && point["level"]["windows of the radio legs, kB"].is_f64();
        is_full.then_some((answer, point))
    });
    let status = told(folder, "status").ok_or("no status")?;
    let row = &answer["rows"][0];
    for (what, found, expected) in [
        ("client", &row["client"], &flow["client"]),
        ("server", &row["server"], &flow["server"]),
        ("kind", &answer["runs"]["0"]["kind"], &"proxy".into()),
        ("state", &answer["now"]["state"], &status["state"]),
        ("control", &answer["now"]["control"], &status["control"]),
        ("source", &answer["now"]["source"], &status["radio"]["state"]),
        ("connections", &answer["now"]["open"], &status["flows"]),
    ] {
        if found != expected || found.is_null() {
            return Err(format!("{what}: {found} for {expected} in {answer} and {status}"));
        }
    }
    let capacity = point["capacity_mbit_s"].as_f64().unwrap_or_default();
    match (capacity - 10.0).abs() < 1.0 {
        true => Ok(()),
        false => Err(format!("{capacity} Mbit/s for the 10 of the reports: {status}")),
    }
}

/// Checks the page in a browser.
fn looked_at(page: &Served) -> Result<(), String> {
    let Some(mut browser) = Browser::new() else { return Ok(()) };
    browser.open(&format!("{}#view=live", page.url));
    browser.until("document.querySelectorAll('#live-table tbody tr').length === 1");
    let text = browser.text("document.getElementById('live-table').textContent");
    let answer = browser.text("document.getElementById('live-answer').textContent");
    let charts = browser.eval("document.querySelectorAll('#live-stage canvas').length");
    let faults = browser.faults();
    let is_sound = text.contains("10.45.0.1:")
        && text.contains("10.46.0.1:8080")
        && answer.starts_with("The proxy is running; control rapid")
        && charts == 3
        && faults.is_empty();
    if is_sound { Ok(()) } else { Err(format!("{answer}; {text}; {charts} charts; {faults:?}")) }
}
