//! The place of results: a folder holds one whole run, regardless of other writers and of the end
//! of the run.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of live runs use the rest")]
mod room;

use justfull_report::export::folder::{Inspection, State, inspect};
use room::{files, room, sh, wait_until};
use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A scenario that is quick to run and to draw.
const SCENARIO: &str = r#"title = "A call"
duration = "1s"
methods = ["Vanilla"]
channel = { kind = "constant", per_slot = 4 }
rlc.queue.limit = "100 packets"
ue = [{ qos_flow = [{ qfi = 9 }] }]
[[flow]]
name = "call"
qfi = 9
low_latency = true
udp = { payload = "200B", interval = "20ms" }
"#;

/// Number of repetitions of a test; a tenth unless a long test is requested.
fn times(all: u64) -> u64 {
    if std::env::var_os("JUSTFULL_SOAK").is_some() { all } else { all / 10 }
}

/// A folder with the scenario.
fn desk() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for name in ["call", "other"] {
        fs::write(folder.path().join(name).with_extension("toml"), SCENARIO)
            .expect("a file can be made");
    }
    folder
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_justfull"));
    command.args(words).current_dir(folder).env_remove("JUSTFULL_DATA");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn justfull(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().expect("the program starts")
}

fn start(folder: &Path, seed: u64) -> Child {
    let seed = seed.to_string();
    let words = ["run", "call.toml", "-q", "-j", "1", "--out", "out", "--seed", &seed];
    command(folder, &words).spawn().expect("the program starts")
}

/// Standard error of a command that must end with `code`.
fn said(done: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(code), "{said}");
    said
}

fn looked(folder: &Path) -> Inspection {
    inspect(&folder.join("out")).expect("it can be read")
}

/// The seed of the run to which all files in `out` belong.
fn seed_of_all_files(folder: &Path) -> u64 {
    let state = looked(folder).state.expect("there are results");
    let State::Complete(manifest) = state else { panic!("{}", state.in_words()) };
    let [seed] = manifest.origin.seeds[..] else { panic!("one run: {:?}", manifest.origin.seeds) };
    let out = folder.join("out");
    let result = fs::read(out.join("result.json")).expect("it is there");
    let result: serde_json::Value = serde_json::from_slice(&result).expect("it is sound");
    assert_eq!(result["groups"][0]["runs"][0]["seed"], seed);
    assert_eq!(result["command"], *manifest.origin.command);
    let lines = fs::read_to_string(out.join("runs.jsonl")).expect("it is there");
    let seeds =
        lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    assert!(seeds.map(|row| row["seed"].as_u64()).all(|found| found == Some(seed)));
    seed
}

/// Names beside the results that a run made, except the scenario's.
fn hidden(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect()
}

/// Folders that a run was writing.
fn staged(folder: &Path) -> Vec<String> {
    let mut names = hidden(folder);
    names.retain(|name| name.starts_with(".out.") && name != ".out.lock");
    names
}

/// Waits for a run with `seed`, and repeats it if another run wrote for longer than its wait, which
/// is no fault on a busy machine.
fn run_to_its_end(folder: &Path, seed: u64, first: Child) {
    let mut done = first.wait_with_output().expect("it ends");
    while done.status.code() == Some(2) {
        let told = said(&done, 2);
        assert!(told.contains("which another run has been writing for 10s"), "{told}");
        done = start(folder, seed).wait_with_output().expect("it ends");
    }
    said(&done, 0);
}

/// If two runs write into one folder, the second waits for the first.
#[test]
fn soak_pairs_of_runs_into_one_folder_leave_it_whole_and_of_one_run() {
    let desk = desk();
    let folder = desk.path();
    for round in 0..times(200) {
        let both = [2 * round + 1, 2 * round + 2].map(|seed| (seed, start(folder, seed)));
        for (seed, child) in both {
            run_to_its_end(folder, seed, child);
        }
        let seed = seed_of_all_files(folder);
        assert!(
            [2 * round + 1, 2 * round + 2].contains(&seed),
            "round {round}: the results of seed {seed}"
        );
        assert_eq!(hidden(folder), Vec::<String>::new(), "round {round}");
    }
}

/// Pseudorandom instants, the same in each run of the test (MMIX's linear congruential generator).
fn chances() -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(1), next).map(|state| state >> 33)
}

/// After a kill during the writing, `check` names exactly the incomplete files.
#[test]
fn soak_runs_that_are_killed_while_they_write_leave_whole_results() {
    let desk = desk();
    let folder = desk.path();
    said(&start(folder, 1).wait_with_output().expect("it ends"), 0);
    let mut last = 1;
    let mut killed = 0;
    for (round, chance) in (0..times(200)).zip(chances()) {
        let seed = round + 2;
        let mut child = start(folder, seed);
        let before = staged(folder);
        // Earlier remains are removed first, then the run begins to write; some runs are killed
        // before that.
        if round % 4 > 0 {
            let ended = |child: &mut Child| child.try_wait().expect("it can be asked").is_some();
            while !ended(&mut child) && staged(folder).iter().all(|name| before.contains(name)) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        thread::sleep(Duration::from_micros(chance % 30_000));
        let signal = ["-KILL", "-KILL", "-KILL", "-TERM", "-KILL", "-INT"][round as usize % 6];
        // It may have ended by now.
        let _ = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let done = child.wait_with_output().expect("it ends");
        killed += u32::from(done.status.signal() == Some(9));

        let checked = justfull(folder, &["check", "out"]);
        let told = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(0), "round {round}: {told}");
        for name in staged(folder) {
            assert!(
                told.contains(&format!("{name}: left by a killed run")),
                "round {round}: {name}: {told}"
            );
        }
        for (name, state) in looked(folder).leftovers {
            let whole = matches!(state, State::Complete(_));
            assert_eq!(whole, folder.join(&name).join("manifest.json").exists() && whole, "{name}");
        }
        let now = seed_of_all_files(folder);
        assert!(now == last || now == seed, "round {round}: {now}");
        if done.status.success() {
            assert_eq!(now, seed, "a run that says it is done is done");
        }
        last = now;
    }
    assert!(killed > 0, "some are killed in time");
    said(&start(folder, 9_999).wait_with_output().expect("it ends"), 0);
    assert_eq!((seed_of_all_files(folder), hidden(folder)), (9_999, Vec::new()));
}

#[test]
fn results_of_another_scenario_are_replaced_by_force_only() {
    let desk = desk();
    let folder = desk.path();
    let run = |words: &[&str]| justfull(folder, &[&["run", "-q", "--out", "out"], words].concat());
    assert!(!said(&run(&["call.toml"]), 0).contains("replaced"));
    assert!(
        said(&run(&["call.toml", "--seed", "2"]), 0)
            .contains("replaced the earlier results in out")
    );
    let told = said(&run(&["other.toml"]), 2);
    assert!(told.contains("--out: found out, which holds something else: run "), "{told}");
    assert!(told.contains("call.toml --seed 2") && told.contains("or any with --force"), "{told}");
    assert_eq!(seed_of_all_files(folder), 2);
    said(&run(&["other.toml", "--force", "--seed", "3"]), 0);
    assert_eq!(seed_of_all_files(folder), 3);
    fs::write(folder.join("out/notes.txt"), "mine").expect("a file can be made");
    assert!(said(&run(&["other.toml"]), 2).contains("not of the run: notes.txt"));
    assert!(
        said(&run(&["other.toml", "--force"]), 0).contains("what was in out is kept as out.old")
    );
    assert_eq!(fs::read_to_string(folder.join("out.old/notes.txt")).expect("it is kept"), "mine");
    let told = said(&justfull(folder, &["check", "out", "out.old"]), 1);
    assert!(told.contains("out.old: not the whole results of one run"), "{told}");
    assert_eq!(hidden(folder), Vec::<String>::new());
}

#[test]
fn no_file_of_a_run_has_its_place_in_the_folder_of_the_results() {
    let desk = desk();
    let folder = desk.path();
    symlink(".", folder.join("here")).expect("a link can be made");
    for packets in ["oc/runs.csv", "oc/packets.csv", "./oc/packets.csv", "here/oc/p.csv", "oc"] {
        let words =
            ["run", "call.toml", "-q", "--out", "oc", "--packets", packets, "--format", "csv"];
        let told = said(&justfull(folder, &words), 2);
        assert!(
            told.contains(&format!(
                "--packets: found {packets}, where the folder of the results oc goes"
            )),
            "{told}"
        );
    }
    let words =
        ["run", "call.toml", "-q", "--no-files", "--packets", "p.csv", "--slots", "here/p.csv"];
    let told = said(&justfull(folder, &words), 2);
    assert!(told.contains("--slots: found here/p.csv, which --packets names too"), "{told}");
    let words = ["reproduce", "A21", "--out", "oc", "--markdown", "oc/table.md"];
    assert!(said(&justfull(folder, &words), 2).contains("--markdown: found oc/table.md"));
    assert!(!folder.join("oc").exists() && hidden(folder).is_empty());
}

/// The test is the first writer; the second gives up and prints why.
#[test]
fn soak_a_writer_waits_ten_seconds_for_another() {
    if std::env::var_os("JUSTFULL_SOAK").is_none() {
        return;
    }
    let desk = desk();
    let folder = desk.path();
    let lock = fs::File::create(folder.join(".out.lock")).expect("a file can be made");
    lock.lock().expect("it is free");
    let told = said(&start(folder, 1).wait_with_output().expect("it ends"), 2);
    assert!(told.contains("waits for another run, which writes out"), "{told}");
    assert!(told.contains("which another run has been writing for 10s"), "{told}");
}

#[test]
fn a_writer_that_waits_goes_on_when_the_other_ends() {
    let desk = desk();
    let folder = desk.path();
    let lock = fs::File::create(folder.join(".out.lock")).expect("a file can be made");
    lock.lock().expect("it is free");
    assert!(looked(folder).in_use);
    let mut child = start(folder, 1);
    let mut reader = child.stderr.take().expect("it is piped");
    let mut first = [0; 5];
    std::io::Read::read_exact(&mut reader, &mut first).expect("it says that it waits");
    assert_eq!(&first, b"waits");
    assert!(child.try_wait().expect("it can be asked").is_none() && !folder.join("out").exists());
    drop(lock);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(seed_of_all_files(folder), 1);
}

/// The folder's owner has planted links; root writes into it.
#[test]
fn root_follows_no_link_in_anothers_folder() {
    let desk = desk();
    let folder = desk.path();
    let victim = folder.join("victim");
    fs::write(&victim, "precious").expect("a file can be made");
    let theirs = folder.join("theirs");
    fs::create_dir_all(theirs.join("full")).expect("a folder can be made");
    let link = |to: &Path, name: &str| {
        let at = theirs.join(name);
        symlink(to, &at).expect("a link can be made");
        // Without root the links belong to this user, and are not followed either.
        let _ = lchown(&at, Some(65_534), Some(65_534));
    };
    for name in [
        "p.csv",
        "p.csv.part",
        "full/.justfull-probe",
        "full/runs.csv.part",
        "full/runs.csv",
        ".full.part",
    ] {
        link(&victim, name);
    }
    link(folder, "linked");
    link(&victim, ".locked.lock");
    let run = |words: &[&str]| justfull(&theirs, &[&["run", "../call.toml", "-q"], words].concat());
    said(&run(&["--no-files", "--packets", "p.csv"]), 0);
    assert!(fs::symlink_metadata(theirs.join("p.csv")).expect("it is there").is_file());
    said(&run(&["--out", "full"]), 2);
    said(&run(&["--out", "full", "--force"]), 0);
    assert!(
        said(&run(&["--out", "linked", "--force"]), 2)
            .contains("a symbolic link, which is not followed")
    );
    said(&run(&["--out", "locked"]), 2);
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
}

#[test]
fn a_full_disk_leaves_the_earlier_results() {
    room("a_full_disk_leaves_the_earlier_results", |_| {
        let desk = desk();
        let folder = desk.path();
        let run = |words: &[&str]| justfull(folder, &[&["run", "call.toml", "-q"], words].concat());
        said(&run(&["--out", "out"]), 0);
        let bytes: u64 = files(&folder.join("out"))
            .iter()
            .map(|path| path.metadata().expect("it is there").len())
            .sum();
        let disk = folder.join("disk");
        fs::create_dir(&disk).expect("a folder can be made");
        // Room for one and a half runs, in pages.
        sh(&format!(
            "mount -t tmpfs -o size={}k small {}",
            bytes * 3 / 2 / 1024 + 64,
            disk.display()
        ));
        said(&run(&["--out", "disk/out"]), 0);
        let told = said(&run(&["--out", "disk/out", "--seed", "2"]), 2);
        assert!(
            told.contains("cannot write disk/out/") && told.contains("No space left on device"),
            "{told}"
        );
        let found = seed_of_all_files(&disk);
        let left = hidden(&disk);
        let mounted = said(&run(&["--out", "disk", "--force"]), 2);
        sh(&format!("umount {}", disk.display()));
        assert_eq!((found, left), (1, Vec::new()));
        assert!(mounted.contains("disk, on which something is mounted"), "{mounted}");
    });
}

#[test]
fn a_check_needs_no_folder_to_find_what_a_killed_run_left() {
    let desk = desk();
    let folder = desk.path();
    let left: PathBuf = folder.join(".out.0123456789abcdef");
    fs::create_dir(&left)
        .and_then(|()| fs::write(left.join("runs.csv"), "half"))
        .expect("a file can be made");
    let checked = justfull(folder, &["check", "out"]);
    said(&checked, 1);
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(told.contains("out: not there"), "{told}");
    assert!(
        told.contains(
            ".out.0123456789abcdef: left by a killed run, the next for this folder removes it: \
             incomplete"
        ),
        "{told}"
    );
    assert!(
        said(&start(folder, 1).wait_with_output().expect("it ends"), 0)
            .contains("removed what a killed run had left")
    );
    assert_eq!(hidden(folder), Vec::<String>::new());
}

#[test]
fn the_version_tells_the_commit_and_is_in_the_results() {
    let desk = desk();
    let folder = desk.path();
    let done = justfull(folder, &["--version"]);
    let line = String::from_utf8_lossy(&done.stdout).into_owned();
    let version = line.trim_end().strip_prefix("justfull ").expect("its name");
    let bare = env!("CARGO_PKG_VERSION");
    if version != bare {
        let commit =
            version.strip_prefix(bare).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'));
        let commit = commit.expect("a commit in brackets");
        let commit = commit.strip_suffix("-dirty").unwrap_or(commit);
        assert!(commit.len() >= 12 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{version}");
    }
    said(&start(folder, 1).wait_with_output().expect("it ends"), 0);
    for name in ["result.json", "manifest.json"] {
        assert_eq!(room::json(folder.join("out").join(name))["version"], version, "{name}");
    }
    wait_until("nothing is left", || hidden(folder).is_empty());
}
