//! `justfull campaign` under external faults.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const TEXT: &str = "scenarios = [\"nr-100mhz\"]\nmethods = [\"Vanilla\", \"DRQL\"]\nseeds = 60\n\
                    [set]\nduration = \"2s\"\nwarmup = \"500ms\"\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("study.toml"), TEXT).expect("it is written");
    folder
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.arg("campaign").args(args).current_dir(folder).env_remove("JUSTFULL_DATA");
    command
}

fn campaign(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the program runs")
}

fn status(folder: &Path, out: &str) -> Value {
    let told = campaign(folder, &["status", "study.toml", "--out", out, "--json"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    serde_json::from_slice(&told.stdout).expect("JSON")
}

/// All rows of a dataset in order, with the columns of its parts.
fn rows(folder: &Path, out: &str) -> Vec<String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let (mut rows, mut folders) = (Vec::new(), vec![folder.join(out).join("parts")]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "parquet") {
                let reader = SerializedFileReader::new(fs::File::open(path).expect("a part"));
                let reader = reader.expect("Parquet");
                let all = reader.get_row_iter(None).expect("rows");
                rows.extend(all.map(|row| row.expect("a row").to_string()));
            }
        }
    }
    rows.sort();
    rows
}

#[test]
fn a_campaign_that_is_killed_three_times_goes_on_and_makes_nothing_twice() {
    let folder = folder();
    let run = ["run", "study.toml", "-j", "2", "-q"];
    let done = campaign(folder.path(), &[&run[..], &["--out", "whole"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut killed = 0;
    for _ in 0..3 {
        let mut child: Child = command(folder.path(), &[&run[..], &["--out", "killed"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        // Killed right after its addition to the ledger, while it makes the next parts.
        let ledger = folder.path().join("killed/ledger.jsonl");
        let length = || fs::metadata(&ledger).map_or(0, |found| found.len());
        let before = length();
        while length() < before + 300 && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        killed += usize::from(child.try_wait().expect("a child").is_none());
        child.kill().expect("SIGKILL");
        child.wait().expect("it has ended");
    }
    assert!(killed > 0, "it is slow enough to be killed");
    let known = status(folder.path(), "killed");
    assert!(known["done"].as_u64() > Some(0) && known["jobs"] == 120, "{known}");
    let done = campaign(folder.path(), &[&run[..], &["--out", "killed"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(status(folder.path(), "killed")["open"], 0);
    let rows_of = |out| rows(folder.path(), out);
    assert_eq!(rows_of("killed"), rows_of("whole"));
    assert_eq!(rows_of("whole").len(), 240, "two flows for each job");
}

#[test]
fn a_full_disk_ends_it_with_status_2_and_keeps_what_is_made() {
    let folder = folder();
    fs::create_dir(folder.path().join("small")).expect("a folder");
    // A separate file system in a namespace that ends with the shell.
    let script = "mount -t tmpfs -o size=100k none small || exit 77\n\
                  \"$PROGRAM\" campaign run study.toml -j 2 -q --out small/data; echo $? > code\n\
                  cp -r small/data kept";
    let shell = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .current_dir(folder.path())
        .env("PROGRAM", env!("CARGO_BIN_EXE_justfull"))
        .output()
        .expect("unshare runs");
    if shell.status.code() == Some(77) || !folder.path().join("code").exists() {
        assert!(std::env::var_os("CI").is_none(), "{}", String::from_utf8_lossy(&shell.stderr));
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let code = fs::read_to_string(folder.path().join("code")).expect("a status");
    let said = String::from_utf8_lossy(&shell.stderr);
    assert_eq!(code.trim(), "2", "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let known = status(folder.path(), "kept");
    assert!(known["done"].as_u64() > Some(0) && known["open"].as_u64() > Some(0), "{known}");
    let run = ["run", "study.toml", "-j", "2", "-q"];
    for out in ["kept", "whole"] {
        let done = campaign(folder.path(), &[&run[..], &["--out", out]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(rows(folder.path(), "kept"), rows(folder.path(), "whole"));
}

#[test]
fn a_folder_that_is_no_dataset_is_refused_with_status_2() {
    let folder = folder();
    let parts = folder.path().join("mine/parts/sub");
    fs::create_dir_all(&parts).expect("a folder");
    fs::write(parts.join(".gitkeep"), "").expect("it is written");
    fs::write(folder.path().join("mine/report.html"), "mine").expect("it is written");
    for args in [&["run", "study.toml", "-q"][..], &["report", "study.toml"]] {
        let refused = campaign(folder.path(), &[args, &["--out", "mine"]].concat());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("mine: found") && said.contains("dataset"), "{said}");
        assert!(parts.join(".gitkeep").exists());
        assert_eq!(fs::read(folder.path().join("mine/report.html")).expect("it is there"), b"mine");
        assert_eq!(fs::read_dir(folder.path().join("mine")).expect("a folder").count(), 2);
    }
}

#[test]
fn jobs_are_listed_and_mistakes_told() {
    let folder = folder();
    let listed = campaign(folder.path(), &["list", "study.toml", "--json"]);
    let text = String::from_utf8(listed.stdout).expect("UTF-8");
    let jobs: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(jobs.len(), 120);
    assert_eq!((&jobs[0]["method"], &jobs[0]["seed"]), (&"Vanilla".into(), &1.into()));
    fs::write(folder.path().join("bad.toml"), TEXT.replace("DRQL", "DRQX")).expect("written");
    let refused = campaign(folder.path(), &["run", "bad.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("did you mean DRQL"), "{said}");
    let mistyped = |file: &str, text: String| {
        fs::write(folder.path().join(file), text).expect("written");
        let refused = campaign(folder.path(), &["run", file]);
        assert_eq!(refused.status.code(), Some(2));
        String::from_utf8(refused.stderr).expect("UTF-8")
    };
    let line = "bad.toml: line 1, sedes: found an unknown field, allowed is one of `title`, ";
    let said = mistyped("bad.toml", format!("sedes = 3\n{TEXT}"));
    assert!(said.contains(line) && said.ends_with("; did you mean `seeds`?\n"), "{said}");
    let target = "\n[target]\nmetirc = \"delay.p99\"\nflow = \"call\"\nwithin = \"5%\"\nmost = 9\n";
    let said = mistyped("bad.toml", format!("{TEXT}{target}"));
    assert!(said.contains(", target.metirc: found an unknown field"), "{said}");
    assert!(said.ends_with("did you mean `metric`?\n") && said.lines().count() == 1, "{said}");
    assert!(!folder.path().join("results").exists(), "nothing is half written");
}

#[test]
fn a_campaign_is_named_by_its_folder_and_can_be_added_to() {
    let folder = folder();
    let file = folder.path().join("study.toml");
    let text = format!("# Of two cells.\n{}", TEXT.replace("60", "2"));
    fs::write(&file, &text).expect("it is written");
    let of = |args: &[&str]| {
        let done = campaign(folder.path(), args);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), serde_json::from_slice::<Value>(&done.stdout).ok(), said)
    };
    let place = "results/campaign/study";
    let (code, told, _) = of(&["run", "study.toml", "-q", "--json"]);
    assert_eq!((code, told.map(|told| told["done"].clone())), (Some(0), Some(4.into())));
    let (_, told, _) = of(&["status", place, "--json"]);
    assert_eq!(told.map(|told| told["done"].clone()), Some(4.into()));
    let add = ["add", place, "--seeds", "3", "--method", "CoDel", "-q", "--json"];
    let (code, told, said) = of(&add);
    let told = told.expect("JSON");
    assert_eq!((code, &told["jobs"], &told["done"]), (Some(0), &9.into(), &9.into()), "{said}");
    let more = fs::read_to_string(&file).expect("it reads");
    assert!(more.starts_with("# Of two cells.\n") && more.contains("\"CoDel\""), "{more}");
    for (args, expected) in [
        (["--seeds", "1"], "seeds: found 1, allowed is at least 3, the present number"),
        (["--method", "DRQX"], "did you mean DRQL"),
        (["--grid", "rlc.queue.limit=[1MB]"], "allowed is a campaign with a grid"),
    ] {
        let (code, _, said) = of(&[&["add", "study.toml"], &args[..]].concat());
        assert!(code == Some(2) && said.contains(expected), "{said}");
        assert_eq!(fs::read_to_string(&file).expect("it reads"), more, "nothing is half written");
    }
    let (code, _, said) = of(&["status", "results"]);
    assert!(code == Some(2) && said.contains("found another folder"), "{said}");
}

/// Checks the report of the campaign of the test below.
fn answers_and_escapes(page: &str) {
    for part in ["&lt;b&gt;", "12 of 12 made", "Differences to Vanilla", "<svg", "rlc.queue.limit"]
    {
        assert!(page.contains(part), "{part}");
    }
    // The source of the chart library contains `NaN`.
    let shown = page.split("<script>").next().expect("a page");
    let answer =
        page.split("<p class=\"answer\">").nth(1).and_then(|rest| rest.split("</p>").next());
    let answer = answer.expect("an answer");
    let begins = "At RLC queue limit 200 kB: under <b>Vanilla</b> one in a hundred packets of voip";
    assert!(answer.starts_with(begins) && answer.contains("under <b>DRQL</b>"), "{answer}");
    let first = page.split("<h2>").nth(1).and_then(|rest| rest.split('<').next());
    assert_eq!(first, Some("voip"), "the flow that needs a low delay");
    let lead = page.split("<h4>").nth(1).and_then(|rest| rest.split('<').next());
    assert_eq!(lead, Some("99th percentile of delay (ms) over RLC queue limit (kB)"));
    let rest = page.replace(answer, "");
    assert!(!rest.contains("<b>") && !shown.contains("NaN"));
}

#[test]
fn tables_reports_plots_and_comparisons_take_a_dataset() {
    let folder = folder();
    let text = TEXT.replace("60", "3").replace("\"2s\"", "\"4s\"");
    let grid = "[grid]\n\"rlc.queue.limit\" = [\"200kB\", \"2MB\"]\n";
    fs::write(folder.path().join("study.toml"), format!("title = \"<b>\"\n{text}{grid}"))
        .expect("it is written");
    let justfull = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let done = command.args(args).current_dir(folder.path()).output().expect("it runs");
        assert!(done.status.success(), "{args:?} {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    let place = "results/campaign/study";
    justfull(&["campaign", "run", "study.toml", "-q"]);
    // The same runs without a campaign give the same rows.
    let run = [
        "run",
        "nr-100mhz",
        "--method",
        "Vanilla",
        "--method",
        "DRQL",
        "--runs",
        "3",
        "-q",
        "-o",
        "run",
    ];
    let set = ["--set", "duration=4s", "--set", "warmup=500ms"];
    justfull(&[&run[..], &set, &["--grid", "rlc.queue.limit=[200kB, 2MB]"]].concat());
    let compared = justfull(&["compare", "run", place, "--json"]);
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    let differences = compared["differences"].as_array().expect("a list");
    assert_eq!(differences.len(), 2 * 2 * 2 * 4, "points, methods, flows, columns");
    for difference in differences {
        let change = &difference["others"][0]["change"];
        assert_eq!((&change["mean"], &change["n"]), (&0.0.into(), &3.into()), "{difference}");
    }
    let mean = |limit: &str, method: &str| {
        let is = |d: &&Value| d["point"].as_str().is_some_and(|p| p.ends_with(limit));
        let of = |d: &&Value| {
            (&d["flow"], &d["method"], &d["column"])
                == (&"voip".into(), &method.into(), &"delay_ms_mean".into())
        };
        let found = differences.iter().filter(is).find(of).expect("it is compared");
        found["base"]["mean"].as_f64().expect("a number")
    };
    let table = ["campaign", "table", place, "--flow", "voip", "--column", "delay.mean", "--json"];
    let table = justfull(&[&table[..], &["--against", "Vanilla"]].concat());
    let table: Value = serde_json::from_str(&table).expect("JSON");
    let rows = table["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    for (row, limit) in rows.iter().zip(["= 200", "= 2000"]) {
        let told = row["columns"][0]["mean"].as_f64().expect("a number");
        let expected = mean(limit, "DRQL") - mean(limit, "Vanilla");
        assert!((told - expected).abs() < 1e-9 && told != 0.0, "{row}");
        assert!(row["columns"][0]["ci95"].as_f64() > Some(0.0), "{row}");
    }
    justfull(&["campaign", "report", "study.toml", "--against", "Vanilla"]);
    let page = fs::read_to_string(folder.path().join(place).join("report.html")).expect("a page");
    answers_and_escapes(&page);
    let plot = ["plot", place, "--x", "rlc.queue.limit", "--y", "delay.p99", "--flow", "voip"];
    justfull(&[&plot[..], &["--kind", "line", "-o", "f.svg"]].concat());
    let figure = fs::read_to_string(folder.path().join("f.svg")).expect("a figure");
    assert!(figure.contains("DRQL") && figure.contains("99th percentile of delay (ms)"));
}

#[test]
fn jobs_that_took_too_long_are_made_again_when_asked() {
    let folder = folder();
    let file = folder.path().join("study.toml");
    let text = TEXT.replace("60", "2");
    fs::write(&file, format!("job_limit = \"1us\"\n{text}")).expect("it is written");
    let run =
        |args: &[&str]| campaign(folder.path(), &[&["run", "study.toml", "-q"], args].concat());
    let failed = run(&[]);
    assert_eq!(failed.status.code(), Some(1));
    let told = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(told.contains("it took more than job_limit, 1us of CPU"), "{told}");
    fs::write(&file, text).expect("it is written");
    assert_eq!(run(&[]).status.code(), Some(1), "what has failed stays so");
    assert_eq!(run(&["--retry"]).status.code(), Some(0));
    assert_eq!(status(folder.path(), "results/campaign/study")["done"], 4);
}

/// The overhead of a campaign of 10 000 runs is at most a tenth of the runs. `make test` runs a
/// tenth of it.
#[test]
fn methods_are_judged_on_drawn_cases_and_another_run_makes_nothing_again() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let judge = |more: &[&str]| {
        let words = ["judge", "--seed", "7", "--cases", "30", "-q", "-o", "x"];
        let short = ["--set", "duration=8s", "--set", "warmup=4s"];
        let methods = ["--method", "Justfull-2", "--method", "Justfull-2-split"];
        campaign(folder.path(), &[&words[..], &short, &methods, more].concat())
    };
    let told = judge(&["--json"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let verdicts: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let cases = verdicts["cases"].as_object().expect("cases");
    let apart = verdicts["apart"].as_array().expect("cases apart").len();
    assert_eq!(cases.len() + apart, 30);
    for (name, of) in cases {
        assert_eq!(of["Vanilla"]["goodput"], 1.0, "{name} has Vanilla's goodput as its measure");
    }
    for (name, of) in verdicts["floors"].as_object().expect("floors") {
        for (measure, lower) in
            [("delay_ms", true), ("goodput_mbit_s", false), ("round_trip_ms", true)]
        {
            let [floor, best] = ["floor", "best"].map(|what| of[measure][what].as_f64());
            let Some((floor, best)) = floor.zip(best) else { continue };
            // Columns round to three decimals; histogram percentiles are exact to 1 %.
            let holds = if lower { best >= 0.98 * floor } else { best <= 1.001 * floor + 0.001 };
            assert!(holds, "{name}, {measure}: floor {floor}, best {best}");
        }
    }
    let judged = verdicts["judged"].as_array().expect("verdicts");
    assert_eq!(judged.len(), 2 * 6, "two methods, each over all cases and for five round trips");
    let made = rows(folder.path(), "x/7-30");
    let of = |method: &str| {
        made.iter().filter(|row| row.contains(&format!("method: \"{method}\""))).count()
    };
    let (whole, split) = (of("Justfull-2"), of("Justfull-2-split"));
    assert!(0 < split && split < whole / 2, "only cases with CU and DU apart: {split} of {whole}");
    let before = made.len();
    let told = judge(&["--misses", "Vanilla", "--floors"]);
    let text = String::from_utf8_lossy(&told.stdout);
    assert!(text.contains("Vanilla:") && text.contains("rtt"), "{text}");
    assert!(text.contains("delay ms floor"), "{text}");
    assert_eq!(rows(folder.path(), "x/7-30").len(), before);
}

#[test]
fn a_draw_with_another_text_or_no_case_is_refused_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (words, named) in [
        (["--seed", "a/b", "--cases", "5"], "--seed: found `a/b`"),
        (["--seed", "7", "--cases", "0"], "--cases: found 0"),
    ] {
        let told = campaign(folder.path(), &[&["judge", "-q", "-o", "x"], &words[..]].concat());
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(2), "{text}");
        assert!(text.contains(named), "{text}");
        assert!(!folder.path().join("x/7-0").exists(), "nothing is half written");
    }
}

#[test]
fn soak_ten_thousand_runs_cost_little_besides_themselves() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let seeds = if std::env::var_os("JUSTFULL_SOAK").is_some() { 10_000 } else { 1000 };
    let text = format!(
        "scenarios = [\"nr-100mhz\"]\nmethods = [\"Vanilla\"]\nseeds = {seeds}\n[set]\n\
         duration = \"1s\"\nwarmup = \"100ms\"\n"
    );
    fs::write(folder.path().join("big.toml"), text).expect("it is written");
    // The shell's `times`: its own times, then its children's, each in user mode and in the kernel.
    let done = Command::new("sh")
        .args(["-ec", "\"$@\" > told.json; times", "sh", env!("CARGO_BIN_EXE_justfull")])
        .args(["campaign", "run", "big.toml", "-q", "--out", "out", "--json"])
        .current_dir(folder.path())
        .output()
        .expect("a shell runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let times = String::from_utf8(done.stdout).expect("text");
    let seconds = |text: &str| -> f64 {
        let (minutes, rest) = text.split_once('m').expect("minutes");
        let number = |text: &str| text.trim_end_matches('s').parse::<f64>().expect("a number");
        60.0 * number(minutes) + number(rest)
    };
    let of_children = times.lines().nth(1).expect("a line for children");
    let all: f64 = of_children.split_whitespace().map(seconds).sum();
    let told = fs::read(folder.path().join("told.json")).expect("it has told");
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    let runs = told["cpu_s"].as_f64().expect("seconds");
    assert_eq!(told["done"], seeds);
    println!("{all:.1} s of CPU, of which {runs:.1} s are the runs");
    assert!(all < 1.1 * runs, "{all} {runs}");
}

/// Runs the program in 500 MB of address space; at full size it takes at most 10 s.
#[expect(clippy::disallowed_methods, reason = "a limit of real time")]
fn is_quick_and_small(folder: &Path, args: &[&str]) {
    let start = std::time::Instant::now();
    let done = Command::new("sh")
        .args(["-c", "ulimit -v 500000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_justfull")])
        .args(args)
        .current_dir(folder)
        .output()
        .expect("a shell runs");
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    let took = start.elapsed();
    println!("{took:.1?}: {args:?}");
    assert!(std::env::var_os("JUSTFULL_SOAK").is_none() || took.as_secs() < 10, "{took:?}");
}

/// Reports and figures of 10 000 runs, of a run's folder and of a campaign's; `make test` runs a
/// tenth of it.
#[test]
fn soak_reports_and_figures_of_ten_thousand_runs_are_quick_and_small() {
    let long = std::env::var_os("JUSTFULL_SOAK").is_some();
    let (all, duration) = if long { (10_000, "1s") } else { (1000, "200ms") };
    let (folder, runs) = (tempfile::tempdir().expect("a folder can be made"), all / 4);
    let place = folder.path();
    let text = format!(
        "scenarios = [\"nr-100mhz\"]\nmethods = [\"Vanilla\", \"DRQL\"]\nseeds = {runs}\n[set]\n\
         duration = \"{duration}\"\nwarmup = \"100ms\"\n[grid]\n\"rlc.queue.limit\" = [\"1MB\", \"2MB\"]\n"
    );
    fs::write(place.join("big.toml"), text).expect("it is written");
    let made = campaign(place, &["run", "big.toml", "-q", "--out", "c"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let grid = "rlc.queue.limit=[1MB, 2MB]";
    let runs = runs.to_string();
    let made = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["run", "nr-100mhz", "--quiet", "--out", "a", "--grid", grid, "--runs", &runs])
        .args(["--method", "Vanilla", "--method", "DRQL"])
        .args(["--set", &format!("duration={duration}"), "--set", "warmup=100ms"])
        .current_dir(place)
        .output()
        .expect("the program runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for kind in ["cdf", "ccdf"] {
        is_quick_and_small(place, &["plot", "a", "--kind", kind, "--y", "delay", "-o", "f.svg"]);
    }
    let points = ["--kind", "points", "--x", "goodput", "--y", "delay.p95", "-o", "f.svg"];
    for of in ["a", "c"] {
        is_quick_and_small(place, &[&["plot", of], &points[..]].concat());
        is_quick_and_small(place, &["plot", of, "--y", "delay.p95", "-o", "f.pdf"]);
    }
    is_quick_and_small(place, &["compare", "a", "c"]);
    is_quick_and_small(place, &["campaign", "table", "c"]);
    is_quick_and_small(place, &["campaign", "report", "c"]);
}
