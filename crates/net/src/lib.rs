//! The parts of a Linux machine that justfull uses: namespaces, netlink, TUN devices and
//! interfaces, commands, rights, a clock, and an HTTP server.
//!
//! Everything created here is removed with its owner; [`sweep`] removes the leftovers of a killed
//! process.

mod attach;
mod between;
mod cgroup;
pub mod chain;
mod checksum;
mod clients;
pub mod clock;
mod command;
mod copies;
mod detour;
pub mod domain;
mod error;
mod executor;
mod host;
pub mod http;
mod memory;
mod namespace;
mod netlink;
mod network;
mod policy;
mod port;
mod prefix;
mod privilege;
mod proc;
pub mod questions;
pub mod router;
pub mod routing;
pub mod segments;
mod state;
mod stop;
mod tun;

pub use attach::{Attached, Attachment, attach};
pub use clients::{bounded_listener, client, victim};
pub use command::Running;
pub use copies::Copies;
pub use detour::{Detour, DetourConfig, LOOPBACK};
pub use domain::{Domain, Home};
pub use error::SystemError;
pub use host::Host;
pub use memory::tcp_is_short;
pub use network::{
    DEFAULT_MTU, DEFAULT_QUEUE_PACKETS, LINK, MAX_MTU, MAX_UES, MIN_MTU, Network, NetworkConfig,
    Side, UeNetwork,
};
pub use policy::{LocalDelivery, PolicyRoute};
pub use port::{Joined, Outages, Port};
pub use prefix::{Ports, Prefix};
pub use privilege::{Capability, Privilege, capabilities, privilege};
pub use segments::OFFLOAD_PREFIX;
pub use state::{Swept, sweep};
pub use stop::Stop;
pub use tun::Tun;
