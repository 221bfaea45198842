//! `justfull live` from start to end under faults: the command ends, fails, forks or leaves;
//! signals come; the process is killed, or stopped and continued; an interface disappears; the disk
//! is full. Its ends are networks of its own or two existing interfaces.
#![cfg(target_os = "linux")]

mod room;

use room::{Run, files, json, room, sh, wait_until};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Asserts that all result files are there and complete.
fn results_are_whole(out: &Path) -> serde_json::Value {
    let names: Vec<String> = files(out)
        .iter()
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .collect();
    for name in [
        "result.json",
        "live.json",
        "report.html",
        "runs.csv",
        "runs.parquet",
        "series.csv",
        "flow_series.csv",
        "cdf.csv",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    assert!(names.iter().any(|name| name == "manifest.json"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
    let result = json(out.join("result.json"));
    assert_eq!(result["groups"][0]["runs"].as_array().map(Vec::len), Some(1), "one run");
    let told = json(out.join("live.json"));
    assert_eq!(told["allow_late"], false, "the result says whether lateness was to matter");
    let live = told["runs"][0].clone();
    accounts_close(&live);
    live
}

/// Asserts that every packet that arrived is counted in one place.
fn accounts_close(live: &serde_json::Value) {
    for way in ["down", "up"] {
        let account = &live[way];
        let count = |field: &str| account[field].as_u64().expect("a number");
        let malformed: u64 = account["malformed"]
            .as_array()
            .expect("by reason")
            .iter()
            .filter_map(|n| n.as_u64())
            .sum();
        let others = ["no_ue", "no_buffer", "dropped", "delivered", "refused", "queued"].map(count);
        assert_eq!(count("received"), malformed + others.iter().sum::<u64>(), "{account}");
    }
}

/// A command that creates `started` when it runs, leaves two well hidden processes behind, and
/// stays.
const STAYS: &str = "setsid sleep 1000 & env -i setsid sleep 1000 & touch started; sleep 1000";

#[test]
fn a_run_ends_with_its_command_and_with_its_status() {
    room("a_run_ends_with_its_command_and_with_its_status", |folder| {
        let done = Run::live(folder, &["--duration", "100s", "--out", "good", "--", "true"]).end();
        assert_eq!((done.code, done.stderr.lines().count()), (0, 1), "{}", done.stderr);
        // A run that ends at once has no data over time.
        assert!(
            done.stderr.starts_with("report: good/report.html; 7 tables and "),
            "{}",
            done.stderr
        );
        results_are_whole(&folder.join("good"));

        let done =
            Run::live(folder, &["--duration", "100s", "--out", "bad", "--", "sh", "-c", "exit 3"])
                .end();
        assert_eq!((done.code, done.error()), (1, "justfull: the command ended with status 3"));
        results_are_whole(&folder.join("bad"));

        let done = Run::live(
            folder,
            &["--duration", "100s", "--no-files", "--", "sh", "-c", "kill -9 $$"],
        )
        .end();
        assert_eq!((done.code, done.error()), (1, "justfull: the command ended with status 137"));

        let done =
            Run::live(folder, &["--duration", "100s", "--no-files", "--", "no-such-program"]).end();
        assert_eq!(done.code, 2, "it cannot be started");
        assert!(
            done.error().starts_with("justfull: cannot run `no-such-program` on ue0: "),
            "{}",
            done.stderr
        );
    });
}

#[test]
fn a_server_that_ends_early_and_a_warm_up_are_told() {
    room("a_server_that_ends_early_and_a_warm_up_are_told", |folder| {
        let words =
            ["--duration", "100s", "--no-files", "--serve", "exit 3", "--serve", "sleep 1000"];
        let done = Run::live(folder, &[&words[..], &["--", "sleep", "0.5"]].concat()).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let note = "note: the server `exit 3` ended before the run, with status 3";
        assert!(
            done.stdout.contains(note) && !done.stdout.contains("`sleep 1000`"),
            "{}",
            done.stdout
        );
        assert!(!done.stdout.contains("warm-up"), "{}", done.stdout);

        let words = ["--duration", "1500ms", "--no-files", "--set", "warmup=1s"];
        let done = Run::live(folder, &words).end();
        let note =
            "note: the first 1 s of 1.5 are warm-up, which the tables leave out: `--set warmup=0s`";
        assert!(done.stdout.contains(note), "{}", done.stdout);
        let done = Run::live(folder, &[&words[..], &["--", "true"]].concat()).end();
        assert!(
            done.stdout.contains("note: the run ended within its warm-up of 1 s"),
            "{}",
            done.stdout
        );
    });
}

#[test]
fn a_command_that_outlives_the_time_is_asked_to_end() {
    room("a_command_that_outlives_the_time_is_asked_to_end", |folder| {
        let command = "trap 'echo asked; exit' TERM; while :; do sleep 0.05; done";
        let done =
            Run::live(folder, &["--duration", "2s", "--no-files", "--", "sh", "-c", command]).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.starts_with("asked\n"), "{}", done.stdout);
        assert!(done.stderr.contains("the command was ended"), "{}", done.stderr);
    });
}

#[test]
fn processes_that_a_command_leaves_behind_end_with_the_run() {
    room("processes_that_a_command_leaves_behind_end_with_the_run", |folder| {
        let script = "setsid sleep 1000 & env -i setsid sleep 1000 & trap '' TERM; (while :; do \
                      sleep 1; done) & exit 0";
        let done =
            Run::live(folder, &["--duration", "100s", "--no-files", "--", "sh", "-c", script])
                .end();
        assert_eq!(done.code, 0, "{}", done.stderr);
    });
}

/// A process without this environment, in a network namespace and a session of its own, whose
/// parent has ended.
const HIDES: &str = "env -i unshare --net setsid sleep 1000 & sleep 0.2";

#[test]
fn a_command_that_hides_ends_with_the_run_and_after_a_killed_one_at_the_next() {
    let test = "a_command_that_hides_ends_with_the_run_and_after_a_killed_one_at_the_next";
    room(test, |folder| {
        let check = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &["live", "--check"]).end();
        let line = check.stdout.lines().find(|line| line.starts_with("cgroup for commands"));
        let contained = line.is_some_and(|line| line.contains(" yes "));
        if !contained {
            println!("skipped: {line:?}");
            return;
        }
        let done =
            Run::live(folder, &["--duration", "100s", "--no-files", "--", "sh", "-c", HIDES]).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let hidden = || room::left().iter().any(|line| line.contains("sleep 1000"));
        wait_until("it ends", || !hidden());

        let stays = format!("{HIDES}; touch started; sleep 1000");
        let run =
            Run::live(folder, &["--duration", "100s", "--no-files", "--", "sh", "-c", &stays]);
        wait_until("the command starts", || folder.join("started").exists());
        run.signal("-KILL");
        assert_eq!(run.end().code, 128 + 9);
        assert!(hidden(), "nothing ends it yet");
        let done = Run::live(folder, &["--duration", "100s", "--no-files", "--", "true"]).end();
        assert_eq!((done.code, &*done.stderr), (0, "removed what a killed run had left\n"));
        wait_until("it ends", || !hidden());
    });
}

#[test]
fn twenty_runs_that_start_at_once_do_not_disturb_each_other() {
    room("twenty_runs_that_start_at_once_do_not_disturb_each_other", |folder| {
        let runs = (0..20).map(|number| {
            let own = folder.join(number.to_string());
            fs::create_dir(&own).expect("a folder can be made");
            Run::live(&own, &["--duration", "100s", "--no-files", "--", "true"])
        });
        for run in runs.collect::<Vec<_>>() {
            let done = run.end();
            assert_eq!((done.code, &*done.stderr), (0, ""), "{}", done.stdout);
        }
    });
}

#[test]
fn the_scenarios_own_flows_end_without_complaint() {
    room("the_scenarios_own_flows_end_without_complaint", |folder| {
        let done = Run::live(folder, &["--duration", "1500ms", "--out", "out"]).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(!done.stderr.contains("flow "), "{}", done.stderr);
        let live = results_are_whole(&folder.join("out"));
        assert!(live["down"]["delivered"].as_u64() > Some(100), "{live}");
    });
}

/// 20 kB alone take three round trips of about 50 ms; SSH's handshake takes at least five more of
/// at least 36 ms.
#[test]
fn a_session_over_ssh_comes_whole_after_its_handshake_and_leaves_nothing() {
    room("a_session_over_ssh_comes_whole_after_its_handshake_and_leaves_nothing", |folder| {
        let mut run =
            vec!["live", "r22-live-short-flow", "--method", "Vanilla", "--duration", "5s"];
        for set in [
            "warmup=0s",
            "flow.session.start=1s",
            "flow.session.tcp.size=20kB",
            "flow.cubic.tcp.size=10kB",
            "flow.cubic2.tcp.size=10kB",
        ] {
            run.extend(["--set", set]);
        }
        run.extend(["--out", "out"]);
        let done = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &run).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(!done.stderr.contains("flow session"), "{}", done.stderr);
        let result = json(folder.join("out").join("result.json"));
        let flows = result["groups"][0]["runs"][0]["flows"].as_array().expect("flows").clone();
        let session = flows.iter().find(|flow| flow["name"] == "session").expect("a session");
        let took = session["received_s"].as_f64().zip(session["started_s"].as_f64());
        let took = took.map(|(whole, start)| whole - start).expect("it came whole");
        assert!(took > 8.0 * 0.036 && took < 4.0, "{took} s");
    });
}

/// The simulated run's counterpart: `run_files.rs`.
#[test]
fn a_slow_bearer_under_ttlred2_drops_what_has_waited_out_its_lifetime() {
    room("a_slow_bearer_under_ttlred2_drops_what_has_waited_out_its_lifetime", |folder| {
        let mut run = vec!["live", "slow-bearer", "--method", "TTLRED2", "--switch", "live"];
        run.extend(["--duration", "5s", "--set", "warmup=0s", "--out", "out"]);
        // Lifetimes of a second, so that five seconds suffice.
        run.extend(["--set", "rlc.queue.aqm.low=100ms", "--set", "rlc.queue.aqm.high=1s"]);
        let done = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &run).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let result = json(folder.join("out").join("result.json"));
        let layers = result["groups"][0]["runs"][0]["layers"].as_array().expect("layers");
        let rlc = layers.iter().find(|layer| layer["layer"] == "rlc").expect("RLC");
        let drops = rlc["drops"].as_array().expect("by reason");
        let dropped = drops.iter().find(|drop| drop[0] == "aqm_timeout");
        assert!(dropped.is_some_and(|drop| drop[1].as_u64() > Some(0)), "{rlc}");
        accounts_close(&json(folder.join("out").join("live.json"))["runs"][0]);
    });
}

#[test]
fn a_signal_in_the_midst_ends_in_order_and_keeps_the_results() {
    room("a_signal_in_the_midst_ends_in_order_and_keeps_the_results", |folder| {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let _none_before = fs::remove_file(folder.join("started"));
            let run = Run::live(
                folder,
                &["--duration", "100s", "--flows", "--out", &signal[1..], "--", "sh", "-c", STAYS],
            );
            wait_until("the command starts", || folder.join("started").exists());
            thread::sleep(Duration::from_millis(300));
            run.signal(signal);
            let done = run.end();
            assert_eq!(
                (done.code, done.error()),
                (1, "justfull: interrupted; the results are those up to then")
            );
            results_are_whole(&folder.join(&signal[1..]));
        }
    });
}

#[test]
fn a_run_that_ignores_hangups_stays_and_the_third_signal_ends_any_run_at_once() {
    let test = "a_run_that_ignores_hangups_stays_and_the_third_signal_ends_any_run_at_once";
    room(test, |folder| {
        let program = env!("CARGO_BIN_EXE_justfull");
        let live = format!("{program} live live-lte --set warmup=0s -q --duration");
        // Like `nohup`.
        let line = format!(
            "trap '' HUP; exec {live} 1500ms --out out -- sh -c 'touch started; sleep 1000'"
        );
        let run = Run::of("sh", folder, &["-c", &line]);
        wait_until("the command starts", || folder.join("started").exists());
        run.signal("-HUP");
        let done = run.end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert_eq!(json(folder.join("out/result.json"))["groups"][0]["runs"][0]["duration_s"], 1.5);

        // A capture into a pipe without a reader never ends.
        let line = format!(
            "mkfifo pipe; exec 3<>pipe; {live} 1s --out whole --flows --pcapng pipe & echo $! \
             >pid; wait $!"
        );
        let run = Run::of("sh", folder, &["-c", &line]);
        wait_until("it starts", || {
            fs::read_to_string(folder.join("pid")).is_ok_and(|pid| pid.ends_with('\n'))
        });
        let pid = fs::read_to_string(folder.join("pid")).expect("a number");
        wait_until("its results are written", || folder.join("whole/report.html").exists());
        for _ in 0..3 {
            sh(&format!("kill -TERM {}", pid.trim()));
            thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(run.end().code, 128 + 15);
    });
}

#[test]
fn a_signal_between_the_runs_of_a_parity_ends_it() {
    room("a_signal_between_the_runs_of_a_parity_ends_it", |folder| {
        let words = ["parity", "live-lte", "-q", "--duration", "100s", "--tries", "100"];
        let run = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &words);
        let said = || fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        // Stopped before the live run begins, it is not late; stopped later, it is.
        while !said().contains("once more in") {
            thread::sleep(Duration::from_millis(500));
            run.signal("-STOP");
            thread::sleep(Duration::from_millis(500));
            run.signal("-CONT");
        }
        run.signal("-INT");
        let done = run.end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        assert!(done.stderr.contains("justfull: ended by a signal"), "{}", done.stderr);
        assert_eq!(done.stdout, "", "nothing is judged");
    });
}

#[test]
fn the_next_start_removes_the_remains_of_a_killed_run() {
    room("the_next_start_removes_the_remains_of_a_killed_run", |folder| {
        let run = Run::live(folder, &["--duration", "100s", "--no-files", "--", "sh", "-c", STAYS]);
        wait_until("the command starts", || folder.join("started").exists());
        run.signal("-KILL");
        assert_eq!(run.end().code, 128 + 9);
        let found = room::left();
        assert!(
            found.iter().any(|line| line.contains("sleep 1000"))
                && found.iter().any(|line| line.contains("/run/justfull")),
            "{found:?}"
        );
        let done = Run::live(folder, &["--duration", "100s", "--no-files", "--", "true"]).end();
        assert_eq!((done.code, &*done.stderr), (0, "removed what a killed run had left\n"));
    });
}

#[test]
fn a_run_that_was_stopped_goes_on_and_says_so() {
    room("a_run_that_was_stopped_goes_on_and_says_so", |folder| {
        let run = Run::live(
            folder,
            &["--duration", "2s", "--flows", "--out", "out", "--", "sh", "-c", STAYS],
        );
        wait_until("the command starts", || folder.join("started").exists());
        thread::sleep(Duration::from_millis(300));
        run.signal("-STOP");
        thread::sleep(Duration::from_secs(2));
        run.signal("-CONT");
        let done = run.end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(
            done.stdout.contains("held up ") && done.stdout.contains("taken out of the run"),
            "{}",
            done.stdout
        );
        let live = results_are_whole(&folder.join("out"));
        assert!(live["stops"].as_u64() >= Some(1) && live["lateness"]["late"] == true, "{live}");
        let result = json(folder.join("out").join("result.json"));
        assert_eq!(result["groups"][0]["runs"][0]["duration_s"], 2.0, "the run has its whole time");
    });
}

#[test]
fn an_interface_that_goes_ends_the_run_with_one_error_that_names_it() {
    room("an_interface_that_goes_ends_the_run_with_one_error_that_names_it", |folder| {
        let deletes = "sleep 0.5; ip link del jf0; sleep 1000";
        let done = Run::live(
            folder,
            &["--duration", "100s", "--flows", "--out", "ue", "--", "sh", "-c", deletes],
        )
        .end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        // A deleted link is down before it disappears.
        assert!(done.error().contains("UE 0's side: the interface jf0 "), "{}", done.stderr);
        assert!(!done.stderr.contains("flow "), "the rest follows from it: {}", done.stderr);
        let live = results_are_whole(&folder.join("ue"));
        assert!(live["fault"].as_str().is_some_and(|fault| fault.contains("jf0")), "{live}");
        assert!(live["down"]["delivered"].as_u64() > Some(0), "{live}");

        // From outside: the namespace is found by a process in it.
        let run = Run::live(
            folder,
            &[
                "--duration",
                "100s",
                "--out",
                "server",
                "--serve",
                "echo $$ >pid; sleep 1000",
                "--flows",
            ],
        );
        wait_until("the server starts", || {
            fs::read_to_string(folder.join("pid")).is_ok_and(|pid| pid.ends_with('\n'))
        });
        let pid = fs::read_to_string(folder.join("pid")).expect("a number");
        // The run ends all processes in its namespaces, so it may end this one too.
        sh(&format!("nsenter --net --target {} ip link del jf0 || true", pid.trim()));
        let done = run.end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        assert!(done.error().contains("the server's side: the interface jf0 "), "{}", done.stderr);
        results_are_whole(&folder.join("server"));
    });
}

#[test]
fn a_disk_that_fills_keeps_the_results_that_it_takes_and_names_the_others() {
    room("a_disk_that_fills_keeps_the_results_that_it_takes_and_names_the_others", |folder| {
        let disk = folder.join("disk");
        fs::create_dir(&disk).expect("a folder can be made");
        let on = |size: &str| {
            sh(&format!("mount -t tmpfs -o size={size} small {}", disk.display()));
            let done =
                Run::live(folder, &["--duration", "1s", "--flows", "--out", "disk/out"]).end();
            let found: Vec<PathBuf> =
                files(&disk).into_iter().filter(|path| path.is_file()).collect();
            let manifest = fs::read_to_string(disk.join("out/manifest.json")).unwrap_or_default();
            sh(&format!("umount {}", disk.display()));
            assert_eq!(done.code, 2, "{}", done.stderr);
            assert!(done.error().contains("No space left on device"), "{}", done.stderr);
            (done, found, manifest)
        };
        let (done, found, _) = on("48k");
        assert!(
            done.error().starts_with("justfull: --out: found disk/out: "),
            "before the run: {}",
            done.stderr
        );
        assert!(found.is_empty(), "{found:?}");

        let (done, found, manifest) = on("112k");
        assert!(done.error().starts_with("justfull: cannot write disk/out/"), "{}", done.stderr);
        assert!(
            done.error().ends_with("files are kept, manifest.json names the others"),
            "{}",
            done.stderr
        );
        assert!(done.stdout.contains("packets came"), "the table is shown: {}", done.stdout);
        let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("it is whole");
        let count = |key: &str| manifest[key].as_array().map_or(0, Vec::len);
        assert!(count("missing") > 0 && count("files") > 1, "{manifest}");
        assert_eq!(found.len(), count("files") + 1, "no half file: {found:?}");
        assert!(found.iter().any(|path| path.ends_with("live.json")), "{found:?}");
    });
}

/// The kinds of the blocks of a pcapng file, all of which must be complete.
fn blocks(capture: &[u8]) -> Vec<u32> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().expect("four bytes"));
    let (mut kinds, mut at) = (Vec::new(), 0);
    while at < capture.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "the length stands at both ends");
        kinds.push(word(at));
        at += length;
    }
    kinds
}

#[test]
fn a_full_disk_keeps_the_packets_captured_before_and_all_other_files() {
    room("a_full_disk_keeps_the_packets_captured_before_and_all_other_files", |folder| {
        let small = folder.join("small");
        fs::create_dir(&small).expect("a folder can be made");
        sh(&format!("mount -t tmpfs -o size=200k small {}", small.display()));
        let arguments =
            ["--duration", "1s", "--flows", "--out", "out", "--pcapng", "small/live.pcapng"];
        let done = Run::live(folder, &arguments).end();
        let capture = fs::read(small.join("live.pcapng")).expect("it stays");
        let found = files(&small);
        sh(&format!("umount {}", small.display()));
        assert_eq!((done.code, found.len()), (1, 1), "{} {found:?}", done.stderr);
        let error = done.error();
        assert!(
            error.starts_with("justfull: cannot write small/live.pcapng: No space left on device"),
            "{error}"
        );
        assert!(error.ends_with("; what was captured before that is kept"), "{error}");
        let kinds = blocks(&capture);
        let packets = kinds.iter().filter(|kind| **kind == 6).count();
        assert!(
            packets > 100 && capture.len() > 150_000,
            "{packets} packets in {} bytes",
            capture.len()
        );
        results_are_whole(&folder.join("out"));
    });
}

/// Pseudorandom instants, the same in each run of the test (MMIX's linear congruential generator).
fn instants() -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(1), next).map(|state| state >> 33)
}

#[test]
fn soak_a_signal_at_any_instant_of_set_up_run_and_tear_down_leaves_nothing() {
    room("soak_a_signal_at_any_instant_of_set_up_run_and_tear_down_leaves_nothing", |folder| {
        let rounds = if std::env::var_os("JUSTFULL_SOAK").is_some() { 300 } else { 30 };
        let before = room::left();
        let (mut killed, mut ordered) = (0, 0);
        for (round, chance) in instants().take(rounds).enumerate() {
            let _none_before = fs::remove_file(folder.join("started"));
            // In every other round the command runs first, even on a slow machine; else the run
            // soon ends by itself.
            let stays = round % 2 == 1;
            let (time, within) = if stays { ("100s", 150) } else { ("200ms", 800) };
            let mut arguments = vec![
                "--duration",
                time,
                "--flows",
                "--serve",
                "sleep 1000",
                "--force",
                "--out",
                "out",
            ];
            arguments.extend([
                "--pcapng",
                "live.pcapng",
                "--metrics",
                "0",
                "--",
                "sh",
                "-c",
                STAYS,
            ]);
            let run = Run::live(folder, &arguments);
            if stays {
                wait_until("the command starts", || folder.join("started").exists());
            }
            thread::sleep(Duration::from_millis(chance % within));
            let signal = ["-KILL", "-TERM", "-INT", "-KILL", "-HUP"][round % 5];
            let ended = !run.try_signal(signal);
            let done = run.end();
            match done.code {
                137 if signal == "-KILL" => {
                    killed += 1;
                    let next =
                        Run::live(folder, &["--duration", "100s", "--no-files", "--", "true"])
                            .end();
                    assert_eq!(next.code, 0, "{}", next.stderr);
                }
                1 if signal != "-KILL" && done.error().contains("interrupted") => ordered += 1,
                // Before the handler for the signal is set; nothing has been made yet.
                129 | 130 | 143 if !stays => {}
                // After the run.
                0 if ended || !stays => {}
                other => panic!("round {round} ended with {other} after {signal}: {}", done.stderr),
            }
            room::nothing_is_left_but(&before);
        }
        let (least_killed, least_ordered) = (rounds / 5, rounds / 5);
        assert!(
            killed >= least_killed && ordered >= least_ordered,
            "{killed} killed, {ordered} ended in order"
        );
        let last =
            Run::live(folder, &["--duration", "100s", "--force", "--out", "out", "--", "true"])
                .end();
        assert_eq!(last.code, 0, "{}", last.stderr);
        results_are_whole(&folder.join("out"));
        let is_hidden = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".out"))
        };
        let found = files(folder);
        assert_eq!(found.iter().find(is_hidden), None, "what killed runs left is gone");
    });
}

/// Processes in a network namespace of their own, and the link here that leads there; all end with
/// this value.
struct Host {
    processes: Vec<Child>,
    link: String,
}

impl Host {
    /// A host connected to `link` in the namespace of this process by a virtual cable. Segmentation
    /// offload is off, so that a bridge sees the packets of a real wire.
    fn cabled(link: &str, addresses: &[&str]) -> Self {
        let child = Command::new("unshare")
            .args(["--net", "sleep", "1000"])
            .spawn()
            .expect("`unshare` is there");
        let host = Self { processes: vec![child], link: link.to_owned() };
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        wait_until("the host has its namespace", || {
            namespace(&host.pid().to_string()) != namespace("self")
        });
        sh(&format!(
            "ip link add {link} type veth peer name eth0 netns {} && ip link set {link} up",
            host.pid()
        ));
        host.sh("ip link set eth0 gso_max_segs 1 && ip link set eth0 up && ip link set lo up");
        for address in addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.sh(&format!("ip addr add {address} dev eth0 {nodad}"));
        }
        host
    }

    fn pid(&self) -> u32 {
        self.processes[0].id()
    }

    /// Starts a program that keeps running.
    fn start(&mut self, words: &[&str]) {
        let mut command = Command::new("nsenter");
        command
            .args(["--net", "--target", &self.pid().to_string()])
            .args(words)
            .stdout(Stdio::null());
        self.processes.push(command.spawn().expect("`nsenter` is there"));
    }

    fn sh(&self, line: &str) -> String {
        sh(&format!("nsenter --net --target {} sh -c '{line}'", self.pid()))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for process in &mut self.processes {
            process.kill().expect("it is ours");
            process.wait().expect("it ends");
        }
        // Connections without time to close keep the namespace, and with it the cable.
        sh(&format!("ip link del {} || true", self.link));
    }
}

/// A server and a UE on two cables, whose other ends are `a0` and `b0` here.
fn cabled() -> (Host, Host) {
    let server = Host::cabled("a0", &["10.99.0.1/24", "fd99::1/64"]);
    (server, Host::cabled("b0", &["10.99.0.2/24", "fd99::2/64"]))
}

#[test]
fn the_stack_between_two_interfaces_carries_pings_and_tcp_until_a_signal_comes() {
    room("the_stack_between_two_interfaces_carries_pings_and_tcp_until_a_signal_comes", |folder| {
        let (mut server, ue) = cabled();
        let run =
            Run::live(folder, &["--duration", "100s", "--out", "out", "--attach", "a0", "b0"]);
        // Nothing arrives before the stack is between them. With a deadline `ping` waits for late
        // answers too.
        ue.sh("ping -q -c 1 -w 20 10.99.0.1");
        let said =
            ue.sh("ping -q -c 5 -i 0.1 -w 20 10.99.0.1 && ping -q -c 5 -i 0.1 -w 20 fd99::1");
        assert_eq!(said.matches(" 5 received").count(), 2, "{said}");
        server.start(&["iperf3", "--server"]);
        let said = ue.sh("sleep 0.3; iperf3 --client 10.99.0.1 --reverse --bytes 2M --json");
        run.signal("-INT");
        let done = run.end();
        assert_eq!(done.code, 0, "nobody waited for its end: {}", done.stderr);
        let live = results_are_whole(&folder.join("out"));
        assert!(live["down"]["delivered_bytes"].as_u64() > Some(2_000_000), "{live}");
        assert_eq!(
            live["congestion_control"].as_array().map(Vec::len),
            Some(0),
            "routes are the hosts' own"
        );
        let transfer: serde_json::Value = serde_json::from_str(&said).expect("iperf3 gives JSON");
        let rate = transfer["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
        // The difference depends on the machine.
        assert!(rate > 0.0 && rate < 20e6, "through a cell of 20 Mbit/s: {rate}");
        drop((server, ue));
    });
}

#[test]
fn an_attached_run_ends_with_its_command_or_its_interface() {
    room("an_attached_run_ends_with_its_command_or_its_interface", |folder| {
        let hosts = cabled();
        let attach = [
            "--duration",
            "100s",
            "--force",
            "--out",
            "out",
            "--attach",
            "a0",
            "b0",
            "--",
            "sh",
            "-c",
        ];
        let with = |command| [attach.as_slice(), &[command]].concat();
        let done = Run::live(folder, &with("setsid sleep 1000 & exit 3")).end();
        assert_eq!((done.code, done.error()), (1, "justfull: the command ended with status 3"));

        let run = Run::live(folder, &with("setsid sleep 1000 & touch started; sleep 1000"));
        wait_until("the command starts", || folder.join("started").exists());
        // The run waits for a flapping link.
        let ping = |count: &str| hosts.1.sh(&format!("ping -q -c {count} -i 0.1 -w 20 10.99.0.1"));
        ping("1");
        sh("ip link set b0 down; sleep 0.4; ip link set b0 up; ip link set a0 down; sleep 0.2; \
            ip link set a0 up");
        let said = ping("3");
        assert!(said.contains(" 3 received"), "{said}");
        sh("ip link del b0");
        let done = run.end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        assert!(done.error().ends_with("the interface b0 has gone"), "{}", done.stderr);
        assert!(done.stdout.contains("an attached interface was down "), "{}", done.stdout);
        let live = results_are_whole(&folder.join("out"));
        let outages = &live["outages"];
        assert!(outages["count"].as_u64() >= Some(2), "{outages}");
        drop(hosts);
    });
}

#[test]
fn interfaces_that_cannot_be_attached_are_refused() {
    room("interfaces_that_cannot_be_attached_are_refused", |folder| {
        let hosts = cabled();
        let refused = |words: &[&str], why: &str| {
            let done = Run::live(
                folder,
                &[&["--no-files", "--duration", "100s", "--attach"], words].concat(),
            )
            .end();
            assert_eq!(done.code, 2, "{}", done.stderr);
            assert!(done.stderr.contains(why), "{}", done.stderr);
        };
        refused(
            &["a0", "nonesuch"],
            "justfull: cannot attach to nonesuch: there is no such interface",
        );
        refused(
            &["a0", "a0"],
            "justfull: cannot attach to a0: two different interfaces are needed",
        );
        refused(&["lo", "a0"], "justfull: cannot attach to lo: it is no Ethernet interface");
        refused(&["a0", "b0", "--shell", "ue"], "cannot be used with");
        refused(&["a0"], "2 values required");
        drop(hosts);
    });
}

/// The folder of an unprivileged user, with the program.
const HOME: &str = "/run/nobody";

/// `words` as the user `nobody`, without any capability.
fn as_nobody(words: &[&str]) -> room::Ended {
    let mut all = vec![
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "env",
        "-u",
        "XDG_RUNTIME_DIR",
    ];
    all.extend(["TMPDIR=/run/nobody", "/run/nobody/program", "live"]);
    all.extend(words);
    Run::of("setpriv", Path::new(HOME), &all).end()
}

/// A run for `nobody`.
const OWN_FLOWS: [&str; 8] =
    ["live-lte", "--set", "warmup=0s", "-q", "--flows", "--duration", "1500ms", "--out"];

/// Makes `HOME`, and `/dev/net/tun` with this mode, only in this room.
fn move_in(mode: &str) {
    sh(&format!("mkdir -p {HOME} && chown 65534:65534 {HOME} && touch {HOME}/program"));
    sh(&format!("mount -n --bind {} {HOME}/program", env!("CARGO_BIN_EXE_justfull")));
    sh(&format!("mount -n -t tmpfs room /dev/net && mknod -m {mode} /dev/net/tun c 10 200"));
}

fn move_out() {
    sh(&format!("umount -n /dev/net && umount -n {HOME}/program && rm -r {HOME}"));
}

#[test]
fn a_user_without_capabilities_runs_in_a_user_namespace_and_is_told_what_that_costs() {
    room(
        "a_user_without_capabilities_runs_in_a_user_namespace_and_is_told_what_that_costs",
        |_folder| {
            move_in("666");
            let allowed = Command::new("setpriv")
                .args([
                    "--reuid",
                    "65534",
                    "--regid",
                    "65534",
                    "--clear-groups",
                    "unshare",
                    "--user",
                    "true",
                ])
                .status()
                .expect("`setpriv` is there");
            let words = ["out", "--", "sh", "-c", "getent hosts server && id -u"];
            let done = as_nobody(&[&OWN_FLOWS[..], &words].concat());
            if allowed.success() {
                assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
                assert!(
                    done.stdout
                        .contains("without real-time priority, so that any other load delays"),
                    "{}",
                    done.stdout
                );
                let live = results_are_whole(&Path::new(HOME).join("out"));
                let why = live["priority"]["normal"].as_str().expect("a reason");
                assert!(why.contains("CAP_SYS_NICE"), "{why}");
                let done = as_nobody(&["--check"]);
                assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
                assert!(done.stdout.contains("in a user namespace of its own"), "{}", done.stdout);
            } else {
                println!("skipped: this kernel lets no user make a user namespace");
                assert_eq!(done.code, 2, "{}", done.stderr);
            }
            move_out();
        },
    );
}

#[test]
fn a_right_that_is_missing_is_named() {
    room("a_right_that_is_missing_is_named", |folder| {
        move_in("600");
        let done = as_nobody(&[&OWN_FLOWS[..], &["out"]].concat());
        assert_eq!(done.code, 2, "{}", done.stderr);
        let tun = done.error().contains("/dev/net/tun")
            && done.error().contains("this user may not open it");
        assert!(
            tun || done.error().contains("CAP_SYS_ADMIN and CAP_NET_ADMIN are needed"),
            "{}",
            done.stderr
        );

        let done = as_nobody(&["live-lte", "--no-files", "--attach", "lo", "eth0"]);
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.error().ends_with("needs CAP_NET_RAW (run as root)"), "{}", done.stderr);
        move_out();

        // A user namespace that forbids further ones, and no capability in it.
        let drop_all = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv \
                        --bounding-set=-all --inh-caps=-all --securebits=+noroot \"$0\" live \
                        live-lte --no-files --duration 10s";
        let words =
            ["--user", "--map-root-user", "sh", "-c", drop_all, env!("CARGO_BIN_EXE_justfull")];
        let done = Run::of("unshare", folder, &words).end();
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(
            done.error().contains("CAP_SYS_ADMIN and CAP_NET_ADMIN are needed (run as root)"),
            "{}",
            done.stderr
        );
    });
}
