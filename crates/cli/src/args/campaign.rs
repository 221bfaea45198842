//! `campaign`.

use super::JobsArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do with a campaign.
#[derive(Subcommand)]
pub(crate) enum CampaignCommand {
    /// Make what the dataset lacks; a campaign that was killed goes on
    ///
    /// The file names scenarios, methods, settings and seeds; raise a number in it and run it again
    /// to add to the dataset. Nothing is made twice.
    #[command(after_help = "Examples:\n  justfull campaign run delays.toml -j 2\n  justfull \
                            campaign run delays.toml --out /data/delays --quiet")]
    Run(CampaignArgs),
    /// Say how far it is: jobs made, failed and open
    Status(CampaignArgs),
    /// List its jobs: name, scenario, point, method, seed
    List(CampaignArgs),
}

/// A campaign and its dataset.
#[derive(Args)]
pub(crate) struct CampaignArgs {
    /// File of the campaign
    pub(crate) file: PathBuf,
    /// Folder of the dataset [default: results/campaign/NAME]
    #[arg(long, short = 'o', value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no remarks
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}
