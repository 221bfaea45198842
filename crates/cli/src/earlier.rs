//! `runs`: the earlier runs and campaigns in folders.

use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::terminal::{print, print_exact, say};
use clap::Args;
use justfull_report::earlier::{self, Earlier};
use justfull_report::table::{self, Style};
use std::path::PathBuf;

#[cfg(feature = "campaign")]
use justfull_campaign::earlier::read;
#[cfg(not(feature = "campaign"))]
fn read(path: &std::path::Path) -> Earlier {
    Earlier::read(path)
}

/// List earlier runs and campaigns with their settings and chief figures
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull runs\n  justfull runs results/live /data/study --json\n\n\
     The latest run comes first. `justfull compare` and `justfull plot` take the folders, and \
     `justfull ui FOLDER` shows and compares them."
))]
pub(crate) struct RunsArgs {
    /// Folders of results or of campaigns, or folders with such folders below them
    #[arg(default_value = "results")]
    folders: Vec<PathBuf>,
    /// Print JSON: a list of runs, each with its command, settings and the figures of its methods
    #[arg(long)]
    json: bool,
}

/// Lists earlier runs.
pub(crate) fn runs(args: &RunsArgs) -> Result<(), Failure> {
    let folders = earlier::folders(&args.folders).map_err(|(place, error)| {
        let allowed =
            "a folder of results, which a run or a campaign writes, or one with such below it";
        let place = place.display();
        Failure::Usage(format!("FOLDER: found {place}, allowed is {allowed}: {error}"))
    })?;
    // `./a` is `a` to its user.
    let plain = |path: &PathBuf| match path.strip_prefix(".") {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.to_path_buf(),
        _ => path.clone(),
    };
    let found: Vec<Earlier> = folders.iter().map(|path| read(&plain(path))).collect();
    if args.json {
        return print_exact(&format!("{}\n", earlier::json(&found)));
    }
    if found.is_empty() {
        let places: Vec<String> = args.folders.iter().map(|f| f.display().to_string()).collect();
        say(&format!("no folder of results in {}", places.join(", ")));
        return Ok(());
    }
    let (grid, style) = (earlier::table(&found), Style::detect());
    print(&format!("{}\n", table::terminal(&grid, style)))?;
    print(&table::notes([&grid], style))
}
