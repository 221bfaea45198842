//! The small commands: `list`, `explain`, `show`, `check`, `completions`, `man`.

use std::path::Path;
use std::process::{Command, Output};

fn justfull(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(args).env_remove("JUSTFULL_DATA").output().expect("the program starts")
}

/// Standard output of a command that succeeds without a word on standard error.
fn text(args: &[&str]) -> String {
    let done = justfull(args);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && stderr.is_empty(), "{args:?}: {stderr}");
    String::from_utf8(done.stdout).expect("text")
}

/// Names under the headings of `list` that contain `heading`.
fn listed(list: &str, heading: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in list.lines() {
        if let Some(entry) = line.strip_prefix("  ") {
            names.extend(entry.split_whitespace().next().filter(|_| inside).map(str::to_string));
        } else if !line.is_empty() {
            inside = line.contains(heading);
        }
    }
    names
}

#[test]
fn every_name_of_the_list_can_be_explained_shown_or_reproduced() {
    let list = text(&["list"]);
    let (scenarios, papers) = (listed(&list, "justfull show NAME"), listed(&list, "justfull reproduce NAME"));
    let all = listed(&list, "");
    assert!(all.len() > 40 && scenarios.len() >= 6 && papers.contains(&"T20".to_string()), "{list}");
    for name in all.iter().filter(|name| !scenarios.contains(name) && !papers.contains(name)) {
        let explained = text(&["explain", name]);
        assert!(
            explained.to_lowercase().contains(&name.to_lowercase()) && explained.lines().count() >= 3,
            "{name}"
        );
    }
    for name in &scenarios {
        assert!(text(&["show", name]).contains("[[flow]]"), "{name}");
    }
}

#[test]
fn every_shipped_scenario_is_sound_by_name_and_as_a_file() {
    let list = text(&["list"]);
    for name in listed(&list, "justfull show NAME") {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{name}.toml"));
        let file = file.to_str().expect("a path in text");
        for place in [name.as_str(), file] {
            let found = text(&["check", place]);
            assert!(found.contains(": sound; ") && found.contains(" runs ("), "{found}");
        }
        assert_eq!(text(&["show", &name]), std::fs::read_to_string(file).expect("the file is there"));
    }
}

#[test]
fn a_shown_scenario_is_a_scenario_file_to_start_from() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, text(&["show", "voip-over-lte"])).expect("the folder can be written");
    assert!(text(&["check", file.to_str().expect("a path in text")]).contains("sound"));
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_known_ones() {
    for (args, known) in [
        (&["explain", "no-such"][..], "codel"),
        (&["show", "no-such"], "t20-individual"),
        (&["check", "no-such"], "t20-individual"),
        (&["reproduce", "no-such"], "T20"),
        (&["reproduce", "T20", "--figure", "99", "--no-files"], "Fig. 7"),
    ] {
        let done = justfull(args);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(
            stderr.contains("found ") && stderr.contains(known) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(text(&["completions", shell]).contains("reproduce"), "{shell}");
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("man");
    text(&["man", "--out", out.to_str().expect("a path in text")]);
    for page in
        ["justfull.1", "justfull-run.1", "justfull-reproduce.1", "justfull-explain.1", "justfull-check.1"]
    {
        let roff = std::fs::read_to_string(out.join(page)).unwrap_or_default();
        assert!(roff.contains(".SH NAME"), "{page}");
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    for command in ["list", "completions bash", "run voip-over-lte --set duration=11s --no-files"] {
        let program = env!("CARGO_BIN_EXE_justfull");
        let script = format!("'{program}' {command} 2>&1 | :; echo ${{PIPESTATUS[0]}}");
        let done = Command::new("bash").args(["-c", &script]).output().expect("bash is there");
        let codes = String::from_utf8_lossy(&done.stdout);
        assert!(["0", "141"].contains(&codes.trim()), "{command}: {codes}");
    }
}
