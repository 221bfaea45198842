//! bpf(2): programs, maps and links. Each is a descriptor that ends with the process.

use nix::errno::Errno;
use nix::libc;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

// linux/bpf.h.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const PROG_RUN: libc::c_int = 10;
const BTF_LOAD: libc::c_int = 18;
const LINK_CREATE: libc::c_int = 28;
/// A licence with which a program may use functions that are reserved for the GPL.
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";
/// Bytes of the kernel's log about a program that it refuses.
const LOG_BYTES: usize = 64 << 10;

// Operations (linux/bpf_common.h).
pub(crate) const MOVE_NUMBER: u8 = 0xb7;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;

/// One instruction.
pub(crate) type Instruction = [u8; 8];

/// An instruction: operation, destination and source register, offset, number.
pub(crate) const fn instruction(
    operation: u8,
    to: u8,
    from: u8,
    offset: i16,
    number: i32,
) -> Instruction {
    let (offset, number) = (offset.to_ne_bytes(), number.to_ne_bytes());
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    [operation, registers, offset[0], offset[1], number[0], number[1], number[2], number[3]]
}

/// `union bpf_attr` for a program, up to `attach_btf_id`.
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
    btf: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    attached_type: u32,
}

/// `union bpf_attr` for a map, up to `btf_vmlinux_value_type_id`.
#[repr(C)]
#[derive(Default)]
struct Create {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
    interface: u32,
    btf: u32,
    key_type: u32,
    value_type: u32,
    kernel_value_type: u32,
}

/// `union bpf_attr` for an element of a map.
#[repr(C)]
#[derive(Default)]
struct Update {
    map: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `union bpf_attr` for a link.
#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    target: u32,
    attached: u32,
    flags: u32,
}

/// `union bpf_attr` for type information.
#[repr(C)]
#[derive(Default)]
struct Types {
    bytes: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
}

/// `union bpf_attr` for a run of a program, up to `duration`.
#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    result: u32,
    input_size: u32,
    output_size: u32,
    input: u64,
    output: u64,
    repeat: u32,
    duration: u32,
}

/// The use of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// `enum bpf_prog_type`.
    pub(crate) kind: u32,
    /// `enum bpf_attach_type`, or the number of an operation.
    pub(crate) attached: u32,
    /// The kernel's type that has the operation, or 0.
    pub(crate) attached_type: u32,
}

/// The properties of a map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MapSpec {
    /// `enum bpf_map_type`.
    pub(crate) kind: u32,
    /// Bytes of a key.
    pub(crate) key: u32,
    /// Bytes of a value.
    pub(crate) value: u32,
    pub(crate) entries: u32,
    pub(crate) flags: u32,
    /// Types of a key and of a value, in our own type information.
    pub(crate) types: [u32; 2],
    /// Type of a value, in the kernel's type information.
    pub(crate) kernel_value_type: u32,
}

fn number(fd: impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().cast_unsigned()
}

/// The first 15 letters of a name.
fn named(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..15].iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

/// Loads a program.
///
/// # Errors
/// A refusal of the kernel, with the end of its log about the program.
pub(crate) fn load(name: &str, code: &[Instruction], purpose: Purpose) -> io::Result<OwnedFd> {
    let mut load = Load {
        kind: purpose.kind,
        count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        name: named(name),
        attached: purpose.attached,
        attached_type: purpose.attached_type,
        ..Load::default()
    };
    let error = match made(PROG_LOAD, &load) {
        Ok(program) => return Ok(program),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Err(error);
    }
    let mut log = vec![0_u8; LOG_BYTES];
    (load.log_level, load.log_size, load.log) = (1, LOG_BYTES as u32, log.as_mut_ptr() as u64);
    // The second attempt fails as well, but fills the log.
    let _again = made(PROG_LOAD, &load);
    let end = log.iter().position(|b| *b == 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&log[..end]);
    let why = text.lines().rev().find(|line| !line.starts_with("processed")).unwrap_or_default();
    Err(io::Error::new(error.kind(), format!("{error}: {name}: {why}")))
}

/// Makes a map; `types` is the type information that it refers to, if any.
pub(crate) fn map(name: &str, spec: MapSpec, types: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let [key_type, value_type] = spec.types;
    let create = Create {
        kind: spec.kind,
        key: spec.key,
        value: spec.value,
        entries: spec.entries,
        flags: spec.flags,
        name: named(name),
        btf: types.map_or(0, number),
        key_type,
        value_type,
        kernel_value_type: spec.kernel_value_type,
        ..Create::default()
    };
    made(MAP_CREATE, &create)
}

/// Sets an element of a map.
pub(crate) fn update<T>(map: impl AsFd, key: u32, value: &T) -> io::Result<()> {
    let update = Update {
        map: number(map),
        key: std::ptr::from_ref(&key) as u64,
        value: std::ptr::from_ref(value).cast::<u8>() as u64,
        ..Update::default()
    };
    bpf(MAP_UPDATE, &update).map(drop)
}

/// Like [`update`], with a value whose size only the kernel knows.
pub(crate) fn update_bytes(map: impl AsFd, key: u32, value: &[u8]) -> io::Result<()> {
    let update = Update {
        map: number(map),
        key: std::ptr::from_ref(&key) as u64,
        value: value.as_ptr() as u64,
        ..Update::default()
    };
    bpf(MAP_UPDATE, &update).map(drop)
}

/// Attaches a program to a target, or a map of operations to the kernel.
pub(crate) fn link(what: impl AsFd, to: Option<&OwnedFd>, attached: u32) -> io::Result<OwnedFd> {
    let target = to.map_or(0, number);
    made(LINK_CREATE, &Link { program: number(what), target, attached, flags: 0 })
}

/// Runs a program once with a frame.
pub(crate) fn run(program: impl AsFd, frame: &[u8]) -> io::Result<()> {
    let input_size = u32::try_from(frame.len()).map_err(io::Error::other)?;
    let input = frame.as_ptr() as u64;
    let run = Run { program: number(program), input_size, input, ..Run::default() };
    bpf(PROG_RUN, &run).map(drop)
}

/// Loads type information into the kernel.
pub(crate) fn types(bytes: &[u8]) -> io::Result<OwnedFd> {
    let size = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    made(BTF_LOAD, &Types { bytes: bytes.as_ptr() as u64, size, ..Types::default() })
}

fn made<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: these commands return a descriptor that the kernel has made for the caller alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<i32> {
    let length = size_of::<T>();
    // SAFETY: the kernel reads `length` bytes, the size of the attributes, and the memory that they
    // point to, and writes to the log that they name; all of it lives until the call returns.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), length) };
    i32::try_from(Errno::result(answer)?).map_err(io::Error::other)
}
