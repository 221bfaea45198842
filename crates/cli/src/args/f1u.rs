//! Arguments of `f1u`.

use super::ConfigArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Bound the RLC queues of a split gNB that stays as it is, between its DUs and CU-UPs
#[derive(Subcommand)]
pub(crate) enum F1uCommand {
    /// Lower the desired buffer size of delivery statuses until SIGTERM
    #[command(after_help = "Example:\n  justfull f1u run --config f1u.toml")]
    Run(F1uRunArgs),
    /// Say what this host can do for the box
    #[command(after_help = "Example:\n  justfull f1u check --config f1u.toml\n\nExit status: 0 \
                            when the box can run here, 1 when not, 2 for a wrong file")]
    Check(ConfigArgs),
    /// Say how a running box is: bearers, frames, what passed
    Status(F1uAskArgs),
    /// List the bearers of a running box with their limits
    Bearers(F1uAskArgs),
}

/// What `run` reads.
#[derive(Args)]
pub(crate) struct F1uRunArgs {
    #[command(flatten)]
    pub(crate) file: ConfigArgs,
    /// Take the place of the box that runs at `operation.socket`; it ends then
    #[arg(long)]
    pub(crate) takeover: bool,
}

// Whom `status` and `bearers` ask.
#[derive(Args)]
pub(crate) struct F1uAskArgs {
    /// Local socket of the box, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-f1u.sock")]
    pub(crate) socket: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
