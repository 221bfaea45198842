//! Scenario files and traces that cannot be read, and places that cannot be written.

use super::*;

#[test]
fn traces_that_are_absent_or_wrong_are_refused_with_file_and_line() {
    let field = "my.toml:7:1: field `channel.file`:";
    Trial::new(on_trace())
        .refused(&format!("{field} t.csv: not found * JUSTFULL_DATA is not set; allowed is *"));
    let elsewhere = Trial { data: Some("/nowhere".into()), ..Trial::new(on_trace()) };
    elsewhere.refused(&format!("{field} t.csv: not found; looked for * and /nowhere/t.csv"));
    Trial::trace(b"").refused(&format!("{field} t.csv: found no header line, allowed is *"));
    Trial::trace(b"packets_per_10ms\n")
        .refused(&format!("{field} t.csv: found no rows, allowed is at least one row *"));
    Trial::trace(b"bytes\n5\n").refused(&format!(
        "{field} t.csv:1: column `packets_per_10ms`: found `bytes`, allowed is *"
    ));
    Trial::trace(b"packets_per_10ms\n5\nfoo\n").refused(&format!(
        "{field} t.csv:3: column `packets_per_10ms`: found `foo`, allowed is a whole number *"
    ));
    let gzip = gzip(b"packets_per_10ms\n5\n7\n");
    Trial::trace(&gzip[..gzip.len() - 12])
        .refused(&format!("{field} t.csv: found a read error *, allowed is *gzip*"));
    let folder = Trial::new(on_trace());
    std::fs::create_dir(folder.folder.path().join("t.csv")).expect("the folder can be written");
    folder.refused(&format!("{field} t.csv: found a directory, allowed is a regular file"));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn traces_and_scenarios_of_other_systems_are_accepted() {
    Trial::trace(b"packets_per_10ms\r\n5\r\n7\r\n").accepted();
    Trial::trace(b"\xef\xbb\xbfpackets_per_10ms\n5\n7\n").accepted();
    Trial::trace(&gzip(b"packets_per_10ms\n5\n7\n")).accepted();
    Trial::new(format!("\u{feff}{}", SOUND.replace('\n', "\r\n"))).accepted();
}

#[test]
fn a_byte_order_mark_does_not_move_lines_and_columns() {
    let text = format!("\u{feff}{}", SOUND.replace("\"1s\"", "2").replace('\n', "\r\n"));
    Trial::new(text).refused(&format!("my.toml:2:1: field `duration`: found integer `2`, {TIME}"));
}

#[test]
fn scenario_files_that_cannot_be_read_are_refused() {
    Trial::new(b"\xff\xfe".to_vec())
        .refused("my.toml: found not UTF-8 text, allowed is a readable scenario file");
    Trial::change("\"A download and a game\"", "\"A download")
        .refused("my.toml:1:20: found invalid basic string, allowed is TOML, *");
    Trial::change("duration", "title = \"again\"\nduration")
        .refused("my.toml:2:1: found duplicate key, allowed is TOML");
    Trial::new("").refused("my.toml: field `title`: found nothing, *");
    let trial = Trial::new(SOUND);
    refused(
        &trial.run_file("absent.toml", "out"),
        "absent.toml: found No such file *, or the name of a shipped one (`justfull list`)",
    );
    refused(
        &trial.run_file("cloud-gamin", "out"),
        "cloud-gamin: found No such file *, or the name of a shipped one (`justfull list`); did \
         you mean cloud-gaming?",
    );
    refused(&trial.run_file(".", "out"), ".: found a directory, allowed is a regular file");
    assert!(!trial.folder.path().join("out").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_first_run() {
    let trial = Trial::new(SOUND);
    std::fs::write(trial.folder.path().join("my.toml"), SOUND).expect("the folder can be written");
    std::fs::write(trial.folder.path().join("file"), "mine").expect("the folder can be written");
    for out in ["file", "file/below"] {
        let allowed = "allowed is a folder that can be written";
        refused(&trial.run_file("my.toml", out), &format!("--out: found {out}: *, {allowed}"));
    }
    let kept = std::fs::read(trial.folder.path().join("file")).expect("it is there");
    assert_eq!(kept, b"mine");
}

#[test]
fn one_wrong_scenario_of_several_stops_all() {
    let trial = Trial::change("\"1s\"", "1").with(&["t20-individual"]);
    trial.refused(&format!("my.toml:2:1: field `duration`: found integer `1`, {TIME}"));
    assert!(!Path::new("results").exists());
}

/// Reading a pipe or a device might never end.
#[test]
#[cfg(unix)]
fn a_scenario_that_is_no_regular_file_is_refused() {
    let trial = Trial::new(SOUND);
    let pipe = trial.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    refused(&trial.run_file("pipe", "out"), "pipe: found a pipe, allowed is a regular file");
    refused(
        &trial.run_file("/dev/zero", "out"),
        "/dev/zero: found a device, allowed is a regular file",
    );
}

/// Text of a file or an argument must not control the terminal.
#[test]
fn messages_hold_no_control_characters() {
    let clear = "\u{1b}[2J\u{7}\u{9b}2J";
    let toml =
        clear.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007").replace('\u{9b}', "\\u009b");
    for trial in [
        Trial::change("\"Vanilla\"", &format!("\"{toml}\"")),
        Trial::change("duration", &format!("\"{toml}\" = 1\nduration")),
        Trial::new(SOUND).with(&["--method", clear]),
        Trial::new(SOUND).with(&["--set", &format!("{clear}=1")]),
        Trial::new(SOUND).with(&[&format!("--{clear}")]),
        Trial::new(SOUND).with(&["--runs", clear]),
    ] {
        let done = trial.run();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("\\u{1b}") || stderr.contains("\\u{9b}"), "it is told: {stderr}");
        assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    }
}

/// Tables, notes and figures show text of files without control characters too.
#[test]
fn tables_and_reports_hold_no_control_characters() {
    let toml = "\\u001b[2J\\u0007\\u009b2J";
    let trial = Trial::new(
        SOUND
            .replace("title = \"", &format!("title = \"{toml}"))
            .replace("name = \"", &format!("name = \"{toml}")),
    );
    let done = trial.run();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(done.status.code(), Some(0), "{stderr}");
    let clean = |what: &str, text: &str| {
        assert!(
            !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')),
            "{what}: {text:?}"
        );
    };
    clean("standard output", &stdout);
    let out = trial.folder.path().join("out");
    let figures = std::fs::read_dir(out.join("figures")).expect("there are figures");
    let figures = figures.map(|entry| entry.expect("an entry").path());
    for path in figures.chain([out.join("report.html")]) {
        clean(&path.display().to_string(), &std::fs::read_to_string(&path).expect("text"));
    }
}

/// `check` prints a line for each mistake and accepts the arguments of `run`.
#[test]
fn check_lists_every_mistake_of_every_file() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let wrong = SOUND
        .replace("duration = \"1s\"", "duration = 1\nbogus = 1")
        .replace("\"200B\"", "\"2000B\"");
    std::fs::write(folder.path().join("a.toml"), wrong).expect("the folder can be written");
    let wrong =
        format!("{SOUND}\n[switches.odd]\nmtx = 1\n[variants.odd]\n\"rlc.queue.limit\" = 5\n");
    std::fs::write(folder.path().join("b.toml"), wrong).expect("the folder can be written");
    std::fs::write(folder.path().join("c.toml"), SOUND).expect("the folder can be written");
    let check = |args: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_justfull"))
            .arg("check")
            .args(args)
            .current_dir(&folder)
            .output();
        let done = done.expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, stdout, stderr) = check(&["a.toml", "b.toml", "c.toml"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stdout.starts_with("c.toml: sound; 1 run (1 method, 1 point)\n"), "{stdout}");
    let told = [
        "a.toml:2:1: field `duration`",
        "a.toml:3:1: field `bogus`",
        "a.toml:29:9: field `flow[1].udp.payload`",
        "b.toml:31:1: field `mtx` (set by switch odd)",
        "b.toml:33:1: field `rlc.queue.limit` (set by variant odd)",
    ];
    assert_eq!(stderr.lines().count(), told.len(), "{stderr}");
    for message in told {
        assert!(
            stderr.lines().any(|line| line.starts_with(&format!("justfull: {message}"))),
            "{message}: {stderr}"
        );
    }
    let (code, _, stderr) = check(&["c.toml", "--set", "mtuu=1"]);
    assert!(code == Some(2) && stderr.contains("did you mean `mtu`?"), "{stderr}");
    let (code, stdout, stderr) = check(&[
        "c.toml",
        "--method",
        "Limit10",
        "--method",
        "Vanilla",
        "--set",
        "rlc.limiter.limit=20 packets",
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("c.toml: sound; 2 runs (2 methods, 1 point)\n"), "{stdout}");
    assert!(stderr.contains("--set rlc.limiter.limit does not apply to Vanilla"), "{stderr}");
    let many: String = (0..30).map(|i| format!("[switches.s{i}]\nmtx{i} = 1\n")).collect();
    std::fs::write(folder.path().join("many.toml"), format!("{SOUND}\n{many}"))
        .expect("it can be written");
    let (_, _, stderr) = check(&["many.toml"]);
    assert_eq!(stderr.lines().count(), 21, "{stderr}");
    assert!(stderr.contains("many.toml: 30 mistakes, the first 20 are shown"), "{stderr}");
}
