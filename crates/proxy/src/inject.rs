//! Puts packets at interfaces of this host as if they had arrived there (bpf(2): a program that is
//! run once with a frame). They pass everything that packets from outside pass.

use crate::bpf::{self, CALL, EXIT, Instruction, MOVE_NUMBER, Purpose, instruction};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_indextoname;
use std::io;
use std::os::fd::OwnedFd;

/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// `bpf_clone_redirect()`, and its flag for arrival.
const HELPER_CLONE_REDIRECT: i32 = 13;
const ARRIVES: i32 = 1;
const STORE_WORD: u8 = 0x63;
/// Place of the mark in `struct __sk_buff`.
const MARK: i16 = 8;

/// A program that puts frames at the interface with this index, with a mark if there is one.
///
/// # Errors
/// This host or the caller's rights do not allow it.
pub(crate) fn program(name: &str, interface: u32, mark: Option<u32>) -> io::Result<OwnedFd> {
    let marked = mark.map(|mark| {
        [
            instruction(MOVE_NUMBER, 2, 0, 0, mark.cast_signed()),
            instruction(STORE_WORD, 1, 2, MARK, 0),
        ]
    });
    let mut code: Vec<Instruction> = marked.into_iter().flatten().collect();
    code.extend([
        instruction(MOVE_NUMBER, 2, 0, 0, interface.cast_signed()),
        instruction(MOVE_NUMBER, 3, 0, 0, ARRIVES),
        instruction(CALL, 0, 0, 0, HELPER_CLONE_REDIRECT),
        instruction(EXIT, 0, 0, 0, 0),
    ]);
    bpf::load(name, &code, Purpose { kind: CLASSIFIER, attached: 0, attached_type: 0 })
}

/// The Internet checksum (RFC 1071).
pub(crate) fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// The hardware address of an interface; zeros if it has none.
pub(crate) fn hardware(interface: u32) -> [u8; 6] {
    let named = if_indextoname(interface).ok().and_then(|name| name.into_string().ok());
    let is = |one: &InterfaceAddress| Some(&one.interface_name) == named.as_ref();
    let all = getifaddrs().into_iter().flatten().filter(is);
    let links = all.filter_map(|one| one.address?.as_link_addr()?.addr());
    links.into_iter().next().unwrap_or_default()
}
