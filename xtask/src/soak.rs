//! `cargo xtask soak`: checks that are too long for every change: the long tests, the site, the
//! packages, the tables of `docs/guide/slow-bearers.md`, the proxy beside its rivals, mutated
//! inputs, fresh cases of property tests, fresh worlds, each fuzz target for minutes and mutants
//! of the algorithms. After a failed part the others still run; the last lines show the result of
//! each.

use std::path::Path;
use std::time::Duration;

use crate::{Failure, Outcome, fuzz, mutate, package, process, properties, site};

/// Seconds for which each fuzz target runs.
const FUZZ_SECONDS: &str = "300";
/// The targets of the C library, and the seconds of each: two hours together.
const FUZZ_C: [&str; 3] = ["c", "c_objects", "c_rapid"];
const FUZZ_C_SECONDS: &str = "2400";
/// Time for fresh worlds.
const SWARM: &str = "30m";
/// Time for fresh cases of property tests.
const PROPERTIES: &str = "30m";

struct Part {
    name: &'static str,
    run: fn(&Path) -> Outcome,
}

const PARTS: [Part; 12] = [
    Part { name: "long tests", run: long_tests },
    Part { name: "site", run: site::run },
    Part { name: "packages", run: |root| package::run(root, &package::parse(&[])?) },
    Part { name: "python", run: |root| own(root, &["python"]) },
    Part { name: "slow bearers", run: |root| own(root, &["docs", "slow-bearers", "--check"]) },
    Part { name: "the proxy beside others", run: |root| own(root, &["bench", "proxy", "--ci"]) },
    Part { name: "mutated inputs", run: |root| mutate::run(root, &mutate::Plan::default()) },
    Part { name: "property tests", run: |root| properties::run(root, &["--for", PROPERTIES]) },
    Part { name: "fresh worlds", run: |root| own(root, &["swarm", "--for", SWARM]) },
    Part { name: "fuzz targets", run: |root| fuzz::run(root, &["--seconds", FUZZ_SECONDS]) },
    Part { name: "fuzz the C library", run: fuzz_c },
    Part { name: "mutants of algorithms", run: |root| own(root, &["mutants"]) },
];

/// Runs every part, or the named one.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Outcome {
    let chosen: Vec<&Part> =
        PARTS.iter().filter(|part| only.is_none_or(|name| name == part.name)).collect();
    if chosen.is_empty() {
        let names = PARTS.map(|part| part.name).join(", ");
        return Err(Failure::Environment(format!("no such part of soak; there are {names}")));
    }
    let mut done: Vec<(&str, Duration, Outcome)> = Vec::new();
    for (index, part) in chosen.iter().enumerate() {
        println!("\n=== {} ({} of {})", part.name, index + 1, chosen.len());
        let start = process::clock();
        let outcome = (part.run)(root);
        done.push((part.name, start.elapsed(), outcome));
    }
    println!("\n{}", summary(&done));
    match done.iter().filter(|(.., outcome)| outcome.is_err()).count() {
        0 => Ok(()),
        failed => Err(Failure::Check(format!("soak: {failed} parts failed"))),
    }
}

/// A table of the parts with their times and why they failed.
fn summary(done: &[(&str, Duration, Outcome)]) -> String {
    let line = |(name, elapsed, outcome): &(&str, Duration, Outcome)| {
        let (verdict, why) = match outcome {
            Ok(()) => ("ok", String::new()),
            Err(Failure::Check(why) | Failure::Environment(why)) => ("FAILED", format!(": {why}")),
        };
        format!("{verdict:8} {:7.0} s  {name}{why}\n", elapsed.as_secs_f64())
    };
    let all: Duration = done.iter().map(|(_, elapsed, _)| *elapsed).sum();
    format!("{}soak: {:.0} s", done.iter().map(line).collect::<String>(), all.as_secs_f64())
}

/// Tests whose names begin with `soak_`, at their full size.
fn long_tests(root: &Path) -> Outcome {
    let mut command = process::cargo(root);
    command
        .args(["test", "--workspace", "--lib", "--bins", "--tests", "soak_"])
        .env("JUSTFULL_SOAK", "1");
    process::must_succeed(&mut command)
}

fn fuzz_c(root: &Path) -> Outcome {
    FUZZ_C.iter().try_for_each(|target| fuzz::run(root, &["--seconds", FUZZ_C_SECONDS, target]))
}

/// Another command of this program, in a process of its own.
fn own(root: &Path, arguments: &[&str]) -> Outcome {
    let mut command = process::cargo(root);
    process::must_succeed(command.arg("xtask").args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_why_a_part_failed_and_names_all() {
        let second = Duration::from_secs(1);
        let failed = Err(Failure::Check("case 7".into()));
        let text =
            summary(&[("long tests", second, Ok(())), ("mutated inputs", 2 * second, failed)]);
        assert_eq!(
            text,
            "ok             1 s  long tests\nFAILED         2 s  mutated inputs: case 7\nsoak: 3 s"
        );
    }

    #[test]
    fn an_unknown_part_is_a_usage_error_that_names_the_known_parts() {
        let root = crate::root();
        match run(&root, Some("nothing")) {
            Err(Failure::Environment(message)) => {
                assert!(message.contains("fuzz targets"), "{message}")
            }
            other => panic!("{other:?}"),
        }
    }
}
