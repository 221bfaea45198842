//! `campaign`.

use super::JobsArgs;
use crate::complete;
use crate::help::with_exit_status;
use clap::{Args, Subcommand, ValueEnum};
use justfull_scenario::{Axis, Setting};
use std::path::PathBuf;

/// Make thousands of runs as one dataset of Parquet parts, and go on after any fault
#[derive(Subcommand)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull campaign run delays.toml -j 2\n  justfull campaign status \
     delays.toml\n\nA campaign's file:\n  scenarios = [\"nr-100mhz\", \"mine.toml\"]\n  \
     methods = [\"Vanilla\", \"DRQL\"]\n  seeds = 100\n  [set]\n  duration = \"20s\"\n  \
     [grid]\n  \"rlc.queue.limit\" = [\"1MB\", \"4MB\"]"
))]
pub(crate) enum CampaignCommand {
    /// Make what the dataset lacks; a campaign that was killed goes on
    ///
    /// A job is never run twice.
    #[command(after_help = "Examples:\n  justfull campaign run delays.toml -j 2\n  justfull \
                            campaign run delays.toml --out /data/delays --quiet\n  justfull \
                            campaign run results/campaign/delays --retry")]
    Run(MakeArgs),
    /// Add seeds, methods or values of settings to the file, and make them
    ///
    /// The present cases do not change, so their results stay.
    #[command(
        after_help = "Examples:\n  justfull campaign add delays.toml --seeds 50\n  justfull \
                            campaign add results/campaign/delays --method CoDel --grid \
                            'rlc.queue.limit=[2MB]'"
    )]
    Add(AddArgs),
    /// Show the progress: finished, failed and open jobs
    Status(CampaignArgs),
    /// Print means of the finished jobs with their 95 % intervals, or differences to a method
    #[command(
        after_help = "Examples:\n  justfull campaign table delays.toml --flow voip --column \
                            delay.p99\n  justfull campaign table results/campaign/delays \
                            --against Vanilla --json"
    )]
    Table(TableArgs),
    /// Write FOLDER/report.html: figures and tables of all flows
    Report(TableArgs),
    /// List its jobs: name, scenario, point, method, seed
    List(CampaignArgs),
    /// Draw cases from a seed, run methods on them, and hold the methods against bars
    ///
    /// Writes the campaign's file SEED-CASES.toml into the folder, and the dataset beside it. A
    /// killed campaign continues.
    #[command(after_help = "Examples:\n  justfull campaign judge --seed 7 --cases 30\n  justfull \
                            campaign judge --seed $(git rev-parse HEAD) --measured -j 2")]
    Judge(JudgeArgs),
}

/// Which variants of Justfull-2 are judged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Study {
    /// Without each part
    Parts,
    /// With other constants
    Constants,
}

/// The methods and cells to judge.
#[derive(Args)]
pub(crate) struct JudgeArgs {
    /// Any text of letters, digits, `-` and `_`: each text draws other cases
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: String,
    /// Number of cases
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) cases: u32,
    /// A quarter of the radios replay measured traces of the folder that JUSTFULL_DATA names
    #[arg(long)]
    pub(crate) measured: bool,
    /// Method to judge beside Vanilla; may be given several times [default: CoDel, FQ-CoDel, PIE,
    /// 5G-BDP, e5G-BDP, LastPoll, Justfull, Justfull-2, each with its form for CU and DU apart]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Judge Justfull-2 beside itself without each of its parts, or with other values of each
    /// constant, in place of other methods
    #[arg(long, value_name = "WHAT", conflicts_with = "methods")]
    pub(crate) study: Option<Study>,
    /// A setting for all methods that have it; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Setting>,
    /// Folder of the file and the dataset
    #[arg(long, short = 'o', value_name = "FOLDER", default_value = "results/campaign")]
    pub(crate) out: PathBuf,
    /// Print for each case what no method can beat, and the best method's value
    #[arg(long)]
    pub(crate) floors: bool,
    /// Print each case that misses a bar under this method
    #[arg(long, value_name = "METHOD")]
    pub(crate) misses: Option<String>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Print neither progress nor notes
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
    /// Print JSON: the verdicts and the figures of each case
    #[arg(long)]
    pub(crate) json: bool,
}

// A campaign and its dataset.
#[derive(Args)]
pub(crate) struct CampaignArgs {
    /// File of the campaign, or folder of its dataset
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) file: PathBuf,
    /// Folder of the dataset [default: FOLDER, or results/campaign/NAME]
    #[arg(long, short = 'o', value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

// How to make it.
#[derive(Args)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    pub(crate) campaign: CampaignArgs,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Run the failed jobs again
    #[arg(long)]
    pub(crate) retry: bool,
    /// Load the plugins that the campaign's file names; their code runs with your rights
    #[arg(long)]
    pub(crate) plugins: bool,
    /// Print neither progress nor notes
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

/// The addition.
#[derive(Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) run: MakeArgs,
    /// Raise the number of seeds of each case to N [default: the file's]
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Raise the maximum number of seeds of a case with a target to N [default: the file's]
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<u64>,
    /// Another method; may be given several times
    #[arg(long, value_name = "NAME", add = complete::methods())]
    pub(crate) method: Vec<String>,
    /// More values of a setting of the grid; may be given several times
    #[arg(long, value_name = "PATH=[VALUE,...]")]
    pub(crate) grid: Vec<Axis>,
}

/// The figures to show.
#[derive(Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    pub(crate) campaign: CampaignArgs,
    /// Column of runs.csv, or its short name; may be given several times [default: the target's,
    /// delay.mean, delay.p95, delay.p99, goodput]
    #[arg(long = "column", value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
    /// Only this flow; may be given several times
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// Only this method; may be given several times
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Differences to this method, seed by seed
    #[arg(long, value_name = "METHOD")]
    pub(crate) against: Option<String>,
}
