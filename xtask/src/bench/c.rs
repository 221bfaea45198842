//! `cargo xtask bench c`: compares the cost of calls of the C library with the same calls in Rust:
//! for the gate per packet, for RAPID's control per step of its load.
//!
//! The programs are `gate_bench.rs` and `control_bench.rs` in `crates/sim/examples`, beside the
//! other workloads whose build they share, and `gate_bench.c` and `rapid_bench.c` in
//! `crates/c/examples`: each pair has the same load. Each program runs a short load and a load
//! three times as long. The difference of their instructions, less the same difference of the load
//! without calls, is the cost.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::ScopedJoinHandle;

use super::counted::{self, Counted};
use crate::{Failure, Outcome, process};

/// Items of the short and the long load.
const ITEMS: [u64; 2] = [30_000, 90_000];

/// Greatest ratio of the instructions through C to the instructions in Rust.
const CEILING: f64 = 1.2;

/// Two programs with one load.
struct Pair {
    rust: &'static str,
    c: &'static str,
    kinds: &'static [&'static str],
}

/// The measured loads. Gate: offers and polls, without and with a report of each departure and
/// slot. Control: samples, reports and timers.
const PAIRS: [Pair; 2] = [
    Pair { rust: "gate_bench", c: "gate_bench", kinds: &["fixed", "drql"] },
    Pair { rust: "control_bench", c: "rapid_bench", kinds: &["rapid", "equal_share"] },
];

/// The loads with a limit of [`CEILING`].
const BOUND: [&str; 2] = ["fixed", "rapid"];

/// Instructions for an item.
struct Cost {
    kind: &'static str,
    rust: f64,
    c: f64,
}

/// The programs in Rust as cargo's arguments.
pub(super) fn examples() -> impl Iterator<Item = &'static str> {
    PAIRS.iter().flat_map(|pair| ["--example", pair.rust])
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    process::must_succeed(super::with_library(root).args(examples()))?;
    let mut costs = Vec::new();
    for pair in &PAIRS {
        costs.extend(measure(root, pair)?);
    }
    if !counted::possible() {
        return process::skipped("no valgrind here: instructions are not counted");
    }
    print!("{}", report(&costs));
    super::judge(&violations(&costs), enforce)
}

/// Compares the results of a pair, and its costs if valgrind is present.
fn measure(root: &Path, pair: &Pair) -> Outcome<Vec<Cost>> {
    let rust = super::build(root, super::Profile::Release, super::PACKAGE, pair.rust)?;
    let c = compiled(root, pair, &rust)?;
    for kind in pair.kinds {
        let [one, other] = [&rust, &c].map(|program| {
            let mut run = Command::new(program);
            process::stdout_of(run.args(["--json", kind]).arg(ITEMS[1].to_string()))
        });
        let (one, other) = (one?, other?);
        if one != other {
            let message = format!("{kind}: another result through C: {one} {other}");
            return Err(Failure::Check(message));
        }
    }
    if !counted::possible() {
        return Ok(Vec::new());
    }
    costs(pair, [&rust, &c])
}

/// The load in C, linked with the library of the release profile.
fn compiled(root: &Path, pair: &Pair, beside: &Path) -> Outcome<PathBuf> {
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory;
    let archive = target.join("release/libjustfull.a");
    let program = beside.with_file_name(format!("{}_c", pair.c));
    let folder = root.join("crates/c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(folder.join("include"));
    cc.arg(folder.join("examples").join(format!("{}.c", pair.c))).arg(archive);
    process::must_succeed(cc.args(["-lpthread", "-lm", "-ldl", "-o"]).arg(&program))?;
    Ok(program)
}

/// Instructions for an item of each kind in Rust and through C, less the instructions of the load
/// generator. All programs run at once: no load changes the counts.
fn costs(pair: &Pair, programs: [&Path; 2]) -> Outcome<Vec<Cost>> {
    let counts = std::thread::scope(|scope| {
        let start = |kind: &'static str| {
            programs.map(|program| {
                ITEMS.map(|items| {
                    let words = [kind.to_owned(), items.to_string()];
                    scope.spawn(move || {
                        counted::count(program, &words.each_ref().map(String::as_str), false)
                    })
                })
            })
        };
        let started: Vec<_> = ["load"].iter().chain(pair.kinds).map(|kind| start(kind)).collect();
        let each = started.into_iter().map(|of_kind| {
            let [rust, c] = of_kind.map(for_an_item);
            Ok([rust?, c?])
        });
        each.collect::<Outcome<Vec<[f64; 2]>>>()
    })?;
    let (load, counts) = counts.split_first().expect("the load is the first");
    let costs = pair.kinds.iter().zip(counts);
    let cost =
        |kind, count: &[f64; 2]| Cost { kind, rust: count[0] - load[0], c: count[1] - load[1] };
    Ok(costs.map(|(kind, count)| cost(*kind, count)).collect())
}

/// Instructions for an item, from the threads that count the [`ITEMS`].
fn for_an_item(threads: [ScopedJoinHandle<'_, Outcome<Counted>>; 2]) -> Outcome<f64> {
    let [short, long] =
        threads.map(|thread| Ok(thread.join().expect("it does not panic")?.instructions));
    let ([few, many], [short, long]) = (ITEMS, [short?, long?]);
    Ok((long - short) as f64 / (many - few) as f64)
}

fn report(costs: &[Cost]) -> String {
    let mut text = format!("{:<12} {:>14} {:>14} {:>7}\n", "load", "in Rust", "through C", "ratio");
    for Cost { kind, rust, c } in costs {
        text += &format!("{kind:<12} {rust:>14.1} {c:>14.1} {:>7.3}\n", c / rust);
    }
    text + "instructions for a packet of a gate, and for a step of a control\n"
}

fn violations(costs: &[Cost]) -> Vec<String> {
    let above = |cost: &&Cost| BOUND.contains(&cost.kind) && cost.c > CEILING * cost.rust;
    let say = |cost: &Cost| {
        let (kind, c, most) = (cost.kind, cost.c, CEILING * cost.rust);
        format!("{kind}: {c:.1} instructions through C, at most {most:.1}")
    };
    costs.iter().filter(above).map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_above_the_ceiling_are_found_and_others_are_only_printed() {
        let cost = |kind, c| Cost { kind, rust: 100.0, c };
        assert_eq!(violations(&[cost("fixed", 119.0), cost("drql", 150.0)]), [""; 0]);
        assert_eq!(
            violations(&[cost("fixed", 121.0), cost("rapid", 130.0)]),
            [
                "fixed: 121.0 instructions through C, at most 120.0",
                "rapid: 130.0 instructions through C, at most 120.0"
            ]
        );
        assert!(report(&[cost("fixed", 119.0)]).contains("1.190"));
    }
}
