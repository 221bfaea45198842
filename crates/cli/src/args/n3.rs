//! Arguments of `n3`.

use super::ConfigArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Let the proxy stand at N3 or S1-U: take TCP out of GTP-U for it, and put it back
#[derive(Subcommand)]
pub(crate) enum N3Command {
    /// Take connections out of their tunnels until SIGTERM
    #[command(after_help = "Example:\n  justfull n3 run --config n3.toml")]
    Run(ConfigArgs),
    /// Say what this host can do for the stage, and whether IPsec passes it
    #[command(after_help = "Example:\n  justfull n3 check --config n3.toml\n\nExit status: 0 \
                            when the stage can run here, 1 when not, 2 for a wrong file")]
    Check(ConfigArgs),
    /// Say how a running stage is: UEs, connections, what passed
    Status(N3AskArgs),
    /// List the UEs of a running stage with their tunnels
    Tunnels(N3AskArgs),
}

// Whom `status` and `tunnels` ask.
#[derive(Args)]
pub(crate) struct N3AskArgs {
    /// Local socket of the stage, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-n3.sock")]
    pub(crate) socket: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
