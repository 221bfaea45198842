//! `run`.

use crate::args::{GridArgs, JobsArgs, OutputArgs, PluginArgs, ScenarioArgs};
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::plugins::Plugins;
use crate::run_files::{self, RunFileArgs};
use crate::runs::RunRequest;
use crate::scenarios::{axes, chosen, overrides};
use crate::{complete, results};
use clap::Args;
use justfull_scenario::{Overrides, Scenario};
use std::path::PathBuf;

const RUN_EXAMPLES: &str = with_exit_status!(
    "\
Examples:
  justfull run t20-individual --variant as-released
  justfull run t20-shared --runs 5 --jobs 2 --set flow.bulk.tcp.sender.cc.kind=new_reno
  justfull run my.toml --grid 'rlc.queue.limit=[1MB, 10MB]' --grid 'core.delay=[5ms, 20ms]'
  justfull run my.toml --set 'channel={kind=\"constant\", per_slot=4}' --no-files
  justfull run voip-over-lte --method DRQL --plugin ./mine.so
  justfull run voip-over-lte --method CoDel --no-files --pcapng call.pcapng --packets call.parquet"
);

/// Run scenarios and compare their methods
#[derive(Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Scenario files, or names of shipped ones; - is standard input
    #[arg(required = true, add = complete::scenarios_and_files())]
    pub(crate) files: Vec<PathBuf>,
    /// Method to run instead of the file's; may be given several times
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginArgs,
    /// Print JSON instead of tables: notes, the folder, missing runs, the rows of runs.jsonl
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
    /// [default: the scenario's]
    #[arg(long)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Last: its heading is over all that follow.
    #[command(flatten)]
    pub(crate) files_of_runs: RunFileArgs,
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let overrides = Overrides {
        methods: chosen(&args.methods),
        runs: args.runs,
        grid: axes(&args.grid)?,
        ..overrides(&args.scenario)?
    };
    let plugins = Plugins::load(&args.plugins)?;
    let read = |name: &PathBuf| plugins.scenario(name, &overrides);
    let scenarios = args.files.iter().map(read).collect::<Result<Vec<Scenario>, Failure>>()?;
    let name = if scenarios.len() == 1 { scenarios[0].name.clone() } else { "comparison".into() };
    let place = results::place(&args.output, &name);
    let outputs = run_files::outputs(&args.files_of_runs, &scenarios, place.as_deref())?;
    let done = RunRequest {
        kind: "run",
        name: &name,
        scenarios: &scenarios,
        notes: Vec::new(),
        outputs: &outputs,
        jobs: &args.jobs,
        output: &args.output,
        json: args.json,
    }
    .run();
    plugins.tell_odd();
    done
}
