//! `man`.

use crate::Cli;
use crate::failure::Failure;
use clap::{Args, CommandFactory};
use justfull_report::export;
use std::path::{Path, PathBuf};

/// Write man pages
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Folder
    #[arg(long, default_value = "man")]
    out: PathBuf,
}

pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let out = args.out.as_path();
    std::fs::create_dir_all(out).map_err(|e| {
        let (out, allowed) = (out.display(), "a folder that can be written");
        Failure::Usage(format!("--out: found {out}: {e}, allowed is {allowed}"))
    })?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    man_pages(command, out).map_err(|e| Failure::usage(&e))
}

/// Writes the page of `command` and the pages of its subcommands.
fn man_pages(command: clap::Command, out: &Path) -> Result<(), export::ExportError> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        man_pages(inner.clone(), out)?;
    }
    let page = clap_mangen::Man::new(command);
    export::write_whole(&out.join(page.get_filename()), |file| page.render(file))
}
