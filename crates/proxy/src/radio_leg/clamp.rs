//! A ceiling of the congestion window of the leg to the UE (bpf(2), cgroups(7)).
//!
//! The kernel has no socket option for such a ceiling, but BPF programs may set it
//! (`TCP_BPF_SNDCWND_CLAMP`, linux/bpf.h). So this module attaches a program of a few instructions
//! to the control group of this process. The program handles one level of setsockopt(2) that no
//! protocol uses, and passes all others. It is removed with the descriptor of its link, however the
//! process ends. Any process of the group could bound its own sockets with it, but no other socket.
//!
//! It is a ceiling: congestion control still lowers the window below it after a loss.

use crate::bpf::{self, CALL, EXIT, Instruction, MOVE_NUMBER, Purpose, instruction};
use crate::system;
use nix::libc;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The level of the option, and its name.
const LEVEL: i32 = 0x7e57;
const NAME: i32 = 1;

// linux/bpf.h and bpf_common.h.
const CGROUP_SOCKOPT: u32 = 25;
const CGROUP_SETSOCKOPT: u32 = 22;
const HELPER_SETSOCKOPT: i32 = 49;
const TCP_BPF_SNDCWND_CLAMP: i32 = 1002;
const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const STORE_WORD: u8 = 0x63;
const MOVE: u8 = 0xbf;
const ADD_NUMBER: u8 = 0x07;
const UNEQUAL_NUMBER: u8 = 0x55;
const GREATER: u8 = 0x2d;

/// Fields of `struct bpf_sockopt`.
const SOCKET: i16 = 0;
const VALUE: i16 = 8;
const VALUE_END: i16 = 16;
const ITS_LEVEL: i16 = 24;
const LENGTH: i16 = 32;

/// The program. Jumps count from the next instruction.
const PROGRAM: [Instruction; 24] = [
    instruction(MOVE, 6, 1, 0, 0),
    instruction(LOAD_WORD, 2, 6, ITS_LEVEL, 0),
    // Another level: continue as without this program.
    instruction(UNEQUAL_NUMBER, 2, 0, 17, LEVEL),
    instruction(LOAD_LONG, 7, 6, VALUE, 0),
    instruction(LOAD_LONG, 8, 6, VALUE_END, 0),
    instruction(MOVE, 2, 7, 0, 0),
    instruction(ADD_NUMBER, 2, 0, 0, 4),
    instruction(GREATER, 2, 8, 14, 0),
    instruction(LOAD_WORD, 2, 7, 0, 0),
    instruction(STORE_WORD, 10, 2, -4, 0),
    instruction(LOAD_LONG, 1, 6, SOCKET, 0),
    instruction(MOVE_NUMBER, 2, 0, 0, libc::IPPROTO_TCP),
    instruction(MOVE_NUMBER, 3, 0, 0, TCP_BPF_SNDCWND_CLAMP),
    instruction(MOVE, 4, 10, 0, 0),
    instruction(ADD_NUMBER, 4, 0, 0, -4),
    instruction(MOVE_NUMBER, 5, 0, 0, 4),
    instruction(CALL, 0, 0, 0, HELPER_SETSOCKOPT),
    instruction(UNEQUAL_NUMBER, 0, 0, 4, 0),
    // Done: the kernel's own handler is skipped.
    instruction(MOVE_NUMBER, 1, 0, 0, -1),
    instruction(STORE_WORD, 6, 1, LENGTH, 0),
    instruction(MOVE_NUMBER, 0, 0, 0, 1),
    instruction(EXIT, 0, 0, 0, 0),
    // Refused.
    instruction(MOVE_NUMBER, 0, 0, 0, 0),
    instruction(EXIT, 0, 0, 0, 0),
];

/// The program and its link; dropping this value removes both.
#[derive(Debug)]
pub(crate) struct CwndClamp {
    program: OwnedFd,
    link: OwnedFd,
}

impl CwndClamp {
    /// The descriptors with which another process continues.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.program.as_fd(), self.link.as_fd()]
    }

    /// The ceiling of another process. It applies to sockets from that process's listeners.
    pub(super) fn adopt(fds: &mut impl Iterator<Item = OwnedFd>) -> io::Result<Self> {
        match (fds.next(), fds.next()) {
            (Some(program), Some(link)) => Ok(Self { program, link }),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Attaches the program to this process's control group. It applies to sockets made from now
    /// on.
    pub(crate) fn attach() -> io::Result<Self> {
        let group = OwnedFd::from(File::open(group()?)?);
        let purpose =
            Purpose { kind: CGROUP_SOCKOPT, attached: CGROUP_SETSOCKOPT, attached_type: 0 };
        let program = bpf::load("justfull_cwnd", &PROGRAM, purpose)?;
        let link = bpf::link(&program, Some(&group), CGROUP_SETSOCKOPT)?;
        Ok(Self { program, link })
    }
}

/// Bounds the congestion window of a socket that was made while a [`CwndClamp`] existed.
pub(crate) fn clamp(fd: impl AsFd, segments: u32) -> io::Result<()> {
    system::set(fd, LEVEL, NAME, &segments)
}

/// The folder of this process's control group, version 2.
fn group() -> io::Result<std::path::PathBuf> {
    let missing = |what: &str| io::Error::new(io::ErrorKind::NotFound, what.to_owned());
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    // Fields: ..., root, mount point, ..., " - ", type (proc(5)).
    let root = mounts.lines().find_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        tail.starts_with("cgroup2 ").then(|| head.split(' ').nth(4))?
    });
    let root = root.ok_or_else(|| missing("no cgroup2 is mounted"))?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let path = path.ok_or_else(|| missing("this process is in no cgroup2"))?;
    Ok(std::path::Path::new(root).join(path.trim_start_matches('/')))
}
