//! `new`.

use clap::{Args, ValueEnum};
use justfull_scenario::starter::{Cell, Traffic};
use std::path::PathBuf;

/// What `new` writes.
#[derive(Args)]
pub(crate) struct NewArgs {
    /// File to write, or its name without .toml; - is standard output
    #[arg(value_name = "NAME|FILE", required_unless_present = "limiter")]
    pub(crate) file: Option<PathBuf>,
    /// Write a Rust crate with a limiter of your own instead, into this new folder, whose name is
    /// the limiter's
    #[arg(long, value_name = "FOLDER", conflicts_with_all = [
        "file", "CellArgs", "ues", "traffic", "methods", "runs", "trace", "force"
    ])]
    pub(crate) limiter: Option<PathBuf>,
    /// Tree of justfull that the crate of --limiter builds on [default: the repository on the web]
    #[arg(long, value_name = "FOLDER", requires = "limiter")]
    pub(crate) justfull: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cell: CellArgs,
    /// Number of UEs, all alike
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) ues: u32,
    /// What each UE sends and receives
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',',
          default_values = ["download", "call"])]
    pub(crate) traffic: Vec<TrafficName>,
    /// Method to compare; may be given several times [default: five that fit the cell]
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Number of seeds; three or more give 95 % confidence intervals
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    /// Trace of what the cell can carry, instead of its resource blocks
    #[arg(long, value_name = "FILE", conflicts_with = "umts")]
    pub(crate) trace: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// The cell, one of three.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct CellArgs {
    /// NR, 100 MHz in band n78 (this is the default)
    #[arg(long)]
    nr: bool,
    /// LTE, 10 MHz
    #[arg(long)]
    lte: bool,
    /// UMTS, dedicated channels of 384 kbit/s
    #[arg(long)]
    umts: bool,
}

impl CellArgs {
    pub(crate) fn cell(&self) -> Cell {
        match (self.lte, self.umts) {
            (true, _) => Cell::Lte,
            (_, true) => Cell::Umts,
            _ => Cell::Nr,
        }
    }
}

/// A kind of traffic by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrafficName {
    Download,
    Upload,
    Call,
    Game,
    Pages,
    Ping,
}

impl From<TrafficName> for Traffic {
    fn from(name: TrafficName) -> Self {
        match name {
            TrafficName::Download => Self::Download,
            TrafficName::Upload => Self::Upload,
            TrafficName::Call => Self::Call,
            TrafficName::Game => Self::Game,
            TrafficName::Pages => Self::Pages,
            TrafficName::Ping => Self::Ping,
        }
    }
}
