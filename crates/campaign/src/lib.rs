//! Campaigns: scenarios x methods x settings x seeds as one dataset of Parquet parts.
//!
//! A [`Campaign`] is read from a file. Its *cases* are a scenario at one point of its grid under
//! one method; a *job* is a case with a seed. A job's name is a hash of the resolved world with the
//! content of its traces, the seed, the program's version and its source. [`dataset::Dataset`] is
//! the folder of results: [`run::run`] makes the missing jobs, and may be killed at any time.
//!
//! This crate plans campaigns and keeps their results; it has no algorithm.
#![forbid(unsafe_code)]

pub mod bars;
pub mod batch;
pub mod dataset;
pub mod draw;
pub mod earlier;
pub mod edit;
mod failure;
mod file;
mod folder;
mod ledger;
mod part;
pub mod plan;
pub mod report;
pub mod run;

pub use batch::{Batches, Which};
pub use dataset::{Dataset, Tally};
pub use edit::Addition;
pub use failure::Failure;
pub use file::{PluginMethod, PythonMethod, Target};
pub use ledger::Stretch;
pub use plan::{Campaign, Case, Id};

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Hash of the source that determines results, in hexadecimal digits.
pub const SOURCE: &str = env!("JUSTFULL_SOURCE");
