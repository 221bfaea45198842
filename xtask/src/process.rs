//! Runs other programs: prints each command, and names the failed one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use cargo_metadata::{Message, Metadata, MetadataCommand};

use crate::{Failure, Outcome};

/// Wall-clock now, for progress lines and benchmarks only.
#[expect(clippy::disallowed_methods, reason = "progress and benchmarks are about the wall clock")]
pub(crate) fn clock() -> Instant {
    Instant::now()
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

/// Builds with `command`, a cargo that builds, and returns where the program `name` is.
pub(crate) fn built(command: &mut Command, name: &str) -> Outcome<PathBuf> {
    let output = stdout_of(command.arg("--message-format=json-render-diagnostics"))?;
    Message::parse_stream(output.as_bytes())
        .filter_map(Result::ok)
        .find_map(|message| match message {
            Message::CompilerArtifact(artifact)
                if artifact.target.name == name && !artifact.profile.test =>
            {
                artifact.executable
            }
            _ => None,
        })
        .map(PathBuf::from)
        .ok_or_else(|| Failure::Environment(format!("cargo built no {name}")))
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
    fn a_missing_program_is_the_environments_fault() {
        let result = must_succeed(&mut Command::new("no-such-program-here"));
        assert!(matches!(result, Err(Failure::Environment(_))), "{result:?}");
        assert!(!exists("no-such-program-here"));
    }
}
