//! Finds out which of many interfaces have a datagram to read (epoll(7)).

use justfull_net::Port;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;

/// Up to this many interfaces are all read, since a query would take as many system calls.
const FEW: usize = 4;

/// Finds the interfaces of a run that must be read.
pub(super) struct Waiting {
    /// None if all are read.
    epoll: Option<Epoll>,
    /// One for each interface.
    events: Vec<EpollEvent>,
    /// The interfaces to read, by number.
    found: Vec<u32>,
}

impl Waiting {
    /// Watches `ports`, unless they are few or have no descriptor.
    pub(super) fn on<P: Port>(ports: &[P]) -> io::Result<Self> {
        let descriptors: Option<Vec<_>> = ports.iter().map(Port::descriptor).collect();
        let Some(descriptors) = descriptors.filter(|all| all.len() > FEW) else {
            return Ok(Self {
                epoll: None,
                events: Vec::new(),
                found: (0..).take(ports.len()).collect(),
            });
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (number, descriptor) in (0..).zip(&descriptors) {
            epoll.add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        }
        let events = vec![EpollEvent::empty(); ports.len()];
        Ok(Self { epoll: Some(epoll), events, found: Vec::with_capacity(ports.len()) })
    }

    /// Interface `number` among the interfaces that [`Self::look`] has found.
    pub(super) fn found(&self, number: usize) -> u32 {
        self.found[number]
    }

    /// The interfaces that may have a datagram, in order, including those that have gone. Neither
    /// waits nor allocates.
    pub(super) fn look(&mut self) -> io::Result<&[u32]> {
        if let Some(epoll) = &self.epoll {
            let count = match epoll.wait(&mut self.events, EpollTimeout::ZERO) {
                Err(Errno::EINTR) => 0,
                found => found?,
            };
            self.found.clear();
            self.found.extend(self.events[..count].iter().map(|event| event.data() as u32));
            self.found.sort_unstable();
        }
        Ok(&self.found)
    }
}
