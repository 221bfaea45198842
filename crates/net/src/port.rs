//! Carriers of datagrams: a TUN device, an interface, or a test's substitute.

use serde::Serialize;
use std::io::{self, IoSlice};
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

    /// True if more datagrams of the last read wait in this port. A poll of [`Port::descriptor`]
    /// does not show them.
    fn is_midway(&self) -> bool {
        false
    }

    /// True if [`Port::send_joined`] takes packets of several segments.
    fn joins(&self) -> bool {
        false
    }

    /// Writes one packet of several segments. `parts` are [its prefix and
    /// headers](crate::segments::Run::head), and the payload of each segment. False if the
    /// interface has no room.
    ///
    /// # Errors
    /// The interface has gone, fails, or [takes no such packets](Port::joins).
    fn send_joined(&mut self, _parts: &[IoSlice<'_>]) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Numbers of packets of several segments since the device was opened.
    fn joined(&self) -> Joined {
        Joined::default()
    }

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

/// Numbers of packets of several segments that a device exchanged with the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Joined {
    /// Packets that the device read and cut.
    pub cut: u64,
    /// Packets that the device wrote.
    pub joined: u64,
}

/// A borrowed port stays open when its borrower ends.
impl<P: Port> Port for &mut P {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        (**self).receive(buffer)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        (**self).send(packet)
    }

    fn is_midway(&self) -> bool {
        (**self).is_midway()
    }

    fn joins(&self) -> bool {
        (**self).joins()
    }

    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        (**self).send_joined(parts)
    }

    fn joined(&self) -> Joined {
        (**self).joined()
    }

    fn outages(&self) -> Outages {
        (**self).outages()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }
}
