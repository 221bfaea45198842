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
