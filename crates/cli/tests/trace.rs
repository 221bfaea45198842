//! `justfull trace` from a user's view. All traces here are synthetic, or made by the program
//! itself.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn trace(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_justfull"))
        .arg("trace")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

fn sound(folder: &Path, args: &[&str]) -> (String, String) {
    let done = trace(folder, args);
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{args:?}: {err}");
    (out.into_owned(), err.into_owned())
}

/// The single line of a refusal with exit status 2.
fn refused(folder: &Path, args: &[&str]) -> String {
    let done = trace(folder, args);
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{args:?}: {err}");
    assert_eq!(
        err.trim_end().lines().filter(|l| !l.starts_with("note: ")).count(),
        1,
        "{args:?}: {err}"
    );
    err
}

fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).expect("the folder can be written");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_command_of_the_guide_on_traces_works_as_written() {
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_justfull"));
    let own = program.parent().expect("the program is in a folder").to_path_buf();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others)));
    let path = path.expect("the folder's name is sound");
    let text =
        std::fs::read_to_string(root().join("docs/guide/traces.md")).expect("the page is there");
    let mut commands = 0;
    let mut inside = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = language == "sh";
        } else if inside {
            let done = Command::new("sh")
                .args(["-ec", line])
                .current_dir(&folder)
                .env("PATH", &path)
                .output();
            let done = done.expect("a shell runs");
            assert!(done.status.success(), "{line}\n{}", String::from_utf8_lossy(&done.stderr));
            commands += 1;
        }
    }
    assert!(commands >= 12, "the guide shows commands: {commands}");
    let svg = std::fs::read_to_string(folder.path().join("rates.svg")).expect("a figure");
    assert!(svg.contains("walk.trace") && svg.contains("half.trace"));
    let constant = std::fs::read_to_string(folder.path().join("12mbit.trace")).expect("a trace");
    assert_eq!((constant.lines().count(), constant.lines().last()), (60_000, Some("60000")));
}

#[test]
fn information_is_a_table_or_json_and_repairs_are_told() {
    let folder = folder();
    put(folder.path(), "m.trace", "0\n500\n1000\n");
    let (table, notes) = sound(folder.path(), &["info", "m.trace"]);
    assert!(table.contains("mean rate, Mbit/s") && table.contains("0.036"), "{table}");
    assert_eq!(notes, "note: m.trace: 1 opportunities at time 0 count to the first millisecond\n");
    let (json, _) =
        sound(folder.path(), &["info", "m.trace", "m.trace", "--json", "--bin", "500ms"]);
    assert_eq!(json.lines().count(), 2);
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["bytes"], &first["format"]), (&4500.into(), &"mahimahi".into()));
    assert_eq!(first["notes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_phone_log_becomes_a_mahimahi_trace_by_stated_repairs() {
    let folder = folder();
    let log = "Timestamp,DL_bitrate,State\n2020.01.01_00.00.00,12000,D\n2020.01.01_00.00.02,24000,\
               D\n2020.01.01_00.00.03,0,I\n";
    put(folder.path(), "log.csv", log);
    let (list, notes) = sound(folder.path(), &["convert", "log.csv", "--to", "mahimahi"]);
    assert_eq!((list.lines().count(), list.lines().last()), (4000, Some("3000")));
    assert!(notes.contains("note: log.csv: line 3: 1 seconds are missing in 1 places"), "{notes}");
    assert!(notes.contains("1 of 3 rows are idle (state I); they are left out"), "{notes}");
    assert!(notes.contains("note: -: steps of 1s became steps of 1ms: nothing is lost"), "{notes}");
    let args = ["convert", "log.csv", "--interval", "2s", "--to", "csv"];
    let (_, notes) = sound(folder.path(), &args);
    let lost = "note: -: steps of 1s became steps of 2s: no byte is lost, changes of the rate ";
    assert!(notes.contains(&format!("{lost}within a new step are\n")), "{notes}");
    let (_, notes) = sound(folder.path(), &["convert", "log.csv", "--to", "csv"]);
    assert!(!notes.contains("became steps"), "{notes}");
    let args = ["convert", "log.csv", "--gaps", "zero", "--idle", "keep", "--to", "bytes"];
    assert_eq!(sound(folder.path(), &args).0, "# bytes per 1s\nbytes\n1500000\n0\n3000000\n0\n");
    let strict = refused(folder.path(), &["convert", "log.csv", "--gaps", "error", "--to", "csv"]);
    assert!(
        strict.starts_with("justfull: log.csv:3: column `DL_bitrate`: found 1 seconds missing"),
        "{strict}"
    );
}

#[test]
fn standard_input_is_read_and_standard_output_written() {
    let folder = folder();
    let mut program = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["trace", "convert", "-", "--to", "csv", "-o", "-", "--loop", "2"])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    program.stdin.take().expect("a pipe").write_all(b"1\n2\n").expect("it listens");
    let done = program.wait_with_output().expect("it ends");
    assert!(done.status.success());
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        "start_ms,end_ms,bytes\n0,1,1500\n1,2,1500\n2,3,1500\n3,4,1500\n"
    );
}

#[test]
fn a_mistake_in_a_file_or_an_option_is_one_line_and_nothing_is_written() {
    let folder = folder();
    put(folder.path(), "fall.trace", "5\n4\n");
    put(folder.path(), "empty", "");
    put(folder.path(), "m.trace", "1\n2\n");
    put(folder.path(), "cut.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1]);
    std::fs::create_dir(folder.path().join("dir")).expect("a folder");
    let file = |name: &'static str| ["convert", name, "--to", "csv", "-o", "out"].to_vec();
    let more = |extra: &[&'static str]| [&file("m.trace"), extra].concat();
    for (args, start) in [
        (
            file("fall.trace"),
            "fall.trace:2: column `time_ms`: found 4 after 5, allowed is times that do not fall",
        ),
        (file("empty"), "empty: found an empty file, allowed is a trace"),
        (file("cut.gz"), "cut.gz: found a read error"),
        (file("dir"), "dir: found a directory, allowed is a regular file"),
        (file("none"), "none: found No such file"),
        (
            more(&["--from-time", "2ms"]),
            "--from-time: found 2ms, allowed is below the end of the part, 2ms",
        ),
        (more(&["--to-time", "3ms"]), "--to-time: found 3ms, allowed is at most 2ms"),
        (more(&["--loop", "0"]), "--loop: found 0, allowed is at least 1"),
        (more(&["--interval", "0s"]), "--interval: found 0s, allowed is above 0s, at most 1h"),
        (more(&["--prbs", "0"]), "--prbs: found 0, allowed is 1 to 110"),
        (more(&["--prbs", "50"]), "m.trace: --prbs: found an option without effect on the format"),
        (more(&["--gaps", "error"]), "m.trace: --gaps: found an option without effect"),
        (more(&["--map", "none"]), "--map: found none, allowed is one of tmc, oai"),
        (
            vec!["convert", "m.trace", "--to", "ucc", "-o", "out"],
            "--to: found ucc, allowed is one of mahimahi",
        ),
        (
            vec!["synth", "bus-like", "--duration", "5s", "--to", "csv", "-o", "out"],
            "bus-like: found No such file",
        ),
        (
            vec!["fit", "m.trace", "--over", "cqi", "-o", "out"],
            "--over: found cqi, allowed is rate",
        ),
        (vec!["plot", "m.trace", "--bin", "0s", "-o", "out"], "--bin: found 0"),
    ] {
        let line = refused(folder.path(), &args);
        assert!(line.starts_with(&format!("justfull: {start}")), "{args:?}: {line}");
        let hidden = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().starts_with('.')
        };
        assert!(!folder.path().join("out").exists(), "{args:?}");
        assert!(!std::fs::read_dir(&folder).expect("a folder").any(hidden), "{args:?}");
    }
}

#[test]
fn a_table_is_told_by_its_columns_its_units_and_the_options_that_read_it() {
    let folder = folder();
    put(
        folder.path(),
        "drive.csv",
        "Time(ms),cell,DL (kbps)\n0,7,12500\n100,7,11000\n200,8,9000\n",
    );
    let unplaced = refused(folder.path(), &["info", "drive.csv"]);
    assert!(
        unplaced.contains(
            "columns `Time(ms)`, `cell`, `DL (kbps)`, allowed is the names of two of them: \
             justfull trace info drive.csv --time-column 'Time(ms)' --rate-column 'DL (kbps)'"
        ),
        "{unplaced}"
    );
    let read = ["--time-column", "Time(ms)", "--rate-column", "3"];
    let (table, notes) =
        sound(folder.path(), &[&["convert", "drive.csv"], &read[..], &["--to", "csv"]].concat());
    assert_eq!(table, "start_ms,end_ms,bytes\n0,100,156250\n100,200,137500\n200,300,112500\n");
    assert!(
        notes.contains("note: drive.csv: rates of `DL (kbps)` in kbit/s, by its name"),
        "{notes}"
    );
    assert!(notes.contains("note: drive.csv: times of `Time(ms)` in ms, by its name"), "{notes}");
    let (_, notes) = sound(folder.path(), &[&["info", "drive.csv"], &read[..]].concat());
    assert!(notes.contains("in kbit/s, by its name"), "{notes}");
    let parts = ["--interval", "70ms", "--from-time", "35ms", "--to-time", "265ms", "--to", "csv"];
    let (table, _) = sound(folder.path(), &[&["convert", "drive.csv"], &read[..], &parts].concat());
    let last = table.lines().last().expect("a row");
    assert!(last.starts_with("210,230,"), "a part of 230 ms ends there: {table}");
    let total: u64 =
        table.lines().skip(1).filter_map(|row| row.split(',').nth(2)?.parse::<u64>().ok()).sum();
    // 65 ms of 12.5, 100 ms of 11 and 65 ms of 9 Mbit/s: 312 187.5 B.
    assert_eq!(total, 312_188);
    put(folder.path(), "t.parquet", "PAR1....PAR1");
    let parquet = refused(folder.path(), &["info", "t.parquet"]);
    assert!(parquet.contains("found a Parquet file") && parquet.contains("duckdb"), "{parquet}");
}

#[test]
fn a_fit_prints_statistics_of_trace_and_chain() {
    let folder = folder();
    put(folder.path(), "b.csv", format!("bytes\n{}", "90000\n50000\n0\n0\n70000\n".repeat(60)));
    let (toml, told) = sound(folder.path(), &["fit", "b.csv", "--row", "100ms"]);
    for line in
        ["mean, Mbit/s", "autocorrelation after 10 steps", "share of silence", "longest silence, s"]
    {
        assert!(told.contains(line) && toml.contains(&format!("# {line}")), "{told}");
    }
    assert!(toml.contains("states = [0,") || toml.contains(", 0"), "{toml}");
    let json = &["fit", "b.csv", "--row", "100ms", "--json", "-o", "json.toml"];
    let (line, told) = sound(folder.path(), json);
    let fit: serde_json::Value = serde_json::from_str(&line).expect("one value");
    // 210 000 B in 0.5 s; three of five steps carry.
    let trace = &fit["statistics"]["trace"];
    assert_eq!((&fit["over"], &fit["steps"]), (&"rate".into(), &300.into()));
    assert!((trace["rate_mbit_s_mean"].as_f64().expect("a number") - 3.36).abs() < 1e-9, "{line}");
    assert_eq!(trace["silent_share"], 0.4);
    assert!(fit["channel"]["kind"] == "markov" && fit["channel"]["matrix"].is_array(), "{line}");
    assert!(told.is_empty(), "the line has all notes: {told}");
    let written = std::fs::read_to_string(folder.path().join("json.toml")).expect("a file");
    assert_eq!(written, toml);
    put(folder.path(), "walk.toml", toml);
    let (made, _) =
        sound(folder.path(), &["synth", "walk.toml", "--duration", "20s", "--to", "csv"]);
    assert!(made.lines().any(|row| row.split(',').nth(2) == Some("0")), "it is silent at times");
}

#[test]
fn a_fit_over_cqis_says_for_which_resource_blocks() {
    let folder = folder();
    put(folder.path(), "q.csv", "cqi\n5\n7\n9\n7\n");
    let (toml, notes) = sound(folder.path(), &["fit", "q.csv", "--over", "cqi"]);
    assert!(
        notes.contains("rates assume 25 LTE resource blocks and the map tmc; --prbs"),
        "{notes}"
    );
    assert!(toml.contains("n_prb = 25"), "{toml}");
    let (_, notes) = sound(folder.path(), &["fit", "q.csv", "--map", "nr_t1"]);
    assert!(notes.contains("rates assume 25 NR resource blocks and the map nr_t1"), "{notes}");
    let (_, notes) = sound(folder.path(), &["fit", "q.csv", "--prbs", "50"]);
    assert!(!notes.contains("assume"), "{notes}");
}

#[cfg(unix)]
#[test]
fn an_archive_that_is_a_bomb_and_a_pipe_are_refused_by_one_error() {
    let folder = folder();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(b"").expect("memory takes it");
    let nothing = bomb.finish().expect("memory takes it");
    put(folder.path(), "members.gz", nothing.repeat(100_001));
    let line = refused(folder.path(), &["info", "members.gz"]);
    let said =
        "members.gz: found more than 100000 gzip members, allowed is at most 100000 gzip members";
    assert_eq!(line.trim_end(), format!("justfull: {said}"));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    for args in [
        &["info", "pipe"][..],
        &["convert", "pipe", "--to", "csv"],
        &["fit", "pipe"],
        &["synth", "pipe", "--duration", "5s", "--to", "csv"],
    ] {
        assert!(
            refused(folder.path(), args).starts_with("justfull: pipe: found a pipe, allowed is a "),
            "{args:?}"
        );
    }
    let line = refused(folder.path(), &["info", "/dev/zero"]);
    assert_eq!(line.trim_end(), "justfull: /dev/zero: found a device, allowed is a regular file");
}

#[cfg(unix)]
#[test]
fn a_full_disk_and_a_closed_pipe_end_with_one_error() {
    let folder = folder();
    let made = ["convert", "--cbr", "100Mbit/s", "--duration", "60s", "--to", "mahimahi"];
    for out in ["/dev/full", "/nowhere/out"] {
        let line = refused(folder.path(), &[&made[..], &["-o", out]].concat());
        assert!(line.starts_with(&format!("justfull: cannot write {out}: ")), "{line}");
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .arg("trace")
        .args(made)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(program.stdout.take());
    let done = program.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), err.trim_end().lines().count()), (Some(2), 1), "{err}");
    assert!(err.starts_with("justfull: standard output: Broken pipe"), "{err}");
}

#[test]
fn a_scenario_replays_every_format_and_tells_repairs() {
    let folder = folder();
    let at = folder.path();
    sound(
        at,
        &["synth", "train-like", "--duration", "20s", "--seed", "4", "--to", "csv", "-o", "t.csv"],
    );
    for (format, file) in [("mahimahi", "t.mahi"), ("cellreplay", "t.cell"), ("t20", "t.t20")] {
        sound(at, &["convert", "t.csv", "--to", format, "-o", file]);
    }
    put(at, "t.train", "0 20 0 1 2 3\n100 21 0 2 4\n200 20 0 1\n");
    put(at, "t.ucc", "Timestamp,DL_bitrate\n2020.01.01_00.00.00,12000\n2020.01.01_00.00.02,9000\n");
    let scenario = |channel: &str| {
        let shipped = justfull_scenario::library::scenario("voip-over-lte").expect("shipped");
        let channel = format!("[channel]\nkind = \"trace\"\n{channel}\n");
        shipped.replace(
            "[channel]\nkind = \"pattern\"\nbytes = [1572, 2292, 2292, 2292, 2292, 1572, 2292, \
             2292, 2292, 2292]\n",
            &channel,
        )
    };
    let check = |channel: &str| {
        put(at, "x.toml", scenario(channel));
        Command::new(env!("CARGO_BIN_EXE_justfull"))
            .args(["check", "x.toml"])
            .current_dir(at)
            .output()
            .expect("it runs")
    };
    for (format, file) in [
        ("auto", "t.csv"),
        ("csv", "t.csv"),
        ("auto", "t.mahi"),
        ("cellreplay", "t.cell"),
        ("auto", "t.t20"),
        ("auto", "t.train"),
        ("auto", "t.ucc"),
    ] {
        let done = check(&format!("file = \"{file}\"\nformat = \"{format}\""));
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
    }
    put(at, "t.table", "zeit;DL (kbps)\n0,0;8000\n0,5;16000\n");
    let table = check("file = \"t.table\"\ntime_column = \"zeit\"\nrate_column = \"DL (kbps)\"");
    let text = String::from_utf8_lossy(&table.stderr);
    assert!(table.status.success() && text.contains("in kbit/s, by its name"), "{text}");
    let warned = check("file = \"t.ucc\"\nformat = \"ucc\"");
    let text = String::from_utf8_lossy(&warned.stderr);
    assert!(text.contains("warning: t.ucc: line 3: 1 seconds are missing in 1 places"), "{text}");
    for (more, error) in [
        (
            "row = \"1s\"",
            "field `channel.row`: found a length, allowed is no such setting: the format says",
        ),
        ("interval = \"10ms\"", "field `channel.interval`: found a key without effect"),
        ("gaps = \"zero\"", "field `channel.gaps`: found a key without effect, allowed is"),
        ("rate_column = \"2\"", "field `channel.format`: found a key without effect"),
        ("rate_unit = \"furlong\"", "field `channel.rate_unit`: found furlong, allowed is a rate"),
        ("rows = 0", "field `channel.rows`: found 0, allowed is 1 to the"),
    ] {
        let done = check(&format!("file = \"t.mahi\"\nformat = \"mahimahi\"\n{more}"));
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && text.contains(error), "{text}");
    }
}

#[test]
fn a_table_of_rates_is_read_by_the_names_of_its_columns() {
    let folder = folder();
    put(folder.path(), "t.csv", "time,speed\n1700000000,8\n1700000001,16\n");
    let names = ["--time-column", "time", "--rate-column", "speed", "--unit", "Mbit/s"];
    let all = |words: &[&'static str]| [words, &names[..]].concat();
    let (csv, said) = sound(folder.path(), &all(&["convert", "t.csv", "--to", "csv"]));
    assert_eq!(csv.lines().last(), Some("1,2,2000000"), "{csv}");
    assert!(said.contains("the first row is at 1700000000, which became 0"), "{said}");
    sound(folder.path(), &all(&["plot", "t.csv", "-o", "p.svg", "--from-time", "1s"]));
    let row = ["info", "t.csv", "--rate-column"];
    for (args, why) in [
        (&["sped", "--unit", "bit/s", "--row", "1s"][..], "speed"),
        (&["speed", "--unit", "furlong", "--row", "1s"], "Mbit/s"),
        (&["speed", "--unit", "bit/s"], "no length of a row"),
        (&["speed"], "--unit"),
    ] {
        let done = trace(folder.path(), &[&row, args].concat());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(why), "{args:?}: {said}");
    }
    assert!(
        refused(folder.path(), &["info", "t.csv", "--from", "rates"]).contains("--rate-column")
    );
    let late = refused(folder.path(), &all(&["plot", "t.csv", "-o", "p.svg", "--from-time", "3s"]));
    assert!(late.contains("3s"), "{late}");
}

/// Tables as people have them, each with the options that read it. Each is as long as a divisor of
/// 20 s.
const TABLES: [(&str, &str, &[&str]); 10] = [
    (
        "abr.txt",
        "0.0 1.58\n0.5 3.35\n1.0 2.34\n1.5 0.4\n",
        &["--time-column", "1", "--rate-column", "2", "--unit", "Mbit/s"],
    ),
    (
        "de.csv",
        "zeit;rate\n0,0;12,5\n0,5;11,25\n",
        &["--time-column", "zeit", "--rate-column", "rate", "--unit", "Mbit/s"],
    ),
    (
        "empty.csv",
        "time,rate\n0,12.5\n1,\n2,5\n6,5\n8,9\n9,8\n",
        &["--time-column", "time", "--rate-column", "rate", "--unit", "Mbps", "--gaps", "zero"],
    ),
    (
        "twice.csv",
        "time,rate\n0,1.25\n1,1.1\n1,1.3\n",
        &["--time-column", "time", "--rate-column", "rate", "--unit", "MB/s", "--repeated", "last"],
    ),
    (
        "quotes.csv",
        "time,place,rate\n0,\"Cork, IE\",12.5\n1,x,9\n",
        &["--time-column", "time", "--rate-column", "3", "--unit", "Mbit/s"],
    ),
    (
        "units.csv",
        "Time(ms),DL Throughput (kbps)\n0,12500\n100,11000\n",
        &["--time-column", "Time(ms)", "--rate-column", "DL Throughput (kbps)"],
    ),
    (
        "grants.csv",
        "timestamp,rnti,dci_format,transport_block_size\n1700000000.0005,20000,1_1,5632\n\
         1700000000.0055,20001,1_1,2024\n",
        &["--rnti", "20000"],
    ),
    ("bytes.csv", "bytes\n125000.0\n250000.0\n", &["--row", "100ms"]),
    ("cqi.csv", "cqi\n7.0\nnan\n12.0\n3.0\n", &["--gaps", "hold"]),
    (
        "timed.csv",
        "t,cqi\n0,7\n500,8\n1000,9\n4000,3\n4500,5\n",
        &["--gaps", "zero", "--time-unit", "ms"],
    ),
];

#[test]
fn each_table_becomes_a_scenario_in_one_command_and_carries_what_trace_info_says() {
    let folder = folder();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        let done = command.args(args).current_dir(folder.path()).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    for (name, table, options) in TABLES {
        put(folder.path(), name, table);
        let new = ["new", name, "--lte", "--trace", name];
        let (code, _, err) = run(&[&new[..], options].concat());
        assert_eq!(code, Some(0), "{name}: {err}");
        let (info, _) = sound(folder.path(), &[&["info", name, "--json"], options].concat());
        let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
        let mean = info["rate_mbit_s_mean"].as_f64().expect("a rate");
        let file = format!("{name}.toml");
        let (code, out, err) = run(&["check", &file, "--method", "Vanilla"]);
        assert_eq!(code, Some(0), "{name}: {err}");
        // The chain of `check` names the mean of the channel over 20 s.
        let said = out.split("channel trace: ").nth(1).expect("its channel");
        let rate: f64 = said.split(' ').next().and_then(|word| word.parse().ok()).expect("a rate");
        assert!((rate - mean).abs() < 0.006, "{name}: {rate} Mbit/s for {mean}");
    }
    let (code, _, err) = run(&["new", "my", "--trace", "units.csv"]);
    assert_eq!(
        (code, err.as_str()),
        (
            Some(2),
            "justfull: units.csv: found a table with the columns `Time(ms)`, `DL Throughput \
             (kbps)`, allowed is the names of two of them: justfull new my --trace units.csv \
             --time-column 'Time(ms)' --rate-column 'DL Throughput (kbps)'\n"
        )
    );
    let wrong = ["new", "my", "--trace", "units.csv", "--rate-column", "rate", "--unit", "Mbit/s"];
    let (code, _, err) = run(&wrong);
    assert_eq!(code, Some(2), "{err}");
    let said = "units.csv:1: column `rate`: found no such column (--rate-column), allowed is";
    assert!(err.contains(said) && err.contains("`DL Throughput (kbps)`"), "{err}");
    let (code, _, err) = run(&["new", "my", "--unit", "kbit/s"]);
    assert_eq!((code, err.as_str()), (Some(2), "justfull: --unit: allowed with --trace FILE\n"));
    assert!(!folder.path().join("my.toml").exists());
}
