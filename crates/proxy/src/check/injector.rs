//! Puts segments at interfaces of this host as if they had arrived there (bpf(2): a program that is
//! run once with a frame). They pass everything that packets from outside pass.

use super::segment::Segment;
use crate::bpf::{self, CALL, EXIT, MOVE_NUMBER, Purpose, instruction};
use nix::ifaddrs::getifaddrs;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// `bpf_clone_redirect()`, and its flag for arrival.
const HELPER_CLONE_REDIRECT: i32 = 13;
const ARRIVES: i32 = 1;

/// See the module's page.
pub(super) struct Injector {
    /// A program for each interface.
    programs: BTreeMap<u32, OwnedFd>,
}

impl Injector {
    /// Fails if this host or the caller's rights do not allow it.
    pub(super) fn new() -> io::Result<Self> {
        let programs = BTreeMap::from([(0, program(0)?)]);
        Ok(Self { programs })
    }

    /// Puts `segment` at the interface with this index and name.
    pub(super) fn put(&mut self, index: u32, name: &str, segment: &Segment) -> io::Result<()> {
        let program = match self.programs.entry(index) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(free) => free.insert(program(index)?),
        };
        bpf::run(program, &segment.frame(hardware(name)))
    }
}

fn program(interface: u32) -> io::Result<OwnedFd> {
    let code = [
        instruction(MOVE_NUMBER, 2, 0, 0, interface.cast_signed()),
        instruction(MOVE_NUMBER, 3, 0, 0, ARRIVES),
        instruction(CALL, 0, 0, 0, HELPER_CLONE_REDIRECT),
        instruction(EXIT, 0, 0, 0, 0),
    ];
    bpf::load("justfull_check", &code, Purpose { kind: CLASSIFIER, attached: 0, attached_type: 0 })
}

/// The hardware address of an interface; zeros if it has none.
fn hardware(name: &str) -> [u8; 6] {
    let all = getifaddrs().into_iter().flatten().filter(|one| one.interface_name == name);
    let links = all.filter_map(|one| one.address?.as_link_addr()?.addr());
    links.into_iter().next().unwrap_or_default()
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
