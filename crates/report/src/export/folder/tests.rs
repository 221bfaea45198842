use super::disk::faults::{Fault, Plan, Step, under};
use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn subject(kind: &str) -> Subject {
    Subject { kind: kind.into(), scenario: "voip".into() }
}

fn origin(seed: u64) -> Origin {
    Origin {
        command: format!("justfull run voip --seed {seed}"),
        version: "0.1.0".into(),
        seeds: vec![seed],
        scenario_toml: "title = \"voip\"\n".into(),
    }
}

/// A place for results with nothing beside it.
struct Place {
    above: TempDir,
}

impl Place {
    fn new() -> Self {
        // In memory if possible, because the tests write thousands of files.
        let memory = tempfile::tempdir_in("/dev/shm");
        Self { above: memory.or_else(|_| tempfile::tempdir()).expect("a folder can be made") }
    }

    fn out(&self) -> PathBuf {
        self.above.path().join("out")
    }

    fn open(&self, kind: &str, force: bool) -> Result<(ResultsFolder, Said), Refused> {
        ResultsFolder::open(&self.out(), subject(kind), force, &mut || {})
    }

    /// Writes the results of `seed`; returns the outcome in words.
    fn run(&self, seed: u64, force: bool) -> Result<Said, String> {
        let (mut folder, mut said) = self.open("run", force).map_err(|e| e.to_string())?;
        fill(&mut folder, seed).map_err(|e| e.to_string())?;
        said.extend(folder.publish(origin(seed)).map_err(|e| e.to_string())?);
        Ok(said)
    }

    fn inspect(&self) -> Inspection {
        inspect(&self.out()).expect("it can be read")
    }

    /// The seed of the complete results in place; none if nothing is there.
    fn seed(&self) -> Option<u64> {
        match self.inspect().state? {
            State::Complete(manifest) => {
                let seed = manifest.origin.seeds[0];
                let text = fs::read_to_string(self.out().join("runs.csv")).expect("it is there");
                assert_eq!(text, table(seed), "the manifest and the files are of one run");
                Some(seed)
            }
            State::Empty | State::Other { .. } => None,
            other => panic!("{}", other.in_words()),
        }
    }

    /// Names of files beside the folder and in it.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.above).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }

    fn plant(&self, name: &str, text: &str) {
        let path = self.above.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be made");
    }
}

fn table(seed: u64) -> String {
    format!("seed,delay\n{seed},1.5\n")
}

fn fill(folder: &mut ResultsFolder, seed: u64) -> Result<(), ExportError> {
    folder.write("runs.csv", |out| out.write_all(table(seed).as_bytes()))?;
    folder.write("figures/a.svg", |out| out.write_all(format!("<svg>{seed}</svg>").as_bytes()))?;
    folder.write("figures/b.svg", |out| out.write_all(b"<svg/>"))
}

#[test]
fn results_come_as_a_whole_and_replace_earlier_ones_of_the_same_subject() {
    let place = Place::new();
    assert_eq!(place.run(1, false), Ok(Vec::new()));
    assert_eq!((place.seed(), place.names()), (Some(1), vec!["out".into()]));
    let said = place.run(2, false).expect("it may be replaced");
    assert_eq!(said, [format!("replaced the earlier results in {}", place.out().display())]);
    assert_eq!((place.seed(), place.names()), (Some(2), vec!["out".into()]));
    let state = place.inspect().state.expect("it is there");
    let manifest = state.manifest().expect("it is complete");
    let paths: Vec<&str> = manifest.files.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["runs.csv", "figures/a.svg", "figures/b.svg"]);
    assert_eq!((manifest.format, manifest.run.len()), (FORMAT, 64));
}

#[test]
fn nothing_is_made_for_results_that_do_not_come() {
    let place = Place::new();
    let out = place.above.path().join("a/b/out");
    let (mut folder, _) =
        ResultsFolder::open(&out, subject("run"), false, &mut || {}).expect("it can be written");
    fill(&mut folder, 1).expect("there is room");
    assert!(out.parent().expect("it is in a folder").is_dir());
    drop(folder);
    assert_eq!(place.names(), Vec::<String>::new(), "no empty folder is left");
}

/// The content at the place before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Empty,
    Results,
    /// A file that no run wrote, with `--force`.
    Notes,
}

impl Before {
    fn make(self) -> Place {
        let place = Place::new();
        match self {
            Self::Nothing => {}
            Self::Empty => fs::create_dir(place.out()).expect("a folder can be made"),
            Self::Results => drop(place.run(1, false).expect("there is room")),
            Self::Notes => place.plant("out/notes.txt", "mine"),
        }
        place
    }

    /// Asserts that the notes still exist and that no obsolete file remains.
    fn nothing_is_lost_or_left(self, place: &Place, case: &str) {
        let mut names = place.names();
        names.retain(|name| name != "out");
        if self != Self::Notes {
            assert_eq!(names, Vec::<String>::new(), "{case}");
            return;
        }
        let notes =
            ["out/notes.txt", "out.old/notes.txt"].map(|path| place.above.path().join(path));
        assert_eq!(notes.iter().filter(|path| path.exists()).count(), 1, "{case}: {names:?}");
        assert!(names.iter().all(|name| name == "out.old"), "{case}: {names:?}");
    }
}

/// Makes each step fail of a run that replaces `before`; returns the number of these steps.
fn walk(before: Before, fault: fn(usize) -> Fault, no_exchange: bool) -> usize {
    for k in 0.. {
        let case = format!("{before:?}, {:?}, exchange {}", fault(k), !no_exchange);
        let place = before.make();
        let old = place.seed();
        let plan = Plan { fault: Some(fault(k)), no_exchange, short: None };
        let (outcome, steps, failed) = under(plan, || place.run(2, before == Before::Notes));
        let case = format!("{case} ({:?}): {outcome:?}", steps.get(k));
        if !failed {
            assert!(outcome.is_ok(), "{case}");
            return k;
        }
        let killed = matches!(fault(k), Fault::From(_));
        let found = place.inspect();
        let left = place
            .names()
            .iter()
            .filter(|n| n.starts_with(".out.") && !n.ends_with(".lock"))
            .count();
        assert_eq!(found.leftovers.len(), left, "{case}: every leftover is listed");
        if killed {
            // The next run for this place cleans up, with any outcome.
            let next = place.open("run", true);
            drop(next.unwrap_or_else(|e| panic!("{case}: {e}")));
        } else {
            assert_eq!(left, 0, "{case}");
        }
        let now = place.seed();
        assert!(now == old || now == Some(2), "{case}: {now:?}");
        if outcome.is_ok() {
            assert_eq!(now, Some(2), "{case}");
        }
        before.nothing_is_lost_or_left(&place, &case);
    }
    unreachable!("a run has an end")
}

/// In turn, each step fails and the process is killed before each step, with and without the
/// exchange of names.
#[test]
fn whichever_step_fails_the_old_results_are_whole_or_the_new_ones() {
    for before in [Before::Nothing, Before::Empty, Before::Results, Before::Notes] {
        for no_exchange in [false, true] {
            assert!(walk(before, Fault::Once, no_exchange) > 15, "a run makes many steps");
            walk(before, Fault::From, no_exchange);
        }
    }
}

#[test]
fn a_killed_run_between_two_renames_has_its_results_put_in_their_place() {
    let place = Before::Results.make();
    let all = under(Plan { no_exchange: true, ..Plan::default() }, || place.run(2, false)).1;
    let second = all.iter().rposition(|step| *step == Step::Rename).expect("it renames");
    let place = Before::Results.make();
    let plan = Plan { fault: Some(Fault::From(second)), no_exchange: true, short: None };
    under(plan, || place.run(2, false)).0.expect_err("it was killed");
    let found = place.inspect();
    assert_eq!(found.state, None, "between the renames nothing is there");
    assert!(
        found.leftovers.iter().all(|(_, state)| matches!(state, State::Complete(_))),
        "{found:?}"
    );
    assert_eq!(found.leftovers.len(), 2);
    let (folder, said) = place.open("run", false).expect("it may be replaced");
    assert_eq!(
        said,
        [
            "put the results that a killed run had left into out",
            "removed what a killed run had left beside out"
        ]
    );
    drop(folder);
    assert_eq!((place.seed(), place.names()), (Some(2), vec!["out".into()]));
}

#[test]
fn short_writes_make_the_same_files() {
    let place = Place::new();
    let (outcome, ..) = under(Plan { short: Some(1), ..Plan::default() }, || place.run(7, false));
    outcome.expect("there is room");
    assert_eq!(place.seed(), Some(7));
}

/// The second writer waits, and gives up if the first does not end.
#[test]
fn a_second_writer_is_kept_out_until_the_first_has_ended() {
    let place = Place::new();
    let (first, _) = place.open("run", false).expect("it is free");
    assert!(place.inspect().in_use);
    let mut waits = 0;
    let mut second = |patience| {
        ResultsFolder::take(&place.out(), subject("run"), patience, &mut || waits += 1)
            .expect("it can be written")
    };
    assert!(second(Duration::ZERO).is_none());
    assert!(second(Duration::from_millis(60)).is_none());
    drop(first);
    assert!(second(Duration::ZERO).is_some());
    assert_eq!(waits, 1, "one that waits says so");
    assert!(!place.inspect().in_use);
    place.plant(".out.lock", "");
    place.run(1, false).expect("what a killed process left is no lock");
    assert_eq!(place.names(), ["out"]);
}

#[test]
fn files_of_another_subject_need_force_and_are_named() {
    let refused = |place: &Place| place.run(2, false).expect_err("it is refused");
    let place = Before::Notes.make();
    let message = refused(&place);
    assert!(
        message.contains(
            "which holds something else: no results: it holds notes.txt, allowed is an empty"
        ),
        "{message}"
    );
    let said = place.run(2, true).expect("it is forced");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("is kept as") && said[0].ends_with("out.old"), "{said:?}");
    Before::Notes.nothing_is_lost_or_left(&place, "forced");

    let place = Before::Results.make();
    place.plant("out/notes.txt", "mine");
    assert!(refused(&place).contains("mixed: not of the run: notes.txt"));
    assert_eq!(place.names(), ["out"], "nothing is made");

    let place = Before::Results.make();
    place.plant("out/runs.csv", "seed,delay\n1,1.4\n");
    assert!(
        refused(&place).contains("mixed: not as the run wrote them: runs.csv"),
        "an edited file is somebody's work"
    );

    let place = Place::new();
    place.plant("out/result.json", "{}");
    assert!(refused(&place).contains("of an older version"));

    let place = Before::Results.make();
    let message = place.open("demo", false).map(drop).expect_err("another command").to_string();
    assert!(message.contains("justfull run voip --seed 1"), "{message}");
    drop(place.open("demo", true).expect("it is forced"));
    assert_eq!(place.seed(), Some(1), "nothing was written");
}

#[test]
fn results_of_live_runs_are_never_replaced() {
    let place = Place::new();
    let live = |seed: u64, force: bool| -> Result<Said, String> {
        let (mut folder, _) = place.open("live", force).map_err(|e| e.to_string())?;
        fill(&mut folder, seed).map_err(|e| e.to_string())?;
        folder.publish(origin(seed)).map_err(|e| e.to_string())
    };
    live(1, false).expect("it is free");
    live(2, false).expect_err("they cannot be made again");
    for seed in [2, 3] {
        assert!(live(seed, true).expect("it is forced")[0].contains("is kept as"));
    }
    assert_eq!(
        (place.seed(), place.names()),
        (Some(3), vec!["out".into(), "out.old".into(), "out.old2".into()])
    );

    let next = || {
        let above = place.above.path();
        let (folder, _) = ResultsFolder::create_new(above, "out", "out", &subject("live"))
            .expect("it can be written");
        folder.path().file_name().expect("a name").to_owned()
    };
    assert_eq!(
        (next(), next()),
        ("out-2".into(), "out-2".into()),
        "one that came to nothing leaves nothing"
    );
    place.plant(".out-9.0123456789abcdef/runs.csv", "");
    place.plant(".out-8.lock", "");
    place.plant(".mine.0123456789abcdef/a", "");
    next();
    assert_eq!(
        place.names(),
        [".mine.0123456789abcdef", "out", "out.old", "out.old2"],
        "what killed runs left goes"
    );
}

/// The owner of the folder above may plant links in it.
/// If a step fails, a live run keeps the files that are written and names the others. Only a
/// failure before the run or at the manifest leaves nothing.
#[test]
fn a_live_run_keeps_the_files_that_the_disk_takes() {
    let mut kept = 0;
    for k in 0.. {
        let place = Place::new();
        let plan = Plan { fault: Some(Fault::Once(k)), ..Plan::default() };
        let ((opened, outcome), _, failed) = under(plan, || {
            let Ok((mut folder, _)) = place.open("live", false) else {
                return (false, Ok(Vec::new()));
            };
            fill(&mut folder, 1).expect("a file that is lost does not end the writing");
            (true, folder.publish(origin(1)).map_err(|e| e.to_string()))
        });
        match place.inspect().state {
            None => assert!(!opened || outcome.is_err(), "{k}"),
            Some(State::Complete(manifest)) => assert_eq!(manifest.files.len(), 3, "{k}"),
            Some(State::Incomplete { manifest: Some(manifest), why }) => {
                kept += 1;
                assert_eq!((manifest.files.len(), manifest.missing.len()), (2, 1), "{k}");
                assert_eq!(why, format!("missing: {}", manifest.missing[0]));
                let error = outcome.expect_err("it is reported");
                let name = place.out().join(&manifest.missing[0]);
                assert!(
                    error.starts_with(&format!("cannot write {}: ", name.display())),
                    "{error}"
                );
                assert!(
                    error.contains("; 2 of the 3 files are kept, manifest.json names the others"),
                    "{error}"
                );
                assert!(!name.exists(), "no half file");
            }
            Some(other) => panic!("{k}: {}", other.in_words()),
        }
        if !failed {
            assert!(kept >= 9, "create, write and sync of three files: {kept}");
            return;
        }
    }
}

#[test]
fn planted_links_are_not_followed() {
    let victim = Place::new();
    victim.plant("out", "precious");
    let precious = || fs::read_to_string(victim.out()).expect("it is there");
    let place = Place::new();
    symlink(victim.out(), place.above.path().join(".out.lock")).expect("a link can be made");
    place.open("run", true).map(drop).expect_err("the lock is a link");
    fs::remove_file(place.above.path().join(".out.lock")).expect("it is there");

    symlink(victim.above.path(), place.out()).expect("a link can be made");
    let message = place.open("run", true).map(drop).expect_err("the folder is a link").to_string();
    assert!(message.contains("a symbolic link, which is not followed"), "{message}");
    fs::remove_file(place.out()).expect("it is there");

    let (mut folder, _) = place.open("run", false).expect("it is free");
    folder.write("runs.csv", |out| out.write_all(b"x")).expect("there is room");
    let staging =
        place.names().into_iter().find(|name| name.starts_with(".out.") && !name.ends_with("lock"));
    let staging = place.above.path().join(staging.expect("it is being written"));
    symlink(victim.out(), staging.join("cdf.csv")).expect("a link can be made");
    folder.write("cdf.csv", |out| out.write_all(b"x")).expect_err("a link stands there");
    fs::rename(&staging, place.above.path().join("moved")).expect("it can be renamed");
    symlink(victim.above.path(), &staging).expect("a link can be made");
    folder.write("out", |out| out.write_all(b"x")).expect("it goes where the folder is now");
    drop(folder);
    assert_eq!((precious(), victim.names()), ("precious".into(), vec!["out".into()]));
}

#[test]
fn a_check_tells_whole_results_from_all_others() {
    let words = |spoil: &dyn Fn(&Place)| {
        let place = Before::Results.make();
        spoil(&place);
        place.inspect().state.expect("a folder").in_words()
    };
    let gone = |path: &'static str| {
        move |p: &Place| fs::remove_file(p.out().join(path)).expect("it is there")
    };
    assert!(words(&|_| {}).starts_with("complete: 3 files, "));
    assert!(
        words(&gone("figures/a.svg"))
            .starts_with("incomplete: missing: figures/a.svg; the rest is of run ")
    );
    assert!(
        words(&|p| fs::remove_dir_all(p.out().join("figures")).expect("it is there"))
            .contains("missing: figures/a.svg, figures/b.svg")
    );
    assert!(
        words(&|p| p.plant("out/runs.csv", &table(2)))
            .starts_with("mixed: not as the run wrote them: runs.csv;")
    );
    assert!(words(&|p| p.plant("out/runs.csv", "")).starts_with("mixed: "));
    assert!(
        words(&|p| p.plant("out/figures/c.svg", ""))
            .starts_with("mixed: not of the run: figures/c.svg")
    );
    assert!(
        words(&|p| p.plant("out/x\u{1b}[2J", "")).contains("x\\u{1b}[2J"),
        "no name steers a terminal"
    );
    let link = |p: &Place| {
        let (at, to) = (p.out().join("runs.csv"), p.above.path().join("elsewhere"));
        fs::rename(&at, &to).and_then(|()| symlink(to, at)).expect("a link can be made");
    };
    assert!(words(&link).starts_with("mixed: "), "a link is no file of the run");
    assert!(words(&gone("manifest.json")).starts_with("no results: it holds figures, runs.csv"));
    let other = Before::Results.make();
    other.run(2, false).expect("there is room");
    let swapped = |p: &Place| {
        drop(fs::copy(other.out().join("manifest.json"), p.out().join("manifest.json")))
    };
    assert!(words(&swapped).starts_with("mixed: "), "a manifest of another run");
}

/// A manifest may come from anyone.
#[test]
fn a_manifest_that_cannot_be_believed_is_refused() {
    let with = |change: &dyn Fn(&mut Manifest)| {
        let place = Before::Results.make();
        let mut manifest =
            place.inspect().state.and_then(|s| s.manifest().cloned()).expect("it is complete");
        change(&mut manifest);
        place.plant("out/manifest.json", &serde_json::to_string(&manifest).expect("JSON"));
        place.inspect().state.expect("a folder").in_words()
    };
    for path in [
        "../out/runs.csv",
        "/etc/passwd",
        "",
        ".",
        "figures//a.svg",
        "figures/./a.svg",
        "manifest.json",
    ] {
        let message = with(&|m| m.files[0].path = path.into());
        assert!(message.starts_with("unreadable: manifest.json: it names"), "{path}: {message}");
    }
    assert!(with(&|m| m.files[1] = m.files[0].clone()).contains("twice"));
    assert!(with(&|m| m.origin.seeds.push(9)).contains("its run is not the one that it describes"));
    assert!(with(&|m| m.format = 2).contains("of a later version"));
    assert!(with(&|m| m.files[0].bytes = u64::MAX).starts_with("mixed: "));
    let text = |text: &str| {
        let place = Before::Results.make();
        place.plant("out/manifest.json", text);
        place.inspect().state.expect("a folder").in_words()
    };
    for broken in ["", "{", "[]", "{\"format\":1}", "{\"format\":-1}"] {
        assert!(text(broken).starts_with("unreadable: manifest.json: "), "{broken}");
    }
    let place = Before::Results.make();
    let at = place.out().join("manifest.json");
    fs::remove_file(&at).and_then(|()| symlink("/dev/zero", at)).expect("a link can be made");
    assert!(
        place.inspect().state.expect("a folder").in_words().starts_with("unreadable: "),
        "no device is read"
    );
}

#[test]
fn places_that_cannot_be_replaced_are_refused() {
    for path in ["", ".", "..", "/", "a/.."] {
        let message =
            ResultsFolder::open(Path::new(path), subject("run"), true, &mut || {}).map(drop);
        assert!(
            message.expect_err("it has no name").to_string().contains("a folder with a name"),
            "{path}"
        );
    }
    let long = "x".repeat(201);
    ResultsFolder::open(Path::new(&long), subject("run"), true, &mut || {})
        .map(drop)
        .expect_err("too long");
    let message =
        ResultsFolder::open(Path::new("/proc"), subject("run"), true, &mut || {}).map(drop);
    message.expect_err("it is mounted, or nobody may write beside it");
}

#[test]
fn a_folder_keeps_its_permissions() {
    let place = Before::Empty.make();
    fs::set_permissions(place.out(), fs::Permissions::from_mode(0o750)).expect("it is ours");
    place.run(1, false).expect("it is empty");
    assert_eq!(
        fs::metadata(place.out()).expect("it is there").permissions().mode() & 0o7777,
        0o750
    );
}
