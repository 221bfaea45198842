//! `cargo xtask ci`: the checks for a change: first those whose mistakes are the cheapest to find,
//! then tracks of steps side by side.

mod test_programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use test_programs::Half;

use crate::process::Captured;
use crate::tidy::arrows::PURE;
use crate::{Failure, Outcome, bench, deny, docs, mutate, notice, process, python, tidy};

/// Targets without an operating system, best first: a crate that uses `std` is refused there.
const BARE_METAL: [&str; 2] = ["thumbv7em-none-eabi", "x86_64-unknown-none"];

struct Step {
    name: &'static str,
    run: fn(&Path) -> Outcome,
}

/// Which steps to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// [`FIRST`], then the tracks side by side.
    All,
    /// The steps from the step of this name on, one after the other.
    From(&'a str),
    /// What takes less than two minutes.
    Fast,
    /// A track of [`BESIDE`].
    Track(&'a str),
}

/// Steps that run one after the other, beside the other tracks.
struct Track {
    name: &'static str,
    /// Other work on the machine can make it fail.
    disturbed: bool,
    steps: &'static [Step],
}

/// One scenario simulated and live under a queue that is plain but for its AQM, and under a method
/// that holds packets back: 20 Mbit/s, slots of 1 ms, long enough for several teeth of CUBIC's saw.
const PARITY: [&str; 12] = [
    "parity",
    "live-lte",
    "--quiet",
    "--method",
    "CoDel",
    "--method",
    "5G-BDP",
    "--duration",
    "45s",
    "--set",
    "warmup=10s",
    "--tries=3",
];

/// Optional features of the program.
const FEATURES: [&str; 8] = ["campaign", "f1u", "live", "parquet", "png", "proxy", "quic", "ui"];

/// The steps whose mistakes are the cheapest to find.
const FIRST: [Step; 2] =
    [Step { name: "format", run: format }, Step { name: "tidy", run: tidy::run }];

const UNIT_TESTS: Step = Step { name: "unit tests", run: unit_tests };
const CLIPPY: Step = Step { name: "clippy", run: clippy };
const SUPPLY_CHAIN: Step = Step { name: "supply chain", run: supply_chain };

/// The track that runs the programs of [`BUILD`].
const BUILT: [Step; 4] = [
    Step { name: "tests", run: tests },
    Step { name: "generated docs", run: generated_docs },
    Step { name: "mutations, short", run: mutations },
    Step { name: "claims, short", run: claims },
];

/// The build of all tests, before the tracks begin.
const BUILD: Step = Step { name: "build", run: build };

/// The tracks beside [`BUILT`]: the steps in real time, and the steps that compile. Of the latter,
/// the steps that keep only one core busy come first: the last ones run alone, on all cores.
const BESIDE: [Track; 2] = [
    Track {
        name: "real-time",
        disturbed: true,
        steps: &[
            Step { name: "tests in real time", run: tests_in_real_time },
            Step { name: "parity, short", run: parity },
            Step { name: "live claims, short", run: live_claims },
        ],
    },
    Track {
        name: "compiled",
        disturbed: false,
        steps: &[
            Step { name: "python", run: python_package },
            Step { name: "instructions", run: instructions },
            Step { name: "no_std", run: no_std },
            Step { name: "documentation", run: documentation },
            CLIPPY,
            SUPPLY_CHAIN,
            Step { name: "features", run: features },
        ],
    },
];

/// Time limit of a track; three tries of each step in real time take less.
const TRACK_LIMIT: Duration = Duration::from_secs(3600);

/// Runs every step of `part`, or stops at the first of a track that fails and prints the steps that
/// were not run.
pub(crate) fn run(root: &Path, part: Part<'_>) -> Outcome {
    let one_of = |option: &str, found: &str, names: &[&str]| {
        let names = names.join("; ");
        Failure::Environment(format!("{option}: found `{found}`, allowed is one of: {names}"))
    };
    let first = FIRST.iter();
    match part {
        Part::All => {
            run_steps(root, &first.chain([&BUILD]).collect::<Vec<_>>())?;
            run_tracks(root)
        }
        Part::Fast => {
            run_steps(root, &first.chain([&CLIPPY, &SUPPLY_CHAIN, &UNIT_TESTS]).collect::<Vec<_>>())
        }
        Part::From(name) => {
            let beside = BESIDE.iter().flat_map(|track| track.steps);
            let all: Vec<&Step> = first.chain([&BUILD]).chain(&BUILT).chain(beside).collect();
            let names: Vec<&str> = all.iter().map(|step| step.name).collect();
            let at = names.iter().position(|step| *step == name);
            run_steps(root, &all[at.ok_or_else(|| one_of("--from", name, &names))?..])
        }
        Part::Track(name) => {
            let track = BESIDE.iter().find(|track| track.name == name);
            let track = track.ok_or_else(|| one_of("--track", name, &BESIDE.map(|t| t.name)))?;
            run_steps(root, &track.steps.iter().collect::<Vec<_>>())
        }
    }
}

/// Runs [`BUILT`] beside the other tracks; prints the output of each of these at its end. The other
/// tracks disturb the one in real time: if it fails, its steps from the failed one on run again
/// after all tracks.
fn run_tracks(root: &Path) -> Outcome {
    let messages = test_programs::keep_messages(root)?;
    let mut running = Vec::with_capacity(BESIDE.len());
    for track in &BESIDE {
        running.push((track, start(track, messages.path())?));
        // All others yield the processors to the first track. Where there is no `renice`, all
        // tracks share them evenly.
        let own = std::process::id().to_string();
        let mut renice = Command::new("renice");
        let _ = renice.args(["-n", "19", "-p", &own]).stdout(Stdio::null()).status();
    }
    let mut outcome = run_steps(root, &BUILT.iter().collect::<Vec<_>>());
    let mut again = Vec::new();
    for (track, captured) in running {
        println!("\n=== in the meantime: {}", track.name);
        let (mut ended, text) = captured.end(TRACK_LIMIT)?;
        println!("{text}");
        if track.disturbed && ended.is_err() {
            again = from_failed(track, &text);
            ended = ended.or_else(|failure| if again.is_empty() { Err(failure) } else { Ok(()) });
        }
        outcome = outcome.and(ended);
    }
    if outcome.is_ok() && !again.is_empty() {
        println!("\n=== again, alone");
        outcome = run_steps(root, &again);
    }
    outcome
}

/// The steps of `track` from the one on that failed by the summary in `text`; none if none did.
fn from_failed(track: &Track, text: &str) -> Vec<&'static Step> {
    let failed: Vec<&str> = text.lines().filter(|line| line.starts_with("FAILED ")).collect();
    let has_failed = |step: &&Step| failed.iter().any(|line| line.ends_with(step.name));
    track.steps.iter().skip_while(|step| !has_failed(step)).collect()
}

/// Starts a track in a process of its own. The process reads cargo's messages about the build from
/// the file `messages`.
fn start(track: &Track, messages: &Path) -> Outcome<Captured> {
    let cannot = |error: std::io::Error| Failure::Environment(format!("{}: {error}", track.name));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command.args(["ci", "--track", track.name]);
    Captured::start(command.env(test_programs::MESSAGES, messages))
}

/// Runs `steps` and prints their times.
fn run_steps(root: &Path, steps: &[&Step]) -> Outcome {
    let mut passed: Vec<Ran> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.name, index + 1, steps.len());
        let (start, before) = (process::clock(), process::cpu_of_children());
        let outcome = (step.run)(root);
        let cpu = process::cpu_of_children().saturating_sub(before);
        let ran = Ran { name: step.name, elapsed: start.elapsed(), cpu };
        if let Err(failure) = outcome {
            let not_run: Vec<&str> = steps[index + 1..].iter().map(|step| step.name).collect();
            println!("\n{}", summary(&passed, Some(ran), &not_run));
            return Err(failure);
        }
        passed.push(ran);
    }
    println!("\n{}", summary(&passed, None, &[]));
    Ok(())
}

/// A step that has ended, with its time and the CPU time of its processes.
#[derive(Clone, Copy)]
struct Ran {
    name: &'static str,
    elapsed: Duration,
    cpu: Duration,
}

/// A table of the steps with their times, and a last line with the verdict.
fn summary(passed: &[Ran], failed: Option<Ran>, not_run: &[&str]) -> String {
    let mut text = String::new();
    let all = || passed.iter().chain(&failed);
    for (index, Ran { name, elapsed, cpu }) in all().enumerate() {
        let verdict = if index < passed.len() { "ok" } else { "FAILED" };
        let (elapsed, cpu) = (elapsed.as_secs_f64(), cpu.as_secs_f64());
        text += &format!("{verdict:8} {elapsed:7.1} s {cpu:7.1} s of CPU  {name}\n");
    }
    for name in not_run {
        text += &format!("{:8} {:>7}   {:>7}           {name}\n", "not run", "-", "-");
    }
    let [elapsed, cpu] = [
        all().map(|ran| ran.elapsed).sum::<Duration>(),
        all().map(|ran| ran.cpu).sum::<Duration>(),
    ]
    .map(|time| time.as_secs_f64());
    let verdict = if failed.is_none() { "all passed" } else { "failed" };
    text + &format!("ci: {verdict} in {elapsed:.1} s, {cpu:.1} s of CPU")
}

fn format(root: &Path) -> Outcome {
    process::must_succeed(process::cargo(root).args(["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> Outcome {
    let arguments =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    process::must_succeed(process::cargo(root).args(arguments))
}

/// Checks the program without its features, and with each alone: no check may warn. `unified` has
/// the dependencies checked with the features that [`clippy`] gave them.
fn features(root: &Path) -> Outcome {
    let each = FEATURES.map(|feature| format!("justfull/{feature}"));
    std::iter::once("").chain(each.iter().map(String::as_str)).try_for_each(|feature| {
        let mut check = process::cargo(root);
        check.args(["clippy", "-p", "justfull", "-p", "justfull-unified", "--no-default-features"]);
        process::must_succeed(check.args(["--features", feature, "--", "-D", "warnings"]))
    })
}

fn unit_tests(root: &Path) -> Outcome {
    process::must_succeed(process::cargo(root).args(["test", "--workspace", "--lib", "--bins"]))
}

/// Builds the programs of all tests.
fn build(root: &Path) -> Outcome {
    test_programs::artifacts(root).map(drop)
}

fn tests(root: &Path) -> Outcome {
    test_programs::run(root, Half::Others)
}

fn tests_in_real_time(root: &Path) -> Outcome {
    test_programs::run(root, Half::RealTime)
}

/// Builds the documentation of every crate and runs the examples in it.
fn documentation(root: &Path) -> Outcome {
    let mut doc = process::cargo(root);
    doc.args(["doc", "--workspace", "--no-deps", "--all-features", "--quiet"]);
    process::must_succeed(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    process::must_succeed(process::cargo(root).args(["test", "--workspace", "--doc", "--quiet"]))
}

fn supply_chain(root: &Path) -> Outcome {
    notice::run(root, notice::Mode::Check)?;
    deny::run(root)
}

/// A hundredth of `make soak`'s mutations, the same each time.
fn mutations(root: &Path) -> Outcome {
    let plan = mutate::Plan { scenarios: 20, traces: 25, seed: Some(1), ..mutate::Plan::default() };
    mutate::run_with(root, &plan, &tested_program(root)?)
}

fn generated_docs(root: &Path) -> Outcome {
    let program = tested_program(root)?;
    [docs::REFERENCE, docs::VALIDATION]
        .iter()
        .try_for_each(|set| docs::run_with(root, set, docs::Mode::Check, &program))?;
    docs::run_verdicts(root, docs::Mode::Check)?;
    docs::check(root, "readme", &program)?;
    docs::check(root, "rapid", &program)
}

fn python_package(root: &Path) -> Outcome {
    python::run(root, python::Profile::Dev, &tested_program(root)?)
}

/// Counts, which do not depend on the load of the machine; times are for `make bench`.
fn instructions(root: &Path) -> Outcome {
    bench::counts(root)
}

/// In CI the traces must be there: a claim without its trace fails.
fn claims(root: &Path) -> Outcome {
    let program = tested_program(root)?;
    let strict = std::env::var_os("CI").map(|_| "--strict");
    ["T20", "E19", "A21", "R22", "P06"].iter().try_for_each(|paper| {
        let mut command = Command::new(&program);
        command.current_dir(root).args(["reproduce", paper, "--short"]).args(strict);
        process::must_succeed(&mut command)
    })
}

/// Parity alone, since live runs wait for real time. If this machine cannot build networks, this is
/// printed, and a failure in CI. Runs that this machine makes late every time do not judge parity;
/// this is printed too.
///
/// Two live runs of one cell differ: microseconds decide which packets of a burst the kernel loses
/// at its first overflow, and a run of 45 s has few such instants. So two of three repetitions
/// decide; the second and third run only if the first misses.
fn parity(root: &Path) -> Outcome {
    let program = tested_program(root)?;
    if !can_run_live(&program, "parity")? {
        return Ok(());
    }
    let once = || -> Outcome {
        let (outcome, said) = process::heard(Command::new(&program).args(PARITY))?;
        eprint!("{said}");
        if outcome.is_err() && said.contains("justfull: not judged") {
            println!("NOT JUDGED: parity, since this machine made live runs late each time");
            return Ok(());
        }
        outcome
    };
    once().or_else(|_| once().and_then(|()| once()))
}

/// R22's experiments over the live stack and `justfull proxy`. Two of three repetitions decide, as
/// for parity.
fn live_claims(root: &Path) -> Outcome {
    let program = tested_program(root)?;
    let words = ["reproduce", "R22", "--live", "--short", "--strict", "--quiet", "--no-files"];
    if !can_run_live(&program, "live claims")? {
        return Ok(());
    }
    let once = || process::must_succeed(Command::new(&program).args(words));
    once().or_else(|_| once().and_then(|()| once()))
}

/// False if this machine cannot build networks; this is printed, and a failure in CI.
fn can_run_live(program: &Path, what: &str) -> Outcome<bool> {
    if let Err(failure) = process::must_succeed(Command::new(program).args(["live", "--check"])) {
        if std::env::var_os("CI").is_some() {
            return Err(failure);
        }
        println!("skipped: {what}, since live runs are not possible here");
        return Ok(false);
    }
    Ok(true)
}

/// The `justfull` that the tests run. It simulates more than half as fast as the release build, its
/// assertions are on, and the release build would take more time than it saves.
fn tested_program(root: &Path) -> Outcome<PathBuf> {
    process::program_of(test_programs::artifacts(root)?, "justfull")
}

/// Checks the pure crates alone, so that no other crate's features reach them, with and without
/// `serde`. The tests build the same code for the host.
fn no_std(root: &Path) -> Outcome {
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    let mut check = vec!["check".to_owned(), "--no-default-features".to_owned()];
    for package in metadata.workspace_packages() {
        if PURE.iter().any(|pure| package.name.strip_prefix("justfull-") == Some(*pure)) {
            check.extend(["-p".to_owned(), package.name.to_string()]);
        }
    }
    match bare_metal_target(root)? {
        Some(target) => {
            println!("checked for {target}, which has no operating system");
            check.extend(["--target".to_owned(), target.to_owned()]);
        }
        None => println!(
            "checked for this host only: none of {} is installed (`rustup target add {}` makes this \
             check whole)",
            BARE_METAL.join(", "),
            BARE_METAL[0]
        ),
    }
    process::must_succeed(process::cargo(root).args(&check))?;
    check.extend(["--features".to_owned(), "serde".to_owned()]);
    process::must_succeed(process::cargo(root).args(&check))
}

/// The first target of [`BARE_METAL`] whose `core` is installed.
fn bare_metal_target(root: &Path) -> Outcome<Option<&'static str>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    let sysroot = process::stdout_of(command.current_dir(root).args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib").join("rustlib");
    Ok(BARE_METAL.into_iter().find(|target| libraries.join(target).is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ran(name: &'static str, seconds: u64) -> Ran {
        let elapsed = Duration::from_secs(seconds);
        Ran { name, elapsed, cpu: Duration::from_secs(2 * seconds) }
    }

    #[test]
    fn the_summary_of_a_failure_names_the_steps_that_did_not_run() {
        let text = summary(&[ran("format", 1)], Some(ran("clippy", 2)), &["tidy", "tests"]);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines,
            [
                vec!["ok", "1.0", "s", "2.0", "s", "of", "CPU", "format"],
                vec!["FAILED", "2.0", "s", "4.0", "s", "of", "CPU", "clippy"],
                vec!["not", "run", "-", "-", "tidy"],
                vec!["not", "run", "-", "-", "tests"],
                vec!["ci:", "failed", "in", "3.0", "s,", "6.0", "s", "of", "CPU"],
            ]
        );
    }

    #[test]
    fn a_disturbed_track_runs_again_from_its_failed_step_on() {
        let names = |text: &str| {
            from_failed(&BESIDE[0], text).iter().map(|step| step.name).collect::<Vec<_>>()
        };
        let failed = summary(&[], Some(ran("parity, short", 0)), &["live claims, short"]);
        assert_eq!(names(&failed), ["parity, short", "live claims, short"]);
        assert!(names("killed").is_empty());
    }

    #[test]
    fn the_summary_of_a_success_says_so_in_its_last_line() {
        let text = summary(&[ran("format", 1)], None, &[]);
        assert!(text.ends_with("ci: all passed in 1.0 s, 2.0 s of CPU"), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_cpu_of_a_process_counts_once_it_is_waited_for() {
        let before = process::cpu_of_children();
        let shell = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        assert!(Command::new("sh").args(["-c", shell]).status().expect("it runs").success());
        assert!(process::cpu_of_children() > before);
    }
}
