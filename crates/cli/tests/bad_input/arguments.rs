//! Arguments that cannot be meant: names of files, empty texts, zeros.

use super::*;

/// A folder with a trace `a.csv`, a scenario `my.toml` and files of services.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("a.csv", "start_s,end_s,bytes\n0,1,1000000\n1,2,500000\n"),
        ("my.toml", SOUND),
        ("empty.toml", ""),
        ("c.toml", "scenarios = [\"my.toml\"]\nseeds = 1\ntarget = {}\n"),
        ("two.toml", "scenarios = [\"my.toml\"]\nseeds = 1\nseeds = 2\n"),
        ("sound.toml", "scenarios = [\"my.toml\"]\nseeds = 1\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn said(folder: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(words).current_dir(folder).env_remove("JUSTFULL_DATA");
    command.output().expect("the program starts")
}

#[test]
fn each_wrong_argument_is_one_message_with_the_value_and_the_allowed_ones() {
    let folder = folder();
    let place = "--out: found *a.csv, allowed is another file than the trace that is read";
    for (words, message) in [
        (&["trace", "convert", "a.csv", "--to", "mahimahi", "-o", "./a.csv"][..], place),
        (&["trace", "fit", "a.csv", "-o", "a.csv"], place),
        (&["trace", "plot", "a.csv", "-o", "a.csv"], place),
        (&["trace", "fit", "a.csv", "--step", "0s"], "--step: found 0s, allowed is above 0s, *"),
        (
            &["trace", "convert", "--cbr", "1Mbit/s", "--duration", "0s", "--to", "csv"],
            "--duration: found 0s, allowed is above 0s (a link lasts a while)",
        ),
        (
            &["trace", "convert", "--cbr", "0Mbit/s", "--duration", "1s", "--to", "csv"],
            "bytes of the trace: found 0, allowed is at least 1 (*)",
        ),
        (&["recommend", "absent"], "absent: found No such file *, or a trace"),
        (&["recommend", "."], ".: found a directory, allowed is *, or a trace"),
        (&["new", ".."], "NAME: found .., allowed is a file to write, *"),
        (&["new", "/"], "NAME: found /, allowed is a file to write, *"),
        (&["new", "below/"], "NAME: found below/, allowed is a file to write, *"),
        (&["new", "a\nb"], "NAME: found a\\nb, allowed is a file to write, *"),
        (&["explain", ""], "name: found \"\", allowed is *"),
        (&["run", "my.toml", "--method", ""], "my.toml: field `--method`: found \"\", *"),
        (&["man", "--out", "my.toml"], "--out: found my.toml: *, allowed is a folder *"),
        (&["ui", "my.toml"], "FOLDER: found my.toml, allowed is a folder"),
        (&["ui", "--watch", ""], "--watch: found \"\", allowed is the address of metrics, *"),
        (&["ui", "--watch", "0"], "--watch: found 0, allowed is the address of metrics, *"),
        (
            &["campaign", "list", "c.toml"],
            "c.toml: line 3, target.metric: found nothing, allowed is a value: *",
        ),
        (&["campaign", "list", "two.toml"], "two.toml: line 3: found duplicate key, *TOML"),
        (&["f1u", "check", "--config", "empty.toml"], "*field `place.cu_up`: found \"\", *"),
    ] {
        let done = said(&folder, words);
        refused(&done, message);
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(!text.contains("()"), "{words:?}: {text}");
    }
    let kept = std::fs::read_to_string(folder.path().join("a.csv")).expect("the trace");
    assert!(kept.starts_with("start_s,"), "{kept}");
}

#[test]
fn an_unfinished_campaign_has_no_method_to_compare_with() {
    let folder = folder();
    let done = said(&folder, &["campaign", "table", "sound.toml", "--against", "x"]);
    let text = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{text}");
    assert!(!text.contains(" has , of "), "{text}");
}

#[test]
fn a_full_disk_behind_standard_output_takes_no_results() {
    let folder = folder();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(["run", "my.toml", "--out", "kept", "-q"]).current_dir(&folder);
    let done = command.stdout(full).output().expect("the program starts");
    assert_eq!(done.status.code(), Some(2));
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(text.contains("standard output: No space left on device"), "{text}");
    assert!(folder.path().join("kept/runs.csv").is_file(), "{text}");
}
