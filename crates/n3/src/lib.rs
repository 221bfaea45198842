//! A transparent stage at N3 or S1-U, where TCP is inside GTP-U, for the proxy of RAPID.
//!
//! It takes the TCP connections of UEs out of their tunnels into a routing domain of its own, where
//! the proxy splits them as on plain IP, and puts the packets of both legs back into the tunnels:
//! TEID, QFI and the other headers are copied from the packets of each connection. Everything else
//! passes byte for byte.
//!
//! [`machine`] decides without sockets and clock. [`run`] serves. When the process has ended, in
//! whatever way, the kernel forwards the tunnels.
#![forbid(unsafe_code)]

mod ask;
mod batch;
mod check;
mod config;
mod datagrams;
mod header;
pub mod machine;
mod packet;
mod repeat;
mod segments;
mod service;
mod status;
mod tables;

pub use ask::ask;
pub use check::check;
pub use config::{N3Config, OperationConfig, PlaceConfig, TunnelsConfig};
pub use machine::{Counts, Direction, Machine};
pub use service::run;
