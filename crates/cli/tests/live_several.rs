//! `justfull live` with several methods and repeats: one folder, one run after the other, and the
//! results left if one aborts.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of lifecycles use the rest")]
mod room;

use room::{Run, files, json, room, sh, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;

const JUSTFULL: &str = env!("CARGO_BIN_EXE_justfull");

/// Starts runs of two methods in `folder`.
fn start(folder: &Path, words: &[&str]) -> Run {
    let both = ["live", "live-lte", "--method", "Vanilla", "--method", "CoDel", "--allow-late"];
    Run::of(JUSTFULL, folder, &[&both[..], words].concat())
}

/// Method and seed of each run in a list.
fn names(runs: &Value) -> Vec<(&str, u64)> {
    let name = |run: &'_ Value| run["seed"].as_u64().expect("a seed");
    let runs = runs.as_array().expect("a list");
    runs.iter().map(|run| (run["method"].as_str().expect("a method"), name(run))).collect()
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).expect("text").lines().count()
}

#[test]
fn methods_and_repeats_come_into_one_folder_that_compares_with_a_simulated_one() {
    let test = "methods_and_repeats_come_into_one_folder_that_compares_with_a_simulated_one";
    room(test, |folder| {
        let words = "--runs 2 --duration 2500ms --set warmup=500ms --flows --json --out live \
                     --pcapng p.pcapng";
        let mut words: Vec<&str> = words.split(' ').collect();
        let command = "echo >>ran; sleep 100";
        words.extend(["--serve", "echo >>served; sleep 100", "--", "sh", "-c", command]);
        let done = start(folder, &words).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let told: Vec<&str> = done.stderr.lines().filter(|line| line.contains(" of 2,")).collect();
        let expected = [
            "Vanilla: method 1 of 2, repeat 1 of 2",
            "CoDel: method 2 of 2, repeat 1 of 2",
            "Vanilla: method 1 of 2, repeat 2 of 2",
            "CoDel: method 2 of 2, repeat 2 of 2",
        ];
        assert_eq!(told, expected, "{}", done.stderr);
        assert_eq!([lines(&folder.join("ran")), lines(&folder.join("served"))], [4, 4]);

        let out = folder.join("live");
        let runs = [("Vanilla", 1), ("Vanilla", 2), ("CoDel", 1), ("CoDel", 2)];
        let live = json(out.join("live.json"));
        assert_eq!(names(&live["runs"]), runs);
        let result = json(out.join("result.json"));
        assert_eq!(names(&result["groups"][0]["runs"]), runs);
        assert_eq!(result["missing"], Value::Array(Vec::new()));
        for file in ["report.html", "runs.csv", "runs.jsonl", "manifest.json"] {
            assert!(out.join(file).is_file(), "{file}: {:?}", files(&out));
        }
        let answer: Value = serde_json::from_str(&done.stdout).expect("JSON");
        assert_eq!(answer["folder"], "live");
        for (method, seed) in runs {
            let capture = fs::metadata(folder.join(format!("p-{method}-seed{seed}.pcapng")));
            assert!(capture.is_ok_and(|file| file.len() > 10_000), "{method} {seed}");
            // Once for each run, or once for all.
            let note = format!("{method}, seed {seed}: woken every");
            assert!(answer["notes"].to_string().contains(&note), "{}", answer["notes"]);
        }
        let rows = answer["rows"].as_array().expect("a list");
        let of = |method: &str| rows.iter().filter(|row| row["method"] == method).count();
        assert_eq!([of("Vanilla"), of("CoDel")], [4, 4], "flows and seeds");

        sh(&format!(
            "cd {} && {JUSTFULL} check live && {JUSTFULL} run live-lte -q --method Vanilla \
             --method CoDel --runs 2 --set duration=2500ms --set warmup=500ms --out simulated",
            folder.display()
        ));
        let compare = format!("cd {} && {JUSTFULL} compare simulated live", folder.display());
        let text = sh(&compare);
        let found: Value = serde_json::from_str(&sh(&format!("{compare} --json"))).expect("JSON");
        for method in ["Vanilla", "CoDel"] {
            for flow in ["bulk", "call"] {
                let rows = found["differences"].as_array().expect("rows");
                let of = |row: &&Value| row["method"] == method && row["flow"] == flow;
                let row = rows.iter().find(of);
                let row = row.unwrap_or_else(|| panic!("{method} {flow}: {found:#}"));
                let runs = [&row["base"]["n"], &row["others"][0]["own"]["n"]];
                assert_eq!(runs, [2, 2], "{row:#}");
            }
        }
        assert!(text.contains("call") && text.contains("CoDel"), "{text}");
    });
}

#[test]
fn every_point_of_a_sweep_is_run_under_its_label() {
    room("every_point_of_a_sweep_is_run_under_its_label", |folder| {
        let words = "--duration 1500ms --set warmup=500ms --flows --out live --pcapng p.pcapng";
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend(["--grid", "core.delay=[5ms, 150ms]"]);
        let done = start(folder, &words).end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let told: Vec<&str> = done.stderr.lines().filter(|line| line.contains(" of 2,")).collect();
        let expected = [
            "Vanilla, core.delay_ms 5: point 1 of 2, method 1 of 2, repeat 1 of 1",
            "CoDel, core.delay_ms 5: point 1 of 2, method 2 of 2, repeat 1 of 1",
            "Vanilla, core.delay_ms 150: point 2 of 2, method 1 of 2, repeat 1 of 1",
            "CoDel, core.delay_ms 150: point 2 of 2, method 2 of 2, repeat 1 of 1",
        ];
        assert_eq!(told, expected, "{}", done.stderr);

        let both = [("Vanilla", 1), ("CoDel", 1)];
        let result = json(folder.join("live/result.json"));
        let live = json(folder.join("live/live.json"));
        for (point, ms) in [5.0, 150.0].into_iter().enumerate() {
            let group = &result["groups"][point];
            assert_eq!(names(&group["runs"]), both, "{ms} ms");
            assert_eq!(group["x"][0], "core.delay_ms");
            assert_eq!(group["x"][1].as_f64(), Some(ms));
            for (n, (method, _)) in both.into_iter().enumerate() {
                let told = &live["runs"][2 * point + n];
                assert_eq!(told["method"], method);
                assert_eq!(told["point"], format!("core.delay_ms {ms}"));
                let name = format!("p-{method}-core.delay_ms={ms}-seed1.pcapng");
                assert!(folder.join(&name).is_file(), "{name}: {:?}", files(folder));
                // The run is the one of its label: no round trip is shorter.
                let flows = group["runs"][n]["flows"].as_array().expect("flows");
                let rtt = flows.iter().find(|flow| flow["name"] == "bulk").expect("its flow");
                let least = rtt["rtt"]["min_ms"].as_f64().expect("it was measured");
                assert!(least >= ms, "{ms}: {least}");
                assert!(ms > 5.0 || least < 150.0, "{ms}: {least}");
            }
        }
        for heading in ["core.delay 5 ms", "core.delay 150 ms"] {
            assert!(done.stdout.contains(heading), "{heading}: {}", done.stdout);
        }
        let rows = fs::read_to_string(folder.join("live/runs.jsonl")).expect("text");
        let with = |ms: f64| {
            let of = |line: &&str| {
                let row: Value = serde_json::from_str(line).expect("JSON");
                row["x_value"].as_f64() == Some(ms)
            };
            rows.lines().filter(of).count()
        };
        assert_eq!([with(5.0), with(150.0)], [4, 4], "{rows}");
    });
}

#[test]
fn an_interruption_keeps_the_runs_that_are_done_and_names_the_others() {
    room("an_interruption_keeps_the_runs_that_are_done_and_names_the_others", |folder| {
        // The first run ends by itself, the second does not.
        let command = "test ! -e one || { touch two; sleep 1000; }; touch one; sleep 0.5";
        let words = ["--set", "warmup=0s", "--duration", "100s", "--runs", "2", "--out", "out"];
        let run = start(folder, &[&words[..], &["-q", "--", "sh", "-c", command]].concat());
        wait_until("the second run's command starts", || folder.join("two").exists());
        run.signal("-INT");
        let done = run.end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        let said = "justfull: interrupted, 3 of the runs are missing:\n  live-lte: Vanilla, seed \
                    2\n  live-lte: CoDel, seed 1\n  live-lte: CoDel, seed 2\n";
        assert!(done.stderr.ends_with(said) && !done.stderr.contains(" of 2,"), "{}", done.stderr);
        let result = json(folder.join("out/result.json"));
        assert_eq!(names(&result["groups"][0]["runs"]), [("Vanilla", 1)]);
        assert_eq!(result["missing"].as_array().map(Vec::len), Some(3), "{}", result["missing"]);
        assert_eq!(names(&json(folder.join("out/live.json"))["runs"]), [("Vanilla", 1)]);

        // No run is finished, so the older results stay.
        fs::remove_file(folder.join("two")).expect("it was made");
        let run =
            start(folder, &[&words[..], &["-q", "--force", "--", "sh", "-c", command]].concat());
        wait_until("the first run's command starts", || folder.join("two").exists());
        run.signal("-TERM");
        let done = run.end();
        assert_eq!(done.code, 1, "{}", done.stderr);
        assert!(done.stderr.contains("4 of the runs are missing"), "{}", done.stderr);
        let result = json(folder.join("out/result.json"));
        assert_eq!(names(&result["groups"][0]["runs"]), [("Vanilla", 1)]);
    });
}

#[test]
fn a_failed_command_is_named_and_a_bad_option_is_refused_before_the_first_run() {
    let test = "a_failed_command_is_named_and_a_bad_option_is_refused_before_the_first_run";
    room(test, |folder| {
        let words = ["--set", "warmup=0s", "--duration", "100s", "--out", "out", "--", "sh", "-c"];
        // The first run fails, the second does not.
        let command = "test -e one || { touch one; exit 7; }";
        let done = start(folder, &[&words[..], &[command]].concat()).end();
        let said = "justfull: the command ended with status 7: Vanilla, seed 1";
        assert_eq!((done.code, done.error()), (1, said));
        let both = [("Vanilla", 1), ("CoDel", 1)];
        assert_eq!(names(&json(folder.join("out/live.json"))["runs"]), both);

        sh(&format!("mkfifo {}/pipe", folder.display()));
        let refused = [
            (&["--method", "CoDle"][..], "CoDle"),
            (&["--runs", "0"], "runs"),
            (&["--method", "RAPID"], "proxy.control"),
            (&["--reports", "pipe"], "--reports pipe: found what is no file; allowed with several"),
            (&["--pcapng", "/dev/null"], "--pcapng /dev/null: found what is no file"),
            (&["--runs", "2", "--", "no-such-program"], "no-such-program"),
        ];
        for (words, part) in refused {
            let done = start(folder, &[&["--out", "none"], words].concat()).end();
            assert!(done.code == 2 && done.error().contains(part), "{part}: {}", done.stderr);
            assert!(!folder.join("none").exists(), "{part}");
        }
    });
}
