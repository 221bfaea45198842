//! `justfull live --proxy`: the proxy between the servers and the stack, fed by the run's own
//! slots. As with parity, the measurements must pass in the first run or in both of the next two.
#![cfg(all(target_os = "linux", feature = "proxy"))]

#[expect(dead_code, reason = "the tests of lifecycles use the rest")]
mod room;

use room::{Run, json, now, room, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const JUSTFULL: &str = env!("CARGO_BIN_EXE_justfull");
/// A path of 10 ms to the servers and 20 ms to the UE, beside the slots.
const PATH: [&str; 4] = ["--set", "core.delay=10ms", "--set", "uplink.delay=30ms"];

/// Makes one run, and two more if the first misses, which must both hold.
fn two_of_three(mut once: impl FnMut(u32) -> Result<(), String>) {
    let Err(first) = once(0) else { return };
    println!("once more after: {first}");
    for run in 1..3 {
        once(run).unwrap_or_else(|again| panic!("{first}; and again: {again}"));
    }
}

/// Asks the proxy at `socket`.
fn ask(socket: &Path, question: &str) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    writeln!(stream, "{question}").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Starts a run of `scenario` behind a proxy with this configuration.
fn start(folder: &Path, scenario: &str, config: &str, words: &[&str]) -> Run {
    fs::write(folder.join("rapid.toml"), config).expect("the folder takes it");
    let all = [&["live", scenario, "-q", "--proxy", "rapid.toml"], words].concat();
    Run::of(JUSTFULL, folder, &all)
}

/// The run's flow with this name.
fn flow<'a>(result: &'a Value, name: &str) -> &'a Value {
    let flows = result["groups"][0]["runs"][0]["flows"].as_array().expect("flows");
    flows.iter().find(|flow| flow["name"] == name).unwrap_or_else(|| panic!("{name}: {flows:#?}"))
}

#[test]
fn the_scenarios_flows_pass_a_proxy_that_keeps_the_queue_short() {
    room("the_scenarios_flows_pass_a_proxy_that_keeps_the_queue_short", |folder| {
        let words = ["--duration", "5s", "--set", "warmup=2s", "--out", "r", "--reports", "lines"];
        let done = start(folder, "live-lte", "", &[&words[..], &PATH].concat()).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.contains("note: proxy: rapid by"), "{}", done.stdout);
        let proxy = &json(folder.join("r/proxy.json"))["runs"][0];
        let (status, radio) = (&proxy["status"], &proxy["status"]["radio"]);
        assert_eq!((&status["accepted"], &radio["garbled"]), (&1.into(), &0.into()), "{status}");
        assert!(radio["taken"].as_u64().is_some_and(|n| n > 300), "every 10 ms: {radio}");
        assert_eq!(status["ues"][0]["ue"], "10.45.0.1/32");
        let result = json(folder.join("r/result.json"));
        let (bulk, call) = (flow(&result, "bulk"), flow(&result, "call"));
        let legs = ["server_rtt", "radio_rtt"].map(|leg| bulk["proxy"][leg]["mean_ms"].as_f64());
        assert!(legs.iter().all(|ms| ms.is_some_and(|ms| ms >= 20.0)), "{legs:?}");
        assert!(call["proxy"].is_null(), "datagrams pass untouched");
        assert!(call["delivered_packets"].as_u64().is_some_and(|n| n > 100), "{call}");
        let delay = call["delay"]["p50_ms"].as_f64().expect("a delay");
        assert!(delay < 20.0, "without the proxy it is 150 ms: {delay}");
        let live = &json(folder.join("r/live.json"))["runs"][0];
        let wan = live["wan"].as_array().expect("the way to the servers");
        assert!(wan.iter().all(|way| way["delivered"].as_u64().is_some_and(|n| n > 1_000)));
        let lines = fs::read_to_string(folder.join("lines")).expect("reports");
        assert!(lines.lines().count() > 300 && lines.starts_with("{\"ue\":[\"10.45.0.1\""));
    });
}

/// A report of a live run.
struct Reported {
    ms: u64,
    cell: String,
    blocks: u64,
    offered: u64,
}

/// The reports in the file `lines` about a UE, in order.
fn reports_of(lines: &Path, ue: &str) -> Vec<Reported> {
    let text = fs::read_to_string(lines).expect("reports");
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let reported = |report: Value| {
        let number = |key: &str| report[key].as_u64().expect("a number");
        let cell = report["cell_id"].as_str().expect("a name").to_owned();
        let (ms, blocks, offered) = (number("at_us") / 1_000, number("blocks"), number("offered"));
        Reported { ms, cell, blocks, offered }
    };
    all.filter(|report| report["ue"][0] == ue).map(reported).collect()
}

/// The share of its cell that a UE got in `time`, in ms: the median of its reports, which pauses of
/// a machine with other load do not change.
fn share(reports: &[Reported], time: std::ops::Range<u64>) -> f64 {
    let within = reports.iter().filter(|report| time.contains(&report.ms));
    median(within.map(|report| report.blocks as f64 / report.offered as f64).collect())
}

/// A run of `r22-two-cells-live` under RAPID: two phones alone in their cells for some 3.5 s, then
/// one that moves from the slow cell to the fast one at 7 s.
fn two_cells(folder: &Path, out: &str) {
    let times = [
        "flow.0.tcp.size=8MB",
        "flow.1.tcp.size=3600kB",
        "flow.2.start=4500ms",
        "ue.2.cell=east",
        "ue.2.moves=[{ at = '7s', cell = 'west' }]",
    ];
    let times = times.iter().flat_map(|set| ["--set", *set]);
    let words = ["--method", "RAPID", "--duration", "9s", "--out", out, "--reports", "lines"];
    let words: Vec<&str> = words.into_iter().chain(times).collect();
    let done = start(folder, "r22-two-cells-live", "", &words).end();
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains(", 1 moves of UEs"), "{}", done.stdout);
}

/// The windows of each cell kept to it, each report was taken, and every packet is accounted for.
fn is_sound(out: &Path) {
    let proxy = &json(out.join("proxy.json"))["runs"][0];
    for cell in ["west", "east"] {
        let share = proxy["greatest_shares"][cell].as_f64().expect("it had windows");
        assert!(share > 0.1 && share <= 1.0 + 1e-9, "{cell}: {share}");
    }
    let status = &proxy["status"];
    assert_eq!((&status["accepted"], &status["radio"]["moves"]), (&3.into(), &1.into()));
    for none in ["unknown_cell", "garbled", "disputed", "absurd"] {
        assert_eq!(status["radio"][none], 0, "{none}: {status}");
    }
    let run = &json(out.join("result.json"))["groups"][0]["runs"][0];
    assert!(run["broken"].is_null(), "{}", run["broken"]);
    let handovers = run["cells"]["handovers"].as_array().expect("handovers");
    assert_eq!((handovers.len(), &handovers[0]["outcome"]), (1, &"complete".into()));
    let live = &json(out.join("live.json"))["runs"][0];
    assert_eq!((&live["reports"]["moves"], &live["reports"]["lost"]), (&1.into(), &0.into()));
    for file in ["handovers.csv", "cells.csv"] {
        assert!(out.join(file).is_file(), "{file}");
    }
}

#[test]
fn each_of_two_cells_is_shared_by_its_own_ues_and_a_ue_moves_with_its_reports() {
    let test = "each_of_two_cells_is_shared_by_its_own_ues_and_a_ue_moves_with_its_reports";
    room(test, |folder| {
        two_of_three(|run| {
            let out = format!("r{run}");
            two_cells(folder, &out);
            is_sound(&folder.join(&out));
            let of = |ue: &str| reports_of(&folder.join("lines"), ue);
            let [west, east, moves] = ["10.45.0.1", "10.45.0.2", "10.45.0.3"].map(of);
            assert!(west.len() > 700 && west.iter().all(|report| report.cell == "west"));
            assert!(east.len() > 700 && east.iter().all(|report| report.cell == "east"));
            let changes = moves.windows(2).filter(|pair| pair[0].cell != pair[1].cell);
            let changes: Vec<u64> = changes.map(|pair| pair[1].ms).collect();
            let &[first] = &changes[..] else { panic!("one move: {changes:?}") };
            // Preparation and interruption take 70 ms.
            assert!((7_070..7_500).contains(&first), "{first}");
            // 300 ms after the first report, and 100 ms for a machine with other load.
            let from = first + 400;
            let shares = [
                share(&west, 1_500..3_000),
                share(&east, 1_500..3_000),
                share(&moves, from..from + 500),
            ];
            println!("shares of the cells: {shares:.3?}");
            let live = &json(folder.join(&out).join("live.json"))["runs"][0];
            if live["lateness"]["late"] == true {
                println!("not judged: the machine is busy");
                return Ok(());
            }
            // Half of the cell, if the proxy knew only one; 0.45, if the windows stayed behind.
            match shares.iter().all(|share| *share >= 0.9) {
                true => Ok(()),
                false => Err(format!("{shares:.3?}")),
            }
        });
    });
}

#[test]
fn reports_of_a_cell_that_the_proxy_does_not_know_are_counted_and_the_flow_there_goes_on() {
    let test =
        "reports_of_a_cell_that_the_proxy_does_not_know_are_counted_and_the_flow_there_goes_on";
    room(test, |folder| {
        // From 1.07 s on the UE is in a cell without reports.
        let times = [
            "--set",
            "flow.2.start=0s",
            "--set",
            "ue.2.moves=[{ at = '1s', cell = 'east' }]",
            "--set",
            "warmup=3s",
            "--duration",
            "6s",
        ];
        let words = ["--method", "RAPID", "--out", "r"];
        let config = "[cells]\nnames = [\"west\"]\n";
        let run = start(folder, "r22-two-cells-live", config, &[&words[..], &times].concat());
        let done = run.end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.contains(" reports of unknown cells"), "{}", done.stdout);
        let status = &json(folder.join("r/proxy.json"))["runs"][0]["status"];
        let [unknown, moves] = ["unknown_cell", "moves"].map(|key| status["radio"][key].as_u64());
        assert!(unknown > Some(400) && moves == Some(0), "{status}");
        let rate = flow(&json(folder.join("r/result.json")), "moves")["goodput_mbit_s"].as_f64();
        assert!(rate > Some(1.0), "{rate:?} Mbit/s");
    });
}

#[test]
fn ipv6_passes_the_proxy_and_unselected_packets_pass_by() {
    room("ipv6_passes_the_proxy_and_unselected_packets_pass_by", |folder| {
        let config = "[select]\nports = [\"5201\"]\n";
        let server = ["--serve", "iperf3 -s", "--serve", "iperf3 -s -p 5300"];
        let command = "sleep 0.5; iperf3 -6 -c server -R -t 1 && iperf3 -c server -R -t 1 && \
                       iperf3 -6 -c server -p 5300 -t 1 && ping -c 2 -W 3 server";
        let words = ["--duration", "25s", "--out", "r", "--", "sh", "-c", command];
        let done = start(folder, "live-lte", config, &[&PATH[..], &server, &words].concat()).end();
        assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
        let status = &json(folder.join("r/proxy.json"))["runs"][0]["status"];
        assert_eq!(status["accepted"], 4, "control and data, of each family: {status}");
        assert_eq!(status["ues_known"], 1, "both families are one UE: {status}");
    });
}

#[test]
fn a_proxy_that_fails_is_the_runs_failure_and_a_wrong_file_is_refused() {
    room("a_proxy_that_fails_is_the_runs_failure_and_a_wrong_file_is_refused", |folder| {
        let run = start(folder, "live-lte", "", &["--duration", "60s", "--out", "r"]);
        wait_until("the proxy runs", || proxy().is_some());
        thread::sleep(Duration::from_secs(1));
        let pid = proxy().expect("it runs").to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill").success());
        let done = run.end();
        let wanted = "justfull: cannot run the proxy: it ended with status 137: ";
        assert!(done.code == 1 && done.error().starts_with(wanted), "{}", done.stderr);
        assert!(folder.join("r/result.json").exists(), "the results are those up to then");

        let log = "[operation]\nlog = \"/no/such/folder/log\"\n";
        let done = start(folder, "live-lte", log, &["--duration", "60s", "--no-files"]).end();
        let wanted = "justfull: cannot run the proxy: it ended with status 2: ";
        assert!(done.code == 2 && done.error().starts_with(wanted), "{}", done.stderr);

        for (config, words, wanted) in [
            ("[timeouts]\nidle = \"0s\"\n", &[][..], "rapid.toml: field `timeouts.idle`"),
            ("[select]\ninterfaces = [\"any\"]\n", &[], "found [\"any\"], and no UE is behind"),
            ("", &["--set", "uplink.delay=1ms"], "uplink.delay is 1ms"),
            ("", &["--proxy", "nothing.toml"], "cannot be used multiple times"),
        ] {
            let words = [&["--set", "core.delay=5ms"], words].concat();
            let done = start(folder, "live-lte", config, &words).end();
            assert!(done.code == 2 && done.stderr.contains(wanted), "{}", done.stderr);
        }
        let words = ["live", "r22-live-fast", "--method", "RAPID", "--no-files"];
        let done = Run::of(JUSTFULL, folder, &words).end();
        assert!(done.code == 2 && done.error().contains("or `--proxy FILE`"));
    });
}

#[test]
fn parity_runs_a_method_with_a_proxy_behind_one_and_compares_both_legs() {
    room("parity_runs_a_method_with_a_proxy_behind_one_and_compares_both_legs", |folder| {
        let words = ["parity", "live-lte", "-q", "--json", "--allow-late", "--method", "RAPID"];
        let time = ["--duration", "3s", "--set", "warmup=1s"];
        let done = Run::of(JUSTFULL, folder, &[&words[..], &time, &PATH].concat()).end();
        assert!(done.error().contains("too short"), "{}", done.stderr);
        let line: Value = serde_json::from_str(&done.stdout).expect("a line of JSON");
        let rows = line["rows"].as_array().expect("rows");
        for what in ["goodput, Mbit/s", "RTT to the proxy, median ms", "RTT from the proxy, p95 ms"]
        {
            let row = rows.iter().find(|row| row["what"] == format!("bulk: {what}"));
            let row = row.unwrap_or_else(|| panic!("{what}: {rows:#?}"));
            let [simulated, live] = ["simulated", "live"].map(|side| row[side].as_f64());
            assert!(simulated > Some(0.0) && live > Some(0.0), "{row}");
        }
        let status = &line["proxy"][0]["status"];
        assert_eq!(status["accepted"], 1, "{status}");
        let taken = status["radio"]["taken"].as_u64();
        assert!(taken.is_some_and(|n| n > 1_500), "each ms, as in the simulation: {taken:?}");
    });
}

/// The process number of the proxy in this room.
fn proxy() -> Option<u32> {
    let mut found = fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let command = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        command.starts_with(JUSTFULL).then_some(())?;
        command.contains("\0proxy\0run\0").then_some(pid)
    });
    found.next()
}

/// A sample of the first connection.
struct Sample {
    at: Duration,
    server: f64,
    advertised: f64,
    radio: f64,
    in_flight: f64,
    wired: f64,
    slow: bool,
    /// Longest time that one of the run's threads waited for a processor since the previous sample.
    waited: Duration,
}

/// A thread that waits longer than this for a processor disturbs the proxy's measurements.
const HELD_UP: Duration = Duration::from_millis(4);
/// Time for which such a wait affects the proxy's measurements.
const SHOWS: Duration = Duration::from_secs(1);

/// Nanoseconds that each thread in the room has waited for a processor, by its path in `/proc`: the
/// time that a busy machine takes from a run, measured beside it.
fn waits() -> BTreeMap<PathBuf, u64> {
    let folders = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let is_process = |name: &OsStr| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    let processes = folders(Path::new("/proc")).filter(|entry| is_process(&entry.file_name()));
    let threads =
        processes.flat_map(|process| folders(&process.path().join("task")).collect::<Vec<_>>());
    let wait = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let waited = text.split_whitespace().nth(1)?.parse().ok()?;
        Some((thread.path(), waited))
    };
    threads.filter_map(wait).collect()
}

/// The longest wait of one thread between `before` and `after`.
fn longest(before: &BTreeMap<PathBuf, u64>, after: &BTreeMap<PathBuf, u64>) -> Duration {
    let of = |(thread, waited): (&PathBuf, &u64)| {
        waited.saturating_sub(before.get(thread).copied().unwrap_or(*waited))
    };
    Duration::from_nanos(after.iter().map(of).max().unwrap_or(0))
}

/// True if no thread of the run was held up from `from` to `to`.
fn is_calm(samples: &[Sample], from: Duration, to: Duration) -> bool {
    samples.iter().filter(|s| from <= s.at && s.at <= to).all(|s| s.waited <= HELD_UP)
}

/// The proxy's answers about its first connection at `socket`, every 10 ms for `time`.
fn samples(socket: &Path, time: Duration) -> Vec<Sample> {
    let (begin, mut found) = (now(), Vec::new());
    let (mut before, mut waited) = (waits(), Duration::ZERO);
    while begin.elapsed() < time {
        let after = waits();
        waited = waited.max(longest(&before, &after));
        before = after;
        if let Some(Value::Array(flows)) = ask(socket, "flows")
            && let Some(flow) = flows.first()
        {
            let number = |name: &str| flow[name].as_f64();
            let sample = || {
                Some(Sample {
                    at: begin.elapsed(),
                    server: number("server_window")?,
                    advertised: number("advertised")?,
                    radio: number("radio_window")?,
                    in_flight: number("in_flight")?,
                    wired: number("wired_rtt_s")?,
                    slow: flow["category"] == "slow",
                    waited,
                })
            };
            if let Some(sample) = sample() {
                found.push(sample);
                waited = Duration::ZERO;
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
    found
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// For each step of the server's window by more than a half: the time until the advertised window
/// follows, the time allowed, and whether no thread was held up then. Allowed are 4 round trips up,
/// and down 2 or the time to fill the offered window.
fn steps(samples: &[Sample]) -> Vec<(f64, f64, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < samples.len() {
        let (old, new) = (&samples[at], &samples[at + 1]);
        let ratio = new.server / old.server;
        if (0.67..1.5).contains(&ratio) {
            at += 1;
            continue;
        }
        // The settled value, 100 ms later.
        let settled = samples.iter().find(|s| s.at >= new.at + Duration::from_millis(100));
        let Some(settled) = settled else { break };
        let wanted = settled.server;
        let follows = samples[at + 1..].iter().find(|s| {
            if ratio > 1.0 { s.advertised >= 0.9 * wanted } else { s.advertised <= 1.1 * wanted }
        });
        let took = follows.map_or(f64::INFINITY, |s| (s.at - new.at).as_secs_f64());
        let rate = wanted / settled.wired;
        let allowed = if ratio > 1.0 {
            4.0 * settled.wired
        } else {
            f64::max(2.0 * settled.wired, (old.advertised - wanted) / rate)
        };
        let span = Duration::from_millis(500);
        let calm = is_calm(samples, new.at.saturating_sub(SHOWS), new.at + span);
        found.push((took, allowed, calm));
        at = samples
            .iter()
            .position(|s| s.at >= new.at + Duration::from_millis(500))
            .unwrap_or(samples.len());
    }
    found
}

#[test]
fn windows_follow_the_radio_and_what_is_in_flight_is_what_rapid_says() {
    room("windows_follow_the_radio_and_what_is_in_flight_is_what_rapid_says", |folder| {
        two_of_three(|run| {
            let socket = folder.join(format!("proxy{run}"));
            let config = format!("[operation]\nsocket = {:?}\n", socket.display().to_string());
            // Alternately 16 and 8 Mbit/s.
            let radio = ["--set", "channel.mcs=[28, 16]", "--set", "channel.row=2500ms"];
            let words = ["--duration", "13s", "--no-files"];
            let scenario = "r22-live-cbr-150";
            let run = start(folder, scenario, &config, &[&words[..], &radio].concat());
            wait_until("the proxy answers", || ask(&socket, "status").is_some());
            let samples = samples(&socket, Duration::from_secs(12));
            let done = run.end();
            assert_eq!(done.code, 0, "{}", done.stderr);
            let is_steady = |s: &&Sample| {
                s.at > Duration::from_secs(2) && is_calm(&samples, s.at.saturating_sub(SHOWS), s.at)
            };
            let steady: Vec<&Sample> = samples.iter().filter(is_steady).collect();
            println!("{} of {} samples without a thread held up", steady.len(), samples.len());
            // The time that other work of the machine takes from a run is no fault of the proxy.
            if 2 * steady.len() < samples.len() {
                println!("not judged: the machine is busy");
                return Ok(());
            }
            let flight = median(steady.iter().map(|s| s.in_flight / s.radio).collect());
            let steps = steps(&samples);
            println!("in flight {flight:.3} of the window; steps {steps:.3?}");
            if !(0.9..=1.1).contains(&flight) {
                return Err(format!("in flight: {flight:.3} of the window"));
            }
            // Data that waits in the proxy after a fall does not mean that the download needs less.
            let slow = steady.iter().filter(|s| s.slow).count();
            if slow > 0 {
                return Err(format!("slow in {slow} of {} samples", steady.len()));
            }
            // A sample is 10 ms late, and later on a busy machine.
            let slack = 0.03;
            let calm: Vec<_> = steps.iter().filter(|(.., calm)| *calm).collect();
            let held = calm.iter().filter(|(took, allowed, _)| *took <= allowed + slack).count();
            if steps.len() < 2 || 3 * held < 2 * calm.len() {
                return Err(format!("{held} of {} steps: {steps:.3?}", steps.len()));
            }
            Ok(())
        });
    });
}

/// The treatment of a report on its way to the proxy.
const TRUE: u8 = 0;
const NONE: u8 = 1;
const STRANGE: u8 = 2;
const TWICE: u8 = 3;

/// Passes the lines of `from` on to `to` as `mode` specifies, until the run ends.
fn relay(from: &Path, to: &Path, mode: &AtomicU8) {
    let source = OpenOptions::new().read(true).write(true).open(from).expect("a pipe");
    let mut sink = OpenOptions::new().read(true).write(true).open(to).expect("a pipe");
    for line in BufReader::new(source).lines() {
        let mut line = line.expect("text");
        match mode.load(Ordering::Relaxed) {
            NONE => continue,
            STRANGE => {
                let other = line.replace("10.45.0.1", "10.99.0.1").replace("fd45::1", "fd99::1");
                line = format!("{line}\nnonsense\n{other}");
            }
            TWICE => line = twice(&line),
            u8::MAX => return,
            _ => {}
        }
        writeln!(sink, "{line}").expect("the proxy reads");
    }
}

/// A report with doubled values.
fn twice(line: &str) -> String {
    let mut report: Value = serde_json::from_str(line).expect("a report");
    for key in ["offered", "used", "blocks", "repeats", "bytes", "backlog"] {
        report[key] = (2 * report[key].as_u64().expect("a number")).into();
    }
    report.to_string()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

/// The bytes that the proxy's connections have passed down.
fn down(socket: &Path) -> f64 {
    let flows = ask(socket, "flows").unwrap_or_default();
    flows.as_array().into_iter().flatten().filter_map(|flow| flow["bytes_down"].as_f64()).sum()
}

/// Bytes per second over the next `time`, and the time until `told` holds in it.
fn phase(socket: &Path, time: Duration, told: impl Fn(&Value) -> bool) -> (f64, Duration) {
    let (begin, before): (Instant, f64) = (now(), down(socket));
    let mut since = None;
    while begin.elapsed() < time {
        if since.is_none() && ask(socket, "status").is_some_and(|status| told(&status)) {
            since = Some(begin.elapsed());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let rate = (down(socket) - before) / begin.elapsed().as_secs_f64();
    (rate, since.unwrap_or(Duration::MAX))
}

#[test]
fn reports_that_stop_or_lie_are_told_at_once_and_cost_little() {
    room("reports_that_stop_or_lie_are_told_at_once_and_cost_little", |folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        [&from, &to].into_iter().for_each(|path| fifo(path));
        two_of_three(|run| {
            let socket = folder.join(format!("proxy{run}"));
            let config = format!(
                "[operation]\nsocket = {:?}\n[radio]\nkind = \"json_lines\"\npath = {:?}\n",
                socket.display().to_string(),
                to.display().to_string()
            );
            let out = format!("r{run}");
            let words = ["--duration", "17s", "--out", &out, "--force", "--reports", "from"];
            let mode = AtomicU8::new(TRUE);
            thread::scope(|scope| {
                let relay = scope.spawn(|| relay(&from, &to, &mode));
                let run = start(folder, "live-lte", &config, &[&words[..], &PATH].concat());
                wait_until("the proxy answers", || ask(&socket, "status").is_some());
                thread::sleep(Duration::from_secs(2));
                let seconds = Duration::from_secs;
                let (truth, _) = phase(&socket, seconds(3), |_| true);
                mode.store(NONE, Ordering::Relaxed);
                let stopped = |status: &Value| status["ues"][0]["radio"] == "stopped";
                let (silent, told) = phase(&socket, seconds(3), stopped);
                mode.store(STRANGE, Ordering::Relaxed);
                let strange = |status: &Value| {
                    let count = |name: &str| status["radio"][name].as_u64().unwrap_or_default();
                    count("garbled") > 0 && count("without_flows") > 0
                };
                let (odd, named) = phase(&socket, seconds(3), strange);
                mode.store(TWICE, Ordering::Relaxed);
                let (lied, _) = phase(&socket, seconds(3), |_| true);
                let done = run.end();
                // The proxy's last line wakes the relay.
                mode.store(u8::MAX, Ordering::Relaxed);
                let mut pipe = OpenOptions::new().write(true).open(&from).expect("the pipe");
                writeln!(pipe, "over").expect("it takes a line");
                relay.join().expect("no panic");
                assert_eq!(done.code, 0, "{}", done.stderr);
                let rates = [silent, odd, lied].map(|rate| rate / truth);
                println!("of {truth:.0} B/s: {rates:.3?}; told after {told:?}, {named:?}");
                let result = json(folder.join(&out).join("result.json"));
                let rlc = result["groups"][0]["runs"][0]["layers"].as_array().expect("layers");
                let drops = rlc.last().map(|layer| layer["drops"].to_string());
                let quick = told < seconds(1) && named < seconds(1);
                let steady = rates.iter().all(|rate| (0.8..1.25).contains(rate));
                let empty = drops.as_deref() == Some("[]");
                if quick && steady && empty {
                    return Ok(());
                }
                Err(format!("{rates:.3?} of {truth:.0}, told {told:?} {named:?}, drops {drops:?}"))
            })
        });
    });
}
