//! A transparent box on F1-U, between the DUs and the CU-UPs of a split gNB that stay as they are.
//!
//! It reads user data on its way down and the DUs' delivery statuses on their way up, runs a
//! limiter for each bearer, and lowers the *desired buffer size* of the statuses in place. A CU-UP
//! that holds back above it then keeps the bearer's RLC queue just full.
//!
//! [`machine`] decides, without sockets and clock. [`run`] serves: it reads copies of the downlink,
//! which the kernel forwards without it, and only the uplink takes a detour through the process.
//! However the process ends, the kernel forwards everything.
#![forbid(unsafe_code)]

mod ask;
mod check;
mod config;
pub mod machine;
mod place;
mod service;
mod status;

pub use ask::ask;
pub use check::check;
pub use config::{BearersConfig, F1uConfig, HoldConfig, OperationConfig, PacerConfig, PlaceConfig};
pub use machine::{BearerView, Counts, Machine, Verdict};
pub use service::run;
