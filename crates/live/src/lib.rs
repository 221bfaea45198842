//! The stack of [`justfull_ran`] on real packets in real time.
//!
//! Two namespaces or more, each with a TUN device, and this process between them: what the server
//! side sends goes down through the stack to a UE's side, what a UE sends goes up through the
//! simulator's uplink. The algorithms are those of the simulator, unchanged; what is added here is
//! a clock, packet buffers and the kernel's interfaces.

pub mod applications;
pub mod arena;
pub mod capture;
pub mod clock;
pub mod driver;
mod error;
pub mod http;
pub mod lateness;
pub mod net;
pub mod packet;
pub mod report;
pub mod session;

pub use driver::{Ends, Live, LiveOptions, UePort};
pub use error::LiveError;
pub use report::{Account, LiveReport};
pub use session::{Outcome, Session};

use serde::Serialize;
use std::io;
use std::os::fd::BorrowedFd;

/// A way in and out for IP datagrams of at most the MTU. Neither call waits.
pub trait Port {
    /// Reads one datagram into `buffer` and returns its length in bytes; `None` when none waits.
    ///
    /// # Errors
    /// The interface has gone, or fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes one datagram; false when the interface takes no more now.
    ///
    /// # Errors
    /// The interface has gone, or fails.
    fn send(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// How often and how long the interface was down and waited for.
    fn outages(&self) -> Outages {
        Outages::default()
    }

    /// A descriptor that is readable when a datagram waits, and when the interface has gone. None:
    /// there is none, and the port is read at every reading.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Times at which an interface was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outages {
    /// How many.
    pub count: u64,
    /// How long all together.
    pub time: justfull_base::Duration,
}

/// A port that is lent stays open when its borrower ends.
impl<P: Port> Port for &mut P {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        (**self).receive(buffer)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        (**self).send(packet)
    }

    fn outages(&self) -> Outages {
        (**self).outages()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }
}
