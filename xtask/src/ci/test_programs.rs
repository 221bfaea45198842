//! Runs the test programs of the workspace, those in real time apart from the others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use std::{fs, io};

use cargo_metadata::Artifact;
use tempfile::NamedTempFile;

use crate::process::Captured;
use crate::{Failure, Outcome, process};

/// Packages and programs of tests that run in real time.
const REAL_TIME: [&str; 13] = [
    "justfull_live",
    "justfull_net",
    "justfull_proxy",
    "guide",
    "interrupt",
    "live",
    "network",
    "operator",
    "proxy",
    "rnis",
    "service",
    "bench",
    "ui",
];

/// Within which a program of tests must end; the longest take three minutes.
const LIMIT: Duration = Duration::from_secs(900);

/// Number of programs of a half that run at the same time. Some programs have one long test, and
/// programs in real time mostly wait.
const WORKERS: usize = 2;

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    /// As cargo calls its target, such as `tests/live.rs`.
    name: String,
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

impl Program {
    /// True of a program whose name is in [`REAL_TIME`], alone or before an underscore.
    fn is_real_time(&self) -> bool {
        REAL_TIME.iter().any(|name| {
            self.name
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    }
}

/// The two parts of the test programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    RealTime,
    Others,
}

/// Runs the test programs of `half`; runs all of them even if one fails.
///
/// # Errors
/// The names of the programs that failed.
pub(super) fn run(root: &Path, half: Half) -> Outcome {
    let mut programs: Vec<Program> = artifacts(root)?.filter_map(program).collect();
    programs.retain(|program| program.is_real_time() == (half == Half::RealTime));
    let mut failed = failures(programs, WORKERS);
    // A program in real time that fails has a second try, with no other in real time beside it.
    if half == Half::RealTime {
        failed = failures(failed, 1);
    }
    if failed.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = failed.iter().map(|program| program.name.as_str()).collect();
    Err(Failure::Check(format!("tests failed: {}", names.join(", "))))
}

/// Runs `programs` in their order, `workers` at a time; prints the output of each when it has
/// ended. Returns the programs that failed.
fn failures(mut programs: Vec<Program>, workers: usize) -> Vec<Program> {
    programs.reverse();
    let programs = Mutex::new(programs);
    let failed = Mutex::new(Vec::new());
    let next = || programs.lock().expect("no worker panics").pop();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(program) = next() {
                    if !passes(&program) {
                        failed.lock().expect("no worker panics").push(program);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_default()
}

/// Runs `program` and prints its output; true if all its tests pass.
fn passes(program: &Program) -> bool {
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    let ended = Captured::start(&mut command).and_then(|running| running.end(LIMIT));
    let (passed, text) = match ended {
        Ok((Ok(()), text)) => (true, text),
        Ok((Err(failure), text)) => (false, format!("{text}{failure}\n")),
        Err(failure) => (false, format!("{failure}\n")),
    };
    println!("     Running {} ({})\n{text}", program.name, program.executable.display());
    passed
}

/// The environment variable with the path of a file of cargo's messages. A process that has it does
/// not call cargo, which would wait for the builds of other tracks.
pub(super) const MESSAGES: &str = "XTASK_BUILT";

/// Writes cargo's messages to a file for [`MESSAGES`].
pub(super) fn keep_messages(root: &Path) -> Outcome<NamedTempFile> {
    let cannot = |error: io::Error| Failure::Environment(format!("a temporary file: {error}"));
    let file = NamedTempFile::new().map_err(cannot)?;
    fs::write(&file, messages(root)?).map_err(cannot)?;
    Ok(file)
}

/// Cargo's messages about the build of all tests, which happens once. It leaves out the examples,
/// which `cargo xtask bench` builds, and the tests in the documentation, which have a step of their
/// own.
fn messages(root: &Path) -> Outcome<&'static str> {
    static BUILT: OnceLock<String> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built);
    }
    let built = match std::env::var_os(MESSAGES) {
        Some(path) => fs::read_to_string(&path).map_err(|error| {
            Failure::Environment(format!("{}: {error}", Path::new(&path).display()))
        })?,
        None => {
            let mut build = process::cargo(root);
            build.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-run"]);
            process::stdout_of(build.arg("--message-format=json-render-diagnostics"))?
        }
    };
    Ok(BUILT.get_or_init(|| built))
}

/// What cargo has built for the tests.
pub(super) fn artifacts(root: &Path) -> Outcome<impl Iterator<Item = Artifact>> {
    messages(root).map(process::artifacts)
}

fn program(artifact: Artifact) -> Option<Program> {
    let executable = artifact.executable.filter(|_| artifact.profile.test)?;
    Some(Program {
        name: artifact.target.name,
        executable: executable.into(),
        folder: artifact.manifest_path.parent()?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str) -> Program {
        Program { name: name.into(), executable: PathBuf::new(), folder: PathBuf::new() }
    }

    #[test]
    fn programs_in_real_time_are_known_by_their_names() {
        for name in ["live", "live_proxy", "justfull_proxy", "guide"] {
            assert!(program(name).is_real_time(), "{name}");
        }
        for name in ["livery", "campaign", "justfull_sim", "swarm"] {
            assert!(!program(name).is_real_time(), "{name}");
        }
    }

    #[test]
    fn the_programs_that_fail_are_returned() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = ["/bin/false", "/bin/true"].map(|path| Program {
            name: path.into(),
            executable: path.into(),
            folder: folder.path().into(),
        });
        let failed = failures(programs.to_vec(), WORKERS);
        assert_eq!(failed, programs[..1]);
    }
}
