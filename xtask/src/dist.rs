//! `cargo xtask dist`: the program for packages, with link-time optimisation over all crates. If an
//! `llvm-profdata` of the compiler's LLVM is there, a profile of the program's own runs guides the
//! build. Its results must equal those of the release build byte for byte, or this fails.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, process};

/// Runs for the profile: packets, bytes and resource blocks, all TCP controls, AQMs and limiters.
const TRAINING: [&[&str]; 4] = [
    &["t20-individual", "--set", "duration=30s", "--set", "sweep.values=[\"20ms\"]"],
    &["e19-two-qfis", "--set", "duration=20s"],
    &["nr-100mhz", "--set", "duration=3s", "--set", "warmup=1s"],
    &["a21-slices-25-75", "--set", "duration=5s", "--set", "warmup=1s"],
];

/// Runs whose results are compared.
const COMPARED: [&[&str]; 3] = [
    &["t20-individual", "--set", "duration=20s", "--runs", "1"],
    &["nr-100mhz", "--set", "duration=2s", "--set", "warmup=1s", "--runs", "1"],
    &["page-loads", "--set", "duration=15s", "--runs", "1"],
];

/// Result files with figures, without any text about the program that made them.
const FIGURES: [&str; 4] = ["runs.csv", "series.csv", "flow_series.csv", "cdf.csv"];

pub(crate) fn run(root: &Path) -> Outcome {
    let scratch = scratch(root)?;
    let program = program(root, "dist")?;
    let release = build(root, "release", None)?;
    for arguments in COMPARED {
        same_results(arguments, [&release, &program], &scratch)?;
    }
    println!("the results of {} runs are those of the release build", COMPARED.len());
    println!("{}", program.display());
    Ok(())
}

fn scratch(root: &Path) -> Outcome<PathBuf> {
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory.into_std_path_buf();
    Ok(target.join("xtask").join("dist"))
}

/// The program for packages, built with `profile`; `dist` is guided if possible.
pub(crate) fn program(root: &Path, profile: &str) -> Outcome<PathBuf> {
    if profile != "dist" {
        return build(root, profile, None);
    }
    let host = host(root)?;
    if let Some(tool) = profile_tool(root, &host)? {
        return guided(root, &host, &tool, &scratch(root)?);
    }
    println!(
        "without a profile: `rustup component add llvm-tools` brings what makes use of one, or the \
         system's package `llvm-{}`",
        llvm_major(root)?
    );
    build(root, profile, None)
}

/// The program with all its libraries inside.
pub(crate) fn fixed(root: &Path, profile: &str) -> Outcome<PathBuf> {
    build(root, profile, Some((&host(root)?, "-Ctarget-feature=+crt-static".into())))
}

/// Builds with counters, runs [`TRAINING`], and builds again with the counts.
fn guided(root: &Path, host: &str, tool: &Path, scratch: &Path) -> Outcome<PathBuf> {
    let counts = scratch.join("counts");
    fresh(&counts)?;
    let counting = build(root, "dist", Some((host, flag("-Cprofile-generate=", &counts))))?;
    for arguments in TRAINING {
        let mut training = Command::new(&counting);
        training.arg("run").args(arguments).args([
            "--runs",
            "1",
            "--jobs",
            "1",
            "--no-files",
            "--quiet",
        ]);
        process::stdout_of(training.current_dir(root))?;
    }
    let merged = scratch.join("merged.profdata");
    let mut merge = Command::new(tool);
    process::must_succeed(merge.arg("merge").arg("-o").arg(&merged).arg(&counts))?;
    build(root, "dist", Some((host, flag("-Cprofile-use=", &merged))))
}

fn flag(option: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(option);
    flag.push(path);
    flag
}

/// Builds `justfull` and returns its path. A flag needs an explicit target, so that build scripts
/// and procedural macros are built without the flag.
fn build(root: &Path, profile: &str, with: Option<(&str, OsString)>) -> Outcome<PathBuf> {
    let mut cargo = process::cargo(root);
    cargo.args(["build", "-p", "justfull", "--profile", profile]);
    if let Some((host, flag)) = with {
        let mut flags = OsString::new();
        for given in std::env::var("RUSTFLAGS").unwrap_or_default().split_whitespace() {
            flags.push(given);
            flags.push("\u{1f}");
        }
        flags.push(flag);
        cargo.args(["--target", host]).env("CARGO_ENCODED_RUSTFLAGS", flags);
    }
    process::built(&mut cargo, "justfull")
}

/// The target that this machine builds for by default.
fn host(root: &Path) -> Outcome<String> {
    said_of(&process::stdout_of(rustc(root).arg("-vV"))?, "host")
}

/// The major version of the compiler's LLVM.
fn llvm_major(root: &Path) -> Outcome<String> {
    let version = said_of(&process::stdout_of(rustc(root).arg("-vV"))?, "LLVM version")?;
    Ok(version.split('.').next().unwrap_or_default().to_owned())
}

/// The value of `what` in `said`, the output of `rustc -vV`.
fn said_of(said: &str, what: &str) -> Outcome<String> {
    let value = said.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
    value
        .map(str::to_owned)
        .ok_or_else(|| Failure::Environment(format!("`rustc -vV` prints no {what}")))
}

/// The `llvm-profdata` for profiles of this compiler's programs, if it is installed: the
/// toolchain's own, or the system's of the same LLVM, by Debian's name.
fn profile_tool(root: &Path, host: &str) -> Outcome<Option<PathBuf>> {
    let sysroot = process::stdout_of(rustc(root).args(["--print", "sysroot"]))?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    if own.is_file() {
        return Ok(Some(own));
    }
    let system = format!("llvm-profdata-{}", llvm_major(root)?);
    Ok(process::exists(&system).then(|| system.into()))
}

fn rustc(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(root);
    command
}

/// Makes the run with both programs, and fails if one figure differs.
fn same_results(arguments: &[&str], programs: [&Path; 2], scratch: &Path) -> Outcome {
    let mut folders = Vec::new();
    for (name, program) in ["release", "dist"].into_iter().zip(programs) {
        let folder = scratch.join(name).join(arguments[0]);
        fresh(&folder)?;
        let mut run = Command::new(program);
        run.arg("run").args(arguments).args(["--quiet", "--force", "--out"]).arg(&folder);
        process::stdout_of(run.current_dir(scratch))?;
        folders.push(folder);
    }
    match differing(&folders[0], &folders[1])? {
        None => Ok(()),
        Some(file) => Err(Failure::Check(format!(
            "{}: {file} of the dist build differs from that of the release build; both are in {}",
            arguments[0],
            scratch.display()
        ))),
    }
}

/// The first of [`FIGURES`] that differs between the folders.
fn differing(one: &Path, other: &Path) -> Outcome<Option<&'static str>> {
    let read = |path: PathBuf| fs::read(&path).map_err(|error| cannot(&path, &error));
    for file in FIGURES {
        if read(one.join(file))? != read(other.join(file))? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Makes `folder` a new, empty one.
pub(crate) fn fresh(folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))
}

pub(crate) fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_says_its_host_and_its_llvm() {
        let said = "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        assert_eq!(said_of(said, "host").unwrap(), "x86_64-unknown-linux-gnu");
        assert_eq!(said_of(said, "LLVM version").unwrap(), "22.1.2");
        assert!(said_of(said, "LLVM").is_err() && said_of("", "host").is_err());
    }

    #[test]
    fn results_are_compared_byte_for_byte() {
        let above = std::env::temp_dir().join(format!("justfull-dist-{}", std::process::id()));
        let folders = ["one", "other"].map(|name| above.join(name));
        for folder in &folders {
            fresh(folder).unwrap();
            FIGURES.iter().for_each(|file| fs::write(folder.join(file), "1.0\n").unwrap());
        }
        assert_eq!(differing(&folders[0], &folders[1]).unwrap(), None);
        fs::write(folders[1].join("cdf.csv"), "1.1\n").unwrap();
        assert_eq!(differing(&folders[0], &folders[1]).unwrap(), Some("cdf.csv"));
        fs::remove_file(folders[1].join("runs.csv")).unwrap();
        assert!(
            differing(&folders[0], &folders[1]).is_err(),
            "a file that is missing is not equal"
        );
        fs::remove_dir_all(&above).unwrap();
    }
}
