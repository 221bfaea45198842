//! Carriers of datagrams: a TUN device, an interface, or a test's substitute.

use serde::Serialize;
use std::io;
use std::os::fd::BorrowedFd;

/// An interface for IP datagrams of at most the MTU. Neither call blocks.
pub trait Port {
    /// Reads one datagram into `buffer` and returns its length in bytes; `None` when none waits.
    ///
    /// # Errors
    /// The interface has gone, or fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes one datagram; false when the interface accepts no more now.
    ///
    /// # Errors
    /// The interface has gone, or fails.
    fn send(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// How often and how long the interface was down.
    fn outages(&self) -> Outages {
        Outages::default()
    }

    /// A descriptor that is readable when a datagram waits, and when the interface has gone. None
    /// if there is none; the port is then read at every reading.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Times when an interface was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outages {
    /// How many.
    pub count: u64,
    /// Total duration.
    pub time: justfull_base::Duration,
}

/// A borrowed port stays open when its borrower ends.
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
