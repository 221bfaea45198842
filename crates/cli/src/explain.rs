//! `list`, `explain`, `show`, `schema`, `man` and the reference pages.

use crate::Failure;
use crate::args::{Cli, ListArgs};
use crate::terminal::{print, print_exact};
use clap::CommandFactory;
use justfull_report::{export, reference};
use justfull_scenario::{library, near, schema};
use std::path::Path;

pub(crate) fn list(args: &ListArgs) -> Result<(), Failure> {
    let mut all = reference::listed();
    if !args.kinds.is_empty() {
        all.retain(|listed| args.kinds.iter().any(|kind| kind == listed.kind));
    }
    if args.json { print_exact(&reference::list_json(&all)) } else { print(&reference::list(&all)) }
}

/// What `explain` knows, in words.
const EXPLAINED: &str = "a method or an algorithm of `justfull list`, the path of a key such as \
                         rlc.queue.limit, a column of results such as delay.p99, or a format of \
                         traces such as mahimahi";

pub(crate) fn explain(name: &str, json: bool) -> Result<(), Failure> {
    let text = if json { reference::explain_json(name) } else { reference::explain(name) };
    let text = text.ok_or_else(|| {
        let known = reference::explained();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        unknown(name, &known, EXPLAINED)
    })?;
    if json { print_exact(&text) } else { print(&text) }
}

pub(crate) fn show(name: &str) -> Result<(), Failure> {
    let names: Vec<&str> = library::SCENARIOS.iter().map(|(n, _)| *n).collect();
    let text = library::scenario(name)
        .ok_or_else(|| unknown(name, &names, "a scenario of `justfull list`"))?;
    print_exact(text)
}

pub(crate) fn schema() -> Result<(), Failure> {
    print_exact(&format!("{:#}\n", schema::schema()))
}

fn unknown(name: &str, known: &[&str], otherwise: &str) -> Failure {
    Failure::Usage(format!(
        "name: found {name}, allowed is {}",
        near::allowed(name, known, otherwise)
    ))
}

pub(crate) fn man(out: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(out)
        .map_err(|e| Failure::Usage(format!("--out: {}: {e}", out.display())))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    man_pages(command, out).map_err(|e| Failure::usage(&e))
}

/// Writes the page of `command` and those of its subcommands.
fn man_pages(command: clap::Command, out: &Path) -> Result<(), export::ExportError> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        man_pages(inner.clone(), out)?;
    }
    let page = clap_mangen::Man::new(command);
    export::write_whole(&out.join(page.get_filename()), |file| page.render(file))
}

pub(crate) fn reference(out: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(out)
        .map_err(|e| Failure::Usage(format!("--out: {}: {e}", out.display())))?;
    let write = |name: &str, text: &str| {
        export::write_whole(&out.join(name), |file| file.write_all(text.as_bytes()))
            .map_err(|e| Failure::usage(&e))
    };
    for (name, text) in reference::pages() {
        write(name, &text)?;
    }
    #[cfg(feature = "proxy")]
    write("rnis.json", &justfull_rnis::document())?;
    Ok(())
}
