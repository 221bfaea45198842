//! Arguments of `n3`.

use super::{CheckConfigArgs, ConfigArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Take TCP out of GTP-U at N3 or S1-U for the proxy, and put it back
#[derive(Subcommand)]
pub(crate) enum N3Command {
    /// Take connections out of their tunnels until SIGTERM
    #[command(after_help = "Example:\n  justfull n3 run --config n3.toml")]
    Run(ConfigArgs),
    /// Check the abilities of this host that the stage needs, and whether IPsec passes
    #[command(after_help = "Example:\n  justfull n3 check --config n3.toml\n\nExit status: 0 \
                            when the stage can run here, 1 when not, 2 for a wrong file")]
    Check(CheckConfigArgs),
    /// Show the status of a running stage: UEs, connections, packets
    Status(N3AskArgs),
    /// List the UEs of a running stage with their tunnels
    Tunnels(N3AskArgs),
}

// The stage of `status` and `tunnels`.
#[derive(Args)]
pub(crate) struct N3AskArgs {
    /// Local socket of the stage, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-n3.sock")]
    pub(crate) socket: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
