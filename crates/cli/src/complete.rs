//! Completion of the command line in a shell.
//!
//! The script that a shell reads asks the program itself, so that what it offers is what this
//! program knows: scenarios, methods, settings, papers and names that `explain` knows.

use crate::args::Cli;
use crate::terminal::print_exact;
use crate::{Failure, NAME};
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use justfull_report::reference;
use justfull_scenario::keys;
use std::ffi::OsStr;

/// The variable by which a shell's script asks for candidates.
const ASKED: &str = "JUSTFULL_COMPLETE";

/// Answers a shell's script and ends the program, if one has asked.
pub(crate) fn answer() {
    CompleteEnv::with_factory(command).var(ASKED).complete();
}

/// Prints the script for `shell`.
pub(crate) fn script(shell: Shell) -> Result<(), Failure> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let Some(known) = shells.completer(&name) else {
        let allowed = shells.names().collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("shell: found {name}, allowed is one of {allowed}")));
    };
    let mut script = Vec::new();
    known
        .write_registration(ASKED, NAME, NAME, NAME, &mut script)
        .map_err(|e| Failure::usage(&e))?;
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Zsh {
        // Read as a function of that name, it must also complete the first time.
        script.push_str(&format!(
            "if [ \"$funcstack[1]\" = \"_{NAME}\" ]; then _clap_dynamic_completer_{NAME} \"$@\"; fi\n"
        ));
    }
    print_exact(&script)
}

/// The commands with what may stand for their arguments.
fn command() -> Command {
    with_names(Cli::command())
}

fn with_names(command: Command) -> Command {
    let of = command.get_name().to_owned();
    command.mut_args(|arg| named(&of, arg)).mut_subcommands(with_names)
}

/// `arg` of the command `of` with what may stand for it.
fn named(of: &str, arg: Arg) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    match (of, &*id) {
        ("run" | "check", "files")
        | ("live" | "parity" | "rnis", "file")
        | ("recommend", "input") => arg.add(ArgValueCompleter::new(scenario_or_file)),
        ("show", "name") => arg.add(ArgValueCandidates::new(|| listed("scenarios"))),
        ("reproduce", "paper") => arg.add(ArgValueCandidates::new(|| listed("claims"))),
        ("explain", "name") => arg.add(ArgValueCandidates::new(|| {
            reference::explained().into_iter().map(CompletionCandidate::new).collect()
        })),
        (_, "method" | "methods") => arg.add(ArgValueCandidates::new(|| listed("methods"))),
        (_, "set" | "axes") => arg.add(ArgValueCandidates::new(|| {
            keys::paths().iter().map(|path| format!("{path}=").into()).collect()
        })),
        _ => arg,
    }
}

/// What `justfull list` has of `kind`.
fn listed(kind: &str) -> Vec<CompletionCandidate> {
    let all = reference::listed().into_iter().filter(|listed| listed.kind == kind);
    all.flat_map(|listed| listed.names)
        .map(|named| CompletionCandidate::new(named.name).help(Some(named.title.into())))
        .collect()
}

/// Shipped scenarios, and files.
fn scenario_or_file(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = listed("scenarios");
    let begun = current.to_string_lossy().into_owned();
    found.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&begun));
    found.extend(PathCompleter::any().stdio().complete(current));
    found
}
