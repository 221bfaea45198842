//! Puts segments at interfaces of this host as if they had arrived there.

use super::segment::Segment;
use crate::bpf;
use crate::inject::{hardware, program};
use nix::ifaddrs::getifaddrs;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// The program's name in the kernel.
const NAME: &str = "justfull_check";

/// See the module's page.
pub(super) struct Injector {
    /// A program for each interface and mark.
    programs: BTreeMap<(u32, Option<u32>), OwnedFd>,
}

impl Injector {
    /// Fails if this host or the caller's rights do not allow it.
    pub(super) fn new() -> io::Result<Self> {
        let programs = BTreeMap::from([((0, None), program(NAME, 0, None)?)]);
        Ok(Self { programs })
    }

    /// Puts `segment` at the interface with this index, with a mark if there is one.
    pub(super) fn put(
        &mut self,
        index: u32,
        segment: &Segment,
        mark: Option<u32>,
    ) -> io::Result<()> {
        let program = match self.programs.entry((index, mark)) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(free) => free.insert(program(NAME, index, mark)?),
        };
        bpf::run(program, &segment.frame(hardware(index)))
    }
}

/// This host's own addresses.
pub(super) fn own_addresses() -> Vec<IpAddr> {
    let all = getifaddrs().into_iter().flatten().filter_map(|one| one.address);
    all.filter_map(|at| {
        let v4 = at.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
        v4.or_else(|| at.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))
    })
    .collect()
}
