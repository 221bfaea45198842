//! `cargo xtask ci`: the checks for a change, in the order in which mistakes are cheapest to find.

mod test_programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use test_programs::Half;

use crate::process::Captured;
use crate::tidy::arrows::PURE;
use crate::{Failure, Outcome, bench, deny, docs, mutate, notice, process, python, tidy};

/// Targets without an operating system, best first: a crate that uses `std` is refused there.
const BARE_METAL: [&str; 2] = ["thumbv7em-none-eabi", "x86_64-unknown-none"];

struct Step {
    name: &'static str,
    /// Also part of `--fast`, which is meant to take less than two minutes.
    fast: bool,
    run: fn(&Path) -> Outcome,
}

/// Which steps to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    All,
    /// From the step of this name on.
    From(&'a str),
    Fast,
    /// The steps in real time. They run beside [`TESTS`] and the steps after it.
    RealTime,
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

const STEPS: [Step; 14] = [
    Step { name: "format", fast: true, run: format },
    Step { name: "clippy", fast: true, run: clippy },
    Step { name: "tidy", fast: true, run: tidy::run },
    Step { name: "supply chain", fast: true, run: supply_chain },
    Step { name: "unit tests", fast: true, run: unit_tests },
    Step { name: "no_std", fast: false, run: no_std },
    Step { name: "features", fast: false, run: features },
    Step { name: TESTS, fast: false, run: tests },
    Step { name: "documentation", fast: false, run: documentation },
    Step { name: "mutations, short", fast: false, run: mutations },
    Step { name: "generated docs", fast: false, run: generated_docs },
    Step { name: "python", fast: false, run: python_package },
    Step { name: "claims, short", fast: false, run: claims },
    Step { name: "instructions", fast: false, run: instructions },
];

const REAL_TIME_STEPS: [Step; 3] = [
    Step { name: "tests in real time", fast: false, run: tests_in_real_time },
    Step { name: "parity, short", fast: false, run: parity },
    Step { name: "live claims, short", fast: false, run: live_claims },
];

/// The step with which [`REAL_TIME_STEPS`] begin.
const TESTS: &str = "tests";

/// Within which [`REAL_TIME_STEPS`] must end; three tries of each take less.
const REAL_TIME_LIMIT: Duration = Duration::from_secs(2400);

/// Runs every step of `part`, or stops at the first that fails and says which were not run.
pub(crate) fn run(root: &Path, part: Part<'_>) -> Outcome {
    // The full run's `tests` include the unit tests; they need not run twice.
    let chosen: Vec<&Step> = match part {
        Part::All => STEPS.iter().filter(|step| step.name != "unit tests").collect(),
        Part::From(first) => {
            let at = STEPS.iter().position(|step| step.name == first).ok_or_else(|| {
                let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
                Failure::Environment(format!(
                    "--from: found `{first}`, allowed is one of: {}",
                    names.join("; ")
                ))
            })?;
            STEPS[at..].iter().collect()
        }
        Part::Fast => STEPS.iter().filter(|step| step.fast).collect(),
        Part::RealTime => REAL_TIME_STEPS.iter().collect(),
    };
    let mut real_time = None;
    let outcome = run_steps(&chosen, |step| {
        if step.name == TESTS {
            tested_program(root)?;
            real_time = Some(start_real_time()?);
        }
        (step.run)(root)
    });
    let Some(real_time) = real_time else { return outcome };
    println!("\n=== in the meantime");
    let (real_time, text) = real_time.end(REAL_TIME_LIMIT)?;
    println!("{text}");
    outcome.and(real_time)
}

/// Runs each of `steps` by `run`, or stops at the first that fails, and prints their times.
fn run_steps(steps: &[&Step], mut run: impl FnMut(&Step) -> Outcome) -> Outcome {
    let mut passed: Vec<(&str, Duration)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.name, index + 1, steps.len());
        let start = process::clock();
        let outcome = run(step);
        let elapsed = start.elapsed();
        if let Err(failure) = outcome {
            let not_run: Vec<&str> = steps[index + 1..].iter().map(|step| step.name).collect();
            println!("\n{}", summary(&passed, Some((step.name, elapsed)), &not_run));
            return Err(failure);
        }
        passed.push((step.name, elapsed));
    }
    println!("\n{}", summary(&passed, None, &[]));
    Ok(())
}

/// Starts [`REAL_TIME_STEPS`] in a process of their own. The other steps yield the processors to
/// it.
fn start_real_time() -> Outcome<Captured> {
    let cannot = |error: std::io::Error| Failure::Environment(format!("real time: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command.args(["ci", "--real-time"]);
    let started = Captured::start(&mut command)?;
    // Where there is no `renice`, they share the processors evenly.
    let own = std::process::id().to_string();
    let mut renice = Command::new("renice");
    let _ = renice.args(["-n", "10", "-p", &own]).stdout(Stdio::null()).status();
    Ok(started)
}

/// A table of the steps with their times, and a last line with the verdict.
fn summary(
    passed: &[(&str, Duration)],
    failed: Option<(&str, Duration)>,
    not_run: &[&str],
) -> String {
    let mut text = String::new();
    let steps =
        passed.iter().map(|step| ("ok", step)).chain(failed.iter().map(|step| ("FAILED", step)));
    for (verdict, (name, elapsed)) in steps {
        text += &format!("{verdict:8} {:7.1} s  {name}\n", elapsed.as_secs_f64());
    }
    for name in not_run {
        text += &format!("{:8} {:>7}    {name}\n", "not run", "-");
    }
    let total: Duration = passed.iter().chain(failed.iter()).map(|(_, elapsed)| *elapsed).sum();
    let verdict = if failed.is_none() { "all passed" } else { "failed" };
    text + &format!("ci: {verdict} in {:.1} s", total.as_secs_f64())
}

fn format(root: &Path) -> Outcome {
    process::must_succeed(process::cargo(root).args(["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> Outcome {
    let arguments =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    process::must_succeed(process::cargo(root).args(arguments))
}

/// Builds the program without its features, and with each alone: no build may warn.
fn features(root: &Path) -> Outcome {
    [""].into_iter().chain(FEATURES).try_for_each(|feature| {
        let build = ["clippy", "-p", "justfull", "--no-default-features", "--features", feature];
        process::must_succeed(process::cargo(root).args(build).args(["--", "-D", "warnings"]))
    })
}

fn unit_tests(root: &Path) -> Outcome {
    process::must_succeed(process::cargo(root).args(["test", "--workspace", "--lib", "--bins"]))
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

/// The `justfull` that the tests run, built once. It simulates more than half as fast as the
/// release build, its assertions are on, and the release build would take more time than it saves.
fn tested_program(root: &Path) -> Outcome<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built.clone());
    }
    let build = ["test", "-q", "--workspace", "--lib", "--bins", "--tests", "--no-run"];
    let built = process::built(process::cargo(root).args(build), "justfull")?;
    Ok(BUILT.get_or_init(|| built).clone())
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

    #[test]
    fn the_summary_of_a_failure_names_what_was_not_run() {
        let second = Duration::from_secs(1);
        let text = summary(&[("format", second)], Some(("clippy", 2 * second)), &["tidy", "tests"]);
        assert_eq!(
            text,
            "ok           1.0 s  format\nFAILED       2.0 s  clippy\nnot run        -    \
             tidy\nnot run        -    tests\nci: failed in 3.0 s"
        );
    }

    #[test]
    fn the_summary_of_a_success_says_so_in_its_last_line() {
        let text = summary(&[("format", Duration::from_millis(1500))], None, &[]);
        assert!(text.ends_with("ci: all passed in 1.5 s"), "{text}");
    }
}
