//! `justfull new --limiter`: the new crate builds, tests and runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tree").into()
}

fn new(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.arg("new").args(args).current_dir(folder).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_a_tree_it_builds_on_the_repository_and_replaces_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = new(folder.path(), &["--limiter", "crates/two-slots"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let read = |path: &str| {
        fs::read_to_string(folder.path().join("crates/two-slots").join(path))
            .expect("it is written")
    };
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("name = \"two-slots\"\n"), "{manifest}");
    assert_eq!(manifest.matches(" = { git = \"https://").count(), 4, "{manifest}");
    assert!(read("src/lib.rs").contains("pub struct TwoSlots {"));
    assert!(read("src/main.rs").contains("two_slots::method()"));
    for (file, text) in
        ["Cargo.toml", "src/lib.rs", "src/main.rs", "tests/rules.rs"].map(|file| (file, read(file)))
    {
        let left = ["{name}", "{Name}", "{crate}", "{rust}", "{dependencies}"];
        assert!(left.iter().all(|word| !text.contains(word)), "{file}: {text}");
    }
    let again = new(folder.path(), &["--limiter", "crates/two-slots"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is there already, allowed is a new folder"));
}

#[test]
fn a_wrong_name_or_tree_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, told) in [
        (&["--limiter", "Mine"][..], "--limiter: found Mine, allowed is a folder whose name"),
        (&["--limiter", "drql"], "--limiter: found drql, allowed is"),
        (&["--limiter", ".."], "--limiter: found .., allowed is"),
        (&["--limiter", "mine", "--justfull", "."], "--justfull: found . (without crates/base)"),
        (&["--limiter", "mine", "--justfull", "nowhere"], "--justfull: found nowhere (No such"),
        (&["--limiter", "mine", "--lte"], "cannot be used with"),
        (&["--justfull", "."], "--limiter"),
        (&[], "required"),
    ] {
        let done = new(folder.path(), args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(told), "{args:?}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

/// In the workspace's target folder, so that its dependencies are compiled once.
#[test]
fn the_crate_that_it_writes_builds_keeps_the_rules_and_runs() {
    let builds = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Always in the same place: cargo then rebuilds only changes.
    let folder = builds.join("new-limiter");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let at = tree();
    let done = new(&folder, &["--limiter", "mine", "--justfull", at.to_str().expect("UTF-8")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let mine = folder.join("mine");
    // The versions with which the workspace is tested.
    fs::copy(at.join("Cargo.lock"), mine.join("Cargo.lock")).expect("it is there");
    let cargo = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.arg(args[0]).args(["--offline", "--quiet", "--target-dir"]);
        // Without optimisation it compiles in a third of the time, and its runs are short. Packages
        // of the registry then have the profile that the workspace's tests give them, in whose
        // target folder they are built already.
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
        command.env("CARGO_PROFILE_DEV_LTO", "off");
        let target = builds.parent().expect("the target folder");
        let done = command.arg(target).args(&args[1..]).current_dir(&mine).output();
        let done = done.expect("cargo starts");
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr) + &text(&done.stdout));
        text(&done.stdout)
    };
    // Formatted by rustfmt's defaults, without the settings of the surrounding workspace.
    fs::write(mine.join("rustfmt.toml"), "").expect("it is written");
    let format = Command::new(env!("CARGO")).args(["fmt", "--check"]).current_dir(&mine).output();
    let format = format.expect("cargo starts");
    assert!(format.status.success(), "{}", text(&format.stdout) + &text(&format.stderr));
    let tested = cargo(&["test"]);
    assert!(tested.contains("3 passed"), "{tested}");
    let page = fs::read_to_string(at.join("docs/guide/own-limiter.md")).expect("it is there");
    let limiter = fs::read_to_string(mine.join("src/lib.rs")).expect("it is written");
    let shown = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    for part in shown.expect("the page shows code").split("\n\n") {
        assert!(limiter.contains(part.trim_end()), "the guide shows other code: {part}");
    }
    let table = cargo(&["run", "--", "voip-over-lte", "--set", "duration=12s"]);
    for method in ["Vanilla", "DRQL", "Mine"] {
        assert!(table.contains(method), "{method}: {table}");
    }
    let read = |file: &str| fs::read_to_string(mine.join("results/mine").join(file));
    let report = read("report.html").expect("the run has a report");
    assert!(report.contains("Mine"));
    let resolved = read("result.json").expect("the run has all results");
    assert!(resolved.contains("duration = \\\"12s\\\""), "--set holds: {resolved:.2000}");
    let plot = Command::new(env!("CARGO_BIN_EXE_justfull"))
        .args(["plot", "results/mine", "--kind", "bars", "--y", "delay.p99"])
        .current_dir(&mine)
        .output()
        .expect("the program starts");
    assert!(plot.status.success() && text(&plot.stdout).contains("Mine"), "{}", text(&plot.stderr));
}
