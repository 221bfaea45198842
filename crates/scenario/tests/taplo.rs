//! Runs taplo with the schema, like an editor: every shipped scenario is valid, and a mistake is
//! marked in its own line.

use justfull_scenario::starter::{Cell, Starter, Traffic};
use justfull_scenario::{library, schema};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program; none if it is not installed, which continuous integration counts as a failure.
fn taplo() -> Option<PathBuf> {
    let venv = std::env::var("JUSTFULL_VENV").unwrap_or_else(|_| "/var/tmp/justfull-venv".into());
    let program = Path::new(&venv).join("bin/taplo");
    if program.is_file() {
        return Some(program);
    }
    assert!(std::env::var_os("CI").is_none(), "taplo is missing; .ci/setup --tests installs it");
    eprintln!("skipped: taplo is not installed");
    None
}

/// Checks files in a folder with the schema beside them; each file names the schema, as an editor's
/// user would.
fn checked(taplo: &Path, files: &[(String, String)]) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file can be written");
    };
    write("scenario.schema.json", &schema::schema().to_string());
    for (name, text) in files {
        write(&format!("{name}.toml"), &format!("#:schema ./scenario.schema.json\n{text}"));
    }
    let mut command = Command::new(taplo);
    command.args(["check", "--colors", "never"]).current_dir(&folder);
    let done = command.output().expect("taplo runs");
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn taplo_takes_every_shipped_and_every_new_scenario() {
    let Some(taplo) = taplo() else { return };
    let mut files: Vec<(String, String)> = library::SCENARIOS
        .iter()
        .map(|(name, text)| ((*name).to_string(), (*text).to_string()))
        .collect();
    for cell in [Cell::Nr, Cell::Lte, Cell::Umts] {
        let traffic = vec![Traffic::Download, Traffic::Upload, Traffic::Call, Traffic::Pages];
        let starter = Starter {
            cell,
            ues: 4,
            traffic,
            methods: vec![],
            runs: 5,
            trace: None,
            columns: vec![],
        };
        files.push((format!("new-{cell:?}"), starter.text("my.toml")));
    }
    let (sound, said) = checked(&taplo, &files);
    assert!(sound, "{said}");
    assert!(said.contains(&format!("total={}", files.len())), "it read them all: {said}");
}

#[test]
fn taplo_marks_the_line_that_is_wrong() {
    let Some(taplo) = taplo() else { return };
    let demo = library::scenario("demo").expect("it ships");
    for (from, to, says) in [
        ("duration = \"40s\"", "duration = 40", "40 is not of type \"string\""),
        ("rate = \"1Gbit/s\"", "rate = \"20 Mb/s\"", "\"20 Mb/s\" does not match"),
        ("delay = \"10ms\"", "delay = \"10 parsec\"", "\"10 parsec\" does not match"),
        ("runs = 3", "runs = 0", "0 is less than the minimum of 1"),
        ("runs = 3", "runs = 3\nrusn = 3", "'rusn' was unexpected"),
        ("kind = \"strict_priority\"", "kind = \"strict\"", "not valid under any of the schemas"),
        (
            "queue = { limit = \"2MB\" }",
            "queue = { limit = true }",
            "true is not of type \"string\"",
        ),
        ("title = \"A call", "titel = \"A call", "\"title\" is a required property"),
    ] {
        assert!(demo.contains(from), "{from}");
        let (sound, said) = checked(&taplo, &[("wrong".into(), demo.replacen(from, to, 1))]);
        assert!(!sound && said.contains(says), "{to}: {said}");
        assert!(said.contains("wrong.toml:"), "the place is named: {said}");
    }
}
