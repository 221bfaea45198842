//! Settings of a split proxy, and the way on which reports of the radio reach it.

mod config;
mod reports;

pub use config::{DOC, ProxyConfig, ReportConfig, Stop};
pub use reports::ReportChannel;
