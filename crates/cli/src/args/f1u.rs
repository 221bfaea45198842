//! Arguments of `f1u`.

use super::{CheckConfigArgs, ConfigArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Bound the RLC queues of an unchanged split gNB, between its DUs and CU-UPs
#[derive(Subcommand)]
pub(crate) enum F1uCommand {
    /// Lower the desired buffer size of delivery statuses until SIGTERM
    #[command(after_help = "Example:\n  justfull f1u run --config f1u.toml")]
    Run(F1uRunArgs),
    /// Check the abilities of this host that the box needs
    #[command(after_help = "Example:\n  justfull f1u check --config f1u.toml\n\nExit status: 0 \
                            when the box can run here, 1 when not, 2 for a wrong file")]
    Check(CheckConfigArgs),
    /// Show the status of a running box: bearers, frames, packets
    Status(F1uAskArgs),
    /// List the bearers of a running box with their limits
    Bearers(F1uAskArgs),
}

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct F1uRunArgs {
    #[command(flatten)]
    pub(crate) file: ConfigArgs,
    /// Replace the box that runs at `operation.socket`, which then ends
    #[arg(long)]
    pub(crate) takeover: bool,
}

// The box of `status` and `bearers`.
#[derive(Args)]
pub(crate) struct F1uAskArgs {
    /// Local socket of the box, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-f1u.sock")]
    pub(crate) socket: PathBuf,
    /// Configuration of the box, whose `operation.socket` is asked
    #[arg(long, value_name = "FILE", conflicts_with = "socket")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
