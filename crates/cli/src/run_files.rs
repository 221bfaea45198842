//! The files of single runs requested from `run`, checked before the first run.

use crate::failure::Failure;
use crate::results::resolved;
use clap::Args;
use justfull_report::export::outputs::Outputs;
use justfull_report::export::records::Format;
use justfull_report::export::run;
use justfull_scenario::Scenario;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

// Files that are written while a run goes on; with several runs, each run's name goes into the
// file's.
#[derive(Args)]
#[command(next_help_heading = "Files of single runs")]
pub(crate) struct RunFileArgs {
    /// A record of each packet, in the form that the name ends in: .parquet, .csv, .jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
    /// A record of each slot, likewise
    #[arg(long, value_name = "FILE")]
    pub(crate) slots: Option<PathBuf>,
    /// Form of --packets and --slots: parquet, csv, jsonl [default: what their names end in]
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<String>,
    /// A capture for Wireshark, one interface for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Goodput and delays over time for flent; name it NAME.flent.gz
    #[arg(long, value_name = "FILE")]
    pub(crate) flent: Option<PathBuf>,
    /// Delays of the first low-latency flow of datagrams as irtt's JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) irtt: Option<PathBuf>,
}

/// The files of each run of each scenario, in the order of runs; `folder` is the place of the
/// results.
pub(crate) fn outputs(
    args: &RunFileArgs,
    scenarios: &[Scenario],
    folder: Option<&Path>,
) -> Result<Vec<Vec<Outputs>>, Failure> {
    let outputs = Outputs {
        packets: records("--packets", args.packets.as_ref(), args.format.as_deref())?,
        slots: records("--slots", args.slots.as_ref(), args.format.as_deref())?,
        pcapng: args.pcapng.clone(),
        flent: args.flent.clone(),
        irtt: args.irtt.clone(),
    };
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<Vec<Outputs>> = scenarios
        .iter()
        .map(|scenario| {
            let prefix =
                if scenarios.len() > 1 { format!("{}-", scenario.name) } else { String::new() };
            run::outputs_of(&outputs, scenario, &scenario.jobs(), &prefix)
        })
        .collect();
    let runs = all.iter().map(Vec::len).sum::<usize>();
    if runs > 1 {
        for (option, path) in outputs.paths() {
            one_run_where_there_is_no_name(option, path, runs)?;
        }
    }
    distinct(&all, folder)?;
    Ok(all)
}

/// Path and format of records.
fn records(
    option: &str,
    path: Option<&PathBuf>,
    format: Option<&str>,
) -> Result<Option<(PathBuf, Format)>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let ending = || path.extension()?.to_str().map(str::to_ascii_lowercase);
    if cfg!(not(feature = "parquet"))
        && format.map(str::to_owned).or_else(ending).as_deref() == Some("parquet")
    {
        return Err(Failure::lacks("Parquet", "parquet"));
    }
    let names = Format::ALL.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
    let format = match format {
        Some(name) => {
            Format::ALL.iter().find(|(_, own)| *own == name).map(|(format, _)| *format).ok_or_else(
                || Failure::Usage(format!("--format: found {name}, allowed is one of {names}")),
            )?
        }
        None => Format::of(path).ok_or_else(|| {
            let found = path.display();
            Failure::Usage(format!(
                "{option}: found {found}, allowed is a name that ends in one of {names}, or any \
                 with --format"
            ))
        })?,
    };
    Ok(Some((path.clone(), format)))
}

/// Refuses several runs for a device or a pipe, which has one name and holds one file.
fn one_run_where_there_is_no_name(option: &str, path: &Path, runs: usize) -> Result<(), Failure> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Failure::Usage(format!(
            "{option}: found {} for {runs} runs, allowed is one run there: choose it with \
             --method, --seed and --runs 1",
            path.display()
        )));
    }
    Ok(())
}

/// Refuses two files at one place, under any names, and a file in the folder of the results, which
/// is replaced as a whole.
fn distinct(all: &[Vec<Outputs>], folder: Option<&Path>) -> Result<(), Failure> {
    let out = folder.map(resolved);
    let mut taken: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (option, path) in all.iter().flatten().flat_map(Outputs::paths) {
        let (found, place) = (path.display(), resolved(path));
        if out.as_ref().is_some_and(|out| place.starts_with(out) || out.starts_with(&place)) {
            let folder = folder.unwrap_or(Path::new("")).display();
            return Err(Failure::Usage(format!(
                "{option}: found {found}, where the folder of the results {folder} goes, allowed \
                 is a place outside of it"
            )));
        }
        if let Some(other) = taken.insert(place, option) {
            return Err(Failure::Usage(format!(
                "{option}: found {found}, which {other} names too, allowed is a place for each \
                 file"
            )));
        }
    }
    Ok(())
}
