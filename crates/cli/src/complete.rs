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
use justfull_base::doc::Form;
use justfull_report::reference;
use justfull_scenario::keys;
use std::ffi::OsStr;

/// The variable by which a shell's script asks for candidates.
const ASKED: &str = "JUSTFULL_COMPLETE";

/// Bash divides `FQ-CoDel@DQL` before its `@` and `rlc.limiter=drql` around its `=`, and replaces
/// the last part: the program is asked for the whole, and what stands before the last part is taken
/// off its answers.
const JOINED: &str = r#"
_NAME() {
    local -a words=()
    local word at=0 i
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $word == [@=]* || ${words[${#words[@]} - 1]} == *[@=] ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        ((i == COMP_CWORD)) && at=$((${#words[@]} - 1))
    done
    local begun=$2 before=
    if [[ ${words[at]} != "${COMP_WORDS[COMP_CWORD]}" ]]; then
        begun=${words[at]}
        before=${begun%"$2"}
    fi
    local -a COMP_WORDS=("${words[@]}")
    local COMP_CWORD=$at
    _clap_complete_NAME NAME "$begun" "$3"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o nospace -o bashdefault -o nosort -F _NAME NAME 2>/dev/null ||
    complete -o nospace -o bashdefault -F _NAME NAME
"#;

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
    match shell {
        // Read as a function of that name, it must also complete the first time.
        Shell::Zsh => script.push_str(&format!(
            "if [ \"$funcstack[1]\" = \"_{NAME}\" ]; then _clap_dynamic_completer_{NAME} \"$@\"; fi\n"
        )),
        Shell::Bash => script.push_str(&JOINED.replace("NAME", NAME)),
        _ => {}
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
        (_, "set") => arg.add(ArgValueCompleter::new(setting)),
        (_, "axes") => arg.add(ArgValueCompleter::new(|begun: &OsStr| {
            let begun = begun.to_string_lossy();
            paths(&begun)
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

/// Paths of keys that begin so, each before its value.
fn paths(begun: &str) -> Vec<CompletionCandidate> {
    let all = keys::paths().into_iter().filter(|path| path.starts_with(begun));
    all.map(|path| CompletionCandidate::new(format!("{path}="))).collect()
}

/// Settings, and the names that the value of one may be.
fn setting(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let Some((path, value)) = begun.split_once('=') else { return paths(&begun) };
    let mut found: Vec<&str> = Vec::new();
    for key in keys::keys(path) {
        names(&key.param.form, &mut found);
    }
    found.retain(|name| name.starts_with(value));
    found.into_iter().map(|name| CompletionCandidate::new(format!("{path}={name}"))).collect()
}

/// The names among what `form` allows.
fn names(form: &Form, found: &mut Vec<&'static str>) {
    let own: Vec<&str> = match form {
        Form::Bool => vec!["true", "false"],
        Form::Choice(names) => names.clone(),
        Form::Kinds(docs) => docs.iter().map(|doc| doc.name).collect(),
        Form::OneOf(forms) => return forms.iter().for_each(|form| names(form, found)),
        _ => Vec::new(),
    };
    found.extend(own);
}
