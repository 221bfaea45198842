//! Output for programs: `--json` and `--progress json`; and tables at maximum width.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Two short runs of two methods each.
const SHORT: [&str; 10] = [
    "run",
    "voip-over-lte",
    "--method",
    "Vanilla",
    "--method",
    "CoDel",
    "--set",
    "duration=12s",
    "--runs",
    "2",
];

fn justfull(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(args).current_dir(folder).env_remove("JUSTFULL_DATA");
    command.output().expect("the program starts")
}

/// The only document on standard output of a command that succeeds.
fn document(folder: &Path, args: &[&str]) -> Value {
    let done = justfull(folder, args);
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("one document")
}

fn names(listed: &Value) -> Vec<&str> {
    let names = listed["names"].as_array().expect("a list");
    names.iter().map(|name| name["name"].as_str().expect("text")).collect()
}

#[test]
fn list_says_the_same_to_people_and_to_programs() {
    let here = Path::new(".");
    let all = document(here, &["list", "--json"]);
    let all = all.as_array().expect("a list");
    let text = String::from_utf8(justfull(here, &["list"]).stdout).expect("text");
    for listed in all {
        let kind = listed["kind"].as_str().expect("text");
        assert!(!names(listed).is_empty(), "{kind}");
        let heading = listed["heading"].as_str().expect("text");
        let part = text.split(&format!("{heading}:\n")).nth(1).expect("the heading is there");
        let part: Vec<&str> = part.lines().take_while(|line| line.starts_with("  ")).collect();
        let told = part.iter().map(|line| line.split_whitespace().next().expect("a name"));
        assert!(told.eq(names(listed)), "{kind}");
        let only = String::from_utf8(justfull(here, &["list", kind]).stdout).expect("text");
        assert_eq!(only, format!("{heading}:\n{}\n", part.join("\n")));
    }
    let two = document(here, &["list", "aqms", "claims", "--json"]);
    assert!(names(&two[0]).contains(&"codel") && names(&two[1]).contains(&"T20"), "{two}");
    assert_eq!(two.as_array().map(Vec::len), Some(2));
}

#[test]
fn an_unknown_kind_of_names_gets_one_error_with_the_known_kinds() {
    let done = justfull(Path::new("."), &["list", "aqm"]);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{stderr}");
    assert!(done.stdout.is_empty());
    for kind in ["'aqm'", "aqms", "limiters", "traces", "claims"] {
        assert!(stderr.contains(kind), "{kind}: {stderr}");
    }
}

#[test]
fn run_json_holds_the_rows_of_runs_jsonl_and_the_folder() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let found = document(place.path(), &[&SHORT[..], &["--json", "--out", "r"]].concat());
    assert_eq!(found["folder"], "r");
    let lines = std::fs::read_to_string(place.path().join("r/runs.jsonl")).expect("it is there");
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 4);
    assert_eq!(found["rows"].as_array(), Some(&lines));
    assert!(found["missing"].as_array().is_some_and(Vec::is_empty));
    let alone = document(place.path(), &[&SHORT[..], &["--json", "--no-files"]].concat());
    assert!(alone["folder"].is_null());
    assert_eq!(alone["rows"], found["rows"], "the same runs without a folder");
}

#[test]
fn progress_in_json_begins_counts_every_run_and_ends() {
    let args = [&SHORT[..], &["--no-files", "--progress", "json"]].concat();
    let done = justfull(Path::new("."), &args);
    assert!(done.status.success());
    let stderr = String::from_utf8(done.stderr).expect("text");
    let events: Vec<Value> = stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect();
    assert_eq!(events.first().map(|e| &e["event"]), Some(&"start".into()), "{stderr}");
    let end = events.last().expect("an end");
    assert_eq!((&end["event"], &end["finished"]), (&"end".into(), &4.into()), "{stderr}");
    for seconds in ["simulated_s", "announced_s"] {
        assert_eq!(end[seconds].as_f64(), Some(48.0), "{stderr}");
    }
    let runs: Vec<u64> = events
        .iter()
        .filter(|e| e["event"] == "run")
        .map(|e| e["finished"].as_u64().expect("a number"))
        .collect();
    assert_eq!(runs, [1, 2, 3, 4]);
    let elapsed: Vec<f64> =
        events.iter().map(|e| e["elapsed_s"].as_f64().expect("a number")).collect();
    assert!(elapsed.is_sorted());
    let silent = [&SHORT[..], &["--no-files", "--progress", "none"]].concat();
    let silent = justfull(Path::new("."), &silent);
    assert!(!String::from_utf8_lossy(&silent.stderr).contains('{'));
}

#[test]
fn tables_fit_the_columns_that_the_environment_names() {
    for width in [60, 80, 100, 140] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
        command.args(SHORT).args(["--no-files", "--wide"]);
        let done = command.env("COLUMNS", width.to_string()).output().expect("it starts");
        let text = String::from_utf8(done.stdout).expect("text");
        let over = text.lines().find(|line| line.chars().count() > width);
        assert_eq!(over, None, "{width}: {text}");
        assert!(text.contains("Vanilla") && text.contains("CoDel"), "{text}");
    }
}

#[test]
fn explain_json_says_what_explain_says() {
    let here = Path::new(".");
    for name in ["codel", "USP@5G-BDP", "rlc.queue.limit", "delay.p99", "mahimahi"] {
        let parts = document(here, &["explain", name, "--json"]);
        let plain = String::from_utf8(justfull(here, &["explain", name]).stdout).expect("text");
        let parts = parts.as_array().expect("a list");
        assert!(!parts.is_empty());
        for part in parts {
            let text = part["text"].as_str().or(part["title"].as_str()).expect("text");
            assert!(plain.contains(text), "{text}\n{plain}");
        }
    }
    let codel = document(here, &["explain", "codel", "--json"]);
    let kinds: Vec<&str> = codel.as_array().expect("a list").iter().map(what).collect();
    assert_eq!(kinds, ["method", "algorithm"]);
    let target = codel[1]["parameters"].as_array().expect("a list");
    assert!(target.iter().any(|p| p["name"] == "target" && p["unit"] == "time"), "{codel}");
    let column = document(here, &["explain", "delay.p99", "--json"]);
    assert_eq!((what(&column[0]), &column[0]["short_name"]), ("column", &"delay.p99".into()));
    let none = justfull(here, &["explain", "codell", "--json"]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(2), 0));
}

fn what(part: &Value) -> &str {
    part["what"].as_str().expect("text")
}

#[test]
fn check_json_tells_of_sound_and_wrong_scenarios_and_of_folders() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let made = justfull(place.path(), &[&SHORT[..], &["--out", "r"]].concat());
    assert!(made.status.success());
    let grid = ["--grid", "rlc.queue.limit=[1MB, 2MB]"];
    let plain = justfull(place.path(), &[&["check", "live-lte", "r"][..], &grid].concat());
    let plain = String::from_utf8(plain.stdout).expect("text");
    let found =
        document(place.path(), &[&["check", "live-lte", "r", "--json"][..], &grid].concat());
    let (file, folder) = (&found[0], &found[1]);
    assert_eq!((what(file), &file["name"]), ("scenario", &"live-lte".into()));
    assert_eq!((&file["sound"], &file["mistakes"]), (&true.into(), &Value::Array(Vec::new())));
    assert!(plain.contains(file["chain"].as_str().expect("text")), "{plain}");
    let count = |of: &str| file[of].as_array().expect("a list").len();
    let (methods, points) = (count("methods"), count("points"));
    assert_eq!((points, &file["points"][1]), (2, &"rlc.queue.limit_kB=2000".into()));
    let line = format!("sound; {} runs ({methods} methods, {points} points)", file["runs"]);
    assert!(plain.contains(&line), "{line}: {plain}");
    assert_eq!((what(folder), &folder["complete"]), ("folder", &true.into()));
    assert!(plain.contains(folder["state"].as_str().expect("text")), "{plain}");

    std::fs::remove_file(place.path().join("r/cdf.csv")).expect("it is there");
    let wrong = "[rlc]\nspeed = 3\n";
    std::fs::write(place.path().join("wrong.toml"), wrong).expect("the folder can be written");
    let done = justfull(place.path(), &["check", "wrong.toml", "r", "--json"]);
    assert_eq!(done.status.code(), Some(2));
    let found: Value = serde_json::from_slice(&done.stdout).expect("one document");
    assert_eq!((&found[0]["sound"], &found[1]["complete"]), (&false.into(), &false.into()));
    let stderr = String::from_utf8_lossy(&done.stderr);
    let mistakes = found[0]["mistakes"].as_array().expect("a list");
    assert!(!mistakes.is_empty());
    for mistake in mistakes {
        assert!(stderr.contains(mistake.as_str().expect("text")), "{mistake}: {stderr}");
    }
    assert!(found[1]["state"].as_str().is_some_and(|state| state.contains("cdf.csv")), "{found}");
    let alone = justfull(place.path(), &["check", "r", "--json"]);
    assert_eq!(alone.status.code(), Some(1), "a folder that is not whole");
}

/// The cells of a table in Parquet, formatted as in its CSV file, with the column names first.
fn parquet_cells(path: &Path) -> Vec<Vec<String>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let file = std::fs::File::open(path).expect("the table is there");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut found = vec![schema.columns().iter().map(|column| column.name().into()).collect()];
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        let cell = |(_, field): (_, &Field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Long(number) => number.to_string(),
            Field::Double(number) => number.to_string(),
            other => panic!("{other}"),
        };
        found.push(row.get_column_iter().map(cell).collect());
    }
    found
}

#[test]
fn tables_in_parquet_hold_every_cell_of_their_csv_files() {
    let place = tempfile::tempdir().expect("a folder can be made");
    let tables = ["series", "flow_series", "cdf", "entities"];
    let sweep = ["--set", "entity_backlog=true", "--out", "r", "--parquet"];
    let args = [&SHORT[..], &sweep, &["series,flow_series,cdf", "--parquet", "entities"]].concat();
    let done = justfull(place.path(), &args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for table in tables {
        let at = |ending: &str| place.path().join(format!("r/{table}.{ending}"));
        let text = std::fs::read_to_string(at("csv")).expect("it is there");
        let csv: Vec<Vec<String>> = text
            .lines()
            .map(|line| {
                // Only a title may hold a comma, and no title does here.
                assert!(!line.contains('"'), "{line}");
                line.split(',').map(str::to_owned).collect()
            })
            .collect();
        assert!(csv.len() > 5, "{table}");
        assert_eq!(parquet_cells(&at("parquet")), csv, "{table}");
    }
    let check = justfull(place.path(), &["check", "r"]);
    assert!(check.status.success(), "the manifest names them: {check:?}");
    let none = justfull(place.path(), &[&SHORT[..], &["--parquet", "runs"]].concat());
    assert_eq!(none.status.code(), Some(2));
    let told = String::from_utf8_lossy(&none.stderr);
    assert!(told.contains("'runs'") && tables.iter().all(|table| told.contains(table)), "{told}");
}
