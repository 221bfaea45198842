//! Arguments of commands that make runs, and arguments for the place of results.

use clap::{Args, ValueEnum};
use justfull_report::export::LongTable;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ThreadsArgs {
    /// Threads [default: all cores]
    #[arg(long, short = 'j')]
    pub(crate) jobs: Option<usize>,
}

#[derive(Args)]
pub(crate) struct JobsArgs {
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    /// Progress on standard error: a bar if it is a terminal, lines of JSON, or nothing
    #[arg(long, value_enum, default_value = "auto", conflicts_with = "quiet")]
    pub(crate) progress: Progress,
}

/// The form of the progress on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// A bar on a terminal.
    Auto,
    /// An object on each line: event, finished, simulated_s, announced_s, elapsed_s.
    Json,
    /// Nothing.
    None,
}

#[derive(Args)]
pub(crate) struct OutputArgs {
    /// Folder of the results, which is replaced as a whole: report.html, runs.csv, runs.jsonl,
    /// runs.parquet, series.csv, flow_series.csv, cdf.csv, result.json, manifest.json [default:
    /// results/NAME; live: results/live/SCENARIO-UTC]
    #[arg(long, short = 'o', value_name = "FOLDER", conflicts_with = "no_files")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder whatever it holds; files that no run can make again are kept in
    /// FOLDER.old
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) force: bool,
    /// Print the table only
    #[arg(long)]
    pub(crate) no_files: bool,
    /// Write each figure as PNG too
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) png: bool,
    /// Write these tables as Parquet too, beside their CSV files; several are separated by commas
    #[arg(
        long,
        value_name = "TABLE,...",
        value_enum,
        value_delimiter = ',',
        conflicts_with = "no_files"
    )]
    pub(crate) parquet: Vec<ParquetTable>,
    /// Print p99.9, jitter, missed delay budgets and fairness too
    #[arg(long)]
    pub(crate) wide: bool,
    /// Show no progress bar
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

/// A table that is written as Parquet on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ParquetTable {
    /// Backlogs and capacity over time.
    Series,
    /// Delay and goodput of each flow over time.
    FlowSeries,
    /// Distributions.
    Cdf,
    /// Backlog of each queue.
    Entities,
}

impl From<&ParquetTable> for LongTable {
    fn from(table: &ParquetTable) -> Self {
        match table {
            ParquetTable::Series => Self::Series,
            ParquetTable::FlowSeries => Self::FlowSeries,
            ParquetTable::Cdf => Self::Cdf,
            ParquetTable::Entities => Self::Entities,
        }
    }
}
