//! `justfull recommend`: the recommended method for a scenario and for a trace.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const SHORT: [&str; 8] =
    ["--set", "duration=4s", "--set", "warmup=1s", "--runs", "1", "--fresh", "0"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn recommend(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_justfull"))
        .arg("recommend")
        .args(args)
        .current_dir(folder)
        .env_remove("JUSTFULL_DATA")
        .output()
        .expect("the program runs")
}

/// The answers of a successful command with `--json`, one for each point of the sweep.
fn answers(folder: &Path, args: &[&str]) -> Vec<Value> {
    let done = recommend(folder, &[args, &["--json"]].concat());
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{args:?}: {error}");
    let text = String::from_utf8(done.stdout).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn methods(answer: &Value) -> Vec<&str> {
    let choices = answer["choices"].as_array().expect("a list");
    choices.iter().map(|c| c["method"].as_str().expect("a name")).collect()
}

/// The mean of `figure` under `method`.
fn figure_of(answer: &Value, method: &str, figure: &str) -> f64 {
    let choices = answer["choices"].as_array().expect("a list");
    let choice = choices.iter().find(|c| c["method"] == method).expect("it was asked for");
    choice[figure]["mean"].as_f64().expect("a number")
}

/// The error of a command that is refused.
fn refused(folder: &Path, args: &[&str]) -> String {
    let done = recommend(folder, args);
    assert_eq!(done.status.code(), Some(2), "{args:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "", "{args:?}");
    String::from_utf8(done.stderr).expect("UTF-8")
}

/// A Mahimahi trace of `seconds` at 12 Mbit/s.
fn mahimahi(seconds: u64) -> String {
    (1..=seconds * 1000).fold(String::new(), |mut lines, ms| {
        writeln!(lines, "{ms}").expect("a string takes all");
        lines
    })
}

#[test]
fn of_the_methods_that_carry_enough_the_one_with_least_delay_is_recommended() {
    let folder = folder();
    let asked = ["--method", "Vanilla", "--method", "CoDel", "--method", "Justfull"];
    let args = [&["download-pages-call"], &SHORT[..], &asked[..]].concat();
    let found = answers(folder.path(), &args);
    let [answer] = found.as_slice() else { panic!("a scenario has one answer") };
    assert_eq!(methods(answer), ["Vanilla", "CoDel", "Justfull"]);
    assert_eq!(answer["seeds"].as_array().map(Vec::len), Some(1));
    let of = |method: &str, figure: &str| figure_of(answer, method, figure);
    let delay = |method: &str| of(method, "delay_ms_p99");
    assert!(delay("Justfull") < delay("CoDel") && delay("CoDel") < delay("Vanilla"));
    assert!(of("Justfull", "goodput_mbit_s") > 0.95 * of("Vanilla", "goodput_mbit_s"));
    let recommended: Vec<bool> = answer["choices"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["recommended"].as_bool().expect("yes or no"))
        .collect();
    assert_eq!(recommended, [false, false, true]);

    let table = recommend(folder.path(), &args);
    let text = String::from_utf8(table.stdout).expect("UTF-8");
    for method in ["Vanilla", "CoDel", "Justfull"] {
        assert!(text.contains(method), "{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "no files");
}

/// Goodput relative to Vanilla's under FQ-CoDel and Justfull, on a radio with these amounts in each
/// 100 ms.
fn shares(amounts: &[u64]) -> [f64; 2] {
    let channel = format!(
        "channel={{ kind = \"rows\", amounts = {amounts:?}, row = \"100ms\", interval = \"100ms\", \
         packet_bytes = \"1B\" }}"
    );
    let methods = ["--method", "Vanilla", "--method", "FQ-CoDel", "--method", "Justfull"];
    let time = ["--set", "duration=25s", "--set", "warmup=5s", "--runs", "1", "--fresh", "0"];
    let args = [&["download-pages-call", "--set", &channel], &time[..], &methods[..]].concat();
    let found = answers(folder().path(), &args);
    let goodput = |method| figure_of(&found[0], method, "goodput_mbit_s");
    ["FQ-CoDel", "Justfull"].map(|method| goodput(method) / goodput("Vanilla"))
}

#[test]
fn justfull_keeps_a_download_where_the_radio_falls_to_a_fortieth_and_plain_lanes_do_not() {
    // 400 and 10 Mbit/s, like a millimetre-wave cell with a blocked beam.
    let (open, blocked) = (5_000_000, 125_000);
    let tenths = [(2, 1), (3, 3), (5, 2), (2, 0)];
    let seconds = [(40, 10), (35, 25)];
    for times in [&tenths[..], &seconds[..]] {
        let rows = times.iter().flat_map(|(long, short)| {
            std::iter::repeat_n(open, *long).chain(std::iter::repeat_n(blocked, *short))
        });
        let [lanes, justfull] = shares(&rows.collect::<Vec<_>>());
        assert!(justfull > 0.92, "{times:?}: {justfull}");
        assert!(lanes < 0.8, "{times:?}: {lanes}");
    }
}

/// 24 Mbit/s, with nothing for half a second of every five.
fn outages() -> String {
    let amounts = [["300000"; 45].join(", "), ["0"; 5].join(", ")].join(", ");
    format!(
        "channel={{ kind = \"rows\", amounts = [{amounts}], row = \"100ms\", interval = \"100ms\", \
         packet_bytes = \"1B\" }}"
    )
}

#[test]
fn a_method_whose_low_delay_is_bought_with_a_calls_packets_is_not_recommended() {
    let folder = folder();
    let channel = outages();
    let plain = [
        "download-pages-call",
        "--switch",
        "two_bearers",
        "--set",
        &channel,
        "--set",
        "duration=25s",
        "--set",
        "warmup=5s",
        "--runs",
        "1",
    ];
    // Without the radio's clock, the deadline drops packets of a call that waits through an outage.
    let scenario = [&plain[..], &["--set", "rlc.queue.discipline.dip=0s"]].concat();
    let methods =
        ["--fresh", "0", "--method", "Vanilla", "--method", "FQ-CoDel", "--method", "Justfull"];
    let args = [&scenario[..], &methods[..]].concat();
    let found = answers(folder.path(), &args);
    let of = |method: &str, figure: &str| figure_of(&found[0], method, figure);
    let is = |method: &str, what: &str| {
        let choices = found[0]["choices"].as_array().expect("a list");
        let choice = choices.iter().find(|c| c["method"] == method).expect("it was asked for");
        choice[what].as_bool().expect("yes or no")
    };
    // By delay, goodput and round trips alone it would be recommended.
    assert!(of("Justfull", "delay_ms_p99") < 0.2 * of("FQ-CoDel", "delay_ms_p99"));
    assert!(of("Justfull", "goodput_mbit_s") > 0.95 * of("Vanilla", "goodput_mbit_s"));
    // A tenth of the packets meet an outage; the deadline drops the older ones.
    assert!((4.0..10.0).contains(&of("Justfull", "loss_percent")));
    assert!(of("Vanilla", "loss_percent") + of("FQ-CoDel", "loss_percent") < 1e-9);
    let each = |what: &str| ["Vanilla", "FQ-CoDel", "Justfull"].map(|method| is(method, what));
    assert_eq!(each("loses_too_much"), [false, false, true]);
    assert_eq!(each("recommended"), [false, true, false]);

    // The losses equal the call's losses in the results of the same run.
    let run = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .arg("run")
        .args(&scenario)
        .args(["--method", "Justfull", "--json", "--quiet", "--no-files"])
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    let run: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let rows = run["rows"].as_array().expect("a list");
    let call = rows.iter().find(|row| row["flow"] == "call").expect("the scenario has it");
    let packets = |column: &str| call[column].as_f64().expect("a number");
    let lost = 100.0 * packets("dropped_packets") / packets("entered_packets");
    assert!((of("Justfull", "loss_percent") - lost).abs() < 1e-9, "{lost}");

    let table = recommend(folder.path(), &args);
    let text = String::from_utf8(table.stdout).expect("UTF-8");
    let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start));
    assert!(text.contains("low-latency loss"), "{text}");
    assert!(line("Justfull").is_some_and(|line| line.contains("loses too much")), "{text}");
    assert!(line("Justfull").is_some_and(|line| line.contains(&format!(" {lost:.2} "))), "{text}");
    assert!(line("FQ-CoDel").is_some_and(|line| line.contains("recommended")), "{text}");

    // If no other method is left, it is recommended.
    let alone = answers(folder.path(), &[&scenario[..], &["--method", "Justfull"]].concat());
    let choice = &alone[0]["choices"][0];
    assert_eq!([&choice["loses_too_much"], &choice["recommended"]], [false, true]);

    // With it no packet is lost, and the call waits for the radio as under the others.
    let found = answers(folder.path(), &[&plain[..], &methods[..]].concat());
    let of = |method: &str, figure: &str| figure_of(&found[0], method, figure);
    assert!(of("Justfull", "loss_percent") < 1e-9);
    let delays = ["Justfull", "FQ-CoDel"].map(|method| of(method, "delay_ms_p99"));
    assert!((delays[0] / delays[1] - 1.0).abs() < 0.01, "{delays:?}");
}

#[test]
fn a_trace_carries_a_download_pages_and_a_call() {
    let folder = folder();
    let file = folder.path().join("walk.trace");
    std::fs::write(&file, mahimahi(5)).expect("a file can be written");
    let asked = ["--method", "Vanilla", "--method", "Justfull"];
    let found = answers(folder.path(), &[&["walk.trace"], &SHORT[..], &asked[..]].concat());
    let base_rtts: Vec<&Value> = found.iter().map(|answer| &answer["base_rtt_ms"]).collect();
    assert_eq!(base_rtts, [&Value::Null, &20.0.into(), &80.0.into()], "the mean comes first");
    let goodput = found[0]["choices"][0]["goodput_mbit_s"]["mean"].as_f64().expect("a number");
    assert!((10.0..12.0).contains(&goodput), "of 12 Mbit/s: {goodput}");
    let heading = found[0]["scenario"].as_str().expect("text");
    let said = "a download, pages and a call (download-pages-call); 4 s of the 5 s of walk.trace: the \
                part beginning at 0 s (seed 1)";
    assert_eq!(heading, format!("{said}; mean over base round trips"));
    let settings = found[0]["settings"][1]["settings"].as_str().expect("text");
    assert!(settings.contains("fq_codel (ways 8,"), "{settings}");
}

#[test]
fn a_method_is_judged_at_each_round_trip_and_over_all_and_fresh_seeds_say_how_sure_it_is() {
    let folder = folder();
    let methods = ["--method", "Vanilla", "--method", "CoDel", "--method", "Justfull"];
    let time = ["--set", "duration=4s", "--set", "warmup=1s", "--runs", "1", "--fresh", "2"];
    let both = ["--rtt", "80ms,20ms", "--plot", "front.svg"];
    let args = [&["download-pages-call"], &time[..], &methods[..], &both[..2]].concat();
    let found = answers(folder.path(), &args);
    let [all, near, far] = &found[..] else { panic!("{} answers", found.len()) };
    for method in ["Vanilla", "CoDel", "Justfull"] {
        let of = |answer: &Value| figure_of(answer, method, "goodput_mbit_s");
        assert!((of(all) - (of(near) + of(far)) / 2.0).abs() < 1e-9, "{method}");
        let rtt = |answer: &Value| figure_of(answer, method, "rtt_ms_p95");
        assert!(rtt(far) > 80.0 && rtt(near) > 20.0);
    }
    assert_eq!([&all["seeds"], &near["seeds"]], [&serde_json::json!([1]); 2]);
    assert_eq!(all["fresh"]["seeds"], serde_json::json!([2, 3]));
    let by = all["fresh"]["recommended"].as_object().expect("names");
    assert_eq!(by.values().filter_map(Value::as_u64).sum::<u64>(), 2);
    assert_eq!([&near["fresh"], &far["fresh"]], [&Value::Null; 2]);

    let args = [&["download-pages-call"], &time[..], &methods[..], &both[..]].concat();
    let done = recommend(folder.path(), &args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(text.contains("Of 2 fresh seeds (2 to 3)"), "{text}");
    assert_eq!(text.matches("base round trip").count(), 3, "{text}");
    let figure = std::fs::read_to_string(folder.path().join("front.svg")).expect("the figure");
    assert!(figure.contains("Pareto front") && figure.contains("Justfull"));
}

#[test]
fn seeds_play_parts_that_are_spread_over_the_trace_and_the_heading_says_which() {
    let folder = folder();
    // 12 Mbit/s, and a third of it in the last 12 s of 20 s.
    let lines = (1..=20_000).filter(|ms| *ms <= 8_000 || ms % 3 == 0);
    let text: String = lines.map(|ms| format!("{ms}\n")).collect();
    std::fs::write(folder.path().join("fall.trace"), text).expect("a file can be written");
    let time = ["--set", "duration=4s", "--set", "warmup=1s", "--runs", "3"];
    let one = ["--method", "Vanilla", "--rtt", "20ms", "--fresh", "0"];
    let args = [&["fall.trace"], &time[..], &one[..]].concat();
    let answer = &answers(folder.path(), &args)[0];
    let heading = answer["scenario"].as_str().expect("text");
    let parts = "4 s of the 20 s of fall.trace: parts beginning at 0 s (seed 1), 12.4 s (seed 2), 4.7 s \
                 (seed 3)";
    assert!(heading.ends_with(&format!("{parts}; base round trip 20ms")), "{heading}");
    let goodput = &answer["choices"][0]["goodput_mbit_s"];
    let (least, most) = (goodput["min"].as_f64(), goodput["max"].as_f64());
    let [least, most] = [least, most].map(|value| value.expect("a number"));
    assert!(least < 5.0 && most > 9.0, "the fall is in one part: {least} to {most}");
    let table = recommend(folder.path(), &args);
    let text = String::from_utf8(table.stdout).expect("UTF-8");
    assert!(text.replace("\n  ", " ").contains(parts), "{text}");
}

#[test]
fn where_the_rlc_is_apart_no_reordering_method_runs() {
    let folder = folder();
    let found =
        answers(folder.path(), &[&["download-pages-call", "--split", "5ms"], &SHORT[..]].concat());
    let ran = methods(&found[0]);
    assert!(ran.contains(&"Justfull-split") && ran.contains(&"LastPoll"), "{ran:?}");
    assert!(!ran.contains(&"FQ-CoDel") && !ran.contains(&"Justfull"), "{ran:?}");
    let error =
        refused(folder.path(), &["download-pages-call", "--split", "5ms", "--method", "FQ-CoDel"]);
    assert!(error.contains("rlc.queue.discipline") && error.contains("fifo"), "{error}");
}

/// Arguments for a short run of `download-pages-call`, and `more`.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["download-pages-call"], &SHORT[..], more].concat()
}

#[test]
fn a_setting_that_only_some_methods_have_applies_to_those_and_what_it_leaves_out_is_said() {
    let folder = folder();
    let limited = with(&["--set", "rlc.limiter.target=3ms"]);
    let asked = ["--method", "Vanilla", "--method", "LastPoll", "--method", "DRQL"];
    let two_packets = ["--set", "rlc.limiter.start=2", "--set", "rlc.limiter.max=2"];
    let args = with(&[&two_packets[..], &asked].concat());
    let done = recommend(folder.path(), &[&args[..], &["--json"]].concat());
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("--set rlc.limiter.max does not apply to Vanilla, LastPoll"), "{said}");
    let found = &answers(folder.path(), &args)[0];
    let plain = &answers(folder.path(), &with(&asked))[0];
    let of = |answer: &Value, method: &str| -> Value {
        let choices = answer["choices"].as_array().expect("a list");
        choices.iter().find(|c| c["method"] == method).expect("it was asked for").clone()
    };
    assert_eq!(of(found, "Vanilla")["goodput_mbit_s"], of(plain, "Vanilla")["goodput_mbit_s"]);
    assert_ne!(of(found, "DRQL")["goodput_mbit_s"], of(plain, "DRQL")["goodput_mbit_s"]);

    // With the usual methods, too: all of them run.
    let usual = &answers(folder.path(), &with(&two_packets))[0];
    assert_eq!(methods(usual).len(), 13);
    assert_eq!(usual["not_run"].as_array().map(Vec::len), Some(0));

    // A setting that no method has is refused, and so is a wrong value in the method that has it.
    let error = refused(folder.path(), &limited);
    assert!(error.contains("rlc.limiter.target") && error.contains("no such setting"), "{error}");
    let error = refused(folder.path(), &with(&["--set", "rlc.limiter.max=many"]));
    assert!(error.contains("rlc.limiter.max") && error.contains("many"), "{error}");
}

#[test]
fn a_kernel_that_looks_like_a_number_is_taken_as_text_and_another_is_refused() {
    let folder = folder();
    let asked = ["--method", "Vanilla", "--method", "Justfull"];
    let kernel = |of: &'static str| with(&[&asked[..], &["--set", of]].concat());
    let bare = answers(folder.path(), &kernel("flow.download.tcp.sender.kernel=4.15"));
    let quoted = answers(folder.path(), &kernel("flow.download.tcp.sender.kernel=\"4.15\""));
    assert_eq!(bare, quoted);
    let other = answers(folder.path(), &kernel("flow.download.tcp.sender.kernel=6.18"));
    assert_ne!(bare, other, "it has an effect");
    let error = refused(folder.path(), &kernel("flow.download.tcp.sender.kernel=4.16"));
    assert!(error.contains("found `4.16`") && error.contains("`rfc`, `4.15`"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn wrong_input_is_one_error_before_any_run() {
    let folder = folder();
    std::fs::write(folder.path().join("words.trace"), "not a trace\n").expect("a file");
    let cases: [(&[&str], &str); 8] = [
        (&["download-pages-call", "--method", "Justful"], "Justfull"),
        (&["missing.trace"], "missing.trace"),
        (&["missing.toml"], "missing.toml"),
        (&["words.trace"], "words.trace"),
        (&["download-pages-call", "--split", "2s"], "rlc.report_delay"),
        (&["download-pages-call", "--runs", "0"], "--runs"),
        (&["download-pages-call", "--rtt", "0s"], "--rtt"),
        (&["download-pages-call", "--plot", "front.gif"], "front.gif"),
    ];
    for (args, named) in cases {
        let error = refused(folder.path(), args);
        assert!(error.contains(named), "{args:?}: {error}");
    }
}

#[test]
fn a_table_is_recommended_for_by_the_options_that_its_error_names() {
    let folder = folder();
    let table = |empty: &str| {
        let rows = (0..20).map(|second| format!("{second};A;{},5\r\n", 10 + second % 7));
        format!("\u{feff}Zeit;Ort;DL (Mbit/s)\r\n{}20;A;{empty}\r\n", rows.collect::<String>())
    };
    let put = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file can be written");
    };
    put("drive.csv", &table("9,5"));
    put("gap.csv", &table(""));
    let options = ["--time-column", "Zeit", "--rate-column", "DL (Mbit/s)"];
    assert_eq!(
        refused(folder.path(), &["drive.csv"]),
        "justfull: drive.csv: found a table with the columns `Zeit`, `Ort`, `DL (Mbit/s)`, allowed \
         is the names of two of them: justfull recommend drive.csv --time-column Zeit \
         --rate-column 'DL (Mbit/s)'\n"
    );
    let asked = ["--method", "Vanilla", "--rtt", "40ms"];
    let of = |name: &str, more: &[&str]| {
        answers(folder.path(), &[&[name], &options[..], &SHORT, &asked, more].concat())
    };
    let found = of("drive.csv", &[]);
    assert_eq!(methods(&found[0]), ["Vanilla"]);
    let goodput = figure_of(&found[0], "Vanilla", "goodput_mbit_s");
    assert!((8.0..18.0).contains(&goodput), "{goodput} Mbit/s of 10.5 to 16.5");
    let error = refused(folder.path(), &[&["gap.csv"], &options[..]].concat());
    assert!(error.starts_with("justfull: gap.csv:22: column `DL (Mbit/s)`"), "{error}");
    assert!(error.contains("--gaps"), "{error}");
    assert_eq!(of("gap.csv", &["--gaps", "hold"]).len(), 1);
    let error = refused(folder.path(), &["demo", "--unit", "kbit/s"]);
    assert_eq!(error, "justfull: --unit: allowed with a trace that is a table\n");
}

/// CPU time of all commands of a shell in seconds, from the last line of `times`.
fn cpu_seconds(times: &str) -> f64 {
    let last = times.lines().last().expect("the times of its commands");
    let seconds = last.split_whitespace().map(|one| {
        let (minutes, seconds) = one.split_once('m').expect("minutes");
        let number = |text: &str| text.trim_end_matches('s').parse::<f64>().expect("a number");
        60.0 * number(minutes) + number(seconds)
    });
    seconds.sum()
}

/// The goal is three minutes of wall time. The test limits the CPU time, since other load on the
/// machine does not change it.
#[test]
fn a_drive_test_becomes_an_answer_a_figure_and_a_scenario_by_three_commands_in_three_minutes() {
    let folder = folder();
    let mut table = String::from("sep=;\r\nZeit;Ort;DL (Mbit/s)\r\n");
    for second in 0..120 {
        let rate = 5 + (second * 7) % 23;
        writeln!(
            table,
            "14.05.2024 09:{:02}:{:02};A{second};{rate},5\r",
            30 + second / 60,
            second % 60
        )
        .expect("a string takes all");
    }
    std::fs::write(folder.path().join("drive.csv"), table).expect("a file");
    let commands = "set -e\n\
        $J trace convert drive.csv --time-column Zeit --rate-column 'DL (Mbit/s)' --to csv \
        -o cell.csv\n\
        $J recommend cell.csv --rtt 40ms --plot front.svg\n\
        $J new mine --nr --traffic download,call --trace cell.csv\n\
        times";
    let done = Command::new("sh")
        .args(["-c", commands])
        .env("J", env!("CARGO_BIN_EXE_justfull"))
        .env_remove("JUSTFULL_DATA")
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert!(text.contains("recommended"), "{text}");
    let figure = std::fs::read_to_string(folder.path().join("front.svg")).expect("a figure");
    assert!(figure.contains("Vanilla") && folder.path().join("mine.toml").is_file());
    let seconds = cpu_seconds(&text);
    println!("{seconds:.1} s of CPU");
    assert!(seconds < 180.0, "{seconds} s of CPU");
}
