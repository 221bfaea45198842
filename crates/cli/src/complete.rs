//! Completion of the command line in a shell: the candidates for an argument.
//!
//! The shell's script calls the program itself, so it offers the scenarios, methods, settings,
//! papers and names for `explain` of this version.

use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use justfull_base::doc::Form;
use justfull_report::reference;
use justfull_scenario::keys;
use std::ffi::OsStr;

/// The variable that a shell's script sets to get candidates.
pub(crate) const ASKED: &str = "JUSTFULL_COMPLETE";

/// Answers a shell's script and ends the program, if the variable is set.
pub(crate) fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(ASKED).complete();
}

pub(crate) fn scenarios() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed("scenarios"))
}

pub(crate) fn scenarios_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(scenario_or_file)
}

pub(crate) fn papers() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed("claims"))
}

pub(crate) fn methods() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed("methods"))
}

/// Names for `explain`.
pub(crate) fn explained() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        reference::explained().into_iter().map(CompletionCandidate::new).collect()
    })
}

pub(crate) fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(setting)
}

/// Paths of settings, for the axes of a grid.
pub(crate) fn paths_of_settings() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| paths(&begun.to_string_lossy()))
}

/// The names of `kind` in `justfull list`.
fn listed(kind: &str) -> Vec<CompletionCandidate> {
    let all = reference::listed().into_iter().filter(|listed| listed.kind == kind);
    all.flat_map(|listed| listed.names)
        .map(|named| CompletionCandidate::new(named.name).help(Some(named.title.into())))
        .collect()
}

/// Shipped scenarios and files.
fn scenario_or_file(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = listed("scenarios");
    let begun = current.to_string_lossy().into_owned();
    found.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&begun));
    found.extend(PathCompleter::any().stdio().complete(current));
    found
}

/// Paths of keys that begin with `begun`, each with a `=` for its value.
fn paths(begun: &str) -> Vec<CompletionCandidate> {
    let all = keys::paths().into_iter().filter(|path| path.starts_with(begun));
    all.map(|path| CompletionCandidate::new(format!("{path}="))).collect()
}

/// Settings, and the possible names of a setting's value.
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

/// Collects the names that `form` allows.
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
