//! Arguments of `reproduce`.

use super::{JobsArgs, OutputArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ReproduceArgs {
    /// Paper: T20, E19, A21, R22, P06, LastPoll, Justfull, or Justfull-fresh, -held-out or -unseen
    pub(crate) paper: String,
    /// The claims that are run live, over the kernel's TCP and `justfull proxy`: R22, section 5
    #[arg(long)]
    pub(crate) live: bool,
    /// Only the claims of this figure, e.g. 7, or of another place that the paper's claims name,
    /// e.g. "Table 4"
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<String>,
    /// Number of seeds, at least 3, for an interval: more give narrower ones
    #[arg(long, value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) runs: Option<u32>,
    /// First seed, instead of the scenarios' own
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=u64::MAX / 2))]
    pub(crate) seed: Option<u64>,
    /// Judge the claims in this many groups of seeds, one after the other, from --seed on: how
    /// often each verdict falls; no folder is written, and what the file records is not compared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
          requires = "seed", conflicts_with_all = ["fit", "live"])]
    pub(crate) groups: Option<u32>,
    /// Fewer points of the sweep, same bands
    #[arg(long)]
    pub(crate) short: bool,
    /// Count what each switch that claims name does to the whole paper, which takes as long as the
    /// paper once for each; without, the counts are those that the file of claims records
    #[arg(long, conflicts_with_all = ["figure", "short", "fit", "groups", "live"])]
    pub(crate) switches: bool,
    /// Fit what the paper does not print to some of its values, as the claims' file says, and print
    /// what that does to all of them; no claim is judged and no folder is written
    #[arg(long, conflicts_with_all = ["figure", "short", "strict", "seed"])]
    pub(crate) fit: bool,
    /// Exit 1 when a claim was not run for want of its trace
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also write the table of claims as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print JSON instead of tables: the claims, and the rows of runs.jsonl
    #[arg(long, conflicts_with_all = ["fit", "groups"])]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
