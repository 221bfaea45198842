//! `cargo xtask fuzz`: each target of `fuzz/` for a bounded time, on the stable toolchain.
//!
//! `cargo fuzz` needs a nightly compiler for its address sanitizer. This code forbids `unsafe`, so
//! the sanitizer finds next to nothing here. The useful part of libFuzzer is coverage feedback, and
//! stable compiler options switch LLVM's pass for it on. So the targets, which keep the layout of
//! cargo-fuzz, are built and run directly. Debug assertions and overflow checks are on
//! (`fuzz/Cargo.toml`).

use std::path::Path;
use std::process::Command;

use crate::{Failure, Outcome, process};

const DEFAULT_SECONDS: u32 = 60;

/// Coverage feedback for libFuzzer: edge counters, the table of their addresses, and operands of
/// comparisons.
const INSTRUMENTATION: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

pub(crate) fn run(root: &Path, args: &[&str]) -> Outcome {
    let (seconds, only) = parse(args)?;
    let manifest = root.join("fuzz").join("Cargo.toml");
    let metadata = process::metadata(&manifest)?;
    let targets: Vec<&str> = metadata
        .workspace_packages()
        .iter()
        .flat_map(|package| package.targets.iter().filter(|target| target.is_bin()))
        .map(|target| target.name.as_str())
        .collect();
    if let Some(name) = only.filter(|name| !targets.contains(name)) {
        return Err(Failure::Environment(format!(
            "no fuzz target `{name}`; there are {}",
            targets.join(", ")
        )));
    }
    if !process::exists("c++") {
        return process::skipped(
            "fuzz: SKIPPED: libFuzzer is C++ and there is no C++ compiler (`c++`) here",
        );
    }
    for target in targets.into_iter().filter(|target| only.is_none_or(|name| name == *target)) {
        fuzz(root, metadata.target_directory.as_std_path(), target, seconds)?;
    }
    Ok(())
}

fn parse<'a>(args: &[&'a str]) -> Outcome<(u32, Option<&'a str>)> {
    let usage = || Failure::Environment("usage: cargo xtask fuzz [--seconds N] [TARGET]".into());
    let (seconds, rest) = match args {
        ["--seconds", number, rest @ ..] => (number.parse().map_err(|_| usage())?, rest),
        rest => (DEFAULT_SECONDS, rest),
    };
    match rest {
        // For libFuzzer 0 means "for ever".
        _ if seconds == 0 => Err(usage()),
        [] => Ok((seconds, None)),
        [name] if !name.starts_with('-') => Ok((seconds, Some(name))),
        _ => Err(usage()),
    }
}

/// New inputs are kept below the target folder, so that a second run continues where the first
/// stopped. `fuzz/seeds` is only read, and for the target `scenario` so are the scenarios of the
/// tree. An input that fails is left in `fuzz/artifacts`.
fn fuzz(root: &Path, target_folder: &Path, target: &str, seconds: u32) -> Outcome {
    let corpus = target_folder.join("corpus").join(target);
    let artifacts = root.join("fuzz").join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Environment(format!("{}: {error}", folder.display())))?;
    }
    let host = host_triple()?;
    let mut command = process::cargo(root);
    // With the host named as target, build scripts and procedural macros are not instrumented.
    command.args([
        "run",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target",
        &host,
        "--bin",
        target,
        "--",
    ]);
    command.arg(corpus);
    let seeds = root.join("fuzz").join("seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    if target == "scenario" {
        command.arg(root.join("scenarios"));
    }
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={seconds}")).args([
        "-rss_limit_mb=2048",
        "-timeout=10",
        "-print_final_stats=1",
    ]);
    command.env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\u{1f}"));
    process::must_succeed(&mut command)
}

/// The triple of the machine that compiles.
fn host_triple() -> Outcome<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = process::stdout_of(Command::new(rustc).arg("-vV"))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure::Environment("`rustc -vV` names no host".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_target_are_optional() {
        assert_eq!(parse(&[]).unwrap(), (60, None));
        assert_eq!(parse(&["trace"]).unwrap(), (60, Some("trace")));
        assert_eq!(parse(&["--seconds", "5", "trace"]).unwrap(), (5, Some("trace")));
    }

    #[test]
    fn wrong_arguments_are_usage_errors() {
        for args in [
            &["--seconds"][..],
            &["--seconds", "0"],
            &["--seconds", "x"],
            &["--turbo"],
            &["trace", "scenario"],
        ] {
            assert!(matches!(parse(args), Err(Failure::Environment(_))), "{args:?}");
        }
    }
}
