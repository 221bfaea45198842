//! Arguments of services.

use clap::Args;
use std::path::PathBuf;

/// The settings of a service.
#[derive(Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// The settings of a service whose host is checked.
#[derive(Args)]
pub(crate) struct CheckConfigArgs {
    #[command(flatten)]
    pub(crate) file: ConfigArgs,
    /// Print JSON: a list of the checks
    #[arg(long)]
    pub(crate) json: bool,
}
