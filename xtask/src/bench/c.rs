//! `cargo xtask bench c`: the cost of the C library's calls for a packet, beside the same calls of
//! the gate in Rust.
//!
//! The programs are `crates/ran/examples/gate_bench.rs` and `crates/c/examples/gate_bench.c`, with
//! one load. Each gets a short load and one three times as long, both counted in instructions. The
//! difference, less that of the RLC alone, is the cost of a packet.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::counted;
use crate::{Failure, Outcome, process};

/// Packets of the short and the long load.
const PACKETS: [u64; 2] = [30_000, 90_000];

/// Most instructions of offering and polling through C, as a multiple of the gate's own.
const CEILING: f64 = 1.2;

/// The measured loads: offers and polls, and these with a report of each departure and slot.
const KINDS: [&str; 2] = ["fixed", "drql"];

/// Instructions for a packet.
struct Cost {
    kind: &'static str,
    rust: f64,
    c: f64,
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let rust = super::build(root, super::Profile::Release, "justfull-ran", "gate_bench")?;
    let c = compiled(root, &rust)?;
    for kind in KINDS {
        let [one, other] = [&rust, &c].map(|program| {
            let mut run = Command::new(program);
            process::stdout_of(run.args(["--json", kind]).arg(PACKETS[1].to_string()))
        });
        let (one, other) = (one?, other?);
        if one != other {
            let message = format!("{kind}: other packets left through C: {one} {other}");
            return Err(Failure::Check(message));
        }
    }
    if !counted::possible() {
        return process::skipped("no valgrind here: instructions are not counted");
    }
    let costs = KINDS.map(|kind| Ok(Cost { kind, rust: cost(&rust, kind)?, c: cost(&c, kind)? }));
    let costs: Vec<Cost> = costs.into_iter().collect::<Outcome<_>>()?;
    print!("{}", report(&costs));
    super::judge(&violations(&costs), enforce)
}

/// The load in C, linked with the library of the release profile.
fn compiled(root: &Path, beside: &Path) -> Outcome<PathBuf> {
    let mut cargo = super::cargo_build(root, super::Profile::Release, "justfull-c");
    process::must_succeed(cargo.arg("--lib"))?;
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory;
    let archive = target.join("release/libjustfull.a");
    let program = beside.with_file_name("gate_bench_c");
    let folder = root.join("crates/c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(folder.join("include"));
    cc.arg(folder.join("examples/gate_bench.c")).arg(archive);
    process::must_succeed(cc.args(["-lpthread", "-lm", "-ldl", "-o"]).arg(&program))?;
    Ok(program)
}

/// Instructions for a packet of load `kind`, without the RLC's.
fn cost(program: &Path, kind: &str) -> Outcome<f64> {
    let [short, long] = PACKETS;
    let count = |kind: &str| -> Outcome<f64> {
        let count = |packets: u64| counted::count(program, &[kind, &packets.to_string()], false);
        Ok((count(long)?.instructions - count(short)?.instructions) as f64 / (long - short) as f64)
    };
    Ok(count(kind)? - count("load")?)
}

fn report(costs: &[Cost]) -> String {
    let mut text = format!("{:<8} {:>14} {:>14} {:>7}\n", "load", "in Rust", "through C", "ratio");
    for Cost { kind, rust, c } in costs {
        text += &format!("{kind:<8} {rust:>14.1} {c:>14.1} {:>7.3}\n", c / rust);
    }
    text + "instructions for a packet\n"
}

fn violations(costs: &[Cost]) -> Vec<String> {
    let above = |cost: &&Cost| cost.kind == "fixed" && cost.c > CEILING * cost.rust;
    let say = |cost: &Cost| {
        let (kind, c, most) = (cost.kind, cost.c, CEILING * cost.rust);
        format!("{kind}: {c:.1} instructions for a packet through C, at most {most:.1}")
    };
    costs.iter().filter(above).map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_and_polls_above_the_ceiling_are_found_and_reports_are_only_told() {
        let cost = |kind, c| Cost { kind, rust: 100.0, c };
        assert_eq!(violations(&[cost("fixed", 119.0), cost("drql", 150.0)]), [""; 0]);
        assert_eq!(
            violations(&[cost("fixed", 121.0)]),
            ["fixed: 121.0 instructions for a packet through C, at most 120.0"]
        );
        assert!(report(&[cost("fixed", 119.0)]).contains("1.190"));
    }
}
