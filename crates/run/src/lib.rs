//! A run of the stack, simulated or live: its settings, its traffic, its links, its recorder, its
//! results, and their invariants.
//!
//! A driver moves packets between the parts of this crate and the stack of [`justfull_ran`]:
//! `justfull-sim` in simulated time, `justfull-live` at the slots of a clock.
#![forbid(unsafe_code)]

mod app_stats;
pub mod arena;
pub mod backlog;
pub mod cells;
pub mod config;
mod core_loss;
pub mod floor;
pub mod gather;
pub mod handovers;
pub mod invariants;
pub mod ledger;
pub mod proxy;
pub mod recorder;
pub mod region;
pub mod reported;
pub mod results;
pub mod route;
mod slice_quantum;
pub mod sources;
pub mod tap;
pub mod timers;
mod times;
pub mod traffic;
pub mod uplink;
pub mod wire;

pub use app_stats::{AppEvent, AppStats, sent_at};
pub use cells::{A3Config, CellConfig, CellsConfig, HandoverConfig, Move, Place, State, XnConfig};
pub use config::WorldConfig;
pub use core_loss::CoreLoss;
pub use gather::Plan;
pub use proxy::{DOC as PROXY_DOC, ProxyConfig, ReportConfig, Stop};
pub use sources::Departures;
pub use tap::Tap;
pub use traffic::{FlowConfig, Interval, PingConfig, Traffic, Transport, TurnConfig};
pub use uplink::{
    CellAqmConfig, GrantConfig, UplinkConfig, UplinkKind, UplinkStack, ZhugeConfig, ZhugePreset,
};
