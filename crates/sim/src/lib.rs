//! Deterministic driver of the stack: servers, the core network, the chain of `justfull-ran`, user
//! equipments and the return path, in one discrete-event loop.
//!
//! The same world and seed give the same results to the last bit, on every machine. Packets are
//! never queued in the event loop: a link of fixed delay is already in order, so it keeps its own
//! queue and gives the loop one instant.
#![forbid(unsafe_code)]

mod app_stats;
mod applications;
mod arena;
mod backlog;
mod calendar;
mod cell;
mod core_loss;
pub mod dumbbell;
mod hosts;
mod invariants;
mod ledger;
mod links;
pub mod live_recorder;
mod monitor;
mod node;
mod proxy;
mod radio;
mod receivers;
pub mod recorder;
pub mod results;
mod route;
mod senders;
mod slice_quantum;
mod sources;
pub mod tap;
mod timers;
mod times;
pub mod traffic;
pub mod uplink;
pub mod wire;
pub mod world;

pub use core_loss::CoreLoss;
pub use dumbbell::{Dumbbell, DumbbellConfig, DumbbellFlow};
pub use proxy::{DOC as PROXY_DOC, ProxyConfig, ReportConfig, Stop};
pub use sources::Departures;
pub use tap::Tap;
pub use traffic::{FlowConfig, Interval, PingConfig, Traffic, Transport, TurnConfig};
pub use uplink::{GrantConfig, UplinkConfig};
pub use world::{Progress, World, WorldConfig};
