//! A bound on the congestion window of the leg to the UE (bpf(2), cgroups(7)).
//!
//! The kernel has no option of a socket for it; BPF programs may set one
//! (`TCP_BPF_SNDCWND_CLAMP`, linux/bpf.h). So a program of a few instructions is attached to the
//! control group of this process, which answers one level of setsockopt(2) that no protocol uses,
//! and passes all others. It goes with the descriptor of its link, whatever ends the process. Any
//! process of the group could bound its own sockets with it, and nobody else's.
//!
//! It is a ceiling: congestion control still lowers the window below it when there is loss.

use crate::system;
use nix::errno::Errno;
use nix::libc;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// The level of the option, and its name.
const LEVEL: i32 = 0x7e57;
const NAME: i32 = 1;

// linux/bpf.h and bpf_common.h.
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const PROG_TYPE_CGROUP_SOCKOPT: u32 = 25;
const CGROUP_SETSOCKOPT: u32 = 22;
const HELPER_SETSOCKOPT: i32 = 49;
const TCP_BPF_SNDCWND_CLAMP: i32 = 1002;
const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const STORE_WORD: u8 = 0x63;
const MOVE: u8 = 0xbf;
const MOVE_NUMBER: u8 = 0xb7;
const ADD_NUMBER: u8 = 0x07;
const UNEQUAL_NUMBER: u8 = 0x55;
const GREATER: u8 = 0x2d;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// Fields of `struct bpf_sockopt`.
const SOCKET: i16 = 0;
const VALUE: i16 = 8;
const VALUE_END: i16 = 16;
const ITS_LEVEL: i16 = 24;
const LENGTH: i16 = 32;

/// One instruction: operation, destination and source register, offset, number.
type Instruction = (u8, u8, u8, i16, i32);

/// What answers. Jumps count from the next instruction.
const PROGRAM: [Instruction; 24] = [
    (MOVE, 6, 1, 0, 0),
    (LOAD_WORD, 2, 6, ITS_LEVEL, 0),
    // Another level: as if this program were not here.
    (UNEQUAL_NUMBER, 2, 0, 17, LEVEL),
    (LOAD_LONG, 7, 6, VALUE, 0),
    (LOAD_LONG, 8, 6, VALUE_END, 0),
    (MOVE, 2, 7, 0, 0),
    (ADD_NUMBER, 2, 0, 0, 4),
    (GREATER, 2, 8, 14, 0),
    (LOAD_WORD, 2, 7, 0, 0),
    (STORE_WORD, 10, 2, -4, 0),
    (LOAD_LONG, 1, 6, SOCKET, 0),
    (MOVE_NUMBER, 2, 0, 0, libc::IPPROTO_TCP),
    (MOVE_NUMBER, 3, 0, 0, TCP_BPF_SNDCWND_CLAMP),
    (MOVE, 4, 10, 0, 0),
    (ADD_NUMBER, 4, 0, 0, -4),
    (MOVE_NUMBER, 5, 0, 0, 4),
    (CALL, 0, 0, 0, HELPER_SETSOCKOPT),
    (UNEQUAL_NUMBER, 0, 0, 4, 0),
    // Done: the kernel's own handler is not asked.
    (MOVE_NUMBER, 1, 0, 0, -1),
    (STORE_WORD, 6, 1, LENGTH, 0),
    (MOVE_NUMBER, 0, 0, 0, 1),
    (EXIT, 0, 0, 0, 0),
    // Refused.
    (MOVE_NUMBER, 0, 0, 0, 0),
    (EXIT, 0, 0, 0, 0),
];

/// The head of `union bpf_attr` for a program.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attached: u32,
}

/// The same for a link.
#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    target: u32,
    attached: u32,
    flags: u32,
}

/// The program and what attaches it; both go when this is dropped.
#[derive(Debug)]
pub(crate) struct CwndClamp {
    _program: OwnedFd,
    _link: OwnedFd,
}

impl CwndClamp {
    /// Attaches the program to this process's control group. Sockets made from now on have it.
    pub(crate) fn attach() -> io::Result<Self> {
        let group = File::open(group()?)?;
        let bytes: Vec<u8> = PROGRAM.iter().flat_map(encoded).collect();
        let load = Load {
            kind: PROG_TYPE_CGROUP_SOCKOPT,
            count: PROGRAM.len() as u32,
            instructions: bytes.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
            name: *b"justfull_cwnd\0\0\0",
            attached: CGROUP_SETSOCKOPT,
            ..Load::default()
        };
        let program = bpf(PROG_LOAD, &load)?;
        let number = |fd: i32| u32::try_from(fd).map_err(io::Error::other);
        let link = Link {
            program: number(program.as_raw_fd())?,
            target: number(group.as_raw_fd())?,
            attached: CGROUP_SETSOCKOPT,
            flags: 0,
        };
        let link = bpf(LINK_CREATE, &link)?;
        Ok(Self { _program: program, _link: link })
    }
}

/// Bounds the congestion window of a socket that was made while a [`CwndClamp`] was there.
pub(crate) fn clamp(fd: impl AsFd, segments: u32) -> io::Result<()> {
    system::set(fd, LEVEL, NAME, &segments)
}

fn encoded(instruction: &Instruction) -> [u8; 8] {
    let &(operation, to, from, offset, number) = instruction;
    let (offset, number) = (offset.to_ne_bytes(), number.to_ne_bytes());
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    [operation, registers, offset[0], offset[1], number[0], number[1], number[2], number[3]]
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

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let length = size_of::<T>();
    // SAFETY: the kernel reads `length` bytes, the size of the attributes, and what they point to;
    // all of it lives until the call returns.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), length) };
    let fd = i32::try_from(Errno::result(fd)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has made this descriptor for the caller alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
