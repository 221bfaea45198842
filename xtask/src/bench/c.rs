//! `cargo xtask bench c`: compares the cost of calls of the C library with the same calls in Rust:
//! for the gate per packet, for RAPID's control per step of its load.
//!
//! The programs are `crates/ran/examples/gate_bench.rs` and `crates/c/examples/gate_bench.c`, and
//! `crates/rapid/examples/control_bench.rs` and `crates/c/examples/rapid_bench.c`: each pair has
//! the same load. Each program runs a short load and a load three times as long. The difference of
//! their instructions, less the same difference of the load without calls, is the cost.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::counted;
use crate::{Failure, Outcome, process};

/// Items of the short and the long load.
const ITEMS: [u64; 2] = [30_000, 90_000];

/// Greatest ratio of the instructions through C to the instructions in Rust.
const CEILING: f64 = 1.2;

/// Two programs with one load.
struct Pair {
    package: &'static str,
    rust: &'static str,
    c: &'static str,
    kinds: &'static [&'static str],
}

/// The measured loads. Gate: offers and polls, without and with a report of each departure and
/// slot. Control: samples, reports and timers.
const PAIRS: [Pair; 2] = [
    Pair {
        package: "justfull-ran",
        rust: "gate_bench",
        c: "gate_bench",
        kinds: &["fixed", "drql"],
    },
    Pair {
        package: "justfull-rapid",
        rust: "control_bench",
        c: "rapid_bench",
        kinds: &["rapid", "equal_share"],
    },
];

/// The loads with a limit of [`CEILING`].
const BOUND: [&str; 2] = ["fixed", "rapid"];

/// Instructions for an item.
struct Cost {
    kind: &'static str,
    rust: f64,
    c: f64,
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let mut cargo = super::cargo_build(root, super::Profile::Release, "justfull-c");
    process::must_succeed(cargo.arg("--lib"))?;
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
    let rust = super::build(root, super::Profile::Release, pair.package, pair.rust)?;
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
    let kinds = pair.kinds.iter();
    kinds.map(|kind| Ok(Cost { kind, rust: cost(&rust, kind)?, c: cost(&c, kind)? })).collect()
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

/// Instructions for an item of load `kind`, less the instructions of the load generator.
fn cost(program: &Path, kind: &str) -> Outcome<f64> {
    let [short, long] = ITEMS;
    let count = |kind: &str| -> Outcome<f64> {
        let count = |items: u64| counted::count(program, &[kind, &items.to_string()], false);
        Ok((count(long)?.instructions - count(short)?.instructions) as f64 / (long - short) as f64)
    };
    Ok(count(kind)? - count("load")?)
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
