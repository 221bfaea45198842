//! The stack of [`justfull_ran`] on real packets in real time.
//!
//! It runs between two or more namespaces, each with a TUN device. The packets of the server side
//! go down through the stack to a UE's side; the packets of a UE go up through the uplink of
//! [`justfull_run`]. The simulator runs the same algorithms; this crate adds a clock, packet
//! buffers and the kernel's interfaces.

pub mod applications;
pub mod arena;
pub mod capture;
pub mod driver;
pub mod lateness;
pub mod middle;
pub mod packet;
pub mod recorder;
pub mod report;
pub mod reports;
pub mod session;

pub use driver::{Ends, Live, LiveOptions, UePort};
pub use report::{Account, LiveReport};
pub use session::{Outcome, Session};
