//! The outputs of a live run in progress: a capture and metrics.
//!
//! Without the right to build networks the test prints a note and is skipped; under `CI` this is a
//! failure.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

fn justfull() -> Command {
    Command::new(env!("CARGO_BIN_EXE_justfull"))
}

fn can_run() -> bool {
    let check = justfull().args(["live", "--check"]).output().expect("it starts");
    if !check.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&check.stderr));
        assert!(std::env::var_os("CI").is_none(), "live runs must not be skipped in CI");
    }
    check.status.success()
}

/// Packets by interface: their first bytes and their comments.
fn packets(capture: &[u8]) -> BTreeMap<u32, Vec<(Vec<u8>, String)>> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().expect("four bytes"));
    let mut found: BTreeMap<u32, Vec<(Vec<u8>, String)>> = BTreeMap::new();
    let mut at = 0;
    while at < capture.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "the length stands at both ends");
        if word(at) == 6 {
            let kept = word(at + 20) as usize;
            let option = at + 28 + kept.next_multiple_of(4);
            let text = u16::from_le_bytes([capture[option + 2], capture[option + 3]]) as usize;
            let comment =
                String::from_utf8_lossy(&capture[option + 4..option + 4 + text]).into_owned();
            found
                .entry(word(at + 8))
                .or_default()
                .push((capture[at + 28..at + 28 + kept].to_vec(), comment));
        }
        at += length;
    }
    found
}

/// The address in the line about `what`, which is among the first of `lines`.
fn address(lines: &mut impl Iterator<Item = std::io::Result<String>>, what: &str) -> String {
    let line = lines.map(|line| line.expect("text")).find(|line| line.contains(what));
    let line = line.unwrap_or_else(|| panic!("it says where `{what}` is"));
    line.split_once("http://")
        .and_then(|(_, rest)| rest.split_once('/'))
        .expect("an address")
        .0
        .to_owned()
}

/// The whole answer to a request for `path`.
fn get(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_live_run_is_captured_and_tells_metrics_and_radio_information() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("live.pcapng");
    let mut child = justfull()
        .args([
            "live",
            "live-lte",
            "--duration",
            "3s",
            "--set",
            "warmup=500ms",
            "--no-files",
            "--metrics",
            "0",
            "--rnis",
            "0",
            "--pcapng",
        ])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let metrics_at = address(&mut lines, "metrics at ");
    let rnis_at = address(&mut lines, "radio information at ");
    // The loop ends when packets arrive; the duration of the run bounds it.
    let (mut metrics, mut delivered) = (String::new(), 0.0);
    while delivered == 0.0 {
        std::thread::sleep(Duration::from_millis(100));
        let mut stream =
            TcpStream::connect(&metrics_at).unwrap_or_else(|error| panic!("{error}: {metrics}"));
        metrics = get(&mut stream, "/metrics");
        delivered = metrics
            .lines()
            .find_map(|line| {
                let down = "justfull_datagrams_total{way=\"down\",outcome=\"delivered\",";
                line.strip_prefix(down)?.rsplit_once(' ')?.1.parse::<f64>().ok()
            })
            .unwrap_or(0.0);
    }
    let mut stream = TcpStream::connect(&rnis_at).expect("it listens");
    let reports = get(&mut stream, "/justfull/v1/ran_reports?ue_ipv4_address=10.45.0.1");
    assert!(reports.contains(r#"{"type":1,"value":"10.45.0.1"}"#), "{reports}");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let status = child.wait().expect("it ends");
    // Lateness is a property of this machine.
    let late = rest.last().is_some_and(|line| line.starts_with("justfull: the run is late"));
    assert!(status.success() || late, "{status}: {rest:?}");
    let found = packets(&std::fs::read(&file).expect("a capture"));
    for (interface, word) in
        [(0, "sojourn="), (1, "sojourn="), (2, "sojourn="), (3, "total="), (4, "up")]
    {
        let of = found.get(&interface).map_or(&[][..], Vec::as_slice);
        assert!(!of.is_empty(), "interface {interface}");
        assert!(of.iter().all(|(bytes, _)| bytes[0] >> 4 == 4), "real IPv4 headers");
        assert!(of.iter().any(|(_, comment)| comment.contains(word)), "{word}: {:?}", of[0]);
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_one_error_before_anything_starts() {
    if !can_run() {
        return;
    }
    let run = justfull()
        .args(["live", "live-lte", "--no-files", "--pcapng", "/no/such/folder/x.pcapng"])
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("/no/such/folder/x.pcapng"), "{error}");
}

/// A run of `command` that only `time` ends, at the point where it prints the address of its
/// metrics; its later output is discarded.
fn watched(out: &Path, time: &str) -> (Child, String, BufReader<ChildStderr>) {
    // Tests in the background, or under `nohup`, must not pass on ignored signals.
    let mut child = Command::new("env")
        .args([
            "--default-signal",
            env!("CARGO_BIN_EXE_justfull"),
            "live",
            "live-lte",
            "--duration",
            time,
            "--set",
            "warmup=0s",
            "--allow-late",
            "--metrics",
            "0",
            "--out",
        ])
        .arg(out)
        .args(["--", "sleep", "1000"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let address = address(&mut said.by_ref().lines(), "metrics at ");
    (child, address, said)
}

/// A client that announces a million bytes and sends one, and a client that sends requests
/// endlessly and reads nothing.
fn holders(address: &str) -> [TcpStream; 2] {
    let connect = || TcpStream::connect(address).expect("it listens");
    let (mut slow, mut deaf) = (connect(), connect());
    slow.write_all(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
        .expect("sent");
    deaf.set_write_timeout(Some(Duration::from_millis(200))).expect("a time");
    // The server may drop it meanwhile.
    let _refused =
        deaf.write_all("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50_000).as_bytes());
    [slow, deaf]
}

/// Its status; none if it had to be killed.
fn end(mut child: Child) -> Option<i32> {
    for _ in 0..300 {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    panic!("nothing ended the run");
}

#[test]
fn clients_that_hold_on_keep_a_run_from_neither_its_end_nor_its_results() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for signal in ["none", "INT", "TERM", "HUP"] {
        let out = folder.path().join(signal);
        let (child, address, _said) = watched(&out, if signal == "none" { "1s" } else { "1000s" });
        let held = holders(&address);
        if signal != "none" {
            let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
            assert!(sent.expect("`kill` is there").success());
        }
        assert_eq!(end(child), Some(i32::from(signal != "none")), "{signal}");
        assert!(out.join("live.json").is_file() && out.join("result.json").is_file(), "{signal}");
        drop(held);
    }
}

/// A number of the line `name` in the kernel's status of a process.
fn told(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn idle_clients_and_an_endless_line_take_neither_memory_nor_threads() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (child, address, _said) = watched(&folder.path().join("out"), "1000s");
    let pid = child.id();
    let before = told(pid, "VmRSS:");
    let mut idle = std::collections::VecDeque::new();
    let mut threads = 0;
    for i in 0..1_000 {
        idle.push_back(TcpStream::connect(&address).expect("it listens"));
        // As many descriptors as any user may have.
        if idle.len() > 800 {
            idle.pop_front();
        }
        if i % 100 == 99 {
            threads = threads.max(told(pid, "Threads:"));
        }
    }
    let mut endless = TcpStream::connect(&address).expect("it listens");
    let piece = vec![b'a'; 1 << 20];
    let sent = (0..1 << 10).take_while(|_| endless.write_all(&piece).is_ok()).count();
    let (grown, threads) =
        (told(pid, "VmHWM:").saturating_sub(before), threads.max(told(pid, "Threads:")));
    let stopped = Command::new("kill").args(["-s", "TERM", &pid.to_string()]).status();
    assert!(stopped.expect("`kill` is there").success());
    assert_eq!(end(child), Some(1));
    assert!(
        grown < 16 << 10 && threads < 32,
        "{grown} kB more and {threads} threads; {sent} MB of a line were taken"
    );
}
