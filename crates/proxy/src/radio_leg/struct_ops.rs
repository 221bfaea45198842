//! A congestion control of our own for the leg to the UE: its window is a number in memory that
//! this process shares with the kernel (BPF struct_ops; `bpf/radio_leg.bpf.c` describes its
//! reaction to a loss).
//!
//! The object that clang made from it is part of this program, and `aya-obj` finds the kernel's
//! fields for it. The kernel knows the control by a name of this process and removes it with the
//! descriptor of its link, however the process ends; a socket keeps the control until it closes.
//! The link needs Linux 6.4: on older kernels the control would stay after a kill.

use super::btf::{self, Structure};
use crate::bpf::{self, Instruction, MapSpec, Purpose};
use crate::system;
use aya_obj::Object;
use aya_obj::btf::Btf;
use justfull_rapid::Loss;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The object that clang made from `bpf/radio_leg.bpf.c`; the tests compile it again.
const OBJECT: &[u8] = include_bytes!("../../bpf/radio_leg.bpf.o");
/// Type information of the running kernel.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";
/// The kernel's names of a congestion control, and of the value of a map that holds one.
const OPERATIONS: [&str; 2] = ["tcp_congestion_ops", "bpf_struct_ops_tcp_congestion_ops"];
/// Each operation, and its function.
const FUNCTIONS: [(&str, &str); 6] = [
    ("init", "leg_init"),
    ("cwnd_event", "leg_event"),
    ("set_state", "leg_state"),
    ("ssthresh", "leg_ssthresh"),
    ("undo_cwnd", "leg_undo"),
    ("cong_control", "leg_control"),
];
/// `IGNORE` of the program: no reaction to a loss.
const IGNORE: u64 = 1 << 63;
/// Bytes of `TCP_CA_NAME_MAX` that a name may take.
const LONGEST_NAME: usize = 15;
/// Number of names to try: another proxy may have the same number in another namespace.
const NAMES: u8 = 16;

// linux/bpf.h.
const STRUCT_OPS_PROGRAM: u32 = 27;
const STRUCT_OPS_LINK: u32 = 44;
const ARRAY: u32 = 2;
const SK_STORAGE: u32 = 24;
const STRUCT_OPS: u32 = 26;
const NO_PREALLOC: u32 = 1;
const MMAPABLE: u32 = 1 << 10;
const LINK: u32 = 1 << 13;

/// `struct leg` of the program: the slot, and the program's own state.
type Leg = [u32; 8];

/// A control that the kernel knows, and the windows of its sockets.
#[derive(Debug)]
pub(crate) struct Control {
    name: String,
    legs: OwnedFd,
    windows: Windows,
    /// The reaction of its legs to a loss.
    loss: Loss,
    /// While it is open, sockets can get the control.
    link: OwnedFd,
}

impl Control {
    /// Makes a control of up to `slots` sockets.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub(crate) fn register(slots: u32, loss: Loss) -> io::Result<Self> {
        Self::register_object(OBJECT, slots, loss)
    }

    fn register_object(object: &[u8], slots: u32, loss: Loss) -> io::Result<Self> {
        let said = |what: &str, error: &dyn std::error::Error| {
            io::Error::other(format!("{what}: {error}"))
        };
        let kernel = std::fs::read(Path::new(KERNEL))
            .map_err(|e| io::Error::new(e.kind(), format!("{KERNEL}: {e}")))?;
        let [operations, value] = btf::structures(&kernel, OPERATIONS)?;
        let (bytes, types) = btf::words(size_of::<Leg>() as u32 / 4);
        let own = bpf::types(&bytes)?;
        let legs = {
            let spec = MapSpec {
                kind: SK_STORAGE,
                key: 4,
                value: size_of::<Leg>() as u32,
                flags: NO_PREALLOC,
                types,
                ..MapSpec::default()
            };
            bpf::map("justfull_legs", spec, Some(&own))?
        };
        let windows = Windows::new(slots)?;
        let mut object = Object::parse(object).map_err(|e| said("the object", &e))?;
        let kernel = Btf::parse(&kernel, Default::default()).map_err(|e| said(KERNEL, &e))?;
        object.relocate_btf(&kernel).map_err(|e| said("the kernel's fields", &e))?;
        let maps = std::mem::take(&mut object.maps);
        let fds = [("legs", legs.as_raw_fd()), ("windows", windows.map.as_raw_fd())];
        let maps = fds.iter().filter_map(|(name, fd)| Some((*name, *fd, maps.get(*name)?)));
        object.relocate_maps(maps, &Default::default()).map_err(|e| said("the maps", &e))?;
        let programs = load(&object, &operations)?;
        let mut last = None;
        for attempt in 0..NAMES {
            let name = name(std::process::id(), attempt);
            match link(&name, &programs, &operations, &value, &own) {
                Ok(link) => return Ok(Self { name, legs, windows, loss, link }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// The parts with which another process continues: name, slots, descriptors.
    pub(super) fn parts(&self) -> (String, u32, Vec<BorrowedFd<'_>>) {
        let fds = vec![self.link.as_fd(), self.legs.as_fd(), self.windows.map.as_fd()];
        (self.name.clone(), self.windows.slots, fds)
    }

    /// The control of another process.
    pub(super) fn adopt(
        name: String,
        slots: u32,
        loss: Loss,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> io::Result<Self> {
        match (fds.next(), fds.next(), fds.next()) {
            (Some(link), Some(legs), Some(windows)) => {
                Ok(Self { name, legs, windows: Windows::of(windows, slots)?, loss, link })
            }
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The number of its windows.
    pub(super) const fn slots(&self) -> usize {
        self.windows.slots as usize
    }

    /// The kernel's name for it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// From its next acknowledgement on, the socket at `slot` may have so many segments in flight.
    pub(crate) fn set(&self, slot: u32, segments: u32) {
        let ignores = if self.loss == Loss::Ignore { IGNORE } else { 0 };
        self.windows.set(slot, u64::from(segments) | ignores);
    }

    /// Gives the control to a socket, with `slot` as its place. Set its window first.
    pub(crate) fn join(&self, socket: impl AsFd, slot: u32) -> io::Result<()> {
        let leg: Leg = [slot, 0, 0, 0, 0, 0, 0, 0];
        let fd = socket.as_fd().as_raw_fd().cast_unsigned();
        bpf::update(&self.legs, fd, &leg)?;
        let mut name = [0_u8; LONGEST_NAME + 1];
        name.iter_mut().zip(self.name.bytes()).for_each(|(to, from)| *to = from);
        system::set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &name)
    }
}

/// The name of this process's control; that of the first attempt is only its number.
fn name(process: u32, attempt: u8) -> String {
    match attempt {
        0 => format!("rapid_{process}"),
        other => format!("rapid_{process}{}", char::from(b'a' + other - 1)),
    }
}

/// Loads each function as its operation.
fn load(object: &Object, operations: &Structure) -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let mut programs = Vec::with_capacity(FUNCTIONS.len());
    for (operation, function) in FUNCTIONS {
        let found = object.functions.values().find(|found| found.name == function);
        let found = found.ok_or_else(|| io::Error::other(format!("there is no {function}")))?;
        let (number, _) = operations.field(operation).ok_or_else(|| unknown(operation))?;
        let code: Vec<Instruction> = found.instructions.iter().map(encoded).collect();
        let purpose =
            Purpose { kind: STRUCT_OPS_PROGRAM, attached: number, attached_type: operations.id };
        programs.push((operation, bpf::load(function, &code, purpose)?));
    }
    Ok(programs)
}

fn unknown(operation: &str) -> io::Error {
    io::Error::other(format!("this kernel's congestion controls have no {operation}"))
}

fn encoded(one: &aya_obj::generated::bpf_insn) -> Instruction {
    bpf::instruction(one.code, one.dst_reg(), one.src_reg(), one.off, one.imm)
}

/// Registers the programs as one control.
fn link(
    name: &str,
    programs: &[(&'static str, OwnedFd)],
    operations: &Structure,
    value: &Structure,
    own: &OwnedFd,
) -> io::Result<OwnedFd> {
    let (_, data) = value.field("data").ok_or_else(|| unknown("data"))?;
    let mut bytes = vec![0_u8; value.size];
    let mut put = |field: &str, what: &[u8]| {
        let (_, at) = operations.field(field).ok_or_else(|| unknown(field))?;
        let place = bytes.get_mut(data + at..data + at + what.len());
        place.ok_or_else(|| unknown(field))?.copy_from_slice(what);
        Ok::<(), io::Error>(())
    };
    for (operation, program) in programs {
        put(operation, &u64::from(program.as_raw_fd().cast_unsigned()).to_ne_bytes())?;
    }
    put("name", name.as_bytes())?;
    let spec = MapSpec {
        kind: STRUCT_OPS,
        key: 4,
        value: value.size as u32,
        entries: 1,
        flags: LINK,
        kernel_value_type: value.id,
        ..MapSpec::default()
    };
    // None of its types is ours, but the kernel requires type information (`map_create`).
    let map = bpf::map(name, spec, Some(own))?;
    bpf::update_bytes(&map, 0, &bytes)?;
    bpf::link(&map, None, STRUCT_OPS_LINK)
}

/// Windows in segments, with [`IGNORE`] or without, in memory that the kernel reads.
#[derive(Debug)]
struct Windows {
    map: OwnedFd,
    at: NonNull<c_void>,
    bytes: NonZeroUsize,
    slots: u32,
}

// SAFETY: `at` points to shared memory that is only used by atomic operations.
unsafe impl Send for Windows {}

impl Windows {
    fn new(slots: u32) -> io::Result<Self> {
        let slots = slots.max(1);
        let spec = MapSpec {
            kind: ARRAY,
            key: 4,
            value: size_of::<u64>() as u32,
            entries: slots,
            flags: MMAPABLE,
            ..MapSpec::default()
        };
        Self::of(bpf::map("justfull_cwnds", spec, None)?, slots)
    }

    fn of(map: OwnedFd, slots: u32) -> io::Result<Self> {
        let bytes = NonZeroUsize::new(slots as usize * size_of::<u64>());
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses the address; only atomic operations within `bytes` use the
        // memory, until it is unmapped in `drop`.
        let at = unsafe { mmap(None, bytes, access, MapFlags::MAP_SHARED, &map, 0) }?;
        Ok(Self { map, at, bytes, slots })
    }

    fn set(&self, slot: u32, window: u64) {
        if slot >= self.slots {
            return;
        }
        // SAFETY: the slot is within the memory, which begins at a page and is mapped while this
        // value lives; only atomic operations use it.
        let at = unsafe { self.at.cast::<AtomicU64>().add(slot as usize).as_ref() };
        at.store(window, Ordering::Relaxed);
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no pointer to it is left.
        let _kept = unsafe { munmap(self.at, self.bytes.get()) };
    }
}

#[cfg(test)]
mod tests;
