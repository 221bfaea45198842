//! A transparent stage at N3 or S1-U that lets the proxy of RAPID stand where TCP is inside GTP-U.
//!
//! It takes the TCP connections of UEs out of their tunnels into a routing domain of its own, where
//! the proxy splits them as on plain IP, and puts the packets of both legs back into the tunnels:
//! TEID, QFI and the other headers are learnt from the packets of each connection. Everything else
//! passes byte for byte.
//!
//! [`machine`] decides, without sockets and clock. [`run`] serves. However the process ends, the
//! kernel forwards the tunnels without it.
#![forbid(unsafe_code)]

mod ask;
mod check;
mod config;
mod header;
pub mod machine;
mod packet;
mod segments;
mod service;
mod status;
mod tables;

pub use ask::ask;
pub use check::check;
pub use config::{N3Config, OperationConfig, PlaceConfig, TunnelsConfig};
pub use machine::{Counts, Direction, Machine};
pub use service::run;
