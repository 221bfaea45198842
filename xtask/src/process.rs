//! Runs other programs: prints each command, and names the failed one.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cargo_metadata::{Artifact, Message, Metadata, MetadataCommand};

use crate::{Failure, Outcome};

/// Wall-clock now, for progress lines and benchmarks only.
#[expect(clippy::disallowed_methods, reason = "progress and benchmarks are about the wall clock")]
pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// CPU time of the processes that this one has waited for, on Linux; zero elsewhere.
pub(crate) fn cpu_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // proc_pid_stat(5): the name, in parentheses, is field 2; cutime and cstime are 16 and 17, in
    // hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let times = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(10 * times.sum::<u64>())
}

/// The cargo that runs this program, in `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs `command` with its output on ours; an exit status other than 0 is a failed check.
pub(crate) fn must_succeed(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("+ {line}");
    let status = command.status().map_err(|error| cannot_run(&line, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Check(format!("`{line}` failed ({status})")))
    }
}

/// Runs `command` with its stdout on ours and returns its stderr; an exit status other than 0 is a
/// failed check.
pub(crate) fn heard(command: &mut Command) -> Outcome<(Outcome, String)> {
    let line = shown(command);
    println!("+ {line}");
    let output = command.stdout(Stdio::inherit()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| cannot_run(&line, &error))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let failed = || Failure::Check(format!("`{line}` failed ({})", output.status));
    Ok((output.status.success().then_some(()).ok_or_else(failed), said))
}

/// Runs `command` and returns its stdout; stderr goes to ours.
pub(crate) fn stdout_of(command: &mut Command) -> Outcome<String> {
    let line = shown(command);
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| cannot_run(&line, &error))?;
    if !output.status.success() {
        return Err(Failure::Check(format!("`{line}` failed ({})", output.status)));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| Failure::Check(format!("`{line}` wrote something that is not UTF-8")))
}

/// Runs `command` and returns its stderr; its stdout is dropped.
pub(crate) fn stderr_of(command: &mut Command) -> Outcome<String> {
    let line = shown(command);
    let output =
        command.stdout(Stdio::null()).output().map_err(|error| cannot_run(&line, &error))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(Failure::Check(format!("`{line}` failed ({}):\n{said}", output.status)))
}

/// A running command whose output is kept.
pub(crate) struct Captured {
    line: String,
    child: Child,
    output: File,
}

impl Captured {
    /// Starts `command` without input. Its stdout and stderr go to one file, since a process that
    /// it leaves behind would keep a pipe open.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let line = shown(command);
        let failed = |error| cannot_run(&line, &error);
        let output = tempfile::tempfile().map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?);
        let child = command.stderr(output.try_clone().map_err(failed)?).spawn().map_err(failed)?;
        Ok(Self { line, child, output })
    }

    /// Waits for the command, for at most `limit`, then kills it. Returns its outcome and its
    /// output.
    pub(crate) fn end(mut self, limit: Duration) -> Outcome<(Outcome, String)> {
        let line = &self.line;
        let failed = |error| cannot_run(line, &error);
        let begun = clock();
        let outcome = loop {
            if let Some(status) = self.child.try_wait().map_err(failed)? {
                let failure = || Failure::Check(format!("`{line}` failed ({status})"));
                break status.success().then_some(()).ok_or_else(failure);
            }
            if begun.elapsed() > limit {
                self.child.kill().and_then(|()| self.child.wait()).map_err(failed)?;
                let seconds = limit.as_secs_f64();
                break Err(Failure::Check(format!("`{line}` did not end within {seconds} s")));
            }
            thread::sleep(Duration::from_millis(20));
        };
        let mut text = Vec::new();
        self.output.rewind().and_then(|()| self.output.read_to_end(&mut text)).map_err(failed)?;
        Ok((outcome, String::from_utf8_lossy(&text).into_owned()))
    }
}

/// Builds with `command`, a cargo that builds, and returns where the program `name` is.
pub(crate) fn built(command: &mut Command, name: &str) -> Outcome<PathBuf> {
    let output = stdout_of(command.arg("--message-format=json-render-diagnostics"))?;
    program_of(artifacts(&output), name)
}

/// The artifacts in cargo's `messages`.
pub(crate) fn artifacts(messages: &str) -> impl Iterator<Item = Artifact> {
    let messages = Message::parse_stream(messages.as_bytes()).filter_map(Result::ok);
    messages.filter_map(|message| match message {
        Message::CompilerArtifact(artifact) => Some(artifact),
        _ => None,
    })
}

/// The program `name` among `artifacts`; libraries and programs of tests may have its name too.
pub(crate) fn program_of(
    mut artifacts: impl Iterator<Item = Artifact>,
    name: &str,
) -> Outcome<PathBuf> {
    let program = |artifact: Artifact| {
        artifact.executable.filter(|_| artifact.target.name == name && !artifact.profile.test)
    };
    let path = artifacts.find_map(program).map(PathBuf::from);
    path.ok_or_else(|| Failure::Environment(format!("cargo built no {name}")))
}

/// True if `program` can be started.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Prints that this machine cannot run this; a failure if it must (`CI=true`).
pub(crate) fn skipped(message: &str) -> Outcome {
    if std::env::var_os("CI").is_some_and(|value| value == "true") {
        return Err(Failure::Environment(message.to_owned()));
    }
    println!("{message}");
    Ok(())
}

/// cargo's metadata of the workspace at `manifest`, without resolved dependencies.
pub(crate) fn metadata(manifest: &Path) -> Outcome<Metadata> {
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().map_err(|error| {
        Failure::Environment(format!("cargo metadata of {}: {error}", manifest.display()))
    })
}

fn cannot_run(line: &str, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("cannot run `{line}`: {error}"))
}

/// The command as a user types it, with only the file name of the program.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(shown(&command), "cargo fmt --all");
    }

    #[test]
    fn output_is_captured_in_order_and_a_process_left_behind_is_not_waited_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo a; echo b >&2; echo c; sleep 30 & exit 3"]);
        let running = Captured::start(&mut command).expect("there is a shell");
        let (outcome, text) = running.end(Duration::from_secs(20)).expect("it ends");
        assert_eq!(text, "a\nb\nc\n");
        assert!(format!("{outcome:?}").contains("exit status: 3"), "{outcome:?}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_and_its_words_are_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 1000"]);
        let running = Captured::start(&mut command).expect("there is a shell");
        let (outcome, text) = running.end(Duration::from_millis(300)).expect("it is killed");
        assert_eq!(text, "begun\n");
        assert!(format!("{outcome:?}").contains("did not end within 0.3 s"), "{outcome:?}");
    }

    #[test]
    fn a_program_is_found_behind_a_library_and_tests_of_its_name() {
        let artifact = |test: bool, executable: Option<&str>| {
            let target = serde_json::json!({
                "name": "justfull", "kind": ["bin"], "crate_types": ["bin"], "src_path": "/a.rs",
            });
            let profile = serde_json::json!({
                "opt_level": "2", "test": test, "debug_assertions": true, "overflow_checks": true,
            });
            let message = serde_json::json!({
                "reason": "compiler-artifact", "package_id": "a", "manifest_path": "/Cargo.toml",
                "target": target, "profile": profile, "features": [], "filenames": [],
                "executable": executable, "fresh": true,
            });
            format!("{message}\n")
        };
        let built =
            [artifact(false, None), artifact(true, Some("/t")), artifact(false, Some("/p"))];
        let found = program_of(artifacts(&built.concat()), "justfull");
        assert_eq!(found.expect("it is there"), PathBuf::from("/p"));
        assert!(program_of(artifacts(&built[..2].concat()), "justfull").is_err());
    }

    #[test]
    fn a_missing_program_is_the_environments_fault() {
        let result = must_succeed(&mut Command::new("no-such-program-here"));
        assert!(matches!(result, Err(Failure::Environment(_))), "{result:?}");
        assert!(!exists("no-such-program-here"));
    }
}
