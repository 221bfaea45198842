//! Arguments of `recommend`.

use super::{JobsArgs, ScenarioArgs};
use clap::Args;
use justfull_base::Duration;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct RecommendArgs {
    /// A scenario file, the name of a shipped one, or a trace of any format that `justfull trace`
    /// reads.
    ///
    /// Of a trace each seed plays 60 s from another place, spread over the whole trace; `--set
    /// duration=180s` makes it more. A scenario has its own duration.
    #[arg(value_name = "SCENARIO|TRACE")]
    pub(crate) input: PathBuf,
    /// Method to compare instead of the usual ones; may be given several times
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// CU and DU are apart: what the RLC holds is known so much later, and its order cannot be
    /// changed
    #[arg(long, value_name = "DELAY")]
    pub(crate) split: Option<Duration>,
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
    /// [default: the scenario's; 3 for a trace]
    #[arg(long)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Print JSON, a line for each point of the sweep
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}
