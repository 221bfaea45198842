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
    let done = new(folder.path(), &["--limiter", "crates/one-slot"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let read = |path: &str| {
        fs::read_to_string(folder.path().join("crates/one-slot").join(path)).expect("it is written")
    };
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("name = \"one-slot\"\n"), "{manifest}");
    assert_eq!(manifest.matches(" = { git = \"https://").count(), 4, "{manifest}");
    assert!(read("src/lib.rs").contains("pub struct OneSlot {"));
    assert!(read("src/main.rs").contains("one_slot::method()"));
    for (file, text) in
        ["Cargo.toml", "src/lib.rs", "src/main.rs", "tests/rules.rs"].map(|file| (file, read(file)))
    {
        let left = ["two-slots", "TwoSlots", "two_slots", "{rust}", "{dependencies}"];
        assert!(left.iter().all(|word| !text.contains(word)), "{file}: {text}");
    }
    let again = new(folder.path(), &["--limiter", "crates/one-slot"]);
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

/// The long form builds it, which compiles the whole stack again. The workspace builds and tests
/// the same files in `examples/own-limiter`.
#[test]
fn soak_the_crate_that_it_writes_is_that_of_the_guide_and_builds() {
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
    // Formatted by rustfmt's defaults, without the settings of the surrounding workspace.
    fs::write(mine.join("rustfmt.toml"), "").expect("it is written");
    let cargo = |args: &[&str]| {
        let done = Command::new(env!("CARGO")).args(args).current_dir(&mine).output();
        let done = done.expect("cargo starts");
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr) + &text(&done.stdout));
        text(&done.stdout)
    };
    cargo(&["fmt", "--check"]);
    let found = cargo(&["tree", "--offline", "--depth", "1"]);
    for of in ["base", "lab", "ran", "report"] {
        let place = format!("({})", at.join("crates").join(of).display());
        assert!(found.contains(&place), "{of} is of another tree: {found}");
    }
    let page = fs::read_to_string(at.join("docs/guide/own-limiter.md")).expect("it is there");
    let limiter = fs::read_to_string(mine.join("src/lib.rs")).expect("it is written");
    let shown = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    for part in shown.expect("the page shows code").split("\n\n") {
        assert!(limiter.contains(part.trim_end()), "the guide shows other code: {part}");
    }
    if std::env::var_os("JUSTFULL_SOAK").is_none() {
        return;
    }
    let tested = cargo(&["test", "--offline", "--quiet"]);
    assert!(tested.contains("3 passed"), "{tested}");
    let table = cargo(&["run", "--offline", "--quiet"]);
    assert!(table.contains("Mine"), "{table}");
}
