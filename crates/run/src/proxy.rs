//! Settings of a split proxy, and the channel of radio reports to it.

mod config;
mod reports;

pub use config::{DOC, ProxyConfig, ReportConfig, Stop};
pub use reports::{At, ReportChannel};
