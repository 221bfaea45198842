//! The stack of [`justfull_ran`] on real packets in real time.
//!
//! It runs between two or more namespaces, each with a TUN device. Packets of the server's side go
//! down through the stack to a UE's side; packets of a UE go up through the simulator's uplink. The
//! algorithms are the simulator's, unchanged; this crate adds a clock, packet buffers and the
//! kernel's interfaces.

pub mod applications;
pub mod arena;
pub mod capture;
pub mod driver;
pub mod lateness;
pub mod middle;
pub mod packet;
pub mod report;
pub mod reports;
pub mod session;

pub use driver::{Ends, Live, LiveOptions, UePort};
pub use report::{Account, LiveReport};
pub use session::{Outcome, Session};
